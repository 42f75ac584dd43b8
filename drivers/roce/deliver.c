// SPDX-License-Identifier: BSD-3-Clause
/*
 * Delivery of a packet in its turn: see deliver.h. Owner lcore.
 */
#include "drivers/roce/deliver.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/cq.h"
#include "drivers/roce/invalidate.h"
#include "drivers/roce/recv.h"
#include "drivers/roce/sgl.h"
#include "lib/wire/ext_hdr.h"

void
pmv_roce_deliver_comm_est(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	__atomic_store_n(&qp->base.comm_est, 1,
		__ATOMIC_RELEASE); /* the CM looks at it: an RTU may be lost */
	if (qp->base.state == PMV_QPS_RTR)
		pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_COMM_EST);
}

bool
pmv_roce_deliver_complete(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	const struct pmv_roce_deliver_from *from)
{
	struct pmv_wc *wc = pmv_roce_cq_push(qp->base.recv_cq);
	bool imm = pmv_opcode_has(p->roce.op, PMV_EXT_IMMDT);
	uint32_t se = p->bth[PMV_BTH_SE_OFF] & PMV_BTH_SE ? PMV_WC_SOLICITED : 0;

	if (unlikely(wc == NULL))
		return false;
	*wc = (struct pmv_wc){ .wr_id = pmv_roce_recv_held(qp)->wr_id,
		.status = PMV_WC_SUCCESS,
		.opcode = p->roce.op->kind == PMV_OPKIND_SEND ? PMV_WC_RECV
							      : PMV_WC_RECV_RDMA_WITH_IMM,
		.byte_len = from->byte_len,
		/* invalidated_rkey stands in the same place */
		.imm_data = imm ? pmv_immdt_parse(p->bth + PMV_OFF_IMMDT(p->roce.op))
				: from->invalidated_rkey,
		.wc_flags = from->wc_flags | se | (imm ? PMV_WC_WITH_IMM : 0),
		.qp_num = qp->base.qpn,
		.src_qp = from->src_qp,
		.qp_context = qp->base.context };
	pmv_roce_recv_done(qp);
	return true;
}

void
pmv_roce_deliver_fail(struct pmv_roce_qp *qp, enum pmv_wc_status status)
{
	const struct pmv_roce_rwqe *rwqe = pmv_roce_recv_held(qp);
	struct pmv_wc *wc = pmv_roce_cq_push(qp->base.recv_cq);

	if (wc != NULL)
		*wc = (struct pmv_wc){ .wr_id = rwqe->wr_id,
			.status = status,
			.opcode = PMV_WC_RECV,
			.qp_num = qp->base.qpn,
			.qp_context = qp->base.context };
	pmv_roce_recv_done(qp);
}

/* Of a connected QP. */
static enum pmv_roce_deliver
complete(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p, uint32_t byte_len)
{
	const struct pmv_roce_deliver_from from = { .src_qp = qp->dest_qpn, .byte_len = byte_len };

	return likely(pmv_roce_deliver_complete(qp, p, &from)) ? PMV_ROCE_DELIVER_OK
							       : PMV_ROCE_DELIVER_OVERRUN;
}

/* A SEND with invalidate: its key dies when its data are there and before anybody is told (IBTA
 * vol. 1, 9.4.1.1.3). */
static __rte_noinline enum pmv_roce_deliver
complete_inv(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint32_t byte_len)
{
	const struct pmv_roce_deliver_from from = { .src_qp = qp->dest_qpn,
		.byte_len = byte_len,
		.wc_flags = PMV_WC_WITH_INV,
		.invalidated_rkey = pmv_ieth_parse(p->bth + PMV_OFF_IETH(p->roce.op)) };
	uint64_t epoch;

	if (pmv_roce_invalidate(w, qp, from.invalidated_rkey, true, &epoch) != 0)
		return PMV_ROCE_DELIVER_RECV_INV;
	return pmv_roce_deliver_complete(qp, p, &from) ? PMV_ROCE_DELIVER_OK
						       : PMV_ROCE_DELIVER_OVERRUN;
}

