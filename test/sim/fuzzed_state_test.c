// SPDX-License-Identifier: BSD-3-Clause
/*
 * One real RC queue pair against a peer that sends whatever may come to its mind: requests and
 * responses with right ICRC, most of them plausible, many with a PSN, opcode, length, address or
 * key that is a little or quite wrong, and repeated ones. A model says what may change: memory only
 * where a key grants it, each request completes once and in order, nothing succeeds that was never
 * sent, what is read is what was answered, no byte that nobody may read leaves, and the QP is alive
 * or in ERR. Also: as long as something is unanswered, some timer or list remembers it (RC-315).
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

#include "test/harness/eal.h"
#include "test/sim/fuzzed_model.h"

#define ROUNDS  300u
#define STEPS   1500u
#define MSG_MAX 3500u

/* RC-315: what is unanswered is remembered by somebody. */
static void
check_alive(const struct fuzz *f)
{
	const struct pmv_roce_qp *qp = pmv_roce_qp(f->qp);
	bool waits = !pmv_roce_window_idle(&qp->win);
	bool idle = qp->sq.snd == qp->sq.head;

	assert_int_equal((qp->win.end.v - qp->win.una.v) & PMV_PSN_MASK,
		(uint32_t)pmv_psn_diff(qp->win.end, qp->win.una));
	assert_false(pmv_psn_before(qp->win.nxt, qp->win.una));
	assert_false(pmv_psn_before(qp->win.end, qp->win.nxt));
	assert_true(qp->rd_out <= 4);
	if (waits || (!idle && qp->base.state == PMV_QPS_RTS))
		assert_true(pmv_timer_is_armed(&qp->retry.timer) || qp->on_run || qp->retry.fresh);
}

static void
step_time(struct fuzz *f, uint32_t us)
{
	f->pair.now += us * f->pair.link->ticks_per_us;
	pmv_worker_poll_at(f->w, f->pair.now);
	if (!f->port_full)
		pmv_test_link_step(f->pair.link, f->pair.now);
	fuzz_collect(f);
}

/* The node's pool is empty, or has its mbufs back. */
static void
starve(struct fuzz *f, bool on)
{
	struct rte_mempool *pool = f->pair.link->pool;

	if (!on && f->hoard != NULL) {
		rte_pktmbuf_free_bulk(f->hoard, f->nb_hoard);
		test_free(f->hoard);
		f->hoard = NULL;
	} else if (on && f->hoard == NULL) {
		uint32_t nb = rte_mempool_avail_count(pool);

		f->hoard = test_calloc(nb, sizeof(*f->hoard));
		f->nb_hoard = 0;
		while (f->nb_hoard < nb &&
			(f->hoard[f->nb_hoard] = rte_pktmbuf_alloc(pool)) != NULL)
			f->nb_hoard++;
	}
}

/* The port's transmit ring is full of empty frames, or runs again. */
static void
jam(struct fuzz *f, bool on)
{
	struct rte_ring *ring = f->pair.link->end[1].tx[0];
	struct rte_mbuf *m;

	if (on && !f->port_full)
		while ((m = rte_pktmbuf_alloc(f->pair.link->pool)) != NULL)
			if (rte_ring_enqueue(ring, m) != 0) {
				rte_pktmbuf_free(m);
				break;
			}
	f->port_full = on && rte_ring_full(ring);
	if (!f->port_full)
		pmv_test_link_step(f->pair.link, f->pair.now);
}

/* In ERR everything completes, once; then the connection is made anew. */
static void
bury(struct fuzz *f)
{
	const struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };
	struct pmv_event ev;

	starve(f, false);
	jam(f, false);
	for (int i = 0; i < 10; i++)
		step_time(f, 5);
	assert_int_equal(f->sq_tail, f->sq_head);
	assert_int_equal(f->rq_tail, f->rq_head);
	zones_check(&f->zones, NULL, 0);
	f->nb_deaths++;
	assert_int_equal(pmv_modify_qp(f->qp, &reset, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(f->peer, &reset, PMV_QP_STATE), 0);
	while (pmv_worker_get_event(f->w, &ev) == 1)
		assert_int_not_equal(ev.type, PMV_EVENT_CQ_ERR);
	fuzz_connect(f);
}

