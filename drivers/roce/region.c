// SPDX-License-Identifier: BSD-3-Clause
/*
 * The key table. Registration and its end: control threads, under the device's lock. The check:
 * any worker, per access, without a lock; region.h says who writes what.
 */
#include "drivers/roce/region.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "drivers/roce/device.h"
#include "drivers/roce/worker.h"
#include "lib/util/log.h"

#define ACCESS_KNOWN                                                                               \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_MW_BIND | PMV_ACCESS_FLUSH_GLOBAL |          \
		PMV_ACCESS_OPTIONAL_RANGE)

_Static_assert(sizeof(struct pmv_roce_region) == 64, "a key costs one line");

/* The byte at va of a list of pages, and how many follow it in its page. */
static uint8_t *
page_of(const struct pmv_roce_mr *mr, uint64_t va, uint64_t *ret_room)
{
	uint64_t index = (va >> mr->page_shift) - (mr->pages.iova >> mr->page_shift);
	uint64_t off = va & ((1ull << mr->page_shift) - 1);

	if (unlikely(index >= mr->pages.nb)) /* our own guard: the list was checked */
		return NULL;
	*ret_room = (1ull << mr->page_shift) - off;
	return mr->pages.page[index] + off;
}

/*
 * What the plain check leaves: windows of type 2, for the QP that bound them, and pages that do not
 * lie together. Their pd is NULL, which is nobody's.
 */
static __rte_noinline enum pmv_roce_region_verdict
other(const struct pmv_roce_device *dev, const struct pmv_pd *pd, const struct pmv_roce_span *span,
	uint8_t **ret_ptr, uint32_t *ret_len)
{
	const struct pmv_roce_region *r = pmv_roce_region_of(&dev->regions, span->key);
	bool is_mr = r->kind <= PMV_ROCE_KEY_FASTREG;
	uint64_t room = span->len;
	uint64_t off;
	uint8_t *ptr;

	if (r->pd != NULL || (is_mr ? r->mr->base.pd : r->mw->base.pd) != pd ||
		(r->kind == PMV_ROCE_KEY_MW2 && r->qpn != span->qpn))
		return PMV_ROCE_REGION_PD;
	if ((r->access & span->access) != span->access)
		return PMV_ROCE_REGION_ACCESS;
	off = span->va - r->start;
	if (off > r->length || span->len > r->length - off)
		return PMV_ROCE_REGION_RANGE;
	ptr = r->ptr == NULL ? page_of(is_mr ? r->mr : r->mw->parent, span->va, &room)
			     : r->ptr + off;
	if (unlikely(ptr == NULL))
		return PMV_ROCE_REGION_RANGE;
	*ret_ptr = ptr;
	*ret_len = (uint32_t)RTE_MIN(RTE_MIN(room, span->len), (uint64_t)UINT32_MAX);
	return PMV_ROCE_REGION_OK;
}

enum pmv_roce_region_verdict
pmv_roce_region_grant(const struct pmv_roce_device *dev, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t **ret_ptr, struct pmv_roce_mr **ret_mr)
{
	enum pmv_roce_region_verdict v =
		pmv_roce_regions_grant(&dev->regions, pd, span, ret_ptr, ret_mr);
	uint32_t len;

	if (likely(v != PMV_ROCE_REGION_PD))
		return v;
	v = other(dev, pd, span, ret_ptr, &len);
	if (v != PMV_ROCE_REGION_OK)
		return v;
	if (ret_mr != NULL) /* local: no window */
		*ret_mr = pmv_roce_region_of(&dev->regions, span->key)->mr;
	if (len == span->len)
		return PMV_ROCE_REGION_OK;
	*ret_ptr = NULL;
	return PMV_ROCE_REGION_SPLIT;
}

enum pmv_roce_region_verdict
pmv_roce_region_piece(const struct pmv_roce_device *dev, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t **ret_ptr, uint32_t *ret_len)
{
	enum pmv_roce_region_verdict v =
		pmv_roce_regions_grant(&dev->regions, pd, span, ret_ptr, NULL);

	*ret_len = (uint32_t)RTE_MIN(span->len, (uint64_t)UINT32_MAX);
	return v == PMV_ROCE_REGION_PD ? other(dev, pd, span, ret_ptr, ret_len) : v;
}

enum pmv_roce_region_verdict
pmv_roce_region_grant_key(const struct pmv_roce_device *dev, const struct pmv_pd *pd,
	const struct pmv_roce_span *span)
{
	const struct pmv_roce_region *r = pmv_roce_region_of(&dev->regions, span->key);
	struct pmv_roce_span first = *span;
	uint8_t *ptr;

	/* live-acquire: before `start` is looked at. */
	if (__atomic_load_n(&r->live, __ATOMIC_ACQUIRE) != (span->key | PMV_ROCE_REGION_ALIVE))
		return PMV_ROCE_REGION_KEY;
	first.va = r->start;
	first.len = 1;
	return pmv_roce_region_grant(dev, pd, &first, &ptr, NULL);
}

