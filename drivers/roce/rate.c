// SPDX-License-Identifier: BSD-3-Clause
/*
 * DCQCN's reaction point: see rate.h. Owner lcore. Divisions happen once a cut or a period, never
 * for a frame.
 */
#include "drivers/roce/rate.h"

#include <string.h>

/* g: how quickly alpha follows. 1/256 in the paper; 1/64 shares more evenly between two senders and
 * costs nothing (test/sim/ecn_flow_test.c). */
#define GAIN_SHIFT 6u

/* Additive steps: 40 Mb/s of 10 Gb/s, the paper's of 40. They have to bring a rate back that fell
 * far while the queue of the first moments drained. Hyper steps are ten times that. */
#define STEP_SHIFT 8u
#define HYPER      10u

#define CATCH_UP_MAX 16u  /* periods served at once */
#define HYPER_MAX    64u  /* rounds that make the hyper step longer */
#define ROUNDS_MAX   255u /* counted */

static void
set_current(struct pmv_roce_rate *r, uint64_t current)
{
	r->current = current > PMV_ROCE_RATE_MIN ? current : PMV_ROCE_RATE_MIN;
	/* rounded up: never above the rate */
	r->cost = (r->ticks_per_us * 1000000u << PMV_ROCE_RATE_COST_BITS) / r->current + 1;
}

void
pmv_roce_rate_init(struct pmv_roce_rate *r, uint64_t line, uint64_t ticks_per_us)
{
	memset(r, 0, sizeof(*r));
	r->line = line > PMV_ROCE_RATE_LINE_MIN ? line : PMV_ROCE_RATE_LINE_MIN;
	r->ticks_per_us = ticks_per_us;
}

/* Both timers and the byte counter begin again at a cut. */
static void
restart(struct pmv_roce_rate *r, uint64_t now)
{
	r->round_at = now + PMV_ROCE_RATE_PERIOD_US * r->ticks_per_us;
	r->bytes_left = PMV_ROCE_RATE_BYTES;
	r->timer_rounds = 0;
	r->byte_rounds = 0;
}

bool
pmv_roce_rate_notify(struct pmv_roce_rate *r, uint64_t now)
{
	if (r->current == 0) {
		r->current = r->line;
		r->alpha = PMV_ROCE_RATE_ALPHA_ONE;
	} else if (now - r->cut_at < PMV_ROCE_RATE_CUT_US * r->ticks_per_us) {
		return false;
	}
	r->cut_at = now;
	r->target = r->current;
	set_current(r, r->current - r->current * r->alpha / (2 * PMV_ROCE_RATE_ALPHA_ONE));
	r->alpha += (PMV_ROCE_RATE_ALPHA_ONE - r->alpha) >> GAIN_SHIFT;
	restart(r, now);
	return true;
}

/* The target moves beyond where the rate was: in steps when either counter is past fast recovery,
 * and in growing ones when both are. */
static void
raise_target(struct pmv_roce_rate *r)
{
	bool by_timer = r->timer_rounds > PMV_ROCE_RATE_RECOVERY;
	bool by_bytes = r->byte_rounds > PMV_ROCE_RATE_RECOVERY;
	uint64_t step = r->line >> STEP_SHIFT;
	uint32_t nb;

	if (!by_timer && !by_bytes)
		return;
	if (by_timer && by_bytes) {
		nb = r->timer_rounds < r->byte_rounds ? r->timer_rounds : r->byte_rounds;
		nb -= PMV_ROCE_RATE_RECOVERY;
		step *= HYPER * (nb < HYPER_MAX ? nb : HYPER_MAX);
	}
	r->target = r->target + step < r->line ? r->target + step : r->line;
}

/* A round without a notification is over. */
static void
rise(struct pmv_roce_rate *r)
{
	raise_target(r);
	set_current(r, (r->target + r->current) / 2);
	/* Half the way for ever is never there: close to the line is the line. */
	if (r->current >= r->line - (r->line >> 6))
		r->current = 0;
}

static void
count(uint32_t *rounds)
{
	if (*rounds < ROUNDS_MAX)
		++*rounds;
}

void
pmv_roce_rate_sent(struct pmv_roce_rate *r, uint32_t bytes)
{
	if (r->current == 0)
		return;
	if (bytes < r->bytes_left) {
		r->bytes_left -= bytes;
		return;
	}
	r->bytes_left = PMV_ROCE_RATE_BYTES;
	count(&r->byte_rounds);
	rise(r);
}

void
pmv_roce_rate_run(struct pmv_roce_rate *r, uint64_t now)
{
	uint64_t period = PMV_ROCE_RATE_PERIOD_US * r->ticks_per_us;

	for (uint32_t i = 0; r->current != 0 && now >= r->round_at; i++) {
		if (i == CATCH_UP_MAX) {
			r->round_at = now + period;
			return;
		}
		r->alpha -= r->alpha >> GAIN_SHIFT;
		r->round_at += period;
		count(&r->timer_rounds);
		rise(r);
	}
}
