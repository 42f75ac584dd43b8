// SPDX-License-Identifier: BSD-3-Clause
/*
 * Recognises the stores that compilers and hand-written loops use on registers of a device: mov,
 * movnti, SSE and AVX moves (Intel SDM volume 2, chapter 2 for the encoding). The address is not
 * computed, since the fault tells it. Called by the SIGSEGV handler on any thread.
 */
#include <string.h>

#include "test/mlx5/trap_decode.h"

struct prefixes {
	bool operand; /* 66 */
	bool f2;
	bool f3;
	bool other; /* lock */
	bool rex;
	bool rex_w;
	bool rex_r;
	bool vex;
	bool vex_256;
};

struct reader {
	const uint8_t *code;
	uint32_t at;
	bool overrun;
};

static uint8_t
peek(const struct reader *r)
{
	return r->at < PMV_MLX5M_INSTRUCTION_MAX ? r->code[r->at] : 0;
}

static uint8_t
next(struct reader *r)
{
	uint8_t byte = peek(r);

	if (r->at >= PMV_MLX5M_INSTRUCTION_MAX)
		r->overrun = true;
	r->at++;
	return byte;
}

static void
read_legacy(struct reader *r, struct prefixes *p)
{
	for (;;) {
		switch (peek(r)) {
		case 0x66:
			p->operand = true;
			break;
		case 0xf2:
			p->f2 = true;
			break;
		case 0xf3:
			p->f3 = true;
			break;
		case 0xf0:
			p->other = true;
			break;
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x26:
		case 0x64:
		case 0x65:
		case 0x67:
			break;
		default:
			return;
		}
		(void)next(r);
		if (r->overrun)
			return;
	}
}

/* The pp field of VEX stands for a legacy prefix. */
static void
take_pp(struct prefixes *p, uint8_t pp)
{
	p->operand = pp == 1;
	p->f3 = pp == 2;
	p->f2 = pp == 3;
}

/* Returns 0 for a one-byte opcode map, 1 for map 0f; -1 for others. */
static int
read_map(struct reader *r, struct prefixes *p)
{
	uint8_t byte = peek(r);

	if (byte == 0xc5) { /* two-byte VEX */
		(void)next(r);
		byte = next(r);
		p->vex = true;
		p->rex_r = !(byte & 0x80);
		p->vex_256 = byte & 0x04;
		take_pp(p, byte & 3);
		return 1;
	}
	if (byte == 0xc4) { /* three-byte VEX */
		(void)next(r);
		byte = next(r);
		p->vex = true;
		p->rex_r = !(byte & 0x80);
		if ((byte & 0x1f) != 1)
			return -1;
		byte = next(r);
		p->rex_w = byte & 0x80;
		p->vex_256 = byte & 0x04;
		take_pp(p, byte & 3);
		return 1;
	}
	if ((byte & 0xf0) == 0x40) {
		p->rex = true;
		p->rex_w = byte & 0x08;
		p->rex_r = byte & 0x04;
		(void)next(r);
	}
	if (peek(r) != 0x0f)
		return 0;
	(void)next(r);
	return 1;
}

/* Skips ModRM, SIB and displacement. Returns the reg field, or -1 for a register operand. */
static int
read_modrm(struct reader *r)
{
	uint8_t modrm = next(r);
	uint8_t mod = modrm >> 6;
	uint8_t rm = modrm & 7;

	if (mod == 3)
		return -1;
	if (rm == 4) {
		uint8_t sib = next(r);

		if (mod == 0 && (sib & 7) == 5)
			r->at += 4;
	} else if (mod == 0 && rm == 5) {
		r->at += 4; /* relative to rip */
	}
	if (mod == 1)
		r->at += 1;
	else if (mod == 2)
		r->at += 4;
	if (r->at > PMV_MLX5M_INSTRUCTION_MAX)
		r->overrun = true;
	return (modrm >> 3) & 7;
}

static uint8_t
integer_bytes(const struct prefixes *p)
{
	if (p->rex_w)
		return 8;
	return p->operand ? 2 : 4;
}

