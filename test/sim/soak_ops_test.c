// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random operations over 64 connections of every kind (RC with go-back-N and selective repeat, UC,
 * UD), 3 SRQs and 4 workers, while each frame is lost, doubled or late with 1 % each, and some
 * reach the wrong worker. Memory is what a model says, every request and receive completes exactly
 * once and in order of its queue, every message is right, nothing leaks.
 *
 * Deterministic, one thread. PMV_SIM_SOAK_OPS sets the number of send requests (the long run:
 * 1000000), PMV_SIM_SOAK_SEED the seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/be.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"
#include "test/sim/soak_lab.h"

#define OPS      200000u
#define BURST    4u
#define UC_BYTES 8u /* UC WRITEs are of whole words that say who wrote them */
#define SRQ_ID   (1ull << 62)

static struct soak_flow *
flow_of_qpn(struct soak *s, int side, uint32_t qpn)
{
	for (uint32_t i = (uint32_t)side; i < 2 * SOAK_CONNS; i += 2)
		if (pmv_qp_num(s->flow[i].qp) == qpn)
			return &s->flow[i];
	fail_msg("no QP %u", qpn);
	return NULL;
}

static bool
is_rc(const struct soak_flow *f)
{
	return f->kind <= SOAK_RC_SELECTIVE;
}

static uint32_t
msg_seed(const struct soak_flow *f, uint32_t seq)
{
	return f->id * 0x10001 + seq;
}

/* ---- receives ---- */

static uint32_t
cut_up(struct soak *s, uint8_t *p, uint32_t len, uint32_t lkey, struct pmv_sge *sge)
{
	uint32_t nb = 1 + soak_below(s, 4);

	if (soak_chance(s, 60))
		nb = 1;
	for (uint32_t i = 0; i < nb; i++) {
		uint32_t n = i + 1 == nb ? len : soak_below(s, len + 1);

		sge[i] = (struct pmv_sge){ (uintptr_t)p, n, lkey };
		p += n;
		len -= n;
	}
	return nb;
}

/* Some receives, or all that fit, or none for a while: then the peers meet RNR. */
static void
post_recvs(struct soak *s, struct soak_flow *f)
{
	uint32_t nb = soak_below(s, 1 + SOAK_DEPTH - (f->recv_head - f->recv_tail));
	struct pmv_sge sge[4];

	for (; f->srq < 0 && nb > 0; nb--) {
		struct soak_recv *r = &f->recv[f->recv_head % SOAK_DEPTH];
		struct pmv_recv_wr wr = { (uint64_t)f->id << 32 | f->recv_head, sge, 0 };

		wr.num_sge = cut_up(s, r->buf, SOAK_ROOM, pmv_mr_lkey(s->mr[f->side]), sge);
		assert_int_equal(pmv_post_recv(f->qp, &wr, 1), 1);
		f->recv_head++;
		s->nb_recvs++;
	}
}

static void
post_srq_recvs(struct soak *s, uint32_t index)
{
	struct soak_srq *q = &s->srq[index];
	struct pmv_sge sge[4];

	for (uint32_t i = 0; i < SOAK_SRQ_WRS; i++) {
		struct pmv_recv_wr wr = { SRQ_ID | index << 8 | i, sge, 0 };

		if (q->recv[i].posted || soak_chance(s, 50))
			continue;
		wr.num_sge = cut_up(s, q->recv[i].buf, SOAK_ROOM, pmv_mr_lkey(s->mr[1]), sge);
		assert_int_equal(pmv_post_srq_recv(q->srq, &wr, 1), 1);
		q->recv[i].posted = true;
		q->nb_posted++;
		s->nb_recvs++;
	}
}

/* The receive that completed: the oldest of its QP, or one that the SRQ had. */
static const uint8_t *
take_recv(struct soak *s, struct soak_flow *f, uint64_t wr_id)
{
	struct soak_recv *r;

	if (wr_id & SRQ_ID) {
		assert_int_equal(wr_id >> 8 & 0xff, f->srq);
		r = &s->srq[f->srq].recv[wr_id & 0xff];
		assert_true(r->posted);
		r->posted = false;
		s->srq[f->srq].nb_posted--;
		return r->buf;
	}
	assert_true(f->recv_tail != f->recv_head);
	assert_true(wr_id == ((uint64_t)f->id << 32 | f->recv_tail));
	return f->recv[f->recv_tail++ % SOAK_DEPTH].buf;
}

