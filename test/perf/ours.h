// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cases that are ours, for pmv-bench (how fast) and pmv-stages (where the time goes). Lcore A
 * runs them; lcore B is told what it has to do.
 */
#ifndef PMV_PERF_OURS_H
#define PMV_PERF_OURS_H

#include "test/perf/lab.h"

/*
 * WRITEs of len bytes for `ticks`, posted in bursts of PERF_BURST (64 KiB ones singly), one
 * completion in `every` (1..PERF_BURST). Returns how many completed in exactly `ticks`: what
 * completed, scaled to the time that was asked for.
 */
double perf_write_stream(
	struct perf_lab *lab, uint64_t ticks, uint32_t len, uint32_t every, uint32_t flags);

/* An 8-byte WRITE that the other end sees in its memory and answers with one; scaled in the same
 * way. */
double perf_write_round_trips(struct perf_lab *lab, uint64_t ticks);

#endif
