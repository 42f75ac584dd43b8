// SPDX-License-Identifier: BSD-3-Clause
/*
 * The bytes of rping's messages against a capture of Linux's rping (vectors: frames 18, 21 and 33
 * of rping.pcap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "apps/rping/ping.h"

/* The client's first SEND: place of its source buffer. */
static const uint8_t place_bytes[PMV_RPING_PLACE_BYTES] = { 0x00, 0x00, 0x56, 0x4f, 0x96, 0x46,
	0x55, 0x50, 0x00, 0x00, 0x04, 0x56, 0x00, 0x00, 0x00, 0x40 };
/* What the server read in rounds 0 and 1; the last byte is 0. */
static const char text_0[64] = "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr";
static const char text_1[64] = "rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs";

static void
place__as_linux_sends_it(void **state)
{
	struct pmv_rping_place place;
	uint8_t again[PMV_RPING_PLACE_BYTES];

	(void)state;
	pmv_rping_place_parse(place_bytes, &place);
	assert_true(place.addr == 0x564f96465550u);
	assert_int_equal(place.rkey, 0x456);
	assert_int_equal(place.size, 64);
	pmv_rping_place_build(&place, again);
	assert_memory_equal(again, place_bytes, sizeof(again));
}

static void
text__as_linux_sends_it(void **state)
{
	char buf[64];

	(void)state;
	pmv_rping_text_fill(buf, sizeof(buf), 0);
	assert_memory_equal(buf, text_0, sizeof(buf));
	pmv_rping_text_fill(buf, sizeof(buf), 1);
	assert_memory_equal(buf, text_1, sizeof(buf));
}

static void
text__letters_start_again_after_z(void **state)
{
	char buf[32];

	(void)state;
	pmv_rping_text_fill(buf, sizeof(buf), 57);
	assert_string_equal(buf, "rdma-ping-57: zABCDEFGHIJKLMNOP");
	pmv_rping_text_fill(buf, sizeof(buf), 58);
	assert_string_equal(buf, "rdma-ping-58: ABCDEFGHIJKLMNOPQ");
}

static void
text_check__every_byte_counts(void **state)
{
	char buf[PMV_RPING_SIZE_MIN + 40];

	(void)state;
	for (uint32_t size = PMV_RPING_SIZE_MIN; size < sizeof(buf); size++) {
		pmv_rping_text_fill(buf, size, 123456789);
		assert_true(pmv_rping_text_check(buf, size, 123456789));
		assert_false(pmv_rping_text_check(buf, size, 123456788));
		for (uint32_t i = 0; i < size; i++) {
			buf[i] ^= 1;
			assert_false(pmv_rping_text_check(buf, size, 123456789));
			buf[i] ^= 1;
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place__as_linux_sends_it),
		cmocka_unit_test(text__as_linux_sends_it),
		cmocka_unit_test(text__letters_start_again_after_z),
		cmocka_unit_test(text_check__every_byte_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
