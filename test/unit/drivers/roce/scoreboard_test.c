// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/scoreboard.h"
#include "lib/util/random.h"

#define UNA 0xfffff0u /* the ring of PSNs wraps in every case */

static struct pmv_roce_scoreboard sb;

static struct pmv_psn
at(uint32_t i)
{
	return pmv_psn(UNA + i);
}

static void
send_all(uint32_t nb)
{
	pmv_roce_scoreboard_init(&sb);
	for (uint32_t i = 0; i < nb; i++)
		pmv_roce_scoreboard_sent(&sb, at(i));
}

/* The peer waits for una and has these of those behind it. */
static struct pmv_sack
map_of(uint32_t una, const char *held)
{
	struct pmv_sack s;

	memset(&s, 0, sizeof(s));
	for (uint32_t i = 0; held[i] != '\0'; i++) {
		if (held[i] == 'x' && i > una)
			pmv_sack_set(&s, i - una - 1);
	}
	return s;
}

static void
assert_next(uint32_t una, uint32_t end, int want)
{
	struct pmv_psn psn;
	bool any = pmv_roce_scoreboard_next(&sb, at(una), at(end), &psn);

	assert_int_equal(any, want >= 0);
	if (want >= 0)
		assert_int_equal(psn.v, at((uint32_t)want).v);
}

static uint32_t
judge(uint32_t una, uint32_t end)
{
	return pmv_roce_scoreboard_judge(&sb, at(una), at(end), PMV_ROCE_SCOREBOARD_LATER);
}

static void
judge__a_hole_is_lost_once_enough_later_ones_are_here(void **state)
{
	struct pmv_sack s = map_of(0, ".x");

	send_all(8);
	pmv_roce_scoreboard_held(&sb, at(0), at(8), &s);
	assert_int_equal(judge(0, 8), 0); /* may be reordering */
	s = map_of(0, ".xx");
	pmv_roce_scoreboard_held(&sb, at(0), at(8), &s);
	assert_int_equal(judge(0, 8), 0);
	s = map_of(0, ".xxx");
	pmv_roce_scoreboard_held(&sb, at(0), at(8), &s);
	assert_int_equal(judge(0, 8), 1);
	assert_next(0, 8, 0);
	/* told again: still one */
	assert_int_equal(judge(0, 8), 1);
	pmv_roce_scoreboard_sent(&sb, at(0));
	assert_next(0, 8, -1);
	assert_int_equal(judge(0, 8), 0);
}

static void
judge__several_holes_in_one_report(void **state)
{
	const struct pmv_sack s = map_of(0, "..x.xx.xxxx");

	send_all(16);
	pmv_roce_scoreboard_held(&sb, at(0), at(16), &s);
	assert_int_equal(judge(0, 16), 4);
	for (int i = 0; i < 4; i++) {
		static const int want[] = { 0, 1, 3, 6 };

		assert_next(0, 16, want[i]);
		pmv_roce_scoreboard_sent(&sb, at((uint32_t)want[i]));
	}
	assert_next(0, 16, -1);
}

/* The repair goes out as number 9; what is sent after it arrives, it does not. */
static void
judge__a_lost_repair_is_noticed(void **state)
{
	struct pmv_sack s = map_of(0, ".xxxxxxx");

	send_all(8);
	pmv_roce_scoreboard_held(&sb, at(0), at(8), &s);
	assert_int_equal(judge(0, 8), 1);
	pmv_roce_scoreboard_sent(&sb, at(0));
	for (uint32_t i = 8; i < 12; i++)
		pmv_roce_scoreboard_sent(&sb, at(i));
	s = map_of(0, ".xxxxxxxxx");
	pmv_roce_scoreboard_held(&sb, at(0), at(12), &s);
	assert_int_equal(judge(0, 12), 0);
	s = map_of(0, ".xxxxxxxxxx");
	pmv_roce_scoreboard_held(&sb, at(0), at(12), &s);
	assert_int_equal(judge(0, 12), 1);
	assert_next(0, 12, 0);
}

static void
acked__takes_marks_along(void **state)
{
	const struct pmv_sack s = map_of(0, "..xxxx.xxxx");

	send_all(11);
	pmv_roce_scoreboard_held(&sb, at(0), at(11), &s);
	assert_int_equal(judge(0, 11), 3);
	pmv_roce_scoreboard_acked(&sb, at(0), at(1)); /* the first was only late */
	assert_int_equal(sb.nb_lost, 2);
	assert_next(1, 11, 1);
	pmv_roce_scoreboard_acked(&sb, at(1), at(11));
	assert_int_equal(judge(11, 11), 0);
	assert_false(sb.gap);
}

