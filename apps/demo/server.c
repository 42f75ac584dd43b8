// SPDX-License-Identifier: BSD-3-Clause
/*
 * The serving end of the demonstration. The lcore that owns it calls turn again and again; all else
 * follows from events, completions and the client's notes.
 */
#include "apps/demo/server.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "apps/common/say.h"
#include "apps/demo/pattern.h"

#define CQ_BURST 32

static void
fail(struct pmv_demo_server *server, const char *what, int ret)
{
	pmv_app_say("server: %s: %s", what, strerror(ret < 0 ? -ret : EIO));
	server->failed = true;
}

int
pmv_demo_server_start(struct pmv_demo_server *server, const struct sockaddr_storage *addr)
{
	int ret = pmv_cm_create_id(
		server->end.ep.cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &server->listener);

	if (ret == 0)
		ret = pmv_cm_bind_addr(server->listener, (const struct sockaddr *)addr);
	if (ret == 0)
		ret = pmv_cm_listen(server->listener, PMV_DEMO_NB_ROLES);
	if (ret != 0)
		fail(server, "cannot listen", ret);
	return ret;
}

/* The first byte of the client's private data says what the connection is for. */
static int
on_request(struct pmv_demo_server *server, const struct pmv_cm_event *ev)
{
	struct pmv_demo_place place = {
		.addr = (uintptr_t)server->end.data,
		.rkey = pmv_mr_rkey(server->end.data_mr),
	};
	struct pmv_cm_conn_param param = {
		.private_data = &place,
		.private_data_len = sizeof(place),
		.responder_resources = UINT8_MAX,
		.initiator_depth = UINT8_MAX,
		.rnr_retry_count = 7,
	};
	uint8_t role = PMV_DEMO_NB_ROLES;
	int ret;

	if (ev->param.private_data_len > 0)
		memcpy(&role, ev->param.private_data, sizeof(role));
	if (role >= PMV_DEMO_NB_ROLES || server->end.conns[role].id != NULL) {
		pmv_cm_reject(ev->id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED);
		return pmv_cm_destroy_id(ev->id);
	}
	ret = pmv_demo_end_create_qp(&server->end, (enum pmv_demo_role)role, ev->id);
	if (ret == 0)
		pmv_cm_id_set_context(ev->id, &server->end.conns[role]);
	return ret == 0 ? pmv_cm_accept(ev->id, &param) : ret;
}

static void
on_cm_event(struct pmv_demo_server *server, const struct pmv_cm_event *ev)
{
	struct pmv_demo_conn *conn = pmv_cm_id_context(ev->id);
	int ret = 0;

	switch (ev->event) {
	case PMV_CM_EVENT_CONNECT_REQUEST:
		ret = on_request(server, ev);
		if (ret != 0)
			fail(server, "cannot accept", ret);
		break;
	case PMV_CM_EVENT_ESTABLISHED:
		conn->is_up = true;
		break;
	case PMV_CM_EVENT_DISCONNECTED:
		conn->is_over = true;
		server->is_done = server->end.conns[PMV_DEMO_DATA].is_over &&
				  server->end.conns[PMV_DEMO_AGREE].is_over;
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		pmv_app_say_cm_failure(ev, "the client");
		server->failed = true;
	}
}

/* A receive for each message of the batch: into its slot, or without memory where only the
 * immediate comes. */
static int
post_receives(struct pmv_demo_server *server)
{
	const struct pmv_demo_note *batch = &server->batch;
	int ret = 1;

	for (uint32_t i = 0; i < batch->nb && ret == 1; i++) {
		struct pmv_sge sge = {
			.addr = (uintptr_t)pmv_demo_slot(&server->end, batch->size, i),
			.length = batch->size,
			.lkey = pmv_mr_lkey(server->end.data_mr),
		};
		struct pmv_recv_wr wr = {
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = batch->op == PMV_DEMO_WRITE_IMM ? 0 : 1,
		};

		ret = pmv_post_recv(server->end.conns[PMV_DEMO_DATA].qp, &wr, 1);
	}
	return ret == 1 ? 0 : -EIO;
}

