// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory of the neighbour cache: entries in a hash table over the caller's memory, eviction, and
 * the lists of waiters. Only cm/neigh calls it, on the control lcore. Pure. The states and what is
 * sent are cm/neigh's.
 */
#ifndef PMV_CM_NEIGH_TABLE_H
#define PMV_CM_NEIGH_TABLE_H

#include "cm/neigh.h"

#define PMV_CM_NEIGH_NEVER UINT64_MAX

static inline uint32_t
pmv_cm_neigh_table_index(const struct pmv_cm_neigh *n, const struct pmv_cm_neigh_entry *e)
{
	return (uint32_t)(e - n->entries);
}

/* Something is due then: step() must not sleep past it. */
static inline void
pmv_cm_neigh_table_due_note(struct pmv_cm_neigh *n, uint64_t due)
{
	if (due < n->next_due)
		n->next_due = due;
	if (due < n->round_due)
		n->round_due = due;
}

/*
 * A zeroed entry with its key, in the table. @param learned  from a stranger's packet: pushes out
 * only such entries.
 * @return NULL: full of entries in use.
 */
struct pmv_cm_neigh_entry *pmv_cm_neigh_table_alloc(
	struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, bool learned, uint64_t now);
void pmv_cm_neigh_table_free(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e);

void pmv_cm_neigh_waiter_push(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e,
	struct pmv_cm_neigh_waiter *w, uint64_t deadline);
/* From whichever list it is in. */
void pmv_cm_neigh_waiter_unlink(struct pmv_cm_neigh *n, struct pmv_cm_neigh_waiter *w);
/* All of them to the list of results; a success carries a reference each. */
void pmv_cm_neigh_waiters_finish(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, int err);
/* Those whose deadline has come, with -ETIMEDOUT. */
void pmv_cm_neigh_waiters_expire(
	struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now);

#endif
