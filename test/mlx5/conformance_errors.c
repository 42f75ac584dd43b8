// SPDX-License-Identifier: BSD-3-Clause
/*
 * Conformance: keys, rights, bounds, lengths, RNR, retries, flushing, reset. Called by
 * conformance.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/conformance.h"

static void
error__one_bad_write_flushes_the_rest(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr[4], *bad;
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		wr[i] = (struct ibv_send_wr){ .wr_id = 10 + i,
			.next = i < 3 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			/* An error completes, signalled or not; so does what is flushed. */
			.send_flags = i == 0 ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = { (uintptr_t)b->buf + RECV_AT, b->mr->rkey } };
	}
	wr[1].wr.rdma.rkey ^= 0x100;
	conformance_post_recv(b, 20, RECV_AT, 16);
	conformance_post_recv(b, 21, RECV_AT, 16);
	conformance_post_recv(a, 22, RECV_AT, 16);
	pair_fill(a->buf + SEND_AT, 16, 1);
	conformance_clean(b, RECV_AT, 16);
	assert_int_equal(ibv_post_send(a->qp, wr, &bad), 0);
	pair_settle(0);
	conformance_check_failed(a->send_cq, 10, IBV_WC_SUCCESS, a->qp->qp_num);
	conformance_check_failed(a->send_cq, 11, IBV_WC_REM_ACCESS_ERR, a->qp->qp_num);
	conformance_check_failed(a->send_cq, 12, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_check_failed(a->send_cq, 13, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_poll_none(a->send_cq);
	conformance_check_failed(a->recv_cq, 22, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_check_failed(b->recv_cq, 20, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
	conformance_check_failed(b->recv_cq, 21, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
	conformance_poll_none(b->recv_cq);
	conformance_check_memory(b, RECV_AT, 16, 1); /* the first one */
	conformance_check_state(a, IBV_QPS_ERR);
	conformance_check_state(b, IBV_QPS_ERR);
}

/* Posts one operation that must fail with this status and leave the peer's memory alone. */
static void
expect_refused(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_send_wr *bad;

	conformance_clean(b, RECV_AT, 64);
	wr->wr_id = 3;
	assert_int_equal(ibv_post_send(a->qp, wr, &bad), 0);
	pair_settle(10000000);
	conformance_check_failed(a->send_cq, 3, status, a->qp->qp_num);
	conformance_check_memory(b, RECV_AT + 64, 0, 0);
	conformance_check_state(a, IBV_QPS_ERR);
}

static void
error__access_beyond_the_region(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_mr *small = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	(void)state;
	assert_non_null(small);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT + 49;
	wr.wr.rdma.rkey = small->rkey;
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	conformance_check_memory(b, RECV_AT, 0, 0);
	assert_int_equal(ibv_dereg_mr(small), 0);
}

static void
error__right_not_granted(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ };
	struct ibv_mr *mr = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	(void)state;
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = mr->rkey;
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void
error__key_of_a_region_that_is_gone(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_mr *mr = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mr *next;

	(void)state;
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	next = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(next);
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(next), 0);
}

static void
error__bad_local_key(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	sge.lkey ^= 1;
	expect_refused(&wr, IBV_WC_LOC_PROT_ERR);
	conformance_check_state(&conformance_pair.end[1], IBV_QPS_RTS);
}

static void
error__local_segment_past_its_region(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_sge sge = conformance_sge_of(a, PAIR_BYTES - 8, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	expect_refused(&wr, IBV_WC_LOC_PROT_ERR);
}

static void
error__write_not_enabled(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	assert_int_equal(ibv_modify_qp(b->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	expect_refused(&wr, IBV_WC_REM_INV_REQ_ERR);
}

static void
error__send_longer_than_the_receive(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	conformance_post_recv(b, 31, RECV_AT + 1024, 99);
	conformance_post_recv(b, 32, RECV_AT + 1024, 99);
	expect_refused(&wr, IBV_WC_REM_INV_REQ_ERR);
	conformance_check_failed(b->recv_cq, 31, IBV_WC_LOC_LEN_ERR, b->qp->qp_num);
	conformance_check_failed(b->recv_cq, 32, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
}

static void
error__receive_with_a_bad_key(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100),
		       to = conformance_sge_of(b, RECV_AT + 1024, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = 33, .sg_list = &to, .num_sge = 1 }, *bad;

	(void)state;
	to.lkey = a->mr->lkey; /* of another device's PD */
	assert_int_equal(ibv_post_recv(b->qp, &recv, &bad), 0);
	expect_refused(&wr, IBV_WC_REM_OP_ERR);
	conformance_check_failed(b->recv_cq, 33, IBV_WC_LOC_PROT_ERR, b->qp->qp_num);
}

static void
rnr__waits_for_the_receive(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .wr_id = 4,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };

	(void)state;
	pair_fill(a->buf + SEND_AT, 100, 5);
	conformance_clean(b, RECV_AT, 100);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_poll_none(a->send_cq);
	assert_int_equal(pmv_mlx5m_next_timer_us(), 640); /* code 12 */
	conformance_post_recv(b, 6, RECV_AT, 100);
	pair_settle(639);
	conformance_poll_none(b->recv_cq);
	pair_settle(640);
	conformance_check_sent(a, 4, IBV_WC_SEND, 0);
	conformance_check_received(b, a, &(struct conformance_recv){ 6, IBV_WC_RECV, 100, false });
	conformance_check_memory(b, RECV_AT, 100, 5);
}

static void
rnr__gives_up(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	expect_refused(&wr, IBV_WC_RNR_RETRY_EXC_ERR);
	conformance_check_state(&conformance_pair.end[1], IBV_QPS_RTS);
}

static void
retry__gives_up_without_a_peer(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	pmv_mlx5m_cut_wire(true);
	expect_refused(&wr, IBV_WC_RETRY_EXC_ERR);
	pmv_mlx5m_cut_wire(false);
}

static void
retry__repairs_a_loss(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 5000);
	struct ibv_send_wr wr = { .wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED };

	(void)state;
	pair_fill(a->buf + SEND_AT, 5000, 77);
	conformance_clean(b, RECV_AT, 5000);
	pmv_mlx5m_cut_wire(true);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_poll_none(a->send_cq);
	pmv_mlx5m_cut_wire(false);
	pair_settle(1000000);
	conformance_check_sent(a, 2, IBV_WC_RDMA_WRITE, 0);
	conformance_check_memory(b, RECV_AT, 5000, 77);
}

static void
psn__must_agree(void **state)
{
	struct pair_options options = { .timeout = 10, .retry_cnt = 2, .send_psn = 0x123456 };
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	pair_to_init(a, 0);
	pair_to_rtr(a, b, 0);
	pair_to_rts(a, &options);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	expect_refused(&wr, IBV_WC_RETRY_EXC_ERR);
}

static void
flush__by_modify_to_error(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .wr_id = 42,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE };

	(void)state;
	conformance_post_recv(a, 40, RECV_AT, 100);
	conformance_post_recv(a, 41, RECV_AT, 100);
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	conformance_post_send(a, &conformance_pair.end[1], &wr);
	conformance_post_recv(a, 43, RECV_AT, 100);
	pair_settle(0);
	conformance_check_failed(a->send_cq, 42, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_check_failed(a->recv_cq, 40, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_check_failed(a->recv_cq, 41, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	conformance_check_failed(a->recv_cq, 43, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
}

static void
reset__starts_over(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int i;

	(void)state;
	conformance_send_once(100, IBV_SEND_INLINE, false);
	conformance_post_recv(b, 1, RECV_AT, 8);
	for (i = 0; i < 2; i++)
		assert_int_equal(ibv_modify_qp(conformance_pair.end[i].qp, &attr, IBV_QP_STATE), 0);
	pair_connect(&conformance_pair, NULL);
	conformance_poll_none(b->recv_cq);
	conformance_send_once(100, IBV_SEND_INLINE, true);
	conformance_write_once(1000, 0, false);
	conformance_read_once(3000);
	conformance_check_state(a, IBV_QPS_RTS);
}

#define CASE(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, conformance_open_pair, conformance_close_pair)

int
conformance_run_errors(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(error__one_bad_write_flushes_the_rest),
		CASE(error__access_beyond_the_region),
		CASE(error__right_not_granted),
		CASE(error__key_of_a_region_that_is_gone),
		CASE(error__bad_local_key),
		CASE(error__local_segment_past_its_region),
		CASE(error__write_not_enabled),
		CASE(error__send_longer_than_the_receive),
		CASE(error__receive_with_a_bad_key),
		CASE(rnr__waits_for_the_receive),
		CASE(rnr__gives_up),
		CASE(retry__gives_up_without_a_peer),
		CASE(retry__repairs_a_loss),
		CASE(psn__must_agree),
		CASE(flush__by_modify_to_error),
		CASE(reset__starts_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
