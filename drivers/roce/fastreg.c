// SPDX-License-Identifier: BSD-3-Clause
/*
 * See fastreg.h. The state of a region is that of its slot in the key table, whose steps region.h
 * lists.
 */
#include "drivers/roce/fastreg.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/roce/device.h"
#include "lib/util/log.h"

/* Both lists; free gives back what is there. */
static int
lists_make(struct pmv_roce_mr *mr, int socket_id)
{
	size_t bytes = mr->max_pages * sizeof(uint8_t *);

	mr->pages.page = rte_zmalloc_socket("pmv_pages", bytes, 0, socket_id);
	mr->next.page = rte_zmalloc_socket("pmv_pages", bytes, 0, socket_id);
	if (mr->pages.page != NULL && mr->next.page != NULL)
		return 0;
	rte_free(mr->pages.page);
	rte_free(mr->next.page);
	return -ENOMEM;
}

int
pmv_roce_fastreg_create(struct pmv_mr *base, uint32_t max_pages, uint32_t page_bytes)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;
	struct pmv_roce_region *r;
	int rc;

	mr->max_pages = max_pages;
	mr->page_shift = (uint8_t)__builtin_ctz(page_bytes);
	mr->binds = PMV_ROCE_MR_CLOSED;
	mr->attachable = false; /* its pages may lie anywhere, and change */
	rc = lists_make(mr, dev->base.socket_id);
	if (rc < 0)
		return rc;
	rc = pmv_roce_region_take(dev, PMV_ROCE_KEY_FASTREG, &r);
	if (rc < 0) {
		rte_free(mr->pages.page);
		rte_free(mr->next.page);
		return rc;
	}
	mr->slot = (uint32_t)(r - dev->regions.slot);
	r->mr = mr;
	base->lkey = r->key;
	base->rkey = r->key;
	/* live-release: it can be found, by REG_MR */
	__atomic_store_n(&r->live, PMV_ROCE_REGION_FREE, __ATOMIC_RELEASE);
	return 0;
}

static const char *
map_fault(const struct pmv_roce_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova,
	uint64_t length)
{
	uint64_t page_bytes = 1ull << mr->page_shift;
	uint64_t room = nb_pages * page_bytes - (iova & (page_bytes - 1));

	if (mr->max_pages == 0)
		return "mr: not of pmv_alloc_mr()";
	if (nb_pages == 0 || nb_pages > mr->max_pages)
		return "nb_pages is not 1..max_pages";
	if (length == 0 || length > room || length + page_bytes <= room)
		return "length does not end in the last page";
	if (length - 1 > UINT64_MAX - iova)
		return "iova + length wraps";
	for (uint32_t i = 0; i < nb_pages; i++) {
		if (((uintptr_t)pages[i] & (page_bytes - 1)) != 0 ||
			(uintptr_t)pages[i] > UINTPTR_MAX - page_bytes + 1)
			return "pages: one is not aligned";
	}
	return NULL;
}

int
pmv_roce_fastreg_map(
	struct pmv_mr *base, void *const *pages, uint32_t nb_pages, uint64_t iova, uint64_t length)
{
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;
	const char *fault = map_fault(mr, pages, nb_pages, iova, length);

	if (fault != NULL) {
		PMV_LOG(ERR, "map_mr: %s", fault);
		return -EINVAL;
	}
	memcpy(mr->next.page, pages, nb_pages * sizeof(*pages));
	mr->next.nb = nb_pages;
	mr->next.iova = iova;
	mr->next.length = length;
	mr->next.together = true;
	for (uint32_t i = 1; i < nb_pages; i++)
		mr->next.together &=
			mr->next.page[i] == mr->next.page[i - 1] + (1ull << mr->page_shift);
	return 0;
}

static void
pages_take(struct pmv_roce_mr *mr)
{
	struct pmv_roce_pages old = mr->pages;

	if (mr->next.nb == 0)
		return;
	mr->pages = mr->next;
	mr->next = old;
	mr->next.nb = 0;
}

static bool
may_register(const struct pmv_roce_region *r, const struct pmv_roce_qp *qp, uint32_t key)
{
	return r->kind == PMV_ROCE_KEY_FASTREG && ((r->key ^ key) & ~PMV_ROCE_KEY_TAG) == 0 &&
	       r->mr->base.pd == qp->base.pd && (r->mr->next.nb | r->mr->pages.nb) != 0 &&
	       /* as with windows: a key that died does not come back at once */
	       (key != r->key || r->mr->dead_epoch == 0);
}

/* The slot is BUSY, and ours. 0 or -EINVAL. */
static int
give_life(struct pmv_roce_region *r, uint32_t key, uint32_t access)
{
	uint64_t busy = PMV_ROCE_REGION_BUSY;
	struct pmv_roce_mr *mr = r->mr;
	uint64_t off;

	pages_take(mr);
	off = mr->pages.iova & ((1ull << mr->page_shift) - 1);
	r->start = mr->pages.iova;
	r->length = mr->pages.length;
	r->ptr = mr->pages.together ? mr->pages.page[0] + off : NULL;
	r->pd = mr->pages.together ? mr->base.pd : NULL;
	r->access = access | PMV_ROCE_ACCESS_LOCAL;
	r->key = key;
	__atomic_store_n(&mr->binds, 0, __ATOMIC_RELAXED); /* published with the rest */
	/* live-release; fails if a control thread has ended the region meanwhile */
	if (__atomic_compare_exchange_n(&r->live, &busy, key | PMV_ROCE_REGION_ALIVE, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return 0;
	return -EINVAL;
}

int
pmv_roce_fastreg_register(
	struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, uint32_t key, uint32_t access)
{
	struct pmv_roce_region *r = pmv_roce_region_of(&w->dev->regions, key);
	uint64_t live = __atomic_load_n(&r->live, __ATOMIC_ACQUIRE);

	if (live & (PMV_ROCE_REGION_BUSY | PMV_ROCE_REGION_DYING))
		return -EINPROGRESS; /* in another worker's hands, for a moment */
	if (live != PMV_ROCE_REGION_FREE || !may_register(r, qp, key))
		return -EINVAL;
	if (!w->base.host->is_quiet(&w->base, r->mr->dead_epoch))
		return -EINPROGRESS;
	if (!__atomic_compare_exchange_n(&r->live, &live, PMV_ROCE_REGION_BUSY, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return -EINPROGRESS;
	return give_life(r, key, access);
}
