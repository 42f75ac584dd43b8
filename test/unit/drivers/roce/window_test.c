// SPDX-License-Identifier: BSD-3-Clause
/*
 * The window, across the wrap of the 24-bit PSN space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "drivers/roce/window.h"

#define SIZE 8u

static const uint32_t starts[] = { 0, 1000, 0xfffffc, 0x7ffffe };

static void
window_sent__fills_up_to_size(void **state)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct pmv_roce_window win;

		pmv_roce_window_init(&win, pmv_psn(starts[i]), SIZE);
		assert_true(pmv_roce_window_idle(&win));
		for (uint32_t n = 0; n < SIZE; n++) {
			assert_int_equal(pmv_roce_window_room(&win), SIZE - n);
			assert_false(pmv_roce_window_sent(&win, 1));
		}
		assert_int_equal(pmv_roce_window_room(&win), 0);
		assert_false(pmv_roce_window_idle(&win));
		assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(starts[i] + 3)), 3);
		assert_int_equal(pmv_roce_window_room(&win), 3);
		assert_int_equal(pmv_roce_window_ack_before(&win, win.end), SIZE - 3);
		assert_true(pmv_roce_window_idle(&win));
	}
}

/* A READ takes one packet and many PSNs: it may begin whenever one packet may, and then nothing
 * else may. */
static void
window_sent__read_overshoots_once(void **state)
{
	struct pmv_roce_window win;

	pmv_roce_window_init(&win, pmv_psn(0xfffff0), SIZE);
	pmv_roce_window_sent(&win, 1000);
	assert_int_equal(pmv_roce_window_room(&win), 0);
	assert_int_equal(win.end.v, (0xfffff0 + 1000) & 0xffffff);
	assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(0xfffff0 + 995)), 995);
	assert_int_equal(pmv_roce_window_room(&win), SIZE - 5);
}

/* IBTA 9.7.5.2: what was never sent cannot be acknowledged (Linux rxe does not check). */
static void
window_place__judges_every_psn(void **state)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct pmv_roce_window win;

		pmv_roce_window_init(&win, pmv_psn(starts[i]), SIZE);
		for (int n = 0; n < 5; n++)
			pmv_roce_window_sent(&win, 1);
		pmv_roce_window_ack_before(&win, pmv_psn(starts[i] + 2));
		for (int d = -20; d < 20; d++) {
			enum pmv_roce_window_place want = d < 2   ? PMV_ROCE_WINDOW_STALE
							  : d < 5 ? PMV_ROCE_WINDOW_INSIDE
								  : PMV_ROCE_WINDOW_UNSENT;

			assert_int_equal(
				pmv_roce_window_place(&win, pmv_psn(starts[i] + (uint32_t)d)),
				want);
		}
	}
}

static void
window_ack_before__ignores_stale_and_unsent(void **state)
{
	struct pmv_roce_window win;

	pmv_roce_window_init(&win, pmv_psn(100), SIZE);
	for (int n = 0; n < 4; n++)
		pmv_roce_window_sent(&win, 1);
	pmv_roce_window_ack_before(&win, pmv_psn(102));
	assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(101)), 0);
	assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(102)), 0);
	assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(105)), 0);
	assert_int_equal(win.una.v, 102);
	assert_int_equal(win.end.v, 104);
}

static void
window_go_back__resends_and_says_so(void **state)
{
	struct pmv_roce_window win;

	pmv_roce_window_init(&win, pmv_psn(0xfffffe), SIZE);
	for (int n = 0; n < 6; n++)
		pmv_roce_window_sent(&win, 1);
	assert_true(pmv_roce_window_go_back(&win, pmv_psn(1)));
	assert_int_equal(pmv_roce_window_room(&win), SIZE - 3);
	for (int n = 0; n < 3; n++)
		assert_true(pmv_roce_window_sent(&win, 1));
	assert_false(pmv_roce_window_sent(&win, 1));
	assert_false(pmv_roce_window_go_back(&win, pmv_psn(0xfffffd)));
	assert_false(pmv_roce_window_go_back(&win, pmv_psn_add(win.nxt, 1)));
}

/* An acknowledgement that overtakes a resend moves the send mark forward, never the other way. */
static void
window_ack_before__overtakes_a_resend(void **state)
{
	struct pmv_roce_window win;

	pmv_roce_window_init(&win, pmv_psn(50), SIZE);
	for (int n = 0; n < 6; n++)
		pmv_roce_window_sent(&win, 1);
	pmv_roce_window_go_back(&win, pmv_psn(50));
	assert_int_equal(pmv_roce_window_ack_before(&win, pmv_psn(54)), 4);
	assert_int_equal(win.nxt.v, 54);
	assert_int_equal(win.end.v, 56);
	assert_int_equal(pmv_roce_window_room(&win), SIZE);
	assert_true(pmv_roce_window_sent(&win, 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_sent__fills_up_to_size),
		cmocka_unit_test(window_sent__read_overshoots_once),
		cmocka_unit_test(window_place__judges_every_psn),
		cmocka_unit_test(window_ack_before__ignores_stale_and_unsent),
		cmocka_unit_test(window_go_back__resends_and_says_so),
		cmocka_unit_test(window_ack_before__overtakes_a_resend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
