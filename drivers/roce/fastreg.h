// SPDX-License-Identifier: BSD-3-Clause
/*
 * Fast registration: a region whose memory is a list of pages that a work request (REG_MR) puts in
 * force. Made and mapped by control threads, registered by local_op.c on any worker: owner lcore.
 */
#ifndef PMV_ROCE_FASTREG_H
#define PMV_ROCE_FASTREG_H

#include "drivers/roce/qp.h"
#include "drivers/roce/region.h"

#define PMV_ROCE_FASTREG_PAGES_MAX 4096u

/* The mr_alloc and mr_map operations of the driver contract. */
int pmv_roce_fastreg_create(struct pmv_mr *mr, uint32_t max_pages, uint32_t page_bytes);
int pmv_roce_fastreg_map(
	struct pmv_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova, uint64_t length);

/*
 * Puts the mapped pages in force under `key`; without a new map, those of the last time.
 * @return 0; -EINPROGRESS: some worker may still be using the old ones, ask again; -EINVAL: the key
 * is not one of a fast-registration region of this PD that is free, or was its last.
 */
int pmv_roce_fastreg_register(
	struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, uint32_t key, uint32_t access);

#endif
