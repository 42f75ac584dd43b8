// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the queries tell is what holds: each limit is walked to, reached, and not passed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define QP_MAX 256u /* as the harness makes its workers */

struct walk {
	struct pmv_test_pair pair;
	struct pmv_test_node *n;
	struct pmv_device_attr attr;
	void **object;
};

static struct walk *
walk_open(void)
{
	static const struct pmv_test_pair_param plain;
	struct walk *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	pmv_test_pair_open(&k->pair, &plain);
	k->n = &k->pair.node[0];
	assert_int_equal(pmv_query_device(k->n->dev, &k->attr), 0);
	k->object = calloc(65536, sizeof(*k->object));
	assert_non_null(k->object);
	return k;
}

static void
walk_close(struct walk *k)
{
	struct pmv_event ev;

	pmv_test_pair_run(&k->pair, 200, 20);
	while (pmv_poll_async_event(k->n->dev, &ev) == 1)
		;
	pmv_test_pair_close(&k->pair);
	free(k->object);
	free(k);
}

static struct pmv_qp_init_attr
qp_attr(struct walk *k, enum pmv_qp_type type)
{
	return (struct pmv_qp_init_attr){
		.send_cq = k->n->cq[0],
		.recv_cq = k->n->cq[0],
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
}

/* Can such a queue pair be made? */
static int
try_qp(struct walk *k, struct pmv_qp_init_attr a)
{
	struct pmv_qp *qp;
	int rc = pmv_create_qp(k->n->pd, k->n->worker[0], &a, &qp);

	if (rc == 0)
		assert_int_equal(pmv_destroy_qp(qp), 0);
	return rc;
}

static void
limits__queue_pairs(void **state)
{
	struct walk *k = walk_open();
	struct pmv_qp_init_attr a = qp_attr(k, PMV_QPT_RC);
	struct pmv_qp *qp = NULL;

	assert_true(k->attr.max_qp >= QP_MAX);
	for (uint32_t i = 0; i < QP_MAX; i++) {
		a = qp_attr(k, PMV_QPT_RC);
		assert_int_equal(pmv_create_qp(k->n->pd, k->n->worker[0], &a, &qp), 0);
		k->object[i] = qp;
	}
	a = qp_attr(k, PMV_QPT_RC);
	qp = NULL;
	assert_int_equal(pmv_create_qp(k->n->pd, k->n->worker[0], &a, &qp), -ENOSPC);
	assert_null(qp);
	for (uint32_t i = 0; i < QP_MAX; i++)
		assert_int_equal(pmv_destroy_qp(k->object[i]), 0);
	walk_close(k);
}

static void
limits__capacities(void **state)
{
	struct walk *k = walk_open();
	struct pmv_qp_init_attr a = qp_attr(k, PMV_QPT_RC);
	uint32_t *const fields[] = { &a.cap.max_send_wr, &a.cap.max_recv_wr, &a.cap.max_send_sge,
		&a.cap.max_recv_sge, &a.cap.max_inline_data };
	const uint32_t max[] = { k->attr.max_qp_wr, k->attr.max_qp_wr, k->attr.max_sge,
		k->attr.max_sge, k->attr.max_inline };

	for (size_t i = 0; i < RTE_DIM(fields); i++) {
		uint32_t before = *fields[i];

		*fields[i] = max[i];
		assert_int_equal(try_qp(k, a), 0);
		*fields[i] = max[i] + 1;
		assert_int_equal(try_qp(k, a), -EINVAL);
		*fields[i] = before;
	}
	walk_close(k);
}

/* As many requests, SGEs and inline bytes as the QP has, and one more. */
static void
limits__posts(void **state)
{
	struct walk *k = walk_open();
	struct pmv_qp_init_attr a = qp_attr(k, PMV_QPT_UD);
	struct pmv_qp_attr init = { .qp_state = PMV_QPS_INIT, .port_num = 1, .qkey = 7 };
	struct pmv_sge sge[17] = { { 0 } };
	struct pmv_recv_wr wr = { .sg_list = sge };
	struct pmv_qp *qp;
	uint32_t nb = 0;

	a.cap.max_recv_wr = k->attr.max_qp_wr;
	a.cap.max_recv_sge = k->attr.max_sge;
	assert_int_equal(k->attr.max_sge, RTE_DIM(sge) - 1);
	assert_int_equal(pmv_create_qp(k->n->pd, k->n->worker[0], &a, &qp), 0);
	assert_int_equal(pmv_modify_qp(qp, &init,
				 PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_QKEY),
		0);
	wr.num_sge = k->attr.max_sge + 1;
	assert_int_equal(pmv_post_recv(qp, &wr, 1), -EINVAL);
	wr.num_sge = k->attr.max_sge;
	while (pmv_post_recv(qp, &wr, 1) == 1)
		nb++;
	assert_int_equal(nb, a.cap.max_recv_wr);
	assert_int_equal(nb, k->attr.max_qp_wr);
	assert_int_equal(pmv_post_recv(qp, &wr, 1), -ENOMEM);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	walk_close(k);
}

static void
limits__completion_queue(void **state)
{
	struct walk *k = walk_open();
	struct pmv_cq *cq = NULL;

	assert_int_equal(pmv_create_cq(k->n->worker[0], k->attr.max_cqe, NULL, &cq), 0);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	assert_int_equal(pmv_create_cq(k->n->worker[0], k->attr.max_cqe + 1, NULL, &cq), -EINVAL);
	assert_int_equal(pmv_create_cq(k->n->worker[0], 16, NULL, &cq), 0);
	assert_int_equal(pmv_resize_cq(cq, k->attr.max_cqe + 1), -EINVAL);
	assert_int_equal(pmv_resize_cq(cq, k->attr.max_cqe), 0);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	walk_close(k);
}

static int
make_srq(struct walk *k, uint32_t max_wr, uint32_t max_sge, struct pmv_srq **ret_srq)
{
	struct pmv_srq_init_attr a = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };

	return pmv_create_srq(k->n->pd, k->n->worker[0], &a, ret_srq);
}

