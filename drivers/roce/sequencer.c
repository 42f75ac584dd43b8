// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/sequencer.h"

#include "drivers/roce/ack.h"
#include "drivers/roce/responder.h"
#include "drivers/roce/selective.h"

/* Behind a gap. The sender is told once of each gap, when it is certain, and whenever it asks; not
 * while it waits for a receive to be posted (RNR): then it begins there again anyway. */
static bool
hold(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint32_t ahead)
{
	struct pmv_roce_reorder *r = &qp->sel->waiting;
	bool tell, kept;

	qp->stats.rx_pkts++;
	kept = pmv_roce_reorder_hold(w, r, ahead, p->roce.bth.psn, p->m, &tell);
	if (!qp->resp.nak_sent && (tell || !kept || p->roce.bth.ackreq))
		pmv_roce_ack_owe_nak(w, qp, PMV_SYNDROME_NAK_PSN_SEQ, qp->resp.epsn);
	return kept;
}

/* Frames whose turn has come: each is what it was when it arrived, but for what it meets. */
static void
execute_waiting(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_reorder *r = &qp->sel->waiting;
	struct rte_mbuf *m;

	while (r->nb != 0 && (m = pmv_roce_reorder_take(w, r, qp->resp.epsn)) != NULL) {
		struct pmv_psn before = qp->resp.epsn;
		struct pmv_roce_pkt p;

		if (pmv_roce_packet_parse(w, m, &p) == PMV_WIRE_OK)
			pmv_roce_responder_rx(w, qp, &p);
		rte_pktmbuf_free(m);
		if (pmv_psn_eq(before, qp->resp.epsn) || qp->base.state == PMV_QPS_ERR)
			return; /* not ready, or refused: the sender has to begin there again */
	}
}

bool
pmv_roce_sequencer_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	int32_t ahead = pmv_psn_diff(p->roce.bth.psn, qp->resp.epsn);

	if (ahead > 0)
		return hold(w, qp, p, (uint32_t)ahead);
	pmv_roce_responder_rx(w, qp, p);
	if (qp->sel->waiting.nb != 0)
		execute_waiting(w, qp);
	return false;
}
