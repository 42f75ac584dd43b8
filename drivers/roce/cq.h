// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queue: a ring with one writer and one reader, both the owner lcore. Full means
 * PMV_EVENT_CQ_ERR once, `overrun`, an error for the QP that pushed, and one for every other QP of
 * the CQ before the worker sends again; what is in the ring stays intact.
 */
#ifndef PMV_ROCE_CQ_H
#define PMV_ROCE_CQ_H

#include "lib/driver/pmv_driver.h"

struct pmv_roce_cq {
	struct pmv_cq base;
	uint32_t head; /* next to poll */
	uint32_t tail; /* next free */
	uint32_t mask;
	struct pmv_wc ring[];
};

/* The entry to fill, already counted in; NULL when the ring is full: the caller fails its QP. */
struct pmv_wc *pmv_roce_cq_push(struct pmv_cq *cq);

int pmv_roce_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq);
void pmv_roce_cq_free(struct pmv_cq *cq);
void pmv_roce_cq_query(const struct pmv_cq *cq, struct pmv_cq_attr *attr);

#endif
