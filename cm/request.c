// SPDX-License-Identifier: BSD-3-Clause
/*
 * A REQ becomes an id, or is answered without one; see request.h. Control lcore. The order of the
 * checks is that of Linux (cm.c, then cma.c), so that a peer sees the same reason from both.
 */
#include "cm/request.h"

#include <string.h>

#include "cm/id.h"
#include "cm/ip_hdr.h"
#include "cm/listen.h"
#include "cm/reply.h"
#include "cm/route.h"
#include "lib/wire/flow_label.h"
#include "lib/wire/gid.h"

/* A copy of a REQ that we know, or one of a peer that has forgotten a connection of ours. */
static bool
known(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_req *req = &rx->msg.req;
	struct pmv_cm_conn_arg arg = { .msg = &rx->msg };
	struct pmv_cm *cm = rx->dev->cm;
	struct pmv_cm_id *id;
	uint32_t index;

	if (pmv_cm_dup_find(&cm->peer_ids, req->local_ca_guid, req->local_comm_id, &index) == 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DUPLICATE);
		id = pmv_cm_comm_ids_at(&cm->comm_ids, index);
		if (id != NULL)
			pmv_cm_conn_input(id, PMV_CM_IN_REQ_DUP, &arg);
		return true;
	}
	if (pmv_cm_dup_find(&cm->peer_qpns, req->local_ca_guid, req->local_qpn, &index) == 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_STALE);
		pmv_cm_reply_rej(rx, PMV_CM_REASON_STALE_CONN, NULL, 0);
		/* Only the peer itself may end its old connection. */
		id = pmv_cm_comm_ids_at(&cm->comm_ids, index);
		if (id != NULL && memcmp(id->conn.av.dgid, rx->ip->src_gid, 16) == 0)
			pmv_cm_conn_input(id, PMV_CM_IN_STALE, &arg);
		return true;
	}
	return false;
}

/* Low 15 bits equal and not zero, at least one side a full member (ours is). */
static bool
pkey_ok(uint16_t pkey)
{
	return (pkey & 0x7fff) == (PMV_PKEY_DEFAULT & 0x7fff);
}

/*
 * The path: our GID in it must be ours, the peer's must be where the datagram came from (else a REQ
 * could make us send REPs to a third host). @return false: answered with REJ 12.
 */
static bool
path_ok(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_req *req = &rx->msg.req;
	const struct pmv_cm_path *path = &req->primary;
	uint16_t first;

	if (pmv_cm_dev_addr_index(rx->dev, path->remote_gid) != PMV_CM_NO_ADDR &&
		memcmp(path->local_gid, rx->ip->src_gid, 16) == 0 &&
		pmv_gid_is_v4(path->local_gid) == pmv_gid_is_v4(path->remote_gid) &&
		pkey_ok(req->pkey))
		return true;
	first = pmv_cm_dev_addr_index(rx->dev, rx->ip->dst_gid);
	pmv_cm_reply_rej(rx, PMV_CM_REASON_INVALID_GID,
		rx->dev->facts.addr[first == PMV_CM_NO_ADDR ? 0 : first].gid.raw, 16);
	return false;
}

/* The listener for a REQ whose path is right, or NULL: answered, or silently dropped. */
static struct pmv_cm_id *
listener_for(const struct pmv_cm_rx *rx, struct pmv_cm_ip_hdr *ret_hdr)
{
	const struct pmv_cm_req *req = &rx->msg.req;
	struct pmv_cm *cm = rx->dev->cm;
	enum pmv_cm_ip_hdr_verdict verdict;
	struct pmv_cm_id *listener = NULL;
	uint16_t ps = (uint16_t)(req->service_id >> 16);
	uint16_t port = (uint16_t)req->service_id;

	verdict = pmv_cm_ip_hdr_parse(rx->msg.private_data, rx->msg.private_bytes, ret_hdr);
	pmv_cm_count(cm, PMV_CM_STAT_IP_HDR + verdict);
	if (verdict == PMV_CM_IP_HDR_OK &&
		pmv_cm_dev_addr_index(rx->dev, ret_hdr->dst_ip) != PMV_CM_NO_ADDR)
		listener = pmv_cm_listen_find(rx->dev, ps, port, ret_hdr->dst_ip);
	if (listener == NULL) {
		pmv_cm_reply_rej(rx, PMV_CM_REASON_CONSUMER, NULL, 0);
		return NULL;
	}
	if (req->transport != pmv_cm_id_transport(listener)) {
		pmv_cm_reply_rej(rx, PMV_CM_REASON_INVALID_TRANSPORT, NULL, 0);
		return NULL;
	}
	if (req->mtu < PMV_MTU_256 || req->mtu > rx->dev->facts.active_mtu) {
		pmv_cm_reply_rej(rx, PMV_CM_REASON_INVALID_MTU, &rx->dev->facts.active_mtu, 1);
		return NULL;
	}
	if (listener->nb_pending >= listener->backlog) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_BACKLOG);
		return NULL;
	}
	return listener;
}

