// SPDX-License-Identifier: BSD-3-Clause
/*
 * Builders of the segments of a queue entry. Used by post.c, on the owner lcore; nothing here is
 * visible to the HCA before doorbell.c says so. Segments are 16 bytes and an entry starts on a
 * block, so that the ring's end lies between two segments, never in one; inline data it may cut.
 */
#ifndef PMV_MLX5_WQE_H
#define PMV_MLX5_WQE_H

#include <string.h>

#include <rte_branch_prediction.h>

#include "drivers/mlx5/queue.h"

static inline void
pmv_mlx5_wqe_ctrl(const struct pmv_mlx5_sq *sq, uint32_t opcode, uint32_t nb_units, uint8_t flags,
	rte_be32_t imm_be)
{
	struct pmv_mlx5_ctrl *c =
		(struct pmv_mlx5_ctrl *)(void *)(sq->buf + (size_t)(sq->head & sq->mask) *
								   PMV_MLX5_BLOCK_BYTES);

	*c = (struct pmv_mlx5_ctrl){
		.op_be = rte_cpu_to_be_32((uint32_t)sq->head << 8 | opcode),
		.qpn_ds_be = rte_cpu_to_be_32(sq->qpn_shifted | nb_units),
		.flags = flags,
		.imm_be = imm_be,
	};
}

static inline void
pmv_mlx5_wqe_remote(uint8_t *seg, uint64_t addr, uint32_t rkey)
{
	*(struct pmv_mlx5_remote *)(void *)seg =
		(struct pmv_mlx5_remote){ .addr_be = rte_cpu_to_be_64(addr),
			.rkey_be = rte_cpu_to_be_32(rkey) };
}

static inline void
pmv_mlx5_wqe_data(uint8_t *seg, uint32_t bytes, uint32_t lkey, uint64_t addr)
{
	*(struct pmv_mlx5_data *)(void *)seg =
		(struct pmv_mlx5_data){ .bytes_be = rte_cpu_to_be_32(bytes),
			.lkey_be = rte_cpu_to_be_32(lkey),
			.addr_be = rte_cpu_to_be_64(addr) };
}

/* Two copies that may overlap cover all lengths from one to two of theirs, without a call. */
static inline void
pmv_mlx5_wqe_copy_flat(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes > 32) {
		memcpy(to, from, bytes);
	} else if (bytes >= 16) {
		memcpy(to, from, 16);
		memcpy(to + bytes - 16, from + bytes - 16, 16);
	} else if (bytes >= 8) {
		memcpy(to, from, 8);
		memcpy(to + bytes - 8, from + bytes - 8, 8);
	} else if (bytes >= 4) {
		memcpy(to, from, 4);
		memcpy(to + bytes - 4, from + bytes - 4, 4);
	} else {
		for (uint32_t i = 0; i < bytes; i++)
			to[i] = from[i];
	}
}

/* Copies into the ring; returns where the next byte goes. */
static inline uint8_t *
pmv_mlx5_wqe_copy(const struct pmv_mlx5_sq *sq, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t room = (uint32_t)(sq->end - to);

	if (likely(bytes < room)) {
		pmv_mlx5_wqe_copy_flat(to, from, bytes);
		return to + bytes;
	}
	memcpy(to, from, room);
	memcpy(sq->buf, from + room, bytes - room);
	return sq->buf + (bytes - room);
}

#endif
