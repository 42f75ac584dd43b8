// SPDX-License-Identifier: BSD-3-Clause
/*
 * The CM state machine: every pair is defined; a model explores all that can happen to one record
 * and checks the rules of cm/fsm.h on the way; the field's faults as sequences. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "cm/fsm.h"
#include "lib/util/random.h"

/* ---- The table itself ---- */

static void
step__every_pair_is_defined(void **state)
{
	int s, in, i;

	(void)state;
	for (s = 0; s < PMV_CM_ST_MAX; s++) {
		for (in = 0; in < PMV_CM_IN_MAX; in++) {
			const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(s, in);

			if (step->kind == PMV_CM_FSM_UNDEFINED)
				fail_msg("%s x %s", pmv_cm_state_name(s), pmv_cm_input_name(in));
			assert_in_range(step->next, 0, PMV_CM_ST_MAX - 1);
			assert_in_range(step->nb_actions, 0, PMV_CM_FSM_ACTIONS_MAX);
			for (i = 0; i < step->nb_actions; i++)
				assert_in_range(step->actions[i], 0, PMV_CM_DO_MAX - 1);
			/* Users get an errno, packets a counter. */
			assert_int_equal(step->kind == PMV_CM_FSM_REFUSE, step->err != 0);
			if (step->kind == PMV_CM_FSM_REFUSE)
				assert_true(in < PMV_CM_IN_USER_MAX && step->err < 0);
			if (step->kind == PMV_CM_FSM_IGNORE)
				assert_true(in >= PMV_CM_IN_USER_MAX);
			if (step->kind != PMV_CM_FSM_GO) {
				assert_int_equal(step->next, s);
				assert_int_equal(step->nb_actions, 0);
			}
		}
	}
}

static void
step__out_of_range_is_ignored(void **state)
{
	(void)state;
	assert_int_equal(pmv_cm_fsm_step(PMV_CM_ST_MAX, 0)->kind, PMV_CM_FSM_IGNORE);
	assert_int_equal(pmv_cm_fsm_step(0, PMV_CM_IN_MAX)->kind, PMV_CM_FSM_IGNORE);
	assert_int_equal(pmv_cm_fsm_step((enum pmv_cm_state) - 1, 0)->kind, PMV_CM_FSM_IGNORE);
}

/* ---- A model of one record ---- */

enum timer { TIMER_NONE, TIMER_RETRY, TIMER_WAIT };
enum role { ROLE_NONE, ROLE_ACTIVE, ROLE_PASSIVE };
enum qp { QP_INIT, QP_RTS, QP_ERR };
enum kept { KEPT_NONE, KEPT_REQ, KEPT_REP, KEPT_DREQ, KEPT_REJ };

struct world {
	uint8_t state;
	uint8_t timer;
	uint8_t role;
	uint8_t qp;
	uint8_t kept;
	uint8_t qp_pending; /* a reply of the owner lcore is due */
	uint8_t peer_known; /* the peer's comm ID */
	uint8_t listed_id;
	uint8_t listed_qpn;
	uint8_t destroyed;
	uint8_t established; /* reported */
	uint8_t ended;       /* an ending is reported, or the user rejected */
	uint8_t disconnected;
	uint8_t exited;
	uint8_t released;
};

static bool
state_has_retry(uint8_t s)
{
	return s == PMV_CM_ST_REQ_SENT || s == PMV_CM_ST_MRA_REQ_RCVD || s == PMV_CM_ST_REP_SENT ||
	       s == PMV_CM_ST_MRA_REP_RCVD || s == PMV_CM_ST_DREQ_SENT;
}

static bool
state_has_wait(uint8_t s)
{
	return s == PMV_CM_ST_TIMEWAIT || s == PMV_CM_ST_REJ_SENT || s == PMV_CM_ST_REJ_RCVD ||
	       s == PMV_CM_ST_LINGER || s == PMV_CM_ST_REJ_LINGER;
}

