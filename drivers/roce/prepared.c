// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/prepared.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/direct.h"
#include "drivers/roce/request.h"
#include "drivers/roce/requester.h"

#define FRAME_BYTES 128u /* Ethernet with tag, IPv6, UDP, BTH, RETH and ImmDt are 98 */

struct prepared {
	uint8_t entry[sizeof(struct pmv_roce_wqe)] __rte_aligned(8); /* a WQE, first PSN apart */
	uint8_t frame[FRAME_BYTES];
	uint32_t version; /* qp->hdr_version that frame was made of; 0 = not made */
	uint32_t bth_off;
	uint32_t payload_off;
};
_Static_assert(sizeof(struct prepared) <= sizeof(((struct pmv_prepared_send *)NULL)->driver), "");
_Static_assert(PMV_ROCE_HDR_BYTES + PMV_RETH_LEN + PMV_IMMDT_LEN <= FRAME_BYTES, "");

static void
make(const struct pmv_roce_qp *qp, struct pmv_prepared_send *prep, struct prepared *p)
{
	const struct pmv_roce_piece pc = { .len = prep->sge.length, .first = true, .last = true };
	struct pmv_roce_wqe *wqe = (struct pmv_roce_wqe *)(void *)p->entry;

	pmv_roce_sq_wqe_set(wqe, &prep->wr, prep->sge.length, qp->base.sq_sig_all);
	wqe->remote_addr = prep->wr.wr.rdma.remote_addr;
	wqe->rkey = prep->wr.wr.rdma.rkey;
	wqe->nb_psn = 1;
	memcpy(p->frame, qp->hdr.bytes, PMV_ROCE_HDR_BYTES);
	p->bth_off = qp->hdr.tmpl.hdr_len;
	p->payload_off = (uint32_t)(pmv_roce_request_headers(
					    wqe, &pc, pmv_psn(0), true, p->frame + p->bth_off) -
				    p->frame);
	/* the lengths of the template are those of whatever was sent last */
	pmv_eth_ip_set_len(p->frame, &qp->hdr.tmpl,
		p->payload_off - p->bth_off + pc.len + pmv_bth_pad(pc.len) + PMV_ICRC_LEN, 0);
	p->version = qp->hdr_version;
}

static inline void
send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_prepared_send *prep,
	const struct prepared *p, struct rte_mbuf *m)
{
	struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.head);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t body = p->payload_off - p->bth_off + prep->sge.length;

	memcpy(frame, p->frame, FRAME_BYTES);
	pmv_be32_store(frame + p->bth_off + 8, 1u << 31 | qp->win.nxt.v);
	memcpy(wqe, p->entry, sizeof(*wqe));
	wqe->first = qp->win.nxt;
	pmv_roce_direct_copy(frame + p->payload_off, wqe->data, &prep->sge);
	qp->since_ackreq = 0;
	pmv_roce_tx_push(w, &w->tx, m,
		pmv_roce_packet_close(&qp->hdr, m, body, pmv_bth_pad(prep->sge.length)));
	pmv_roce_retry_sent(w, qp, wqe->first, false);
	pmv_roce_direct_staged(qp);
	pmv_roce_direct_end(qp, 1);
}

static int
post(struct pmv_prepared_send *prep)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(prep->qp);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);
	struct prepared *p = (struct prepared *)(void *)prep->driver;
	struct rte_mbuf *m;
	int rc;

	if (unlikely(p->version != qp->hdr_version))
		make(qp, prep, p);
	if (likely(qp->base.state == PMV_QPS_RTS && prep->sge.length <= qp->mtu_bytes &&
		    pmv_roce_direct_budget(w, qp, 1) != 0) &&
		(m = pmv_roce_spare_take(&w->spare)) != NULL) {
		if (likely(FRAME_BYTES + prep->sge.length + PMV_ROCE_TRAILER_BYTES <=
			    rte_pktmbuf_tailroom(m))) {
			send(w, qp, prep, p, m);
			if (prep->wr.send_flags & PMV_SEND_FLUSH)
				pmv_roce_tx_flush(w);
			return 0;
		}
		rte_pktmbuf_free(m);
	}
	rc = pmv_roce_requester_post(prep->qp, &prep->wr, 1);
	return rc < 0 ? rc : 0;
}

void
pmv_roce_prepared_init(struct pmv_qp *qp, struct pmv_prepared_send *prep)
{
	/* A fence has to look for READs, each time. */
	if ((prep->wr.send_flags & PMV_SEND_FENCE) == 0)
		prep->post = post;
}
