// SPDX-License-Identifier: BSD-3-Clause
/*
 * See invalidate.h.
 */
#include "drivers/roce/invalidate.h"

#include <errno.h>

#define REMOTE_RIGHTS (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC)

static bool
swap(struct pmv_roce_region *r, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(
		&r->live, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool
pmv_roce_invalidate_slot(
	struct pmv_roce_worker *w, struct pmv_roce_region *r, uint32_t key, uint64_t *ret_epoch)
{
	uint64_t epoch;

	if (!swap(r, key | PMV_ROCE_REGION_ALIVE, key | PMV_ROCE_REGION_DYING))
		return false;
	/* Pairs with pmv_worker_poll_at(): a turn that sees this epoch sees the key dead. */
	epoch = __atomic_add_fetch(&w->base.device->epoch, 1, __ATOMIC_ACQ_REL);
	if (r->kind == PMV_ROCE_KEY_FASTREG) {
		r->mr->dead_epoch = epoch;
	} else {
		r->mw->dead_epoch = epoch;
		pmv_roce_invalidate_unbound(r->mw->parent);
	}
	/* Only now may others give it a new life; they wait for the epoch. If a control thread has
	 * ended the object meanwhile, it stays dead. */
	swap(r, key | PMV_ROCE_REGION_DYING, PMV_ROCE_REGION_FREE);
	*ret_epoch = epoch;
	return true;
}

/* No window is bound to it, and from now on none can be. */
static bool
close_binds(struct pmv_roce_mr *mr)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(
		&mr->binds, &none, PMV_ROCE_MR_CLOSED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

int
pmv_roce_invalidate(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, uint32_t key,
	bool remote, uint64_t *ret_epoch)
{
	struct pmv_roce_region *r = pmv_roce_region_of(&w->dev->regions, key);

	/* live-acquire: see region.h; the fields stay while we are in this turn */
	if (__atomic_load_n(&r->live, __ATOMIC_ACQUIRE) != (key | PMV_ROCE_REGION_ALIVE))
		return -EINVAL;
	switch (r->kind) {
	case PMV_ROCE_KEY_FASTREG:
		if (r->mr->base.pd != qp->base.pd || (remote && !(r->access & REMOTE_RIGHTS)) ||
			!close_binds(r->mr))
			return -EINVAL;
		return pmv_roce_invalidate_slot(w, r, key, ret_epoch) ? 0 : -EINVAL;
	case PMV_ROCE_KEY_MW2:
		if (r->mw->base.pd != qp->base.pd || r->qpn != qp->base.qpn ||
			!pmv_roce_invalidate_slot(w, r, key, ret_epoch))
			return -EINVAL;
		*ret_epoch = 0; /* only this QP had access, on this lcore */
		return 0;
	default:
		return -EINVAL;
	}
}
