// SPDX-License-Identifier: BSD-3-Clause
/*
 * When CM requests are sent again and given up, and the arithmetic of cm/limits.h. Pure; virtual
 * clock in microseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/limits.h"
#include "cm/retry.h"

#define SENDS_MAX 32
#define MS        1000ull

/* Times of all sends of a message nobody answers, and of giving up. */
struct sends {
	uint64_t at[SENDS_MAX];
	uint32_t nb;
	uint64_t given_up;
};

/* MRAs that arrive: at[i] with code[i]. */
struct mras {
	uint32_t nb;
	uint64_t at[4];
	uint8_t code[4];
};

static struct sends
run(const struct pmv_cm_retry_rule *rule, uint64_t start, const struct mras *mras)
{
	struct sends s = { .nb = 1, .at = { start } };
	struct pmv_cm_retry r;
	uint32_t next_mra = 0;

	pmv_cm_retry_start(&r, rule, start);
	for (;;) {
		while (mras != NULL && next_mra < mras->nb && mras->at[next_mra] < r.deadline) {
			pmv_cm_retry_extend(&r, mras->code[next_mra], 1, mras->at[next_mra]);
			next_mra++;
		}
		if (!pmv_cm_retry_left(&r))
			break;
		assert_true(s.nb < SENDS_MAX);
		s.at[s.nb++] = r.deadline;
		pmv_cm_retry_next(&r, r.deadline);
	}
	s.given_up = r.deadline;
	return s;
}

/* CM-113: each code, 1 ms at least, no overflow at 31, no reading past it. */
static void
timeout_us__codes(void **state)
{
	uint32_t n;

	(void)state;
	for (n = 0; n <= 8; n++)
		assert_true(pmv_cm_timeout_us((uint8_t)n) == 1 * MS);
	assert_true(pmv_cm_timeout_us(9) == 2 * MS);
	assert_true(pmv_cm_timeout_us(16) == 256 * MS);
	assert_true(pmv_cm_timeout_us(20) == 4096 * MS);
	assert_true(pmv_cm_timeout_us(22) == 16384 * MS);
	assert_true(pmv_cm_timeout_us(31) == 8388608ull * MS);
	for (n = 32; n < 256; n++)
		assert_true(pmv_cm_timeout_us((uint8_t)n) == 8388608ull * MS);
}

/* CM-113: with codes 0, 22, 31 given up right after the last of 16 equal intervals. */
static void
left__equal_intervals(void **state)
{
	static const uint8_t codes[] = { 0, 16, 22, 31 };
	uint32_t c, i;

	(void)state;
	for (c = 0; c < sizeof(codes); c++) {
		/* 5 GHz of ticks: 16 x 2.3 h must fit. */
		uint64_t tpu = 5000, interval = pmv_cm_timeout_us(codes[c]) * tpu;
		struct pmv_cm_retry_rule rule = pmv_cm_retry_rule_equal(codes[c], 15, tpu);
		struct sends s = run(&rule, 1000, NULL);

		assert_int_equal(s.nb, 16);
		for (i = 0; i < s.nb; i++)
			assert_true(s.at[i] == 1000 + i * interval);
		assert_true(s.given_up == 1000 + 16 * interval);
	}
}

/* CM-105: max CM retries 3, local response timeout 14 (64 ms): four sends in all, then given up. */
static void
left__rep_as_the_req_asked(void **state)
{
	struct pmv_cm_retry_rule rule = pmv_cm_retry_rule_equal(14, 3, 1);
	struct sends s = run(&rule, 0, NULL);

	(void)state;
	assert_int_equal(s.nb, 4);
	assert_true(s.at[1] == 64 * MS && s.at[2] == 128 * MS && s.at[3] == 192 * MS);
	assert_true(s.given_up == 256 * MS);
}

static void
left__no_retries(void **state)
{
	struct pmv_cm_retry_rule rule = pmv_cm_retry_rule_equal(16, 0, 1);
	struct sends s = run(&rule, 0, NULL);

	(void)state;
	assert_int_equal(s.nb, 1);
	assert_true(s.given_up == 256 * MS);
}

/* CM-109: 500 ms, 15 retries; MRA of 4.1 s after 100 ms, a second one during the wait. */
static void
extend__only_the_running_wait(void **state)
{
	const struct pmv_cm_retry_rule rule = { .interval_ticks = 500 * MS, .nb_retries = 15 };
	const struct mras mras = { .nb = 2, .at = { 100 * MS, 2000 * MS }, .code = { 20, 20 } };
	struct sends s = run(&rule, 0, &mras);
	uint32_t i;

	(void)state;
	assert_int_equal(s.nb, 16);
	assert_in_range(s.at[1], 100 * MS + 4100 * MS - 4 * MS, 100 * MS + 6000 * MS);
	assert_true(s.at[1] == 100 * MS + 4096 * MS + 500 * MS);
	for (i = 2; i < 16; i++)
		assert_true(s.at[i] - s.at[i - 1] == 500 * MS);
	assert_true(s.given_up - s.at[15] == 500 * MS);
}