static void
check(struct fuzz *f, const uint8_t *from, uint32_t len)
{
	fuzz_collect(f);
	zones_check(&f->zones, from, len);
	if (is_dead(f))
		bury(f);
	check_alive(f);
}

static void
post_send(struct fuzz *f)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_SEND, PMV_WR_RDMA_WRITE, PMV_WR_RDMA_READ,
		PMV_WR_RDMA_READ, PMV_WR_SEND_WITH_IMM, PMV_WR_RDMA_WRITE_WITH_IMM,
		PMV_WR_ATOMIC_CMP_AND_SWP, PMV_WR_ATOMIC_FETCH_AND_ADD, PMV_WR_ATOMIC_WRITE };
	struct sent *s = &f->sq[f->sq_head % 64];
	struct pmv_sge sge[2];
	struct pmv_send_wr wr = { .wr_id = f->next_id & ~1ull, .sg_list = sge, .num_sge = 1 };

	if (f->sq_head - f->sq_tail >= ZONE_BUFS)
		return;
	f->next_id += 2;
	wr.opcode = ops[below(f, RTE_DIM(ops))];
	*s = (struct sent){ .wr_id = wr.wr_id,
		.op = wr.opcode,
		.len = chance(f, 50) ? below(f, 40) : below(f, MSG_MAX),
		.first = f->next_psn,
		.buf = f->zones.zone[ZONE_READ] + f->sq_head % ZONE_BUFS * ZONE_BUF };
	if (is_atomic(s->op) || s->op == PMV_WR_ATOMIC_WRITE)
		s->len = 8;
	s->nb_psn = s->len == 0 ? 1 : (s->len + f->mtu - 1) / f->mtu;
	sge[0] = (struct pmv_sge){ (uintptr_t)f->zones.zone[ZONE_OUT], s->len,
		f->zones.key[ZONE_OUT] };
	if (s->op == PMV_WR_RDMA_READ || is_atomic(s->op))
		sge[0] = (struct pmv_sge){ (uintptr_t)s->buf, s->len, f->zones.key[ZONE_READ] };
	else if (chance(f, 30)) { /* two pieces */
		sge[0].length = below(f, s->len + 1);
		sge[1] = (struct pmv_sge){ sge[0].addr + sge[0].length, s->len - sge[0].length,
			f->zones.key[ZONE_OUT] };
		wr.num_sge = 2;
	}
	if (wild(f, 2))
		sge[0].lkey ^= 1u << below(f, 32);
	wr.send_flags = PMV_SEND_SIGNALED | (chance(f, 10) ? PMV_SEND_FENCE : 0);
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 0x1;
	assert_int_equal(pmv_post_send(f->qp, &wr, 1), 1);
	f->next_psn = pmv_psn_add(f->next_psn, s->nb_psn);
	f->sq_head++;
	check(f, NULL, 0);
}

static uint8_t *
recv_buf(struct fuzz *f, uint32_t index)
{
	return f->zones.zone[ZONE_RECV] + index % ZONE_BUFS * ZONE_BUF;
}

static void
post_recv(struct fuzz *f)
{
	const uint32_t len = wild(f, 10) ? below(f, 100) : ZONE_BUF;
	const struct pmv_sge sge = { (uintptr_t)recv_buf(f, f->rq_head), len,
		wild(f, 1) ? f->zones.key[ZONE_OUT] : f->zones.key[ZONE_RECV] };
	const struct pmv_recv_wr wr = { f->next_id | 1, &sge, 1 };

	if (f->rq_head - f->rq_tail >= ZONE_BUFS)
		return;
	f->next_id += 2;
	assert_int_equal(pmv_post_recv(f->qp, &wr, 1), 1);
	f->rq[f->rq_head++ % 64] = wr.wr_id;
	check(f, NULL, 0);
}

