// SPDX-License-Identifier: BSD-3-Clause
/*
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
 * seeded by splitmix64, and getrandom(2) for what must be secret. The generator runs on its owner's
 * thread; the system calls on the control path.
 */
#include "lib/util/random.h"

#include <errno.h>
#include <sys/random.h>

static uint64_t
splitmix64(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t
rotate_left(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

void
pmv_random_init(struct pmv_random *r, uint64_t seed)
{
	/* splitmix64 is a bijection of a counter, so at most one of the four words is 0. */
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

int
pmv_random_bytes_os(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int
pmv_random_seed_os(struct pmv_random *r)
{
	uint64_t seed[4];
	int rc = pmv_random_bytes_os(seed, sizeof(seed));

	if (rc != 0)
		return rc;
	pmv_random_init(r, seed[0]);
	/* XOR keeps all 256 bits of entropy; an all-zero state has probability 2^-256. */
	for (int i = 0; i < 4; i++)
		r->s[i] ^= seed[i];
	return 0;
}

uint64_t
pmv_random_next64(struct pmv_random *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t
pmv_random_below(struct pmv_random *r, uint64_t n)
{
	uint64_t mask = n > 1 ? UINT64_MAX >> __builtin_clzll(n - 1) : 0;
	uint64_t v;

	/* Masked rejection: exact, no division, fewer than two turns on average. */
	do {
		v = pmv_random_next64(r) & mask;
	} while (v >= n);
	return v;
}
