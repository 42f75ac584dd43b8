// SPDX-License-Identifier: BSD-3-Clause
/*
 * Events of ids. Each id carries the nodes its events need, one for each thing that can happen to
 * it once, so that no ring can overflow and no event can be lost. Queued anywhere in cm, delivered
 * only by the turn (handlers) or by pmv_cm_get_event(); never two at once for an id. Control lcore.
 */
#ifndef PMV_CM_EVENT_H
#define PMV_CM_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm/api/pmv_cm.h"

struct pmv_cm_id;

/* Which node an event takes. A slot is free again when its event was delivered or given back. */
enum pmv_cm_event_slot {
	PMV_CM_SLOT_ADDR,     /* ADDR_RESOLVED, ADDR_ERROR; */
	PMV_CM_SLOT_ADDR_2,   /* a second one: resolve again before the first was given back */
	PMV_CM_SLOT_ROUTE,    /* ROUTE_RESOLVED */
	PMV_CM_SLOT_REQUEST,  /* CONNECT_REQUEST */
	PMV_CM_SLOT_RESULT,   /* ESTABLISHED, REJECTED, UNREACHABLE, CONNECT_ERROR */
	PMV_CM_SLOT_END,      /* DISCONNECTED */
	PMV_CM_SLOT_TIMEWAIT, /* TIMEWAIT_EXIT */
	PMV_CM_SLOT_DEVICE,   /* DEVICE_REMOVAL */
	PMV_CM_SLOT_MAX,
};

enum pmv_cm_event_state {
	PMV_CM_EVENT_FREE,
	PMV_CM_EVENT_QUEUED, /* in cm->events */
	PMV_CM_EVENT_RING,   /* in cm->ring */
	PMV_CM_EVENT_TAKEN,  /* the application has it */
};

struct pmv_cm_event_node {
	struct pmv_cm_event event; /* must stay first: the application gives a pointer to it back */
	TAILQ_ENTRY(pmv_cm_event_node) link;
	uint8_t state; /* enum pmv_cm_event_state */
};

/* Queues an event; status and param as in struct pmv_cm_event (param may be NULL). */
void pmv_cm_event_queue(struct pmv_cm_id *id, enum pmv_cm_event_slot slot,
	enum pmv_cm_event_type type, int status, const struct pmv_cm_conn_param *param);

/* The slot can take an event. */
bool pmv_cm_event_slot_free(const struct pmv_cm_id *id, enum pmv_cm_event_slot slot);

/* Drops what the application has not got yet: no event follows a destroy. */
void pmv_cm_event_drop(struct pmv_cm_id *id);

/* Events the application has taken and not given back. */
bool pmv_cm_event_any_taken(const struct pmv_cm_id *id);

/* Delivers up to nb events: calls handlers, moves the others to the ring. @return how many. */
uint32_t pmv_cm_event_turn(struct pmv_cm *cm, uint32_t nb);

#endif
