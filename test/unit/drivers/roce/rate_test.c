// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/rate: DCQCN's reaction point, number by number where the paper gives formulas, and
 * its bounds whatever comes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "drivers/roce/rate.h"
#include "lib/util/random.h"

#define US     2000u       /* ticks */
#define LINE   1250000000u /* 10 Gb/s */
#define PERIOD (PMV_ROCE_RATE_PERIOD_US * US)
#define ONE    PMV_ROCE_RATE_ALPHA_ONE

static struct pmv_roce_rate r;
static uint64_t now;

static void
begin(uint64_t line)
{
	now = 5000 * US;
	pmv_roce_rate_init(&r, line, US);
}

static void
period(void)
{
	now += PERIOD;
	pmv_roce_rate_run(&r, now);
}

/* Notified as often as the other side tells at most. */
static void
notify(uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		now += 50 * US;
		assert_true(pmv_roce_rate_notify(&r, now));
	}
}

static void
rate__off_until_told(void **state)
{
	begin(LINE);
	assert_false(pmv_roce_rate_is_limited(&r));
	assert_true(pmv_roce_rate_next(&r) == PMV_ROCE_RATE_NEVER);
	pmv_roce_rate_run(&r, now + 1000 * PERIOD);
	pmv_roce_rate_sent(&r, 1u << 30);
	assert_false(pmv_roce_rate_is_limited(&r));
}

/* Rc = Rc (1 - alpha / 2), Rt = the old Rc, alpha = (1 - g) alpha + g; alpha begins as 1. */
static void
notify__cuts(void **state)
{
	begin(LINE);
	notify(1);
	assert_int_equal(r.current, LINE / 2);
	assert_int_equal(r.target, LINE);
	assert_int_equal(r.alpha, ONE);
	assert_int_equal(pmv_roce_rate_next(&r), now + PERIOD);
	/* a byte takes 1.6 ns, 3.2 ticks of 0.5 ns */
	assert_int_equal(pmv_roce_rate_ticks(&r, 1000), 3200);
	notify(1);
	assert_int_equal(r.current, LINE / 4);
	assert_int_equal(r.target, LINE / 2);
	/* g = 1/64: a period without one */
	period();
	assert_int_equal(r.alpha, ONE - ONE / 64);
	assert_int_equal(r.current, LINE / 4 + LINE / 8);
	now += 10 * US;
	assert_true(pmv_roce_rate_notify(&r, now));
	assert_int_equal(r.target, 468750000);
	assert_int_equal(r.current, 468750000 - (uint64_t)(468750000 * (1 - 1 / 64.) / 2));
	assert_int_equal(r.alpha, ONE - ONE / 64 + ONE / 64 / 64);
}

/* More often than the other side may tell: one cut. */
static void
notify__not_twice_at_once(void **state)
{
	begin(LINE);
	notify(1);
	for (uint32_t i = 0; i < PMV_ROCE_RATE_CUT_US; i++) {
		assert_false(pmv_roce_rate_notify(&r, now + i * US));
		assert_int_equal(r.current, LINE / 2);
		assert_int_equal(pmv_roce_rate_next(&r), now + PERIOD);
	}
	assert_true(pmv_roce_rate_notify(&r, now + PMV_ROCE_RATE_CUT_US * US));
	assert_int_equal(r.current, LINE / 4);
}

/* Five rounds half the way to Rt; then Rt grows by a 256th of the line, and Rc follows half the
 * way. */
static void
run__recovery_then_steps(void **state)
{
	uint64_t current, target;

	begin(LINE);
	notify(3);
	current = LINE / 8;
	target = LINE / 4;
	for (uint32_t i = 0; i < PMV_ROCE_RATE_RECOVERY; i++) {
		period();
		current = (target + current) / 2;
		assert_int_equal(r.current, current);
		assert_int_equal(r.target, target);
	}
	for (uint32_t i = 0; i < 20; i++) {
		period();
		target += LINE / 256;
		current = (target + current) / 2;
		assert_int_equal(r.current, current);
		assert_int_equal(r.target, target);
	}
	assert_int_equal(r.timer_rounds, 25);
	/* a notification begins it anew, from where it is now */
	notify(1);
	assert_int_equal(r.target, current);
	assert_int_equal(r.timer_rounds, 0);
	period();
	assert_int_equal(r.target, current);
}

