// SPDX-License-Identifier: BSD-3-Clause
#include "test/perf/ours.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#define OUT_SMALL 512u /* WRITEs that may be out */
#define OUT_BIG   16u

struct stream {
	struct perf_end *a;
	struct pmv_send_wr wr[PERF_BURST];
	struct pmv_sge sge;
	uint32_t nb_burst;
	uint32_t every;
	uint32_t out_max;
	uint32_t out;
	uint32_t posted;
	uint64_t done;
};

static void
stream_init(struct stream *s, struct perf_lab *lab, uint32_t len, uint32_t every, uint32_t flags)
{
	struct perf_end *a = &lab->end[0], *b = &lab->end[1];
	bool big = len > PERF_MTU;
	uint32_t off = big ? 0 : 128;

	*s = (struct stream){ .a = a,
		.sge = { (uintptr_t)(a->mem + off), len, pmv_mr_lkey(a->mr) },
		.nb_burst = big ? 1 : PERF_BURST,
		.every = every,
		.out_max = big ? OUT_BIG : OUT_SMALL };
	for (uint32_t i = 0; i < PERF_BURST; i++)
		s->wr[i] = (struct pmv_send_wr){ .sg_list = &s->sge,
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = flags,
			.wr.rdma = { (uintptr_t)(b->mem + off), pmv_mr_rkey(b->mr) } };
}

static void
stream_post(struct stream *s)
{
	int nb;

	if (s->out + s->nb_burst > s->out_max)
		return;
	for (uint32_t i = 0; i < s->nb_burst; i++) {
		bool sig = (s->posted + i) % s->every == s->every - 1;

		s->wr[i].send_flags &= ~(uint32_t)PMV_SEND_SIGNALED;
		s->wr[i].send_flags |= sig ? PMV_SEND_SIGNALED : 0;
	}
	nb = pmv_post_send(s->a->qp, s->wr, s->nb_burst);
	if (nb <= 0)
		return;
	s->posted += (uint32_t)nb;
	s->out += (uint32_t)nb;
}

static void
stream_poll(struct stream *s)
{
	struct pmv_wc wc[16];
	uint32_t nb;

	pmv_worker_poll(s->a->worker);
	nb = pmv_poll_cq(s->a->cq, wc, 16);
	for (uint32_t i = 0; i < nb; i++) {
		if (wc[i].status != PMV_WC_SUCCESS) {
			fprintf(stderr, "WRITE: %s\n", pmv_wc_status_str(wc[i].status));
			exit(1);
		}
	}
	s->done += (uint64_t)nb * s->every;
	s->out -= nb * s->every;
}

double
perf_write_stream(
	struct perf_lab *lab, uint64_t ticks, uint32_t len, uint32_t every, uint32_t flags)
{
	uint64_t start, now, done;
	struct stream s;

	stream_init(&s, lab, len, every, flags);
	perf_far_set(lab, PERF_FAR_POLL);
	pmv_worker_attach(s.a->worker);
	start = rte_rdtsc();
	do {
		stream_post(&s);
		stream_poll(&s);
		now = rte_rdtsc();
	} while (now - start < ticks);
	done = s.done;
	while (s.out >= every)
		stream_poll(&s);
	pmv_worker_detach(s.a->worker);
	perf_far_set(lab, PERF_FAR_IDLE);
	return (double)done * (double)ticks / (double)(now - start);
}

double
perf_write_round_trips(struct perf_lab *lab, uint64_t ticks)
{
	struct perf_end *a = &lab->end[0];
	volatile uint64_t *out = (volatile uint64_t *)a->mem;
	volatile uint64_t *in = (volatile uint64_t *)(a->mem + 64);
	uint64_t start, now, nb = 0;

	*in = *out;
	*(volatile uint64_t *)lab->end[1].mem = *out;
	perf_far_set(lab, PERF_FAR_PONG);
	pmv_worker_attach(a->worker);
	start = rte_rdtsc();
	do {
		(*out)++;
		while (perf_write(a, &lab->end[1], 0, 8, PMV_SEND_INLINE | PMV_SEND_FLUSH) != 1)
			pmv_worker_poll(a->worker);
		while (*in != *out)
			pmv_worker_poll(a->worker);
		nb++;
		now = rte_rdtsc();
	} while (now - start < ticks);
	pmv_worker_detach(a->worker);
	perf_far_set(lab, PERF_FAR_IDLE);
	return (double)nb * (double)ticks / (double)(now - start);
}
