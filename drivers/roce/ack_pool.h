// SPDX-License-Identifier: BSD-3-Clause
/*
 * Mempools for acknowledgements, one a worker. A worker may end while frames of its pool still lie
 * in somebody's ring, so a pool is not freed with its worker but waits, process-wide, until its
 * frames are home, and serves the next worker then. Control threads.
 */
#ifndef PMV_ROCE_ACK_POOL_H
#define PMV_ROCE_ACK_POOL_H

#include <rte_mempool.h>

/* Enough for rings of usual depth to be full of them. One less than a power of two: the mempool's
 * best size. */
#define PMV_ROCE_ACK_POOL_FRAMES 4095u
#define PMV_ROCE_ACK_POOL_BYTES  128u /* longest template (BTH is in it), AETH, map, ICRC: 118 */

/* A pool with all frames at home; NULL: no memory. */
struct rte_mempool *pmv_roce_ack_pool_get(int socket_id);
void pmv_roce_ack_pool_put(struct rte_mempool *pool);

#endif
