// SPDX-License-Identifier: BSD-3-Clause
/*
 * Queue pairs: creation, the state machine that firmware would run, errors and flushing.
 */
#ifndef PMV_TEST_MLX5_MODEL_QP_H
#define PMV_TEST_MLX5_MODEL_QP_H

#include "test/mlx5/model_state.h"

/* Numbers of enum ibv_qp_attr_mask */
#define PMV_MLX5M_ATTR_STATE       (1u << 0)
#define PMV_MLX5M_ATTR_CUR_STATE   (1u << 1)
#define PMV_MLX5M_ATTR_ACCESS      (1u << 3)
#define PMV_MLX5M_ATTR_PKEY        (1u << 4)
#define PMV_MLX5M_ATTR_PORT        (1u << 5)
#define PMV_MLX5M_ATTR_AV          (1u << 7)
#define PMV_MLX5M_ATTR_MTU         (1u << 8)
#define PMV_MLX5M_ATTR_TIMEOUT     (1u << 9)
#define PMV_MLX5M_ATTR_RETRY       (1u << 10)
#define PMV_MLX5M_ATTR_RNR_RETRY   (1u << 11)
#define PMV_MLX5M_ATTR_RQ_PSN      (1u << 12)
#define PMV_MLX5M_ATTR_RD_ATOMIC   (1u << 13)
#define PMV_MLX5M_ATTR_MIN_RNR     (1u << 15)
#define PMV_MLX5M_ATTR_SQ_PSN      (1u << 16)
#define PMV_MLX5M_ATTR_DEST_ATOMIC (1u << 17)
#define PMV_MLX5M_ATTR_DEST_QPN    (1u << 20)

struct pmv_mlx5m_modify {
	uint32_t mask;
	enum pmv_mlx5m_qp_state state;
	enum pmv_mlx5m_qp_state cur_state;
	uint16_t pkey_index;
	bool is_global;
	struct pmv_mlx5m_qp_attr attr; /* path_mtu in bytes, 0: a code that does not exist */
};

int pmv_mlx5m_qp_create(const struct pmv_mlx5m_qp *wanted, uint32_t *ret_slot);
void pmv_mlx5m_qp_destroy(uint32_t slot);

/* 0, -EINVAL for a transition or attribute that is not allowed. */
int pmv_mlx5m_qp_modify(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_modify *modify);

/* To ERR: what is under way stops, what is queued will be flushed. */
void pmv_mlx5m_qp_fail(struct pmv_mlx5m_qp *qp);

/* Flushes one entry of a QP in ERR; false when there is none. */
bool pmv_mlx5m_qp_flush_step(struct pmv_mlx5m_qp *qp);

/* Receive entries that software has made known and the model has not used. */
uint16_t pmv_mlx5m_qp_recv_ready(struct pmv_mlx5m_qp *qp);

#endif
