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
 *                                     ascending stores of 16 bytes, whole blocks, never by memcpy,
 *                                     whose order is nobody's promise
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

/* Step 3 as a copy: the blocks of the one entry, which may go on at the ring's start. */
static void
copy_entry(const struct pmv_mlx5_sq *sq, uint8_t *to, const uint8_t *from)
{
	for (uint32_t b = sq->last; b != sq->head; b = (uint16_t)(b + 1)) {
		pmv_mlx5_doorbell_copy(to, from);
		to += PMV_MLX5_BLOCK_BYTES;
		from += PMV_MLX5_BLOCK_BYTES;
		if (unlikely(from == sq->end))
			from = sq->buf;
	}
}

static inline void
ring(const struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats)
{
	const uint8_t *entry = sq->buf + (size_t)(sq->last & sq->mask) * PMV_MLX5_BLOCK_BYTES;
	struct pmv_mlx5_uar *uar = sq->uar;
	uint32_t bytes = (uint16_t)(sq->head - sq->last) * PMV_MLX5_BLOCK_BYTES;

	stats->rings++;
	if (sq->last == sq->waiting && bytes <= uar->half_bytes) {
		stats->bursts++;
		copy_entry(sq, uar->next, entry);
	} else {
		*(volatile uint64_t *)(void *)uar->next = *(const uint64_t *)(const void *)entry;
	}
	rte_wmb(); /* (W3) partner: the HCA's doorbell unit */
	pmv_mlx5_doorbell_flip(uar);
}

void
pmv_mlx5_doorbell_send(struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats)
{
	rte_io_wmb(); /* (W1) partner: the HCA's read of the entry after that of the record */
	if (!PMV_MLX5_RECORD_LATE)
		pmv_mlx5_doorbell_record(sq->record, sq->head);
	rte_wmb(); /* (W2) partner: the HCA's read of the record after the ring */
	if (!PMV_MLX5_MUTE)
		ring(sq, stats);
	if (PMV_MLX5_RECORD_LATE)
		pmv_mlx5_doorbell_record(sq->record, sq->head);
}

void
pmv_mlx5_doorbell_recv(struct pmv_mlx5_rq *rq)
{
	rte_io_wmb(); /* (W1) */
	pmv_mlx5_doorbell_record(rq->record, rq->head);
}

void
pmv_mlx5_doorbell_clear(struct pmv_mlx5_qp *qp)
{
	pmv_mlx5_doorbell_record(qp->sq.record, 0);
	if (qp->rq.max_wr != 0)
		pmv_mlx5_doorbell_record(qp->rq.record, 0);
}
