// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a CQ tells besides its completions, on a whole connection: the solicited event of the
 * sender, notification in the turn of the completion, time stamps, a resize under load, and an
 * overrun behind a resize.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

static uint32_t nb_told;

static void
told(struct pmv_cq *cq, void *arg)
{
	nb_told++;
}

static struct rc_lab *
open_lab(uint32_t cqe)
{
	const struct rc_lab_param param = { .cqe = cqe };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	rc_lab_run(lab, 20); /* new RTS queue pairs wait for their first turn */
	nb_told = 0;
	return lab;
}

static void
close_lab(struct rc_lab *lab)
{
	lab->pair.link->end[0].out.hook = NULL;
	rc_lab_close(lab);
	test_free(lab);
}

/* One message of a kind, received whole. */
static const struct pmv_wc *
message(struct rc_lab *lab, enum pmv_wr_opcode op, uint32_t len, uint32_t flags)
{
	uint32_t nb = lab->nb_wc[1];

	assert_int_equal(rc_lab_recv(lab, 1, 0, 8192, nb), 1);
	assert_int_equal(rc_lab_post(lab, 0, op, 0, 0x4000, len, flags, nb), 1);
	assert_true(rc_lab_wait(lab, 1, nb + 1, 1000));
	assert_int_equal(lab->wc[1][nb].status, PMV_WC_SUCCESS);
	return &lab->wc[1][nb];
}

/* The bit of the message's last packet is the receiver's to see, for every kind that takes a
 * receive and every way through the driver, and decides whether it is told. */
static void
cq_event__solicited(void **state)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_SEND, PMV_WR_SEND_WITH_IMM,
		PMV_WR_RDMA_WRITE_WITH_IMM };
	static const uint32_t lens[] = { 0, 8, 1024, 5000 };
	struct rc_lab *lab = open_lab(0);
	struct pmv_cq *cq = lab->pair.node[1].cq[0];

	assert_int_equal(pmv_cq_set_notify(cq, told, NULL), 0);
	for (size_t i = 0; i < RTE_DIM(ops); i++) {
		for (size_t k = 0; k < RTE_DIM(lens); k++) {
			uint32_t in = lens[k] <= 64 ? PMV_SEND_INLINE : 0;
			const struct pmv_wc *wc;

			nb_told = 0;
			assert_int_equal(pmv_req_notify_cq(cq, true), 0);
			wc = message(lab, ops[i], lens[k], in);
			assert_false(wc->wc_flags & PMV_WC_SOLICITED);
			assert_int_equal(nb_told, 0);
			wc = message(lab, ops[i], lens[k], in | PMV_SEND_SOLICITED);
			assert_true(wc->wc_flags & PMV_WC_SOLICITED);
			assert_int_equal(!!(wc->wc_flags & PMV_WC_WITH_IMM), ops[i] != PMV_WR_SEND);
			assert_int_equal(nb_told, 1);
			message(lab, ops[i], lens[k], in | PMV_SEND_SOLICITED);
			assert_int_equal(nb_told, 1);
		}
	}
	close_lab(lab);
}

/* Told by the end of the turn that made the completion, on the sending side too; and of what is
 * flushed. */
static void
cq_event__in_its_turn(void **state)
{
	struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct rc_lab *lab = open_lab(0);
	struct pmv_cq *cq = lab->pair.node[0].cq[0];
	struct pmv_cq_attr attr = { 0 };

	assert_int_equal(pmv_cq_set_notify(cq, told, NULL), 0);
	assert_int_equal(pmv_req_notify_cq(cq, false), 0);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 1), 1);
	for (int i = 0; i < 50 && attr.nb_ready == 0; i++) {
		assert_int_equal(nb_told, 0);
		pmv_test_pair_run(&lab->pair, 1, 1);
		assert_int_equal(pmv_query_cq(cq, &attr), 0);
	}
	assert_int_equal(attr.nb_ready, 1);
	assert_int_equal(nb_told, 1);
	assert_false(attr.armed);

	assert_int_equal(rc_lab_recv(lab, 0, 0, 8, 2), 1);
	assert_int_equal(pmv_req_notify_cq(cq, true), 1);
	assert_int_equal(pmv_query_cq(cq, &attr), 0);
	assert_true(attr.armed);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &err, PMV_QP_STATE), 0);
	rc_lab_run(lab, 5);
	assert_int_equal(nb_told, 2);
	assert_int_equal(lab->wc[0][1].status, PMV_WC_WR_FLUSH_ERR);
	close_lab(lab);
}

/* Requests go on while the CQ is made larger and smaller. Then it is too small: told, the QP ends,
 * and what is in it is whole. */