/* Where a frame may write: at most there. */
static void
grant_of(struct fuzz *f, const struct craft *c, const uint8_t **from, uint32_t *len)
{
	const struct pmv_opcode_info *op = &pmv_opcode_table[c->bytes[c->bth]];
	struct pmv_psn psn = pmv_psn(pmv_be32_load(c->bytes + c->bth + 8));

	*from = NULL;
	*len = 0;
	if (op->kind == PMV_OPKIND_SEND && f->rq_tail != f->rq_head) {
		*from = recv_buf(f, f->rq_tail);
		*len = ZONE_BUF;
	} else if (op->kind == PMV_OPKIND_WRITE) { /* the zones between RW and IOVA: see below */
		*from = f->zones.zone[ZONE_RW];
		*len = zone_bytes(ZONE_RW);
	} else if (op->kind == PMV_OPKIND_READ_RESP) {
		for (uint32_t i = f->sq_tail; i != f->sq_head; i++) {
			const struct sent *s = &f->sq[i % 64];
			uint32_t k = (psn.v - s->first.v) & PMV_PSN_MASK;

			if (s->op != PMV_WR_RDMA_READ || k >= s->nb_psn)
				continue;
			*from = s->buf + k * f->mtu;
			*len = RTE_MIN(f->mtu, s->len - k * f->mtu);
		}
	} else if (op->kind == PMV_OPKIND_ATOMIC_ACK) {
		for (uint32_t i = f->sq_tail; i != f->sq_head; i++) {
			const struct sent *s = &f->sq[i % 64];

			if (!is_atomic(s->op) || !pmv_psn_eq(psn, s->first))
				continue;
			*from = s->buf;
			*len = 8;
		}
	}
}

/* The word that an atomic or ATOMIC WRITE names, if it may: in a zone with all rights, whole and
 * aligned. */
static uint64_t *
word_of(struct fuzz *f, const struct craft *c)
{
	const uint8_t *p = c->bytes + c->bth + PMV_BTH_LEN;
	uint64_t va = pmv_be64_load(p);
	uint32_t key = pmv_be32_load(p + 8);

	for (int k = 0; k < 2; k++) {
		enum zone z = k == 0 ? ZONE_RW : ZONE_IOVA;
		uint64_t off = va - zone_start(&f->zones, z);

		if (key == f->zones.key[z] && off <= zone_bytes(z) - 8 && (va & 7) == 0)
			return (uint64_t *)(void *)(f->zones.zone[z] + off);
	}
	return NULL;
}

/* A frame with an atomic in its turn: what the word shall be, and what shall be told. Returns the
 * word, or NULL: nothing may change. */
static uint64_t *
foretell(struct fuzz *f, const struct craft *c, uint64_t *ret_want)
{
	const struct pmv_opcode_info *op = &pmv_opcode_table[c->bytes[c->bth]];
	struct pmv_psn psn = pmv_psn(pmv_be32_load(c->bytes + c->bth + 8) & PMV_PSN_MASK);
	struct pmv_atomic_eth h;
	uint64_t *word;

	if ((op->kind != PMV_OPKIND_ATOMIC && op->kind != PMV_OPKIND_ATOMIC_WRITE) ||
		psn.v != epsn(f))
		return NULL;
	word = word_of(f, c);
	if (word == NULL)
		return NULL;
	if (op->kind == PMV_OPKIND_ATOMIC_WRITE) {
		memcpy(ret_want, c->bytes + c->bth + op->hdr_len, 8);
		return word;
	}
	pmv_atomic_eth_parse(c->bytes + c->bth + PMV_OFF_ATOMIC, &h);
	f->done[f->nb_done % NB_OLD] = (struct done){ psn, *word };
	if (c->bytes[c->bth] == PMV_OPCODE_RC_FETCH_ADD)
		*ret_want = *word + h.swap_add;
	else
		*ret_want = *word == h.compare ? h.swap_add : *word;
	return word;
}

