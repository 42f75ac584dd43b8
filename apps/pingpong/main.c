// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmv-pingpong: the smallest complete program. One side listens, the other connects; then one
 * message goes there and back, COUNT times, and the client prints how long the round trips took.
 * One lcore does everything: it polls the worker (data path) and the connection manager (control
 * path) in turn.
 *
 *   pmv-pingpong EAL_OPTIONS -- --addr 10.0.0.1/24 -s
 *   pmv-pingpong EAL_OPTIONS -- --addr 10.0.0.2/24 -c -a 10.0.0.1 -C 10000 -S 64
 *
 * With -b both ends are in this process and no connection manager is used (both.c).
 *
 * Read main() first, then on_cm_event(), then on_completion(). What every program does alike
 * (options, the DPDK port, the device with its worker and CM) is in apps/common.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include <pmverbs/pmv_cm.h>

#include "apps/common/eal.h"
#include "apps/common/endpoint.h"
#include "apps/common/latency.h"
#include "apps/common/role.h"
#include "apps/common/say.h"
#include "apps/pingpong/both.h"

#define SIZE_MAX_BYTES (1u << 20)
#define RESOLVE_MS     2000

struct pingpong {
	struct pmv_app_role role; /* -s or -c, address, count, size */
	/* Objects, in the order in which they are made. */
	struct pmv_app_endpoint ep; /* port, device, worker, CM */
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	uint8_t *buf; /* SIZE_MAX_BYTES to send from, then as many to receive into */
	struct pmv_mr *mr;
	struct pmv_cm_id *id;   /* client: the connection; server: the listener */
	struct pmv_cm_id *conn; /* the connection, once it has its queue pair */
	char peer[64];
	/* Progress. */
	uint64_t nb_done, sent_at;
	uint64_t *round_trips; /* TSC ticks, client only */
	bool done, failed;
	const char *ibdev; /* -b: RDMA devices of the kernel */
};

/* What outlives connections: a protection domain, a completion queue, and registered memory. */
static int
create_objects(struct pingpong *pp)
{
	int ret = pmv_alloc_pd(pp->ep.device, &pp->pd);

	if (ret == 0)
		ret = pmv_create_cq(pp->ep.worker, 16, NULL, &pp->cq);
	pp->buf = pmv_buf_alloc(2 * SIZE_MAX_BYTES, pp->ep.port.socket_id);
	pp->round_trips = calloc(pp->role.count, sizeof(*pp->round_trips));
	if (ret == 0 && (pp->buf == NULL || pp->round_trips == NULL))
		ret = -ENOMEM;
	for (uint32_t i = 0; ret == 0 && i < pp->role.size; i++)
		pp->buf[i] = (uint8_t)(i + 1);
	if (ret == 0)
		ret = pmv_reg_mr(
			pp->pd, pp->buf, 2 * SIZE_MAX_BYTES, PMV_ACCESS_LOCAL_WRITE, &pp->mr);
	if (ret != 0)
		pmv_app_say("the RDMA objects cannot be made: %s", strerror(-ret));
	return ret;
}

static int
post_recv(struct pingpong *pp)
{
	uint64_t addr = (uintptr_t)pp->buf + SIZE_MAX_BYTES;
	struct pmv_sge sge = { addr, SIZE_MAX_BYTES, pmv_mr_lkey(pp->mr) };
	struct pmv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return pmv_post_recv(pmv_cm_id_qp(pp->conn), &wr, 1) == 1 ? 0 : -EIO;
}

static int
post_send(struct pingpong *pp)
{
	struct pmv_sge sge = { (uintptr_t)pp->buf, (uint32_t)pp->role.size, pmv_mr_lkey(pp->mr) };
	struct pmv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_SEND };

	wr.send_flags = PMV_SEND_SIGNALED;
	pp->sent_at = rte_rdtsc();
	return pmv_post_send(pmv_cm_id_qp(pp->conn), &wr, 1) == 1 ? 0 : -EIO;
}

/* A queue pair on our worker, and the first receive: it must be there before the peer can send. */
static int
prepare_connection(struct pingpong *pp, struct pmv_cm_id *id)
{
	struct pmv_qp_init_attr attr = {
		.send_cq = pp->cq,
		.recv_cq = pp->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = PMV_QPT_RC,
	};
	struct sockaddr_storage peer;
	int ret = pmv_cm_create_qp(id, pp->pd, pp->ep.worker, &attr);

	if (ret != 0)
		return ret;
	pp->conn = id;
	pmv_cm_id_peer_addr(id, &peer);
	pmv_app_sockaddr_text(&peer, pp->peer, sizeof(pp->peer));
	return post_recv(pp);
}

