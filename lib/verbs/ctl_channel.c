// SPDX-License-Identifier: BSD-3-Clause
/*
 * The connection manager's door to a device, see ctl_channel.h. Control threads.
 */
#include "lib/verbs/ctl_channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "lib/driver/pmv_driver.h"
#include "lib/lcore/exchange.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"

_Static_assert(
	PMV_VERBS_CTL_FRAMES == PMV_LCORE_EXCHANGE_CTL_SLOTS, "the same number, told to two rooms");

struct pmv_ctl_channel {
	struct pmv_device *device;
	struct rte_mempool *pool;
	uint16_t next_lane; /* where the next recv begins; control lcore */
};

/* The pool of a closed channel that still has frames out. */
struct retired {
	struct rte_mempool *pool;
	STAILQ_ENTRY(retired) next;
};

static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static STAILQ_HEAD(, retired) retired_pools = STAILQ_HEAD_INITIALIZER(retired_pools);

void
pmv_verbs_ctl_reap_pools(void)
{
	struct retired *r, *after;

	pthread_mutex_lock(&retired_lock);
	for (r = STAILQ_FIRST(&retired_pools); r != NULL; r = after) {
		after = STAILQ_NEXT(r, next);
		if (!rte_mempool_full(r->pool))
			continue;
		STAILQ_REMOVE(&retired_pools, r, retired, next);
		rte_mempool_free(r->pool);
		free(r);
	}
	pthread_mutex_unlock(&retired_lock);
}

/* Without a record the pool is kept for ever: better than under a frame that is still in a queue.
 */
static void
retire(struct rte_mempool *pool)
{
	struct retired *r = malloc(sizeof(*r));

	if (r != NULL) {
		r->pool = pool;
		pthread_mutex_lock(&retired_lock);
		STAILQ_INSERT_TAIL(&retired_pools, r, next);
		pthread_mutex_unlock(&retired_lock);
	}
	pmv_verbs_ctl_reap_pools();
}

static struct rte_mempool *
make_pool(const struct pmv_device *dev)
{
	static uint32_t serial;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "pmv_ctl_%u_%u", dev->port_id,
		__atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
	/* No cache: frames are made on the control lcore and freed on worker lcores, which would
	 * fill theirs. */
	return rte_pktmbuf_pool_create(name, PMV_VERBS_CTL_FRAMES - 1, 0, 0,
		RTE_PKTMBUF_HEADROOM + PMV_VERBS_CTL_FRAME_BYTES, dev->socket_id);
}

/* Frees what waits for the connection manager. Its side of the rings. */
static void
purge(struct pmv_ctl_channel *ch)
{
	struct rte_mbuf *m;
	uint16_t i;

	for (i = 0; i < ch->device->param.nb_workers; i++)
		while (pmv_lcore_exchange_ctl_recv(ch->device->exchange, i, &m, 1) == 1)
			rte_pktmbuf_free(m);
}

int
pmv_verbs_ctl_open(struct pmv_device *dev, struct pmv_ctl_channel **ret_channel)
{
	struct pmv_ctl_channel *ch;
	bool busy;

	if (dev->driver->ops->worker_ctl_send == NULL) {
		PMV_LOG(ERR, "device %s: its driver carries no connection manager", dev->ibdev);
		return -ENOTSUP;
	}
	ch = calloc(1, sizeof(*ch));
	if (ch == NULL)
		return -ENOMEM;
	ch->device = dev;
	pmv_verbs_ctl_reap_pools();
	ch->pool = make_pool(dev);
	if (ch->pool == NULL) {
		PMV_LOG(ERR, "port %u: no memory for control frames", dev->port_id);
		free(ch);
		return -ENOMEM;
	}
	pmv_verbs_lock(dev);
	busy = dev->ctl != NULL;
	if (!busy) {
		purge(ch); /* what came in the moment the last one left */
		__atomic_store_n(&dev->ctl, ch, __ATOMIC_RELEASE);
	}
	pmv_verbs_unlock(dev);
	if (busy) {
		rte_mempool_free(ch->pool);
		free(ch);
		return -EBUSY;
	}
	*ret_channel = ch;
	return 0;
}

void
pmv_verbs_ctl_close(struct pmv_ctl_channel *ch)
{
	struct pmv_device *dev = ch->device;

	pmv_verbs_lock(dev);
	/* Workers only look whether it is NULL. */
	__atomic_store_n(&dev->ctl, NULL, __ATOMIC_RELEASE);
	purge(ch);
	pmv_verbs_unlock(dev);
	retire(ch->pool);
	free(ch);
}

