// SPDX-License-Identifier: BSD-3-Clause
/*
 * All that must happen in an order between the CPU and the HCA: doorbell records, registers, and
 * every barrier of the driver. Owner lcore. Called by post.c and poll.c; the essay on the order is
 * in doorbell.c.
 */
#ifndef PMV_MLX5_DOORBELL_H
#define PMV_MLX5_DOORBELL_H

#include <rte_atomic.h>

#include "drivers/mlx5/queue.h"

/* Two faults that only tests build, to show that they would see them. */
#ifdef PMV_MLX5_TEST_SWAP
#define PMV_MLX5_RECORD_LATE 1
#else
#define PMV_MLX5_RECORD_LATE 0
#endif
#ifdef PMV_MLX5_TEST_NO_RING
#define PMV_MLX5_MUTE 1
#else
#define PMV_MLX5_MUTE 0
#endif

static inline void
pmv_mlx5_doorbell_record(rte_be32_t *record, uint32_t value)
{
	*(volatile rte_be32_t *)record = rte_cpu_to_be_32(value);
}

/* Step 3 as a copy of one block. */
static inline void
pmv_mlx5_doorbell_copy(uint8_t *to, const uint8_t *from)
{
	volatile pmv_mlx5_unit *t = (volatile pmv_mlx5_unit *)(void *)to;
	const pmv_mlx5_unit *f = (const pmv_mlx5_unit *)(const void *)from;

	t[0] = f[0];
	t[1] = f[1];
	t[2] = f[2];
	t[3] = f[3];
}

/* The halves lie side by side at a multiple of their size. */
static inline void
pmv_mlx5_doorbell_flip(struct pmv_mlx5_uar *uar)
{
	uar->next = (uint8_t *)((uintptr_t)uar->next ^ uar->half_bytes);
}

/* Tells the HCA of every send entry built since the last ring; there must be one. */
void pmv_mlx5_doorbell_send(struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats);

/* The same for an entry of one block, at `entry`, which ends at `head`; none other waits, and the
 * register is the worker's own. Here, and not in doorbell.c, so that post.c has it inline. */
static inline void
pmv_mlx5_doorbell_block(const struct pmv_mlx5_sq *sq, uint32_t head, const uint8_t *entry)
{
	struct pmv_mlx5_uar *uar = sq->uar;

	rte_io_wmb(); /* (W1) */
	if (!PMV_MLX5_RECORD_LATE)
		pmv_mlx5_doorbell_record(sq->record, head);
	rte_wmb(); /* (W2) */
	if (!PMV_MLX5_MUTE)
		pmv_mlx5_doorbell_copy(uar->next, entry);
	rte_wmb(); /* (W3) */
	pmv_mlx5_doorbell_flip(uar);
	uar->shorts++;
	if (PMV_MLX5_RECORD_LATE)
		pmv_mlx5_doorbell_record(sq->record, head);
}

/* Tells of receive entries: the record is all it reads. */
void pmv_mlx5_doorbell_recv(struct pmv_mlx5_rq *rq);

/* Gives completion entries before ci back. */
static inline void
pmv_mlx5_doorbell_cq(struct pmv_mlx5_cq *cq)
{
	/* (W4) partner: the HCA writes an entry again once it sees that we are past it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pmv_mlx5_doorbell_record(cq->record, cq->ci & PMV_MLX5_CI_MASK);
}

/* The records of a queue pair in RESET, where the HCA does not look. */
void pmv_mlx5_doorbell_clear(struct pmv_mlx5_qp *qp);

/* (R1) Between seeing that a completion entry is ours and reading the rest of it, and whatever
 * memory it speaks of. Partner: the HCA writes the owner bit last. No instruction on x86, where
 * loads keep their order. */
static inline void
pmv_mlx5_doorbell_owned(void)
{
	rte_io_rmb();
}

#endif
