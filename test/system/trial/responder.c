// SPDX-License-Identifier: BSD-3-Clause
/*
 * The responder's half of a trial: prepares memory and receives for each step, and looks at both
 * when the requester says that the step is over. One thread.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "test/system/trial/talk.h"

#define WC_RECV          0x80u
#define WC_RECV_RDMA_IMM 0x81u
#define WC_WR_FLUSH_ERR  5u
#define WC_GRH           1u
#define WC_WITH_IMM      2u
#define WC_WITH_INV      8u
#define WC_BIND_MW       5u
#define WC_LOCAL_INV     6u
/* An unreliable message overtakes no message of the connection that left after it; this is for a
 * scheduler that lets one of two queue pairs wait. */
#define ARRIVAL_MS 300u
#define LEAVE_MS   3000u

static bool
is_reliable(const struct pmv_trial *t)
{
	return t->c->transport == PMV_TRIAL_RC;
}

static int
post_data_recv(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	uint32_t at = pmv_trial_data_at(t, s);
	uint32_t length = s->length + PMV_TRIAL_GUARD;

	if (is_reliable(t))
		return pmv_trial_side_recv(
			t, true, PMV_TRIAL_ID_DATA, at, length, pmv_trial_split(s, length));
	if (t->has_recv)
		return 0;
	t->has_recv = true;
	length = PMV_TRIAL_BYTES_MAX + PMV_TRIAL_GUARD;
	if (t->c->transport == PMV_TRIAL_UD) {
		at -= PMV_TRIAL_GRH;
		length += PMV_TRIAL_GRH;
	}
	return pmv_trial_side_recv(t, true, PMV_TRIAL_ID_DATA, at, length, 0);
}

/* `ret`: of the post. */
static int
check_key_completion(struct pmv_trial *t, const struct pmv_trial_step *s, uint32_t opcode, int ret)
{
	struct pmv_trial_wc wc;

	if (ret == 0)
		ret = pmv_trial_wait(t, PMV_TRIAL_ID_KEY, PMV_TRIAL_NEVER_MS, &wc);
	if (ret != 0)
		return ret;
	pmv_trial_expect(t, s,
		opcode == WC_BIND_MW ? "status of the bind" : "status of the invalidation", 0,
		wc.status);
	if (wc.status != 0)
		return -ECONNRESET;
	pmv_trial_expect(t, s, "opcode of the work on the key", opcode, wc.opcode);
	return 0;
}

static int
bind_key(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	int ret = pmv_trial_side_bind(t, PMV_TRIAL_ID_KEY, &t->key);

	return check_key_completion(t, s, WC_BIND_MW, ret);
}

static int
end_key(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	int ret = pmv_trial_side_invalidate(t, PMV_TRIAL_ID_KEY, t->key);

	return check_key_completion(t, s, WC_LOCAL_INV, ret);
}

/* A key for the step; every other time it is the second one, the first having been taken back. */
static int
prepare_key(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	int ret = bind_key(t, s);

	memset(t->buf + PMV_TRIAL_PROBE_AT, PMV_TRIAL_BLANK, 8);
	if (ret == 0 && s->number % 2 == 1)
		ret = end_key(t, s);
	if (ret == 0 && s->number % 2 == 1)
		ret = bind_key(t, s);
	return ret;
}

static int
prepare(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	uint32_t at = pmv_trial_data_at(t, s);
	uint64_t start = pmv_trial_atomic_value(s, 0);

	pmv_trial_blank(t, s);
	if (s->opcode == PMV_TRIAL_READ)
		for (uint32_t k = 0; k < s->count; k++)
			pmv_trial_fill(t->buf + at + k * s->length, s->number, k, s->length);
	if (pmv_trial_opcode_is_atomic(s->opcode))
		memcpy(t->buf + PMV_TRIAL_ATOMIC_AT, &start, sizeof(start));
	if (pmv_trial_opcode_takes_recv(s->opcode) && post_data_recv(t, s) != 0)
		return -EIO;
	if (t->c->has_mw && prepare_key(t, s) != 0)
		return -EIO;
	return pmv_trial_message_expect(t);
}