/* Can the shell raise this input now? */
static bool
admissible(const struct world *w, enum pmv_cm_input in)
{
	if (in < PMV_CM_IN_USER_MAX)
		return !w->destroyed;
	switch (in) {
	case PMV_CM_IN_REQ:
		return w->state == PMV_CM_ST_IDLE && w->role == ROLE_NONE && !w->destroyed;
	case PMV_CM_IN_REQ_DUP:
		return w->listed_id;
	case PMV_CM_IN_STALE:
		return w->listed_qpn;
	case PMV_CM_IN_REP:
	case PMV_CM_IN_REP_STALE:
		return w->role == ROLE_ACTIVE && !w->peer_known;
	case PMV_CM_IN_REP_DUP:
		return w->role == ROLE_ACTIVE && w->peer_known;
	case PMV_CM_IN_QP_DONE:
	case PMV_CM_IN_QP_FAILED:
		return w->qp_pending;
	case PMV_CM_IN_COMM_EST:
		return w->qp == QP_RTS;
	case PMV_CM_IN_RETRY:
	case PMV_CM_IN_EXHAUSTED:
		return w->timer == TIMER_RETRY;
	case PMV_CM_IN_WAIT_OVER:
		return w->timer == TIMER_WAIT;
	default: /* any message, at any time */
		return true;
	}
}

static void
report(struct world *w, enum pmv_cm_do what)
{
	assert_false(w->destroyed);
	switch (what) {
	case PMV_CM_DO_REPORT_CONNECT_REQUEST:
		break;
	case PMV_CM_DO_REPORT_ESTABLISHED:
		assert_false(w->established || w->ended);
		assert_int_equal(w->qp, QP_RTS);
		w->established = 1;
		break;
	case PMV_CM_DO_REPORT_TIMEWAIT_EXIT:
		assert_true(w->disconnected && !w->exited);
		w->exited = 1;
		break;
	case PMV_CM_DO_REPORT_DISCONNECTED:
	case PMV_CM_DO_REPORT_DISCONNECTED_TIMEOUT:
	case PMV_CM_DO_REPORT_DISCONNECTED_RESET:
		assert_false(w->ended);
		w->ended = 1;
		w->disconnected = 1;
		break;
	default: /* REJECTED, UNREACHABLE, CONNECT_ERROR */
		assert_false(w->ended || w->established);
		w->ended = 1;
		break;
	}
	/* Who hears of the end finds the QP in ERR. */
	if (w->ended)
		assert_int_equal(w->qp, QP_ERR);
}

static void
keep(struct world *w, enum kept what)
{
	w->kept = (uint8_t)what;
}

static void
act_send(struct world *w, enum pmv_cm_do what)
{
	switch (what) {
	case PMV_CM_DO_SEND_REQ:
		w->role = ROLE_ACTIVE;
		keep(w, KEPT_REQ);
		break;
	case PMV_CM_DO_SEND_REP:
		assert_int_equal(w->role, ROLE_PASSIVE);
		assert_int_equal(w->qp, QP_RTS);
		keep(w, KEPT_REP);
		break;
	case PMV_CM_DO_SEND_DREQ:
		keep(w, KEPT_DREQ);
		break;
	case PMV_CM_DO_SEND_RTU:
		assert_int_equal(w->role, ROLE_ACTIVE);
		assert_int_equal(w->qp, QP_RTS);
		break;
	case PMV_CM_DO_SEND_REJ:
	case PMV_CM_DO_SEND_REJ_REQ:
		assert_int_equal(w->role, ROLE_PASSIVE);
		keep(w, KEPT_REJ);
		break;
	case PMV_CM_DO_SEND_REJ_REP:
		assert_int_equal(w->role, ROLE_ACTIVE);
		keep(w, KEPT_REJ);
		break;
	case PMV_CM_DO_SEND_REJ_OTHER:
	case PMV_CM_DO_SEND_REJ_TIMEOUT:
		keep(w, KEPT_REJ);
		break;
	case PMV_CM_DO_RESEND:
		assert_int_not_equal(w->kept, KEPT_NONE);
		if (state_has_wait(w->state))
			assert_int_equal(w->kept, KEPT_REJ);
		break;
	default: /* MRA, DREP, REJ 10: from the record */
		break;
	}
}

