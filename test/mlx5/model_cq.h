// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queues: the writer of CQEs.
 */
#ifndef PMV_TEST_MLX5_MODEL_CQ_H
#define PMV_TEST_MLX5_MODEL_CQ_H

#include "test/mlx5/model_state.h"

/* What a CQE tells; fields that its opcode does not have are 0. */
struct pmv_mlx5m_completion {
	uint8_t opcode;     /* PMV_MLX5M_CQE_* */
	uint8_t wqe_opcode; /* of the send entry */
	uint8_t syndrome;
	bool solicited;
	uint16_t counter; /* send: block index; receive: entry counter */
	uint32_t bytes;
	uint32_t imm_be;
	uint32_t source_qpn;
	const uint8_t *data; /* scattered into the CQE, or NULL */
};

int pmv_mlx5m_cq_create(const struct pmv_mlx5m_cq *wanted, uint32_t *ret_slot);

/* -EBUSY while a QP uses it. */
int pmv_mlx5m_cq_destroy(uint32_t slot);

/* Data of up to this many bytes fits into a CQE of this queue. */
uint32_t pmv_mlx5m_cq_inline_max(const struct pmv_mlx5m_cq *cq);

void pmv_mlx5m_cq_write(struct pmv_mlx5m_cq *cq, const struct pmv_mlx5m_qp *qp,
	const struct pmv_mlx5m_completion *done);

#endif