static void
check_word(struct fuzz *f, const struct craft *c, const uint64_t *word, uint64_t want)
{
	assert_true(*word == want);
	if (pmv_psn_eq(f->done[f->nb_done % NB_OLD].psn, pmv_psn(epsn(f) - 1)) &&
		pmv_opcode_table[c->bytes[c->bth]].kind == PMV_OPKIND_ATOMIC)
		f->nb_done++;
}

static void
inject(struct fuzz *f, const struct craft *c)
{
	struct rte_mbuf *m, *foreign;
	uint64_t *word, want = 0, before = 0;
	uint32_t psn = epsn(f);
	const uint8_t *from;
	uint32_t len;

	pmv_worker_flush(f->w); /* what is staged has been seen before it can be answered */
	if (!f->port_full)
		pmv_test_link_step(f->pair.link, f->pair.now);
	grant_of(f, c, &from, &len);
	word = foretell(f, c, &want);
	if (word != NULL) {
		before = *word;
		from = (const uint8_t *)word;
		len = 8;
	}
	m = craft_mbuf(f->own_pool, c, chance(f, 20) ? below(f, c->len) : 0, 0);
	assert_int_equal(pmv_worker_input(f->w, &m, 1, &foreign), 0);
	if (word != NULL)
		check_word(f, c, word, epsn(f) != psn ? want : before);
	/* a WRITE may also have gone to the other writable zone */
	if (pmv_opcode_table[c->bytes[c->bth]].kind == PMV_OPKIND_WRITE)
		zones_accept(&f->zones, ZONE_IOVA);
	check(f, from, len);
}

/* An address and key that are right more often than not. */
static void
choose_target(struct fuzz *f, struct plan *p)
{
	static const uint64_t corners[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1023, 0x7fffffffffffffff,
		0x8000000000000000 };
	enum zone z =
		!wild(f, 40) ? (chance(f, 50) ? ZONE_RW : ZONE_IOVA) : (enum zone)below(f, ZONE_NB);
	uint64_t start = zone_start(&f->zones, z);
	uint32_t room = zone_bytes(z);

	p->rkey = f->zones.key[z];
	p->va = start + (p->len < room ? below(f, room - p->len + 1) : 0);
	if (wild(f, 10))
		p->va = start + room - p->len + below(f, 3) - 1; /* at its end, or one beyond */
	if (wild(f, 5))
		p->va = start - 1 + below(f, 2);
	if (wild(f, 3))
		p->va = corners[below(f, RTE_DIM(corners))];
	if (wild(f, 3))
		p->rkey ^= 1u << below(f, 32);
}

static bool
is_word(enum pmv_opcode_kind kind)
{
	return kind == PMV_OPKIND_ATOMIC || kind == PMV_OPKIND_ATOMIC_WRITE;
}

static void
make_plan(struct fuzz *f)
{
	static const enum pmv_opcode_kind kinds[] = { PMV_OPKIND_SEND, PMV_OPKIND_WRITE,
		PMV_OPKIND_READ_REQ, PMV_OPKIND_ATOMIC, PMV_OPKIND_ATOMIC_WRITE, PMV_OPKIND_FLUSH };
	struct plan *p = &f->plan;

	*p = (struct plan){ .running = true,
		.kind = kinds[below(f, RTE_DIM(kinds))],
		.imm = chance(f, 30),
		.len = chance(f, 40) ? below(f, 40) : below(f, MSG_MAX) };
	if (is_word(p->kind))
		p->len = 8;
	choose_target(f, p);
	if (is_word(p->kind) && !wild(f, 5))
		p->va &= ~7ull;
}

