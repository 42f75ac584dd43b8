// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a store into a UAR page means, and whether it came in order.
 */
#ifndef PMV_TEST_MLX5_TRAP_UAR_H
#define PMV_TEST_MLX5_TRAP_UAR_H

#include "test/mlx5/model_state.h"

/* A store of `bytes` at `offset` of the page; with the lock held, on the thread that stores. */
void pmv_mlx5m_uar_store(
	struct pmv_mlx5m_page *page, uint32_t offset, const uint8_t *data, uint32_t bytes);

#endif
