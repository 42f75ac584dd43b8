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
#include <rte_vect.h>

#include "drivers/mlx5/queue.h"

/* `words` is the first 8 bytes in host order: index at bit 40, opcode at 32, QPN at 8, units at 0.
 */
static inline void
pmv_mlx5_wqe_ctrl(uint8_t *at, uint64_t words, uint32_t flags, rte_be32_t imm_be)
{
	uint32_t *tail = (uint32_t *)(void *)(at + 8);

	*(uint64_t *)(void *)at = rte_cpu_to_be_64(words);
	tail[0] = rte_cpu_to_be_32(flags); /* byte 11, and zeros */
	tail[1] = imm_be;
}

/* Remote address and key, turned round in one step where there is one. */
static inline pmv_mlx5_unit
pmv_mlx5_wqe_remote(const struct pmv_send_wr *wr)
{
#ifdef __SSSE3__
	const __m128i turn = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 11, 10, 9, 8, -1, -1, -1, -1);

	_Static_assert(offsetof(struct pmv_send_wr, wr.rdma.rkey) ==
				       offsetof(struct pmv_send_wr, wr.rdma.remote_addr) + 8 &&
			       sizeof(wr->wr.rdma) == 16,
		"a load of 16 bytes finds both");
	return (pmv_mlx5_unit)_mm_shuffle_epi8(
		_mm_loadu_si128((const __m128i *)(const void *)&wr->wr.rdma), turn);
#else
	return (pmv_mlx5_unit){ rte_cpu_to_be_64(wr->wr.rdma.remote_addr),
		rte_cpu_to_be_64((uint64_t)wr->wr.rdma.rkey << 32) };
#endif
}

/* A data segment: length, key, address. */
static inline pmv_mlx5_unit
pmv_mlx5_wqe_data(const struct pmv_sge *sge)
{
#ifdef __SSSE3__
	const __m128i turn = _mm_setr_epi8(11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4, 3, 2, 1, 0);

	_Static_assert(
		offsetof(struct pmv_sge, length) == 8 && offsetof(struct pmv_sge, lkey) == 12,
		"a load of 16 bytes finds all");
	return (pmv_mlx5_unit)_mm_shuffle_epi8(
		_mm_loadu_si128((const __m128i *)(const void *)sge), turn);
#else
	return (pmv_mlx5_unit){ rte_cpu_to_be_64((uint64_t)sge->length << 32 | sge->lkey),
		rte_cpu_to_be_64(sge->addr) };
#endif
}

static inline void
pmv_mlx5_wqe_put(uint8_t *seg, pmv_mlx5_unit unit)
{
	*(pmv_mlx5_unit *)(void *)seg = unit;
}

/* Inline data that fits into the first block behind control and remote address. */
#define PMV_MLX5_WQE_FLAT_MAX                                                                      \
	(PMV_MLX5_BLOCK_BYTES - 2 * PMV_MLX5_UNIT_BYTES - PMV_MLX5_INLINE_HEAD)

/* 1 to 32 bytes, without a call: two copies that may overlap cover all lengths from one to two of
 * theirs. */
static inline void
pmv_mlx5_wqe_copy_flat(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes >= 16) {
		memcpy(to, from, 16);
		memcpy(to + bytes - 16, from + bytes - 16, 16);
	} else if (bytes >= 8) {
		memcpy(to, from, 8);
		memcpy(to + bytes - 8, from + bytes - 8, 8);
	} else if (bytes >= 4) {
		memcpy(to, from, 4);
		memcpy(to + bytes - 4, from + bytes - 4, 4);
	} else {
		to[0] = from[0];
		to[bytes / 2] = from[bytes / 2];
		to[bytes - 1] = from[bytes - 1];
	}
}

/* Copies into the ring; returns where the next byte goes. */
static inline uint8_t *
pmv_mlx5_wqe_copy(const struct pmv_mlx5_sq *sq, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t room = (uint32_t)(sq->end - to);

	if (likely(bytes < room)) {
		memcpy(to, from, bytes);
		return to + bytes;
	}
	memcpy(to, from, room);
	memcpy(sq->buf, from + room, bytes - room);
	return sq->buf + (bytes - room);
}

#endif
