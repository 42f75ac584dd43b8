// SPDX-License-Identifier: BSD-3-Clause
/*
 * Message patterns: 8-byte words that count up in big odd steps from a start that is mixed from the
 * message's number. Pure.
 */
#include "apps/demo/pattern.h"

#include <string.h>

#define STEP                                                                                       \
	0x9e3779b97f4a7c15u /* 2^64 divided by the golden ratio: neighbouring words differ in most \
			       bytes */

/* The finalizer of splitmix64: neighbouring numbers get unrelated starts. */
static uint64_t
start_of(uint64_t id)
{
	uint64_t x = id + STEP;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void
fill(uint8_t *buf, uint32_t size, uint64_t word, uint64_t flip)
{
	uint32_t i = 0;

	for (; i + 8 <= size; i += 8, word += STEP) {
		uint64_t value = word ^ flip;

		memcpy(buf + i, &value, 8);
	}
	word ^= flip;
	memcpy(buf + i, &word, size - i);
}

void
pmv_demo_pattern_fill(uint8_t *buf, uint32_t size, uint64_t id)
{
	fill(buf, size, start_of(id), 0);
}

void
pmv_demo_pattern_spoil(uint8_t *buf, uint32_t size, uint64_t id)
{
	fill(buf, size, start_of(id), UINT64_MAX);
}

bool
pmv_demo_pattern_check(const uint8_t *buf, uint32_t size, uint64_t id)
{
	uint64_t word = start_of(id);
	uint64_t wrong = 0;
	uint32_t i = 0;

	for (; i + 8 <= size; i += 8, word += STEP) {
		uint64_t value;

		memcpy(&value, buf + i, 8);
		wrong |= value ^ word;
	}
	return wrong == 0 && memcmp(buf + i, &word, size - i) == 0;
}