/* IBTA RoCEv2 annex: the network header stands at the end of the 40 bytes. */
static void
check_grh(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	const uint8_t *grh = t->buf + pmv_trial_data_at(t, s) - PMV_TRIAL_GRH;

	if (t->is_v6) {
		pmv_trial_expect(t, s, "IP version", 6, grh[0] >> 4);
		if (memcmp(grh + 8, t->grh_src, 16) != 0 || memcmp(grh + 24, t->grh_dst, 16) != 0)
			pmv_trial_say(t, "step %u: addresses of the network header", s->number);
		return;
	}
	pmv_trial_expect(t, s, "IP version and length", 0x45, grh[20]);
	if (memcmp(grh + 32, t->grh_src + 12, 4) != 0 || memcmp(grh + 36, t->grh_dst + 12, 4) != 0)
		pmv_trial_say(t, "step %u: addresses of the network header", s->number);
}

static void
check_recv(struct pmv_trial *t, const struct pmv_trial_step *s, const struct pmv_trial_wc *wc)
{
	bool is_ud = t->c->transport == PMV_TRIAL_UD;
	bool has_imm = pmv_trial_opcode_has_imm(s->opcode);
	bool has_inv = s->opcode == PMV_TRIAL_SEND_INV;

	pmv_trial_expect(t, s, "status of the receive", 0, wc->status);
	if (wc->status != 0)
		return;
	pmv_trial_expect(t, s, "opcode of the receive",
		s->opcode == PMV_TRIAL_WRITE_IMM ? WC_RECV_RDMA_IMM : WC_RECV, wc->opcode);
	pmv_trial_expect(t, s, "byte_len of the receive", s->length + (is_ud ? PMV_TRIAL_GRH : 0),
		wc->byte_len);
	pmv_trial_expect(t, s, "flags of the receive",
		(has_imm ? WC_WITH_IMM : 0) | (has_inv ? WC_WITH_INV : 0) | (is_ud ? WC_GRH : 0),
		wc->flags);
	if (wc->tells_solicited)
		pmv_trial_expect(t, s, "solicited bit of the receive",
			pmv_trial_step_is_solicited(s), wc->solicited);
	if (has_inv)
		pmv_trial_expect(t, s, "invalidated key", t->key, wc->inv_key);
	if (has_imm)
		pmv_trial_expect(t, s, "immediate", 0xabc00000 | s->number, wc->imm);
	if (is_ud) {
		pmv_trial_expect(t, s, "src_qp", t->peer.qpn, wc->src_qp);
		check_grh(t, s);
	}
}

/* A WRITE whose end was lost has written a part, and nothing tells. */
static bool
is_part_lost(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	const uint8_t *data = t->buf + pmv_trial_data_at(t, s);

	if (is_reliable(t) || !t->is_lossy || s->opcode != PMV_TRIAL_WRITE)
		return false;
	for (uint32_t i = 0; i < s->length; i++)
		if (data[i] == PMV_TRIAL_BLANK && pmv_trial_byte(s->number, 0, i) != data[i])
			return true;
	return false;
}

/* The key is dead after the step: SEND_INV ended it, which had used it before; else we do. */
static int
check_key(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	if (s->opcode != PMV_TRIAL_SEND_INV)
		return end_key(t, s);
	for (uint32_t i = 0; i < 8; i++)
		pmv_trial_expect(t, s, "byte through the window", pmv_trial_byte(s->number, 0, i),
			t->buf[PMV_TRIAL_PROBE_AT + i]);
	return 0;
}

/* @return 0; a negative errno when the trial cannot go on. */
static int
check(struct pmv_trial *t, const struct pmv_trial_step *s)
{
	struct pmv_trial_wc wc;
	uint64_t seen;
	int ret = 0;

	if (pmv_trial_opcode_is_atomic(s->opcode)) {
		memcpy(&seen, t->buf + PMV_TRIAL_ATOMIC_AT, sizeof(seen));
		pmv_trial_expect(
			t, s, "value in the end", pmv_trial_atomic_value(s, s->count), seen);
		return 0;
	}
	if (pmv_trial_opcode_takes_recv(s->opcode)) {
		ret = pmv_trial_wait(t, PMV_TRIAL_ID_DATA,
			is_reliable(t) || !t->is_lossy ? PMV_TRIAL_NEVER_MS : ARRIVAL_MS, &wc);
		if (ret == 0) {
			t->has_recv = false;
			check_recv(t, s, &wc);
		}
	}
	if (ret == -ETIMEDOUT && t->is_lossy && !t->is_gone && !is_reliable(t)) {
		t->nb_lost++;
		return 0;
	}
	if (ret != 0)
		return ret;
	if (is_part_lost(t, s))
		t->nb_lost++;
	else
		pmv_trial_check_data(t, s);
	return 0;
}

