// SPDX-License-Identifier: BSD-3-Clause
/*
 * A table (peer CA GUID, number) -> record index. Two of them live in a CM: with the peer's comm ID
 * it finds duplicates of a REQ, with the peer's QPN it finds stale connections (IBTA 12.9.8.3).
 *
 * Called by cm/conn (LIST_PEER, UNLIST_*) and cm/loop (a REQ or REP arrived), control lcore. Pure:
 * open addressing over the caller's memory, half full at most, linear probing, removal by shifting
 * back (no tombstones, so a table that lives for a year is as fast as a new one). The hash is
 * keyed: peers choose the keys. Does not look at records.
 */
#ifndef PMV_CM_DUP_H
#define PMV_CM_DUP_H

#include <stddef.h>
#include <stdint.h>

#include "cm/hash.h"

struct pmv_cm_dup_slot {
	uint64_t guid;
	uint32_t id;
	uint32_t index; /* UINT32_MAX = empty */
};

struct pmv_cm_dup {
	struct pmv_cm_dup_slot *slots;
	uint32_t mask; /* slots - 1 */
	uint32_t nb;   /* entries in it */
	uint32_t nb_max;
	struct pmv_cm_hash_key key;
};

/* Bytes that init() needs for nb_max entries (1..2^24); 0 for a number out of range. */
size_t pmv_cm_dup_bytes(uint32_t nb_max);

/* @param mem  aligned to 8, the caller's, used until the table is dropped. @return 0; -EINVAL
 * nb_max or too little memory. */
int pmv_cm_dup_init(struct pmv_cm_dup *t, void *mem, size_t mem_bytes, uint32_t nb_max,
	const struct pmv_cm_hash_key *key);

/* @param index  any but UINT32_MAX. @return 0; -EEXIST the pair is there (unchanged); -ENOSPC
 * nb_max entries; -EINVAL. */
int pmv_cm_dup_insert(struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t index);

/* @return 0 and *ret_index; -ENOENT. */
int pmv_cm_dup_find(const struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t *ret_index);

/* Takes the pair out if it belongs to this record. @return 0; -ENOENT not there, or another
 * record's. */
int pmv_cm_dup_remove(struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t index);

#endif
