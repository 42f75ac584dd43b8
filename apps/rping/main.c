// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmv-rping: speaks the protocol of rping (rdma-core) as client and as server, so that either end
 * may be Linux. One lcore polls worker and CM. This file: command line, listener, the loop, the
 * list of sessions; what happens on a connection is in session.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/common/eal.h"
#include "apps/common/endpoint.h"
#include "apps/common/role.h"
#include "apps/common/say.h"
#include "apps/rping/session.h"

#define SESSIONS_MAX 16
#define CQ_ENTRIES   (SESSIONS_MAX * (PMV_RPING_SEND_WR_MAX + PMV_RPING_RECV_WR_MAX))
#define CQ_BURST     32
#define RESOLVE_MS   2000
#define DRAIN_MS     200

struct rping {
	struct pmv_app_role role;
	bool is_persistent;
	struct pmv_app_endpoint ep;
	struct pmv_rping_setup setup;
	struct pmv_cm_id *listener;                      /* server */
	struct pmv_rping_session sessions[SESSIONS_MAX]; /* id NULL: free */
	uint32_t nb_sessions;
	uint64_t nb_served;
	uint64_t nb_failed;
	bool done;
	bool failed;
};

static int
take_option(void *arg, int code, const char *text)
{
	struct rping *r = arg;

	(void)text;
	if (code == 'v')
		r->setup.verbose = true;
	else if (code == 'V')
		r->setup.validate = true;
	else
		r->is_persistent = true;
	return 0;
}

static struct pmv_rping_session *
add_session(struct rping *r, struct pmv_cm_id *id)
{
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		if (r->sessions[i].id == NULL) {
			pmv_rping_session_init(&r->sessions[i], &r->setup, id);
			pmv_cm_id_set_context(id, &r->sessions[i]);
			r->nb_sessions++;
			return &r->sessions[i];
		}
	return NULL;
}

/* By number, not by context: completions of a queue pair that is gone may still be in the CQ. */
static struct pmv_rping_session *
find_session(struct rping *r, uint32_t qpn)
{
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		if (r->sessions[i].qp != NULL && pmv_qp_num(r->sessions[i].qp) == qpn)
			return &r->sessions[i];
	return NULL;
}

static int
create_objects(struct rping *r)
{
	int ret = pmv_alloc_pd(r->ep.device, &r->setup.pd);

	r->setup.ep = &r->ep;
	r->setup.is_client = r->role.is_client;
	r->setup.count = r->role.count;
	r->setup.size = (uint32_t)r->role.size;
	r->setup.ticks_per_sec = rte_get_tsc_hz();
	if (ret == 0)
		ret = pmv_create_cq(r->ep.worker, CQ_ENTRIES, NULL, &r->setup.cq);
	if (ret != 0)
		pmv_app_say("the RDMA objects cannot be made: %s", strerror(-ret));
	return ret;
}

static int
start_client(struct rping *r)
{
	struct pmv_rping_session *s;
	struct pmv_cm_id *id;
	int ret = pmv_cm_create_id(r->ep.cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &id);

	if (ret == 0) {
		s = add_session(r, id);
		pmv_app_sockaddr_text(&r->role.address, s->peer, sizeof(s->peer));
		ret = pmv_cm_resolve_addr(
			id, NULL, (const struct sockaddr *)&r->role.address, RESOLVE_MS);
	}
	if (ret != 0)
		pmv_app_say("cannot connect to that address: %s", strerror(-ret));
	return ret;
}

static int
start_server(struct rping *r)
{
	char text[64];
	int ret = pmv_cm_create_id(r->ep.cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &r->listener);

	if (ret == 0)
		ret = pmv_cm_bind_addr(r->listener, (const struct sockaddr *)&r->role.address);
	if (ret == 0)
		ret = pmv_cm_listen(r->listener, SESSIONS_MAX);
	pmv_app_sockaddr_text(&r->role.address, text, sizeof(text));
	if (ret == -EADDRINUSE)
		pmv_app_say("cannot listen on %s: the address is in use", text);
	else if (ret == -EADDRNOTAVAIL)
		pmv_app_say("cannot listen on %s: the address is none of ours (--addr)", text);
	else if (ret != 0)
		pmv_app_say("cannot listen on %s: %s", text, strerror(-ret));
	return ret;
}

static void
on_request(struct rping *r, const struct pmv_cm_event *ev)
{
	bool is_welcome = r->is_persistent || (r->nb_sessions == 0 && r->nb_served == 0);
	struct pmv_rping_session *s = is_welcome ? add_session(r, ev->id) : NULL;
	int ret;

	if (s == NULL) {
		pmv_cm_reject(ev->id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED);
		pmv_cm_destroy_id(ev->id);
		return;
	}
	ret = pmv_rping_session_prepare(s);
	if (ret == 0)
		ret = pmv_cm_accept(ev->id, NULL);
	if (ret != 0) {
		pmv_app_say("the connection of %s cannot be accepted: %s", s->peer, strerror(-ret));
		s->failed = true;
		s->step = PMV_RPING_ENDED;
	}
}

