// SPDX-License-Identifier: BSD-3-Clause
/*
 * How QPs with a shared receive queue end: what happens to the receive that one has taken, that the
 * others and what is posted are none the worse, and who is told what in which order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/srq_lab.h"

#define NAK_INV_REQ 0x61
#define NAK_REM_ACC 0x62
#define NAK_REM_OP  0x63

static const struct srq_lab_param plain = { 0 };

/* The next event is this one of to[q]. */
static void
expect_event(struct srq_lab *lab, int q, enum pmv_event_type type)
{
	struct pmv_event ev;

	assert_int_equal(srq_lab_event(lab, &ev), type);
	assert_ptr_equal(ev.object, lab->to[q]);
	assert_int_equal(ev.qp_num, pmv_qp_num(lab->to[q]));
	assert_ptr_equal(ev.context, &lab->pair.node[1]);
}

static void
expect_no_event(struct srq_lab *lab)
{
	struct pmv_event ev;

	assert_int_equal(srq_lab_event(lab, &ev), -1);
}

static void
check_wc(const struct srq_lab *lab, int q, uint32_t i, uint64_t wr_id, enum pmv_wc_status status)
{
	assert_true(i < lab->nb_wc[q]);
	assert_int_equal(lab->wc[q][i].status, status);
	assert_int_equal(lab->wc[q][i].wr_id, wr_id);
	assert_int_equal(lab->wc[q][i].qp_num, pmv_qp_num(lab->to[q]));
}

/* Receives first .. first + nb - 1 are posted, in this order, and no more: from[q] uses them up. */
static void
check_posted(struct srq_lab *lab, int q, uint64_t first, uint32_t nb)
{
	uint64_t rnr = srq_lab_stat(lab, "rnr_tx");
	uint32_t had = lab->nb_wc[q];

	for (uint32_t i = 0; i < nb; i++)
		srq_lab_send(lab, q, 8, i);
	assert_true(srq_lab_wait(lab, q, had + nb, 10000) || nb == 0);
	for (uint32_t i = 0; i < nb; i++)
		check_wc(lab, q, had + i, first + i, PMV_WC_SUCCESS);
	assert_int_equal(srq_lab_stat(lab, "rnr_tx"), rnr);
	srq_lab_send(lab, q, 8, nb);
	srq_lab_run(lab, 50);
	assert_int_equal(srq_lab_stat(lab, "rnr_tx"), rnr + 1);
	assert_int_equal(lab->nb_wc[q], had + nb);
}

/* SQ-507 (a): nothing was taken. */
static void
srq_end__nothing_taken(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 5, 64);
	srq_lab_to_err(lab->to[0]);
	expect_event(lab, 0, PMV_EVENT_QP_LAST_WQE_REACHED);
	expect_no_event(lab);
	srq_lab_to_err(lab->to[0]); /* again: says nothing */
	srq_lab_run(lab, 50);
	expect_no_event(lab);
	assert_int_equal(lab->nb_wc[0], 0);
	check_posted(lab, 1, 0, 5);
	srq_lab_close(lab);
}

/* SQ-507 (b): the receive of a half-received SEND is flushed first, then the event. Two QPs on one
 * SRQ: each its own. */
static void
srq_end__half_received(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 5, 4000);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_packet(lab, 1, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_MIDDLE, 1, 1024);
	srq_lab_run(lab, 50);
	expect_no_event(lab);
	for (int q = 0; q < 2; q++) {
		srq_lab_to_err(lab->to[q]);
		/* in the CQ by the time the event is there */
		lab->nb_wc[q] = pmv_poll_cq(lab->cq[q], lab->wc[q], SRQ_LAB_WC_MAX);
		assert_int_equal(lab->nb_wc[q], 1);
		check_wc(lab, q, 0, (uint64_t)q, PMV_WC_WR_FLUSH_ERR);
		expect_event(lab, q, PMV_EVENT_QP_LAST_WQE_REACHED);
		srq_lab_to_err(lab->to[q]);
		expect_no_event(lab);
	}
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_LAST, 2, 4); /* too late */
	srq_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 2);
	check_posted(lab, 2, 2, 3);
	srq_lab_close(lab);
}

/* SQ-507 (c): completions that nobody polled are in front of nothing: they stay. */
static void
srq_end__completions_not_polled(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 6, 2000);
	for (uint32_t i = 0; i < 3; i++)
		srq_lab_send(lab, 0, 1500 + i, i);
	pmv_test_pair_run(&lab->pair, 100, 5);
	srq_lab_to_err(lab->to[0]);
	expect_event(lab, 0, PMV_EVENT_QP_LAST_WQE_REACHED);
	srq_lab_run(lab, 20);
	assert_int_equal(lab->nb_wc[0], 3);
	for (uint32_t i = 0; i < 3; i++) {
		check_wc(lab, 0, i, i, PMV_WC_SUCCESS);
		assert_true(srq_lab_holds(lab, i, 1500 + i, 1, i));
	}
	expect_no_event(lab);
	check_posted(lab, 1, 3, 3);
	srq_lab_close(lab);
}

