// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory windows: a key of its own for a part of a region. Made and ended by control threads, bound
 * by work requests (local_op.c) on any worker: owner lcore.
 */
#ifndef PMV_ROCE_MW_H
#define PMV_ROCE_MW_H

#include "drivers/roce/qp.h"
#include "drivers/roce/region.h"

/* The mw_* operations of the driver contract. */
int pmv_roce_mw_create(struct pmv_mw *mw);
void pmv_roce_mw_destroy(struct pmv_mw *mw);
void pmv_roce_mw_free(struct pmv_mw *mw);

/* A bind, by keys: the objects may be gone when its turn comes. */
struct pmv_roce_bind {
	uint64_t addr;
	uint64_t length;
	uint32_t rkey;   /* what the window shall have */
	uint32_t mr_key; /* of the region */
	uint32_t access;
};

/*
 * Binds a window (or, type 1 with length 0, unbinds it).
 * @return 0; -EINPROGRESS: some worker may still be using what the window granted before, ask
 * again; -EINVAL: IBTA vol. 1, 10.6.7.2 does not allow it, and a window that was bound still is.
 */
int pmv_roce_mw_bind(
	struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_bind *bind);

#endif
