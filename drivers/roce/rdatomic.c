// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/rdatomic.h"

#include <string.h>

void
pmv_roce_rdatomic_init(struct pmv_roce_rdatomic *s, uint32_t nb_max)
{
	memset(s, 0, sizeof(*s));
	s->nb_max = nb_max <= PMV_ROCE_RD_MAX ? nb_max : PMV_ROCE_RD_MAX;
}

/* Entry of age i: 0 = newest. The ring is addressed by a modulus that is not a power of two, so
 * head stays below it. */
static struct pmv_roce_rd *
entry_of_age(struct pmv_roce_rdatomic *s, uint32_t age)
{
	uint32_t i = s->head + s->nb_max - 1 - age;

	return &s->entry[i >= s->nb_max ? i - s->nb_max : i];
}

bool
pmv_roce_rdatomic_room(const struct pmv_roce_rdatomic *s)
{
	const struct pmv_roce_rd *e = &s->entry[s->head];

	/* A replay that is still running is no overrun: the peer, who may have nb_max at a time,
	 * has got the first answer meanwhile, or it would not ask for another one. */
	return s->nb_max != 0 && (s->valid < s->nb_max || e->next == e->nb_psn || e->again);
}

bool
pmv_roce_rdatomic_add(struct pmv_roce_rdatomic *s, const struct pmv_roce_rd *rd)
{
	if (!pmv_roce_rdatomic_room(s))
		return false;
	s->entry[s->head] = *rd;
	s->head = s->head + 1 == s->nb_max ? 0 : s->head + 1;
	if (s->valid < s->nb_max)
		s->valid++;
	return true;
}

struct pmv_roce_rd *
pmv_roce_rdatomic_pending(struct pmv_roce_rdatomic *s)
{
	for (uint32_t age = s->valid; age-- > 0;) {
		struct pmv_roce_rd *e = entry_of_age(s, age);

		if (e->next < e->nb_psn)
			return e;
	}
	return NULL;
}

bool
pmv_roce_rdatomic_replay(struct pmv_roce_rdatomic *s, struct pmv_psn psn,
	const struct pmv_roce_rd *again, uint32_t mtu_bytes)
{
	for (uint32_t age = 0; age < s->valid; age++) {
		struct pmv_roce_rd *e = entry_of_age(s, age);
		uint32_t k = (psn.v - e->first.v) & PMV_PSN_MASK;
		uint64_t skipped = (uint64_t)k * mtu_bytes;

		if (k >= e->nb_psn)
			continue;
		if (again->opcode != e->opcode || again->rkey != e->rkey ||
			again->va != e->va + skipped || again->len != e->len - skipped)
			return false;
		if (e->next <= k) /* still to come */
			return true;
		e->next = k;
		e->start = k;
		e->again = true;
		return true;
	}
	return false;
}

bool
pmv_roce_rdatomic_resize(struct pmv_roce_rdatomic *s, uint32_t nb_max)
{
	struct pmv_roce_rdatomic old = *s;
	uint32_t keep;

	if (pmv_roce_rdatomic_pending(s) != NULL)
		return false;
	pmv_roce_rdatomic_init(s, nb_max);
	keep = old.valid < s->nb_max ? old.valid : s->nb_max;
	while (keep-- > 0)
		pmv_roce_rdatomic_add(s, entry_of_age(&old, keep));
	return true;
}

void
pmv_roce_rdatomic_cancel(struct pmv_roce_rdatomic *s)
{
	for (uint32_t i = 0; i < s->valid; i++)
		s->entry[i].next = s->entry[i].nb_psn;
}
