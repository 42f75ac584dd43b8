/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path: work requests in, completions out, in bursts. One indirect call per burst; no
 * lock, no allocation, no system call. All functions: owner lcore of the worker (or the one thread
 * that sets a detached worker up).
 */
#ifndef PMV_POST_H
#define PMV_POST_H

#include <errno.h>
#include <string.h>

#include "pmv_cq.h"
#include "pmv_qp.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_sge {
	uint64_t addr;   /**< virtual address (or the region's iova for iova-registered memory) */
	uint32_t length; /**< bytes; 0 is legal and skipped */
	uint32_t lkey;   /**< ignored with PMV_SEND_INLINE */
};

/** Copied at post: the request and its SGE array may be reused at once. */
struct pmv_send_wr {
	uint64_t wr_id;
	const struct pmv_sge *sg_list;
	uint32_t num_sge;
	enum pmv_wr_opcode opcode;
	uint32_t send_flags; /**< enum pmv_send_flags */
	union {
		rte_be32_t imm_data;      /**< network order */
		uint32_t invalidate_rkey; /**< SEND_WITH_INV: the peer's key; LOCAL_INV: ours */
	};
	union {
		struct {
			uint64_t remote_addr; /**< ATOMIC_WRITE: multiple of 8 */
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr; /**< multiple of 8, or the peer refuses it */
			uint32_t rkey;        /**< at the place it has for WRITE and READ */
			uint64_t compare_add; /**< compared with, or added */
			uint64_t swap;        /**< COMPARE_AND_SWAP: written if equal */
		} atomic;
		struct {
			uint64_t remote_addr;
			uint32_t rkey;   /**< at the place it has for WRITE and READ */
			uint32_t length; /**< bytes, 0..2^31, of PMV_FLUSH_RANGE */
			uint8_t type;    /**< enum pmv_placement_type */
			uint8_t level;   /**< enum pmv_selectivity_level */
		} flush;
		struct {
			struct pmv_mw *mw;
			uint32_t rkey; /**< the key it shall have: see pmv_inc_rkey() */
			const struct pmv_mw_bind *bind; /**< copied at post */
		} bind_mw;
		struct {
			struct pmv_mr *mr; /**< made by pmv_alloc_mr() */
			uint32_t key;      /**< the key it shall have: see pmv_inc_rkey() */
			uint32_t access;   /**< enum pmv_access_flags */
		} reg;
		struct {
			struct pmv_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey; /**< bit 31 set: the QP's own Q_Key is sent instead */
		} ud;
	} wr;
};

struct pmv_recv_wr {
	uint64_t wr_id;
	const struct pmv_sge *sg_list;
	uint32_t num_sge;
};

struct pmv_prepared_send;

/** Entry points of a driver, bound when the object is made. Applications use the inlines below. */
struct pmv_qp_ops {
	int (*post_send)(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);
	int (*post_recv)(struct pmv_qp *qp, const struct pmv_recv_wr *wr, uint32_t nb);
	/* both NULL: payload cannot be written in place */
	int (*send_begin)(struct pmv_qp *qp, uint32_t length, void **ret_payload);
	int (*send_commit)(struct pmv_qp *qp, const struct pmv_send_wr *wr);
	/* NULL: a prepared request is posted like any other; pmv_prepared.h */
	void (*prepare)(struct pmv_qp *qp, struct pmv_prepared_send *prep);
};
struct pmv_cq_ops {
	uint32_t (*poll)(struct pmv_cq *cq, struct pmv_wc *wc, uint32_t nb);
	/* NULL: the driver has no stamps */
	uint32_t (*poll_stamps)(
		struct pmv_cq *cq, struct pmv_wc *wc, struct pmv_cq_stamp *stamps, uint32_t nb);
};

