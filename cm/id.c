// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ids: create, destroy, and the life of the record behind the handle; see id.h. Control lcore.
 */
#include "cm/id.h"

#include <errno.h>

#include <rte_malloc.h>

#include "cm/port.h"
#include "cm/route.h"
#include "lib/util/log.h"

/* RNR timer that our QPs announce: 0.64 ms. Linux leaves code 0 there, which means 655 ms. */
#define MIN_RNR_TIMER_DEFAULT 12

int
pmv_cm_id_check(const struct pmv_cm_id *id, const char *call)
{
	if (PMV_ANY_NULL(call, "id", id))
		return -EINVAL;
	if (id->destroyed)
		return pmv_log_refuse(-EINVAL, "%s: id was destroyed", call);
	return pmv_cm_owner_check(id->cm, call);
}

int
pmv_cm_id_alloc(struct pmv_cm *cm, struct pmv_cm_id **ret_id)
{
	struct pmv_cm_id *id;

	if (cm->nb_ids >= cm->id_max)
		return -ENOSPC;
	id = rte_zmalloc_socket("pmv_cm_id", sizeof(*id), 0, cm->socket_id);
	if (id == NULL)
		return -ENOMEM;
	id->cm = cm;
	id->min_rnr_timer = MIN_RNR_TIMER_DEFAULT;
	id->conn.av.entry = PMV_CM_NEIGH_NONE;
	TAILQ_INIT(&id->children);
	TAILQ_INSERT_TAIL(&cm->ids, id, link);
	cm->nb_ids++;
	*ret_id = id;
	return 0;
}

int
pmv_cm_create_id(struct pmv_cm *cm, pmv_cm_handler handler, void *context,
	enum pmv_cm_port_space ps, enum pmv_qp_type qp_type, struct pmv_cm_id **ret_id)
{
	struct pmv_cm_id *id;
	int err;

	if (PMV_ANY_NULL("cm_create_id", "cm ret_id", cm, ret_id))
		return -EINVAL;
	if (pmv_cm_owner_check(cm, "cm_create_id") != 0)
		return -EPERM;
	if (ps != PMV_PS_TCP && ps != PMV_PS_UDP && ps != PMV_PS_IB)
		return pmv_log_refuse(-EINVAL, "cm_create_id: ps 0x%x is no port space", ps);
	if (ps == PMV_PS_UDP)
		return pmv_log_refuse(-ENOTSUP, "cm_create_id: ps 0x%x is PMV_PS_UDP", ps);
	if (qp_type != PMV_QPT_RC && qp_type != PMV_QPT_UC)
		return pmv_log_refuse(
			-ENOTSUP, "cm_create_id: qp_type %d is neither RC nor UC", qp_type);
	err = pmv_cm_id_alloc(cm, &id);
	if (err != 0)
		return pmv_log_refuse(err, "cm_create_id: cm: %s",
			err == -ENOSPC ? "its id_max is reached" : "no memory");
	id->handler = handler;
	id->context = context;
	id->ps = ps;
	id->qp_type = (uint8_t)qp_type;
	*ret_id = id;
	return 0;
}

void
pmv_cm_id_review_listener(struct pmv_cm_id *id)
{
	bool pending =
		id->conn.state == PMV_CM_ST_REQ_RCVD || id->conn.state == PMV_CM_ST_MRA_REQ_SENT;

	if (id->listener == NULL)
		return;
	if (id->counted && !pending) {
		id->counted = false;
		id->listener->nb_pending--;
	}
	if (!id->counted && (id->taken || id->destroyed)) {
		TAILQ_REMOVE(&id->listener->children, id, child_link);
		id->listener = NULL;
	}
}

/* Requests that the application has not seen are refused; the others are its own now. */
static void
end_children(struct pmv_cm_id *listener)
{
	struct pmv_cm_id *id;

	while ((id = TAILQ_FIRST(&listener->children)) != NULL) {
		if (!id->taken) {
			pmv_cm_id_end(id);
			continue;
		}
		TAILQ_REMOVE(&listener->children, id, child_link);
		id->listener = NULL;
		id->counted = false;
	}
}