/* ---- what is posted ---- */

struct draft {
	struct pmv_send_wr wr;
	struct pmv_sge sge[4];
	uint8_t *spoil; /* inline: may be overwritten when post returns */
};

static uint32_t
any_len(struct soak *s, const struct soak_flow *f)
{
	uint32_t dice = soak_below(s, 100);
	uint32_t len = soak_below(s, dice < 50 ? 65 : dice < 80 ? 1500 : SOAK_LEN + 1);

	if (f->kind == SOAK_UD)
		len = RTE_MIN(len, 4096u);
	return is_rc(f) ? len : RTE_MAX(len, 8u); /* room for the number of the message */
}

/* The bytes of message seq; of UC and UD they begin with its number. */
static void
fill_message(const struct soak_flow *f, uint8_t *p, uint32_t len, uint32_t seq)
{
	rc_lab_fill(p, len, msg_seed(f, seq));
	if (!is_rc(f))
		pmv_be32_store(p, seq);
}

static void
note_message(struct soak *s, struct soak_flow *f, const struct pmv_send_wr *wr, uint32_t len)
{
	struct soak_msg *m = &f->msg[f->msg_head % SOAK_MSGS];

	if (f->msg_head - f->msg_tail == SOAK_MSGS) {
		assert_false(is_rc(f));
		f->msg_tail++;
		s->nb_lost += f->kind == SOAK_UC;
	}
	*m = (struct soak_msg){ .seq = f->msg_head++,
		.op = wr->opcode,
		.len = len,
		.key = wr->invalidate_rkey,
		.dest = f->id / 2,
		.solicited = wr->send_flags & PMV_SEND_SOLICITED };
}

/* A SEND of some kind; invalidation and address are added by the caller. */
static void
draft_send(struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r, uint8_t *src)
{
	r->len = any_len(s, f);
	fill_message(f, src, r->len, f->msg_head);
	if (r->op != PMV_WR_SEND_WITH_INV)
		d->wr.imm_data = rte_cpu_to_be_32(f->msg_head);
	note_message(s, f, &d->wr, r->len);
	if (f->kind != SOAK_UD)
		return;
	f->msg[(f->msg_head - 1) % SOAK_MSGS].dest = soak_below(s, SOAK_CONNS / 8) * 8 + 7;
	d->wr.wr.ud.ah = s->ah[f->side];
	d->wr.wr.ud.remote_qpn =
		pmv_qp_num(s->flow[2 * f->msg[(f->msg_head - 1) % SOAK_MSGS].dest + !f->side].qp);
	d->wr.wr.ud.remote_qkey = SOAK_QKEY;
}

/* UC: what of it arrives is not known, so each word says who wrote it and where. */
static void
draft_uc_write(
	struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r, uint8_t *src)
{
	uint32_t off;

	r->len &= ~7u;
	off = soak_below(s, (SOAK_TO - r->len) / 8 + 1) * 8;
	for (uint32_t i = 0; i < r->len; i += 8) {
		pmv_be32_store(src + i, f->id << 24 | (f->head & 0xffffff));
		pmv_be32_store(src + i + 4, off + i);
	}
	d->wr.wr.rdma.remote_addr = (uintptr_t)(f->to + off);
}

static void
draft_write(struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r, uint8_t *src)
{
	uint32_t off;

	r->len = any_len(s, f);
	d->wr.wr.rdma.rkey = pmv_mr_rkey(s->mr[!f->side]);
	if (r->op == PMV_WR_RDMA_WRITE_WITH_IMM) {
		d->wr.imm_data = rte_cpu_to_be_32(f->msg_head);
		note_message(s, f, &d->wr, f->kind == SOAK_UC ? r->len & ~7u : r->len);
	}
	if (f->kind == SOAK_UC) {
		draft_uc_write(s, f, d, r, src);
		return;
	}
	rc_lab_fill(src, r->len, msg_seed(f, f->head));
	if (f->win_state == SOAK_WIN_VALID && soak_chance(s, 30)) {
		off = soak_below(s, SOAK_WIN - r->len + 1);
		r->of_window = true;
		f->nb_win_uses++;
		memcpy(f->win_model + off, src, r->len);
		d->wr.wr.rdma.rkey = f->win_key;
		d->wr.wr.rdma.remote_addr = (uintptr_t)(f->win + off);
		return;
	}
	off = soak_below(s, SOAK_TO - r->len + 1);
	memcpy(f->to_model + off, src, r->len);
	d->wr.wr.rdma.remote_addr = (uintptr_t)(f->to + off);
	/* a READ whose answer is lost is executed again: it must be done first (IBTA vol. 1,
	 * 10.8.3.3) */
	if (f->nb_target_reads > 0)
		d->wr.send_flags |= PMV_SEND_FENCE;
}

