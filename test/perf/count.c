// SPDX-License-Identifier: BSD-3-Clause
/*
 * One lcore polls both ends of a connection, step by step, so that the instructions of each step
 * can be counted: the functions named pmv_count_* are what test/perf/count tells callgrind to
 * collect. Everything else (set-up, warm-up) stays outside. It prints the operations done, nothing
 * is timed.
 *
 *   pmv-count ROUNDS [BURST [BYTES [FORM]]]   a round is a burst of WRITEs, by default 32 of 8
 * bytes, the last of them signalled; BURST 1 is the way of a single message. FORM: how they are
 * posted, "post" (all in one call, the default), "prepared" or "in_place" (one by one, at most 32
 * bytes)
 */
#include "test/perf/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

/* Neither inlined nor cloned: callgrind knows these functions by name. */
#if defined(__clang__)
#define COUNTED __attribute__((noinline, optnone))
#else
#define COUNTED __attribute__((noipa))
#endif

void pmv_count_post(struct perf_lab *lab, struct pmv_send_wr *wr, uint32_t nb);
void pmv_count_respond(struct perf_lab *lab);
uint32_t pmv_count_complete(struct perf_lab *lab);
void pmv_count_idle(struct perf_lab *lab);

/* How a burst is posted. @return as pmv_post_send(). */
typedef int (*count_form)(struct perf_end *e, struct pmv_send_wr *wr, uint32_t nb);

static struct pmv_prepared_send prepared[PERF_BURST];
static count_form form;

static int
form_post(struct perf_end *e, struct pmv_send_wr *wr, uint32_t nb)
{
	return pmv_post_send(e->qp, wr, nb);
}

static int
form_prepared(struct perf_end *e, struct pmv_send_wr *wr, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (pmv_post_prepared(&prepared[i]) != 0)
			return (int)i;
	return (int)nb;
}

static int
form_in_place(struct perf_end *e, struct pmv_send_wr *wr, uint32_t nb)
{
	void *payload;

	for (uint32_t i = 0; i < nb; i++) {
		if (pmv_send_begin(e->qp, wr[i].sg_list[0].length, &payload) != 0)
			return (int)i;
		memcpy(payload, (const void *)(uintptr_t)wr[i].sg_list[0].addr,
			wr[i].sg_list[0].length);
		if (pmv_send_commit(e->qp, &wr[i]) != 0)
			return (int)i;
	}
	return (int)nb;
}

static const struct {
	const char *name;
	count_form form;
} forms[] = { { "post", form_post }, { "prepared", form_prepared }, { "in_place", form_in_place } };

/* A turn at a time of our own: each takes a tenth of a microsecond, however slow the machine that
 * counts is, so that no timer fires and the counts repeat. */
static inline void
turn(struct perf_lab *lab, int side)
{
	static uint64_t turns = 1000000;

	pmv_worker_poll_at(lab->end[side].worker, ++turns * lab->ticks_per_sec / 10000000);
}

/* The requester's half: the requests in one call, and the frames handed to the port. */
COUNTED void
pmv_count_post(struct perf_lab *lab, struct pmv_send_wr *wr, uint32_t nb)
{
	struct perf_end *e = &lab->end[0];

	if (form(e, wr, nb) != (int)nb)
		exit(1);
	pmv_worker_flush(e->worker);
}

/* The responder's half: a turn that takes the frames, and acknowledges those of the turn before. */
COUNTED void
pmv_count_respond(struct perf_lab *lab)
{
	turn(lab, 1);
}

/* The requester's other half: a turn that takes the acknowledgement, and the completion. */
COUNTED uint32_t
pmv_count_complete(struct perf_lab *lab)
{
	struct pmv_wc wc[16];

	turn(lab, 0);
	return pmv_poll_cq(lab->end[0].cq, wc, 16);
}

/* A turn with nothing to do. */
COUNTED void
pmv_count_idle(struct perf_lab *lab)
{
	turn(lab, 0);
}

static uint32_t
drain(struct perf_lab *lab)
{
	struct pmv_wc wc[16];

	turn(lab, 0);
	return pmv_poll_cq(lab->end[0].cq, wc, 16);
}

static void
requests_make(struct perf_lab *lab, struct pmv_send_wr *wr, uint32_t nb, uint32_t bytes)
{
	static struct pmv_sge sge[PERF_BURST];
	struct perf_end *e = &lab->end[0], *peer = &lab->end[1];

	for (uint32_t i = 0; i < nb; i++) {
		uint32_t off = bytes <= 64 ? 64 * i : 0;

		sge[i] = (struct pmv_sge){ (uintptr_t)(e->mem + off), bytes, pmv_mr_lkey(e->mr) };
		wr[i] = (struct pmv_send_wr){ .wr_id = i,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = (bytes <= 32 ? PMV_SEND_INLINE : 0) |
				      (i == nb - 1 ? PMV_SEND_SIGNALED : 0),
			.wr.rdma = { (uintptr_t)(peer->mem + off), pmv_mr_rkey(peer->mr) } };
	}
}

/* False: there is no such form, or requests of this length cannot have it. */
static bool
form_choose(struct perf_lab *lab, const char *name, const struct pmv_send_wr *wr, uint32_t nb)
{
	for (size_t i = 0; i < RTE_DIM(forms); i++)
		if (strcmp(forms[i].name, name) == 0)
			form = forms[i].form;
	for (uint32_t i = 0; form == form_prepared && i < nb; i++)
		if (pmv_prepare_send(lab->end[0].qp, &wr[i], &prepared[i]) != 0)
			return false;
	return form != NULL && (form == form_post || (wr->send_flags & PMV_SEND_INLINE) != 0);
}

int
main(int argc, char **argv)
{
	static struct pmv_send_wr wr[PERF_BURST];
	static struct perf_lab lab;
	int rounds = argc > 1 ? atoi(argv[1]) : 1024;
	uint32_t nb = argc > 2 ? (uint32_t)atoi(argv[2]) : PERF_BURST;
	uint32_t bytes = argc > 3 ? (uint32_t)atoi(argv[3]) : 8;
	uint64_t done = 0;
	bool huge;

	if (rounds < 1 || nb < 1 || nb > PERF_BURST || bytes > PERF_MEM_BYTES)
		return 2;
	if (perf_eal_init("0", &huge) != 0 || perf_lab_open(&lab) != 0)
		return 1;
	pmv_worker_attach(lab.end[0].worker);
	pmv_worker_attach(lab.end[1].worker);
	requests_make(&lab, wr, nb, bytes);
	if (!form_choose(&lab, argc > 4 ? argv[4] : "post", wr, nb))
		return 2;
	for (int i = 0; i < rounds; i++) {
		pmv_count_post(&lab, wr, nb);
		do {
			pmv_count_respond(&lab);
			done += pmv_count_complete(&lab);
		} while (bytes > PERF_MTU && done <= (uint64_t)i);
		pmv_count_idle(&lab);
	}
	/* the last acknowledgement leaves with the responder's next turn */
	turn(&lab, 1);
	done += drain(&lab);
	printf("%d rounds, %lu of them complete\n", rounds, (unsigned long)done);
	pmv_worker_detach(lab.end[0].worker);
	pmv_worker_detach(lab.end[1].worker);
	perf_lab_close(&lab);
	return done == (uint64_t)rounds ? 0 : 1;
}
