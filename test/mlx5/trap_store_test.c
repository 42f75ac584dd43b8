// SPDX-License-Identifier: BSD-3-Clause
/*
 * Stores that the processor really executes on a trapped page: the value arrives in the model's
 * mapping, execution goes on behind the instruction, and the page stays closed. Also faults that
 * are not the trap's, and instructions that it does not know.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "test/mlx5/model_state.h"
#include "test/mlx5/pair.h"

#define AT    0x100 /* no register is here: stores have no meaning */
#define VALUE 0x8877665544332211ull

static struct pair pair;
static uint8_t *page;  /* as libmlx5 has mapped it */
static uint8_t *alias; /* as the model has */

static const uint8_t vector[32] __attribute__((aligned(32))) = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };

static int
set_up(void **state)
{
	struct pmv_mlx5m_config config;
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_obj obj = { .qp = { .out = &dv } };
	const struct pmv_mlx5m_qp *qp;

	(void)state;
	pmv_mlx5m_config_init(&config);
	if (pmv_mlx5m_config_env(&config) != 0 || pmv_mlx5m_start(&config) != 0)
		return -1;
	pair_open(&pair, NULL);
	obj.qp.in = pair.end[0].qp;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) != 0)
		return -1;
	page = (uint8_t *)((uintptr_t)dv.bf.reg & ~(uintptr_t)4095);
	qp = pmv_mlx5m_qp_find(pair.end[0].qp->qp_num);
	alias = qp->ctx->page[qp->page]->alias;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pair_close(&pair);
	pmv_mlx5m_stop();
	return 0;
}

static void
begin(void)
{
	memset(alias + AT - 64, 0xee, 192);
}

/* Exactly these bytes have changed. */
static void
check(const void *want, size_t bytes)
{
	uint8_t image[192];

	memset(image, 0xee, sizeof(image));
	memcpy(image + 64, want, bytes);
	assert_memory_equal(alias + AT - 64, image, sizeof(image));
}

#define STORE_GPR(reg)                                                                             \
	do {                                                                                       \
		uint64_t value = VALUE;                                                            \
		begin();                                                                           \
		__asm__ volatile("mov %0, %%" reg "\n\tmov %%" reg ", (%1)"                        \
				 :                                                                 \
				 : "r"(value), "r"(page + AT)                                      \
				 : reg, "memory");                                                 \
		check(&value, 8);                                                                  \
	} while (0)

/* Offsets of the instruction's address forms do not matter to the decoder but to the length. */
#define STORE_FORM(text, bytes)                                                                    \
	do {                                                                                       \
		uint64_t value = VALUE;                                                            \
		uint32_t behind = 0;                                                               \
		begin();                                                                           \
		__asm__ volatile(text "\n\tmovl $77, %[b]"                                         \
				 : [b] "=r"(behind)                                                \
				 : [v] "a"(value), [p] "D"(page + AT), [z] "c"(8L)                 \
				 : "memory");                                                      \
		assert_int_equal(behind, 77);                                                      \
		check(&value, bytes);                                                              \
	} while (0)

#define STORE_VECTOR(load, store, reg, bytes)                                                      \
	do {                                                                                       \
		begin();                                                                           \
		__asm__ volatile(load " (%0), %%" reg "\n\t" store " %%" reg ", (%1)"              \
				 :                                                                 \
				 : "r"(vector), "r"(page + AT)                                     \
				 : "xmm0", "xmm5", "xmm15", "memory");                             \
		check(vector, bytes);                                                              \
	} while (0)

static void
store__every_register(void **state)
{
	(void)state;
	STORE_GPR("rax");
	STORE_GPR("rbx");
	STORE_GPR("rcx");
	STORE_GPR("rdx");
	STORE_GPR("rsi");
	STORE_GPR("rdi");
	STORE_GPR("r8");
	STORE_GPR("r9");
	STORE_GPR("r10");
	STORE_GPR("r11");
	STORE_GPR("r12");
	STORE_GPR("r13");
	STORE_GPR("r14");
	STORE_GPR("r15");
}

static void
store__every_size_and_form(void **state)
{
	static const uint8_t imm8[8] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t high = 0x22;

	(void)state;
	STORE_FORM("movq %%rax, (%[p])", 8);
	STORE_FORM("movl %%eax, (%[p])", 4);
	STORE_FORM("movw %%ax, (%[p])", 2);
	STORE_FORM("movb %%al, (%[p])", 1);
	STORE_FORM("movq %%rax, -8(%[p],%[z])", 8);
	STORE_FORM("movq %%rax, -0x400(%[p],%[z],2) \n\t nop", 0); /* elsewhere on the page */
	STORE_FORM("movnti %%rax, (%[p])", 8);
	STORE_FORM("movnti %%eax, (%[p])", 4);
	begin();
	__asm__ volatile("movb %%ah, (%0)" : : "D"(page + AT), "a"(VALUE) : "memory");
	check(&high, 1);
	begin();
	__asm__ volatile("movq $-2, (%0)" : : "D"(page + AT) : "memory");
	check(imm8, 8);
	begin();
	__asm__ volatile("movl $-2, (%0)" : : "D"(page + AT) : "memory");
	check(imm8, 4);
}

