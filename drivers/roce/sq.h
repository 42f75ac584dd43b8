// SPDX-License-Identifier: BSD-3-Clause
/*
 * Send queue: posted work requests, each with its PSN range, until they are completed. Free-running
 * indices; four marks:
 *
 *   tail ..... ack ..... snd ..... head
 *    |  acked,  |  sent,  | not yet  |
 *    |  frames  | waiting | sent     |
 *    |  out     |         |          |
 *
 * `head` is written by post, `snd` by the requester, `ack` and `tail` by the completer; all on the
 * owner lcore. Local operations lie between the others, without PSNs of their own (local_op.h).
 */
#ifndef PMV_ROCE_SQ_H
#define PMV_ROCE_SQ_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "lib/api/pmv_post.h"
#include "lib/util/seq24.h"

#define PMV_ROCE_WQE_ALIGN 64u
#define PMV_ROCE_WQE_DATA_MIN                                                                      \
	16u /* bytes of `data` that are there whatever the sizes asked for                         \
	     */

struct pmv_roce_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey; /* UD: remote Q_Key */
	rte_be32_t imm;
	uint32_t length; /* bytes of the message, 0..2^31 */
	uint32_t nb_psn; /* PSNs it takes: packets, of a READ the responses */
	struct pmv_psn first;
	uint32_t flags;      /* enum pmv_send_flags */
	uint32_t frames_out; /* attached frames that are not back; attach.c */
	uint32_t remote_qpn; /* UD */
	uint8_t opcode;      /* enum pmv_wr_opcode */
	uint8_t num_sge;
	uint8_t status; /* enum pmv_wc_status to complete with */
	bool signaled;
	/* then: SGEs, or inline bytes; for UD the header template of the address handle behind them
	 * (qp->sq.ud_off) */
	uint8_t data[] __rte_aligned(8);
};

struct pmv_roce_sq {
	uint8_t *ring;
	uint32_t stride; /* bytes a WQE, multiple of 64 */
	uint32_t mask;   /* entries - 1 */
	uint32_t head;
	uint32_t snd;
	uint32_t ack;
	uint32_t tail;
	uint32_t max_wr; /* that may be posted, <= mask + 1 */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t ud_off;         /* UD: offset of the header template in `data` */
	struct pmv_psn next_psn; /* first PSN of the next request posted */
};

static inline struct pmv_roce_wqe *
pmv_roce_sq_wqe(const struct pmv_roce_sq *sq, uint32_t index)
{
	return (struct pmv_roce_wqe *)(sq->ring + (size_t)(index & sq->mask) * sq->stride);
}

/* Kinds of request that are done only when an answer of their own has come; their number at a time
 * is agreed (max_rd_atomic). */
#define PMV_ROCE_ANSWERED                                                                          \
	(1ull << PMV_WR_RDMA_READ | 1ull << PMV_WR_ATOMIC_CMP_AND_SWP |                            \
		1ull << PMV_WR_ATOMIC_FETCH_AND_ADD | 1ull << PMV_WR_FLUSH |                       \
		1ull << PMV_WR_ATOMIC_WRITE)

/* opcode < 64. Most requests are of the kinds before READ, and are told by one comparison. */
static inline bool
pmv_roce_is_answered(uint32_t opcode)
{
	return unlikely(opcode >= PMV_WR_RDMA_READ) && (PMV_ROCE_ANSWERED >> opcode & 1) != 0;
}

/* Kinds whose answer brings something: READ and the two atomics. */
static inline bool
pmv_roce_is_fetched(uint32_t opcode)
{
	return opcode - PMV_WR_RDMA_READ <= PMV_WR_ATOMIC_FETCH_AND_ADD - PMV_WR_RDMA_READ;
}

static inline bool
pmv_roce_sq_full(const struct pmv_roce_sq *sq)
{
	return sq->head - sq->tail >= sq->max_wr;
}

/* What every request has, from the post; `data` and what depends on the transport is the caller's.
 */
static inline void
pmv_roce_sq_wqe_set(
	struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr, uint32_t length, bool sig_all)
{
	wqe->wr_id = wr->wr_id;
	wqe->imm = wr->imm_data;
	wqe->length = length;
	wqe->flags = wr->send_flags;
	wqe->frames_out = 0;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->num_sge = (uint8_t)wr->num_sge;
	wqe->status = PMV_WC_SUCCESS;
	wqe->signaled = sig_all || (wr->send_flags & PMV_SEND_SIGNALED) != 0;
}

/* Allocates the ring and writes the sizes granted back into cap. 0 or -ENOMEM. Control thread. */
int pmv_roce_sq_init(struct pmv_roce_sq *sq, struct pmv_qp_cap *cap, bool is_ud, int socket_id);
void pmv_roce_sq_fini(struct pmv_roce_sq *sq);
void pmv_roce_sq_reset(struct pmv_roce_sq *sq);

/*
 * Checks a request (SGE count, inline limit, sum of lengths <= length_max) and copies it to the WQE
 * at head, without moving head: opcode, sizes, flags, SGEs or inline bytes. 0, -ENOMEM (full) or
 * -EINVAL.
 */
int pmv_roce_sq_fill(
	struct pmv_roce_sq *sq, const struct pmv_send_wr *wr, uint32_t length_max, bool sig_all);

#endif