static void
cq_event__resize_under_load(void **state)
{
	struct rc_lab *lab = open_lab(64);
	struct pmv_cq *cq = lab->pair.node[0].cq[0];
	struct pmv_cq_attr attr;
	struct pmv_event ev;
	uint32_t nb = 0;

	for (uint32_t k = 0; k < 40; k++) {
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8,
						 PMV_SEND_SIGNALED, nb++),
				1);
		pmv_test_pair_run(&lab->pair, k % 12, 2);
		assert_int_equal(pmv_resize_cq(cq, 64 + k * 5 % 200), 0);
		rc_lab_run(lab, 20);
	}
	assert_true(rc_lab_wait(lab, 0, nb, 1000));
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(lab->wc[0][i].wr_id, i);

	assert_int_equal(pmv_resize_cq(cq, 3), 0);
	assert_int_equal(pmv_query_cq(cq, &attr), 0);
	assert_int_equal(attr.cqe, 4);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED,
					 1000 + i),
			1);
	pmv_test_pair_run(&lab->pair, 100, 5);
	assert_int_equal(pmv_query_cq(cq, &attr), 0);
	assert_true(attr.overrun);
	assert_int_equal(attr.nb_ready, 4);
	assert_int_equal(pmv_resize_cq(cq, 2), -EINVAL);
	assert_int_equal(pmv_resize_cq(cq, 100), 0); /* too late: the QP is lost, not the four */
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	rc_lab_run(lab, 10);
	assert_int_equal(lab->nb_wc[0], nb + 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(lab->wc[0][nb + i].wr_id, 1000 + i);
	assert_int_equal(pmv_worker_get_event(lab->pair.node[0].worker[0], &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_CQ_ERR);
	assert_ptr_equal(ev.object, cq);
	assert_int_equal(pmv_worker_get_event(lab->pair.node[0].worker[0], &ev), 0);
	close_lab(lab);
}

static struct {
	int offset;
	uint64_t flag;
	bool on;
} port;

/* A port that stamps what it receives: 7000 + index of the frame. */
static enum pmv_test_fate
stamp_frame(void *arg, struct rte_mbuf *m, uint64_t index)
{
	if (port.on) {
		*RTE_MBUF_DYNFIELD(m, port.offset, rte_mbuf_timestamp_t *) = 7000 + index;
		m->ol_flags |= port.flag;
	}
	return PMV_TEST_PASS;
}

static void
cq_event__stamps(void **state)
{
	struct pmv_cq_init_attr a = { .cqe = 64, .flags = PMV_CQ_TIMESTAMPS };
	struct rc_lab *lab;
	struct pmv_cq *cq;
	struct pmv_cq_stamp st[4];
	struct pmv_wc wc[4];

	/* before the worker is made, as a port does that has the offload */
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&port.offset, &port.flag), 0);
	lab = open_lab(0);
	assert_int_equal(pmv_create_cq_ex(lab->pair.node[1].worker[0], &a, &cq), 0);
	lab->qp[1]->recv_cq->refs--; /* the lab's QPs have their CQs already */
	lab->qp[1]->recv_cq = cq;
	cq->refs++;
	lab->pair.link->end[0].out.hook = stamp_frame;
	for (int on = 1; on >= 0; on--) {
		uint64_t index = lab->pair.link->end[0].out.nb_frames;
		uint64_t before = lab->pair.now, took;

		port.on = on;
		assert_int_equal(rc_lab_recv(lab, 1, 0, 64, 1), 1);
		assert_int_equal(rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 8, PMV_SEND_INLINE, 1), 1);
		while (pmv_poll_cq_stamps(cq, wc, st, 4) == 0) {
			assert_true(lab->pair.now < before + 1000 * lab->pair.link->ticks_per_us);
			pmv_test_pair_run(&lab->pair, 1, 1);
		}
		took = lab->pair.now - before;
		assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
		assert_in_range(st[0].taken,
			lab->pair.now - RTE_MIN(took, 2 * lab->pair.link->ticks_per_us),
			lab->pair.now);
		assert_int_equal(st[0].taken, lab->pair.node[1].worker[0]->now);
		assert_int_equal(st[0].port, on ? 7000 + index : 0);
	}
	lab->qp[1]->recv_cq = lab->pair.node[1].cq[0];
	lab->qp[1]->recv_cq->refs++;
	cq->refs--;
	assert_int_equal(pmv_destroy_cq(cq), 0);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq_event__solicited),
		cmocka_unit_test(cq_event__in_its_turn),
		cmocka_unit_test(cq_event__resize_under_load),
		cmocka_unit_test(cq_event__stamps),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
