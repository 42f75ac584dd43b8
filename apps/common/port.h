// SPDX-License-Identifier: BSD-3-Clause
/*
 * A DPDK port set up for RoCE, with its frame pools. Called by main's thread while it sets up and
 * takes down; the library polls the queues in between. It knows nothing of verbs but
 * pmv_port_check().
 */
#ifndef PMV_APPS_COMMON_PORT_H
#define PMV_APPS_COMMON_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <pmverbs/pmv.h>

struct rte_mempool;

struct pmv_app_port {
	uint16_t port_id;
	uint16_t nb_queues;
	int socket_id; /* NUMA node of the port, or SOCKET_ID_ANY */
	bool is_open;  /* configured by us, so ours to close */
	bool is_started;
	struct rte_mempool *pools[PMV_WORKERS_MAX]; /* one a queue pair, on the port's node */
};

struct pmv_app_port_param {
	const char *port;   /* number or name; NULL: the first one */
	uint16_t nb_queues; /* queue pairs, 1..PMV_WORKERS_MAX */
	uint16_t ip_mtu;    /* bytes, 0: leave the port's default */
	uint32_t nb_mbufs;  /* frames in a pool */
};

/*
 * Finds, configures and starts a port, and checks that it suits the library. @return 0; a negative
 * errno after it has said why; then nothing is left open.
 */
int pmv_app_port_open(const struct pmv_app_port_param *param, struct pmv_app_port *ret_port);
/*
 * Stops and closes it and frees the pools. Legal on a zeroed or closed port. @return 0; -EBUSY
 * after it has said so: frames of the pools are not back, somebody may still hold them, and so the
 * pools stay.
 */
int pmv_app_port_close(struct pmv_app_port *port);

#endif
