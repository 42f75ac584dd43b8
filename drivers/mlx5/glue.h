// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every call into libibverbs and libmlx5, and nothing else: 0 or a negative errno, objects through
 * the last parameter. Control threads; each may be a system call and a firmware command. Called by
 * device.c, objects.c and state.c.
 */
#ifndef PMV_MLX5_GLUE_H
#define PMV_MLX5_GLUE_H

#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* -ENODEV no such device; -ENXIO it has no file in /dev; -ENOTSUP it is not an mlx5 device; what
 * open says, for example -EACCES.
 */
int pmv_mlx5_glue_open(const char *name, struct ibv_context **ret_ctx);
void pmv_mlx5_glue_close(struct ibv_context *ctx);
/* Folder of the device in sysfs. */
const char *pmv_mlx5_glue_sysfs(const struct ibv_context *ctx);
int pmv_mlx5_glue_query(
	struct ibv_context *ctx, struct ibv_device_attr *ret_dev, struct ibv_port_attr *ret_port);
/* GID `index` of port 1. -ENOENT: it is empty, or not of RoCE v2. */
int pmv_mlx5_glue_gid(struct ibv_context *ctx, uint32_t index, union ibv_gid *ret_gid);

/* Doorbell registers of one thread. -errno where the kernel gives none: then they are shared. */
int pmv_mlx5_glue_td_alloc(struct ibv_context *ctx, struct ibv_td **ret_td);
void pmv_mlx5_glue_td_free(struct ibv_td *td);

int pmv_mlx5_glue_pd_alloc(struct ibv_context *ctx, struct ibv_pd **ret_pd);
int pmv_mlx5_glue_pd_free(struct ibv_pd *pd);
/* The same domain with a thread's registers: what queue pairs are made on. */
int pmv_mlx5_glue_pd_join(struct ibv_pd *pd, struct ibv_td *td, struct ibv_pd **ret_pd);

int pmv_mlx5_glue_mr_reg(struct ibv_pd *pd, void *addr, uint64_t bytes, uint64_t iova,
	uint32_t access, struct ibv_mr **ret_mr);
int pmv_mlx5_glue_mr_dereg(struct ibv_mr *mr);

int pmv_mlx5_glue_cq_create(
	struct ibv_context *ctx, uint32_t nb, struct ibv_cq **ret_cq, struct mlx5dv_cq *ret_dv);
int pmv_mlx5_glue_cq_destroy(struct ibv_cq *cq);

/* An RC QP; attr->cap is written back. */
int pmv_mlx5_glue_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
	struct ibv_qp **ret_qp, struct mlx5dv_qp *ret_dv);
int pmv_mlx5_glue_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int pmv_mlx5_glue_qp_destroy(struct ibv_qp *qp);

#endif
