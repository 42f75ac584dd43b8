// SPDX-License-Identifier: BSD-3-Clause
/*
 * The other kinds of queue pair under a peer that sends whatever may come to its mind: RC that
 * repeats selectively (its reorder ring and its scoreboard, selective acknowledgements made by
 * hand), UC and UD, each with a receive queue of its own and on an SRQ. The peer has a script of
 * plausible packets and sends them in any order, changed a little, twice or never.
 *
 * Memory changes only where a packet of the script had the right to write, or a posted receive or
 * an outstanding READ lies; each request and receive completes once, in order of its queue; nothing
 * succeeds that was never on the wire; no byte that nobody may read leaves; in ERR all is flushed.
 * fuzzed_state knows every byte, for RC with go-back-N.
 *
 * Deterministic. PMV_SIM_FUZZ_ROUNDS sets the number of rounds, PMV_SIM_FUZZ_SEED the first seed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "lib/util/be.h"
#include "lib/util/random.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/fuzzed_zones.h"

#define ROUNDS    120u
#define STEPS     1500u
#define SCRIPT    32u
#define MSG_MAX   3000u
#define QKEY      0x00314159u
#define MTU       256u
#define ARENA_MAX (256u << 10)

enum kind { KIND_RC, KIND_UC, KIND_UD, KIND_NB };

/* A packet that the peer means to send, when its PSN has come or earlier. */
struct line {
	struct craft c;
	struct pmv_psn psn;
	uint32_t nb_psn;
};

struct sent {
	uint64_t wr_id;
	enum pmv_wr_opcode op;
	uint32_t len;
	uint32_t nb_psn;
	struct pmv_psn first;
	uint8_t *buf;
};

struct recv {
	uint8_t *buf;
	bool posted;
};

struct fuzz {
	struct pmv_test_pair pair;
	struct pmv_random random;
	struct craft_path path;
	struct pmv_worker *w;
	struct pmv_qp *qp, *peer;
	struct pmv_srq *srq;
	struct pmv_ah *ah;
	struct zones zones;
	enum kind kind;
	bool use_srq;
	uint32_t wildness;
	uint64_t seed;
	uint8_t *may; /* by byte of the arena: 1 = some packet had the right */
	struct line script[SCRIPT];
	uint32_t nb_lines, next_line; /* next_line: index of the oldest */
	struct pmv_psn script_psn;    /* of the next line to be written */
	struct {
		bool running;
		enum pmv_opcode_kind kind;
		bool imm;
		uint32_t len, off, key;
		uint64_t va;
	} plan;
	struct sent sq[64];
	uint32_t sq_head, sq_tail;
	struct recv rq[ZONE_BUFS];
	uint32_t rq_head, rq_tail; /* without an SRQ */
	struct pmv_psn next_psn, end_sent;
	uint64_t next_id;
	uint64_t nb_ok, nb_deaths, nb_ahead, nb_sacks;
};

static uint32_t
below(struct fuzz *f, uint32_t n)
{
	return (uint32_t)pmv_random_below(&f->random, n);
}

static bool
chance(struct fuzz *f, uint32_t percent)
{
	return below(f, 100) < percent;
}

/* Something that ends a life more often than not. */
static bool
wild(struct fuzz *f, uint32_t percent)
{
	return below(f, 1600) < percent * f->wildness;
}

static uint8_t
pattern(struct pmv_psn psn, uint32_t i)
{
	return (uint8_t)((psn.v * 29 + i * 7 + (i >> 8)) & 0x7f);
}

static uint32_t
arena_bytes(const struct fuzz *f)
{
	return (uint32_t)(f->zones.zone[ZONE_NB - 1] + zone_bytes(ZONE_NB - 1) - f->zones.arena);
}

/* ---- what the node sends ---- */