static void
draft_read(struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r)
{
	uint8_t *expect = f->expect[f->head % SOAK_DEPTH];
	uint32_t off;

	r->len = any_len(s, f);
	r->expects = true;
	d->wr.wr.rdma.rkey = pmv_mr_rkey(s->mr[!f->side]);
	if (soak_chance(s, 70)) {
		off = soak_below(s, SOAK_FROM - r->len + 1);
		memcpy(expect, f->from + off, r->len);
		d->wr.wr.rdma.remote_addr = (uintptr_t)(f->from + off);
		return;
	}
	off = soak_below(s, SOAK_TO - r->len + 1);
	r->of_target = true;
	f->nb_target_reads++;
	memcpy(expect, f->to_model + off, r->len);
	d->wr.wr.rdma.remote_addr = (uintptr_t)(f->to + off);
}

static void
draft_word(struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r, uint8_t *src)
{
	uint32_t i = soak_below(s, SOAK_WORDS);
	uint64_t *word = &f->words_model[i];
	uint64_t v = pmv_random_next64(&s->random);

	r->len = 8;
	d->wr.wr.atomic.rkey = pmv_mr_rkey(s->mr[!f->side]);
	d->wr.wr.atomic.remote_addr = (uintptr_t)(f->words + i);
	if (r->op == PMV_WR_ATOMIC_WRITE) {
		memcpy(src, &v, 8);
		*word = v;
		return;
	}
	if (r->op == PMV_WR_ATOMIC_FETCH_AND_ADD && soak_chance(s, 40)) {
		r->of_all = true;
		s->all_posted[!f->side]++;
		d->wr.wr.atomic.remote_addr = (uintptr_t)s->all_word[!f->side];
		d->wr.wr.atomic.compare_add = 1;
		return;
	}
	r->expects = true;
	memcpy(f->expect[f->head % SOAK_DEPTH], word, 8);
	d->wr.wr.atomic.compare_add = v;
	if (r->op == PMV_WR_ATOMIC_FETCH_AND_ADD) {
		*word += v;
		return;
	}
	d->wr.wr.atomic.swap = ~v;
	if (soak_chance(s, 50))
		d->wr.wr.atomic.compare_add = *word;
	if (d->wr.wr.atomic.compare_add == *word)
		*word = ~v;
}

/* A key for the other direction: made valid again with another tag, or ended. */
static void
draft_key(struct soak *s, struct soak_flow *f, struct draft *d, struct pmv_mw_bind *bind)
{
	struct soak_flow *g = f->peer;
	void *pages[2] = { g->win, g->win + SOAK_WIN / 2 };

	if (d->wr.opcode == PMV_WR_LOCAL_INV) {
		d->wr.invalidate_rkey = g->win_key;
	} else if (d->wr.opcode == PMV_WR_BIND_MW) {
		*bind = (struct pmv_mw_bind){ s->mr[f->side], (uintptr_t)g->win, SOAK_WIN,
			PMV_ACCESS_REMOTE_WRITE };
		g->win_key = pmv_inc_rkey(pmv_mw_rkey(g->mw));
		d->wr.wr.bind_mw.mw = g->mw;
		d->wr.wr.bind_mw.rkey = g->win_key;
		d->wr.wr.bind_mw.bind = bind;
	} else {
		assert_int_equal(pmv_map_mr(g->fast, pages, 2, (uintptr_t)g->win, SOAK_WIN), 0);
		g->win_key = pmv_inc_rkey(pmv_mr_rkey(g->fast));
		d->wr.wr.reg.mr = g->fast;
		d->wr.wr.reg.key = g->win_key;
		d->wr.wr.reg.access = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE;
	}
	g->win_state = SOAK_WIN_BUSY;
}

