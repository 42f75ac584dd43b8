// SPDX-License-Identifier: BSD-3-Clause
/*
 * How fast a queue pair may send after congestion was told: the reaction point of DCQCN (Zhu et
 * al., SIGCOMM 2015, 3.1 and figure 7), as numbers alone. A notification cuts the rate by half of
 * alpha, an estimate of how congested it has been lately; time and bytes without one bring it back:
 * half the way to where it was, five times, then beyond in steps, and when it is that of the line
 * again, there is no limit any more and nothing is left to do. pace.c keeps frames to it. Owner
 * lcore; pure: `now` and all times are ticks.
 */
#ifndef PMV_ROCE_RATE_H
#define PMV_ROCE_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Periods of the paper: alpha decays, and the rate rises, so often while nothing is told. */
#define PMV_ROCE_RATE_PERIOD_US 55u
/* The sender of notifications leaves 50 us between two (pace.h); it may be another make's, which
 * leaves less: closer ones are one. */
#define PMV_ROCE_RATE_CUT_US 25u
/* Nobody is told to stop: bytes a second, 10 Mb/s. */
#define PMV_ROCE_RATE_MIN 1250000u
/* The lowest line rate that has a meaning here: 80 Mb/s. */
#define PMV_ROCE_RATE_LINE_MIN (8u * PMV_ROCE_RATE_MIN)
#define PMV_ROCE_RATE_RECOVERY 5u          /* F: rounds of fast recovery */
#define PMV_ROCE_RATE_BYTES    (10u << 20) /* B: sent bytes that count as a round too */
#define PMV_ROCE_RATE_NEVER    UINT64_MAX

#define PMV_ROCE_RATE_ALPHA_ONE (1u << 20)
#define PMV_ROCE_RATE_COST_BITS 16 /* fraction of pmv_roce_rate.cost */

struct pmv_roce_rate {
	uint64_t line;         /* bytes a second: at that rate there is no limit */
	uint64_t current;      /* bytes a second; 0 = no limit */
	uint64_t target;       /* where recovery goes */
	uint64_t cost;         /* of a byte, in ticks << COST_BITS; valid with current */
	uint64_t round_at;     /* when the next period ends; valid with current */
	uint64_t cut_at;       /* last cut; valid with current */
	uint32_t bytes_left;   /* until the next round that bytes make */
	uint32_t alpha;        /* 0..ALPHA_ONE */
	uint32_t timer_rounds; /* since the last cut */
	uint32_t byte_rounds;
	uint64_t ticks_per_us;
};

/* No limit. line: bytes a second, at least LINE_MIN is taken. */
void pmv_roce_rate_init(struct pmv_roce_rate *r, uint64_t line, uint64_t ticks_per_us);

static inline bool
pmv_roce_rate_is_limited(const struct pmv_roce_rate *r)
{
	return r->current != 0;
}

/* A notification came. True: the rate was cut. False: too close behind the last one. */
bool pmv_roce_rate_notify(struct pmv_roce_rate *r, uint64_t now);

/* Bytes went out. The limit may be gone afterwards. */
void pmv_roce_rate_sent(struct pmv_roce_rate *r, uint32_t bytes);

/* Whatever is due. Bounded, however long it was not asked. The limit may be gone afterwards. */
void pmv_roce_rate_run(struct pmv_roce_rate *r, uint64_t now);

/* When run() has something to do next; NEVER without a limit. */
static inline uint64_t
pmv_roce_rate_next(const struct pmv_roce_rate *r)
{
	return r->current != 0 ? r->round_at : PMV_ROCE_RATE_NEVER;
}

/* Ticks that so many bytes take. There is a limit. */
static inline uint64_t
pmv_roce_rate_ticks(const struct pmv_roce_rate *r, uint32_t bytes)
{
	return bytes * r->cost >> PMV_ROCE_RATE_COST_BITS;
}

#endif
