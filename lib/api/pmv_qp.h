/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs. A QP lives on one worker for its whole life; its CQs are of the same worker. State
 * changes are checked against the transition table of IBTA vol. 1, 10.3.1 as Linux enforces it
 * (required and optional attributes).
 */
#ifndef PMV_QP_H
#define PMV_QP_H

#include "pmv_ah.h"
#include "pmv_op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_qp_cap {
	uint32_t max_send_wr;     /**< >= 1 */
	uint32_t max_recv_wr;     /**< may be 0; with an SRQ not looked at, and reported as 0 */
	uint32_t max_send_sge;    /**< 1..device max_sge */
	uint32_t max_recv_sge;    /**< 1..device max_sge when max_recv_wr > 0 */
	uint32_t max_inline_data; /**< bytes */
};

struct pmv_qp_init_attr {
	struct pmv_cq *send_cq;
	struct pmv_cq *recv_cq; /**< may be the same CQ */
	struct pmv_srq *srq;    /**< of the same worker and PD: receives come from there; NULL: a
				   receive queue of its own */
	struct pmv_qp_cap cap;  /**< what is asked; pmv_create_qp() writes back what was allocated,
				   never less */
	enum pmv_qp_type qp_type; /**< RC, UC or UD */
	bool sq_sig_all;          /**< every send request makes a completion */
	void *qp_context;
};

struct pmv_qp_attr {
	enum pmv_qp_state qp_state;
	enum pmv_qp_state cur_qp_state;
	enum pmv_mtu path_mtu;
	uint32_t qkey;
	uint32_t rq_psn;          /**< 24 bits: first PSN expected */
	uint32_t sq_psn;          /**< 24 bits: first PSN sent */
	uint32_t dest_qp_num;     /**< 24 bits */
	uint32_t qp_access_flags; /**< REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, FLUSH_GLOBAL */
	struct pmv_qp_cap cap;
	struct pmv_ah_attr ah_attr;
	uint16_t pkey_index; /**< 0 */
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;        /**< query only */
	uint8_t max_rd_atomic;      /**< READs and atomics we may have outstanding, 0..device */
	uint8_t max_dest_rd_atomic; /**< READs and atomics of the peer at a time, 0..device */
	uint8_t min_rnr_timer;      /**< 0..31: code; 0 means 655.36 ms (warned about once) */
	uint8_t port_num;           /**< 1 */
	uint8_t timeout;            /**< 4.096 us * 2^n, 0..31; 0 = no ACK timeout */
	uint8_t retry_cnt;          /**< 0..7 */
	uint8_t rnr_retry;          /**< 0..7; 7 = for ever */
	/** What both ends agreed on. To RTR with PMV_QP_ECE: what is not known here is left out;
	 * without it: nothing. pmv_query_qp() tells what is in force. */
	struct pmv_ece ece;
};

/**
 * Creates a QP in RESET. If its requests and those of the other QPs of a CQ may become more than
 * the CQ has entries, a warning says so, once for each CQ: that is legal (see PMV_EVENT_CQ_ERR).
 * @param attr    cap is written back
 * @param ret_qp  owned by the caller
 * @return 0; -EINVAL a NULL or foreign object, or a size out of range (the log names it); -ENOTSUP
 * the QP type, or an SRQ that the driver does not offer; -ENOSPC no QPN left on the worker;
 * -ENOMEM.
 * @note Context: any thread. The worker learns of the QP through its mailbox when it is attached
 * elsewhere.
 */
PMV_API int pmv_create_qp(struct pmv_pd *pd, struct pmv_worker *worker,
	struct pmv_qp_init_attr *attr, struct pmv_qp **ret_qp);

/**
 * Changes attributes and state.
 * @param mask  enum pmv_qp_attr_mask
 * @return 0; -EINVAL the transition, a missing or superfluous attribute, a value out of range, or a
 * submitted operation of it was not polled to its end; -EHOSTUNREACH the next hop is not known;
 * -EBUSY max_dest_rd_atomic while READs of the peer are being answered; -EPERM called from a thread
 * that does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while it is detached.
 */
PMV_API int pmv_modify_qp(struct pmv_qp *qp, const struct pmv_qp_attr *attr, uint32_t mask);

/**
 * The same from any other control thread: checked and prepared here, committed by the owner lcore.
 * One operation per QP at a time.
 * @param op  the caller's record; poll it with pmv_op_poll()
 * @return 0 submitted (or already done); -EAGAIN the worker's mailbox is full; -ENOMEM; -EINVAL
 *         also for an op in use; else as pmv_modify_qp(). The result, from pmv_op_poll(), is
 *         -EINVAL when the QP left the state that was checked.
 * @note Context: any thread.
 */
PMV_API int pmv_modify_qp_submit(
	struct pmv_qp *qp, const struct pmv_qp_attr *attr, uint32_t mask, struct pmv_op *op);

/** @return 0; -EPERM the caller does not own the worker.
 * @note Context: owner lcore, or any one thread while detached. */
PMV_API int pmv_query_qp(
	struct pmv_qp *qp, struct pmv_qp_attr *ret_attr, struct pmv_qp_init_attr *ret_init);

/**
 * Destroys a QP. It generates no completions; completions of it that are still in a CQ stay there.
 * A receive that it took from its SRQ and has not finished is gone; so it is when the QP goes to
 * RESET.
 * @return 0; -EPERM the caller does not own the worker; -EBUSY a CM id still holds it, it is
 *         attached to a multicast group, or a
 *         submitted operation of it was not polled to its end.
 * @note Context: owner lcore, or any one thread while detached.
 */
PMV_API int pmv_destroy_qp(struct pmv_qp *qp);

/**
 * The same from any other control thread: unlinked by the owner lcore, freed in pmv_op_poll() of
 * the submitter.
 * @return 0 submitted (or already done; poll the op either way); -EAGAIN the worker's mailbox is
 * full; -EBUSY as pmv_destroy_qp().
 * @note Context: any thread.
 */
PMV_API int pmv_destroy_qp_submit(struct pmv_qp *qp, struct pmv_op *op);

/** True once a valid request has arrived since the QP went to RTR (COMM_EST). @note Context: any
 * thread, a snapshot. */
PMV_API bool pmv_qp_comm_est(const struct pmv_qp *qp);

PMV_API uint32_t pmv_qp_num(const struct pmv_qp *qp);
PMV_API enum pmv_qp_type pmv_qp_get_type(const struct pmv_qp *qp);
/** State as last committed. @note Context: any thread (a snapshot when it is not the owner). */
PMV_API enum pmv_qp_state pmv_qp_get_state(const struct pmv_qp *qp);
PMV_API struct pmv_worker *pmv_qp_get_worker(const struct pmv_qp *qp);
PMV_API struct pmv_pd *pmv_qp_get_pd(const struct pmv_qp *qp);
/** @return the SRQ it was created with, or NULL. */
PMV_API struct pmv_srq *pmv_qp_get_srq(const struct pmv_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
