// SPDX-License-Identifier: BSD-3-Clause
/*
 * The responder's store of READ and atomic requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "drivers/roce/rdatomic.h"

#define MTU 1024u

static struct pmv_roce_rd
read_of(uint32_t psn, uint64_t va, uint32_t len)
{
	struct pmv_roce_rd rd = { .va = va,
		.rkey = 7,
		.len = len,
		.first = pmv_psn(psn),
		.nb_psn = len == 0 ? 1 : (len + MTU - 1) / MTU };

	return rd;
}

static struct pmv_roce_rd
atomic_of(uint32_t psn, uint64_t value)
{
	return (struct pmv_roce_rd){ .va = 0x8000,
		.value = value,
		.rkey = 7,
		.len = 8,
		.first = pmv_psn(psn),
		.nb_psn = 1,
		.opcode = 0x14 };
}

static void
answer_all(struct pmv_roce_rdatomic *s)
{
	struct pmv_roce_rd *rd;

	while ((rd = pmv_roce_rdatomic_pending(s)) != NULL)
		rd->next++;
}

static void
rdatomic_pending__keeps_request_order(void **state)
{
	struct pmv_roce_rdatomic s;
	uint32_t psn = 0xfffffe;

	for (uint32_t nb = 1; nb <= PMV_ROCE_RD_MAX; nb++) {
		pmv_roce_rdatomic_init(&s, nb);
		for (uint32_t round = 0; round < 3; round++) {
			for (uint32_t i = 0; i < nb; i++) {
				struct pmv_roce_rd rd = read_of(psn + 2 * i, 0x1000, 2 * MTU);

				assert_true(pmv_roce_rdatomic_add(&s, &rd));
			}
			for (uint32_t i = 0; i < 2 * nb; i++) {
				struct pmv_roce_rd *rd = pmv_roce_rdatomic_pending(&s);

				assert_non_null(rd);
				assert_int_equal(
					pmv_psn_add(rd->first, rd->next).v, (psn + i) & 0xffffff);
				rd->next++;
			}
			assert_null(pmv_roce_rdatomic_pending(&s));
		}
	}
}

/* RC-311, CM-117: 0 is legal and refuses every READ; more at a time than agreed is refused, later
 * ones are not. */
static void
rdatomic_add__refuses_an_overrun(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd = read_of(10, 0x1000, 3 * MTU);

	pmv_roce_rdatomic_init(&s, 0);
	assert_false(pmv_roce_rdatomic_add(&s, &rd));
	assert_null(pmv_roce_rdatomic_pending(&s));
	pmv_roce_rdatomic_init(&s, 2);
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
	assert_false(pmv_roce_rdatomic_add(&s, &rd));
	pmv_roce_rdatomic_pending(&s)->next = 3;
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
	pmv_roce_rdatomic_init(&s, 1000);
	assert_int_equal(s.nb_max, PMV_ROCE_RD_MAX);
}

/* RC-304: a READ resumed at its k-th response is answered from there on. */
static void
rdatomic_replay__resumes_at_every_response(void **state)
{
	for (uint32_t k = 0; k < 5; k++) {
		struct pmv_roce_rdatomic s;
		struct pmv_roce_rd rd = read_of(0xfffffe, 0x10000, 5 * MTU - 3);
		struct pmv_roce_rd again =
			read_of(0xfffffe + k, 0x10000 + k * MTU, 5 * MTU - 3 - k * MTU);
		struct pmv_roce_rd *e;

		pmv_roce_rdatomic_init(&s, 4);
		pmv_roce_rdatomic_add(&s, &rd);
		answer_all(&s);
		assert_true(pmv_roce_rdatomic_replay(&s, again.first, &again, MTU));
		e = pmv_roce_rdatomic_pending(&s);
		assert_non_null(e);
		assert_int_equal(e->next, k);
		assert_int_equal(e->start, k);
		assert_true(e->again);
	}
}

