// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/soak_lab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/sim/rc_lab.h"

#define ARENA (24u << 20)
#define GUARD 64u
#define PAGE  4096u

static struct pmv_random steering;
static uint32_t connecting; /* for tune() */

uint32_t
soak_below(struct soak *s, uint32_t n)
{
	return (uint32_t)pmv_random_below(&s->random, n);
}

bool
soak_chance(struct soak *s, uint32_t percent)
{
	return soak_below(s, 100) < percent;
}

/* The worker in the number of the QP, as a good NIC would; one frame in eight goes astray. */
static uint16_t
steer(const struct rte_mbuf *m)
{
	uint16_t right = *rte_pktmbuf_mtod_offset(m, const uint8_t *, 42 + 5) >> 7;

	return pmv_random_below(&steering, 8) == 0 ? !right : right;
}

static uint8_t *
take(struct soak *s, int side, uint32_t bytes, uint32_t align)
{
	uint32_t at = RTE_ALIGN_CEIL(s->used[side], align);

	s->used[side] = at + bytes + GUARD;
	assert_true(s->used[side] <= ARENA && s->nb_guards < SOAK_GUARDS);
	s->guard[s->nb_guards++] = s->arena[side] + at + bytes;
	return s->arena[side] + at;
}

static void
open_memory(struct soak *s)
{
	for (int side = 0; side < 2; side++) {
		s->arena[side] = aligned_alloc(PAGE, ARENA);
		assert_non_null(s->arena[side]);
		memset(s->arena[side], 0xa5, ARENA);
		assert_int_equal(pmv_reg_mr(s->pair.node[side].pd, s->arena[side], ARENA,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC |
						 PMV_ACCESS_MW_BIND | PMV_ACCESS_FLUSH_GLOBAL,
					 &s->mr[side]),
			0);
		s->all_word[side] = (uint64_t *)(void *)take(s, side, 8, 8);
		*s->all_word[side] = 0;
		s->all_seen[side] = calloc(1, s->max_ops + 1);
		assert_non_null(s->all_seen[side]);
	}
}

static void
open_srqs(struct soak *s)
{
	for (uint32_t i = 0; i < SOAK_SRQS; i++) {
		struct pmv_srq_init_attr init = { .attr = {
							  .max_wr = SOAK_SRQ_WRS, .max_sge = 4 } };
		struct pmv_test_node *n = &s->pair.node[1];

		assert_int_equal(
			pmv_create_srq(n->pd, n->worker[i % SOAK_WORKERS], &init, &s->srq[i].srq),
			0);
		for (uint32_t k = 0; k < SOAK_SRQ_WRS; k++)
			s->srq[i].recv[k].buf = take(s, 1, SOAK_ROOM, 8);
	}
}

static void
open_flow_memory(struct soak *s, struct soak_flow *f)
{
	int far = !f->side;

	for (uint32_t i = 0; i < SOAK_DEPTH; i++) {
		f->slot[i] = take(s, f->side, SOAK_LEN, 8);
		f->expect[i] = malloc(SOAK_LEN);
		assert_non_null(f->expect[i]);
		if (f->srq < 0)
			f->recv[i].buf = take(s, f->side, SOAK_ROOM, 8);
	}
	f->to = take(s, far, SOAK_TO, 8);
	f->from = take(s, far, SOAK_FROM, 8);
	f->words = (uint64_t *)(void *)take(s, far, SOAK_WORDS * 8, 8);
	f->win = take(s, far, SOAK_WIN, PAGE);
	rc_lab_fill(f->from, SOAK_FROM, f->id);
	f->to_model = malloc(SOAK_TO);
	f->win_model = malloc(SOAK_WIN);
	f->words_model = malloc(SOAK_WORDS * 8);
	assert_true(f->to_model != NULL && f->win_model != NULL && f->words_model != NULL);
	memcpy(f->to_model, f->to, SOAK_TO);
	memcpy(f->win_model, f->win, SOAK_WIN);
	memcpy(f->words_model, f->words, SOAK_WORDS * 8);
}

static enum soak_kind
kind_of(uint32_t conn)
{
	static const enum soak_kind kinds[8] = { SOAK_RC, SOAK_RC_SELECTIVE, SOAK_UC, SOAK_RC,
		SOAK_RC_SELECTIVE, SOAK_RC, SOAK_RC_SELECTIVE, SOAK_UD };

	return kinds[conn % 8];
}

static uint16_t
worker_of(uint32_t conn, int side)
{
	return (uint16_t)((side == 0 ? conn : conn / 2 + conn / 8) % SOAK_WORKERS);
}

static void
open_qp(struct soak *s, struct soak_flow *f)
{
	static const enum pmv_qp_type types[] = { PMV_QPT_RC, PMV_QPT_RC, PMV_QPT_UC, PMV_QPT_UD };
	struct pmv_test_node *n = &s->pair.node[f->side];
	uint16_t w = worker_of(f->id / 2, f->side);
	struct pmv_qp_init_attr init = { .send_cq = n->cq[w],
		.recv_cq = s->recv_cq[f->side][w],
		.srq = f->srq >= 0 ? s->srq[f->srq].srq : NULL,
		.qp_type = types[f->kind],
		.qp_context = f,
		.cap = { .max_send_wr = SOAK_DEPTH,
			.max_recv_wr = f->srq >= 0 ? 0 : SOAK_DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64 } };

	assert_int_equal(pmv_create_qp(n->pd, n->worker[w], &init, &f->qp), 0);
	if (f->kind > SOAK_RC_SELECTIVE)
		return;
	n = &s->pair.node[!f->side]; /* the key is the other side's */
	if (f->id / 2 % 2 == 0)
		assert_int_equal(pmv_alloc_mw(n->pd, PMV_MW_TYPE_2, &f->mw), 0);
	else
		assert_int_equal(pmv_alloc_mr(n->pd, SOAK_WIN / PAGE, PAGE, &f->fast), 0);
}

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL;
	attr->max_rd_atomic = attr->max_dest_rd_atomic = (uint8_t)(1 + connecting % 7);
	attr->min_rnr_timer = connecting % 4 == 0 ? 6 : 1;
	/* a busy worker answers after milliseconds: its queue is long and a turn may take 100 us */
	attr->timeout = 13 + connecting % 3;
	if (kind_of(connecting) == SOAK_RC_SELECTIVE)
		attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

