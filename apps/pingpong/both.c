// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ping-pong of two ends in one process. Queue pair numbers, packet numbers, addresses and keys are
 * handed over in memory, and nothing but places_*() depends on the driver: the same runs over an
 * ethdev port and over a ConnectX. Each message is made new, and every byte of it checked.
 */
#include "apps/pingpong/both.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/common/latency.h"
#include "apps/common/say.h"
#include "apps/common/wire.h"
#include "apps/pingpong/end.h"

/* Room for a path MTU of 4096 and its headers, which no ring port offers by itself. */
#define IP_MTU_BYTES   4200
#define SILENCE_MS     10000
#define DRAIN_MS       50
#define NAME_BYTES     64
#define IDLE_TURNS_MAX 1024

struct both {
	struct pmv_pingpong_end end[2];
	struct pmv_pingpong_place place[2];
	struct pmv_app_wire wire;
	char ibdev[2][NAME_BYTES];
	bool share; /* both ends on one device */
	uint64_t count;
	uint64_t *round_trips; /* TSC ticks */
	uint64_t message;      /* number of the last */
	uint32_t nb_idle;
};

/* Two ports that receive what the other sends. */
static int
places_on_wire(struct both *b, const struct pmv_app_options *o)
{
	int ret;

	if (o->port != NULL || o->nb_gateways != 0 || (o->nb_addrs != 0 && o->nb_addrs != 2)) {
		pmv_app_say("-b makes its own two ports: no --port, no --gw, and two addresses "
			    "with --addr or none");
		return -EINVAL;
	}
	ret = pmv_app_wire_open(&b->wire);
	for (int i = 0; i < 2 && ret == 0; i++) {
		struct pmv_pingpong_place *p = &b->place[i];

		p->port = b->wire.port[i];
		p->ip_mtu = o->ip_mtu != 0 ? o->ip_mtu : IP_MTU_BYTES;
		p->vlan_id = o->vlan_id;
		/* On one end only, where it meets each frame once, whichever way the frame goes. */
		p->loss = i == 1 ? o->loss : 0;
		p->seed = o->seed;
		p->prints_stats = o->prints_stats;
		p->addr = o->addrs[i];
		if (o->nb_addrs == 0)
			ret = pmv_ip_addr_parse(i == 0 ? "192.0.2.1/24" : "192.0.2.2/24", &p->addr);
	}
	return ret;
}

/* "NAME" or "NAME,NAME". */
static int
places_on_devices(struct both *b, const struct pmv_app_options *o, const char *ibdev)
{
	const char *comma = strchr(ibdev, ',');
	const char *second = comma != NULL ? comma + 1 : ibdev;
	size_t first_len = comma != NULL ? (size_t)(comma - ibdev) : strlen(ibdev);

	if (o->port != NULL || o->nb_gateways != 0 || o->nb_addrs != 0 || o->vlan_id != 0 ||
		o->ip_mtu != 0 || o->loss > 0) {
		pmv_app_say("--ibdev: address, MTU and VLAN are the kernel's, and nothing is lost "
			    "on purpose: none of the options of ports goes with it");
		return -EINVAL;
	}
	if (first_len == 0 || first_len >= NAME_BYTES || second[0] == '\0' ||
		strlen(second) >= NAME_BYTES || strchr(second, ',') != NULL) {
		pmv_app_say("--ibdev wants NAME or NAME,NAME like mlx5_0,mlx5_1, not '%s'", ibdev);
		return -EINVAL;
	}
	memcpy(b->ibdev[0], ibdev, first_len);
	memcpy(b->ibdev[1], second, comma != NULL ? strlen(second) : first_len);
	b->share = strcmp(b->ibdev[0], b->ibdev[1]) == 0;
	for (int i = 0; i < 2; i++) {
		b->place[i].ibdev = b->ibdev[i];
		b->place[i].prints_stats = o->prints_stats;
	}
	return 0;
}

static int
open_ends(struct both *b, uint32_t size)
{
	int ret = pmv_pingpong_end_open(&b->end[0], &b->place[0], NULL, size);

	if (ret == 0)
		ret = pmv_pingpong_end_open(
			&b->end[1], &b->place[1], b->share ? &b->end[0] : NULL, size);
	/* Each gets the other's card. */
	if (ret == 0)
		ret = pmv_pingpong_end_connect(&b->end[0], &b->end[1].card);
	if (ret == 0)
		ret = pmv_pingpong_end_connect(&b->end[1], &b->end[0].card);
	return ret;
}

/* One turn of both ends; with more pollers than cores it lets others run. */
static int
turn(struct both *b)
{
	int nb = 0;

	for (int i = 0; i < 2 && nb >= 0; i++) {
		int ret = pmv_pingpong_end_poll(&b->end[i]);

		nb = ret < 0 ? ret : nb + ret;
	}
	b->nb_idle = nb == 0 ? b->nb_idle + 1 : 0;
	if (b->nb_idle >= IDLE_TURNS_MAX) {
		b->nb_idle = 0;
		sched_yield();
	}
	return nb;
}

