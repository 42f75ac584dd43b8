// SPDX-License-Identifier: BSD-3-Clause
/*
 * Events of ids, see event.h. Control lcore. Does not decide what is reported: that is the state
 * machine and the resolver.
 */
#include "cm/event.h"

#include <errno.h>
#include <stddef.h>

#include "cm/id.h"

bool
pmv_cm_event_slot_free(const struct pmv_cm_id *id, enum pmv_cm_event_slot slot)
{
	return id->events[slot].state == PMV_CM_EVENT_FREE;
}

void
pmv_cm_event_queue(struct pmv_cm_id *id, enum pmv_cm_event_slot slot, enum pmv_cm_event_type type,
	int status, const struct pmv_cm_conn_param *param)
{
	struct pmv_cm_event_node *node = &id->events[slot];

	if (id->destroyed)
		return;
	if (slot == PMV_CM_SLOT_ADDR && node->state != PMV_CM_EVENT_FREE)
		node = &id->events[PMV_CM_SLOT_ADDR_2];
	if (node->state != PMV_CM_EVENT_FREE)
		return; /* the calls that lead here have looked */
	node->event = (struct pmv_cm_event){
		.event = type,
		.id = id,
		.listen_id = slot == PMV_CM_SLOT_REQUEST ? id->listener : NULL,
		.status = status,
	};
	if (param != NULL)
		node->event.param = *param;
	if (type == PMV_CM_EVENT_CONNECT_REQUEST || type == PMV_CM_EVENT_ESTABLISHED)
		node->event.ece = id->conn.ece_heard;
	node->state = PMV_CM_EVENT_QUEUED;
	TAILQ_INSERT_TAIL(&id->cm->events, node, link);
}

static void
unlink_node(struct pmv_cm *cm, struct pmv_cm_event_node *node)
{
	if (node->state == PMV_CM_EVENT_QUEUED)
		TAILQ_REMOVE(&cm->events, node, link);
	else if (node->state == PMV_CM_EVENT_RING)
		TAILQ_REMOVE(&cm->ring, node, link);
}

void
pmv_cm_event_drop(struct pmv_cm_id *id)
{
	uint32_t i;

	for (i = 0; i < PMV_CM_SLOT_MAX; i++) {
		struct pmv_cm_event_node *node = &id->events[i];

		unlink_node(id->cm, node);
		if (node->state != PMV_CM_EVENT_TAKEN)
			node->state = PMV_CM_EVENT_FREE;
	}
}

bool
pmv_cm_event_any_taken(const struct pmv_cm_id *id)
{
	uint32_t i;

	for (i = 0; i < PMV_CM_SLOT_MAX; i++)
		if (id->events[i].state == PMV_CM_EVENT_TAKEN)
			return true;
	return false;
}

/* The application gets the event now: copies of a REQ are answered with MRA from here on. */
static void
note_taken(struct pmv_cm_id *id, const struct pmv_cm_event *event)
{
	if (event->event != PMV_CM_EVENT_CONNECT_REQUEST)
		return;
	id->taken = true;
	pmv_cm_conn_input(id, PMV_CM_IN_TAKEN, NULL);
}

/* The handler may poll the CM again (a wrapper that waits for another id); neither this id nor the
 * listener can be destroyed meanwhile. */
static void
call_handler(struct pmv_cm_event_node *node)
{
	struct pmv_cm_event event = node->event;
	struct pmv_cm_id *id = event.id;
	int ret;

	/* Free before the call: the handler may start what queues the next event of this kind. */
	node->state = PMV_CM_EVENT_FREE;
	note_taken(id, &event);
	id->in_handler++;
	if (event.listen_id != NULL)
		event.listen_id->in_request_handler++;
	ret = id->handler(id, &event);
	if (event.listen_id != NULL)
		event.listen_id->in_request_handler--;
	id->in_handler--;
	if (ret != 0)
		pmv_cm_id_end(id);
}

/* The next event that may be delivered: never a second one to an id whose handler runs. */
static struct pmv_cm_event_node *
next_node(struct pmv_cm *cm)
{
	struct pmv_cm_event_node *node;

	TAILQ_FOREACH(node, &cm->events, link)
	if (node->event.id->in_handler == 0)
		return node;
	return NULL;
}

uint32_t
pmv_cm_event_turn(struct pmv_cm *cm, uint32_t nb)
{
	struct pmv_cm_event_node *node;
	uint32_t done;

	for (done = 0; done < nb; done++) {
		node = next_node(cm);
		if (node == NULL)
			break;
		TAILQ_REMOVE(&cm->events, node, link);
		if (node->event.id->handler != NULL) {
			call_handler(node);
		} else {
			node->state = PMV_CM_EVENT_RING;
			TAILQ_INSERT_TAIL(&cm->ring, node, link);
		}
	}
	return done;
}

int
pmv_cm_get_event(struct pmv_cm *cm, struct pmv_cm_event **ret_event)
{
	struct pmv_cm_event_node *node;

	if (cm == NULL || ret_event == NULL || !pmv_cm_is_mine(cm))
		return 0;
	node = TAILQ_FIRST(&cm->ring);
	if (node == NULL)
		return 0;
	TAILQ_REMOVE(&cm->ring, node, link);
	node->state = PMV_CM_EVENT_TAKEN;
	note_taken(node->event.id, &node->event);
	*ret_event = &node->event;
	return 1;
}

void
pmv_cm_ack_event(struct pmv_cm *cm, struct pmv_cm_event *event)
{
	struct pmv_cm_event_node *node = (struct pmv_cm_event_node *)event;

	if (cm == NULL || event == NULL || !pmv_cm_is_mine(cm))
		return;
	if (node->state == PMV_CM_EVENT_TAKEN)
		node->state = PMV_CM_EVENT_FREE;
}
