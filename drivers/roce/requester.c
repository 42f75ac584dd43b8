// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/requester.h"

#include <errno.h>

#include <rte_branch_prediction.h>

#include "drivers/roce/atomic.h"
#include "drivers/roce/completion.h"
#include "drivers/roce/direct.h"
#include "drivers/roce/local_op.h"
#include "drivers/roce/pace.h"
#include "drivers/roce/request.h"
#include "drivers/roce/resend.h"
#include "drivers/roce/retry.h"

#define TURN_PKTS_MAX                                                                              \
	64u /* packets a QP may send in one go: other QPs and the receive side get their turn */

static inline bool
is_answered(const struct pmv_roce_wqe *wqe)
{
	return pmv_roce_is_answered(wqe->opcode);
}

/* Asks for an acknowledgement when something waits for it: a completion, the window, or the end of
 * what there is to send. */
static inline bool
wants_ack(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe, uint32_t nb_psn)
{
	struct pmv_psn after = pmv_psn_add(qp->win.nxt, nb_psn);
	bool last = pmv_psn_eq(after, pmv_psn_add(wqe->first, wqe->nb_psn));

	if (unlikely(!pmv_psn_eq(qp->win.nxt, qp->win.end)) && !pmv_psn_before(after, qp->win.end))
		return true; /* the last of what was lost */
	return (last && (wqe->signaled || qp->sq.snd + 1 == qp->sq.head ||
				/* a local operation behind it asks for nothing itself */
				pmv_roce_sq_wqe(&qp->sq, qp->sq.snd + 1)->opcode >=
					PMV_WR_LOCAL_INV)) ||
	       qp->since_ackreq + 1 >= PMV_ROCE_ACKREQ_PKTS ||
	       pmv_roce_window_room(&qp->win) <= nb_psn || is_answered(wqe) ||
	       pmv_roce_pace_pauses(qp);
}

/* Sends the packet at nxt. 0, -ENOBUFS or -EACCES; on failure nothing has changed. */
static int
send_next(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	struct pmv_psn psn = qp->win.nxt;
	uint32_t index = (psn.v - wqe->first.v) & PMV_PSN_MASK;
	uint32_t nb_psn = is_answered(wqe) ? wqe->nb_psn - index : 1;
	bool ackreq = wants_ack(qp, wqe, nb_psn);
	struct rte_mbuf *m;
	bool again;
	int err;

	err = pmv_roce_request_build(w, qp, wqe, psn, ackreq, &m);
	if (unlikely(err != 0))
		return err;
	again = pmv_roce_window_sent(&qp->win, nb_psn);
	if (unlikely(qp->sel != NULL))
		pmv_roce_scoreboard_sent(&qp->sel->sent, psn);
	qp->since_ackreq = ackreq ? 0 : qp->since_ackreq + 1;
	if (is_answered(wqe))
		qp->rd_out++;
	if (index + nb_psn == wqe->nb_psn)
		qp->sq.snd++;
	qp->stats.tx_pkts++;
	if (unlikely(again)) {
		qp->stats.retx_pkts++;
		w->stats.retx_pkts++;
	}
	pmv_roce_pace_sent(w, qp, m->pkt_len);
	pmv_roce_tx_stage(w, m);
	pmv_roce_retry_sent(w, qp, psn, again);
	return 0;
}

/* A request whose first packet is next: may it begin? */
static bool
may_begin(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe)
{
	if ((wqe->flags & PMV_SEND_FENCE) && qp->rd_out != 0)
		return false;
	if (is_answered(wqe) && (qp->rd_out >= qp->base.attr.max_rd_atomic ||
					!pmv_roce_window_takes(&qp->win, wqe->nb_psn)))
		return false;
	/* SQD: requests already begun go on, new ones wait (IBTA vol. 1, 10.3.1.5) */
	return qp->base.state != PMV_QPS_SQD || pmv_psn_before(qp->win.nxt, qp->win.end);
}

/* A request cannot be sent for a local reason. What was sent before it is still good: it fails when
 * its turn has come. */
static __rte_noinline void
local_error(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	enum pmv_wc_status status)
{
	wqe->status = (uint8_t)status;
	if (pmv_psn_eq(qp->win.una, qp->win.nxt))
		pmv_roce_requester_fail(w, qp, status);
}

/* The local operation at snd: carried out, or, when packets before it are sent again, passed.
 * False: it waits, or the QP has failed. */