void
pmv_cm_id_release(struct pmv_cm_id *id)
{
	struct pmv_cm *cm = id->cm;

	pmv_cm_route_drop(id);
	if (!id->conn.lingers)
		return;
	id->conn.lingers = false;
	TAILQ_REMOVE(&cm->lingering, id, link);
	TAILQ_INSERT_TAIL(&cm->dying, id, link);
}

void
pmv_cm_id_end(struct pmv_cm_id *id)
{
	struct pmv_cm *cm = id->cm;

	id->destroyed = true;
	cm->nb_ids--;
	TAILQ_REMOVE(&cm->ids, id, link);
	TAILQ_INSERT_TAIL(&cm->dying, id, link);
	pmv_cm_event_drop(id);
	pmv_cm_route_cancel(id);
	pmv_cm_port_drop(id);
	end_children(id);
	pmv_cm_conn_input(id, PMV_CM_IN_DESTROY, NULL);
	pmv_cm_id_review_listener(id);
	pmv_cm_qp_bridge_start(id, PMV_CM_QP_LET_GO);
	if (id->conn.state != PMV_CM_ST_IDLE) {
		id->conn.lingers = true;
		TAILQ_REMOVE(&cm->dying, id, link);
		TAILQ_INSERT_TAIL(&cm->lingering, id, link);
	}
}

int
pmv_cm_destroy_id(struct pmv_cm_id *id)
{
	int err = pmv_cm_id_check(id, "cm_destroy_id");

	if (err != 0)
		return err;
	if (id->in_handler != 0 || id->in_request_handler != 0)
		return pmv_log_refuse(-EDEADLK,
			"cm_destroy_id: id: from inside its own handler; return non-zero instead");
	pmv_cm_id_end(id);
	return 0;
}

void
pmv_cm_id_bury(struct pmv_cm *cm, uint32_t nb, bool force)
{
	struct pmv_cm_id *last = TAILQ_LAST(&cm->dying, pmv_cm_id_list);
	struct pmv_cm_id *id = NULL;

	while (id != last && nb-- > 0) {
		id = TAILQ_FIRST(&cm->dying);
		TAILQ_REMOVE(&cm->dying, id, link);
		if (pmv_cm_qp_bridge_is_idle(id) && (force || !pmv_cm_event_any_taken(id))) {
			bool end = id == last;

			rte_free(id);
			if (end)
				break;
			continue;
		}
		TAILQ_INSERT_TAIL(&cm->dying, id, link);
	}
}

void
pmv_cm_id_lose_device(struct pmv_cm_id *id)
{
	pmv_cm_route_cancel(id);
	pmv_cm_port_drop(id);
	end_children(id);
	if (id->conn.state != PMV_CM_ST_IDLE)
		pmv_cm_conn_input(id, PMV_CM_IN_DESTROY, NULL);
	else
		pmv_cm_qp_bridge_start(id, PMV_CM_QP_ERR);
	pmv_cm_conn_drop(id);
	pmv_cm_route_drop(id);
	id->dev = NULL;
	id->phase = PMV_CM_PH_GONE;
	pmv_cm_event_queue(id, PMV_CM_SLOT_DEVICE, PMV_CM_EVENT_DEVICE_REMOVAL, 0, NULL);
}

void *
pmv_cm_id_context(const struct pmv_cm_id *id)
{
	return id->context;
}

void
pmv_cm_id_set_context(struct pmv_cm_id *id, void *context)
{
	id->context = context;
}

void
pmv_cm_id_set_handler(struct pmv_cm_id *id, pmv_cm_handler handler)
{
	id->handler = handler;
}

struct pmv_qp *
pmv_cm_id_qp(const struct pmv_cm_id *id)
{
	return pmv_cm_qp_bridge_qp(id);
}

struct pmv_device *
pmv_cm_id_device(const struct pmv_cm_id *id)
{
	return id->dev != NULL ? id->dev->device : NULL;
}

struct pmv_ece
pmv_cm_id_ece(const struct pmv_cm_id *id)
{
	return pmv_cm_conn_ece(id);
}

uint16_t
pmv_cm_id_worker_hint(const struct pmv_cm_id *id)
{
	return id->worker_hint;
}