static enum pmv_test_fate
on_frame(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct fuzz *f = arg;
	uint8_t flat[CRAFT_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, flat);
	struct pmv_roce_view v;
	struct pmv_reth reth;
	uint32_t nb = 1;

	zones_check_no_secret(p, m->pkt_len);
	assert_int_equal(pmv_roce_parse(p + 42, m->pkt_len - 42, m->pkt_len - 42, &v), PMV_WIRE_OK);
	assert_int_equal(v.bth.dqpn, pmv_qp_num(f->peer));
	if (!(v.op->flags & PMV_OPF_REQUEST)) {
		assert_int_equal(f->kind, KIND_RC); /* the others answer nobody */
		return PMV_TEST_DROP;
	}
	if (v.op->kind == PMV_OPKIND_READ_REQ) {
		pmv_reth_parse(p + 42 + PMV_BTH_LEN, &reth);
		nb = reth.dma_len == 0 ? 1 : (reth.dma_len + MTU - 1) / MTU;
	}
	if (pmv_psn_before(f->end_sent, pmv_psn_add(v.bth.psn, nb)))
		f->end_sent = pmv_psn_add(v.bth.psn, nb);
	return PMV_TEST_DROP;
}

/* ---- set-up ---- */

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 9;
	attr->rnr_retry = 3;
	attr->retry_cnt = 5;
	attr->min_rnr_timer = 1;
	attr->max_dest_rd_atomic = 3;
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL;
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

static void
tune_uc(int side, struct pmv_qp_attr *attr)
{
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC;
}

static void
connect_qps(struct fuzz *f)
{
	if (f->kind == KIND_UD) {
		pmv_test_qp_ud_rts(f->peer, QKEY, 0);
		pmv_test_qp_ud_rts(f->qp, QKEY, 0);
	} else {
		pmv_test_qp_connect(&f->pair, f->peer, f->qp, false, PMV_MTU_256,
			f->kind == KIND_RC ? tune : tune_uc);
	}
	f->next_psn = f->end_sent = pmv_psn(0x123456); /* as the harness sets it */
	f->script_psn = pmv_psn(0xfffff8);
	f->nb_lines = 0;
	f->plan.running = false;
	memset(f->may, 0, ARENA_MAX);
}

static struct pmv_qp *
make_qp(struct fuzz *f, int side)
{
	static const enum pmv_qp_type types[KIND_NB] = { PMV_QPT_RC, PMV_QPT_UC, PMV_QPT_UD };
	struct pmv_test_node *n = &f->pair.node[side];
	struct pmv_qp_init_attr init = { .send_cq = n->cq[0],
		.recv_cq = n->cq[0],
		.srq = side == 1 ? f->srq : NULL,
		.qp_type = types[f->kind],
		.cap = { .max_send_wr = 32,
			.max_recv_wr = ZONE_BUFS,
			.max_send_sge = 2,
			.max_recv_sge = 2 } };
	struct pmv_qp *qp;

	assert_int_equal(pmv_create_qp(n->pd, n->worker[0], &init, &qp), 0);
	return qp;
}

static struct fuzz *
fuzz_open(uint64_t seed)
{
	const struct pmv_test_pair_param pp = { .seed = seed, .window_pkts = 64, .cqe = 256 };
	struct pmv_srq_init_attr srq = { .attr = { .max_wr = ZONE_BUFS, .max_sge = 2 } };
	struct fuzz *f = calloc(1, sizeof(*f));
	struct pmv_ah_attr ah = { 0 };

	assert_non_null(f);
	f->seed = seed;
	f->kind = seed % 4 < 2 ? KIND_RC : seed % 4 == 2 ? KIND_UC : KIND_UD;
	f->use_srq = seed / 4 % 2 == 1;
	f->wildness = 1u << (seed / 8 % 5);
	f->may = calloc(1, ARENA_MAX);
	pmv_random_init(&f->random, seed);
	pmv_test_pair_open(&f->pair, &pp);
	f->w = f->pair.node[1].worker[0];
	zones_open(&f->zones, &f->pair.node[1]);
	assert_true(arena_bytes(f) <= ARENA_MAX);
	if (f->use_srq)
		assert_int_equal(pmv_create_srq(f->pair.node[1].pd, f->w, &srq, &f->srq), 0);
	for (uint32_t i = 0; i < ZONE_BUFS; i++)
		f->rq[i].buf = f->zones.zone[ZONE_RECV] + i * ZONE_BUF;
	f->qp = make_qp(f, 1);
	f->peer = make_qp(f, 0);
	craft_path_get(&f->pair, 1, false, 0, &f->path);
	assert_int_equal(pmv_query_gid(f->pair.node[0].dev, 0, &ah.dgid), 0);
	assert_int_equal(pmv_create_ah(f->pair.node[1].pd, &ah, &f->ah), 0);
	f->pair.link->end[1].out.hook = on_frame;
	f->pair.link->end[1].out.hook_arg = f;
	connect_qps(f);
	return f;
}

