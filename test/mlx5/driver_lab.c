// SPDX-License-Identifier: BSD-3-Clause
/*
 * See driver_lab.h. The test's thread owns both workers.
 */
#include "test/mlx5/driver_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"

int
lab_start(void **state)
{
	struct pmv_mlx5m_config config;

	if (pmv_test_eal_start(state) < 0)
		return -1;
	pmv_mlx5m_config_init(&config);
	if (pmv_mlx5m_config_env(&config) < 0)
		return -1;
	return pmv_mlx5m_start(&config);
}

int
lab_stop(void **state)
{
	(void)state;
	pmv_mlx5m_stop();
	return 0;
}

struct pmv_qp *
lab_qp_create(struct lab_end *end)
{
	struct pmv_qp_init_attr init = { .send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.qp_type = PMV_QPT_RC,
		.qp_context = end,
		.cap = { .max_send_wr = LAB_DEPTH,
			.max_recv_wr = LAB_DEPTH,
			.max_send_sge = LAB_SGES,
			.max_recv_sge = LAB_SGES,
			.max_inline_data = LAB_INLINE } };
	struct pmv_qp *qp;

	assert_int_equal(pmv_create_qp(end->pd, end->worker, &init, &qp), 0);
	assert_true(init.cap.max_send_wr >= LAB_DEPTH && init.cap.max_recv_wr >= LAB_DEPTH);
	assert_true(init.cap.max_inline_data >= LAB_INLINE);
	return qp;
}

static void
open_end(struct lab_end *end, const char *ibdev)
{
	const struct pmv_device_param dp = { .driver = "mlx5", .ibdev = ibdev, .nb_workers = 1 };
	const struct pmv_worker_param wp = { .socket_id = -1, .qp_max = 64 };

	assert_int_equal(pmv_device_open(&dp, &end->dev), 0);
	assert_int_equal(pmv_worker_create(end->dev, &wp, &end->worker), 0);
	assert_int_equal(pmv_worker_attach(end->worker), 0);
	assert_int_equal(pmv_alloc_pd(end->dev, &end->pd), 0);
	assert_int_equal(pmv_create_cq(end->worker, 4 * LAB_DEPTH, NULL, &end->send_cq), 0);
	assert_int_equal(pmv_create_cq(end->worker, 4 * LAB_DEPTH, NULL, &end->recv_cq), 0);
	end->qp = lab_qp_create(end);
	end->buf = pmv_buf_alloc(LAB_BYTES, -1);
	assert_non_null(end->buf);
	assert_int_equal(
		pmv_reg_mr(end->pd, end->buf, LAB_BYTES,
			PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
			&end->mr),
		0);
}

static void
to_rtr(struct pmv_qp *qp, const struct pmv_qp *peer, const union pmv_gid *gid)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_RTR,
		.path_mtu = PMV_MTU_1024,
		.dest_qp_num = pmv_qp_num(peer),
		.rq_psn = 0xfffff0, /* wraps soon */
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .dgid = *gid } };

	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER),
		0);
}

static void
to_init_and_rtr(struct pmv_qp *qp, const struct pmv_qp *peer, const union pmv_gid *gid)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ };

	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	to_rtr(qp, peer, gid);
}

static void
to_rts(struct pmv_qp *qp)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.sq_psn = 0xfffff0,
		.max_rd_atomic = 4 };

	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY |
				PMV_QP_SQ_PSN | PMV_QP_MAX_QP_RD_ATOMIC),
		0);
}

void
lab_qp_to(struct pmv_qp *qp, enum pmv_qp_state state)
{
	struct pmv_qp_attr a = { .qp_state = state };

	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
}

void
lab_connect(struct lab *lab, struct pmv_qp *a, struct pmv_qp *b)
{
	union pmv_gid gid[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_query_gid(lab->end[i].dev, 0, &gid[i]), 0);
	to_init_and_rtr(a, b, &gid[1]);
	to_init_and_rtr(b, a, &gid[0]);
	to_rts(a);
	to_rts(b);
}

void
lab_open(struct lab *lab)
{
	memset(lab, 0, sizeof(*lab));
	pmv_mlx5m_violations_clear();
	open_end(&lab->end[0], "mlx5_0");
	open_end(&lab->end[1], "mlx5_1");
	lab_connect(lab, lab->end[0].qp, lab->end[1].qp);
}

static void
close_end(struct lab_end *end)
{
	if (end->qp != NULL)
		assert_int_equal(pmv_destroy_qp(end->qp), 0);
	if (end->mr != NULL)
		assert_int_equal(pmv_dereg_mr(end->mr), 0);
	assert_int_equal(pmv_destroy_cq(end->send_cq), 0);
	assert_int_equal(pmv_destroy_cq(end->recv_cq), 0);
	assert_int_equal(pmv_dealloc_pd(end->pd), 0);
	assert_int_equal(pmv_worker_detach(end->worker), 0);
	assert_int_equal(pmv_worker_destroy(end->worker), 0);
	assert_int_equal(pmv_device_close(end->dev), 0);
	pmv_buf_free(end->buf, LAB_BYTES);
}

void
lab_close(struct lab *lab)
{
	for (uint32_t i = 0; pmv_mlx5m_violation_get(i) != NULL; i++)
		print_error("%s: %s\n", pmv_mlx5m_rule_name(pmv_mlx5m_violation_get(i)->rule),
			pmv_mlx5m_violation_get(i)->text);
	assert_int_equal(pmv_mlx5m_violations(), 0);
	close_end(&lab->end[0]);
	close_end(&lab->end[1]);
}

void
lab_run(struct lab *lab, uint64_t us)
{
	uint64_t timer;

	pmv_worker_poll(lab->end[0].worker);
	pmv_worker_poll(lab->end[1].worker);
	pmv_mlx5m_run();
	while ((timer = pmv_mlx5m_next_timer_us()) <= us) {
		pmv_mlx5m_advance_us(timer);
		us -= timer;
		pmv_mlx5m_run();
	}
}

struct pmv_wc
lab_one(struct pmv_cq *cq)
{
	struct pmv_wc wc[2];

	assert_int_equal(pmv_poll_cq(cq, wc, 2), 1);
	return wc[0];
}

void
lab_send(struct lab_end *end, struct pmv_qp *qp, const struct pmv_send_wr *like, uint32_t at,
	uint32_t length)
{
	struct pmv_sge sge = { (uintptr_t)end->buf + at, length, pmv_mr_lkey(end->mr) };
	struct pmv_send_wr wr = *like;

	wr.sg_list = &sge;
	wr.num_sge = length > 0;
	assert_int_equal(pmv_post_send(qp, &wr, 1), 1);
}

void
lab_recv(struct lab_end *end, struct pmv_qp *qp, uint64_t wr_id, uint32_t at, uint32_t length)
{
	struct pmv_sge sge = { (uintptr_t)end->buf + at, length, pmv_mr_lkey(end->mr) };
	struct pmv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0 };

	assert_int_equal(pmv_post_recv(qp, &wr, 1), 1);
}
