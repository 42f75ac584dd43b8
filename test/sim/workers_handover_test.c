// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two workers on each device, both stepped by one lcore, and a link that delivers frames to the
 * wrong queue: frames of the other worker's QP are handed over, in order, counted, and everything
 * completes, also under loss and when the ring between the workers runs full.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define NB_W    2
#define SLOT    4096u
#define NB_MSGS 48u
#define BYTES   (4 * NB_MSGS * SLOT) /* for each worker: to send, to read into, written, read */
#define QKEY    0x1234u
#define WC_MAX  512u

/* Where worker w's memory holds what. */
enum area { AREA_OUT, AREA_READ_INTO, AREA_IN, AREA_READ_FROM };

struct lab {
	struct pmv_test_pair pair;
	struct pmv_qp *rc[2][NB_W]; /* [side][worker] */
	struct pmv_qp *ud[2][NB_W];
	struct pmv_mr *mr[2][NB_W];
	uint8_t *mem[2][NB_W];
	struct pmv_ah *ah[2];
	struct pmv_wc wc[2][NB_W][WC_MAX];
	uint32_t nb_wc[2][NB_W];
};

static uint32_t
dqpn_of(const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t bth = pmv_be16_load(p + 12) == 0x86dd ? 62 : 42;

	return pmv_be32_load(p + bth + 4) & 0xffffff;
}

/* Always the queue of the other worker: with two of them, the top bit of a QPN is the index. */
static uint16_t
steer_wrong(const struct rte_mbuf *m)
{
	return !(dqpn_of(m) >> 23);
}

static uint16_t
steer_to_0(const struct rte_mbuf *m)
{
	return 0;
}

static uint8_t *
place(const struct lab *lab, int side, int w, enum area area, uint32_t slot)
{
	return lab->mem[side][w] + (area * NB_MSGS + slot) * SLOT;
}

static struct lab *
open_lab(uint16_t (*steer)(const struct rte_mbuf *m), uint64_t seed)
{
	const struct pmv_test_pair_param pp = { .nb_workers = NB_W, .seed = seed };
	struct lab *lab = test_calloc(1, sizeof(*lab));

	pmv_test_pair_open(&lab->pair, &pp);
	for (int side = 0; side < 2; side++) {
		struct pmv_test_node *n = &lab->pair.node[side];
		struct pmv_ah_attr attr = { 0 };

		for (uint16_t w = 0; w < NB_W; w++) {
			lab->mem[side][w] = calloc(1, BYTES);
			assert_int_equal(pmv_reg_mr(n->pd, lab->mem[side][w], BYTES,
						 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
							 PMV_ACCESS_REMOTE_READ,
						 &lab->mr[side][w]),
				0);
			lab->rc[side][w] = pmv_test_qp_create(n, w, PMV_QPT_RC);
			lab->ud[side][w] = pmv_test_qp_create(n, w, PMV_QPT_UD);
			assert_int_equal(pmv_qp_num(lab->rc[side][w]) >> 23, w);
			assert_int_equal(pmv_qp_num(lab->ud[side][w]) >> 23, w);
			pmv_test_qp_ud_rts(lab->ud[side][w], QKEY, 0);
		}
		assert_int_equal(pmv_query_gid(lab->pair.node[!side].dev, 0, &attr.dgid), 0);
		assert_int_equal(pmv_create_ah(n->pd, &attr, &lab->ah[side]), 0);
		lab->pair.link->end[side].steer = steer;
	}
	for (int w = 0; w < NB_W; w++) /* crosswise: worker w talks to worker !w */
		pmv_test_qp_connect(
			&lab->pair, lab->rc[0][w], lab->rc[1][!w], w & 1, PMV_MTU_1024, NULL);
	return lab;
}

