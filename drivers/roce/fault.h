// SPDX-License-Identifier: BSD-3-Clause
/*
 * Fault injection: decides what becomes of a frame that passes. It neither sends nor receives: tx.c
 * and rx.c ask it, and worker.c fetches what was held back. A worker without rules has no struct
 * pmv_roce_fault at all, so that the data path pays one test of a pointer. Owner lcore.
 *
 * Every rule counts and draws for every frame that its filters match, also when an earlier rule
 * acts on it: bit i of a mask means the same frame whatever rules stand before. Rules see all
 * frames of their direction, ARP and foreign ones included.
 */
#ifndef PMV_ROCE_FAULT_H
#define PMV_ROCE_FAULT_H

#include "drivers/roce/worker.h"

#define PMV_ROCE_FAULT_RULES 8u
#define PMV_ROCE_FAULT_HELD  1024u /* delayed frames at most; one more is not delayed */
#define PMV_ROCE_FAULT_OUT   3u    /* a frame, its copy, and one that waited to be overtaken */

/*
 * What to go on with instead of `m` (taken): 0..3 frames in out, in order.
 * @param dir  PMV_FAULT_RX or PMV_FAULT_TX
 */
uint32_t pmv_roce_fault_pass(struct pmv_roce_worker *w, enum pmv_fault_dir dir, struct rte_mbuf *m,
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT]);

/* Frames of a direction whose time has come at `now`, oldest first; UINT64_MAX: all. At most nb;
 * returns how many. To be called each turn: the time of a frame begins with the first call. */
uint32_t pmv_roce_fault_due(struct pmv_roce_worker *w, enum pmv_fault_dir dir, uint64_t now,
	struct rte_mbuf **out, uint32_t nb);

/* Frames that are held back. */
uint32_t pmv_roce_fault_held(const struct pmv_roce_worker *w);

/* No rule acts any more; what is held stays held. */
void pmv_roce_fault_disarm(struct pmv_roce_worker *w);

/* Back to a worker without rules; nothing may be held any more. */
void pmv_roce_fault_free(struct pmv_roce_worker *w);

/* The fault_* operations of the driver contract, but for clear (worker.c). */
int pmv_roce_fault_add(struct pmv_worker *w, const struct pmv_fault_rule *rule, uint64_t seed);
int pmv_roce_fault_query(struct pmv_worker *w, struct pmv_fault_counts *counts);

#endif
