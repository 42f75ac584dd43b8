// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/responder.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "drivers/roce/ack.h"
#include "drivers/roce/atomic.h"
#include "drivers/roce/deliver.h"
#include "drivers/roce/pace.h"
#include "drivers/roce/place.h"
#include "drivers/roce/sgl.h"
#include "lib/wire/ext_hdr.h"

#define TURN_RESPONSES_MAX 32u /* READ responses and the like a QP may send in one turn */

/* The request cannot be served: one NAK, then the QP is in ERR and silent (IBTA vol. 1, 9.9.3). */
static __rte_noinline void
refuse(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t syndrome)
{
	if (syndrome == PMV_SYNDROME_NAK_INV_REQ)
		pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_QP_REQ_ERR);
	else if (syndrome == PMV_SYNDROME_NAK_REM_ACC)
		pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_QP_ACCESS_ERR);
	pmv_roce_ack_owe_nak(w, qp, syndrome, qp->resp.epsn);
	pmv_roce_qp_error(w, qp);
}

/* The same, when a receive request was in use: it completes with the cause. */
static __rte_noinline void
refuse_recv(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, enum pmv_wc_status status,
	uint8_t syndrome)
{
	pmv_roce_deliver_fail(qp, status);
	pmv_roce_ack_owe_nak(w, qp, syndrome, qp->resp.epsn);
	pmv_roce_qp_error(w, qp);
}

static void
not_ready(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	/* what was pipelined behind it is ahead of a gap now: no NAK for that (Intel's hfi1 does
	 * the same) */
	qp->resp.nak_sent = true;
	pmv_roce_ack_owe_nak(w, qp, PMV_SYNDROME_RNR | qp->base.attr.min_rnr_timer, qp->resp.epsn);
}

static inline void
executed(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	bool last = (p->roce.op->pos & PMV_OPPOS_LAST) != 0;

	qp->resp.epsn = pmv_psn_add(qp->resp.epsn, 1);
	qp->resp.running = last ? PMV_OPKIND_NONE : p->roce.op->kind;
	qp->resp.msn = (qp->resp.msn + last) & PMV_PSN_MASK;
	if (p->roce.bth.ackreq)
		pmv_roce_ack_owe(w, qp);
}

/*
 * The message is there, but the key it names cannot be invalidated. As Linux's rxe does (IBTA vol.
 * 1, 9.9.3, class J): acknowledged, the receive completes in error, and so does the QP.
 */
static void
not_invalidated(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	executed(w, qp, p);
	pmv_roce_ack_owe(w, qp);
	pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_QP_ACCESS_ERR);
	pmv_roce_deliver_fail(qp, PMV_WC_REM_INV_REQ_ERR);
	pmv_roce_qp_error(w, qp);
}

/* What could not be delivered is answered by its cause (IBTA vol. 1, 9.7.5.2 and 9.9.3). */
static __rte_noinline void
undelivered(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	enum pmv_roce_deliver why)
{
	const struct pmv_opcode_info *op = p->roce.op;

	switch (why) {
	case PMV_ROCE_DELIVER_NO_RECV:
		not_ready(w, qp);
		return;
	case PMV_ROCE_DELIVER_RECV_LEN:
		refuse_recv(w, qp, PMV_WC_LOC_LEN_ERR, PMV_SYNDROME_NAK_INV_REQ);
		return;
	case PMV_ROCE_DELIVER_RECV_PROT:
		refuse_recv(w, qp, PMV_WC_LOC_PROT_ERR, PMV_SYNDROME_NAK_REM_OP);
		return;
	case PMV_ROCE_DELIVER_RECV_INV:
		not_invalidated(w, qp, p);
		return;
	case PMV_ROCE_DELIVER_ACCESS:
		if ((op->flags & PMV_OPF_RECV_WQE) && (op->pos & PMV_OPPOS_FIRST))
			refuse_recv(w, qp, PMV_WC_REM_ACCESS_ERR, PMV_SYNDROME_NAK_REM_ACC);
		else
			refuse(w, qp, PMV_SYNDROME_NAK_REM_ACC);
		return;
	case PMV_ROCE_DELIVER_OVERRUN:
		refuse(w, qp, PMV_SYNDROME_NAK_REM_OP);
		return;
	default:
		refuse(w, qp, PMV_SYNDROME_NAK_INV_REQ);
	}
}

static inline void
delivered(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	enum pmv_roce_deliver v)
{
	if (likely(v == PMV_ROCE_DELIVER_OK))
		executed(w, qp, p);
	else
		undelivered(w, qp, p, v);
}

