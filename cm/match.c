// SPDX-License-Identifier: BSD-3-Clause
/*
 * From a CM message to a record and an input, see match.h. Control lcore. A new REQ is
 * cm/request's.
 */
#include "cm/match.h"

#include <string.h>

#include "cm/connect.h"
#include "cm/id.h"
#include "cm/reply.h"
#include "cm/request.h"
#include "lib/util/be.h"
#include "lib/wire/gid.h"

static void
input(struct pmv_cm_id *id, enum pmv_cm_input in, const struct pmv_cm_rx *rx)
{
	struct pmv_cm_conn_arg arg = { .msg = &rx->msg };

	pmv_cm_conn_input(id, in, &arg);
}

static void
unknown(const struct pmv_cm_rx *rx)
{
	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DROP_UNKNOWN_ID);
}

/* The record of our comm ID, on this device. */
static struct pmv_cm_id *
find(const struct pmv_cm_rx *rx, uint32_t our_id)
{
	struct pmv_cm_id *id = pmv_cm_comm_ids_find(&rx->dev->cm->comm_ids, our_id);

	return id != NULL && id->conn.av.dev == rx->dev ? id : NULL;
}

/* Both IDs match. *ret_spoof: they do, but the sender is somebody else. No spec asks for that
 * check; from the REP on it costs a peer nothing, and a third host needs more than two guessed
 * numbers. */
static struct pmv_cm_id *
find_both(const struct pmv_cm_rx *rx, uint32_t our_id, uint32_t peer_id)
{
	struct pmv_cm_id *id = find(rx, our_id);
	const struct pmv_cm_neigh_entry *e;

	if (id == NULL || peer_id == 0 || id->conn.remote_comm_id != peer_id) {
		unknown(rx);
		return NULL;
	}
	if (memcmp(id->conn.av.dgid, rx->ip->src_gid, 16) != 0) {
		pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DROP_PEER);
		return NULL;
	}
	/* A sign of life from the MAC we use is as good as an answer to an ARP request. */
	if (id->conn.av.entry != PMV_CM_NEIGH_NONE) {
		e = &rx->dev->neigh.entries[id->conn.av.entry];
		if (e->has_mac && memcmp(e->mac, rx->src_mac, 6) == 0)
			pmv_cm_neigh_confirm(
				&rx->dev->neigh, id->conn.av.entry, rx->src_mac, rx->dev->cm->now);
	}
	return id;
}

/* Active side: what the REP agrees on. The RNR retry count is the one that our QP gets; the peer's
 * depths are bounds for ours. */
static void
rep_store(struct pmv_cm_id *id, const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_rep *rep = &rx->msg.rep;
	struct pmv_cm_conn *conn = &id->conn;

	conn->remote_comm_id = rep->local_comm_id;
	conn->remote_guid = rep->local_ca_guid;
	conn->remote_qpn = rep->local_qpn;
	conn->sq_psn = rep->starting_psn;
	if (id->qp_type == PMV_QPT_RC)
		conn->rnr_retry = rep->rnr_retry_count;
	conn->peer_srq = rep->srq;
	conn->ece_heard = (struct pmv_ece){ rep->ece_vendor_id, rx->msg.attr_mod };
	conn->flow_control = rep->flow_control;
	if (rep->responder_resources < conn->initiator_depth)
		conn->initiator_depth = rep->responder_resources;
	if (rep->initiator_depth < conn->responder_resources)
		conn->responder_resources = rep->initiator_depth;
	conn->ack_timeout =
		id->options & PMV_CM_OPT_ACK_TIMEOUT
			? id->ack_timeout
			: pmv_cm_connect_ack_timeout(rep->target_ack_delay, PMV_CM_PACKET_LIFETIME);
	memset(id->result_private, 0, sizeof(id->result_private));
	memcpy(id->result_private, rx->msg.private_data, PMV_CM_REP_PRIVATE_MAX);
}

/* First REP to a waiting REQ. */
static void
rep_new(struct pmv_cm_id *id, const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_rep *rep = &rx->msg.rep;
	struct pmv_cm *cm = rx->dev->cm;
	struct pmv_cm_id *other;
	uint32_t index;

	if (pmv_cm_fsm_step(id->conn.state, PMV_CM_IN_REP)->next != PMV_CM_ST_REP_RCVD) {
		input(id, PMV_CM_IN_REP, rx); /* too late, or a REP that crossed our REJ */
		return;
	}
	if (pmv_cm_dup_find(&cm->peer_ids, rep->local_ca_guid, rep->local_comm_id, &index) == 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DUPLICATE);
		return;
	}
	if (pmv_cm_dup_find(&cm->peer_qpns, rep->local_ca_guid, rep->local_qpn, &index) == 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_STALE);
		other = pmv_cm_comm_ids_at(&cm->comm_ids, index);
		input(id, PMV_CM_IN_REP_STALE, rx);
		if (other != NULL && memcmp(other->conn.av.dgid, rx->ip->src_gid, 16) == 0)
			input(other, PMV_CM_IN_STALE, rx);
		return;
	}
	rep_store(id, rx);
	input(id, PMV_CM_IN_REP, rx);
}