static void
store__vectors(void **state)
{
	(void)state;
	STORE_VECTOR("movdqu", "movups", "xmm0", 16);
	STORE_VECTOR("movdqu", "movaps", "xmm5", 16);
	STORE_VECTOR("movdqu", "movdqa", "xmm15", 16);
	STORE_VECTOR("movdqu", "movdqu", "xmm0", 16);
	STORE_VECTOR("movdqu", "movntdq", "xmm5", 16);
	STORE_VECTOR("movdqu", "movntps", "xmm15", 16);
	STORE_VECTOR("movdqu", "movq", "xmm0", 8);
	STORE_VECTOR("movdqu", "movd", "xmm0", 4);
	STORE_VECTOR("movdqu", "movsd", "xmm0", 8);
	STORE_VECTOR("movdqu", "movss", "xmm15", 4);
	STORE_VECTOR("movdqu", "movlps", "xmm5", 8);
	begin();
	__asm__ volatile("movdqu (%0), %%xmm5\n\tmovhps %%xmm5, (%1)"
			 :
			 : "r"(vector), "r"(page + AT)
			 : "xmm5", "memory");
	check(vector + 8, 8);
}

static void
store__avx(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx"))
		skip();
	STORE_VECTOR("vmovdqu", "vmovdqu", "ymm0", 32);
	STORE_VECTOR("vmovdqu", "vmovups", "ymm15", 32);
	STORE_VECTOR("vmovdqu", "vmovntdq", "ymm5", 32);
	STORE_VECTOR("vmovdqu", "vmovaps", "ymm5", 32);
	STORE_VECTOR("vmovdqu", "vmovdqu", "xmm5", 16);
	__asm__ volatile("vzeroupper");
}

static sigjmp_buf elsewhere;

static void
on_other_fault(int signo)
{
	siglongjmp(elsewhere, signo);
}

static void
fault__of_others_reaches_them(void **state)
{
	void (*before)(int) = signal(SIGSEGV, on_other_fault);
	volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int got;

	(void)state;
	got = sigsetjmp(elsewhere, 1);
	if (got == 0)
		*nowhere = 1;
	assert_int_equal(got, SIGSEGV);
	munmap((void *)(uintptr_t)nowhere, 4096);
	signal(SIGSEGV, before);
	STORE_GPR("rax"); /* and the trap is still there */
}

/* Runs what must end the process, and looks for its last words. */
static void
expect_abort(void (*act)(void), const char *words)
{
	char text[256] = "";
	int ends[2];
	int status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		act();
		_exit(0);
	}
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, words));
}

static void
exchange(void)
{
	__asm__ volatile("xchg %%rax, (%0)" : : "D"(page + AT) : "rax", "memory");
}

static void
copy_string(void)
{
	void *to = page + 0x800;
	const void *from = vector;
	size_t nb = 32;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(nb) : : "memory");
}

static void
load(void)
{
	(void)*(volatile uint64_t *)(page + 0x800);
}

static void
access__that_is_no_plain_store(void **state)
{
	(void)state;
	expect_abort(exchange, "offset 0x100 by an instruction that is no plain store: 48 87 07");
	/* A copy by string instructions has no order: memcpy is not for BlueFlame. */
	expect_abort(copy_string, "offset 0x800 by an instruction that is no plain store: f3 a4");
	expect_abort(load, "offset 0x800");
}

static void
stores__are_counted(void **state)
{
	struct pmv_mlx5m_counters before, after;
	int i;

	(void)state;
	pmv_mlx5m_violations_clear();
	pmv_mlx5m_counters_get(&before);
	for (i = 0; i < 1000; i++)
		*(volatile uint64_t *)(page + AT) = (uint64_t)i;
	pmv_mlx5m_counters_get(&after);
	assert_int_equal(after.nb_stores - before.nb_stores, 1000);
	assert_int_equal(pmv_mlx5m_violations_of(PMV_MLX5M_STORE_REGISTER), 1000);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(store__every_register),
		cmocka_unit_test(store__every_size_and_form),
		cmocka_unit_test(store__vectors),
		cmocka_unit_test(store__avx),
		cmocka_unit_test(fault__of_others_reaches_them),
		cmocka_unit_test(access__that_is_no_plain_store),
		cmocka_unit_test(stores__are_counted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
