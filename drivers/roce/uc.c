// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable connections: see uc.h. Owner lcore.
 */
#include "drivers/roce/uc.h"

#include <errno.h>

#include <rte_branch_prediction.h>

#include "drivers/roce/completion.h"
#include "drivers/roce/deliver.h"
#include "drivers/roce/pace.h"
#include "drivers/roce/request.h"

#define TURN_PKTS_MAX 64u

/*
 * A PSN behind the expected one by no more than this is a copy, or was overtaken. IBTA vol. 1,
 * 9.8.2 and Linux (rxe, hfi1) let any PSN begin a message, since a UC requester repeats nothing; a
 * network that doubles or reorders frames would have it executed twice, or out of order. Further
 * behind is a peer that went on while we heard nothing of 2^23 packets or more: it must not be
 * locked out.
 */
#define BEHIND_MAX 65536

/* ---- requester ---- */

/* Checks a request, fills the WQE at head and gives it its PSNs. 0, -ENOMEM, -EINVAL. */
static int
post_one(struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	struct pmv_roce_sq *sq = &qp->sq;
	struct pmv_roce_wqe *wqe;
	int rc;

	if ((uint32_t)wr->opcode > PMV_WR_SEND_WITH_IMM) /* the four that UC has (table 38) */
		return -EINVAL;
	rc = pmv_roce_sq_fill(sq, wr, PMV_MSG_BYTES_MAX, qp->base.sq_sig_all);
	if (unlikely(rc < 0))
		return rc;
	wqe = pmv_roce_sq_wqe(sq, sq->head);
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->nb_psn =
		wqe->length == 0
			? 1
			: (uint32_t)(((uint64_t)wqe->length + qp->mtu_bytes - 1) >> qp->mtu_shift);
	wqe->first = sq->next_psn;
	sq->next_psn = pmv_psn_add(sq->next_psn, wqe->nb_psn);
	sq->head++;
	return 0;
}

/* Sends the packet at nxt: nothing will be heard of it, so it is behind us at once. 0, -ENOBUFS or
 * -EACCES. */
static int
send_next(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	struct pmv_roce_window *win = &qp->win;
	struct rte_mbuf *m;
	int rc;

	rc = pmv_roce_request_build(w, qp, wqe, win->nxt, false, &m);
	if (unlikely(rc < 0))
		return rc;
	pmv_roce_window_sent(win, 1);
	pmv_roce_window_ack_before(win, win->nxt);
	if (pmv_psn_eq(win->nxt, pmv_psn_add(wqe->first, wqe->nb_psn))) {
		qp->sq.snd++;
		qp->sq.ack = qp->sq.snd; /* attached frames keep the completion back */
	}
	qp->stats.tx_pkts++;
	pmv_roce_pace_sent(w, qp, m->pkt_len);
	pmv_roce_tx_stage(w, m);
	return 0;
}

/* Only the send queue stops (SQE, IBTA vol. 1, 10.3.1.6). The PSNs of what was flushed are not used
 * again: a peer that has a part of the message sees the gap. */
static __rte_noinline void
local_error(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	pmv_roce_window_init(&qp->win, qp->sq.next_psn, w->base.device->param.window_pkts);
	pmv_roce_completion_sq_error(qp, wqe, PMV_WC_LOC_PROT_ERR);
}

void
pmv_roce_uc_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;

	if (qp->base.state != PMV_QPS_RTS && qp->base.state != PMV_QPS_SQD)
		return;
	for (uint32_t budget = TURN_PKTS_MAX; sq->snd != sq->head; budget--) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->snd);
		int rc;

		if (qp->base.state == PMV_QPS_SQD && pmv_psn_eq(qp->win.nxt, wqe->first))
			break; /* new ones wait (IBTA vol. 1, 10.3.1.5) */
		if (budget == 0 || pmv_roce_tx_room(&w->tx) == 0) {
			pmv_roce_qp_schedule(w, qp);
			break;
		}
		if (pmv_roce_pace_waits(w, qp))
			break;
		rc = send_next(w, qp, wqe);
		if (unlikely(rc == -ENOBUFS)) {
			pmv_roce_qp_schedule(w, qp);
			break;
		}
		if (unlikely(rc < 0)) {
			local_error(w, qp, wqe);
			return;
		}
	}
	if (unlikely(qp->sq_draining))
		pmv_roce_completion_check_drained(w, qp);
	pmv_roce_completion_run(qp);
}

