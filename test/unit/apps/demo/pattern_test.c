// SPDX-License-Identifier: BSD-3-Clause
/*
 * The demonstration's patterns: the check must be able to fail, for each byte and for each other
 * message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "apps/demo/pattern.h"

#define SIZE_MAX_BYTES 100u

static void
check__every_byte_counts(void **state)
{
	uint8_t buf[SIZE_MAX_BYTES];

	(void)state;
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size++) {
		pmv_demo_pattern_fill(buf, size, size);
		assert_true(pmv_demo_pattern_check(buf, size, size));
		for (uint32_t i = 0; i < size; i++) {
			buf[i] ^= 0x10;
			assert_false(pmv_demo_pattern_check(buf, size, size));
			buf[i] ^= 0x10;
		}
	}
}

static void
check__another_message_is_wrong(void **state)
{
	uint8_t buf[8];

	(void)state;
	for (uint64_t id = 0; id < 1000; id++) {
		pmv_demo_pattern_fill(buf, sizeof(buf), id);
		assert_false(pmv_demo_pattern_check(buf, sizeof(buf), id + 1));
		assert_false(pmv_demo_pattern_check(buf, sizeof(buf), id + (1ull << 40)));
	}
}

static void
spoil__no_byte_is_right(void **state)
{
	uint8_t right[SIZE_MAX_BYTES];
	uint8_t spoilt[SIZE_MAX_BYTES];

	(void)state;
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size++) {
		pmv_demo_pattern_fill(right, size, 7);
		pmv_demo_pattern_spoil(spoilt, size, 7);
		for (uint32_t i = 0; i < size; i++)
			assert_int_not_equal(right[i], spoilt[i]);
	}
}

static void
fill__writes_size_bytes(void **state)
{
	uint8_t buf[SIZE_MAX_BYTES + 1];

	(void)state;
	for (uint32_t size = 1; size <= SIZE_MAX_BYTES; size++) {
		buf[size] = 0xa5;
		pmv_demo_pattern_fill(buf, size, 3);
		assert_int_equal(buf[size], 0xa5);
		pmv_demo_pattern_spoil(buf, size, 3);
		assert_int_equal(buf[size], 0xa5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__every_byte_counts),
		cmocka_unit_test(check__another_message_is_wrong),
		cmocka_unit_test(spoil__no_byte_is_right),
		cmocka_unit_test(fill__writes_size_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
