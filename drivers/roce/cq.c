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

static uint32_t
cq_poll_stamps(struct pmv_cq *base, struct pmv_wc *wc, struct pmv_cq_stamp *stamps, uint32_t nb)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;
	uint32_t first = cq->head;

	nb = cq_poll(base, wc, nb);
	for (uint32_t i = 0; i < nb; i++)
		stamps[i] = cq->stamps != NULL ? cq->stamps[(first + i) & cq->mask]
					       : (struct pmv_cq_stamp){ 0 };
	return nb;
}

static const struct pmv_cq_ops cq_ops = { .poll = cq_poll, .poll_stamps = cq_poll_stamps };

/* Somebody is to be told at the end of the turn, when the entry is filled. */
static void
notice(struct pmv_roce_cq *cq)
{
	struct pmv_roce_worker *w = pmv_roce_worker(cq->base.worker);

	if (cq->arm.linked)
		return;
	cq->arm.linked = true;
	TAILQ_INSERT_TAIL(&w->noticed, cq, noticed_link);
}

static struct pmv_wc *
overrun(struct pmv_roce_cq *cq)
{
	struct pmv_cq *base = &cq->base;

	/* What is in the ring was promised to the application and stays (IBTA vol. 1, 11.6.3.1). */
	if (!base->overrun) /* what is flushed into it later is the same error */
		pmv_event_raise(base->worker, &base->event, PMV_EVENT_CQ_ERR);
	base->overrun = true;
	pmv_roce_worker(base->worker)->cq_overrun = true;
	if (cq->arm.kind != PMV_ROCE_CQ_UNARMED) {
		cq->arm.urgent = true;
		notice(cq);
	}
	return NULL;
}

/* The CQ is full, or keeps stamps, or is armed. */
static __rte_noinline struct pmv_wc *
push_more(struct pmv_roce_cq *cq)
{
	struct pmv_roce_worker *w = pmv_roce_worker(cq->base.worker);

	if (unlikely(cq->tail - cq->head > cq->mask))
		return overrun(cq);
	if (cq->stamps != NULL)
		cq->stamps[cq->tail & cq->mask] =
			(struct pmv_cq_stamp){ w->base.now, pmv_roce_stamp_of(&w->stamp) };
	if (cq->arm.kind != PMV_ROCE_CQ_UNARMED)
		notice(cq);
	return &cq->ring[cq->tail++ & cq->mask];
}

struct pmv_wc *
pmv_roce_cq_push(struct pmv_cq *base)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;

	if (unlikely(cq->tail - cq->head >= cq->limit))
		return push_more(cq);
	return &cq->ring[cq->tail++ & cq->mask];
}

static void
set_limit(struct pmv_roce_cq *cq)
{
	cq->limit = cq->stamps != NULL || cq->arm.kind != PMV_ROCE_CQ_UNARMED ? 0 : cq->mask + 1;
}

/* ---- notification ---- */

int
pmv_roce_cq_arm(struct pmv_cq *base, bool solicited_only)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;
	struct pmv_roce_cq_arm *a = &cq->arm;

	if (a->kind == PMV_ROCE_CQ_UNARMED) {
		a->from = cq->tail;
		a->nb = 0;
		a->urgent = false;
	}
	a->kind =
		solicited_only ? RTE_MAX(a->kind, (uint8_t)PMV_ROCE_CQ_SOLICITED) : PMV_ROCE_CQ_ANY;
	set_limit(cq);
	return cq->tail != cq->head;
}

void
pmv_roce_cq_disarm(struct pmv_cq *base)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;

	if (cq->arm.linked)
		TAILQ_REMOVE(&pmv_roce_worker(base->worker)->noticed, cq, noticed_link);
	cq->arm.linked = false;
	cq->arm.kind = PMV_ROCE_CQ_UNARMED;
	set_limit(cq);
}

/* Looks at what was pushed since the last look; polled or not, each entry is still there unless a
 * newer one took its place. */
static void
look(struct pmv_roce_cq *cq, uint64_t now)
{
	struct pmv_roce_cq_arm *a = &cq->arm;
	uint32_t nb = a->nb;

	for (; a->from != cq->tail; a->from++) {
		const struct pmv_wc *wc = &cq->ring[a->from & cq->mask];

		if (cq->tail - a->from > cq->mask + 1) { /* polled and overwritten */
			a->nb++;
			continue;
		}
		if (wc->status != PMV_WC_SUCCESS)
			a->urgent = true;
		else if (a->kind == PMV_ROCE_CQ_ANY || (wc->wc_flags & PMV_WC_SOLICITED))
			a->nb++;
	}
	if (nb == 0)
		a->since = now;
}