static void
run(struct lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, 5);
	for (int side = 0; side < 2; side++)
		for (int w = 0; w < NB_W; w++) {
			uint32_t *nb = &lab->nb_wc[side][w];

			*nb += pmv_poll_cq(
				lab->pair.node[side].cq[w], &lab->wc[side][w][*nb], WC_MAX - *nb);
		}
}

static void
close_lab(struct lab *lab)
{
	run(lab, 1000);
	for (int side = 0; side < 2; side++) {
		struct pmv_event ev;

		for (int w = 0; w < NB_W; w++) {
			assert_int_equal(pmv_destroy_qp(lab->rc[side][w]), 0);
			assert_int_equal(pmv_destroy_qp(lab->ud[side][w]), 0);
			rc_lab_dereg(lab->mr[side][w]);
		}
		assert_int_equal(pmv_destroy_ah(lab->ah[side]), 0);
		run(lab, 100);
		while (pmv_poll_async_event(lab->pair.node[side].dev, &ev) == 1)
			continue;
	}
	pmv_test_pair_close(&lab->pair);
	for (int side = 0; side < 2; side++)
		for (int w = 0; w < NB_W; w++)
			free(lab->mem[side][w]);
	test_free(lab);
}

static uint64_t
stat_of(struct lab *lab, int side, int w, const char *name)
{
	return pmv_worker_stat(lab->pair.node[side].worker[w], name);
}

static uint32_t
seed_of(int side, int w, uint32_t i, bool read)
{
	return 1 + i + 1000 * (uint32_t)w + 10000 * (uint32_t)side + 100000 * (uint32_t)read;
}

static uint32_t
len_of(uint32_t i)
{
	static const uint32_t lens[] = { 1, 100, 1024, 1025, 3000, 4096, 0 };

	return lens[i % RTE_DIM(lens)];
}

static enum pmv_wr_opcode
op_of(uint32_t i)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_SEND_WITH_IMM, PMV_WR_RDMA_READ,
		PMV_WR_RDMA_WRITE_WITH_IMM, PMV_WR_SEND };

	return ops[i % RTE_DIM(ops)];
}

static void
prepare(struct lab *lab, int side, int w)
{
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		const struct pmv_sge sge = { (uintptr_t)place(lab, side, w, AREA_IN, i), SLOT,
			pmv_mr_lkey(lab->mr[side][w]) };
		const struct pmv_recv_wr wr = { 1000 + i, &sge, 1 };

		rc_lab_fill(
			place(lab, side, w, AREA_OUT, i), len_of(i), seed_of(side, w, i, false));
		rc_lab_fill(place(lab, side, w, AREA_READ_FROM, i), len_of(i),
			seed_of(side, w, i, true));
		if (op_of(i) != PMV_WR_RDMA_READ)
			assert_int_equal(pmv_post_recv(lab->rc[side][w], &wr, 1), 1);
	}
}

static void
post_one(struct lab *lab, int side, int w, uint32_t i)
{
	enum pmv_wr_opcode op = op_of(i);
	bool read = op == PMV_WR_RDMA_READ;
	const struct pmv_sge sge = { (uintptr_t)place(
					     lab, side, w, read ? AREA_READ_INTO : AREA_OUT, i),
		len_of(i), pmv_mr_lkey(lab->mr[side][w]) };
	struct pmv_send_wr wr = { .wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = PMV_SEND_SIGNALED,
		.imm_data = rte_cpu_to_be_32(i) };

	wr.wr.rdma.remote_addr =
		(uintptr_t)place(lab, !side, !w, read ? AREA_READ_FROM : AREA_IN, i);
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[!side][!w]);
	assert_int_equal(pmv_post_send(lab->rc[side][w], &wr, 1), 1);
}

