// SPDX-License-Identifier: BSD-3-Clause
/*
 * Steps of a session of pmv-rping: events of the CM and completions in, work requests out. The
 * program's one lcore. Whatever the peer sends is checked here before it is used: a place is 16
 * bytes and no longer than our buffer.
 */
#include "apps/rping/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/common/say.h"

/* Layout of a session's buffer: pings, the client's sink, received places. */
#define PING_OFFSET  0u
#define SINK_OFFSET  (PMV_RPING_SIZE_MAX + 1)
#define PLACE_OFFSET (2 * SINK_OFFSET)
#define BUF_BYTES    (PLACE_OFFSET + PMV_RPING_RECV_WR_MAX * PMV_RPING_PLACE_BYTES)

/* A peer that owes us a message and is silent for so long is asked for a sign of life. */
#define PROBE_AFTER_SEC 1
#define LEAVE_SEC       5
/* Linux's rping uses the same numbers. */
#define RETRY_COUNT  7
#define NB_RD_ATOMIC 1
#define RESOLVE_MS   2000

enum wr_id { WR_SEND, WR_READ, WR_WRITE, WR_PROBE, WR_RECV };

static void
fail(struct pmv_rping_session *s)
{
	s->failed = true;
	pmv_rping_session_leave(s);
}

void
pmv_rping_session_init(
	struct pmv_rping_session *s, const struct pmv_rping_setup *setup, struct pmv_cm_id *id)
{
	*s = (struct pmv_rping_session){ .setup = setup, .id = id };
}

static int
post_recv(struct pmv_rping_session *s, uint32_t slot)
{
	struct pmv_sge sge = {
		.addr = (uintptr_t)s->buf + PLACE_OFFSET + slot * PMV_RPING_PLACE_BYTES,
		.length = PMV_RPING_PLACE_BYTES,
		.lkey = pmv_mr_lkey(s->mr),
	};
	struct pmv_recv_wr wr = { .wr_id = WR_RECV, .sg_list = &sge, .num_sge = 1 };

	return pmv_post_recv(s->qp, &wr, 1) == 1 ? 0 : -EIO;
}

int
pmv_rping_session_prepare(struct pmv_rping_session *s)
{
	const struct pmv_rping_setup *setup = s->setup;
	struct pmv_qp_init_attr attr = {
		.send_cq = setup->cq,
		.recv_cq = setup->cq,
		.cap = {
			.max_send_wr = PMV_RPING_SEND_WR_MAX,
			.max_recv_wr = PMV_RPING_RECV_WR_MAX,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = PMV_RPING_PLACE_BYTES,
		},
		.qp_type = PMV_QPT_RC,
		.qp_context = s,
	};
	struct sockaddr_storage peer;
	int ret;

	pmv_cm_id_peer_addr(s->id, &peer);
	pmv_app_sockaddr_text(&peer, s->peer, sizeof(s->peer));
	s->buf = pmv_buf_alloc(BUF_BYTES, setup->ep->port.socket_id);
	if (s->buf == NULL)
		return -ENOMEM;
	ret = pmv_reg_mr(setup->pd, s->buf, BUF_BYTES,
		PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_WRITE, &s->mr);
	if (ret == 0)
		ret = pmv_cm_create_qp(s->id, setup->pd, setup->ep->worker, &attr);
	if (ret != 0)
		return ret;
	s->qp = pmv_cm_id_qp(s->id);
	for (uint32_t slot = 0; slot < PMV_RPING_RECV_WR_MAX && ret == 0; slot++)
		ret = post_recv(s, slot);
	return ret;
}

int
pmv_rping_session_destroy(struct pmv_rping_session *s)
{
	int ret = 0;

	if (s->qp != NULL)
		ret = pmv_cm_destroy_qp(s->id);
	pmv_cm_destroy_id(s->id);
	if (ret == 0)
		ret = pmv_app_endpoint_free_mr(s->setup->ep, s->mr);
	if (ret == 0 && s->buf != NULL)
		pmv_buf_free(s->buf, BUF_BYTES);
	*s = (struct pmv_rping_session){ 0 };
	return ret;
}

static void
post(struct pmv_rping_session *s, struct pmv_send_wr *wr)
{
	int ret;

	wr->send_flags |= PMV_SEND_SIGNALED;
	ret = pmv_post_send(s->qp, wr, 1);
	if (ret != 1) {
		pmv_app_say("a request to %s cannot be posted: %s", s->peer,
			strerror(ret < 0 ? -ret : EIO));
		fail(s);
	}
}

/* Client: a place; server: 16 bytes that say "go on", zeros as Linux's rping has them. */
static void
post_place(struct pmv_rping_session *s, const struct pmv_rping_place *place)
{
	uint8_t bytes[PMV_RPING_PLACE_BYTES];
	struct pmv_sge sge = { .addr = (uintptr_t)bytes, .length = sizeof(bytes) };
	struct pmv_send_wr wr = {
		.wr_id = WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_INLINE,
	};

	pmv_rping_place_build(place, bytes);
	post(s, &wr);
}

