// SPDX-License-Identifier: BSD-3-Clause
#include "lib/driver/registry.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/lib/verbs/fake_driver.h"

static int probe_result[2];

static int
probe_a(uint16_t port_id)
{
	return probe_result[0];
}

static int
probe_b(uint16_t port_id)
{
	return probe_result[1];
}

static const struct pmv_driver_ops ops_a = { .probe = probe_a }, ops_b = { .probe = probe_b };
static struct pmv_driver a = { .name = "a", .ops = &ops_a }, b = { .name = "b", .ops = &ops_b };

/* The library's own drivers are registered before main; these two come behind them. */
static void
register__appends_in_order(void **state)
{
	unsigned int nb = 0;

	while (pmv_driver_name(nb) != NULL)
		nb++;
	assert_null(pmv_driver_find("a"));
	pmv_driver_register(&a);
	pmv_driver_register(&b);
	assert_string_equal(pmv_driver_name(nb), "a");
	assert_string_equal(pmv_driver_name(nb + 1), "b");
	assert_null(pmv_driver_name(nb + 2));
	assert_ptr_equal(pmv_driver_find("a"), &a);
	assert_ptr_equal(pmv_driver_find("b"), &b);
	assert_ptr_equal(a.next, &b);
	assert_non_null(pmv_driver_first());
	assert_string_equal(pmv_driver_first()->name, pmv_driver_name(0));
}

static void
choose__by_name_and_by_probe(void **state)
{
	struct pmv_driver *d = NULL;

	assert_int_equal(pmv_driver_choose("b", 0, &d), 0);
	assert_ptr_equal(d, &b);
	assert_int_equal(pmv_driver_choose("c", 0, &d), -ENOENT);
	fake.probe = -1;
	probe_result[1] = -1;
	assert_int_equal(pmv_driver_choose("b", 0, &d), -ENOTSUP);
	/* Port 0 does not exist, so only ours say yes. */
	assert_int_equal(pmv_driver_choose(NULL, 0, &d), 0);
	assert_ptr_equal(d, &a);
	probe_result[0] = -1;
	probe_result[1] = 0;
	assert_int_equal(pmv_driver_choose(NULL, 0, &d), 0);
	assert_ptr_equal(d, &b);
	probe_result[1] = -1;
	assert_int_equal(pmv_driver_choose(NULL, 0, &d), -ENOTSUP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register__appends_in_order),
		cmocka_unit_test(choose__by_name_and_by_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
