// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/util/idmap: ranges, reuse order, stale ids, reserved ids.
 */
#include "lib/util/idmap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void *
map_make(struct pmv_idmap *m, uint32_t nb_slots, uint32_t base, uint32_t bits, uint64_t seed)
{
	void *mem = malloc(pmv_idmap_bytes(nb_slots));

	assert_non_null(mem);
	assert_int_equal(pmv_idmap_init(m, mem, nb_slots, base, bits, seed), 0);
	return mem;
}

static void
idmap_init__bad_arguments(void **state)
{
	uint64_t mem[64];
	struct pmv_idmap m;

	assert_int_equal(pmv_idmap_bytes(0), 0);
	assert_int_equal(pmv_idmap_bytes(3), 0);
	assert_int_equal(pmv_idmap_bytes(1u << 25), 0);
	assert_int_equal(pmv_idmap_init(&m, NULL, 4, 0, 8, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, (uint8_t *)mem + 1, 4, 0, 8, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 3, 0, 8, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 4, 0, 25, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 4, 0, 1, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 4, 3, 8, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 4, 1u << 24, 8, 0), -EINVAL);
	assert_int_equal(pmv_idmap_init(&m, mem, 4, 0xffff00, 8, 0), 0);
}

/* Every id in range, all slots handed out, none twice. */
static void
idmap_alloc__range_and_exhaustion(void **state)
{
	static const struct {
		uint32_t nb_slots, base, bits;
	} shapes[] = { { 1, 0, 24 }, { 16, 0x400000, 22 }, { 64, 0xffff00, 8 }, { 256, 0, 8 },
		{ 1024, 0x800000, 23 } };

	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
		struct pmv_idmap m;
		void *mem = map_make(&m, shapes[k].nb_slots, shapes[k].base, shapes[k].bits, k);
		uint8_t *seen = calloc(1, 1u << 24);
		uint32_t n = 0, id;

		while (pmv_idmap_alloc(&m, &id) == 0) {
			assert_in_range(
				id, shapes[k].base, shapes[k].base + (1u << shapes[k].bits) - 1);
			assert_int_equal(seen[id], 0);
			seen[id] = 1;
			n++;
			assert_int_equal(pmv_idmap_count(&m), n);
		}
		assert_int_equal(pmv_idmap_alloc(&m, &id), -ENOSPC);
		/* 256 slots and 8 bits leave one id a slot, and two of them are QP0 and QP1. */
		assert_int_equal(n, shapes[k].nb_slots == 256 ? 254 : shapes[k].nb_slots);
		free(seen);
		free(mem);
	}
}

static void
idmap_alloc__never_reserved(void **state)
{
	static const uint32_t bases[] = { 0, 0xffffe0 };

	for (uint64_t seed = 0; seed < 64; seed++) {
		struct pmv_idmap m;
		void *mem = map_make(&m, 8, bases[seed & 1], 5, seed);

		for (uint32_t i = 0; i < 64; i++) {
			uint32_t id;

			assert_int_equal(pmv_idmap_alloc(&m, &id), 0);
			assert_true(id > 1 && id != 0xffffff);
			assert_int_equal(pmv_idmap_free(&m, id), 0);
		}
		free(mem);
	}
}

/* A freed id comes back only after every other slot and every other generation. */
static void
idmap_alloc__reuse_as_late_as_possible(void **state)
{
	struct pmv_idmap m;
	void *mem = map_make(&m, 8, 0x100, 6, 7); /* 8 slots x 8 generations = 64 ids */
	uint32_t first, id, n = 0;

	assert_int_equal(pmv_idmap_alloc(&m, &first), 0);
	assert_int_equal(pmv_idmap_free(&m, first), 0);
	do {
		assert_int_equal(pmv_idmap_alloc(&m, &id), 0);
		assert_int_equal(pmv_idmap_free(&m, id), 0);
		n++;
	} while (id != first);
	assert_int_equal(n, 64);
	free(mem);
}

static void
idmap_lookup__stale_id_misses(void **state)
{
	struct pmv_idmap m;
	void *mem = map_make(&m, 1, 0, 24, 3);
	int a, b;
	uint32_t old, new;

	assert_int_equal(pmv_idmap_alloc(&m, &old), 0);
	assert_null(pmv_idmap_lookup(&m, old));
	pmv_idmap_publish(&m, old, &a);
	assert_ptr_equal(pmv_idmap_lookup(&m, old), &a);
	assert_int_equal(pmv_idmap_free(&m, old), -EBUSY);
	pmv_idmap_publish(&m, old, NULL);
	assert_null(pmv_idmap_lookup(&m, old));
	assert_int_equal(pmv_idmap_free(&m, old), 0);
	assert_int_equal(pmv_idmap_free(&m, old), -ENOENT);

	assert_int_equal(pmv_idmap_alloc(&m, &new), 0);
	assert_int_not_equal(old, new);
	pmv_idmap_publish(&m, new, &b);
	assert_null(pmv_idmap_lookup(&m, old));
	assert_ptr_equal(pmv_idmap_lookup(&m, new), &b);
	assert_int_equal(pmv_idmap_free(&m, old), -ENOENT);
	free(mem);
}

/* Ids as a packet may carry them: any number, also the internal "none". */
static void
idmap_lookup__any_number(void **state)
{
	struct pmv_idmap m;
	void *mem = map_make(&m, 16, 0x10000, 16, 9);
	static const uint32_t odd[] = { 0, 1, 0xffffff, 0x1000000, UINT32_MAX, 0x80000000u };
	uint32_t id;
	int a;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_null(pmv_idmap_lookup(&m, odd[i]));
	assert_int_equal(pmv_idmap_alloc(&m, &id), 0);
	pmv_idmap_publish(&m, id, &a);
	for (uint32_t bit = 0; bit < 32; bit++)
		assert_null(pmv_idmap_lookup(&m, id ^ 1u << bit));
	free(mem);
}

static void
idmap_init__seed_decides(void **state)
{
	uint32_t ids[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct pmv_idmap m;
		void *mem = map_make(&m, 1024, 0, 24, i == 2 ? 1 : i);

		assert_int_equal(pmv_idmap_alloc(&m, &ids[i]), 0);
		free(mem);
	}
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(ids[1], ids[2]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idmap_init__bad_arguments),
		cmocka_unit_test(idmap_alloc__range_and_exhaustion),
		cmocka_unit_test(idmap_alloc__never_reserved),
		cmocka_unit_test(idmap_alloc__reuse_as_late_as_possible),
		cmocka_unit_test(idmap_lookup__stale_id_misses),
		cmocka_unit_test(idmap_lookup__any_number),
		cmocka_unit_test(idmap_init__seed_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
