// SPDX-License-Identifier: BSD-3-Clause
/*
 * Instructions of the ConnectX data path, ours and libmlx5's, on the same model of the device: the
 * functions named pmv_count_* are what test/perf/count_mlx5 tells callgrind to collect. Each is one
 * call of the user's kind; requests are made, the model works and doorbell pages are ordinary
 * memory (no trap) outside of them. One thread does everything; nothing is timed.
 *
 *   pmv-count-mlx5 ours|peer ROUNDS
 *
 * A round: one WRITE of 8 bytes inline, with the doorbell; 32 of them in one call, all signalled;
 * their completions, 16 in a call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_atomic.h>
#include <rte_common.h>

#include <cmocka.h>

#include "test/mlx5/driver_lab.h"
#include "test/mlx5/pair.h"

#define BATCH 32u
#define TAKE  16u /* completions in a call */
#define BYTES 8u
#define DEPTH 256u /* of our queues */

struct ours {
	struct lab lab;
	struct pmv_cq *cq;
	struct pmv_qp *qp[2];
	struct pmv_qp *idle; /* does nothing */
	struct pmv_sge sge[BATCH];
	struct pmv_send_wr wr[BATCH];
	struct pmv_wc wc[TAKE];
};

struct peer {
	struct pair pair;
	struct ibv_qp *idle;
	struct ibv_sge sge[BATCH];
	struct ibv_send_wr one, wr[BATCH];
	struct ibv_wc wc[TAKE];
};

int pmv_count_ours_post(struct ours *o);
int pmv_count_ours_batch(struct ours *o);
uint32_t pmv_count_ours_poll(struct ours *o);
int pmv_count_ours_nothing(struct ours *o);
int pmv_count_peer_post(struct peer *p);
int pmv_count_peer_batch(struct peer *p);
int pmv_count_peer_poll(struct peer *p);
int pmv_count_peer_nothing(struct peer *p);

/* The barriers keep the calls from becoming jumps, after which the tool would not know whose the
 * instructions are. */
__rte_noinline int
pmv_count_ours_post(struct ours *o)
{
	int ret = pmv_post_send(o->qp[0], &o->wr[BATCH - 1], 1);

	rte_compiler_barrier();
	return ret;
}

__rte_noinline int
pmv_count_ours_batch(struct ours *o)
{
	int ret = pmv_post_send(o->qp[0], o->wr, BATCH);

	rte_compiler_barrier();
	return ret;
}

__rte_noinline uint32_t
pmv_count_ours_poll(struct ours *o)
{
	uint32_t nb = pmv_poll_cq(o->cq, o->wc, TAKE);

	rte_compiler_barrier();
	return nb;
}

__rte_noinline int
pmv_count_peer_post(struct peer *p)
{
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(p->pair.end[0].qp, &p->one, &bad);

	rte_compiler_barrier();
	return ret;
}

__rte_noinline int
pmv_count_peer_batch(struct peer *p)
{
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(p->pair.end[0].qp, p->wr, &bad);

	rte_compiler_barrier();
	return ret;
}

__rte_noinline int
pmv_count_peer_poll(struct peer *p)
{
	int nb = ibv_poll_cq(p->pair.end[0].send_cq, TAKE, p->wc);

	rte_compiler_barrier();
	return nb;
}

/* The same with a queue pair that does nothing: what the call itself costs. */
__rte_noinline int
pmv_count_ours_nothing(struct ours *o)
{
	int ret = pmv_post_send(o->idle, &o->wr[BATCH - 1], 1);

	rte_compiler_barrier();
	return ret;
}

__rte_noinline int
pmv_count_peer_nothing(struct peer *p)
{
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(p->idle, &p->one, &bad);

	rte_compiler_barrier();
	return ret;
}

static int
ours_nothing(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb)
{
	return 1;
}

static int
peer_nothing(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return 0;
}

static void
need(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "pmv-count-mlx5: %s\n", what);
	exit(1);
}

static void
ours_qps(struct ours *o)
{
	need(pmv_create_cq(o->lab.end[0].worker, DEPTH, NULL, &o->cq) == 0, "no CQ");
	for (int i = 0; i < 2; i++) {
		struct lab_end *end = &o->lab.end[i];
		struct pmv_qp_init_attr init = { .send_cq = i == 0 ? o->cq : end->send_cq,
			.recv_cq = end->recv_cq,
			.qp_type = PMV_QPT_RC,
			.cap = { .max_send_wr = DEPTH,
				.max_recv_wr = 1,
				.max_send_sge = 1,
				.max_recv_sge = 1,
				.max_inline_data = BYTES } };

		need(pmv_create_qp(end->pd, end->worker, &init, &o->qp[i]) == 0, "no QP");
	}
	lab_connect(&o->lab, o->qp[0], o->qp[1]);
}

/* Every request puts other bytes to another place. */
static void
ours_fill(struct ours *o, uint32_t round)
{
	struct lab_end *from = &o->lab.end[0], *to = &o->lab.end[1];

	for (uint32_t i = 0; i < BATCH; i++) {
		o->sge[i] = (struct pmv_sge){ (uintptr_t)from->buf + 64 * i, BYTES, 0 };
		o->wr[i] = (struct pmv_send_wr){ .wr_id = i,
			.sg_list = &o->sge[i],
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE |
				      (i == BATCH - 1 ? PMV_SEND_FLUSH : 0),
			.wr.rdma = { (uintptr_t)to->buf + 64 * i, pmv_mr_rkey(to->mr) } };
		memset(from->buf + 64 * i, (int)(round + i), BYTES);
	}
}

