// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every timer of the driver but pacing's, by event. Two per QP share one wheel node: the probe
 * (measured round trip, floor 30 us, doubling; sends one packet again, charges nothing) and the ACK
 * timeout (the negotiated code; charges retry_cnt). An RNR wait stops both. Owner lcore.
 */
#ifndef PMV_ROCE_RETRY_H
#define PMV_ROCE_RETRY_H

#include <rte_branch_prediction.h>

#include "drivers/roce/qp.h"

#define PMV_ROCE_PROBE_FLOOR_US 30u

/* Modify: the codes as committed. */
void pmv_roce_retry_set(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* The first packet that will be answered went out, or one more while nothing is measured. */
void pmv_roce_retry_begin(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn psn, bool again);

/* A packet that will be answered went out. */
static inline void
pmv_roce_retry_sent(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn psn, bool again)
{
	const struct pmv_roce_retry *r = &qp->retry;

	if (unlikely(r->sample_sent == 0 || !(r->fresh || (r->ack_deadline | r->probe_deadline))))
		pmv_roce_retry_begin(w, qp, psn, again);
}

/* The window's left edge moved to una: measure, refill the counters, restart or stop the timers. */
void pmv_roce_retry_progress(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#define PMV_ROCE_OWED_MAX (1u << 24) /* all PSNs */

/* A READ is asked for again: nb of its responses, which the peer may be sending just now, come
 * twice. */
static inline void
pmv_roce_retry_twice(struct pmv_roce_qp *qp, uint32_t nb)
{
	struct pmv_roce_retry *r = &qp->retry;

	r->owed = nb < PMV_ROCE_OWED_MAX - r->owed ? r->owed + nb : PMV_ROCE_OWED_MAX;
}

/*
 * A response came out of its place. A peer that repeats READ responses (rxe sends all that remains,
 * as often as it is asked) serves what is asked for next only after that: as long as it is at it,
 * asking once more makes it slower, and its silence about the rest means nothing. No more of them
 * count than were asked for, so that a peer cannot hold the timers for ever without being asked.
 */
static inline void
pmv_roce_retry_misplaced(struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;

	if (r->owed == 0)
		return;
	r->owed--;
	r->heard = true;
}

/* The peer has more than it had, although the left edge did not move: no silence yet. */
void pmv_roce_retry_heard(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/*
 * A loss was indicated (NAK sequence error, a READ passed over, a gap in READ responses). True: act
 * on it, one retry is charged. False: an echo of a loss that is being repaired, or retries are
 * exhausted (then the QP has failed).
 */
bool pmv_roce_retry_loss(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* RNR NAK: true when the wait has begun; false when rnr_retry is exhausted (the QP has failed). */
bool pmv_roce_retry_rnr(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t timer_code);

/* An RNR wait is running. */
static inline bool
pmv_roce_retry_waits(const struct pmv_roce_qp *qp)
{
	return qp->retry.rnr_until != 0;
}

/* Pacing holds the next packet back. If nothing is out, nothing is late: the deadlines start when
 * it leaves. */
void pmv_roce_retry_idle(struct pmv_roce_qp *qp);

void pmv_roce_retry_stop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Once a turn: what is due, bounded. */
void pmv_roce_retry_run(struct pmv_roce_worker *w);

#endif
