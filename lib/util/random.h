// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random numbers. struct pmv_random is a fast seeded generator (xoshiro256**) for anything that
 * only has to be spread out and repeatable in tests: start PSNs, back-off jitter, id generations.
 * It is predictable from its output, so whatever a peer must not guess (the random half of an rkey)
 * takes pmv_random_bytes_os. Pure; one owner per generator.
 */
#ifndef PMV_UTIL_RANDOM_H
#define PMV_UTIL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct pmv_random {
	uint64_t s[4]; /* never all zero; writer: the owner */
};

/* Seeds from 64 bits; the same seed gives the same numbers on every machine. Any seed is good, 0
 * too. */
void pmv_random_init(struct pmv_random *r, uint64_t seed);

/* Seeds from the operating system. 0, or -errno of getrandom(2) (then *r is untouched). Control
 * path: a system call. */
int pmv_random_seed_os(struct pmv_random *r);

/* Fills buf with secret bytes from getrandom(2). 0 or -errno. Control path: a system call. */
int pmv_random_bytes_os(void *buf, size_t len);

/* The next 64 random bits. */
uint64_t pmv_random_next64(struct pmv_random *r);

/* Uniform in 0 .. n - 1, without modulo bias; n > 0. */
uint64_t pmv_random_below(struct pmv_random *r, uint64_t n);

#endif
