// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ours beside raw ethdev, in one process on the same two lcores and the same kind of port: blocks
 * of the two alternate, each pair gives a ratio, and the median ratio with a bootstrap interval is
 * printed. Rates in a shared machine swing by the hour; the ratio does not.
 *
 *   pmv-bench [PAIRS [BLOCK_MS [NAME]]]   default 20 pairs of 150 ms blocks, all figures; else
 *                                         those whose name begins so (G1, G3, G4)
 */
#include "test/perf/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "lib/util/random.h"
#include "test/perf/ours.h"

#define PAIRS_MAX 200
#define BOOTSTRAP 2000

/* A block: its figure, after running for `ticks`. */
typedef double (*block_fn)(struct perf_lab *lab, uint64_t ticks);

static double
seconds(const struct perf_lab *lab, uint64_t ticks)
{
	return (double)ticks / (double)lab->ticks_per_sec;
}

/* Frames of `len` bytes into the raw port as fast as it takes them; returns frames a second that B
 * received. */
static double
raw_stream(struct perf_lab *lab, uint64_t ticks, enum perf_far far, uint16_t len)
{
	uint64_t start, end, sunk;
	struct rte_mbuf *m[PERF_BURST];

	perf_far_set(lab, far);
	sunk = lab->sunk.value;
	start = rte_rdtsc();
	end = start + ticks;
	while (rte_rdtsc() < end) {
		uint16_t sent;

		if (rte_pktmbuf_alloc_bulk(lab->pool[0], m, PERF_BURST) != 0)
			continue;
		for (uint32_t i = 0; i < PERF_BURST; i++) {
			m[i]->data_len = len;
			m[i]->pkt_len = len;
			memset(rte_pktmbuf_mtod(m[i], void *), (int)i, len);
		}
		sent = rte_eth_tx_burst(lab->end[0].raw_port, 0, m, PERF_BURST);
		rte_pktmbuf_free_bulk(m + sent, PERF_BURST - sent);
	}
	end = rte_rdtsc();
	sunk = lab->sunk.value - sunk;
	perf_far_set(lab, PERF_FAR_IDLE);
	return (double)sunk / seconds(lab, end - start);
}

static double
raw_rate(struct perf_lab *lab, uint64_t ticks)
{
	return raw_stream(lab, ticks, PERF_FAR_RAW_SINK, PERF_RAW_BYTES) / 1e6;
}

static double
raw_copy_bandwidth(struct perf_lab *lab, uint64_t ticks)
{
	return raw_stream(lab, ticks, PERF_FAR_RAW_SINK_COPY, 4096) * 4096 / 1e9;
}

static double
raw_round_trip(struct perf_lab *lab, uint64_t ticks)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lab->pool[0]);
	uint16_t port = lab->end[0].raw_port;
	uint64_t start, now, nb = 0;

	rte_pktmbuf_append(m, PERF_RAW_BYTES);
	perf_far_set(lab, PERF_FAR_RAW_ECHO);
	start = rte_rdtsc();
	do {
		rte_eth_tx_burst(port, 0, &m, 1);
		while (rte_eth_rx_burst(port, 0, &m, 1) == 0)
			;
		*rte_pktmbuf_mtod(m, volatile uint64_t *) = nb++;
		now = rte_rdtsc();
	} while (now - start < ticks);
	rte_pktmbuf_free(m);
	perf_far_set(lab, PERF_FAR_IDLE);
	return seconds(lab, now - start) * 1e9 / (double)nb;
}

static double
line_round_trip(struct perf_lab *lab, uint64_t ticks)
{
	uint64_t start, now, nb = 0;

	perf_far_set(lab, PERF_FAR_LINE);
	start = rte_rdtsc();
	do {
		lab->ping.value++;
		while (lab->pong.value != lab->ping.value)
			;
		nb++;
		now = rte_rdtsc();
	} while (now - start < ticks);
	perf_far_set(lab, PERF_FAR_IDLE);
	return seconds(lab, now - start) * 1e9 / (double)nb;
}

/* Copies 64 KiB that the other core wrote last; only the copies are timed. */
static double
cross_core_copy(struct perf_lab *lab, uint64_t ticks)
{
	uint64_t begin, spent = 0, nb = 0;

	perf_far_set(lab, PERF_FAR_TOUCH);
	begin = rte_rdtsc();
	while (rte_rdtsc() - begin < ticks) {
		uint64_t t;

		__atomic_store_n(&lab->ping.value, lab->ping.value + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&lab->pong.value, __ATOMIC_ACQUIRE) != lab->ping.value)
			;
		t = rte_rdtsc();
		memcpy(lab->shared + PERF_BIG_BYTES, lab->shared, PERF_BIG_BYTES);
		spent += rte_rdtsc() - t;
		nb++;
	}
	perf_far_set(lab, PERF_FAR_IDLE);
	return (double)nb * PERF_BIG_BYTES / seconds(lab, spent) / 1e9;
}

static double
write_rate(struct perf_lab *lab, uint64_t ticks)
{
	return perf_write_stream(lab, ticks, 8, 32, PMV_SEND_INLINE) / seconds(lab, ticks) / 1e6;
}

