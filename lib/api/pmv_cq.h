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

/** @return 0; -EBUSY QPs still use it; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while detached. */
PMV_API int pmv_destroy_cq(struct pmv_cq *cq);

struct pmv_cq_attr {
	uint32_t cqe;      /**< entries */
	uint32_t nb_ready; /**< completions waiting */
	bool overrun;      /**< a completion was lost; PMV_EVENT_CQ_ERR was raised */
};

/** @return 0. @note Context: owner lcore. */
PMV_API int pmv_query_cq(const struct pmv_cq *cq, struct pmv_cq_attr *ret_attr);

#ifdef __cplusplus
}
#endif
#endif