static enum pmv_wr_opcode
choose_op(struct soak *s, const struct soak_flow *f)
{
	static const enum pmv_wr_opcode rc[] = { PMV_WR_RDMA_WRITE, PMV_WR_RDMA_WRITE,
		PMV_WR_RDMA_WRITE, PMV_WR_RDMA_WRITE_WITH_IMM, PMV_WR_SEND, PMV_WR_SEND,
		PMV_WR_SEND_WITH_IMM, PMV_WR_RDMA_READ, PMV_WR_RDMA_READ, PMV_WR_ATOMIC_CMP_AND_SWP,
		PMV_WR_ATOMIC_FETCH_AND_ADD, PMV_WR_ATOMIC_WRITE, PMV_WR_FLUSH,
		PMV_WR_SEND_WITH_INV, PMV_WR_BIND_MW, PMV_WR_LOCAL_INV, PMV_WR_NOP };
	const struct soak_flow *g = f->peer;
	enum pmv_wr_opcode op;

	if (f->kind == SOAK_UD)
		return soak_chance(s, 50) ? PMV_WR_SEND : PMV_WR_SEND_WITH_IMM;
	if (f->kind == SOAK_UC)
		return (enum pmv_wr_opcode)soak_below(s, 4);
	op = rc[soak_below(s, RTE_DIM(rc))];
	if (op == PMV_WR_SEND_WITH_INV && f->win_state != SOAK_WIN_VALID)
		return PMV_WR_SEND;
	if (op == PMV_WR_LOCAL_INV &&
		(g->win_state != SOAK_WIN_VALID || g->nb_win_uses > 0 || soak_chance(s, 80)))
		return PMV_WR_RDMA_WRITE;
	if (op == PMV_WR_BIND_MW && g->win_state != SOAK_WIN_FREE)
		return PMV_WR_RDMA_READ;
	if (op == PMV_WR_BIND_MW && g->fast != NULL)
		return PMV_WR_REG_MR;
	return op;
}

/* SGEs, and what a request may have besides. */
static void
dress(struct soak *s, struct soak_flow *f, struct draft *d, struct soak_req *r, uint8_t *src)
{
	bool takes = r->op == PMV_WR_RDMA_READ || r->op == PMV_WR_ATOMIC_CMP_AND_SWP ||
		     r->op == PMV_WR_ATOMIC_FETCH_AND_ADD;
	uint32_t lkey = pmv_mr_lkey(s->mr[f->side]);

	d->wr.sg_list = d->sge;
	if (r->op == PMV_WR_FLUSH || r->op == PMV_WR_NOP || r->op == PMV_WR_LOCAL_INV ||
		r->op == PMV_WR_BIND_MW || r->op == PMV_WR_REG_MR)
		return;
	if (takes)
		memset(src, 0x11, r->len);
	if (takes && r->len == 8 && r->op != PMV_WR_RDMA_READ) {
		d->sge[0] = (struct pmv_sge){ (uintptr_t)src, 8, lkey };
		d->wr.num_sge = 1;
		return;
	}
	d->wr.num_sge = cut_up(s, src, r->len, lkey, d->sge);
	if (takes || r->len > 64 || soak_chance(s, 50))
		return;
	d->wr.send_flags |= PMV_SEND_INLINE;
	for (uint32_t i = 0; i < d->wr.num_sge; i++)
		d->sge[i].lkey = 0xbad;
	d->spoil = src;
}

