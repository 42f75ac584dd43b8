// SPDX-License-Identifier: BSD-3-Clause
/*
 * The one file with barriers and register writes. Owner lcore of the worker.
 *
 * Order of a send, and who could see it broken:
 *
 *   1  the entry in the ring          cacheable memory
 *      (W1)                           the HCA reads record and entry by DMA: whoever sees the new
 *                                     record must find the entry whole
 *   2  the doorbell record            cacheable memory; the truth about how far the ring is filled.
 *                                     The HCA reads it after a ring, and after a recovery instead
 *                                     of one
 *      (W2)                           the register is write-combining memory, which x86 does not
 *                                     keep in order with stores to cacheable memory: without the
 *                                     fence the ring could reach the HCA before the record
 *   3  the register                   8 bytes: the first words of the last entry. Or, of a single
 *                                     entry, all of it (BlueFlame), which saves the HCA a read: in
 *                                     ascending 8-byte stores, whole blocks, never by memcpy, whose
 *                                     order is nobody's promise
 *      (W3)                           empties the write-combining buffer now, not at the next
 *                                     interrupt; and no later store of ours into the other half
 *                                     passes it
 *   4  the other half of the register next time: two copies into one half could merge
 *
 * Receive entries end with step 2: the HCA looks at the record when a message arrives. So does a
 * completion queue's consumer index; (W4) keeps our reads of the entries before it.
 *
 * 8-byte stores to a register are atomic on 64-bit machines; that is why a shared register is safe
 * for plain doorbells and not for copies.
 */
#include "drivers/mlx5/doorbell.h"

#include <rte_branch_prediction.h>

static inline void
store_record(rte_be32_t *record, uint32_t value)
{
	*(volatile rte_be32_t *)record = rte_cpu_to_be_32(value);
}

static inline void
store_register(uint8_t *to, const uint8_t *from)
{
	*(volatile uint64_t *)(void *)to = *(const uint64_t *)(const void *)from;
}

/* Step 3 as a copy: the blocks of the one entry, which may go on at the ring's start. */
static inline void
copy_entry(const struct pmv_mlx5_sq *sq, uint8_t *to)
{
	const uint8_t *from = sq->buf + (size_t)(sq->last & sq->mask) * PMV_MLX5_BLOCK_BYTES;

	for (uint16_t b = sq->last; b != sq->head; b++) {
		for (uint32_t i = 0; i < PMV_MLX5_BLOCK_BYTES; i += 8)
			store_register(to + i, from + i);
		to += PMV_MLX5_BLOCK_BYTES;
		from += PMV_MLX5_BLOCK_BYTES;
		if (unlikely(from == sq->end))
			from = sq->buf;
	}
}

static inline void
ring(struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats)
{
	struct pmv_mlx5_uar *uar = sq->uar;
	uint32_t entry_bytes = (uint16_t)(sq->head - sq->last) * PMV_MLX5_BLOCK_BYTES;

	stats->rings++;
	if (sq->last == sq->rung && entry_bytes <= uar->half_bytes) {
		stats->bursts++;
		copy_entry(sq, uar->reg + uar->offset);
	} else {
		store_register(uar->reg + uar->offset,
			sq->buf + (size_t)(sq->last & sq->mask) * PMV_MLX5_BLOCK_BYTES);
	}
	rte_wmb(); /* (W3) partner: the HCA's doorbell unit */
	uar->offset ^= uar->half_bytes;
}

void
pmv_mlx5_doorbell_send(struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats)
{
	/* The two faults are built by tests only, to show that the tests would see them. */
#if defined(PMV_MLX5_TEST_SWAP)
	ring(sq, stats);
	store_record(sq->record, sq->head);
#elif defined(PMV_MLX5_TEST_NO_RING)
	rte_io_wmb();
	store_record(sq->record, sq->head);
	(void)ring;
	(void)stats;
#else
	rte_io_wmb(); /* (W1) partner: the HCA's read of the entry after that of the record */
	store_record(sq->record, sq->head);
	rte_wmb(); /* (W2) partner: the HCA's read of the record after the ring */
	ring(sq, stats);
#endif
	sq->rung = sq->head;
}

void
pmv_mlx5_doorbell_recv(struct pmv_mlx5_rq *rq)
{
	rte_io_wmb(); /* (W1) */
	store_record(rq->record, rq->head);
}

void
pmv_mlx5_doorbell_cq(struct pmv_mlx5_cq *cq)
{
	/* (W4) partner: the HCA writes an entry again once it sees that we are past it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_record(cq->record, cq->ci & PMV_MLX5_CI_MASK);
}

void
pmv_mlx5_doorbell_clear(struct pmv_mlx5_qp *qp)
{
	store_record(qp->sq.record, 0);
	if (qp->rq.max_wr != 0)
		store_record(qp->rq.record, 0);
}
