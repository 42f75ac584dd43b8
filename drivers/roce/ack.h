// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the responder owes: one acknowledgement per QP and burst, never ahead of READ responses of
 * earlier requests. Owner lcore.
 */
#ifndef PMV_ROCE_ACK_H
#define PMV_ROCE_ACK_H

#include "drivers/roce/qp.h"

/* An ACK for everything executed is owed at the end of the burst. */
void pmv_roce_ack_owe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* A NAK (or RNR NAK) for `psn` is owed; it replaces an owed ACK, since it acknowledges all before
 * psn. */
void pmv_roce_ack_owe_nak(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t syndrome, struct pmv_psn psn);

/* A READ was accepted: its responses acknowledge everything before. */
void pmv_roce_ack_forgive(struct pmv_roce_qp *qp);

/* End of a receive burst: sends what is owed by every QP that does not first have READ responses to
 * send. */
void pmv_roce_ack_flush(struct pmv_roce_worker *w);

/* Sends what this QP owes now, if anything; false: no room or mbuf, still owed. */
bool pmv_roce_ack_send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* The QP leaves: nothing is owed any more. */
void pmv_roce_ack_drop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