static int
prepare(struct pmv_demo_server *server, const struct pmv_demo_note *note)
{
	struct pmv_demo_note reply = { .what = PMV_DEMO_READY };
	int ret = 0;

	server->batch = *note;
	server->nb_received = 0;
	server->nb_wrong = 0;
	for (uint32_t i = 0; i < note->nb; i++) {
		uint8_t *slot = pmv_demo_slot(&server->end, note->size, i);

		if (note->op == PMV_DEMO_READ)
			pmv_demo_pattern_fill(slot, note->size, note->first_id + i);
		else
			pmv_demo_pattern_spoil(slot, note->size, note->first_id + i);
	}
	if (pmv_demo_op_has_receive((enum pmv_demo_op)note->op))
		ret = post_receives(server);
	return ret == 0 ? pmv_demo_end_send_note(&server->end, &reply) : ret;
}

static int
check(struct pmv_demo_server *server)
{
	const struct pmv_demo_note *batch = &server->batch;
	struct pmv_demo_note reply = { .what = PMV_DEMO_RESULT };
	struct pmv_qp_stats stats = { 0 };

	reply.nb_wrong = server->nb_wrong;
	/* The client saw all acknowledged, so all must be here. */
	if (pmv_demo_op_has_receive((enum pmv_demo_op)batch->op))
		reply.nb_wrong += batch->nb - server->nb_received;
	for (uint32_t i = 0; i < batch->nb && batch->op != PMV_DEMO_READ; i++)
		reply.nb_wrong +=
			!pmv_demo_pattern_check(pmv_demo_slot(&server->end, batch->size, i),
				batch->size, batch->first_id + i);
	pmv_qp_get_stats(server->end.conns[PMV_DEMO_DATA].qp, &stats);
	reply.nb_sent_again = stats.retx_pkts;
	return pmv_demo_end_send_note(&server->end, &reply);
}

static int
on_note(struct pmv_demo_server *server, const struct pmv_wc *wc)
{
	struct pmv_demo_note note;
	int ret = pmv_demo_end_take_note(&server->end, wc, &note);

	if (ret != 0)
		return ret;
	if (note.what == PMV_DEMO_CHECK)
		return check(server);
	if (note.what != PMV_DEMO_PREPARE || note.nb > PMV_DEMO_BATCH_MAX || note.size == 0 ||
		(uint64_t)note.nb * pmv_demo_slot_bytes(note.size) > PMV_DEMO_DATA_BYTES)
		return -EPROTO;
	return prepare(server, &note);
}

/* Receives complete in the order in which they were posted, each with its message's length or
 * immediate. */
static void
on_message(struct pmv_demo_server *server, const struct pmv_wc *wc)
{
	const struct pmv_demo_note *batch = &server->batch;
	bool has_imm = batch->op != PMV_DEMO_SEND;
	uint32_t imm = htobe32((uint32_t)(batch->first_id + server->nb_received));

	if (wc->wr_id != server->nb_received || wc->byte_len != batch->size ||
		has_imm != ((wc->wc_flags & PMV_WC_WITH_IMM) != 0) ||
		(has_imm && wc->imm_data != imm))
		server->nb_wrong++;
	server->nb_received++;
}

static int
on_completion(struct pmv_demo_server *server, const struct pmv_wc *wc)
{
	enum pmv_demo_role role = pmv_demo_end_role(&server->end, wc);

	if (wc->status == PMV_WC_WR_FLUSH_ERR || role == PMV_DEMO_NB_ROLES)
		return 0;
	if (wc->status != PMV_WC_SUCCESS) {
		pmv_app_say("server: a request failed: %s", pmv_wc_status_str(wc->status));
		server->failed = true;
	} else if (role == PMV_DEMO_DATA) {
		on_message(server, wc);
	} else if (wc->opcode == PMV_WC_RECV) {
		return on_note(server, wc);
	}
	return 0;
}

void
pmv_demo_server_turn(struct pmv_demo_server *server)
{
	struct pmv_cm_event *ev;
	struct pmv_wc wc[CQ_BURST];
	uint32_t nb;

	pmv_app_endpoint_poll(&server->end.ep);
	while (pmv_cm_get_event(server->end.ep.cm, &ev) > 0) {
		on_cm_event(server, ev);
		pmv_cm_ack_event(server->end.ep.cm, ev);
	}
	nb = pmv_poll_cq(server->end.cq, wc, CQ_BURST);
	for (uint32_t i = 0; i < nb; i++) {
		int ret = on_completion(server, &wc[i]);

		if (ret != 0)
			fail(server, "cannot go on", ret);
	}
}

void
pmv_demo_server_stop(struct pmv_demo_server *server)
{
	pmv_demo_end_hang_up(&server->end);
	if (server->listener != NULL)
		pmv_cm_destroy_id(server->listener);
	server->listener = NULL;
}
