// SPDX-License-Identifier: BSD-3-Clause
/*
 * The calls that start and end connections, see connect.h. Control lcore.
 */
#include "cm/connect.h"

#include <errno.h>
#include <string.h>

#include "cm/ece.h"
#include "cm/id.h"
#include "cm/ip_hdr.h"
#include "cm/limits.h"
#include "lib/util/log.h"
#include "lib/verbs/ctl_channel.h"

#define RETRY_MAX 7

static int
refuse(const char *call, const char *why)
{
	return pmv_log_refuse(-EINVAL, "%s: %s", call, why);
}

uint8_t
pmv_cm_connect_ack_timeout(uint8_t ack_delay, uint8_t lifetime)
{
	uint32_t twice = lifetime + 1u;
	uint32_t code;

	/* 2^twice + 2^delay lies between the larger of both and the next code; where they are
	 * nearly equal the next one is needed. */
	if (twice >= ack_delay)
		code = twice + (ack_delay + 1u >= twice);
	else
		code = ack_delay + (twice + 1u >= ack_delay);
	return code < PMV_CM_TIMEOUT_CODE_MAX ? (uint8_t)code : PMV_CM_TIMEOUT_CODE_MAX;
}

static uint8_t
min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* UC has neither READs and atomics nor repetition: those fields of its messages are zero. */
static uint8_t
rd_atomic_max(const struct pmv_cm_id *id)
{
	return id->qp_type == PMV_QPT_RC ? id->conn.av.dev->facts.max_rd_atomic : 0;
}

static uint8_t
retries(const struct pmv_cm_id *id, uint8_t count)
{
	return id->qp_type == PMV_QPT_RC ? count : 0;
}

static const struct pmv_cm_conn_param param_default = {
	.responder_resources = UINT8_MAX,
	.initiator_depth = UINT8_MAX,
	.retry_count = RETRY_MAX,
	.rnr_retry_count = RETRY_MAX,
};

/* ---- QP ---- */

int
pmv_cm_create_qp(struct pmv_cm_id *id, struct pmv_pd *pd, struct pmv_worker *worker,
	struct pmv_qp_init_attr *attr)
{
	struct pmv_qp *qp;
	int err = pmv_cm_id_check(id, "cm_create_qp");

	if (err != 0)
		return err;
	if (PMV_ANY_NULL("cm_create_qp", "pd worker attr", pd, worker, attr))
		return -EINVAL;
	if (id->phase != PMV_CM_PH_ADDR_RESOLVED && id->phase != PMV_CM_PH_ROUTE_RESOLVED &&
		!(id->phase == PMV_CM_PH_REQUEST && pmv_cm_conn_takes(id, PMV_CM_IN_ACCEPT)))
		return refuse("cm_create_qp", "id has no device yet, or is past that");
	if (id->phase != PMV_CM_PH_REQUEST && id->conn.state != PMV_CM_ST_IDLE)
		return refuse("cm_create_qp", "id is connecting");
	if (id->bridge.qp != NULL)
		return refuse("cm_create_qp", "id has a QP");
	if (pmv_worker_get_device(worker) != id->dev->device)
		return refuse("cm_create_qp", "worker is of another device than id");
	if (attr->qp_type != id->qp_type)
		return refuse("cm_create_qp", "attr.qp_type is not that of id");
	err = pmv_create_qp(pd, worker, attr, &qp);
	if (err != 0)
		return err;
	err = pmv_cm_qp_bridge_take(id, qp);
	if (err != 0)
		return err;
	id->conn.av.worker = pmv_worker_index(worker);
	return 0;
}

int
pmv_cm_destroy_qp(struct pmv_cm_id *id)
{
	int err = pmv_cm_id_check(id, "cm_destroy_qp");

	if (err != 0)
		return err;
	if (pmv_cm_qp_bridge_qp(id) == NULL)
		return refuse("cm_destroy_qp", "id has no QP");
	pmv_cm_qp_bridge_start(id, PMV_CM_QP_DESTROY);
	return 0;
}

/* ---- Connect ---- */

static const char *
connect_why_not(const struct pmv_cm_id *id, const struct pmv_cm_conn_param *p)
{
	if (id->phase != PMV_CM_PH_ROUTE_RESOLVED)
		return "id: its route is not resolved";
	if (!pmv_cm_conn_takes(id, PMV_CM_IN_CONNECT))
		return "id is connected or connecting";
	if (pmv_cm_qp_bridge_qp(id) == NULL)
		return "id has no QP";
	if (p->private_data_len > PMV_CM_PRIVATE_CONNECT_MAX)
		return "param.private_data_len is above 56";
	if (p->private_data == NULL && p->private_data_len != 0)
		return "param.private_data is NULL, and its length is not 0";
	if (p->retry_count > RETRY_MAX)
		return "param.retry_count is above 7";
	if (p->rnr_retry_count > RETRY_MAX)
		return "param.rnr_retry_count is above 7";
	if (!pmv_cm_event_slot_free(id, PMV_CM_SLOT_RESULT) ||
		!pmv_cm_event_slot_free(id, PMV_CM_SLOT_END) ||
		!pmv_cm_event_slot_free(id, PMV_CM_SLOT_TIMEWAIT))
		return "id: events of the last attempt were not given back";
	return NULL;
}

