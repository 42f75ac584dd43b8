// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/placement.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;

static int
setup(void **state)
{
	fake_node_open(&n, 1);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static void
check__warns_once_per_kind_when_nodes_differ(void **state)
{
	n.dev->socket_id = 1;
	n.dev->placement_warned = 0;
	fake_log_begin();
	assert_true(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_POOL, 0));
	fake_log_end("mempool");
	assert_false(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_POOL, 0));
	assert_false(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_REGION, 1));
	assert_false(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_REGION, -1));
	fake_log_begin();
	assert_true(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_REGION, 0));
	fake_log_end("memory region");
	n.dev->socket_id = -1;
	assert_false(pmv_lcore_placement_check(n.dev, PMV_LCORE_PLACEMENT_LCORE, 0));
}

static void
attach__warns_of_a_foreign_lcore(void **state)
{
	n.dev->socket_id = pmv_lcore_placement_of_thread() + 1;
	n.dev->placement_warned = 0;
	if (n.dev->socket_id == 0)
		skip(); /* a kernel without NUMA: nothing is known, nothing is said */
	fake_log_begin();
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	fake_log_end("lcore");
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
of_memory__of_nothing_is_unknown(void **state)
{
	assert_true(pmv_lcore_placement_of_memory(NULL) < 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(check__warns_once_per_kind_when_nodes_differ),
		T(attach__warns_of_a_foreign_lcore),
		T(of_memory__of_nothing_is_unknown),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
