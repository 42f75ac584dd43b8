// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmv-demo: RDMA on this machine, without an RDMA NIC. Two ends with their own port, device, worker
 * and connection manager, joined by a virtual wire, connect through real CM packets and run every
 * RC operation; every byte is checked, and a table tells how fast it was. Two lcores if there are
 * two CPUs, else one that polls both ends in turn.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "apps/common/eal.h"
#include "apps/common/say.h"
#include "apps/demo/client.h"
#include "apps/demo/lcores.h"
#include "apps/demo/server.h"
#include "apps/common/wire.h"

/* Room for a path MTU of 4096 and its headers, which no ring port offers by itself. */
#define IP_MTU_BYTES 4200
#define DRAIN_MS     50

static const uint32_t sizes[] = { 1, 8, 64, 512, 4096, 65536, 1048576 };
static const char *const op_names[PMV_DEMO_NB_OPS] = { "SEND", "SEND with imm", "WRITE",
	"WRITE with imm", "READ" };

struct demo {
	uint64_t seconds; /* that the measurements may take */
	const char *lcores;
	struct pmv_app_options options;
	struct pmv_app_wire wire;
	struct pmv_demo_server server;
	struct pmv_demo_client client;
	struct sockaddr_storage server_addr[PMV_APP_WIRE_ENDS]; /* as each end names it */
	uint64_t nb_wrong;
	bool failed;
};

static int
take_option(void *arg, int code, const char *text)
{
	struct demo *d = arg;

	if (code == 't')
		return pmv_app_number(text, "-t", 1, 3600, &d->seconds);
	d->lcores = text;
	return 0;
}

/* What of the common options makes sense when the program makes both ends itself. */
static int
check_options(struct demo *d)
{
	struct pmv_app_options *o = &d->options;

	if (o->port != NULL || o->nb_gateways != 0) {
		pmv_app_say("--port and --gw mean nothing here: the demonstration makes its own "
			    "two ports");
		return -EINVAL;
	}
	if (o->nb_addrs == 0) {
		pmv_ip_addr_parse("192.0.2.1/24", &o->addrs[PMV_APP_WIRE_SERVER]);
		pmv_ip_addr_parse("192.0.2.2/24", &o->addrs[PMV_APP_WIRE_CLIENT]);
		o->nb_addrs = PMV_APP_WIRE_ENDS;
	}
	if (o->nb_addrs != PMV_APP_WIRE_ENDS) {
		pmv_app_say(
			"give two addresses with --addr, the server's and the client's, or none");
		return -EINVAL;
	}
	if (memcmp(&o->addrs[0].gid, &o->addrs[1].gid, sizeof(o->addrs[0].gid)) == 0) {
		pmv_app_say("the two addresses given with --addr must differ: the server's and the "
			    "client's");
		return -EINVAL;
	}
	if (o->ip_mtu == 0)
		o->ip_mtu = IP_MTU_BYTES;
	return 0;
}

static int
open_end(struct demo *d, unsigned int which, struct pmv_demo_end *end)
{
	struct pmv_app_options options = d->options;

	options.port = d->wire.port[which];
	options.addrs[0] = d->options.addrs[which];
	options.nb_addrs = 1;
	/* On one end only, where it meets each frame once, whichever way the frame goes. */
	if (which == PMV_APP_WIRE_SERVER)
		options.loss = 0;
	return pmv_demo_end_open(end, &options);
}

