// SPDX-License-Identifier: BSD-3-Clause
/*
 * Local communication IDs: unique while they live, found exactly, resting as long as possible.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cm/comm_id.h"

#define NB 64

static struct pmv_cm_comm_ids table;
static struct pmv_random rnd;

static void *
start(uint64_t seed)
{
	void *mem = malloc(pmv_cm_comm_ids_bytes(NB));

	pmv_random_init(&rnd, seed);
	assert_int_equal(pmv_cm_comm_ids_init(&table, mem, NB, &rnd), 0);
	return mem;
}

static void
comm_id_bytes__only_powers_of_two(void **state)
{
	assert_int_equal(pmv_cm_comm_ids_bytes(0), 0);
	assert_int_equal(pmv_cm_comm_ids_bytes(1), 0);
	assert_int_equal(pmv_cm_comm_ids_bytes(3), 0);
	assert_int_equal(pmv_cm_comm_ids_bytes(1u << 21), 0);
	assert_int_not_equal(pmv_cm_comm_ids_bytes(1u << 20), 0);
	assert_int_equal(pmv_cm_comm_ids_init(&table, NULL, NB, &rnd), -EINVAL);
	assert_int_equal(pmv_cm_comm_ids_init(&table, &rnd, 3, &rnd), -EINVAL);
}

static void
comm_id_alloc__unique_found_and_full(void **state)
{
	void *mem = start(3);
	uint32_t id[NB + 1];
	int record[NB];

	for (uint32_t i = 0; i < NB; i++) {
		assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record[i], &id[i]), 0);
		assert_int_not_equal(id[i], 0);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(id[i], id[k]);
	}
	assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record[0], &id[NB]), -ENOSPC);
	for (uint32_t i = 0; i < NB; i++) {
		assert_ptr_equal(pmv_cm_comm_ids_find(&table, id[i]), &record[i]);
		assert_null(pmv_cm_comm_ids_find(&table, id[i] ^ 0x80000000));
		assert_ptr_equal(pmv_cm_comm_ids_at(&table, pmv_cm_comm_ids_index(&table, id[i])),
			&record[i]);
	}
	assert_null(pmv_cm_comm_ids_find(&table, 0));
	assert_null(pmv_cm_comm_ids_at(&table, NB));
	free(mem);
}

/* A freed ID is not found, is not freed twice, and its slot is the last to be used again. */
static void
comm_id_free__rests(void **state)
{
	void *mem = start(4);
	uint32_t id, first, index;
	int record;

	assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record, &first), 0);
	index = pmv_cm_comm_ids_index(&table, first);
	pmv_cm_comm_ids_free(&table, first ^ 0x80000000);
	assert_int_equal(table.nb, 1);
	pmv_cm_comm_ids_free(&table, first);
	pmv_cm_comm_ids_free(&table, first);
	assert_int_equal(table.nb, 0);
	assert_null(pmv_cm_comm_ids_find(&table, first));
	for (uint32_t i = 0; i < NB - 1; i++) {
		assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record, &id), 0);
		assert_int_not_equal(pmv_cm_comm_ids_index(&table, id), index);
	}
	assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record, &id), 0);
	assert_int_equal(pmv_cm_comm_ids_index(&table, id), index);
	assert_int_not_equal(id, first);
	assert_null(pmv_cm_comm_ids_find(&table, first));
	free(mem);
}

/* Many lives in a random order: what is in is found, what is not is not, and all slots come home.
 */
static void
comm_id__random_lives(void **state)
{
	void *mem = start(5);
	uint32_t live[NB];
	uint32_t nb = 0;
	int record;

	for (uint32_t i = 0; i < 100000; i++) {
		if (nb == 0 || (nb < NB && (pmv_random_next64(&rnd) & 1) != 0)) {
			assert_int_equal(
				pmv_cm_comm_ids_alloc(&table, &rnd, &record, &live[nb]), 0);
			nb++;
		} else {
			uint32_t k = (uint32_t)pmv_random_below(&rnd, nb);

			assert_ptr_equal(pmv_cm_comm_ids_find(&table, live[k]), &record);
			pmv_cm_comm_ids_free(&table, live[k]);
			assert_null(pmv_cm_comm_ids_find(&table, live[k]));
			live[k] = live[--nb];
		}
		assert_int_equal(table.nb, nb);
	}
	while (nb > 0)
		pmv_cm_comm_ids_free(&table, live[--nb]);
	for (nb = 0; nb < NB; nb++)
		assert_int_equal(pmv_cm_comm_ids_alloc(&table, &rnd, &record, &live[nb]), 0);
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comm_id_bytes__only_powers_of_two),
		cmocka_unit_test(comm_id_alloc__unique_found_and_full),
		cmocka_unit_test(comm_id_free__rests),
		cmocka_unit_test(comm_id__random_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
