// SPDX-License-Identifier: BSD-3-Clause
/*
 * Percentiles of measured times. Called after a measurement; any thread. It takes no times itself.
 */
#ifndef PMV_APPS_COMMON_LATENCY_H
#define PMV_APPS_COMMON_LATENCY_H

#include <stdint.h>

struct pmv_app_latency {
	double average_us;
	double p50_us;
	double p99_us;
	double p999_us;
};

/* Sorts nb >= 1 times in TSC ticks in place and fills ret. */
void pmv_app_latency_compute(uint64_t *ticks, uint64_t nb, struct pmv_app_latency *ret_latency);

#endif
