// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/resend.h"

#include "drivers/roce/pace.h"
#include "drivers/roce/request.h"
#include "drivers/roce/retry.h"

bool
pmv_roce_resend_told(struct pmv_roce_qp *qp, const struct pmv_sack *sack)
{
	uint32_t nb;

	nb = pmv_roce_scoreboard_held(&qp->sel->sent, qp->win.una, qp->win.end, sack);
	pmv_roce_scoreboard_judge(
		&qp->sel->sent, qp->win.una, qp->win.end, pmv_roce_resend_late(qp));
	pmv_roce_resend_count(qp);
	return nb != 0;
}

/* Whose packet it is. There is one: psn lies between una and end, and no READ is outstanding. */
static struct pmv_roce_wqe *
wqe_of(const struct pmv_roce_qp *qp, struct pmv_psn psn)
{
	for (uint32_t i = qp->sq.ack; i != qp->sq.head; i++) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, i);

		if (pmv_psn_within(psn, wqe->first, wqe->nb_psn))
			return wqe;
	}
	return NULL;
}

bool
pmv_roce_resend_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_scoreboard *sb = &qp->sel->sent;
	struct pmv_psn psn;

	while (pmv_roce_scoreboard_next(sb, qp->win.una, qp->win.end, &psn)) {
		struct pmv_roce_wqe *wqe = wqe_of(qp, psn);
		struct rte_mbuf *m;
		int err;

		if (pmv_roce_pace_waits(w, qp))
			return false;
		if (pmv_roce_tx_room(&w->tx) == 0) {
			pmv_roce_qp_schedule(w, qp);
			return false;
		}
		err = wqe == NULL ? -EACCES
				  : pmv_roce_request_build(w, qp, wqe, psn,
					    sb->nb_lost == 1 || pmv_roce_pace_pauses(qp), &m);
		if (err == -ENOBUFS) {
			pmv_roce_qp_schedule(w, qp);
			return false;
		}
		if (err != 0) { /* its memory is gone: the way in order finds out what fails */
			pmv_roce_scoreboard_forget(sb, qp->win.una, qp->win.end);
			pmv_roce_resend_count(qp);
			return true;
		}
		pmv_roce_scoreboard_sent(sb, psn);
		pmv_roce_resend_count(qp);
		qp->stats.tx_pkts++;
		qp->stats.retx_pkts++;
		w->stats.retx_pkts++;
		pmv_roce_pace_sent(w, qp, m->pkt_len);
		pmv_roce_tx_stage(w, m);
		pmv_roce_retry_sent(w, qp, psn, true);
		qp->retry.sample_sent = 0; /* an answer could belong to either copy (Karn) */
	}
	return true;
}
