// SPDX-License-Identifier: BSD-3-Clause
/*
 * CRC by carry-less multiplication. Up to SHORT_MAX bytes without a loop-carried dependency:
 * instead of folding one block into the next, every 8 bytes are multiplied at once by the power of
 * x that their distance from the end asks for; the products are added, and one reduction ends it.
 * The powers come from a table with one row per (length mod 8), so there is no tail code: masked
 * loads give zeros past the end, and a partly filled last word simply has a negative exponent (x
 * has an inverse modulo the polynomial). Longer input is first folded, 256 bytes a turn, until that
 * much is left.
 *
 * Bit order: in a reflected 64-bit word, bit 0 is the coefficient of x^63. A carry-less product of
 * two such words is the reflected product times x; the exponents below carry -1 for that.
 */
#include "lib/wire/icrc_vector.h"

bool pmv_icrc_vector_is_usable;

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET       __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,vpclmulqdq,pclmul")))
#define SHORT_MAX    512 /* bytes; at least eight blocks, so that four remain after a fold */
#define BLOCK        64
#define WORDS_MAX    (SHORT_MAX / 8)
#define POLY         0xedb88320u /* reflected, without x^32 */
#define ROW_LEN      (WORDS_MAX + BLOCK / 8)
#define BARRETT_MU   0x1f7011641u /* floor(x^64 / P), reflected, 33 bits */
#define BARRETT_POLY 0x1db710641u /* P, reflected, 33 bits */

/*
 * power[r][i]: x^(64 * m + 8 * r + 31) mod P, in the upper half, m = WORDS_MAX - 1 - i, for the
 * word that has m whole words and r bytes behind it in the message; m = -1 is the last, partly
 * filled word. Words past the end are zero, whatever stands here for them.
 */
static uint64_t power[8][ROW_LEN] __attribute__((aligned(64)));
static uint64_t power_63; /* x^63 mod P in the upper half: brings 32 bits down by 64 */
/* x^(2048 + 63) and x^(2048 - 1): move the two words of a 128-bit lane by four blocks. */
static uint64_t power_fold[2];

static uint32_t
times_x(uint32_t k)
{
	return k & 1 ? k >> 1 ^ POLY : k >> 1;
}

static uint32_t
over_x(uint32_t k)
{
	return k & 0x80000000u ? (k ^ POLY) << 1 | 1 : k << 1;
}

/* k * x^n, n of either sign. */
static uint32_t
shifted(uint32_t k, int n)
{
	for (; n > 0; n--)
		k = times_x(k);
	for (; n < 0; n++)
		k = over_x(k);
	return k;
}

static void
powers_fill(void)
{
	const uint32_t one = 0x80000000u; /* x^0 */
	uint32_t k = shifted(one, -33);

	/* k = x^(8 * s - 33) with s = 8 * (m + 1) + r. */
	for (uint32_t s = 0; s < 8 * (WORDS_MAX + 1); s++) {
		power[s % 8][WORDS_MAX - s / 8] = (uint64_t)k << 32;
		k = shifted(k, 8);
	}
	power_63 = (uint64_t)shifted(one, 63) << 32;
	power_fold[0] = (uint64_t)shifted(one, 4 * BLOCK * 8 + 63) << 32;
	power_fold[1] = (uint64_t)shifted(one, 4 * BLOCK * 8 - 1) << 32;
}

/* The powers of the first word of a message of len bytes; the next words' follow. */
static inline const uint64_t *
powers_of(uint32_t len)
{
	return &power[len % 8][WORDS_MAX - len / 8];
}

__attribute__((constructor)) static void
vector_init(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
		!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("vpclmulqdq") ||
		!__builtin_cpu_supports("pclmul"))
		return;
	powers_fill();
	pmv_icrc_vector_is_usable = true;
}

/* The 96 bits that are left -> 32. */
TARGET static inline uint32_t
reduce(__m128i z)
{
	__m128i t;

	/* The 32 bits above x^64 come down, then Barrett: quotient by mu, remainder by P. */
	t = _mm_clmulepi64_si128(z, _mm_cvtsi64_si128((long long)power_63), 0x00);
	z = _mm_unpackhi_epi64(_mm_xor_si128(z, t), _mm_setzero_si128());
	t = _mm_clmulepi64_si128(_mm_and_si128(z, _mm_cvtsi32_si128(-1)),
		_mm_cvtsi64_si128((long long)BARRETT_MU), 0x00);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, _mm_cvtsi32_si128(-1)),
		_mm_cvtsi64_si128((long long)BARRETT_POLY), 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(z, t), 1);
}

