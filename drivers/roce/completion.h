// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completions of the send queue, of every transport: in order, each once its request is done and
 * its attached frames are back. Called by whoever moves sq->ack (completer, requester, uc, ud, qp)
 * and by attach.c when a frame comes home. Decides about no request: its status is set before.
 * Owner lcore.
 */
#ifndef PMV_ROCE_COMPLETION_H
#define PMV_ROCE_COMPLETION_H

#include "drivers/roce/qp.h"

/* Completes every request that is done (or flushed) and whose frames are back. When the CQ
 * overruns, the QP fails. */
void pmv_roce_completion_run(struct pmv_roce_qp *qp);

/* SQD: says so when the last request that was begun is done. */
void pmv_roce_completion_check_drained(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Everything in the queue is flushed, but for requests that have their own status. */
void pmv_roce_completion_flush(struct pmv_roce_qp *qp);

/* UC, UD: the request fails here, those behind it are flushed, and only the send queue stops (SQE,
 * IBTA vol. 1, 10.3.1.6): messages still arrive. */
void pmv_roce_completion_sq_error(
	struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe, enum pmv_wc_status status);

#endif
