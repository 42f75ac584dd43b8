// SPDX-License-Identifier: BSD-3-Clause
/*
 * Big-endian loads and stores on unaligned bytes. Wire formats are bytes, never overlaid structs:
 * an overlay needs alignment that frames do not have. Pure; any thread.
 */
#ifndef PMV_UTIL_BE_H
#define PMV_UTIL_BE_H

#include <stdint.h>
#include <string.h>

static inline uint16_t
pmv_be16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t
pmv_be32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t
pmv_be64_load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline uint32_t
pmv_be24_load(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline void
pmv_be16_store(uint8_t *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
pmv_be32_store(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
pmv_be64_store(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
pmv_be24_store(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pmverbs runs on little-endian machines (x86-64, aarch64)"
#endif

#endif
