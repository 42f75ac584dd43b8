// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/mlx5 on the model: what fails, and how it is said. Completions with errors and the flush
 * behind them, queue pairs that are reset or destroyed with completions unread, arguments that are
 * refused, devices that cannot be opened.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include <cmocka.h>

#include "lib/verbs/ctl_channel.h"
#include "test/mlx5/driver_lab.h"

#define SECONDS 60000000ull /* us of the model's time: enough for every retry */

static struct pmv_send_wr
write_wr(const struct lab *lab)
{
	return (struct pmv_send_wr){ .wr_id = 7,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED,
		.wr = { .rdma = { (uintptr_t)lab->end[1].buf, pmv_mr_rkey(lab->end[1].mr) } } };
}

/* The failed one, then everything behind it, signalled or not, in order; posts in ERR too. */
static void
expect_failure(struct lab *lab, enum pmv_wc_status status)
{
	struct lab_end *a = &lab->end[0];
	struct pmv_send_wr wr = write_wr(lab);
	struct pmv_wc wc[8];

	assert_int_equal(pmv_poll_cq(a->send_cq, wc, 8), 3);
	assert_int_equal(wc[0].wr_id, 7);
	assert_int_equal(wc[0].status, status);
	assert_int_equal(wc[0].qp_num, pmv_qp_num(a->qp));
	for (int i = 1; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 7 + i);
		assert_int_equal(wc[i].status, PMV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(pmv_poll_cq(a->recv_cq, wc, 8), 1);
	assert_int_equal(wc[0].wr_id, 99);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_qp_get_state(a->qp), PMV_QPS_ERR);
	wr.wr_id = 50;
	lab_send(a, a->qp, &wr, 0, 8);
	lab_recv(a, a->qp, 51, 0, 8);
	lab_run(lab, 0);
	wc[0] = lab_one(a->send_cq);
	assert_int_equal(wc[0].wr_id, 50);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
	wc[0] = lab_one(a->recv_cq);
	assert_int_equal(wc[0].wr_id, 51);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
}

static void
post_failing(struct lab *lab, const struct pmv_send_wr *bad)
{
	struct lab_end *a = &lab->end[0];
	struct pmv_send_wr wr = write_wr(lab);

	lab_recv(a, a->qp, 99, 0, 64);
	lab_send(a, a->qp, bad, 0, 64);
	wr.wr_id = 8;
	wr.send_flags = 0;
	lab_send(a, a->qp, &wr, 0, 64);
	wr.wr_id = 9;
	lab_send(a, a->qp, &wr, 0, 64);
	lab_run(lab, SECONDS);
}

static void
error__remote_key(void **state)
{
	struct pmv_send_wr bad;
	struct lab lab;

	lab_open(&lab);
	bad = write_wr(&lab);
	bad.send_flags = 0; /* an error completes always */
	bad.wr.rdma.rkey ^= 0x100;
	post_failing(&lab, &bad);
	expect_failure(&lab, PMV_WC_REM_ACCESS_ERR);
	lab_close(&lab);
}

static void
error__beyond_remote_region(void **state)
{
	struct pmv_send_wr bad;
	struct lab lab;

	lab_open(&lab);
	bad = write_wr(&lab);
	bad.opcode = PMV_WR_RDMA_READ;
	bad.wr.rdma.remote_addr += LAB_BYTES - 63;
	post_failing(&lab, &bad);
	expect_failure(&lab, PMV_WC_REM_ACCESS_ERR);
	lab_close(&lab);
}

/* A region that was deregistered is dead at once, for requests already posted too. */
static void
error__region_gone(void **state)
{
	struct pmv_send_wr bad;
	struct lab lab;

	lab_open(&lab);
	bad = write_wr(&lab);
	lab_recv(&lab.end[0], lab.end[0].qp, 99, 0, 64);
	lab_send(&lab.end[0], lab.end[0].qp, &bad, 0, 64);
	assert_int_equal(pmv_dereg_mr(lab.end[1].mr), 0);
	lab.end[1].mr = NULL;
	lab_run(&lab, SECONDS);
	assert_int_equal(lab_one(lab.end[0].send_cq).status, PMV_WC_REM_ACCESS_ERR);
	lab_close(&lab);
}

static void
error__local_key(void **state)
{
	struct lab lab;
	struct pmv_sge sge;
	struct pmv_send_wr wr;

	lab_open(&lab);
	wr = write_wr(&lab);
	sge = (struct pmv_sge){ (uintptr_t)lab.end[0].buf, 8, pmv_mr_lkey(lab.end[0].mr) ^ 0x100 };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
	lab_run(&lab, SECONDS);
	assert_int_equal(lab_one(lab.end[0].send_cq).status, PMV_WC_LOC_PROT_ERR);
	lab_close(&lab);
}

static void
error__no_answer(void **state)
{
	struct pmv_send_wr bad;
	struct lab lab;

	lab_open(&lab);
	pmv_mlx5m_cut_wire(true);
	bad = write_wr(&lab);
	post_failing(&lab, &bad);
	pmv_mlx5m_cut_wire(false);
	expect_failure(&lab, PMV_WC_RETRY_EXC_ERR);
	lab_close(&lab);
}

