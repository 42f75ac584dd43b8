// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory keys: from (key, address, length, right) to memory, and scatter lists.
 */
#ifndef PMV_TEST_MLX5_MODEL_MR_H
#define PMV_TEST_MLX5_MODEL_MR_H

#include "test/mlx5/model_state.h"

/* Numbers of enum ibv_access_flags */
#define PMV_MLX5M_LOCAL_WRITE  0x1u
#define PMV_MLX5M_REMOTE_WRITE 0x2u
#define PMV_MLX5M_REMOTE_READ  0x4u

/* 0, or -errno: -EINVAL rights without local write, -EFAULT not mapped, -ENOMEM no slot. */
int pmv_mlx5m_mr_create(const struct pmv_mlx5m_mr *wanted, struct pmv_mlx5m_mr **ret_mr);
void pmv_mlx5m_mr_destroy(struct pmv_mlx5m_mr *mr);
struct pmv_mlx5m_mr *pmv_mlx5m_mr_find(uint32_t key);

/* Memory behind `bytes` at `va`, or NULL if the key does not grant it to this PD. */
uint8_t *pmv_mlx5m_mr_resolve(
	const struct pmv_mlx5m_pd *pd, uint32_t key, uint64_t va, uint64_t bytes, uint32_t right);

/* True if every segment may be used; right is 0 or PMV_MLX5M_LOCAL_WRITE. */
bool pmv_mlx5m_sgl_allowed(
	const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl, uint32_t right);

/* Copies between a flat buffer and the list from `offset` on; false if a key has gone. */
bool pmv_mlx5m_sgl_gather(const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl,
	uint32_t offset, uint8_t *to, uint32_t bytes);
bool pmv_mlx5m_sgl_scatter(const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl,
	uint32_t offset, const uint8_t *from, uint32_t bytes);

/* Ascending in 8-byte words, as the memory of a peer that polls its last byte expects. */
void pmv_mlx5m_copy_up(uint8_t *to, const uint8_t *from, uint32_t bytes);

#endif
