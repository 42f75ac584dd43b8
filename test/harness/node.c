// SPDX-License-Identifier: BSD-3-Clause
#include "test/harness/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>

static void
add_addr(struct pmv_device *dev, const char *text)
{
	struct pmv_ip_addr addr;

	assert_int_equal(pmv_ip_addr_parse(text, &addr), 0);
	assert_int_equal(pmv_device_add_addr(dev, &addr), 0);
}

static void
open_node(struct pmv_test_pair *pair, int side, const struct pmv_test_pair_param *p)
{
	static const char *const addrs[2][2] = { { "192.168.10.1/24", "fd00::1/64" },
		{ "192.168.10.2/24", "fd00::2/64" } };
	struct pmv_test_node *n = &pair->node[side];
	const struct pmv_device_param dp = { .driver = "roce",
		.port_id = pair->link->end[side].port_id,
		.nb_workers = p->nb_workers,
		.ip_mtu = p->ip_mtu,
		.vlan_id = p->vlan_id,
		.ownership = p->ownership,
		.window_pkts = p->window_pkts,
		.attach_bytes_min = 1024,
		.seed = p->seed + (uint64_t)side };

	assert_int_equal(pmv_device_open(&dp, &n->dev), 0);
	add_addr(n->dev, addrs[side][0]);
	add_addr(n->dev, addrs[side][1]);
	assert_int_equal(pmv_alloc_pd(n->dev, &n->pd), 0);
	n->nb_workers = p->nb_workers;
	for (uint16_t i = 0; i < n->nb_workers; i++) {
		const struct pmv_worker_param wp = { .rx_queue = i,
			.tx_queue = i,
			.socket_id = -1,
			.qp_max = 256,
			.pool = pair->link->pool };

		assert_int_equal(pmv_worker_create(n->dev, &wp, &n->worker[i]), 0);
		assert_int_equal(pmv_worker_attach(n->worker[i]), 0);
		assert_int_equal(pmv_create_cq(n->worker[i], p->cqe, NULL, &n->cq[i]), 0);
	}
}

static void
introduce(struct pmv_test_node *n, struct pmv_test_node *peer)
{
	struct pmv_device_attr attr;

	assert_int_equal(pmv_query_device(peer->dev, &attr), 0);
	for (uint16_t i = 0; i < attr.nb_gids; i++) {
		union pmv_gid gid;

		assert_int_equal(pmv_query_gid(peer->dev, i, &gid), 0);
		assert_int_equal(pmv_neigh_set(n->dev, &gid, attr.mac), 0);
	}
}

void
pmv_test_pair_open(struct pmv_test_pair *pair, const struct pmv_test_pair_param *param)
{
	struct pmv_test_pair_param p = *param;

	p.nb_workers = p.nb_workers == 0 ? 1 : p.nb_workers;
	p.ip_mtu = p.ip_mtu == 0 ? 4200 : p.ip_mtu;
	p.cqe = p.cqe == 0 ? 1024 : p.cqe;
	p.seed = p.seed == 0 ? 1 : p.seed;
	memset(pair, 0, sizeof(*pair));
	assert_int_equal(pmv_test_link_open(&pair->link, p.nb_workers, p.seed), 0);
	pair->now = 1000000 * pair->link->ticks_per_us;
	for (int side = 0; side < 2; side++)
		open_node(pair, side, &p);
	introduce(&pair->node[0], &pair->node[1]);
	introduce(&pair->node[1], &pair->node[0]);
}

static void
close_node(struct pmv_test_node *n)
{
	for (uint16_t i = 0; i < n->nb_workers; i++) {
		assert_int_equal(pmv_destroy_cq(n->cq[i]), 0);
		assert_int_equal(pmv_worker_detach(n->worker[i]), 0);
		assert_int_equal(pmv_worker_destroy(n->worker[i]), 0);
	}
	assert_int_equal(pmv_dealloc_pd(n->pd), 0);
	assert_int_equal(pmv_device_close(n->dev), 0);
}