static void
limits__shared_receive_queues(void **state)
{
	struct walk *k = walk_open();
	struct pmv_srq *srq;

	for (uint32_t i = 0; i < k->attr.max_srq; i++) {
		assert_int_equal(make_srq(k, 1, 1, &srq), 0);
		k->object[i] = srq;
	}
	assert_int_equal(make_srq(k, 1, 1, &srq), -ENOSPC);
	for (uint32_t i = 0; i < k->attr.max_srq; i++)
		assert_int_equal(pmv_destroy_srq(k->object[i]), 0);
	assert_int_equal(make_srq(k, k->attr.max_srq_wr, 1, &srq), 0);
	assert_int_equal(pmv_destroy_srq(srq), 0);
	assert_int_equal(make_srq(k, k->attr.max_srq_wr + 1, 1, &srq), -EINVAL);
	assert_int_equal(make_srq(k, 1, k->attr.max_srq_sge, &srq), 0);
	assert_int_equal(pmv_destroy_srq(srq), 0);
	assert_int_equal(make_srq(k, 1, k->attr.max_srq_sge + 1, &srq), -EINVAL);
	walk_close(k);
}

static void
limits__regions(void **state)
{
	struct walk *k = walk_open();
	uint8_t byte[16];
	struct pmv_mr *mr;

	for (uint32_t i = 0; i < k->attr.max_mr; i++) {
		assert_int_equal(pmv_reg_mr(k->n->pd, byte, sizeof(byte), 0, &mr), 0);
		k->object[i] = mr;
	}
	assert_int_equal(pmv_reg_mr(k->n->pd, byte, sizeof(byte), 0, &mr), -ENOSPC);
	assert_int_equal(pmv_alloc_mr(k->n->pd, 1, 4096, &mr), -ENOSPC); /* they share the room */
	for (uint32_t i = 0; i < k->attr.max_mr; i++)
		rc_lab_dereg(k->object[i]);
	walk_close(k);

	k = walk_open();
	assert_int_equal(
		pmv_reg_mr(k->n->pd, (void *)(uintptr_t)4096, k->attr.max_mr_size, 0, &mr), 0);
	rc_lab_dereg(mr);
	assert_int_equal(
		pmv_reg_mr(k->n->pd, (void *)(uintptr_t)4096, k->attr.max_mr_size + 1, 0, &mr),
		-EINVAL);
	assert_int_equal(pmv_alloc_mr(k->n->pd, k->attr.max_mr_pages, 4096, &mr), 0);
	rc_lab_dereg(mr);
	assert_int_equal(pmv_alloc_mr(k->n->pd, k->attr.max_mr_pages + 1, 4096, &mr), -EINVAL);
	walk_close(k);
}

static void
limits__windows(void **state)
{
	struct walk *k = walk_open();
	struct pmv_mw *mw;
	int rc;

	for (uint32_t i = 0; i < k->attr.max_mw; i++) {
		assert_int_equal(pmv_alloc_mw(k->n->pd, PMV_MW_TYPE_2, &mw), 0);
		k->object[i] = mw;
	}
	assert_int_equal(pmv_alloc_mw(k->n->pd, PMV_MW_TYPE_1, &mw), -ENOSPC);
	for (uint32_t i = 0; i < k->attr.max_mw; i++) {
		rc = pmv_dealloc_mw(k->object[i]);
		assert_true(rc == 0 || rc == -EINPROGRESS);
	}
	walk_close(k);
}

