// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory of the neighbour cache: hash table, eviction, waiters. Called by cm/neigh on the control
 * lcore. Pure. Knows nothing of states but which entries may go.
 */
#include "cm/neigh_table.h"

#include <errno.h>
#include <string.h>

#include "lib/util/be.h"
#include "lib/wire/gid.h"

#define NB_MAX 65536u
/* An entry for a stranger's request looks at so many others for room; our own resolves look at all.
 */
#define LEARN_SCAN_MAX 64u

static uint32_t
buckets_for(uint32_t nb_max)
{
	uint32_t nb = 1;

	while (nb < nb_max)
		nb *= 2;
	return nb;
}

size_t
pmv_cm_neigh_bytes(uint32_t nb_max)
{
	if (nb_max == 0 || nb_max > NB_MAX)
		return 0;
	return nb_max * sizeof(struct pmv_cm_neigh_entry) + buckets_for(nb_max) * sizeof(uint32_t);
}

int
pmv_cm_neigh_init(struct pmv_cm_neigh *n, void *mem, size_t mem_bytes, uint32_t nb_max,
	uint64_t ticks_per_us, const struct pmv_cm_hash_key *key)
{
	size_t need = pmv_cm_neigh_bytes(nb_max);
	uint32_t i;

	if (need == 0 || mem_bytes < need || ticks_per_us == 0)
		return -EINVAL;
	memset(n, 0, sizeof(*n));
	memset(mem, 0, need);
	n->entries = mem;
	n->buckets = (uint32_t *)(n->entries + nb_max);
	n->bucket_mask = buckets_for(nb_max) - 1;
	n->nb_max = nb_max;
	n->next_due = PMV_CM_NEIGH_NEVER;
	n->round_due = PMV_CM_NEIGH_NEVER;
	n->ticks_per_us = ticks_per_us;
	n->hash_key = *key;
	n->done_tail = &n->done;
	for (i = 0; i <= n->bucket_mask; i++)
		n->buckets[i] = PMV_CM_NEIGH_NONE;
	for (i = 0; i < nb_max; i++)
		n->entries[i].hash_next = i + 1 < nb_max ? i + 1 : PMV_CM_NEIGH_NONE;
	return 0;
}

/* ---- The table ---- */

static uint32_t *
bucket(const struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key)
{
	const uint64_t words[3] = { pmv_be64_load(key->ip), pmv_be64_load(key->ip + 8), key->vlan };

	return &n->buckets[pmv_cm_hash(&n->hash_key, words, 3) & n->bucket_mask];
}

static bool
key_equal(const struct pmv_cm_neigh_key *a, const struct pmv_cm_neigh_key *b)
{
	return a->vlan == b->vlan && pmv_gid_is_equal(a->ip, b->ip);
}

uint32_t
pmv_cm_neigh_find(const struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key)
{
	uint32_t i = *bucket(n, key);

	while (i != PMV_CM_NEIGH_NONE && !key_equal(&n->entries[i].key, key))
		i = n->entries[i].hash_next;
	return i;
}

void
pmv_cm_neigh_table_free(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e)
{
	uint32_t index = pmv_cm_neigh_table_index(n, e);
	uint32_t *link = bucket(n, &e->key);

	while (*link != index)
		link = &n->entries[*link].hash_next;
	*link = e->hash_next;
	memset(e, 0, sizeof(*e)); /* FREE */
	e->hash_next = n->free_first;
	n->free_first = index;
	n->nb--;
}

static bool
entry_evictable(const struct pmv_cm_neigh_entry *e)
{
	return e->state != PMV_CM_NEIGH_FREE && e->state != PMV_CM_NEIGH_PERMANENT &&
	       e->refs == 0 && e->waiters == NULL;
}

/* Is a the better one to lose? First failed ones, then strangers, then the least recently used. */
static bool
entry_worse(const struct pmv_cm_neigh_entry *a, const struct pmv_cm_neigh_entry *b)
{
	if ((a->state == PMV_CM_NEIGH_FAILED) != (b->state == PMV_CM_NEIGH_FAILED))
		return a->state == PMV_CM_NEIGH_FAILED;
	if (a->learned != b->learned)
		return a->learned;
	return a->touched < b->touched;
}