/* ---- the model ---- */

/* A receive that is posted, or a READ that is outstanding, may change. */
static bool
may_change(const struct fuzz *f, uint32_t at)
{
	const uint8_t *p = f->zones.arena + at;
	uint64_t in_recv = (uint64_t)(p - f->zones.zone[ZONE_RECV]);
	uint64_t in_read = (uint64_t)(p - f->zones.zone[ZONE_READ]);

	if (f->may[at])
		return true;
	if (in_recv < zone_bytes(ZONE_RECV))
		return f->rq[in_recv / ZONE_BUF].posted;
	if (in_read >= zone_bytes(ZONE_READ))
		return false;
	for (uint32_t i = f->sq_tail; i != f->sq_head; i++) {
		const struct sent *s = &f->sq[i % 64];

		if (p >= s->buf && p < s->buf + s->len &&
			(s->op == PMV_WR_RDMA_READ || s->op == PMV_WR_ATOMIC_FETCH_AND_ADD))
			return true;
	}
	return false;
}

static void
check_memory(struct fuzz *f)
{
	uint32_t nb = arena_bytes(f);

	if (memcmp(f->zones.arena, f->zones.shadow, nb) == 0)
		return;
	for (uint32_t i = 0; i < nb; i++) {
		if (f->zones.arena[i] == f->zones.shadow[i])
			continue;
		if (!may_change(f, i))
			fail_msg("byte %u changed", i);
		f->zones.shadow[i] = f->zones.arena[i];
	}
}

static void
on_send_wc(struct fuzz *f, const struct pmv_wc *wc)
{
	struct sent *s = &f->sq[f->sq_tail % 64];

	assert_true(f->sq_tail != f->sq_head);
	assert_int_equal(wc->wr_id, s->wr_id);
	f->sq_tail++;
	if (wc->status != PMV_WC_SUCCESS)
		return;
	f->nb_ok++;
	if (f->kind != KIND_RC)
		return;
	assert_false(pmv_psn_before(f->end_sent, pmv_psn_add(s->first, s->nb_psn)));
	if (s->op == PMV_WR_RDMA_READ)
		for (uint32_t i = 0; i < s->len; i++)
			assert_int_equal(
				s->buf[i], pattern(pmv_psn_add(s->first, i / MTU), i % MTU));
}

static void
on_recv_wc(struct fuzz *f, const struct pmv_wc *wc)
{
	struct recv *r = &f->rq[(wc->wr_id >> 1) % ZONE_BUFS];

	if (f->srq == NULL) {
		assert_true(f->rq_tail != f->rq_head);
		assert_ptr_equal(r, &f->rq[f->rq_tail++ % ZONE_BUFS]);
	}
	assert_true(r->posted);
	r->posted = false;
	if (wc->status != PMV_WC_SUCCESS)
		return;
	f->nb_ok++;
	if (wc->opcode == PMV_WC_RECV)
		assert_true(wc->byte_len <= ZONE_BUF);
}

/* Receives have odd numbers. */
static void
collect(struct fuzz *f)
{
	struct pmv_wc wc[16];
	uint32_t nb;

	check_memory(f); /* before a receive is known to be done */
	while ((nb = pmv_poll_cq(f->pair.node[1].cq[0], wc, 16)) > 0) {
		for (uint32_t i = 0; i < nb; i++) {
			assert_int_equal(wc[i].qp_num, pmv_qp_num(f->qp));
			if (wc[i].wr_id & 1)
				on_recv_wc(f, &wc[i]);
			else
				on_send_wc(f, &wc[i]);
		}
	}
}

static void
step_time(struct fuzz *f, uint32_t us)
{
	f->pair.now += us * f->pair.link->ticks_per_us;
	pmv_worker_poll_at(f->w, f->pair.now);
	pmv_test_link_step(f->pair.link, f->pair.now);
	collect(f);
}

