// SPDX-License-Identifier: BSD-3-Clause
/*
 * The sending half of selective repeat: packets that the scoreboard calls lost go out again, alone.
 * Owner lcore; requester and completer call it, only for QPs with `sel`.
 */
#ifndef PMV_ROCE_RESEND_H
#define PMV_ROCE_RESEND_H

#include "drivers/roce/qp.h"
#include "drivers/roce/selective.h"

/* READs and atomics have PSNs that the peer sends: a gap with such ones outstanding is repaired by
 * going back. */
static inline bool
pmv_roce_resend_can(const struct pmv_roce_qp *qp)
{
	return qp->sel != NULL && qp->rd_out == 0;
}

/* Whatever changed marks: what is with the peer or lost is not on the way. */
static inline void
pmv_roce_resend_count(struct pmv_roce_qp *qp)
{
	qp->win.away = qp->sel->sent.nb_held + qp->sel->sent.nb_lost;
}

/* The left edge moved here from una. An answer that comes sooner after a probe than any answer ever
 * did is that to an earlier copy. */
static inline void
pmv_roce_resend_acked(const struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn una)
{
	struct pmv_roce_scoreboard *s;

	if (likely(qp->sel == NULL))
		return;
	s = &qp->sel->sent;
	if (s->gap) {
		pmv_roce_scoreboard_acked(s, una, qp->win.una);
		pmv_roce_resend_count(qp);
	}
	if (s->probing && pmv_psn_before(s->probe_psn, qp->win.una)) {
		s->probing = false;
		if (w->base.now - qp->sel->probe_sent >= qp->retry.min_rtt_ticks)
			pmv_roce_scoreboard_answered(s);
	}
}

/* How many may overtake a packet before it is lost. While no round trip is measured, no probe will
 * ask for the last packets of a burst, which few pass: one is enough then, as for a sender that
 * goes back. */
static inline uint32_t
pmv_roce_resend_late(const struct pmv_roce_qp *qp)
{
	return qp->retry.srtt_ticks != 0 ? PMV_ROCE_SCOREBOARD_LATER : 0;
}

/* The peer has nothing behind una: what should have come and did not is lost. */
static inline void
pmv_roce_resend_judge(struct pmv_roce_qp *qp)
{
	if (!pmv_roce_resend_can(qp) || !qp->sel->sent.gap)
		return;
	pmv_roce_scoreboard_judge(
		&qp->sel->sent, qp->win.una, qp->win.end, pmv_roce_resend_late(qp));
	pmv_roce_resend_count(qp);
}

/* The peer waits for una and has others. True: that is news. */
bool pmv_roce_resend_told(struct pmv_roce_qp *qp, const struct pmv_sack *sack);

/* Sends what is lost. False: no room or no mbuf now, the QP is scheduled; or it went back. */
bool pmv_roce_resend_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
