// SPDX-License-Identifier: BSD-3-Clause
/*
 * The receiving half of a QP: executes what a peer's requester asks for.
 */
#ifndef PMV_TEST_MLX5_MODEL_RESPONDER_H
#define PMV_TEST_MLX5_MODEL_RESPONDER_H

#include "test/mlx5/model_state.h"
#include "test/mlx5/wire.h"

/* A SEND, WRITE or READ frame for a QP in RTR or RTS. */
void pmv_mlx5m_responder_input(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame);

/* One packet of READ data; false when nothing is asked for. */
bool pmv_mlx5m_responder_step(struct pmv_mlx5m_qp *qp);

#endif