/* In ERR everything completes, once, but what an SRQ keeps; then the connection is made anew. */
static void
bury(struct fuzz *f)
{
	const struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct pmv_event ev;

	assert_int_equal(pmv_modify_qp(f->qp, &err, PMV_QP_STATE), 0); /* from SQE */
	for (int i = 0; i < 10; i++)
		step_time(f, 5);
	assert_int_equal(f->sq_tail, f->sq_head);
	assert_int_equal(f->rq_tail, f->rq_head);
	f->nb_deaths++;
	assert_int_equal(pmv_modify_qp(f->qp, &reset, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(f->peer, &reset, PMV_QP_STATE), 0);
	while (pmv_worker_get_event(f->w, &ev) == 1)
		assert_int_not_equal(ev.type, PMV_EVENT_CQ_ERR);
	connect_qps(f);
}

/* What is unanswered is remembered by somebody (RC-315). */
static void
check_alive(const struct fuzz *f)
{
	const struct pmv_roce_qp *qp = pmv_roce_qp(f->qp);
	bool waits = !pmv_roce_window_idle(&qp->win);

	assert_false(pmv_psn_before(qp->win.nxt, qp->win.una));
	assert_false(pmv_psn_before(qp->win.end, qp->win.nxt));
	if (f->kind == KIND_RC && waits)
		assert_true(pmv_timer_is_armed(&qp->retry.timer) || qp->on_run || qp->retry.fresh);
}

static void
check(struct fuzz *f)
{
	enum pmv_qp_state state;

	collect(f);
	state = pmv_qp_get_state(f->qp);
	if (state == PMV_QPS_ERR || state == PMV_QPS_SQE)
		bury(f);
	check_alive(f);
}

/* ---- what the node is asked to do ---- */

static enum pmv_wr_opcode
any_op(struct fuzz *f)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_SEND, PMV_WR_SEND_WITH_IMM,
		PMV_WR_RDMA_WRITE, PMV_WR_RDMA_WRITE_WITH_IMM, PMV_WR_RDMA_WRITE, PMV_WR_RDMA_READ,
		PMV_WR_ATOMIC_FETCH_AND_ADD };

	return ops[below(f, f->kind == KIND_RC ? 7 : f->kind == KIND_UC ? 4 : 2)];
}

static void
post_send(struct fuzz *f)
{
	struct sent *s = &f->sq[f->sq_head % 64];
	struct pmv_sge sge = { (uintptr_t)f->zones.zone[ZONE_OUT], 0, f->zones.key[ZONE_OUT] };
	struct pmv_send_wr wr = { .wr_id = f->next_id & ~1ull,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = any_op(f),
		.send_flags = PMV_SEND_SIGNALED };
	bool takes = wr.opcode == PMV_WR_RDMA_READ || wr.opcode == PMV_WR_ATOMIC_FETCH_AND_ADD;

	if (f->sq_head - f->sq_tail >= ZONE_BUFS)
		return;
	f->next_id += 2;
	*s = (struct sent){ .wr_id = wr.wr_id,
		.op = wr.opcode,
		.len = chance(f, 50) ? below(f, 40) : below(f, MSG_MAX),
		.first = f->next_psn,
		.buf = f->zones.zone[ZONE_READ] + f->sq_head % ZONE_BUFS * ZONE_BUF };
	if (wr.opcode == PMV_WR_ATOMIC_FETCH_AND_ADD)
		s->len = 8;
	s->nb_psn = s->len == 0 ? 1 : (s->len + MTU - 1) / MTU;
	sge.length = s->len;
	if (takes)
		sge = (struct pmv_sge){ (uintptr_t)s->buf, s->len, f->zones.key[ZONE_READ] };
	if (wild(f, 2))
		sge.lkey ^= 1u << below(f, 32);
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 0x1;
	if (f->kind == KIND_UD) {
		wr.wr.ud.ah = f->ah;
		wr.wr.ud.remote_qpn = pmv_qp_num(f->peer);
		wr.wr.ud.remote_qkey = QKEY;
	}
	f->sq_head++;
	assert_int_equal(pmv_post_send(f->qp, &wr, 1), 1);
	f->next_psn = pmv_psn_add(f->next_psn, s->nb_psn);
	check(f);
}