static bool
is_due(const struct pmv_roce_worker *w, const struct pmv_roce_cq *cq)
{
	const struct pmv_roce_cq_arm *a = &cq->arm;
	uint64_t period = cq->base.notify_period_us * w->ticks_per_us;

	if (a->urgent || (a->nb > 0 && a->nb >= cq->base.notify_count))
		return true;
	return a->nb > 0 && period > 0 && w->base.now - a->since >= period;
}

void
pmv_roce_cq_notify(struct pmv_roce_worker *w)
{
	struct pmv_roce_cq *cq, *next;

	for (cq = TAILQ_FIRST(&w->noticed); cq != NULL; cq = next) {
		next = TAILQ_NEXT(cq, noticed_link);
		look(cq, w->base.now);
		if (is_due(w, cq)) {
			pmv_roce_cq_disarm(&cq->base);
			cq->base.notify(&cq->base, cq->base.notify_arg);
		} else if (cq->arm.nb == 0) { /* the next push links it again */
			cq->arm.linked = false;
			TAILQ_REMOVE(&w->noticed, cq, noticed_link);
		}
	}
}

/* ---- control ---- */

/* Room for nb entries, and for their stamps. 0; -ENOMEM. */
static int
rings_alloc(struct pmv_roce_cq *cq, uint32_t nb, bool stamps)
{
	int socket_id = cq->base.worker->socket_id;

	cq->ring = rte_zmalloc_socket(
		"pmv_cq_ring", nb * sizeof(cq->ring[0]), RTE_CACHE_LINE_SIZE, socket_id);
	cq->stamps = stamps && cq->ring != NULL
			     ? rte_zmalloc_socket("pmv_cq_stamps", nb * sizeof(cq->stamps[0]),
				       RTE_CACHE_LINE_SIZE, socket_id)
			     : NULL;
	if (cq->ring == NULL || (stamps && cq->stamps == NULL)) {
		rte_free(cq->ring);
		cq->ring = NULL;
		return -ENOMEM;
	}
	cq->base.cqe = nb;
	cq->mask = nb - 1;
	set_limit(cq);
	return 0;
}

int
pmv_roce_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq)
{
	struct pmv_roce_cq *cq;

	if (cqe == 0 || cqe > PMV_ROCE_CQE_MAX) {
		PMV_LOG(ERR, "create_cq: cqe %u is not in 1..%u", cqe, PMV_ROCE_CQE_MAX);
		return -EINVAL;
	}
	cq = rte_zmalloc_socket("pmv_cq", sizeof(*cq), RTE_CACHE_LINE_SIZE, w->socket_id);
	if (cq == NULL)
		return -ENOMEM;
	cq->base.ops = &cq_ops;
	cq->base.worker = w;
	if (rings_alloc(cq, rte_align32pow2(cqe), false) < 0) {
		rte_free(cq);
		return -ENOMEM;
	}
	*ret_cq = &cq->base;
	return 0;
}

void
pmv_roce_cq_free(struct pmv_cq *base)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;

	rte_free(cq->ring);
	rte_free(cq->stamps);
	rte_free(cq);
}

int
pmv_roce_cq_timestamps(struct pmv_cq *base)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;

	rte_free(cq->ring);
	return rings_alloc(cq, base->cqe, true);
}

int
pmv_roce_cq_resize(struct pmv_cq *base, uint32_t cqe)
{
	struct pmv_roce_cq *cq = (struct pmv_roce_cq *)base;
	const struct pmv_roce_cq old = *cq;
	uint32_t nb = rte_align32pow2(cqe);

	if (cqe < cq->tail - cq->head)
		return -EINVAL;
	if (rings_alloc(cq, nb, old.stamps != NULL) < 0) {
		*cq = old;
		return -ENOMEM;
	}
	for (uint32_t i = cq->head; i != cq->tail; i++) {
		cq->ring[i & cq->mask] = old.ring[i & old.mask];
		if (old.stamps != NULL)
			cq->stamps[i & cq->mask] = old.stamps[i & old.mask];
	}
	rte_free(old.ring);
	rte_free(old.stamps);
	return 0;
}

void
pmv_roce_cq_query(const struct pmv_cq *base, struct pmv_cq_attr *attr)
{
	const struct pmv_roce_cq *cq = (const struct pmv_roce_cq *)base;

	attr->cqe = base->cqe;
	attr->nb_ready = cq->tail - cq->head;
	attr->overrun = base->overrun;
	attr->armed = cq->arm.kind != PMV_ROCE_CQ_UNARMED;
}
