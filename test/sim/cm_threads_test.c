// SPDX-License-Identifier: BSD-3-Clause
/*
 * The control lcore is not the worker's: the workers (and the wire) run on another thread, so each
 * change of a QP travels by mailbox, and answers come turns later. Real time.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "cm/cm.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

#define ROUNDS 40

static struct cm_lab lab;
static uint32_t stop;
static uint32_t stalled; /* the workers shall not turn */
static uint32_t rests;   /* and they do not */

static void *
data_lcore(void *arg)
{
	struct pmv_worker *w[2] = { lab.pair.node[0].worker[0], lab.pair.node[1].worker[0] };

	for (int i = 0; i < 2; i++)
		if (pmv_worker_attach(w[i]) != 0)
			return (void *)1;
	while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0) {
		uint32_t rest = __atomic_load_n(&stalled, __ATOMIC_ACQUIRE);

		__atomic_store_n(&rests, rest, __ATOMIC_RELEASE);
		if (rest != 0)
			continue;
		for (int i = 0; i < 2; i++)
			pmv_worker_poll(w[i]);
		pmv_test_link_step(lab.pair.link, rte_rdtsc());
	}
	for (int i = 0; i < 2; i++)
		if (pmv_worker_detach(w[i]) != 0)
			return (void *)1;
	return NULL;
}

static pthread_t
start_data_lcore(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		lab.pair.link->end[i].out.hook = NULL; /* it would write what we read */
		assert_int_equal(pmv_worker_detach(lab.pair.node[i].worker[0]), 0);
	}
	__atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&thread, NULL, data_lcore, NULL), 0);
	return thread;
}

static void
end_data_lcore(pthread_t thread)
{
	void *bad;

	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, &bad);
	assert_null(bad);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_worker_attach(lab.pair.node[i].worker[0]), 0);
	/* the virtual clock goes on from here */
	lab.pair.now = rte_rdtsc() + 1000 * lab.pair.link->ticks_per_us;
}

/* Polls both CMs until side has nb events of the kind. */
static void
poll_until(int side, enum pmv_cm_event_type event, uint32_t nb)
{
	uint64_t end = rte_rdtsc() + 20 * rte_get_tsc_hz();

	while (cm_lab_count(&lab, side, event) < nb) {
		assert_true(rte_rdtsc() < end);
		for (int i = 0; i < 2; i++)
			pmv_cm_poll(lab.s[i].cm);
	}
}

static void
cm_threads__rounds(void **state)
{
	pthread_t thread;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	thread = start_data_lcore();
	for (int i = 0; i < ROUNDS; i++) {
		struct pmv_cm_id *a = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);

		poll_until(0, PMV_CM_EVENT_ESTABLISHED, 1);
		poll_until(1, PMV_CM_EVENT_ESTABLISHED, 1);
		if (i & 1)
			assert_int_equal(pmv_cm_disconnect(a), 0);
		cm_lab_destroy(&lab, 0, a);
		poll_until(1, PMV_CM_EVENT_DISCONNECTED, 1);
		cm_lab_destroy(&lab, 1, lab.s[1].ids[0]);
		for (int side = 0; side < 2; side++) {
			lab.s[side].nb_ev = 0;
			lab.s[side].nb_ids = 0;
		}
	}
	while (!TAILQ_EMPTY(&lab.s[0].cm->qp_work) || !TAILQ_EMPTY(&lab.s[1].cm->qp_work))
		for (int i = 0; i < 2; i++)
			pmv_cm_poll(lab.s[i].cm);
	end_data_lcore(thread);
	cm_lab_close(&lab);
}

/* Destroyed while the worker sits on the operation: nothing blocks, all is finished later. */
static void
cm_threads__destroy_while_the_worker_is_stalled(void **state)
{
	struct pmv_cm_id *a;
	pthread_t thread;
	struct pmv_qp *qp;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	thread = start_data_lcore();
	a = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	poll_until(0, PMV_CM_EVENT_ESTABLISHED, 1);
	poll_until(1, PMV_CM_EVENT_ESTABLISHED, 1);
	__atomic_store_n(&stalled, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&rests, __ATOMIC_ACQUIRE) == 0)
		;
	qp = pmv_cm_id_qp(a);
	assert_int_equal(pmv_cm_destroy_id(a), 0);
	assert_int_equal(pmv_destroy_qp(qp), -EBUSY); /* the change to ERR is on its way */
	for (int i = 0; i < 100; i++)
		pmv_cm_poll(lab.s[0].cm);
	assert_int_equal(pmv_destroy_qp(qp), -EBUSY);
	__atomic_store_n(&stalled, 0, __ATOMIC_RELEASE);
	poll_until(1, PMV_CM_EVENT_DISCONNECTED, 1);
	while (!TAILQ_EMPTY(&lab.s[0].cm->qp_work))
		pmv_cm_poll(lab.s[0].cm);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_ERR);
	cm_lab_destroy(&lab, 1, lab.s[1].ids[0]);
	while (!TAILQ_EMPTY(&lab.s[1].cm->qp_work))
		pmv_cm_poll(lab.s[1].cm);
	end_data_lcore(thread);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_threads__rounds),
		cmocka_unit_test(cm_threads__destroy_while_the_worker_is_stalled),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