static void
post_recv(struct fuzz *f)
{
	uint32_t i = f->srq == NULL ? f->rq_head % ZONE_BUFS : below(f, ZONE_BUFS);
	const uint32_t len = wild(f, 10) ? below(f, 100) : ZONE_BUF;
	const struct pmv_sge sge = { (uintptr_t)f->rq[i].buf, len,
		wild(f, 1) ? f->zones.key[ZONE_OUT] : f->zones.key[ZONE_RECV] };
	const struct pmv_recv_wr wr = { (uint64_t)i << 1 | 1, &sge, 1 };

	if (f->rq[i].posted)
		return;
	f->rq[i].posted = true;
	if (f->srq != NULL) {
		assert_int_equal(pmv_post_srq_recv(f->srq, &wr, 1), 1);
	} else {
		f->rq_head++;
		assert_int_equal(pmv_post_recv(f->qp, &wr, 1), 1);
	}
	check(f);
}

/* ---- the script ---- */

static void
make_plan(struct fuzz *f)
{
	static const enum pmv_opcode_kind kinds[] = { PMV_OPKIND_SEND, PMV_OPKIND_WRITE,
		PMV_OPKIND_WRITE, PMV_OPKIND_READ_REQ, PMV_OPKIND_ATOMIC };
	enum zone z =
		wild(f, 10) ? (enum zone)below(f, ZONE_NB) : (chance(f, 50) ? ZONE_RW : ZONE_IOVA);
	uint32_t room = zone_bytes(z);

	f->plan.running = true;
	f->plan.kind = kinds[below(f, f->kind == KIND_RC ? 5 : f->kind == KIND_UC ? 3 : 1)];
	f->plan.imm = chance(f, 30);
	f->plan.off = 0;
	f->plan.len = below(f, f->kind == KIND_UD || chance(f, 40) ? MTU : MSG_MAX);
	if (f->plan.kind == PMV_OPKIND_ATOMIC)
		f->plan.len = 8;
	f->plan.key = f->zones.key[z];
	f->plan.va = zone_start(&f->zones, z) + below(f, room - f->plan.len + 1);
	if (f->plan.kind == PMV_OPKIND_ATOMIC)
		f->plan.va &= ~7ull;
	if (wild(f, 8)) /* at its end, or one beyond */
		f->plan.va = zone_start(&f->zones, z) + room - f->plan.len + below(f, 3) - 1;
	if (wild(f, 2))
		f->plan.va = pmv_random_next64(&f->random);
	if (wild(f, 2))
		f->plan.key ^= 1u << below(f, 32);
}

static uint8_t
opcode_of(const struct fuzz *f, bool first, bool last)
{
	static const uint8_t send[4] = { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
		PMV_OPCODE_RC_SEND_LAST, PMV_OPCODE_RC_SEND_ONLY };
	static const uint8_t write[4] = { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
		PMV_OPCODE_RC_WRITE_LAST, PMV_OPCODE_RC_WRITE_ONLY };
	uint8_t base = f->kind == KIND_UC ? PMV_OPCODE_UC_BASE : 0;
	bool imm = f->plan.imm && last;

	if (f->kind == KIND_UD)
		return imm ? PMV_OPCODE_UD_SEND_ONLY_IMM : PMV_OPCODE_UD_SEND_ONLY;
	if (f->plan.kind == PMV_OPKIND_READ_REQ)
		return PMV_OPCODE_RC_READ_REQUEST;
	if (f->plan.kind == PMV_OPKIND_ATOMIC)
		return f->plan.imm ? PMV_OPCODE_RC_COMPARE_SWAP : PMV_OPCODE_RC_FETCH_ADD;
	return (uint8_t)(base + imm +
			 (f->plan.kind == PMV_OPKIND_SEND ? send : write)[first + 2 * last]);
}

/* Notes what a request with this address and key may write, now or when its turn comes. */
static void
grant(struct fuzz *f, uint64_t va, uint32_t key, uint32_t len)
{
	for (int k = 0; k < 2; k++) {
		enum zone z = k == 0 ? ZONE_RW : ZONE_IOVA;
		uint64_t off = va - zone_start(&f->zones, z);

		if (key == f->zones.key[z] && off < zone_bytes(z) && len <= zone_bytes(z) - off)
			memset(f->may + (f->zones.zone[z] - f->zones.arena) + off, 1, len);
	}
}

