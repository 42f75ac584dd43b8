// SPDX-License-Identifier: BSD-3-Clause
/*
 * Responder: executes request packets strictly in PSN order and streams READ responses and the
 * answers of atomics. Owner lcore.
 */
#ifndef PMV_ROCE_RESPONDER_H
#define PMV_ROCE_RESPONDER_H

#include "drivers/roce/qp.h"

/* A request frame for this QP; the caller keeps the mbuf. The QP is in RTR, RTS, SQD or SQE. */
void pmv_roce_responder_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

/* Sends READ responses that wait, within the turn's budget; then what ack.c holds back behind them.
 */
void pmv_roce_responder_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
