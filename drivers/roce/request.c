// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/request.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "drivers/roce/atomic.h"
#include "drivers/roce/sgl.h"

const struct pmv_roce_shape pmv_roce_shapes[PMV_ROCE_SHAPES] = {
	[PMV_WR_RDMA_WRITE] = { { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
					PMV_OPCODE_RC_WRITE_LAST, PMV_OPCODE_RC_WRITE_ONLY },
		true, false, false },
	[PMV_WR_RDMA_WRITE_WITH_IMM] = { { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
						 PMV_OPCODE_RC_WRITE_LAST_IMM,
						 PMV_OPCODE_RC_WRITE_ONLY_IMM },
		true, true, true },
	[PMV_WR_SEND] = { { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
				  PMV_OPCODE_RC_SEND_LAST, PMV_OPCODE_RC_SEND_ONLY },
		false, false, true },
	[PMV_WR_SEND_WITH_IMM] = { { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
					   PMV_OPCODE_RC_SEND_LAST_IMM,
					   PMV_OPCODE_RC_SEND_ONLY_IMM },
		false, true, true },
	[PMV_WR_RDMA_READ] = { { PMV_OPCODE_RC_READ_REQUEST, PMV_OPCODE_RC_READ_REQUEST,
				       PMV_OPCODE_RC_READ_REQUEST, PMV_OPCODE_RC_READ_REQUEST },
		true, false, false },
	[PMV_WR_ATOMIC_CMP_AND_SWP] = { .is_atomic = true, .is_apart = true },
	[PMV_WR_ATOMIC_FETCH_AND_ADD] = { .is_atomic = true, .is_apart = true },
	[PMV_WR_FLUSH] = { .is_atomic = true, .is_apart = true },
	[PMV_WR_ATOMIC_WRITE] = { .base = { [3] = PMV_OPCODE_RC_ATOMIC_WRITE },
		.has_reth = true,
		.is_atomic = true },
	/* its IETH stands where an ImmDt would: four bytes, in wqe->imm */
	[PMV_WR_SEND_WITH_INV] = { { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
					   PMV_OPCODE_RC_SEND_LAST_INV,
					   PMV_OPCODE_RC_SEND_ONLY_INV },
		false, true, true },
};

static inline struct pmv_roce_piece
piece_of(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe, struct pmv_psn psn)
{
	uint32_t index = (psn.v - wqe->first.v) & PMV_PSN_MASK;
	struct pmv_roce_piece p = { .off = index << qp->mtu_shift };

	if (wqe->opcode == PMV_WR_RDMA_READ) { /* one request asks for all that is missing */
		p.first = true;
		p.last = true;
		return p;
	}
	p.first = index == 0;
	p.last = index + 1 == wqe->nb_psn;
	p.len = p.last ? wqe->length - p.off : qp->mtu_bytes;
	return p;
}

/* Payload into the frame: inline bytes, attached user memory, or a copy. 0, -ENOBUFS, or -EACCES (a
 * key is bad). */
static int
add_payload(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	const struct pmv_roce_piece *pc, struct rte_mbuf *m)
{
	const struct pmv_roce_sgl sgl = { (const struct pmv_sge *)(const void *)wqe->data,
		wqe->num_sge, wqe->length };
	struct pmv_roce_mr *mr;
	uint8_t *dst;

	if (!(wqe->flags & PMV_SEND_INLINE)) {
		uint8_t *src = pmv_roce_sgl_piece(w, qp->base.pd, &sgl, pc->off, pc->len, &mr);

		if (src != NULL && pmv_roce_attach_bytes(w, m, src, pc->len,
					   &(const struct pmv_roce_attach_for){
						   mr, &wqe->frames_out, qp }) == 0)
			return 0;
	}
	dst = pmv_roce_packet_payload(m, pc->len);
	if (unlikely(dst == NULL))
		return -EACCES;
	if (wqe->flags & PMV_SEND_INLINE) {
		rte_memcpy(dst, wqe->data + pc->off, pc->len);
		return 0;
	}
	w->stats.copied_bytes += pc->len;
	pmv_roce_spare_prefetch_rest(&w->spare, pc->len);
	return pmv_roce_sgl_gather(w, qp->base.pd, &sgl, pc->off, dst, pc->len) ==
			       PMV_ROCE_REGION_OK
		       ? 0
		       : -EACCES;
}

/* m: fresh. */
static int
build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	struct pmv_psn psn, bool ackreq, struct rte_mbuf *m)
{
	const struct pmv_roce_shape *shape = &pmv_roce_shapes[wqe->opcode];
	const struct pmv_roce_piece pc = piece_of(qp, wqe, psn);
	uint8_t *bth;

	if (unlikely(shape->is_apart))
		return pmv_roce_atomic_build(w, qp, wqe, ackreq, m);
	bth = pmv_roce_packet_start(m, &qp->hdr, pmv_roce_request_hdr_len(shape, &pc));
	pmv_roce_request_headers(wqe, &pc, psn, ackreq, bth);
	bth[0] |= qp->op_base;
	if (pc.len != 0) {
		int err = add_payload(w, qp, wqe, &pc, m);

		if (unlikely(err != 0))
			return err;
	}
	return pmv_roce_packet_finish(w, &qp->hdr, m) == 0 ? 0 : -ENOBUFS;
}

int
pmv_roce_request_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	struct pmv_psn psn, bool ackreq, struct rte_mbuf **ret_m)
{
	struct rte_mbuf *m = pmv_roce_spare_take(&w->spare);
	int err;

	if (unlikely(m == NULL)) {
		w->stats.no_mbuf++;
		return -ENOBUFS;
	}
	err = build(w, qp, wqe, psn, ackreq, m);
	if (unlikely(err != 0)) {
		rte_pktmbuf_free(m);
		return err;
	}
	*ret_m = m;
	return 0;
}
