// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ordered copies. memcpy may write in any order and in any pieces (and does: rte_memcpy starts with
 * the last bytes of a long copy), so the stores here are spelled out. Owner lcore.
 */
#include "drivers/roce/place.h"

#include <string.h>

#include <rte_branch_prediction.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/*
 * Stores of n aligned bytes, each visible after all before it. place-release: pairs with the
 * acquire (or the data dependency) of whoever polls the memory. On x86 it is a plain mov, but the
 * compiler keeps the order.
 */
#define PUT(type, dst, src)                                                                        \
	do {                                                                                       \
		type v_;                                                                           \
                                                                                                   \
		memcpy(&v_, (src), sizeof(v_));                                                    \
		__atomic_store_n((type *)(void *)(dst), v_, __ATOMIC_RELEASE);                     \
		(dst) += sizeof(v_);                                                               \
		(src) += sizeof(v_);                                                               \
		len -= sizeof(v_);                                                                 \
	} while (0)

#ifdef __x86_64__

/* dst is aligned to 16; an aligned store of 16 bytes never shows an 8-byte word in parts. volatile
 * keeps the order of the stores. */
#define STEP_BYTES 16u
static inline void
step_put(uint8_t *dst, const uint8_t *src)
{
	*(volatile __m128i *)(void *)dst = _mm_loadu_si128((const void *)src);
}

static bool has_lines;

__attribute__((constructor)) static void
place_init(void)
{
	__builtin_cpu_init();
	has_lines = __builtin_cpu_supports("avx512f");
}

/* Whole cache lines; dst is aligned to one. Returns the bytes placed. */
__attribute__((target("avx512f"))) static uint32_t
lines_put(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint32_t at = 0;

	for (; len - at >= RTE_CACHE_LINE_SIZE; at += RTE_CACHE_LINE_SIZE)
		*(volatile __m512i *)(void *)(dst + at) = _mm512_loadu_si512(src + at);
	return at;
}

#else

#define STEP_BYTES 8u
static inline void
step_put(uint8_t *dst, const uint8_t *src)
{
	uint64_t v;

	memcpy(&v, src, sizeof(v));
	__atomic_store_n((uint64_t *)(void *)dst, v, __ATOMIC_RELEASE);
}

static const bool has_lines = false;

static inline uint32_t
lines_put(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	return 0;
}

#endif

/* dst is aligned to STEP_BYTES. Returns the bytes placed: all but what is shorter than a step. */
static inline uint32_t
steps_put(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint32_t at = 0;

	if (has_lines && len >= 2 * RTE_CACHE_LINE_SIZE) {
		for (; ((uintptr_t)(dst + at) & (RTE_CACHE_LINE_SIZE - 1)) != 0; at += STEP_BYTES)
			step_put(dst + at, src + at);
		at += lines_put(dst + at, src + at, len - at);
	}
	for (; len - at >= 4 * STEP_BYTES; at += 4 * STEP_BYTES) {
		step_put(dst + at, src + at);
		step_put(dst + at + STEP_BYTES, src + at + STEP_BYTES);
		step_put(dst + at + 2 * STEP_BYTES, src + at + 2 * STEP_BYTES);
		step_put(dst + at + 3 * STEP_BYTES, src + at + 3 * STEP_BYTES);
	}
	for (; len - at >= STEP_BYTES; at += STEP_BYTES)
		step_put(dst + at, src + at);
	return at;
}

void
pmv_roce_place_bytes(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint32_t done;

	/* Up to alignment by growing steps; each is aligned to its own size. When a step is longer
	 * than what is left, so are all after it. */
	if (((uintptr_t)dst & 1) != 0 && len >= 1)
		PUT(uint8_t, dst, src);
	if (((uintptr_t)dst & 2) != 0 && len >= 2)
		PUT(uint16_t, dst, src);
	if (((uintptr_t)dst & 4) != 0 && len >= 4)
		PUT(uint32_t, dst, src);
	if (((uintptr_t)dst & 8) != 0 && len >= 8)
		PUT(uint64_t, dst, src);
	done = steps_put(dst, src, len);
	dst += done;
	src += done;
	len -= done;
	while (len >= 8)
		PUT(uint64_t, dst, src);
	if (len >= 4)
		PUT(uint32_t, dst, src);
	if (len >= 2)
		PUT(uint16_t, dst, src);
	if (len >= 1)
		PUT(uint8_t, dst, src);
}

/* Where in a chain. */
struct cursor {
	const struct rte_mbuf *m;
	uint32_t off;
};

static inline const uint8_t *
cursor_ptr(const struct cursor *c)
{
	return rte_pktmbuf_mtod_offset(c->m, const uint8_t *, c->off);
}

static inline void
cursor_skip_empty(struct cursor *c)
{
	while (c->off >= c->m->data_len && c->m->next != NULL) {
		c->off -= c->m->data_len;
		c->m = c->m->next;
	}
}

/* n < 8 bytes that lie in two segments or more, as one piece. */
static void
cursor_read(struct cursor *c, uint8_t *buf, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		cursor_skip_empty(c);
		buf[i] = *cursor_ptr(c);
		c->off++;
	}
}

static __rte_noinline void
place_chain(uint8_t *dst, struct cursor c, uint32_t len)
{
	uint8_t word[8];

	while (len > 0) {
		uint32_t n, cut;

		cursor_skip_empty(&c);
		n = c.m->data_len - c.off;
		if (n >= len) {
			pmv_roce_place_bytes(dst, cursor_ptr(&c), len);
			return;
		}
		/* Up to the last word that is whole here; the next begins here and ends in another
		 * segment. */
		cut = (uint32_t)((uintptr_t)dst + n) & 7;
		if (n > cut) {
			n -= cut;
			pmv_roce_place_bytes(dst, cursor_ptr(&c), n);
			c.off += n;
		} else {
			n = RTE_MIN(len, 8 - ((uint32_t)(uintptr_t)dst & 7));
			cursor_read(&c, word, n);
			pmv_roce_place_bytes(dst, word, n);
		}
		dst += n;
		len -= n;
	}
}

void
pmv_roce_place_any(uint8_t *dst, const struct rte_mbuf *m, uint32_t m_off, uint32_t len)
{
	struct cursor c = { m, m_off };

	if (likely(m_off + len <= m->data_len))
		pmv_roce_place_bytes(dst, cursor_ptr(&c), len);
	else
		place_chain(dst, c, len);
}