static void
parse_read(const struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p, struct pmv_roce_rd *rd)
{
	struct pmv_reth reth;

	pmv_reth_parse(p->bth + PMV_OFF_RETH, &reth);
	*rd = (struct pmv_roce_rd){ .va = reth.va,
		.rkey = reth.rkey,
		.len = reth.dma_len,
		.opcode = p->bth[0],
		.first = p->roce.bth.psn,
		.nb_psn = reth.dma_len == 0
				  ? 1
				  : (uint32_t)(((uint64_t)reth.dma_len + qp->mtu_bytes - 1) >>
					       qp->mtu_shift) };
}

static void
rx_read(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	enum pmv_roce_region_verdict v;
	struct pmv_roce_span span;
	struct pmv_roce_rd rd;
	uint8_t *ptr;

	parse_read(qp, p, &rd);
	if (!(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_READ) ||
		rd.len > PMV_RETH_LEN_MAX) {
		refuse(w, qp, PMV_SYNDROME_NAK_INV_REQ);
		return;
	}
	span = (struct pmv_roce_span){ rd.va, rd.len, rd.rkey, PMV_ACCESS_REMOTE_READ,
		qp->base.qpn };
	v = pmv_roce_region_grant(w->dev, qp->base.pd, &span, &ptr, NULL);
	if (v != PMV_ROCE_REGION_OK && v != PMV_ROCE_REGION_SPLIT) {
		refuse(w, qp, PMV_SYNDROME_NAK_REM_ACC);
		return;
	}
	if (!pmv_roce_rdatomic_add(
		    &qp->resp.rd, &rd)) { /* more than max_dest_rd_atomic at a time */
		refuse(w, qp, PMV_SYNDROME_NAK_INV_REQ);
		return;
	}
	qp->resp.epsn = pmv_psn_add(qp->resp.epsn, rd.nb_psn);
	qp->resp.msn = (qp->resp.msn + 1) & PMV_PSN_MASK;
	pmv_roce_ack_forgive(qp); /* its responses acknowledge all before it */
	pmv_roce_qp_schedule(w, qp);
}

static __rte_noinline void
rx_atomic(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	uint8_t syndrome = pmv_roce_atomic_execute(w, qp, p);

	if (syndrome == PMV_ROCE_ATOMIC_BUSY) {
		w->stats.drop[PMV_ROCE_DROP_FLUSH_BUSY]++;
		return;
	}
	if (syndrome != 0) {
		refuse(w, qp, syndrome);
		return;
	}
	pmv_roce_ack_forgive(qp); /* as a READ's */
	pmv_roce_qp_schedule(w, qp);
}

/* A request seen before is never executed again; what it needs is its answer (IBTA vol.
 * 1, 9.7.5.1.4). */
static __rte_noinline void
duplicate(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_rd again;
	bool stored;

	qp->stats.duplicates++;
	switch (p->roce.op->kind) {
	case PMV_OPKIND_SEND:
	case PMV_OPKIND_WRITE:
		if (pmv_roce_rdatomic_pending(&qp->resp.rd) == NULL)
			pmv_roce_ack_owe(w, qp);
		else
			w->stats.drop[PMV_ROCE_DROP_DUP]++; /* an answer that is on its way says
							       it */
		return;
	case PMV_OPKIND_READ_REQ:
		parse_read(qp, p, &again);
		stored = pmv_roce_rdatomic_replay(
			&qp->resp.rd, p->roce.bth.psn, &again, qp->mtu_bytes);
		break;
	case PMV_OPKIND_ATOMIC:
	case PMV_OPKIND_FLUSH:
	case PMV_OPKIND_ATOMIC_WRITE:
		stored = pmv_roce_atomic_again(qp, p);
		break;
	default:
		w->stats.drop[PMV_ROCE_DROP_DUP]++;
		return;
	}
	if (stored)
		pmv_roce_qp_schedule(w, qp);
	else
		w->stats.drop[PMV_ROCE_DROP_DUP_READ]++;
}

static __rte_noinline void
gap(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (qp->resp.nak_sent) {
		w->stats.drop[PMV_ROCE_DROP_SEQ_SILENT]++;
		return;
	}
	qp->resp.nak_sent = true;
	pmv_roce_ack_owe_nak(w, qp, PMV_SYNDROME_NAK_PSN_SEQ, qp->resp.epsn);
}

