// SPDX-License-Identifier: BSD-3-Clause
/*
 * Everything at once, both ways: requests of every opcode and size, inline and not, fenced, in
 * bursts of any length, over a link that loses frames, with few receives, SQD and an empty pool now
 * and then. Data and the order of completions on both sides, the order of first transmissions, and
 * the likeness of what is sent again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "lib/wire/icrc.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REQUESTS  5000u /* a side and run */
#define SLOTS     128u  /* twice what the queues hold */
#define SLOT      2048u
#define LEN_MAX   1500u
#define AREA_TO   0u /* the peer's WRITEs go to, its READs come from here */
#define AREA_FROM (SLOTS * SLOT)
#define AREA_RECV (2 * SLOTS * SLOT)
#define BURST     12u
#define MTU       256u

_Static_assert(3 * SLOTS * SLOT <= RC_LAB_BYTES, "the areas fit");

struct req {
	enum pmv_wr_opcode op;
	uint32_t len;
	uint32_t flags;
};

/* Requests of one side, by number. */
struct side {
	struct req req[SLOTS];
	uint64_t nb_posted;
	uint64_t nb_done;
	uint64_t msg[SLOTS]; /* numbers of those that take a receive */
	uint64_t nb_msgs;
	uint64_t nb_recvs_posted; /* of this side, for the peer's messages */
	uint64_t nb_recvs_done;
};

/* Small frames of one direction, to compare with when they come again. */
struct seen {
	struct pmv_psn next; /* never sent */
	uint64_t nb_again;
	struct {
		uint8_t bytes[160];
		uint32_t len;
		uint32_t psn;
	} frame[1024];
};

struct mix {
	struct rc_lab lab;
	struct side side[2];
	struct seen seen[2];
	struct pmv_random rnd;
	struct rte_mbuf **hoard;
	uint32_t nb_hoard;
	uint32_t nb_refused;
};

static uint64_t
roll(struct mix *x, uint64_t n)
{
	return pmv_random_below(&x->rnd, n);
}

static bool
takes_recv(enum pmv_wr_opcode op)
{
	return op == PMV_WR_SEND || op == PMV_WR_SEND_WITH_IMM || op == PMV_WR_RDMA_WRITE_WITH_IMM;
}

static uint8_t *
slot(struct mix *x, int side, uint32_t area, uint64_t id)
{
	return x->lab.mem[side] + area + id % SLOTS * SLOT;
}

static uint32_t
seed_of(int side, uint64_t id)
{
	return (uint32_t)(id * 2 + (uint32_t)side);
}

/* First transmissions are in the order of PSNs without a gap; a small frame that comes again is the
 * same but for AckReq. */
static enum pmv_test_fate
look(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct seen *s = arg;
	uint8_t buf[192], copy[160];
	const uint8_t *f = rte_pktmbuf_read(m, 0, RTE_MIN(m->pkt_len, 192u), buf);
	uint32_t bth = f[14] >> 4 == 6 ? 62 : 42;
	uint32_t opcode = f[bth], psn = pmv_be32_load(f + bth + 8) & PMV_PSN_MASK, nb = 1;
	uint32_t slot = psn % RTE_DIM(s->frame), len = m->pkt_len;

	if (!(pmv_opcode_table[opcode].flags & PMV_OPF_REQUEST))
		return PMV_TEST_PASS;
	if (opcode == PMV_OPCODE_RC_READ_REQUEST)
		nb = RTE_MAX((pmv_be32_load(f + bth + PMV_BTH_LEN + 12) + MTU - 1) / MTU, 1u);
	if (psn == s->next.v)
		s->next = pmv_psn_add(s->next, nb);
	else
		assert_true(pmv_psn_before(pmv_psn(psn), s->next));
	if (len > sizeof(copy) || opcode == PMV_OPCODE_RC_READ_REQUEST)
		return PMV_TEST_PASS;
	assert_true(pmv_icrc_packet_check(f + 14, bth == 62, len - 14));
	memcpy(copy, f, len);
	copy[bth + PMV_BTH_ACKREQ_OFF] &= (uint8_t)~PMV_BTH_ACKREQ;
	if (s->frame[slot].len != 0 && s->frame[slot].psn == psn) {
		assert_int_equal(s->frame[slot].len, len);
		assert_memory_equal(s->frame[slot].bytes, copy, len - PMV_ICRC_LEN);
		s->nb_again++;
	}
	memcpy(s->frame[slot].bytes, copy, len);
	s->frame[slot].len = len;
	s->frame[slot].psn = psn;
	return PMV_TEST_PASS;
}

