// SPDX-License-Identifier: BSD-3-Clause
/*
 * Making, emptying and cleaning of rings; see queue.h.
 */
#include "drivers/mlx5/queue.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/mlx5/doorbell.h"

/* Blocks of the largest entry that these capacities allow: control and remote address, then data.
 */
static uint32_t
blocks_max(const struct pmv_qp_cap *cap)
{
	uint32_t data = cap->max_send_sge * PMV_MLX5_UNIT_BYTES;
	uint32_t in = cap->max_inline_data == 0 ? 0 : PMV_MLX5_INLINE_HEAD + cap->max_inline_data;

	return RTE_ALIGN_CEIL(2 * PMV_MLX5_UNIT_BYTES + RTE_MAX(data, in), PMV_MLX5_BLOCK_BYTES) /
	       PMV_MLX5_BLOCK_BYTES;
}

static int
sq_init(struct pmv_mlx5_sq *sq, const struct mlx5dv_qp *dv, struct pmv_qp_cap *cap, int socket_id)
{
	if (!rte_is_power_of_2(dv->sq.wqe_cnt) || dv->sq.wqe_cnt > 1u << 15 ||
		dv->sq.stride != PMV_MLX5_BLOCK_BYTES ||
		dv->sq.wqe_cnt / blocks_max(cap) < RTE_MIN(cap->max_send_wr, 1u))
		return -EINVAL;
	sq->buf = dv->sq.buf;
	sq->end = sq->buf + (size_t)dv->sq.wqe_cnt * PMV_MLX5_BLOCK_BYTES;
	sq->mask = dv->sq.wqe_cnt - 1;
	sq->record = (rte_be32_t *)&dv->dbrec[PMV_MLX5_RECORD_SEND];
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	sq->max_wr = RTE_MIN(dv->sq.wqe_cnt / blocks_max(cap), cap->max_send_wr);
	sq->stop = sq->max_wr;
	cap->max_send_wr = sq->max_wr;
	sq->sent = rte_zmalloc_socket("pmv_mlx5_sent", dv->sq.wqe_cnt * sizeof(sq->sent[0]),
		RTE_CACHE_LINE_SIZE, socket_id);
	return sq->sent == NULL ? -ENOMEM : 0;
}

static int
rq_init(struct pmv_mlx5_rq *rq, const struct mlx5dv_qp *dv, struct pmv_qp_cap *cap, int socket_id)
{
	if (cap->max_recv_wr == 0 || dv->rq.wqe_cnt == 0) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
		return 0;
	}
	if (!rte_is_power_of_2(dv->rq.wqe_cnt) || dv->rq.wqe_cnt > 1u << 15 ||
		dv->rq.stride < cap->max_recv_sge * PMV_MLX5_UNIT_BYTES)
		return -EINVAL;
	rq->buf = dv->rq.buf;
	rq->stride = dv->rq.stride;
	rq->mask = (uint16_t)(dv->rq.wqe_cnt - 1);
	rq->record = (rte_be32_t *)&dv->dbrec[PMV_MLX5_RECORD_RECV];
	rq->max_wr = dv->rq.wqe_cnt;
	rq->max_sge = rq->stride / PMV_MLX5_UNIT_BYTES;
	cap->max_recv_wr = rq->max_wr;
	cap->max_recv_sge = rq->max_sge;
	rq->wr_id = rte_zmalloc_socket("pmv_mlx5_recv", dv->rq.wqe_cnt * sizeof(rq->wr_id[0]),
		RTE_CACHE_LINE_SIZE, socket_id);
	return rq->wr_id == NULL ? -ENOMEM : 0;
}

int
pmv_mlx5_queue_init(
	struct pmv_mlx5_qp *qp, const struct mlx5dv_qp *dv, struct pmv_qp_cap *cap, int socket_id)
{
	uint32_t asked_wr = cap->max_send_wr;
	int rc = sq_init(&qp->sq, dv, cap, socket_id);

	if (rc == 0)
		rc = rq_init(&qp->rq, dv, cap, socket_id);
	if (rc < 0)
		cap->max_send_wr = asked_wr;
	return rc;
}

void
pmv_mlx5_queue_fini(struct pmv_mlx5_qp *qp)
{
	rte_free(qp->sq.sent);
	rte_free(qp->rq.wr_id);
}

void
pmv_mlx5_queue_reset(struct pmv_mlx5_qp *qp)
{
	struct pmv_mlx5_sq *sq = &qp->sq;
	struct pmv_mlx5_rq *rq = &qp->rq;

	sq->head = 0;
	sq->waiting = 0;
	sq->last = 0;
	sq->nb_posted = 0;
	sq->stop = sq->max_wr;
	rq->head = 0;
	rq->nb_out = 0;
	pmv_mlx5_doorbell_clear(qp);
}

void
pmv_mlx5_queue_cq_clean(struct pmv_mlx5_cq *cq, uint32_t qpn)
{
	struct pmv_mlx5_cqe *cqe;

	for (uint32_t i = 0; i <= cq->mask; i++) {
		cqe = pmv_mlx5_queue_cqe(cq, cq->ci + i);
		if (cqe == NULL)
			return;
		pmv_mlx5_doorbell_owned();
		/* QPN 0 is nobody's. */
		if ((rte_be_to_cpu_32(cqe->op_qpn_be) & PMV_MLX5_QPN_MASK) == qpn)
			cqe->op_qpn_be = 0;
	}
}

uint32_t
pmv_mlx5_queue_cq_ready(const struct pmv_mlx5_cq *cq)
{
	uint32_t nb = 0;

	while (nb <= cq->mask && pmv_mlx5_queue_cqe(cq, cq->ci + nb) != NULL)
		nb++;
	return nb;
}