static void
act_other(struct world *w, enum pmv_cm_do what)
{
	switch (what) {
	case PMV_CM_DO_ARM_RETRY:
		w->timer = TIMER_RETRY;
		break;
	case PMV_CM_DO_REARM_RETRY:
	case PMV_CM_DO_EXTEND_RETRY:
		assert_int_equal(w->timer, TIMER_RETRY);
		break;
	case PMV_CM_DO_ARM_TIMEWAIT:
	case PMV_CM_DO_ARM_HOLD:
		w->timer = TIMER_WAIT;
		break;
	case PMV_CM_DO_DISARM:
		assert_int_equal(w->timer, TIMER_RETRY);
		w->timer = TIMER_NONE;
		break;
	case PMV_CM_DO_LIST_PEER:
		assert_false(w->listed_id || w->listed_qpn);
		w->listed_id = w->listed_qpn = w->peer_known = 1;
		break;
	case PMV_CM_DO_UNLIST_QPN:
		assert_true(w->listed_qpn);
		w->listed_qpn = 0;
		break;
	case PMV_CM_DO_UNLIST_PEER:
		w->listed_id = w->listed_qpn = 0;
		break;
	case PMV_CM_DO_QP_TO_RTS:
		assert_int_equal(w->qp, QP_INIT);
		assert_false(w->qp_pending);
		w->qp_pending = 1;
		break;
	case PMV_CM_DO_QP_TO_ERR:
		w->qp = QP_ERR;
		break;
	case PMV_CM_DO_RELEASE:
		assert_true(w->destroyed);
		w->released = 1;
		break;
	default:
		fail();
	}
}

/* What the input itself changes, before the table is asked. */
static void
before(struct world *w, enum pmv_cm_input in)
{
	if (in == PMV_CM_IN_REQ)
		w->role = ROLE_PASSIVE;
	if (in == PMV_CM_IN_QP_DONE || in == PMV_CM_IN_QP_FAILED)
		w->qp_pending = 0;
	if (in == PMV_CM_IN_QP_DONE && w->qp == QP_INIT)
		w->qp = QP_RTS;
	if (in == PMV_CM_IN_EXHAUSTED || in == PMV_CM_IN_WAIT_OVER)
		w->timer = TIMER_NONE; /* it has fired */
}

/* The rules that hold between two steps. */
static void
rest_check(const struct world *w)
{
	enum timer want = state_has_retry(w->state)  ? TIMER_RETRY
			  : state_has_wait(w->state) ? TIMER_WAIT
						     : TIMER_NONE;

	assert_int_equal(w->timer, want);
	if (w->state == PMV_CM_ST_ESTABLISHED) {
		assert_int_equal(w->qp, QP_RTS);
		assert_true(w->established && !w->ended);
	}
	if (w->state == PMV_CM_ST_TIMEWAIT)
		assert_true(w->disconnected && !w->exited);
	/* From the end on the peer may use its QPN again. */
	if (state_has_wait(w->state))
		assert_false(w->listed_qpn);
	assert_int_equal(w->destroyed && !w->released,
		w->state == PMV_CM_ST_LINGER || w->state == PMV_CM_ST_REJ_LINGER);
}

static struct world
world_step(struct world w, enum pmv_cm_input in)
{
	const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(w.state, in);
	bool reported = false;
	int i;

	before(&w, in);
	if (step->kind != PMV_CM_FSM_GO)
		return w;
	if (in == PMV_CM_IN_DESTROY)
		w.destroyed = 1;
	if (in == PMV_CM_IN_REJECT)
		w.ended = 1;
	w.state = step->next;
	for (i = 0; i < step->nb_actions; i++) {
		enum pmv_cm_do what = step->actions[i];

		assert_false(w.released); /* RELEASE is the last action */
		if (what >= PMV_CM_DO_REPORT_CONNECT_REQUEST &&
			what <= PMV_CM_DO_REPORT_TIMEWAIT_EXIT) {
			reported = true;
			report(&w, what);
			continue;
		}
		assert_false(reported); /* reports come last */
		if (what <= PMV_CM_DO_RESEND)
			act_send(&w, what);
		else
			act_other(&w, what);
	}
	rest_check(&w);
	if (w.state != PMV_CM_ST_IDLE || w.released)
		return w;
	/* The attempt is over: nothing of it may be left, and it has ended in one way. */
	assert_false(w.listed_id || w.listed_qpn);
	assert_true(w.ended);
	assert_int_equal(w.disconnected, w.exited);
	return (struct world){ .state = PMV_CM_ST_IDLE };
}

#define WORLDS_MAX 4096

static struct world worlds[WORLDS_MAX];
static uint32_t nb_worlds;