static uint8_t
byte_of(uint64_t message, uint32_t i)
{
	return (uint8_t)(message * 131 + i * 7 + (i >> 8) * 13 + 1);
}

/* A WRITE makes no completion at its target. Its bytes become visible in ascending order: whoever
 * has seen the last one (acquire) sees them all. */
static bool
has_arrived(const struct pmv_pingpong_end *to, bool is_write, uint64_t nb_received, uint8_t last)
{
	if (!is_write)
		return to->nb_received > nb_received;
	return __atomic_load_n(&to->in[to->size - 1], __ATOMIC_ACQUIRE) == last;
}

/* Waits until a message has arrived and its sender knows that it has. */
static int
wait(struct both *b, int from, bool is_write, const uint64_t before[2])
{
	uint8_t last = byte_of(b->message, b->end[0].size - 1);
	uint64_t until = pmv_app_now_ms() + SILENCE_MS;
	int ret;

	while (!has_arrived(&b->end[!from], is_write, before[1], last) ||
		b->end[from].nb_sent == before[0]) {
		ret = turn(b);
		if (ret < 0)
			return ret;
		if (pmv_app_stop)
			return -EINTR;
		if (ret == 0 && pmv_app_now_ms() > until) {
			pmv_app_say("message %" PRIu64 " did not arrive within %u s", b->message,
				SILENCE_MS / 1000);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int
check(const struct both *b, const struct pmv_pingpong_end *to)
{
	for (uint32_t i = 0; i < to->size; i++)
		if (to->in[i] != byte_of(b->message, i)) {
			pmv_app_say("byte %u of message %" PRIu64 " is 0x%02x, not 0x%02x", i,
				b->message, to->in[i], byte_of(b->message, i));
			return -EPROTO;
		}
	return 0;
}

/* One message, from one end to the other. */
static int
pass(struct both *b, int from, enum pmv_wr_opcode opcode)
{
	struct pmv_pingpong_end *f = &b->end[from], *to = &b->end[!from];
	const uint64_t before[2] = { f->nb_sent, to->nb_received };
	bool is_write = opcode == PMV_WR_RDMA_WRITE;
	int ret = 0;

	b->message++;
	for (uint32_t i = 0; i < f->size; i++)
		f->out[i] = byte_of(b->message, i);
	if (is_write)
		__atomic_store_n(&to->in[to->size - 1], (uint8_t)~byte_of(b->message, to->size - 1),
			__ATOMIC_RELEASE);
	else
		ret = pmv_pingpong_end_post_recv(to);
	if (ret == 0)
		ret = pmv_pingpong_end_post(f, opcode, &to->card);
	if (ret == 0)
		ret = wait(b, from, is_write, before);
	return ret != 0 ? ret : check(b, to);
}

static int
play(struct both *b, const char *name, enum pmv_wr_opcode opcode)
{
	struct pmv_app_latency l;
	int ret = 0;

	for (uint64_t i = 0; i < b->count && ret == 0; i++) {
		uint64_t start = rte_rdtsc();

		ret = pass(b, 0, opcode);
		if (ret == 0)
			ret = pass(b, 1, opcode);
		b->round_trips[i] = rte_rdtsc() - start;
	}
	if (ret != 0)
		return ret;
	pmv_app_latency_compute(b->round_trips, b->count, &l);
	printf("%-5s %" PRIu64 " round trips of %u bytes, all checked: average %.2f us, p50 %.2f "
	       "us, p99 %.2f us\n",
		name, b->count, b->end[0].size, l.average_us, l.p50_us, l.p99_us);
	return 0;
}

static int
close_all(struct both *b)
{
	uint64_t until = pmv_app_now_ms() + DRAIN_MS;
	int ret = 0;

	/* The last acknowledgements leave, and frames that hold memory come home. */
	while (b->end[1].cq != NULL && pmv_app_now_ms() < until)
		(void)turn(b);
	for (int i = 1; i >= 0; i--)
		ret |= pmv_pingpong_end_stop(&b->end[i]);
	pmv_app_wire_drain(&b->wire);
	for (int i = 1; i >= 0; i--)
		ret |= pmv_pingpong_end_close(&b->end[i]);
	pmv_app_wire_close(&b->wire);
	return ret != 0 ? -EBUSY : 0;
}

int
pmv_pingpong_both(
	const struct pmv_app_options *options, const struct pmv_app_role *role, const char *ibdev)
{
	static struct both both;
	struct both *b = &both;
	int closed;
	int ret = ibdev != NULL ? places_on_devices(b, options, ibdev) : places_on_wire(b, options);

	b->count = role->count;
	b->round_trips = calloc(role->count, sizeof(*b->round_trips));
	if (ret == 0 && b->round_trips == NULL) {
		pmv_app_say("no memory for the measured times");
		ret = -ENOMEM;
	}
	if (ret == 0)
		ret = open_ends(b, (uint32_t)role->size);
	if (ret == 0)
		ret = play(b, "SEND", PMV_WR_SEND);
	if (ret == 0)
		ret = play(b, "WRITE", PMV_WR_RDMA_WRITE);
	closed = close_all(b);
	free(b->round_trips);
	return ret != 0 ? ret : closed;
}