static void
error__no_receive(void **state)
{
	struct pmv_send_wr bad;
	struct lab lab;

	lab_open(&lab);
	bad = write_wr(&lab);
	bad.opcode = PMV_WR_SEND;
	post_failing(&lab, &bad);
	expect_failure(&lab, PMV_WC_RNR_RETRY_EXC_ERR);
	lab_close(&lab);
}

static void
error__receive_too_short(void **state)
{
	struct pmv_send_wr bad;
	struct pmv_wc wc;
	struct lab lab;

	lab_open(&lab);
	bad = write_wr(&lab);
	bad.opcode = PMV_WR_SEND;
	lab_recv(&lab.end[1], lab.end[1].qp, 4, 0, 63);
	post_failing(&lab, &bad);
	expect_failure(&lab, PMV_WC_REM_INV_REQ_ERR);
	wc = lab_one(lab.end[1].recv_cq);
	assert_int_equal(wc.wr_id, 4);
	assert_int_equal(wc.status, PMV_WC_LOC_LEN_ERR);
	assert_int_equal(pmv_qp_get_state(lab.end[1].qp), PMV_QPS_ERR);
	lab_close(&lab);
}

/* By hand, with work under way and some of it not even rung. */
static void
state__error_flushes(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_wc wc[8];
	struct lab lab;

	lab_open(&lab);
	wr = write_wr(&lab);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
	pmv_worker_flush(lab.end[0].worker);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
	lab_recv(&lab.end[0], lab.end[0].qp, 1, 0, 64);
	lab_qp_to(lab.end[0].qp, PMV_QPS_ERR);
	lab_run(&lab, 0);
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 8), 2);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(lab_one(lab.end[0].recv_cq).status, PMV_WC_WR_FLUSH_ERR);
	lab_close(&lab);
}

/* RESET forgets all: no old completion comes, indices of both sides begin at 0 again. */
static void
state__reset_and_again(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_wc wc[8];
	struct lab lab;

	lab_open(&lab);
	for (uint64_t round = 0; round < 5; round++) {
		wr = write_wr(&lab);
		for (uint64_t i = 0; i < 3 + round; i++)
			lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
		lab_run(&lab, 0);
		lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64); /* not rung */
		lab_qp_to(lab.end[0].qp, PMV_QPS_RESET);
		lab_qp_to(lab.end[1].qp, PMV_QPS_RESET);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 8), 0);
		assert_int_equal(pmv_worker_stat(lab.end[0].worker, "completions_stale"),
			3 * (round + 1) + round * (round + 1) / 2);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -ENOTCONN);
		assert_int_equal(
			pmv_post_recv(lab.end[0].qp, &(struct pmv_recv_wr){ 0 }, 1), -ENOTCONN);
		lab_connect(&lab, lab.end[0].qp, lab.end[1].qp);
		wr.wr_id = 1000 + round;
		wr.opcode = PMV_WR_SEND;
		lab_recv(&lab.end[1], lab.end[1].qp, round, 0, 64);
		lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
		lab_run(&lab, 0);
		assert_int_equal(lab_one(lab.end[0].send_cq).wr_id, 1000 + round);
		assert_int_equal(lab_one(lab.end[1].recv_cq).wr_id, round);
	}
	lab_close(&lab);
}

/* The model gives the number of a dead queue pair to the next one, as firmware may. */
static void
destroy__unread_completions_reach_nobody(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_wc wc[8];
	uint32_t qpn;
	struct lab lab;

	lab_open(&lab);
	wr = write_wr(&lab);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
	lab_run(&lab, 0);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64); /* not rung */
	qpn = pmv_qp_num(lab.end[0].qp);
	assert_int_equal(pmv_destroy_qp(lab.end[0].qp), 0);
	lab_qp_to(lab.end[1].qp, PMV_QPS_RESET);
	lab.end[0].qp = lab_qp_create(&lab.end[0]);
	assert_int_equal(pmv_qp_num(lab.end[0].qp), qpn);
	lab_connect(&lab, lab.end[0].qp, lab.end[1].qp);
	wr.wr_id = 77;
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 64);
	lab_run(&lab, 0);
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 8), 1);
	assert_int_equal(wc[0].wr_id, 77);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "completions_stale"), 2);
	lab_close(&lab);
}