/* SQ-508: an event that was taken is a copy; the QP may go before anybody looks at it, and an event
 * that nobody took goes with its QP. Destroy does not wait for either. */
static void
srq_end__destroyed_with_the_event_in_hand(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	uint32_t qpn = pmv_qp_num(lab->to[0]);
	struct pmv_event ev;

	srq_lab_to_err(lab->to[0]);
	assert_int_equal(srq_lab_event(lab, &ev), PMV_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(pmv_destroy_qp(lab->to[0]), 0);
	lab->to[0] = NULL;
	assert_int_equal(ev.qp_num, qpn);
	assert_ptr_equal(ev.context, &lab->pair.node[1]);
	srq_lab_to_err(lab->to[1]);
	assert_int_equal(pmv_destroy_qp(lab->to[1]), 0);
	lab->to[1] = NULL;
	expect_no_event(lab);
	srq_lab_close(lab);
}

/* Destroy and RESET with a receive taken: it is gone without a completion (IBTA vol. 1, 10.3.1.1);
 * the rest stays, and a QP that comes back takes the next one. */
static void
srq_end__destroy_and_reset_with_one_taken(void **state)
{
	const struct pmv_qp_attr to_reset = { .qp_state = PMV_QPS_RESET };
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 6, 4000);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_packet(lab, 1, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_run(lab, 50);
	assert_int_equal(pmv_destroy_srq(lab->srq), -EBUSY);
	assert_int_equal(pmv_destroy_qp(lab->to[0]), 0);
	lab->to[0] = NULL;
	assert_int_equal(pmv_modify_qp(lab->to[1], &to_reset, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(lab->from[1], &to_reset, PMV_QP_STATE), 0);
	srq_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 0);
	expect_no_event(lab);
	pmv_test_qp_connect(&lab->pair, lab->from[1], lab->to[1], false, PMV_MTU_1024, NULL);
	srq_lab_send(lab, 1, 3000, 9);
	assert_true(srq_lab_wait(lab, 1, 1, 10000));
	check_wc(lab, 1, 0, 2, PMV_WC_SUCCESS);
	assert_true(srq_lab_holds(lab, 2, 3000, 1, 9));
	/* and it fails once more, with an event of its own */
	srq_lab_to_err(lab->to[1]);
	expect_event(lab, 1, PMV_EVENT_QP_LAST_WQE_REACHED);
	check_posted(lab, 2, 3, 3);
	srq_lab_close(lab);
}

/* Every receive that is posted is gone with the SRQ, without a completion. */
static void
srq_end__destroy_with_receives_posted(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 5, 64);
	srq_lab_run(lab, 20);
	srq_lab_close(lab);
}

/* A message that its receive cannot hold: the receive says why, the peer gets the NAK, and only
 * this QP fails. */
static void
failing(struct srq_lab *lab, enum pmv_wc_status status, uint8_t syndrome)
{
	srq_lab_send(lab, 0, 2000, 1);
	srq_lab_run(lab, 200);
	assert_int_equal(lab->nb_wc[0], 1);
	check_wc(lab, 0, 0, 0, status);
	assert_int_equal(lab->aeth[lab->nb_aeth - 1], syndrome);
	assert_int_equal(pmv_qp_get_state(lab->to[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(lab->from[0]), PMV_QPS_ERR);
	expect_event(lab, 0, PMV_EVENT_QP_LAST_WQE_REACHED);
	expect_no_event(lab);
	check_posted(lab, 1, 1, 3);
	srq_lab_close(lab);
}

static void
srq_end__bad_key(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[1], 4000, pmv_mr_lkey(lab->mr[1]) ^ 1 };
	const struct pmv_recv_wr wr = { 0, &sge, 1 };

	assert_int_equal(pmv_post_srq_recv(lab->srq, &wr, 1), 1);
	srq_lab_recv_many(lab, 1, 3, 4000);
	failing(lab, PMV_WC_LOC_PROT_ERR, NAK_REM_OP);
}

static void
srq_end__too_long(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 4, 1999); /* the second packet does not fit */
	failing(lab, PMV_WC_LOC_LEN_ERR, NAK_INV_REQ);
}

/* A WRITE with immediate whose key is bad takes a receive, which says so (RC-319); without one
 * posted it waits. */
static void
srq_end__write_with_imm_refused(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[0], 100, pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE_WITH_IMM
	};

	wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1];
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]) ^ 1;
	assert_int_equal(pmv_post_send(lab->from[0], &wr, 1), 1);
	srq_lab_run(lab, 50);
	assert_int_equal(srq_lab_stat(lab, "rnr_tx"), 1);
	srq_lab_recv_many(lab, 0, 4, 64);
	srq_lab_run(lab, 3000);
	assert_int_equal(lab->nb_wc[0], 1);
	check_wc(lab, 0, 0, 0, PMV_WC_REM_ACCESS_ERR);
	assert_int_equal(lab->aeth[lab->nb_aeth - 1], NAK_REM_ACC);
	expect_event(lab, 0, PMV_EVENT_QP_LAST_WQE_REACHED);
	check_posted(lab, 1, 1, 3);
	srq_lab_close(lab);
}