static void
draft(struct soak *s, struct soak_flow *f, struct draft *d, struct pmv_mw_bind *bind)
{
	struct soak_req *r = &f->req[f->head % SOAK_DEPTH];
	uint8_t *src = f->slot[f->head % SOAK_DEPTH];

	*r = (struct soak_req){ .op = choose_op(s, f) };
	memset(d, 0, sizeof(*d));
	d->wr.wr_id = (uint64_t)f->id << 32 | f->head;
	d->wr.opcode = r->op;
	/* not so seldom that the queue is full of requests that nobody hears of */
	r->signalled = soak_chance(s, 40) || f->head % (SOAK_DEPTH / 2) == 0;
	if (r->op == PMV_WR_BIND_MW || r->op == PMV_WR_REG_MR || r->op == PMV_WR_LOCAL_INV)
		r->signalled = true;
	d->wr.send_flags = (r->signalled ? PMV_SEND_SIGNALED : 0) |
			   (soak_chance(s, 10) ? PMV_SEND_SOLICITED : 0) |
			   (soak_chance(s, 5) ? PMV_SEND_FENCE : 0) |
			   (soak_chance(s, 10) ? PMV_SEND_FLUSH : 0);
	if (r->op == PMV_WR_SEND_WITH_INV) {
		d->wr.invalidate_rkey = f->win_key;
		f->win_state = SOAK_WIN_BUSY;
	}
	if (r->op == PMV_WR_SEND || r->op == PMV_WR_SEND_WITH_IMM || r->op == PMV_WR_SEND_WITH_INV)
		draft_send(s, f, d, r, src);
	else if (r->op == PMV_WR_RDMA_WRITE || r->op == PMV_WR_RDMA_WRITE_WITH_IMM)
		draft_write(s, f, d, r, src);
	else if (r->op == PMV_WR_RDMA_READ)
		draft_read(s, f, d, r);
	else if (r->op == PMV_WR_FLUSH)
		d->wr.wr.flush.remote_addr = (uintptr_t)f->to,
		d->wr.wr.flush.rkey = pmv_mr_rkey(s->mr[!f->side]),
		d->wr.wr.flush.length = soak_below(s, SOAK_TO),
		d->wr.wr.flush.type = PMV_FLUSH_GLOBAL;
	else if (r->op == PMV_WR_BIND_MW || r->op == PMV_WR_REG_MR || r->op == PMV_WR_LOCAL_INV)
		draft_key(s, f, d, bind);
	else if (r->op != PMV_WR_NOP)
		draft_word(s, f, d, r, src);
	dress(s, f, d, r, src);
	f->head++;
	s->by_op[r->op % 64]++;
}

static void
post_burst(struct soak *s, struct soak_flow *f)
{
	uint32_t room = RTE_MIN(BURST, SOAK_DEPTH - (f->head - f->tail));
	struct pmv_mw_bind bind[BURST];
	struct pmv_send_wr wr[BURST];
	struct draft d[BURST];
	uint32_t nb;

	if (room == 0)
		return;
	nb = 1 + soak_below(s, room);
	for (uint32_t i = 0; i < nb; i++) {
		draft(s, f, &d[i], &bind[i]);
		wr[i] = d[i].wr;
	}
	assert_int_equal(pmv_post_send(f->qp, wr, nb), nb);
	for (uint32_t i = 0; i < nb; i++)
		if (d[i].spoil != NULL)
			memset(d[i].spoil, 0xee, 64);
	s->nb_posted += nb;
}

/* ---- completions ---- */

static enum pmv_wc_opcode
wc_of(enum pmv_wr_opcode op)
{
	switch (op) {
	case PMV_WR_RDMA_WRITE:
	case PMV_WR_RDMA_WRITE_WITH_IMM:
		return PMV_WC_RDMA_WRITE;
	case PMV_WR_RDMA_READ:
		return PMV_WC_RDMA_READ;
	case PMV_WR_ATOMIC_CMP_AND_SWP:
		return PMV_WC_COMP_SWAP;
	case PMV_WR_ATOMIC_FETCH_AND_ADD:
		return PMV_WC_FETCH_ADD;
	case PMV_WR_ATOMIC_WRITE:
		return PMV_WC_ATOMIC_WRITE;
	case PMV_WR_FLUSH:
		return PMV_WC_FLUSH;
	case PMV_WR_BIND_MW:
		return PMV_WC_BIND_MW;
	case PMV_WR_REG_MR:
		return PMV_WC_REG_MR;
	case PMV_WR_LOCAL_INV:
		return PMV_WC_LOCAL_INV;
	case PMV_WR_NOP:
		return PMV_WC_NOP;
	default:
		return PMV_WC_SEND;
	}
}

/* Every completion here is a success. */
static void
check_status(struct soak *s, const struct pmv_wc *wc)
{
	const struct soak_flow *f = wc->qp_context;
	struct pmv_event ev;

	if (wc->status == PMV_WC_SUCCESS)
		return;
	print_error("%s: flow %u, kind %u, states %s, %s; wr_id %llx\n",
		pmv_wc_status_str(wc->status), f->id, f->kind,
		pmv_qp_state_str(pmv_qp_get_state(f->qp)),
		pmv_qp_state_str(pmv_qp_get_state(f->peer->qp)), (unsigned long long)wc->wr_id);
	for (uint32_t k = 0; k < 2 * SOAK_WORKERS; k++)
		while (pmv_worker_get_event(s->pair.node[k % 2].worker[k / 2], &ev) == 1)
			if (ev.type != PMV_EVENT_COMM_EST)
				print_error("node %u: %s of QP %u (this: %u)\n", k % 2,
					pmv_event_type_str(ev.type), ev.qp_num, wc->qp_num);
	fail();
}

