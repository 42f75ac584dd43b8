// SPDX-License-Identifier: BSD-3-Clause
/*
 * Selective acknowledgement, a packet of our own that only peers who agreed on it exchange: BTH (a
 * manufacturer's opcode, IBTA vol. 1, table 38), AETH, and 32 bytes that say which packets behind
 * the missing one are here already. The BTH's PSN is the first one missing; everything before it is
 * acknowledged. Bit i of the map is PSN + 1 + i: byte 0 holds bits 0..7, the lowest bit first.
 * Worker lcores; pure.
 */
#ifndef PMV_WIRE_SACK_H
#define PMV_WIRE_SACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PMV_SACK_LEN  32u
#define PMV_SACK_BITS 256u

struct pmv_sack {
	uint8_t map[PMV_SACK_LEN];
};

static inline void
pmv_sack_set(struct pmv_sack *s, uint32_t i)
{
	s->map[i / 8] |= (uint8_t)(1u << i % 8);
}

/* i < PMV_SACK_BITS. */
static inline bool
pmv_sack_has(const struct pmv_sack *s, uint32_t i)
{
	return (s->map[i / 8] >> i % 8 & 1) != 0;
}

static inline void
pmv_sack_parse(const uint8_t *p, struct pmv_sack *ret)
{
	memcpy(ret->map, p, PMV_SACK_LEN);
}

static inline void
pmv_sack_build(uint8_t *p, const struct pmv_sack *s)
{
	memcpy(p, s->map, PMV_SACK_LEN);
}

#endif
