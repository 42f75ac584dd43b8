// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where the cycles of a message go: the cases of pmv-bench with a clock around each stage, on both
 * lcores. The linker leads the calls between the driver's objects through the wrappers below
 * (--wrap), and the ports' burst functions are led through others; the library itself is the one
 * that everybody runs. A stage's cycles are its own: what it calls is another stage, or is counted
 * in. What the clock itself costs is measured first and taken off.
 *
 *   pmv-stages [BLOCK_MS]   default 300
 *
 * TSC cycles, not core cycles. A turn that found no frame is waiting, whatever it did.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "drivers/roce/ack.h"
#include "drivers/roce/completer.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/responder.h"
#include "drivers/roce/rx.h"
#include "lib/wire/icrc.h"
#include "test/perf/lab.h"
#include "test/perf/ours.h"

enum stage {
	STAGE_REST, /* the program, the turn's frame, poll_cq */
	STAGE_POST,
	STAGE_MBUF,
	STAGE_SEAL,
	STAGE_FLUSH,
	STAGE_PORT_TX,
	STAGE_PORT_RX,
	STAGE_RX,
	STAGE_CHECK,
	STAGE_RESPOND,
	STAGE_ACK,
	STAGE_COMPLETE,
	STAGE_RUN,
	STAGE_NB,
};

static const char *const stage_names[STAGE_NB] = {
	[STAGE_REST] = "program, frame of the turn, poll_cq",
	[STAGE_POST] = "post: queue entry, headers, payload",
	[STAGE_MBUF] = "mbufs from the pool",
	[STAGE_SEAL] = "ICRC made",
	[STAGE_FLUSH] = "flush: staged frames handed over",
	[STAGE_PORT_TX] = "port: transmit burst",
	[STAGE_PORT_RX] = "port: receive burst",
	[STAGE_RX] = "receive: header match, mbufs back",
	[STAGE_CHECK] = "ICRC checked",
	[STAGE_RESPOND] = "responder: PSN, key, payload placed",
	[STAGE_ACK] = "acknowledgements",
	[STAGE_COMPLETE] = "completer: window, completions",
	[STAGE_RUN] = "timers, run list",
};

#define DEPTH_MAX 8

/* One an lcore. */
struct clock {
	uint64_t own[STAGE_NB]; /* of turns that found frames, and of posts */
	uint64_t calls[STAGE_NB];
	uint64_t turn[STAGE_NB]; /* of the running turn */
	uint64_t turn_calls[STAGE_NB];
	uint64_t waiting; /* of turns that found none */
	uint64_t last;
	enum stage at[DEPTH_MAX];
	uint32_t depth;
	bool running;
	bool found; /* the running turn got a frame */
} __rte_cache_aligned;

static __thread struct clock clk;
static struct clock result[2]; /* by lcore, when a case is over */
static double inside, outside; /* cycles of the clock that fall into a stage, and into its caller */

static inline void
enter(enum stage s)
{
	uint64_t now = rte_rdtsc();

	clk.turn[clk.at[clk.depth]] += now - clk.last;
	clk.at[++clk.depth] = s;
	clk.turn_calls[s]++;
	clk.last = now;
}

static inline void
leave(void)
{
	uint64_t now = rte_rdtsc();

	clk.turn[clk.at[clk.depth--]] += now - clk.last;
	clk.last = now;
}

/* A turn is over: it worked, or it waited. */
static void
turn_end(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < STAGE_NB; i++) {
		if (clk.found) {
			clk.own[i] += clk.turn[i];
			clk.calls[i] += clk.turn_calls[i];
		}
		sum += clk.turn[i];
		clk.turn[i] = 0;
		clk.turn_calls[i] = 0;
	}
	if (!clk.found)
		clk.waiting += sum;
	clk.found = false;
}

#define WRAP(type, name, stage, params, ...)                                                       \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		type rc;                                                                           \
		enter(stage);                                                                      \
		rc = __real_##name(__VA_ARGS__);                                                   \
		leave();                                                                           \
		return rc;                                                                         \
	}