static void
match_rep(const struct pmv_cm_rx *rx)
{
	struct pmv_cm_id *id = find(rx, rx->msg.rep.remote_comm_id);

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_REP);
	if (id == NULL || !id->conn.active || rx->msg.rep.local_comm_id == 0) {
		unknown(rx);
		return;
	}
	if (id->conn.remote_comm_id == 0) {
		rep_new(id, rx);
		return;
	}
	if (find_both(rx, rx->msg.rep.remote_comm_id, rx->msg.rep.local_comm_id) == NULL)
		return;
	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DUPLICATE);
	input(id, PMV_CM_IN_REP_DUP, rx);
}

static void
match_mra(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_mra *mra = &rx->msg.mra;
	struct pmv_cm_id *id;

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_MRA);
	if (mra->about == PMV_CM_ABOUT_REQ) {
		id = find(rx, mra->remote_comm_id);
		if (id == NULL || !id->conn.active || id->conn.remote_comm_id != 0)
			unknown(rx);
		else
			input(id, PMV_CM_IN_MRA_REQ, rx);
		return;
	}
	if (mra->about != PMV_CM_ABOUT_REP) {
		unknown(rx);
		return;
	}
	id = find_both(rx, mra->remote_comm_id, mra->local_comm_id);
	if (id != NULL && !id->conn.active)
		input(id, PMV_CM_IN_MRA_REP, rx);
}

/* "I have given up": named by the peer's GUID and comm ID, since it may never have learned ours. */
static struct pmv_cm_id *
find_rej_timeout(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_rej *rej = &rx->msg.rej;
	struct pmv_cm *cm = rx->dev->cm;
	struct pmv_cm_id *id;
	uint32_t index;

	if (rej->reason != PMV_CM_REASON_TIMEOUT || pmv_cm_rej_ari_bytes(rej) < 8 ||
		pmv_cm_dup_find(
			&cm->peer_ids, pmv_be64_load(rej->ari), rej->local_comm_id, &index) != 0)
		return NULL;
	id = pmv_cm_comm_ids_at(&cm->comm_ids, index);
	if (id == NULL || memcmp(id->conn.av.dgid, rx->ip->src_gid, 16) != 0)
		return NULL;
	return id;
}

static void
match_rej(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_rej *rej = &rx->msg.rej;
	struct pmv_cm_id *id = find_rej_timeout(rx);

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_REJ);
	if (id == NULL) {
		/* About a REQ: its sender may put anything into Local Comm ID, Linux does. */
		id = find(rx, rej->remote_comm_id);
		if (id == NULL || !id->conn.active || id->conn.remote_comm_id != 0 ||
			rej->about != PMV_CM_ABOUT_REQ)
			id = find_both(rx, rej->remote_comm_id, rej->local_comm_id);
	}
	if (id == NULL)
		return;
	input(id, rej->reason == PMV_CM_REASON_STALE_CONN ? PMV_CM_IN_REJ_STALE : PMV_CM_IN_REJ,
		rx);
}

static void
match_rtu(const struct pmv_cm_rx *rx)
{
	struct pmv_cm_id *id;

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_RTU);
	id = find_both(rx, rx->msg.rtu.remote_comm_id, rx->msg.rtu.local_comm_id);
	if (id != NULL && !id->conn.active)
		input(id, PMV_CM_IN_RTU, rx);
}

static void
match_dreq(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_dreq *dreq = &rx->msg.dreq;
	struct pmv_cm_id *id = find(rx, dreq->remote_comm_id);

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DREQ);
	if (id == NULL || id->conn.remote_comm_id != dreq->local_comm_id) {
		pmv_cm_reply_drep(rx);
		return;
	}
	id = find_both(rx, dreq->remote_comm_id, dreq->local_comm_id);
	if (id == NULL)
		return;
	if (dreq->remote_qpn != id->conn.local_qpn) {
		pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DROP_PEER);
		return;
	}
	input(id, PMV_CM_IN_DREQ, rx);
}

static void
match_drep(const struct pmv_cm_rx *rx)
{
	struct pmv_cm_id *id;

	pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DREP);
	id = find_both(rx, rx->msg.drep.remote_comm_id, rx->msg.drep.local_comm_id);
	if (id != NULL)
		input(id, PMV_CM_IN_DREP, rx);
}

void
pmv_cm_match(const struct pmv_cm_rx *rx)
{
	switch (rx->msg.attr) {
	case PMV_CM_ATTR_REQ:
		pmv_cm_request(rx);
		break;
	case PMV_CM_ATTR_MRA:
		match_mra(rx);
		break;
	case PMV_CM_ATTR_REJ:
		match_rej(rx);
		break;
	case PMV_CM_ATTR_REP:
		match_rep(rx);
		break;
	case PMV_CM_ATTR_RTU:
		match_rtu(rx);
		break;
	case PMV_CM_ATTR_DREQ:
		match_dreq(rx);
		break;
	case PMV_CM_ATTR_DREP:
		match_drep(rx);
		break;
	case PMV_CM_ATTR_SIDR_REQ:
		/* No port space with datagram services: nobody listens. */
		pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_SIDR);
		pmv_cm_reply_sidr(rx, PMV_CM_SIDR_UNSUPPORTED_SERVICE);
		break;
	default:
		pmv_cm_count(rx->dev->cm, PMV_CM_STAT_RX_DROP_OTHER);
		break;
	}
}
