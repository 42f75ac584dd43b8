// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion entries into completions: what pmv_poll_cq() calls, on the owner lcore. Errors are
 * poll_error.h's.
 */
#ifndef PMV_MLX5_POLL_H
#define PMV_MLX5_POLL_H

#include "drivers/mlx5/queue.h"

uint32_t pmv_mlx5_poll_cq(struct pmv_cq *cq, struct pmv_wc *wc, uint32_t nb);

#endif
