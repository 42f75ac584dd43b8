// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small requests that go out as they are posted: one packet, payload in the request, nothing of
 * this QP waiting before them. The frame is built from what was posted, in one go; the queue entry
 * is written beside it for the day the frame is lost. Everything else takes requester.c's way,
 * which also sends these again. Owner lcore.
 */
#ifndef PMV_ROCE_DIRECT_H
#define PMV_ROCE_DIRECT_H

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "drivers/roce/request.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/retry.h"
#include "drivers/roce/selective.h"
#include "drivers/roce/worker.h"

/* Posts and sends as many as it can, from the first on. Returns how many; the rest is the
 * requester's to judge. The QP is in RTS. */
uint32_t pmv_roce_direct_post(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_send_wr *wr, uint32_t nb);

/* How many packets may go without asking again. */
static inline uint32_t
pmv_roce_direct_budget(const struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, uint32_t nb)
{
	const struct pmv_roce_sq *sq = &qp->sq;

	if (sq->snd != sq->head || qp->on_run || qp->paced || w->fault != NULL ||
		pmv_roce_retry_waits(qp) || !pmv_psn_eq(qp->win.nxt, qp->win.end))
		return 0;
	nb = RTE_MIN(nb, sq->max_wr - (sq->head - sq->tail));
	nb = RTE_MIN(nb, pmv_roce_window_room(&qp->win));
	return RTE_MIN(nb, pmv_roce_tx_room(&w->tx));
}

/* Payload to the frame and to the queue entry. */
static inline void
pmv_roce_direct_copy(uint8_t *frame, uint8_t *entry, const struct pmv_sge *sge)
{
	const uint8_t *src = (const uint8_t *)(uintptr_t)sge->addr;
	uint64_t v;

	if (likely(sge->length == sizeof(v))) {
		memcpy(&v, src, sizeof(v));
		memcpy(frame, &v, sizeof(v));
		memcpy(entry, &v, sizeof(v));
		return;
	}
	if (src != entry) /* else it was written in place */
		rte_memcpy(entry, src, sge->length);
	rte_memcpy(frame, entry, sge->length);
}

static inline void
pmv_roce_direct_fill(struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr,
	uint32_t length)
{
	pmv_roce_sq_wqe_set(wqe, wr, length, qp->base.sq_sig_all);
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->nb_psn = 1;
	wqe->first = qp->win.nxt;
}

/* Asked for when something waits for it: a completion, the window, or the end of the burst. */
static inline bool
pmv_roce_direct_wants_ack(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe, bool last)
{
	return last || wqe->signaled || qp->since_ackreq + 1 >= PMV_ROCE_ACKREQ_PKTS;
}

/* One request, checked: frame built and staged; the payload is sge's. False: the pool's data room
 * is too small, nothing happened. */
static inline bool
pmv_roce_direct_send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_send_wr *wr, const struct pmv_sge *sge, bool last, struct rte_mbuf *m)
{
	const struct pmv_roce_shape *shape = &pmv_roce_shapes[wr->opcode];
	const struct pmv_roce_piece pc = { .len = sge->length, .first = true, .last = true };
	struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.head);
	uint32_t body = pmv_roce_request_hdr_len(shape, &pc) + pc.len;
	bool ackreq;
	uint8_t *p;

	if (unlikely(
		    qp->hdr.tmpl.hdr_len + body + PMV_ROCE_TRAILER_BYTES > rte_pktmbuf_tailroom(m)))
		return false;
	pmv_roce_direct_fill(qp, wqe, wr, pc.len);
	ackreq = pmv_roce_direct_wants_ack(qp, wqe, last);
	p = pmv_roce_packet_start(m, &qp->hdr, 0);
	p = pmv_roce_request_headers(wqe, &pc, wqe->first, ackreq, p);
	pmv_roce_direct_copy(p, wqe->data, sge);
	qp->since_ackreq = ackreq ? 0 : qp->since_ackreq + 1;
	pmv_roce_tx_push(
		w, &w->tx, m, pmv_roce_packet_close(&qp->hdr, m, body, pmv_bth_pad(pc.len)));
	pmv_roce_retry_sent(w, qp, wqe->first, false);
	return true;
}

/* The frame of the request at head is staged, under the PSN at nxt. */
static inline void
pmv_roce_direct_staged(struct pmv_roce_qp *qp)
{
	if (unlikely(qp->sel != NULL))
		pmv_roce_scoreboard_sent(&qp->sel->sent, qp->win.nxt);
	qp->sq.head++;
	pmv_roce_window_sent(&qp->win, 1);
}

/* So many were. */
static inline void
pmv_roce_direct_end(struct pmv_roce_qp *qp, uint32_t nb)
{
	qp->sq.snd = qp->sq.head;
	qp->sq.next_psn = qp->win.nxt;
	qp->stats.tx_pkts += nb;
}

#endif
