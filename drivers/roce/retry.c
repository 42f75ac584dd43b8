// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/retry.h"

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "drivers/roce/pace.h"
#include "drivers/roce/requester.h"
#include "lib/wire/aeth.h"

#define EXPIRED_MAX     64u /* timers served in a turn */
#define PROBE_SHIFT_MAX 10u
#define SAMPLE_STALE_US 1000u
#define RNR_MARGIN_US   5u /* `now` is the start of the turn, not the arrival: never be early */

/* Arms the wheel for the earliest deadline. A node that fires too early costs one look; moving it
 * on every packet would cost more, so later deadlines are left to the expiry. */
static void
update(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	const struct pmv_roce_retry *r = &qp->retry;
	uint64_t next = UINT64_MAX;

	if (r->rnr_until != 0)
		next = r->rnr_until;
	if (r->ack_deadline != 0)
		next = RTE_MIN(next, r->ack_deadline);
	if (r->probe_deadline != 0)
		next = RTE_MIN(next, r->probe_deadline);
	if (next == UINT64_MAX)
		return;
	if (!pmv_timer_is_armed(&r->timer) || next < r->timer.deadline)
		pmv_wheel_arm(&w->wheel, &qp->retry.timer, next);
}

static uint64_t
probe_after(const struct pmv_roce_worker *w, const struct pmv_roce_retry *r)
{
	uint64_t rto = RTE_MAX(2 * r->srtt_ticks, r->srtt_ticks + 4 * r->rttvar_ticks);

	return RTE_MAX(rto, PMV_ROCE_PROBE_FLOOR_US * w->ticks_per_us) << r->probe_shift;
}

static void
start(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;
	uint64_t now = w->base.now;

	r->heard = false;
	r->ack_deadline = r->ack_ticks != 0 ? now + r->ack_ticks : 0;
	/* without a measured round trip any guess could fire before a normal answer */
	r->probe_deadline = r->srtt_ticks != 0 ? now + probe_after(w, r) : 0;
	update(w, qp);
}

static void
refill(struct pmv_roce_qp *qp)
{
	qp->retry.retry_left = qp->base.attr.retry_cnt;
	qp->retry.rnr_left = qp->base.attr.rnr_retry;
}

void
pmv_roce_retry_set(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	uint8_t code = qp->base.attr.timeout;

	/* 4.096 us * 2^n (IBTA vol. 1, 9.7.6.1.3) */
	qp->retry.ack_ticks =
		code == 0 ? 0
			  : (uint64_t)(((unsigned __int128)4096 << code) * w->ticks_per_us / 1000);
	refill(qp);
}

void
pmv_roce_retry_begin(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_psn psn, bool again)
{
	struct pmv_roce_retry *r = &qp->retry;

	if (r->sample_sent == 0 && !again) {
		r->sample_psn = psn;
		r->sample_sent = w->base.now | 1;
	}
	if (r->ack_deadline != 0 || r->probe_deadline != 0 || r->fresh)
		return;
	/* A post comes between turns, when `now` is as old as the last turn, and the program may
	 * have been away for long: time counts from the next look at the clock. */
	r->fresh = true;
	TAILQ_INSERT_TAIL(&w->fresh, qp, fresh_link);
}

/* RFC 6298's smoothing: gains 1/8 and 1/4. */
static void
measure(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;
	uint64_t rtt = w->base.now > r->sample_sent ? w->base.now - r->sample_sent : 1;

	r->sample_sent = 0;
	if (r->fresh && rtt > SAMPLE_STALE_US * w->ticks_per_us)
		return; /* sent from between turns, long after the last one: not a round trip */
	if (r->srtt_ticks == 0) {
		r->srtt_ticks = rtt;
		r->rttvar_ticks = rtt / 2;
		r->min_rtt_ticks = rtt;
	} else {
		uint64_t err = rtt > r->srtt_ticks ? rtt - r->srtt_ticks : r->srtt_ticks - rtt;

		r->rttvar_ticks += err / 4 - r->rttvar_ticks / 4;
		r->min_rtt_ticks = RTE_MIN(r->min_rtt_ticks, rtt);
		r->srtt_ticks = RTE_MAX(r->srtt_ticks + rtt / 8 - r->srtt_ticks / 8, (uint64_t)1);
	}
	qp->stats.srtt_ns =
		(uint32_t)RTE_MIN(r->srtt_ticks * 1000 / w->ticks_per_us, (uint64_t)UINT32_MAX);
}

/* Some of the READ at the left edge has come. How fast the rest of it comes is the peer's matter,
 * and no round trip says it: a probe that was too early once must not be so for every packet. */
static __rte_noinline bool
is_inside_read(const struct pmv_roce_qp *qp)
{
	const struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.ack);

	return qp->sq.ack != qp->sq.head && wqe->opcode == PMV_WR_RDMA_READ &&
	       !pmv_psn_eq(qp->win.una, wqe->first);
}

void
pmv_roce_retry_progress(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;

	if (r->sample_sent != 0 && pmv_psn_before(r->sample_psn, qp->win.una))
		measure(w, qp);
	if (r->charged && pmv_psn_before(r->loss_una, qp->win.una)) {
		r->charged = false;
		r->recovering = false;
	}
	if (unlikely(r->probe_shift != 0) && !is_inside_read(qp))
		r->probe_shift = 0;
	refill(qp);
	if (pmv_psn_eq(qp->win.una, qp->win.nxt)) {
		r->ack_deadline = 0;
		r->probe_deadline = 0;
		return;
	}
	start(w, qp);
}