static void
evict(struct pmv_cm_neigh *n, bool for_learned, uint64_t now)
{
	uint32_t scan = for_learned && n->nb_max > LEARN_SCAN_MAX ? LEARN_SCAN_MAX : n->nb_max;
	uint32_t i = for_learned ? (uint32_t)(now % n->nb_max) : 0;
	struct pmv_cm_neigh_entry *worst = NULL;

	for (; scan > 0; scan--, i = i + 1 == n->nb_max ? 0 : i + 1) {
		struct pmv_cm_neigh_entry *e = &n->entries[i];

		if (!entry_evictable(e) || (for_learned && !e->learned))
			continue;
		if (worst == NULL || entry_worse(e, worst))
			worst = e;
	}
	if (worst != NULL)
		pmv_cm_neigh_table_free(n, worst);
}

struct pmv_cm_neigh_entry *
pmv_cm_neigh_table_alloc(
	struct pmv_cm_neigh *n, const struct pmv_cm_neigh_key *key, bool learned, uint64_t now)
{
	struct pmv_cm_neigh_entry *e;
	uint32_t *head;
	uint32_t index;

	if (n->free_first == PMV_CM_NEIGH_NONE)
		evict(n, learned, now);
	index = n->free_first;
	if (index == PMV_CM_NEIGH_NONE)
		return NULL;
	e = &n->entries[index];
	n->free_first = e->hash_next;
	memset(e, 0, sizeof(*e));
	e->key = *key;
	e->learned = learned;
	e->touched = now;
	e->due = PMV_CM_NEIGH_NEVER;
	e->waiters_due = PMV_CM_NEIGH_NEVER;
	head = bucket(n, key);
	e->hash_next = *head;
	*head = index;
	n->nb++;
	return e;
}

/* ---- Waiters ---- */

void
pmv_cm_neigh_waiter_unlink(struct pmv_cm_neigh *n, struct pmv_cm_neigh_waiter *w)
{
	*w->prev = w->next;
	if (w->next != NULL)
		w->next->prev = w->prev;
	else if (n->done_tail == &w->next)
		n->done_tail = w->prev;
	w->next = NULL;
	w->prev = NULL;
}

void
pmv_cm_neigh_waiter_push(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e,
	struct pmv_cm_neigh_waiter *w, uint64_t deadline)
{
	w->entry = pmv_cm_neigh_table_index(n, e);
	w->err = -EINPROGRESS;
	w->deadline = deadline;
	w->next = e->waiters;
	w->prev = &e->waiters;
	if (w->next != NULL)
		w->next->prev = &w->next;
	e->waiters = w;
	if (deadline < e->waiters_due)
		e->waiters_due = deadline;
	pmv_cm_neigh_table_due_note(n, deadline);
}

/* To the list of results. A success carries a reference, so the entry stays until the waiter has
 * seen it. */
static void
waiter_finish(struct pmv_cm_neigh *n, struct pmv_cm_neigh_waiter *w, int err)
{
	pmv_cm_neigh_waiter_unlink(n, w);
	w->err = err;
	if (err == 0)
		n->entries[w->entry].refs++;
	w->prev = n->done_tail;
	*n->done_tail = w;
	n->done_tail = &w->next;
}

void
pmv_cm_neigh_waiters_finish(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, int err)
{
	while (e->waiters != NULL)
		waiter_finish(n, e->waiters, err);
	e->waiters_due = PMV_CM_NEIGH_NEVER;
}

void
pmv_cm_neigh_waiters_expire(struct pmv_cm_neigh *n, struct pmv_cm_neigh_entry *e, uint64_t now)
{
	struct pmv_cm_neigh_waiter *w, *next;

	if (now < e->waiters_due)
		return;
	e->waiters_due = PMV_CM_NEIGH_NEVER;
	for (w = e->waiters; w != NULL; w = next) {
		next = w->next;
		if (w->deadline <= now)
			waiter_finish(n, w, -ETIMEDOUT);
		else if (w->deadline < e->waiters_due)
			e->waiters_due = w->deadline;
	}
}

struct pmv_cm_neigh_waiter *
pmv_cm_neigh_done_pop(struct pmv_cm_neigh *n)
{
	struct pmv_cm_neigh_waiter *w = n->done;

	if (w != NULL)
		pmv_cm_neigh_waiter_unlink(n, w);
	return w;
}