/* What this frame says, whatever was changed in it. */
static void
grant_frame(struct fuzz *f, const struct craft *c)
{
	const struct pmv_opcode_info *op = &pmv_opcode_table[c->bytes[c->bth]];
	const uint8_t *p = c->bytes + c->bth + PMV_BTH_LEN;
	struct pmv_reth reth;

	if (op->kind == PMV_OPKIND_WRITE && (op->ext & PMV_EXT_RETH)) {
		pmv_reth_parse(p, &reth);
		grant(f, reth.va, reth.rkey, reth.dma_len);
	} else if (op->kind == PMV_OPKIND_ATOMIC || op->kind == PMV_OPKIND_ATOMIC_WRITE) {
		grant(f, pmv_be64_load(p), pmv_be32_load(p + 8), 8);
	}
}

static void
write_line(struct fuzz *f)
{
	struct line *l = &f->script[f->nb_lines++];
	uint32_t left, len;
	struct pmv_bth bth = { .pkey = PMV_PKEY_DEFAULT, .dqpn = pmv_qp_num(f->qp) };
	const struct pmv_opcode_info *op;
	uint8_t body[MTU];
	bool pays;

	if (!f->plan.running)
		make_plan(f);
	pays = f->plan.kind == PMV_OPKIND_SEND || f->plan.kind == PMV_OPKIND_WRITE;
	left = f->plan.len - f->plan.off;
	len = pays ? RTE_MIN(left, MTU) : 0;
	*l = (struct line){ .psn = f->script_psn, .nb_psn = 1 };
	if (f->plan.kind == PMV_OPKIND_READ_REQ && f->plan.len > MTU)
		l->nb_psn = (f->plan.len + MTU - 1) / MTU;
	bth.opcode = opcode_of(f, f->plan.off == 0, !pays || left <= MTU);
	bth.ackreq = f->kind == KIND_RC && chance(f, 50);
	bth.psn = l->psn;
	bth.padcnt = pmv_bth_pad(len);
	op = &pmv_opcode_table[bth.opcode];
	craft_begin(&l->c, &f->path, &bth);
	if (op->ext & PMV_EXT_DETH)
		craft_put_deth(&l->c, wild(f, 10) ? QKEY + 1 : QKEY, pmv_qp_num(f->peer));
	if (op->ext & PMV_EXT_RETH)
		craft_put_reth(&l->c, f->plan.va, f->plan.key,
			wild(f, 3) ? f->plan.len + below(f, 3) - 1 : f->plan.len);
	if (op->ext & PMV_EXT_ATOMIC)
		craft_put_atomic(&l->c, &(const struct pmv_atomic_eth){ .va = f->plan.va,
						.rkey = f->plan.key,
						.swap_add = below(f, 100) + 1 });
	if (op->hdr_len > l->c.len - l->c.bth)
		craft_put(&l->c, NULL, op->hdr_len - (l->c.len - l->c.bth));
	for (uint32_t i = 0; i < len; i++)
		body[i] = pattern(bth.psn, i);
	craft_put(&l->c, body, len);
	craft_put(&l->c, NULL, bth.padcnt);
	craft_end(&l->c);
	f->plan.off += len;
	f->plan.running = pays && f->plan.off < f->plan.len;
	f->script_psn = pmv_psn_add(f->script_psn, l->nb_psn);
}

/* Lines that were executed go, new ones come. If the node has got elsewhere, a new script begins
 * there. */
static void
keep_script(struct fuzz *f)
{
	struct pmv_psn epsn = pmv_roce_qp(f->qp)->resp.epsn;
	uint32_t k = 0;

	while (f->kind == KIND_RC && k < f->nb_lines && pmv_psn_before(f->script[k].psn, epsn) &&
		f->nb_lines - k > 4)
		k++;
	if (f->kind != KIND_RC && f->nb_lines == SCRIPT)
		k = SCRIPT / 2;
	if (k > 4) /* some old ones stay, as duplicates */
		k -= 4;
	else
		k = 0;
	memmove(f->script, f->script + k, (f->nb_lines - k) * sizeof(f->script[0]));
	f->nb_lines -= k;
	if (f->kind == KIND_RC && (pmv_psn_before(f->script_psn, epsn) || chance(f, 1))) {
		f->nb_lines = 0;
		f->plan.running = false;
		f->script_psn = epsn;
	}
	while (f->nb_lines < SCRIPT)
		write_line(f);
}

