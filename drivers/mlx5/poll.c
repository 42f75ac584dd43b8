// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads completion entries; see poll.h. A queue pair is found by the QPN in the entry: the user
 * index, which the HCA writes too, mlx5dv_init_obj does not tell.
 */
#include "drivers/mlx5/poll.h"

#include <rte_branch_prediction.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/doorbell.h"
#include "drivers/mlx5/poll_error.h"

/* Retires the entry and, with it, all before it that made no completion of their own. */
static inline void
take_sent(struct pmv_mlx5_sq *sq, const struct pmv_mlx5_cqe *cqe, struct pmv_wc *wc)
{
	const struct pmv_mlx5_sent *sent = &sq->sent[rte_be_to_cpu_16(cqe->counter_be) & sq->mask];

	wc->wr_id = sent->wr_id;
	sq->nb_done = sent->nb_posted;
	switch (rte_be_to_cpu_32(cqe->op_qpn_be) >> 24) {
	case PMV_MLX5_OP_RDMA_WRITE:
	case PMV_MLX5_OP_RDMA_WRITE_IMM:
		wc->opcode = PMV_WC_RDMA_WRITE;
		break;
	case PMV_MLX5_OP_RDMA_READ:
		wc->opcode = PMV_WC_RDMA_READ;
		wc->byte_len = rte_be_to_cpu_32(cqe->bytes_be);
		break;
	default:
		wc->opcode = PMV_WC_SEND;
		break;
	}
}

static inline void
take_received(struct pmv_mlx5_qp *qp, const struct pmv_mlx5_cqe *cqe, uint8_t op, struct pmv_wc *wc)
{
	struct pmv_mlx5_rq *rq = &qp->rq;

	/* By the counter, not in order: newer firmware may take receives out of order. */
	wc->wr_id = rq->wr_id[rte_be_to_cpu_16(cqe->counter_be) & rq->mask];
	rq->nb_out--;
	wc->opcode = op == PMV_MLX5_CQE_RECV_WRITE_IMM ? PMV_WC_RECV_RDMA_WITH_IMM : PMV_WC_RECV;
	wc->byte_len = rte_be_to_cpu_32(cqe->bytes_be);
	if (op == PMV_MLX5_CQE_RECV_WRITE_IMM || op == PMV_MLX5_CQE_RECV_SEND_IMM) {
		wc->wc_flags = PMV_WC_WITH_IMM;
		wc->imm_data = cqe->imm_be;
	}
	if (unlikely(!qp->base.comm_est))
		__atomic_store_n(&qp->base.comm_est, 1, __ATOMIC_RELAXED);
}

/* False: the entry is of nobody who is there. */
static inline bool
take(struct pmv_mlx5_cq *cq, struct pmv_mlx5_worker *w, const struct pmv_mlx5_cqe *cqe,
	struct pmv_wc *wc)
{
	uint32_t qpn = rte_be_to_cpu_32(cqe->op_qpn_be) & PMV_MLX5_QPN_MASK;
	struct pmv_mlx5_qp *qp = cq->last_qp;
	uint8_t op = cqe->op_own >> 4;
	bool is_recv;

	if (unlikely(qp == NULL || qp->base.qpn != qpn)) {
		qp = pmv_mlx5_qp_table_get(&w->qps, qpn);
		is_recv = op != PMV_MLX5_CQE_REQ && op != PMV_MLX5_CQE_REQ_ERR;
		/* of a receive queue that does not exist there is no entry */
		if (qp == NULL || (is_recv && qp->rq.max_wr == 0))
			return false;
		cq->last_qp = qp;
	}
	*wc = (struct pmv_wc){ .qp_num = qpn, .qp_context = qp->base.context };
	if (op == PMV_MLX5_CQE_REQ || op == PMV_MLX5_CQE_REQ_ERR)
		take_sent(&qp->sq, cqe, wc);
	else
		take_received(qp, cqe, op, wc);
	if (unlikely(op >= PMV_MLX5_CQE_REQ_ERR || (cqe->op_own & PMV_MLX5_CQE_FORMAT_MASK) != 0))
		pmv_mlx5_poll_error(qp, cqe, wc);
	return true;
}

uint32_t
pmv_mlx5_poll_cq(struct pmv_cq *base, struct pmv_wc *wc, uint32_t nb)
{
	struct pmv_mlx5_cq *cq = (struct pmv_mlx5_cq *)base;
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(base->worker);
	const struct pmv_mlx5_cqe *cqe;
	uint32_t first = cq->ci;
	uint32_t nb_wc = 0;

	/* An entry becomes ours once a round: the loop ends. */
	while (nb_wc < nb && cq->ci - first <= cq->mask) {
		cqe = pmv_mlx5_queue_cqe(cq, cq->ci);
		if (cqe == NULL)
			break;
		pmv_mlx5_doorbell_owned();
		if (likely(take(cq, w, cqe, &wc[nb_wc])))
			nb_wc++;
		else
			w->stats.completions_stale++;
		cq->ci++;
	}
	if (cq->ci == first)
		return 0;
	w->stats.completions += nb_wc;
	pmv_mlx5_doorbell_cq(cq);
	return nb_wc;
}