static void
world_add(const struct world *w)
{
	uint32_t i;

	for (i = 0; i < nb_worlds; i++) {
		if (memcmp(&worlds[i], w, sizeof(*w)) == 0)
			return;
	}
	assert_true(nb_worlds < WORLDS_MAX);
	worlds[nb_worlds++] = *w;
}

/* CM-120, exhaustively: whatever order things happen in, the rules hold. */
static void
step__rules_hold_in_every_order(void **state)
{
	static const struct world start = { .state = PMV_CM_ST_IDLE };
	uint32_t seen_states = 0, i;
	int in;

	(void)state;
	nb_worlds = 0;
	world_add(&start);
	for (i = 0; i < nb_worlds; i++) {
		seen_states |= 1u << worlds[i].state;
		if (worlds[i].released)
			continue;
		for (in = 0; in < PMV_CM_IN_MAX; in++) {
			struct world next;

			if (!admissible(&worlds[i], in))
				continue;
			next = world_step(worlds[i], in);
			world_add(&next);
		}
	}
	assert_int_equal(seen_states, (1u << PMV_CM_ST_MAX) - 1); /* no state is unreachable */
	print_message("%u situations\n", nb_worlds);
	assert_in_range(nb_worlds, 40, WORLDS_MAX);
}

/* CM-108, CM-112: destroy works at once in every situation, and the record is released one timer
 * later. */
static void
step__destroy_in_every_situation(void **state)
{
	uint32_t i;

	(void)state;
	assert_in_range(nb_worlds, 40, WORLDS_MAX);
	for (i = 0; i < nb_worlds; i++) {
		struct world w = worlds[i];

		if (w.destroyed)
			continue;
		w = world_step(w, PMV_CM_IN_DESTROY);
		if (!w.released) {
			assert_int_equal(w.timer, TIMER_WAIT);
			w = world_step(w, PMV_CM_IN_WAIT_OVER);
		}
		assert_true(w.released);
		assert_false(w.listed_id || w.listed_qpn);
	}
}

/* CM-120 with a shell that raises inputs it should not: still one ending, no report after destroy.
 */
static void
step__endings_hold_under_chaos(void **state)
{
	struct pmv_random rnd;
	uint32_t round, i;

	(void)state;
	pmv_random_init(&rnd, 120);
	for (round = 0; round < 20000; round++) {
		uint32_t nb_end = 0, nb_est = 0, nb_exit = 0, nb_disc = 0;
		bool destroyed = false;
		uint8_t s = PMV_CM_ST_IDLE;

		for (i = 0; i < 60; i++) {
			const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(
				s, (enum pmv_cm_input)pmv_random_below(&rnd, PMV_CM_IN_MAX));
			int a;

			if (destroyed)
				assert_true(s == PMV_CM_ST_LINGER || s == PMV_CM_ST_REJ_LINGER);
			for (a = 0; a < step->nb_actions; a++) {
				uint8_t what = step->actions[a];

				nb_est += what == PMV_CM_DO_REPORT_ESTABLISHED;
				nb_exit += what == PMV_CM_DO_REPORT_TIMEWAIT_EXIT;
				nb_disc += what >= PMV_CM_DO_REPORT_DISCONNECTED &&
					   what <= PMV_CM_DO_REPORT_DISCONNECTED_RESET;
				nb_end += what >= PMV_CM_DO_REPORT_REJECTED &&
					  what <= PMV_CM_DO_REPORT_DISCONNECTED_RESET;
				if (destroyed)
					assert_false(what >= PMV_CM_DO_REPORT_CONNECT_REQUEST &&
						     what <= PMV_CM_DO_REPORT_TIMEWAIT_EXIT);
			}
			destroyed |= step->next == PMV_CM_ST_LINGER ||
				     step->next == PMV_CM_ST_REJ_LINGER;
			assert_in_range(nb_est, 0, 1);
			assert_in_range(nb_end, 0, 1);
			assert_in_range(nb_exit, 0, nb_disc);
			if (nb_est == 1 && nb_end == 1)
				assert_int_equal(nb_disc, 1);
			s = step->next;
			if (s == PMV_CM_ST_IDLE && step->kind == PMV_CM_FSM_GO)
				break;
		}
	}
}

/* ---- The field's faults as sequences ---- */

