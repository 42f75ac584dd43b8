// SPDX-License-Identifier: BSD-3-Clause
/*
 * Real threads: one worker of a device registers memory and invalidates it again, another one, on
 * another thread, serves a peer that writes there all the while. After the completion of the
 * LOCAL_INV no byte changes. The main thread runs the peer and the link.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "lib/driver/pmv_driver.h"
#include "lib/util/be.h"
#include "test/harness/eal.h"
#include "test/harness/node.h"

#define ROUNDS   40u
#define PAGE     4096u
#define NB_PAGES 8u
#define BYTES    (NB_PAGES * PAGE)
#define LIMIT_S  60.0

struct keys {
	struct pmv_test_pair pair;
	struct pmv_qp *writer[2][ROUNDS]; /* worker 0: one dies in each round */
	struct pmv_qp *owner[2];          /* worker 1: registers and invalidates */
	struct pmv_mr *source;
	struct pmv_mr *fast;
	uint8_t *from;
	uint8_t *mem;
	pthread_t thread[2];
	double end;
	/* atomic */
	uint32_t stop;
	uint32_t round;     /* of the owner: key of it is valid, + 1 */
	uint32_t key;       /* before round */
	uint32_t nb_bursts; /* of WRITEs that completed */
	uint32_t over;      /* rounds that the writer has left */
	const char *fault;
};

static double
seconds(void)
{
	return (double)rte_rdtsc() / (double)rte_get_tsc_hz();
}

static uint32_t
get(const uint32_t *v)
{
	return __atomic_load_n(v, __ATOMIC_ACQUIRE);
}

static void
set(uint32_t *v, uint32_t to)
{
	__atomic_store_n(v, to, __ATOMIC_RELEASE);
}

static bool
is_late(struct keys *k)
{
	return seconds() > k->end || get(&k->stop);
}

static void *
poll_writer(void *arg)
{
	struct keys *k = arg;
	struct pmv_worker *w = k->pair.node[1].worker[0];

	if (pmv_worker_attach(w) != 0)
		k->fault = "attach";
	while (!get(&k->stop)) {
		pmv_worker_poll(w);
		sched_yield();
	}
	pmv_worker_detach(w);
	return NULL;
}

/* A request of the owner, to its completion. */
static void
owner_does(struct keys *k, const struct pmv_send_wr *wr)
{
	struct pmv_wc wc;

	if (pmv_post_send(k->owner[1], wr, 1) != 1)
		k->fault = "post";
	while (pmv_poll_cq(k->pair.node[1].cq[1], &wc, 1) == 0) {
		pmv_worker_poll(k->pair.node[1].worker[1]);
		sched_yield();
		if (is_late(k)) {
			k->fault = "no completion";
			return;
		}
	}
	if (wc.status != PMV_WC_SUCCESS)
		k->fault = "status";
}

static void
one_round(struct keys *k, uint32_t round, uint32_t *key, uint8_t *copy)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_REG_MR, .send_flags = PMV_SEND_SIGNALED };
	void *page[NB_PAGES];
	uint32_t nb;

	for (uint32_t i = 0; i < NB_PAGES; i++) /* odd rounds: they do not lie together */
		page[i] = k->mem + (round & 1 ? NB_PAGES - 1 - i : i) * PAGE;
	if (pmv_map_mr(k->fast, page, NB_PAGES, 0, BYTES) != 0)
		k->fault = "map";
	*key = pmv_inc_rkey(*key);
	wr.wr.reg.mr = k->fast;
	wr.wr.reg.key = *key;
	wr.wr.reg.access = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE;
	owner_does(k, &wr);
	nb = get(&k->nb_bursts);
	set(&k->key, *key);
	set(&k->round, round + 1);
	while (get(&k->nb_bursts) - nb < 3 + round % 5 && !is_late(k))
		pmv_worker_poll(k->pair.node[1].worker[1]);
	wr = (struct pmv_send_wr){
		.opcode = PMV_WR_LOCAL_INV, .send_flags = PMV_SEND_SIGNALED, .invalidate_rkey = *key
	};
	owner_does(k, &wr);
	memcpy(copy, k->mem, BYTES);
	for (uint32_t i = 0; i < 200 || (get(&k->over) <= round && !is_late(k)); i++) {
		pmv_worker_poll(k->pair.node[1].worker[1]);
		sched_yield();
	}
	if (memcmp(copy, k->mem, BYTES) != 0)
		k->fault = "a byte changed after the invalidation";
}

static void *
own(void *arg)
{
	struct keys *k = arg;
	uint32_t key = pmv_mr_rkey(k->fast);
	uint8_t *copy = malloc(BYTES);

	if (copy == NULL || pmv_worker_attach(k->pair.node[1].worker[1]) != 0)
		k->fault = "attach";
	for (uint32_t round = 0; round < ROUNDS && k->fault == NULL; round++)
		one_round(k, round, &key, copy);
	set(&k->round, ROUNDS + 1);
	while (!get(&k->stop)) {
		pmv_worker_poll(k->pair.node[1].worker[1]);
		sched_yield();
	}
	pmv_worker_detach(k->pair.node[1].worker[1]);
	free(copy);
	return NULL;
}

