// SPDX-License-Identifier: BSD-3-Clause
/*
 * RC when something is wrong: which status, which state, what the peer sees, and that every request
 * completes exactly once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REMOTE 0x80000u

struct send {
	uint64_t remote_addr;
	uint32_t rkey;
	enum pmv_wr_opcode op;
	uint32_t len;
};

static int
post_raw(struct rc_lab *lab, const struct send *s, uint32_t lkey, uint64_t addr, uint64_t wr_id)
{
	const struct pmv_sge sge = { addr, s->len, lkey };
	struct pmv_send_wr wr = { .wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = s->op,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = s->remote_addr;
	wr.wr.rdma.rkey = s->rkey;
	return pmv_post_send(lab->qp[0], &wr, 1);
}

/* Takes one event of side; -1 if there is none. */
static int
next_event(struct rc_lab *lab, int side)
{
	struct pmv_event ev;

	if (pmv_worker_get_event(lab->pair.node[side].worker[0], &ev) == 0)
		return -1;
	return (int)ev.type;
}

static void
drain_events(struct rc_lab *lab, int side)
{
	while (next_event(lab, side) >= 0)
		;
}

/* One request that the peer must refuse: status here, both QPs in ERR, three later requests
 * flushed, memory untouched. */
static void
refused(const struct send *s, enum pmv_wc_status want, int want_event)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct send real = *s;

	rc_lab_open(lab, &param);
	if (real.rkey == 0)
		real.rkey = pmv_mr_rkey(lab->mr[1]);
	real.remote_addr += (uintptr_t)lab->mem[1];
	drain_events(lab, 1);
	assert_int_equal(
		post_raw(lab, &real, pmv_mr_lkey(lab->mr[0]), (uintptr_t)lab->mem[0], 1), 1);
	for (uint64_t i = 2; i < 5; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, 0, i);
	assert_true(rc_lab_wait(lab, 0, 4, 100000));
	rc_lab_run(lab, 1000);
	assert_int_equal(lab->nb_wc[0], 4);
	assert_int_equal(lab->wc[0][0].status, want);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i + 1);
		if (i > 0)
			assert_int_equal(lab->wc[0][i].status, PMV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_ERR);
	assert_int_equal(pmv_worker_stat(lab->pair.node[1].worker[0], "naks_tx"), 1);
	if (want_event >= 0)
		assert_int_equal(next_event(lab, 1), want_event);
	for (uint32_t i = 0; i < RC_LAB_BYTES; i += 64)
		assert_int_equal(lab->mem[1][i], 0xa5);
	rc_lab_close(lab);
	test_free(lab);
}

/* RC-303, RC-319, MR-401: bad key, beyond the end, wrapping around. */
static void
rc_error__remote_access(void **state)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_RDMA_WRITE, PMV_WR_RDMA_READ };

	for (size_t i = 0; i < 2; i++) {
		const struct send cases[] = {
			{ 0, 0xdeadbeef, ops[i], 8 },
			{ RC_LAB_BYTES - 4, 0, ops[i], 8 },
			{ RC_LAB_BYTES, 0, ops[i], 1 },
			{ (uint64_t)-1, 0, ops[i], 2 },
			{ (uint64_t)-0x7000000000000000, 0, ops[i], 8 },
			{ RC_LAB_BYTES - 1000, 0, ops[i], 5000 },
		};

		for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
			refused(&cases[k], PMV_WC_REM_ACCESS_ERR, PMV_EVENT_QP_ACCESS_ERR);
	}
}

static void
no_remote_rights(int side, struct pmv_qp_attr *attr)
{
	attr->qp_access_flags = 0;
}

static void
no_reads_served(int side, struct pmv_qp_attr *attr)
{
	if (side == 1)
		attr->max_dest_rd_atomic = 0;
}

