// SPDX-License-Identifier: BSD-3-Clause
/*
 * Duplicate and stale tables against a plain list; and the hash against SipHash-1-3 of another
 * implementation. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "cm/dup.h"
#include "lib/util/random.h"

static const struct pmv_cm_hash_key key = { { 0x0123456789abcdefull, 0xfedcba9876543210ull } };

static struct pmv_cm_dup
table_new(uint32_t nb_max)
{
	size_t bytes = pmv_cm_dup_bytes(nb_max);
	struct pmv_cm_dup t;

	assert_int_equal(pmv_cm_dup_init(&t, malloc(bytes), bytes, nb_max, &key), 0);
	return t;
}

static void
init__refuses(void **state)
{
	struct pmv_cm_dup t;
	uint64_t mem[64];

	(void)state;
	assert_int_equal(pmv_cm_dup_bytes(0), 0);
	assert_int_equal(pmv_cm_dup_bytes((1u << 24) + 1), 0);
	assert_int_equal(pmv_cm_dup_init(&t, mem, sizeof(mem), 0, &key), -EINVAL);
	assert_int_equal(pmv_cm_dup_init(&t, mem, pmv_cm_dup_bytes(8) - 1, 8, &key), -EINVAL);
	assert_int_equal(pmv_cm_dup_init(&t, mem, sizeof(mem), 8, &key), 0);
}

/* CM-102: same GUID and ID is a hit; another ID, or another GUID, is not. */
static void
find__guid_and_id_both_count(void **state)
{
	struct pmv_cm_dup t = table_new(8);
	uint32_t index = 99;

	(void)state;
	assert_int_equal(pmv_cm_dup_find(&t, 1, 0x11, &index), -ENOENT);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 0x11, 5), 0);
	assert_int_equal(pmv_cm_dup_find(&t, 1, 0x11, &index), 0);
	assert_int_equal(index, 5);
	assert_int_equal(pmv_cm_dup_find(&t, 1, 0x12, &index), -ENOENT);
	assert_int_equal(pmv_cm_dup_find(&t, 2, 0x11, &index), -ENOENT);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 0x11, 6), -EEXIST);
	assert_int_equal(pmv_cm_dup_find(&t, 1, 0x11, &index), 0);
	assert_int_equal(index, 5);
	free(t.slots);
}

/* A record can only take out its own entry. */
static void
remove__of_another_record(void **state)
{
	struct pmv_cm_dup t = table_new(8);
	uint32_t index;

	(void)state;
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 0x11, 5), 0);
	assert_int_equal(pmv_cm_dup_remove(&t, 1, 0x11, 6), -ENOENT);
	assert_int_equal(pmv_cm_dup_remove(&t, 1, 0x12, 5), -ENOENT);
	assert_int_equal(pmv_cm_dup_find(&t, 1, 0x11, &index), 0);
	assert_int_equal(pmv_cm_dup_remove(&t, 1, 0x11, 5), 0);
	assert_int_equal(pmv_cm_dup_remove(&t, 1, 0x11, 5), -ENOENT);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 0x11, UINT32_MAX), -EINVAL);
	free(t.slots);
}

static void
insert__full(void **state)
{
	struct pmv_cm_dup t = table_new(3);
	uint32_t i, index;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(pmv_cm_dup_insert(&t, 1, i, i), 0);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 3, 3), -ENOSPC);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 2, 3), -EEXIST);
	for (i = 0; i < 3; i++)
		assert_int_equal(pmv_cm_dup_find(&t, 1, i, &index), 0);
	assert_int_equal(pmv_cm_dup_remove(&t, 1, 0, 0), 0);
	assert_int_equal(pmv_cm_dup_insert(&t, 1, 3, 3), 0);
	free(t.slots);
}

/* 400,000 random operations on a table that is often full, compared with a flat array. */
static void
all__against_a_model(void **state)
{
	enum { NB = 48, GUIDS = 4, IDS = 32 };
	struct pmv_cm_dup t = table_new(NB);
	uint32_t model[GUIDS][IDS], nb = 0, i, index;
	struct pmv_random rnd;

	(void)state;
	memset(model, 0xff, sizeof(model));
	pmv_random_init(&rnd, 1);
	for (i = 0; i < 400000; i++) {
		uint32_t g = (uint32_t)pmv_random_below(&rnd, GUIDS),
			 id = (uint32_t)pmv_random_below(&rnd, IDS);
		uint32_t *m = &model[g][id];
		int want;

		switch (pmv_random_below(&rnd, 5)) {
		case 0:
		case 1:
			want = *m != UINT32_MAX ? -EEXIST : nb == NB ? -ENOSPC : 0;
			assert_int_equal(pmv_cm_dup_insert(&t, g, id, i), want);
			if (want == 0) {
				*m = i;
				nb++;
			}
			break;
		case 2:
			want = *m != UINT32_MAX ? 0 : -ENOENT;
			assert_int_equal(
				pmv_cm_dup_remove(&t, g, id, *m == UINT32_MAX ? 0 : *m), want);
			if (want == 0) {
				*m = UINT32_MAX;
				nb--;
			}
			break;
		default:
			want = *m != UINT32_MAX ? 0 : -ENOENT;
			assert_int_equal(pmv_cm_dup_find(&t, g, id, &index), want);
			if (want == 0)
				assert_int_equal(index, *m);
			break;
		}
		assert_int_equal(t.nb, nb);
	}
	free(t.slots);
}

/* A full table has no long runs, whatever regular numbers a peer uses; and another key makes other
 * runs. */
static void
insert__runs_stay_short(void **state)
{
	enum { NB = 4096 };
	struct pmv_cm_dup t = table_new(NB);
	uint32_t i, run = 0, longest = 0;

	(void)state;
	for (i = 0; i < NB; i++)
		assert_int_equal(pmv_cm_dup_insert(&t, 0x000000fffe000001ull, i << 12, i), 0);
	for (i = 0; i <= t.mask; i++) {
		run = t.slots[i].index == UINT32_MAX ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 1, 64);
	free(t.slots);
}

static void
hash__reference(void **state)
{
	/* CPython 3.11 with PYTHONHASHSEED=0: hash() of bytes 00 01 02 ... is SipHash-1-3 with key
	 * 0. */
	static const struct pmv_cm_hash_key zero;
	static const uint64_t words[3] = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull,
		0x1716151413121110ull };

	(void)state;
	assert_true(pmv_cm_hash(&zero, words, 1) == 0xead411e67ebe2eeaull);
	assert_true(pmv_cm_hash(&zero, words, 2) == 0x8972188433a5c5b7ull);
	assert_true(pmv_cm_hash(&zero, words, 3) == 0x31185a47af932f3aull);
	assert_true(pmv_cm_hash(&key, words, 3) != 0x31185a47af932f3aull);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__refuses),
		cmocka_unit_test(find__guid_and_id_both_count),
		cmocka_unit_test(remove__of_another_record),
		cmocka_unit_test(insert__full),
		cmocka_unit_test(all__against_a_model),
		cmocka_unit_test(insert__runs_stay_short),
		cmocka_unit_test(hash__reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
