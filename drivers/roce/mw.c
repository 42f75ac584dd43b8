// SPDX-License-Identifier: BSD-3-Clause
/*
 * See mw.h. The state of a window is that of its slot in the key table, whose steps region.h lists.
 */
#include "drivers/roce/mw.h"

#include <errno.h>

#include "drivers/roce/invalidate.h"

#define NEEDS_LOCAL_WRITE (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_ATOMIC)
#define TRIES_MAX         8u /* compare-exchanges on a region that others bind to at once */

int
pmv_roce_mw_create(struct pmv_mw *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mw *mw = (struct pmv_roce_mw *)base;
	struct pmv_roce_region *r;
	int rc;

	rc = pmv_roce_region_take(dev, base->type == 1 ? PMV_ROCE_KEY_MW1 : PMV_ROCE_KEY_MW2, &r);
	if (rc < 0)
		return rc;
	mw->slot = (uint32_t)(r - dev->regions.slot);
	mw->dead_epoch = 0;
	mw->parent = NULL;
	r->mw = mw;
	base->rkey = r->key;
	/* live-release: it can be found, by binds */
	__atomic_store_n(&r->live, PMV_ROCE_REGION_FREE, __ATOMIC_RELEASE);
	return 0;
}

void
pmv_roce_mw_destroy(struct pmv_mw *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_mw *mw = (struct pmv_roce_mw *)base;
	uint64_t live = __atomic_exchange_n(
		&dev->regions.slot[mw->slot].live, PMV_ROCE_REGION_DEAD, __ATOMIC_ACQ_REL);

	if (live & PMV_ROCE_REGION_ALIVE)
		pmv_roce_invalidate_unbound(mw->parent);
}

void
pmv_roce_mw_free(struct pmv_mw *base)
{
	pmv_roce_region_put(
		(struct pmv_roce_device *)base->pd->device, ((struct pmv_roce_mw *)base)->slot);
}

static struct pmv_roce_region *
alive(struct pmv_roce_worker *w, uint32_t key)
{
	struct pmv_roce_region *r = pmv_roce_region_of(&w->dev->regions, key);

	/* live-acquire: see region.h */
	return __atomic_load_n(&r->live, __ATOMIC_ACQUIRE) == (key | PMV_ROCE_REGION_ALIVE) ? r
											    : NULL;
}

/* The region that may be bound to as asked, or NULL. */
static struct pmv_roce_region *
parent_find(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *b)
{
	struct pmv_roce_region *r = alive(w, b->mr_key);
	uint64_t off;

	if (r == NULL || r->kind > PMV_ROCE_KEY_FASTREG || r->mr->base.pd != qp->base.pd ||
		!(r->access & PMV_ACCESS_MW_BIND) ||
		((b->access & NEEDS_LOCAL_WRITE) && !(r->access & PMV_ACCESS_LOCAL_WRITE)))
		return NULL;
	off = b->addr - r->start; /* as in the check of accesses: no sums */
	return off > r->length || b->length > r->length - off ? NULL : r;
}

