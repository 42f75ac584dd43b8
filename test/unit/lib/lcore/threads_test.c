// SPDX-License-Identifier: BSD-3-Clause
/*
 * The thread contract under load, to be built with -Db_sanitize=thread (suite "threads"; it also
 * runs without). Frames are made before the threads start and never taken from a pool again, since
 * the pools of DPDK are not instrumented: what passes between threads passes through our own rings,
 * and the payload is written without atomics on purpose, so that a missing happens-before edge is a
 * report.
 */
#define _GNU_SOURCE /* pthread_setaffinity_np */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"
#include "lib/verbs/ctl_channel.h"
#include "lib/verbs/nexthop.h"
#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

#define NB_QPS    400u
#define NB_FRAMES 64u
#define NB_HOPS   20000u
#define NB_MRS    2000u

/* cmocka's assertions jump, which only the thread that runs the test may do. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define TO_INIT (PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS)

static struct fake_node n;
static bool stop;

static int
setup(void **state)
{
	fake_node_open(&n, 2);
	/* -EPERM is expected here, again and again. */
	rte_log_set_level((uint32_t)pmv_log_type, RTE_LOG_CRIT);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static bool
is_stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* EAL pinned the first thread, and so its children, to one core. */
static void
spread(void)
{
	cpu_set_t set;
	long i;

	CPU_ZERO(&set);
	for (i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++)
		CPU_SET((int)i, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static pthread_t
start(void *(*run)(void *arg), void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, run, arg), 0);
	return t;
}

/* An lcore: attached all the time. */
static void *
poll_all_the_time(void *arg)
{
	struct pmv_worker *w = arg;
	uint64_t now = 0;

	spread();
	CHECK(pmv_worker_attach(w) == 0);
	while (!is_stopped())
		pmv_worker_poll_at(w, ++now);
	CHECK(pmv_worker_detach(w) == 0);
	return NULL;
}

/* An lcore that comes and goes. */
static void *
poll_now_and_then(void *arg)
{
	struct pmv_worker *w = arg;
	uint64_t now = 0;
	int i;

	spread();
	while (!is_stopped()) {
		if (pmv_worker_attach(w) != 0)
			continue; /* the other storm has it */
		for (i = 0; i < 3; i++)
			pmv_worker_poll_at(w, ++now);
		CHECK(pmv_worker_detach(w) == 0);
		sched_yield();
	}
	return NULL;
}

static void
wait_for(struct pmv_op *op)
{
	int rc;

	while ((rc = pmv_op_poll(op)) == -EINPROGRESS)
		sched_yield();
	CHECK(rc == 0);
}

static void
submit_modify(struct pmv_qp *qp, enum pmv_qp_state state, uint32_t mask)
{
	struct pmv_qp_attr a = { .qp_state = state, .port_num = 1 };
	struct pmv_op op = { 0 };

	CHECK(pmv_modify_qp_submit(qp, &a, mask, &op) == 0);
	wait_for(&op);
	CHECK(pmv_qp_get_state(qp) == state);
}

