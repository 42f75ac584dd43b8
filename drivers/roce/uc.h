// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable connections: messages of many packets that nobody acknowledges. Sent once, executed if
 * every packet comes in its turn, else lost without a word. Owner lcore.
 */
#ifndef PMV_ROCE_UC_H
#define PMV_ROCE_UC_H

#include "drivers/roce/qp.h"

/* post_send of UC queue pairs. */
int pmv_roce_uc_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);

/* Sends what waits, within the turn's budget. */
void pmv_roce_uc_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* A frame of the peer of this QP; the caller keeps the mbuf. */
void pmv_roce_uc_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

#endif