struct pmv_device *
pmv_verbs_ctl_device(const struct pmv_ctl_channel *ch)
{
	return ch->device;
}

void
pmv_verbs_ctl_facts(struct pmv_ctl_channel *ch, struct pmv_verbs_ctl_facts *f)
{
	struct pmv_device *dev = ch->device;
	struct pmv_device_attr attr;

	pmv_verbs_lock(dev);
	pmv_verbs_device_attr(dev, &attr);
	*f = (struct pmv_verbs_ctl_facts){
		.port_id = dev->port_id,
		.nb_workers = dev->param.nb_workers,
		.ip_mtu = dev->ip_mtu,
		.active_mtu = dev->active_mtu,
		.max_rd_atomic = attr.max_rd_atomic,
		.local_ack_delay = attr.local_ack_delay,
		.ece = attr.ece,
		.hop_limit = dev->param.hop_limit,
		.vlan_pcp = dev->param.vlan_pcp,
		.vlan_id = dev->param.vlan_id,
		.node_guid = dev->node_guid,
		.ticks_per_sec = dev->ticks_per_sec,
		.ownership = dev->param.ownership,
		.socket_id = dev->socket_id,
		.nb_addrs = dev->addrs.nb,
		.addr_version = __atomic_load_n(&dev->addr_version, __ATOMIC_RELAXED),
	};
	memcpy(f->mac, dev->mac.addr_bytes, sizeof(f->mac));
	memcpy(f->addr, dev->addrs.addr, sizeof(f->addr));
	memcpy(f->gateway, dev->gateway, sizeof(f->gateway));
	pmv_verbs_unlock(dev);
}

uint32_t
pmv_verbs_ctl_addr_version(const struct pmv_ctl_channel *ch)
{
	return __atomic_load_n(&ch->device->addr_version, __ATOMIC_ACQUIRE);
}

uint32_t
pmv_verbs_ctl_recv(
	struct pmv_ctl_channel *ch, struct rte_mbuf **mbufs, uint16_t *ret_workers, uint32_t nb)
{
	uint16_t nb_lanes = ch->device->param.nb_workers;
	uint32_t share = (nb + nb_lanes - 1) / nb_lanes;
	uint32_t nb_got = 0;
	uint32_t got, i, k;
	uint16_t lane;

	for (i = 0; i < nb_lanes && nb_got < nb; i++) {
		lane = (uint16_t)((ch->next_lane + i) % nb_lanes);
		got = pmv_lcore_exchange_ctl_recv(
			ch->device->exchange, lane, mbufs + nb_got, RTE_MIN(share, nb - nb_got));
		for (k = 0; k < got && ret_workers != NULL; k++)
			ret_workers[nb_got + k] = lane;
		nb_got += got;
	}
	/* The next call begins with another worker, so that a busy one cannot keep the rest
	 * waiting. */
	ch->next_lane = (uint16_t)((ch->next_lane + 1) % nb_lanes);
	return nb_got;
}

struct rte_mbuf *
pmv_verbs_ctl_alloc(struct pmv_ctl_channel *ch)
{
	return rte_pktmbuf_alloc(ch->pool);
}

int
pmv_verbs_ctl_send(struct pmv_ctl_channel *ch, uint16_t worker_hint, struct rte_mbuf *m)
{
	return pmv_lcore_exchange_ctl_send(ch->device->exchange, worker_hint, m);
}

struct pmv_worker *
pmv_verbs_ctl_worker(const struct pmv_ctl_channel *ch, uint16_t index)
{
	struct pmv_device *dev = ch->device;

	return index < dev->param.nb_workers
		       ? __atomic_load_n(&dev->workers[index], __ATOMIC_ACQUIRE)
		       : NULL;
}

int
pmv_verbs_ctl_hold_qp(struct pmv_qp *qp)
{
	struct pmv_device *dev = qp->worker->device;
	int rc = 0;

	pmv_verbs_lock(dev);
	if (qp->held || qp->destroying)
		rc = -EBUSY;
	else
		qp->held = true;
	pmv_verbs_unlock(dev);
	return rc;
}

void
pmv_verbs_ctl_release_qp(struct pmv_qp *qp)
{
	pmv_verbs_lock(qp->worker->device);
	qp->held = false;
	pmv_verbs_unlock(qp->worker->device);
}
