// SPDX-License-Identifier: BSD-3-Clause
/*
 * 24-bit id -> pointer (QPNs, SRQ numbers, key indices). An id is {generation, slot}: its low bits
 * index a slot directly, so a lookup is one load and one compare, and the whole id is compared, so
 * a packet for an id of an earlier life misses.
 *
 * Two writers, each with its own fields: the control thread allots and frees ids (alloc, free:
 * queue, current ids); the owner lcore puts the object there and takes it away (publish: entries).
 * Sequence of a life: alloc, publish(ptr), lookups, publish(NULL), free. Lookups belong to the
 * owner lcore; another thread may look up only an id whose object it knows to stay alive. No
 * allocation: the caller gives the memory. Pure.
 */
#ifndef PMV_UTIL_IDMAP_H
#define PMV_UTIL_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/util/random.h"

#define PMV_IDMAP_ID_BITS 24
#define PMV_IDMAP_NONE    UINT32_MAX /* no id has this value */

struct pmv_idmap_entry {
	uint32_t id; /* the published id, or PMV_IDMAP_NONE. Writer: owner lcore; released after ptr
		      */
	uint32_t reserved;
	void *ptr; /* the object; valid while id is published. Writer: owner lcore */
};

struct pmv_idmap {
	/* Read by every lookup, constant after init. */
	struct pmv_idmap_entry *entry; /* [nb_slots] */
	uint32_t slot_mask;            /* nb_slots - 1 */

	/* Control thread only. */
	uint32_t slot_bits;
	uint32_t id_base;  /* lowest id; its low id_bits bits are zero */
	uint32_t gen_mask; /* number of generations - 1; 0 when id_bits leaves none */
	uint32_t *current; /* [nb_slots] the slot's id; the one of its last life while it is free */
	uint8_t *allocated; /* [nb_slots] 1 between alloc and free */
	uint32_t *fifo;     /* [nb_slots] free slots, oldest first */
	uint32_t head;      /* index of the oldest free slot, masked on use */
	uint32_t nb_free;   /* free slots in the queue */
	uint32_t nb_usable; /* slots with at least one legal id */
};

/* Bytes that pmv_idmap_init needs for nb_slots slots (aligned to 8); 0 if nb_slots is not a power
 * of two <= 2^24. */
size_t pmv_idmap_bytes(uint32_t nb_slots);

/*
 * Sets up *m over mem (pmv_idmap_bytes(nb_slots) bytes, 8-aligned, kept by the caller until the map
 * is no longer used). Ids lie in id_base .. id_base + 2^id_bits - 1. Ids 0 and 1 (QP0, QP1) and
 * 0xffffff (multicast) are never handed out. The first slot and every slot's first generation come
 * from seed, so a restarted process does not reuse the ids that its peers still remember. 0;
 * -EINVAL: nb_slots no power of two, more slots than ids, id_bits > 24, id_base not a multiple of
 * 2^id_bits or too large, mem NULL or unaligned.
 */
int pmv_idmap_init(struct pmv_idmap *m, void *mem, uint32_t nb_slots, uint32_t id_base,
	uint32_t id_bits, uint64_t seed);

/*
 * Allots an id: the slot that has been free for longest, with the generation after its last one.
 * Control thread. 0 and *ret_id; -ENOSPC when every slot is in use (*ret_id untouched).
 */
int pmv_idmap_alloc(struct pmv_idmap *m, uint32_t *ret_id);

/*
 * Gives an id back; it must have been unpublished. Control thread. 0; -ENOENT: not allotted (or
 * stale); -EBUSY: still published.
 */
int pmv_idmap_free(struct pmv_idmap *m, uint32_t id);

/*
 * Makes lookup(id) return ptr, or with NULL makes it miss. id must be allotted. Owner lcore; O(1),
 * no system call. Barrier: the release store of entry.id is the partner of the acquire load in
 * pmv_idmap_lookup.
 */
void pmv_idmap_publish(struct pmv_idmap *m, uint32_t id, void *ptr);

/* Ids allotted now. Control thread. */
uint32_t pmv_idmap_count(const struct pmv_idmap *m);

/* The object published under exactly this id, or NULL. id may be any 32-bit number, e.g. straight
 * from a packet. */
static inline void *
pmv_idmap_lookup(const struct pmv_idmap *m, uint32_t id)
{
	const struct pmv_idmap_entry *e = &m->entry[id & m->slot_mask];

	if (__atomic_load_n(&e->id, __ATOMIC_ACQUIRE) != id || id == PMV_IDMAP_NONE)
		return NULL;
	return e->ptr;
}

#endif
