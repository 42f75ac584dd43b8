// SPDX-License-Identifier: BSD-3-Clause
/*
 * The CM moves a QP that another lcore may own, see qp_bridge.h. Control lcore.
 */
#include "cm/qp_bridge.h"

#include <errno.h>
#include <string.h>

#include "cm/id.h"
#include "lib/util/log.h"
#include "lib/verbs/nexthop.h"

#define QP_PORT 1

/* Steps that make the outcome of RTR and RTS meaningless. */
#define OVERRIDE (PMV_CM_QP_ERR | PMV_CM_QP_LET_GO | PMV_CM_QP_DESTROY)

static void
list(struct pmv_cm_id *id)
{
	if (id->bridge.listed)
		return;
	id->bridge.listed = true;
	TAILQ_INSERT_TAIL(&id->cm->qp_work, id, bridge.link);
}

static void
unlist(struct pmv_cm_id *id)
{
	if (!id->bridge.listed)
		return;
	id->bridge.listed = false;
	TAILQ_REMOVE(&id->cm->qp_work, id, bridge.link);
}

bool
pmv_cm_qp_bridge_is_idle(const struct pmv_cm_id *id)
{
	return id->bridge.step == 0 && id->bridge.todo == 0;
}

/* READs and atomics of the peer are allowed if we have said that we serve any, which a UC QP never
 * does; before the connection agrees on that, anything goes (INIT takes no packet). */
static uint32_t
access_flags(uint8_t responder_resources)
{
	return PMV_ACCESS_REMOTE_WRITE |
	       (responder_resources != 0 ? PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC : 0);
}

static uint32_t
init_attr(const struct pmv_cm_id *id, struct pmv_qp_attr *attr)
{
	attr->qp_state = PMV_QPS_INIT;
	attr->pkey_index = 0;
	attr->port_num = QP_PORT;
	attr->qp_access_flags = access_flags(id->qp_type == PMV_QPT_RC);
	return PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS;
}

/* The QP follows its next hop by the device's table if the table knows it; the MAC of the REQ's
 * frame is for a passive side that has not resolved its peer yet. */
static void
path_attr(const struct pmv_cm_av *av, struct pmv_ah_attr *ah)
{
	uint8_t mac[6];

	memcpy(ah->dgid.raw, av->dgid, 16);
	ah->sgid_index = av->sgid_index;
	ah->flow_label = av->flow_label;
	ah->traffic_class = av->tos;
	ah->hop_limit = 0;
	if (pmv_verbs_nexthop_resolve(av->dev->device, &ah->dgid, ah->sgid_index, mac) == 0)
		return;
	ah->has_dmac = true;
	memcpy(ah->dmac, pmv_cm_av_dmac(av), 6);
}

static uint32_t
rtr_attr(const struct pmv_cm_id *id, struct pmv_qp_attr *attr)
{
	const struct pmv_cm_conn *conn = &id->conn;
	uint32_t mask = PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
			PMV_QP_RQ_PSN | PMV_QP_ACCESS_FLAGS;

	attr->qp_state = PMV_QPS_RTR;
	path_attr(&conn->av, &attr->ah_attr);
	attr->path_mtu = conn->mtu;
	attr->dest_qp_num = conn->remote_qpn;
	attr->rq_psn = conn->rq_psn;
	attr->qp_access_flags = access_flags(conn->responder_resources);
	if (id->qp_type != PMV_QPT_RC)
		return mask;
	attr->max_dest_rd_atomic = conn->responder_resources;
	attr->min_rnr_timer = id->min_rnr_timer;
	attr->ece = pmv_cm_conn_ece(id);
	return mask | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER |
	       (attr->ece.vendor_id != 0 ? PMV_QP_ECE : 0);
}

static uint32_t
rts_attr(const struct pmv_cm_id *id, struct pmv_qp_attr *attr)
{
	const struct pmv_cm_conn *conn = &id->conn;

	attr->qp_state = PMV_QPS_RTS;
	attr->sq_psn = conn->sq_psn;
	if (id->qp_type != PMV_QPT_RC)
		return PMV_QP_STATE | PMV_QP_SQ_PSN;
	attr->timeout = conn->ack_timeout;
	attr->retry_cnt = conn->retry_count;
	attr->rnr_retry = conn->rnr_retry;
	attr->max_rd_atomic = conn->initiator_depth;
	return PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY |
	       PMV_QP_MAX_QP_RD_ATOMIC;
}

static int
destroy_submit(struct pmv_cm_qp_bridge *b)
{
	int err;

	pmv_verbs_ctl_release_qp(b->qp);
	err = pmv_destroy_qp_submit(b->qp, &b->op);
	if (err == -EAGAIN)
		pmv_verbs_ctl_hold_qp(b->qp);
	return err;
}

