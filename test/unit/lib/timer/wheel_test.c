// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/timer/wheel: never early, never lost, bounded, against a model that looks at every timer.
 */
#include "lib/timer/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/util/random.h"

static struct pmv_wheel wheel;

struct fired {
	uint32_t n;
	struct pmv_timer *last;
	uint64_t now;
};

static void
on_fired(struct pmv_timer *t, void *arg)
{
	struct fired *f = arg;

	assert_false(pmv_timer_is_armed(t));
	assert_true(t->deadline <= f->now);
	f->last = t;
	f->n++;
}

static uint32_t
advance(struct fired *f, uint64_t now, uint32_t max)
{
	uint32_t n;

	f->n = 0;
	f->now = now;
	n = pmv_wheel_advance(&wheel, now, max, on_fired, f);
	assert_int_equal(n, f->n);
	return n;
}

static void
wheel_advance__not_early_not_late(void **state)
{
	static const uint64_t starts[] = { 0, 1, 63, 4095, UINT64_C(0x3fffffffffff),
		UINT64_C(0x123456789abcdef), UINT64_C(0xfffffff000000000) };
	static const uint64_t resolutions[] = { 1, 3, 4, 1000 };

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++)
		for (size_t r = 0; r < sizeof(resolutions) / sizeof(resolutions[0]); r++)
			for (uint64_t d = 1; d < UINT64_C(1) << 34; d = d * 3 + 1) {
				struct pmv_timer t = { .tag = 1 };
				struct fired f;

				pmv_wheel_init(&wheel, starts[s], resolutions[r]);
				pmv_wheel_arm(&wheel, &t, starts[s] + d);
				assert_true(pmv_wheel_next(&wheel) <= starts[s] + d + 1000);
				assert_int_equal(advance(&f, starts[s] + d - 1, 10), 0);
				assert_int_equal(
					advance(&f, starts[s] + d + resolutions[r], 10), 1);
				assert_ptr_equal(f.last, &t);
				assert_int_equal(wheel.nb_armed, 0);
				assert_true(pmv_wheel_next(&wheel) == PMV_WHEEL_NEVER);
			}
}

static void
wheel_arm__past_and_never(void **state)
{
	struct pmv_timer past = { 0 }, never = { 0 };
	struct fired f;

	pmv_wheel_init(&wheel, 1000000, 1000);
	pmv_wheel_arm(&wheel, &past, 5);
	pmv_wheel_arm(&wheel, &never, PMV_WHEEL_NEVER);
	assert_true(pmv_wheel_next(&wheel) <= 1000000);
	assert_int_equal(advance(&f, 1000000, 10), 1);
	assert_ptr_equal(f.last, &past);
	assert_int_equal(advance(&f, PMV_WHEEL_NEVER - 1000, 10), 0);
	assert_true(pmv_timer_is_armed(&never));
	pmv_wheel_disarm(&wheel, &never);
	assert_int_equal(wheel.nb_armed, 0);
}

static void
wheel_arm__moves_an_armed_timer(void **state)
{
	struct pmv_timer t = { 0 };
	struct fired f;

	pmv_wheel_init(&wheel, 0, 1);
	pmv_wheel_arm(&wheel, &t, 100);
	pmv_wheel_arm(&wheel, &t, 1000000);
	assert_int_equal(wheel.nb_armed, 1);
	assert_int_equal(advance(&f, 500, 10), 0);
	pmv_wheel_arm(&wheel, &t, 600);
	assert_int_equal(advance(&f, 599, 10), 0);
	assert_int_equal(advance(&f, 600, 10), 1);
	pmv_wheel_disarm(&wheel, &t); /* not armed: nothing happens */
	assert_int_equal(wheel.nb_armed, 0);
}

/* Many timers on one deadline come out in portions; those disarmed in between do not come. */
static void
wheel_advance__budget(void **state)
{
	enum { NB = 1000 };
	struct pmv_timer *t = calloc(NB, sizeof(*t));
	struct fired f;
	uint32_t total = 0, turns = 0;

	pmv_wheel_init(&wheel, 0, 1);
	for (int i = 0; i < NB; i++)
		pmv_wheel_arm(&wheel, &t[i], 1000000);
	while (total < NB - 3) {
		assert_true(advance(&f, 2000000, 7) <= 7);
		total += f.n;
		turns++;
		if (turns == 5)
			for (int i = NB - 3; i < NB; i++)
				pmv_wheel_disarm(&wheel, &t[i]);
		assert_true(turns < 2 * NB);
	}
	assert_int_equal(advance(&f, 2000000, 7), 0);
	assert_int_equal(wheel.nb_armed, 0);
	free(t);
}

