// SPDX-License-Identifier: BSD-3-Clause
/*
 * The connection record: feeds the state machine and carries out its answers, see conn.h. Control
 * lcore. Does not find records for messages (cm/match) and does not judge arguments (cm/connect).
 */
#include "cm/conn.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_msg.h"
#include "cm/ece.h"
#include "cm/id.h"
#include "cm/limits.h"

/* ---- Timers ---- */

static void
arm(struct pmv_cm_id *id, uint64_t deadline, bool wait_only)
{
	id->conn.wait_only = wait_only;
	pmv_wheel_arm(&id->cm->wheel, &id->conn.timer, deadline);
}

static void
disarm(struct pmv_cm_id *id)
{
	pmv_wheel_disarm(&id->cm->wheel, &id->conn.timer);
}

/* Timers that the application chose are taken literally; a REP keeps to what the peer's REQ asks
 * for; all others back off. */
static struct pmv_cm_retry_rule
retry_rule(const struct pmv_cm_id *id)
{
	const struct pmv_cm_conn *conn = &id->conn;
	uint64_t per_us = id->cm->ticks_per_us;

	if (id->options & PMV_CM_OPT_TIMERS)
		return pmv_cm_retry_rule_equal(id->response_timeout, id->cm_retries, per_us);
	if (conn->state == PMV_CM_ST_REP_SENT)
		return pmv_cm_retry_rule_equal(
			conn->peer_response_timeout, conn->peer_cm_retries, per_us);
	return pmv_cm_retry_rule_default(per_us);
}

static void
do_arm_retry(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_retry_rule rule = retry_rule(id);

	pmv_cm_retry_start(&id->conn.retry, &rule, pmv_cm_clock(id->cm));
	arm(id, id->conn.retry.deadline, false);
}

static void
do_rearm_retry(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_retry_next(&id->conn.retry, pmv_cm_clock(id->cm));
	arm(id, id->conn.retry.deadline, false);
}

static void
do_extend_retry(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_retry_extend(&id->conn.retry, arg->msg->mra.service_timeout, id->cm->ticks_per_us,
		pmv_cm_clock(id->cm));
	arm(id, id->conn.retry.deadline, false);
}

static void
do_arm_timewait(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	uint64_t us = pmv_cm_timewait_us(id->conn.req_ack_timeout);

	arm(id, pmv_cm_clock(id->cm) + us * id->cm->ticks_per_us, true);
}

static void
do_arm_hold(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	uint64_t us = pmv_cm_rej_hold_us(id->conn.hold_code);

	arm(id, pmv_cm_clock(id->cm) + us * id->cm->ticks_per_us, true);
}

static void
do_disarm(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	disarm(id);
}

/* ---- Messages ---- */

static void
do_send_req(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_req(id);
}

static void
do_send_rep(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_rep(id);
}

static void
do_send_dreq(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_dreq(id);
}

static void
send_rej(struct pmv_cm_id *id, enum pmv_cm_about about, uint16_t reason)
{
	struct pmv_cm_conn_rej rej = {
		.about = about,
		.reason = reason,
		.remote_comm_id = id->conn.remote_comm_id,
		.with_guid = reason == PMV_CM_REASON_TIMEOUT,
		.keep = true,
	};

	pmv_cm_conn_msg_rej(id, &rej);
}

static void
do_send_rej(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn_rej rej = {
		.about = PMV_CM_ABOUT_REQ,
		.reason = arg->reason,
		.remote_comm_id = id->conn.remote_comm_id,
		.keep = true,
		.private_data = arg->private_data,
		.private_len = arg->private_len,
	};

	pmv_cm_conn_msg_rej(id, &rej);
}

static void
do_send_rej_req(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	send_rej(id, PMV_CM_ABOUT_REQ, PMV_CM_REASON_CONSUMER);
}

static void
do_send_rej_rep(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	send_rej(id, PMV_CM_ABOUT_REP, PMV_CM_REASON_CONSUMER);
}

static void
do_send_rej_other(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	send_rej(id, PMV_CM_ABOUT_OTHER, PMV_CM_REASON_CONSUMER);
}

static void
do_send_rej_timeout(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	send_rej(id, PMV_CM_ABOUT_OTHER, PMV_CM_REASON_TIMEOUT);
}

static void
do_send_rej_stale_rep(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn_rej rej = {
		.about = PMV_CM_ABOUT_REP,
		.reason = PMV_CM_REASON_STALE_CONN,
		.remote_comm_id = arg->msg->rep.local_comm_id,
	};

	pmv_cm_conn_msg_rej(id, &rej);
}

static void
do_send_rtu(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_rtu(id);
}

