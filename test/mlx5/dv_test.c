// SPDX-License-Identifier: BSD-3-Clause
/*
 * The calls below verbs that a driver with its own data path makes: thread domains, creation
 * through mlx5dv, queues handed out by mlx5dv_init_obj. What they give must be what the model
 * watches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "test/mlx5/layout.h"
#include "test/mlx5/model_state.h"
#include "test/mlx5/pair.h"

static struct pair pair;
static bool ioctl_abi;

static int
set_up(void **state)
{
	(void)state;
	pair_open(&pair, NULL);
	pmv_mlx5m_violations_clear();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pair_close(&pair);
	return pmv_mlx5m_violations() != 0;
}

static struct ibv_qp_init_attr_ex
qp_attr(const struct pair_end *end, struct ibv_pd *pd)
{
	return (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_RC,
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64 } };
}

/* A QP that refuses scatter-to-CQE, on the given PD, in place of an end's own. */
static struct ibv_qp *
create_dv(const struct pair_end *end, struct ibv_pd *pd, uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr = qp_attr(end, pd);
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = flags };

	return mlx5dv_create_qp(end->ctx, &attr, &dv);
}

static void
post(struct pair *p, uint32_t bytes)
{
	struct pair_end *a = &p->end[0], *b = &p->end[1];
	struct ibv_sge from = { .addr = (uintptr_t)a->buf, .length = bytes, .lkey = a->mr->lkey };
	struct ibv_sge to = { .addr = (uintptr_t)b->buf, .length = bytes, .lkey = b->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_recv(b->qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
	pmv_mlx5m_run();
}

/* Before the library has polled, small data is in the CQE if both sides agreed, else in memory. */
static void
scatter__only_if_both_want_it(void **state)
{
	struct pair mine = pair;
	struct ibv_wc wc;
	int i;

	(void)state;
	pair_fill(pair.end[0].buf, 32, 1);
	post(&pair, 32);
	assert_int_equal(pair.end[1].buf[5], 0);
	assert_int_equal(ibv_poll_cq(pair.end[1].recv_cq, 1, &wc), 1);
	assert_memory_equal(pair.end[1].buf, pair.end[0].buf, 32);
	memset(pair.end[1].buf, 0, 32);

	for (i = 0; i < 2; i++) {
		mine.end[i].qp = create_dv(
			&pair.end[i], pair.end[i].pd, MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
		assert_non_null(mine.end[i].qp);
	}
	pair_connect(&mine, NULL);
	post(&mine, 32);
	assert_memory_equal(pair.end[1].buf, pair.end[0].buf, 32);
	assert_int_equal(ibv_poll_cq(pair.end[1].recv_cq, 1, &wc), 1);
	pair_remove(&mine);
}

/* Two QPs on two thread domains have registers of their own; without kernel support, none. */
static void
thread_domain__own_register(void **state)
{
	struct pair_end *end = &pair.end[0];
	struct ibv_td_init_attr none = { 0 };
	struct ibv_td *td[2];
	struct ibv_pd *pd[2];
	struct ibv_qp *qp[2];
	struct mlx5dv_qp dv[2] = { 0 };
	int i;

	(void)state;
	if (!ioctl_abi) {
		assert_null(ibv_alloc_td(end->ctx, &none));
		return;
	}
	for (i = 0; i < 2; i++) {
		struct ibv_parent_domain_init_attr attr = { .pd = end->pd };
		struct mlx5dv_obj obj = { .qp = { .out = &dv[i] } };

		td[i] = ibv_alloc_td(end->ctx, &none);
		assert_non_null(td[i]);
		attr.td = td[i];
		pd[i] = ibv_alloc_parent_domain(end->ctx, &attr);
		assert_non_null(pd[i]);
		qp[i] = create_dv(end, pd[i], MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
		assert_non_null(qp[i]);
		obj.qp.in = qp[i];
		assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
		assert_int_equal(dv[i].bf.size, PMV_MLX5M_BF_HALF);
	}
	assert_ptr_not_equal(dv[0].bf.reg, dv[1].bf.reg);
	for (i = 0; i < 2; i++) {
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		assert_int_equal(ibv_dealloc_pd(pd[i]), 0);
		assert_int_equal(ibv_dealloc_td(td[i]), 0);
	}
}

/* The addresses that libmlx5 hands out are those that the model reads and writes. */
static void
queues__as_the_model_sees_them(void **state)
{
	struct pair_end *end = &pair.end[0];
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_pd pd = { 0 };
	struct mlx5dv_obj obj = {
		.qp = { end->qp, &dv }, .cq = { end->recv_cq, &cq }, .pd = { end->pd, &pd }
	};
	const struct pmv_mlx5m_qp *qp = pmv_mlx5m_qp_find(end->qp->qp_num);

	(void)state;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_PD), 0);
	assert_ptr_equal(dv.sq.buf, qp->sq_buf);
	assert_int_equal(dv.sq.wqe_cnt, qp->sq_nb);
	assert_ptr_equal(dv.rq.buf, qp->rq_buf);
	assert_int_equal(dv.rq.wqe_cnt, qp->rq_nb);
	assert_int_equal(dv.rq.stride, qp->rq_stride);
	assert_ptr_equal(dv.dbrec, qp->record_be);
	assert_ptr_equal(cq.buf, qp->recv_cq->buf);
	assert_ptr_equal(cq.dbrec, qp->recv_cq->record_be);
	assert_int_equal(cq.cqe_cnt, qp->recv_cq->nb);
	assert_int_equal(cq.cqe_size, 64);
	assert_int_equal(cq.cqn, qp->recv_cq->cqn);
	assert_int_not_equal(pd.pdn, 0);
}

static void
cq__of_128_bytes(void **state)
{
	struct pair_end *end = &pair.end[1];
	struct ibv_cq_init_attr_ex attr = { .cqe = 15 };
	struct mlx5dv_cq_init_attr dv = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.cqe_size = 128 };
	struct ibv_cq_ex *cq = mlx5dv_create_cq(end->ctx, &attr, &dv);
	struct ibv_cq *own = end->recv_cq;
	struct pair mine = pair;
	struct ibv_wc wc[40];
	int i;

	(void)state;
	assert_non_null(cq);
	mine.end[1].recv_cq = ibv_cq_ex_to_cq(cq);
	for (i = 0; i < 2; i++) {
		mine.end[i].qp = create_dv(&mine.end[i], mine.end[i].pd, 0);
		assert_non_null(mine.end[i].qp);
	}
	pair_connect(&mine, NULL);
	for (i = 0; i < 40; i++) { /* more than one round, around the 64 bytes that fit into it */
		pair_fill(pair.end[0].buf, 128, (uint8_t)i);
		post(&mine, 45 + (uint32_t)i);
		assert_int_equal(ibv_poll_cq(mine.end[1].recv_cq, 2, wc), 1);
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[0].byte_len, 45 + i);
		assert_memory_equal(pair.end[1].buf, pair.end[0].buf, 45 + (size_t)i);
		assert_int_equal(ibv_poll_cq(mine.end[0].send_cq, 2, wc), 1);
	}
	pair_remove(&mine);
	assert_int_equal(ibv_destroy_cq(mine.end[1].recv_cq), 0);
	end->recv_cq = own;
}

static void
cq__compression_is_refused(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 15 };
	struct mlx5dv_cq_init_attr dv = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
		.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH };

	(void)state;
	assert_null(mlx5dv_create_cq(pair.end[0].ctx, &attr, &dv));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(scatter__only_if_both_want_it),
		CASE(thread_domain__own_register),
		CASE(queues__as_the_model_sees_them),
		CASE(cq__of_128_bytes),
		CASE(cq__compression_is_refused),
	};
	struct pmv_mlx5m_config config;
	int ret;

	pmv_mlx5m_config_init(&config);
	if (pmv_mlx5m_config_env(&config) != 0 || pmv_mlx5m_start(&config) != 0)
		return 2;
	ioctl_abi = config.ioctl_abi;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	pmv_mlx5m_stop();
	return ret;
}