/* The peer may be gone before our last message is acknowledged, which then is flushed; it says
 * itself whether it came. Lossy: it may be gone without our hearing of it. */
static void
check_last(struct pmv_trial *t, const struct pmv_trial_wc *wc)
{
	if (wc->status != 0 && wc->status != WC_WR_FLUSH_ERR && !t->is_lossy)
		pmv_trial_say(t, "request %llu ended with status %u at last",
			(unsigned long long)wc->wr_id, wc->status);
}

static void
leave(struct pmv_trial *t)
{
	uint64_t end = pmv_trial_now_ms() + LEAVE_MS;
	struct pmv_trial_wc wc;

	while (!t->is_gone && pmv_trial_now_ms() < end)
		if (pmv_trial_side_poll(t, &wc) != 0)
			check_last(t, &wc);
}

/* The request that must be refused touches nothing, and a receive of a queue of its own is flushed,
 * or ends as too short. */
static int
prepare_fault(struct pmv_trial *t)
{
	memset(t->buf, PMV_TRIAL_BLANK, PMV_TRIAL_DATA_BYTES);
	memset(t->buf + PMV_TRIAL_RECV_AT, PMV_TRIAL_BLANK, PMV_TRIAL_MESSAGE + 8);
	memset(t->buf + PMV_TRIAL_BUF_BYTES - 8, PMV_TRIAL_BLANK, 8);
	return pmv_trial_message_expect(t);
}

static void
expect_untouched(struct pmv_trial *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (t->buf[i] != PMV_TRIAL_BLANK)
			pmv_trial_say(t, "what had to be refused wrote byte %u", i);
}

static void
check_fault(struct pmv_trial *t)
{
	uint32_t status =
		t->c->fault == PMV_TRIAL_TOO_LONG ? t->short_recv_status : WC_WR_FLUSH_ERR;
	uint64_t end = pmv_trial_now_ms() + LEAVE_MS;
	struct pmv_trial_wc wc = { .wr_id = PMV_TRIAL_ID_SEND };

	/* Whether our last message is acknowledged before the refusal is a matter of luck. */
	while (!t->c->has_srq && wc.wr_id != PMV_TRIAL_ID_RECV && pmv_trial_now_ms() < end) {
		if (pmv_trial_side_poll(t, &wc) == 0)
			wc.wr_id = PMV_TRIAL_ID_SEND;
		else if (wc.wr_id != PMV_TRIAL_ID_RECV)
			check_last(t, &wc);
	}
	if (!t->c->has_srq && (wc.wr_id != PMV_TRIAL_ID_RECV || wc.status != status))
		pmv_trial_say(
			t, "the receive ended with status %u, %u expected", wc.status, status);
	leave(t);
	expect_untouched(t, 0, PMV_TRIAL_DATA_BYTES);
	expect_untouched(t, PMV_TRIAL_RECV_AT + PMV_TRIAL_MESSAGE,
		PMV_TRIAL_RECV_AT + PMV_TRIAL_MESSAGE + 8);
	expect_untouched(t, PMV_TRIAL_BUF_BYTES - 8, PMV_TRIAL_BUF_BYTES);
}

void
pmv_trial_responder_run(struct pmv_trial *t)
{
	uint32_t nb = pmv_trial_case_steps(t->c);
	struct pmv_trial_message msg;
	struct pmv_trial_step step;
	int ret = 0;

	for (uint32_t i = 0; i < nb && ret == 0; i++) {
		pmv_trial_case_step(t->c, i, &step);
		ret = prepare(t, &step);
		if (ret == 0)
			ret = pmv_trial_message_send(t, i);
		if (ret == 0)
			ret = pmv_trial_message_sent(t, i);
		if (ret == 0)
			ret = pmv_trial_message_wait(t, i, &msg);
		if (ret == 0)
			ret = check(t, &step);
		if (ret == 0 && t->c->has_mw)
			ret = check_key(t, &step);
	}
	if (ret == 0 && pmv_trial_ends_in_fault(t))
		ret = prepare_fault(t);
	if (ret == 0)
		ret = pmv_trial_message_send(t, nb);
	if (ret != 0)
		pmv_trial_say(t, "the trial ended early: %s", strerror(-ret));
	else if (pmv_trial_ends_in_fault(t))
		check_fault(t);
	else
		leave(t);
}
