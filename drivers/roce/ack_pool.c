// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pools of small frames with a life of their own: see ack_pool.h. Control threads.
 */
#include "drivers/roce/ack_pool.h"

#include <pthread.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "lib/util/log.h"

#define RESTING_MAX 64u
#define CACHE       256u

/* Pools without a worker, some with frames still out. */
static struct {
	pthread_mutex_t lock;
	struct rte_mempool *pool[RESTING_MAX];
	uint32_t nb;
	uint32_t nb_made; /* for their names */
} resting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct rte_mempool *
pool_make(int socket_id, uint32_t number)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "pmv_ack_%u", number);
	pool = rte_pktmbuf_pool_create(name, PMV_ROCE_ACK_POOL_FRAMES, CACHE, 0,
		RTE_PKTMBUF_HEADROOM + PMV_ROCE_ACK_POOL_BYTES, socket_id);
	if (pool == NULL)
		PMV_LOG(ERR, "no memory for %u acknowledgement frames: %s",
			PMV_ROCE_ACK_POOL_FRAMES, rte_strerror(rte_errno));
	return pool;
}

/* Under the lock: takes entry i off the list. */
static struct rte_mempool *
unrest(uint32_t i)
{
	struct rte_mempool *pool = resting.pool[i];

	resting.pool[i] = resting.pool[--resting.nb];
	return pool;
}

struct rte_mempool *
pmv_roce_ack_pool_get(int socket_id)
{
	struct rte_mempool *pool = NULL;
	uint32_t number;

	pthread_mutex_lock(&resting.lock);
	for (uint32_t i = 0; i < resting.nb && pool == NULL; i++) {
		if (resting.pool[i]->socket_id == socket_id && rte_mempool_full(resting.pool[i]))
			pool = unrest(i);
	}
	number = resting.nb_made;
	resting.nb_made += pool == NULL;
	pthread_mutex_unlock(&resting.lock);
	return pool != NULL ? pool : pool_make(socket_id, number);
}

void
pmv_roce_ack_pool_put(struct rte_mempool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&resting.lock);
	for (uint32_t i = 0; i < resting.nb;) {
		if (rte_mempool_full(resting.pool[i]))
			rte_mempool_free(unrest(i));
		else
			i++;
	}
	if (rte_mempool_full(pool))
		rte_mempool_free(pool);
	else if (resting.nb < RESTING_MAX)
		resting.pool[resting.nb++] = pool;
	else
		PMV_LOG(WARNING, "mempool %s is left behind: its frames never came home",
			pool->name);
	pthread_mutex_unlock(&resting.lock);
}
