// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queues: checks, bookkeeping, and the driver's calls. Create on any control thread;
 * destroy and query by the worker's owner, or any one thread while it is detached.
 */
#include "lib/api/pmv_cq.h"

#include <errno.h>
#include <string.h>

#include "lib/lcore/mailbox.h"
#include "lib/lcore/owner.h"
#include "lib/util/assert.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"

/* 0; -EINVAL. Under the lock. */
static int
check_cqe(const char *call, struct pmv_device *dev, uint32_t cqe)
{
	struct pmv_device_attr limits;

	pmv_verbs_device_attr(dev, &limits);
	if (cqe != 0 && cqe <= limits.max_cqe)
		return 0;
	return pmv_log_refuse(-EINVAL, "%s: cqe %u is not 1..%u", call, cqe, limits.max_cqe);
}

static int
create(struct pmv_worker *w, const char *call, const struct pmv_cq_init_attr *a,
	struct pmv_cq **ret_cq)
{
	uint32_t mark = pmv_log_nb_errors;
	int rc = check_cqe(call, w->device, a->cqe);

	if (rc < 0)
		return rc;
	rc = w->ops->cq_create(w, a->cqe, ret_cq);
	if (rc == 0 && (a->flags & PMV_CQ_TIMESTAMPS)) {
		rc = w->ops->cq_timestamps(*ret_cq);
		if (rc < 0)
			w->ops->cq_free(*ret_cq);
	}
	if (rc < 0)
		return pmv_log_refuse_since(
			mark, rc, "%s: cqe %u: %s", call, a->cqe, strerror(-rc));
	w->nb_cqs++;
	return 0;
}

static int
create_locked(struct pmv_worker *w, const char *call, const struct pmv_cq_init_attr *a,
	struct pmv_cq **ret_cq)
{
	struct pmv_cq *cq;
	int rc;

	pmv_verbs_lock(w->device);
	rc = create(w, call, a, &cq);
	pmv_verbs_unlock(w->device);
	if (rc < 0)
		return rc;
	cq->worker = w;
	cq->context = a->context;
	cq->event.kind = PMV_EVENT_SOURCE_CQ;
	*ret_cq = cq;
	return 0;
}

int
pmv_create_cq(struct pmv_worker *w, uint32_t cqe, void *context, struct pmv_cq **ret_cq)
{
	const struct pmv_cq_init_attr a = { .cqe = cqe, .context = context };

	if (PMV_ANY_NULL("create_cq", "worker ret_cq", w, ret_cq))
		return -EINVAL;
	return create_locked(w, "create_cq", &a, ret_cq);
}

int
pmv_create_cq_ex(struct pmv_worker *w, const struct pmv_cq_init_attr *attr, struct pmv_cq **ret_cq)
{
	if (PMV_ANY_NULL("create_cq_ex", "worker attr ret_cq", w, attr, ret_cq))
		return -EINVAL;
	if (attr->flags & ~(uint32_t)PMV_CQ_TIMESTAMPS)
		return pmv_log_refuse(
			-EINVAL, "create_cq_ex: flags 0x%x has an unknown bit", attr->flags);
	if ((attr->flags & PMV_CQ_TIMESTAMPS) && w->ops->cq_timestamps == NULL)
		return pmv_log_refuse(-ENOTSUP, "create_cq_ex: flags: driver %s has no timestamps",
			w->device->driver->name);
	return create_locked(w, "create_cq_ex", attr, ret_cq);
}

static int
refuse_thread(const char *call, const struct pmv_cq *cq, int rc)
{
	return pmv_log_refuse(rc, "%s: cq: another thread owns worker %u", call, cq->worker->index);
}

/* Under the lock. */
static int
destroy(struct pmv_cq *cq)
{
	struct pmv_worker *w = cq->worker;
	int rc;

	if (cq->refs > 0)
		return pmv_log_refuse(
			-EBUSY, "destroy_cq: cq: %u queue pairs still use it", cq->refs);
	rc = pmv_lcore_mailbox_enter(w);
	if (rc < 0)
		return refuse_thread("destroy_cq", cq, rc);
	if (w->ops->cq_disarm != NULL)
		w->ops->cq_disarm(cq);
	if (cq->event.pending != 0)
		TAILQ_REMOVE(&w->events, &cq->event, link);
	pmv_lcore_mailbox_leave(w);
	w->ops->cq_free(cq);
	w->nb_cqs--;
	return 0;
}

