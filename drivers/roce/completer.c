// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/completer.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/completion.h"
#include "drivers/roce/local_op.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/resend.h"
#include "drivers/roce/retry.h"
#include "drivers/roce/sgl.h"
#include "lib/wire/aeth.h"
#include "lib/wire/ext_hdr.h"

/*
 * Everything before `upto` was executed by the peer. Requests are passed in order, but never a READ
 * or atomic that has not had its own answer. Returns true when such a one stopped it: its answer
 * was lost.
 */
static bool
acknowledge(struct pmv_roce_qp *qp, struct pmv_psn upto)
{
	struct pmv_roce_sq *sq = &qp->sq;
	bool blocked = false;

	while (sq->ack != sq->head) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->ack);

		if (pmv_roce_is_answered(wqe->opcode)) {
			struct pmv_psn missing =
				pmv_psn_before(wqe->first, qp->win.una) ? qp->win.una : wqe->first;

			if (!pmv_psn_before(missing, upto))
				break;
			upto = missing;
			blocked = true;
			break;
		}
		if (pmv_psn_before(upto, pmv_psn_add(wqe->first, wqe->nb_psn)))
			break;
		wqe->status = PMV_WC_SUCCESS; /* also if it could not be sent again meanwhile */
		sq->ack++;
	}
	pmv_roce_window_ack_before(&qp->win, upto);
	if ((int32_t)(sq->snd - sq->ack) < 0)
		sq->snd = sq->ack;
	return blocked;
}

/* A request that failed locally waited for those before it; they may be through now. */
static void
fail_local(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	const struct pmv_roce_wqe *wqe;

	if (qp->sq.ack == qp->sq.head || !pmv_psn_eq(qp->win.una, qp->win.nxt))
		return;
	wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.ack);
	if (unlikely(wqe->status != PMV_WC_SUCCESS))
		pmv_roce_requester_fail(w, qp, wqe->status);
}

/* The left edge moved: timers and completions. What the window lets through now is for the caller
 * to send, once it knows the rest of what the peer said. */
static void
progress(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	pmv_roce_retry_progress(w, qp);
	pmv_roce_completion_run(qp);
	if (unlikely(qp->base.state == PMV_QPS_SQD))
		pmv_roce_completion_check_drained(w, qp);
	fail_local(w, qp);
}

/* Loss at the left edge: repair it unless it is being repaired already. */
static void
repair(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (!pmv_roce_retry_waits(qp) && pmv_roce_retry_loss(w, qp))
		pmv_roce_requester_go_back(qp, qp->win.una);
	pmv_roce_requester_run(w, qp);
}

/* Acknowledges everything before psn. True when psn is now the left edge: nothing older is missing,
 * and it is the caller's to go on sending. */
static bool
acknowledge_before(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn psn)
{
	struct pmv_psn una = qp->win.una;
	bool blocked = acknowledge(qp, psn);

	pmv_roce_resend_acked(w, qp, una);

	if (!pmv_psn_eq(una, qp->win.una))
		progress(w, qp);
	if (qp->base.state == PMV_QPS_ERR)
		return false;
	if (unlikely(blocked)) {
		repair(w, qp);
		return false;
	}
	return pmv_psn_eq(qp->win.una, psn);
}

static void
nak(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t code, struct pmv_psn psn)
{
	static const uint8_t status[] = { [PMV_NAK_INV_REQ] = PMV_WC_REM_INV_REQ_ERR,
		[PMV_NAK_REM_ACCESS] = PMV_WC_REM_ACCESS_ERR,
		[PMV_NAK_REM_OP] = PMV_WC_REM_OP_ERR };

	if (code > PMV_NAK_REM_OP) {
		w->stats.drop[PMV_ROCE_DROP_RESP_SYNDROME]++;
		return;
	}
	if (code == PMV_NAK_PSN_SEQ)
		qp->stats.nak_seq_rx++;
	if (!acknowledge_before(w, qp, psn))
		return;
	if (code == PMV_NAK_PSN_SEQ)
		repair(w, qp);
	else
		pmv_roce_requester_fail(w, qp, status[code]);
}