/* Completions of one QP: sends in order, receives in order, none missing. */
static void
check_wcs(const struct lab *lab, int side, int w)
{
	uint32_t nb_send = 0, recv = 0;

	for (uint32_t k = 0; k < lab->nb_wc[side][w]; k++) {
		const struct pmv_wc *wc = &lab->wc[side][w][k];

		assert_int_equal(wc->status, PMV_WC_SUCCESS);
		assert_int_equal(wc->qp_num, pmv_qp_num(lab->rc[side][w]));
		if (wc->wr_id < 1000) {
			assert_int_equal(wc->wr_id, nb_send++);
			continue;
		}
		while (op_of(recv) == PMV_WR_RDMA_READ)
			recv++;
		assert_int_equal(wc->wr_id, 1000 + recv);
		assert_int_equal(wc->byte_len, len_of(recv));
		if (op_of(recv) != PMV_WR_SEND)
			assert_int_equal(wc->imm_data, rte_cpu_to_be_32(recv));
		recv++;
	}
	assert_int_equal(nb_send, NB_MSGS);
	assert_int_equal(lab->nb_wc[side][w], NB_MSGS + NB_MSGS * 3 / 4);
}

static void
check_data(const struct lab *lab, int side, int w)
{
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		if (op_of(i) == PMV_WR_RDMA_READ)
			assert_true(rc_lab_check(place(lab, side, w, AREA_READ_INTO, i), len_of(i),
				seed_of(!side, !w, i, true)));
		else
			assert_true(rc_lab_check(place(lab, side, w, AREA_IN, i), len_of(i),
				seed_of(!side, !w, i, false)));
	}
}

/* All four QPs send to their peers at the same time. */
static void
converse(struct lab *lab, uint64_t limit_us)
{
	uint64_t end = lab->pair.now + limit_us * lab->pair.link->ticks_per_us;
	uint32_t nb = 0;

	for (int k = 0; k < 4; k++)
		prepare(lab, k >> 1, k & 1);
	for (uint32_t i = 0; i < NB_MSGS; i++)
		for (int k = 0; k < 4; k++)
			post_one(lab, k >> 1, k & 1, i);
	while (nb < 4 * (NB_MSGS + NB_MSGS * 3 / 4) && lab->pair.now < end) {
		run(lab, 5);
		nb = 0;
		for (int k = 0; k < 4; k++)
			nb += lab->nb_wc[k >> 1][k & 1];
	}
	for (int k = 0; k < 4; k++) {
		check_wcs(lab, k >> 1, k & 1);
		check_data(lab, k >> 1, k & 1);
	}
}

/* Every frame arrives at the wrong worker: each is handed over once, in order (nothing has to be
 * sent again), and both sides of the count agree. */
static void
workers_handover__every_frame(void **state)
{
	struct lab *lab = open_lab(steer_wrong, 3);

	converse(lab, 100000);
	run(lab, 100);
	for (int side = 0; side < 2; side++) {
		uint64_t nb[NB_W];

		for (int w = 0; w < NB_W; w++) {
			nb[w] = stat_of(lab, side, w, "rx_handover");
			assert_true(nb[w] > NB_MSGS);
			assert_int_equal(stat_of(lab, side, w, "handover_tx"), nb[w]);
			assert_int_equal(stat_of(lab, side, w, "handover_drop"), 0);
			assert_int_equal(stat_of(lab, side, w, "retx_pkts"), 0);
			assert_int_equal(stat_of(lab, side, w, "naks_tx"), 0);
			assert_int_equal(stat_of(lab, side, w, "rx_frames"), nb[w]);
		}
		for (int w = 0; w < NB_W; w++)
			assert_int_equal(stat_of(lab, side, w, "handover_rx"), nb[!w]);
	}
	close_lab(lab);
}

/* All frames arrive at worker 0: half of them are its own. */
static void
workers_handover__one_busy_queue(void **state)
{
	struct lab *lab = open_lab(steer_to_0, 4);

	converse(lab, 100000);
	for (int side = 0; side < 2; side++) {
		assert_true(stat_of(lab, side, 0, "rx_handover") > NB_MSGS);
		assert_true(stat_of(lab, side, 0, "rx_frames") >
			    stat_of(lab, side, 0, "rx_handover") + NB_MSGS);
		assert_int_equal(stat_of(lab, side, 1, "rx_frames"), 0);
		assert_int_equal(stat_of(lab, side, 0, "retx_pkts"), 0);
		assert_int_equal(stat_of(lab, side, 1, "retx_pkts"), 0);
	}
	close_lab(lab);
}

