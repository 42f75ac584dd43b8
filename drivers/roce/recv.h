// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where the receive of a message comes from, for every type of QP: its own queue or its SRQ;
 * whoever delivers asks here and not the queue. A receive that was taken belongs to the QP until it
 * is done or flushed, however many packets its message has. Owner lcore.
 */
#ifndef PMV_ROCE_RECV_H
#define PMV_ROCE_RECV_H

#include <rte_branch_prediction.h>

#include "drivers/roce/qp.h"
#include "drivers/roce/srq.h"

/* Out of line: the oldest receive of the QP's SRQ, held from here on, or NULL. The QP has an SRQ
 * and holds none. */
struct pmv_roce_rwqe *pmv_roce_recv_take_shared(struct pmv_roce_qp *qp);

/*
 * The receive of the message that goes on or, when none is held, the next one, which is held from
 * here on. NULL: nothing is posted. A caller that may still leave the message alone looks first.
 */
static inline struct pmv_roce_rwqe *
pmv_roce_recv_take(struct pmv_roce_qp *qp)
{
	struct pmv_roce_rwqe *rwqe = pmv_roce_rq_peek(&qp->rq);

	if (unlikely(rwqe == NULL) && qp->base.srq != NULL)
		rwqe = pmv_roce_recv_take_shared(qp);
	return rwqe;
}

/* What take would return; nothing is held by it. */
static inline const struct pmv_roce_rwqe *
pmv_roce_recv_look(const struct pmv_roce_qp *qp)
{
	const struct pmv_roce_rwqe *rwqe = pmv_roce_rq_peek(&qp->rq);

	if (unlikely(rwqe == NULL) && qp->base.srq != NULL)
		rwqe = pmv_roce_rq_peek(&pmv_roce_srq(qp->base.srq)->rq);
	return rwqe;
}

/* The one that was taken. */
static inline const struct pmv_roce_rwqe *
pmv_roce_recv_held(const struct pmv_roce_qp *qp)
{
	return pmv_roce_rq_peek(&qp->rq);
}

/* The one that was taken has its completion (or none, when the CQ overran). */
static inline void
pmv_roce_recv_done(struct pmv_roce_qp *qp)
{
	pmv_roce_rq_pop(&qp->rq);
}

#endif