static void
turn_node_0(struct keys *k)
{
	for (uint16_t i = 0; i < 2; i++)
		pmv_worker_poll(k->pair.node[0].worker[i]);
	pmv_test_link_step(k->pair.link, rte_rdtsc());
	sched_yield();
}

/* WRITEs of ever other bytes, until one is refused. */
static void
write_until_refused(struct keys *k, uint32_t round)
{
	struct pmv_qp *qp = k->writer[0][round];
	const struct pmv_sge sge = { (uintptr_t)k->from, BYTES, pmv_mr_lkey(k->source) };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };
	uint32_t nb_posted = 0, nb_done = 0;
	struct pmv_wc wc;

	wr.wr.rdma.rkey = get(&k->key);
	while (!is_late(k)) {
		if (nb_posted - nb_done < 2) {
			memset(k->from, (int)(round * 31 + nb_posted + 1), BYTES);
			assert_int_equal(pmv_post_send(qp, &wr, 1), 1);
			nb_posted++;
		}
		turn_node_0(k);
		while (pmv_poll_cq(k->pair.node[0].cq[0], &wc, 1) == 1) {
			if (wc.qp_num != pmv_qp_num(qp))
				continue;
			if (wc.status != PMV_WC_SUCCESS) {
				assert_int_equal(wc.status, PMV_WC_REM_ACCESS_ERR);
				return;
			}
			nb_done++;
			set(&k->nb_bursts, get(&k->nb_bursts) + 1);
		}
	}
	fail_msg("round %u: not refused", round);
}

/* With two workers the top bit of a QPN is the worker. */
static uint16_t
steer(const struct rte_mbuf *m)
{
	return pmv_be32_load(rte_pktmbuf_mtod_offset(m, const uint8_t *, 46)) >> 23 & 1;
}

static void
patient(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 18;
}

static struct keys *
keys_open(void)
{
	const struct pmv_test_pair_param pp = { .nb_workers = 2 };
	struct keys *k = test_calloc(1, sizeof(*k));

	pmv_test_pair_open(&k->pair, &pp);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (int side = 0; side < 2; side++)
			k->writer[side][i] = pmv_test_qp_create(&k->pair.node[side], 0, PMV_QPT_RC);
		pmv_test_qp_connect(
			&k->pair, k->writer[0][i], k->writer[1][i], false, PMV_MTU_2048, patient);
	}
	for (int side = 0; side < 2; side++)
		k->owner[side] = pmv_test_qp_create(&k->pair.node[side], 1, PMV_QPT_RC);
	pmv_test_qp_connect(&k->pair, k->owner[0], k->owner[1], false, PMV_MTU_1024, patient);
	k->pair.link->end[1].steer = steer;
	k->pair.link->end[0].steer = steer;
	k->from = aligned_alloc(PAGE, BYTES);
	k->mem = aligned_alloc(PAGE, BYTES);
	assert_true(k->from != NULL && k->mem != NULL);
	memset(k->mem, 0, BYTES);
	assert_int_equal(pmv_reg_mr(k->pair.node[0].pd, k->from, BYTES, 0, &k->source), 0);
	assert_int_equal(pmv_alloc_mr(k->pair.node[1].pd, NB_PAGES, PAGE, &k->fast), 0);
	k->end = seconds() + LIMIT_S;
	return k;
}

static void
keys_close(struct keys *k)
{
	struct pmv_event ev;
	int rc;

	for (uint32_t i = 0; i < ROUNDS; i++)
		for (int side = 0; side < 2; side++)
			assert_int_equal(pmv_destroy_qp(k->writer[side][i]), 0);
	for (int side = 0; side < 2; side++)
		assert_int_equal(pmv_destroy_qp(k->owner[side]), 0);
	rc = pmv_dereg_mr(k->source);
	assert_true(rc == 0 || rc == -EINPROGRESS);
	rc = pmv_dereg_mr(k->fast);
	assert_true(rc == 0 || rc == -EINPROGRESS);
	pmv_test_pair_run(&k->pair, 100, 10);
	for (int side = 0; side < 2; side++)
		while (pmv_poll_async_event(k->pair.node[side].dev, &ev) == 1)
			continue;
	pmv_test_pair_close(&k->pair);
	free(k->from);
	free(k->mem);
	test_free(k);
}

