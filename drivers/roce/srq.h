// SPDX-License-Identifier: BSD-3-Clause
/*
 * Shared receive queue: posted receives in order, for the QPs of one worker. A QP takes a receive
 * by moving it into its own queue, which has one place then: there it stays as long as its message
 * lasts, and here the place is free again at once. So an in-order ring will do although messages of
 * several QPs end in any order. Taken through recv.h; made and changed by the calls of the driver
 * contract. Owner lcore, but for create, modify_prepare, modify_end and free.
 */
#ifndef PMV_ROCE_SRQ_H
#define PMV_ROCE_SRQ_H

#include <rte_branch_prediction.h>

#include "drivers/roce/rq.h"
#include "lib/driver/pmv_driver.h"

struct pmv_roce_srq {
	struct pmv_srq base;
	struct pmv_roce_rq rq;
	uint32_t limit; /* PMV_EVENT_SRQ_LIMIT_REACHED when fewer remain; 0 = not armed */
};

static inline struct pmv_roce_srq *
pmv_roce_srq(struct pmv_srq *srq)
{
	return (struct pmv_roce_srq *)srq;
}

static inline uint32_t
pmv_roce_srq_posted(const struct pmv_roce_srq *srq)
{
	return srq->rq.head - srq->rq.tail;
}

/* The event comes once, then the limit is disarmed until it is set again (IBTA vol. 1, 10.2.9). */
static inline void
pmv_roce_srq_check_limit(struct pmv_roce_srq *srq)
{
	if (likely(pmv_roce_srq_posted(srq) >= srq->limit))
		return;
	srq->limit = 0;
	pmv_event_raise(srq->base.worker, &srq->base.event, PMV_EVENT_SRQ_LIMIT_REACHED);
}

/* The srq_* operations of the driver contract. */
int pmv_roce_srq_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_attr *attr,
	struct pmv_srq **ret_srq);
int pmv_roce_srq_modify_prepare(struct pmv_srq *srq, struct pmv_srq_modify *m);
int pmv_roce_srq_modify_commit(struct pmv_srq *srq, struct pmv_srq_modify *m);
void pmv_roce_srq_modify_end(struct pmv_srq *srq, struct pmv_srq_modify *m);
void pmv_roce_srq_free(struct pmv_srq *srq);
void pmv_roce_srq_query(const struct pmv_srq *srq, struct pmv_srq_attr *attr);

#endif