static void
take_cm_events(struct rping *r)
{
	struct pmv_cm_event *ev;

	while (pmv_cm_get_event(r->ep.cm, &ev) > 0) {
		struct pmv_rping_session *s = pmv_cm_id_context(ev->id);

		if (ev->event == PMV_CM_EVENT_CONNECT_REQUEST)
			on_request(r, ev);
		else if (s != NULL)
			pmv_rping_session_event(s, ev);
		pmv_cm_ack_event(r->ep.cm, ev);
	}
}

static void
take_completions(struct rping *r)
{
	struct pmv_wc wc[CQ_BURST];
	uint32_t nb = pmv_poll_cq(r->setup.cq, wc, CQ_BURST);

	for (uint32_t i = 0; i < nb; i++) {
		struct pmv_rping_session *s = find_session(r, wc[i].qp_num);

		if (s != NULL)
			pmv_rping_session_completion(s, &wc[i]);
	}
}

/* A request of the peer that our side had to refuse ends the queue pair without a completion of
 * ours that says why. */
static void
take_async_events(struct rping *r)
{
	struct pmv_event ev;

	while (pmv_worker_get_event(r->ep.worker, &ev) > 0) {
		struct pmv_rping_session *s = find_session(r, ev.qp_num);

		if (s == NULL || s->step >= PMV_RPING_LEAVING)
			continue;
		if (ev.type == PMV_EVENT_QP_FATAL || ev.type == PMV_EVENT_QP_REQ_ERR ||
			ev.type == PMV_EVENT_QP_ACCESS_ERR) {
			pmv_app_say("the connection to %s is lost: %s", s->peer,
				pmv_event_type_str(ev.type));
			s->failed = true;
			pmv_rping_session_leave(s);
		}
	}
}

static void
tend_sessions(struct rping *r)
{
	uint64_t now = rte_rdtsc();

	for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
		struct pmv_rping_session *s = &r->sessions[i];

		if (s->id == NULL)
			continue;
		pmv_rping_session_tick(s, now);
		if (s->step != PMV_RPING_ENDED)
			continue;
		r->nb_served++;
		r->nb_failed += s->failed;
		r->nb_sessions--;
		if (pmv_rping_session_destroy(s) != 0)
			r->failed = true;
		if (!r->is_persistent)
			r->done = true;
	}
}

static void
turn(struct rping *r)
{
	pmv_app_endpoint_poll(&r->ep);
	/* A completion with an error says more than the disconnect that follows from it. */
	take_completions(r);
	take_async_events(r);
	take_cm_events(r);
	tend_sessions(r);
}

static void
run(struct rping *r)
{
	int ret;

	pmv_app_endpoint_scope(&r->ep, &r->role.address);
	ret = r->role.is_client ? start_client(r) : start_server(r);
	r->failed = ret != 0;
	while (ret == 0 && !r->done && !pmv_app_stop)
		turn(r);
	/* Ctrl-C: each peer is told; a session gives up by itself when there is no answer. */
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		if (r->sessions[i].id != NULL)
			pmv_rping_session_leave(&r->sessions[i]);
	while (r->nb_sessions > 0)
		turn(r);
	if (r->is_persistent && r->role.is_server)
		printf("%" PRIu64 " clients served, %" PRIu64 " of them in vain\n", r->nb_served,
			r->nb_failed);
	else if (r->nb_failed > 0)
		r->failed = true;
}

static void
destroy(struct rping *r)
{
	if (r->listener != NULL)
		pmv_cm_destroy_id(r->listener);
	pmv_app_endpoint_drain(&r->ep, DRAIN_MS);
	r->failed |= pmv_app_endpoint_free_cq(&r->ep, r->setup.cq) != 0;
	if (r->setup.pd != NULL)
		r->failed |= pmv_dealloc_pd(r->setup.pd) != 0;
	r->failed |= pmv_app_endpoint_close(&r->ep) != 0;
}

int
main(int argc, char **argv)
{
	struct rping r = { .role = {
				   .cm_port = 7174, .size = 64, .size_min = PMV_RPING_SIZE_MIN } };
	struct pmv_app_spec spec = {
		.usage = "-s | -c -a ADDR [options]\n"
			 "  -v              print each ping\n"
			 "  -V              client: compare what comes back with what was sent\n"
			 "  -P              server: go on with the next client, until Ctrl-C\n",
		.role = &r.role,
		.short_options = "vVP",
		.take = take_option,
		.arg = &r,
	};
	struct pmv_app_options options = { 0 };
	struct pmv_app_args args;
	int status;

	r.role.size_max = PMV_RPING_SIZE_MAX;
	status = pmv_app_begin(argc, argv, &spec, &args, &options);
	if (status >= 0)
		return status;
	r.failed = pmv_app_endpoint_open(&options, &r.ep) != 0;
	if (!r.failed) {
		if (pmv_app_endpoint_attach(&r.ep) == 0 && create_objects(&r) == 0)
			run(&r);
		else
			r.failed = true;
		destroy(&r);
	}
	return pmv_app_finish(&args, r.failed);
}
