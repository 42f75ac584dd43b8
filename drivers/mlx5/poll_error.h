// SPDX-License-Identifier: BSD-3-Clause
/*
 * The rare completion entries: errors, and forms that we did not ask for. Called by poll.c, which
 * has set the fields that are valid in every completion.
 */
#ifndef PMV_MLX5_POLL_ERROR_H
#define PMV_MLX5_POLL_ERROR_H

#include "drivers/mlx5/queue.h"

/* Fills the status, and takes the queue pair to ERR: the HCA did so before it wrote the entry. */
void pmv_mlx5_poll_error(struct pmv_mlx5_qp *qp, const struct pmv_mlx5_cqe *cqe, struct pmv_wc *wc);

#endif
