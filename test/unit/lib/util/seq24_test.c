// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/util/seq24 and lib/util/be: modular compare around the wrap, loads and stores both ways.
 */
#include "lib/util/seq24.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/be.h"

static void
psn_diff__around_the_wrap(void **state)
{
	assert_int_equal(pmv_psn_diff(pmv_psn(0), pmv_psn(0xffffff)), 1);
	assert_int_equal(pmv_psn_diff(pmv_psn(0xffffff), pmv_psn(0)), -1);
	assert_int_equal(pmv_psn_diff(pmv_psn(0x7fffff), pmv_psn(0)), 0x7fffff);
	assert_int_equal(pmv_psn_diff(pmv_psn(0x800000), pmv_psn(0)), -0x800000);
	assert_true(pmv_psn_before(pmv_psn(0xfffff0), pmv_psn(5)));
	assert_false(pmv_psn_before(pmv_psn(5), pmv_psn(0xfffff0)));
	assert_false(pmv_psn_before(pmv_psn(5), pmv_psn(5)));
	assert_true(pmv_psn_eq(pmv_psn_add(pmv_psn(0xffffff), 2), pmv_psn(1)));
}

static void
psn_within__around_the_wrap(void **state)
{
	struct pmv_psn first = pmv_psn(0xfffffe);

	assert_false(pmv_psn_within(pmv_psn(0xfffffd), first, 4));
	assert_true(pmv_psn_within(pmv_psn(0xfffffe), first, 4));
	assert_true(pmv_psn_within(pmv_psn(1), first, 4));
	assert_false(pmv_psn_within(pmv_psn(2), first, 4));
	assert_false(pmv_psn_within(first, first, 0));
}

static void
be__load_and_store(void **state)
{
	uint8_t b[9] = { 0xee };

	pmv_be64_store(b + 1, 0x0102030405060708u);
	for (int i = 0; i < 8; i++)
		assert_int_equal(b[1 + i], i + 1);
	assert_true(pmv_be64_load(b + 1) == 0x0102030405060708u);
	assert_int_equal(pmv_be32_load(b + 2), 0x02030405);
	assert_int_equal(pmv_be24_load(b + 2), 0x020304);
	assert_int_equal(pmv_be16_load(b + 3), 0x0304);
	pmv_be24_store(b + 1, 0xaabbcc);
	pmv_be16_store(b + 4, 0xddee);
	pmv_be32_store(b + 5, 0xf1f2f3f4);
	static const uint8_t want[9] = { 0xee, 0xaa, 0xbb, 0xcc, 0xdd, 0xf1, 0xf2, 0xf3, 0xf4 };
	assert_memory_equal(b, want, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_diff__around_the_wrap),
		cmocka_unit_test(psn_within__around_the_wrap),
		cmocka_unit_test(be__load_and_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
