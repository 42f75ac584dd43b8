// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/pace.h"

#include <rte_common.h>

/* For whichever comes first: a frame that waits, or a period of the rate. Like retry.c's, the timer
 * is not moved when its time gets later. */
static void
arm(struct pmv_roce_worker *w, struct pmv_roce_pace *p)
{
	uint64_t at = pmv_roce_rate_next(&p->rate);

	if (p->waiting)
		at = RTE_MIN(at, p->next);
	if (at != PMV_ROCE_RATE_NEVER && (!pmv_timer_is_armed(&p->timer) || at < p->timer.deadline))
		pmv_wheel_arm(&w->wheel, &p->timer, at);
}

void
pmv_roce_pace_init(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint64_t line)
{
	pmv_roce_rate_init(&qp->pace.rate, line, w->ticks_per_us);
}

void
pmv_roce_pace_stop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_pace *p = &qp->pace;

	pmv_wheel_disarm(&w->wheel, &p->timer);
	p->rate.current = 0;
	qp->paced = false;
	if (p->waiting)
		pmv_roce_qp_schedule(w, qp);
	p->waiting = false;
}

void
pmv_roce_pace_notify(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_pace *p = &qp->pace;

	if (!pmv_roce_rate_notify(&p->rate, w->base.now))
		return;
	if (!qp->paced)
		p->next = w->base.now;
	qp->paced = true;
	arm(w, p);
}

void
pmv_roce_pace_expired(struct pmv_roce_worker *w, struct pmv_timer *t)
{
	struct pmv_roce_qp *qp = container_of(t, struct pmv_roce_qp, pace.timer);
	struct pmv_roce_pace *p = &qp->pace;

	pmv_roce_rate_run(&p->rate, w->base.now);
	if (!pmv_roce_rate_is_limited(&p->rate)) {
		pmv_roce_pace_stop(w, qp);
		return;
	}
	if (p->waiting && w->base.now >= p->next) {
		p->waiting = false;
		p->answers_last = !p->answers_last;
		pmv_roce_qp_schedule(w, qp);
	}
	arm(w, p);
}

bool
pmv_roce_pace_hold(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_pace *p = &qp->pace;

	if (w->base.now >= p->next)
		return false;
	w->stats.paced += !p->waiting;
	p->waiting = true;
	arm(w, p);
	return true;
}

void
pmv_roce_pace_charge(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint32_t len)
{
	struct pmv_roce_pace *p = &qp->pace;
	uint64_t slack = PMV_ROCE_PACE_SLACK_US * w->ticks_per_us;
	uint32_t bytes = len + PMV_ROCE_PACE_FRAME_BYTES;

	p->next = RTE_MAX(p->next, w->base.now > slack ? w->base.now - slack : 0) +
		  pmv_roce_rate_ticks(&p->rate, bytes);
	pmv_roce_rate_sent(&p->rate, bytes);
	if (!pmv_roce_rate_is_limited(&p->rate))
		pmv_roce_pace_stop(w, qp);
}

bool
pmv_roce_pace_ends(const struct pmv_roce_qp *qp)
{
	const struct pmv_roce_pace *p = &qp->pace;

	return p->next + pmv_roce_rate_ticks(&p->rate, qp->mtu_bytes) >
	       pmv_roce_qp_worker(qp)->base.now;
}
