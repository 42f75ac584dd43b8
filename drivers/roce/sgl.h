// SPDX-License-Identifier: BSD-3-Clause
/*
 * Moves payload between frames and user memory. Bytes become visible in ascending address order,
 * aligned 8-byte words untorn, so that an application polling the last byte of a message never sees
 * it before the rest. Owner lcore.
 */
#ifndef PMV_ROCE_SGL_H
#define PMV_ROCE_SGL_H

#include <rte_mbuf.h>

#include "drivers/roce/place.h"
#include "drivers/roce/region.h"
#include "lib/api/pmv_post.h"

struct pmv_roce_worker;

struct pmv_roce_sgl {
	const struct pmv_sge *sge;
	uint32_t nb;
	uint64_t length; /* sum of the lengths */
};

/*
 * Copies bytes [off, off + len) of the list to dst. Keys are looked up each time: a region may die
 * between a send and its retransmission. Returns OK or what failed.
 */
enum pmv_roce_region_verdict pmv_roce_sgl_gather(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, uint8_t *dst, uint32_t len);

/* Bytes [m_off, m_off + len) of a frame. */
struct pmv_roce_part {
	const struct rte_mbuf *m;
	uint32_t m_off;
	uint32_t len;
};

/*
 * Copies a part of a frame to [off, off + part->len) of the list; needs LOCAL_WRITE. Checks before
 * it writes: nothing is written unless all of it can be.
 */
enum pmv_roce_region_verdict pmv_roce_sgl_scatter(struct pmv_roce_worker *w,
	const struct pmv_pd *pd, const struct pmv_roce_sgl *sgl, uint64_t off,
	const struct pmv_roce_part *part);

/* The same from plain bytes (the 40-byte GRH area). */
enum pmv_roce_region_verdict pmv_roce_sgl_scatter_bytes(struct pmv_roce_worker *w,
	const struct pmv_pd *pd, const struct pmv_roce_sgl *sgl, uint64_t off, const uint8_t *src,
	uint32_t len);

/*
 * One contiguous piece [off, off + len) of the list that may be attached to a frame instead of
 * copied: inside one SGE whose region the port can read. NULL: copy.
 */
uint8_t *pmv_roce_sgl_piece(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, uint32_t len, struct pmv_roce_mr **ret_mr);

/*
 * A part of a frame to the start of a span that was found SPLIT. False: its key died meanwhile,
 * somewhere on the way.
 */
bool pmv_roce_sgl_place_split(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, const struct pmv_roce_part *part);

/* All of a span that was found SPLIT, to dst. False: as above. */
bool pmv_roce_sgl_copy_split(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t *dst);

#endif