void
pmv_test_pair_close(struct pmv_test_pair *pair)
{
	pmv_test_pair_run(pair, 500, 50); /* what is staged or under way gets out of the workers */
	close_node(&pair->node[0]);
	close_node(&pair->node[1]);
	assert_int_equal(pmv_test_link_close(pair->link), 0);
}

void
pmv_test_pair_run(struct pmv_test_pair *pair, uint64_t us, uint32_t step_us)
{
	uint64_t end = pair->now + us * pair->link->ticks_per_us;

	while (pair->now < end) {
		pair->now += step_us * pair->link->ticks_per_us;
		for (int side = 0; side < 2; side++)
			for (uint16_t i = 0; i < pair->node[side].nb_workers; i++)
				pmv_worker_poll_at(pair->node[side].worker[i], pair->now);
		if (pair->extra != NULL)
			pair->extra(pair->extra_arg, pair->now);
		pmv_test_link_step(pair->link, pair->now);
	}
}

struct pmv_qp *
pmv_test_qp_create(struct pmv_test_node *node, uint16_t w, enum pmv_qp_type type)
{
	struct pmv_qp_init_attr init = { .send_cq = node->cq[w],
		.recv_cq = node->cq[w],
		.qp_type = type,
		.cap = { .max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64 } };
	struct pmv_qp *qp;

	assert_int_equal(pmv_create_qp(node->pd, node->worker[w], &init, &qp), 0);
	return qp;
}

void
pmv_test_qp_ud_rts(struct pmv_qp *qp, uint32_t qkey, uint32_t sq_psn)
{
	struct pmv_qp_attr a = {
		.qp_state = PMV_QPS_INIT, .port_num = 1, .qkey = qkey, .sq_psn = sq_psn
	};

	assert_int_equal(
		pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_QKEY),
		0);
	a.qp_state = PMV_QPS_RTR;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
	a.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_SQ_PSN), 0);
}

/* What UC does not have. */
#define RC_RTR (PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER)
#define RC_RTS (PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC)

static void
move_qp(struct pmv_test_pair *pair, int side, struct pmv_qp *qp, const struct pmv_qp *peer,
	struct pmv_qp_attr *a)
{
	bool is_rc = pmv_qp_get_type(qp) == PMV_QPT_RC;
	union pmv_gid dgid;

	a->ah_attr.sgid_index = a->ah_attr.sgid_index & 1;
	assert_int_equal(pmv_query_gid(pair->node[!side].dev, a->ah_attr.sgid_index, &dgid), 0);
	a->ah_attr.dgid = dgid;
	a->dest_qp_num = pmv_qp_num(peer);
	a->qp_state = PMV_QPS_INIT;
	assert_int_equal(
		pmv_modify_qp(qp, a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	a->qp_state = PMV_QPS_RTR;
	assert_int_equal(pmv_modify_qp(qp, a,
				 PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
					 PMV_QP_RQ_PSN | (is_rc ? RC_RTR : 0) |
					 (a->ece.vendor_id != 0 ? PMV_QP_ECE : 0)),
		0);
	a->qp_state = PMV_QPS_RTS;
	assert_int_equal(
		pmv_modify_qp(qp, a, PMV_QP_STATE | PMV_QP_SQ_PSN | (is_rc ? RC_RTS : 0)), 0);
}

void
pmv_test_qp_connect(struct pmv_test_pair *pair, struct pmv_qp *a, struct pmv_qp *b, bool is_v6,
	enum pmv_mtu mtu, void (*tune)(int side, struct pmv_qp_attr *attr))
{
	static const uint32_t psn[2] = { 0xfffff8, 0x123456 }; /* one side wraps early */

	for (int side = 0; side < 2; side++) {
		struct pmv_qp_attr attr = { .path_mtu = mtu,
			.port_num = 1,
			.rq_psn = psn[!side],
			.sq_psn = psn[side],
			.qp_access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
			.max_rd_atomic = 4,
			.max_dest_rd_atomic = 4,
			.min_rnr_timer = 12,
			.timeout = 12,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.ah_attr = { .sgid_index = is_v6 } };

		if (tune != NULL)
			tune(side, &attr);
		move_qp(pair, side, side == 0 ? a : b, side == 0 ? b : a, &attr);
	}
}