int
pmv_roce_regions_init(struct pmv_roce_device *dev)
{
	struct pmv_roce_regions *t = &dev->regions;
	uint64_t secret = pmv_random_next64(&dev->random);

	t->mr_max = rte_align32pow2(RTE_MAX(dev->base.param.mr_max, 1u));
	t->mw_max = dev->base.param.mw_max;
	t->nb_slots = rte_align32pow2(t->mr_max + t->mw_max);
	t->slot = rte_zmalloc_socket("pmv_regions", (size_t)t->nb_slots * sizeof(*t->slot),
		RTE_CACHE_LINE_SIZE, dev->base.socket_id);
	if (t->slot == NULL)
		return -ENOMEM;
	t->slot_mask = (t->nb_slots - 1) << PMV_ROCE_KEY_TAG_BITS;
	t->slot_xor = (uint32_t)secret & t->slot_mask;
	t->next = (uint32_t)(secret >> 32) & (t->nb_slots - 1);
	t->nb_used = 0;
	t->nb_mws = 0;
	for (uint32_t i = 0; i < t->nb_slots; i++)
		t->slot[i].live = PMV_ROCE_REGION_DEAD;
	return 0;
}

void
pmv_roce_regions_fini(struct pmv_roce_device *dev)
{
	rte_free(dev->regions.slot);
	dev->regions.slot = NULL;
}

/*
 * True if one offset leads from virtual to IO addresses in the whole range: the memory is EAL's or
 * was registered with it (rte_extmem_register, mapped for the port by the application), and no page
 * lies apart.
 */
static bool
io_delta_find(const uint8_t *addr, uint64_t length, uint64_t *ret_delta)
{
	struct rte_memseg_list *msl = rte_mem_virt2memseg_list(addr);
	uintptr_t va, end = (uintptr_t)addr + length - 1;
	const struct rte_memseg *ms;
	bool first = true;

	if (msl == NULL)
		return false;
	va = RTE_ALIGN_FLOOR((uintptr_t)addr, msl->page_sz);
	for (; va <= end; va += msl->page_sz) {
		ms = rte_mem_virt2memseg((const void *)va, msl);
		if (ms == NULL || ms->len == 0 || ms->iova == RTE_BAD_IOVA)
			return false;
		if (!first && ms->iova - ms->addr_64 != *ret_delta)
			return false;
		*ret_delta = ms->iova - ms->addr_64;
		first = false;
		if (va + msl->page_sz < va)
			break;
	}
	return true;
}

static void
attachable_find(const struct pmv_roce_device *dev, struct pmv_roce_mr *mr)
{
	mr->io_delta = 0;
	mr->attachable = dev->reach == PMV_ROCE_REACH_ANY;
	if (dev->reach == PMV_ROCE_REACH_EAL)
		mr->attachable = io_delta_find(mr->base.addr, mr->base.length, &mr->io_delta);
}

const char *
pmv_roce_region_access_fault(uint32_t access)
{
	if ((access & ~(uint32_t)ACCESS_KNOWN) != 0)
		return "access (unknown bit)";
	/* IBTA vol. 1, 10.6.3.1: remote write access needs local write access. */
	if ((access & (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_ATOMIC)) != 0 &&
		(access & PMV_ACCESS_LOCAL_WRITE) == 0)
		return "access (remote write without local write)";
	return NULL;
}

/* The last guard of the data path, whoever called. */
static const char *
fault_of(const struct pmv_mr *mr)
{
	if (mr->length == 0 || mr->length > PMV_ROCE_MR_BYTES_MAX)
		return "length";
	if (mr->length - 1 > UINTPTR_MAX - (uintptr_t)mr->addr)
		return "addr + length";
	if (mr->length - 1 > UINT64_MAX - mr->iova)
		return "iova + length";
	return pmv_roce_region_access_fault(mr->access);
}

static struct pmv_roce_region *
slot_take(struct pmv_roce_regions *t)
{
	struct pmv_roce_region *r;

	for (uint32_t i = 0; i < t->nb_slots; i++) {
		r = &t->slot[t->next];
		t->next = (t->next + 1) & (t->nb_slots - 1);
		if (!r->used)
			return r;
	}
	return NULL;
}

