// SPDX-License-Identifier: BSD-3-Clause
/*
 * The client end of the demonstration. Main lcore. A batch: both ends prepare the memory; the
 * messages go, and only this is timed; then both ends check every byte.
 */
#include "apps/demo/client.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/common/say.h"
#include "apps/demo/pattern.h"

#define CQ_BURST       32
#define POST_BURST     16
#define LATENCY_BATCH  64u
#define RESOLVE_MS     5000
#define STALL_SEC      10
#define DISCONNECT_SEC 5

struct batch {
	enum pmv_demo_op op;
	uint32_t size;
	uint32_t nb;
	uint32_t window; /* messages under way at a time */
	uint64_t first_id;
	uint64_t ticks;    /* result: first post to last completion */
	uint64_t *samples; /* window 1: latency of each; NULL: not asked for */
};

static const enum pmv_wr_opcode opcodes[PMV_DEMO_NB_OPS] = {
	[PMV_DEMO_SEND] = PMV_WR_SEND,
	[PMV_DEMO_SEND_IMM] = PMV_WR_SEND_WITH_IMM,
	[PMV_DEMO_WRITE] = PMV_WR_RDMA_WRITE,
	[PMV_DEMO_WRITE_IMM] = PMV_WR_RDMA_WRITE_WITH_IMM,
	[PMV_DEMO_READ] = PMV_WR_RDMA_READ,
};

static int
give_up(struct pmv_demo_client *client, const char *what, int ret)
{
	if (!client->failed)
		pmv_app_say("client: %s: %s", what, strerror(-ret));
	client->failed = true;
	return ret;
}

static void
on_cm_event(struct pmv_demo_client *client, const struct pmv_cm_event *ev)
{
	struct pmv_demo_conn *conn = pmv_cm_id_context(ev->id);

	switch (ev->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		conn->last_event = ev->event;
		break;
	case PMV_CM_EVENT_ESTABLISHED:
		conn->last_event = ev->event;
		conn->is_up = true;
		if (ev->param.private_data_len >= sizeof(client->place))
			memcpy(&client->place, ev->param.private_data, sizeof(client->place));
		break;
	case PMV_CM_EVENT_DISCONNECTED:
		conn->is_over = true;
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		if (!client->failed)
			pmv_app_say_cm_failure(ev, "the server");
		client->failed = true;
	}
}

static void
on_completion(struct pmv_demo_client *client, const struct pmv_wc *wc)
{
	enum pmv_demo_role role = pmv_demo_end_role(&client->end, wc);

	if (wc->status == PMV_WC_WR_FLUSH_ERR || role == PMV_DEMO_NB_ROLES)
		return;
	if (wc->status != PMV_WC_SUCCESS) {
		if (!client->failed)
			pmv_app_say("client: a request failed: %s", pmv_wc_status_str(wc->status));
		client->failed = true;
	} else if (role == PMV_DEMO_DATA) {
		client->nb_completed++;
	} else if (wc->opcode == PMV_WC_RECV) {
		int ret = pmv_demo_end_take_note(&client->end, wc, &client->reply);

		client->has_reply = true;
		if (ret != 0)
			give_up(client, "the server's note cannot be used", ret);
	}
}

/* One turn of this end, and of the server's when it shares the lcore. @return true when something
 * happened here. */
static bool
turn(struct pmv_demo_client *client)
{
	struct pmv_cm_event *ev;
	struct pmv_wc wc[CQ_BURST];
	bool has_moved = false;
	uint32_t nb;

	if (client->server != NULL)
		pmv_demo_server_turn(client->server);
	pmv_app_endpoint_poll(&client->end.ep);
	while (pmv_cm_get_event(client->end.ep.cm, &ev) > 0) {
		on_cm_event(client, ev);
		pmv_cm_ack_event(client->end.ep.cm, ev);
		has_moved = true;
	}
	nb = pmv_poll_cq(client->end.cq, wc, CQ_BURST);
	for (uint32_t i = 0; i < nb; i++)
		on_completion(client, &wc[i]);
	return has_moved || nb > 0;
}

/* A turn while we wait for something. @return 0; a negative errno: it will not come, and it has
 * been said why. */
static int
wait_turn(struct pmv_demo_client *client)
{
	uint64_t now = rte_rdtsc();

	if (turn(client) || client->moved_at == 0)
		client->moved_at = now;
	if (client->failed)
		return -EIO;
	if (pmv_app_stop)
		return give_up(client, "stopped by a signal", -EINTR);
	if (now > client->moved_at + STALL_SEC * client->ticks_per_sec)
		return give_up(client, "nothing happens any more", -ETIMEDOUT);
	return 0;
}

static int
wait_event(
	struct pmv_demo_client *client, struct pmv_demo_conn *conn, enum pmv_cm_event_type wanted)
{
	int ret = 0;

	while (ret == 0 && conn->last_event != wanted)
		ret = wait_turn(client);
	return ret;
}