static void
finish(struct soak *s, struct soak_flow *f, uint32_t n)
{
	const struct soak_req *r = &f->req[n % SOAK_DEPTH];
	const uint8_t *slot = f->slot[n % SOAK_DEPTH];
	uint64_t found;

	if (r->expects)
		assert_memory_equal(slot, f->expect[n % SOAK_DEPTH], r->len);
	if (r->of_all) { /* each value is found once */
		memcpy(&found, slot, 8);
		assert_true(found < s->all_posted[!f->side]);
		assert_int_equal(s->all_seen[!f->side][found]++, 0);
		s->all_done[!f->side]++;
	}
	f->nb_win_uses -= r->of_window;
	f->nb_target_reads -= r->of_target;
	if (r->op == PMV_WR_BIND_MW || r->op == PMV_WR_REG_MR)
		f->peer->win_state = SOAK_WIN_VALID;
	if (r->op == PMV_WR_LOCAL_INV)
		f->peer->win_state = SOAK_WIN_FREE;
}

static void
on_sent(struct soak *s, const struct pmv_wc *wc)
{
	struct soak_flow *f = &s->flow[wc->wr_id >> 32];
	uint32_t n = (uint32_t)wc->wr_id;
	const struct soak_req *r = &f->req[n % SOAK_DEPTH];

	check_status(s, wc);
	assert_true(n - f->tail < f->head - f->tail);
	assert_true(r->signalled);
	assert_int_equal(wc->opcode, wc_of(r->op));
	assert_int_equal(wc->qp_num, pmv_qp_num(f->qp));
	assert_ptr_equal(wc->qp_context, f);
	if (r->op == PMV_WR_RDMA_READ)
		assert_int_equal(wc->byte_len, r->len);
	for (; f->tail != n; f->tail++) { /* done, too, though without a word */
		assert_false(f->req[f->tail % SOAK_DEPTH].signalled);
		finish(s, f, f->tail);
	}
	finish(s, f, f->tail++);
	s->nb_sent++;
}

/* Which message this is, and that it may come now. */
static struct soak_msg *
identify(struct soak *s, struct soak_flow *from, const struct soak_flow *to,
	const struct pmv_wc *wc, const uint8_t *buf)
{
	struct soak_msg *m;
	uint32_t seq;

	if (is_rc(from)) { /* the next one, always */
		assert_true(from->msg_tail != from->msg_head);
		return &from->msg[from->msg_tail++ % SOAK_MSGS];
	}
	seq = wc->wc_flags & PMV_WC_WITH_IMM
		      ? rte_be_to_cpu_32(wc->imm_data)
		      : pmv_be32_load(buf + (from->kind == SOAK_UD ? PMV_GRH_BYTES : 0));
	assert_true(seq - from->msg_tail < from->msg_head - from->msg_tail);
	m = &from->msg[seq % SOAK_MSGS];
	if (from->kind == SOAK_UC) { /* what is between is lost */
		s->nb_lost += seq - from->msg_tail;
		from->msg_tail = seq + 1;
	} else {
		assert_int_equal(m->dest, to->id / 2);
		assert_in_range(++m->nb_got, 1, 2); /* a wire may double a datagram, once */
	}
	return m;
}

static void
on_received(struct soak *s, int side, const struct pmv_wc *wc)
{
	struct soak_flow *to = wc->qp_context, *from = to->peer;
	const uint8_t *buf = take_recv(s, to, wc->wr_id);
	uint32_t grh = to->kind == SOAK_UD ? PMV_GRH_BYTES : 0;
	uint32_t flags = grh ? PMV_WC_GRH : 0;
	uint8_t want[SOAK_LEN];
	struct soak_msg *m;

	check_status(s, wc);
	assert_int_equal(to->side, side);
	assert_int_equal(wc->qp_num, pmv_qp_num(to->qp));
	if (to->kind == SOAK_UD)
		from = flow_of_qpn(s, !side, wc->src_qp);
	m = identify(s, from, to, wc, buf);
	flags |= m->op == PMV_WR_SEND_WITH_IMM || m->op == PMV_WR_RDMA_WRITE_WITH_IMM
			 ? PMV_WC_WITH_IMM
			 : 0;
	flags |= m->op == PMV_WR_SEND_WITH_INV ? PMV_WC_WITH_INV : 0;
	flags |= m->solicited ? PMV_WC_SOLICITED : 0;
	assert_int_equal(wc->wc_flags, flags);
	assert_int_equal(wc->byte_len, m->len + grh);
	if (flags & PMV_WC_WITH_IMM)
		assert_int_equal(wc->imm_data, rte_cpu_to_be_32(m->seq));
	s->nb_received++;
	if (m->op == PMV_WR_SEND_WITH_INV) {
		assert_int_equal(wc->invalidated_rkey, m->key);
		from->win_state = SOAK_WIN_FREE;
	}
	if (m->op == PMV_WR_RDMA_WRITE_WITH_IMM) {
		assert_int_equal(wc->opcode, PMV_WC_RECV_RDMA_WITH_IMM);
		return;
	}
	assert_int_equal(wc->opcode, PMV_WC_RECV);
	fill_message(from, want, m->len, m->seq);
	assert_memory_equal(buf + grh, want, m->len);
}

