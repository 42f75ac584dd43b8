// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/guid.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

static void
make__keeps_the_oui_and_draws_the_rest(void **state)
{
	uint64_t a, b;

	assert_int_equal(pmv_verbs_guid_make(mac, 0, &a), 0);
	assert_int_equal(pmv_verbs_guid_make(mac, 0, &b), 0);
	assert_int_equal(a >> 40, 0x505400);
	assert_int_equal(b >> 40, 0x505400);
	/* Two stacks on one MAC: equal once in 2^39. */
	assert_int_not_equal(a, b);
}

static void
make__with_a_seed_is_repeatable_and_differs_by_mac(void **state)
{
	const uint8_t other[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x57 };
	uint64_t a, b, c, d;

	assert_int_equal(pmv_verbs_guid_make(mac, 7, &a), 0);
	assert_int_equal(pmv_verbs_guid_make(mac, 7, &b), 0);
	assert_int_equal(pmv_verbs_guid_make(other, 7, &c), 0);
	assert_int_equal(pmv_verbs_guid_make(mac, 8, &d), 0);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_not_equal(a, d);
}

static void
make__is_never_zero(void **state)
{
	const uint8_t zero[6] = { 0x02 }; /* the universal bit inverted: an EUI of zeros in front */
	uint64_t guid;
	uint64_t seed;

	for (seed = 1; seed < 100; seed++) {
		assert_int_equal(pmv_verbs_guid_make(zero, seed, &guid), 0);
		assert_int_not_equal(guid, 0);
	}
}

static void
make_mac__is_unicast_local_and_differs_by_port(void **state)
{
	uint8_t a[6], b[6], c[6];

	assert_int_equal(pmv_verbs_guid_make_mac(3, 0, a), 0);
	assert_int_equal(pmv_verbs_guid_make_mac(3, 1, b), 0);
	assert_int_equal(pmv_verbs_guid_make_mac(0, 0, c), 0);
	assert_int_equal(a[0] & 3, 2);
	assert_int_equal(c[0] & 3, 2);
	assert_memory_not_equal(a, b, 6);
	assert_memory_not_equal(a, c, 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make__keeps_the_oui_and_draws_the_rest),
		cmocka_unit_test(make__with_a_seed_is_repeatable_and_differs_by_mac),
		cmocka_unit_test(make__is_never_zero),
		cmocka_unit_test(make_mac__is_unicast_local_and_differs_by_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