static __rte_noinline bool
run_local(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	struct pmv_roce_sq *sq = &qp->sq;
	int rc = wqe->nb_psn == 0 ? 0 : pmv_roce_local_op_run(w, qp, wqe);

	if (rc == -EINPROGRESS)
		pmv_roce_qp_schedule(w, qp);
	else if (rc > 0)
		local_error(w, qp, wqe, (enum pmv_wc_status)rc);
	if (rc != 0)
		return false;
	wqe->nb_psn = 0;
	if (sq->ack == sq->snd++) { /* nothing before it is missing */
		sq->ack++;
		pmv_roce_completion_run(qp);
	}
	return qp->base.state != PMV_QPS_ERR;
}

void
pmv_roce_requester_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;

	if (qp->base.state != PMV_QPS_RTS && qp->base.state != PMV_QPS_SQD)
		return;
	if (pmv_roce_retry_waits(qp))
		return;
	if (unlikely(pmv_roce_resend_can(qp)) && !pmv_roce_resend_run(w, qp))
		return;
	for (uint32_t budget = TURN_PKTS_MAX; sq->snd != sq->head; budget--) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->snd);
		int err;

		if (pmv_roce_window_room(&qp->win) == 0 || wqe->status != PMV_WC_SUCCESS)
			return;
		if (pmv_psn_eq(qp->win.nxt, wqe->first) && !may_begin(qp, wqe))
			return;
		if (budget == 0 || pmv_roce_tx_room(&w->tx) == 0) {
			pmv_roce_qp_schedule(w, qp);
			return;
		}
		if (unlikely(pmv_roce_local_op_is(wqe->opcode))) {
			if (!run_local(w, qp, wqe))
				return;
			continue;
		}
		if (pmv_roce_pace_waits(w, qp)) {
			pmv_roce_retry_idle(qp);
			return;
		}
		err = send_next(w, qp, wqe);
		if (unlikely(err == -ENOBUFS)) {
			pmv_roce_qp_schedule(w, qp);
			return;
		}
		if (unlikely(err != 0)) {
			local_error(w, qp, wqe, PMV_WC_LOC_PROT_ERR);
			return;
		}
	}
}

/* The kinds from READ on. 0 or -EINVAL. */
static __rte_noinline int
check_answered(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	if ((uint32_t)wr->opcode >= PMV_ROCE_SHAPES || !pmv_roce_is_answered(wr->opcode) ||
		qp->base.attr.max_rd_atomic == 0)
		return -EINVAL;
	if (pmv_roce_shapes[wr->opcode].is_atomic)
		return pmv_roce_atomic_check(wr);
	return wr->send_flags & PMV_SEND_INLINE ? -EINVAL : 0;
}

/* Checks what only RC knows, fills the WQE at head and gives it its PSNs. */
static inline int
post_one(struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	struct pmv_roce_sq *sq = &qp->sq;
	struct pmv_roce_wqe *wqe;
	int err;

	if (unlikely((uint32_t)wr->opcode >= PMV_WR_RDMA_READ) &&
		wr->opcode != PMV_WR_SEND_WITH_INV) {
		if (pmv_roce_local_op_is((uint32_t)wr->opcode))
			return pmv_roce_local_op_post(qp, wr);
		err = check_answered(qp, wr);
		if (err != 0)
			return err;
	}
	err = pmv_roce_sq_fill(sq, wr, PMV_MSG_BYTES_MAX, qp->base.sq_sig_all);
	if (unlikely(err != 0))
		return err;
	wqe = pmv_roce_sq_wqe(sq, sq->head);
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
	if (unlikely(pmv_roce_shapes[wr->opcode].is_apart))
		pmv_roce_atomic_fill(wqe, wr);
	if (unlikely(wr->opcode == PMV_WR_SEND_WITH_INV))
		wqe->imm = rte_cpu_to_be_32(wr->invalidate_rkey);
	wqe->nb_psn =
		wqe->length == 0
			? 1
			: (uint32_t)(((uint64_t)wqe->length + qp->mtu_bytes - 1) >> qp->mtu_shift);
	wqe->first = sq->next_psn;
	sq->next_psn = pmv_psn_add(sq->next_psn, wqe->nb_psn);
	sq->head++;
	return 0;
}

/* Requests posted in ERR complete with WR_FLUSH_ERR (IBTA vol. 1, 10.3.1.7). */
static __rte_noinline void
post_flush(struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;

	for (uint32_t i = sq->ack; i != sq->head; i++)
		pmv_roce_sq_wqe(sq, i)->status = PMV_WC_WR_FLUSH_ERR;
	sq->ack = sq->head;
	sq->snd = sq->head;
	pmv_roce_completion_run(qp);
}

/* A burst ended at a request that is refused, or a local operation comes, so that the last one
 * before it, which went out as it was posted, did not know that it was the last: it asks now. Its
 * ICRC is made when it leaves; if it has left, something is sent again that asks. */
