// SPDX-License-Identifier: BSD-3-Clause
/*
 * The same ping-pong, without a CM, on the software driver and on drivers/mlx5: GIDs and QPNs are
 * handed over in the process. From struct device_arg on nothing knows which driver it is; only the
 * device argument and what stands for the cable differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include <cmocka.h>

#include "lib/api/pmv.h"
#include "test/harness/link.h"
#include "test/mlx5/driver_lab.h"

#define BYTES_MAX 16384u
#define ROUNDS    200u
#define TURNS_MAX 100000u

/* What differs. */
struct device_arg {
	struct pmv_device_param param[2];
	const char *addr[2];      /* NULL: the device has its own */
	struct rte_mempool *pool; /* NULL: needs none */
	void (*carry)(void *arg); /* moves what is on the wire */
	void *arg;
};

struct side {
	struct pmv_device *dev;
	struct pmv_worker *worker;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	struct pmv_qp *qp;
	struct pmv_mr *mr;
	uint8_t *buf; /* BYTES_MAX to send from, then as many to receive into */
	uint32_t nb_received;
	uint32_t nb_sent;
};

static void
open_side(const struct device_arg *arg, int i, struct side *s)
{
	const struct pmv_worker_param wp = { .socket_id = -1, .qp_max = 4, .pool = arg->pool };
	struct pmv_qp_init_attr init = {
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct pmv_ip_addr addr;

	memset(s, 0, sizeof(*s));
	assert_int_equal(pmv_device_open(&arg->param[i], &s->dev), 0);
	if (arg->addr[i] != NULL) {
		assert_int_equal(pmv_ip_addr_parse(arg->addr[i], &addr), 0);
		assert_int_equal(pmv_device_add_addr(s->dev, &addr), 0);
	}
	assert_int_equal(pmv_worker_create(s->dev, &wp, &s->worker), 0);
	assert_int_equal(pmv_worker_attach(s->worker), 0);
	assert_int_equal(pmv_alloc_pd(s->dev, &s->pd), 0);
	assert_int_equal(pmv_create_cq(s->worker, 16, NULL, &s->cq), 0);
	init.send_cq = init.recv_cq = s->cq;
	assert_int_equal(pmv_create_qp(s->pd, s->worker, &init, &s->qp), 0);
	s->buf = pmv_buf_alloc(2 * BYTES_MAX, -1);
	assert_non_null(s->buf);
	assert_int_equal(
		pmv_reg_mr(s->pd, s->buf, 2 * BYTES_MAX, PMV_ACCESS_LOCAL_WRITE, &s->mr), 0);
}

static void
connect_side(struct side *s, struct side *peer)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	struct pmv_device_attr attr;

	assert_int_equal(
		pmv_modify_qp(s->qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(pmv_query_device(peer->dev, &attr), 0);
	a = (struct pmv_qp_attr){ .qp_state = PMV_QPS_RTR,
		.path_mtu = PMV_MTU_1024,
		.dest_qp_num = pmv_qp_num(peer->qp),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .has_dmac = true } };
	assert_int_equal(pmv_query_gid(peer->dev, 0, &a.ah_attr.dgid), 0);
	memcpy(a.ah_attr.dmac, attr.mac, sizeof(attr.mac));
	assert_int_equal(
		pmv_modify_qp(s->qp, &a,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER),
		0);
	a = (struct pmv_qp_attr){ .qp_state = PMV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1 };
	assert_int_equal(
		pmv_modify_qp(s->qp, &a,
			PMV_QP_STATE | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY |
				PMV_QP_SQ_PSN | PMV_QP_MAX_QP_RD_ATOMIC),
		0);
}

static void
post_recv(struct side *s)
{
	struct pmv_sge sge = { (uintptr_t)s->buf + BYTES_MAX, BYTES_MAX, pmv_mr_lkey(s->mr) };
	struct pmv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(pmv_post_recv(s->qp, &wr, 1), 1);
}

static void
post_send(struct side *s, uint32_t bytes)
{
	struct pmv_sge sge = { (uintptr_t)s->buf, bytes, pmv_mr_lkey(s->mr) };
	struct pmv_send_wr wr = { .wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED };

	assert_int_equal(pmv_post_send(s->qp, &wr, 1), 1);
}

/* What arrived goes back, one higher in each byte; the first side checks that it is two higher
 * than what it sent. */
static void
turn(struct side *s, bool is_first, uint32_t bytes)
{
	struct pmv_wc wc[4];
	uint32_t nb;

	pmv_worker_poll(s->worker);
	nb = pmv_poll_cq(s->cq, wc, 4);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
		if (wc[i].opcode == PMV_WC_SEND) {
			assert_int_equal(wc[i].wr_id, 2);
			s->nb_sent++;
			continue;
		}
		assert_int_equal(wc[i].opcode, PMV_WC_RECV);
		assert_int_equal(wc[i].wr_id, 1);
		assert_int_equal(wc[i].byte_len, bytes);
		s->nb_received++;
		if (is_first)
			for (uint32_t k = 0; k < bytes; k++)
				assert_true(s->buf[BYTES_MAX + k] == (uint8_t)(s->buf[k] + 1));
		for (uint32_t k = 0; k < bytes; k++)
			s->buf[k] = (uint8_t)(s->buf[BYTES_MAX + k] + 1);
		post_recv(s);
		if (!is_first || s->nb_received < ROUNDS)
			post_send(s, bytes);
	}
}