/* One step: next state and the actions as text must be these. */
static void
expect(uint8_t *s, enum pmv_cm_input in, enum pmv_cm_state next, const char *actions)
{
	const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(*s, in);
	char text[256] = "";
	int i;

	for (i = 0; i < step->nb_actions; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? " " : "",
			pmv_cm_do_name(step->actions[i]));
	if (step->next != next || strcmp(text, actions) != 0)
		fail_msg("%s x %s: %s [%s], not %s [%s]", pmv_cm_state_name(*s),
			pmv_cm_input_name(in), pmv_cm_state_name(step->next), text,
			pmv_cm_state_name(next), actions);
	assert_int_equal(step->err, 0);
	*s = step->next;
}

static void
expect_ignored(uint8_t *s, enum pmv_cm_input in)
{
	assert_int_equal(pmv_cm_fsm_step(*s, in)->kind, PMV_CM_FSM_IGNORE);
	expect(s, in, *s, "");
}

static void
expect_refused(uint8_t s, enum pmv_cm_input in, int err)
{
	const struct pmv_cm_fsm_step *step = pmv_cm_fsm_step(s, in);

	assert_int_equal(step->kind, PMV_CM_FSM_REFUSE);
	assert_int_equal(step->err, err);
}

#define E(in, next, actions) expect(&s, PMV_CM_IN_##in, PMV_CM_ST_##next, actions)
#define IGNORED(in)          expect_ignored(&s, PMV_CM_IN_##in)
#define TIMEWAIT_END         "QP_TO_ERR SEND_DREP UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED"

static void
step__active_connect_disconnect(void **state)
{
	uint8_t s = PMV_CM_ST_IDLE;

	(void)state;
	E(CONNECT, REQ_SENT, "SEND_REQ ARM_RETRY");
	E(RETRY, REQ_SENT, "RESEND REARM_RETRY");
	E(REP, REP_RCVD, "DISARM LIST_PEER QP_TO_RTS");
	E(REP_DUP, REP_RCVD, "SEND_MRA_REP");
	E(QP_DONE, ESTABLISHED, "SEND_RTU REPORT_ESTABLISHED");
	E(REP_DUP, ESTABLISHED, "SEND_RTU");
	E(DISCONNECT, DREQ_SENT, "QP_TO_ERR SEND_DREQ ARM_RETRY");
	E(RETRY, DREQ_SENT, "RESEND REARM_RETRY");
	E(DREP, TIMEWAIT, "UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED");
	IGNORED(DREP);
	E(DREQ, TIMEWAIT, "SEND_DREP");
	E(WAIT_OVER, IDLE, "REPORT_TIMEWAIT_EXIT");
	E(CONNECT, REQ_SENT, "SEND_REQ ARM_RETRY");
}

/* CM-101: the copy of a REQ is ignored until the application has the request, then answered with
 * MRA. */
static void
step__slow_accept(void **state)
{
	uint8_t s = PMV_CM_ST_IDLE;

	(void)state;
	E(REQ, REQ_RCVD, "LIST_PEER REPORT_CONNECT_REQUEST");
	IGNORED(REQ_DUP);
	E(TAKEN, MRA_REQ_SENT, "");
	E(REQ_DUP, MRA_REQ_SENT, "SEND_MRA_REQ");
	E(ACCEPT, REP_WAIT_QP, "QP_TO_RTS");
	E(REQ_DUP, REP_WAIT_QP, "SEND_MRA_REQ");
	E(QP_DONE, REP_SENT, "SEND_REP ARM_RETRY");
	IGNORED(REQ_DUP);
	E(RTU, ESTABLISHED, "DISARM REPORT_ESTABLISHED");
	IGNORED(RTU);
	IGNORED(REQ_DUP);
}

/* CM-102: a newer REQ with our peer's QPN ends an established connection by DREQ; others stay as
 * they are. */
static void
step__stale_peer(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_RCVD;

	(void)state;
	IGNORED(STALE);
	s = PMV_CM_ST_REP_SENT;
	IGNORED(STALE);
	s = PMV_CM_ST_ESTABLISHED;
	E(STALE, DREQ_SENT, "QP_TO_ERR SEND_DREQ ARM_RETRY");
	IGNORED(STALE);
	E(DREP, TIMEWAIT, "UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED");
}

/* CM-103: a REP that names a QPN of another connection is refused, our own attempt goes on. */
static void
step__stale_rep(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_SENT;

	(void)state;
	E(REP_STALE, REQ_SENT, "SEND_REJ_STALE_REP");
	E(RETRY, REQ_SENT, "RESEND REARM_RETRY");
	E(REP, REP_RCVD, "DISARM LIST_PEER QP_TO_RTS");
}

