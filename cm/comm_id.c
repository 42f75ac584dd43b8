// SPDX-License-Identifier: BSD-3-Clause
/*
 * Local communication IDs, see comm_id.h. Control lcore; pure.
 */
#include "cm/comm_id.h"

#include <errno.h>

#define NONE UINT32_MAX

size_t
pmv_cm_comm_ids_bytes(uint32_t nb_slots)
{
	if (nb_slots < 2 || nb_slots > 1u << 20 || (nb_slots & (nb_slots - 1)) != 0)
		return 0;
	return nb_slots * sizeof(struct pmv_cm_comm_slot);
}

int
pmv_cm_comm_ids_init(
	struct pmv_cm_comm_ids *t, void *mem, uint32_t nb_slots, struct pmv_random *random)
{
	uint32_t i;

	if (mem == NULL || pmv_cm_comm_ids_bytes(nb_slots) == 0)
		return -EINVAL;
	t->slots = mem;
	t->mask = nb_slots - 1;
	t->key = (uint32_t)pmv_random_next64(random);
	t->free_first = 0;
	t->free_last = nb_slots - 1;
	t->nb = 0;
	for (i = 0; i < nb_slots; i++)
		t->slots[i] =
			(struct pmv_cm_comm_slot){ .next_free = i + 1 < nb_slots ? i + 1 : NONE };
	return 0;
}

/* Upper bits of the ID: new for each life of a slot. */
static uint32_t
new_id(struct pmv_cm_comm_ids *t, struct pmv_random *random, uint32_t index)
{
	uint32_t low = (index ^ t->key) & t->mask;
	uint32_t id;

	do {
		id = ((uint32_t)pmv_random_next64(random) & ~t->mask) | low;
	} while (id == 0 || id == t->slots[index].id);
	return id;
}

int
pmv_cm_comm_ids_alloc(
	struct pmv_cm_comm_ids *t, struct pmv_random *random, void *record, uint32_t *ret_id)
{
	uint32_t index = t->free_first;
	struct pmv_cm_comm_slot *slot;

	if (index == NONE || record == NULL)
		return -ENOSPC;
	slot = &t->slots[index];
	t->free_first = slot->next_free;
	if (t->free_first == NONE)
		t->free_last = NONE;
	slot->next_free = NONE;
	slot->record = record;
	slot->id = new_id(t, random, index);
	t->nb++;
	*ret_id = slot->id;
	return 0;
}

uint32_t
pmv_cm_comm_ids_index(const struct pmv_cm_comm_ids *t, uint32_t id)
{
	return (id ^ t->key) & t->mask;
}

void *
pmv_cm_comm_ids_at(const struct pmv_cm_comm_ids *t, uint32_t index)
{
	return index <= t->mask ? t->slots[index].record : NULL;
}

void *
pmv_cm_comm_ids_find(const struct pmv_cm_comm_ids *t, uint32_t id)
{
	const struct pmv_cm_comm_slot *slot = &t->slots[pmv_cm_comm_ids_index(t, id)];

	return slot->id == id ? slot->record : NULL;
}

void
pmv_cm_comm_ids_free(struct pmv_cm_comm_ids *t, uint32_t id)
{
	uint32_t index = pmv_cm_comm_ids_index(t, id);
	struct pmv_cm_comm_slot *slot = &t->slots[index];

	if (slot->record == NULL || slot->id != id)
		return;
	slot->record = NULL;
	slot->next_free = NONE;
	if (t->free_last == NONE)
		t->free_first = index;
	else
		t->slots[t->free_last].next_free = index;
	t->free_last = index;
	t->nb--;
}