/* The first step of either side; everything after it is an answer to an event. */
static int
start(struct pingpong *pp)
{
	const struct sockaddr *addr = (const struct sockaddr *)&pp->role.address;
	int ret = pmv_cm_create_id(pp->ep.cm, NULL, pp, PMV_PS_TCP, PMV_QPT_RC, &pp->id);

	pmv_app_endpoint_scope(&pp->ep, &pp->role.address);
	pmv_app_sockaddr_text(&pp->role.address, pp->peer, sizeof(pp->peer));
	if (ret == 0 && pp->role.is_client)
		ret = pmv_cm_resolve_addr(pp->id, NULL, addr, RESOLVE_MS);
	if (ret == 0 && pp->role.is_server)
		ret = pmv_cm_bind_addr(pp->id, addr);
	if (ret == 0 && pp->role.is_server)
		ret = pmv_cm_listen(pp->id, 1);
	if (ret != 0)
		pmv_app_say("cannot %s %s: %s", pp->role.is_server ? "listen on" : "connect to",
			pp->peer, strerror(-ret));
	return ret;
}

/* Server. The private data is 4 bytes in network order: how long the client's messages are. */
static int
on_request(struct pingpong *pp, const struct pmv_cm_event *ev)
{
	uint32_t size_be = 0;
	uint32_t size;
	int ret;

	if (ev->param.private_data_len >= sizeof(size_be))
		memcpy(&size_be, ev->param.private_data, sizeof(size_be));
	size = ntohl(size_be);
	if (pp->conn != NULL || size == 0 || size > SIZE_MAX_BYTES) {
		pmv_cm_reject(ev->id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED);
		return pmv_cm_destroy_id(ev->id);
	}
	pp->role.size = size;
	ret = prepare_connection(pp, ev->id);
	return ret != 0 ? ret : pmv_cm_accept(ev->id, NULL);
}

static int
on_cm_event(struct pingpong *pp, const struct pmv_cm_event *ev)
{
	uint32_t size_be = htonl((uint32_t)pp->role.size);
	struct pmv_cm_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	int ret;

	param.private_data = &size_be;
	param.private_data_len = sizeof(size_be);
	switch (ev->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED: /* client: the MAC is known */
		return pmv_cm_resolve_route(ev->id, RESOLVE_MS);
	case PMV_CM_EVENT_ROUTE_RESOLVED: /* client: device and local address are known */
		ret = prepare_connection(pp, ev->id);
		return ret != 0 ? ret : pmv_cm_connect(ev->id, &param);
	case PMV_CM_EVENT_CONNECT_REQUEST:
		return on_request(pp, ev);
	case PMV_CM_EVENT_ESTABLISHED:
		return pp->role.is_client ? post_send(pp) : 0;
	case PMV_CM_EVENT_DISCONNECTED:
		pp->done = true;
		if (pp->role.is_client && pp->nb_done < pp->role.count) {
			pmv_app_say("%s ended the connection early", pp->peer);
			pp->failed = true;
		}
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		pmv_app_say_cm_failure(ev, pp->peer);
		pp->done = pp->failed = true;
	}
	return 0;
}

static int
on_completion(struct pingpong *pp, const struct pmv_wc *wc)
{
	if (wc->status == PMV_WC_WR_FLUSH_ERR) /* the connection ended; the event says so */
		return 0;
	if (wc->status != PMV_WC_SUCCESS) {
		pmv_app_say("the connection to %s is lost: %s", pp->peer,
			pmv_wc_status_str(wc->status));
		pp->done = pp->failed = true;
		return 0;
	}
	if (wc->opcode != PMV_WC_RECV)
		return 0;
	if (wc->byte_len != pp->role.size ||
		(pp->role.is_client &&
			memcmp(pp->buf, pp->buf + SIZE_MAX_BYTES, pp->role.size) != 0)) {
		pmv_app_say("%s sent something else than was agreed", pp->peer);
		pp->failed = true;
		return pmv_cm_disconnect(pp->conn);
	}
	if (pp->role.is_client)
		pp->round_trips[pp->nb_done] = rte_rdtsc() - pp->sent_at;
	pp->nb_done++;
	if (pp->role.is_client && pp->nb_done == pp->role.count)
		return pmv_cm_disconnect(pp->conn);
	/* Should an earlier answer be sent again, it finds the same bytes there. */
	if (pp->role.is_server)
		memcpy(pp->buf, pp->buf + SIZE_MAX_BYTES, pp->role.size);
	return post_recv(pp) != 0 ? -EIO : post_send(pp);
}