/* A control thread: QPs from create to destroy, by mailbox. */
static void *
make_qps(void *arg)
{
	struct pmv_qp_init_attr init = {
		.send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct pmv_op op = { 0 };
	struct pmv_qp *qp;
	uint32_t i;

	spread();
	for (i = 0; i < NB_QPS; i++) {
		CHECK(pmv_create_qp(n.pd, n.worker[0], &init, &qp) == 0);
		submit_modify(qp, PMV_QPS_INIT, TO_INIT);
		submit_modify(qp, PMV_QPS_ERR, PMV_QP_STATE);
		CHECK(pmv_destroy_qp_submit(qp, &op) == 0);
		wait_for(&op);
	}
	return NULL;
}

/* A control thread that tries the direct forms: they work while the worker is detached and say so
 * when it is not. */
static void *
make_qps_directly(void *arg)
{
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	struct pmv_qp_init_attr init = {
		.send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.qp_type = PMV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct pmv_qp *qp;
	uint32_t i;
	int rc;

	spread();
	for (i = 0; i < NB_QPS; i++) {
		CHECK(pmv_create_qp(n.pd, n.worker[0], &init, &qp) == 0);
		while ((rc = pmv_modify_qp(qp, &a,
				PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_QKEY)) ==
			-EPERM)
			sched_yield();
		CHECK(rc == 0);
		while ((rc = pmv_destroy_qp(qp)) == -EPERM)
			sched_yield();
		CHECK(rc == 0);
	}
	return NULL;
}

static void
stop_and_join(pthread_t *lcores, uint32_t nb)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	while (nb-- > 0)
		pthread_join(lcores[nb], NULL);
}

static void
submit__two_control_threads_one_lcore(void **state)
{
	pthread_t lcore = start(poll_all_the_time, n.worker[0]);
	pthread_t control[2] = { start(make_qps, NULL), start(make_qps, NULL) };

	pthread_join(control[0], NULL);
	pthread_join(control[1], NULL);
	stop_and_join(&lcore, 1);
	assert_int_equal(fake.nb_qps, 0);
	assert_int_equal(fake.nb_linked, 0);
	/* Create, two modifies, destroy. */
	assert_int_equal(pmv_worker_stat(n.worker[0], "commands"), 2 * NB_QPS * 4);
}

/* The mailbox by itself, without the device's lock that orders the senders of lib/verbs. */
static void
count_commit(struct pmv_op *op)
{
	uint32_t *nb = op->object; /* of the worker's owner: no atomics */

	(*nb)++;
	op->result = (int)op->arg[0];
}

static void *
submit_ops(void *arg)
{
	struct pmv_op op[8];
	uint32_t i, k;
	int rc;

	spread();
	for (i = 0; i < NB_QPS; i++) {
		for (k = 0; k < 8; k++) {
			op[k] = (struct pmv_op){
				.commit = count_commit, .object = arg, .arg = { k }
			};
			CHECK(pmv_lcore_mailbox_submit(n.worker[0], &op[k]) == 0);
		}
		for (k = 0; k < 8; k++) {
			while ((rc = pmv_op_poll(&op[k])) == -EINPROGRESS)
				sched_yield();
			CHECK(rc == (int)k);
		}
	}
	return NULL;
}

static void
mailbox__two_senders(void **state)
{
	uint32_t nb_commits = 0;
	pthread_t lcore = start(poll_all_the_time, n.worker[0]);
	pthread_t control[2] = { start(submit_ops, &nb_commits), start(submit_ops, &nb_commits) };

	pthread_join(control[0], NULL);
	pthread_join(control[1], NULL);
	stop_and_join(&lcore, 1);
	assert_int_equal(nb_commits, 2 * 8 * NB_QPS);
}

static void
attach__storm_of_two_lcores_and_two_control_threads(void **state)
{
	pthread_t lcore[2] = { start(poll_now_and_then, n.worker[0]),
		start(poll_now_and_then, n.worker[0]) };
	pthread_t control[2] = { start(make_qps, NULL), start(make_qps_directly, NULL) };

	pthread_join(control[0], NULL);
	pthread_join(control[1], NULL);
	stop_and_join(lcore, 2);
	assert_int_equal(fake.nb_qps, 0);
	assert_int_equal(fake.nb_linked, 0);
	assert_int_equal(n.worker[0]->owner, 0);
}

/* Hand-over: a frame goes back and forth and counts its hops, in plain memory. */
static void
count_and_return(struct fake_worker *w, struct rte_mbuf *m)
{
	uint64_t *hops = rte_pktmbuf_mtod(m, uint64_t *);
	uint64_t *total = w->arg;

	(*hops)++;
	(*total)++;
	if (*hops < NB_HOPS / NB_FRAMES)
		w->base.host->handover(&w->base, !w->base.index, m);
	else
		w->frames[w->nb_frames++] = m;
}

static void
handover__between_two_lcores(void **state)
{
	struct rte_mbuf *m[NB_FRAMES];
	uint64_t total[2] = { 0 };
	pthread_t lcore[2];
	uint32_t i, k;

	for (i = 0; i < 2; i++) {
		fake_worker(n.worker[i])->on_frame = count_and_return;
		fake_worker(n.worker[i])->arg = &total[i];
	}
	for (i = 0; i < NB_FRAMES; i++) {
		m[i] = rte_pktmbuf_alloc(n.link->pool);
		*(uint64_t *)(void *)rte_pktmbuf_append(m[i], 8) = 0;
		n.worker[0]->host->handover(n.worker[0], 1, m[i]);
	}
	for (i = 0; i < 2; i++)
		lcore[i] = start(poll_all_the_time, n.worker[i]);
	while (pmv_worker_stat(n.worker[0], "handover_rx") +
			pmv_worker_stat(n.worker[1], "handover_rx") <
		NB_FRAMES * (NB_HOPS / NB_FRAMES))
		sched_yield();
	stop_and_join(lcore, 2);
	assert_int_equal(total[0] + total[1], NB_FRAMES * (NB_HOPS / NB_FRAMES));
	for (i = 0, k = 0; i < 2; i++)
		k += fake_worker(n.worker[i])->nb_frames;
	assert_int_equal(k, NB_FRAMES);
	assert_int_equal(pmv_worker_stat(n.worker[0], "handover_drop"), 0);
	rte_pktmbuf_free_bulk(m, NB_FRAMES);
}

/* What a responder does in a turn: looks the key up and writes to the memory behind it, without
 * atomics. */
static void
write_to_region(struct fake_worker *w)
{
	struct fake_mr *mr = __atomic_load_n(&fake_key, __ATOMIC_ACQUIRE);
	uint32_t i;

	for (i = 0; mr != NULL && i < 64; i++)
		mr->base.addr[i]++;
}

static void
dereg_mr__memory_is_ours_again_once_it_says_so(void **state)
{
	struct pmv_event ev;
	struct pmv_mr *mr;
	uint32_t i, nb_waited = 0;
	pthread_t lcore[2];
	uint8_t *p;
	int rc;

	for (i = 0; i < 2; i++)
		fake_worker(n.worker[i])->on_rx = i == 0 ? write_to_region : NULL;
	lcore[0] = start(poll_all_the_time, n.worker[0]);
	lcore[1] = start(poll_now_and_then, n.worker[1]);
	for (i = 0; i < NB_MRS; i++) {
		p = calloc(1, 64);
		assert_int_equal(pmv_reg_mr(n.pd, p, 64, PMV_ACCESS_LOCAL_WRITE, &mr), 0);
		if (i % 8 == 0)
			sched_yield();
		rc = pmv_dereg_mr(mr);
		assert_true(rc == 0 || rc == -EINPROGRESS);
		nb_waited += rc != 0;
		while (rc != 0 && pmv_poll_async_event(n.dev, &ev) == 0)
			sched_yield();
		memset(p, 0xa5, 64); /* a race with the lcore unless the turn is over */
		free(p);
	}
	stop_and_join(lcore, 2);
	assert_int_equal(fake.nb_mrs, 0);
	print_message("%u of %u had to wait\n", nb_waited, NB_MRS);
}

/* Control frames: the lcore hands in what it has, the control thread sends it back. */
static void
hand_in(struct fake_worker *w)
{
	struct rte_mbuf *m;

	while (w->nb_ctl_sent > 0) {
		m = w->ctl_sent[--w->nb_ctl_sent];
		rte_pktmbuf_mtod(m, uint8_t *)[0]++;
		w->base.host->ctl_input(&w->base, m);
	}
}

static void
ctl_channel__echo_while_it_is_closed_and_opened(void **state)
{
	struct fake_worker *w[2] = { fake_worker(n.worker[0]), fake_worker(n.worker[1]) };
	struct pmv_ctl_channel *ch;
	struct rte_mbuf *m[8];
	uint16_t from[8];
	uint32_t i, k, nb, nb_echoed = 0;
	pthread_t lcore[2];

	for (i = 0; i < 2; i++) {
		w[i]->on_rx = hand_in;
		for (k = 0; k < FAKE_FRAMES_MAX / 2; k++) {
			w[i]->ctl_sent[k] = rte_pktmbuf_alloc(n.link->pool);
			assert_non_null(rte_pktmbuf_append(w[i]->ctl_sent[k], 64));
		}
		w[i]->nb_ctl_sent = k;
	}
	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	for (i = 0; i < 2; i++)
		lcore[i] = start(poll_all_the_time, n.worker[i]);
	for (i = 0; i < 2000; i++) {
		nb = pmv_verbs_ctl_recv(ch, m, from, 8);
		for (k = 0; k < nb; k++) {
			rte_pktmbuf_mtod(m[k], uint8_t *)[0]++;
			assert_int_equal(pmv_verbs_ctl_send(ch, from[k], m[k]), 0);
		}
		nb_echoed += nb;
		if (nb == 0)
			sched_yield();
		if (i % 500 == 499) {
			/* Frames are lost here, and freed. */
			pmv_verbs_ctl_close(ch);
			assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
		}
	}
	stop_and_join(lcore, 2);
	pmv_verbs_ctl_close(ch);
	assert_true(nb_echoed > 0);
	for (i = 0; i < 2; i++)
		rte_pktmbuf_free_bulk(w[i]->ctl_sent, w[i]->nb_ctl_sent);
}

static void
neigh_set__while_lcores_come_and_go(void **state)
{
	uint8_t mac[6] = { 2, 0, 0, 0, 0, 0 };
	union pmv_gid gid = fake_gid("10.0.0.9");
	pthread_t lcore[2];
	uint32_t i, nb_changes = 0;
	int rc;

	lcore[0] = start(poll_all_the_time, n.worker[0]);
	lcore[1] = start(poll_now_and_then, n.worker[1]);
	for (i = 0; i < 2000; i++) {
		mac[5] = (uint8_t)i;
		rc = pmv_verbs_nexthop_set(n.dev, &gid, mac);
		assert_true(rc == 0 || rc == -EAGAIN);
		nb_changes += rc == 0 && i > 0;
	}
	stop_and_join(lcore, 2);
	for (i = 0; i < 2; i++)
		assert_int_equal(fake_worker(n.worker[i])->nb_neigh, nb_changes);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(mailbox__two_senders),
		T(submit__two_control_threads_one_lcore),
		T(attach__storm_of_two_lcores_and_two_control_threads),
		T(handover__between_two_lcores),
		T(dereg_mr__memory_is_ours_again_once_it_says_so),
		T(ctl_channel__echo_while_it_is_closed_and_opened),
		T(neigh_set__while_lcores_come_and_go),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