int
pmv_roce_uc_post(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);
	uint32_t flags = 0;
	uint32_t i;
	int rc = 0;

	if (unlikely(base->state < PMV_QPS_RTS))
		return nb == 0 ? 0 : -ENOTCONN;
	for (i = 0; i < nb; i++) {
		rc = post_one(qp, &wr[i]);
		if (unlikely(rc < 0))
			break;
		flags |= wr[i].send_flags;
	}
	if (unlikely(base->state >= PMV_QPS_SQE)) {
		pmv_roce_window_init(&qp->win, qp->sq.next_psn, qp->win.size);
		pmv_roce_completion_flush(qp);
	} else if (!qp->on_run) { /* else older ones wait for room: keep the order of turns */
		pmv_roce_uc_run(w, qp);
	}
	if (flags & PMV_SEND_FLUSH)
		pmv_roce_tx_flush(w);
	return i > 0 ? (int)i : rc;
}

/* ---- responder ---- */

/*
 * The message cannot be executed. What the peer did wrong, or a receive that is not there, costs
 * that message only and nobody is told; a receive of ours that cannot be executed, or a CQ without
 * room, ends the QP (IBTA vol. 1, 9.9.3, 10.3.1.7; Linux rxe).
 */
static __rte_noinline void
undelivered(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, enum pmv_roce_deliver why)
{
	switch (why) {
	case PMV_ROCE_DELIVER_NO_RECV:
		w->stats.drop[PMV_ROCE_DROP_UC_NO_RECV]++;
		return;
	case PMV_ROCE_DELIVER_RECV_PROT:
		pmv_roce_deliver_fail(qp, PMV_WC_LOC_PROT_ERR);
		pmv_roce_qp_error(w, qp);
		return;
	case PMV_ROCE_DELIVER_OVERRUN:
		pmv_roce_qp_error(w, qp);
		return;
	default:
		w->stats.drop[PMV_ROCE_DROP_UC_REFUSED]++;
	}
}

/* FIRST and ONLY begin a message wherever the peer is by now; MIDDLE and LAST go on with the
 * running one, of which nothing is missing. */
static inline bool
has_its_turn(const struct pmv_roce_resp *r, const struct pmv_opcode_info *op, int32_t ahead)
{
	return (op->pos & PMV_OPPOS_FIRST) || (ahead == 0 && r->running == op->kind);
}

/* A running message that does not go on is lost: it ends without a word, and the next one takes its
 * receive. */
void
pmv_roce_uc_rx(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_opcode_info *op = p->roce.op;
	struct pmv_roce_resp *r = &qp->resp;
	int32_t ahead = pmv_psn_diff(p->roce.bth.psn, r->epsn);
	enum pmv_roce_deliver v;

	qp->stats.rx_pkts++;
	if (unlikely(ahead < 0 && ahead >= -BEHIND_MAX)) {
		qp->stats.duplicates++;
		w->stats.drop[PMV_ROCE_DROP_DUP]++;
		return;
	}
	if (unlikely(!has_its_turn(r, op, ahead))) {
		r->running = PMV_OPKIND_NONE;
		w->stats.drop[PMV_ROCE_DROP_UC_LOST]++;
		return;
	}
	r->running = PMV_OPKIND_NONE;
	r->epsn = pmv_psn_add(p->roce.bth.psn, 1);
	if (unlikely(!pmv_opcode_payload_is_ok(&p->roce, qp->mtu_bytes))) {
		undelivered(w, qp, PMV_ROCE_DELIVER_INVALID);
		return;
	}
	if (unlikely(!qp->base.comm_est))
		pmv_roce_deliver_comm_est(w, qp);
	v = op->kind == PMV_OPKIND_SEND ? pmv_roce_deliver_send(w, qp, p)
					: pmv_roce_deliver_write(w, qp, p);
	if (unlikely(v != PMV_ROCE_DELIVER_OK))
		undelivered(w, qp, v);
	else if (!(op->pos & PMV_OPPOS_LAST))
		r->running = op->kind;
}