/* RC-303 (b), RC-311: the operation is switched off, or no READs are served. */
static void
rc_error__operation_not_allowed(void **state)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_RDMA_WRITE, PMV_WR_RDMA_READ,
		PMV_WR_RDMA_READ };

	for (size_t i = 0; i < 3; i++) {
		const struct rc_lab_param param = { .tune = i == 2 ? no_reads_served
								   : no_remote_rights };
		struct rc_lab *lab = test_malloc(sizeof(*lab));

		rc_lab_open(lab, &param);
		assert_int_equal(rc_lab_post(lab, 0, ops[i], 0, 0, 8, 0, 1), 1);
		assert_true(rc_lab_wait(lab, 0, 1, 100000));
		assert_int_equal(lab->wc[0][0].status, PMV_WC_REM_INV_REQ_ERR);
		assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_ERR);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* RC-318: zero-length READ and WRITE look at no key. */
static void
rc_error__zero_length_needs_no_key(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	const struct send w = { UINT64_MAX, 0, PMV_WR_RDMA_WRITE, 0 };
	const struct send r = { UINT64_MAX, 0x1234, PMV_WR_RDMA_READ, 0 };

	rc_lab_open(lab, &param);
	assert_int_equal(post_raw(lab, &w, 0, 0, 1), 1);
	assert_int_equal(post_raw(lab, &r, 0, 0, 2), 1);
	assert_true(rc_lab_wait(lab, 0, 2, 1000));
	assert_int_equal(lab->wc[0][0].status, PMV_WC_SUCCESS);
	assert_int_equal(lab->wc[0][1].status, PMV_WC_SUCCESS);
	rc_lab_close(lab);
	test_free(lab);
}

/* MR-401 local, MR-404: the SGE is bad. What was posted before it completes, what came after is
 * flushed. */
static void
rc_error__local_protection(void **state)
{
	for (int k = 0; k < 4; k++) {
		const struct rc_lab_param param = { 0 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		struct send s = { 0, 0, k < 2 ? PMV_WR_RDMA_WRITE : PMV_WR_RDMA_READ, 3000 };
		uint64_t addr;

		rc_lab_open(lab, &param);
		s.remote_addr = (uintptr_t)lab->mem[1];
		s.rkey = pmv_mr_rkey(lab->mr[1]);
		addr = (uintptr_t)lab->mem[0] + (k & 1 ? RC_LAB_BYTES - 2000 : 0);
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 5000, PMV_SEND_SIGNALED, 1);
		assert_int_equal(
			post_raw(lab, &s, k & 1 ? pmv_mr_lkey(lab->mr[0]) : 0x77777777, addr, 2),
			1);
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, 0, 3);
		assert_true(rc_lab_wait(lab, 0, 3, 100000));
		assert_int_equal(lab->wc[0][0].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[0][1].status, PMV_WC_LOC_PROT_ERR);
		assert_int_equal(lab->wc[0][1].wr_id, 2);
		assert_int_equal(lab->wc[0][2].status, PMV_WC_WR_FLUSH_ERR);
		assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
		rc_lab_close(lab);
		test_free(lab);
	}
}

static uint8_t tuned_rnr_retry;

static void
set_rnr(int side, struct pmv_qp_attr *attr)
{
	attr->rnr_retry = tuned_rnr_retry;
	attr->min_rnr_timer = 1;
}

/* RC-301: sent 1 + n times, then RNR_RETRY_EXC; 7 never ends; a receive in time helps. */
static void
rc_error__receiver_not_ready(void **state)
{
	for (tuned_rnr_retry = 0; tuned_rnr_retry <= 7; tuned_rnr_retry++) {
		const struct rc_lab_param param = { .tune = set_rnr };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		uint64_t rnr;

		rc_lab_open(lab, &param);
		rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 100, 0, 1);
		if (tuned_rnr_retry < 7) {
			assert_true(rc_lab_wait(lab, 0, 1, 100000));
			assert_int_equal(lab->wc[0][0].status, PMV_WC_RNR_RETRY_EXC_ERR);
			rnr = pmv_worker_stat(lab->pair.node[1].worker[0], "rnr_tx");
			assert_int_equal(rnr, 1 + tuned_rnr_retry);
		} else {
			rc_lab_run(lab, 20000);
			assert_int_equal(lab->nb_wc[0], 0);
			rnr = pmv_worker_stat(lab->pair.node[1].worker[0], "rnr_tx");
			assert_in_range(rnr, 300, 2000);
			rc_lab_recv(lab, 1, 0, 100, 9);
			assert_true(rc_lab_wait(lab, 1, 1, 1000));
		}
		rc_lab_close(lab);
		test_free(lab);
	}
}

