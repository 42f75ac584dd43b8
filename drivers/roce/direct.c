// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/direct.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/request.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/retry.h"

static inline bool
is_direct(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	return (uint32_t)wr->opcode < PMV_WR_RDMA_READ &&
	       (wr->send_flags & (PMV_SEND_INLINE | PMV_SEND_FENCE)) == PMV_SEND_INLINE &&
	       wr->num_sge == 1 &&
	       wr->sg_list[0].length <= RTE_MIN(qp->sq.max_inline, qp->mtu_bytes);
}

static inline void
fill(struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr)
{
	pmv_roce_sq_wqe_set(wqe, wr, wr->sg_list[0].length, qp->base.sq_sig_all);
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->nb_psn = 1;
	wqe->first = qp->win.nxt;
}

/* Asked for when something waits for it: a completion, the window, or the end of the burst. */
static inline bool
wants_ack(const struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe, bool last)
{
	return last || wqe->signaled || qp->since_ackreq + 1 >= PMV_ROCE_ACKREQ_PKTS;
}

/* One request, checked: frame built and staged. False: the pool's data room is too small, nothing
 * happened. */
static inline bool
send_one(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_send_wr *wr, bool last,
	struct rte_mbuf *m)
{
	const struct pmv_roce_shape *shape = &pmv_roce_shapes[wr->opcode];
	const struct pmv_roce_piece pc = {
		.len = wr->sg_list[0].length, .first = true, .last = true
	};
	struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.head);
	uint32_t body = pmv_roce_request_hdr_len(shape, &pc) + pc.len;
	bool ackreq;
	uint8_t *p;

	if (unlikely(
		    qp->hdr.tmpl.hdr_len + body + PMV_ROCE_TRAILER_BYTES > rte_pktmbuf_tailroom(m)))
		return false;
	fill(qp, wqe, wr);
	ackreq = wants_ack(qp, wqe, last);
	p = pmv_roce_packet_start(m, &qp->hdr, 0);
	p = pmv_roce_request_headers(wqe, &pc, wqe->first, ackreq, p);
	pmv_roce_direct_copy(p, wqe->data, wr->sg_list);
	qp->since_ackreq = ackreq ? 0 : qp->since_ackreq + 1;
	pmv_roce_tx_push(
		w, &w->tx, m, pmv_roce_packet_close(&qp->hdr, m, body, pmv_bth_pad(pc.len)));
	pmv_roce_retry_sent(w, qp, wqe->first, false);
	return true;
}

uint32_t
pmv_roce_direct_post(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_send_wr *wr, uint32_t nb)
{
	uint32_t budget = pmv_roce_direct_budget(w, qp, nb);
	uint32_t i;

	for (i = 0; i < budget && is_direct(qp, &wr[i]); i++) {
		struct rte_mbuf *m = pmv_roce_spare_take(&w->spare);

		if (unlikely(m == NULL))
			break;
		if (unlikely(!send_one(w, qp, &wr[i], i + 1 == budget, m))) {
			rte_pktmbuf_free(m);
			break;
		}
		pmv_roce_direct_staged(qp);
	}
	if (i != 0) /* else others may wait: their place in the queue stays */
		pmv_roce_direct_end(qp, i);
	return i;
}