static void
do_send_mra_req(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_mra(id, PMV_CM_ABOUT_REQ);
}

static void
do_send_mra_rep(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_mra(id, PMV_CM_ABOUT_REP);
}

static void
do_send_drep(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_drep(id, arg->msg->tid);
}

static void
do_resend(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_conn_msg_resend(id);
}

/* ---- Tables and QP ---- */

static void
do_list_peer(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm *cm = id->cm;
	uint32_t index = pmv_cm_comm_ids_index(&cm->comm_ids, conn->local_comm_id);

	/* Room is there: as many entries as comm IDs. A pair that is taken was looked for before.
	 */
	conn->id_listed = pmv_cm_dup_insert(&cm->peer_ids, conn->remote_guid, conn->remote_comm_id,
				  index) == 0;
	conn->qpn_listed =
		pmv_cm_dup_insert(&cm->peer_qpns, conn->remote_guid, conn->remote_qpn, index) == 0;
}

static void
do_unlist_qpn(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn *conn = &id->conn;

	if (conn->qpn_listed)
		pmv_cm_dup_remove(&id->cm->peer_qpns, conn->remote_guid, conn->remote_qpn,
			pmv_cm_comm_ids_index(&id->cm->comm_ids, conn->local_comm_id));
	conn->qpn_listed = false;
}

static void
do_unlist_peer(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn *conn = &id->conn;

	do_unlist_qpn(id, arg);
	if (conn->id_listed)
		pmv_cm_dup_remove(&id->cm->peer_ids, conn->remote_guid, conn->remote_comm_id,
			pmv_cm_comm_ids_index(&id->cm->comm_ids, conn->local_comm_id));
	conn->id_listed = false;
}

static void
do_qp_to_rts(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_qp_bridge_start(id, PMV_CM_QP_RTR | PMV_CM_QP_RTS);
}

static void
do_qp_to_err(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_qp_bridge_start(id, PMV_CM_QP_ERR);
}

/* ---- Reports ---- */

static void
param_fill(const struct pmv_cm_id *id, struct pmv_cm_conn_param *p)
{
	const struct pmv_cm_conn *conn = &id->conn;

	*p = (struct pmv_cm_conn_param){
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry,
		.srq = conn->peer_srq,
		.qp_num = conn->remote_qpn,
	};
}

static void
do_report_request(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn_param p;

	param_fill(id, &p);
	/* What the peer serves is what we may issue, and the other way round. */
	p.initiator_depth = id->conn.peer_resources;
	p.responder_resources = id->conn.peer_depth;
	p.private_data = id->request_private;
	p.private_data_len = sizeof(id->request_private);
	pmv_cm_event_queue(id, PMV_CM_SLOT_REQUEST, PMV_CM_EVENT_CONNECT_REQUEST, 0, &p);
}

static void
do_report_established(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn_param p;

	param_fill(id, &p);
	if (id->conn.active) {
		p.private_data = id->result_private;
		p.private_data_len = PMV_CM_REP_PRIVATE_MAX;
	}
	pmv_cm_count(id->cm, PMV_CM_STAT_CONNECTIONS);
	pmv_cm_event_queue(id, PMV_CM_SLOT_RESULT, PMV_CM_EVENT_ESTABLISHED, 0, &p);
}

static void
do_report_rejected(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	struct pmv_cm_conn_param p = {
		.private_data = id->result_private,
		.private_data_len = PMV_CM_REJ_PRIVATE_MAX,
	};

	memset(id->result_private, 0, sizeof(id->result_private));
	memcpy(id->result_private, arg->msg->private_data, PMV_CM_REJ_PRIVATE_MAX);
	pmv_cm_event_queue(id, PMV_CM_SLOT_RESULT, PMV_CM_EVENT_REJECTED, arg->msg->rej.reason, &p);
}

static void
do_report_unreachable(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_RESULT, PMV_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
}

static void
do_report_connect_error(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_RESULT, PMV_CM_EVENT_CONNECT_ERROR, arg->err, NULL);
}

static void
do_report_disconnected(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_END, PMV_CM_EVENT_DISCONNECTED, 0, NULL);
}

static void
do_report_disconnected_timeout(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_END, PMV_CM_EVENT_DISCONNECTED, -ETIMEDOUT, NULL);
}

static void
do_report_disconnected_reset(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_END, PMV_CM_EVENT_DISCONNECTED, -ECONNRESET, NULL);
}

static void
do_report_timewait_exit(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_event_queue(id, PMV_CM_SLOT_TIMEWAIT, PMV_CM_EVENT_TIMEWAIT_EXIT, 0, NULL);
}