/* Makes request id; *ret_wr for it. */
static void
make(struct mix *x, int side, uint64_t id, struct pmv_send_wr *wr, struct pmv_sge *sge)
{
	struct req *q = &x->side[side].req[id % SLOTS];
	uint8_t *local = slot(x, side, AREA_FROM, id), *remote = slot(x, !side, AREA_TO, id);
	uint32_t lkey = pmv_mr_lkey(x->lab.mr[side]), cut;

	q->op = (enum pmv_wr_opcode)roll(x, roll(x, 4) == 0 ? 5 : 4);
	q->flags = roll(x, 4) != 0 ? PMV_SEND_SIGNALED : 0;
	q->flags |= roll(x, 16) == 0 ? PMV_SEND_FENCE : 0;
	q->flags |= roll(x, 3) == 0 ? PMV_SEND_SOLICITED : 0;
	q->len = (uint32_t)roll(x, roll(x, 3) == 0 ? LEN_MAX : 80);
	if (q->op != PMV_WR_RDMA_READ && q->len <= 64 && roll(x, 8) != 0)
		q->flags |= PMV_SEND_INLINE;
	memset(remote, 0x5a, q->len + 8);
	memset(local, 0x5a, q->len + 8);
	rc_lab_fill(q->op == PMV_WR_RDMA_READ ? remote : local, q->len, seed_of(side, id));
	cut = roll(x, 8) == 0 ? (uint32_t)roll(x, q->len + 1) : q->len;
	sge[0] = (struct pmv_sge){ (uintptr_t)local, cut, lkey };
	sge[1] = (struct pmv_sge){ (uintptr_t)local + cut, q->len - cut, lkey };
	*wr = (struct pmv_send_wr){ .wr_id = id,
		.sg_list = sge,
		.num_sge = cut == q->len ? 1 : 2,
		.opcode = q->op,
		.send_flags = q->flags,
		.imm_data = rte_cpu_to_be_32((uint32_t)id) };
	if (q->len == 0 && roll(x, 2) == 0)
		wr->num_sge = 0;
	wr->wr.rdma.remote_addr = (uintptr_t)remote;
	wr->wr.rdma.rkey = pmv_mr_rkey(x->lab.mr[!side]);
}

static void
post(struct mix *x, int side)
{
	struct side *s = &x->side[side];
	uint64_t left = REQUESTS - s->nb_posted;
	struct pmv_send_wr wr[BURST];
	struct pmv_sge sge[BURST][2];
	uint32_t nb = (uint32_t)RTE_MIN(1 + roll(x, BURST), left);
	int rc;

	if (nb == 0)
		return;
	for (uint32_t i = 0; i < nb; i++)
		make(x, side, s->nb_posted + i, &wr[i], sge[i]);
	if (nb == left) { /* so that the end is seen */
		wr[nb - 1].send_flags |= PMV_SEND_SIGNALED;
		s->req[(s->nb_posted + nb - 1) % SLOTS].flags |= PMV_SEND_SIGNALED;
	}
	rc = pmv_post_send(x->lab.qp[side], wr, nb);
	if (rc < 0) {
		assert_int_equal(rc, -ENOMEM);
		rc = 0;
	}
	x->nb_refused += nb - (uint32_t)rc;
	for (uint32_t i = 0; i < (uint32_t)rc; i++, s->nb_posted++) {
		const struct req *q = &s->req[s->nb_posted % SLOTS];

		if (takes_recv(q->op))
			s->msg[s->nb_msgs++ % SLOTS] = s->nb_posted;
		if (q->flags & PMV_SEND_INLINE) /* it was copied */
			memset(slot(x, side, AREA_FROM, s->nb_posted), 0xff, q->len);
	}
}