/* The copy sent after an extended wait may be answered with an MRA again. */
static void
extend__again_after_the_next_send(void **state)
{
	const struct pmv_cm_retry_rule rule = { .interval_ticks = 500 * MS, .nb_retries = 15 };
	const struct mras mras = { .nb = 2, .at = { 100 * MS, 4700 * MS }, .code = { 20, 20 } };
	struct sends s = run(&rule, 0, &mras);

	(void)state;
	assert_true(s.at[1] == 4696 * MS);
	assert_true(s.at[2] == 4700 * MS + 4096 * MS + 500 * MS);
	assert_true(s.at[3] == s.at[2] + 500 * MS);
}

static void
extend__bounds(void **state)
{
	const struct pmv_cm_retry_rule rule = { .interval_ticks = 500 * MS, .nb_retries = 1 };
	struct pmv_cm_retry r;

	(void)state;
	/* A code of 31 (2.3 h) counts as 24. */
	pmv_cm_retry_start(&r, &rule, 0);
	pmv_cm_retry_extend(&r, 31, 1, 0);
	assert_true(r.deadline == 65536 * MS + 500 * MS);
	/* Never shorter than without it. */
	pmv_cm_retry_start(&r, &rule, 0);
	pmv_cm_retry_extend(&r, 0, 1, 0);
	assert_true(r.deadline >= 500 * MS);
}

/* CM-111: the default schedule, four equal intervals, then doubling up to about a second. */
static void
left__default_backs_off(void **state)
{
	struct pmv_cm_retry_rule rule = pmv_cm_retry_rule_default(1);
	struct sends s = run(&rule, 0, NULL);
	uint32_t i;

	(void)state;
	assert_int_equal(s.nb, 1 + PMV_CM_RETRIES);
	for (i = 1; i <= PMV_CM_RETRY_EQUAL; i++)
		assert_true(s.at[i] - s.at[i - 1] == 256 * MS);
	assert_true(s.at[5] - s.at[4] == 512 * MS);
	for (i = 6; i < s.nb; i++)
		assert_true(s.at[i] - s.at[i - 1] == 1024 * MS);
	assert_true(s.given_up == (4 * 256 + 512 + 11 * 1024) * MS); /* 12.8 s */
}

/* A ceiling that is no multiple of the interval is kept, too; one below the interval means equal
 * intervals. */
static void
left__ceiling(void **state)
{
	struct pmv_cm_retry_rule rule = {
		.interval_ticks = 300, .interval_max_ticks = 1000, .nb_equal = 1, .nb_retries = 4
	};
	struct sends s = run(&rule, 0, NULL);

	(void)state;
	assert_true(s.at[1] == 300 && s.at[2] == 900 && s.at[3] == 1900 && s.at[4] == 2900);
	rule.interval_max_ticks = 100;
	s = run(&rule, 0, NULL);
	assert_true(s.at[1] == 300 && s.at[4] == 1200);
}

/* CM-112: identifiers rest 2 s at least, whatever the ACK timeout; and not for ever. */
static void
timewait_us__bounds(void **state)
{
	uint32_t n;

	(void)state;
	for (n = 0; n < 256; n++) {
		assert_in_range(pmv_cm_timewait_us((uint8_t)n), 2000 * MS, 30000 * MS);
		assert_in_range(pmv_cm_rej_hold_us((uint8_t)n), 2000 * MS, 10000 * MS);
	}
	assert_true(pmv_cm_timewait_us(19) == 4096 * MS);
	/* Linux repeats its REQ (code 20) after 4.6 s or 6.1 s: still remembered. */
	assert_true(pmv_cm_rej_hold_us(20) > 6144 * MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeout_us__codes),
		cmocka_unit_test(left__equal_intervals),
		cmocka_unit_test(left__rep_as_the_req_asked),
		cmocka_unit_test(left__no_retries),
		cmocka_unit_test(left__default_backs_off),
		cmocka_unit_test(left__ceiling),
		cmocka_unit_test(extend__only_the_running_wait),
		cmocka_unit_test(extend__again_after_the_next_send),
		cmocka_unit_test(extend__bounds),
		cmocka_unit_test(timewait_us__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
