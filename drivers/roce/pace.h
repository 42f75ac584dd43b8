// SPDX-License-Identifier: BSD-3-Clause
/*
 * A queue pair's frames kept to the rate of rate.h. Whoever sends data of a QP asks before a frame
 * and tells after it; both ask qp->paced first, which is false on every QP that was not told to
 * slow down. Who has to wait is put on the run list when the time has come. Requests and READ
 * responses are paced; acknowledgements, atomics' answers and notifications never. Owner lcore.
 */
#ifndef PMV_ROCE_PACE_H
#define PMV_ROCE_PACE_H

#include <rte_branch_prediction.h>

#include "drivers/roce/qp.h"

/* What a QP did not send lately it may catch up on: so many microseconds' worth, for turns are that
 * late at times, and a frame that has begun to be due goes whole. */
#define PMV_ROCE_PACE_SLACK_US 20u

/* FCS, preamble and gap: the wire carries them too. */
#define PMV_ROCE_PACE_FRAME_BYTES 24u

/* timer.tag of the worker's wheel: retry.c's timers have 0. */
#define PMV_ROCE_PACE_TAG 1u

/* No limit, of a line of so many bytes a second. */
void pmv_roce_pace_init(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint64_t line);

/* Limit and timer are gone; who waited is scheduled, to send as fast as it can, or to say its last
 * word. */
void pmv_roce_pace_stop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* The peer told of congestion. */
void pmv_roce_pace_notify(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Its timer expired. */
void pmv_roce_pace_expired(struct pmv_roce_worker *w, struct pmv_timer *t);

/* The cold halves of what follows. */
bool pmv_roce_pace_hold(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);
void pmv_roce_pace_charge(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint32_t len);
bool pmv_roce_pace_ends(const struct pmv_roce_qp *qp);

/* The next frame may not leave yet; the QP will be scheduled when it may. */
static inline bool
pmv_roce_pace_waits(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	return unlikely(qp->paced) && pmv_roce_pace_hold(w, qp);
}

/* A frame of len bytes leaves. */
static inline void
pmv_roce_pace_sent(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint32_t len)
{
	if (unlikely(qp->paced))
		pmv_roce_pace_charge(w, qp, len);
}

/* After a full frame that leaves now, the next one will have to wait: ask for an acknowledgement,
 * or the silence until then would look like a loss. */
static inline bool
pmv_roce_pace_pauses(const struct pmv_roce_qp *qp)
{
	return unlikely(qp->paced) && pmv_roce_pace_ends(qp);
}

#endif