static __rte_noinline void
ask_late(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_tx *tx = &w->tx;

	if (qp->since_ackreq == 0)
		return;
	if (tx->head == tx->tail) {
		if (!pmv_roce_requester_probe(w, qp))
			return;
	} else {
		uint32_t last = tx->tail - 1;

		tx->seal[last & (PMV_ROCE_TX_RING - 1)]
			.from[PMV_BTH_ACKREQ_OFF - PMV_ICRC_BTH_BEGIN] |= PMV_BTH_ACKREQ;
		if (tx->sealed == tx->tail)
			tx->sealed = last; /* the port took no more, and its ICRC was made */
	}
	qp->since_ackreq = 0;
}

int
pmv_roce_requester_post(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);
	uint32_t nb_direct = 0;
	uint32_t flags = 0;
	uint32_t i;
	int err = 0;

	if (unlikely(base->state < PMV_QPS_RTS))
		return nb == 0 ? 0 : -ENOTCONN;
	if (likely(base->state == PMV_QPS_RTS))
		nb_direct = pmv_roce_direct_post(w, qp, wr, nb);
	if (unlikely(nb_direct != nb && nb_direct != 0) &&
		pmv_roce_local_op_is((uint32_t)wr[nb_direct].opcode))
		ask_late(w, qp); /* it asks for nothing itself */
	for (uint32_t k = 0; k < nb_direct; k++)
		flags |= wr[k].send_flags;
	for (i = nb_direct; i < nb; i++) {
		err = post_one(qp, &wr[i]);
		if (unlikely(err != 0))
			break;
		flags |= wr[i].send_flags;
	}
	if (unlikely(err != 0) && i > 0 && i == nb_direct)
		ask_late(w, qp);
	if (unlikely(base->state == PMV_QPS_ERR))
		post_flush(qp);
	else if (!qp->on_run || (flags & PMV_SEND_FLUSH)) /* else its turn is to come */
		pmv_roce_requester_run(w, qp);
	if (flags & PMV_SEND_FLUSH)
		pmv_roce_tx_flush(w);
	return i > 0 ? (int)i : err;
}

void
pmv_roce_requester_go_back(struct pmv_roce_qp *qp, struct pmv_psn psn)
{
	struct pmv_roce_sq *sq = &qp->sq;
	uint32_t i = sq->ack;
	uint32_t answers = 0;

	uint32_t sent = pmv_roce_window_ahead(&qp->win, qp->win.nxt);

	if (!pmv_roce_window_go_back(&qp->win, psn))
		return;
	if (qp->rd_out != 0)
		pmv_roce_retry_twice(qp, sent);
	for (; i != sq->head; i++) {
		const struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, i);

		if (pmv_psn_within(psn, wqe->first, wqe->nb_psn))
			break;
		answers += is_answered(wqe);
	}
	sq->snd = i;
	qp->rd_out = answers;
	if (qp->sel != NULL) {
		pmv_roce_scoreboard_forget(&qp->sel->sent, qp->win.una, qp->win.end);
		pmv_roce_resend_count(qp);
	}
	qp->since_ackreq = 0;
	qp->retry.sample_sent = 0; /* an answer could belong to either copy (Karn) */
}

bool
pmv_roce_requester_probe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.ack);
	struct rte_mbuf *m;

	if (qp->sq.ack == qp->sq.head || pmv_roce_tx_room(&w->tx) == 0 ||
		pmv_roce_local_op_is(wqe->opcode))
		return false;
	if (pmv_roce_request_build(w, qp, wqe, qp->win.una, true, &m) != 0)
		return false;
	qp->stats.tx_pkts++;
	qp->stats.retx_pkts++;
	w->stats.retx_pkts++;
	qp->retry.sample_sent = 0;
	if (wqe->opcode == PMV_WR_RDMA_READ)
		pmv_roce_retry_twice(
			qp, wqe->nb_psn - ((qp->win.una.v - wqe->first.v) & PMV_PSN_MASK));
	if (qp->sel != NULL) {
		pmv_roce_scoreboard_probed(&qp->sel->sent, qp->win.una);
		qp->sel->probe_sent = w->base.now;
	}
	pmv_roce_pace_sent(w, qp, m->pkt_len);
	pmv_roce_tx_stage(w, m);
	return true;
}

void
pmv_roce_requester_fail(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, enum pmv_wc_status status)
{
	if (qp->sq.ack != qp->sq.head)
		pmv_roce_sq_wqe(&qp->sq, qp->sq.ack)->status = (uint8_t)status;
	pmv_roce_qp_error(w, qp);
}
