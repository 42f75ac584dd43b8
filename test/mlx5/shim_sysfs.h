// SPDX-License-Identifier: BSD-3-Clause
/*
 * The part of /sys that libibverbs reads to find devices, as ordinary files.
 */
#ifndef PMV_TEST_MLX5_SHIM_SYSFS_H
#define PMV_TEST_MLX5_SHIM_SYSFS_H

#include "test/mlx5/model_state.h"

/* Makes the tree in a new folder below TMPDIR and points SYSFS_PATH to it. 0 or -errno. */
int pmv_mlx5m_sysfs_create(void);
void pmv_mlx5m_sysfs_remove(void);

#endif