static uint8_t
request_opcode(const struct plan *p, bool first, bool last)
{
	static const uint8_t send[4] = { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
		PMV_OPCODE_RC_SEND_LAST, PMV_OPCODE_RC_SEND_ONLY };
	static const uint8_t write[4] = { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
		PMV_OPCODE_RC_WRITE_LAST, PMV_OPCODE_RC_WRITE_ONLY };
	int at = first + 2 * last;

	if (p->kind == PMV_OPKIND_READ_REQ)
		return PMV_OPCODE_RC_READ_REQUEST;
	if (p->kind == PMV_OPKIND_ATOMIC)
		return p->imm ? PMV_OPCODE_RC_COMPARE_SWAP : PMV_OPCODE_RC_FETCH_ADD;
	if (p->kind == PMV_OPKIND_ATOMIC_WRITE)
		return PMV_OPCODE_RC_ATOMIC_WRITE;
	if (p->kind == PMV_OPKIND_FLUSH)
		return PMV_OPCODE_RC_FLUSH;
	if (p->imm && last)
		return (uint8_t)(1 + (p->kind == PMV_OPKIND_SEND ? send[at] : write[at]));
	return p->kind == PMV_OPKIND_SEND ? send[at] : write[at];
}

static bool
has_payload(enum pmv_opcode_kind kind)
{
	return kind == PMV_OPKIND_SEND || kind == PMV_OPKIND_WRITE ||
	       kind == PMV_OPKIND_ATOMIC_WRITE;
}

/* Operands that hit half of the time; never the secret. */
static void
put_atomic(struct fuzz *f, struct craft *c)
{
	const uint64_t *word;

	craft_put_atomic(
		c, &(const struct pmv_atomic_eth){
			   .va = f->plan.va, .rkey = f->plan.rkey, .swap_add = below(f, 100) + 1 });
	word = word_of(f, c);
	if (word != NULL && chance(f, 50))
		pmv_be64_store(c->bytes + c->bth + PMV_OFF_ATOMIC + 20, *word);
}

static void
put_feth(struct fuzz *f, struct craft *c)
{
	const uint8_t feth[4] = { 0, 0, 0,
		(uint8_t)(wild(f, 10) ? below(f, 256) : 1 + below(f, 2) * 16) };

	craft_put(c, feth, sizeof(feth));
}

/* The next packet of the plan, or something like it. */
static void
build_request(struct fuzz *f, struct craft *c)
{
	const struct plan *p = &f->plan;
	uint32_t left = p->len - p->off;
	uint32_t len = has_payload(p->kind) ? RTE_MIN(left, f->mtu) : 0;
	uint32_t reth_len = p->len;
	struct pmv_bth bth = { .opcode = request_opcode(p, p->off == 0, left <= f->mtu),
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(f->qp),
		.ackreq = chance(f, 50),
		.psn = pmv_psn(epsn(f)) };
	const struct pmv_opcode_info *op;
	uint8_t body[2048];

	if (chance(f, 12))
		bth.psn = pmv_psn_add(bth.psn, below(f, 17) - 8);
	if (wild(f, 3))
		bth.opcode = (uint8_t)below(f, 0x20);
	if (wild(f, 3))
		len = below(f, f->mtu + 5);
	if (wild(f, 3))
		reth_len = chance(f, 50) ? p->len + below(f, 3) - 1
					 : (uint32_t)pmv_random_next64(&f->random);
	op = &pmv_opcode_table[bth.opcode];
	bth.padcnt = pmv_bth_pad(len);
	craft_begin(c, &f->path, &bth);
	if (op->ext & PMV_EXT_FETH)
		put_feth(f, c);
	if (op->ext & PMV_EXT_RETH)
		craft_put_reth(c, p->va, p->rkey, reth_len);
	if (op->ext & PMV_EXT_ATOMIC)
		put_atomic(f, c);
	if (op->hdr_len > c->len - c->bth) /* whatever else it carries */
		craft_put(c, NULL, op->hdr_len - (c->len - c->bth));
	for (uint32_t i = 0; i < len; i++)
		body[i] = pattern(bth.psn, i);
	craft_put(c, body, len);
	craft_put(c, NULL, bth.padcnt);
	craft_end(c);
}

