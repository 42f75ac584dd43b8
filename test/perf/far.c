// SPDX-License-Identifier: BSD-3-Clause
/*
 * Lcore B: the far side of every case.
 */
#include "test/perf/lab.h"

#include <string.h>

#include <rte_ethdev.h>
#include <rte_pause.h>

static bool
goes_on(const struct perf_lab *lab, enum perf_far far)
{
	return __atomic_load_n(&lab->far.value, __ATOMIC_RELAXED) == (uint64_t)far;
}

static void
raw(struct perf_lab *lab, enum perf_far far)
{
	uint16_t port = lab->end[1].raw_port;
	struct rte_mbuf *m[PERF_BURST];
	uint32_t at = 0;

	while (goes_on(lab, far)) {
		uint16_t nb = rte_eth_rx_burst(port, 0, m, PERF_BURST);

		if (nb == 0)
			continue;
		if (far == PERF_FAR_RAW_ECHO) {
			uint16_t sent = rte_eth_tx_burst(port, 0, m, nb);

			rte_pktmbuf_free_bulk(m + sent, nb - sent);
			continue;
		}
		for (uint16_t i = 0; far == PERF_FAR_RAW_SINK_COPY && i < nb; i++) {
			memcpy(lab->end[1].mem + at, rte_pktmbuf_mtod(m[i], void *),
				m[i]->data_len);
			at = (at + 4096) & (PERF_BIG_BYTES - 1);
		}
		rte_pktmbuf_free_bulk(m, nb);
		lab->sunk.value += nb;
	}
	while (rte_eth_rx_burst(port, 0, m, 1) == 1)
		rte_pktmbuf_free(m[0]);
}

static void
line(struct perf_lab *lab)
{
	uint64_t seen = lab->pong.value; /* what was answered last: A may have asked already */

	while (goes_on(lab, PERF_FAR_LINE)) {
		uint64_t v = lab->ping.value;

		if (v != seen) {
			seen = v;
			lab->pong.value = v;
		}
	}
}

static void
touch(struct perf_lab *lab)
{
	uint64_t seen = lab->pong.value; /* what was answered last: A may have asked already */

	while (goes_on(lab, PERF_FAR_TOUCH)) {
		uint64_t v = __atomic_load_n(&lab->ping.value, __ATOMIC_ACQUIRE);

		if (v == seen)
			continue;
		seen = v;
		memset(lab->shared, (int)v, PERF_BIG_BYTES);
		__atomic_store_n(&lab->pong.value, v, __ATOMIC_RELEASE);
	}
}

static void
poll(struct perf_lab *lab, enum perf_far far)
{
	struct perf_end *e = &lab->end[1];
	volatile uint64_t *in = (volatile uint64_t *)e->mem;
	uint64_t seen = *in;
	struct pmv_wc wc[16];

	pmv_worker_attach(e->worker);
	while (goes_on(lab, far)) {
		pmv_worker_poll(e->worker);
		pmv_poll_cq(e->cq, wc, 16);
		if (far == PERF_FAR_PONG && *in != seen) {
			seen = *in;
			*(volatile uint64_t *)(e->mem + 64) = seen;
			perf_write(e, &lab->end[0], 64, 8, PMV_SEND_INLINE | PMV_SEND_FLUSH);
		}
	}
	pmv_worker_detach(e->worker);
}

void
perf_far_case(struct perf_lab *lab)
{
	enum perf_far far = (enum perf_far)__atomic_load_n(&lab->far.value, __ATOMIC_ACQUIRE);

	__atomic_store_n(&lab->at.value, far, __ATOMIC_RELEASE);
	if (far == PERF_FAR_LINE)
		line(lab);
	else if (far == PERF_FAR_TOUCH)
		touch(lab);
	else if (far == PERF_FAR_POLL || far == PERF_FAR_PONG)
		poll(lab, far);
	else if (far != PERF_FAR_IDLE && far != PERF_FAR_QUIT)
		raw(lab, far);
	else
		rte_pause();
}

int
perf_far_main(void *arg)
{
	struct perf_lab *lab = arg;

	while (__atomic_load_n(&lab->at.value, __ATOMIC_RELAXED) != PERF_FAR_QUIT)
		perf_far_case(lab);
	return 0;
}
