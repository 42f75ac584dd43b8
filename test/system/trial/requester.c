// SPDX-License-Identifier: BSD-3-Clause
/*
 * The requester's half of a trial: posts the operations of each step, looks at its completions and
 * at what READs and atomics brought. One thread.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "test/system/trial/talk.h"

#define WC_REM_INV_REQ_ERR 9u
#define WC_REM_ACCESS_ERR  10u

static const uint32_t wc_opcodes[] = {
	[PMV_TRIAL_WRITE] = 1,
	[PMV_TRIAL_WRITE_IMM] = 1,
	[PMV_TRIAL_SEND] = 0,
	[PMV_TRIAL_SEND_IMM] = 0,
	[PMV_TRIAL_READ] = 2,
	[PMV_TRIAL_COMP_SWAP] = 3,
	[PMV_TRIAL_FETCH_ADD] = 4,
	[PMV_TRIAL_SEND_INV] = 0,
};

static uint32_t
choose_flags(const struct pmv_trial_step *s)
{
	uint32_t flags = PMV_TRIAL_SIGNALED;

	if (pmv_trial_step_is_solicited(s))
		flags |= PMV_TRIAL_SOLICITED;
	if (s->opcode != PMV_TRIAL_READ && !pmv_trial_opcode_is_atomic(s->opcode) &&
		s->length <= PMV_TRIAL_INLINE_MAX && s->number % 2 == 1)
		flags |= PMV_TRIAL_INLINE;
	return flags;
}

static int
post_operation(struct pmv_trial *t, const struct pmv_trial_step *s, uint32_t k)
{
	uint32_t at = pmv_trial_data_at(t, s) + k * s->length;
	struct pmv_trial_wr wr = {
		.on_data = true,
		.wr_id = k,
		.opcode = s->opcode,
		.flags = choose_flags(s),
		.at = at,
		.length = s->length,
		.imm = 0xabc00000 | s->number,
		.remote_addr = t->peer.addr + at,
		.rkey = t->c->has_mw ? t->key : t->peer.rkey,
		.inv_key = t->key,
	};

	wr.split = wr.flags & PMV_TRIAL_INLINE ? 0 : pmv_trial_split(s, s->length);
	if (pmv_trial_opcode_is_atomic(s->opcode)) {
		wr.at = PMV_TRIAL_RESULT_AT + 8 * k;
		wr.split = 0;
		wr.remote_addr = t->peer.addr + PMV_TRIAL_ATOMIC_AT;
		pmv_trial_atomic_operands(s, &wr);
	} else if (s->opcode != PMV_TRIAL_READ) {
		pmv_trial_fill(t->buf + at, s->number, k, s->length);
	}
	return pmv_trial_side_send(t, &wr);
}

/* Completions of one queue come in the order of the requests. @return 0, or -ECONNRESET. */
static int
check_completion(struct pmv_trial *t, const struct pmv_trial_step *s, uint32_t k)
{
	struct pmv_trial_wc wc;
	int ret = pmv_trial_wait(t, k, PMV_TRIAL_NEVER_MS, &wc);

	if (ret != 0)
		return ret;
	pmv_trial_expect(t, s, "status", 0, wc.status);
	if (wc.status != 0)
		return -ECONNRESET;
	pmv_trial_expect(t, s, "completions out of order", 0, t->nb_stash);
	pmv_trial_expect(t, s, "opcode", wc_opcodes[s->opcode], wc.opcode);
	if (s->opcode == PMV_TRIAL_READ || pmv_trial_opcode_is_atomic(s->opcode))
		pmv_trial_expect(t, s, "byte_len", s->length, wc.byte_len);
	return 0;
}

static void
check_results(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	uint64_t seen;

	for (uint32_t k = 0; k < s->count; k++) {
		memcpy(&seen, t->buf + PMV_TRIAL_RESULT_AT + 8 * k, sizeof(seen));
		pmv_trial_expect(t, s, "original value", pmv_trial_atomic_value(s, k), seen);
	}
}

/* The key is alive: what goes through it arrives. */
static int
probe_key(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	struct pmv_trial_step probe = { s->number, PMV_TRIAL_WRITE, 8, 1, 0 };
	struct pmv_trial_wr wr = {
		.on_data = true,
		.opcode = PMV_TRIAL_WRITE,
		.flags = PMV_TRIAL_SIGNALED,
		.at = PMV_TRIAL_PROBE_AT,
		.length = 8,
		.remote_addr = t->peer.addr + PMV_TRIAL_PROBE_AT,
		.rkey = t->key,
	};
	int ret;

	pmv_trial_fill(t->buf + PMV_TRIAL_PROBE_AT, s->number, 0, 8);
	ret = pmv_trial_side_send(t, &wr);
	return ret != 0 ? ret : check_completion(t, &probe, 0);
}