static void
do_release(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg)
{
	pmv_cm_id_release(id);
}

typedef void (*do_fn)(struct pmv_cm_id *id, const struct pmv_cm_conn_arg *arg);

static const do_fn do_table[PMV_CM_DO_MAX] = {
	[PMV_CM_DO_SEND_REQ] = do_send_req,
	[PMV_CM_DO_SEND_REP] = do_send_rep,
	[PMV_CM_DO_SEND_DREQ] = do_send_dreq,
	[PMV_CM_DO_SEND_REJ] = do_send_rej,
	[PMV_CM_DO_SEND_REJ_REQ] = do_send_rej_req,
	[PMV_CM_DO_SEND_REJ_REP] = do_send_rej_rep,
	[PMV_CM_DO_SEND_REJ_OTHER] = do_send_rej_other,
	[PMV_CM_DO_SEND_REJ_TIMEOUT] = do_send_rej_timeout,
	[PMV_CM_DO_SEND_REJ_STALE_REP] = do_send_rej_stale_rep,
	[PMV_CM_DO_SEND_RTU] = do_send_rtu,
	[PMV_CM_DO_SEND_MRA_REQ] = do_send_mra_req,
	[PMV_CM_DO_SEND_MRA_REP] = do_send_mra_rep,
	[PMV_CM_DO_SEND_DREP] = do_send_drep,
	[PMV_CM_DO_RESEND] = do_resend,
	[PMV_CM_DO_ARM_RETRY] = do_arm_retry,
	[PMV_CM_DO_REARM_RETRY] = do_rearm_retry,
	[PMV_CM_DO_EXTEND_RETRY] = do_extend_retry,
	[PMV_CM_DO_ARM_TIMEWAIT] = do_arm_timewait,
	[PMV_CM_DO_ARM_HOLD] = do_arm_hold,
	[PMV_CM_DO_DISARM] = do_disarm,
	[PMV_CM_DO_LIST_PEER] = do_list_peer,
	[PMV_CM_DO_UNLIST_QPN] = do_unlist_qpn,
	[PMV_CM_DO_UNLIST_PEER] = do_unlist_peer,
	[PMV_CM_DO_QP_TO_RTS] = do_qp_to_rts,
	[PMV_CM_DO_QP_TO_ERR] = do_qp_to_err,
	[PMV_CM_DO_REPORT_CONNECT_REQUEST] = do_report_request,
	[PMV_CM_DO_REPORT_ESTABLISHED] = do_report_established,
	[PMV_CM_DO_REPORT_REJECTED] = do_report_rejected,
	[PMV_CM_DO_REPORT_UNREACHABLE] = do_report_unreachable,
	[PMV_CM_DO_REPORT_CONNECT_ERROR] = do_report_connect_error,
	[PMV_CM_DO_REPORT_DISCONNECTED] = do_report_disconnected,
	[PMV_CM_DO_REPORT_DISCONNECTED_TIMEOUT] = do_report_disconnected_timeout,
	[PMV_CM_DO_REPORT_DISCONNECTED_RESET] = do_report_disconnected_reset,
	[PMV_CM_DO_REPORT_TIMEWAIT_EXIT] = do_report_timewait_exit,
	[PMV_CM_DO_RELEASE] = do_release,
};

/* ---- One step ---- */

/* The attempt is over: nothing of it may be found any more. The address vector stays, for another
 * attempt. */
static void
attempt_end(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;

	disarm(id);
	do_unlist_peer(id, NULL);
	if (conn->local_comm_id != 0)
		pmv_cm_comm_ids_free(&id->cm->comm_ids, conn->local_comm_id);
	conn->local_comm_id = 0;
	conn->remote_comm_id = 0;
	conn->attempt++;
}

/* The first packet of the QP counts as the RTU while one is awaited. */
static void
est_review(struct pmv_cm_id *id)
{
	struct pmv_cm_conn *conn = &id->conn;
	bool wants = conn->state == PMV_CM_ST_REP_SENT || conn->state == PMV_CM_ST_MRA_REP_RCVD;

	if (wants == conn->est_listed)
		return;
	conn->est_listed = wants;
	if (wants)
		TAILQ_INSERT_TAIL(&id->cm->est_wait, id, conn.est_link);
	else
		TAILQ_REMOVE(&id->cm->est_wait, id, conn.est_link);
}

