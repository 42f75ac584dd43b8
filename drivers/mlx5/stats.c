// SPDX-License-Identifier: BSD-3-Clause
/*
 * Counters by name; see stats.h. Any thread, snapshots.
 */
#include "drivers/mlx5/stats.h"

#include <stdbool.h>
#include <stddef.h>

#include <rte_common.h>

#include "drivers/mlx5/device.h"

static const struct {
	const char *name;
	size_t offset;
	bool with_shorts;
} table[] = {
#define STAT(field, ...)                                                                           \
	{                                                                                          \
#field, offsetof(struct pmv_mlx5_stats, field), __VA_ARGS__                        \
	}
	STAT(posted_send, true),
	STAT(posted_recv),
	STAT(rings, true),
	STAT(bursts, true),
	STAT(completions),
	STAT(completions_error),
	STAT(completions_stale),
	STAT(completions_format),
#undef STAT
};

uint32_t
pmv_mlx5_stats_worker(const struct pmv_worker *base, struct pmv_stat *stats, uint32_t nb)
{
	const struct pmv_mlx5_worker *w = (const struct pmv_mlx5_worker *)base;
	const char *counters = (const char *)&w->stats;
	uint64_t shorts = __atomic_load_n(&w->uar.shorts, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < RTE_DIM(table) && i < nb; i++) {
		stats[i].name = table[i].name;
		stats[i].value = __atomic_load_n(
			(const uint64_t *)(const void *)(counters + table[i].offset),
			__ATOMIC_RELAXED);
		stats[i].value += table[i].with_shorts ? shorts : 0;
	}
	return RTE_DIM(table);
}

void
pmv_mlx5_stats_qp(const struct pmv_qp *qp, struct pmv_qp_stats *stats)
{
	*stats = (struct pmv_qp_stats){ 0 };
}
