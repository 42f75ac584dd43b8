// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_stats.h"

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
worker_stats__own_then_driver(void **state)
{
	struct pmv_stat s[32];
	uint32_t nb = pmv_worker_stats(n.worker[0], NULL, 0);

	assert_true(nb > 1 && nb <= 32);
	s[2].name = "untouched";
	assert_int_equal(pmv_worker_stats(n.worker[0], s, 2), nb);
	assert_string_equal(s[0].name, "commands");
	assert_string_equal(s[2].name, "untouched");
	assert_int_equal(pmv_worker_stats(n.worker[0], s, 32), nb);
	assert_string_equal(s[nb - 1].name, "fake_calls");
	assert_int_equal(s[nb - 1].value, 42);
}

static void
worker_stat__by_name(void **state)
{
	struct pmv_qp *qp;

	assert_int_equal(pmv_worker_stat(n.worker[0], "fake_calls"), 42);
	assert_int_equal(pmv_worker_stat(n.worker[0], "no such"), 0);
	assert_int_equal(pmv_worker_stat(n.worker[0], "commands"), 0);
	qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	assert_int_equal(pmv_worker_stat(n.worker[0], "commands"), 1);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
qp_get_stats__of_the_driver(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_stats s;

	memset(&s, 0xff, sizeof(s));
	assert_int_equal(pmv_qp_get_stats(qp, &s), 0);
	assert_int_equal(s.tx_pkts, 5);
	assert_int_equal(s.rx_pkts, 0);
	assert_int_equal(pmv_qp_get_stats(NULL, &s), -EINVAL);
	assert_int_equal(pmv_qp_get_stats(qp, NULL), -EINVAL);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(worker_stats__own_then_driver),
		T(worker_stat__by_name),
		T(qp_get_stats__of_the_driver),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
