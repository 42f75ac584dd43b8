// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes payload into user memory so that another thread that polls this memory sees what it would
 * see behind a lossless wire: bytes appear in ascending address order, and no aligned 8-byte word
 * appears in halves. Owner lcore. It checks no keys: sgl.c has.
 */
#ifndef PMV_ROCE_PLACE_H
#define PMV_ROCE_PLACE_H

#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

/* Copies len bytes at src to dst, ascending; the two do not overlap. */
void pmv_roce_place_bytes(uint8_t *dst, const uint8_t *src, uint32_t len);

/*
 * Copies len bytes at m_off of a frame to dst, ascending. A word that lies across two segments of
 * the frame is put together first. The frame is at least m_off + len bytes long.
 */
void pmv_roce_place_any(uint8_t *dst, const struct rte_mbuf *m, uint32_t m_off, uint32_t len);

static inline void
pmv_roce_place(uint8_t *dst, const struct rte_mbuf *m, uint32_t m_off, uint32_t len)
{
	uint64_t v;

	if (len != sizeof(v) || ((uintptr_t)dst & 7) != 0 || m_off + sizeof(v) > m->data_len) {
		pmv_roce_place_any(dst, m, m_off, len);
		return;
	}
	/* One aligned word: the commonest small message. place-release: see place.c. */
	memcpy(&v, rte_pktmbuf_mtod_offset(m, const uint8_t *, m_off), sizeof(v));
	__atomic_store_n((uint64_t *)(void *)dst, v, __ATOMIC_RELEASE);
}

#endif
