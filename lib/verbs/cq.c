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

static int
create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq)
{
	struct pmv_device_attr limits;
	uint32_t mark;
	int rc;

	pmv_verbs_device_attr(w->device, &limits);
	if (cqe == 0 || cqe > limits.max_cqe)
		return pmv_log_refuse(
			-EINVAL, "create_cq: cqe %u is not 1..%u", cqe, limits.max_cqe);
	mark = pmv_log_nb_errors;
	rc = w->ops->cq_create(w, cqe, ret_cq);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "create_cq: cqe %u: %s", cqe, strerror(-rc));
	w->nb_cqs++;
	return 0;
}

int
pmv_create_cq(struct pmv_worker *w, uint32_t cqe, void *context, struct pmv_cq **ret_cq)
{
	struct pmv_cq *cq;
	int rc;

	if (PMV_ANY_NULL("create_cq", "worker ret_cq", w, ret_cq))
		return -EINVAL;
	pmv_verbs_lock(w->device);
	rc = create(w, cqe, &cq);
	pmv_verbs_unlock(w->device);
	if (rc < 0)
		return rc;
	cq->worker = w;
	cq->context = context;
	cq->event.kind = PMV_EVENT_SOURCE_CQ;
	*ret_cq = cq;
	return 0;
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
		return pmv_log_refuse(
			rc, "destroy_cq: cq: another thread owns worker %u", w->index);
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