#define WRAP_VOID(name, stage, params, ...)                                                        \
	void __real_##name params;                                                                 \
	void __wrap_##name params;                                                                 \
	void __wrap_##name params                                                                  \
	{                                                                                          \
		enter(stage);                                                                      \
		__real_##name(__VA_ARGS__);                                                        \
		leave();                                                                           \
	}

WRAP(int, pmv_roce_spare_fill, STAGE_MBUF, (struct pmv_roce_spare * s), s)
WRAP(uint32_t, pmv_roce_tx_flush, STAGE_FLUSH, (struct pmv_roce_worker * w), w)
WRAP(uint32_t, pmv_icrc_update, STAGE_SEAL, (uint32_t state, const uint8_t *buf, uint32_t len),
	state, buf, len)
WRAP(bool, pmv_icrc_packet_check, STAGE_CHECK, (const uint8_t *l3, bool is_v6, uint32_t len), l3,
	is_v6, len)
WRAP_VOID(pmv_roce_responder_rx, STAGE_RESPOND,
	(struct pmv_roce_worker * w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p), w, qp,
	p)
WRAP_VOID(pmv_roce_completer_rx, STAGE_COMPLETE,
	(struct pmv_roce_worker * w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p), w, qp,
	p)
WRAP_VOID(pmv_roce_ack_flush, STAGE_ACK, (struct pmv_roce_worker * w), w)
WRAP_VOID(pmv_roce_worker_run, STAGE_RUN, (struct pmv_worker * w), w)

int __real_pmv_roce_requester_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);
int __wrap_pmv_roce_requester_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);
int
__wrap_pmv_roce_requester_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb)
{
	int rc;

	enter(STAGE_POST);
	rc = __real_pmv_roce_requester_post(qp, wr, nb);
	leave();
	clk.found = clk.found || rc > 0; /* a turn with a post is one with work */
	return rc;
}

/* Once a turn: what lies between two of them is a turn's. */
uint32_t __real_pmv_roce_rx_poll(struct pmv_worker *w);
uint32_t __wrap_pmv_roce_rx_poll(struct pmv_worker *w);
uint32_t
__wrap_pmv_roce_rx_poll(struct pmv_worker *w)
{
	uint32_t nb;

	turn_end();
	enter(STAGE_RX);
	nb = __real_pmv_roce_rx_poll(w);
	leave();
	clk.found = clk.found || nb > 0;
	return nb;
}

static eth_rx_burst_t real_rx;
static eth_tx_burst_t real_tx;

static uint16_t
port_rx(void *queue, struct rte_mbuf **m, uint16_t nb)
{
	enter(STAGE_PORT_RX);
	nb = real_rx(queue, m, nb);
	leave();
	return nb;
}

static uint16_t
port_tx(void *queue, struct rte_mbuf **m, uint16_t nb)
{
	enter(STAGE_PORT_TX);
	nb = real_tx(queue, m, nb);
	leave();
	return nb;
}

static void
wrap_ports(struct perf_lab *lab)
{
	for (int i = 0; i < 2; i++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[lab->end[i].port];

		real_rx = ops->rx_pkt_burst;
		real_tx = ops->tx_pkt_burst;
		ops->rx_pkt_burst = port_rx;
		ops->tx_pkt_burst = port_tx;
	}
}

static void
clock_start(void)
{
	clk = (struct clock){ .last = rte_rdtsc() };
}

/* Both clocks of an empty stage, seen from inside and from outside. */
static void
calibrate(void)
{
	enum { ROUNDS = 1000000 };

	clock_start();
	for (int i = 0; i < ROUNDS; i++) {
		enter(STAGE_RX);
		leave();
	}
	inside = (double)clk.turn[STAGE_RX] / ROUNDS;
	outside = (double)clk.turn[STAGE_REST] / ROUNDS;
}

/* A stage's own cycles less those of the clock: its own calls, and those of what it calls. The
 * second share is charged where most of such calls are made. */