static void
rnr(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t timer_code, struct pmv_psn psn)
{
	qp->stats.rnr_rx++;
	if (pmv_roce_retry_waits(qp) || !acknowledge_before(w, qp, psn))
		return;
	if (pmv_roce_retry_rnr(w, qp, timer_code))
		pmv_roce_requester_go_back(qp, qp->win.una);
}

static void
rx_ack(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_aeth aeth;

	pmv_aeth_parse(p->bth + PMV_OFF_AETH, &aeth);
	switch (pmv_aeth_kind(aeth.syndrome)) {
	case PMV_AETH_ACK:
		if (likely(acknowledge_before(w, qp, pmv_psn_add(p->roce.bth.psn, 1)))) {
			pmv_roce_resend_judge(qp);
			pmv_roce_requester_run(w, qp);
		}
		break;
	case PMV_AETH_RNR:
		rnr(w, qp, pmv_aeth_value(aeth.syndrome), p->roce.bth.psn);
		break;
	case PMV_AETH_NAK:
		nak(w, qp, pmv_aeth_value(aeth.syndrome), p->roce.bth.psn);
		break;
	default:
		w->stats.drop[PMV_ROCE_DROP_RESP_SYNDROME]++;
	}
}

/* The peer has packets behind the one that it waits for. */
static __rte_noinline void
rx_sack(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_sack sack;

	if (qp->sel == NULL || !pmv_opcode_payload_is_ok(&p->roce, qp->mtu_bytes) ||
		p->m->data_len < p->payload_off + PMV_SACK_LEN) {
		w->stats.drop[PMV_ROCE_DROP_OPCODE]++;
		return;
	}
	qp->stats.nak_seq_rx++;
	qp->retry.sample_sent = 0; /* the repair would be measured too */
	if (!acknowledge_before(w, qp, p->roce.bth.psn) || pmv_roce_retry_waits(qp))
		return;
	if (!pmv_roce_resend_can(qp)) {
		repair(w, qp);
		return;
	}
	pmv_sack_parse(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->payload_off), &sack);
	if (pmv_roce_resend_told(qp, &sack))
		pmv_roce_retry_heard(w, qp);
	pmv_roce_requester_run(w, qp);
}

/* What was asked for under this PSN is here; `last`: and it is all that the request at the left
 * edge wanted. */
static void
answered(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn psn, bool last)
{
	struct pmv_psn una = qp->win.una;

	pmv_roce_window_ack_before(&qp->win, pmv_psn_add(psn, 1));
	pmv_roce_resend_acked(w, qp, una);
	if (last) {
		if ((int32_t)(qp->sq.ack - qp->sq.snd) <
			0) /* else it was to be sent again and is not counted */
			qp->rd_out--;
		qp->sq.ack++;
		pmv_roce_local_op_pass(&qp->sq);
	}
	if ((int32_t)(qp->sq.snd - qp->sq.ack) < 0)
		qp->sq.snd = qp->sq.ack;
	progress(w, qp);
	pmv_roce_requester_run(w, qp);
}

/* The response to `psn` of the READ at the left edge. Which of FIRST, MIDDLE, LAST, ONLY it may be
 * follows from what remains: peers differ in what they call the first packet of a replay. */
static void
place_response(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_sgl sgl = { (const struct pmv_sge *)(const void *)wqe->data,
		wqe->num_sge, wqe->length };
	uint32_t index = (p->roce.bth.psn.v - wqe->first.v) & PMV_PSN_MASK;
	uint32_t off = index << qp->mtu_shift;
	uint32_t left = wqe->length - off;
	bool last = index + 1 == wqe->nb_psn;

	if (p->payload_len != (last ? left : qp->mtu_bytes) ||
		last != ((p->roce.op->pos & PMV_OPPOS_LAST) != 0)) {
		pmv_roce_requester_fail(w, qp, PMV_WC_BAD_RESP_ERR);
		return;
	}
	if (p->payload_len != 0 && pmv_roce_sgl_scatter(w, qp->base.pd, &sgl, off,
					   &(const struct pmv_roce_part){ p->m, p->payload_off,
						   p->payload_len }) != PMV_ROCE_REGION_OK) {
		pmv_roce_requester_fail(w, qp, PMV_WC_LOC_PROT_ERR);
		return;
	}
	answered(w, qp, p->roce.bth.psn, last);
}

