// SPDX-License-Identifier: BSD-3-Clause
/*
 * Opens of the pretended character devices: from file descriptors to contexts.
 */
#ifndef PMV_TEST_MLX5_SHIM_CONTEXT_H
#define PMV_TEST_MLX5_SHIM_CONTEXT_H

#include "test/mlx5/model_state.h"

/* Device number of uverbs0; the next ones follow. As on Linux. */
#define PMV_MLX5M_MAJOR 231
#define PMV_MLX5M_MINOR 192

/* The device that this path stands for, or NULL. Needs no lock. */
struct pmv_mlx5m_device *pmv_mlx5m_context_device(const char *path);

/* Opens it. Returns a descriptor or -errno. */
int pmv_mlx5m_context_open(struct pmv_mlx5m_device *device);

/* NULL: the descriptor is not ours. */
struct pmv_mlx5m_context *pmv_mlx5m_context_find(int fd);

/* Destroys all objects of the context as a kernel would; the descriptor itself is the caller's. */
void pmv_mlx5m_context_close(struct pmv_mlx5m_context *ctx);
void pmv_mlx5m_context_close_all(void);

#endif