/* CM-105: all RTUs lost, no data: given up once, everything freed, the peer is told. */
static void
step__rtu_never_comes(void **state)
{
	uint8_t s = PMV_CM_ST_REP_SENT;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		E(RETRY, REP_SENT, "RESEND REARM_RETRY");
	E(EXHAUSTED, IDLE, "SEND_REJ_TIMEOUT QP_TO_ERR UNLIST_PEER REPORT_UNREACHABLE");
	IGNORED(RTU);
}

/* CM-106: data instead of the RTU; and the user's notify in each state. */
static void
step__comm_est(void **state)
{
	uint8_t s = PMV_CM_ST_REP_SENT;
	int st;

	(void)state;
	E(COMM_EST, ESTABLISHED, "DISARM REPORT_ESTABLISHED");
	IGNORED(RTU);
	IGNORED(COMM_EST);
	for (st = 0; st < PMV_CM_ST_MAX; st++) {
		if (st == PMV_CM_ST_REP_SENT || st == PMV_CM_ST_MRA_REP_RCVD) {
			s = (uint8_t)st;
			E(NOTIFY, ESTABLISHED, "DISARM REPORT_ESTABLISHED");
		} else {
			expect_refused((uint8_t)st, PMV_CM_IN_NOTIFY,
				st == PMV_CM_ST_ESTABLISHED ? -EISCONN : -EINVAL);
		}
	}
}

/* CM-107: destroy before the answer says REJ 4 once; the peer's request ends with REJECTED and
 * cannot be accepted. */
static void
step__destroy_before_rep(void **state)
{
	static const uint8_t from[] = { PMV_CM_ST_REQ_SENT, PMV_CM_ST_MRA_REQ_RCVD };
	static const uint8_t peer[] = { PMV_CM_ST_REQ_RCVD, PMV_CM_ST_MRA_REQ_SENT,
		PMV_CM_ST_REP_WAIT_QP };
	uint32_t i;
	uint8_t s;

	(void)state;
	for (i = 0; i < sizeof(from); i++) {
		s = from[i];
		E(DESTROY, REJ_LINGER, "SEND_REJ_TIMEOUT QP_TO_ERR ARM_TIMEWAIT");
		IGNORED(RETRY);
		IGNORED(REJ);
		E(REP, REJ_LINGER, "RESEND"); /* only if one comes */
		E(WAIT_OVER, IDLE, "UNLIST_PEER RELEASE");
	}
	for (i = 0; i < sizeof(peer); i++) {
		s = peer[i];
		E(REJ, IDLE, "QP_TO_ERR UNLIST_PEER REPORT_REJECTED");
		expect_refused(s, PMV_CM_IN_ACCEPT, -EINVAL);
	}
}

/* CM-108: MRA for the REP, then a DREQ: no REP goes out any more, destroy is immediate. */
static void
step__mra_then_dreq(void **state)
{
	uint8_t s = PMV_CM_ST_REP_SENT;

	(void)state;
	E(MRA_REP, MRA_REP_RCVD, "EXTEND_RETRY");
	IGNORED(MRA_REP);
	E(DREQ, TIMEWAIT, TIMEWAIT_END);
	IGNORED(RETRY);
	E(DESTROY, LINGER, "");
	E(DREQ, LINGER, "SEND_DREP");
	E(WAIT_OVER, IDLE, "UNLIST_PEER RELEASE");
}

/* CM-109: the MRA extends one wait; exhausting the retries is told once. */
static void
step__mra_then_silence(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_SENT;

	(void)state;
	E(MRA_REQ, MRA_REQ_RCVD, "EXTEND_RETRY");
	IGNORED(MRA_REQ);
	E(RETRY, REQ_SENT, "RESEND REARM_RETRY");
	E(MRA_REQ, MRA_REQ_RCVD, "EXTEND_RETRY");
	E(EXHAUSTED, IDLE, "SEND_REJ_TIMEOUT QP_TO_ERR REPORT_UNREACHABLE");
	IGNORED(EXHAUSTED);
}