static void
connect_fill(struct pmv_cm_id *id, const struct pmv_cm_conn_param *p)
{
	const struct pmv_verbs_ctl_facts *facts = &id->conn.av.dev->facts;
	struct pmv_cm_conn *conn = &id->conn;
	/* Timeout 0 says "no timer", not a lifetime; the path keeps its default then. */
	uint8_t lifetime = id->options & PMV_CM_OPT_ACK_TIMEOUT && id->ack_timeout != 0
				   ? id->ack_timeout - 1
				   : PMV_CM_PACKET_LIFETIME;

	conn->local_qpn = pmv_qp_num(id->bridge.qp);
	conn->mtu = facts->active_mtu;
	conn->responder_resources = min_u8(p->responder_resources, rd_atomic_max(id));
	conn->initiator_depth = min_u8(p->initiator_depth, rd_atomic_max(id));
	conn->flow_control = p->flow_control != 0;
	conn->retry_count = retries(id, p->retry_count);
	conn->rnr_retry_sent = retries(id, p->rnr_retry_count);
	conn->rnr_retry = conn->rnr_retry_sent; /* until the REP tells */
	conn->srq = pmv_qp_get_srq(id->bridge.qp) != NULL;
	conn->req_ack_timeout = pmv_cm_connect_ack_timeout(facts->local_ack_delay, lifetime);
	conn->ack_timeout = conn->req_ack_timeout;
	conn->hold_code = id->options & PMV_CM_OPT_TIMERS ? id->response_timeout
							  : PMV_CM_RESPONSE_TIMEOUT_CODE;
	memset(conn->private_data, 0, sizeof(conn->private_data));
	if (p->private_data_len != 0)
		memcpy(conn->private_data + PMV_CM_IP_HDR_BYTES, p->private_data,
			p->private_data_len);
	conn->private_len = (uint8_t)(PMV_CM_IP_HDR_BYTES + p->private_data_len);
}

/* What the REQ says: of our own vendor never more than the device can do, of another one what the
 * program says. */
static struct pmv_ece
connect_ece(const struct pmv_cm_id *id, const struct pmv_ece *asked)
{
	struct pmv_ece own = pmv_cm_conn_own_ece(id);

	if (asked == NULL)
		return own;
	return asked->vendor_id == own.vendor_id ? pmv_cm_ece_common(*asked, own) : *asked;
}

static int
do_connect(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece,
	const char *call)
{
	const struct pmv_cm_conn_param *p = param != NULL ? param : &param_default;
	const char *why;
	int err = pmv_cm_id_check(id, call);

	if (err != 0)
		return err;
	why = connect_why_not(id, p);
	if (why == NULL && ece != NULL && !pmv_cm_ece_ok(*ece))
		why = "ece.vendor_id is above 24 bits, or 0 with options";
	if (why != NULL)
		return refuse(call, why);
	err = pmv_cm_conn_begin(id, true);
	if (err != 0)
		return pmv_log_refuse(err, "%s: id: no communication ID is free", call);
	connect_fill(id, p);
	id->conn.ece_said = connect_ece(id, ece);
	return pmv_cm_conn_input(id, PMV_CM_IN_CONNECT, NULL);
}

int
pmv_cm_connect(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param)
{
	return do_connect(id, param, NULL, "cm_connect");
}

int
pmv_cm_connect_ece(
	struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece)
{
	return do_connect(id, param, ece, "cm_connect_ece");
}

/* ---- Accept, reject, disconnect ---- */

static const char *
accept_why_not(const struct pmv_cm_id *id, const struct pmv_cm_conn_param *p)
{
	if (id->phase != PMV_CM_PH_REQUEST || !pmv_cm_conn_takes(id, PMV_CM_IN_ACCEPT))
		return "id has no request to accept";
	if (pmv_cm_qp_bridge_qp(id) == NULL)
		return "id has no QP";
	if (p->private_data_len > PMV_CM_PRIVATE_ACCEPT_MAX)
		return "param.private_data_len is above 196";
	if (p->private_data == NULL && p->private_data_len != 0)
		return "param.private_data is NULL, and its length is not 0";
	if (p->rnr_retry_count > RETRY_MAX)
		return "param.rnr_retry_count is above 7";
	return NULL;
}