static void
limits__reads_outstanding(void **state)
{
	struct walk *k = walk_open();
	struct pmv_qp *qp = pmv_test_qp_create(k->n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	uint32_t rtr = PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
		       PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER;
	uint32_t rts = PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT |
		       PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC;

	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(pmv_query_gid(k->pair.node[1].dev, 0, &a.ah_attr.dgid), 0);
	a.qp_state = PMV_QPS_RTR;
	a.path_mtu = k->attr.active_mtu;
	a.max_dest_rd_atomic = k->attr.max_rd_atomic + 1;
	assert_int_equal(pmv_modify_qp(qp, &a, rtr), -EINVAL);
	a.max_dest_rd_atomic = k->attr.max_rd_atomic;
	a.path_mtu = k->attr.active_mtu + 1;
	assert_int_equal(pmv_modify_qp(qp, &a, rtr), -EINVAL);
	a.path_mtu = k->attr.active_mtu;
	assert_int_equal(pmv_modify_qp(qp, &a, rtr), 0);
	a.qp_state = PMV_QPS_RTS;
	a.max_rd_atomic = k->attr.max_rd_atomic + 1;
	assert_int_equal(pmv_modify_qp(qp, &a, rts), -EINVAL);
	a.max_rd_atomic = k->attr.max_rd_atomic;
	assert_int_equal(pmv_modify_qp(qp, &a, rts), 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	walk_close(k);
}

/* A message may have max_msg_size bytes, gathered from memory that repeats. */
static void
limits__message(void **state)
{
	struct rc_lab *lab = calloc(1, sizeof(*lab));
	const struct rc_lab_param param = { .seed = 1 };
	struct pmv_device_attr attr;
	struct pmv_sge sge[2];
	struct pmv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = PMV_WR_RDMA_WRITE };

	assert_non_null(lab);
	rc_lab_open(lab, &param);
	assert_int_equal(pmv_query_device(lab->pair.node[0].dev, &attr), 0);
	lab->pair.link->end[0].out.drop = 1.0;
	sge[0] = (struct pmv_sge){ 0, attr.max_msg_size, 0 };
	sge[1] = (struct pmv_sge){ 0, 1, 0 };
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	sge[0].length--;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1); /* fails later: no such key */
	lab->pair.link->end[0].out.drop = 0;
	rc_lab_close(lab);
	free(lab);
}

static void
limits__addresses(void **state)
{
	struct walk *k = walk_open();
	struct pmv_port_attr port;
	struct pmv_ip_addr addr = { .prefix_len = 24 };
	union pmv_gid gid;

	assert_int_equal(pmv_query_port(k->n->dev, &port), 0);
	memcpy(addr.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\x02\x00", 16);
	for (uint32_t i = k->attr.nb_gids; i < port.gid_tbl_len; i++) {
		addr.gid.raw[15] = (uint8_t)(i + 1);
		assert_int_equal(pmv_device_add_addr(k->n->dev, &addr), 0);
		assert_int_equal(pmv_query_gid(k->n->dev, (uint16_t)i, &gid), 0);
		assert_memory_equal(&gid, &addr.gid, 16);
		assert_int_equal(pmv_query_gid(k->n->dev, (uint16_t)(i + 1), &gid), -EINVAL);
	}
	addr.gid.raw[15] = 200;
	assert_int_equal(pmv_device_add_addr(k->n->dev, &addr), -ENOSPC);
	walk_close(k);
}

static void
limits__multicast(void **state)
{
	struct walk *k = walk_open();
	struct pmv_qp *qp = pmv_test_qp_create(k->n, 0, PMV_QPT_UD);
	struct pmv_qp *more[128];
	union pmv_gid gid = { .raw = { [0] = 0xff, [1] = 0x05 } };
	uint32_t nb = 0;

	for (uint32_t i = 0; i < k->attr.max_mcast_grp; i++) {
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(pmv_attach_mcast(qp, &gid, 0), 0);
	}
	gid.raw[15] = 0xff;
	assert_int_equal(pmv_attach_mcast(qp, &gid, 0), -ENOSPC);
	gid.raw[15] = 0;
	for (nb = 0; nb < k->attr.max_mcast_qp_attach - 1; nb++) {
		more[nb] = pmv_test_qp_create(k->n, 0, PMV_QPT_UD);
		assert_int_equal(pmv_attach_mcast(more[nb], &gid, 0), 0);
	}
	more[nb] = pmv_test_qp_create(k->n, 0, PMV_QPT_UD);
	assert_int_equal(pmv_attach_mcast(more[nb], &gid, 0), -ENOSPC);
	assert_int_equal(pmv_destroy_qp(more[nb]), 0);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(pmv_detach_mcast(more[i], &gid), 0);
		assert_int_equal(pmv_destroy_qp(more[i]), 0);
	}
	for (uint32_t i = 0; i < k->attr.max_mcast_grp; i++) {
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(pmv_detach_mcast(qp, &gid), 0);
	}
	assert_int_equal(pmv_destroy_qp(qp), 0);
	walk_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits__queue_pairs),
		cmocka_unit_test(limits__capacities),
		cmocka_unit_test(limits__posts),
		cmocka_unit_test(limits__completion_queue),
		cmocka_unit_test(limits__shared_receive_queues),
		cmocka_unit_test(limits__regions),
		cmocka_unit_test(limits__windows),
		cmocka_unit_test(limits__reads_outstanding),
		cmocka_unit_test(limits__message),
		cmocka_unit_test(limits__addresses),
		cmocka_unit_test(limits__multicast),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