static double
write_bandwidth(struct perf_lab *lab, uint64_t ticks)
{
	return perf_write_stream(lab, ticks, PERF_BIG_BYTES, 1, 0) / seconds(lab, ticks) *
	       PERF_BIG_BYTES / 1e9;
}

static double
write_round_trip(struct perf_lab *lab, uint64_t ticks)
{
	return seconds(lab, ticks) * 1e9 / perf_write_round_trips(lab, ticks);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *v, int nb)
{
	qsort(v, (size_t)nb, sizeof(*v), by_value);
	return nb & 1 ? v[nb / 2] : (v[nb / 2 - 1] + v[nb / 2]) / 2;
}

/* 95 % interval of the median by resampling. */
static void
interval(const double *v, int nb, double *ret_low, double *ret_high)
{
	static double medians[BOOTSTRAP];
	struct pmv_random random;
	double sample[PAIRS_MAX];

	pmv_random_init(&random, 1);
	for (int b = 0; b < BOOTSTRAP; b++) {
		for (int i = 0; i < nb; i++)
			sample[i] = v[pmv_random_below(&random, (uint64_t)nb)];
		medians[b] = median(sample, nb);
	}
	qsort(medians, BOOTSTRAP, sizeof(medians[0]), by_value);
	*ret_low = medians[BOOTSTRAP * 25 / 1000];
	*ret_high = medians[BOOTSTRAP * 975 / 1000];
}

struct comparison {
	const char *name;
	const char *unit;
	block_fn ours;
	const char *peer_name;
	block_fn peer;
	double floor; /* of the ratio ours / peer; for times a ceiling */
	bool less_is_better;
};

static const struct comparison comparisons[] = {
	{ "G1 8-byte WRITE", "M/s", write_rate, "raw 82-byte frames", raw_rate, 0.35, false },
	{ "G3 8-byte WRITE round trip", "ns", write_round_trip, "raw round trip", raw_round_trip,
		1.8, true },
	{ "G3 8-byte WRITE round trip", "ns", write_round_trip, "cache line round trip",
		line_round_trip, 8, true },
	{ "G4 64 KiB WRITE", "GB/s", write_bandwidth, "copy across cores", cross_core_copy, 0.4,
		false },
	{ "G4 64 KiB WRITE", "GB/s", write_bandwidth, "raw 4 KiB frames, copied",
		raw_copy_bandwidth, 0.75, false },
};

static void
compare(struct perf_lab *lab, const struct comparison *c, int pairs, uint64_t ticks)
{
	double ours[PAIRS_MAX], peer[PAIRS_MAX], ratio[PAIRS_MAX], low, high;

	c->ours(lab, ticks / 4); /* warm up */
	c->peer(lab, ticks / 4);
	for (int i = 0; i < pairs; i++) {
		ours[i] = c->ours(lab, ticks);
		peer[i] = c->peer(lab, ticks);
		ratio[i] = ours[i] / peer[i];
	}
	interval(ratio, pairs, &low, &high);
	printf("%-28s %9.2f %-5s %-26s %9.2f  ratio %6.3f [%6.3f, %6.3f]  %s %.2f %s\n", c->name,
		median(ours, pairs), c->unit, c->peer_name, median(peer, pairs),
		median(ratio, pairs), low, high, c->less_is_better ? "ceiling" : "floor", c->floor,
		(c->less_is_better ? high <= c->floor : low >= c->floor) ? "met" : "not met");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static struct perf_lab lab;
	bool huge;
	int pairs = argc > 1 ? atoi(argv[1]) : 20;
	int ms = argc > 2 ? atoi(argv[2]) : 150;
	const char *only = argc > 3 ? argv[3] : "";

	if (pairs < 2 || pairs > PAIRS_MAX || ms < 1) {
		fprintf(stderr, "usage: pmv-bench [PAIRS 2..%d [BLOCK_MS [NAME]]]\n", PAIRS_MAX);
		return 2;
	}
	if (perf_eal_init("0,1", &huge) != 0 || rte_lcore_count() < 2) {
		fprintf(stderr, "pmv-bench needs two cores\n");
		return 1;
	}
	printf("memory: %s\n", huge ? "hugepages" : "pages of 4 KiB (no hugepages are free)");
#ifndef NDEBUG
	printf("assertions are on: configure with -Db_ndebug=true for figures that count\n");
#endif
	if (perf_lab_open(&lab) != 0)
		return 1;
	rte_eal_remote_launch(perf_far_main, &lab, rte_get_next_lcore((unsigned int)-1, 1, 0));
	for (size_t i = 0; i < RTE_DIM(comparisons); i++) {
		if (strncmp(comparisons[i].name, only, strlen(only)) != 0)
			continue;
		compare(&lab, &comparisons[i], pairs, lab.ticks_per_sec * (uint64_t)ms / 1000);
	}
	perf_far_set(&lab, PERF_FAR_QUIT);
	rte_eal_mp_wait_lcore();
	perf_lab_close(&lab);
	return 0;
}