/* The one whose turn it is, or any. */
static const struct line *
choose_line(struct fuzz *f)
{
	struct pmv_psn epsn = pmv_roce_qp(f->qp)->resp.epsn;

	if (f->kind != KIND_RC) /* in order, more often than not */
		return &f->script[chance(f, 90) ? f->next_line++ % SCRIPT : below(f, SCRIPT)];
	if (chance(f, 45))
		for (uint32_t i = 0; i < f->nb_lines; i++)
			if (pmv_psn_eq(f->script[i].psn, epsn))
				return &f->script[i];
	return &f->script[below(f, chance(f, 70) ? 12 : f->nb_lines)];
}

static void
input(struct fuzz *f, const struct craft *c)
{
	struct rte_mbuf *m, *foreign;

	pmv_worker_flush(f->w);
	pmv_test_link_step(f->pair.link, f->pair.now);
	m = craft_mbuf(f->pair.link->pool, c, chance(f, 10) ? below(f, c->len) : 0, 0);
	assert_int_equal(pmv_worker_input(f->w, &m, 1, &foreign), 0);
	check(f);
}

static void
send_request(struct fuzz *f)
{
	const struct line *l;
	struct craft c;

	keep_script(f);
	l = choose_line(f);
	f->nb_ahead += f->kind == KIND_RC && pmv_psn_before(pmv_roce_qp(f->qp)->resp.epsn, l->psn);
	c = l->c;
	if (wild(f, 4)) { /* a bit of the headers behind the BTH, or of the opcode or PSN */
		uint32_t at = chance(f, 70) ? PMV_BTH_LEN + below(f, 16)
					    : (chance(f, 50) ? 0 : 9 + below(f, 3));

		c.bytes[c.bth + at] ^= (uint8_t)(1u << below(f, 8));
		craft_seal_icrc(&c);
	}
	grant_frame(f, &c);
	input(f, &c);
}

/* ---- the peer's answers: RC ---- */

static void
craft_sack(struct fuzz *f, struct craft *c, struct pmv_psn psn)
{
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_SACK,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(f->qp),
		.psn = psn };
	uint8_t map[PMV_SACK_LEN];
	uint32_t dense = below(f, 3);

	for (uint32_t i = 0; i < PMV_SACK_LEN; i++)
		map[i] = i > 4 && !chance(f, 10) ? 0
			 : dense == 0            ? 0xff
			 : dense == 1            ? (uint8_t)pmv_random_next64(&f->random)
						 : (uint8_t)(1u << below(f, 8));
	craft_begin(c, &f->path, &bth);
	craft_put_aeth(c, wild(f, 8) ? (uint8_t)below(f, 256) : 0x60, below(f, 1u << 24));
	craft_put(c, map, wild(f, 3) ? below(f, 9) * 4 : PMV_SACK_LEN);
	craft_end(c);
	f->nb_sacks++;
}

/* The response to a PSN, as the request there wants it, or something like it. */
static void
craft_response(struct fuzz *f, struct craft *c, struct pmv_psn psn)
{
	const struct sent *s = NULL;
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_ACK,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(f->qp),
		.psn = psn };
	static const uint8_t odd[] = { 0x21, 0x60, 0x60, 0x61, 0x62, 0x63, 0x64, 0x7f };
	uint32_t len = 0, k;
	uint8_t body[MTU];

	for (uint32_t i = f->sq_tail; i != f->sq_head && s == NULL; i++)
		if (pmv_psn_within(psn, f->sq[i % 64].first, f->sq[i % 64].nb_psn))
			s = &f->sq[i % 64];
	if (s != NULL && s->op == PMV_WR_RDMA_READ && chance(f, 95)) {
		k = (psn.v - s->first.v) & PMV_PSN_MASK;
		len = RTE_MIN(MTU, s->len - k * MTU);
		bth.opcode =
			(uint8_t)(k + 1 == s->nb_psn ? PMV_OPCODE_RC_READ_RESP_LAST + (k == 0)
						     : PMV_OPCODE_RC_READ_RESP_FIRST + (k != 0));
	}
	if (s != NULL && s->op == PMV_WR_ATOMIC_FETCH_AND_ADD && chance(f, 95))
		bth.opcode = PMV_OPCODE_RC_ATOMIC_ACK;
	bth.padcnt = pmv_bth_pad(len);
	craft_begin(c, &f->path, &bth);
	if (pmv_opcode_table[bth.opcode].ext & PMV_EXT_AETH)
		craft_put_aeth(
			c, wild(f, 5) ? odd[below(f, RTE_DIM(odd))] : 0x1f, below(f, 1u << 24));
	for (uint32_t i = 0; i < MTU; i++)
		body[i] = pattern(psn, i);
	if (bth.opcode == PMV_OPCODE_RC_ATOMIC_ACK)
		craft_put(c, body, 8);
	craft_put(c, body, len);
	craft_put(c, NULL, bth.padcnt);
	craft_end(c);
}