/* The heart of every poll-mode program: turn worker and CM, take what came of it, never wait. */
static void
run(struct pingpong *pp)
{
	struct pmv_cm_event *ev;
	struct pmv_wc wc[16];
	int ret = 0;

	while (!pp->done && ret >= 0 && !pmv_app_stop) {
		pmv_app_endpoint_poll(&pp->ep);
		while (ret >= 0 && pmv_cm_get_event(pp->ep.cm, &ev) > 0) {
			ret = on_cm_event(pp, ev);
			pmv_cm_ack_event(pp->ep.cm, ev);
		}
		for (int i = 0, nb = (int)pmv_poll_cq(pp->cq, wc, 16); i < nb && ret >= 0; i++)
			ret = on_completion(pp, &wc[i]);
	}
	if (ret < 0)
		pmv_app_say("the connection to %s failed here: %s", pp->peer, strerror(-ret));
	pp->failed |= ret < 0;
}

/* The other way round. After Ctrl-C it is destroying the id that sends the DREQ. */
static void
destroy(struct pingpong *pp)
{
	if (pp->conn != NULL)
		pmv_cm_destroy_qp(pp->conn);
	if (pp->conn != NULL && pp->conn != pp->id)
		pmv_cm_destroy_id(pp->conn);
	if (pp->id != NULL)
		pmv_cm_destroy_id(pp->id);
	pmv_app_endpoint_drain(&pp->ep, 100);
	pp->failed |= pmv_app_endpoint_free_mr(&pp->ep, pp->mr) != 0;
	pp->failed |= pmv_app_endpoint_free_cq(&pp->ep, pp->cq) != 0;
	if (pp->pd != NULL)
		pp->failed |= pmv_dealloc_pd(pp->pd) != 0;
	if (pp->buf != NULL)
		pmv_buf_free(pp->buf, 2 * SIZE_MAX_BYTES);
	free(pp->round_trips);
	pp->failed |= pmv_app_endpoint_close(&pp->ep) != 0;
}

static void
print_result(struct pingpong *pp)
{
	struct pmv_app_latency l;

	if (pp->nb_done == 0 || pp->role.is_server)
		return;
	pmv_app_latency_compute(pp->round_trips, pp->nb_done, &l);
	printf("%" PRIu64 " round trips of %" PRIu64 " bytes: ", pp->nb_done, pp->role.size);
	printf("average %.2f us, p50 %.2f us, p99 %.2f us\n", l.average_us, l.p50_us, l.p99_us);
}

static int
take_option(void *arg, int code, const char *text)
{
	struct pingpong *pp = arg;

	pp->role.is_both = true;
	if (code == 'i')
		pp->ibdev = text;
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "ibdev", required_argument, NULL, 'i' },
		{ 0 },
	};
	struct pingpong pp = { .role = { .cm_port = 7175, .count = 1000, .size = 64 } };
	struct pmv_app_spec spec = {
		.usage = "-s | -c -a ADDR | -b [options]\n"
			 "  -b              both ends in this process, on a virtual wire, by SEND "
			 "and "
			 "by WRITE; no connection manager\n"
			 "  --ibdev N[,N]   -b, on RDMA devices of the kernel (mlx5_0,mlx5_1; one: "
			 "both ends on it) instead of the wire\n",
		.role = &pp.role,
		.short_options = "b",
		.long_options = long_options,
		.take = take_option,
		.arg = &pp,
	};
	struct pmv_app_options options = { 0 };
	struct pmv_app_args args;
	int status;

	pp.role.count_min = pp.role.size_min = 1;
	pp.role.size_max = SIZE_MAX_BYTES;
	status = pmv_app_begin(argc, argv, &spec, &args, &options);
	if (status >= 0)
		return status;
	if (pp.role.is_both)
		return pmv_app_finish(&args, pmv_pingpong_both(&options, &pp.role, pp.ibdev) != 0);
	pp.failed = pmv_app_endpoint_open(&options, &pp.ep) != 0;
	if (!pp.failed) {
		pp.failed = pmv_app_endpoint_attach(&pp.ep) != 0 || create_objects(&pp) != 0 ||
			    start(&pp) != 0;
		if (!pp.failed)
			run(&pp);
		print_result(&pp);
		destroy(&pp);
	}
	return pmv_app_finish(&args, pp.failed);
}