/* MR-402: only the tail of exactly what was asked for is replayed. */
static void
rdatomic_replay__refuses_what_differs(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd = read_of(100, 0x10000, MTU);
	struct pmv_roce_rd bad;

	pmv_roce_rdatomic_init(&s, 4);
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &rd, MTU));
	pmv_roce_rdatomic_add(&s, &rd);
	answer_all(&s);
	bad = read_of(100, 0xfffffffffffffc00, MTU);
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &bad, MTU));
	bad = read_of(100, 0x10000, 2 * MTU);
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &bad, MTU));
	bad = read_of(100, 0x10000, MTU - 1);
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &bad, MTU));
	bad = rd;
	bad.rkey++;
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &bad, MTU));
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(101), &rd, MTU));
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(99), &rd, MTU));
	assert_null(pmv_roce_rdatomic_pending(&s));
	assert_true(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &rd, MTU));
}

/* A duplicate of a READ whose answer has not got that far changes nothing. */
static void
rdatomic_replay__lets_a_running_answer_run(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd = read_of(100, 0x10000, 4 * MTU);

	pmv_roce_rdatomic_init(&s, 4);
	pmv_roce_rdatomic_add(&s, &rd);
	assert_true(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &rd, MTU));
	assert_false(pmv_roce_rdatomic_pending(&s)->again);
	assert_int_equal(pmv_roce_rdatomic_pending(&s)->next, 0);
}

/* RC-312: changed in SQD: what was answered can still be replayed, what is being answered forbids
 * it. */
static void
rdatomic_resize__keeps_the_youngest(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd;

	pmv_roce_rdatomic_init(&s, 4);
	for (uint32_t i = 0; i < 6; i++) {
		rd = read_of(i, i, MTU);
		assert_true(pmv_roce_rdatomic_add(&s, &rd));
		if (i < 5)
			answer_all(&s);
	}
	assert_false(pmv_roce_rdatomic_resize(&s, 2));
	assert_int_equal(s.nb_max, 4);
	answer_all(&s);
	assert_true(pmv_roce_rdatomic_resize(&s, 2));
	for (uint32_t i = 0; i < 6; i++) {
		rd = read_of(i, i, MTU);
		assert_int_equal(pmv_roce_rdatomic_replay(&s, pmv_psn(i), &rd, MTU), i >= 4);
	}
	answer_all(&s);
	assert_true(pmv_roce_rdatomic_resize(&s, 0));
	assert_false(pmv_roce_rdatomic_add(&s, &rd));
	assert_true(pmv_roce_rdatomic_resize(&s, PMV_ROCE_RD_MAX));
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
}

/* The first answer arrived after all: the peer goes on while its second answer is still being sent.
 */
static void
rdatomic_add__overwrites_a_replay(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd = read_of(100, 0x10000, 4 * MTU);

	pmv_roce_rdatomic_init(&s, 1);
	pmv_roce_rdatomic_add(&s, &rd);
	answer_all(&s);
	assert_true(pmv_roce_rdatomic_replay(&s, pmv_psn(100), &rd, MTU));
	rd = read_of(104, 0x20000, MTU);
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
	assert_int_equal(pmv_roce_rdatomic_pending(&s)->first.v, 104);
	assert_false(pmv_roce_rdatomic_pending(&s)->again);
}

static void
rdatomic_add__overwrites_the_oldest(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd;

	pmv_roce_rdatomic_init(&s, 3);
	for (uint32_t i = 0; i < 5; i++) {
		rd = read_of(i, i, MTU);
		assert_true(pmv_roce_rdatomic_add(&s, &rd));
		answer_all(&s);
	}
	for (uint32_t i = 0; i < 5; i++) {
		rd = read_of(i, i, MTU);
		assert_int_equal(pmv_roce_rdatomic_replay(&s, pmv_psn(i), &rd, MTU), i >= 2);
	}
	pmv_roce_rdatomic_cancel(&s);
	assert_null(pmv_roce_rdatomic_pending(&s));
}

/* RC-313: an atomic's value is told again, as often as asked, and as it was. */
static void
rdatomic_replay__tells_the_value_again(void **state)
{
	struct pmv_roce_rdatomic s;
	struct pmv_roce_rd rd = atomic_of(0xffffff, 0x1122334455667788ull), other;

	pmv_roce_rdatomic_init(&s, 2);
	assert_true(pmv_roce_rdatomic_add(&s, &rd));
	rd.value = 99; /* a duplicate knows no value */
	for (int i = 0; i < 5; i++) {
		assert_true(pmv_roce_rdatomic_pending(&s)->value == 0x1122334455667788ull);
		answer_all(&s);
		assert_true(pmv_roce_rdatomic_replay(&s, rd.first, &rd, MTU));
	}
	answer_all(&s);
	other = rd;
	other.opcode = 0x13;
	assert_false(pmv_roce_rdatomic_replay(&s, rd.first, &other, MTU));
	other = rd;
	other.va += 8;
	assert_false(pmv_roce_rdatomic_replay(&s, rd.first, &other, MTU));
	other = rd;
	other.rkey++;
	assert_false(pmv_roce_rdatomic_replay(&s, rd.first, &other, MTU));
	assert_false(pmv_roce_rdatomic_replay(&s, pmv_psn(0), &rd, MTU));
	other = read_of(0xffffff, 0x8000, 8);
	assert_false(pmv_roce_rdatomic_replay(&s, rd.first, &other, MTU));
	assert_null(pmv_roce_rdatomic_pending(&s));
}

