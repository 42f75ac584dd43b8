// SPDX-License-Identifier: BSD-3-Clause
/*
 * Queue entries: the strict parser. Pure: reads the rings it is given and nothing else.
 */
#ifndef PMV_TEST_MLX5_MODEL_WQE_H
#define PMV_TEST_MLX5_MODEL_WQE_H

#include "test/mlx5/model_state.h"

/* The entry at block `index` of a send queue of QP `qpn` that is filled up to block `end`. */
struct pmv_mlx5m_wqe_place {
	const uint8_t *ring;
	uint32_t nb_blocks; /* of the ring, a power of two */
	uint16_t index;
	uint16_t end;
	uint32_t qpn;
};

/* Returns true, or false after recording the rule that the entry breaks. */
bool pmv_mlx5m_wqe_parse(const struct pmv_mlx5m_wqe_place *place, struct pmv_mlx5m_wqe *ret_wqe);

/* A receive entry of `stride` bytes. Returns like the above. */
bool pmv_mlx5m_recv_parse(
	const uint8_t *entry, uint32_t stride, uint32_t qpn, struct pmv_mlx5m_sgl *ret_sgl);

#endif
