// SPDX-License-Identifier: BSD-3-Clause
/*
 * The store decoder alone: encodings by hand, their length, size and source, and what it must
 * refuse. Bytes as an assembler makes them; the text beside each is what objdump says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/trap_decode.h"

struct encoding {
	const char *text;
	uint8_t code[16];
	uint8_t length;
	uint8_t bytes;
	enum pmv_mlx5m_source source;
	uint8_t number;
	uint64_t immediate;
};

#define GPR  PMV_MLX5M_FROM_REGISTER
#define HIGH PMV_MLX5M_FROM_HIGH_BYTE
#define VEC  PMV_MLX5M_FROM_VECTOR
#define VECH PMV_MLX5M_FROM_VECTOR_HIGH
#define IMM  PMV_MLX5M_FROM_IMMEDIATE

static const struct encoding stores[] = {
	{ "mov %rax,(%rdi)", { 0x48, 0x89, 0x07 }, 3, 8, GPR, 0, 0 },
	{ "mov %r15,(%rdi)", { 0x4c, 0x89, 0x3f }, 3, 8, GPR, 15, 0 },
	{ "mov %rdx,0x8(%rdi)", { 0x48, 0x89, 0x57, 0x08 }, 4, 8, GPR, 2, 0 },
	{ "mov %rdx,0x800(%rdi)", { 0x48, 0x89, 0x97, 0x00, 0x08, 0, 0 }, 7, 8, GPR, 2, 0 },
	{ "mov %rcx,(%rdi,%rax,8)", { 0x48, 0x89, 0x0c, 0xc7 }, 4, 8, GPR, 1, 0 },
	{ "mov %rcx,0x10(%r12)", { 0x49, 0x89, 0x4c, 0x24, 0x10 }, 5, 8, GPR, 1, 0 },
	{ "mov %rcx,0x0(,%rax,8)", { 0x48, 0x89, 0x0c, 0xc5, 0, 0, 0, 0 }, 8, 8, GPR, 1, 0 },
	{ "mov %rcx,0x12(%rip)", { 0x48, 0x89, 0x0d, 0x12, 0, 0, 0 }, 7, 8, GPR, 1, 0 },
	{ "mov %eax,(%rdi)", { 0x89, 0x07 }, 2, 4, GPR, 0, 0 },
	{ "mov %ax,(%rdi)", { 0x66, 0x89, 0x07 }, 3, 2, GPR, 0, 0 },
	{ "mov %al,(%rdi)", { 0x88, 0x07 }, 2, 1, GPR, 0, 0 },
	{ "mov %ah,(%rdi)", { 0x88, 0x27 }, 2, 1, HIGH, 0, 0 },
	{ "mov %sil,(%rdi)", { 0x40, 0x88, 0x37 }, 3, 1, GPR, 6, 0 },
	{ "mov %rax,%fs:(%rdi)", { 0x64, 0x48, 0x89, 0x07 }, 4, 8, GPR, 0, 0 },
	{ "movq $-2,(%rdi)", { 0x48, 0xc7, 0x07, 0xfe, 0xff, 0xff, 0xff }, 7, 8, IMM, 0,
		0xfffffffffffffffe },
	{ "movl $0x12345678,4(%rdi)", { 0xc7, 0x47, 0x04, 0x78, 0x56, 0x34, 0x12 }, 7, 4, IMM, 0,
		0x12345678 },
	{ "movw $0x1234,(%rdi)", { 0x66, 0xc7, 0x07, 0x34, 0x12 }, 5, 2, IMM, 0, 0x1234 },
	{ "movb $0x12,(%rdi)", { 0xc6, 0x07, 0x12 }, 3, 1, IMM, 0, 0x12 },
	{ "movnti %rax,(%rdi)", { 0x48, 0x0f, 0xc3, 0x07 }, 4, 8, GPR, 0, 0 },
	{ "movnti %r9d,(%rdi)", { 0x44, 0x0f, 0xc3, 0x0f }, 4, 4, GPR, 9, 0 },
	{ "movups %xmm1,(%rdi)", { 0x0f, 0x11, 0x0f }, 3, 16, VEC, 1, 0 },
	{ "movupd %xmm1,(%rdi)", { 0x66, 0x0f, 0x11, 0x0f }, 4, 16, VEC, 1, 0 },
	{ "movss %xmm1,(%rdi)", { 0xf3, 0x0f, 0x11, 0x0f }, 4, 4, VEC, 1, 0 },
	{ "movsd %xmm1,(%rdi)", { 0xf2, 0x0f, 0x11, 0x0f }, 4, 8, VEC, 1, 0 },
	{ "movaps %xmm12,(%rdi)", { 0x44, 0x0f, 0x29, 0x27 }, 4, 16, VEC, 12, 0 },
	{ "movntps %xmm0,(%rdi)", { 0x0f, 0x2b, 0x07 }, 3, 16, VEC, 0, 0 },
	{ "movdqa %xmm0,(%rdi)", { 0x66, 0x0f, 0x7f, 0x07 }, 4, 16, VEC, 0, 0 },
	{ "movdqu %xmm8,(%rdi)", { 0xf3, 0x44, 0x0f, 0x7f, 0x07 }, 5, 16, VEC, 8, 0 },
	{ "movntdq %xmm0,(%rdi)", { 0x66, 0x0f, 0xe7, 0x07 }, 4, 16, VEC, 0, 0 },
	{ "movq %xmm0,(%rdi)", { 0x66, 0x0f, 0xd6, 0x07 }, 4, 8, VEC, 0, 0 },
	{ "movd %xmm0,(%rdi)", { 0x66, 0x0f, 0x7e, 0x07 }, 4, 4, VEC, 0, 0 },
	{ "movq %xmm0,(%rdi) (7e)", { 0x66, 0x48, 0x0f, 0x7e, 0x07 }, 5, 8, VEC, 0, 0 },
	{ "movlps %xmm3,(%rdi)", { 0x0f, 0x13, 0x1f }, 3, 8, VEC, 3, 0 },
	{ "movhps %xmm3,(%rdi)", { 0x0f, 0x17, 0x1f }, 3, 8, VECH, 3, 0 },
	{ "vmovups %xmm0,(%rdi)", { 0xc5, 0xf8, 0x11, 0x07 }, 4, 16, VEC, 0, 0 },
	{ "vmovups %ymm0,(%rdi)", { 0xc5, 0xfc, 0x11, 0x07 }, 4, 32, VEC, 0, 0 },
	{ "vmovdqu %ymm15,(%rdi)", { 0xc5, 0x7e, 0x7f, 0x3f }, 4, 32, VEC, 15, 0 },
	{ "vmovntdq %ymm1,(%rdi)", { 0xc5, 0xfd, 0xe7, 0x0f }, 4, 32, VEC, 1, 0 },
	{ "vmovdqu %ymm0,0x20(%r8)", { 0xc4, 0xc1, 0x7e, 0x7f, 0x40, 0x20 }, 6, 32, VEC, 0, 0 },
	{ "vmovq %xmm2,(%rdi)", { 0xc5, 0xf9, 0xd6, 0x17 }, 4, 8, VEC, 2, 0 },
};

static const struct encoding others[] = {
	{ .text = "mov (%rdi),%rax", .code = { 0x48, 0x8b, 0x07 } },
	{ .text = "mov %rax,%rdi", .code = { 0x48, 0x89, 0xc7 } },
	{ .text = "add %rax,(%rdi)", .code = { 0x48, 0x01, 0x07 } },
	{ .text = "lock xchg %rax,(%rdi)", .code = { 0xf0, 0x48, 0x87, 0x07 } },
	{ .text = "lock mov", .code = { 0xf0, 0x48, 0x89, 0x07 } },
	{ .text = "rep movsb", .code = { 0xf3, 0xa4 } },
	{ .text = "rep stosq", .code = { 0xf3, 0x48, 0xab } },
	{ .text = "push (%rdi)", .code = { 0xff, 0x37 } },
	{ .text = "movups (%rdi),%xmm1", .code = { 0x0f, 0x10, 0x0f } },
	{ .text = "movq %mm0,(%rdi)", .code = { 0x0f, 0x7f, 0x07 } },
	{ .text = "vmovdqu64 %zmm0,(%rdi)", .code = { 0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07 } },
	{ .text = "movdir64b (%rsi),%rdi", .code = { 0x66, 0x0f, 0x38, 0xf8, 0x3e } },
	{ .text = "group 11 /1", .code = { 0xc7, 0x0f, 0, 0, 0, 0 } },
	{ .text = "prefixes only",
		.code = { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
			0x66, 0x66, 0x66, 0x66 } },
	{ .text = "too long",
		.code = { 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x48, 0xc7, 0x07, 1,
			2, 3, 4 } },
};

static void
decode__stores(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		const struct encoding *e = &stores[i];
		struct pmv_mlx5m_store s;

		if (!pmv_mlx5m_trap_decode(e->code, &s) || s.length != e->length ||
			s.bytes != e->bytes || s.source != e->source || s.number != e->number ||
			s.immediate != e->immediate)
			fail_msg("%s: length %u, %u bytes, source %d number %u", e->text, s.length,
				s.bytes, (int)s.source, s.number);
	}
}

static void
decode__refuses_others(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct pmv_mlx5m_store s;

		if (pmv_mlx5m_trap_decode(others[i].code, &s))
			fail_msg("%s was taken for a store", others[i].text);
	}
}

/* Whatever the bytes are: at most 15 are read, and a store has a size and a length. */
static void
decode__survives_noise(void **state)
{
	uint32_t random = 1, nb = 0;
	uint8_t code[PMV_MLX5M_INSTRUCTION_MAX];
	struct pmv_mlx5m_store s;
	unsigned int i, j;

	(void)state;
	for (i = 0; i < 200000; i++) {
		for (j = 0; j < sizeof(code); j++) {
			random = random * 1103515245 + 12345;
			code[j] = (uint8_t)(random >> 16);
		}
		if (!pmv_mlx5m_trap_decode(code, &s))
			continue;
		nb++;
		assert_in_range(s.length, 2, PMV_MLX5M_INSTRUCTION_MAX);
		assert_in_range(s.bytes, 1, 32);
		assert_in_range(s.number, 0, 15);
	}
	assert_true(nb > 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__stores),
		cmocka_unit_test(decode__refuses_others),
		cmocka_unit_test(decode__survives_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