/* An atomic's answer: the value found, which the program gets in its own byte order. */
static void
place_value(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_sgl sgl = { (const struct pmv_sge *)(const void *)wqe->data,
		wqe->num_sge, wqe->length };
	uint64_t value = pmv_atomic_ack_parse(p->bth + PMV_OFF_ATOMIC_ACK);

	if (pmv_roce_sgl_scatter_bytes(w, qp->base.pd, &sgl, 0, (const uint8_t *)&value,
		    sizeof(value)) != PMV_ROCE_REGION_OK) {
		pmv_roce_requester_fail(w, qp, PMV_WC_LOC_PROT_ERR);
		return;
	}
	answered(w, qp, p->roce.bth.psn, true);
}

/* ATOMIC WRITE and FLUSH are answered by a READ response of no bytes (as Linux rxe does); what does
 * not belong to its request ends the connection. */
static __rte_noinline void
place_other(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	const struct pmv_roce_pkt *p)
{
	const struct pmv_opcode_info *op = p->roce.op;
	bool fetched = pmv_roce_is_fetched(wqe->opcode);

	if (op->kind == PMV_OPKIND_ATOMIC_ACK && fetched && wqe->opcode != PMV_WR_RDMA_READ)
		place_value(w, qp, wqe, p);
	else if (op == &pmv_opcode_table[PMV_OPCODE_RC_READ_RESP_ONLY] && p->payload_len == 0 &&
		 !fetched)
		answered(w, qp, p->roce.bth.psn, true);
	else
		pmv_roce_requester_fail(w, qp, PMV_WC_BAD_RESP_ERR);
}

/* A READ response, or an atomic's answer. */
static void
rx_answer(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_psn psn = p->roce.bth.psn;
	struct pmv_roce_wqe *wqe;

	/* it acknowledges every request before its own */
	if (!acknowledge_before(w, qp, psn)) {
		w->stats.drop[PMV_ROCE_DROP_RESP_GAP]++;
		pmv_roce_retry_misplaced(qp);
		return;
	}
	wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.ack);
	if (qp->sq.ack == qp->sq.head || !pmv_roce_is_answered(wqe->opcode) ||
		!pmv_psn_within(psn, wqe->first, wqe->nb_psn)) {
		w->stats.drop[PMV_ROCE_DROP_RESP_STALE]++;
		pmv_roce_retry_misplaced(qp);
		pmv_roce_requester_run(w, qp);
		return;
	}
	if (likely(wqe->opcode == PMV_WR_RDMA_READ && p->roce.op->kind == PMV_OPKIND_READ_RESP))
		place_response(w, qp, wqe, p);
	else
		place_other(w, qp, wqe, p);
}

/* Refusals come as ACK packets; an ATOMIC ACK with a syndrome of another kind means nothing. */
static __rte_noinline void
rx_atomic_ack(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_aeth aeth;

	pmv_aeth_parse(p->bth + PMV_OFF_AETH, &aeth);
	if (pmv_aeth_kind(aeth.syndrome) == PMV_AETH_ACK)
		rx_answer(w, qp, p);
	else
		w->stats.drop[PMV_ROCE_DROP_RESP_SYNDROME]++;
}

void
pmv_roce_completer_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	qp->stats.rx_pkts++;
	if (pmv_roce_window_place(&qp->win, p->roce.bth.psn) != PMV_ROCE_WINDOW_INSIDE) {
		w->stats.drop[PMV_ROCE_DROP_RESP_STALE]++;
		if (p->roce.op->kind == PMV_OPKIND_READ_RESP)
			pmv_roce_retry_misplaced(qp);
		return;
	}
	switch (p->roce.op->kind) {
	case PMV_OPKIND_ACK:
		rx_ack(w, qp, p);
		break;
	case PMV_OPKIND_READ_RESP:
		rx_answer(w, qp, p);
		break;
	case PMV_OPKIND_SACK:
		rx_sack(w, qp, p);
		break;
	default:
		rx_atomic_ack(w, qp, p);
	}
}
