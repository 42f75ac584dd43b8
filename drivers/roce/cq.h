// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queue: a ring with one writer and one reader, both the owner lcore. Full means
 * PMV_EVENT_CQ_ERR once, `overrun`, an error for the QP that pushed, and one for every other QP of
 * the CQ before the worker sends again; what is in the ring stays intact.
 */
#ifndef PMV_ROCE_CQ_H
#define PMV_ROCE_CQ_H

#include "lib/driver/pmv_driver.h"

struct pmv_roce_worker;

/* Writer: cq.c. What an armed CQ waits for. */
struct pmv_roce_cq_arm {
	uint8_t kind;   /* enum pmv_roce_cq_kind */
	bool linked;    /* on worker->noticed */
	bool urgent;    /* an error: no moderation */
	uint32_t from;  /* entries from here on were not looked at */
	uint32_t nb;    /* of the kind, so far */
	uint64_t since; /* when the first of them was seen */
};

enum pmv_roce_cq_kind {
	PMV_ROCE_CQ_UNARMED,
	PMV_ROCE_CQ_SOLICITED,
	PMV_ROCE_CQ_ANY,
};

struct pmv_roce_cq {
	struct pmv_cq base;
	struct pmv_wc *ring;
	uint32_t head; /* next to poll */
	uint32_t tail; /* next free */
	uint32_t mask;
	uint32_t limit; /* a push that finds so many waiting goes the long way: all of them, or 0
			   when there is more to do than to push */
	struct pmv_cq_stamp *stamps; /* one an entry; NULL: none kept */
	struct pmv_roce_cq_arm arm;
	TAILQ_ENTRY(pmv_roce_cq) noticed_link;
};

/* The entry to fill, already counted in; NULL when the ring is full: the caller fails its QP. */
struct pmv_wc *pmv_roce_cq_push(struct pmv_cq *cq);

/* End of a turn, some armed CQ was pushed to: calls the hooks that are due. */
void pmv_roce_cq_notify(struct pmv_roce_worker *w);

/* The CQ's share of the driver contract. */
int pmv_roce_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq);
void pmv_roce_cq_free(struct pmv_cq *cq);
void pmv_roce_cq_query(const struct pmv_cq *cq, struct pmv_cq_attr *attr);
int pmv_roce_cq_timestamps(struct pmv_cq *cq);
int pmv_roce_cq_resize(struct pmv_cq *cq, uint32_t cqe);
int pmv_roce_cq_arm(struct pmv_cq *cq, bool solicited_only);
void pmv_roce_cq_disarm(struct pmv_cq *cq);

#endif
