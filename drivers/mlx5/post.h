// SPDX-License-Identifier: BSD-3-Clause
/*
 * Work requests into rings. The application calls the first two through the table of the queue
 * pair, on the owner lcore. The doorbell waits for the end of the turn (or PMV_SEND_FLUSH), so that
 * all posts of a turn to one queue pair cost one; flush is called by the turn.
 */
#ifndef PMV_MLX5_POST_H
#define PMV_MLX5_POST_H

#include "drivers/mlx5/queue.h"

int pmv_mlx5_post_send(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);
/* The same for queue pairs that allow short entries and have a register of their worker's. */
int pmv_mlx5_post_send_short(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);
int pmv_mlx5_post_recv(struct pmv_qp *qp, const struct pmv_recv_wr *wr, uint32_t nb);

/* Rings for every queue pair that waits. Nothing ever stays: 0. */
uint32_t pmv_mlx5_post_flush(struct pmv_worker *w);

/* The queue pair waits no longer: it is destroyed or reset. */
void pmv_mlx5_post_forget(struct pmv_mlx5_qp *qp);

#endif