static void
post_go(struct pmv_rping_session *s)
{
	struct pmv_rping_place nowhere = { 0 };

	post_place(s, &nowhere);
}

static void
post_rdma(struct pmv_rping_session *s, enum pmv_wr_opcode opcode,
	const struct pmv_rping_place *place, uint32_t length)
{
	struct pmv_sge sge = {
		.addr = (uintptr_t)s->buf + PING_OFFSET,
		.length = length,
		.lkey = pmv_mr_lkey(s->mr),
	};
	struct pmv_send_wr wr = {
		.wr_id = opcode == PMV_WR_RDMA_READ ? WR_READ : WR_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = place->addr, .rkey = place->rkey },
	};

	post(s, &wr);
}

/* Client: the first half of a round. */
static void
start_round(struct pmv_rping_session *s)
{
	struct pmv_rping_place place = {
		.addr = (uintptr_t)s->buf + PING_OFFSET,
		.rkey = pmv_mr_rkey(s->mr),
		.size = s->setup->size,
	};

	pmv_rping_text_fill((char *)s->buf + PING_OFFSET, s->setup->size, s->nb_rounds);
	s->step = PMV_RPING_GO_AFTER_READ;
	post_place(s, &place);
}

/* Client: the server has read the source; now it learns of the sink. */
static void
offer_sink(struct pmv_rping_session *s)
{
	struct pmv_rping_place place = {
		.addr = (uintptr_t)s->buf + SINK_OFFSET,
		.rkey = pmv_mr_rkey(s->mr),
		.size = s->setup->size,
	};

	/* So that the text of an earlier round cannot be taken for an answer. */
	memset(s->buf + SINK_OFFSET, 0, s->setup->size);
	s->step = PMV_RPING_GO_AFTER_WRITE;
	post_place(s, &place);
}

/* Client: the server has written into the sink. */
static void
end_round(struct pmv_rping_session *s)
{
	const char *sink = (const char *)s->buf + SINK_OFFSET;

	if (s->setup->validate && !pmv_rping_text_check(sink, s->setup->size, s->nb_rounds)) {
		pmv_app_say("%s sent something else back than it was sent in round %llu", s->peer,
			(unsigned long long)s->nb_rounds);
		fail(s);
		return;
	}
	if (s->setup->verbose)
		printf("ping data: %.*s\n", (int)s->setup->size, sink);
	s->nb_rounds++;
	if (s->setup->count != 0 && s->nb_rounds == s->setup->count)
		pmv_rping_session_leave(s);
	else
		start_round(s);
}

/* Server: the client named a buffer. Peer input: the size decides how much of our memory is used.
 */
static void
on_place(struct pmv_rping_session *s, const struct pmv_rping_place *place)
{
	const char *text = (const char *)s->buf + PING_OFFSET;
	uint32_t length;

	if (place->size == 0 || place->size > PMV_RPING_SIZE_MAX) {
		pmv_app_say("%s named a buffer of %u bytes; 1 to %u are possible", s->peer,
			place->size, PMV_RPING_SIZE_MAX);
		fail(s);
	} else if (s->step == PMV_RPING_SOURCE_PLACE) {
		s->step = PMV_RPING_READ_DONE;
		s->ping_bytes = place->size;
		post_rdma(s, PMV_WR_RDMA_READ, place, place->size);
	} else {
		/* The text with its final 0 goes back, and never more than the sink holds. */
		length = (uint32_t)strnlen(text, s->ping_bytes) + 1;
		if (length > s->ping_bytes)
			length = s->ping_bytes;
		if (length > place->size)
			length = place->size;
		s->step = PMV_RPING_WRITE_DONE;
		post_rdma(s, PMV_WR_RDMA_WRITE, place, length);
	}
}

static void
on_recv(struct pmv_rping_session *s, const struct pmv_wc *wc)
{
	uint32_t slot = s->next_recv++ % PMV_RPING_RECV_WR_MAX;
	struct pmv_rping_place place;

	if (wc->byte_len != PMV_RPING_PLACE_BYTES) {
		pmv_app_say("%s sent a message of %u bytes, which rping does not know", s->peer,
			wc->byte_len);
		fail(s);
		return;
	}
	pmv_rping_place_parse(s->buf + PLACE_OFFSET + slot * PMV_RPING_PLACE_BYTES, &place);
	if (post_recv(s, slot) != 0) {
		pmv_app_say("a receive for %s cannot be posted", s->peer);
		fail(s);
		return;
	}
	/* The first message may come before the peer's RTU: it establishes the connection as well.
	 */
	if (s->step == PMV_RPING_CONNECTING && !s->setup->is_client)
		s->step = PMV_RPING_SOURCE_PLACE;
	switch (s->step) {
	case PMV_RPING_SOURCE_PLACE:
	case PMV_RPING_SINK_PLACE:
		on_place(s, &place);
		break;
	case PMV_RPING_GO_AFTER_READ:
		offer_sink(s);
		break;
	case PMV_RPING_GO_AFTER_WRITE:
		end_round(s);
		break;
	default:
		pmv_app_say("%s sent a message out of turn", s->peer);
		fail(s);
	}
}

