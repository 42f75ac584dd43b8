// SPDX-License-Identifier: BSD-3-Clause
/*
 * Work requests that concern nobody but this side: LOCAL_INV, BIND_MW, REG_MR, NOP. They stand in
 * the send queue, are carried out when everything before them has been sent, and complete in order
 * with the rest. They take no PSN: until one is done it lies on the PSN of the request behind it
 * (nb_psn 1), so that no acknowledgement passes it; then on none (nb_psn 0). Owner lcore.
 */
#ifndef PMV_ROCE_LOCAL_OP_H
#define PMV_ROCE_LOCAL_OP_H

#include "drivers/roce/qp.h"

static inline bool
pmv_roce_local_op_is(uint32_t opcode)
{
	return opcode == PMV_WR_LOCAL_INV || opcode == PMV_WR_BIND_MW || opcode >= PMV_WR_REG_MR;
}

/* Checks a request and puts it at the head of the queue. 0, -ENOMEM or -EINVAL. */
int pmv_roce_local_op_post(struct pmv_roce_qp *qp, const struct pmv_send_wr *wr);

/*
 * Carries the request at `snd` out. PMV_WC_SUCCESS: done; another enum pmv_wc_status: it has
 * failed; -EAGAIN: something before it is not acknowledged; -EINPROGRESS: other workers must have
 * a turn first.
 */
int pmv_roce_local_op_run(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe);

/* Done requests at `ack` are passed, since nothing before them is missing any more. */
static inline void
pmv_roce_local_op_pass(struct pmv_roce_sq *sq)
{
	while (sq->ack != sq->head && pmv_roce_sq_wqe(sq, sq->ack)->nb_psn == 0)
		sq->ack++;
}

#endif