static int
open_all(struct demo *d)
{
	char text[64];
	int ret = pmv_app_wire_open(&d->wire);

	if (ret == 0)
		ret = open_end(d, PMV_APP_WIRE_SERVER, &d->server.end);
	if (ret == 0)
		ret = open_end(d, PMV_APP_WIRE_CLIENT, &d->client.end);
	if (ret != 0)
		return ret;
	pmv_gid_str(&d->options.addrs[PMV_APP_WIRE_SERVER].gid, text, sizeof(text));
	ret = pmv_app_sockaddr_parse(text, &d->server_addr[PMV_APP_WIRE_SERVER]);
	pmv_app_sockaddr_set_port(&d->server_addr[PMV_APP_WIRE_SERVER], PMV_DEMO_CM_PORT);
	d->server_addr[PMV_APP_WIRE_CLIENT] = d->server_addr[PMV_APP_WIRE_SERVER];
	pmv_app_endpoint_scope(&d->server.end.ep, &d->server_addr[PMV_APP_WIRE_SERVER]);
	pmv_app_endpoint_scope(&d->client.end.ep, &d->server_addr[PMV_APP_WIRE_CLIENT]);
	d->client.ticks_per_sec = rte_get_tsc_hz();
	/* Every loss sends a window of packets again: short batches, so that the run stays short.
	 */
	d->client.batch_bytes = d->options.loss > 0 ? PMV_DEMO_DATA_BYTES / 4 : PMV_DEMO_DATA_BYTES;
	d->client.samples = calloc(PMV_DEMO_SAMPLES_MAX, sizeof(*d->client.samples));
	if (d->client.samples == NULL) {
		pmv_app_say("no memory for the measured times");
		ret = -ENOMEM;
	}
	return ret;
}

/* The server on an lcore of its own. */
static int
serve(void *arg)
{
	struct demo *d = arg;
	struct pmv_demo_server *s = &d->server;

	if (pmv_app_endpoint_attach(&s->end.ep) != 0) {
		s->failed = true;
		return -EPERM;
	}
	if (pmv_demo_server_start(s, &d->server_addr[PMV_APP_WIRE_SERVER]) == 0)
		while (!s->is_done && !__atomic_load_n(&s->must_stop, __ATOMIC_ACQUIRE))
			pmv_demo_server_turn(s);
	pmv_demo_server_stop(s);
	pmv_app_endpoint_drain(&s->end.ep, DRAIN_MS);
	pmv_app_endpoint_detach(&s->end.ep);
	return 0;
}

static void
print_head(const struct demo *d, unsigned int lcore)
{
	struct pmv_device_attr attr = { 0 };

	pmv_query_device(d->client.end.ep.device, &attr);
	printf("pmverbs: RC over RoCEv2, two ends joined by a virtual wire (net_ring), path MTU "
	       "%u, loss %g\n",
		pmv_mtu_bytes(attr.active_mtu), d->options.loss);
	if (lcore < RTE_MAX_LCORE)
		printf("client on lcore %u, server on lcore %u\n\n", rte_get_main_lcore(), lcore);
	else
		printf("client and server take turns on lcore %u\n\n", rte_get_main_lcore());
	printf("%-15s %8s %9s %10s %8s %9s %9s %9s %7s %6s\n", "", "", "", "", "", "latency",
		"in us", "", "sent", "");
	printf("%-15s %8s %9s %10s %8s %9s %9s %9s %7s %6s\n", "operation", "bytes", "messages",
		"messages/s", "GB/s", "p50", "p99", "p99.9", "again", "errors");
}

static void
print_row(const struct pmv_demo_row *row)
{
	printf("%-15s %8u %9" PRIu64 " %10.0f %8.3f %9.2f %9.2f %9.2f %7" PRIu64 " %6" PRIu64 "\n",
		op_names[row->op], row->size, row->nb, row->rate, row->rate * row->size / 1e9,
		row->latency.p50_us, row->latency.p99_us, row->latency.p999_us, row->nb_sent_again,
		row->nb_wrong);
}

static int
measure_all(struct demo *d)
{
	uint32_t nb_rows = PMV_DEMO_NB_OPS * RTE_DIM(sizes);
	uint32_t row_ms = (uint32_t)(d->seconds * 1000 / nb_rows);
	int ret = 0;

	for (unsigned int op = 0; op < PMV_DEMO_NB_OPS && ret == 0; op++)
		for (unsigned int i = 0; i < RTE_DIM(sizes) && ret == 0; i++) {
			struct pmv_demo_row row = { .op = (enum pmv_demo_op)op, .size = sizes[i] };

			ret = pmv_demo_client_measure(
				&d->client, row_ms / 3, row_ms - row_ms / 3, &row);
			if (ret == 0)
				print_row(&row);
			d->nb_wrong += row.nb_wrong;
		}
	return ret;
}

