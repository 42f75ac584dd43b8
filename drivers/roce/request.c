// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/request.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "drivers/roce/sgl.h"

const struct pmv_roce_shape pmv_roce_shapes[] = {
	[PMV_WR_RDMA_WRITE] = { { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
					PMV_OPCODE_RC_WRITE_LAST, PMV_OPCODE_RC_WRITE_ONLY },
		PMV_BTH_LEN + PMV_RETH_LEN, true, false, false },
	[PMV_WR_RDMA_WRITE_WITH_IMM] = { { PMV_OPCODE_RC_WRITE_MIDDLE, PMV_OPCODE_RC_WRITE_FIRST,
						 PMV_OPCODE_RC_WRITE_LAST_IMM,
						 PMV_OPCODE_RC_WRITE_ONLY_IMM },
		PMV_BTH_LEN + PMV_RETH_LEN + PMV_IMMDT_LEN, true, true, true },
	[PMV_WR_SEND] = { { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
				  PMV_OPCODE_RC_SEND_LAST, PMV_OPCODE_RC_SEND_ONLY },
		PMV_BTH_LEN, false, false, true },
	[PMV_WR_SEND_WITH_IMM] = { { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_FIRST,
					   PMV_OPCODE_RC_SEND_LAST_IMM,
					   PMV_OPCODE_RC_SEND_ONLY_IMM },
		PMV_BTH_LEN + PMV_IMMDT_LEN, false, true, true },
	[PMV_WR_RDMA_READ] = { { PMV_OPCODE_RC_READ_REQUEST, PMV_OPCODE_RC_READ_REQUEST,
				       PMV_OPCODE_RC_READ_REQUEST, PMV_OPCODE_RC_READ_REQUEST },
		PMV_BTH_LEN + PMV_RETH_LEN, true, false, false },
};

/* The part of a request that goes out under one PSN. */
struct piece {
	uint32_t off;
	uint32_t len; /* payload of the packet; 0 for a READ */
	bool first;
	bool last;
};

static inline struct piece
piece_of(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe, struct pmv_psn psn)
{
	uint32_t index = (psn.v - wqe->first.v) & PMV_PSN_MASK;
	struct piece p = { .off = index << qp->mtu_shift };

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

static inline uint32_t
word0_of(const struct pmv_roce_shape *shape, const struct pmv_roce_wqe *wqe, const struct piece *pc)
{
	bool se = shape->has_se && pc->last && (wqe->flags & PMV_SEND_SOLICITED);

	return pmv_roce_bth_word0(shape->base[pc->first + 2 * pc->last], se, pmv_bth_pad(pc->len));
}

static inline void
build_reth(uint8_t *p, const struct pmv_roce_wqe *wqe, uint32_t off)
{
	const struct pmv_reth h = { wqe->remote_addr + off, wqe->rkey, wqe->length - off };

	pmv_reth_build(p, &h);
}

/* Payload into the frame: inline bytes, attached user memory, or a copy. 0, -ENOBUFS, or -EACCES (a
 * key is bad). */
static int
add_payload(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	const struct piece *pc, struct rte_mbuf *m)
{
	const struct pmv_roce_sgl sgl = { (const struct pmv_sge *)(const void *)wqe->data,
		wqe->num_sge, wqe->length };
	struct pmv_roce_mr *mr;
	uint8_t *dst;

	if (w->attach.allowed && pc->len >= w->attach.bytes_min &&
		!(wqe->flags & PMV_SEND_INLINE)) {
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
	const struct piece pc = piece_of(qp, wqe, psn);
	bool reth = shape->has_reth && pc.first;
	bool imm = shape->has_imm && pc.last;
	uint8_t *p = pmv_roce_packet_start(
		m, &qp->hdr, PMV_BTH_LEN + (reth ? PMV_RETH_LEN : 0) + (imm ? PMV_IMMDT_LEN : 0));

	pmv_roce_packet_bth(p, word0_of(shape, wqe, &pc), ackreq, psn);
	p += PMV_BTH_LEN;
	if (reth) {
		build_reth(p, wqe, pc.off);
		p += PMV_RETH_LEN;
	}
	if (imm)
		pmv_immdt_build(p, wqe->imm);
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
