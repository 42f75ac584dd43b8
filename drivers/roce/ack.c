// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/ack.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/selective.h"
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

static void
let_go(struct pmv_roce_ack *ack)
{
	rte_pktmbuf_free(ack->m); /* NULL is fine */
	ack->m = NULL;
}

void
pmv_roce_ack_forgive(struct pmv_roce_qp *qp)
{
	if (is_nak(&qp->ack))
		return;
	qp->ack.owed = false;
	let_go(&qp->ack);
}

bool
pmv_roce_ack_keep(struct pmv_roce_qp *qp, struct rte_mbuf *m)
{
	if (qp->ack.m != NULL || !pmv_roce_spare_is_plain(m) ||
		(uint32_t)(m->buf_len - m->data_off) <
			PMV_ROCE_HDR_BYTES + PMV_AETH_LEN + PMV_ICRC_LEN)
		return false;
	qp->ack.m = m;
	return true;
}

/* The frame to write; the BTH's place in it. NULL: no mbuf. */
static uint8_t *
begin(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct rte_mbuf **ret_m)
{
	struct rte_mbuf *m = qp->ack.m;

	if (unlikely(m == NULL))
		return pmv_roce_packet_begin(
			w, w->ack_pool, &qp->hdr, PMV_BTH_LEN + PMV_AETH_LEN, ret_m);
	qp->ack.m = NULL;
	m->ol_flags = 0;
	*ret_m = m;
	return pmv_roce_packet_start(m, &qp->hdr, PMV_BTH_LEN + PMV_AETH_LEN);
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

/* With a map of what is here behind the gap. */
static __rte_noinline uint8_t *
begin_sack(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct rte_mbuf **ret_m)
{
	struct pmv_sack sack;
	uint8_t *map, *bth;

	bth = pmv_roce_packet_begin(w, w->ack_pool, &qp->hdr, PMV_BTH_LEN + PMV_AETH_LEN, ret_m);
	if (unlikely(bth == NULL))
		return NULL;
	map = pmv_roce_packet_payload(*ret_m, PMV_SACK_LEN);
	if (unlikely(map == NULL)) {
		rte_pktmbuf_free(*ret_m);
		return NULL;
	}
	pmv_roce_reorder_tell(&qp->sel->waiting, qp->resp.epsn, &sack);
	pmv_sack_build(map, &sack);
	qp->ack.psn = qp->resp.epsn;
	return bth;
}

/* A sender that repeats selectively is told of the frames that wait whenever there are some: what
 * it hears nothing of it would take for lost. If the gap closed meanwhile, no word of it. */
static bool
tells_gap(struct pmv_roce_qp *qp)
{
	struct pmv_roce_ack *ack = &qp->ack;

	if (likely(qp->sel == NULL) || !ack->owed ||
		(is_nak(ack) && ack->syndrome != PMV_SYNDROME_NAK_PSN_SEQ))
		return false;
	if (qp->sel->waiting.nb != 0) {
		ack->syndrome = PMV_SYNDROME_NAK_PSN_SEQ;
		return true;
	}
	if (is_nak(ack) && !pmv_psn_eq(ack->psn, qp->resp.epsn))
		ack->syndrome = PMV_SYNDROME_ACK_NO_CREDIT;
	return false;
}

bool
pmv_roce_ack_send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	bool sack = tells_gap(qp);
	const struct pmv_aeth aeth = { qp->ack.syndrome, qp->resp.msn };
	struct pmv_psn psn;
	struct rte_mbuf *m;
	uint8_t *p;

	if (!qp->ack.owed)
		return true;
	if (!pmv_roce_tx_ctl_room(&w->tx))
		return false;
	p = unlikely(sack) ? begin_sack(w, qp, &m) : begin(w, qp, &m);
	if (unlikely(p == NULL))
		return false;
	psn = is_nak(&qp->ack) ? qp->ack.psn : pmv_psn_add(qp->resp.epsn, PMV_PSN_MASK);
	pmv_roce_packet_bth(p,
		pmv_roce_bth_word0(sack ? PMV_OPCODE_SACK : PMV_OPCODE_RC_ACK, false, 0), false,
		psn);
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
	if (qp->ack.owed && pmv_roce_rdatomic_pending(&qp->resp.rd) == NULL)
		(void)pmv_roce_ack_send(w, qp);
	qp->ack.owed = false;
	let_go(&qp->ack);
	if (!qp->ack.linked)
		return;
	qp->ack.linked = false;
	TAILQ_REMOVE(&w->acks, qp, ack_link);
}