/**
 * Posts send requests, in order. BIND_MW, LOCAL_INV, REG_MR and NOP (RC) are carried out when
 * everything before them has been sent, LOCAL_INV when it has completed; they complete in order
 * with the rest, and their objects are named by key, so that one that is gone by then makes them
 * fail. The bind of a window of type 1 chooses its key: pmv_mw_rkey() tells it after the post.
 * @return how many were taken (1..nb, 0 for nb = 0), or, when not even the first was taken, why:
 * -ENOMEM the send queue is full; -EINVAL opcode not legal for the QP type, too many SGEs, inline
 * too long, a sum of lengths above 2^31 (UD: above the device's active_mtu), a READ,
 * COMPARE_AND_SWAP or FETCH_AND_ADD that is inline, one of these, ATOMIC_WRITE or FLUSH while
 * max_rd_atomic is 0, an atomic whose SGE is not one of 8 bytes, an ATOMIC_WRITE of another length,
 * a FLUSH with SGEs or of an unknown type or level, no address handle (UD) or one of another PD;
 * -ENOTCONN the QP is in RESET, INIT or RTR. In ERR, and of UD in SQE, requests are taken and
 * complete with WR_FLUSH_ERR.
 */
static inline int
pmv_post_send(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb)
{
	return (*(const struct pmv_qp_ops *const *)(const void *)qp)->post_send(qp, wr, nb);
}

/**
 * Posts receive requests, in order. Legal from INIT on.
 * @return as pmv_post_send(): count, or -ENOMEM (also when the QP has no receive queue), -EINVAL
 * too many SGEs, or the QP has an SRQ: its receives are posted there, -ENOTCONN (RESET).
 */
static inline int
pmv_post_recv(struct pmv_qp *qp, const struct pmv_recv_wr *wr, uint32_t nb)
{
	return (*(const struct pmv_qp_ops *const *)(const void *)qp)->post_recv(qp, wr, nb);
}

/**
 * Begins a send request whose payload is written in place: into the queue entry from which it is
 * sent, and sent again, without a buffer of the program's in between. pmv_send_commit() posts it.
 * Until then nothing else may be posted on the QP; one that is not committed is forgotten.
 * @param length       bytes, 0..max_inline_data of the QP
 * @param ret_payload  length bytes, aligned to 8, undefined before they are written; the program's
 *                     until the commit
 * @return 0; -ENOMEM the send queue is full; -EINVAL longer than max_inline_data; -ENOTCONN the QP
 * is in RESET, INIT or RTR; -ENOTSUP the driver's queues have no such place (drivers/mlx5).
 */
static inline int
pmv_send_begin(struct pmv_qp *qp, uint32_t length, void **ret_payload)
{
	const struct pmv_qp_ops *ops = *(const struct pmv_qp_ops *const *)(const void *)qp;

	return ops->send_begin != NULL ? ops->send_begin(qp, length, ret_payload) : -ENOTSUP;
}

/**
 * Posts the request whose payload was written after pmv_send_begin(). Of wr everything counts but
 * the SGEs; PMV_SEND_INLINE need not be given.
 * @return 0; -EINVAL nothing was begun, or something else was posted since, or the QP was reset;
 * other errors as pmv_post_send(). After an error nothing is begun any more.
 */
static inline int
pmv_send_commit(struct pmv_qp *qp, const struct pmv_send_wr *wr)
{
	const struct pmv_qp_ops *ops = *(const struct pmv_qp_ops *const *)(const void *)qp;

	return ops->send_commit != NULL ? ops->send_commit(qp, wr) : -ENOTSUP;
}

/** Takes up to nb completions. It does not look at the port: pmv_worker_poll() does. @return how
 * many, 0..nb. */
static inline uint32_t
pmv_poll_cq(struct pmv_cq *cq, struct pmv_wc *wc, uint32_t nb)
{
	return (*(const struct pmv_cq_ops *const *)(const void *)cq)->poll(cq, wc, nb);
}

/** The same with the stamp of each: of a CQ that was created with PMV_CQ_TIMESTAMPS; of any other
 * CQ all stamps are 0. @return how many, 0..nb. */
static inline uint32_t
pmv_poll_cq_stamps(struct pmv_cq *cq, struct pmv_wc *wc, struct pmv_cq_stamp *stamps, uint32_t nb)
{
	const struct pmv_cq_ops *ops = *(const struct pmv_cq_ops *const *)(const void *)cq;

	if (ops->poll_stamps != NULL)
		return ops->poll_stamps(cq, wc, stamps, nb);
	memset(stamps, 0, nb * sizeof(*stamps));
	return ops->poll(cq, wc, nb);
}

#ifdef __cplusplus
}
#endif
#endif
