// SPDX-License-Identifier: BSD-3-Clause
/*
 * (CA GUID, number) -> record index, open addressing. Called through cm/dup.h on the control lcore.
 * Pure. It does not look at the records.
 */
#include "cm/dup.h"

#include <errno.h>

#define EMPTY     UINT32_MAX
#define NB_MAX    (1u << 24)
#define SLOTS_MIN 4u

/* A power of two, at least twice the entries: at half load a lookup sees 1.5 to 2.5 slots on
 * average. */
static uint32_t
slots_for(uint32_t nb_max)
{
	uint32_t slots = SLOTS_MIN;

	while (slots < 2 * nb_max)
		slots *= 2;
	return slots;
}

size_t
pmv_cm_dup_bytes(uint32_t nb_max)
{
	if (nb_max == 0 || nb_max > NB_MAX)
		return 0;
	return slots_for(nb_max) * sizeof(struct pmv_cm_dup_slot);
}

int
pmv_cm_dup_init(struct pmv_cm_dup *t, void *mem, size_t mem_bytes, uint32_t nb_max,
	const struct pmv_cm_hash_key *key)
{
	size_t need = pmv_cm_dup_bytes(nb_max);
	uint32_t i;

	if (need == 0 || mem_bytes < need)
		return -EINVAL;
	t->slots = mem;
	t->mask = slots_for(nb_max) - 1;
	t->nb = 0;
	t->nb_max = nb_max;
	t->key = *key;
	for (i = 0; i <= t->mask; i++)
		t->slots[i].index = EMPTY;
	return 0;
}

static uint32_t
home(const struct pmv_cm_dup *t, uint64_t guid, uint32_t id)
{
	const uint64_t words[2] = { guid, id };

	return (uint32_t)pmv_cm_hash(&t->key, words, 2) & t->mask;
}

/* The pair's slot, or the empty one where the search ends (there is one: the table is never full).
 */
static uint32_t
slot_find(const struct pmv_cm_dup *t, uint64_t guid, uint32_t id)
{
	uint32_t i = home(t, guid, id);

	while (t->slots[i].index != EMPTY && (t->slots[i].guid != guid || t->slots[i].id != id))
		i = (i + 1) & t->mask;
	return i;
}

int
pmv_cm_dup_insert(struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t index)
{
	struct pmv_cm_dup_slot *slot = &t->slots[slot_find(t, guid, id)];

	if (index == EMPTY)
		return -EINVAL;
	if (slot->index != EMPTY)
		return -EEXIST;
	if (t->nb == t->nb_max)
		return -ENOSPC;
	slot->guid = guid;
	slot->id = id;
	slot->index = index;
	t->nb++;
	return 0;
}

int
pmv_cm_dup_find(const struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t *ret_index)
{
	const struct pmv_cm_dup_slot *slot = &t->slots[slot_find(t, guid, id)];

	if (slot->index == EMPTY)
		return -ENOENT;
	*ret_index = slot->index;
	return 0;
}

/*
 * Closes the hole at i: a later entry of the same run moves into it if its home is not behind the
 * hole (Knuth vol. 3, 6.4, algorithm R), so every search still meets its entry before an empty
 * slot.
 */
static void
hole_close(struct pmv_cm_dup *t, uint32_t i)
{
	uint32_t j = i;

	for (;;) {
		uint32_t from_home;

		j = (j + 1) & t->mask;
		if (t->slots[j].index == EMPTY)
			break;
		from_home = (j - home(t, t->slots[j].guid, t->slots[j].id)) & t->mask;
		if (from_home < ((j - i) & t->mask))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i].index = EMPTY;
}

int
pmv_cm_dup_remove(struct pmv_cm_dup *t, uint64_t guid, uint32_t id, uint32_t index)
{
	uint32_t i = slot_find(t, guid, id);

	if (t->slots[i].index == EMPTY || t->slots[i].index != index)
		return -ENOENT;
	hole_close(t, i);
	t->nb--;
	return 0;
}
