// SPDX-License-Identifier: BSD-3-Clause
/*
 * Put before drivers/mlx5/doorbell.c and post.c by the compiler's -include, to make a driver whose
 * store fences are none; driver_barriers_test.c must notice.
 */
#ifndef PMV_TEST_MLX5_NO_FENCE_H
#define PMV_TEST_MLX5_NO_FENCE_H

#include <rte_atomic.h>

#undef rte_wmb
#define rte_wmb() rte_compiler_barrier()

#endif
