// SPDX-License-Identifier: BSD-3-Clause
/*
 * A whole node on one end of a virtual link: device, workers, PD, and one CQ a worker; and a pair
 * of nodes stepped together under one virtual clock. The real driver and the real library run in
 * them.
 */
#ifndef PMV_TEST_NODE_H
#define PMV_TEST_NODE_H

#include "lib/api/pmv.h"
#include "test/harness/link.h"

struct pmv_test_node {
	struct pmv_device *dev;
	struct pmv_worker *worker[PMV_TEST_LINK_QUEUES];
	struct pmv_pd *pd;
	struct pmv_cq *cq[PMV_TEST_LINK_QUEUES];
	uint16_t nb_workers;
};

struct pmv_test_pair {
	struct pmv_test_link *link;
	struct pmv_test_node node[2];
	uint64_t now;
	void (*extra)(void *arg, uint64_t now); /* polled with the nodes: connection managers */
	void *extra_arg;
};

struct pmv_test_pair_param {
	uint16_t nb_workers;  /* 0 = 1 */
	uint16_t ip_mtu;      /* 0 = 4200 */
	uint32_t window_pkts; /* 0 = default */
	uint16_t vlan_id;
	enum pmv_addr_ownership ownership;
	uint32_t cqe; /* 0 = 1024 */
	uint64_t seed;
};

/* Addresses 192.168.10.1 and fd00::1 on node 0, .2 and ::2 on node 1; each knows the other's MAC.
 * Asserts on failure. */
void pmv_test_pair_open(struct pmv_test_pair *pair, const struct pmv_test_pair_param *param);

/* Destroys everything and asserts that every mbuf came home. QPs, MRs and CM ids must be gone. */
void pmv_test_pair_close(struct pmv_test_pair *pair);

/* Advances the clock by `us` microseconds in steps of at most `step_us`, polling everything at
 * each. */
void pmv_test_pair_run(struct pmv_test_pair *pair, uint64_t us, uint32_t step_us);

/* A modest QP of a node on worker `w`, in RESET. */
struct pmv_qp *pmv_test_qp_create(struct pmv_test_node *node, uint16_t w, enum pmv_qp_type type);

/* Moves a UD QP from RESET to RTS; its first datagram has PSN sq_psn. */
void pmv_test_qp_ud_rts(struct pmv_qp *qp, uint32_t qkey, uint32_t sq_psn);

/* Moves QP a (of node 0), RC or UC, and b (of node 1) to RTS, connected to each other. `tune` may
 * change the attributes of side i. */
void pmv_test_qp_connect(struct pmv_test_pair *pair, struct pmv_qp *a, struct pmv_qp *b, bool is_v6,
	enum pmv_mtu mtu, void (*tune)(int side, struct pmv_qp_attr *attr));

#endif
