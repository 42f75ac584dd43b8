// SPDX-License-Identifier: BSD-3-Clause
/*
 * The responder's waiting room, for connections that repeat selectively: request frames that
 * arrived while one before them is missing. They are executed in PSN order once it is here, so
 * memory and completions look as they do without loss. Bounded for each QP by the ring and for each
 * worker by a share of frames. Owner lcore; responder.c decides.
 */
#ifndef PMV_ROCE_REORDER_H
#define PMV_ROCE_REORDER_H

#include <rte_mbuf.h>

#include "drivers/roce/worker.h"
#include "lib/util/seq24.h"
#include "lib/wire/sack.h"

#define PMV_ROCE_REORDER_NB PMV_SACK_BITS /* PSNs behind the missing one; power of two */

struct pmv_roce_reorder {
	uint32_t nb;                             /* frames that wait */
	uint32_t nb_passed;                      /* kept since the newest gap opened */
	struct pmv_psn highest;                  /* of them; valid while nb > 0 */
	struct rte_mbuf *m[PMV_ROCE_REORDER_NB]; /* by PSN modulo the size */
};

/*
 * Takes a frame whose PSN lies `ahead` (>= 1) of the one that is missing. True: the frame is kept,
 * or it is a copy of one that is, and was freed: either way it is no longer the caller's. False: no
 * room. *ret_tell: a gap is certain now and not told yet, since enough frames passed it that were
 * not only overtaking.
 */
bool pmv_roce_reorder_hold(struct pmv_roce_worker *w, struct pmv_roce_reorder *r, uint32_t ahead,
	struct pmv_psn psn, struct rte_mbuf *m, bool *ret_tell);

/* The frame that waits at psn, now the caller's; NULL: none. */
struct rte_mbuf *pmv_roce_reorder_take(
	struct pmv_roce_worker *w, struct pmv_roce_reorder *r, struct pmv_psn psn);

/* What waits behind epsn, for the sender. */
void pmv_roce_reorder_tell(
	const struct pmv_roce_reorder *r, struct pmv_psn epsn, struct pmv_sack *ret_sack);

/* Frees everything. */
void pmv_roce_reorder_drop(struct pmv_roce_worker *w, struct pmv_roce_reorder *r);

#endif