static void
step(struct soak *s)
{
	struct pmv_wc wc[64];
	uint32_t nb;

	pmv_test_pair_run(&s->pair, s->phase.step_us, s->phase.step_us);
	for (int side = 0; side < 2; side++) {
		for (uint32_t w = 0; w < SOAK_WORKERS; w++) {
			while ((nb = pmv_poll_cq(s->recv_cq[side][w], wc, 64)) > 0)
				for (uint32_t i = 0; i < nb; i++)
					on_received(s, side, &wc[i]);
			while ((nb = pmv_poll_cq(s->pair.node[side].cq[w], wc, 64)) > 0)
				for (uint32_t i = 0; i < nb; i++)
					on_sent(s, &wc[i]);
		}
	}
}

/* ---- the run ---- */

/* Quiet times and busy ones, with many receives, few or none; a turn now and then takes longer. */
static void
next_phase(struct soak *s)
{
	s->phase.left = 20 + soak_below(s, 400);
	s->phase.nb_bursts = 1 + soak_below(s, soak_chance(s, 40) ? 60 : 8);
	s->phase.no_recvs = soak_chance(s, 15);
	s->phase.step_us = soak_chance(s, 80) ? 5 : 1 + soak_below(s, 100);
}

static void
feed(struct soak *s)
{
	if (s->phase.no_recvs)
		return;
	for (uint32_t i = soak_below(s, 8); i > 0; i--)
		post_recvs(s, &s->flow[soak_below(s, 2 * SOAK_CONNS)]);
	if (soak_chance(s, 20))
		post_srq_recvs(s, soak_below(s, SOAK_SRQS));
}

/* Requests that nobody would hear of get some behind them. */
static bool
drain_flow(struct soak *s, struct soak_flow *f)
{
	if (f->head != f->tail && !f->req[(f->head - 1) % SOAK_DEPTH].signalled)
		post_burst(s, f);
	return f->head == f->tail;
}

static void
drain(struct soak *s)
{
	uint64_t end = s->pair.now + 20000000ull * s->pair.link->ticks_per_us;
	uint32_t nb_open = 1;

	s->phase = (struct soak_phase){ .step_us = 5 };
	while (nb_open > 0 && s->pair.now < end) {
		feed(s);
		step(s);
		nb_open = 0;
		for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++)
			nb_open += !drain_flow(s, &s->flow[i]);
	}
	assert_int_equal(nb_open, 0);
	for (int i = 0; i < 200; i++)
		step(s);
}

static void
check_uc_target(const struct soak_flow *f)
{
	for (uint32_t i = 0; i < SOAK_TO; i += UC_BYTES) {
		uint32_t who = pmv_be32_load(f->to + i);

		if (who == 0xa5a5a5a5)
			continue;
		assert_int_equal(who >> 24, f->id);
		assert_true((who & 0xffffff) < f->head);
		assert_int_equal(pmv_be32_load(f->to + i + 4), i);
	}
}

static void
check_memory(struct soak *s)
{
	uint8_t from[SOAK_FROM];

	for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++) {
		struct soak_flow *f = &s->flow[i];

		if (is_rc(f)) {
			assert_int_equal(f->msg_tail, f->msg_head);
			assert_int_equal(f->nb_win_uses + f->nb_target_reads, 0);
		}
		if (f->kind == SOAK_UC)
			check_uc_target(f);
		else
			assert_memory_equal(f->to, f->to_model, SOAK_TO);
		assert_memory_equal(f->win, f->win_model, SOAK_WIN);
		assert_memory_equal(f->words, f->words_model, SOAK_WORDS * 8);
		rc_lab_fill(from, SOAK_FROM, f->id);
		assert_memory_equal(f->from, from, SOAK_FROM);
		assert_int_equal(pmv_qp_get_state(f->qp), PMV_QPS_RTS);
	}
	for (int side = 0; side < 2; side++) {
		assert_true(*s->all_word[side] == s->all_posted[side]);
		assert_true(s->all_done[side] == s->all_posted[side]);
	}
	soak_check_guards(s);
}