static int
run_step(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	int ret = 0;

	pmv_trial_blank(t, s);
	if (s->opcode == PMV_TRIAL_SEND_INV)
		ret = probe_key(t, s);
	for (uint32_t k = 0; k < s->count && ret == 0; k++)
		ret = post_operation(t, s, k);
	for (uint32_t k = 0; k < s->count && ret == 0; k++)
		ret = check_completion(t, s, k);
	if (ret != 0)
		return ret;
	if (s->opcode == PMV_TRIAL_READ)
		pmv_trial_check_data(t, s);
	else if (pmv_trial_opcode_is_atomic(s->opcode))
		check_results(t, s);
	return 0;
}

/* What is wrong with the last request. @return the status it must end with: beyond the region and a
 * bad key are remote access errors, an unaligned atomic is an invalid request (IBTA vol. 1, 9.9.3).
 */
static uint32_t
spoil(const struct pmv_trial *t, struct pmv_trial_wr *wr)
{
	switch (t->c->fault) {
	case PMV_TRIAL_BEYOND:
		wr->opcode = PMV_TRIAL_WRITE;
		wr->remote_addr = t->peer.addr + PMV_TRIAL_BUF_BYTES - 4;
		return WC_REM_ACCESS_ERR;
	case PMV_TRIAL_BAD_KEY:
		wr->opcode = pmv_trial_opcode_is_atomic(t->c->opcodes[0]) ? t->c->opcodes[0]
									  : PMV_TRIAL_READ;
		wr->rkey ^= 0xff;
		return WC_REM_ACCESS_ERR;
	case PMV_TRIAL_STALE_KEY:
		wr->opcode = PMV_TRIAL_WRITE;
		wr->rkey = t->key;
		return WC_REM_ACCESS_ERR;
	case PMV_TRIAL_TOO_LONG:
		wr->opcode = PMV_TRIAL_SEND;
		wr->length = PMV_TRIAL_MESSAGE + 1;
		return t->long_send_status;
	default:
		wr->opcode = PMV_TRIAL_FETCH_ADD;
		wr->remote_addr += 4;
		wr->compare_add = 1;
		return WC_REM_INV_REQ_ERR;
	}
}

/* The queue pair is in error then. */
static void
run_fault(struct pmv_trial *t)
{
	struct pmv_trial_step s = { .number = pmv_trial_case_steps(t->c), .count = 1 };
	struct pmv_trial_wr wr = {
		.on_data = true,
		.flags = PMV_TRIAL_SIGNALED,
		.at = PMV_TRIAL_RESULT_AT,
		.length = 8,
		.remote_addr = t->peer.addr + PMV_TRIAL_ATOMIC_AT,
		.rkey = t->peer.rkey,
	};
	uint32_t status = spoil(t, &wr);
	struct pmv_trial_wc wc;

	s.opcode = wr.opcode;
	s.length = wr.length;
	if (pmv_trial_side_send(t, &wr) != 0 ||
		pmv_trial_wait(t, wr.wr_id, PMV_TRIAL_NEVER_MS, &wc) != 0)
		pmv_trial_say(t, "the request that must be refused has no completion");
	else
		pmv_trial_expect(t, &s, "status of what must be refused", status, wc.status);
}

void
pmv_trial_requester_run(struct pmv_trial *t)
{
	uint32_t nb = pmv_trial_case_steps(t->c);
	struct pmv_trial_message msg;
	struct pmv_trial_step step;
	int ret = pmv_trial_message_expect(t);

	if (ret == 0)
		ret = pmv_trial_message_wait(t, 0, &msg);
	for (uint32_t i = 0; i < nb && ret == 0; i++) {
		pmv_trial_case_step(t->c, i, &step);
		t->key = msg.key;
		ret = run_step(t, &step);
		if (ret == 0)
			ret = pmv_trial_message_expect(t);
		if (ret == 0)
			ret = pmv_trial_message_send(t, i);
		if (ret == 0)
			ret = pmv_trial_message_sent(t, i);
		if (ret == 0)
			ret = pmv_trial_message_wait(t, i + 1, &msg);
	}
	if (ret != 0)
		pmv_trial_say(t, "the trial ended early: %s", strerror(-ret));
	else if (msg.nb_failures != 0)
		pmv_trial_say(t, "the responder saw %u failures", msg.nb_failures);
	else if (pmv_trial_ends_in_fault(t))
		run_fault(t);
}
