// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/util/random: reference numbers, bounds, the operating system's bytes.
 */
#include "lib/util/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The first outputs from state {1, 2, 3, 4}, computed from the published definition with bignums.
 */
static void
random_next64__reference(void **state)
{
	struct pmv_random r = { { 1, 2, 3, 4 } };
	static const uint64_t want[] = { 11520, 0, 1509978240, 1215971899390074240u };

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_true(pmv_random_next64(&r) == want[i]);
}

static void
random_init__seed_decides(void **state)
{
	struct pmv_random a, b, c;

	pmv_random_init(&a, 0);
	pmv_random_init(&b, 0);
	pmv_random_init(&c, 1);
	for (int i = 0; i < 16; i++) {
		uint64_t v = pmv_random_next64(&a);

		assert_true(v == pmv_random_next64(&b));
		assert_true(v != pmv_random_next64(&c));
	}
}

static void
random_below__bounds_and_spread(void **state)
{
	struct pmv_random r;
	uint32_t count[10] = { 0 };

	pmv_random_init(&r, 42);
	for (int i = 0; i < 100; i++)
		assert_int_equal(pmv_random_below(&r, 1), 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = pmv_random_below(&r, 10);

		assert_true(v < 10);
		count[v]++;
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(count[i], 9500, 10500);
	assert_true(pmv_random_below(&r, UINT64_MAX) < UINT64_MAX);
}

static void
random_os__differs(void **state)
{
	struct pmv_random a, b;
	uint8_t x[32], y[32];

	assert_int_equal(pmv_random_seed_os(&a), 0);
	assert_int_equal(pmv_random_seed_os(&b), 0);
	assert_true(pmv_random_next64(&a) != pmv_random_next64(&b));
	assert_int_equal(pmv_random_bytes_os(x, sizeof(x)), 0);
	assert_int_equal(pmv_random_bytes_os(y, sizeof(y)), 0);
	assert_memory_not_equal(x, y, sizeof(x));
	assert_int_equal(pmv_random_bytes_os(x, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_next64__reference),
		cmocka_unit_test(random_init__seed_decides),
		cmocka_unit_test(random_below__bounds_and_spread),
		cmocka_unit_test(random_os__differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
