// SPDX-License-Identifier: BSD-3-Clause
/*
 * The messages of a connection, see conn_msg.h. Control lcore.
 */
#include "cm/conn_msg.h"

#include <string.h>

#include "cm/id.h"
#include "cm/ip_hdr.h"
#include "cm/limits.h"
#include "cm/tx.h"
#include "lib/util/be.h"

#define LID_ROCE 0xffffu /* what Linux puts where InfiniBand has a LID */

static void
path_fill(const struct pmv_cm_id *id, struct pmv_cm_path *path)
{
	const struct pmv_cm_av *av = &id->conn.av;

	memcpy(path->local_gid, av->sgid, 16);
	memcpy(path->remote_gid, av->dgid, 16);
	path->local_lid = LID_ROCE;
	path->remote_lid = LID_ROCE;
	path->flow_label = av->flow_label;
	path->traffic_class = av->tos;
	path->hop_limit = av->dev->facts.hop_limit;
	path->local_ack_timeout = id->conn.req_ack_timeout;
}

/* Requests for id's application: who asks, from which port; the destination port is in the service
 * ID. Behind it the application's bytes, already in place. */
static void
ip_hdr_fill(struct pmv_cm_id *id, uint8_t *out)
{
	struct pmv_cm_ip_hdr hdr = {
		.ip_version = id->v4 ? 4 : 6,
		.src_port = id->src_port,
	};

	memcpy(hdr.src_ip, id->src, 16);
	memcpy(hdr.dst_ip, id->dst, 16);
	pmv_cm_ip_hdr_build(&hdr, out);
}

void
pmv_cm_conn_msg_req(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;
	bool own = id->options & PMV_CM_OPT_TIMERS;
	uint8_t code = own ? id->response_timeout : PMV_CM_RESPONSE_TIMEOUT_CODE;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_REQ,
		.tid = conn->tid,
		.private_bytes = conn->private_len,
		.private_data = conn->private_data,
		.attr_mod = conn->ece_said.options,
		.req = {
			.local_comm_id = conn->local_comm_id,
			.ece_vendor_id = conn->ece_said.vendor_id,
			.service_id = pmv_cm_service_id(id->ps, id->dst_port),
			.local_ca_guid = conn->av.dev->facts.node_guid,
			.local_qpn = conn->local_qpn,
			.starting_psn = conn->rq_psn,
			.responder_resources = conn->responder_resources,
			.initiator_depth = conn->initiator_depth,
			.remote_response_timeout = code,
			.local_response_timeout = code,
			.transport = pmv_cm_id_transport(id),
			.flow_control = conn->flow_control,
			.retry_count = conn->retry_count,
			.rnr_retry_count = conn->rnr_retry_sent,
			.pkey = PMV_PKEY_DEFAULT,
			.mtu = conn->mtu,
			.max_cm_retries = own ? id->cm_retries : PMV_CM_RETRIES,
			.srq = conn->srq,
		},
	};

	path_fill(id, &msg.req.primary);
	ip_hdr_fill(id, conn->private_data);
	pmv_cm_tx_msg(&conn->av, &msg, conn->kept);
}

void
pmv_cm_conn_msg_rep(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_REP,
		.tid = conn->tid,
		.private_bytes = conn->private_len,
		.private_data = conn->private_data,
		.attr_mod = conn->ece_said.options,
		.rep = {
			.local_comm_id = conn->local_comm_id,
			.remote_comm_id = conn->remote_comm_id,
			.ece_vendor_id = conn->ece_said.vendor_id,
			.local_qpn = conn->local_qpn,
			.starting_psn = conn->rq_psn,
			.responder_resources = conn->responder_resources,
			.initiator_depth = conn->initiator_depth,
			.target_ack_delay = conn->av.dev->facts.local_ack_delay & 31,
			.flow_control = conn->flow_control,
			.rnr_retry_count = conn->rnr_retry_sent,
			.srq = conn->srq,
			.local_ca_guid = conn->av.dev->facts.node_guid,
		},
	};

	pmv_cm_tx_msg(&conn->av, &msg, conn->kept);
}

void
pmv_cm_conn_msg_dreq(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_DREQ,
		.tid = conn->own_tid,
		.dreq = {
			.local_comm_id = conn->local_comm_id,
			.remote_comm_id = conn->remote_comm_id,
			.remote_qpn = conn->remote_qpn,
		},
	};

	pmv_cm_tx_msg(&conn->av, &msg, conn->kept);
}

void
pmv_cm_conn_msg_rtu(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_RTU,
		.tid = conn->tid,
		.rtu = { conn->local_comm_id, conn->remote_comm_id },
	};

	pmv_cm_tx_msg(&conn->av, &msg, NULL);
}

void
pmv_cm_conn_msg_drep(struct pmv_cm_id *id, uint64_t tid)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_DREP,
		.tid = tid,
		.drep = { conn->local_comm_id, conn->remote_comm_id },
	};

	pmv_cm_tx_msg(&conn->av, &msg, NULL);
}

void
pmv_cm_conn_msg_mra(struct pmv_cm_id *id, enum pmv_cm_about about)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_MRA,
		.tid = conn->tid,
		.mra = {
			.local_comm_id = conn->local_comm_id,
			.remote_comm_id = conn->remote_comm_id,
			.about = about,
			.service_timeout = about == PMV_CM_ABOUT_REQ ?
				PMV_CM_MRA_REQ_TIMEOUT_CODE : PMV_CM_MRA_REP_TIMEOUT_CODE,
		},
	};

	pmv_cm_tx_msg(&conn->av, &msg, NULL);
}

void
pmv_cm_conn_msg_rej(struct pmv_cm_id *id, const struct pmv_cm_conn_rej *rej)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_REJ,
		.tid = conn->tid,
		.private_bytes = rej->private_len,
		.private_data = rej->private_data,
		.rej = {
			.local_comm_id = conn->local_comm_id,
			.remote_comm_id = rej->remote_comm_id,
			.about = rej->about,
			.reason = rej->reason,
		},
	};

	if (rej->with_guid) {
		msg.rej.ari_len = 8;
		pmv_be64_store(msg.rej.ari, conn->av.dev->facts.node_guid);
	}
	pmv_cm_tx_msg(&conn->av, &msg, rej->keep ? conn->kept : NULL);
}

void
pmv_cm_conn_msg_resend(struct pmv_cm_id *id)
{
	pmv_cm_tx_mad(&id->conn.av, id->conn.kept);
	pmv_cm_count(id->cm, PMV_CM_STAT_TX_RESENT);
}