static void
accept_fill(struct pmv_cm_id *id, const struct pmv_cm_conn_param *p)
{
	struct pmv_cm_conn *conn = &id->conn;
	uint8_t max = rd_atomic_max(id);

	conn->local_qpn = pmv_qp_num(id->bridge.qp);
	/* Neither more than we can, nor more than the other side said. */
	conn->responder_resources = min_u8(min_u8(p->responder_resources, max), conn->peer_depth);
	conn->initiator_depth = min_u8(min_u8(p->initiator_depth, max), conn->peer_resources);
	conn->flow_control = p->flow_control != 0;
	conn->rnr_retry_sent = retries(id, p->rnr_retry_count);
	conn->srq = pmv_qp_get_srq(id->bridge.qp) != NULL;
	if (id->options & PMV_CM_OPT_ACK_TIMEOUT)
		conn->ack_timeout = id->ack_timeout;
	if (id->options & PMV_CM_OPT_TOS)
		conn->av.tos = id->tos;
	memset(conn->private_data, 0, sizeof(conn->private_data));
	if (p->private_data_len != 0)
		memcpy(conn->private_data, p->private_data, p->private_data_len);
	conn->private_len = p->private_data_len;
}

/* What the REP says: of our own vendor what both can do, of another one what the program answers.
 */
static struct pmv_ece
accept_ece(const struct pmv_cm_id *id, const struct pmv_ece *asked)
{
	struct pmv_ece own = pmv_cm_conn_own_ece(id);
	struct pmv_ece heard = id->conn.ece_heard;

	if (asked == NULL)
		return pmv_cm_ece_common(own, heard);
	return asked->vendor_id == own.vendor_id
		       ? pmv_cm_ece_common(*asked, pmv_cm_ece_common(own, heard))
		       : *asked;
}

/* A vendor that was not offered ends the connection at a peer that uses librdmacm. */
static const char *
accept_ece_why_not(const struct pmv_cm_id *id, const struct pmv_ece *ece)
{
	if (!pmv_cm_ece_ok(*ece))
		return "ece.vendor_id is above 24 bits, or 0 with options";
	if (ece->vendor_id != 0 && ece->vendor_id != id->conn.ece_heard.vendor_id)
		return "ece.vendor_id is not the one that the request offers";
	return NULL;
}

static int
do_accept(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece,
	const char *call)
{
	const struct pmv_cm_conn_param *p = param != NULL ? param : &param_default;
	const char *why;
	int err = pmv_cm_id_check(id, call);

	if (err != 0)
		return err;
	why = accept_why_not(id, p);
	if (why == NULL && ece != NULL)
		why = accept_ece_why_not(id, ece);
	if (why != NULL)
		return refuse(call, why);
	accept_fill(id, p);
	id->conn.ece_said = accept_ece(id, ece);
	return pmv_cm_conn_input(id, PMV_CM_IN_ACCEPT, NULL);
}

int
pmv_cm_accept(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param)
{
	return do_accept(id, param, NULL, "cm_accept");
}

int
pmv_cm_accept_ece(
	struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece)
{
	return do_accept(id, param, ece, "cm_accept_ece");
}

int
pmv_cm_reject(struct pmv_cm_id *id, const void *private_data, uint8_t len, uint8_t reason)
{
	struct pmv_cm_conn_arg arg = {
		.reason = reason,
		.private_data = private_data,
		.private_len = len,
	};
	int err = pmv_cm_id_check(id, "cm_reject");

	if (err != 0)
		return err;
	if (reason != PMV_CM_REJ_CONSUMER_DEFINED && reason != PMV_CM_REJ_VENDOR_OPTION)
		return refuse("cm_reject", "reason is neither 28 nor 35");
	if (len > PMV_CM_PRIVATE_REJECT_MAX)
		return refuse("cm_reject", "len is above 148");
	if (private_data == NULL && len != 0)
		return refuse("cm_reject", "private_data is NULL, and len is not 0");
	err = pmv_cm_conn_input(id, PMV_CM_IN_REJECT, &arg);
	return err != 0 ? refuse("cm_reject", "id has no request to reject") : 0;
}

int
pmv_cm_disconnect(struct pmv_cm_id *id)
{
	int err = pmv_cm_id_check(id, "cm_disconnect");

	if (err != 0)
		return err;
	err = pmv_cm_conn_input(id, PMV_CM_IN_DISCONNECT, NULL);
	return err != 0 ? refuse("cm_disconnect", "id is not connected") : 0;
}