/* CM-112: destroy of a live id: one DREQ, no retry timer, late DREP means nothing. */
static void
step__destroy_established(void **state)
{
	uint8_t s = PMV_CM_ST_ESTABLISHED;

	(void)state;
	E(DESTROY, LINGER, "QP_TO_ERR SEND_DREQ UNLIST_PEER ARM_TIMEWAIT");
	IGNORED(RETRY);
	IGNORED(DREP);
	E(WAIT_OVER, IDLE, "UNLIST_PEER RELEASE");
}

/* CM-114: nobody listens: REJECTED once, QP to ERR. */
static void
step__rejected(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_SENT;

	(void)state;
	E(REJ, IDLE, "DISARM QP_TO_ERR REPORT_REJECTED");
	IGNORED(REJ);
}

/* CM-115, and a lost REJ: the copy of a rejected REQ meets the same REJ, not a new CONNECT_REQUEST.
 */
static void
step__reject_is_repeated(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_RCVD;

	(void)state;
	E(DESTROY, REJ_LINGER, "SEND_REJ_REQ QP_TO_ERR UNLIST_QPN ARM_HOLD");
	E(REQ_DUP, REJ_LINGER, "RESEND");
	E(WAIT_OVER, IDLE, "UNLIST_PEER RELEASE");

	s = PMV_CM_ST_MRA_REQ_SENT;
	E(REJECT, REJ_SENT, "SEND_REJ UNLIST_QPN ARM_HOLD");
	E(REQ_DUP, REJ_SENT, "RESEND");
	expect_refused(s, PMV_CM_IN_REJECT, -EINVAL);
	E(DESTROY, REJ_LINGER, "QP_TO_ERR");
	E(REQ_DUP, REJ_LINGER, "RESEND");
}

/* The own QP cannot be made ready: the peer is told, one CONNECT_ERROR. */
static void
step__qp_fails(void **state)
{
	uint8_t s = PMV_CM_ST_REP_RCVD;

	(void)state;
	E(QP_FAILED, REJ_SENT, "SEND_REJ_REP QP_TO_ERR UNLIST_PEER ARM_HOLD REPORT_CONNECT_ERROR");
	E(REP_DUP, REJ_SENT, "RESEND");
	s = PMV_CM_ST_REP_WAIT_QP;
	E(QP_FAILED, REJ_SENT, "SEND_REJ_REQ QP_TO_ERR UNLIST_QPN ARM_HOLD REPORT_CONNECT_ERROR");
	E(REQ_DUP, REJ_SENT, "RESEND");
	E(WAIT_OVER, IDLE, "UNLIST_PEER");
}

/* CM-121: the peer is dead: QP to ERR at once, 1 + 15 DREQs, one DISCONNECTED -ETIMEDOUT, then
 * TIMEWAIT_EXIT. */
static void
step__disconnect_dead_peer(void **state)
{
	uint8_t s = PMV_CM_ST_ESTABLISHED;
	int i;

	(void)state;
	E(DISCONNECT, DREQ_SENT, "QP_TO_ERR SEND_DREQ ARM_RETRY");
	for (i = 0; i < 15; i++)
		E(RETRY, DREQ_SENT, "RESEND REARM_RETRY");
	E(EXHAUSTED, TIMEWAIT, "UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED_TIMEOUT");
	E(WAIT_OVER, IDLE, "REPORT_TIMEWAIT_EXIT");
}

/* CM-122: both disconnect at once: DREQs cross, with DREPs in either order; the second call is 0.
 */
static void
step__crossing_dreqs(void **state)
{
	uint8_t s = PMV_CM_ST_DREQ_SENT;

	(void)state;
	E(DISCONNECT, DREQ_SENT, "");
	E(DREQ, TIMEWAIT, "SEND_DREP UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED");
	IGNORED(DREP);
	E(DISCONNECT, TIMEWAIT, "");
	E(WAIT_OVER, IDLE, "REPORT_TIMEWAIT_EXIT");

	s = PMV_CM_ST_DREQ_SENT;
	E(DREP, TIMEWAIT, "UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED");
	E(DREQ, TIMEWAIT, "SEND_DREP");
	E(DISCONNECT, TIMEWAIT, "");

	/* The peer's DREQ was there first: the own call finds it done. */
	s = PMV_CM_ST_ESTABLISHED;
	E(DREQ, TIMEWAIT, TIMEWAIT_END);
	E(DISCONNECT, TIMEWAIT, "");
}

