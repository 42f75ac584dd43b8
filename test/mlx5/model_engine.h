// SPDX-License-Identifier: BSD-3-Clause
/*
 * What makes the model move: single steps by the test, or an HCA thread.
 */
#ifndef PMV_TEST_MLX5_MODEL_ENGINE_H
#define PMV_TEST_MLX5_MODEL_ENGINE_H

#include <stdbool.h>

/* One unit of work, with the lock held; false when there is none at this time. */
bool pmv_mlx5m_engine_step(void);

int pmv_mlx5m_engine_start(void);
void pmv_mlx5m_engine_stop(void);

#endif