/* Half of node 1's QPs, of all kinds, take their receives from an SRQ of their worker. */
static int
srq_of(uint32_t conn, int side)
{
	if (side == 0 || conn % 16 >= 8)
		return -1;
	return worker_of(conn, 1) == 1 ? 1 : (int)(conn / 32 * 2);
}

static void
connect(struct soak *s, uint32_t conn)
{
	static const enum pmv_mtu mtus[3] = { PMV_MTU_1024, PMV_MTU_256, PMV_MTU_4096 };
	struct soak_flow *a = &s->flow[2 * conn];

	for (int side = 0; side < 2; side++) {
		struct soak_flow *f = &a[side];

		f->id = 2 * conn + (uint32_t)side;
		f->side = side;
		f->kind = kind_of(conn);
		f->peer = &a[!side];
		f->srq = srq_of(conn, side);
		open_flow_memory(s, f);
		open_qp(s, f);
	}
	connecting = conn;
	if (a->kind != SOAK_UD) {
		pmv_test_qp_connect(&s->pair, a[0].qp, a[1].qp, conn & 1, mtus[conn % 3], tune);
		return;
	}
	pmv_test_qp_ud_rts(a[0].qp, SOAK_QKEY, 0);
	pmv_test_qp_ud_rts(a[1].qp, SOAK_QKEY, 0);
}

static void
open_faults(struct soak *s)
{
	for (int side = 0; side < 2; side++) {
		struct pmv_test_end *e = &s->pair.link->end[side];

		e->out.drop = 0.01;
		e->out.dup = 0.01;
		e->out.swap = 0.01;
		e->out.delay_us = 3;
		e->steer = steer;
	}
}

struct soak *
soak_open(uint64_t seed, uint64_t max_ops)
{
	const struct pmv_test_pair_param pp = {
		.nb_workers = SOAK_WORKERS, .cqe = 8192, .seed = seed
	};
	struct soak *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->seed = seed;
	s->max_ops = max_ops;
	pmv_random_init(&s->random, seed);
	pmv_random_init(&steering, seed + 1);
	pmv_test_pair_open(&s->pair, &pp);
	open_memory(s);
	open_srqs(s);
	for (int side = 0; side < 2; side++) {
		struct pmv_ah_attr ah = { .sgid_index = (uint16_t)side };

		for (uint16_t w = 0; w < SOAK_WORKERS; w++)
			assert_int_equal(pmv_create_cq(s->pair.node[side].worker[w], 8192, NULL,
						 &s->recv_cq[side][w]),
				0);
		assert_int_equal(
			pmv_query_gid(s->pair.node[!side].dev, ah.sgid_index, &ah.dgid), 0);
		assert_int_equal(pmv_create_ah(s->pair.node[side].pd, &ah, &s->ah[side]), 0);
	}
	for (uint32_t conn = 0; conn < SOAK_CONNS; conn++)
		connect(s, conn);
	open_faults(s);
	return s;
}

void
soak_check_guards(const struct soak *s)
{
	for (uint32_t i = 0; i < s->nb_guards; i++)
		for (uint32_t k = 0; k < GUARD; k++)
			assert_int_equal(s->guard[i][k], 0xa5);
}

static void
close_flow(struct soak_flow *f)
{
	int rc;

	assert_int_equal(pmv_destroy_qp(f->qp), 0);
	if (f->mw != NULL) {
		rc = pmv_dealloc_mw(f->mw);
		assert_true(rc == 0 || rc == -EINPROGRESS);
	}
	if (f->fast != NULL)
		rc_lab_dereg(f->fast);
	for (uint32_t i = 0; i < SOAK_DEPTH; i++)
		free(f->expect[i]);
	free(f->to_model);
	free(f->win_model);
	free(f->words_model);
}

void
soak_close(struct soak *s)
{
	struct pmv_event ev;

	for (uint32_t i = 0; i < 2 * SOAK_CONNS; i++)
		close_flow(&s->flow[i]);
	for (uint32_t i = 0; i < SOAK_SRQS; i++)
		assert_int_equal(pmv_destroy_srq(s->srq[i].srq), 0);
	pmv_test_pair_run(&s->pair, 200, 20);
	for (int side = 0; side < 2; side++) {
		for (uint16_t w = 0; w < SOAK_WORKERS; w++)
			assert_int_equal(pmv_destroy_cq(s->recv_cq[side][w]), 0);
		assert_int_equal(pmv_destroy_ah(s->ah[side]), 0);
		rc_lab_dereg(s->mr[side]);
	}
	pmv_test_pair_run(&s->pair, 200, 20);
	for (int side = 0; side < 2; side++) {
		while (pmv_poll_async_event(s->pair.node[side].dev, &ev) == 1)
			;
		free(s->all_seen[side]);
	}
	pmv_test_pair_close(&s->pair);
	free(s->arena[0]);
	free(s->arena[1]);
	free(s);
}
