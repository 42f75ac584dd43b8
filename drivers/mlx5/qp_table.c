// SPDX-License-Identifier: BSD-3-Clause
/*
 * See qp_table.h. Removal closes the gap, so that a search may end at the first free entry.
 */
#include "drivers/mlx5/qp_table.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "lib/util/assert.h"

int
pmv_mlx5_qp_table_init(struct pmv_mlx5_qp_table *t, uint32_t nb_max, int socket_id)
{
	uint32_t nb = rte_align32pow2(2 * nb_max + 1);

	t->entry = rte_zmalloc_socket(
		"pmv_mlx5_qps", nb * sizeof(t->entry[0]), RTE_CACHE_LINE_SIZE, socket_id);
	if (t->entry == NULL)
		return -ENOMEM;
	t->mask = nb - 1;
	t->nb = 0;
	return 0;
}

void
pmv_mlx5_qp_table_fini(struct pmv_mlx5_qp_table *t)
{
	rte_free(t->entry);
	t->entry = NULL;
}

void
pmv_mlx5_qp_table_put(struct pmv_mlx5_qp_table *t, uint32_t qpn, struct pmv_mlx5_qp *qp)
{
	uint32_t i = pmv_mlx5_qp_table_slot(t, qpn);

	PMV_ASSERT(t->nb <= t->mask / 2);
	while (t->entry[i].qp != NULL)
		i = (i + 1) & t->mask;
	t->entry[i] = (struct pmv_mlx5_qp_entry){ .qp = qp, .qpn = qpn };
	t->nb++;
}

void
pmv_mlx5_qp_table_remove(struct pmv_mlx5_qp_table *t, uint32_t qpn)
{
	uint32_t i = pmv_mlx5_qp_table_slot(t, qpn);
	uint32_t gap, home;

	while (t->entry[i].qp != NULL && t->entry[i].qpn != qpn)
		i = (i + 1) & t->mask;
	if (t->entry[i].qp == NULL)
		return;
	gap = i;
	for (i = (i + 1) & t->mask; t->entry[i].qp != NULL; i = (i + 1) & t->mask) {
		home = pmv_mlx5_qp_table_slot(t, t->entry[i].qpn);
		/* An entry may move up to its home, not beyond. */
		if (((i - home) & t->mask) < ((i - gap) & t->mask))
			continue;
		t->entry[gap] = t->entry[i];
		gap = i;
	}
	t->entry[gap].qp = NULL;
	t->nb--;
}
