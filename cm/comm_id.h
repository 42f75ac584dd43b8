// SPDX-License-Identifier: BSD-3-Clause
/*
 * Local communication IDs (IBTA vol. 1, 12.6): 32-bit number -> record. An ID is a slot plus random
 * bits that change with each life of the slot; slots are used in turn, so an ID rests as long as
 * possible, and nobody off the path can guess one. 0 is never given out (it means "unknown").
 *
 * Called by cm/conn and cm/match, control lcore. Pure; the memory is the caller's.
 */
#ifndef PMV_CM_COMM_ID_H
#define PMV_CM_COMM_ID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/util/random.h"

struct pmv_cm_comm_slot {
	void *record; /* NULL: free */
	uint32_t id;  /* of this life, or of the last one */
	uint32_t next_free;
};

struct pmv_cm_comm_ids {
	struct pmv_cm_comm_slot *slots;
	uint32_t mask; /* slots - 1 */
	uint32_t key;  /* XORed into the slot number */
	uint32_t free_first;
	uint32_t free_last;
	uint32_t nb; /* in use */
};

/* Bytes for nb_slots (a power of two, 2..2^20) slots; 0 for any other number. */
size_t pmv_cm_comm_ids_bytes(uint32_t nb_slots);

/* @param mem  aligned to 8. @return 0; -EINVAL. */
int pmv_cm_comm_ids_init(
	struct pmv_cm_comm_ids *t, void *mem, uint32_t nb_slots, struct pmv_random *random);

/* @return 0 and *ret_id; -ENOSPC all slots are in use. */
int pmv_cm_comm_ids_alloc(
	struct pmv_cm_comm_ids *t, struct pmv_random *random, void *record, uint32_t *ret_id);

/* Gives an ID back; nothing happens if it is not in use. */
void pmv_cm_comm_ids_free(struct pmv_cm_comm_ids *t, uint32_t id);

/* @return the record of exactly this ID, or NULL; any number may be asked, straight from a packet.
 */
void *pmv_cm_comm_ids_find(const struct pmv_cm_comm_ids *t, uint32_t id);

/* Slot of an ID, for tables of indices; and back: the record in a slot, or NULL. */
uint32_t pmv_cm_comm_ids_index(const struct pmv_cm_comm_ids *t, uint32_t id);
void *pmv_cm_comm_ids_at(const struct pmv_cm_comm_ids *t, uint32_t index);

#endif
