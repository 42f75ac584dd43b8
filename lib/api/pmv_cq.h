/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues. A CQ lives on a worker and is filled and polled by that worker's lcore only,
 * so it needs no lock.
 */
#ifndef PMV_CQ_H
#define PMV_CQ_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A completion. After a status other than SUCCESS only wr_id, status, qp_num and vendor_err are
 * valid. 48 bytes. */
struct pmv_wc {
	uint64_t wr_id;
	enum pmv_wc_status status;
	enum pmv_wc_opcode opcode;
	uint32_t vendor_err; /**< driver's own detail, 0 = none */
	uint32_t byte_len;   /**< bytes received, or read by an RDMA READ */
	union {
		rte_be32_t imm_data; /**< network order, valid with PMV_WC_WITH_IMM */
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num;   /**< the local QP */
	uint32_t src_qp;   /**< UD: the sender's QP */
	uint32_t wc_flags; /**< enum pmv_wc_flags */
	void *qp_context;  /**< as given to pmv_create_qp() */
};

/**
 * Creates a CQ on a worker.
 * @param cqe        entries wanted, >= 1; rounded up to a power of two, pmv_query_cq() tells
 * @return 0; -EINVAL cqe is 0 or above the device's max_cqe; -ENOMEM.
 * @note Context: any thread (prepare half only; a new CQ needs no commit).
 */
PMV_API int pmv_create_cq(
	struct pmv_worker *worker, uint32_t cqe, void *context, struct pmv_cq **ret_cq);

/** What a CQ shall do beyond filling up. */
enum pmv_cq_flags {
	PMV_CQ_TIMESTAMPS = 1 << 0, /**< keep a struct pmv_cq_stamp with each completion */
};

struct pmv_cq_init_attr {
	uint32_t cqe;   /**< as of pmv_create_cq() */
	uint32_t flags; /**< enum pmv_cq_flags; without any the CQ costs what pmv_create_cq()'s do
			 */
	void *context;
};

/** When a completion came about; taken with pmv_poll_cq_stamps(). */
struct pmv_cq_stamp {
	/** The worker's time of the turn that took the frame off the port: TSC ticks, or what
	 * pmv_worker_poll_at() was given. Of a request that was flushed: the last turn. */
	uint64_t taken;
	/** The port's own stamp of that frame, in units of the port (rte_eth_read_clock()), or 0:
	 * it has none, or no frame made this completion. */
	uint64_t port;
};

/**
 * Creates a CQ that keeps more than completions.
 * @return as pmv_create_cq(); -EINVAL also for an unknown flag; -ENOTSUP the driver has no stamps.
 * @note Context: any thread.
 */
PMV_API int pmv_create_cq_ex(
	struct pmv_worker *worker, const struct pmv_cq_init_attr *attr, struct pmv_cq **ret_cq);

/**
 * Changes the number of entries. What waits stays, in its order; a CQ that overran stays so.
 * @param cqe  entries wanted, >= 1; rounded up to a power of two, pmv_query_cq() tells
 * @return 0; -EINVAL cqe is 0, above the device's max_cqe, or below what waits now; -ENOTSUP the
 * driver cannot; -EPERM the caller does not own the worker; -ENOMEM. The CQ is as before then.
 * @note Context: owner lcore of the worker, or any one thread while detached. It allocates.
 */
PMV_API int pmv_resize_cq(struct pmv_cq *cq, uint32_t cqe);

/**
 * Called at most once for each pmv_req_notify_cq(), on the owner lcore, at the end of the turn in
 * which the completion was made (of one that a post made: of the next turn). For waking somebody
 * up: it must not block, and must not call the library.
 */
typedef void (*pmv_cq_notify_fn)(struct pmv_cq *cq, void *arg);

/**
 * Sets what pmv_req_notify_cq() leads to.
 * @param hook  NULL: nothing, and the CQ is not armed any more
 * @return 0; -ENOTSUP the driver notifies of nothing; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while detached.
 */
PMV_API int pmv_cq_set_notify(struct pmv_cq *cq, pmv_cq_notify_fn hook, void *arg);

/**
 * Arms a CQ: the next completion calls the hook once. A CQ that is armed for any completion stays
 * so when it is armed for solicited ones.
 * @param solicited_only  a received message whose sender set PMV_SEND_SOLICITED, or a completion in
 * error, or an overrun (IBTA vol. 1, 11.4.2.2)
 * @return 0 armed; 1 armed, but completions wait already that nobody will be told of: poll, and
 * sleep only when there are none; -EINVAL no hook is set; -ENOTSUP the driver notifies of nothing.
 * @note Context: owner lcore.
 */
PMV_API int pmv_req_notify_cq(struct pmv_cq *cq, bool solicited_only);

/**
 * Moderates notifications; a CQ that is polled has nothing to moderate, its completions are there
 * at once whatever is set here. Fewer completions of sends: PMV_SEND_SIGNALED on every n-th.
 * @param count      the hook waits for so many completions of the kind it was armed for; 0 and 1:
 * for the first. An error does not wait.
 * @param period_us  but not longer than so after the first of them; 0: as long as it takes
 * @return 0; -ENOTSUP the driver notifies of nothing; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while detached.
 */
PMV_API int pmv_modify_cq(struct pmv_cq *cq, uint16_t count, uint16_t period_us);

/** @return 0; -EBUSY QPs still use it; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while detached. */
PMV_API int pmv_destroy_cq(struct pmv_cq *cq);

struct pmv_cq_attr {
	uint32_t cqe;      /**< entries */
	uint32_t nb_ready; /**< completions waiting */
	bool overrun;      /**< a completion was lost; PMV_EVENT_CQ_ERR was raised */
	bool armed;        /**< pmv_req_notify_cq() was called and the hook was not */
};

/** @return 0. @note Context: owner lcore. */
PMV_API int pmv_query_cq(const struct pmv_cq *cq, struct pmv_cq_attr *ret_attr);

#ifdef __cplusplus
}
#endif
#endif