/* In ERR the receives that are left complete, once, in order; an SRQ keeps its own. */
static void
flush(struct soak *s)
{
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct pmv_wc wc[64];
	uint64_t left = 0;
	uint32_t nb;

	for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++)
		assert_int_equal(pmv_modify_qp(s->flow[i].qp, &err, PMV_QP_STATE), 0);
	for (int i = 0; i < 20; i++) {
		pmv_test_pair_run(&s->pair, 5, 5);
		for (uint32_t k = 0; k < 2 * SOAK_WORKERS; k++)
			while ((nb = pmv_poll_cq(s->recv_cq[k % 2][k / 2], wc, 64)) > 0)
				for (uint32_t j = 0; j < nb; j++, s->nb_flushed++) {
					assert_int_equal(wc[j].status, PMV_WC_WR_FLUSH_ERR);
					take_recv(s, flow_of_qpn(s, (int)k % 2, wc[j].qp_num),
						wc[j].wr_id);
				}
	}
	for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++)
		assert_int_equal(s->flow[i].recv_tail, s->flow[i].recv_head);
	for (uint32_t i = 0; i < SOAK_SRQS; i++)
		left += s->srq[i].nb_posted;
	assert_true(s->nb_recvs == s->nb_received + s->nb_flushed + left);
}

static uint64_t
stat_sum(const struct soak *s, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < 2 * SOAK_WORKERS; k++)
		sum += pmv_worker_stat(s->pair.node[k % 2].worker[k / 2], name);
	return sum;
}

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void
soak_ops__memory_equals_the_model(void **state)
{
	uint64_t ops = from_env("PMV_SIM_SOAK_OPS", OPS);
	uint64_t seed = from_env("PMV_SIM_SOAK_SEED", 1);
	struct soak *s = soak_open(seed, 2 * ops + 10000);
	uint64_t resent = 0;

	print_message("PMV_SIM_SOAK_SEED=%llu PMV_SIM_SOAK_OPS=%llu\n", (unsigned long long)seed,
		(unsigned long long)ops);
	next_phase(s);
	while (s->nb_posted < ops) {
		if (s->phase.left-- == 0)
			next_phase(s);
		for (uint32_t i = soak_below(s, s->phase.nb_bursts + 1); i > 0; i--)
			post_burst(s, &s->flow[soak_below(s, 2 * SOAK_CONNS)]);
		feed(s);
		step(s);
	}
	drain(s);
	check_memory(s);
	for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++) {
		struct pmv_qp_stats stats;

		assert_int_equal(pmv_qp_get_stats(s->flow[i].qp, &stats), 0);
		resent += stats.retx_pkts;
	}
	flush(s);
	print_message("%llu requests, %llu completions of sends, %llu of receives, %llu flushed; "
		      "%llu UC messages lost; %llu frames sent again, %llu RNR NAKs, %llu frames "
		      "handed over\n",
		(unsigned long long)s->nb_posted, (unsigned long long)s->nb_sent,
		(unsigned long long)s->nb_received, (unsigned long long)s->nb_flushed,
		(unsigned long long)s->nb_lost, (unsigned long long)resent,
		(unsigned long long)stat_sum(s, "rnr_tx"),
		(unsigned long long)stat_sum(s, "rx_handover"));
	/* it was worth the while */
	assert_true(resent > ops / 200 && s->nb_lost > 0);
	assert_true(stat_sum(s, "rnr_tx") > 0 && stat_sum(s, "rx_handover") > ops / 50);
	for (enum pmv_wr_opcode op = PMV_WR_RDMA_WRITE; op <= PMV_WR_SEND_WITH_INV; op++)
		assert_true(s->by_op[op] > 0);
	assert_true(s->by_op[PMV_WR_REG_MR] > 0 && s->by_op[PMV_WR_ATOMIC_WRITE] > 0);
	soak_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soak_ops__memory_equals_the_model),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
