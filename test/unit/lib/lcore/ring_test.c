// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/ring.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_memory.h>

#include "test/harness/eal.h"

/* Entry i as a pointer that is never NULL. */
static void *
item(uint32_t i)
{
	return (void *)(uintptr_t)(i + 1);
}

static void
push__until_full_then_pop_in_order(void **state)
{
	struct pmv_lcore_ring *r = pmv_lcore_ring_create(5, SOCKET_ID_ANY);
	void *got[16];
	uint32_t i;

	assert_non_null(r);
	assert_int_equal(pmv_lcore_ring_room(r), 8);
	for (i = 0; i < 8; i++)
		assert_true(pmv_lcore_ring_push(r, item(i)));
	assert_false(pmv_lcore_ring_push(r, item(8)));
	assert_int_equal(pmv_lcore_ring_room(r), 0);
	assert_int_equal(pmv_lcore_ring_count(r), 8);
	assert_int_equal(pmv_lcore_ring_pop(r, got, 3), 3);
	assert_true(pmv_lcore_ring_push(r, item(8)));
	assert_int_equal(pmv_lcore_ring_pop(r, got + 3, 16), 6);
	for (i = 0; i < 9; i++)
		assert_ptr_equal(got[i], item(i));
	assert_int_equal(pmv_lcore_ring_pop(r, got, 1), 0);
	pmv_lcore_ring_free(r);
}

static void
push__many_rounds_wrap_the_indices(void **state)
{
	struct pmv_lcore_ring *r = pmv_lcore_ring_create(4, SOCKET_ID_ANY);
	void *got[4];
	uint32_t i, k;

	/* Close to the wrap of the 32-bit counters. */
	r->head = r->tail = r->tail_seen = r->head_seen = UINT32_MAX - 5;
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 3; k++)
			assert_true(pmv_lcore_ring_push(r, item(3 * i + k)));
		assert_int_equal(pmv_lcore_ring_count(r), 3);
		assert_int_equal(pmv_lcore_ring_pop(r, got, 4), 3);
		for (k = 0; k < 3; k++)
			assert_ptr_equal(got[k], item(3 * i + k));
	}
	pmv_lcore_ring_free(r);
}

static void
free__of_null(void **state)
{
	pmv_lcore_ring_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push__until_full_then_pop_in_order),
		cmocka_unit_test(push__many_rounds_wrap_the_indices),
		cmocka_unit_test(free__of_null),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
