// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every public function of lib/api that returns an errno, with every argument wrong in its turn:
 * the documented errno, and exactly one line of log, which names the argument (doc/errors.md). What
 * a call leaves behind when it is refused is in the test of its own file.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/api/pmv.h"
#include "lib/lcore/mailbox.h"
#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/unit/lib/verbs/fake_driver.h"

#define TO_INIT (PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS)

static struct fake_node n;
static uint8_t memory[64];

static int
setup(void **state)
{
	fake_node_open(&n, 2);
	fake_add_addr(n.dev, "10.0.0.1/24");
	fake_add_addr(n.dev, "fd00::1/64");
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

/* The worker is another thread's, for a while. */
static void
lend(struct pmv_worker *w)
{
	assert_int_equal(pmv_worker_attach(w), 0);
	w->owner++;
}

static void
take_back(struct pmv_worker *w)
{
	w->owner--;
	assert_int_equal(pmv_worker_detach(w), 0);
}

/* A row with one field of `good` changed. */
#define REFUSED_WITH(good, field, value, error, word, ...)                                         \
	do {                                                                                       \
		__typeof__(good) bad = good;                                                       \
                                                                                                   \
		bad.field = value;                                                                 \
		REFUSED(error, word, __VA_ARGS__);                                                 \
	} while (0)

static void
arguments__device(void **state)
{
	struct pmv_device_param good = {
		.driver = "fake", .port_id = n.link->end[1].port_id, .nb_workers = 1
	};
	struct pmv_device *dev = NULL;
	struct pmv_device_attr attr;

#define ROW(field, value, error, word)                                                             \
	REFUSED_WITH(good, field, value, error, word, pmv_device_open(&bad, &dev))
	ROW(nb_workers, 0, -EINVAL, "nb_workers");
	ROW(nb_workers, 17, -EINVAL, "nb_workers");
	ROW(ip_mtu, 351, -EINVAL, "ip_mtu");
	ROW(vlan_id, 4095, -EINVAL, "vlan_id");
	ROW(vlan_pcp, 8, -EINVAL, "vlan_pcp");
	ROW(ownership, (enum pmv_addr_ownership)7, -EINVAL, "ownership");
	ROW(mr_max, 65537, -EINVAL, "mr_max");
	ROW(mw_max, 65537, -EINVAL, "mw_max");
	ROW(window_pkts, 4097, -EINVAL, "window_pkts");
	ROW(ibdev, "", -EINVAL, "ibdev");
	ROW(port_id, RTE_MAX_ETHPORTS - 1, -ENODEV, "port_id");
	ROW(port_id, n.link->end[0].port_id, -EBUSY, "port_id");
	ROW(driver, "none", -ENOENT, "driver none");
	ROW(ibdev, "mlx5_0", -ENOTSUP, "driver fake"); /* it runs ports */
#undef ROW
	REFUSED(-EINVAL, "param", pmv_device_open(NULL, &dev));
	REFUSED(-EINVAL, "ret_device", pmv_device_open(&good, NULL));
	assert_null(dev);
	REFUSED(-EINVAL, "device", pmv_device_close(NULL));
	REFUSED(-EBUSY, "port", pmv_device_close(n.dev));
	REFUSED(-EINVAL, "device", pmv_query_device(NULL, &attr));
	REFUSED(-EINVAL, "ret_attr", pmv_query_device(n.dev, NULL));
	REFUSED(-ENODEV, "port_id", pmv_port_check(RTE_MAX_ETHPORTS - 1, 0, NULL, NULL));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__address(void **state)
{
	struct pmv_ip_addr good = { .gid = fake_gid("10.0.0.2"), .prefix_len = 24 };
	const union pmv_gid own = fake_gid("10.0.0.1"), other = fake_gid("10.0.0.9");
	const union pmv_gid multicast = fake_gid("239.0.0.1"), none = fake_gid("0.0.0.0");
	const union pmv_gid broadcast = fake_gid("255.255.255.255");
	const union pmv_gid loopback = fake_gid("127.0.0.1"), loopback6 = fake_gid("::1");
	const uint8_t mac[6] = { 2 }, mac_multicast[6] = { 1 }, mac_zero[6] = { 0 };
	struct pmv_ip_addr parsed;
	union pmv_gid gid;

#define ROW(field, value, error, word)                                                             \
	REFUSED_WITH(good, field, value, error, word, pmv_device_add_addr(n.dev, &bad))
	ROW(prefix_len, 33, -EINVAL, "prefix_len");
	ROW(gid, multicast, -EINVAL, "addr 239.0.0.1");
	ROW(gid, none, -EINVAL, "addr 0.0.0.0");
	ROW(gid, broadcast, -EINVAL, "addr 255.255.255.255");
	ROW(gid, loopback, -EINVAL, "addr 127.0.0.1");
	ROW(gid, loopback6, -EINVAL, "addr ::1");
	ROW(gid, own, -EEXIST, "addr 10.0.0.1");
#undef ROW
	REFUSED(-EINVAL, "device", pmv_device_add_addr(NULL, &good));
	REFUSED(-EINVAL, "addr", pmv_device_add_addr(n.dev, NULL));
	REFUSED(-EINVAL, "device", pmv_device_del_addr(NULL, &own));
	REFUSED(-EINVAL, "gid", pmv_device_del_addr(n.dev, NULL));
	REFUSED(-ENOENT, "gid 10.0.0.9", pmv_device_del_addr(n.dev, &other));
	REFUSED(-EINVAL, "device", pmv_device_set_gateway(NULL, &other));
	REFUSED(-EINVAL, "gateway", pmv_device_set_gateway(n.dev, NULL));
	REFUSED(-EINVAL, "gateway", pmv_device_set_gateway(n.dev, &multicast));
	REFUSED(-EINVAL, "gateway is the br", pmv_device_set_gateway(n.dev, &broadcast));
	REFUSED(-EINVAL, "gateway is a loop", pmv_device_set_gateway(n.dev, &loopback));
	REFUSED(-EINVAL, "gateway is a loop", pmv_device_set_gateway(n.dev, &loopback6));
	REFUSED(-EINVAL, "device", pmv_query_gid(NULL, 0, &gid));
	REFUSED(-EINVAL, "ret_gid", pmv_query_gid(n.dev, 0, NULL));
	REFUSED(-EINVAL, "index 2", pmv_query_gid(n.dev, 2, &gid));
	REFUSED(-EINVAL, "device", pmv_neigh_set(NULL, &other, mac));
	REFUSED(-EINVAL, "gid", pmv_neigh_set(n.dev, NULL, mac));
	REFUSED(-EINVAL, "mac", pmv_neigh_set(n.dev, &other, NULL));
	REFUSED(-EINVAL, "gid is multicast", pmv_neigh_set(n.dev, &multicast, mac));
	REFUSED(-EINVAL, "gid is unspecified", pmv_neigh_set(n.dev, &none, mac));
	REFUSED(-EINVAL, "gid is the broad", pmv_neigh_set(n.dev, &broadcast, mac));
	REFUSED(-EINVAL, "or a loopback", pmv_neigh_set(n.dev, &loopback6, mac));
	REFUSED(-EINVAL, "mac is multicast", pmv_neigh_set(n.dev, &other, mac_multicast));
	REFUSED(-EINVAL, "mac is all-zero", pmv_neigh_set(n.dev, &other, mac_zero));
	REFUSED(-EINVAL, "text", pmv_ip_addr_parse(NULL, &parsed));
	REFUSED(-EINVAL, "ret_addr", pmv_ip_addr_parse("10.0.0.1", NULL));
	REFUSED(-EINVAL, "text \"10.0.0\"", pmv_ip_addr_parse("10.0.0", &parsed));
	REFUSED(-EINVAL, "text", pmv_ip_addr_parse("10.0.0.1/33", &parsed));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__memory(void **state)
{
	uint8_t *last = (uint8_t *)UINTPTR_MAX;
	struct pmv_mr_attr attr;
	struct pmv_pd *pd = NULL;
	struct pmv_mr *mr = NULL;

	REFUSED(-EINVAL, "device", pmv_alloc_pd(NULL, &pd));
	REFUSED(-EINVAL, "ret_pd", pmv_alloc_pd(n.dev, NULL));
	REFUSED(-EINVAL, "pd", pmv_dealloc_pd(NULL));
	REFUSED(-EINVAL, "pd", pmv_reg_mr(NULL, memory, 1, 0, &mr));
	REFUSED(-EINVAL, "ret_mr", pmv_reg_mr(n.pd, memory, 1, 0, NULL));
	REFUSED(-EINVAL, "length", pmv_reg_mr(n.pd, memory, 0, 0, &mr));
	REFUSED(-EINVAL, "length", pmv_reg_mr(n.pd, memory, (1ull << 48) + 1, 0, &mr));
	REFUSED(-EINVAL, "addr", pmv_reg_mr(n.pd, last, 2, 0, &mr));
	REFUSED(-EINVAL, "access", pmv_reg_mr(n.pd, memory, 1, 1 << 5, &mr));
	REFUSED(-EINVAL, "access", pmv_reg_mr(n.pd, memory, 1, PMV_ACCESS_REMOTE_WRITE, &mr));
	REFUSED(-EINVAL, "iova", pmv_reg_mr_iova(n.pd, memory, 2, UINT64_MAX, 0, &mr));
	fake.mr_reg = -ENOSPC;
	REFUSED(-ENOSPC, "mr_max", pmv_reg_mr(n.pd, memory, 1, 0, &mr));
	fake.mr_reg = 0;
	assert_null(mr);
	assert_int_equal(pmv_reg_mr(n.pd, memory, 1, 0, &mr), 0);
	REFUSED(-EBUSY, "pd", pmv_dealloc_pd(n.pd));
	REFUSED(-EINVAL, "mr", pmv_query_mr(NULL, &attr));
	REFUSED(-EINVAL, "ret_attr", pmv_query_mr(mr, NULL));
	REFUSED(-EINVAL, "mr", pmv_dereg_mr(NULL));
	assert_int_equal(pmv_dereg_mr(mr), 0);
	/* no errno, but the same line */
	REFUSED(1, "bytes", pmv_buf_alloc(0, -1) == NULL);
	REFUSED(1, "socket_id", pmv_buf_alloc(1, 999) == NULL);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__keys(void **state)
{
	struct pmv_mr *mr = NULL, *busy;
	struct pmv_mw *mw = NULL;
	void *page = memory;

	REFUSED(-EINVAL, "pd", pmv_alloc_mr(NULL, 1, 4096, &mr));
	REFUSED(-EINVAL, "ret_mr", pmv_alloc_mr(n.pd, 1, 4096, NULL));
	REFUSED(-EINVAL, "max_pages 0 is not 1..256", pmv_alloc_mr(n.pd, 0, 4096, &mr));
	REFUSED(-EINVAL, "max_pages 257", pmv_alloc_mr(n.pd, 257, 4096, &mr));
	REFUSED(-EINVAL, "page_bytes 2048", pmv_alloc_mr(n.pd, 1, 2048, &mr));
	REFUSED(-EINVAL, "page_bytes 5000", pmv_alloc_mr(n.pd, 1, 5000, &mr));
	REFUSED(-EINVAL, "page_bytes 2147483648", pmv_alloc_mr(n.pd, 1, 1u << 31, &mr));
	fake.mr_reg = -ENOSPC;
	REFUSED(-ENOSPC, "mr_max", pmv_alloc_mr(n.pd, 1, 4096, &mr));
	fake.mr_reg = -ENOMEM;
	REFUSED(-ENOMEM, "memory", pmv_alloc_mr(n.pd, 1, 4096, &mr));
	fake.mr_reg = 0;
	assert_null(mr);
	assert_int_equal(pmv_alloc_mr(n.pd, 1, 4096, &mr), 0);
	REFUSED(-EINVAL, "mr", pmv_map_mr(NULL, &page, 1, 0, 1));
	REFUSED(-EINVAL, "pages", pmv_map_mr(mr, NULL, 1, 0, 1));
	fake.mr_map = -EINVAL;
	REFUSED(-EINVAL, "mr", pmv_map_mr(mr, &page, 1, 0, 1));
	fake.mr_map = 0;
	assert_int_equal(pmv_map_mr(mr, &page, 1, 0, 1), 0);
	assert_int_equal(pmv_dereg_mr(mr), 0);
	REFUSED(-EINVAL, "pd", pmv_alloc_mw(NULL, PMV_MW_TYPE_1, &mw));
	REFUSED(-EINVAL, "ret_mw", pmv_alloc_mw(n.pd, PMV_MW_TYPE_1, NULL));
	REFUSED(-EINVAL, "type 3", pmv_alloc_mw(n.pd, (enum pmv_mw_type)3, &mw));
	REFUSED(-EINVAL, "mw", pmv_dealloc_mw(NULL));
	fake.mw_alloc = -ENOSPC;
	REFUSED(-ENOSPC, "max_mw", pmv_alloc_mw(n.pd, PMV_MW_TYPE_1, &mw));
	fake.mw_alloc = -ENOMEM;
	REFUSED(-ENOMEM, "memory", pmv_alloc_mw(n.pd, PMV_MW_TYPE_1, &mw));
	fake.mw_alloc = 0;
	assert_null(mw);
	assert_int_equal(pmv_alloc_mw(n.pd, PMV_MW_TYPE_2, &mw), 0);
	REFUSED(-EBUSY, "windows", pmv_dealloc_pd(n.pd));
	assert_int_equal(pmv_mw_rkey(mw), 0x7700);
	assert_int_equal(pmv_inc_rkey(0x123456ff), 0x12345600);
	assert_int_equal(pmv_dealloc_mw(mw), 0);
	assert_int_equal(pmv_reg_mr(n.pd, memory, 1, 0, &busy), 0);
	fake.mr_kill = -EBUSY;
	REFUSED(-EBUSY, "windows", pmv_dereg_mr(busy));
	fake.mr_kill = 0;
	assert_int_equal(pmv_dereg_mr(busy), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__cq(void **state)
{
	struct pmv_cq_attr attr;
	struct pmv_cq *cq = NULL;
	struct pmv_qp *qp;

	REFUSED(-EINVAL, "worker", pmv_create_cq(NULL, 1, NULL, &cq));
	REFUSED(-EINVAL, "ret_cq", pmv_create_cq(n.worker[0], 1, NULL, NULL));
	REFUSED(-EINVAL, "cqe 0 is not 1..4096", pmv_create_cq(n.worker[0], 0, NULL, &cq));
	REFUSED(-EINVAL, "cqe 4097", pmv_create_cq(n.worker[0], 4097, NULL, &cq));
	fake.cq_create = -EIO; /* the errno's own text, not "no memory" */
	REFUSED(-EIO, "Input/output", pmv_create_cq(n.worker[0], 1, NULL, &cq));
	fake.cq_create = 0;
	assert_null(cq);
	REFUSED(-EINVAL, "cq", pmv_query_cq(NULL, &attr));
	REFUSED(-EINVAL, "ret_attr", pmv_query_cq(n.cq[0], NULL));
	REFUSED(-EINVAL, "cq", pmv_destroy_cq(NULL));
	qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	REFUSED(-EBUSY, "cq", pmv_destroy_cq(n.cq[0]));
	assert_int_equal(pmv_destroy_qp(qp), 0);
	lend(n.worker[0]);
	REFUSED(-EPERM, "another thread", pmv_destroy_cq(n.cq[0]));
	take_back(n.worker[0]);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__ah(void **state)
{
	struct pmv_ah_attr good = { .dgid = fake_gid("10.0.0.9"), .has_dmac = true, .dmac = { 2 } };
	struct pmv_wc wc = { .wc_flags = PMV_WC_GRH };
	uint8_t grh[40] = { 0x60 };
	struct pmv_ah *ah = NULL;

#define ROW(field, value, error, word)                                                             \
	REFUSED_WITH(good, field, value, error, word, pmv_create_ah(n.pd, &bad, &ah))
	ROW(sgid_index, 2, -EINVAL, "sgid_index");
	ROW(sgid_index, 1, -EINVAL, "sgid_index and dgid");
	ROW(dgid, fake_gid("0.0.0.0"), -EINVAL, "dgid");
	ROW(flow_label, 1 << 20, -EINVAL, "flow_label");
	ROW(dmac[0], 1, -EINVAL, "dmac");
	ROW(dmac[0], 0, -EINVAL, "dmac");
	ROW(has_dmac, false, -EHOSTUNREACH, "dgid 10.0.0.9");
#undef ROW
	REFUSED(-EINVAL, "pd", pmv_create_ah(NULL, &good, &ah));
	REFUSED(-EINVAL, "attr", pmv_create_ah(n.pd, NULL, &ah));
	REFUSED(-EINVAL, "ret_ah", pmv_create_ah(n.pd, &good, NULL));
	fake.ah_init = -ENOTSUP;
	REFUSED(-ENOTSUP, "not supported", pmv_create_ah(n.pd, &good, &ah));
	fake.ah_init = 0;
	REFUSED(-EINVAL, "pd", pmv_create_ah_from_wc(NULL, &wc, grh, &ah));
	REFUSED(-EINVAL, "wc", pmv_create_ah_from_wc(n.pd, NULL, grh, &ah));
	REFUSED(-EINVAL, "grh", pmv_create_ah_from_wc(n.pd, &wc, NULL, &ah));
	REFUSED(-EINVAL, "ret_ah", pmv_create_ah_from_wc(n.pd, &wc, grh, NULL));
	REFUSED(-EINVAL, "grh", pmv_create_ah_from_wc(n.pd, &wc, grh, &ah)); /* to ::, not ours */
	grh[0] = 0x50;
	REFUSED(-EINVAL, "grh", pmv_create_ah_from_wc(n.pd, &wc, grh, &ah));
	wc.wc_flags = 0;
	REFUSED(-EINVAL, "wc", pmv_create_ah_from_wc(n.pd, &wc, grh, &ah));
	assert_null(ah);
	REFUSED(-EINVAL, "ah", pmv_destroy_ah(NULL));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__create_qp(void **state)
{
	struct pmv_qp_init_attr good = {
		.send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct pmv_qp_init_attr attr = good;
	struct pmv_qp *qp = NULL;

#define ROW(field, value, error, word)                                                             \
	REFUSED_WITH(good, field, value, error, word, pmv_create_qp(n.pd, n.worker[0], &bad, &qp))
	ROW(send_cq, NULL, -EINVAL, "send_cq");
	ROW(recv_cq, NULL, -EINVAL, "recv_cq");
	ROW(send_cq, n.cq[1], -EINVAL, "send_cq");
	ROW(recv_cq, n.cq[1], -EINVAL, "recv_cq");
	ROW(qp_type, (enum pmv_qp_type)5, -ENOTSUP, "qp_type");
	ROW(cap.max_send_wr, 0, -EINVAL, "max_send_wr");
	ROW(cap.max_send_wr, 1025, -EINVAL, "max_send_wr");
	ROW(cap.max_recv_wr, 1025, -EINVAL, "max_recv_wr");
	ROW(cap.max_send_sge, 0, -EINVAL, "max_send_sge");
	ROW(cap.max_send_sge, 9, -EINVAL, "max_send_sge");
	ROW(cap.max_recv_sge, 0, -EINVAL, "max_recv_sge");
	ROW(cap.max_recv_sge, 9, -EINVAL, "max_recv_sge");
	ROW(cap.max_inline_data, 257, -EINVAL, "max_inline_data");
#undef ROW
	REFUSED(-EINVAL, "pd", pmv_create_qp(NULL, n.worker[0], &attr, &qp));
	REFUSED(-EINVAL, "worker", pmv_create_qp(n.pd, NULL, &attr, &qp));
	REFUSED(-EINVAL, "attr", pmv_create_qp(n.pd, n.worker[0], NULL, &qp));
	REFUSED(-EINVAL, "ret_qp", pmv_create_qp(n.pd, n.worker[0], &attr, NULL));
	fake.qp_create = -ENOSPC;
	REFUSED(-ENOSPC, "worker 0", pmv_create_qp(n.pd, n.worker[0], &attr, &qp));
	fake.qp_create = 0;
	assert_null(qp);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__modify_qp(void **state)
{
	struct pmv_qp_attr good = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	struct pmv_op op = { 0 };
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);

#define ROW(field, value, mask, word)                                                              \
	do {                                                                                       \
		REFUSED_WITH(good, field, value, -EINVAL, word, pmv_modify_qp(qp, &bad, mask));    \
		REFUSED_WITH(good, field, value, -EINVAL, word,                                    \
			pmv_modify_qp_submit(qp, &bad, mask, &op));                                \
	} while (0)
	ROW(qp_state, PMV_QPS_RTS, PMV_QP_STATE, "qp_state");
	ROW(qp_state, (enum pmv_qp_state)77, PMV_QP_STATE, "qp_state");
	ROW(cur_qp_state, PMV_QPS_RTS, TO_INIT | PMV_QP_CUR_STATE, "cur_qp_state");
	ROW(port_num, 1, TO_INIT & ~(uint32_t)PMV_QP_PORT, "port_num is missing");
	ROW(port_num, 1, TO_INIT | PMV_QP_SQ_PSN, "sq_psn is not allowed");
	ROW(port_num, 2, TO_INIT, "port_num");
	ROW(pkey_index, 1, TO_INIT, "pkey_index");
	ROW(qp_access_flags, 1u << 5, TO_INIT, "qp_access_flags");
#undef ROW
	REFUSED(-EINVAL, "qp", pmv_modify_qp(NULL, &good, TO_INIT));
	REFUSED(-EINVAL, "attr", pmv_modify_qp(qp, NULL, TO_INIT));
	REFUSED(-EINVAL, "qp", pmv_modify_qp_submit(NULL, &good, TO_INIT, &op));
	REFUSED(-EINVAL, "attr", pmv_modify_qp_submit(qp, NULL, TO_INIT, &op));
	REFUSED(-EINVAL, "op", pmv_modify_qp_submit(qp, &good, TO_INIT, NULL));
	op.state = PMV_LCORE_OP_SUBMITTED;
	REFUSED(-EINVAL, "op is in use", pmv_modify_qp_submit(qp, &good, TO_INIT, &op));
	REFUSED(-EINVAL, "op is in use", pmv_destroy_qp_submit(qp, &op));
	op.state = PMV_LCORE_OP_IDLE;
	fake.modify_commit = -EBUSY;
	REFUSED(-EBUSY, "max_dest_rd_atomic", pmv_modify_qp(qp, &good, TO_INIT));
	fake.modify_commit = 0;
	lend(n.worker[0]);
	REFUSED(-EPERM, "another thread", pmv_modify_qp(qp, &good, TO_INIT));
	take_back(n.worker[0]);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* What a QP needs on its way to RTR and RTS. */
static void
arguments__modify_qp_to_rts(void **state)
{
	const uint32_t to_rtr = PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER;
	const uint32_t to_rts = PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT |
				PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC;
	struct pmv_qp_attr good = { .qp_state = PMV_QPS_RTR,
		.path_mtu = PMV_MTU_1024,
		.ah_attr = { .dgid = fake_gid("10.0.0.9"), .has_dmac = true, .dmac = { 2 } } };
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);

	fake_move_qp(qp, PMV_QPS_INIT);
#define ROW(field, value, mask, error, word)                                                       \
	REFUSED_WITH(good, field, value, error, word, pmv_modify_qp(qp, &bad, mask))
	ROW(path_mtu, (enum pmv_mtu)6, to_rtr, -EINVAL, "path_mtu");
	ROW(path_mtu, PMV_MTU_2048, to_rtr, -EINVAL, "path_mtu");
	ROW(dest_qp_num, 1 << 24, to_rtr, -EINVAL, "dest_qp_num");
	ROW(rq_psn, 1 << 24, to_rtr, -EINVAL, "rq_psn");
	ROW(max_dest_rd_atomic, 17, to_rtr, -EINVAL, "max_dest_rd_atomic");
	ROW(min_rnr_timer, 32, to_rtr, -EINVAL, "min_rnr_timer");
	ROW(ah_attr.dgid, fake_gid("239.0.0.1"), to_rtr, -EINVAL, "dgid");
	ROW(ah_attr.sgid_index, 7, to_rtr, -EINVAL, "sgid_index");
	ROW(ah_attr.has_dmac, false, to_rtr, -EHOSTUNREACH, "dgid 10.0.0.9");
	assert_int_equal(pmv_modify_qp(qp, &good, to_rtr), 0);
	good.qp_state = PMV_QPS_RTS;
	ROW(sq_psn, 1 << 24, to_rts, -EINVAL, "sq_psn");
	ROW(timeout, 32, to_rts, -EINVAL, "timeout");
	ROW(retry_cnt, 8, to_rts, -EINVAL, "retry_cnt");
	ROW(rnr_retry, 8, to_rts, -EINVAL, "rnr_retry");
	ROW(max_rd_atomic, 17, to_rts, -EINVAL, "max_rd_atomic");
#undef ROW
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__qp(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_stats stats;
	struct pmv_qp_attr attr;
	struct pmv_op op = { 0 };

	REFUSED(-EINVAL, "qp", pmv_query_qp(NULL, &attr, NULL));
	REFUSED(-EINVAL, "ret_attr", pmv_query_qp(qp, NULL, NULL));
	REFUSED(-EINVAL, "qp", pmv_qp_get_stats(NULL, &stats));
	REFUSED(-EINVAL, "ret_stats", pmv_qp_get_stats(qp, NULL));
	REFUSED(-EINVAL, "qp", pmv_destroy_qp(NULL));
	REFUSED(-EINVAL, "qp", pmv_destroy_qp_submit(NULL, &op));
	REFUSED(-EINVAL, "op", pmv_destroy_qp_submit(qp, NULL));
	lend(n.worker[0]);
	REFUSED(-EPERM, "another thread", pmv_query_qp(qp, &attr, NULL));
	REFUSED(-EPERM, "another thread", pmv_destroy_qp(qp));
	take_back(n.worker[0]);
	qp->held = true;
	REFUSED(-EBUSY, "qp", pmv_destroy_qp(qp));
	REFUSED(-EBUSY, "qp", pmv_destroy_qp_submit(qp, &op));
	qp->held = false;
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__worker(void **state)
{
	struct rte_mempool *small = rte_pktmbuf_pool_create("small", 63, 0, 0, 1024, SOCKET_ID_ANY);
	struct pmv_worker_param good = {
		.rx_queue = 1, .tx_queue = 1, .socket_id = -1, .pool = n.link->pool
	};
	struct pmv_worker *w = NULL;

	assert_non_null(small);
	REFUSED(-EINVAL, "device", pmv_worker_create(NULL, &good, &w));
	REFUSED(-EINVAL, "param", pmv_worker_create(n.dev, NULL, &w));
	REFUSED(-EINVAL, "ret_worker", pmv_worker_create(n.dev, &good, NULL));
	REFUSED(-ENOSPC, "2 workers", pmv_worker_create(n.dev, &good, &w));
	REFUSED(-EINVAL, "worker", pmv_worker_destroy(NULL));
	REFUSED(-EBUSY, "worker 1", pmv_worker_destroy(n.worker[1]));
	assert_int_equal(pmv_destroy_cq(n.cq[1]), 0);
	assert_int_equal(pmv_worker_attach(n.worker[1]), 0);
	REFUSED(-EBUSY, "worker 1", pmv_worker_destroy(n.worker[1]));
	REFUSED(-EBUSY, "worker 1", pmv_worker_attach(n.worker[1]));
	assert_int_equal(pmv_worker_detach(n.worker[1]), 0);
	REFUSED(-EINVAL, "worker", pmv_worker_attach(NULL));
	REFUSED(-EINVAL, "worker", pmv_worker_detach(NULL));
	REFUSED(-EPERM, "worker 1", pmv_worker_detach(n.worker[1]));
	assert_int_equal(pmv_worker_destroy(n.worker[1]), 0);
	n.nb_workers = 1;
#define ROW(field, value, word)                                                                    \
	REFUSED_WITH(good, field, value, -EINVAL, word, pmv_worker_create(n.dev, &bad, &w))
	ROW(rx_queue, 2, "rx_queue");
	ROW(tx_queue, 2, "tx_queue");
	ROW(rx_queue, 0, "rx_queue: another");
	ROW(tx_queue, 0, "tx_queue: another");
	ROW(qp_max, 65537, "qp_max");
	ROW(pool, NULL, "pool");
	ROW(pool, small, "pool");
#undef ROW
	assert_null(w);
	rte_mempool_free(small);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
arguments__fault(void **state)
{
	struct pmv_fault_rule good = {
		.dirs = PMV_FAULT_RX, .probability = 1, .opcode = -1, .qpn = -1, .cm_attr = -1
	};
	struct pmv_fault_counts counts;

#define ROW(field, value, word)                                                                    \
	REFUSED_WITH(good, field, value, -EINVAL, word, pmv_fault_add(n.worker[0], &bad, 1))
	ROW(action, (enum pmv_fault_action)5, "action");
	ROW(action, PMV_FAULT_DELAY, "delay_us");
	ROW(dirs, 0, "dirs");
	ROW(dirs, 4, "dirs");
	ROW(probability, 1.5, "probability");
	ROW(opcode, 256, "opcode");
	ROW(qpn, 1 << 24, "qpn");
	ROW(cm_attr, -2, "cm_attr");
#undef ROW
	REFUSED(-EINVAL, "worker", pmv_fault_add(NULL, &good, 1));
	REFUSED(-EINVAL, "rule", pmv_fault_add(n.worker[0], NULL, 1));
	REFUSED(-EINVAL, "worker", pmv_fault_clear(NULL));
	REFUSED(-EINVAL, "worker", pmv_fault_query(NULL, &counts));
	REFUSED(-EINVAL, "ret_counts", pmv_fault_query(n.worker[0], NULL));
	fake.fault_add = -ENOSPC;
	REFUSED(-ENOSPC, "worker", pmv_fault_add(n.worker[0], &good, 1));
	lend(n.worker[0]);
	REFUSED(-EPERM, "worker 0", pmv_fault_add(n.worker[0], &good, 1));
	REFUSED(-EPERM, "worker 0", pmv_fault_clear(n.worker[0]));
	REFUSED(-EPERM, "worker 0", pmv_fault_query(n.worker[0], &counts));
	take_back(n.worker[0]);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* Calls that belong into a loop: an errno, and no word. */
static void
arguments__polled_calls_are_silent(void **state)
{
	struct pmv_event event;

	REFUSED(-EINVAL, NULL, pmv_worker_get_event(NULL, &event));
	REFUSED(-EINVAL, NULL, pmv_worker_get_event(n.worker[0], NULL));
	REFUSED(-EINVAL, NULL, pmv_poll_async_event(NULL, &event));
	REFUSED(-EINVAL, NULL, pmv_poll_async_event(n.dev, NULL));
	REFUSED(-EINVAL, NULL, pmv_op_poll(NULL));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* A driver that has told the cause is not repeated; one that has not is told for. */
static void
arguments__a_driver_that_tells_is_not_repeated(void **state)
{
	const struct pmv_device_param dp = {
		.driver = "fake", .port_id = n.link->end[1].port_id, .nb_workers = 1
	};
	const struct pmv_worker_param wp = {
		.rx_queue = 1, .tx_queue = 1, .socket_id = -1, .pool = n.link->pool
	};
	const struct pmv_ah_attr ah_attr = {
		.dgid = fake_gid("10.0.0.9"), .has_dmac = true, .dmac = { 2 }
	};
	const struct pmv_qp_attr to_init = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	struct pmv_qp_init_attr init = { .send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { 1, 1, 1, 1, 0 } };
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC), *new_qp;
	struct pmv_worker *w;
	struct pmv_device *dev;
	struct pmv_ah *ah;
	struct pmv_cq *cq;
	struct pmv_mr *mr;

	assert_int_equal(pmv_destroy_cq(n.cq[1]), 0);
	assert_int_equal(pmv_worker_destroy(n.worker[1]), 0);
	n.nb_workers = 1;
	fake.device_init = fake.worker_init = fake.mr_reg = fake.ah_init = fake.cq_create = -EIO;
	fake.qp_create = fake.modify_prepare = fake.fault_add = -EIO;
	for (int tells = 0; tells < 2; tells++) {
		const char *word = tells ? "the driver knows" : "Input/output";

		fake.tells = tells;
		assert_refused(pmv_device_open(&dp, &dev), -EIO, word);
		assert_refused(pmv_worker_create(n.dev, &wp, &w), -EIO, word);
		assert_refused(pmv_reg_mr(n.pd, memory, 1, 0, &mr), -EIO, word);
		assert_refused(pmv_create_ah(n.pd, &ah_attr, &ah), -EIO, word);
		assert_refused(pmv_create_cq(n.worker[0], 1, NULL, &cq), -EIO, word);
		assert_refused(pmv_create_qp(n.pd, n.worker[0], &init, &new_qp), -EIO, word);
		assert_refused(pmv_modify_qp(qp, &to_init, TO_INIT), -EIO, word);
		assert_refused(pmv_fault_add(n.worker[0],
				       &(struct pmv_fault_rule){
					       .dirs = 1, .opcode = -1, .qpn = -1, .cm_attr = -1 },
				       1),
			-EIO, word);
	}
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(arguments__device),
		T(arguments__address),
		T(arguments__memory),
		T(arguments__keys),
		T(arguments__cq),
		T(arguments__ah),
		T(arguments__create_qp),
		T(arguments__modify_qp),
		T(arguments__modify_qp_to_rts),
		T(arguments__qp),
		T(arguments__worker),
		T(arguments__fault),
		T(arguments__polled_calls_are_silent),
		T(arguments__a_driver_that_tells_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