/* Sent bytes are rounds too, and when both are past recovery, steps grow. */
static void
sent__rounds(void **state)
{
	uint64_t target = LINE / 4;

	begin(LINE);
	notify(3);
	pmv_roce_rate_sent(&r, PMV_ROCE_RATE_BYTES - 1);
	assert_int_equal(r.byte_rounds, 0);
	assert_int_equal(r.current, LINE / 8);
	pmv_roce_rate_sent(&r, 1);
	assert_int_equal(r.byte_rounds, 1);
	assert_int_equal(r.current, LINE / 8 + LINE / 16);
	assert_int_equal(r.alpha, ONE); /* time alone makes it smaller */
	for (uint32_t i = 0; i < 4; i++)
		pmv_roce_rate_sent(&r, PMV_ROCE_RATE_BYTES);
	assert_int_equal(r.target, target);
	pmv_roce_rate_sent(&r, PMV_ROCE_RATE_BYTES);
	assert_int_equal(r.target, target += LINE / 256);
	for (uint32_t i = 0; i < 5; i++)
		period();
	assert_int_equal(r.target, target += 5 * (LINE / 256));
	period(); /* 6 and 6 rounds */
	assert_int_equal(r.target, target += 10 * (LINE / 256));
	pmv_roce_rate_sent(&r, PMV_ROCE_RATE_BYTES); /* 6 and 7 */
	assert_int_equal(r.target, target += 10 * (LINE / 256));
	period(); /* 7 and 7 */
	assert_int_equal(r.target, target += 20 * (LINE / 256));
}

/* Never zero, however often it is told; and from the floor all the way back, until there is no
 * limit and nothing to do. */
static void
run__back_to_the_line(void **state)
{
	static const uint64_t lines[] = { PMV_ROCE_RATE_LINE_MIN, 125000000, LINE, 12500000000,
		50000000000 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint64_t last = 0;
		uint32_t nb = 0;

		begin(lines[i]);
		notify(500);
		assert_int_equal(r.current, PMV_ROCE_RATE_MIN);
		assert_true(r.alpha > ONE - ONE / 64);
		while (pmv_roce_rate_is_limited(&r)) {
			assert_true(r.current >= last);
			assert_true(r.current < lines[i]);
			last = r.current;
			period();
			assert_true(nb++ < 300);
		}
		assert_true(last > lines[i] - lines[i] / 16);
		assert_true(pmv_roce_rate_next(&r) == PMV_ROCE_RATE_NEVER);
		/* the next one finds it as new */
		notify(1);
		assert_int_equal(r.current, lines[i] / 2);
		assert_int_equal(r.alpha, ONE);
	}
	/* a line so slow that the floor would be above it */
	begin(1);
	assert_int_equal(r.line, PMV_ROCE_RATE_LINE_MIN);
}

/* A worker that was away: as many periods as fit in a turn's work, then time counts from now. */
static void
run__long_absence(void **state)
{
	struct pmv_roce_rate step;

	begin(LINE);
	notify(4);
	step = r;
	for (uint32_t i = 1; i <= 10; i++)
		pmv_roce_rate_run(&step, now + i * PERIOD);
	pmv_roce_rate_run(&r, now + 10 * PERIOD + 5);
	assert_int_equal(r.current, step.current);
	assert_int_equal(r.alpha, step.alpha);
	assert_int_equal(pmv_roce_rate_next(&r), now + 11 * PERIOD);
	pmv_roce_rate_run(&r, now + 1000000 * PERIOD);
	assert_int_equal(r.timer_rounds, 26);
	assert_int_equal(pmv_roce_rate_next(&r), now + 1000001 * PERIOD);
}

/* Whatever comes in whatever order. */
static void
rate__bounds(void **state)
{
	struct pmv_random random;

	pmv_random_init(&random, 7);
	begin(LINE);
	for (uint32_t i = 0; i < 200000; i++) {
		now += pmv_random_below(&random, 40 * US);
		switch (pmv_random_below(&random, i / 1000 % 8 == 0 ? 2 : 8)) {
		case 0:
			(void)pmv_roce_rate_notify(&r, now);
			break;
		case 1:
			pmv_roce_rate_sent(&r, pmv_random_below(&random, 1u << 22));
			break;
		default:
			pmv_roce_rate_run(&r, now);
		}
		if (!pmv_roce_rate_is_limited(&r))
			continue;
		assert_in_range(r.current, PMV_ROCE_RATE_MIN, LINE);
		assert_in_range(r.target, r.current, LINE);
		assert_in_range(r.alpha, 0, ONE);
		assert_true(pmv_roce_rate_next(&r) <= now + PERIOD);
		assert_true(pmv_roce_rate_ticks(&r, 4096) > 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__off_until_told),
		cmocka_unit_test(notify__cuts),
		cmocka_unit_test(notify__not_twice_at_once),
		cmocka_unit_test(run__recovery_then_steps),
		cmocka_unit_test(sent__rounds),
		cmocka_unit_test(run__back_to_the_line),
		cmocka_unit_test(run__long_absence),
		cmocka_unit_test(rate__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
