// SPDX-License-Identifier: BSD-3-Clause
/*
 * Opens, polls and closes one end of the wire. See endpoint.h for who calls what. No queue pairs:
 * those are the programs'.
 */
#include "apps/common/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_pause.h>

#include "apps/common/say.h"

#define NB_MBUFS 4096
/* Idle turns (some 50 us) after which the lcore yields: with more pollers than cores, the peer may
 * be waiting for ours. */
#define IDLE_TURNS_MAX 1024
#define RELEASE_MS     1000
/* More than there are counters of a worker or of a CM. */
#define STATS_MAX 256

static int
open_device(const struct pmv_app_options *o, struct pmv_app_endpoint *ep)
{
	struct pmv_device_param param = {
		.driver = "roce",
		.port_id = ep->port.port_id,
		.nb_workers = 1,
		.ip_mtu = o->ip_mtu,
		.vlan_id = o->vlan_id,
		.ownership = PMV_ADDR_OWN,
	};
	int ret = pmv_device_open(&param, &ep->device);

	if (ret == -EBUSY)
		pmv_app_say("port %u is busy: it carries an RDMA device already", ep->port.port_id);
	else if (ret != 0)
		pmv_app_say("no RDMA device can be opened on port %u: %s", ep->port.port_id,
			strerror(-ret));
	return ret;
}

static int
add_addresses(const struct pmv_app_options *o, struct pmv_app_endpoint *ep)
{
	char text[64];

	for (uint32_t i = 0; i < o->nb_addrs; i++) {
		int ret = pmv_device_add_addr(ep->device, &o->addrs[i]);

		if (ret != 0) {
			pmv_app_say("address %s cannot be ours: %s",
				pmv_gid_str(&o->addrs[i].gid, text, sizeof(text)),
				ret == -EEXIST ? "it was given twice" : strerror(-ret));
			return ret;
		}
	}
	for (uint32_t i = 0; i < o->nb_gateways; i++) {
		int ret = pmv_device_set_gateway(ep->device, &o->gateways[i].gid);

		if (ret != 0) {
			pmv_app_say("%s cannot be a gateway: %s",
				pmv_gid_str(&o->gateways[i].gid, text, sizeof(text)),
				strerror(-ret));
			return ret;
		}
	}
	return 0;
}

static int
open_worker(const struct pmv_app_options *o, struct pmv_app_endpoint *ep)
{
	struct pmv_worker_param param = {
		.socket_id = -1, .qp_max = 64, .pool = ep->port.pools[0]
	};
	struct pmv_fault_rule rule = {
		.action = PMV_FAULT_DROP,
		.dirs = PMV_FAULT_RX | PMV_FAULT_TX,
		.probability = o->loss,
		.opcode = -1,
		.qpn = -1,
		.cm_attr = -1,
	};
	int ret = pmv_worker_create(ep->device, &param, &ep->worker);

	if (ret != 0) {
		pmv_app_say(
			"no worker can be made on port %u: %s", ep->port.port_id, strerror(-ret));
		return ret;
	}
	if (o->loss > 0) {
		ret = pmv_fault_add(ep->worker, &rule, o->seed);
		if (ret != 0)
			pmv_app_say("the loss of %g cannot be switched on: %s", o->loss,
				strerror(-ret));
	}
	return ret;
}

static int
open_cm(struct pmv_app_endpoint *ep)
{
	struct pmv_cm_param param = { .id_max = 64, .socket_id = -1 };
	int ret = pmv_cm_create(&param, &ep->cm);

	if (ret == 0)
		ret = pmv_cm_add_device(ep->cm, ep->device);
	if (ret != 0)
		pmv_app_say("no connection manager can be made: %s", strerror(-ret));
	return ret;
}

int
pmv_app_endpoint_open(const struct pmv_app_options *options, struct pmv_app_endpoint *ret_ep)
{
	struct pmv_app_port_param port = {
		.port = options->port,
		.nb_queues = 1,
		.ip_mtu = options->ip_mtu,
		.nb_mbufs = NB_MBUFS,
	};
	struct pmv_app_endpoint ep = { .prints_stats = options->prints_stats };
	int ret;

	if (options->nb_addrs == 0) {
		pmv_app_say("we have no address; give one with --addr A/LEN");
		return -EINVAL;
	}
	ret = pmv_app_port_open(&port, &ep.port);
	if (ret != 0)
		return ret;
	ret = open_device(options, &ep);
	if (ret == 0)
		ret = add_addresses(options, &ep);
	if (ret == 0)
		ret = open_worker(options, &ep);
	if (ret == 0)
		ret = open_cm(&ep);
	if (ret != 0)
		pmv_app_endpoint_close(&ep);
	else
		*ret_ep = ep;
	return ret;
}

int
pmv_app_endpoint_attach(struct pmv_app_endpoint *ep)
{
	int ret = pmv_worker_attach(ep->worker);

	if (ret == 0) {
		ret = pmv_cm_attach(ep->cm);
		if (ret != 0)
			pmv_worker_detach(ep->worker);
	}
	if (ret != 0)
		pmv_app_say("the worker of port %u has another owner: %s", ep->port.port_id,
			strerror(-ret));
	ep->is_attached = ret == 0;
	return ret;
}

void
pmv_app_endpoint_detach(struct pmv_app_endpoint *ep)
{
	if (!ep->is_attached)
		return;
	pmv_cm_detach(ep->cm);
	pmv_worker_detach(ep->worker);
	ep->is_attached = false;
}