/* Loss, duplication and reordering on top of it. */
static void
workers_handover__under_loss(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct lab *lab = open_lab(seed & 1 ? steer_wrong : steer_to_0, 100 + seed);

		for (int side = 0; side < 2; side++) {
			struct pmv_test_dir *d = &lab->pair.link->end[side].out;

			d->drop = 0.03;
			d->dup = 0.03;
			d->swap = 0.03;
		}
		converse(lab, 20000000);
		assert_true(stat_of(lab, 0, 0, "retx_pkts") + stat_of(lab, 0, 1, "retx_pkts") > 0);
		close_lab(lab);
	}
}

/* Datagrams: through the wrong worker, each once and in order. */
static void
workers_handover__datagrams(void **state)
{
	struct lab *lab = open_lab(steer_wrong, 5);
	const uint32_t nb = 40;

	for (int w = 0; w < NB_W; w++) {
		for (uint32_t i = 0; i < nb; i++) {
			const struct pmv_sge to = { (uintptr_t)place(lab, 1, w, AREA_IN, i), 100,
				pmv_mr_lkey(lab->mr[1][w]) };
			const struct pmv_recv_wr rwr = { i, &to, 1 };

			assert_int_equal(pmv_post_recv(lab->ud[1][w], &rwr, 1), 1);
		}
		for (uint32_t i = 0; i < nb; i++) {
			const struct pmv_sge from = { (uintptr_t)&i, sizeof(i), 0 };
			struct pmv_send_wr wr = { .sg_list = &from,
				.num_sge = 1,
				.opcode = PMV_WR_SEND,
				.send_flags = PMV_SEND_INLINE };

			wr.wr.ud.ah = lab->ah[0];
			wr.wr.ud.remote_qpn = pmv_qp_num(lab->ud[1][w]);
			wr.wr.ud.remote_qkey = QKEY;
			assert_int_equal(pmv_post_send(lab->ud[0][!w], &wr, 1), 1);
		}
	}
	run(lab, 100);
	for (int w = 0; w < NB_W; w++) {
		assert_int_equal(lab->nb_wc[1][w], nb);
		assert_int_equal(stat_of(lab, 1, w, "handover_rx"), nb);
		for (uint32_t i = 0; i < nb; i++) {
			const struct pmv_wc *wc = &lab->wc[1][w][i];

			assert_int_equal(wc->wr_id, i);
			assert_int_equal(wc->src_qp, pmv_qp_num(lab->ud[0][!w]));
			assert_memory_equal(place(lab, 1, w, AREA_IN, i) + 40, &i, 4);
		}
	}
	close_lab(lab);
}

/* A QPN that nobody has, in the other worker's range: handed over once, dropped once there, and
 * never sent back. */
static void
workers_handover__unknown_qpn(void **state)
{
	struct lab *lab = open_lab(steer_to_0, 6);
	struct craft_path path;
	struct craft c;
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY, .pkey = PMV_PKEY_DEFAULT };

	craft_path_get(&lab->pair, 1, false, 0, &path);
	bth.dqpn = pmv_qp_num(lab->rc[1][1]) ^ 0x40; /* another slot */
	craft_begin(&c, &path, &bth);
	craft_end(&c);
	craft_inject(&lab->pair, 1, &c);
	run(lab, 50);
	assert_int_equal(stat_of(lab, 1, 0, "rx_handover"), 1);
	assert_int_equal(stat_of(lab, 1, 1, "handover_rx"), 1);
	assert_int_equal(stat_of(lab, 1, 1, "rx_drop_qpn"), 1);
	assert_int_equal(stat_of(lab, 1, 1, "rx_handover"), 0);
	assert_int_equal(stat_of(lab, 1, 0, "rx_drop_qpn"), 0);
	bth.dqpn = pmv_qp_num(lab->rc[1][0]) ^ 0x40; /* its own range: dropped at once */
	craft_begin(&c, &path, &bth);
	craft_end(&c);
	craft_inject(&lab->pair, 1, &c);
	run(lab, 50);
	assert_int_equal(stat_of(lab, 1, 0, "rx_handover"), 1);
	assert_int_equal(stat_of(lab, 1, 0, "rx_drop_qpn"), 1);
	close_lab(lab);
}

