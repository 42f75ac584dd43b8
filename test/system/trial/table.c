// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cases, and how a case unfolds into steps: every operation with every length. Called by both
 * ends' programs, one thread each.
 */
#include "test/system/trial/table.h"

#include <string.h>

#define NB_LENGTHS    8u
#define NB_LENGTHS_UD 4u
/* Equal, unequal; each alone and with others outstanding; often enough that loss meets each. */
#define NB_VARIANTS 32u

/* clang-format off */
#define CASE(name_, transport_, mtu_) .name = name_, .transport = PMV_TRIAL_##transport_, .mtu = mtu_
#define FAULT(fault_) .fault = PMV_TRIAL_##fault_
#define OPCODES(nb, ...) .nb_opcodes = nb, .opcodes = { __VA_ARGS__ }

static const struct pmv_trial_case cases[] = {
	{ CASE("rc", RC, PMV_TRIAL_MTU), FAULT(BEYOND),
	  OPCODES(5, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM, PMV_TRIAL_READ) },
	{ CASE("rc4096", RC, PMV_TRIAL_MTU_BIG), FAULT(TOO_LONG),
	  OPCODES(5, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM, PMV_TRIAL_READ) },
	{ CASE("atomic", RC, PMV_TRIAL_MTU), FAULT(BAD_KEY),
	  OPCODES(2, PMV_TRIAL_COMP_SWAP, PMV_TRIAL_FETCH_ADD) },
	{ CASE("inv", RC, PMV_TRIAL_MTU), FAULT(STALE_KEY), .has_mw = true, OPCODES(1, PMV_TRIAL_SEND_INV) },
	{ CASE("mw", RC, PMV_TRIAL_MTU), FAULT(STALE_KEY), .has_mw = true,
	  OPCODES(5, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM, PMV_TRIAL_READ, PMV_TRIAL_COMP_SWAP, PMV_TRIAL_FETCH_ADD) },
	{ CASE("too_long", RC, PMV_TRIAL_MTU), FAULT(TOO_LONG), OPCODES(1, PMV_TRIAL_SEND) },
	{ CASE("srq", RC, PMV_TRIAL_MTU), FAULT(BAD_KEY), .has_srq = true,
	  OPCODES(3, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE_IMM) },
	{ CASE("srq_ud", UD, PMV_TRIAL_MTU), .has_srq = true, OPCODES(1, PMV_TRIAL_SEND_IMM) },
	{ CASE("srq_uc", UC, PMV_TRIAL_MTU), .has_srq = true,
	  OPCODES(3, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE_IMM) },
	/* librxe does not even take an unaligned atomic: this one is for our requester. */
	{ CASE("unaligned", RC, PMV_TRIAL_MTU), FAULT(UNALIGNED), OPCODES(1, PMV_TRIAL_FETCH_ADD) },
	{ CASE("uc", UC, PMV_TRIAL_MTU),
	  OPCODES(4, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM) },
	{ CASE("uc_cm", UC, PMV_TRIAL_MTU), .by_cm = true,
	  OPCODES(4, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM) },
	{ CASE("uc4096", UC, PMV_TRIAL_MTU_BIG),
	  OPCODES(4, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM, PMV_TRIAL_WRITE, PMV_TRIAL_WRITE_IMM) },
	{ CASE("ud", UD, PMV_TRIAL_MTU), OPCODES(2, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM) },
	{ CASE("ud4096", UD, PMV_TRIAL_MTU_BIG), OPCODES(2, PMV_TRIAL_SEND, PMV_TRIAL_SEND_IMM) },
};
/* clang-format on */

static uint32_t
length_of(const struct pmv_trial_case *c, uint32_t i)
{
	const uint32_t lengths[NB_LENGTHS] = { 0, 1, c->mtu - 1, c->mtu, c->mtu + 1, 3 * c->mtu + 7,
		65536, PMV_TRIAL_BYTES_MAX };

	return lengths[i];
}

const struct pmv_trial_case *
pmv_trial_case_find(const char *name)
{
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

bool
pmv_trial_opcode_is_atomic(enum pmv_trial_opcode opcode)
{
	return opcode == PMV_TRIAL_COMP_SWAP || opcode == PMV_TRIAL_FETCH_ADD;
}

bool
pmv_trial_opcode_takes_recv(enum pmv_trial_opcode opcode)
{
	return opcode == PMV_TRIAL_SEND || opcode == PMV_TRIAL_SEND_IMM ||
	       opcode == PMV_TRIAL_WRITE_IMM || opcode == PMV_TRIAL_SEND_INV;
}

bool
pmv_trial_opcode_has_imm(enum pmv_trial_opcode opcode)
{
	return opcode == PMV_TRIAL_SEND_IMM || opcode == PMV_TRIAL_WRITE_IMM;
}

const char *
pmv_trial_opcode_name(enum pmv_trial_opcode opcode)
{
	static const char *const names[] = { "WRITE", "WRITE_IMM", "SEND", "SEND_IMM", "READ",
		"COMP_SWAP", "FETCH_ADD", [PMV_TRIAL_SEND_INV] = "SEND_INV" };

	return names[opcode];
}

static uint32_t
opcode_steps(const struct pmv_trial_case *c, enum pmv_trial_opcode opcode)
{
	if (pmv_trial_opcode_is_atomic(opcode))
		return NB_VARIANTS;
	if (c->transport == PMV_TRIAL_UD)
		return NB_LENGTHS_UD;
	return NB_LENGTHS;
}

uint32_t
pmv_trial_case_steps(const struct pmv_trial_case *c)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < c->nb_opcodes; i++)
		nb += opcode_steps(c, c->opcodes[i]);
	return nb;
}

void
pmv_trial_case_step(
	const struct pmv_trial_case *c, uint32_t number, struct pmv_trial_step *ret_step)
{
	uint32_t rest = number;
	uint32_t i = 0;

	while (rest >= opcode_steps(c, c->opcodes[i]))
		rest -= opcode_steps(c, c->opcodes[i++]);
	*ret_step =
		(struct pmv_trial_step){ .number = number, .opcode = c->opcodes[i], .count = 1 };
	if (pmv_trial_opcode_is_atomic(ret_step->opcode)) {
		ret_step->length = 8;
		ret_step->variant = rest % 2;
		ret_step->count = rest % 4 < 2 ? 1 : PMV_TRIAL_COUNT_MAX;
		return;
	}
	ret_step->length = length_of(c, rest);
	/* What several READs bring has to fit into the buffer together. */
	if (ret_step->opcode == PMV_TRIAL_READ && ret_step->length < PMV_TRIAL_BYTES_MAX)
		ret_step->count = PMV_TRIAL_COUNT_MAX;
}

uint8_t
pmv_trial_byte(uint32_t step, uint32_t k, uint32_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17 + (i >> 16) * 29 + step * 59 + k * 101 + 1);
}

void
pmv_trial_fill(uint8_t *buf, uint32_t step, uint32_t k, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		buf[i] = pmv_trial_byte(step, k, i);
}

bool
pmv_trial_step_is_solicited(const struct pmv_trial_step *s)
{
	return pmv_trial_opcode_takes_recv(s->opcode) && s->number % 3 == 0;
}
