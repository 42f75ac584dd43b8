// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/srq.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

static int
post_recv(struct pmv_srq *srq, const struct pmv_recv_wr *wr, uint32_t nb)
{
	return pmv_roce_rq_post(&pmv_roce_srq(srq)->rq, wr, nb);
}

static const struct pmv_srq_ops srq_ops = { .post_recv = post_recv };

static int
ring_init(struct pmv_roce_rq *rq, uint32_t max_wr, uint32_t max_sge, int socket_id)
{
	struct pmv_qp_cap cap = { .max_recv_wr = max_wr, .max_recv_sge = max_sge };

	return pmv_roce_rq_init(rq, &cap, socket_id);
}

int
pmv_roce_srq_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_attr *attr,
	struct pmv_srq **ret_srq)
{
	struct pmv_roce_srq *srq;
	int err;

	srq = rte_zmalloc_socket("pmv_srq", sizeof(*srq), RTE_CACHE_LINE_SIZE, w->socket_id);
	if (srq == NULL)
		return -ENOMEM;
	err = ring_init(&srq->rq, attr->max_wr, attr->max_sge, w->socket_id);
	if (err != 0) {
		rte_free(srq);
		return err;
	}
	srq->base.ops = &srq_ops;
	srq->base.worker = w;
	srq->base.pd = pd;
	srq->limit = attr->srq_limit;
	attr->max_wr = srq->rq.max_wr;
	*ret_srq = &srq->base;
	return 0;
}

void
pmv_roce_srq_free(struct pmv_srq *base)
{
	pmv_roce_rq_fini(&pmv_roce_srq(base)->rq);
	rte_free(base);
}

/* driver_data: the ring to be changed for the old one; NULL: the size stays. */
int
pmv_roce_srq_modify_prepare(struct pmv_srq *base, struct pmv_srq_modify *m)
{
	const struct pmv_roce_srq *srq = (const struct pmv_roce_srq *)base;
	struct pmv_roce_rq *rq;
	int err;

	m->driver_data = NULL;
	if (!(m->mask & PMV_SRQ_MAX_WR))
		return 0;
	rq = rte_zmalloc_socket("pmv_srq_new", sizeof(*rq), 0, base->worker->socket_id);
	if (rq == NULL)
		return -ENOMEM;
	err = ring_init(rq, m->attr.max_wr, srq->rq.max_sge, base->worker->socket_id);
	if (err != 0) {
		rte_free(rq);
		return err;
	}
	m->driver_data = rq;
	return 0;
}

/* Both rings have the same stride. What is posted moves over in order; the old ring takes the
 * place of the new one. */
static void
change_ring(struct pmv_roce_srq *srq, struct pmv_roce_rq *rq)
{
	const struct pmv_roce_rq old = srq->rq;

	for (uint32_t i = old.tail; i != old.head; i++, rq->head++)
		memcpy(rq->ring + (size_t)(rq->head & rq->mask) * rq->stride,
			old.ring + (size_t)(i & old.mask) * old.stride, old.stride);
	srq->rq = *rq;
	*rq = old;
}

int
pmv_roce_srq_modify_commit(struct pmv_srq *base, struct pmv_srq_modify *m)
{
	struct pmv_roce_srq *srq = pmv_roce_srq(base);

	if (m->driver_data != NULL) {
		if (pmv_roce_srq_posted(srq) > m->attr.max_wr)
			return -EINVAL;
		change_ring(srq, m->driver_data);
	}
	if (m->mask & PMV_SRQ_LIMIT) {
		srq->limit = m->attr.srq_limit;
		pmv_roce_srq_check_limit(srq);
	}
	return 0;
}

void
pmv_roce_srq_modify_end(struct pmv_srq *base, struct pmv_srq_modify *m)
{
	if (m->driver_data == NULL)
		return;
	pmv_roce_rq_fini(m->driver_data);
	rte_free(m->driver_data);
	m->driver_data = NULL;
}

void
pmv_roce_srq_query(const struct pmv_srq *base, struct pmv_srq_attr *attr)
{
	const struct pmv_roce_srq *srq = (const struct pmv_roce_srq *)base;

	attr->max_wr = srq->rq.max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
}