enum pmv_roce_deliver
pmv_roce_deliver_send(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_rwqe *rwqe = pmv_roce_recv_take(qp);
	uint32_t off = p->roce.op->pos & PMV_OPPOS_FIRST ? 0 : qp->resp.msg_off;

	if (unlikely(rwqe == NULL))
		return PMV_ROCE_DELIVER_NO_RECV;
	if (unlikely((uint64_t)off + p->payload_len > rwqe->length))
		return PMV_ROCE_DELIVER_RECV_LEN;
	if (p->payload_len != 0) {
		const struct pmv_roce_sgl sgl = { rwqe->sge, rwqe->num_sge, rwqe->length };

		if (unlikely(pmv_roce_sgl_scatter(w, qp->base.pd, &sgl, off,
				     &(const struct pmv_roce_part){ p->m, p->payload_off,
					     p->payload_len }) != PMV_ROCE_REGION_OK))
			return PMV_ROCE_DELIVER_RECV_PROT;
	}
	qp->resp.msg_off = off + p->payload_len;
	if (!(p->roce.op->pos & PMV_OPPOS_LAST))
		return PMV_ROCE_DELIVER_OK;
	if (unlikely(pmv_opcode_has(p->roce.op, PMV_EXT_IETH)))
		return complete_inv(w, qp, p, qp->resp.msg_off);
	return complete(qp, p, qp->resp.msg_off);
}

/* What the span grants: all of it, in one piece (*ret_dst) or in several (NULL). */
static bool
granted(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_span *span,
	uint8_t **ret_dst)
{
	enum pmv_roce_region_verdict v =
		pmv_roce_region_grant(w->dev, qp->base.pd, span, ret_dst, NULL);

	return v == PMV_ROCE_REGION_OK || v == PMV_ROCE_REGION_SPLIT;
}

/* Takes over the RETH of a WRITE that begins; *ret_dst is where it goes. */
static enum pmv_roce_deliver
begin_write(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint8_t **ret_dst)
{
	struct pmv_roce_span span;
	struct pmv_reth reth;

	pmv_reth_parse(p->bth + PMV_OFF_RETH, &reth);
	if (!(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_WRITE) ||
		reth.dma_len > PMV_RETH_LEN_MAX)
		return PMV_ROCE_DELIVER_INVALID;
	span = (struct pmv_roce_span){ reth.va, reth.dma_len, reth.rkey, PMV_ACCESS_REMOTE_WRITE,
		qp->base.qpn };
	if (!granted(w, qp, &span, ret_dst))
		return PMV_ROCE_DELIVER_ACCESS;
	qp->resp.write_va = reth.va;
	qp->resp.write_rkey = reth.rkey;
	qp->resp.write_len = reth.dma_len;
	qp->resp.msg_off = 0;
	return PMV_ROCE_DELIVER_OK;
}

/* What this packet wants of the key. */
static inline struct pmv_roce_span
write_span(const struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_resp *r = &qp->resp;

	return (struct pmv_roce_span){ r->write_va + r->msg_off, p->payload_len, r->write_rkey,
		PMV_ACCESS_REMOTE_WRITE, qp->base.qpn };
}

/* Looked up for every packet: the key may die in the middle of a message. */
static bool
goes_on_write(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint8_t **ret_dst)
{
	const struct pmv_roce_span span = write_span(qp, p);

	return granted(w, qp, &span, ret_dst);
}

/* Into pages that do not lie together. False: the key died meanwhile. */
static __rte_noinline bool
place_split(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_span span = write_span(qp, p);

	return pmv_roce_sgl_place_split(w, qp->base.pd, &span,
		&(const struct pmv_roce_part){ p->m, p->payload_off, p->payload_len });
}

enum pmv_roce_deliver
pmv_roce_deliver_write(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_resp *r = &qp->resp;
	bool last = (p->roce.op->pos & PMV_OPPOS_LAST) != 0;
	bool imm = (p->roce.op->flags & PMV_OPF_RECV_WQE) != 0;
	uint32_t left;
	uint8_t *dst;

	/* a missing receive is found before lengths and keys are looked at */
	if (unlikely(imm && pmv_roce_recv_take(qp) == NULL))
		return PMV_ROCE_DELIVER_NO_RECV;
	if (p->roce.op->pos & PMV_OPPOS_FIRST) {
		enum pmv_roce_deliver v = begin_write(w, qp, p, &dst);

		if (unlikely(v != PMV_ROCE_DELIVER_OK))
			return v;
	}
	left = r->write_len - r->msg_off;
	if (unlikely(last ? p->payload_len != left : p->payload_len >= left))
		return PMV_ROCE_DELIVER_INVALID;
	if (!(p->roce.op->pos & PMV_OPPOS_FIRST) && !goes_on_write(w, qp, p, &dst))
		return PMV_ROCE_DELIVER_ACCESS;
	if (p->payload_len != 0) {
		if (likely(dst != NULL))
			pmv_roce_place(dst, p->m, p->payload_off, p->payload_len);
		else if (!place_split(w, qp, p))
			return PMV_ROCE_DELIVER_ACCESS;
	}
	r->msg_off += p->payload_len;
	return imm ? complete(qp, p, r->write_len) : PMV_ROCE_DELIVER_OK;
}
