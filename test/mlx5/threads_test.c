// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two threads ring the registers of one UAR page at the same time, 10 000 times each, through
 * libmlx5 and with the HCA thread working: every store is seen, in order, none is lost. A trap
 * that opened the page for a single step would lose nearly half of them.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/model_state.h"
#include "test/mlx5/pair.h"

#define RINGS       10000u
#define OUTSTANDING 32u
#define TRIES_MAX   200000000u

struct poster {
	pthread_t thread;
	struct pair_end *end;
	struct pair_end *peer;
	uint32_t index;
	uint32_t nb_failed;
};

static struct pair pairs[2];
static uint32_t nb_done[2];
static uint32_t nb_bad;

/* Both QPs complete into one CQ; whoever polls counts for both. */
static void
poll_shared(struct ibv_cq *cq)
{
	struct ibv_wc wc[8];
	int nb = ibv_poll_cq(cq, 8, wc);

	for (int i = 0; i < nb; i++) {
		uint32_t index = (uint32_t)(wc[i].wr_id >> 32);

		if (wc[i].status != IBV_WC_SUCCESS || wc[i].opcode != IBV_WC_RDMA_WRITE ||
			index > 1 || wc[i].qp_num != pairs[index].end[0].qp->qp_num)
			__atomic_fetch_add(&nb_bad, 1, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&nb_done[index], 1, __ATOMIC_RELAXED);
	}
	if (nb <= 0)
		sched_yield();
}

static void *
post_many(void *arg)
{
	struct poster *p = arg;
	uint64_t value;
	struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = sizeof(value) };
	struct ibv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };
	struct ibv_send_wr *bad;
	uint32_t tries = 0;

	wr.wr.rdma.rkey = p->peer->mr->rkey;
	for (value = 0; value < RINGS; value++) {
		while (value - __atomic_load_n(&nb_done[p->index], __ATOMIC_RELAXED) >=
				OUTSTANDING &&
			tries++ < TRIES_MAX)
			poll_shared(p->end->send_cq);
		wr.wr_id = (uint64_t)p->index << 32 | value;
		wr.wr.rdma.remote_addr = (uintptr_t)p->peer->buf + p->index * 128 + value % 16 * 8;
		if (ibv_post_send(p->end->qp, &wr, &bad) != 0)
			p->nb_failed++;
	}
	while (__atomic_load_n(&nb_done[p->index], __ATOMIC_RELAXED) < RINGS - p->nb_failed &&
		tries++ < TRIES_MAX)
		poll_shared(p->end->send_cq);
	return NULL;
}

static void
rings__of_two_threads_are_all_seen(void **state)
{
	struct poster poster[2] = { 0 };
	struct pmv_mlx5m_counters c;
	uint32_t i, j;

	(void)state;
	assert_int_equal(pmv_mlx5m_qp_find(pairs[0].end[0].qp->qp_num)->page,
		pmv_mlx5m_qp_find(pairs[1].end[0].qp->qp_num)->page);
	for (i = 0; i < 2; i++) {
		poster[i].index = i;
		poster[i].end = &pairs[i].end[0];
		poster[i].peer = &pairs[i].end[1];
		assert_int_equal(pthread_create(&poster[i].thread, NULL, post_many, &poster[i]), 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(poster[i].thread, NULL);
	pmv_mlx5m_counters_get(&c);
	assert_int_equal(nb_bad, 0);
	for (i = 0; i < 2; i++) {
		const uint64_t *memory = (const uint64_t *)(void *)(poster[i].peer->buf + 128 * i);

		assert_int_equal(poster[i].nb_failed, 0);
		assert_int_equal(nb_done[i], RINGS);
		assert_int_equal(pmv_mlx5m_qp_rings(poster[i].end->qp->qp_num), RINGS);
		for (j = 0; j < 16; j++)
			assert_int_equal(memory[j], RINGS - 16 + j);
	}
	assert_int_equal(c.nb_rings, 2 * RINGS);
	assert_int_equal(c.nb_bursts, 2 * RINGS);
	assert_int_equal(c.nb_stores, 2 * RINGS * 8);
	assert_int_equal(c.nb_wqes, 2 * RINGS);
	assert_int_equal(pmv_mlx5m_violations(), 0);
}

static int
set_up(void **state)
{
	struct pmv_mlx5m_config config;

	(void)state;
	pmv_mlx5m_config_init(&config);
	config.thread = true;
	if (pmv_mlx5m_config_env(&config) != 0 || pmv_mlx5m_start(&config) != 0)
		return -1;
	pair_open(&pairs[0], NULL);
	pair_add(&pairs[1], &pairs[0]);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pair_remove(&pairs[1]);
	pair_close(&pairs[0]);
	pmv_mlx5m_stop();
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings__of_two_threads_are_all_seen),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
