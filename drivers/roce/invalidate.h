// SPDX-License-Identifier: BSD-3-Clause
/*
 * The end of a key's life by a work request: LOCAL_INV here, SEND_WITH_INV of the peer, the next
 * bind of a window of type 1. Whoever wins the compare-exchange on the slot's {key, state} has
 * ended it; two of them, or one and a control thread, may try at once on different lcores. Owner
 * lcore; one of the two places of the data path with atomic read-modify-writes.
 */
#ifndef PMV_ROCE_INVALIDATE_H
#define PMV_ROCE_INVALIDATE_H

#include "drivers/roce/qp.h"
#include "drivers/roce/region.h"

/*
 * Ends the key that QP `qp` (remote: its peer) names: from now on no access finds it. Which may be
 * ended: fast-registration regions of the QP's PD without windows bound (remote: with remote
 * rights), windows of type 2 that this QP bound (IBTA vol. 1, 10.6.5, 10.6.7.2.6).
 * @return 0, and the epoch after which nobody uses it any more (0: nobody does now); -EINVAL: it is
 * none of these, or dead.
 */
int pmv_roce_invalidate(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, uint32_t key,
	bool remote, uint64_t *ret_epoch);

/* ALIVE -> FREE for the life of `key`, with its epoch noted; false: somebody else ended it. */
bool pmv_roce_invalidate_slot(
	struct pmv_roce_worker *w, struct pmv_roce_region *r, uint32_t key, uint64_t *ret_epoch);

/* One window less is bound to the region. */
static inline void
pmv_roce_invalidate_unbound(struct pmv_roce_mr *mr)
{
	__atomic_fetch_sub(&mr->binds, 1, __ATOMIC_RELEASE);
}

#endif