static void
slow_rnr(int side, struct pmv_qp_attr *attr)
{
	attr->min_rnr_timer = 14; /* 1280 us */
	attr->timeout = 5;        /* 131 us: would be due during the wait */
}

/* RC-302: nothing is sent during the wait, whatever is posted meanwhile; no retry is charged for
 * it. */
static void
rc_error__rnr_wait_is_silent(void **state)
{
	const struct rc_lab_param param = { .tune = slow_rnr };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint64_t frames;

	rc_lab_open(lab, &param);
	rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 100, PMV_SEND_SIGNALED, 1);
	rc_lab_run(lab, 40);
	frames = lab->pair.link->end[0].out.nb_frames;
	assert_int_equal(frames, 1);
	for (uint64_t i = 2; i < 5; i++) {
		rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 100, PMV_SEND_SIGNALED, i);
		rc_lab_recv(lab, 1, 0, 100, i);
	}
	rc_lab_recv(lab, 1, 0, 100, 5);
	rc_lab_run(lab, 1200);
	assert_int_equal(lab->pair.link->end[0].out.nb_frames, frames);
	assert_true(rc_lab_wait(lab, 0, 4, 1000));
	for (int i = 0; i < 4; i++)
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
	rc_lab_close(lab);
	test_free(lab);
}

static void
few_retries(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 8; /* 1.05 ms */
	attr->retry_cnt = 3;
}

/* The peer is silent: RETRY_EXC after 1 + retry_cnt timeouts, not before; unsignalled requests tell
 * too. */
static void
rc_error__silent_peer(void **state)
{
	const struct rc_lab_param param = { .tune = few_retries };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint64_t start;

	rc_lab_open(lab, &param);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, PMV_SEND_SIGNALED, 0);
	assert_true(rc_lab_wait(lab, 0, 1, 1000));
	lab->pair.link->end[0].out.drop = 1.0;
	start = lab->pair.now;
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, 0, 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0, REMOTE, 8, 0, 2);
	assert_true(rc_lab_wait(lab, 0, 3, 100000));
	start = (lab->pair.now - start) / lab->pair.link->ticks_per_us;
	assert_in_range(start, 4 * 1048, 4 * 4 * 1049);
	assert_int_equal(lab->wc[0][1].status, PMV_WC_RETRY_EXC_ERR);
	assert_int_equal(lab->wc[0][1].wr_id, 1);
	assert_int_equal(lab->wc[0][2].status, PMV_WC_WR_FLUSH_ERR);
	rc_lab_close(lab);
	test_free(lab);
}

/* A SEND that is longer than the receive: NAK, both ends learn it, later receives are flushed. */
static void
rc_error__send_too_long(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	rc_lab_recv(lab, 1, 0, 3000, 1);
	rc_lab_recv(lab, 1, 4096, 3000, 2);
	rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 3001, 0, 1);
	assert_true(rc_lab_wait(lab, 0, 1, 10000));
	assert_true(rc_lab_wait(lab, 1, 2, 10000));
	assert_int_equal(lab->wc[0][0].status, PMV_WC_REM_INV_REQ_ERR);
	assert_int_equal(lab->wc[1][0].status, PMV_WC_LOC_LEN_ERR);
	assert_int_equal(lab->wc[1][0].wr_id, 1);
	assert_int_equal(lab->wc[1][1].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(lab->mem[1][3000], 0xa5);
	rc_lab_close(lab);
	test_free(lab);
}

