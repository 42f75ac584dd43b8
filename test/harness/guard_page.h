// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory that ends at an unmapped page: a parser that reads one byte too far dies at once, in any
 * build. For unit tests of readers of peer bytes; one buffer per test, freed by the end of the
 * process.
 */
#ifndef PMV_TEST_GUARD_PAGE_H
#define PMV_TEST_GUARD_PAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pmv_guard_page {
	uint8_t *end; /* first byte that must not be touched */
	size_t room;
};

static inline void
pmv_guard_page_init(struct pmv_guard_page *g, size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (room + page - 1) / page * page;
	uint8_t *p =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + size, page, PROT_NONE) != 0)
		abort();
	g->end = p + size;
	g->room = size;
}

/* A copy of len bytes whose end is the guard. */
static inline uint8_t *
pmv_guard_page_copy(const struct pmv_guard_page *g, const void *src, size_t len)
{
	if (len > g->room)
		abort();
	return memcpy(g->end - len, src, len);
}

#endif
