// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completer: takes responses (ACK, NAK, READ responses, ATOMIC ACK), frees the window and places
 * what was asked for; the completions of what is done are made by completion.c. Owner lcore.
 */
#ifndef PMV_ROCE_COMPLETER_H
#define PMV_ROCE_COMPLETER_H

#include "drivers/roce/qp.h"

/* A response frame for this QP; the caller keeps the mbuf. The QP is in RTS, SQD or SQE. */
void pmv_roce_completer_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

#endif