/* CQ-603, RC-309: the QP goes to ERR with work in both queues; more is posted afterwards. */
static void
rc_error__flush(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	uint64_t next_send = 0, next_recv = 100;

	rc_lab_open(lab, &param);
	lab->pair.link->end[0].out.drop = 1.0;
	for (uint64_t i = 0; i < 3; i++)
		rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 3000, 0, i);
	for (uint64_t i = 100; i < 108; i++)
		rc_lab_recv(lab, 0, 0, 100, i);
	rc_lab_run(lab, 20);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &err, PMV_QP_STATE), 0);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 100, 0, 3), 1);
	assert_int_equal(rc_lab_recv(lab, 0, 0, 100, 108), 1);
	rc_lab_run(lab, 2000);
	assert_int_equal(lab->nb_wc[0], 13);
	for (uint32_t i = 0; i < 13; i++) {
		assert_int_equal(lab->wc[0][i].status, PMV_WC_WR_FLUSH_ERR);
		if (lab->wc[0][i].wr_id < 100)
			assert_int_equal(lab->wc[0][i].wr_id, next_send++);
		else
			assert_int_equal(lab->wc[0][i].wr_id, next_recv++);
	}
	rc_lab_close(lab);
	test_free(lab);
}

/* CQ-602: one completion too many: what was there stays, one CQ_ERR, the QP is in ERR. */
static void
rc_error__cq_overrun(void **state)
{
	const struct rc_lab_param param = { .cqe = 4 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_wc wc[8];
	struct pmv_cq_attr attr;

	rc_lab_open(lab, &param);
	for (uint64_t i = 0; i < 5; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, PMV_SEND_SIGNALED, i);
	pmv_test_pair_run(&lab->pair, 1000, 5);
	assert_int_equal(pmv_query_cq(lab->pair.node[0].cq[0], &attr), 0);
	assert_true(attr.overrun);
	assert_int_equal(next_event(lab, 0), PMV_EVENT_CQ_ERR);
	assert_int_equal(next_event(lab, 0), -1);
	assert_int_equal(pmv_poll_cq(lab->pair.node[0].cq[0], wc, 8), 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	rc_lab_close(lab);
	test_free(lab);
}

/* A QP of side 0 with a CQ of its own, on the same worker. */
static struct pmv_qp *
qp_of_own_cq(struct rc_lab *lab, struct pmv_cq **ret_cq)
{
	struct pmv_test_node *n = &lab->pair.node[0];
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1 } };
	struct pmv_qp *qp;

	init.cap.max_recv_sge = 1;
	assert_int_equal(pmv_create_cq(n->worker[0], 4, NULL, ret_cq), 0);
	init.send_cq = *ret_cq;
	init.recv_cq = *ret_cq;
	assert_int_equal(pmv_create_qp(n->pd, n->worker[0], &init, &qp), 0);
	return qp;
}

/* IBTA 11.6.3.1: whichever QP was too much, every QP of that CQ fails, and none of another; one
 * event, even when what is flushed afterwards finds the CQ full again. */
static void
rc_error__cq_overrun_fails_all(void **state)
{
	const struct rc_lab_param param = { .cqe = 4 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_qp *pair[2][2], *fresh;
	struct pmv_recv_wr recv = { .wr_id = 1 };
	struct pmv_cq *cq;

	rc_lab_open(lab, &param);
	pair[0][0] = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_RC);
	pair[1][0] = qp_of_own_cq(lab, &cq);
	fresh = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_RC);
	for (int i = 0; i < 2; i++) {
		pair[i][1] = pmv_test_qp_create(&lab->pair.node[1], 0, PMV_QPT_RC);
		pmv_test_qp_connect(&lab->pair, pair[i][0], pair[i][1], false, PMV_MTU_1024, NULL);
	}
	assert_int_equal(pmv_post_recv(pair[0][0], &recv, 1), 1);
	for (uint64_t i = 0; i < 5; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, PMV_SEND_SIGNALED, i);
	for (int us = 0; us < 1000 && pmv_qp_get_state(lab->qp[0]) != PMV_QPS_ERR; us += 5)
		pmv_test_pair_run(&lab->pair, 5, 5);
	assert_int_equal(next_event(lab, 0), PMV_EVENT_CQ_ERR);
	pmv_test_pair_run(&lab->pair, 5, 5); /* at the latest now */
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(pair[0][0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(pair[1][0]), PMV_QPS_RTS);
	assert_int_equal(pmv_qp_get_state(fresh), PMV_QPS_RESET);
	assert_int_equal(pmv_post_recv(pair[0][0], &recv, 1), 1); /* is flushed: no room */
	pmv_test_pair_run(&lab->pair, 1000, 5);
	assert_int_equal(next_event(lab, 0), -1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pmv_destroy_qp(pair[i / 2][i % 2]), 0);
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	rc_lab_close(lab);
	test_free(lab);
}

