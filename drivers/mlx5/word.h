// SPDX-License-Identifier: BSD-3-Clause
/*
 * The entry of an inline WRITE of 8 bytes: a flag, a counter, a pointer; what latency is made of.
 * It is one block, all of it known but for index, flag, address, key and word, so that it costs
 * some 30 instructions instead of a walk through all that a request may be. Used by post.c on the
 * owner lcore; objects.c makes the constant part.
 *
 *   unit 0  control            unit 2  inline head, the word, 4 bytes that do not count
 *   unit 1  remote address     unit 3  does not count
 */
#ifndef PMV_MLX5_WORD_H
#define PMV_MLX5_WORD_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_vect.h>

#include "drivers/mlx5/queue.h"

#define PMV_MLX5_WORD_BYTES 8u
#define PMV_MLX5_WORD_UNITS 3u

/* The first 8 bytes of the control segment, in host order, for index 0. */
static inline uint64_t
pmv_mlx5_word_ctrl(uint32_t qpn)
{
	return (uint64_t)PMV_MLX5_OP_RDMA_WRITE << 32 | (uint64_t)qpn << 8 | PMV_MLX5_WORD_UNITS;
}

/* The flags of a request without INLINE, which a word must have. */
static inline uint32_t
pmv_mlx5_word_flags(const struct pmv_send_wr *wr)
{
	return wr->send_flags ^ PMV_SEND_INLINE;
}

static inline bool
pmv_mlx5_word_is(const struct pmv_send_wr *wr, uint32_t flags, uint32_t may)
{
	/* Two fields in one comparison. */
	static const union {
		struct {
			uint32_t num_sge;
			enum pmv_wr_opcode opcode;
		} field;
		uint64_t both;
	} want = { { 1, PMV_WR_RDMA_WRITE } };
	uint64_t both;

	_Static_assert(offsetof(struct pmv_send_wr, opcode) ==
			       offsetof(struct pmv_send_wr, num_sge) + sizeof(wr->num_sge),
		"side by side");
	memcpy(&both, (const uint8_t *)wr + offsetof(struct pmv_send_wr, num_sge), sizeof(both));
	return both == want.both && (flags & ~may) == 0 &&
	       wr->sg_list->length == PMV_MLX5_WORD_BYTES;
}

/* Remote address and key, turned round in one step where there is one. */
static inline pmv_mlx5_unit
pmv_mlx5_word_remote(const struct pmv_send_wr *wr)
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

/* Byte 11 of the entry, as part of its second 8 bytes: what CQE_ALWAYS is where SIGNALED is set.
 * The shift also loses FLUSH, which is of no interest to the HCA. */
static inline uint64_t
pmv_mlx5_word_signal(uint32_t flags)
{
	_Static_assert(PMV_SEND_SIGNALED << 2 == PMV_MLX5_CTRL_CQE_ALWAYS &&
			       (uint64_t)PMV_SEND_FLUSH << 34 == 0,
		"one shift");
#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN
	return flags << 26;
#else
	return (uint64_t)flags << 34;
#endif
}

/* Builds an entry, and wr_id of what completes with it. `ctrl` is the queue's word_ctrl with the
 * entry's index at bit 40. All is read before anything is stored: for all the compiler knows they
 * overlap. */
static inline void
pmv_mlx5_word_put(uint8_t *to, struct pmv_mlx5_sent *sent, uint64_t ctrl,
	const struct pmv_send_wr *wr, uint32_t flags)
{
	pmv_mlx5_unit remote = pmv_mlx5_word_remote(wr);
	uint64_t *first = (uint64_t *)(void *)to;
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)wr->sg_list->addr, sizeof(word));
	first[0] = rte_cpu_to_be_64(ctrl);
	*(pmv_mlx5_unit *)(void *)(to + 16) = remote;
	*(uint32_t *)(void *)(to + 32) =
		rte_cpu_to_be_32(PMV_MLX5_INLINE_FLAG | PMV_MLX5_WORD_BYTES);
	memcpy(to + 36, &word, sizeof(word));
	sent->wr_id = wr->wr_id;
	first[1] = pmv_mlx5_word_signal(flags);
}

#endif
