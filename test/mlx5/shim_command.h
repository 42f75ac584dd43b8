// SPDX-License-Identifier: BSD-3-Clause
/*
 * uverbs commands, whichever way they came in: write() or ioctl(INVOKE_WRITE). Layouts are those
 * of the kernel's own user headers (<rdma/ib_user_verbs.h>, <rdma/mlx5-abi.h>).
 */
#ifndef PMV_TEST_MLX5_SHIM_COMMAND_H
#define PMV_TEST_MLX5_SHIM_COMMAND_H

#include <stddef.h>

#include "test/mlx5/model_state.h"

/* One command. Parts that were not given have no bytes. */
struct pmv_mlx5m_command {
	struct pmv_mlx5m_context *ctx;
	const void *in;
	size_t in_bytes;
	const void *driver_in;
	size_t driver_in_bytes;
	void *out;
	size_t out_bytes;
	void *driver_out;
	size_t driver_out_bytes;
};

/* Returns 0 or -errno; called with the lock held. */
typedef int (*pmv_mlx5m_command_handler)(const struct pmv_mlx5m_command *command);

struct pmv_mlx5m_command_entry {
	uint32_t number; /* with IB_USER_VERBS_CMD_FLAG_EXTENDED where it applies */
	size_t in_bytes; /* of the part that is not the driver's */
	size_t out_bytes;
	pmv_mlx5m_command_handler handler;
};

/* NULL: this model does not serve it. */
const struct pmv_mlx5m_command_entry *pmv_mlx5m_command_find(uint32_t number);

/* Copies as much as both sides have; what is missing is zero. */
void pmv_mlx5m_command_take(void *to, size_t to_bytes, const void *from, size_t from_bytes);
void pmv_mlx5m_command_give(void *to, size_t to_bytes, const void *from, size_t from_bytes);

/* The front ends: whole buffers as the C library's calls got them. Return -errno or the count. */
long pmv_mlx5m_shim_write(struct pmv_mlx5m_context *ctx, const void *buf, size_t bytes);
int pmv_mlx5m_shim_ioctl(struct pmv_mlx5m_context *ctx, unsigned long request, void *arg);

/* The handlers, by file. */
int pmv_mlx5m_cmd_get_context(const struct pmv_mlx5m_command *c); /* shim_device.c */
int pmv_mlx5m_cmd_query_device(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_query_device_ex(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_query_port(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_alloc_pd(const struct pmv_mlx5m_command *c); /* shim_object.c */
int pmv_mlx5m_cmd_dealloc_pd(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_reg_mr(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_dereg_mr(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_create_cq(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_create_cq_ex(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_destroy_cq(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_create_qp(const struct pmv_mlx5m_command *c); /* shim_qp.c */
int pmv_mlx5m_cmd_create_qp_ex(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_modify_qp(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_query_qp(const struct pmv_mlx5m_command *c);
int pmv_mlx5m_cmd_destroy_qp(const struct pmv_mlx5m_command *c);

#endif