/* IBTA 9.9.3, 9.9.2: the responder's own receive or CQ fails: NAK remote operational error, which
 * is REM_OP_ERR at the requester. */
static void
rc_error__remote_operational_error(void **state)
{
	for (int cq_full = 0; cq_full < 2; cq_full++) {
		const struct rc_lab_param param = { .cqe = 4 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		const struct pmv_sge bad = { 0, 100, 0x1234 };
		const struct pmv_recv_wr recv = { 1, &bad, 1 };
		const uint32_t nb = cq_full ? 5 : 1;
		struct pmv_wc wc[8];

		rc_lab_open(lab, &param);
		drain_events(lab, 1);
		for (uint64_t i = 0; cq_full && i < nb; i++)
			rc_lab_recv(lab, 1, 0, 100, i);
		if (!cq_full)
			assert_int_equal(pmv_post_recv(lab->qp[1], &recv, 1), 1);
		for (uint64_t i = 0; i < nb + 1; i++)
			rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 100, 0, i);
		pmv_test_pair_run(&lab->pair, 1000, 5);
		assert_int_equal(pmv_poll_cq(lab->pair.node[0].cq[0], wc, 8), 2);
		assert_int_equal(wc[0].wr_id, nb - 1);
		assert_int_equal(wc[0].status, PMV_WC_REM_OP_ERR);
		assert_int_equal(wc[1].status, PMV_WC_WR_FLUSH_ERR);
		assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
		assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_ERR);
		assert_int_equal(pmv_worker_stat(lab->pair.node[1].worker[0], "naks_tx"), 1);
		assert_int_equal(next_event(lab, 1), cq_full ? PMV_EVENT_CQ_ERR : -1);
		assert_int_equal(pmv_poll_cq(lab->pair.node[1].cq[0], wc, 8), cq_full ? 4 : 1);
		assert_int_equal(wc[0].status, cq_full ? PMV_WC_SUCCESS : PMV_WC_LOC_PROT_ERR);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* RC-320, CQ-606: destroyed with work outstanding and timers running; nothing fires, nothing leaks.
 */
static void
rc_error__destroy_under_load(void **state)
{
	for (uint32_t us = 0; us < 60; us += 5) {
		const struct rc_lab_param param = { 0 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));

		rc_lab_open(lab, &param);
		for (uint64_t i = 0; i < 10; i++) {
			rc_lab_post(
				lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 9000, PMV_SEND_SIGNALED, i);
			rc_lab_post(
				lab, 1, PMV_WR_RDMA_READ, 0, REMOTE, 9000, PMV_SEND_SIGNALED, i);
		}
		if (us != 0)
			rc_lab_run(lab, us);
		assert_int_equal(pmv_destroy_qp(lab->qp[0]), 0);
		lab->qp[0] = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_RC);
		rc_lab_run(lab, 20000);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* SQD in the middle of a message: it is finished, later ones wait, one SQ_DRAINED; RTS goes on. */
static void
rc_error__sqd_drains(void **state)
{
	const struct rc_lab_param param = { .window_pkts = 16 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD, .en_sqd_async_notify = 1 };

	rc_lab_open(lab, &param);
	rc_lab_fill(lab->mem[0], 200000, 8);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 200000, PMV_SEND_SIGNALED, 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0x100000, 100, PMV_SEND_SIGNALED, 2);
	rc_lab_run(lab, 20);
	assert_int_equal(
		pmv_modify_qp(lab->qp[0], &attr, PMV_QP_STATE | PMV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(next_event(lab, 0), -1);
	rc_lab_run(lab, 20000);
	assert_int_equal(lab->nb_wc[0], 1);
	assert_true(rc_lab_check(lab->mem[1], 200000, 8));
	assert_int_equal(next_event(lab, 0), PMV_EVENT_SQ_DRAINED);
	assert_int_equal(next_event(lab, 0), -1);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(lab->qp[0], &attr, PMV_QP_STATE), 0);
	assert_true(rc_lab_wait(lab, 0, 2, 1000));
	assert_int_equal(lab->wc[0][1].wr_id, 2);
	rc_lab_close(lab);
	test_free(lab);
}

/* RESET discards everything without completions, and the QP can be used again. */
static void
rc_error__reset_and_reuse(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	const struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };

	rc_lab_open(lab, &param);
	for (uint64_t i = 0; i < 10; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 9000, PMV_SEND_SIGNALED, i);
	rc_lab_recv(lab, 0, 0, 100, 1);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &reset, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(lab->qp[1], &reset, PMV_QP_STATE), 0);
	rc_lab_run(lab, 20000);
	assert_int_equal(lab->nb_wc[0], 0);
	pmv_test_qp_connect(&lab->pair, lab->qp[0], lab->qp[1], true, PMV_MTU_512, NULL);
	rc_lab_fill(lab->mem[0], 9000, 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 9000, PMV_SEND_SIGNALED, 77);
	assert_true(rc_lab_wait(lab, 0, 1, 10000));
	assert_int_equal(lab->wc[0][0].wr_id, 77);
	assert_true(rc_lab_check(lab->mem[1] + REMOTE, 9000, 1));
	rc_lab_close(lab);
	test_free(lab);
}