/* A datagram whose receive has a bad key ends its QP (IBTA vol. 1, 10.3.1.7), and no other. */
static void
srq_end__datagram_bad_key(void **state)
{
	const struct srq_lab_param param = { .type = { PMV_QPT_RC, PMV_QPT_UD, PMV_QPT_UD } };
	struct srq_lab *lab = srq_lab_open(&param);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[1], 100, pmv_mr_lkey(lab->mr[1]) ^ 1 };
	const struct pmv_recv_wr wr = { 77, &sge, 1 };

	assert_int_equal(pmv_post_srq_recv(lab->srq, &wr, 1), 1);
	srq_lab_recv_many(lab, 0, 3, 64);
	srq_lab_send(lab, 1, 10, 1);
	srq_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[1], 1);
	check_wc(lab, 1, 0, 77, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(pmv_qp_get_state(lab->to[1]), PMV_QPS_ERR);
	expect_event(lab, 1, PMV_EVENT_QP_LAST_WQE_REACHED);
	srq_lab_send(lab, 2, 10, 1);
	srq_lab_run(lab, 50);
	check_wc(lab, 2, 0, 0, PMV_WC_SUCCESS);
	check_posted(lab, 0, 1, 2);
	srq_lab_close(lab);
}

/* The CQ has no room for the receive of a message: its QP fails and says so, the SRQ goes on. */
static void
srq_end__cq_overrun(void **state)
{
	const struct srq_lab_param param = { .cqe = 1 };
	struct srq_lab *lab = srq_lab_open(&param);
	struct pmv_event ev;
	bool cq_err = false, last = false;

	srq_lab_recv_many(lab, 0, 4, 64);
	srq_lab_send(lab, 0, 8, 0);
	srq_lab_send(lab, 0, 8, 1);
	pmv_test_pair_run(&lab->pair, 200, 5); /* nobody polls */
	assert_int_equal(pmv_qp_get_state(lab->to[0]), PMV_QPS_ERR);
	while (srq_lab_event(lab, &ev) >= 0) {
		cq_err = cq_err || ev.type == PMV_EVENT_CQ_ERR;
		assert_false(last && ev.type == PMV_EVENT_QP_LAST_WQE_REACHED);
		last = last || ev.type == PMV_EVENT_QP_LAST_WQE_REACHED;
	}
	assert_true(cq_err && last);
	srq_lab_run(lab, 20);
	check_wc(lab, 0, 0, 0, PMV_WC_SUCCESS); /* what was promised is still there */
	srq_lab_send(lab, 1, 8, 0);
	srq_lab_run(lab, 50);
	check_wc(lab, 1, 0, 2, PMV_WC_SUCCESS);
	srq_lab_close(lab);
}

/* SQ-509: such a QP has no receive queue of its own, in no state. */
static void
srq_end__own_receives_are_refused(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[1], 64, pmv_mr_lkey(lab->mr[1]) };
	const struct pmv_recv_wr wr = { 1, &sge, 1 };
	struct pmv_qp_init_attr init;
	struct pmv_qp_attr now;

	assert_int_equal(pmv_query_qp(lab->to[0], &now, &init), 0);
	assert_int_equal(now.cap.max_recv_wr, 0);
	assert_int_equal(now.cap.max_recv_sge, 0);
	assert_ptr_equal(init.srq, lab->srq);
	assert_int_equal(pmv_post_recv(lab->to[0], &wr, 1), -EINVAL);
	assert_int_equal(pmv_post_recv(lab->to[0], &wr, 0), 0);
	srq_lab_to_err(lab->to[0]);
	assert_int_equal(pmv_post_recv(lab->to[0], &wr, 1), -EINVAL);
	srq_lab_run(lab, 20);
	assert_int_equal(lab->nb_wc[0], 0); /* not even flushed */
	srq_lab_close(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srq_end__nothing_taken),
		cmocka_unit_test(srq_end__half_received),
		cmocka_unit_test(srq_end__completions_not_polled),
		cmocka_unit_test(srq_end__destroyed_with_the_event_in_hand),
		cmocka_unit_test(srq_end__destroy_and_reset_with_one_taken),
		cmocka_unit_test(srq_end__destroy_with_receives_posted),
		cmocka_unit_test(srq_end__bad_key),
		cmocka_unit_test(srq_end__too_long),
		cmocka_unit_test(srq_end__write_with_imm_refused),
		cmocka_unit_test(srq_end__datagram_bad_key),
		cmocka_unit_test(srq_end__cq_overrun),
		cmocka_unit_test(srq_end__own_receives_are_refused),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
