// SPDX-License-Identifier: BSD-3-Clause
/*
 * Making and destroying workers: arguments, memory on the right NUMA node, a place in the device.
 * Control threads. What a worker does afterwards is lib/lcore/worker.c.
 */
#include "lib/api/pmv_worker.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "lib/lcore/mailbox.h"
#include "lib/lcore/owner.h"
#include "lib/lcore/placement.h"
#include "lib/lcore/worker.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"

#define QP_MAX_DEFAULT 4096u
#define QP_MAX_MOST    65536u
/* Longest headers in front of the payload, with room to spare. */
#define DATA_ROOM_EXTRA 128u
/* Changed neighbours that may wait in the mailbox of a worker that is not polled, beside one
 * command per QP. */
#define NEIGH_RESERVE 256u

/* The queue that another worker has, or NULL. */
static const char *
taken_queue(const struct pmv_device *dev, const struct pmv_worker_param *p)
{
	const struct pmv_worker *w;
	uint32_t i;

	for (i = 0; i < dev->param.nb_workers; i++) {
		w = dev->workers[i];
		if (w == NULL)
			continue;
		if (w->tx_queue == p->tx_queue)
			return "tx_queue: another worker has it";
		if (!w->no_rx && !p->no_rx && w->rx_queue == p->rx_queue)
			return "rx_queue: another worker has it";
	}
	return NULL;
}

/* A sentence about the first argument that is wrong, or NULL. Under the lock. */
static const char *
param_problem(const struct pmv_device *dev, const struct pmv_worker_param *p)
{
	struct rte_eth_dev_info info;

	if (p->qp_max > QP_MAX_MOST)
		return "qp_max is above 65536";
	if (dev->driver->portless)
		return NULL;
	if (rte_eth_dev_info_get(dev->port_id, &info) != 0)
		return "port: it is gone";
	if (p->rx_queue >= info.nb_rx_queues && !p->no_rx)
		return "rx_queue: the port has no such queue";
	if (p->tx_queue >= info.nb_tx_queues)
		return "tx_queue: the port has no such queue";
	if (taken_queue(dev, p) != NULL)
		return taken_queue(dev, p);
	if (p->pool == NULL)
		return "pool is NULL";
	if (rte_pktmbuf_data_room_size(p->pool) <
		DATA_ROOM_EXTRA + dev->ip_mtu + RTE_PKTMBUF_HEADROOM)
		return "pool: its data room is below 128 + IP MTU + headroom";
	return NULL;
}

static int
free_index(const struct pmv_device *dev)
{
	int i;

	for (i = 0; i < dev->param.nb_workers; i++)
		if (dev->workers[i] == NULL)
			return i;
	return -ENOSPC;
}

static void
warn_placement(struct pmv_device *dev, const struct pmv_worker *w)
{
	pmv_lcore_placement_check(dev, PMV_LCORE_PLACEMENT_WORKER, w->socket_id);
	if (w->pool != NULL)
		pmv_lcore_placement_check(dev, PMV_LCORE_PLACEMENT_POOL, w->pool->socket_id);
}

/* Parameters are complete. Under the lock. */
static int
make(struct pmv_device *dev, const struct pmv_worker_param *p, uint16_t index,
	struct pmv_worker **ret_worker)
{
	const struct pmv_driver *driver = dev->driver;
	struct pmv_worker *w;
	int rc;

	w = rte_zmalloc_socket(
		"pmv_worker", driver->worker_bytes, RTE_CACHE_LINE_SIZE, p->socket_id);
	if (w == NULL)
		return -ENOMEM;
	w->device = dev;
	w->index = index;
	w->rx_queue = p->rx_queue;
	w->tx_queue = p->tx_queue;
	w->no_rx = p->no_rx;
	w->socket_id = p->socket_id;
	w->pool = p->pool;
	rc = pmv_lcore_worker_init(w, p->qp_max + NEIGH_RESERVE);
	if (rc < 0) {
		rte_free(w);
		return rc;
	}
	rc = driver->ops->worker_init(w, p);
	if (rc < 0) {
		pmv_lcore_worker_fini(w);
		rte_free(w);
		return rc;
	}
	__atomic_store_n(&dev->workers[index], w, __ATOMIC_RELEASE);
	dev->nb_workers_made++;
	warn_placement(dev, w);
	*ret_worker = w;
	return 0;
}

/* Under the lock. */
static int
create(struct pmv_device *dev, const struct pmv_worker_param *param, struct pmv_worker **ret_worker)
{
	struct pmv_worker_param p = *param;
	uint32_t mark = pmv_log_nb_errors;
	const char *problem;
	int index, rc;

	index = free_index(dev);
	if (index < 0)
		return pmv_log_refuse(index, "worker_create: device has all its %u workers",
			dev->param.nb_workers);
	problem = param_problem(dev, &p);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "worker_create: %s", problem);
	if (p.socket_id < 0)
		p.socket_id = dev->socket_id;
	p.qp_max = p.qp_max == 0 ? QP_MAX_DEFAULT : rte_align32pow2(p.qp_max);
	rc = make(dev, &p, (uint16_t)index, ret_worker);
	if (rc < 0)
		return pmv_log_refuse_since(
			mark, rc, "worker_create: port %u: %s", dev->port_id, strerror(-rc));
	return 0;
}

int
pmv_worker_create(struct pmv_device *dev, const struct pmv_worker_param *param,
	struct pmv_worker **ret_worker)
{
	int rc;

	if (PMV_ANY_NULL("worker_create", "device param ret_worker", dev, param, ret_worker))
		return -EINVAL;
	pmv_verbs_lock(dev);
	rc = create(dev, param, ret_worker);
	pmv_verbs_unlock(dev);
	return rc;
}

/* Under the lock. */
static int
destroy(struct pmv_worker *w)
{
	struct pmv_device *dev = w->device;

	if (w->nb_qps > 0 || w->nb_cqs > 0 || w->nb_srqs > 0)
		return pmv_log_refuse(-EBUSY,
			"worker_destroy: %u QPs, %u CQs and %u SRQs live on worker %u", w->nb_qps,
			w->nb_cqs, w->nb_srqs, w->index);
	/* The claim keeps others out until it is gone. */
	if (pmv_lcore_owner_claim(w) < 0)
		return pmv_log_refuse(-EBUSY, "worker_destroy: worker %u is attached", w->index);
	__atomic_store_n(&dev->workers[w->index], NULL, __ATOMIC_RELEASE);
	dev->nb_workers_made--;
	/* Commands need the driver, the driver's last frames need the counters. */
	pmv_lcore_mailbox_drain(w, UINT32_MAX);
	w->ops->worker_fini(w);
	pmv_lcore_worker_fini(w);
	rte_free(w);
	return 0;
}

int
pmv_worker_destroy(struct pmv_worker *w)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("worker_destroy", "worker", w))
		return -EINVAL;
	dev = w->device;
	pmv_verbs_lock(dev);
	rc = destroy(w);
	pmv_verbs_unlock(dev);
	return rc;
}
