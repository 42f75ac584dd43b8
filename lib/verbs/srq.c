// SPDX-License-Identifier: BSD-3-Clause
/*
 * Shared receive queues: checks, bookkeeping, and the driver's calls. Create on any control thread;
 * modify, query and destroy by the worker's owner, or any one thread while it is detached.
 */
#include "lib/api/pmv_srq.h"

#include <errno.h>
#include <string.h>

#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"

#define KNOWN_BITS ((uint32_t)(PMV_SRQ_MAX_WR | PMV_SRQ_LIMIT))

static int
refuse_thread(const char *call, const struct pmv_srq *srq, int rc)
{
	return pmv_log_refuse(
		rc, "%s: srq: another thread owns worker %u", call, srq->worker->index);
}

/* ---- create ---- */

static const char *
create_problem(const struct pmv_device_attr *limits, const struct pmv_srq_attr *a)
{
	if (a->max_wr == 0 || a->max_wr > limits->max_srq_wr)
		return "max_wr is 0 or above the device's max_srq_wr";
	if (a->max_sge == 0 || a->max_sge > limits->max_srq_sge)
		return "max_sge is 0 or above the device's max_srq_sge";
	if (a->srq_limit > a->max_wr)
		return "srq_limit is above max_wr";
	return NULL;
}

/* Under the lock. */
static int
create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_init_attr *a,
	struct pmv_srq **ret_srq)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device_attr limits;
	const char *problem;
	struct pmv_srq *srq;
	int rc;

	if (w->ops->srq_create == NULL)
		return pmv_log_refuse(
			-ENOTSUP, "create_srq: driver %s has no SRQs", w->device->driver->name);
	pmv_verbs_device_attr(w->device, &limits);
	problem = create_problem(&limits, &a->attr);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "create_srq: attr.%s", problem);
	if (w->nb_srqs >= limits.max_srq)
		return pmv_log_refuse(-ENOSPC, "create_srq: worker %u has the device's max_srq %u",
			w->index, limits.max_srq);
	rc = w->ops->srq_create(pd, w, &a->attr, &srq);
	if (rc < 0)
		return pmv_log_refuse_since(
			mark, rc, "create_srq: max_wr %u: %s", a->attr.max_wr, strerror(-rc));
	srq->worker = w;
	srq->pd = pd;
	srq->context = a->srq_context;
	srq->created = a->attr;
	srq->event.kind = PMV_EVENT_SOURCE_SRQ;
	pd->refs++;
	w->nb_srqs++;
	*ret_srq = srq;
	return 0;
}

int
pmv_create_srq(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_init_attr *attr,
	struct pmv_srq **ret_srq)
{
	struct pmv_srq_init_attr a;
	int rc;

	if (PMV_ANY_NULL("create_srq", "pd worker attr ret_srq", pd, w, attr, ret_srq))
		return -EINVAL;
	if (pd->device != w->device)
		return pmv_log_refuse(
			-EINVAL, "create_srq: pd and worker are of different devices");
	a = *attr;
	pmv_verbs_lock(w->device);
	rc = create(pd, w, &a, ret_srq);
	pmv_verbs_unlock(w->device);
	if (rc == 0)
		attr->attr = a.attr;
	return rc;
}

/* ---- modify ---- */

/* `now`: what holds. What is posted only the driver knows. */
static const char *
modify_problem(const struct pmv_device_attr *limits, const struct pmv_srq_attr *now,
	const struct pmv_srq_attr *a, uint32_t mask)
{
	uint32_t limit = mask & PMV_SRQ_LIMIT ? a->srq_limit : now->srq_limit;

	if (mask == 0 || (mask & ~KNOWN_BITS) != 0)
		return "mask has an unknown bit or none";
	if ((mask & PMV_SRQ_MAX_WR) && (a->max_wr == 0 || a->max_wr > limits->max_srq_wr))
		return "attr.max_wr is 0 or above the device's max_srq_wr";
	if (limit > (mask & PMV_SRQ_MAX_WR ? a->max_wr : now->max_wr))
		return mask & PMV_SRQ_LIMIT ? "attr.srq_limit is above max_wr"
					    : "attr.max_wr is below the limit in force";
	return NULL;
}