int
pmv_cm_conn_input(struct pmv_cm_id *id, enum pmv_cm_input input, const struct pmv_cm_conn_arg *arg)
{
	const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(id->conn.state, input);
	bool release = false;
	uint32_t i;

	if (step->kind == PMV_CM_FSM_REFUSE)
		return step->err;
	if (step->kind != PMV_CM_FSM_GO) {
		if (arg != NULL && arg->msg != NULL)
			pmv_cm_count(id->cm, PMV_CM_STAT_RX_DROP_STATE);
		return 0;
	}
	id->conn.state = step->next;
	est_review(id);
	pmv_cm_id_review_listener(id);
	for (i = 0; i < step->nb_actions; i++) {
		if (step->actions[i] == PMV_CM_DO_RELEASE)
			release = true;
		else
			do_table[step->actions[i]](id, arg);
	}
	if (step->next == PMV_CM_ST_IDLE)
		attempt_end(id);
	if (release)
		do_release(id, arg);
	return 0;
}

struct pmv_ece
pmv_cm_conn_own_ece(const struct pmv_cm_id *id)
{
	const struct pmv_cm_dev *dev = id->conn.av.dev;

	return dev != NULL && id->qp_type == PMV_QPT_RC ? dev->facts.ece : (struct pmv_ece){ 0, 0 };
}

struct pmv_ece
pmv_cm_conn_ece(const struct pmv_cm_id *id)
{
	const struct pmv_cm_conn *conn = &id->conn;

	return pmv_cm_ece_common(
		pmv_cm_conn_own_ece(id), pmv_cm_ece_common(conn->ece_said, conn->ece_heard));
}

bool
pmv_cm_conn_takes(const struct pmv_cm_id *id, enum pmv_cm_input input)
{
	return pmv_cm_fsm_step(id->conn.state, input)->kind == PMV_CM_FSM_GO;
}

int
pmv_cm_conn_begin(struct pmv_cm_id *id, bool active)
{
	struct pmv_cm_conn *conn = &id->conn;
	struct pmv_cm *cm = id->cm;
	int err;

	err = pmv_cm_comm_ids_alloc(&cm->comm_ids, &cm->random, id, &conn->local_comm_id);
	if (err != 0 && !TAILQ_EMPTY(&cm->lingering)) {
		/* Many connections end at once: the oldest record of a finished one makes room. */
		pmv_cm_count(cm, PMV_CM_STAT_LINGER_CUT);
		pmv_cm_conn_drop(TAILQ_FIRST(&cm->lingering));
		err = pmv_cm_comm_ids_alloc(&cm->comm_ids, &cm->random, id, &conn->local_comm_id);
	}
	if (err != 0)
		return err;
	conn->active = active;
	conn->remote_comm_id = 0;
	conn->remote_guid = 0;
	conn->remote_qpn = 0;
	conn->ece_said = (struct pmv_ece){ 0, 0 };
	conn->ece_heard = (struct pmv_ece){ 0, 0 };
	conn->attempt++;
	conn->rq_psn = (uint32_t)pmv_random_next64(&cm->random) & PMV_PSN_MASK;
	conn->tid = pmv_random_next64(&cm->random) << 32 | conn->local_comm_id;
	conn->own_tid = conn->tid;
	return 0;
}

void
pmv_cm_conn_drop(struct pmv_cm_id *id)
{
	bool lingers = id->conn.lingers;

	id->conn.state = PMV_CM_ST_IDLE;
	est_review(id);
	pmv_cm_id_review_listener(id);
	attempt_end(id);
	if (lingers)
		pmv_cm_id_release(id);
}

void
pmv_cm_conn_timer(struct pmv_cm_id *id)
{
	if (id->conn.wait_only)
		pmv_cm_conn_input(id, PMV_CM_IN_WAIT_OVER, NULL);
	else if (pmv_cm_retry_left(&id->conn.retry))
		pmv_cm_conn_input(id, PMV_CM_IN_RETRY, NULL);
	else
		pmv_cm_conn_input(id, PMV_CM_IN_EXHAUSTED, NULL);
}

uint32_t
pmv_cm_conn_est_turn(struct pmv_cm *cm, uint32_t nb)
{
	struct pmv_cm_id *last = TAILQ_LAST(&cm->est_wait, pmv_cm_id_list);
	struct pmv_cm_id *id = NULL;
	uint32_t found = 0;

	while (id != last && nb-- > 0) {
		id = TAILQ_FIRST(&cm->est_wait);
		TAILQ_REMOVE(&cm->est_wait, id, conn.est_link);
		TAILQ_INSERT_TAIL(&cm->est_wait, id, conn.est_link);
		if (id->bridge.qp == NULL || !pmv_qp_comm_est(id->bridge.qp))
			continue;
		found++;
		pmv_cm_conn_input(id, PMV_CM_IN_COMM_EST, NULL);
	}
	return found;
}
