// SPDX-License-Identifier: BSD-3-Clause
/*
 * Percentiles by sorting: the programs keep every sample, so nothing is estimated. Any thread.
 */
#include "apps/common/latency.h"

#include <stdlib.h>

#include <rte_cycles.h>

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void
pmv_app_latency_compute(uint64_t *ticks, uint64_t nb, struct pmv_app_latency *ret_latency)
{
	double us = 1e6 / (double)rte_get_tsc_hz();
	double sum = 0;

	qsort(ticks, nb, sizeof(*ticks), compare);
	for (uint64_t i = 0; i < nb; i++)
		sum += (double)ticks[i];
	/* The smallest sample that so many of all do not exceed. */
	ret_latency->average_us = sum / (double)nb * us;
	ret_latency->p50_us = (double)ticks[(nb - 1) / 2] * us;
	ret_latency->p99_us = (double)ticks[(nb * 99 + 99) / 100 - 1] * us;
	ret_latency->p999_us = (double)ticks[(nb * 999 + 999) / 1000 - 1] * us;
}