/* One jump over years with a timer on every level costs what the timers cost. */
static void
wheel_advance__large_jump(void **state)
{
	struct pmv_timer t[60] = { 0 };
	struct fired f;
	uint32_t total = 0, turns = 0;

	pmv_wheel_init(&wheel, 12345, 1);
	for (int i = 0; i < 60; i++)
		pmv_wheel_arm(&wheel, &t[i], 12345 + (UINT64_C(1) << i));
	while (wheel.nb_armed > 0) {
		total += advance(&f, UINT64_C(1) << 61, 64);
		assert_true(++turns < 20);
	}
	assert_int_equal(total, 60);
	assert_true(wheel.cur <= UINT64_C(1) << 61);
	assert_int_equal(advance(&f, 5, 64), 0); /* time never runs backwards */
}

struct periodic {
	struct pmv_timer t;
	struct pmv_timer *victim;
	uint32_t n;
};

static void
on_periodic(struct pmv_timer *t, void *arg)
{
	struct periodic *p = (struct periodic *)(void *)t;

	p->n++;
	pmv_wheel_arm(&wheel, t, t->deadline + 10);
	if (p->victim != NULL)
		pmv_wheel_disarm(&wheel, p->victim);
}

/* The callback arms its own timer again and disarms another one that is due in the same turn. */
static void
wheel_advance__callback_changes_wheel(void **state)
{
	struct pmv_timer victim = { 0 };
	struct periodic p = { .victim = &victim };

	pmv_wheel_init(&wheel, 0, 1);
	pmv_wheel_arm(&wheel, &p.t, 10);
	pmv_wheel_arm(&wheel, &victim, 10);
	assert_int_equal(pmv_wheel_advance(&wheel, 10, 100, on_periodic, NULL), 1);
	assert_false(pmv_timer_is_armed(&victim));
	/* Ten periods late: caught up with, within the budget. */
	assert_int_equal(pmv_wheel_advance(&wheel, 110, 100, on_periodic, NULL), 10);
	assert_int_equal(pmv_wheel_advance(&wheel, 1000000, 5, on_periodic, NULL), 5);
	assert_int_equal(p.n, 16);
}

#define MODEL_NB 200

struct model {
	struct pmv_timer t[MODEL_NB];
	uint64_t deadline[MODEL_NB]; /* 0: not armed */
	uint64_t now;
	uint64_t resolution;
};

static void
on_model(struct pmv_timer *t, void *arg)
{
	struct model *m = arg;
	size_t i = (size_t)(t - m->t);

	assert_true(m->deadline[i] != 0);
	assert_true(m->deadline[i] == t->deadline);
	assert_true(t->deadline <= m->now);
	m->deadline[i] = 0;
}

static void
model_step(struct model *m, struct pmv_random *r)
{
	uint64_t i = pmv_random_below(r, MODEL_NB);
	uint64_t span = UINT64_C(1) << pmv_random_below(r, 40);

	switch (pmv_random_below(r, 4)) {
	case 0:
	case 1:
		m->deadline[i] = m->now + 1 + pmv_random_below(r, span);
		pmv_wheel_arm(&wheel, &m->t[i], m->deadline[i]);
		break;
	case 2:
		m->deadline[i] = 0;
		pmv_wheel_disarm(&wheel, &m->t[i]);
		break;
	default:
		m->now += pmv_random_below(r, UINT64_C(1) << pmv_random_below(r, 30));
		pmv_wheel_advance(&wheel, m->now, (uint32_t)pmv_random_below(r, 5), on_model, m);
		break;
	}
}

/* After enough budget: nothing due is left, everything else is still there. */
static void
model_check(struct model *m)
{
	uint32_t armed = 0;

	for (int turns = 0; turns < 2 * MODEL_NB; turns++)
		pmv_wheel_advance(&wheel, m->now, 16, on_model, m);
	for (int i = 0; i < MODEL_NB; i++) {
		assert_int_equal(pmv_timer_is_armed(&m->t[i]), m->deadline[i] != 0);
		if (m->deadline[i] == 0)
			continue;
		armed++;
		assert_true(m->deadline[i] + m->resolution > m->now);
		assert_true(pmv_wheel_next(&wheel) < m->deadline[i] + m->resolution);
	}
	assert_int_equal(armed, wheel.nb_armed);
}

static void
wheel__against_a_model(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct model *m = calloc(1, sizeof(*m));
		struct pmv_random r;

		pmv_random_init(&r, seed);
		m->now = pmv_random_next64(&r) >> (4 + pmv_random_below(&r, 50));
		m->resolution = UINT64_C(1) << pmv_random_below(&r, 12);
		pmv_wheel_init(&wheel, m->now, m->resolution);
		for (int i = 0; i < 4000; i++) {
			model_step(m, &r);
			if (i % 200 == 199)
				model_check(m);
		}
		free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wheel_advance__not_early_not_late),
		cmocka_unit_test(wheel_arm__past_and_never),
		cmocka_unit_test(wheel_arm__moves_an_armed_timer),
		cmocka_unit_test(wheel_advance__budget),
		cmocka_unit_test(wheel_advance__large_jump),
		cmocka_unit_test(wheel_advance__callback_changes_wheel),
		cmocka_unit_test(wheel__against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
