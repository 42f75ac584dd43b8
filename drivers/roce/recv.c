// SPDX-License-Identifier: BSD-3-Clause
/*
 * A receive moves from an SRQ to the QP that takes it: see recv.h. Owner lcore.
 */
#include "drivers/roce/recv.h"

#include <string.h>

struct pmv_roce_rwqe *
pmv_roce_recv_take_shared(struct pmv_roce_qp *qp)
{
	struct pmv_roce_srq *srq = pmv_roce_srq(qp->base.srq);
	const struct pmv_roce_rwqe *from = pmv_roce_rq_peek(&srq->rq);
	struct pmv_roce_rwqe *held = pmv_roce_rq_place(&qp->rq);

	if (from == NULL)
		return NULL;
	memcpy(held, from, sizeof(*from) + from->num_sge * sizeof(from->sge[0]));
	qp->rq.head++;
	pmv_roce_rq_pop(&srq->rq);
	pmv_roce_srq_check_limit(srq);
	return held;
}