static void
send_response(struct fuzz *f)
{
	const struct pmv_roce_window *win = &pmv_roce_qp(f->qp)->win;
	uint32_t out = (win->end.v - win->una.v) & PMV_PSN_MASK;
	struct pmv_psn psn = win->una;
	struct craft c;

	if (f->kind != KIND_RC && !chance(f, 5))
		return;
	if (out > 0 && chance(f, 30))
		psn = pmv_psn_add(win->una, below(f, out));
	if (chance(f, 5))
		psn = pmv_psn_add(win->una, below(f, out + 300) - 150);
	if (chance(f, 40))
		craft_sack(f, &c, psn);
	else
		craft_response(f, &c, psn);
	input(f, &c);
}

/* ---- the run ---- */

static void
step(struct fuzz *f)
{
	uint32_t dice = below(f, 1000);

	if (dice < 150)
		post_send(f);
	else if (dice < 270)
		post_recv(f);
	else if (dice < 620)
		send_request(f);
	else if (dice < 860)
		send_response(f);
	else if (dice < 999)
		step_time(f, 1 + below(f, chance(f, 10) ? 1500 : 30));
	else
		bury(f);
	check(f);
}

static void
fuzz_close(struct fuzz *f)
{
	bury(f);
	assert_int_equal(pmv_destroy_qp(f->qp), 0);
	assert_int_equal(pmv_destroy_qp(f->peer), 0);
	assert_int_equal(pmv_destroy_ah(f->ah), 0);
	if (f->srq != NULL)
		assert_int_equal(pmv_destroy_srq(f->srq), 0);
	zones_dereg(&f->zones);
	for (int i = 0; i < 4; i++)
		pmv_test_pair_run(&f->pair, 50, 10);
	for (int side = 0; side < 2; side++) {
		struct pmv_event ev;

		while (pmv_poll_async_event(f->pair.node[side].dev, &ev) == 1)
			continue;
	}
	zones_close(&f->zones);
	pmv_test_pair_close(&f->pair);
	free(f->may);
	free(f);
}

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void
fuzzed_kinds__keep_to_the_model(void **state)
{
	uint64_t rounds = from_env("PMV_SIM_FUZZ_ROUNDS", ROUNDS);
	uint64_t seed = from_env("PMV_SIM_FUZZ_SEED", 1);
	uint64_t nb_ok = 0, nb_deaths = 0, nb_ahead = 0, nb_sacks = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		struct fuzz *f = fuzz_open(seed + i);

		*state = f; /* teardown tells the seed if it fails */
		for (uint32_t k = 0; k < STEPS; k++)
			step(f);
		*state = NULL;
		nb_ok += f->nb_ok;
		nb_deaths += f->nb_deaths;
		nb_ahead += f->nb_ahead;
		nb_sacks += f->nb_sacks;
		fuzz_close(f);
	}
	print_message(
		"%llu rounds: %llu completions succeeded, %llu times in ERR, %llu packets ahead "
		"of their turn, %llu selective acknowledgements\n",
		(unsigned long long)rounds, (unsigned long long)nb_ok,
		(unsigned long long)nb_deaths, (unsigned long long)nb_ahead,
		(unsigned long long)nb_sacks);
	/* it was worth the while: a lot succeeds, a lot dies */
	assert_true(nb_ok > 20 * rounds && nb_deaths >= rounds);
	assert_true(rounds < 8 || (nb_ahead > 20 * rounds && nb_sacks > 20 * rounds));
}

static int
tell_seed(void **state)
{
	const struct fuzz *f = *state;

	if (f != NULL)
		print_error("repeat: PMV_SIM_FUZZ_SEED=%llu PMV_SIM_FUZZ_ROUNDS=1\n",
			(unsigned long long)f->seed);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(fuzzed_kinds__keep_to_the_model, tell_seed),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