TARGET static inline __m512i
multiply(__m512i v, __m512i k)
{
	return _mm512_xor_si512(
		_mm512_clmulepi64_epi128(v, k, 0x00), _mm512_clmulepi64_epi128(v, k, 0x11));
}

/* Adds the len bytes at buf, k being the powers of their first word, to sum; then the end. */
TARGET static inline uint32_t
rest_sum(__m512i sum, const uint8_t *buf, uint32_t len, const uint64_t *k)
{
	__m256i half;

	for (; len >= BLOCK; len -= BLOCK, buf += BLOCK, k += BLOCK / 8)
		sum = _mm512_xor_si512(
			sum, multiply(_mm512_loadu_si512(buf), _mm512_loadu_si512(k)));
	if (len > 0) {
		__m512i v = _mm512_maskz_loadu_epi8((UINT64_C(1) << len) - 1, buf);

		sum = _mm512_xor_si512(sum, multiply(v, _mm512_loadu_si512(k)));
	}
	half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
	return reduce(
		_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

TARGET static inline __m512i
block_fold(__m512i v, __m512i k, const uint8_t *next)
{
	return _mm512_xor_si512(multiply(v, k), _mm512_loadu_si512(next));
}

/* More than SHORT_MAX bytes; v: the first block, state and mask in it. Folds four blocks into the
 * next four until few are left. */
TARGET static __attribute__((noinline)) uint32_t
long_sum(__m512i v, const uint8_t *buf, uint32_t len)
{
	const __m512i fold = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)power_fold));
	__m512i v1 = _mm512_loadu_si512(buf + BLOCK);
	__m512i v2 = _mm512_loadu_si512(buf + 2 * BLOCK);
	__m512i v3 = _mm512_loadu_si512(buf + 3 * BLOCK);
	const uint64_t *k;
	__m512i sum;

	do {
		buf += 4 * BLOCK;
		len -= 4 * BLOCK;
		v = block_fold(v, fold, buf);
		v1 = block_fold(v1, fold, buf + BLOCK);
		v2 = block_fold(v2, fold, buf + 2 * BLOCK);
		v3 = block_fold(v3, fold, buf + 3 * BLOCK);
	} while (len > SHORT_MAX);
	k = powers_of(len);
	sum = multiply(v, _mm512_loadu_si512(k));
	sum = _mm512_xor_si512(sum, multiply(v1, _mm512_loadu_si512(k + 8)));
	sum = _mm512_xor_si512(sum, multiply(v2, _mm512_loadu_si512(k + 16)));
	sum = _mm512_xor_si512(sum, multiply(v3, _mm512_loadu_si512(k + 24)));
	return rest_sum(sum, buf + 4 * BLOCK, len - 4 * BLOCK, k + 4 * BLOCK / 8);
}

/* v: the first block, already masked, zero past the end. */
TARGET static inline uint32_t
blocks_sum(uint32_t state, __m512i v, const uint8_t *buf, uint32_t len)
{
	const uint64_t *k;
	uint32_t n;

	v = _mm512_xor_si512(v, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	if (len > SHORT_MAX)
		return long_sum(v, buf, len);
	k = powers_of(len);
	n = len < BLOCK ? len : BLOCK;
	return rest_sum(multiply(v, _mm512_loadu_si512(k)), buf + n, len - n, k + BLOCK / 8);
}

TARGET static inline __m512i
first_block_load(const uint8_t *buf, uint32_t len)
{
	return _mm512_maskz_loadu_epi8(len < BLOCK ? (UINT64_C(1) << len) - 1 : UINT64_MAX, buf);
}

TARGET uint32_t
pmv_icrc_vector(uint32_t state, const uint8_t *buf, uint32_t len)
{
	return blocks_sum(state, first_block_load(buf, len), buf, len);
}

TARGET uint32_t
pmv_icrc_vector_masked(uint32_t state, const uint8_t *buf, uint32_t len, const uint8_t *mask)
{
	__m512i v = _mm512_or_si512(first_block_load(buf, len), _mm512_loadu_si512(mask));

	return blocks_sum(state, v, buf, len);
}

#else

/* Never called: pmv_icrc_vector_is_usable is false. */
uint32_t
pmv_icrc_vector(uint32_t state, const uint8_t *buf, uint32_t len)
{
	__builtin_unreachable();
}

uint32_t
pmv_icrc_vector_masked(uint32_t state, const uint8_t *buf, uint32_t len, const uint8_t *mask)
{
	__builtin_unreachable();
}

#endif