static double
net(const struct clock *c, enum stage s)
{
	static const enum stage caller[STAGE_NB] = {
		[STAGE_POST] = STAGE_REST,
		[STAGE_MBUF] = STAGE_POST,
		[STAGE_SEAL] = STAGE_FLUSH,
		[STAGE_FLUSH] = STAGE_RUN,
		[STAGE_PORT_TX] = STAGE_FLUSH,
		[STAGE_PORT_RX] = STAGE_RX,
		[STAGE_RX] = STAGE_REST,
		[STAGE_CHECK] = STAGE_RX,
		[STAGE_RESPOND] = STAGE_RX,
		[STAGE_ACK] = STAGE_RX,
		[STAGE_COMPLETE] = STAGE_RX,
		[STAGE_RUN] = STAGE_REST,
	};
	double v = (double)c->own[s] - (double)c->calls[s] * inside;

	for (int i = 1; i < STAGE_NB; i++) {
		if (caller[i] == s)
			v -= (double)c->calls[i] * outside;
	}
	return v > 0 ? v : 0;
}

static void
report(const char *title, const char *per, double nb)
{
	double sum[2] = { 0, 0 };

	printf("\n%s, TSC cycles per %s\n%-42s %12s %12s\n", title, per, "stage", "requester",
		"responder");
	for (int s = 0; s < STAGE_NB; s++) {
		double v[2];

		for (int i = 0; i < 2; i++) {
			v[i] = net(&result[i], (enum stage)s) / nb;
			sum[i] += v[i];
		}
		if (v[0] >= 0.05 || v[1] >= 0.05)
			printf("%-42s %12.1f %12.1f\n", stage_names[s], v[0], v[1]);
	}
	printf("%-42s %12.1f %12.1f\n", "together", sum[0], sum[1]);
	printf("%-42s %12.1f %12.1f\n", "turns without work", (double)result[0].waiting / nb,
		(double)result[1].waiting / nb);
	fflush(stdout);
}

/* Lcore B: its clock starts and ends with each case. */
static int
far_main(void *arg)
{
	struct perf_lab *lab = arg;

	while (lab->at.value != PERF_FAR_QUIT) {
		clock_start();
		perf_far_case(lab);
		turn_end();
		if (clk.calls[STAGE_PORT_RX] > 0) /* it was a case, not a look */
			result[1] = clk;
	}
	return 0;
}

static void
run(struct perf_lab *lab, int which, uint64_t ticks)
{
	static const char *const title[] = { "8-byte WRITEs, bursts of 32",
		"64 KiB WRITEs, MTU 4096", "8-byte WRITE, there and back" };
	static const char *const per[] = { "WRITE", "frame of 4 KiB", "round trip" };
	double nb;

	clock_start();
	if (which == 0)
		nb = perf_write_stream(lab, ticks, 8, PERF_BURST, PMV_SEND_INLINE);
	else if (which == 1)
		nb = perf_write_stream(lab, ticks, PERF_BIG_BYTES, 1, 0) * PERF_BIG_BYTES /
		     PERF_MTU;
	else
		nb = perf_write_round_trips(lab, ticks);
	turn_end();
	result[0] = clk;
	rte_delay_us_block(1000); /* lcore B has put its result down */
	report(title[which], per[which], nb);
}

int
main(int argc, char **argv)
{
	static struct perf_lab lab;
	int ms = argc > 1 ? atoi(argv[1]) : 300;
	bool huge;

	if (ms < 1) {
		fprintf(stderr, "usage: pmv-stages [BLOCK_MS]\n");
		return 2;
	}
	if (perf_eal_init("0,1", &huge) != 0 || rte_lcore_count() < 2) {
		fprintf(stderr, "pmv-stages needs two cores\n");
		return 1;
	}
	if (perf_lab_open(&lab) != 0)
		return 1;
	calibrate();
	wrap_ports(&lab);
	printf("memory: %s; the clock: %.1f cycles inside a stage, %.1f outside, taken off\n",
		huge ? "hugepages" : "pages of 4 KiB", inside, outside);
	rte_eal_remote_launch(far_main, &lab, rte_get_next_lcore((unsigned int)-1, 1, 0));
	for (int which = 0; which < 3; which++) {
		uint64_t ticks = lab.ticks_per_sec * (uint64_t)ms / 1000;

		run(&lab, which, ticks);
	}
	perf_far_set(&lab, PERF_FAR_QUIT);
	rte_eal_mp_wait_lcore();
	perf_lab_close(&lab);
	return 0;
}
