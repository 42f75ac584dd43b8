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

/* Tells the HCA of every send entry built since the last ring; there must be one. */
void pmv_mlx5_doorbell_send(struct pmv_mlx5_sq *sq, struct pmv_mlx5_stats *stats);

/* Tells of receive entries: the record is all it reads. */
void pmv_mlx5_doorbell_recv(struct pmv_mlx5_rq *rq);

/* Gives completion entries before ci back. */
void pmv_mlx5_doorbell_cq(struct pmv_mlx5_cq *cq);

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
