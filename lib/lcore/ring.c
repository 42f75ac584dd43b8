// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory of the rings between lcores. Called by control threads; the queue operations are inline in
 * ring.h.
 */
#include "lib/lcore/ring.h"

#include <rte_malloc.h>

struct pmv_lcore_ring *
pmv_lcore_ring_create(uint32_t nb_slots, int socket_id)
{
	struct pmv_lcore_ring *r;

	nb_slots = rte_align32pow2(nb_slots);
	r = rte_zmalloc_socket("pmv_ring", sizeof(*r) + nb_slots * sizeof(r->slot[0]),
		RTE_CACHE_LINE_SIZE, socket_id);
	if (r == NULL)
		return NULL;
	r->mask = nb_slots - 1;
	return r;
}

void
pmv_lcore_ring_free(struct pmv_lcore_ring *r)
{
	rte_free(r);
}