/* A key for the slot: the tag above the slot number is what a peer must not guess. 0 or -errno. */
static int
key_make(struct pmv_roce_device *dev, const struct pmv_roce_region *r, uint32_t *ret_key)
{
	struct pmv_roce_regions *t = &dev->regions;
	uint32_t slot =
		((uint32_t)(r - t->slot) << PMV_ROCE_KEY_TAG_BITS ^ t->slot_xor) & t->slot_mask;
	uint32_t bits, key;
	int rc;

	do {
		if (dev->base.param.seed != 0) {
			bits = (uint32_t)pmv_random_next64(&dev->random);
		} else {
			rc = pmv_random_bytes_os(&bits, sizeof(bits));
			if (rc < 0)
				return rc;
		}
		key = (bits & ~t->slot_mask) | slot;
	} while (key == 0 ||
		 key == r->key); /* 0 looks like "no key", and a key never comes twice in a row */
	*ret_key = key;
	return 0;
}

int
pmv_roce_region_take(
	struct pmv_roce_device *dev, enum pmv_roce_region_kind kind, struct pmv_roce_region **ret_r)
{
	struct pmv_roce_regions *t = &dev->regions;
	bool is_mw = kind >= PMV_ROCE_KEY_MW1;
	struct pmv_roce_region *r;
	uint32_t key;
	int rc;

	if (is_mw ? t->nb_mws == t->mw_max : t->nb_used - t->nb_mws == t->mr_max) {
		PMV_LOG(ERR, "port %u: %s: all %u keys (%s) are in use", dev->base.port_id,
			is_mw ? "alloc_mw" : "reg_mr", is_mw ? t->mw_max : t->mr_max,
			is_mw ? "mw_max" : "mr_max");
		return -ENOSPC;
	}
	r = slot_take(t);
	if (r == NULL)
		return -ENOSPC; /* cannot be: the table holds both */
	rc = key_make(dev, r, &key);
	if (rc < 0)
		return rc;
	r->used = true;
	r->kind = (uint8_t)kind;
	r->key = key;
	r->pd = NULL;
	t->nb_used++;
	t->nb_mws += is_mw;
	*ret_r = r;
	return 0;
}

void
pmv_roce_region_put(struct pmv_roce_device *dev, uint32_t slot)
{
	struct pmv_roce_region *r = &dev->regions.slot[slot];

	r->mr = NULL;
	r->used = false;
	dev->regions.nb_used--;
	dev->regions.nb_mws -= r->kind >= PMV_ROCE_KEY_MW1;
}

int
pmv_roce_mr_reg(struct pmv_mr *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;
	const char *fault = fault_of(base);
	struct pmv_roce_region *r;
	int rc;

	if (fault != NULL) {
		PMV_LOG(ERR, "port %u: reg_mr: %s is out of range", dev->base.port_id, fault);
		return -EINVAL;
	}
	rc = pmv_roce_region_take(dev, PMV_ROCE_KEY_MR, &r);
	if (rc < 0)
		return rc;
	mr->slot = (uint32_t)(r - dev->regions.slot);
	memset(mr->frames_out, 0, sizeof(mr->frames_out));
	mr->orphans = 0;
	attachable_find(dev, mr);
	r->start = base->iova;
	r->length = base->length;
	r->ptr = base->addr;
	r->pd = base->pd;
	r->mr = mr;
	r->access = base->access | PMV_ROCE_ACCESS_LOCAL;
	base->lkey = r->key;
	base->rkey = r->key;
	/* live-release: pairs with live-acquire in the check. */
	__atomic_store_n(&r->live, r->key | PMV_ROCE_REGION_ALIVE, __ATOMIC_RELEASE);
	return 0;
}

int
pmv_roce_mr_kill(struct pmv_mr *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;
	uint32_t none = 0;

	/* No window is bound, and none will be: pairs with the increment in mw.c. */
	if (!__atomic_compare_exchange_n(&mr->binds, &none, PMV_ROCE_MR_CLOSED, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		!(none & PMV_ROCE_MR_CLOSED))
		return -EBUSY;
	__atomic_store_n(&dev->regions.slot[mr->slot].live, PMV_ROCE_REGION_DEAD, __ATOMIC_RELEASE);
	return 0;
}

bool
pmv_roce_mr_frames_out(const struct pmv_mr *base)
{
	const struct pmv_roce_mr *mr = (const struct pmv_roce_mr *)base;

	pmv_roce_attach_reap((struct pmv_roce_device *)base->pd->device);
	if (mr->orphans > 0)
		return true;
	/* Pairs with the releases in attach.c: once 0 is read, the port's last read is over. */
	for (uint32_t i = 0; i < PMV_WORKERS_MAX; i++) {
		if (__atomic_load_n(&mr->frames_out[i].nb, __ATOMIC_ACQUIRE) != 0)
			return true;
	}
	return false;
}

void
pmv_roce_mr_free(struct pmv_mr *base)
{
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;

	if (mr->max_pages != 0) {
		rte_free(mr->pages.page);
		rte_free(mr->next.page);
	}
	pmv_roce_region_put((struct pmv_roce_device *)base->pd->device, mr->slot);
}
