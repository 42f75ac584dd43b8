// SPDX-License-Identifier: BSD-3-Clause
/*
 * Asks for a cache line to write to. Where another core has it, one question brings it here as
 * ours; a prefetch to read would need a second one at the first store. Any lcore, per packet; pure.
 */
#ifndef PMV_UTIL_PREFETCH_H
#define PMV_UTIL_PREFETCH_H

static inline void
pmv_prefetch_write(const void *p)
{
#if defined(__x86_64__)
	/* Compilers leave it out for the oldest x86-64 machines, which take it for a no-operation.
	 */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