static int
connect_one(
	struct pmv_demo_client *client, enum pmv_demo_role role, const struct sockaddr *server_addr)
{
	struct pmv_demo_conn *conn = &client->end.conns[role];
	uint8_t private_data = (uint8_t)role;
	struct pmv_cm_conn_param param = {
		.private_data = &private_data,
		.private_data_len = sizeof(private_data),
		.responder_resources = UINT8_MAX,
		.initiator_depth = UINT8_MAX,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret =
		pmv_cm_create_id(client->end.ep.cm, NULL, conn, PMV_PS_TCP, PMV_QPT_RC, &conn->id);

	/* No event of a connection has this type, so it means: none yet. */
	conn->last_event = PMV_CM_EVENT_INTERNAL;
	if (ret == 0)
		ret = pmv_cm_resolve_addr(conn->id, NULL, server_addr, RESOLVE_MS);
	if (ret == 0)
		ret = wait_event(client, conn, PMV_CM_EVENT_ADDR_RESOLVED);
	if (ret == 0)
		ret = pmv_cm_resolve_route(conn->id, RESOLVE_MS);
	if (ret == 0)
		ret = wait_event(client, conn, PMV_CM_EVENT_ROUTE_RESOLVED);
	if (ret == 0)
		ret = pmv_demo_end_create_qp(&client->end, role, conn->id);
	if (ret == 0)
		ret = pmv_cm_connect(conn->id, &param);
	if (ret == 0)
		ret = wait_event(client, conn, PMV_CM_EVENT_ESTABLISHED);
	return ret;
}

int
pmv_demo_client_connect(struct pmv_demo_client *client, const struct sockaddr_storage *server_addr)
{
	int ret = 0;

	for (unsigned int role = 0; role < PMV_DEMO_NB_ROLES && ret == 0; role++)
		ret = connect_one(
			client, (enum pmv_demo_role)role, (const struct sockaddr *)server_addr);
	return ret == 0 ? 0 : give_up(client, "cannot connect", ret);
}

static int
ask(struct pmv_demo_client *client, const struct batch *b, enum pmv_demo_what what)
{
	struct pmv_demo_note note = {
		.what = what,
		.op = b->op,
		.size = b->size,
		.nb = b->nb,
		.first_id = b->first_id,
	};
	int ret = pmv_demo_end_send_note(&client->end, &note);

	if (ret != 0)
		return give_up(client, "a note cannot be sent", ret);
	client->has_reply = false;
	while (ret == 0 && !client->has_reply)
		ret = wait_turn(client);
	return ret;
}

static void
prepare_slots(struct pmv_demo_client *client, const struct batch *b)
{
	for (uint32_t i = 0; i < b->nb; i++) {
		uint8_t *slot = pmv_demo_slot(&client->end, b->size, i);

		if (b->op == PMV_DEMO_READ)
			pmv_demo_pattern_spoil(slot, b->size, b->first_id + i);
		else
			pmv_demo_pattern_fill(slot, b->size, b->first_id + i);
	}
}

static int
post_burst(struct pmv_demo_client *client, const struct batch *b, uint32_t first, uint32_t nb)
{
	struct pmv_sge sges[POST_BURST];
	struct pmv_send_wr wrs[POST_BURST];
	int ret;

	for (uint32_t i = 0; i < nb; i++) {
		uint8_t *slot = pmv_demo_slot(&client->end, b->size, first + i);

		sges[i] = (struct pmv_sge){
			.addr = (uintptr_t)slot,
			.length = b->size,
			.lkey = pmv_mr_lkey(client->end.data_mr),
		};
		wrs[i] = (struct pmv_send_wr){
			.wr_id = first + i,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = opcodes[b->op],
			.send_flags = PMV_SEND_SIGNALED,
			.imm_data = htobe32((uint32_t)(b->first_id + first + i)),
		};
		if (b->op >= PMV_DEMO_WRITE) {
			wrs[i].wr.rdma.remote_addr =
				client->place.addr + (uint64_t)(slot - client->end.data);
			wrs[i].wr.rdma.rkey = client->place.rkey;
		}
	}
	ret = pmv_post_send(client->end.conns[PMV_DEMO_DATA].qp, wrs, nb);
	return ret > 0 ? ret : ret < 0 ? ret : -EIO;
}

/* The messages themselves: never more than `window` under way. */
static int
transfer(struct pmv_demo_client *client, struct batch *b)
{
	uint64_t start = rte_rdtsc();
	uint64_t posted_at = start;
	uint32_t nb_posted = 0;
	uint32_t nb_seen = 0;
	int ret = 0;

	client->nb_completed = 0;
	while (ret == 0 && nb_seen < b->nb) {
		uint32_t room = b->window - (nb_posted - nb_seen);
		uint32_t nb = RTE_MIN(RTE_MIN(b->nb - nb_posted, room), (uint32_t)POST_BURST);

		if (nb > 0) {
			posted_at = rte_rdtsc();
			ret = post_burst(client, b, nb_posted, nb);
			if (ret < 0)
				return give_up(client, "requests cannot be posted", ret);
			nb_posted += (uint32_t)ret;
		}
		ret = wait_turn(client);
		if (b->samples != NULL && client->nb_completed > nb_seen)
			b->samples[nb_seen] = rte_rdtsc() - posted_at;
		nb_seen = client->nb_completed;
	}
	b->ticks = rte_rdtsc() - start;
	return ret;
}

static int
run_batch(struct pmv_demo_client *client, struct batch *b, struct pmv_demo_row *row)
{
	int ret;

	b->first_id = client->next_id;
	client->next_id += b->nb;
	prepare_slots(client, b);
	ret = ask(client, b, PMV_DEMO_PREPARE);
	if (ret == 0)
		ret = transfer(client, b);
	if (ret == 0)
		ret = ask(client, b, PMV_DEMO_CHECK);
	if (ret != 0)
		return ret;
	row->nb += b->nb;
	row->nb_wrong += client->reply.nb_wrong;
	for (uint32_t i = 0; i < b->nb && b->op == PMV_DEMO_READ; i++)
		row->nb_wrong += !pmv_demo_pattern_check(
			pmv_demo_slot(&client->end, b->size, i), b->size, b->first_id + i);
	client->nb_checked_bytes += (uint64_t)b->nb * b->size;
	return 0;
}

/* Packets sent again so far by both ends; the server's as it last told. */
static uint64_t
sent_again(const struct pmv_demo_client *client)
{
	struct pmv_qp_stats stats = { 0 };

	pmv_qp_get_stats(client->end.conns[PMV_DEMO_DATA].qp, &stats);
	return stats.retx_pkts + client->reply.nb_sent_again;
}

static int
measure_latency(struct pmv_demo_client *client, uint32_t ms, struct pmv_demo_row *row)
{
	uint32_t fit = client->batch_bytes / pmv_demo_slot_bytes(row->size);
	struct batch b = {
		.op = row->op, .size = row->size, .nb = RTE_MIN(fit, LATENCY_BATCH), .window = 1
	};
	uint64_t end = rte_rdtsc() + ms * client->ticks_per_sec / 1000;
	uint64_t nb = 0;
	int ret = 0;

	do {
		b.samples = client->samples + nb;
		ret = run_batch(client, &b, row);
		nb += b.nb;
	} while (ret == 0 && rte_rdtsc() < end && nb + b.nb <= PMV_DEMO_SAMPLES_MAX);
	if (ret == 0)
		pmv_app_latency_compute(client->samples, nb, &row->latency);
	return ret;
}

/* The median, since a batch during which somebody else had the CPU says nothing about us. */
static int
measure_throughput(struct pmv_demo_client *client, uint32_t ms, struct pmv_demo_row *row)
{
	uint32_t fit = client->batch_bytes / pmv_demo_slot_bytes(row->size);
	struct batch b = { .op = row->op, .size = row->size, .window = PMV_DEMO_WINDOW_MAX };
	uint64_t end = rte_rdtsc() + ms * client->ticks_per_sec / 1000;
	struct pmv_app_latency batch;
	uint32_t nb = 0;
	int ret = 0;

	b.nb = RTE_MIN(fit, PMV_DEMO_BATCH_MAX);
	do {
		ret = run_batch(client, &b, row);
		client->samples[nb++] = b.ticks;
	} while (ret == 0 && rte_rdtsc() < end && nb < PMV_DEMO_SAMPLES_MAX);
	pmv_app_latency_compute(client->samples, nb, &batch);
	row->rate = b.nb * 1e6 / batch.p50_us;
	return ret;
}

int
pmv_demo_client_measure(struct pmv_demo_client *client, uint32_t latency_ms, uint32_t throughput_ms,
	struct pmv_demo_row *row)
{
	uint64_t before = sent_again(client);
	int ret = measure_latency(client, latency_ms, row);

	if (ret == 0)
		ret = measure_throughput(client, throughput_ms, row);
	row->nb_sent_again = sent_again(client) - before;
	return ret;
}

/* Both ends know, where both ends are ours to look at. What never came about is over, too. */
static bool
is_connection_over(const struct pmv_demo_client *client, unsigned int role)
{
	const struct pmv_demo_conn *conn = &client->end.conns[role];

	return !conn->is_up || (conn->is_over && (client->server == NULL ||
							 client->server->end.conns[role].is_over));
}

void
pmv_demo_client_disconnect(struct pmv_demo_client *client)
{
	uint64_t end = rte_rdtsc() + DISCONNECT_SEC * client->ticks_per_sec;
	bool is_over = false;

	for (unsigned int role = 0; role < PMV_DEMO_NB_ROLES; role++)
		if (client->end.conns[role].is_up)
			pmv_cm_disconnect(client->end.conns[role].id);
	while (!is_over && rte_rdtsc() < end) {
		turn(client);
		is_over = true;
		for (unsigned int role = 0; role < PMV_DEMO_NB_ROLES; role++)
			is_over = is_over && is_connection_over(client, role);
	}
}