static void
ours_round(struct ours *o, uint32_t round)
{
	uint8_t *to = o->lab.end[1].buf;

	ours_fill(o, round);
	need(pmv_count_ours_nothing(o) == 1, "nothing");
	need(pmv_count_ours_post(o) == 1, "post");
	pmv_mlx5m_run();
	need(pmv_poll_cq(o->cq, o->wc, 1) == 1, "poll");
	memset(to, 0, 64 * BATCH);
	need(pmv_count_ours_batch(o) == (int)BATCH, "post of many");
	pmv_mlx5m_run();
	for (uint32_t i = 0; i < BATCH; i += TAKE) {
		need(pmv_count_ours_poll(o) == TAKE, "poll of many");
		for (uint32_t k = 0; k < TAKE; k++)
			need(o->wc[k].status == PMV_WC_SUCCESS && o->wc[k].wr_id == i + k &&
					to[64 * (i + k)] == (uint8_t)(round + i + k),
				"wrong completion");
	}
}

static void
ours(uint32_t rounds)
{
	static const struct pmv_qp_ops ops = { .post_send = ours_nothing };
	static const struct pmv_qp_ops *idle = &ops; /* all that the call looks at */
	static struct ours o;

	o.idle = (struct pmv_qp *)(void *)&idle;
	lab_open(&o.lab);
	ours_qps(&o);
	for (uint32_t i = 0; i < rounds; i++)
		ours_round(&o, i);
	need(pmv_worker_stat(o.lab.end[0].worker, "bursts") == rounds, "no BlueFlame");
	need(pmv_destroy_qp(o.qp[0]) == 0 && pmv_destroy_qp(o.qp[1]) == 0 &&
			pmv_destroy_cq(o.cq) == 0,
		"destroy");
	lab_close(&o.lab);
}

static void
peer_fill(struct peer *p, uint32_t round)
{
	struct pair_end *from = &p->pair.end[0], *to = &p->pair.end[1];

	for (uint32_t i = 0; i < BATCH; i++) {
		p->sge[i] = (struct ibv_sge){ (uintptr_t)from->buf + 64 * i, BYTES, 0 };
		p->wr[i] = (struct ibv_send_wr){ .wr_id = i,
			.next = i < BATCH - 1 ? &p->wr[i + 1] : NULL,
			.sg_list = &p->sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			.wr.rdma = { (uintptr_t)to->buf + 64 * i, to->mr->rkey } };
		memset(from->buf + 64 * i, (int)(round + i), BYTES);
	}
	p->one = p->wr[BATCH - 1];
}

static void
peer_round(struct peer *p, uint32_t round)
{
	uint8_t *to = p->pair.end[1].buf;

	peer_fill(p, round);
	need(pmv_count_peer_nothing(p) == 0, "nothing");
	need(pmv_count_peer_post(p) == 0, "post");
	pmv_mlx5m_run();
	need(ibv_poll_cq(p->pair.end[0].send_cq, 1, p->wc) == 1, "poll");
	memset(to, 0, 64 * BATCH);
	need(pmv_count_peer_batch(p) == 0, "post of many");
	pmv_mlx5m_run();
	for (uint32_t i = 0; i < BATCH; i += TAKE) {
		need(pmv_count_peer_poll(p) == (int)TAKE, "poll of many");
		for (uint32_t k = 0; k < TAKE; k++)
			need(p->wc[k].status == IBV_WC_SUCCESS && p->wc[k].wr_id == i + k &&
					to[64 * (i + k)] == (uint8_t)(round + i + k),
				"wrong completion");
	}
}

static void
peer(uint32_t rounds)
{
	static struct ibv_context context = { .ops = { .post_send = peer_nothing } };
	static struct ibv_qp idle = { .context = &context };
	static struct peer p;

	p.idle = &idle;
	pair_open(&p.pair, NULL);
	for (uint32_t i = 0; i < rounds; i++)
		peer_round(&p, i);
	pair_close(&p.pair);
}

static int
model_start(bool with_eal)
{
	struct pmv_mlx5m_config config;

	if (with_eal)
		return lab_start(NULL);
	pmv_mlx5m_config_init(&config);
	return pmv_mlx5m_config_env(&config) < 0 ? -1 : pmv_mlx5m_start(&config);
}

int
main(int argc, char **argv)
{
	bool is_ours = argc == 3 && strcmp(argv[1], "ours") == 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;

	if (rounds < 1 || (!is_ours && strcmp(argv[1], "peer") != 0)) {
		fprintf(stderr, "Usage: pmv-count-mlx5 ours|peer ROUNDS\n");
		return 2;
	}
	/* Valgrind does not know the trap: doorbell pages are plain memory, records tell. */
	need(setenv("PMV_MLX5M_TRAP", "0", 1) == 0, "no memory");
	need(model_start(is_ours) == 0, "neither EAL nor model start");
	if (is_ours)
		ours((uint32_t)rounds);
	else
		peer((uint32_t)rounds);
	printf("%d rounds\n", rounds);
	return lab_stop(NULL);
}