static void
send_request(struct fuzz *f)
{
	struct craft *c = &f->old[f->nb_old++ % NB_OLD];
	uint64_t deaths = f->nb_deaths;
	struct plan *p = &f->plan;
	uint32_t psn = epsn(f);

	if (!p->running)
		make_plan(f);
	build_request(f, c);
	inject(f, c);
	if (deaths != f->nb_deaths || psn == epsn(f))
		return;
	p->off += f->mtu;
	p->running = (p->kind == PMV_OPKIND_SEND || p->kind == PMV_OPKIND_WRITE) && p->off < p->len;
}

/* An old request once more, perhaps with another address, key or length (MR-402). */
static void
repeat_request(struct fuzz *f)
{
	struct craft *c = &f->old[below(f, NB_OLD)];

	if (c->len == 0)
		return;
	if (chance(f, 20) && (c->bytes[c->bth] == PMV_OPCODE_RC_READ_REQUEST ||
				     c->bytes[c->bth] == PMV_OPCODE_RC_FETCH_ADD ||
				     c->bytes[c->bth] == PMV_OPCODE_RC_COMPARE_SWAP)) {
		c->bytes[c->bth + PMV_BTH_LEN + below(f, 16)] ^= (uint8_t)(1u << below(f, 8));
		craft_seal_icrc(c);
	}
	inject(f, c);
}

/* The response to a PSN, as the request there wants it, or something like it. */
static void
build_response(struct fuzz *f, struct craft *c, struct pmv_psn psn)
{
	static const uint8_t odd[] = { 0x21, 0x22, 0x23, 0x20, 0x40, 0x60, 0x60, 0x60, 0x61, 0x62,
		0x63, 0x64, 0x7f, 0x80, 0x9f };
	const struct sent *s = NULL;
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_ACK,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(f->qp),
		.psn = psn };
	uint8_t syndrome = wild(f, 8) ? odd[below(f, RTE_DIM(odd))] : 0x1f;
	uint32_t len = 0, k;
	uint8_t body[2048];

	for (uint32_t i = f->sq_tail; i != f->sq_head && s == NULL; i++)
		if (pmv_psn_within(psn, f->sq[i % 64].first, f->sq[i % 64].nb_psn))
			s = &f->sq[i % 64];
	if (s != NULL && s->op == PMV_WR_RDMA_READ && chance(f, 90)) {
		k = (psn.v - s->first.v) & PMV_PSN_MASK;
		len = RTE_MIN(f->mtu, s->len - k * f->mtu);
		bth.opcode = k + 1 == s->nb_psn ? (k == 0 ? PMV_OPCODE_RC_READ_RESP_ONLY
							  : PMV_OPCODE_RC_READ_RESP_LAST)
						: (k == 0 ? PMV_OPCODE_RC_READ_RESP_FIRST
							  : PMV_OPCODE_RC_READ_RESP_MIDDLE);
	}
	if (s != NULL && is_atomic(s->op) && chance(f, 90))
		bth.opcode = PMV_OPCODE_RC_ATOMIC_ACK;
	if (s != NULL && s->op == PMV_WR_ATOMIC_WRITE && chance(f, 90))
		bth.opcode = PMV_OPCODE_RC_READ_RESP_ONLY;
	if (wild(f, 2)) {
		bth.opcode = (uint8_t)(PMV_OPCODE_RC_READ_RESP_FIRST + below(f, 6));
		len = chance(f, 50) ? f->mtu : below(f, f->mtu + 5);
	}
	if (pmv_opcode_table[bth.opcode].payload == PMV_OPPAY_NONE)
		len = 0;
	bth.padcnt = pmv_bth_pad(len);
	craft_begin(c, &f->path, &bth);
	if (pmv_opcode_table[bth.opcode].ext & PMV_EXT_AETH)
		craft_put_aeth(c, syndrome, below(f, 1u << 24));
	for (uint32_t i = 0; i < RTE_MAX(len, 8u); i++)
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

	if (f->port_full) /* what has not left cannot be answered */
		return;
	if (out > 0 && chance(f, 30))
		psn = pmv_psn_add(win->una, below(f, out));
	if (chance(f, 8))
		psn = pmv_psn_add(win->una, below(f, out + 16) - 8);
	build_response(f, &c, psn);
	inject(f, &c);
}