static void
post__refuses(void **state)
{
	struct pmv_sge sge[LAB_SGES + 1] = { 0 };
	struct pmv_send_wr wr, two[2];
	struct pmv_recv_wr rwr = { .sg_list = sge, .num_sge = 100 };
	struct pmv_qp *fresh;
	struct lab lab;

	lab_open(&lab);
	wr = write_wr(&lab);
	fresh = lab_qp_create(&lab.end[0]);
	assert_int_equal(pmv_post_send(fresh, &wr, 1), -ENOTCONN);
	assert_int_equal(pmv_post_send(fresh, &wr, 0), 0);
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	wr.sg_list = sge;
	wr.num_sge = 100;
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -EINVAL);
	assert_int_equal(pmv_post_recv(lab.end[0].qp, &rwr, 1), -EINVAL);
	wr.num_sge = 1;
	wr.send_flags = PMV_SEND_INLINE;
	sge[0] = (struct pmv_sge){ (uintptr_t)lab.end[0].buf, 4096, 0 };
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -EINVAL);
	sge[0].length = 8;
	wr.opcode = PMV_WR_RDMA_READ;
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -EINVAL);
	wr.opcode = (enum pmv_wr_opcode)5;
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -EINVAL);
	wr = write_wr(&lab);
	wr.sg_list = sge;
	wr.num_sge = 2;
	sge[0].length = sge[1].length = 0x80000000u;
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -EINVAL);
	/* the good one before the bad one is taken */
	two[0] = write_wr(&lab);
	two[1] = wr;
	assert_int_equal(pmv_post_send(lab.end[0].qp, two, 2), 1);
	lab_run(&lab, 0);
	assert_int_equal(lab_one(lab.end[0].send_cq).status, PMV_WC_SUCCESS);
	lab_close(&lab);
}

static void
objects__not_offered(void **state)
{
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct pmv_ah_attr ah_attr = { 0 };
	struct pmv_ctl_channel *channel;
	struct pmv_worker *second;
	struct pmv_ah *ah;
	struct pmv_qp *qp;
	struct lab lab;

	lab_open(&lab);
	init.send_cq = lab.end[0].send_cq;
	init.recv_cq = lab.end[0].recv_cq;
	assert_int_equal(pmv_create_qp(lab.end[0].pd, lab.end[0].worker, &init, &qp), -ENOTSUP);
	assert_int_equal(pmv_query_gid(lab.end[1].dev, 0, &ah_attr.dgid), 0);
	assert_int_equal(pmv_create_ah(lab.end[0].pd, &ah_attr, &ah), -ENOTSUP);
	assert_int_equal(pmv_verbs_ctl_open(lab.end[0].dev, &channel), -ENOTSUP);
	assert_int_equal(pmv_worker_create(lab.end[0].dev,
				 &(struct pmv_worker_param){ .socket_id = -1 }, &second),
		-ENOSPC);
	lab_close(&lab);
}

/* What a program sees of the device. */
static void
device__identity(void **state)
{
	struct pmv_device_attr attr;
	union pmv_gid gid;
	struct lab lab;

	lab_open(&lab);
	assert_int_equal(pmv_query_device(lab.end[0].dev, &attr), 0);
	assert_string_equal(attr.driver, "mlx5");
	assert_int_equal(attr.port_id, PMV_PORT_NONE);
	assert_int_equal(attr.ownership, PMV_ADDR_SHARED);
	assert_true(attr.node_guid != 0);
	assert_true(attr.nb_gids >= 1);
	assert_int_equal(pmv_query_gid(lab.end[0].dev, 0, &gid), 0);
	assert_true(attr.active_mtu >= PMV_MTU_1024 && attr.active_mtu <= PMV_MTU_4096);
	assert_true(attr.max_rd_atomic >= 4);
	lab_close(&lab);
}

static void
open__refuses(void **state)
{
	struct pmv_device_param p = { .driver = "mlx5", .ibdev = "mlx5_9", .nb_workers = 1 };
	struct pmv_device *dev, *twice;
	char name[80];

	assert_int_equal(pmv_device_open(&p, &dev), -ENODEV);
	p.ibdev = "mlx5_0";
	p.driver = "roce";
	assert_int_equal(pmv_device_open(&p, &dev), -ENOTSUP);
	p.driver = "nothing";
	assert_int_equal(pmv_device_open(&p, &dev), -ENOENT);
	p.ibdev = "";
	assert_int_equal(pmv_device_open(&p, &dev), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[64] = '\0';
	p.ibdev = name;
	assert_int_equal(pmv_device_open(&p, &dev), -EINVAL);
	name[63] = '\0';
	p.driver = NULL;
	assert_int_equal(pmv_device_open(&p, &dev), -ENODEV);
	/* without a driver's name the one that runs such devices is found */
	p.ibdev = "mlx5_0";
	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(pmv_device_open(&p, &twice), -EBUSY);
	assert_int_equal(pmv_device_close(dev), 0);
	/* a port is needed by name of port */
	p = (struct pmv_device_param){ .driver = "mlx5", .nb_workers = 1 };
	assert_true(pmv_device_open(&p, &dev) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error__remote_key),
		cmocka_unit_test(error__beyond_remote_region),
		cmocka_unit_test(error__region_gone),
		cmocka_unit_test(error__local_key),
		cmocka_unit_test(error__no_answer),
		cmocka_unit_test(error__no_receive),
		cmocka_unit_test(error__receive_too_short),
		cmocka_unit_test(state__error_flushes),
		cmocka_unit_test(state__reset_and_again),
		cmocka_unit_test(destroy__unread_completions_reach_nobody),
		cmocka_unit_test(post__refuses),
		cmocka_unit_test(objects__not_offered),
		cmocka_unit_test(device__identity),
		cmocka_unit_test(open__refuses),
	};

	return cmocka_run_group_tests(tests, lab_start, lab_stop);
}
