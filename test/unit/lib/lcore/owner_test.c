// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/owner.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

static struct pmv_worker w;

static void *
call_attach(void *arg)
{
	*(int *)arg = pmv_lcore_owner_attach(&w);
	return NULL;
}

static void *
call_detach(void *arg)
{
	*(int *)arg = pmv_lcore_owner_detach(&w);
	return NULL;
}

static void *
call_is_quiet(void *arg)
{
	*(int *)arg = pmv_lcore_owner_is_quiet(&w);
	return NULL;
}

/* In another thread. */
static int
elsewhere(void *(*call)(void *arg))
{
	pthread_t t;
	int rc;

	assert_int_equal(pthread_create(&t, NULL, call, &rc), 0);
	pthread_join(t, NULL);
	return rc;
}

static void
attach__only_when_detached(void **state)
{
	w.owner = PMV_LCORE_OWNER_NONE;
	assert_false(pmv_lcore_owner_is_self(&w));
	assert_int_equal(pmv_lcore_owner_attach(&w), 0);
	assert_true(pmv_lcore_owner_is_self(&w));
	assert_true(pmv_lcore_owner_is_attached(&w));
	assert_int_equal(pmv_lcore_owner_attach(&w), -EBUSY);
	assert_int_equal(elsewhere(call_attach), -EBUSY);
	assert_int_equal(elsewhere(call_detach), -EPERM);
	assert_int_equal(pmv_lcore_owner_detach(&w), 0);
	assert_int_equal(pmv_lcore_owner_detach(&w), -EPERM);
	assert_int_equal(elsewhere(call_attach), 0);
	assert_int_equal(pmv_lcore_owner_attach(&w), -EBUSY);
}

static void
claim__keeps_others_out_and_is_not_attached(void **state)
{
	w.owner = PMV_LCORE_OWNER_NONE;
	assert_int_equal(pmv_lcore_owner_claim(&w), 0);
	assert_true(pmv_lcore_owner_is_self(&w));
	assert_false(pmv_lcore_owner_is_attached(&w));
	assert_false(pmv_lcore_owner_is_attached_here(&w));
	assert_int_equal(pmv_lcore_owner_claim(&w), -EBUSY);
	assert_int_equal(pmv_lcore_owner_detach(&w), -EPERM);
	pmv_lcore_owner_unclaim(&w);
	assert_int_equal(w.owner, PMV_LCORE_OWNER_NONE);
}

static void *
claim_for_a_while(void *arg)
{
	pthread_barrier_t *b = arg;
	struct timespec t = { .tv_nsec = 20 * 1000 * 1000 };

	if (pmv_lcore_owner_claim(&w) != 0)
		abort();
	pthread_barrier_wait(b);
	nanosleep(&t, NULL);
	pmv_lcore_owner_unclaim(&w);
	return NULL;
}

static void
attach__waits_for_a_claim_to_end(void **state)
{
	pthread_barrier_t b;
	pthread_t t;

	w.owner = PMV_LCORE_OWNER_NONE;
	pthread_barrier_init(&b, NULL, 2);
	assert_int_equal(pthread_create(&t, NULL, claim_for_a_while, &b), 0);
	pthread_barrier_wait(&b);
	assert_int_equal(pmv_lcore_owner_attach(&w), 0);
	pthread_join(t, NULL);
	pthread_barrier_destroy(&b);
	assert_int_equal(pmv_lcore_owner_detach(&w), 0);
}

static void
is_quiet__unless_attached_elsewhere(void **state)
{
	w.owner = PMV_LCORE_OWNER_NONE;
	assert_true(pmv_lcore_owner_is_quiet(&w));
	assert_int_equal(pmv_lcore_owner_attach(&w), 0);
	assert_true(pmv_lcore_owner_is_quiet(&w));
	assert_false(elsewhere(call_is_quiet));
	assert_int_equal(pmv_lcore_owner_detach(&w), 0);
	assert_true(elsewhere(call_is_quiet));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach__only_when_detached),
		cmocka_unit_test(claim__keeps_others_out_and_is_not_attached),
		cmocka_unit_test(attach__waits_for_a_claim_to_end),
		cmocka_unit_test(is_quiet__unless_attached_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
