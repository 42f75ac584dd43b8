// SPDX-License-Identifier: BSD-3-Clause
/*
 * Scatter/gather lists: which bytes of which regions a range of a message is. Every piece goes
 * through the one check of region.c. Owner lcore.
 */
#include "drivers/roce/sgl.h"

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_memcpy.h>

#include "drivers/roce/worker.h"

/* A contiguous piece of user memory. */
struct piece {
	uint8_t *ptr;
	uint32_t len;
};

/* A walk over the list: entry `i`, `off` bytes into it. */
struct cursor {
	const struct pmv_roce_sgl *sgl;
	uint32_t i;
	uint64_t off;
};

/* The entry that holds the cursor, NULL behind the end of the list. Zero-length entries are passed.
 */
static inline const struct pmv_sge *
cursor_sge(struct cursor *c)
{
	while (c->i < c->sgl->nb) {
		const struct pmv_sge *sge = &c->sgl->sge[c->i];

		if (c->off < sge->length)
			return sge;
		c->off -= sge->length;
		c->i++;
	}
	return NULL;
}

/* The next piece of at most len bytes, checked and passed. */
static inline enum pmv_roce_region_verdict
cursor_take(struct cursor *c, const struct pmv_pd *pd, uint32_t len, uint32_t access,
	struct piece *ret, struct pmv_roce_mr **ret_mr)
{
	const struct pmv_roce_device *dev = (const struct pmv_roce_device *)pd->device;
	const struct pmv_sge *sge = cursor_sge(c);
	enum pmv_roce_region_verdict v;
	struct pmv_roce_span span;

	if (unlikely(sge == NULL))
		return PMV_ROCE_REGION_RANGE;
	ret->len = (uint32_t)RTE_MIN((uint64_t)len, sge->length - c->off);
	span = (struct pmv_roce_span){ .va = sge->addr + c->off,
		.len = ret->len,
		.key = sge->lkey,
		.access = access | PMV_ROCE_ACCESS_LOCAL };
	v = pmv_roce_region_grant(dev, pd, &span, &ret->ptr, ret_mr);
	if (unlikely(v == PMV_ROCE_REGION_SPLIT))
		v = pmv_roce_region_piece(dev, pd, &span, &ret->ptr, &ret->len);
	c->off += ret->len;
	return v;
}

enum pmv_roce_region_verdict
pmv_roce_sgl_gather(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, uint8_t *dst, uint32_t len)
{
	struct cursor c = { sgl, 0, off };
	enum pmv_roce_region_verdict v;
	struct piece pc;

	while (len > 0) {
		v = cursor_take(&c, pd, len, 0, &pc, NULL);
		if (unlikely(v != PMV_ROCE_REGION_OK))
			return v;
		rte_memcpy(dst, pc.ptr, pc.len);
		dst += pc.len;
		len -= pc.len;
	}
	return PMV_ROCE_REGION_OK;
}

/* Pieces of a packet: at most one for each entry of a list (PMV_ROCE_SGE_MAX), and, since a packet
 * is no longer than a page, one more for each that crosses into another page. */
#define PIECES_MAX PMV_SGE_MAX

/* All pieces of [off, off + len) for writing. */
static enum pmv_roce_region_verdict
resolve(const struct pmv_pd *pd, struct cursor c, uint32_t len, struct piece *piece,
	uint32_t *ret_nb)
{
	enum pmv_roce_region_verdict v;
	uint32_t nb = 0;

	for (; len > 0; len -= piece[nb++].len) {
		if (unlikely(nb == PIECES_MAX))
			return PMV_ROCE_REGION_RANGE;
		v = cursor_take(&c, pd, len, PMV_ACCESS_LOCAL_WRITE, &piece[nb], NULL);
		if (unlikely(v != PMV_ROCE_REGION_OK))
			return v;
	}
	*ret_nb = nb;
	return PMV_ROCE_REGION_OK;
}

enum pmv_roce_region_verdict
pmv_roce_sgl_scatter(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, const struct pmv_roce_part *part)
{
	uint32_t m_off = part->m_off;
	struct piece piece[PIECES_MAX];
	enum pmv_roce_region_verdict v;
	uint32_t nb;

	v = resolve(pd, (struct cursor){ sgl, 0, off }, part->len, piece, &nb);
	if (unlikely(v != PMV_ROCE_REGION_OK))
		return v;
	for (uint32_t i = 0; i < nb; i++) {
		pmv_roce_place(piece[i].ptr, part->m, m_off, piece[i].len);
		m_off += piece[i].len;
	}
	return PMV_ROCE_REGION_OK;
}

enum pmv_roce_region_verdict
pmv_roce_sgl_scatter_bytes(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, const uint8_t *src, uint32_t len)
{
	struct piece piece[PIECES_MAX];
	enum pmv_roce_region_verdict v;
	uint32_t nb;

	v = resolve(pd, (struct cursor){ sgl, 0, off }, len, piece, &nb);
	if (unlikely(v != PMV_ROCE_REGION_OK))
		return v;
	for (uint32_t i = 0; i < nb; i++) {
		pmv_roce_place_bytes(piece[i].ptr, src, piece[i].len);
		src += piece[i].len;
	}
	return PMV_ROCE_REGION_OK;
}

uint8_t *
pmv_roce_sgl_piece(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_sgl *sgl, uint64_t off, uint32_t len, struct pmv_roce_mr **ret_mr)
{
	struct cursor c = { sgl, 0, off };
	struct pmv_roce_mr *mr;
	struct piece pc;

	if (!w->attach.allowed || len < w->attach.bytes_min)
		return NULL;
	if (cursor_take(&c, pd, len, 0, &pc, &mr) != PMV_ROCE_REGION_OK || pc.len != len ||
		!mr->attachable)
		return NULL;
	*ret_mr = mr;
	return pc.ptr;
}

/* The next piece of a span; *s goes on behind it. NULL: not granted (any more). */
static uint8_t *
span_take(struct pmv_roce_worker *w, const struct pmv_pd *pd, struct pmv_roce_span *s,
	uint32_t *ret_len)
{
	uint8_t *ptr;

	if (pmv_roce_region_piece(w->dev, pd, s, &ptr, ret_len) != PMV_ROCE_REGION_OK)
		return NULL;
	s->va += *ret_len;
	s->len -= *ret_len;
	return ptr;
}

bool
pmv_roce_sgl_place_split(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, const struct pmv_roce_part *part)
{
	struct pmv_roce_span s = *span;
	uint32_t m_off = part->m_off;
	uint32_t len;
	uint8_t *dst;

	for (s.len = part->len; s.len > 0; m_off += len) {
		dst = span_take(w, pd, &s, &len);
		if (unlikely(dst == NULL))
			return false;
		pmv_roce_place(dst, part->m, m_off, len);
	}
	return true;
}

bool
pmv_roce_sgl_copy_split(struct pmv_roce_worker *w, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t *dst)
{
	struct pmv_roce_span s = *span;
	const uint8_t *src;
	uint32_t len;

	for (; s.len > 0; dst += len) {
		src = span_take(w, pd, &s, &len);
		if (unlikely(src == NULL))
			return false;
		rte_memcpy(dst, src, len);
	}
	return true;
}
