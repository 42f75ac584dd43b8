// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cold end of PMV_ASSERT: says what failed and aborts. Called on any lcore, once in the life of
 * a process. Built even with NDEBUG, because a program compiled without it may link this library.
 */
#include "lib/util/assert.h"

#include <stdio.h>
#include <stdlib.h>

void
pmv_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "pmverbs: %s:%d: assertion failed: %s\n", file, line, expr);
	abort();
}
