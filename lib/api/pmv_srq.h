/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues. An SRQ lives on one worker for its whole life; RC, UC and UD QPs of that
 * worker and of the SRQ's PD may be created with it and then take their receives from there, the
 * oldest first, each when the first packet of a message arrives. Completions appear in the receive
 * CQ of the QP that took the receive. Receives that a QP has taken and not finished are the QP's:
 * they count neither as posted nor against the limit.
 */
#ifndef PMV_SRQ_H
#define PMV_SRQ_H

#include "pmv_post.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_srq_attr {
	uint32_t max_wr;    /**< receives that fit; asked for 1..device max_srq_wr, then what was
			       allocated, never less */
	uint32_t max_sge;   /**< SGEs of a receive, 1..device max_srq_sge; only read by create */
	uint32_t srq_limit; /**< PMV_EVENT_SRQ_LIMIT_REACHED is raised once when fewer than this are
			       posted; 0: not armed. 0..max_wr */
};

struct pmv_srq_init_attr {
	struct pmv_srq_attr attr;
	void *srq_context; /**< in the events of this SRQ */
};

/** Bits of the mask of pmv_modify_srq(). */
enum pmv_srq_attr_mask {
	PMV_SRQ_MAX_WR = 1 << 0,
	PMV_SRQ_LIMIT = 1 << 1,
};

/**
 * Creates an SRQ on a worker. A limit given here is armed: its event comes with the first receive
 * that a QP takes and that leaves fewer, not because the queue is still empty.
 * @param attr     attr.attr is written back: what was allocated
 * @param ret_srq  owned by the caller
 * @return 0; -EINVAL pd and worker are of different devices, or max_wr, max_sge or srq_limit is out
 * of range (the log names it); -ENOTSUP the driver has no SRQs; -ENOSPC the worker has the device's
 * max_srq already; -ENOMEM.
 * @note Context: any thread (prepare half only; a new SRQ needs no commit).
 */
PMV_API int pmv_create_srq(struct pmv_pd *pd, struct pmv_worker *worker,
	struct pmv_srq_init_attr *attr, struct pmv_srq **ret_srq);

/**
 * Changes the size, arms the limit, or both. A new size keeps what is posted, in its order, and the
 * limit. A limit that is armed while fewer receives are posted raises its event at once. Armed
 * again before the event came, the new limit counts.
 * @param attr  with PMV_SRQ_MAX_WR: max_wr; with PMV_SRQ_LIMIT: srq_limit. All of it is written
 *              back: what holds from here on (srq_limit 0 if the event was raised already).
 * @param mask  enum pmv_srq_attr_mask
 * @return 0; -EINVAL an unknown bit or none, max_wr 0, above the device's or below what is posted
 * or the limit in force, srq_limit above max_wr; -ENOMEM; -EPERM the caller does not own the
 * worker. After an error nothing has changed.
 * @note Context: owner lcore of the worker, or any one thread while it is detached. A new size
 * allocates and copies what is posted: not for the middle of a busy turn.
 */
PMV_API int pmv_modify_srq(struct pmv_srq *srq, struct pmv_srq_attr *attr, uint32_t mask);

/**
 * @param ret_attr  what holds now; srq_limit 0: not armed, or its event was raised
 * @param ret_init  may be NULL; what it was created with, sizes as allocated then
 * @return 0; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while it is detached.
 */
PMV_API int pmv_query_srq(
	struct pmv_srq *srq, struct pmv_srq_attr *ret_attr, struct pmv_srq_init_attr *ret_init);

/**
 * Destroys an SRQ. Receives that are still posted are gone without a completion.
 * @return 0; -EBUSY QPs still use it; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while it is detached.
 */
PMV_API int pmv_destroy_srq(struct pmv_srq *srq);

PMV_API struct pmv_worker *pmv_srq_get_worker(const struct pmv_srq *srq);
PMV_API struct pmv_pd *pmv_srq_get_pd(const struct pmv_srq *srq);

/** Entry point of a driver, bound when the SRQ is made. Applications use the inline below. */
struct pmv_srq_ops {
	int (*post_recv)(struct pmv_srq *srq, const struct pmv_recv_wr *wr, uint32_t nb);
};

/**
 * Posts receive requests, in order; the requests and their SGE arrays may be reused at once.
 * @return how many were taken (1..nb, 0 for nb = 0): a short count names the first that was not;
 * or, when not even the first was taken, why: -ENOMEM the queue is full; -EINVAL too many SGEs.
 * @note Context: owner lcore of the worker, or the one thread that sets it up while detached.
 */
static inline int
pmv_post_srq_recv(struct pmv_srq *srq, const struct pmv_recv_wr *wr, uint32_t nb)
{
	return (*(const struct pmv_srq_ops *const *)(const void *)srq)->post_recv(srq, wr, nb);
}

#ifdef __cplusplus
}
#endif
#endif
