// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/ack.h"

#include <rte_branch_prediction.h>

#include "lib/wire/aeth.h"

static void
link_qp(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (qp->ack.linked)
		return;
	qp->ack.linked = true;
	TAILQ_INSERT_TAIL(&w->acks, qp, ack_link);
}

static bool
is_nak(const struct pmv_roce_ack *ack)
{
	return ack->owed && pmv_aeth_kind(ack->syndrome) != PMV_AETH_ACK;
}

void
pmv_roce_ack_owe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (is_nak(&qp->ack)) /* says more: everything before it is executed */
		return;
	qp->ack.owed = true;
	qp->ack.syndrome = PMV_SYNDROME_ACK_NO_CREDIT;
	link_qp(w, qp);
}

void
pmv_roce_ack_owe_nak(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t syndrome, struct pmv_psn psn)
{
	qp->ack.owed = true;
	qp->ack.syndrome = syndrome;
	qp->ack.psn = psn;
	link_qp(w, qp);
}

void
pmv_roce_ack_forgive(struct pmv_roce_qp *qp)
{
	if (!is_nak(&qp->ack))
		qp->ack.owed = false;
}

static void
count(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	switch (pmv_aeth_kind(qp->ack.syndrome)) {
	case PMV_AETH_RNR:
		w->stats.rnr_tx++;
		qp->stats.rnr_tx++;
		break;
	case PMV_AETH_NAK:
		w->stats.naks_tx++;
		qp->stats.nak_seq_tx += qp->ack.syndrome == PMV_SYNDROME_NAK_PSN_SEQ;
		break;
	default:
		w->stats.acks_tx++;
	}
}

bool
pmv_roce_ack_send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_ACK,
		.migreq = true,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = qp->dest_qpn };
	const struct pmv_aeth aeth = { qp->ack.syndrome, qp->resp.msn };
	struct rte_mbuf *m;
	uint8_t *p;

	if (!qp->ack.owed)
		return true;
	if (!pmv_roce_tx_ctl_room(&w->tx))
		return false;
	m = pmv_roce_packet_begin(w, w->ack_pool, &qp->hdr, PMV_BTH_LEN + PMV_AETH_LEN, &p);
	if (unlikely(m == NULL))
		return false;
	bth.psn = is_nak(&qp->ack) ? qp->ack.psn : pmv_psn_add(qp->resp.epsn, PMV_PSN_MASK);
	pmv_bth_build(p, &bth);
	pmv_aeth_build(p + PMV_BTH_LEN, &aeth);
	if (unlikely(pmv_roce_packet_finish(w, &qp->hdr, m) != 0)) {
		rte_pktmbuf_free(m);
		return false;
	}
	qp->stats.tx_pkts++;
	count(w, qp);
	qp->ack.owed = false;
	pmv_roce_tx_stage(w, m);
	return true;
}

void
pmv_roce_ack_flush(struct pmv_roce_worker *w)
{
	struct pmv_roce_qp *qp;

	while ((qp = TAILQ_FIRST(&w->acks)) != NULL) {
		/* READ responses of earlier requests go first; responder_run sends what is owed
		 * behind them */
		if (qp->ack.owed && pmv_roce_rdatomic_pending(&qp->resp.rd) == NULL &&
			!pmv_roce_ack_send(w, qp))
			return;
		qp->ack.linked = false;
		TAILQ_REMOVE(&w->acks, qp, ack_link);
	}
}

void
pmv_roce_ack_drop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	qp->ack.owed = false;
	if (!qp->ack.linked)
		return;
	qp->ack.linked = false;
	TAILQ_REMOVE(&w->acks, qp, ack_link);
}