/* MR-411. */
static void
join_keys__invalidated_under_fire(void **state)
{
	struct keys *k = keys_open();

	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_worker_detach(k->pair.node[1].worker[i]), 0);
	assert_int_equal(pthread_create(&k->thread[0], NULL, poll_writer, k), 0);
	assert_int_equal(pthread_create(&k->thread[1], NULL, own, k), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		while (get(&k->round) < round + 1 && !is_late(k))
			turn_node_0(k);
		if (get(&k->round) > round + 1)
			break; /* a fault ended it */
		write_until_refused(k, round);
		set(&k->over, round + 1);
	}
	while (get(&k->round) != ROUNDS + 1 && !is_late(k))
		turn_node_0(k);
	set(&k->stop, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(k->thread[i], NULL), 0);
	if (k->fault != NULL)
		fail_msg("%s", k->fault);
	assert_int_equal(get(&k->over), ROUNDS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_worker_attach(k->pair.node[1].worker[i]), 0);
	k->pair.now = rte_rdtsc();
	keys_close(k);
}

/* Turns of the owner's worker alone. True: its request has completed. */
static bool
owner_is_done(struct keys *k)
{
	struct pmv_wc wc;

	for (int i = 0; i < 50; i++) {
		pmv_worker_poll_at(k->pair.node[1].worker[1], ++k->pair.now);
		if (pmv_poll_cq(k->pair.node[1].cq[1], &wc, 1) == 1) {
			assert_int_equal(wc.status, PMV_WC_SUCCESS);
			return true;
		}
	}
	return false;
}

/* The same without threads: the other worker looks as if another thread had it. What ends a life
 * completes, and what begins another one there starts, when it has had a turn; the rest at once. */
static void
join_keys__waits_for_a_turn_of_the_other_worker(void **state)
{
	struct keys *k = keys_open();
	struct pmv_worker *other = k->pair.node[1].worker[0];
	struct pmv_send_wr reg = { .opcode = PMV_WR_REG_MR, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_send_wr inv = { .opcode = PMV_WR_LOCAL_INV, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_send_wr bind = { .opcode = PMV_WR_BIND_MW, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_mw_bind b = { k->fast, 0, 64, PMV_ACCESS_REMOTE_WRITE };
	struct pmv_mw *mw[3];
	uint32_t key = pmv_mr_rkey(k->fast);
	void *page = k->mem;

	pmv_test_pair_run(&k->pair, 100, 10);
	for (int type = 1; type <= 2; type++)
		assert_int_equal(
			pmv_alloc_mw(k->pair.node[1].pd, (enum pmv_mw_type)type, &mw[type]), 0);
	other->seat->owner++;
	assert_int_equal(pmv_map_mr(k->fast, &page, 1, 0, PAGE), 0);
	reg.wr.reg.mr = k->fast;
	reg.wr.reg.access = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND;
	for (int i = 0; i < 3; i++) {
		reg.wr.reg.key = key = pmv_inc_rkey(key);
		assert_int_equal(pmv_post_send(k->owner[1], &reg, 1), 1);
		assert_true(owner_is_done(k));
		inv.invalidate_rkey = key;
		assert_int_equal(pmv_post_send(k->owner[1], &inv, 1), 1);
		assert_false(owner_is_done(k));
		pmv_worker_poll_at(other, k->pair.now);
		assert_true(owner_is_done(k));
	}
	reg.wr.reg.key = key = pmv_inc_rkey(key);
	assert_int_equal(pmv_post_send(k->owner[1], &reg, 1), 1);
	assert_true(owner_is_done(k));
	bind.wr.bind_mw.bind = &b;
	for (int i = 0; i < 3; i++) { /* type 1 gives up what it has for another bind */
		bind.wr.bind_mw.mw = mw[1];
		assert_int_equal(pmv_post_send(k->owner[1], &bind, 1), 1);
		assert_int_equal(owner_is_done(k), i == 0);
		pmv_worker_poll_at(other, k->pair.now);
		if (i != 0)
			assert_true(owner_is_done(k));
	}
	for (int i = 0; i < 3;
		i++) { /* type 2: nobody else had access, but others may be looking */
		bind.wr.bind_mw.mw = mw[2];
		bind.wr.bind_mw.rkey = inv.invalidate_rkey = pmv_inc_rkey(pmv_mw_rkey(mw[2]));
		assert_int_equal(pmv_post_send(k->owner[1], &bind, 1), 1);
		assert_int_equal(owner_is_done(k), i == 0);
		pmv_worker_poll_at(other, k->pair.now);
		if (i != 0)
			assert_true(owner_is_done(k));
		assert_int_equal(pmv_post_send(k->owner[1], &inv, 1), 1);
		assert_true(owner_is_done(k));
	}
	other->seat->owner--;
	assert_int_equal(pmv_dealloc_mw(mw[1]), 0);
	assert_int_equal(pmv_dealloc_mw(mw[2]), 0);
	keys_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_keys__waits_for_a_turn_of_the_other_worker),
		cmocka_unit_test(join_keys__invalidated_under_fire),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
