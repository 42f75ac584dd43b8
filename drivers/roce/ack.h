// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the responder owes: one acknowledgement per QP and burst, never ahead of READ responses of
 * earlier requests. It leaves at the start of the next turn: what the application has to say to the
 * burst goes first, and the acknowledgement is nobody's latency. Owner lcore.
 */
#ifndef PMV_ROCE_ACK_H
#define PMV_ROCE_ACK_H

#include "drivers/roce/qp.h"

/* An ACK for everything executed is owed. */
void pmv_roce_ack_owe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* A NAK (or RNR NAK) for `psn` is owed; it replaces an owed ACK, since it acknowledges all before
 * psn. */
void pmv_roce_ack_owe_nak(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t syndrome, struct pmv_psn psn);

/* A READ was accepted: its responses acknowledge everything before. */
void pmv_roce_ack_forgive(struct pmv_roce_qp *qp);

/* The frame just received made something owed; it is kept to be written over if it is ours alone.
 * False: it is the caller's to free. */
bool pmv_roce_ack_keep(struct pmv_roce_qp *qp, struct rte_mbuf *m);

/* Sends what is owed by every QP that does not first have READ responses to
 * send. */
void pmv_roce_ack_flush(struct pmv_roce_worker *w);

/* Sends what this QP owes now, if anything; false: no room or mbuf, still owed. */
bool pmv_roce_ack_send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* The QP leaves: what is owed goes now, if it can; nothing is owed any more. */
void pmv_roce_ack_drop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