static void
post_recvs(struct mix *x, int side)
{
	struct side *s = &x->side[side];

	for (uint64_t nb = roll(x, 9); nb > 0 && s->nb_recvs_posted - s->nb_recvs_done < 60; nb--) {
		uint32_t off = AREA_RECV + (uint32_t)(s->nb_recvs_posted % SLOTS) * SLOT;

		memset(x->lab.mem[side] + off, 0x5a, SLOT);
		assert_int_equal(rc_lab_recv(&x->lab, side, off, LEN_MAX, s->nb_recvs_posted++), 1);
	}
}

static void
check_data(const uint8_t *p, uint32_t len, uint32_t seed)
{
	assert_true(rc_lab_check(p, len, seed));
	for (uint32_t i = len; i < len + 8; i++)
		assert_int_equal(p[i], 0x5a);
}

/* Completions name the signalled requests in order; everything up to one is done when it is. */
static void
check_sent(struct mix *x, int side, const struct pmv_wc *wc)
{
	struct side *s = &x->side[side];

	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_true(wc->wr_id >= s->nb_done && wc->wr_id < s->nb_posted);
	for (; s->nb_done <= wc->wr_id; s->nb_done++) {
		uint64_t id = s->nb_done;
		const struct req *q = &s->req[id % SLOTS];

		assert_int_equal(!!(q->flags & PMV_SEND_SIGNALED), id == wc->wr_id);
		if (q->op == PMV_WR_RDMA_WRITE || q->op == PMV_WR_RDMA_WRITE_WITH_IMM)
			check_data(slot(x, !side, AREA_TO, id), q->len, seed_of(side, id));
		else if (q->op == PMV_WR_RDMA_READ)
			check_data(slot(x, side, AREA_FROM, id), q->len, seed_of(side, id));
	}
}

static void
check_received(struct mix *x, int side, const struct pmv_wc *wc)
{
	struct side *s = &x->side[side], *peer = &x->side[!side];
	uint64_t id;
	const struct req *q;

	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->wr_id, s->nb_recvs_done);
	assert_true(s->nb_recvs_done < peer->nb_msgs);
	id = peer->msg[s->nb_recvs_done++ % SLOTS];
	q = &peer->req[id % SLOTS];
	assert_int_equal(wc->byte_len, q->len);
	assert_int_equal(wc->opcode,
		q->op == PMV_WR_RDMA_WRITE_WITH_IMM ? PMV_WC_RECV_RDMA_WITH_IMM : PMV_WC_RECV);
	if (q->op != PMV_WR_SEND)
		assert_int_equal(wc->imm_data, rte_cpu_to_be_32((uint32_t)id));
	if (q->op != PMV_WR_RDMA_WRITE_WITH_IMM)
		check_data(slot(x, side, AREA_RECV, wc->wr_id), q->len, seed_of(!side, id));
	else
		check_data(slot(x, side, AREA_TO, id), q->len, seed_of(!side, id));
}

static void
collect(struct mix *x)
{
	struct pmv_wc wc[64];

	for (int side = 1; side >= 0; side--) {
		uint32_t nb = pmv_poll_cq(x->lab.pair.node[side].cq[0], wc, RTE_DIM(wc));

		for (uint32_t i = 0; i < nb; i++) {
			if (wc[i].opcode & PMV_WC_RECV)
				check_received(x, side, &wc[i]);
			else
				check_sent(x, side, &wc[i]);
		}
	}
}

/* SQD for a while; the pool empty but for a few for a while. */
static void
disturb(struct mix *x)
{
	int side = (int)roll(x, 2);
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD };
	struct rte_mempool *pool = x->lab.pair.link->pool;

	if (roll(x, 60) == 0) {
		if (pmv_qp_get_state(x->lab.qp[side]) == PMV_QPS_SQD)
			attr.qp_state = PMV_QPS_RTS;
		assert_int_equal(pmv_modify_qp(x->lab.qp[side], &attr, PMV_QP_STATE), 0);
	}
	if (x->nb_hoard > 0 && roll(x, 4) == 0) {
		rte_pktmbuf_free_bulk(x->hoard, x->nb_hoard);
		x->nb_hoard = 0;
	} else if (x->nb_hoard == 0 && roll(x, 100) == 0) {
		uint32_t left = (uint32_t)roll(x, 20);

		for (int i = 0; i < 2; i++) /* what is in hand goes with the rest */
			pmv_roce_spare_drop(&pmv_roce_worker(x->lab.pair.node[i].worker[0])->spare);
		while (rte_mempool_avail_count(pool) > left)
			x->hoard[x->nb_hoard++] = rte_pktmbuf_alloc(pool);
	}
}

