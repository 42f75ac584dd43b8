// SPDX-License-Identifier: BSD-3-Clause
/*
 * Counters of a worker. A request that is posted and rung in one go (post.c) counts in one place
 * only, uar->shorts; it is reported under posted_send, rings and bursts. Writer: its owner lcore,
 * in post, poll and doorbell; any thread reads.
 */
#ifndef PMV_MLX5_STATS_H
#define PMV_MLX5_STATS_H

#include <stdint.h>

#include "lib/driver/pmv_driver.h"

struct pmv_mlx5_stats {
	uint64_t posted_send;
	uint64_t posted_recv;
	uint64_t rings;  /* doorbells of send queues */
	uint64_t bursts; /* of these with the entry behind it (BlueFlame) */
	uint64_t completions;
	uint64_t completions_error;  /* of these not SUCCESS */
	uint64_t completions_stale;  /* of queue pairs that are gone or were reset; not delivered */
	uint64_t completions_format; /* in a form that was not asked for; delivered as FATAL_ERR */
};

uint32_t pmv_mlx5_stats_worker(const struct pmv_worker *w, struct pmv_stat *stats, uint32_t nb);

/* The HCA counts packets, not per QP: all zero. */
void pmv_mlx5_stats_qp(const struct pmv_qp *qp, struct pmv_qp_stats *stats);

#endif