void
pmv_roce_retry_heard(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	qp->retry.probe_shift = 0;
	start(w, qp);
}

bool
pmv_roce_retry_loss(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;
	bool known = r->charged && pmv_psn_eq(r->loss_una, qp->win.una);

	if (known && r->recovering)
		return false;
	/* One charge a loss (IBTA vol. 1, 9.7.6.1.4): when its repair is lost too, the timeout
	 * charges, so that retries never run out before retry_cnt times the ACK timeout. */
	if (!known) {
		if (r->retry_left == 0) {
			pmv_roce_requester_fail(w, qp, PMV_WC_RETRY_EXC_ERR);
			return false;
		}
		r->retry_left--;
		r->charged = true;
		r->loss_una = qp->win.una;
	}
	r->recovering = true;
	start(w, qp);
	return true;
}

bool
pmv_roce_retry_rnr(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, uint8_t timer_code)
{
	struct pmv_roce_retry *r = &qp->retry;

	if (qp->base.attr.rnr_retry != 7) {
		if (r->rnr_left == 0) {
			pmv_roce_requester_fail(w, qp, PMV_WC_RNR_RETRY_EXC_ERR);
			return false;
		}
		r->rnr_left--;
	}
	/* The peer lives and says so. Without this, one that may wait for ever (RNR retry count 7)
	 * would end after retry_cnt lost RNR NAKs, however far apart. */
	r->retry_left = qp->base.attr.retry_cnt;
	r->ack_deadline = 0;
	r->probe_deadline = 0;
	r->sample_sent = 0;
	r->rnr_until =
		w->base.now + (pmv_rnr_timer_us(timer_code) + RNR_MARGIN_US) * w->ticks_per_us;
	update(w, qp);
	return true;
}

void
pmv_roce_retry_idle(struct pmv_roce_qp *qp)
{
	if (!pmv_psn_eq(qp->win.una, qp->win.nxt))
		return;
	qp->retry.ack_deadline = 0;
	qp->retry.probe_deadline = 0;
}

void
pmv_roce_retry_stop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;

	pmv_wheel_disarm(&w->wheel, &r->timer);
	if (r->fresh)
		TAILQ_REMOVE(&w->fresh, qp, fresh_link);
	r->fresh = false;
	r->ack_deadline = 0;
	r->probe_deadline = 0;
	r->rnr_until = 0;
	r->sample_sent = 0;
	r->charged = false;
	r->recovering = false;
	r->probe_shift = 0;
	r->owed = 0;
}

static void
on_ack_timeout(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;

	qp->stats.timeouts++;
	w->stats.timeouts++;
	if (r->retry_left == 0) {
		pmv_roce_requester_fail(w, qp, PMV_WC_RETRY_EXC_ERR);
		return;
	}
	r->retry_left--;
	r->recovering = false;
	pmv_roce_requester_go_back(qp, qp->win.una);
	start(w, qp);
	pmv_roce_requester_run(w, qp);
}

static void
on_probe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_retry *r = &qp->retry;

	if (pmv_roce_requester_probe(w, qp)) {
		qp->stats.probes++;
		w->stats.probes++;
	}
	if (r->probe_shift < PROBE_SHIFT_MAX)
		r->probe_shift++;
	r->probe_deadline = w->base.now + probe_after(w, r);
}

static bool
is_due(uint64_t deadline, uint64_t now)
{
	return deadline != 0 && now >= deadline;
}

static void
on_expiry(struct pmv_timer *t, void *arg)
{
	struct pmv_roce_worker *w = arg;
	struct pmv_roce_qp *qp = container_of(t, struct pmv_roce_qp, retry.timer);
	struct pmv_roce_retry *r = &qp->retry;
	uint64_t now = w->base.now;

	if (t->tag == PMV_ROCE_PACE_TAG) {
		pmv_roce_pace_expired(w, t);
		return;
	}
	if (r->rnr_until != 0) {
		if (now >= r->rnr_until) {
			r->rnr_until = 0;
			pmv_roce_requester_run(w, qp);
		}
	} else if (r->heard && (is_due(r->ack_deadline, now) || is_due(r->probe_deadline, now))) {
		start(w, qp);
	} else if (is_due(r->ack_deadline, now)) {
		on_ack_timeout(w, qp);
	} else if (is_due(r->probe_deadline, now)) {
		on_probe(w, qp);
	}
	update(w, qp);
}

/* Timers of what was sent since the last turn; nothing to do for what is answered already. */
static __rte_noinline void
start_fresh(struct pmv_roce_worker *w)
{
	struct pmv_roce_qp *qp;

	while ((qp = TAILQ_FIRST(&w->fresh)) != NULL) {
		struct pmv_roce_retry *r = &qp->retry;

		TAILQ_REMOVE(&w->fresh, qp, fresh_link);
		r->fresh = false;
		if (pmv_psn_eq(qp->win.una, qp->win.nxt) || r->rnr_until != 0)
			continue;
		if (r->sample_sent != 0)
			r->sample_sent = w->base.now | 1;
		start(w, qp);
	}
}

void
pmv_roce_retry_run(struct pmv_roce_worker *w)
{
	if (!TAILQ_EMPTY(&w->fresh))
		start_fresh(w);
	pmv_wheel_advance(&w->wheel, w->base.now, EXPIRED_MAX, on_expiry, w);
}
