// SPDX-License-Identifier: BSD-3-Clause
/*
 * Receive queue: posted receives in order; of a QP, the one at tail is the one being filled. A QP
 * with an SRQ has one with a single place, for the receive that it took. Owner lcore.
 */
#ifndef PMV_ROCE_RQ_H
#define PMV_ROCE_RQ_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/pmv_post.h"

struct pmv_roce_rwqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGE lengths, at most what a message may have */
	uint32_t num_sge;
	uint32_t reserved;
	struct pmv_sge sge[];
};

struct pmv_roce_rq {
	uint8_t *ring;
	uint32_t stride;
	uint32_t mask;
	uint32_t head;
	uint32_t tail;
	uint32_t max_wr;
	uint32_t max_sge;
};

/* Where the next receive is put; there is room. */
static inline struct pmv_roce_rwqe *
pmv_roce_rq_place(const struct pmv_roce_rq *rq)
{
	return (struct pmv_roce_rwqe *)(rq->ring + (size_t)(rq->head & rq->mask) * rq->stride);
}

/* The oldest posted receive, or NULL. */
static inline struct pmv_roce_rwqe *
pmv_roce_rq_peek(const struct pmv_roce_rq *rq)
{
	if (rq->head == rq->tail)
		return NULL;
	return (struct pmv_roce_rwqe *)(rq->ring + (size_t)(rq->tail & rq->mask) * rq->stride);
}

static inline void
pmv_roce_rq_pop(struct pmv_roce_rq *rq)
{
	rq->tail++;
}

int pmv_roce_rq_init(struct pmv_roce_rq *rq, struct pmv_qp_cap *cap, int socket_id);
void pmv_roce_rq_fini(struct pmv_roce_rq *rq);

/* Posts in order: how many, or -ENOMEM, -EINVAL for the first. */
int pmv_roce_rq_post(struct pmv_roce_rq *rq, const struct pmv_recv_wr *wr, uint32_t nb);

/* The driver's post_recv, RC and UD alike. In ERR each request completes with WR_FLUSH_ERR at once.
 */
int pmv_roce_post_recv(struct pmv_qp *qp, const struct pmv_recv_wr *wr, uint32_t nb);

#endif