static void
close_side(struct side *s)
{
	assert_int_equal(pmv_destroy_qp(s->qp), 0);
	(void)pmv_dereg_mr(s->mr);
	assert_int_equal(pmv_destroy_cq(s->cq), 0);
	assert_int_equal(pmv_worker_detach(s->worker), 0);
	assert_int_equal(pmv_worker_destroy(s->worker), 0);
	assert_int_equal(pmv_dealloc_pd(s->pd), 0);
	assert_int_equal(pmv_device_close(s->dev), 0);
	pmv_buf_free(s->buf, 2 * BYTES_MAX);
}

static void
pingpong(const struct device_arg *arg, uint32_t bytes)
{
	struct side s[2];
	uint32_t nb = 0;

	for (int i = 0; i < 2; i++)
		open_side(arg, i, &s[i]);
	for (int i = 0; i < 2; i++) {
		connect_side(&s[i], &s[!i]);
		post_recv(&s[i]);
	}
	for (uint32_t k = 0; k < bytes; k++)
		s[0].buf[k] = (uint8_t)(k * 3);
	post_send(&s[0], bytes);
	/* done when the last answer has arrived and both sides know that all was sent */
	while ((s[0].nb_received < ROUNDS || s[0].nb_sent < ROUNDS || s[1].nb_sent < ROUNDS) &&
		nb++ < TURNS_MAX) {
		turn(&s[0], true, bytes);
		turn(&s[1], false, bytes);
		arg->carry(arg->arg);
	}
	assert_int_equal(s[0].nb_received, ROUNDS);
	assert_int_equal(s[1].nb_received, ROUNDS);
	assert_int_equal(s[0].nb_sent, ROUNDS);
	assert_int_equal(s[1].nb_sent, ROUNDS);
	close_side(&s[0]);
	close_side(&s[1]);
}

static void
carry_link(void *arg)
{
	pmv_test_link_step(arg, rte_rdtsc());
}

static void
carry_model(void *arg)
{
	pmv_mlx5m_run();
}

static const uint32_t sizes[] = { 1, 64, 1024, 5000, BYTES_MAX };

static void
pingpong__roce(void **state)
{
	struct pmv_test_link *link;
	struct device_arg arg = { .addr = { "192.168.10.1/24", "192.168.10.2/24" },
		.carry = carry_link };

	assert_int_equal(pmv_test_link_open(&link, 1, 1), 0);
	for (int i = 0; i < 2; i++)
		arg.param[i] = (struct pmv_device_param){
			.driver = "roce", .port_id = link->end[i].port_id, .nb_workers = 1
		};
	arg.pool = link->pool;
	arg.arg = link;
	for (uint32_t i = 0; i < RTE_DIM(sizes); i++)
		pingpong(&arg, sizes[i]);
	assert_int_equal(pmv_test_link_close(link), 0);
}

static void
pingpong__mlx5(void **state)
{
	struct device_arg arg = { .carry = carry_model };

	arg.param[0] =
		(struct pmv_device_param){ .driver = "mlx5", .ibdev = "mlx5_0", .nb_workers = 1 };
	arg.param[1] = arg.param[0];
	arg.param[1].ibdev = "mlx5_1";
	pmv_mlx5m_violations_clear();
	for (uint32_t i = 0; i < RTE_DIM(sizes); i++)
		pingpong(&arg, sizes[i]);
	assert_int_equal(pmv_mlx5m_violations(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pingpong__roce),
		cmocka_unit_test(pingpong__mlx5),
	};

	return cmocka_run_group_tests(tests, lab_start, lab_stop);
}
