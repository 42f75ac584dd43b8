// SPDX-License-Identifier: BSD-3-Clause
/*
 * Remote atomics: COMPARE_SWAP and FETCH_ADD, each executed exactly once however often its request
 * comes; and their younger relatives ATOMIC WRITE and FLUSH (IBTA vol. 1, A19). Both ends are here:
 * what the requester adds to a work request and its packet (called by requester.c, request.c), and
 * what the responder does with a request (called by responder.c). What was done is kept in the
 * store of rdatomic.h; sequence, refusals and the order of answers are the callers'. Owner lcore.
 *
 * The one operation on the target is atomic for every CPU and every worker (reported as
 * PMV_ATOMIC_GLOB): this file is one of the few that may use such instructions.
 */
#ifndef PMV_ROCE_ATOMIC_H
#define PMV_ROCE_ATOMIC_H

#include "drivers/roce/qp.h"

/* 0 or -EINVAL: a request of a kind that this file knows is as it must be. */
int pmv_roce_atomic_check(const struct pmv_send_wr *wr);

/* Puts the operands behind what pmv_roce_sq_fill() wrote. */
void pmv_roce_atomic_fill(struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr);

/* The request packet (not an ATOMIC WRITE: it looks like a WRITE), unsent, in a fresh mbuf. 0 or
 * -ENOBUFS. */
int pmv_roce_atomic_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_wqe *wqe, bool ackreq, struct rte_mbuf *m);

/* A FLUSH for whose answer there is no room: to be dropped as if the link had lost it. Linux rxe
 * does not count FLUSHes against what was agreed. */
#define PMV_ROCE_ATOMIC_BUSY 0xffu

/* A request in its turn: executed, and its answer stored. 0, or PMV_ROCE_ATOMIC_BUSY, or the
 * syndrome to refuse it with; nothing has happened then. */
uint8_t pmv_roce_atomic_execute(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

/* A request seen before: its stored answer is to be sent again. False: it is not stored, or
 * differs from what is. */
bool pmv_roce_atomic_again(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

/* Builds a stored answer. 0 or -ENOBUFS. */
int pmv_roce_atomic_answer(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_rd *rd, struct rte_mbuf **ret_m);

#endif