/* Steps everything but one worker of side 1. */
static void
run_without(struct lab *lab, int absent, uint64_t us)
{
	struct pmv_test_pair *p = &lab->pair;
	uint64_t end = p->now + us * p->link->ticks_per_us;

	while (p->now < end) {
		p->now += 5 * p->link->ticks_per_us;
		for (int k = 0; k < 4; k++)
			if (k != 2 + absent)
				pmv_worker_poll_at(p->node[k >> 1].worker[k & 1], p->now);
		pmv_test_link_step(p->link, p->now);
	}
}

/* The target does not poll: its ring fills, more is dropped and counted; once it polls again,
 * everything is made good. */
static void
workers_handover__full_ring(void **state)
{
	struct lab *lab = open_lab(steer_to_0, 7);
	struct craft_path path;
	struct craft c;
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY, .pkey = PMV_PKEY_DEFAULT };
	uint64_t nb;

	craft_path_get(&lab->pair, 1, true, 0, &path);
	bth.dqpn = pmv_qp_num(lab->rc[1][1]);
	bth.psn = pmv_psn(0xfffff8 - 5); /* old ones: duplicates */
	craft_begin(&c, &path, &bth);
	craft_end(&c);
	for (int i = 0; i < 1000; i++) {
		craft_inject(&lab->pair, 1, &c);
		run_without(lab, 1, 5);
	}
	nb = stat_of(lab, 1, 0, "handover_tx");
	assert_true(nb >= 256 && nb < 1000);
	assert_int_equal(stat_of(lab, 1, 0, "handover_drop"), 1000 - nb);
	assert_int_equal(stat_of(lab, 1, 1, "handover_rx"), 0);
	run(lab, 200);
	assert_int_equal(stat_of(lab, 1, 1, "handover_rx"), nb);
	converse(lab, 1000000);
	close_lab(lab);
}

/* The target is detached while frames wait for it, attached again, and goes on. */
static void
workers_handover__target_away(void **state)
{
	struct lab *lab = open_lab(steer_to_0, 8);
	struct pmv_worker *w = lab->pair.node[1].worker[1];

	for (int k = 0; k < 4; k++)
		prepare(lab, k >> 1, k & 1);
	for (uint32_t i = 0; i < NB_MSGS; i++)
		for (int k = 0; k < 4; k++)
			post_one(lab, k >> 1, k & 1, i);
	run(lab, 20);
	assert_int_equal(pmv_worker_detach(w), 0);
	run_without(lab, 1, 3000);
	assert_int_equal(pmv_worker_attach(w), 0);
	run(lab, 100000);
	for (int k = 0; k < 4; k++) {
		check_wcs(lab, k >> 1, k & 1);
		check_data(lab, k >> 1, k & 1);
	}
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_handover__every_frame),
		cmocka_unit_test(workers_handover__one_busy_queue),
		cmocka_unit_test(workers_handover__under_loss),
		cmocka_unit_test(workers_handover__datagrams),
		cmocka_unit_test(workers_handover__unknown_qpn),
		cmocka_unit_test(workers_handover__full_ring),
		cmocka_unit_test(workers_handover__target_away),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