/* FIRST and ONLY begin a message, MIDDLE and LAST go on with one of their own kind. */
static inline bool
fits_sequence(const struct pmv_roce_resp *r, const struct pmv_opcode_info *op)
{
	if (op->pos & PMV_OPPOS_FIRST)
		return r->running == PMV_OPKIND_NONE;
	return r->running == op->kind;
}

/* What most requests are, judged at once: a WRITE in one packet, in its turn, its memory granted.
 * False: nothing happened, the long way will find out what is the matter. */
static inline bool
rx_write_only(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_resp *r = &qp->resp;
	struct pmv_roce_span span;
	struct pmv_reth reth;
	uint8_t *dst;

	if (unlikely(!pmv_psn_eq(p->roce.bth.psn, r->epsn) || r->running != PMV_OPKIND_NONE ||
		     !qp->base.comm_est ||
		     !(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_WRITE)))
		return false;
	pmv_reth_parse(p->bth + PMV_OFF_RETH, &reth);
	span = (struct pmv_roce_span){ reth.va, reth.dma_len, reth.rkey, PMV_ACCESS_REMOTE_WRITE };
	if (unlikely(reth.dma_len != p->payload_len || reth.dma_len > qp->mtu_bytes ||
		     pmv_roce_regions_grant(&w->dev->regions, qp->base.pd, &span, &dst, NULL) !=
			     PMV_ROCE_REGION_OK))
		return false;
	if (likely(p->payload_len != 0))
		pmv_roce_place(dst, p->m, p->payload_off, p->payload_len);
	r->nak_sent = false;
	r->epsn = pmv_psn_add(r->epsn, 1);
	r->msn = (r->msn + 1) & PMV_PSN_MASK;
	qp->stats.rx_pkts++;
	if (p->roce.bth.ackreq)
		pmv_roce_ack_owe(w, qp);
	return true;
}

void
pmv_roce_responder_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_opcode_info *op = p->roce.op;
	int32_t ahead;

	if (likely(op == &pmv_opcode_table[PMV_OPCODE_RC_WRITE_ONLY]) && rx_write_only(w, qp, p))
		return;
	qp->stats.rx_pkts++;
	ahead = pmv_psn_diff(p->roce.bth.psn, qp->resp.epsn);
	if (unlikely(ahead != 0)) {
		if (ahead > 0)
			gap(w, qp);
		else
			duplicate(w, qp, p);
		return;
	}
	qp->resp.nak_sent = false;
	if (unlikely(!qp->base.comm_est))
		pmv_roce_deliver_comm_est(w, qp);
	if (unlikely(!fits_sequence(&qp->resp, op) ||
		     !pmv_opcode_payload_is_ok(&p->roce, qp->mtu_bytes))) {
		refuse(w, qp, PMV_SYNDROME_NAK_INV_REQ);
		return;
	}
	if (op->kind == PMV_OPKIND_SEND)
		delivered(w, qp, p, pmv_roce_deliver_send(w, qp, p));
	else if (op->kind == PMV_OPKIND_WRITE)
		delivered(w, qp, p, pmv_roce_deliver_write(w, qp, p));
	else if (op->kind == PMV_OPKIND_READ_REQ)
		rx_read(w, qp, p);
	else if (op->kind == PMV_OPKIND_ATOMIC || op->kind == PMV_OPKIND_FLUSH ||
		 op->kind == PMV_OPKIND_ATOMIC_WRITE)
		rx_atomic(w, qp, p);
	else
		refuse(w, qp, PMV_SYNDROME_NAK_INV_REQ); /* operation not supported */
}

/* The payload, from src or, NULL, from several pages. Copied, never attached: the peer may write
 * this memory while the frame waits, and the ICRC would break. False: no room, or the key has died.
 */
static inline bool
put_response(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_span *span,
	const uint8_t *src, struct rte_mbuf *m)
{
	uint8_t *dst = pmv_roce_packet_payload(m, (uint32_t)span->len);

	if (unlikely(dst == NULL))
		return false;
	w->stats.copied_bytes += span->len;
	if (unlikely(src == NULL))
		return pmv_roce_sgl_copy_split(w, qp->base.pd, span, dst);
	rte_memcpy(dst, src, span->len);
	return true;
}