/* A key that dies while its WRITE is on the way: remote access error, nothing written afterwards.
 */
static void
rc_error__key_dies_in_flight(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_mr *mr;
	struct send s = { 0, 0, PMV_WR_RDMA_READ, 1u << 20 };

	rc_lab_open(lab, &param);
	assert_int_equal(pmv_reg_mr(lab->pair.node[1].pd, lab->mem[1], RC_LAB_BYTES,
				 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_READ, &mr),
		0);
	s.remote_addr = (uintptr_t)lab->mem[1];
	s.rkey = pmv_mr_rkey(mr);
	post_raw(lab, &s, pmv_mr_lkey(lab->mr[0]), (uintptr_t)lab->mem[0], 1);
	rc_lab_run(lab, 20);
	rc_lab_dereg(mr);
	assert_true(rc_lab_wait(lab, 0, 1, 100000));
	assert_int_equal(lab->wc[0][0].status, PMV_WC_REM_ACCESS_ERR); /* RC-305 */
	rc_lab_close(lab);
	test_free(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_error__remote_access),
		cmocka_unit_test(rc_error__operation_not_allowed),
		cmocka_unit_test(rc_error__zero_length_needs_no_key),
		cmocka_unit_test(rc_error__local_protection),
		cmocka_unit_test(rc_error__receiver_not_ready),
		cmocka_unit_test(rc_error__rnr_wait_is_silent),
		cmocka_unit_test(rc_error__silent_peer),
		cmocka_unit_test(rc_error__send_too_long),
		cmocka_unit_test(rc_error__flush),
		cmocka_unit_test(rc_error__cq_overrun),
		cmocka_unit_test(rc_error__cq_overrun_fails_all),
		cmocka_unit_test(rc_error__remote_operational_error),
		cmocka_unit_test(rc_error__destroy_under_load),
		cmocka_unit_test(rc_error__sqd_drains),
		cmocka_unit_test(rc_error__reset_and_reuse),
		cmocka_unit_test(rc_error__key_dies_in_flight),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
