// SPDX-License-Identifier: BSD-3-Clause
/*
 * PMV_ASSERT: states what our own code guarantees to itself. Any file, any lcore. It aborts in
 * builds without NDEBUG and costs nothing with it. It is never used on peer bytes or user
 * arguments: those get a verdict or an errno, so a frame can never stop the process.
 */
#ifndef PMV_UTIL_ASSERT_H
#define PMV_UTIL_ASSERT_H

/* Writes the failed expression to stderr and aborts. Cold: kept out of line so that callers stay
 * small. */
__attribute__((noreturn, cold)) void pmv_assert_fail(const char *expr, const char *file, int line);

#ifdef NDEBUG
/* sizeof keeps the operands "used" without evaluating them. */
#define PMV_ASSERT(expr) ((void)sizeof(!(expr)))
#else
#define PMV_ASSERT(expr)                                                                           \
	(__builtin_expect(!!(expr), 1) ? (void)0 : pmv_assert_fail(#expr, __FILE__, __LINE__))
#endif

#endif
