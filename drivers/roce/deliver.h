// SPDX-License-Identifier: BSD-3-Clause
/*
 * What happens when a packet of a message has its turn, whatever the transport: its bytes go where
 * they belong, and the receive request that it ends completes. Called by responder.c (RC), uc.c and
 * ud.c on the owner lcore. It knows no PSN and answers nobody: what a failure means, the caller
 * knows.
 */
#ifndef PMV_ROCE_DELIVER_H
#define PMV_ROCE_DELIVER_H

#include "drivers/roce/qp.h"

/* Why a packet could not be delivered. Nothing was written then, and the receive is still there. */
enum pmv_roce_deliver {
	PMV_ROCE_DELIVER_OK,
	PMV_ROCE_DELIVER_NO_RECV,   /* it needs a receive, and none is posted */
	PMV_ROCE_DELIVER_RECV_LEN,  /* SEND: the receive is too short */
	PMV_ROCE_DELIVER_RECV_PROT, /* SEND: a key of the receive is bad */
	PMV_ROCE_DELIVER_RECV_INV,  /* SEND: the bytes are there, but the key that shall die is bad
				     */
	PMV_ROCE_DELIVER_INVALID,   /* WRITE: the QP takes none, or it is not as long as it said */
	PMV_ROCE_DELIVER_ACCESS,    /* WRITE: its key does not grant this */
	PMV_ROCE_DELIVER_OVERRUN,   /* the bytes are there, but the CQ has no room to say so */
};

/*
 * A SEND packet goes into the receive of its message, a WRITE packet to the address of its message;
 * qp->resp holds how far the message is. One that ends its message completes the receive that it
 * takes.
 */
enum pmv_roce_deliver pmv_roce_deliver_send(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);
enum pmv_roce_deliver pmv_roce_deliver_write(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

/* The first good request since RTR (IBTA vol. 1, 11.6.3.2). */
void pmv_roce_deliver_comm_est(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Who sent a message, and how much of it the receive holds. */
struct pmv_roce_deliver_from {
	uint32_t src_qp;
	uint32_t byte_len;
	uint32_t wc_flags;         /* besides WITH_IMM */
	uint32_t invalidated_rkey; /* with WITH_INV */
};

/* The receive that was taken completes with success. False: the CQ overran, it is still held. */
bool pmv_roce_deliver_complete(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	const struct pmv_roce_deliver_from *from);

/* The receive that was taken completes with an error; a full CQ has said so itself. */
void pmv_roce_deliver_fail(struct pmv_roce_qp *qp, enum pmv_wc_status status);

#endif
