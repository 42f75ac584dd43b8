// SPDX-License-Identifier: BSD-3-Clause
/*
 * 24-bit sequence numbers (PSN, MSN) with the modular compare of IBTA vol. 1, 9.7.2: a number is
 * "before" another when the distance modulo 2^24 is less than 2^23. A PSN is a struct so that a
 * plain `<` does not compile. Pure; any thread.
 */
#ifndef PMV_UTIL_SEQ24_H
#define PMV_UTIL_SEQ24_H

#include <stdbool.h>
#include <stdint.h>

#define PMV_PSN_MASK 0xffffffu

struct pmv_psn {
	uint32_t v; /* 0..2^24-1, always masked */
};

static inline struct pmv_psn
pmv_psn(uint32_t v)
{
	return (struct pmv_psn){ v & PMV_PSN_MASK };
}

static inline struct pmv_psn
pmv_psn_add(struct pmv_psn a, uint32_t n)
{
	return pmv_psn(a.v + n);
}

/* a - b as a signed distance, -2^23..2^23-1. */
static inline int32_t
pmv_psn_diff(struct pmv_psn a, struct pmv_psn b)
{
	return (int32_t)((a.v - b.v) << 8) >> 8;
}

static inline bool
pmv_psn_eq(struct pmv_psn a, struct pmv_psn b)
{
	return a.v == b.v;
}

static inline bool
pmv_psn_before(struct pmv_psn a, struct pmv_psn b)
{
	return pmv_psn_diff(a, b) < 0;
}

/* first <= a < first + n, for n up to 2^23. */
static inline bool
pmv_psn_within(struct pmv_psn a, struct pmv_psn first, uint32_t n)
{
	return ((a.v - first.v) & PMV_PSN_MASK) < n;
}

#endif
