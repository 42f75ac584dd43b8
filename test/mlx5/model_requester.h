// SPDX-License-Identifier: BSD-3-Clause
/*
 * The sending half of a QP: executes send queue entries one after the other.
 */
#ifndef PMV_TEST_MLX5_MODEL_REQUESTER_H
#define PMV_TEST_MLX5_MODEL_REQUESTER_H

#include "test/mlx5/model_state.h"
#include "test/mlx5/wire.h"

/* One unit of work of a QP in RTS; false when there is none at this time. */
bool pmv_mlx5m_requester_step(struct pmv_mlx5m_qp *qp);

/* An ACK, NAK or READ_DATA frame. Stale ones are ignored. */
void pmv_mlx5m_requester_input(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame);

/* When its timer ends, or UINT64_MAX. */
uint64_t pmv_mlx5m_requester_deadline(const struct pmv_mlx5m_qp *qp);

#endif
