// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completions of the send queue, RC and UD alike: in order, each once its request is done and its
 * attached frames are back. Called by whoever moves sq->ack (completer, requester, ud, qp) and by
 * attach.c when a frame comes home. Decides about no request: its status is set before. Owner
 * lcore.
 */
#ifndef PMV_ROCE_COMPLETION_H
#define PMV_ROCE_COMPLETION_H

#include "drivers/roce/qp.h"

/* Completes every request that is done (or flushed) and whose frames are back. When the CQ
 * overruns, the QP fails. */
void pmv_roce_completion_run(struct pmv_roce_qp *qp);

#endif