/* SQD and back. */
static void
pause_sq(struct fuzz *f)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_SQD };

	if (pmv_qp_get_state(f->qp) == PMV_QPS_SQD)
		a.qp_state = PMV_QPS_RTS;
	(void)pmv_modify_qp(f->qp, &a, PMV_QP_STATE);
	check(f, NULL, 0);
}

static void
kill_qp(struct fuzz *f)
{
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };

	assert_int_equal(pmv_modify_qp(f->qp, &err, PMV_QP_STATE), 0);
	for (int i = 0; i < 3; i++) { /* posted in ERR: flushed at once */
		struct pmv_sge sge = { (uintptr_t)f->zones.zone[ZONE_OUT], 10,
			f->zones.key[ZONE_OUT] };
		const struct pmv_recv_wr rwr = { f->next_id | 1, &sge, 1 };
		struct pmv_send_wr wr = { .wr_id = f->next_id & ~1ull,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = PMV_WR_SEND };

		f->next_id += 2;
		f->sq[f->sq_head++ % 64] = (struct sent){ .wr_id = wr.wr_id };
		f->rq[f->rq_head++ % 64] = rwr.wr_id;
		assert_int_equal(pmv_post_send(f->qp, &wr, 1), 1);
		assert_int_equal(pmv_post_recv(f->qp, &rwr, 1), 1);
	}
	check(f, NULL, 0);
}

static void
step(struct fuzz *f)
{
	uint32_t dice = below(f, 1000);

	if (dice < 150)
		post_send(f);
	else if (dice < 270)
		post_recv(f);
	else if (dice < 550)
		send_request(f);
	else if (dice < 590)
		repeat_request(f);
	else if (dice < 850)
		send_response(f);
	else if (dice < 980)
		step_time(f, 1 + below(f, chance(f, 10) ? 1500 : 30));
	else if (dice < 987)
		pause_sq(f);
	else if (dice < 993)
		starve(f, f->hoard == NULL);
	else if (dice < 999)
		jam(f, !f->port_full);
	else
		kill_qp(f);
	check(f, NULL, 0);
}

static void
fuzz_close(struct fuzz *f)
{
	starve(f, false);
	jam(f, false);
	if (!is_dead(f))
		kill_qp(f); /* every posted request completes: see bury() */
	assert_int_equal(pmv_destroy_qp(f->qp), 0);
	assert_int_equal(pmv_destroy_qp(f->peer), 0);
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
	test_free(f);
}

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void
fuzzed_state__keeps_to_the_model(void **state)
{
	uint64_t rounds = from_env("PMV_SIM_FUZZ_ROUNDS", ROUNDS);
	uint64_t seed = from_env("PMV_SIM_FUZZ_SEED", 1);
	uint64_t nb_ok = 0, nb_deaths = 0, nb_told = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		struct fuzz *f = fuzz_open(seed + i);

		*state = f; /* teardown tells the seed if it fails */
		for (uint32_t k = 0; k < STEPS; k++)
			step(f);
		*state = NULL;
		nb_ok += f->nb_ok;
		nb_deaths += f->nb_deaths;
		nb_told += f->nb_told;
		fuzz_close(f);
	}
	/* it was worth the while: a lot succeeds, a lot dies */
	assert_true(nb_ok > 20 * rounds);
	assert_true(nb_deaths >= rounds);
	assert_true(nb_told > 20 * rounds);
	print_message("%llu rounds: %llu completions succeeded, %llu times in ERR\n",
		(unsigned long long)rounds, (unsigned long long)nb_ok,
		(unsigned long long)nb_deaths);
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
		cmocka_unit_test_teardown(fuzzed_state__keeps_to_the_model, tell_seed),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
