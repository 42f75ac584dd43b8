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

enum pmv_roce_region_verdict
pmv_roce_region_grant(const struct pmv_roce_device *dev, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t **ret_ptr, struct pmv_roce_mr **ret_mr)
{
	return pmv_roce_regions_grant(&dev->regions, pd, span, ret_ptr, ret_mr);
}

enum pmv_roce_region_verdict
pmv_roce_region_grant_key(
	const struct pmv_roce_device *dev, const struct pmv_pd *pd, uint32_t key, uint32_t access)
{
	const struct pmv_roce_regions *t = &dev->regions;
	const struct pmv_roce_region *r = &t->slot[(key ^ t->slot_xor) & (t->nb_slots - 1)];
	struct pmv_roce_span first = { .len = 1, .key = key, .access = access };
	uint8_t *ptr;

	/* live-acquire: before `start` is looked at. */
	if (__atomic_load_n(&r->live, __ATOMIC_ACQUIRE) != (key | PMV_ROCE_REGION_ALIVE))
		return PMV_ROCE_REGION_KEY;
	first.va = r->start;
	return pmv_roce_regions_grant(t, pd, &first, &ptr, NULL);
}

int
pmv_roce_regions_init(struct pmv_roce_device *dev)
{
	struct pmv_roce_regions *t = &dev->regions;
	uint64_t secret = pmv_random_next64(&dev->random);

	t->nb_slots = rte_align32pow2(RTE_MAX(dev->base.param.mr_max, 1u));
	t->slot = rte_zmalloc_socket("pmv_regions", (size_t)t->nb_slots * sizeof(*t->slot),
		RTE_CACHE_LINE_SIZE, dev->base.socket_id);
	if (t->slot == NULL)
		return -ENOMEM;
	t->slot_xor = (uint32_t)secret & (t->nb_slots - 1);
	t->next = (uint32_t)(secret >> 32) & (t->nb_slots - 1);
	t->nb_used = 0;
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
	if ((mr->access & ~(uint32_t)ACCESS_KNOWN) != 0)
		return "access (unknown bit)";
	/* IBTA vol. 1, 10.6.3.1: remote write access needs local write access. */
	if ((mr->access & (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_ATOMIC)) != 0 &&
		(mr->access & PMV_ACCESS_LOCAL_WRITE) == 0)
		return "access (remote write without local write)";
	return NULL;
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
	uint32_t slot = (uint32_t)(r - t->slot) ^ t->slot_xor;
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
		key = (bits & ~(t->nb_slots - 1)) | slot;
	} while (key == 0 ||
		 key == r->key); /* 0 looks like "no key", and a key never comes twice in a row */
	*ret_key = key;
	return 0;
}

int
pmv_roce_mr_reg(struct pmv_mr *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)base;
	const char *fault = fault_of(base);
	struct pmv_roce_region *r;
	uint32_t key;
	int rc;

	if (fault != NULL) {
		PMV_LOG(ERR, "port %u: reg_mr: %s is out of range", dev->base.port_id, fault);
		return -EINVAL;
	}
	r = slot_take(&dev->regions);
	if (r == NULL) {
		PMV_LOG(ERR, "port %u: reg_mr: all %u keys (mr_max) are in use", dev->base.port_id,
			dev->regions.nb_slots);
		return -ENOSPC;
	}
	rc = key_make(dev, r, &key);
	if (rc < 0)
		return rc;
	mr->slot = (uint32_t)(r - dev->regions.slot);
	memset(mr->frames_out, 0, sizeof(mr->frames_out));
	mr->orphans = 0;
	attachable_find(dev, mr);
	r->used = true;
	r->start = base->iova;
	r->length = base->length;
	r->ptr = base->addr;
	r->pd = base->pd;
	r->mr = mr;
	r->access = base->access;
	r->key = key;
	base->lkey = key;
	base->rkey = key;
	dev->regions.nb_used++;
	/* live-release: pairs with live-acquire in the check. */
	__atomic_store_n(&r->live, key | PMV_ROCE_REGION_ALIVE, __ATOMIC_RELEASE);
	return 0;
}

void
pmv_roce_mr_kill(struct pmv_mr *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_region *r = &dev->regions.slot[((struct pmv_roce_mr *)base)->slot];

	__atomic_store_n(&r->live, 0, __ATOMIC_RELEASE);
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
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_region *r = &dev->regions.slot[((struct pmv_roce_mr *)base)->slot];

	r->mr = NULL;
	r->used = false;
	dev->regions.nb_used--;
}
