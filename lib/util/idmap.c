// SPDX-License-Identifier: BSD-3-Clause
/*
 * Allotting, freeing and publishing of 24-bit ids; the lookup is inline in idmap.h. alloc and free
 * run on the control thread, publish on the owner lcore; they touch different fields. No
 * allocation, no lock.
 */
#include "lib/util/idmap.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/util/assert.h"

/* Ids with a meaning of their own: QP0, QP1, and the multicast QPN (IBTA vol. 1, 10.5). */
static bool
is_reserved(uint32_t id)
{
	return id <= 1 || id == 0xffffff;
}

size_t
pmv_idmap_bytes(uint32_t nb_slots)
{
	if (nb_slots == 0 || (nb_slots & (nb_slots - 1)) != 0 || nb_slots > 1u << PMV_IDMAP_ID_BITS)
		return 0;
	/* Entries, current ids, queue, flags; rounded up so that maps can follow each other in one
	 * block. */
	return ((size_t)nb_slots * (sizeof(struct pmv_idmap_entry) + 2 * sizeof(uint32_t) +
					   sizeof(uint8_t)) +
		       7) &
	       ~(size_t)7;
}

static uint32_t
id_make(const struct pmv_idmap *m, uint32_t gen, uint32_t slot)
{
	return m->id_base + ((gen & m->gen_mask) << m->slot_bits | slot);
}

static uint32_t
id_generation(const struct pmv_idmap *m, uint32_t id)
{
	return (id - m->id_base) >> m->slot_bits;
}

/*
 * The slot's next legal id after generation gen, or PMV_IDMAP_NONE. At most three ids are reserved,
 * so four tries decide.
 */
static uint32_t
id_next(const struct pmv_idmap *m, uint32_t gen, uint32_t slot)
{
	for (uint32_t i = 1; i <= 4; i++) {
		uint32_t id = id_make(m, gen + i, slot);

		if (!is_reserved(id))
			return id;
	}
	return PMV_IDMAP_NONE;
}

static void
fifo_push(struct pmv_idmap *m, uint32_t slot)
{
	m->fifo[(m->head + m->nb_free) & m->slot_mask] = slot;
	m->nb_free++;
}

/* Random start in the queue and random first generations: see pmv_idmap_init in the header. */
static void
slots_init(struct pmv_idmap *m, uint64_t seed)
{
	uint32_t nb_slots = m->slot_mask + 1;
	struct pmv_random r;
	uint32_t first;

	pmv_random_init(&r, seed);
	first = (uint32_t)pmv_random_below(&r, nb_slots);
	for (uint32_t i = 0; i < nb_slots; i++) {
		uint32_t slot = (first + i) & m->slot_mask;
		uint32_t gen = (uint32_t)pmv_random_next64(&r) & m->gen_mask;

		m->entry[slot] = (struct pmv_idmap_entry){ .id = PMV_IDMAP_NONE };
		m->current[slot] = id_make(m, gen, slot);
		m->allocated[slot] = 0;
		if (id_next(m, gen, slot) != PMV_IDMAP_NONE)
			fifo_push(m, slot);
	}
	m->nb_usable = m->nb_free;
}

int
pmv_idmap_init(struct pmv_idmap *m, void *mem, uint32_t nb_slots, uint32_t id_base,
	uint32_t id_bits, uint64_t seed)
{
	uint8_t *p = mem;
	uint32_t nb_ids;

	if (mem == NULL || ((uintptr_t)mem & 7) != 0 || pmv_idmap_bytes(nb_slots) == 0)
		return -EINVAL;
	if (id_bits > PMV_IDMAP_ID_BITS)
		return -EINVAL;
	nb_ids = 1u << id_bits;
	if (nb_slots > nb_ids || (id_base & (nb_ids - 1)) != 0 ||
		id_base >= 1u << PMV_IDMAP_ID_BITS)
		return -EINVAL;

	*m = (struct pmv_idmap){
		.slot_mask = nb_slots - 1,
		.slot_bits = (uint32_t)__builtin_ctz(nb_slots),
		.id_base = id_base,
		.gen_mask = nb_ids / nb_slots - 1,
	};
	m->entry = (struct pmv_idmap_entry *)(void *)p;
	p += (size_t)nb_slots * sizeof(*m->entry);
	m->current = (uint32_t *)(void *)p;
	p += (size_t)nb_slots * sizeof(*m->current);
	m->fifo = (uint32_t *)(void *)p;
	p += (size_t)nb_slots * sizeof(*m->fifo);
	m->allocated = p;
	slots_init(m, seed);
	return 0;
}

int
pmv_idmap_alloc(struct pmv_idmap *m, uint32_t *ret_id)
{
	uint32_t slot, id;

	if (m->nb_free == 0)
		return -ENOSPC;
	slot = m->fifo[m->head & m->slot_mask];
	m->head++;
	m->nb_free--;
	id = id_next(m, id_generation(m, m->current[slot]), slot);
	PMV_ASSERT(id != PMV_IDMAP_NONE);
	m->current[slot] = id;
	m->allocated[slot] = 1;
	*ret_id = id;
	return 0;
}

int
pmv_idmap_free(struct pmv_idmap *m, uint32_t id)
{
	uint32_t slot = id & m->slot_mask;

	if (!m->allocated[slot] || m->current[slot] != id)
		return -ENOENT;
	if (__atomic_load_n(&m->entry[slot].id, __ATOMIC_ACQUIRE) != PMV_IDMAP_NONE)
		return -EBUSY;
	m->allocated[slot] = 0;
	fifo_push(m, slot);
	return 0;
}

void
pmv_idmap_publish(struct pmv_idmap *m, uint32_t id, void *ptr)
{
	struct pmv_idmap_entry *e = &m->entry[id & m->slot_mask];

	if (ptr == NULL) {
		/* id first: whoever still finds the id finds the old object with it. */
		__atomic_store_n(&e->id, PMV_IDMAP_NONE, __ATOMIC_RELEASE);
		return;
	}
	e->ptr = ptr;
	__atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
}

uint32_t
pmv_idmap_count(const struct pmv_idmap *m)
{
	return m->nb_usable - m->nb_free;
}
