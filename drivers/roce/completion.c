// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/completion.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/cq.h"

static const uint8_t wc_opcodes[] = {
	[PMV_WR_RDMA_WRITE] = PMV_WC_RDMA_WRITE,
	[PMV_WR_RDMA_WRITE_WITH_IMM] = PMV_WC_RDMA_WRITE,
	[PMV_WR_SEND] = PMV_WC_SEND,
	[PMV_WR_SEND_WITH_IMM] = PMV_WC_SEND,
	[PMV_WR_RDMA_READ] = PMV_WC_RDMA_READ,
	[PMV_WR_ATOMIC_CMP_AND_SWP] = PMV_WC_COMP_SWAP,
	[PMV_WR_ATOMIC_FETCH_AND_ADD] = PMV_WC_FETCH_ADD,
	[PMV_WR_FLUSH] = PMV_WC_FLUSH,
	[PMV_WR_ATOMIC_WRITE] = PMV_WC_ATOMIC_WRITE,
	[PMV_WR_LOCAL_INV] = PMV_WC_LOCAL_INV,
	[PMV_WR_BIND_MW] = PMV_WC_BIND_MW,
	[PMV_WR_SEND_WITH_INV] = PMV_WC_SEND,
	[PMV_WR_REG_MR] = PMV_WC_REG_MR,
	[PMV_WR_NOP] = PMV_WC_NOP,
};

/* 0, or -1 when the CQ overran. */
static int
push(struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe)
{
	struct pmv_wc *wc = pmv_roce_cq_push(qp->base.send_cq);

	if (unlikely(wc == NULL))
		return -1;
	*wc = (struct pmv_wc){ .wr_id = wqe->wr_id,
		.status = wqe->status,
		.opcode = wc_opcodes[wqe->opcode],
		/* how much came back */
		.byte_len = pmv_roce_is_fetched(wqe->opcode) ? wqe->length : 0,
		.qp_num = qp->base.qpn,
		.qp_context = qp->base.context };
	return 0;
}

void
pmv_roce_completion_run(struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;
	bool overrun = false;

	while (sq->tail != sq->ack) {
		const struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->tail);

		if (unlikely(wqe->frames_out != 0))
			break;
		/* an error always makes a completion, asked for or not (IBTA vol. 1, 10.7.3.1) */
		if ((wqe->signaled || wqe->status != PMV_WC_SUCCESS) && push(qp, wqe) != 0)
			overrun = true;
		sq->tail++;
	}
	if (unlikely(overrun) && qp->base.state != PMV_QPS_ERR)
		pmv_roce_qp_error(pmv_roce_qp_worker(qp), qp);
}

void
pmv_roce_completion_flush(struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;

	for (; sq->ack != sq->head; sq->ack++) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->ack);

		if (wqe->status == PMV_WC_SUCCESS)
			wqe->status = PMV_WC_WR_FLUSH_ERR;
	}
	sq->snd = sq->head;
	pmv_roce_completion_run(qp);
}

void
pmv_roce_completion_sq_error(
	struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe, enum pmv_wc_status status)
{
	wqe->status = (uint8_t)status;
	qp->sq_draining = false;
	__atomic_store_n(&qp->base.state, (uint8_t)PMV_QPS_SQE, __ATOMIC_RELEASE);
	pmv_roce_completion_flush(qp);
}

void
pmv_roce_completion_check_drained(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (!qp->sq_draining || !pmv_roce_qp_drained(qp))
		return;
	qp->sq_draining = false;
	if (qp->sqd_notify)
		pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_SQ_DRAINED);
}