/* Counts one window more, if the region is not being given back. */
static bool
parent_hold(struct pmv_roce_worker *w, struct pmv_roce_region *r, uint32_t key)
{
	uint32_t binds = __atomic_load_n(&r->mr->binds, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < TRIES_MAX && !(binds & PMV_ROCE_MR_CLOSED); i++) {
		/* pairs with the compare-exchange that closes it */
		if (!__atomic_compare_exchange_n(&r->mr->binds, &binds, binds + 1, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (alive(w, key) == r)
			return true;
		pmv_roce_invalidate_unbound(r->mr);
		return false;
	}
	return false;
}

/* The slot is BUSY, and ours. 0 or -EINVAL. */
static int
give_life(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *b,
	struct pmv_roce_region *r)
{
	struct pmv_roce_region *parent = parent_find(w, qp, b);
	uint64_t busy = PMV_ROCE_REGION_BUSY;
	struct pmv_roce_mr *mr;

	if (parent == NULL || !parent_hold(w, parent, b->mr_key)) {
		__atomic_compare_exchange_n(&r->live, &busy, PMV_ROCE_REGION_FREE, false,
			__ATOMIC_RELEASE, __ATOMIC_RELAXED);
		return -EINVAL;
	}
	mr = parent->mr;
	r->start = b->addr;
	r->length = b->length;
	r->ptr = parent->ptr == NULL ? NULL : parent->ptr + (b->addr - parent->start);
	r->pd = r->kind == PMV_ROCE_KEY_MW1 && r->ptr != NULL ? qp->base.pd : NULL;
	r->access = b->access;
	r->key = b->rkey;
	r->qpn = qp->base.qpn;
	r->mw->parent = mr;
	/* live-release; fails if a control thread has ended the window meanwhile */
	if (__atomic_compare_exchange_n(&r->live, &busy, b->rkey | PMV_ROCE_REGION_ALIVE, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return 0;
	pmv_roce_invalidate_unbound(mr);
	return -EINVAL;
}

static bool
is_same_object(uint32_t a, uint32_t b)
{
	return ((a ^ b) & ~PMV_ROCE_KEY_TAG) == 0;
}

/* A bound window: type 1 gives up what it has, if what it shall get is right. */
static int
rebind(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *b,
	struct pmv_roce_region *r, uint32_t old_key)
{
	uint64_t epoch;

	if (r->kind != PMV_ROCE_KEY_MW1 || !is_same_object(old_key, b->rkey) ||
		r->mw->base.pd != qp->base.pd || (b->length != 0 && parent_find(w, qp, b) == NULL))
		return -EINVAL;
	pmv_roce_invalidate_slot(w, r, old_key, &epoch);
	return -EINPROGRESS; /* the next look finds it free, or in others' hands */
}

/* A window that grants nothing. */
static int
bind_free(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *b,
	struct pmv_roce_region *r)
{
	uint64_t live = PMV_ROCE_REGION_FREE;

	if (r->kind < PMV_ROCE_KEY_MW1 || !is_same_object(r->key, b->rkey) ||
		r->mw->base.pd != qp->base.pd)
		return -EINVAL;
	/* A key that died does not come back at once: a late packet of its old life could hit. Type
	 * 2 is not unbound by a bind (IBTA vol. 1, o10-37.2.40). */
	if (r->kind == PMV_ROCE_KEY_MW2 &&
		(b->length == 0 || (b->rkey == r->key && r->mw->dead_epoch != 0)))
		return -EINVAL;
	if (!w->base.host->is_quiet(&w->base, r->mw->dead_epoch))
		return -EINPROGRESS;
	if (b->length == 0)
		return 0;
	if (!__atomic_compare_exchange_n(&r->live, &live, PMV_ROCE_REGION_BUSY, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return -EINPROGRESS;
	return give_life(w, qp, b, r);
}

int
pmv_roce_mw_bind(
	struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *b)
{
	struct pmv_roce_region *r = pmv_roce_region_of(&w->dev->regions, b->rkey);
	uint64_t live = __atomic_load_n(&r->live, __ATOMIC_ACQUIRE);
	int rc;

	if (live & PMV_ROCE_REGION_DEAD)
		return -EINVAL;
	if (live & (PMV_ROCE_REGION_BUSY | PMV_ROCE_REGION_DYING))
		return -EINPROGRESS; /* in another worker's hands, for a moment */
	if (live & PMV_ROCE_REGION_ALIVE) {
		rc = rebind(w, qp, b, r, (uint32_t)live);
		live = __atomic_load_n(&r->live, __ATOMIC_ACQUIRE);
		if (rc != -EINPROGRESS || live != PMV_ROCE_REGION_FREE)
			return rc;
	}
	return bind_free(w, qp, b, r);
}