/* RC-304: READs and atomics are answered again in the order of the requests, whatever of them was
 * asked for again, and in whatever order. */
static void
rdatomic_pending__mixes_in_order(void **state)
{
	for (uint32_t mask = 1; mask < 16; mask++) {
		for (uint32_t turn = 0; turn < 4; turn++) {
			const struct pmv_roce_rd all[4] = { read_of(10, 0x1000, 3 * MTU),
				atomic_of(13, 1), read_of(14, 0x2000, 8), atomic_of(15, 2) };
			struct pmv_roce_rdatomic s;
			const struct pmv_roce_rd *e;

			pmv_roce_rdatomic_init(&s, 4);
			for (int i = 0; i < 4; i++)
				assert_true(pmv_roce_rdatomic_add(&s, &all[i]));
			answer_all(&s);
			for (uint32_t k = 0; k < 4; k++) {
				uint32_t i = (k + turn) % 4;

				if (mask >> i & 1)
					assert_true(pmv_roce_rdatomic_replay(
						&s, all[i].first, &all[i], MTU));
			}
			for (uint32_t i = 0; i < 4; i++) {
				if (!(mask >> i & 1))
					continue;
				e = pmv_roce_rdatomic_pending(&s);
				assert_non_null(e);
				assert_int_equal(e->first.v, all[i].first.v);
				assert_int_equal(e->opcode, all[i].opcode);
				assert_true(e->value == all[i].value);
				pmv_roce_rdatomic_pending(&s)->next = all[i].nb_psn;
			}
			assert_null(pmv_roce_rdatomic_pending(&s));
		}
	}
}

/* Room is what add finds: none while all are in their first answer, some again when the oldest is
 * through. */
static void
rdatomic_room__foretells(void **state)
{
	for (uint32_t nb = 0; nb <= PMV_ROCE_RD_MAX; nb++) {
		struct pmv_roce_rdatomic s;
		uint32_t psn = 0;

		pmv_roce_rdatomic_init(&s, nb);
		for (; psn < nb; psn++) {
			const struct pmv_roce_rd rd = atomic_of(psn, psn);

			assert_true(pmv_roce_rdatomic_room(&s));
			assert_true(pmv_roce_rdatomic_add(&s, &rd));
		}
		for (uint32_t i = 0; i < 2 * nb; i++, psn++) {
			const struct pmv_roce_rd rd = atomic_of(psn, psn);

			assert_false(pmv_roce_rdatomic_room(&s));
			assert_false(pmv_roce_rdatomic_add(&s, &rd));
			pmv_roce_rdatomic_pending(&s)->next = 1;
			assert_true(pmv_roce_rdatomic_room(&s));
			assert_true(pmv_roce_rdatomic_add(&s, &rd));
		}
		assert_false(pmv_roce_rdatomic_room(&s));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rdatomic_pending__keeps_request_order),
		cmocka_unit_test(rdatomic_add__refuses_an_overrun),
		cmocka_unit_test(rdatomic_replay__resumes_at_every_response),
		cmocka_unit_test(rdatomic_replay__refuses_what_differs),
		cmocka_unit_test(rdatomic_replay__lets_a_running_answer_run),
		cmocka_unit_test(rdatomic_resize__keeps_the_youngest),
		cmocka_unit_test(rdatomic_add__overwrites_a_replay),
		cmocka_unit_test(rdatomic_add__overwrites_the_oldest),
		cmocka_unit_test(rdatomic_replay__tells_the_value_again),
		cmocka_unit_test(rdatomic_pending__mixes_in_order),
		cmocka_unit_test(rdatomic_room__foretells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
