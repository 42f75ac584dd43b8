// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/fuzzed_zones.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/sim/rc_lab.h"

#define MARGIN 512u
#define ARENA  (3 * 8192 + 2 * 4096 + ZONE_BUF + 2 * ZONE_BUFS * ZONE_BUF + (ZONE_NB + 1) * MARGIN)
#define ALL                                                                                        \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL)

static const struct {
	uint32_t bytes;
	uint32_t rights;
} facts[ZONE_NB] = {
	[ZONE_RW] = { 8192, ALL },
	[ZONE_RO] = { 8192, PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_READ },
	[ZONE_IOVA] = { 8192, ALL },
	[ZONE_OTHER] = { 4096, ALL },
	[ZONE_DEAD] = { 4096, ALL },
	[ZONE_OUT] = { ZONE_BUF, 0 },
	[ZONE_RECV] = { ZONE_BUFS * ZONE_BUF, PMV_ACCESS_LOCAL_WRITE },
	[ZONE_READ] = { ZONE_BUFS * ZONE_BUF, PMV_ACCESS_LOCAL_WRITE },
};

uint32_t
zone_bytes(enum zone z)
{
	return facts[z].bytes;
}

uint64_t
zone_start(const struct zones *s, enum zone z)
{
	return z == ZONE_IOVA ? -(uint64_t)zone_bytes(z) : (uintptr_t)s->zone[z];
}

static void
make(struct zones *s)
{
	uint8_t *p;

	s->arena = malloc(ARENA);
	s->shadow = malloc(ARENA);
	memset(s->arena, ZONE_SECRET, ARENA);
	p = s->arena + MARGIN;
	for (int z = 0; z < ZONE_NB; z++) {
		s->zone[z] = p;
		p += facts[z].bytes + MARGIN;
	}
	for (int z = ZONE_RW; z <= ZONE_IOVA; z++)
		memset(s->zone[z], 0x11, facts[z].bytes);
	memset(s->zone[ZONE_OUT], 0x22, facts[ZONE_OUT].bytes);
	memcpy(s->shadow, s->arena, ARENA);
}

void
zones_open(struct zones *s, struct pmv_test_node *node)
{
	make(s);
	assert_int_equal(pmv_alloc_pd(node->dev, &s->other_pd), 0);
	for (int z = 0; z < ZONE_NB; z++) {
		struct pmv_pd *pd = z == ZONE_OTHER ? s->other_pd : node->pd;

		assert_int_equal(pmv_reg_mr_iova(pd, s->zone[z], facts[z].bytes,
					 zone_start(s, (enum zone)z), facts[z].rights, &s->mr[z]),
			0);
		s->key[z] = pmv_mr_rkey(s->mr[z]);
	}
	rc_lab_dereg(s->mr[ZONE_DEAD]);
}

void
zones_dereg(struct zones *s)
{
	for (int z = 0; z < ZONE_NB; z++)
		if (z != ZONE_DEAD)
			rc_lab_dereg(s->mr[z]);
}

void
zones_close(struct zones *s)
{
	assert_int_equal(pmv_dealloc_pd(s->other_pd), 0);
	free(s->arena);
	free(s->shadow);
}

void
zones_accept(struct zones *s, enum zone z)
{
	memcpy(s->shadow + (s->zone[z] - s->arena), s->zone[z], facts[z].bytes);
}

void
zones_check(struct zones *s, const uint8_t *from, uint32_t len)
{
	uint32_t at = from == NULL ? 0 : (uint32_t)(from - s->arena);

	if (from == NULL)
		len = 0;
	memcpy(s->shadow + at, s->arena + at, len);
	if (memcmp(s->shadow, s->arena, ARENA) == 0)
		return;
	for (uint32_t i = 0; i < ARENA; i++)
		if (s->shadow[i] != s->arena[i])
			fail_msg("byte %u changed, allowed %u + %u", i, at, len);
}

void
zones_check_no_secret(const uint8_t *p, uint32_t len)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < len; i++) {
		run = p[i] == ZONE_SECRET ? run + 1 : 0;
		assert_true(run < 8);
	}
}