int
pmv_destroy_cq(struct pmv_cq *cq)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("destroy_cq", "cq", cq))
		return -EINVAL;
	dev = cq->worker->device;
	pmv_verbs_lock(dev);
	rc = destroy(cq);
	pmv_verbs_unlock(dev);
	return rc;
}

int
pmv_query_cq(const struct pmv_cq *cq, struct pmv_cq_attr *ret_attr)
{
	if (PMV_ANY_NULL("query_cq", "cq ret_attr", cq, ret_attr))
		return -EINVAL;
	PMV_ASSERT(pmv_lcore_owner_may_act(cq->worker));
	*ret_attr = (struct pmv_cq_attr){ .cqe = cq->cqe, .overrun = cq->overrun };
	cq->worker->ops->cq_query(cq, ret_attr);
	return 0;
}

/* Under the lock, as the owner. */
static int
resize(struct pmv_cq *cq, uint32_t cqe)
{
	uint32_t mark = pmv_log_nb_errors;
	int rc = cq->worker->ops->cq_resize(cq, cqe);

	if (rc == -EINVAL)
		return pmv_log_refuse_since(
			mark, rc, "resize_cq: cqe %u is below what waits in the cq", cqe);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "resize_cq: cqe %u: %s", cqe, strerror(-rc));
	return 0;
}

/* Under the lock. */
static int
resize_here(struct pmv_cq *cq, uint32_t cqe)
{
	struct pmv_worker *w = cq->worker;
	int rc;

	if (w->ops->cq_resize == NULL)
		return pmv_log_refuse(-ENOTSUP, "resize_cq: cq: driver %s cannot resize it",
			w->device->driver->name);
	rc = check_cqe("resize_cq", w->device, cqe);
	if (rc < 0)
		return rc;
	rc = pmv_lcore_mailbox_enter(w);
	if (rc < 0)
		return refuse_thread("resize_cq", cq, rc);
	rc = resize(cq, cqe);
	pmv_lcore_mailbox_leave(w);
	return rc;
}

int
pmv_resize_cq(struct pmv_cq *cq, uint32_t cqe)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("resize_cq", "cq", cq))
		return -EINVAL;
	dev = cq->worker->device;
	pmv_verbs_lock(dev);
	rc = resize_here(cq, cqe);
	pmv_verbs_unlock(dev);
	return rc;
}

/* ---- notification ---- */

static int
check_notify(const char *call, const struct pmv_cq *cq)
{
	if (cq->worker->ops->cq_arm != NULL)
		return 0;
	return pmv_log_refuse(-ENOTSUP, "%s: cq: driver %s notifies of nothing", call,
		cq->worker->device->driver->name);
}

int
pmv_cq_set_notify(struct pmv_cq *cq, pmv_cq_notify_fn hook, void *arg)
{
	int rc;

	if (PMV_ANY_NULL("cq_set_notify", "cq", cq))
		return -EINVAL;
	rc = check_notify("cq_set_notify", cq);
	if (rc < 0)
		return rc;
	rc = pmv_lcore_mailbox_enter(cq->worker);
	if (rc < 0)
		return refuse_thread("cq_set_notify", cq, rc);
	if (hook == NULL)
		cq->worker->ops->cq_disarm(cq);
	cq->notify = hook;
	cq->notify_arg = arg;
	pmv_lcore_mailbox_leave(cq->worker);
	return 0;
}

int
pmv_modify_cq(struct pmv_cq *cq, uint16_t count, uint16_t period_us)
{
	int rc;

	if (PMV_ANY_NULL("modify_cq", "cq", cq))
		return -EINVAL;
	rc = check_notify("modify_cq", cq);
	if (rc < 0)
		return rc;
	rc = pmv_lcore_mailbox_enter(cq->worker);
	if (rc < 0)
		return refuse_thread("modify_cq", cq, rc);
	cq->notify_count = count;
	cq->notify_period_us = period_us;
	pmv_lcore_mailbox_leave(cq->worker);
	return 0;
}

int
pmv_req_notify_cq(struct pmv_cq *cq, bool solicited_only)
{
	int rc;

	if (PMV_ANY_NULL("req_notify_cq", "cq", cq))
		return -EINVAL;
	PMV_ASSERT(pmv_lcore_owner_may_act(cq->worker));
	rc = check_notify("req_notify_cq", cq);
	if (rc < 0)
		return rc;
	if (cq->notify == NULL)
		return pmv_log_refuse(-EINVAL, "req_notify_cq: cq: no hook is set");
	return cq->worker->ops->cq_arm(cq, solicited_only);
}
