// SPDX-License-Identifier: BSD-3-Clause
/*
 * Asynchronous events: bits in the objects, linked into the worker's list by pmv_event_raise(). The
 * worker's are taken by its owner lcore, the device's by any thread under its lock.
 */
#include "lib/api/pmv_event.h"

#include <errno.h>
#include <stddef.h>

#include "lib/lcore/owner.h"
#include "lib/util/assert.h"
#include "lib/verbs/device.h"
#include "lib/verbs/mem.h"
#include "lib/verbs/port.h"

#define OBJECT(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static void
fill(struct pmv_event *e, struct pmv_event_source *src)
{
	e->qp_num = 0;
	if (src->kind == PMV_EVENT_SOURCE_QP) {
		struct pmv_qp *qp = OBJECT(src, struct pmv_qp, event);

		e->qp_num = qp->qpn;
		e->context = qp->context;
		e->object = qp;
	} else if (src->kind == PMV_EVENT_SOURCE_SRQ) {
		struct pmv_srq *srq = OBJECT(src, struct pmv_srq, event);

		e->context = srq->context;
		e->object = srq;
	} else {
		struct pmv_cq *cq = OBJECT(src, struct pmv_cq, event);

		e->context = cq->context;
		e->object = cq;
	}
}

int
pmv_worker_get_event(struct pmv_worker *w, struct pmv_event *ret_event)
{
	struct pmv_event_source *src;

	if (w == NULL || ret_event == NULL)
		return -EINVAL;
	PMV_ASSERT(pmv_lcore_owner_may_act(w));
	src = TAILQ_FIRST(&w->events);
	if (src == NULL)
		return 0;
	ret_event->type = (enum pmv_event_type)__builtin_ctz(src->pending);
	fill(ret_event, src);
	TAILQ_REMOVE(&w->events, src, link);
	src->pending &= src->pending - 1;
	/* To the end, so that an object that raises one event after the other cannot hide the rest.
	 */
	if (src->pending != 0)
		TAILQ_INSERT_TAIL(&w->events, src, link);
	return 1;
}

int
pmv_poll_async_event(struct pmv_device *dev, struct pmv_event *ret_event)
{
	bool found;

	if (dev == NULL || ret_event == NULL)
		return -EINVAL;
	pmv_verbs_lock(dev);
	pmv_verbs_mem_reap(dev);
	found = pmv_verbs_mem_take_released(dev, ret_event) ||
		pmv_verbs_port_take_event(dev, ret_event);
	pmv_verbs_unlock(dev);
	return found;
}

const char *
pmv_event_type_str(enum pmv_event_type type)
{
	switch (type) {
	case PMV_EVENT_CQ_ERR:
		return "CQ error";
	case PMV_EVENT_QP_FATAL:
		return "fatal QP error";
	case PMV_EVENT_QP_REQ_ERR:
		return "invalid request from the peer";
	case PMV_EVENT_QP_ACCESS_ERR:
		return "access violation by the peer";
	case PMV_EVENT_COMM_EST:
		return "communication established";
	case PMV_EVENT_SQ_DRAINED:
		return "send queue drained";
	case PMV_EVENT_PORT_ACTIVE:
		return "port active";
	case PMV_EVENT_PORT_ERR:
		return "port down";
	case PMV_EVENT_GID_CHANGE:
		return "addresses of the port changed";
	case PMV_EVENT_SRQ_ERR:
		return "shared receive queue error";
	case PMV_EVENT_SRQ_LIMIT_REACHED:
		return "shared receive queue below its limit";
	case PMV_EVENT_QP_LAST_WQE_REACHED:
		return "last shared receive of a QP";
	case PMV_EVENT_MR_RELEASED:
		return "memory region released";
	case PMV_EVENT_MW_RELEASED:
		return "memory window released";
	}
	return "unknown event";
}
