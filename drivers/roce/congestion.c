// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/congestion.h"

#include "drivers/roce/pace.h"
#include "lib/wire/cnp.h"

/* The address of the peer is known, and the QP answers. */
#define STATES (1u << PMV_QPS_RTR | 1u << PMV_QPS_RTS | 1u << PMV_QPS_SQD | 1u << PMV_QPS_SQE)

/* Without room or an mbuf the next mark tries again: where there is congestion, one comes. */
static void
send_cnp(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct rte_mbuf *m;
	uint8_t *p;

	if (!pmv_roce_tx_ctl_room(&w->tx))
		return;
	p = pmv_roce_packet_begin(w, w->ack_pool, &qp->hdr, PMV_CNP_LEN, &m);
	if (p == NULL)
		return;
	pmv_cnp_build(p, qp->dest_qpn);
	(void)pmv_roce_packet_finish(w, &qp->hdr, m); /* one segment: cannot fail */
	qp->pace.cnp_at = w->base.now + PMV_ROCE_CNP_PERIOD_US * w->ticks_per_us;
	qp->stats.tx_pkts++;
	qp->stats.cnp_tx++;
	w->stats.cnp_tx++;
	pmv_roce_tx_stage(w, m);
}

void
pmv_roce_congestion_marked(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	qp->stats.ecn_marked++;
	w->stats.ecn_marked++;
	if ((STATES >> qp->base.state & 1) != 0 && w->base.now >= qp->pace.cnp_at)
		send_cnp(w, qp);
}

bool
pmv_roce_congestion_told(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (!qp->reacts)
		return false;
	qp->stats.rx_pkts++;
	qp->stats.cnp_rx++;
	w->stats.cnp_rx++;
	pmv_roce_pace_notify(w, qp);
	return true;
}
