// SPDX-License-Identifier: BSD-3-Clause
/*
 * From handles of commands to objects of the context that made them; NULL: none.
 */
#ifndef PMV_TEST_MLX5_SHIM_OBJECT_H
#define PMV_TEST_MLX5_SHIM_OBJECT_H

#include "test/mlx5/model_state.h"

struct pmv_mlx5m_pd *pmv_mlx5m_object_pd(const struct pmv_mlx5m_context *ctx, uint32_t handle);
struct pmv_mlx5m_cq *pmv_mlx5m_object_cq(const struct pmv_mlx5m_context *ctx, uint32_t handle);

#endif
