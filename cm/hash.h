// SPDX-License-Identifier: BSD-3-Clause
/*
 * Keyed hash of a few 64-bit words (SipHash-1-3, Aumasson and Bernstein) for tables whose keys a
 * peer chooses: without the key nobody can aim at one bucket. Used by cm/dup and cm/neigh. Pure;
 * any thread. Not a MAC: one compression round.
 */
#ifndef PMV_CM_HASH_H
#define PMV_CM_HASH_H

#include <stdint.h>

struct pmv_cm_hash_key {
	uint64_t k[2]; /* from the OS's random source, or a test's seed */
};

static inline uint64_t
pmv_cm_hash_rotl(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static inline void
pmv_cm_hash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = pmv_cm_hash_rotl(v[1], 13) ^ v[0];
	v[3] = pmv_cm_hash_rotl(v[3], 16) ^ v[2];
	v[0] = pmv_cm_hash_rotl(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = pmv_cm_hash_rotl(v[3], 21) ^ v[0];
	v[1] = pmv_cm_hash_rotl(v[1], 17) ^ v[2];
	v[2] = pmv_cm_hash_rotl(v[2], 32);
}

/* The words are taken as a message of nb * 8 bytes, so the result equals SipHash-1-3 of their
 * little-endian bytes. */
static inline uint64_t
pmv_cm_hash(const struct pmv_cm_hash_key *key, const uint64_t *words, uint32_t nb)
{
	uint64_t v[4] = { key->k[0] ^ 0x736f6d6570736575ull, key->k[1] ^ 0x646f72616e646f6dull,
		key->k[0] ^ 0x6c7967656e657261ull, key->k[1] ^ 0x7465646279746573ull };
	uint64_t last = (uint64_t)(nb * 8) << 56;
	uint32_t i;

	for (i = 0; i < nb; i++) {
		v[3] ^= words[i];
		pmv_cm_hash_round(v);
		v[0] ^= words[i];
	}
	v[3] ^= last;
	pmv_cm_hash_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (i = 0; i < 3; i++)
		pmv_cm_hash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