static void
on_success(struct pmv_rping_session *s, const struct pmv_wc *wc)
{
	switch (wc->wr_id) {
	case WR_RECV:
		on_recv(s, wc);
		break;
	case WR_READ:
		if (s->setup->verbose)
			printf("server ping data: %.*s\n", (int)s->ping_bytes,
				(const char *)s->buf + PING_OFFSET);
		s->step = PMV_RPING_SINK_PLACE;
		post_go(s);
		break;
	case WR_WRITE:
		s->nb_rounds++;
		s->step = PMV_RPING_SOURCE_PLACE;
		post_go(s);
		break;
	case WR_PROBE:
		s->is_probing = false;
		break;
	default: /* a SEND has arrived */
		break;
	}
}

void
pmv_rping_session_completion(struct pmv_rping_session *s, const struct pmv_wc *wc)
{
	/* What ended the connection is said by the event or by the first completion with a cause.
	 */
	if (wc->status == PMV_WC_WR_FLUSH_ERR || s->step >= PMV_RPING_LEAVING)
		return;
	s->heard_at = rte_rdtsc();
	if (wc->status == PMV_WC_SUCCESS) {
		on_success(s, wc);
		return;
	}
	pmv_app_say("the connection to %s is lost after %llu rounds: %s", s->peer,
		(unsigned long long)s->nb_rounds, pmv_wc_status_str(wc->status));
	s->failed = true;
	/* Nobody is there to answer a DREQ; destroying the id sends one all the same. */
	if (wc->status == PMV_WC_RETRY_EXC_ERR)
		s->step = PMV_RPING_ENDED;
	else
		pmv_rping_session_leave(s);
}

static void
on_route(struct pmv_rping_session *s)
{
	struct pmv_cm_conn_param param = {
		.responder_resources = NB_RD_ATOMIC,
		.initiator_depth = NB_RD_ATOMIC,
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RETRY_COUNT,
	};
	int ret = pmv_rping_session_prepare(s);

	if (ret == 0)
		ret = pmv_cm_connect(s->id, &param);
	if (ret != 0) {
		pmv_app_say("cannot connect to %s: %s", s->peer, strerror(-ret));
		fail(s);
	}
}

/* A client may leave at any time, and Ctrl-C is a way to leave; a server must not. */
static void
on_disconnected(struct pmv_rping_session *s)
{
	if (s->setup->is_client && s->step != PMV_RPING_LEAVING && !s->failed) {
		pmv_app_say("%s disconnected early, after %llu rounds", s->peer,
			(unsigned long long)s->nb_rounds);
		s->failed = true;
	}
	s->step = PMV_RPING_ENDED;
}

void
pmv_rping_session_event(struct pmv_rping_session *s, const struct pmv_cm_event *ev)
{
	switch (ev->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
		if (pmv_cm_resolve_route(s->id, RESOLVE_MS) != 0) {
			pmv_app_say("there is no route to %s", s->peer);
			fail(s);
		}
		break;
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		on_route(s);
		break;
	case PMV_CM_EVENT_ESTABLISHED:
		s->heard_at = rte_rdtsc();
		if (s->step != PMV_RPING_CONNECTING)
			break;
		if (s->setup->is_client)
			start_round(s);
		else
			s->step = PMV_RPING_SOURCE_PLACE;
		break;
	case PMV_CM_EVENT_DISCONNECTED:
		on_disconnected(s);
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		if (s->step != PMV_RPING_LEAVING)
			pmv_app_say_cm_failure(ev, s->peer);
		s->failed = true;
		s->step = PMV_RPING_ENDED;
	}
}

/* A zero-length WRITE touches no memory and needs no key; the acknowledgement is what it is for. */
static void
post_probe(struct pmv_rping_session *s)
{
	struct pmv_send_wr wr = { .wr_id = WR_PROBE, .opcode = PMV_WR_RDMA_WRITE };

	s->is_probing = true;
	post(s, &wr);
}

void
pmv_rping_session_tick(struct pmv_rping_session *s, uint64_t now)
{
	if (s->step == PMV_RPING_LEAVING && now > s->give_up_at) {
		s->step = PMV_RPING_ENDED;
		return;
	}
	/* RC says nothing about a peer from whom nothing is outstanding, and here it is the peer's
	 * turn. */
	if (s->step > PMV_RPING_CONNECTING && s->step < PMV_RPING_LEAVING && !s->is_probing &&
		now > s->heard_at + PROBE_AFTER_SEC * s->setup->ticks_per_sec) {
		s->heard_at = now;
		post_probe(s);
	}
}

void
pmv_rping_session_leave(struct pmv_rping_session *s)
{
	bool is_connected = s->step > PMV_RPING_CONNECTING && s->step < PMV_RPING_LEAVING;

	if (s->step >= PMV_RPING_LEAVING)
		return;
	if (is_connected && pmv_cm_disconnect(s->id) == 0) {
		s->step = PMV_RPING_LEAVING;
		s->give_up_at = rte_rdtsc() + LEAVE_SEC * s->setup->ticks_per_sec;
	} else {
		s->step = PMV_RPING_ENDED;
	}
}