/* The caller has the worker. */
static int
modify_entered(struct pmv_srq *srq, struct pmv_srq_attr *a, uint32_t mask)
{
	const struct pmv_driver_ops *ops = srq->worker->ops;
	struct pmv_srq_modify m = { .mask = mask, .attr = *a };
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device_attr limits;
	struct pmv_srq_attr now;
	const char *problem;
	int rc;

	pmv_verbs_device_attr(srq->worker->device, &limits);
	ops->srq_query(srq, &now);
	problem = modify_problem(&limits, &now, a, mask);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "modify_srq: %s", problem);
	rc = ops->srq_modify_prepare(srq, &m);
	if (rc == 0) {
		rc = ops->srq_modify_commit(srq, &m);
		ops->srq_modify_end(srq, &m);
	}
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "modify_srq: attr.max_wr %u: %s", a->max_wr,
			rc == -EINVAL ? "more receives are posted" : strerror(-rc));
	ops->srq_query(srq, a);
	return 0;
}

/* Under the lock. */
static int
modify(struct pmv_srq *srq, struct pmv_srq_attr *a, uint32_t mask)
{
	int rc = pmv_lcore_mailbox_enter(srq->worker);

	if (rc < 0)
		return refuse_thread("modify_srq", srq, rc);
	rc = modify_entered(srq, a, mask);
	pmv_lcore_mailbox_leave(srq->worker);
	return rc;
}

int
pmv_modify_srq(struct pmv_srq *srq, struct pmv_srq_attr *attr, uint32_t mask)
{
	int rc;

	if (PMV_ANY_NULL("modify_srq", "srq attr", srq, attr))
		return -EINVAL;
	pmv_verbs_lock(srq->worker->device);
	rc = modify(srq, attr, mask);
	pmv_verbs_unlock(srq->worker->device);
	return rc;
}

/* ---- query, destroy ---- */

int
pmv_query_srq(
	struct pmv_srq *srq, struct pmv_srq_attr *ret_attr, struct pmv_srq_init_attr *ret_init)
{
	int rc;

	if (PMV_ANY_NULL("query_srq", "srq ret_attr", srq, ret_attr))
		return -EINVAL;
	rc = pmv_lcore_mailbox_enter(srq->worker);
	if (rc < 0)
		return refuse_thread("query_srq", srq, rc);
	srq->worker->ops->srq_query(srq, ret_attr);
	pmv_lcore_mailbox_leave(srq->worker);
	if (ret_init != NULL)
		*ret_init = (struct pmv_srq_init_attr){ srq->created, srq->context };
	return 0;
}

/* Under the lock. */
static int
destroy(struct pmv_srq *srq)
{
	struct pmv_worker *w = srq->worker;
	int rc;

	if (srq->refs > 0)
		return pmv_log_refuse(
			-EBUSY, "destroy_srq: srq: %u queue pairs still use it", srq->refs);
	rc = pmv_lcore_mailbox_enter(w);
	if (rc < 0)
		return refuse_thread("destroy_srq", srq, rc);
	if (srq->event.pending != 0)
		TAILQ_REMOVE(&w->events, &srq->event, link);
	pmv_lcore_mailbox_leave(w);
	srq->pd->refs--;
	w->nb_srqs--;
	w->ops->srq_free(srq);
	return 0;
}

int
pmv_destroy_srq(struct pmv_srq *srq)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("destroy_srq", "srq", srq))
		return -EINVAL;
	dev = srq->worker->device;
	pmv_verbs_lock(dev);
	rc = destroy(srq);
	pmv_verbs_unlock(dev);
	return rc;
}

/* ---- fields ---- */

struct pmv_worker *
pmv_srq_get_worker(const struct pmv_srq *srq)
{
	return srq->worker;
}

struct pmv_pd *
pmv_srq_get_pd(const struct pmv_srq *srq)
{
	return srq->pd;
}
