// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queues: see cq.h. Filled by completer, responder and ud, polled by the application
 * through the table that the public inline reads; all on the owner lcore.
 */
#include "drivers/roce/cq.h"

#include <errno.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/roce/device.h"
#include "lib/util/log.h"

_Static_assert(sizeof(struct pmv_wc) == 48, "a completion is 48 bytes, as its header says");

static uint32_t
cq_poll(struct pmv_cq *base, struct pmv_wc *wc, uint32_t nb)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;
	uint32_t nb_ready = cq->tail - cq->head;
	uint32_t first, room;

	if (nb > nb_ready)
		nb = nb_ready;
	first = cq->head & cq->mask;
	room = cq->mask + 1 - first;
	if (likely(nb <= room)) {
		memcpy(wc, &cq->ring[first], nb * sizeof(*wc));
	} else {
		memcpy(wc, &cq->ring[first], room * sizeof(*wc));
		memcpy(wc + room, &cq->ring[0], (nb - room) * sizeof(*wc));
	}
	cq->head += nb;
	return nb;
}

static const struct pmv_cq_ops cq_ops = { .poll = cq_poll };

static __rte_noinline struct pmv_wc *
overrun(struct pmv_cq *cq)
{
	/* What is in the ring was promised to the application and stays (IBTA vol. 1, 11.6.3.1). */
	if (!cq->overrun) /* what is flushed into it later is the same error */
		pmv_event_raise(cq->worker, &cq->event, PMV_EVENT_CQ_ERR);
	cq->overrun = true;
	pmv_roce_worker(cq->worker)->cq_overrun = true;
	return NULL;
}

struct pmv_wc *
pmv_roce_cq_push(struct pmv_cq *base)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;

	if (unlikely(cq->tail - cq->head > cq->mask))
		return overrun(base);
	return &cq->ring[cq->tail++ & cq->mask];
}

int
pmv_roce_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq)
{
	struct pmv_roce_cq *cq;
	uint32_t nb;

	if (cqe == 0 || cqe > PMV_ROCE_CQE_MAX) {
		PMV_LOG(ERR, "create_cq: cqe %u is not in 1..%u", cqe, PMV_ROCE_CQE_MAX);
		return -EINVAL;
	}
	nb = rte_align32pow2(cqe);
	cq = rte_zmalloc_socket("pmv_cq", sizeof(*cq) + nb * sizeof(cq->ring[0]),
		RTE_CACHE_LINE_SIZE, w->socket_id);
	if (cq == NULL)
		return -ENOMEM;
	cq->base.ops = &cq_ops;
	cq->base.worker = w;
	cq->base.cqe = nb;
	cq->mask = nb - 1;
	*ret_cq = &cq->base;
	return 0;
}

void
pmv_roce_cq_free(struct pmv_cq *cq)
{
	rte_free(cq);
}

void
pmv_roce_cq_query(const struct pmv_cq *base, struct pmv_cq_attr *attr)
{
	const struct pmv_roce_cq *cq = (const struct pmv_roce_cq *)base;

	attr->cqe = base->cqe;
	attr->nb_ready = cq->tail - cq->head;
	attr->overrun = base->overrun;
}
