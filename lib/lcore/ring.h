// SPDX-License-Identifier: BSD-3-Clause
/*
 * A bounded queue of pointers from one producer to one consumer: commands and frames between
 * lcores. Used by mailbox.h and exchange.h only. No lock, no read-modify-write, no system call.
 *
 * "One" means at a time: the side may move to another thread when something else orders the two
 * (the owner word of a worker, a mutex).
 *
 * Why not rte_ring: on x86 it is compiled with plain accesses and compiler barriers, which
 * ThreadSanitizer cannot follow, and its C11 form is not the code that ships there; its
 * multi-producer form makes no happens-before edge from the first of two producers to the consumer.
 * Here the C11 accesses are the shipped ones, on every machine.
 */
#ifndef PMV_LCORE_RING_H
#define PMV_LCORE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

struct pmv_lcore_ring {
	uint32_t mask;                     /* slots - 1; constant */
	uint32_t head __rte_cache_aligned; /* next slot to fill; producer, release */
	uint32_t tail_seen;                /* producer's copy of tail */
	uint32_t tail __rte_cache_aligned; /* next slot to empty; consumer, release */
	uint32_t head_seen;                /* consumer's copy of head */
	void *slot[] __rte_cache_aligned;
};

/* nb_slots: rounded up to a power of two. NULL: no memory. */
struct pmv_lcore_ring *pmv_lcore_ring_create(uint32_t nb_slots, int socket_id);

/* The ring should be empty: what is in it is forgotten. NULL is fine. */
void pmv_lcore_ring_free(struct pmv_lcore_ring *r);

/* Free slots. Producer. */
static inline uint32_t
pmv_lcore_ring_room(struct pmv_lcore_ring *r)
{
	r->tail_seen = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
	return r->mask + 1 - (r->head - r->tail_seen);
}

/* Entries. Consumer. */
static inline uint32_t
pmv_lcore_ring_count(struct pmv_lcore_ring *r)
{
	r->head_seen = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	return r->head_seen - r->tail;
}

/*
 * False when it is full. Producer. The release of head pairs with the acquire in pop and count: the
 * object behind the pointer is complete when the consumer gets it.
 */
static inline bool
pmv_lcore_ring_push(struct pmv_lcore_ring *r, void *object)
{
	uint32_t head = r->head;

	if (head - r->tail_seen > r->mask) {
		/* Pairs with the release of tail in pop: the slot has been read. */
		r->tail_seen = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
		if (head - r->tail_seen > r->mask)
			return false;
	}
	r->slot[head & r->mask] = object;
	__atomic_store_n(&r->head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Takes up to nb entries. Consumer. */
static inline uint32_t
pmv_lcore_ring_pop(struct pmv_lcore_ring *r, void **objects, uint32_t nb)
{
	uint32_t tail = r->tail;
	uint32_t nb_ready = r->head_seen - tail;
	uint32_t i;

	if (nb_ready < nb) {
		r->head_seen = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
		nb_ready = r->head_seen - tail;
	}
	if (nb > nb_ready)
		nb = nb_ready;
	for (i = 0; i < nb; i++)
		objects[i] = r->slot[(tail + i) & r->mask];
	if (nb > 0)
		__atomic_store_n(&r->tail, tail + nb, __ATOMIC_RELEASE);
	return nb;
}

#endif