static void
calm(struct mix *x)
{
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_RTS };

	for (int side = 0; side < 2; side++)
		if (pmv_qp_get_state(x->lab.qp[side]) == PMV_QPS_SQD)
			assert_int_equal(pmv_modify_qp(x->lab.qp[side], &attr, PMV_QP_STATE), 0);
	rte_pktmbuf_free_bulk(x->hoard, x->nb_hoard);
	x->nb_hoard = 0;
}

static bool
is_done(const struct mix *x)
{
	for (int side = 0; side < 2; side++)
		if (x->side[side].nb_done < REQUESTS ||
			x->side[side].nb_msgs != x->side[!side].nb_recvs_done)
			return false;
	return true;
}

static void
short_rnr(int side, struct pmv_qp_attr *attr)
{
	attr->min_rnr_timer = 1;
	attr->max_rd_atomic = 2;
	attr->max_dest_rd_atomic = 2;
}

static void
mixed(const struct rc_lab_param *param, double loss)
{
	struct mix *x = test_calloc(1, sizeof(*x));

	rc_lab_open(&x->lab, param);
	pmv_random_init(&x->rnd, param->seed);
	x->hoard = test_calloc(x->lab.pair.link->pool_size, sizeof(*x->hoard));
	for (int side = 0; side < 2; side++) {
		x->seen[side].next = pmv_roce_qp(x->lab.qp[side])->win.nxt;
		x->lab.pair.link->end[side].out.hook = look;
		x->lab.pair.link->end[side].out.hook_arg = &x->seen[side];
		x->lab.pair.link->end[side].out.drop = loss;
	}
	for (uint32_t turn = 0; !is_done(x); turn++) {
		assert_true(turn < 400000);
		for (int side = 0; side < 2; side++) {
			if (roll(x, 3) == 0)
				post(x, side);
			if (roll(x, 12) == 0)
				post_recvs(x, side);
		}
		if (x->side[0].nb_posted + x->side[1].nb_posted < 2 * REQUESTS)
			disturb(x);
		else
			calm(x);
		pmv_test_pair_run(&x->lab.pair, 5, 5);
		collect(x);
	}
	/* all that was meant to happen did */
	assert_true(x->nb_refused > 0);
	assert_true(x->lab.pair.link->end[0].out.nb_dropped > 0 || loss == 0);
	assert_true(x->seen[0].nb_again > (loss == 0 ? 0 : REQUESTS / 100));
	assert_true(pmv_roce_worker(x->lab.pair.node[0].worker[0])->stats.no_mbuf > 0);
	assert_true(pmv_roce_worker(x->lab.pair.node[0].worker[0])->stats.rnr_tx > 0);
	for (int side = 0; side < 2; side++)
		x->lab.pair.link->end[side].out.hook = NULL;
	rc_lab_close(&x->lab);
	test_free(x->hoard);
	test_free(x);
}

static void
rc_mixed__loss(void **state)
{
	const struct rc_lab_param param = { .mtu = PMV_MTU_256, .seed = 7, .tune = short_rnr };

	mixed(&param, 0.02);
}

static void
rc_mixed__loss_and_small_window(void **state)
{
	const struct rc_lab_param param = {
		.mtu = PMV_MTU_256, .seed = 8, .tune = short_rnr, .window_pkts = 6, .is_v6 = true
	};

	mixed(&param, 0.02);
}

static void
rc_mixed__clean(void **state)
{
	const struct rc_lab_param param = { .mtu = PMV_MTU_256, .seed = 9, .tune = short_rnr };

	mixed(&param, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_mixed__loss),
		cmocka_unit_test(rc_mixed__loss_and_small_window),
		cmocka_unit_test(rc_mixed__clean),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