static bool
read_immediate(struct reader *r, const struct prefixes *p, bool is_byte, struct pmv_mlx5m_store *s)
{
	uint32_t nb, i;
	uint64_t value = 0;

	s->source = PMV_MLX5M_FROM_IMMEDIATE;
	s->bytes = is_byte ? 1 : integer_bytes(p);
	nb = s->bytes > 4 ? 4 : s->bytes;
	for (i = 0; i < nb; i++)
		value |= (uint64_t)next(r) << (8 * i);
	if (s->bytes == 8) /* 32 bits, sign-extended */
		value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
	s->immediate = value;
	return true;
}

static bool
decode_one_byte(
	struct reader *r, const struct prefixes *p, uint8_t opcode, struct pmv_mlx5m_store *s)
{
	int reg;

	if (p->f2 || p->f3 ||
		(opcode != 0x88 && opcode != 0x89 && opcode != 0xc6 && opcode != 0xc7))
		return false;
	reg = read_modrm(r);
	if (reg < 0)
		return false;
	if (opcode == 0xc6 || opcode == 0xc7)
		return reg == 0 && read_immediate(r, p, opcode == 0xc6, s);
	s->source = PMV_MLX5M_FROM_REGISTER;
	s->number = (uint8_t)(reg + (p->rex_r ? 8 : 0));
	s->bytes = opcode == 0x88 ? 1 : integer_bytes(p);
	if (opcode == 0x88 && !p->rex && reg >= 4) {
		s->source = PMV_MLX5M_FROM_HIGH_BYTE;
		s->number = (uint8_t)(reg - 4);
	}
	return true;
}

/* Bytes that a vector move stores, or 0. */
static uint8_t
vector_bytes(const struct prefixes *p, uint8_t opcode)
{
	uint8_t full = p->vex_256 ? 32 : 16;

	switch (opcode) {
	case 0x11: /* movups, movupd, movss, movsd */
		if (p->f3)
			return 4;
		return p->f2 ? 8 : full;
	case 0x29: /* movaps, movapd */
	case 0x2b: /* movntps, movntpd */
		return p->f2 || p->f3 ? 0 : full;
	case 0x7f: /* movdqa, movdqu; without prefix it is of mmx */
		return p->operand || p->f3 ? full : 0;
	case 0xe7: /* movntdq */
		return p->operand ? full : 0;
	case 0xd6: /* movq */
		return p->operand ? 8 : 0;
	case 0x7e: /* movd, movq from a vector register */
		if (!p->operand)
			return 0;
		return p->rex_w ? 8 : 4;
	case 0x13: /* movlps, movlpd */
	case 0x17: /* movhps, movhpd */
		return p->f2 || p->f3 ? 0 : 8;
	default:
		return 0;
	}
}

static bool
decode_0f(struct reader *r, const struct prefixes *p, uint8_t opcode, struct pmv_mlx5m_store *s)
{
	int reg;

	if (opcode == 0xc3 && !p->vex) { /* movnti */
		if (p->operand || p->f2 || p->f3)
			return false;
		s->source = PMV_MLX5M_FROM_REGISTER;
		s->bytes = p->rex_w ? 8 : 4;
	} else {
		s->bytes = vector_bytes(p, opcode);
		s->source = opcode == 0x17 ? PMV_MLX5M_FROM_VECTOR_HIGH : PMV_MLX5M_FROM_VECTOR;
	}
	if (s->bytes == 0)
		return false;
	reg = read_modrm(r);
	s->number = (uint8_t)(reg + (p->rex_r ? 8 : 0));
	return reg >= 0;
}

bool
pmv_mlx5m_trap_decode(const uint8_t *code, struct pmv_mlx5m_store *ret_store)
{
	struct reader r = { .code = code };
	struct prefixes p = { 0 };
	uint8_t opcode;
	bool known;
	int map;

	memset(ret_store, 0, sizeof(*ret_store));
	read_legacy(&r, &p);
	if (r.overrun || p.other)
		return false;
	map = read_map(&r, &p);
	if (map < 0)
		return false;
	opcode = next(&r);
	known = map == 0 ? decode_one_byte(&r, &p, opcode, ret_store)
			 : decode_0f(&r, &p, opcode, ret_store);
	ret_store->length = (uint8_t)r.at;
	return known && !r.overrun;
}