uint32_t
pmv_app_endpoint_poll(struct pmv_app_endpoint *ep)
{
	uint32_t work;

	/* Nobody's: taking down after a failed attach. */
	if (!ep->is_attached)
		return 0;
	work = pmv_worker_poll(ep->worker);
	work += pmv_cm_poll(ep->cm);
	if (work > 0) {
		ep->nb_idle = 0;
	} else if (++ep->nb_idle >= IDLE_TURNS_MAX) {
		ep->nb_idle = 0;
		sched_yield();
	} else {
		rte_pause();
	}
	return work;
}

void
pmv_app_endpoint_scope(const struct pmv_app_endpoint *ep, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		v6->sin6_scope_id = ep->port.port_id + 1u;
}

void
pmv_app_endpoint_drain(struct pmv_app_endpoint *ep, uint32_t ms)
{
	uint64_t end = pmv_app_now_ms() + ms;

	while (pmv_app_now_ms() < end)
		pmv_app_endpoint_poll(ep);
}

int
pmv_app_endpoint_free_mr(struct pmv_app_endpoint *ep, struct pmv_mr *mr)
{
	uint64_t end = pmv_app_now_ms() + RELEASE_MS;
	struct pmv_event event;
	int ret;

	if (mr == NULL)
		return 0;
	pmv_mr_set_context(mr, mr);
	ret = pmv_dereg_mr(mr);
	/* The handle is gone; the region's last frames may still be with the port. */
	while (ret == -EINPROGRESS && pmv_app_now_ms() < end) {
		pmv_app_endpoint_poll(ep);
		while (pmv_poll_async_event(ep->device, &event) > 0)
			if (event.type == PMV_EVENT_MR_RELEASED && event.context == mr)
				ret = 0;
	}
	if (ret != 0) {
		pmv_app_say("a memory region is still in use %u ms after its end", RELEASE_MS);
		return -ETIMEDOUT;
	}
	return 0;
}

int
pmv_app_endpoint_free_cq(struct pmv_app_endpoint *ep, struct pmv_cq *cq)
{
	uint64_t end = pmv_app_now_ms() + RELEASE_MS;
	int ret = 0;

	if (cq != NULL)
		while ((ret = pmv_destroy_cq(cq)) == -EBUSY && pmv_app_now_ms() < end)
			pmv_app_endpoint_poll(ep);
	return ret;
}

static void
print_stats(const struct pmv_app_endpoint *ep, const char *who, const struct pmv_stat *stats,
	uint32_t nb)
{
	for (uint32_t i = 0; i < nb && i < STATS_MAX; i++)
		if (stats[i].value != 0)
			printf("port %u %-6s %-28s %" PRIu64 "\n", ep->port.port_id, who,
				stats[i].name, stats[i].value);
}

/* What stayed at 0 says nothing. */
static void
print_all_stats(const struct pmv_app_endpoint *ep)
{
	struct pmv_stat stats[STATS_MAX];

	if (ep->worker != NULL)
		print_stats(ep, "worker", stats, pmv_worker_stats(ep->worker, stats, STATS_MAX));
	if (ep->cm != NULL)
		print_stats(ep, "cm", stats, pmv_cm_stats(ep->cm, stats, STATS_MAX));
}

static int
close_step(int ret, const char *what)
{
	if (ret != 0)
		pmv_app_say("%s cannot be closed: %s", what, strerror(-ret));
	return ret;
}

int
pmv_app_endpoint_close(struct pmv_app_endpoint *ep)
{
	int ret = 0;

	if (ep->prints_stats)
		print_all_stats(ep);
	pmv_app_endpoint_detach(ep);
	if (ep->cm != NULL)
		ret = close_step(pmv_cm_destroy(ep->cm), "the connection manager");
	if (ret == 0 && ep->worker != NULL)
		ret = close_step(pmv_worker_destroy(ep->worker), "the worker");
	if (ret == 0 && ep->device != NULL)
		ret = close_step(pmv_device_close(ep->device), "the RDMA device");
	/* With a device left open, its worker may still hold frames: then port and pools must stay.
	 */
	if (ret == 0)
		ret = pmv_app_port_close(&ep->port);
	*ep = (struct pmv_app_endpoint){ 0 };
	return ret;
}

void
pmv_app_say_cm_failure(const struct pmv_cm_event *event, const char *peer)
{
	switch (event->event) {
	case PMV_CM_EVENT_ADDR_ERROR:
		if (event->status == -ENETUNREACH)
			pmv_app_say("there is no way to %s: none of our addresses is on its link, "
				    "and no gateway is known (--addr, --gw)",
				peer);
		else if (event->status == -ETIMEDOUT)
			pmv_app_say("%s does not answer: its link address is not known (%s)", peer,
				strerror(-event->status));
		else
			pmv_app_say("%s cannot be reached from here (%s)", peer,
				strerror(-event->status));
		break;
	case PMV_CM_EVENT_ROUTE_ERROR:
		pmv_app_say("there is no route to %s (%s)", peer, strerror(-event->status));
		break;
	case PMV_CM_EVENT_UNREACHABLE:
		pmv_app_say("%s is unreachable: it did not answer the connection request (%s)",
			peer, strerror(event->status < 0 ? -event->status : ETIMEDOUT));
		break;
	case PMV_CM_EVENT_REJECTED:
		pmv_app_say("the connection to %s was rejected: %d (%s)", peer, event->status,
			pmv_cm_reject_str(event->status));
		break;
	case PMV_CM_EVENT_CONNECT_ERROR:
		pmv_app_say("the connection to %s failed on this side (%s)", peer,
			strerror(-event->status));
		break;
	default:
		pmv_app_say("the connection to %s ended with event %s, status %d", peer,
			pmv_cm_event_str(event->event), event->status);
	}
}