/* The last packets are lost, nothing comes behind them: the probe's arrival says so of all. */
static void
probed__finds_the_rest_of_a_lost_end(void **state)
{
	send_all(4);
	pmv_roce_scoreboard_probed(&sb, at(0));
	pmv_roce_scoreboard_acked(&sb, at(0), at(1));
	assert_int_equal(judge(1, 4), 0); /* another copy's answer */
	pmv_roce_scoreboard_answered(&sb);
	assert_true(sb.gap);
	assert_int_equal(judge(1, 4), 3);
}

static void
forget__nothing_is_lost_or_held(void **state)
{
	const struct pmv_sack s = map_of(0, "..xxxx");

	send_all(6);
	pmv_roce_scoreboard_held(&sb, at(0), at(6), &s);
	judge(0, 6);
	pmv_roce_scoreboard_forget(&sb, at(0), at(6));
	assert_int_equal(sb.nb_lost, 0);
	assert_false(sb.gap);
	assert_int_equal(judge(0, 6), 0);
}

/* A map with bits for packets that were never sent, and more than the board holds. */
static void
held__beyond_what_was_sent_is_ignored(void **state)
{
	struct pmv_sack s;

	memset(&s, 0xff, sizeof(s));
	send_all(5);
	pmv_roce_scoreboard_held(&sb, at(0), at(5), &s);
	assert_int_equal(judge(0, 5), 1);
	assert_next(0, 5, 0);
	assert_next(0, 0, -1);
}

/* A sender and a receiver that loses, told the truth each round: all arrives, every packet goes out
 * once, once more for each loss. */
static void
rounds__random(void **state)
{
	struct pmv_random random;

	pmv_random_init(&random, 5);
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t nb = 1 + (uint32_t)pmv_random_below(&random, 200), una = 0, lost = 0,
			 sent = 0;
		bool here[256] = { false };

		pmv_roce_scoreboard_init(&sb);
		for (uint32_t i = 0; i < nb; i++) {
			pmv_roce_scoreboard_sent(&sb, at(i));
			here[i] = pmv_random_below(&random, 10) != 0;
			lost += !here[i];
			sent++;
		}
		while (una < nb) {
			struct pmv_psn psn;
			struct pmv_sack s;
			uint32_t before = una;

			while (una < nb && here[una])
				una++;
			pmv_roce_scoreboard_acked(&sb, at(before), at(una));
			memset(&s, 0, sizeof(s));
			for (uint32_t i = una + 1; i < nb; i++) {
				if (here[i])
					pmv_sack_set(&s, i - una - 1);
			}
			pmv_roce_scoreboard_held(&sb, at(una), at(nb), &s);
			judge(una, nb);
			if (una < nb && !pmv_roce_scoreboard_next(&sb, at(una), at(nb), &psn)) {
				pmv_roce_scoreboard_probed(&sb, at(una));
				pmv_roce_scoreboard_answered(&sb);
				here[una] = true;
				sent++;
				continue;
			}
			while (pmv_roce_scoreboard_next(&sb, at(una), at(nb), &psn)) {
				uint32_t i = (psn.v - UNA) & PMV_PSN_MASK;

				assert_in_range(i, una, nb - 1);
				assert_false(here[i]);
				pmv_roce_scoreboard_sent(&sb, psn);
				here[i] = pmv_random_below(&random, 10) != 0;
				lost += !here[i];
				sent++;
			}
		}
		assert_int_equal(sent, nb + lost);
	}
}

/* Without tolerance one later packet is enough; a packet that went out again after it is not lost.
 */
static void
judge__none_may_be_late(void **state)
{
	struct pmv_sack s = map_of(0, ".x..");

	(void)state;
	send_all(4);
	assert_int_equal(pmv_roce_scoreboard_held(&sb, at(0), at(4), &s), 1);
	assert_int_equal(judge(0, 4), 0);
	assert_int_equal(pmv_roce_scoreboard_judge(&sb, at(0), at(4), 0), 1);
	assert_next(0, 4, 0);
	pmv_roce_scoreboard_sent(&sb, at(0));
	assert_int_equal(pmv_roce_scoreboard_judge(&sb, at(0), at(4), 0), 0);
	s = map_of(0, ".x.x");
	assert_int_equal(pmv_roce_scoreboard_held(&sb, at(0), at(4), &s), 1);
	assert_int_equal(pmv_roce_scoreboard_judge(&sb, at(0), at(4), 0), 1);
	assert_next(0, 4, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judge__a_hole_is_lost_once_enough_later_ones_are_here),
		cmocka_unit_test(judge__none_may_be_late),
		cmocka_unit_test(judge__several_holes_in_one_report),
		cmocka_unit_test(judge__a_lost_repair_is_noticed),
		cmocka_unit_test(acked__takes_marks_along),
		cmocka_unit_test(probed__finds_the_rest_of_a_lost_end),
		cmocka_unit_test(forget__nothing_is_lost_or_held),
		cmocka_unit_test(held__beyond_what_was_sent_is_ignored),
		cmocka_unit_test(rounds__random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