/* The main lcore's part, with the server running. */
static void
run_client(struct demo *d, unsigned int lcore)
{
	uint64_t start = rte_rdtsc();
	int ret = pmv_demo_client_connect(&d->client, &d->server_addr[PMV_APP_WIRE_CLIENT]);

	if (ret == 0) {
		print_head(d, lcore);
		ret = measure_all(d);
	}
	pmv_demo_client_disconnect(&d->client);
	pmv_demo_end_hang_up(&d->client.end);
	pmv_app_endpoint_drain(&d->client.end.ep, DRAIN_MS);
	d->failed |= ret != 0;
	if (ret == 0)
		printf("\nrates: the median of many batches; sent again: packets that were lost, "
		       "or whose answer was late\n"
		       "%.2f GB checked in %.1f s, %" PRIu64 " messages wrong\n",
			(double)d->client.nb_checked_bytes / 1e9,
			(double)(rte_rdtsc() - start) / (double)rte_get_tsc_hz(), d->nb_wrong);
}

static void
run(struct demo *d)
{
	unsigned int lcore = pmv_demo_server_lcore();

	if (pmv_app_endpoint_attach(&d->client.end.ep) != 0) {
		d->failed = true;
		return;
	}
	if (lcore < RTE_MAX_LCORE) {
		rte_eal_remote_launch(serve, d, lcore);
		run_client(d, lcore);
		__atomic_store_n(&d->server.must_stop, true, __ATOMIC_RELEASE);
		rte_eal_wait_lcore(lcore);
	} else {
		d->client.server = &d->server;
		if (pmv_app_endpoint_attach(&d->server.end.ep) == 0) {
			if (pmv_demo_server_start(
				    &d->server, &d->server_addr[PMV_APP_WIRE_SERVER]) == 0)
				run_client(d, lcore);
			pmv_demo_server_stop(&d->server);
			pmv_app_endpoint_drain(&d->server.end.ep, DRAIN_MS);
			pmv_app_endpoint_detach(&d->server.end.ep);
		} else {
			d->server.failed = true;
		}
	}
	pmv_app_endpoint_detach(&d->client.end.ep);
	d->failed |= d->server.failed || d->client.failed || d->nb_wrong > 0;
}

static void
close_all(struct demo *d)
{
	pmv_app_wire_drain(&d->wire);
	d->failed |= pmv_demo_end_close(&d->client.end) != 0;
	d->failed |= pmv_demo_end_close(&d->server.end) != 0;
	pmv_app_wire_close(&d->wire);
	free(d->client.samples);
}

static int
begin(struct demo *d, int argc, char **argv, struct pmv_app_args *args)
{
	struct pmv_app_spec spec = {
		.usage = "[options]\n"
			 "  -l LCORES       EAL's -l: one lcore polls both ends, two share the "
			 "work (two)\n"
			 "  -t SECONDS      time for the measurements (6)\n"
			 "EAL's defaults here: no hugepages, no PCI devices; --addr: the server's, "
			 "then the client's.\n",
		.short_options = "l:t:",
		.take = take_option,
		.arg = d,
	};
	int ret;

	pmv_app_set_name(argv[0]);
	pmv_app_claim_stdio();
	ret = pmv_app_args_split(argc, argv, args);
	if (ret == 0)
		ret = pmv_app_options_parse(args, &spec, &d->options);
	if (ret == 0)
		ret = check_options(d);
	if (ret == 0)
		ret = pmv_demo_eal_defaults(args, d->lcores);
	if (ret != 0)
		return pmv_app_usage_status(ret);
	return pmv_app_eal_start(args) == 0 ? -1 : PMV_APP_FAILED;
}

int
main(int argc, char **argv)
{
	static struct demo demo = { .seconds = 6 };
	struct pmv_app_args args = { 0 };
	struct rusage usage = { 0 };
	int status = begin(&demo, argc, argv, &args);

	if (status >= 0) {
		pmv_app_args_free(&args);
		return status;
	}
	demo.failed = open_all(&demo) != 0;
	if (!demo.failed)
		run(&demo);
	close_all(&demo);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %ld MiB, %s\n", usage.ru_maxrss / 1024,
		demo.failed ? "FAILED" : "all is well");
	return pmv_app_finish(&args, demo.failed);
}
