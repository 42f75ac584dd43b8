// SPDX-License-Identifier: BSD-3-Clause
/*
 * UAR pages as the kernel gives them out, and the attributes of ioctl commands.
 */
#ifndef PMV_TEST_MLX5_SHIM_UAR_H
#define PMV_TEST_MLX5_SHIM_UAR_H

#include <stddef.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "test/mlx5/model_state.h"

struct ib_uverbs_attr *pmv_mlx5m_attr_find(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id);

/* Data of an attribute, NULL and 0 bytes when there is none. */
const void *pmv_mlx5m_attr_in(const struct ib_uverbs_attr *attr, size_t *ret_bytes);
void *pmv_mlx5m_attr_out(const struct ib_uverbs_attr *attr, size_t *ret_bytes);

/* UAR objects: alloc and destroy. Returns 0 or -errno. */
int pmv_mlx5m_uar_ioctl(struct pmv_mlx5m_context *ctx, struct ib_uverbs_ioctl_hdr *hdr);

/* Fixed UARs: the register of the next QP, as index of libmlx5's table (4 to a page). */
uint32_t pmv_mlx5m_uar_next_bfreg(struct pmv_mlx5m_context *ctx);

/* The page behind an offset that the application maps, made if it is fixed; NULL: none. */
struct pmv_mlx5m_page *pmv_mlx5m_uar_page(struct pmv_mlx5m_context *ctx, uint64_t offset);

#endif