/* CM-123: disconnect where there is nothing to disconnect. */
static void
step__disconnect_too_early(void **state)
{
	static const uint8_t from[] = { PMV_CM_ST_IDLE, PMV_CM_ST_REQ_SENT, PMV_CM_ST_MRA_REQ_RCVD,
		PMV_CM_ST_REP_RCVD, PMV_CM_ST_REQ_RCVD, PMV_CM_ST_MRA_REQ_SENT,
		PMV_CM_ST_REP_WAIT_QP, PMV_CM_ST_REP_SENT, PMV_CM_ST_MRA_REP_RCVD,
		PMV_CM_ST_REJ_SENT, PMV_CM_ST_REJ_RCVD };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(from); i++)
		expect_refused(from[i], PMV_CM_IN_DISCONNECT, -EINVAL);
}

/* CM-132: REJ 10 twice: one REJECTED; the record rests, then it is quiet. */
static void
step__rejected_as_stale(void **state)
{
	uint8_t s = PMV_CM_ST_REQ_SENT;

	(void)state;
	E(REJ_STALE, REJ_RCVD, "QP_TO_ERR ARM_TIMEWAIT REPORT_REJECTED");
	IGNORED(REJ_STALE);
	E(DESTROY, LINGER, "");
	IGNORED(REJ_STALE);
}

/* A REJ on a live connection: one DISCONNECTED. */
static void
step__rej_when_established(void **state)
{
	uint8_t s = PMV_CM_ST_ESTABLISHED;

	(void)state;
	E(REJ, TIMEWAIT, "QP_TO_ERR UNLIST_PEER ARM_TIMEWAIT REPORT_DISCONNECTED_RESET");
	E(WAIT_OVER, IDLE, "REPORT_TIMEWAIT_EXIT");
}

/* Destroyed between REP and RTU: a copy of the REQ shows that the peer knows no REP; it learns that
 * we are gone. */
static void
step__destroy_in_rep_sent(void **state)
{
	uint8_t s = PMV_CM_ST_REP_SENT;

	(void)state;
	E(DESTROY, LINGER, "SEND_REJ_OTHER QP_TO_ERR UNLIST_QPN ARM_HOLD");
	E(REQ_DUP, LINGER, "SEND_REJ_REQ");
	E(WAIT_OVER, IDLE, "UNLIST_PEER RELEASE");
}

static void
names__never_null(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 64; i++) {
		assert_non_null(pmv_cm_state_name(i));
		assert_non_null(pmv_cm_input_name(i));
		assert_non_null(pmv_cm_do_name(i));
	}
	assert_string_equal(pmv_cm_state_name(PMV_CM_ST_REJ_LINGER), "REJ_LINGER");
	assert_string_equal(pmv_cm_input_name(PMV_CM_IN_WAIT_OVER), "WAIT_OVER");
	assert_string_equal(pmv_cm_do_name(PMV_CM_DO_RELEASE), "RELEASE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step__every_pair_is_defined),
		cmocka_unit_test(step__out_of_range_is_ignored),
		cmocka_unit_test(step__rules_hold_in_every_order),
		cmocka_unit_test(step__destroy_in_every_situation),
		cmocka_unit_test(step__endings_hold_under_chaos),
		cmocka_unit_test(step__active_connect_disconnect),
		cmocka_unit_test(step__slow_accept),
		cmocka_unit_test(step__stale_peer),
		cmocka_unit_test(step__stale_rep),
		cmocka_unit_test(step__rtu_never_comes),
		cmocka_unit_test(step__comm_est),
		cmocka_unit_test(step__destroy_before_rep),
		cmocka_unit_test(step__mra_then_dreq),
		cmocka_unit_test(step__mra_then_silence),
		cmocka_unit_test(step__destroy_established),
		cmocka_unit_test(step__rejected),
		cmocka_unit_test(step__reject_is_repeated),
		cmocka_unit_test(step__qp_fails),
		cmocka_unit_test(step__disconnect_dead_peer),
		cmocka_unit_test(step__crossing_dreqs),
		cmocka_unit_test(step__disconnect_too_early),
		cmocka_unit_test(step__rejected_as_stale),
		cmocka_unit_test(step__rej_when_established),
		cmocka_unit_test(step__destroy_in_rep_sent),
		cmocka_unit_test(names__never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
