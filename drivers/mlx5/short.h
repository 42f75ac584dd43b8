// SPDX-License-Identifier: BSD-3-Clause
/*
 * The entry of a short request: a WRITE of one piece, inline, that fits into one block (28 bytes).
 * Flags, counters and pointers are such; what latency is made of. All of the entry is known but for
 * index, flag, address, key and payload, so that it costs some 30 instructions (of 8 bytes) instead
 * of a walk through all that a request may be. Used by post.c on the owner lcore; objects.c makes
 * the constant part.
 *
 *   unit 0  control            unit 2  inline head, 12 bytes of payload
 *   unit 1  remote address     unit 3  the rest of it
 */
#ifndef PMV_MLX5_SHORT_H
#define PMV_MLX5_SHORT_H

#include <string.h>

#include "drivers/mlx5/wqe.h"

#define PMV_MLX5_SHORT_WORD  8u  /* bytes; the commonest length */
#define PMV_MLX5_SHORT_FIRST 12u /* bytes of payload in unit 2 */
#define PMV_MLX5_SHORT_UNITS 3u

/* The first 8 bytes of the control segment, in host order, for index 0. */
static inline uint64_t
pmv_mlx5_short_ctrl(uint32_t qpn)
{
	return (uint64_t)PMV_MLX5_OP_RDMA_WRITE << 32 | (uint64_t)qpn << 8 | PMV_MLX5_SHORT_UNITS;
}

/* The flags of a request without INLINE, which a short one must have. */
static inline uint32_t
pmv_mlx5_short_flags(const struct pmv_send_wr *wr)
{
	return wr->send_flags ^ PMV_SEND_INLINE;
}

/* Of 8 bytes, or of any other length: two kinds, so that the compiler knows the first. */
static __rte_always_inline bool
pmv_mlx5_short_is(const struct pmv_send_wr *wr, uint32_t flags, uint32_t may, bool is_word)
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
	uint32_t length;

	_Static_assert(offsetof(struct pmv_send_wr, opcode) ==
			       offsetof(struct pmv_send_wr, num_sge) + sizeof(wr->num_sge),
		"side by side");
	memcpy(&both, (const uint8_t *)wr + offsetof(struct pmv_send_wr, num_sge), sizeof(both));
	if (both != want.both || (flags & ~may) != 0)
		return false;
	length = wr->sg_list->length;
	return is_word ? length == PMV_MLX5_SHORT_WORD : length - 1 < PMV_MLX5_WQE_FLAT_MAX;
}

/* Byte 11 of the entry, as part of its second 8 bytes: what CQE_ALWAYS is where SIGNALED is set.
 * The shift also loses FLUSH, which is of no interest to the HCA. */
static inline uint64_t
pmv_mlx5_short_signal(uint32_t flags)
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

/*
 * Builds an entry, and wr_id of what completes with it. `ctrl` is the queue's short_ctrl with the
 * entry's index at bit 40. Loads are early: for all the compiler knows what is stored overlaps what
 * is read.
 */
static __rte_always_inline void
pmv_mlx5_short_put(uint8_t *to, struct pmv_mlx5_sent *sent, uint64_t ctrl,
	const struct pmv_send_wr *wr, uint32_t flags, bool is_word)
{
	const uint8_t *from = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
	uint32_t length = is_word ? PMV_MLX5_SHORT_WORD : wr->sg_list->length;
	pmv_mlx5_unit remote = pmv_mlx5_wqe_remote(wr);
	uint64_t *first = (uint64_t *)(void *)to;
	uint64_t word = 0;

	if (is_word)
		memcpy(&word, from, sizeof(word));
	first[0] = rte_cpu_to_be_64(ctrl + (length > PMV_MLX5_SHORT_FIRST));
	pmv_mlx5_wqe_put(to + 16, remote);
	*(uint32_t *)(void *)(to + 32) = rte_cpu_to_be_32(PMV_MLX5_INLINE_FLAG | length);
	if (is_word)
		memcpy(to + 36, &word, sizeof(word));
	else
		pmv_mlx5_wqe_copy_flat(to + 36, from, length);
	sent->wr_id = wr->wr_id;
	first[1] = pmv_mlx5_short_signal(flags);
}

#endif
