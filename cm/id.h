// SPDX-License-Identifier: BSD-3-Clause
/*
 * struct pmv_cm_id, behind the handle of the application. The record also outlives the handle: as
 * long as its connection lingers, a QP operation is under way, or the application has an event of
 * it. Control lcore.
 */
#ifndef PMV_CM_ID_H
#define PMV_CM_ID_H

#include "cm/cm.h"
#include "cm/conn.h"
#include "cm/dev.h"
#include "cm/event.h"
#include "cm/qp_bridge.h"

/* How far the address part has come; the connection has a state of its own. */
enum pmv_cm_phase {
	PMV_CM_PH_IDLE,
	PMV_CM_PH_BOUND,
	PMV_CM_PH_ADDR_QUERY, /* waits for a MAC */
	PMV_CM_PH_ADDR_RESOLVED,
	PMV_CM_PH_ROUTE_RESOLVED,
	PMV_CM_PH_LISTEN,
	PMV_CM_PH_REQUEST, /* made by a REQ */
	PMV_CM_PH_GONE,    /* its device was removed */
};

enum pmv_cm_option {
	PMV_CM_OPT_TOS = 1 << 0,
	PMV_CM_OPT_ACK_TIMEOUT = 1 << 1,
	PMV_CM_OPT_TIMERS = 1 << 2,
};

struct pmv_cm_id {
	struct pmv_cm *cm;
	pmv_cm_handler handler;
	void *context;
	uint8_t phase;   /* enum pmv_cm_phase */
	uint8_t options; /* enum pmv_cm_option: set by the application */
	uint8_t tos;
	uint8_t ack_timeout;
	uint8_t min_rnr_timer;
	uint8_t response_timeout;
	uint8_t cm_retries;
	uint8_t qp_type;             /* enum pmv_qp_type, of its QP: RC or UC */
	uint16_t ps;                 /* enum pmv_cm_port_space */
	bool destroyed;              /* the application has let go */
	bool taken;                  /* passive: the application has got the CONNECT_REQUEST */
	uint8_t in_handler;          /* its handler runs */
	uint8_t in_request_handler;  /* listener: a handler runs with its CONNECT_REQUEST */
	TAILQ_ENTRY(pmv_cm_id) link; /* cm->ids; destroyed: lingering (conn.lingers) or dying */

	/* Addresses, GID form. A wildcard source is all zero, with `v4` telling the family. */
	struct pmv_cm_dev *dev; /* NULL: not bound to one */
	uint8_t src[16];
	uint8_t dst[16];
	uint16_t src_port; /* ours; 0: none yet */
	uint16_t dst_port;
	uint16_t worker_hint;
	bool v4;
	bool has_src;     /* bound: src (perhaps a wildcard) and v4 are set */
	bool src_any;     /* bound to a wildcard; resolution puts the real source into src */
	bool port_listed; /* in cm->ports[] under src_port */
	bool exclusive;   /* the port belongs to a bind; else it was picked for one connection */
	TAILQ_ENTRY(pmv_cm_id) port_link;

	/* Resolution. */
	struct pmv_cm_neigh_waiter waiter;
	uint8_t nexthop[16];
	uint64_t asked_at; /* ticks */
	bool mac_listed;   /* in cm->mac_wait */
	TAILQ_ENTRY(pmv_cm_id) mac_link;

	/* Listening, and being the child of a listener until accepted or rejected. */
	uint32_t backlog;
	uint32_t nb_pending;
	struct pmv_cm_id_list children; /* listener: ids not taken, or that count in nb_pending */
	struct pmv_cm_id *listener;     /* child: the listener in whose list it is */
	bool counted;                   /* child: in listener->nb_pending */
	TAILQ_ENTRY(pmv_cm_id) child_link;

	struct pmv_cm_qp_bridge bridge;
	struct pmv_cm_conn conn;
	uint8_t request_private[PMV_CM_PRIVATE_CONNECT_MAX]; /* of the CONNECT_REQUEST event */
	uint8_t result_private[PMV_CM_REP_PRIVATE_MAX];      /* of the RESULT event */
	struct pmv_cm_event_node events[PMV_CM_SLOT_MAX];
};

/* @return 0; -ENOSPC id_max; -ENOMEM. */
int pmv_cm_id_alloc(struct pmv_cm *cm, struct pmv_cm_id **ret_id);

/*
 * Ends an id: cancels, tells the peer, no event follows. The memory goes when nothing refers to it
 * any more. No check of the caller: pmv_cm_destroy_id() makes those.
 */
void pmv_cm_id_end(struct pmv_cm_id *id);

/* The connection of a destroyed id is over. */
void pmv_cm_id_release(struct pmv_cm_id *id);

/* The state of a child changed: does it still count against its listener's backlog? */
void pmv_cm_id_review_listener(struct pmv_cm_id *id);

/* Frees records that nothing refers to, at most nb. `force`: events that were never given back do
 * not count. */
void pmv_cm_id_bury(struct pmv_cm *cm, uint32_t nb, bool force);

/* The device goes: the id loses it and gets DEVICE_REMOVAL. */
void pmv_cm_id_lose_device(struct pmv_cm_id *id);

/* What REQs of the id, or to it, have as transport service type (IBTA vol. 1, 12.6.5). */
static inline enum pmv_cm_transport
pmv_cm_id_transport(const struct pmv_cm_id *id)
{
	return id->qp_type == PMV_QPT_UC ? PMV_CM_TRANSPORT_UC : PMV_CM_TRANSPORT_RC;
}

/* Checks that every call makes. @return 0; -EINVAL; -EPERM another thread's; both were logged. */
int pmv_cm_id_check(const struct pmv_cm_id *id, const char *call);

#endif