static int
submit(struct pmv_cm_id *id, uint8_t step)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;
	struct pmv_qp_attr attr;
	uint32_t mask = PMV_QP_STATE;

	memset(&attr, 0, sizeof(attr));
	memset(&b->op, 0, sizeof(b->op));
	switch (step) {
	case PMV_CM_QP_INIT:
		mask = init_attr(id, &attr);
		break;
	case PMV_CM_QP_RTR:
		mask = rtr_attr(id, &attr);
		break;
	case PMV_CM_QP_RTS:
		mask = rts_attr(id, &attr);
		break;
	case PMV_CM_QP_ERR:
		attr.qp_state = PMV_QPS_ERR;
		break;
	case PMV_CM_QP_DESTROY:
		return destroy_submit(b);
	}
	return pmv_modify_qp_submit(b->qp, &attr, mask, &b->op);
}

static void
let_go(struct pmv_cm_qp_bridge *b)
{
	pmv_verbs_ctl_release_qp(b->qp);
	b->qp = NULL;
	b->todo = 0;
}

/* Submits the next step unless one is under way or the owner's mailbox is full. */
static void
submit_next(struct pmv_cm_id *id)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;
	uint8_t step = b->todo & (uint8_t)-b->todo;
	int err;

	if (b->step != 0 || step == 0)
		return;
	if (step == PMV_CM_QP_LET_GO) {
		let_go(b);
		return;
	}
	err = submit(id, step);
	if (err == -EAGAIN)
		return;
	b->todo &= (uint8_t)~step;
	b->step = step;
	b->refused = err;
}

/* The step under way is over. */
static void
finish(struct pmv_cm_id *id, int err)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;
	struct pmv_cm_conn_arg arg = { .err = err };
	uint8_t step = b->step;

	b->step = 0;
	b->refused = 0;
	if (err != 0)
		PMV_LOG(DEBUG, "qp 0x%06x: step 0x%x: %s", pmv_qp_num(b->qp), step, strerror(-err));
	if (step == PMV_CM_QP_DESTROY)
		b->qp = NULL;
	if (step != PMV_CM_QP_RTR && step != PMV_CM_QP_RTS)
		return;
	if (err != 0)
		b->todo &= (uint8_t)~PMV_CM_QP_RTS;
	else if (step == PMV_CM_QP_RTR)
		return;
	if (b->todo & OVERRIDE)
		return;
	if (b->attempt == id->conn.attempt)
		pmv_cm_conn_input(id, err != 0 ? PMV_CM_IN_QP_FAILED : PMV_CM_IN_QP_DONE, &arg);
}

/*
 * Goes on as far as replies are there. Steps should reach the owner in the caller's turn; but
 * results of RTR and RTS wait for ours (`inputs`), so that no input of the state machine is taken
 * inside another.
 */
static uint32_t
work(struct pmv_cm_id *id, bool inputs)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;
	uint32_t nb = 0;
	int err;

	for (;;) {
		submit_next(id);
		if (b->step == 0)
			return nb;
		if (!inputs && b->step & (PMV_CM_QP_RTR | PMV_CM_QP_RTS) && !(b->todo & OVERRIDE))
			return nb;
		err = b->refused != 0 ? b->refused : pmv_op_poll(&b->op);
		if (err == -EINPROGRESS)
			return nb;
		finish(id, err);
		nb++;
	}
}

struct pmv_qp *
pmv_cm_qp_bridge_qp(const struct pmv_cm_id *id)
{
	const struct pmv_cm_qp_bridge *b = &id->bridge;

	return (b->todo | b->step) & (PMV_CM_QP_LET_GO | PMV_CM_QP_DESTROY) ? NULL : b->qp;
}

int
pmv_cm_qp_bridge_take(struct pmv_cm_id *id, struct pmv_qp *qp)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;
	int err = pmv_verbs_ctl_hold_qp(qp);

	if (err != 0)
		return err;
	b->qp = qp;
	b->todo = PMV_CM_QP_INIT;
	submit_next(id);
	err = b->refused;
	if (err != 0) {
		b->step = 0;
		b->refused = 0;
		b->todo = PMV_CM_QP_DESTROY;
	}
	work(id, false);
	if (!pmv_cm_qp_bridge_is_idle(id))
		list(id);
	return err;
}

void
pmv_cm_qp_bridge_start(struct pmv_cm_id *id, uint8_t steps)
{
	struct pmv_cm_qp_bridge *b = &id->bridge;

	if (pmv_cm_qp_bridge_qp(id) == NULL)
		return;
	if (steps & PMV_CM_QP_ERR)
		b->todo &= (uint8_t) ~(PMV_CM_QP_RTR | PMV_CM_QP_RTS);
	if (steps & PMV_CM_QP_DESTROY)
		b->todo = 0;
	b->todo |= steps;
	if (steps & (PMV_CM_QP_RTR | PMV_CM_QP_RTS))
		b->attempt = id->conn.attempt;
	work(id, false);
	if (!pmv_cm_qp_bridge_is_idle(id))
		list(id);
}

uint32_t
pmv_cm_qp_bridge_turn(struct pmv_cm *cm, uint32_t nb)
{
	struct pmv_cm_id *last = TAILQ_LAST(&cm->qp_work, pmv_cm_id_list);
	struct pmv_cm_id *id = NULL;
	uint32_t replies = 0;

	while (id != last && nb-- > 0) {
		id = TAILQ_FIRST(&cm->qp_work);
		unlist(id);
		replies += work(id, true);
		if (!pmv_cm_qp_bridge_is_idle(id))
			list(id);
	}
	return replies;
}