static void
av_fill(struct pmv_cm_id *id, const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_path *path = &rx->msg.req.primary;
	struct pmv_cm_av *av = &id->conn.av;

	pmv_cm_reply_av(rx, av);
	memcpy(av->sgid, path->remote_gid, 16);
	memcpy(av->dgid, path->local_gid, 16);
	av->sgid_index = pmv_cm_dev_addr_index(rx->dev, av->sgid);
	/* The active side's label for both directions, so that they share one UDP source port. */
	av->flow_label = path->flow_label;
	av->udp_sport = pmv_flow_label_sport(path->flow_label);
	av->tos = path->traffic_class;
}

static void
conn_fill(struct pmv_cm_id *id, const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_req *req = &rx->msg.req;
	struct pmv_cm_conn *conn = &id->conn;

	conn->tid = rx->msg.tid;
	conn->remote_comm_id = req->local_comm_id;
	conn->remote_guid = req->local_ca_guid;
	conn->remote_qpn = req->local_qpn;
	conn->sq_psn = req->starting_psn;
	conn->mtu = req->mtu;
	if (id->qp_type == PMV_QPT_RC) {
		conn->peer_resources = req->responder_resources;
		conn->peer_depth = req->initiator_depth;
		conn->retry_count = req->retry_count;
		conn->rnr_retry = req->rnr_retry_count;
	}
	conn->flow_control = req->flow_control;
	conn->peer_srq = req->srq;
	conn->ece_heard = (struct pmv_ece){ req->ece_vendor_id, rx->msg.attr_mod };
	conn->req_ack_timeout = req->primary.local_ack_timeout;
	conn->ack_timeout = req->primary.local_ack_timeout;
	conn->peer_response_timeout = req->local_response_timeout;
	conn->peer_cm_retries = req->max_cm_retries;
	conn->hold_code = req->remote_response_timeout;
}

/* The new id inherits handler and context of its listener, and has the addresses of the request. */
static void
id_fill(struct pmv_cm_id *id, struct pmv_cm_id *listener, const struct pmv_cm_rx *rx,
	const struct pmv_cm_ip_hdr *hdr)
{
	id->handler = listener->handler;
	id->context = listener->context;
	id->ps = listener->ps;
	id->qp_type = listener->qp_type;
	id->phase = PMV_CM_PH_REQUEST;
	id->dev = rx->dev;
	id->v4 = hdr->ip_version == 4;
	id->has_src = true;
	memcpy(id->src, hdr->dst_ip, 16);
	memcpy(id->dst, hdr->src_ip, 16);
	/* Not entered under the port: it is the listener's. */
	id->src_port = (uint16_t)rx->msg.req.service_id;
	id->dst_port = hdr->src_port;
	id->worker_hint = rx->worker;
	memcpy(id->request_private, rx->msg.private_data + PMV_CM_IP_HDR_BYTES,
		sizeof(id->request_private));
}

static void
accept_in(struct pmv_cm_id *listener, const struct pmv_cm_rx *rx, const struct pmv_cm_ip_hdr *hdr)
{
	struct pmv_cm_conn_arg arg = { .msg = &rx->msg };
	struct pmv_cm *cm = rx->dev->cm;
	struct pmv_cm_id *id;

	if (pmv_cm_id_alloc(cm, &id) != 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_NO_ID);
		return;
	}
	id_fill(id, listener, rx, hdr);
	av_fill(id, rx);
	if (pmv_cm_conn_begin(id, false) != 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_NO_ID);
		pmv_cm_id_end(id);
		return;
	}
	conn_fill(id, rx);
	id->listener = listener;
	id->counted = true;
	listener->nb_pending++;
	TAILQ_INSERT_TAIL(&listener->children, id, child_link);
	pmv_cm_route_track(id);
	pmv_cm_conn_input(id, PMV_CM_IN_REQ, &arg);
}

void
pmv_cm_request(const struct pmv_cm_rx *rx)
{
	const struct pmv_cm_req *req = &rx->msg.req;
	struct pmv_cm *cm = rx->dev->cm;
	struct pmv_cm_ip_hdr hdr;
	struct pmv_cm_id *listener;
	uint16_t ps, port;

	pmv_cm_count(cm, PMV_CM_STAT_RX_REQ);
	if (req->local_comm_id == 0) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_UNKNOWN_ID);
		return;
	}
	if (known(rx))
		return;
	if (!pmv_cm_service_id_split(req->service_id, &ps, &port) ||
		!pmv_cm_listen_any(cm, ps, port)) {
		pmv_cm_reply_rej(rx, PMV_CM_REASON_INVALID_SERVICE_ID, NULL, 0);
		return;
	}
	if (!path_ok(rx))
		return;
	listener = listener_for(rx, &hdr);
	if (listener != NULL)
		accept_in(listener, rx, &hdr);
}
