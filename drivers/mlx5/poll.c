// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads completion entries; see poll.h. A queue pair is found by the QPN in the entry: the user
 * index, which the HCA writes too, mlx5dv_init_obj does not tell.
 */
#include "drivers/mlx5/poll.h"

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/doorbell.h"
#include "drivers/mlx5/poll_error.h"

/* Retires an entry and, with it, all before it that made no completion of their own. */
static inline void
retire(struct pmv_mlx5_sq *sq, const struct pmv_mlx5_sent *sent)
{
	sq->stop = sent->nb_posted + sq->max_wr;
}

static inline void
take_sent(struct pmv_mlx5_sq *sq, const struct pmv_mlx5_cqe *cqe, struct pmv_wc *wc)
{
	uint16_t counter = rte_be_to_cpu_16(cqe->counter_be);
	const struct pmv_mlx5_sent *sent = &sq->sent[counter & sq->mask];

	wc->wr_id = sent->wr_id;
	retire(sq, sent);
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

/* The next entry and others like it may be a run. */
static inline void
run_begin(struct pmv_mlx5_cq *cq, const struct pmv_mlx5_cqe *cqe, const struct pmv_wc *wc)
{
	const struct pmv_mlx5_sq *sq = &cq->last_qp->sq;

	/* of a READ the length is not that of the one before */
	if (cqe->op_own >> 4 != PMV_MLX5_CQE_REQ || wc->opcode == PMV_WC_RDMA_READ) {
		cq->run.op_qpn_be = PMV_MLX5_RUN_NONE;
		return;
	}
	cq->run.op_qpn_be = cqe->op_qpn_be;
	cq->run.sent = (const uint8_t *)sq->sent;
	cq->run.mask = (uint32_t)(sq->mask * sizeof(*sq->sent));
	memcpy(cq->run.unit, wc, sizeof(*wc));
}

/* What completes with the entry of a run whose last bytes are `tail`. */
static inline const struct pmv_mlx5_sent *
run_sent(uint32_t tail, const uint8_t *sent, uint32_t mask)
{
	_Static_assert(sizeof(struct pmv_mlx5_sent) == 1 << 4, "one shift");
	return (const struct pmv_mlx5_sent *)(const void *)(sent + (tail >> (16 - 4) & mask));
}

/*
 * Takes entries of requests that went well, of the same queue pair and opcode as the last one
 * taken. They differ in two bytes, and all but wr_id of their completions is the same. Such an
 * entry's last byte is its owner bit alone. Ends at the end of the ring at the latest.
 */
static inline uint32_t
take_run(struct pmv_mlx5_cq *cq, struct pmv_wc *wc, uint32_t nb)
{
	const struct pmv_mlx5_cqe *first = pmv_mlx5_queue_place(cq, cq->ci);
	const struct pmv_mlx5_cqe *cqe, *end;
	uint8_t ours = (cq->ci & (cq->mask + 1)) != 0;
	/* Copies: a store into wc might, for all the compiler knows, change the originals. */
	rte_be32_t op_qpn_be = cq->run.op_qpn_be;
	const uint8_t *sent = cq->run.sent;
	uint32_t mask = cq->run.mask;
	pmv_mlx5_unit unit0 = cq->run.unit[0], unit1 = cq->run.unit[1], unit2 = cq->run.unit[2];
	uint32_t tail;

	end = RTE_MIN(first + nb, cq->end);
	for (cqe = first; cqe != end; cqe++, wc++) {
		tail = pmv_mlx5_queue_tail(cqe);
		if ((uint8_t)tail != ours)
			break;
		pmv_mlx5_doorbell_owned();
		if (cqe->op_qpn_be != op_qpn_be)
			break;
		unit0[0] = run_sent(tail, sent, mask)->wr_id;
		memcpy(wc, &unit0, 16);
		memcpy((uint8_t *)wc + 16, &unit1, 16);
		memcpy((uint8_t *)wc + 32, &unit2, 16);
	}
	nb = (uint32_t)(cqe - first);
	if (nb == 0)
		return 0;
	tail = pmv_mlx5_queue_tail(cqe - 1);
	retire(&cq->last_qp->sq, run_sent(tail, sent, mask));
	cq->ci += nb;
	return nb;
}

/* One entry of any kind; 1 if it made a completion. */
static inline uint32_t
take_one(struct pmv_mlx5_cq *cq, struct pmv_mlx5_worker *w, const struct pmv_mlx5_cqe *cqe,
	struct pmv_wc *wc)
{
	cq->ci++;
	if (unlikely(!take(cq, w, cqe, wc))) {
		w->stats.completions_stale++;
		return 0;
	}
	run_begin(cq, cqe, wc);
	return 1;
}

/* The end of a poll that took entries. */
static inline uint32_t
finish(struct pmv_mlx5_cq *cq, uint32_t nb)
{
	pmv_mlx5_worker(cq->base.worker)->stats.completions += nb;
	pmv_mlx5_doorbell_cq(cq);
	return nb;
}

/* What is no run, and runs behind it, after nb_run entries of one. */
static __rte_noinline uint32_t
take_rest(struct pmv_mlx5_cq *cq, struct pmv_wc *wc, uint32_t nb, uint32_t nb_run)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(cq->base.worker);
	const struct pmv_mlx5_cqe *cqe;
	uint32_t first = cq->ci - nb_run;
	uint32_t nb_wc = nb_run;

	/* An entry becomes ours once a round: the loop ends. */
	while (nb_wc < nb && cq->ci - first <= cq->mask) {
		if ((cq->ci & cq->mask) == 0)
			nb_wc += take_run(cq, &wc[nb_wc], nb - nb_wc);
		if (nb_wc == nb)
			break;
		cqe = pmv_mlx5_queue_cqe(cq, cq->ci);
		if (cqe == NULL)
			break;
		pmv_mlx5_doorbell_owned();
		nb_wc += take_one(cq, w, cqe, &wc[nb_wc]);
		nb_wc += take_run(cq, &wc[nb_wc], nb - nb_wc);
	}
	return cq->ci == first ? 0 : finish(cq, nb_wc);
}

uint32_t
pmv_mlx5_poll_cq(struct pmv_cq *base, struct pmv_wc *wc, uint32_t nb)
{
	struct pmv_mlx5_cq *cq = (struct pmv_mlx5_cq *)base;
	uint32_t nb_run = take_run(cq, wc, nb);

	return likely(nb_run == nb) ? finish(cq, nb) : take_rest(cq, wc, nb, nb_run);
}