/* Builds the next response of a READ. 0, -ENOBUFS, or -EACCES (the key has died since). */
static int
build_read_response(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_rd *rd,
	struct rte_mbuf **ret_m)
{
	/* by (first of this answer, last): MIDDLE, FIRST, LAST, ONLY */
	static const uint8_t opcode[4] = { PMV_OPCODE_RC_READ_RESP_MIDDLE,
		PMV_OPCODE_RC_READ_RESP_FIRST, PMV_OPCODE_RC_READ_RESP_LAST,
		PMV_OPCODE_RC_READ_RESP_ONLY };
	bool first = rd->next == rd->start;
	bool last = rd->next + 1 == rd->nb_psn;
	uint32_t off = rd->next << qp->mtu_shift;
	uint32_t len = last ? rd->len - off : qp->mtu_bytes;
	const struct pmv_aeth aeth = { PMV_SYNDROME_ACK_NO_CREDIT, qp->resp.msn };
	const struct pmv_roce_span span = { rd->va + off, len, rd->rkey, PMV_ACCESS_REMOTE_READ,
		qp->base.qpn };
	enum pmv_roce_region_verdict v;
	struct rte_mbuf *m;
	uint8_t *p, *src;

	v = pmv_roce_region_grant(w->dev, qp->base.pd, &span, &src, NULL);
	if (v != PMV_ROCE_REGION_OK && v != PMV_ROCE_REGION_SPLIT)
		return -EACCES;
	p = pmv_roce_packet_begin(
		w, w->base.pool, &qp->hdr, PMV_BTH_LEN + (first || last ? PMV_AETH_LEN : 0), &m);
	if (unlikely(p == NULL))
		return -ENOBUFS;
	pmv_roce_packet_bth(p,
		pmv_roce_bth_word0(opcode[first + 2 * last], false, pmv_bth_pad(len)), false,
		pmv_psn_add(rd->first, rd->next));
	if (first || last)
		pmv_aeth_build(p + PMV_BTH_LEN, &aeth);
	if (len != 0 && unlikely(!put_response(w, qp, &span, src, m))) {
		rte_pktmbuf_free(m);
		return -EACCES;
	}
	if (unlikely(pmv_roce_packet_finish(w, &qp->hdr, m) != 0)) {
		rte_pktmbuf_free(m);
		return -ENOBUFS;
	}
	*ret_m = m;
	return 0;
}

static inline int
build_response(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_rd *rd,
	struct rte_mbuf **ret_m)
{
	if (likely(rd->opcode == PMV_OPCODE_RC_READ_REQUEST))
		return build_read_response(w, qp, rd, ret_m);
	return pmv_roce_atomic_answer(w, qp, rd, ret_m);
}

/* The memory of an accepted READ is gone. A first answer ends with a NAK at the response that
 * cannot be read; a replay just ends: a duplicate is never refused. */
static __rte_noinline void
read_lost(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_rd *rd)
{
	struct pmv_psn psn = pmv_psn_add(rd->first, rd->next);
	bool again = rd->again;

	if (again) {
		rd->next = rd->nb_psn;
		w->stats.drop[PMV_ROCE_DROP_DUP_READ]++;
		return;
	}
	pmv_roce_rdatomic_cancel(&qp->resp.rd);
	pmv_roce_ack_owe_nak(w, qp, PMV_SYNDROME_NAK_REM_ACC, psn);
	pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_QP_ACCESS_ERR);
	pmv_roce_qp_error(w, qp);
}

void
pmv_roce_responder_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_rd *rd;

	for (uint32_t budget = TURN_RESPONSES_MAX;
		(rd = pmv_roce_rdatomic_pending(&qp->resp.rd)) != NULL; budget--) {
		bool is_read = rd->opcode == PMV_OPCODE_RC_READ_REQUEST;
		struct rte_mbuf *m;
		int err;

		if (is_read && pmv_roce_pace_waits(w, qp))
			return;
		if (budget == 0 || pmv_roce_tx_room(&w->tx) == 0) {
			pmv_roce_qp_schedule(w, qp);
			return;
		}
		err = build_response(w, qp, rd, &m);
		if (unlikely(err == -ENOBUFS)) {
			pmv_roce_qp_schedule(w, qp);
			return;
		}
		if (unlikely(err != 0)) {
			read_lost(w, qp, rd);
			continue;
		}
		rd->next++;
		qp->stats.tx_pkts++;
		if (is_read)
			pmv_roce_pace_sent(w, qp, m->pkt_len);
		pmv_roce_tx_stage(w, m);
	}
	if (qp->ack.owed && !pmv_roce_ack_send(w, qp))
		pmv_roce_qp_schedule(w, qp);
}
