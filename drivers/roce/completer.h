// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completer: takes responses (ACK, NAK, READ responses), frees the window, places READ data and
 * makes send completions. Owner lcore.
 */
#ifndef PMV_ROCE_COMPLETER_H
#define PMV_ROCE_COMPLETER_H

#include "drivers/roce/qp.h"

/* A response frame for this QP; the caller keeps the mbuf. The QP is in RTS, SQD or SQE. */
void pmv_roce_completer_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

/* Completes, in order, every request that is done (or flushed) and whose frames are back. */
void pmv_roce_completer_run(struct pmv_roce_qp *qp);

/* attach.c: a frame of this QP is back. */
void pmv_roce_completer_frames_back(struct pmv_roce_qp *qp);

#endif
