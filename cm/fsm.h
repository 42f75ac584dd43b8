// SPDX-License-Identifier: BSD-3-Clause
/* The lists below are laid out by hand. */
/* clang-format off */
/*
 * The connection state machine (IBTA vol. 1, 12.9, with the choices listed below) as one const
 * table: state x input gives next state, errno for a user call, and actions. Pure: no clock, no
 * memory, no packet.
 *
 * Called by cm/conn on the control lcore. Printed into doc/cm_states.md by
 * config/print_cm_states.c.
 *
 * Does not do: listening, address and route resolution (cm/id), SIDR, matching of messages to
 * records, timer values (cm/limits.h, cm/retry.h), the actions themselves.
 *
 * How the shell uses it
 *   1. Something happens; the shell turns it into an input (see "Choosing the input").
 *   2. step = pmv_cm_fsm_step(record->state, input).
 *      IGNORE: count it, done. REFUSE: return step->err to the caller, nothing changes.
 *   3. record->state = step->next, *then* the actions in order. Reports come last, so a callback
 *      sees a finished step.
 *   4. After RELEASE the record must not be touched. A step into IDLE without RELEASE ends the
 *      attempt: the shell frees comm ID, kept message and the attempt's data; a later CONNECT is
 *      a new attempt with new ones.
 *
 * Active   IDLE -CONNECT-> REQ_SENT -REP-> REP_RCVD (owner lcore commits RTR, RTS)
 *          -QP_DONE-> ESTABLISHED (RTU sent)
 * Passive  IDLE -REQ-> REQ_RCVD -TAKEN-> MRA_REQ_SENT -ACCEPT-> REP_WAIT_QP
 *          -QP_DONE-> REP_SENT -RTU or COMM_EST-> ESTABLISHED
 * End      ESTABLISHED -DISCONNECT-> DREQ_SENT -DREP-> TIMEWAIT -WAIT_OVER-> IDLE
 *          ESTABLISHED -DREQ-> TIMEWAIT (we send the DREP ourselves, at once)
 *
 * Rules that the table keeps (tests walk over all pairs)
 *   - Per attempt exactly one ending: REJECTED, UNREACHABLE or CONNECT_ERROR before ESTABLISHED,
 *     DISCONNECTED after it (or when a DREQ comes instead of the RTU). The user's own REJECT and
 *     DESTROY end an attempt without a report. After the ending at most TIMEWAIT_EXIT follows, and
 *     that only after DISCONNECTED. ESTABLISHED at most once.
 *   - DESTROY is legal in every state an id can be in and returns at once; no report ever follows
 *     it. What the peer must still be told is done by (REJ_)LINGER, a record without an id.
 *   - The passive QP is in RTS before the REP leaves; the active one before the RTU leaves.
 *   - One timer per record: arming replaces what runs.
 *   - One kept message per record: SEND_REQ, _REP, _DREQ and _REJ_* store what they send; RESEND
 *     repeats it byte for byte. SEND_RTU, _MRA_*, _DREP and _REJ_STALE_REP are built from the
 *     record each time and do not touch the kept message.
 *
 * Choices (the spec and rdma_cm leave them open or differ)
 *   - A DREQ is answered with a DREP at once, not when the application gets round to it, and a
 *     DREQ that crosses ours ends our waiting: a peer that holds its DREP back delays nobody.
 *   - The first valid packet on a passive QP (COMM_EST) counts as the RTU.
 *   - DISCONNECT before ESTABLISHED is -EINVAL and changes nothing: cancel with DESTROY, refuse
 *     with REJECT. Repeated in DREQ_SENT and TIMEWAIT it is 0.
 *   - Giving up is told to the peer (REJ 4), on REQ and on REP retries, so that no half-open end
 *     stays behind.
 *   - A REJ on a live connection is DISCONNECTED with -ECONNRESET (rdma_cm says REJECTED).
 *   - An MRA extends only the running wait; after it retries go on as before and a new MRA counts
 *     again.
 *   - REJ 10 (stale) is reported as REJECTED 10. The application retries, the CM does not.
 *   - After a reject of ours the record stays for a while (REJ_SENT, REJ_LINGER) and answers
 *     copies of the peer's message with the same REJ, so that a lost REJ does not become a second
 *     CONNECT_REQUEST.
 *
 * Choosing the input (IBTA 12.8, and what Linux peers do)
 *   REQ        a new passive record.
 *   REQ_DUP    (CA GUID, comm ID) hit: to that record. A hit of (CA GUID, QPN) alone: STALE to that
 *              record, REJ 10 (about REQ) to the new REQ, no record.
 *   REP        to an active record by Remote Comm ID, if it has no peer comm ID yet. A REP whose
 *              (CA GUID, comm ID) is in use elsewhere is dropped.
 *   REP_STALE  likewise, but (CA GUID, QPN) belongs to another live record, which gets STALE.
 *   REP_DUP    both IDs match an active record. Never raised for a passive one.
 *   RTU, DREP  both IDs match.
 *   DREQ       both IDs and the QPN field match. A DREQ for unknown IDs is answered with a DREP
 *              without any record.
 *   MRA_REQ    about REQ, by Remote Comm ID.   MRA_REP  about REP, both IDs. Others are dropped.
 *   REJ        about REQ: by Remote Comm ID if there is no peer ID yet; reason 4: by (ARI's GUID,
 *              REJ's Local Comm ID) in the comm ID table, else as the others; others: both IDs.
 *   REJ_STALE  the same with reason 10.
 *   COMM_EST   first valid packet reported by the QP. NOTIFY is the user's call for it.
 *   QP_DONE, QP_FAILED, RETRY, EXHAUSTED, WAIT_OVER carry the attempt they belong to; the shell
 *   drops older ones.
 */
/* clang-format on */
#ifndef PMV_CM_FSM_H
#define PMV_CM_FSM_H

#include <stdint.h>

enum pmv_cm_state {
	PMV_CM_ST_IDLE,         /* no attempt: never connected, or over */
	PMV_CM_ST_REQ_SENT,     /* active: REQ under its retry timer */
	PMV_CM_ST_MRA_REQ_RCVD, /* active: the peer asked for more time */
	PMV_CM_ST_REP_RCVD,     /* active: REP taken, own QP on its way to RTS */
	PMV_CM_ST_REQ_RCVD,     /* passive: CONNECT_REQUEST queued, application has not seen it */
	PMV_CM_ST_MRA_REQ_SENT, /* passive: application has it; MRA answers copies of the REQ */
	PMV_CM_ST_REP_WAIT_QP,  /* passive: accepted, own QP on its way to RTS */
	PMV_CM_ST_REP_SENT,     /* passive: REP under its retry timer */
	PMV_CM_ST_MRA_REP_RCVD, /* passive: the peer asked for more time */
	PMV_CM_ST_ESTABLISHED,
	PMV_CM_ST_DREQ_SENT,  /* DREQ under its retry timer */
	PMV_CM_ST_TIMEWAIT,   /* DISCONNECTED is reported; ID and QPN rest, TIMEWAIT_EXIT follows */
	PMV_CM_ST_REJ_SENT,   /* over, our REJ is repeated for copies; then IDLE, silently */
	PMV_CM_ST_REJ_RCVD,   /* over by the peer's REJ; ID and QPN rest, then IDLE, silently */
	PMV_CM_ST_LINGER,     /* id destroyed; ID and QPN rest, the peer is answered; RELEASE */
	PMV_CM_ST_REJ_LINGER, /* id destroyed; our REJ is repeated for copies; RELEASE */
	PMV_CM_ST_MAX,
};

enum pmv_cm_input {
	/* the user's calls, in the call */
	PMV_CM_IN_CONNECT,
	PMV_CM_IN_ACCEPT,
	PMV_CM_IN_REJECT,
	PMV_CM_IN_DISCONNECT,
	PMV_CM_IN_DESTROY,
	PMV_CM_IN_NOTIFY,
	PMV_CM_IN_USER_MAX, /* inputs below return an errno */

	/* messages */
	PMV_CM_IN_REQ = PMV_CM_IN_USER_MAX,
	PMV_CM_IN_REQ_DUP,
	PMV_CM_IN_REP,
	PMV_CM_IN_REP_DUP,
	PMV_CM_IN_REP_STALE,
	PMV_CM_IN_RTU,
	PMV_CM_IN_REJ,
	PMV_CM_IN_REJ_STALE,
	PMV_CM_IN_MRA_REQ,
	PMV_CM_IN_MRA_REP,
	PMV_CM_IN_DREQ,
	PMV_CM_IN_DREP,
	PMV_CM_IN_STALE, /* the peer's new REQ or REP shows that it has forgotten this connection */

	/* our own side */
	PMV_CM_IN_TAKEN,     /* the application has got CONNECT_REQUEST */
	PMV_CM_IN_QP_DONE,   /* QP_TO_RTS is committed */
	PMV_CM_IN_QP_FAILED, /* it is not */
	PMV_CM_IN_COMM_EST,  /* first valid packet on the QP */
	PMV_CM_IN_RETRY,     /* retry timer, sends left */
	PMV_CM_IN_EXHAUSTED, /* retry timer, no sends left */
	PMV_CM_IN_WAIT_OVER, /* the timer of ARM_TIMEWAIT or ARM_HOLD */
	PMV_CM_IN_MAX,
};

/* What the shell does. REPORT_* queue an event of the id. */
enum pmv_cm_do {
	PMV_CM_DO_SEND_REQ,       /* build, keep, send */
	PMV_CM_DO_SEND_REP,       /* build, keep, send */
	PMV_CM_DO_SEND_DREQ,      /* build, keep, send */
	PMV_CM_DO_SEND_REJ,       /* about REQ, reason and private data of the call; keep */
	PMV_CM_DO_SEND_REJ_REQ,   /* reason 28 about REQ, no private data; keep */
	PMV_CM_DO_SEND_REJ_REP,   /* reason 28 about REP; keep */
	PMV_CM_DO_SEND_REJ_OTHER, /* reason 28 about no message (2), both IDs; keep */
	/* reason 4, about 2, remote ID = peer's or 0, ARI = own CA GUID (8 bytes); keep */
	PMV_CM_DO_SEND_REJ_TIMEOUT,
	PMV_CM_DO_SEND_REJ_STALE_REP, /* reason 10 about REP, IDs of the REP at hand; not kept */
	PMV_CM_DO_SEND_RTU,           /* from the record, TID of the REQ; not kept */
	PMV_CM_DO_SEND_MRA_REQ,       /* about REQ, PMV_CM_MRA_REQ_TIMEOUT_CODE; not kept */
	PMV_CM_DO_SEND_MRA_REP,       /* about REP, PMV_CM_MRA_REP_TIMEOUT_CODE; not kept */
	PMV_CM_DO_SEND_DREP,          /* IDs of the record, TID of the DREQ at hand; not kept */
	PMV_CM_DO_RESEND,             /* the kept message again, byte for byte */

	PMV_CM_DO_ARM_RETRY,    /* pmv_cm_retry_start(): sent for the first time */
	PMV_CM_DO_REARM_RETRY,  /* pmv_cm_retry_next(): sent again */
	PMV_CM_DO_EXTEND_RETRY, /* pmv_cm_retry_extend() with the MRA's service timeout */
	PMV_CM_DO_ARM_TIMEWAIT, /* pmv_cm_timewait_us(), then WAIT_OVER */
	PMV_CM_DO_ARM_HOLD,     /* the longer of it and pmv_cm_rej_hold_us() */
	PMV_CM_DO_DISARM,

	PMV_CM_DO_LIST_PEER,  /* put the peer's comm ID and QPN into the tables of cm/dup */
	PMV_CM_DO_UNLIST_QPN, /* take the QPN out of the stale table: the peer may use it at once */
	PMV_CM_DO_UNLIST_PEER, /* take out both, as far as they are in */

	PMV_CM_DO_QP_TO_RTS, /* prepare and commit RTR, RTS; then QP_DONE or QP_FAILED */
	PMV_CM_DO_QP_TO_ERR, /* if the id has a QP. FIFO behind a pending QP_TO_RTS */

	PMV_CM_DO_REPORT_CONNECT_REQUEST,
	PMV_CM_DO_REPORT_ESTABLISHED,
	PMV_CM_DO_REPORT_REJECTED,      /* status = reason, private data of the REJ at hand */
	PMV_CM_DO_REPORT_UNREACHABLE,   /* -ETIMEDOUT */
	PMV_CM_DO_REPORT_CONNECT_ERROR, /* errno of QP_FAILED */
	PMV_CM_DO_REPORT_DISCONNECTED,  /* 0 */
	PMV_CM_DO_REPORT_DISCONNECTED_TIMEOUT, /* -ETIMEDOUT: the peer never answered the DREQ */
	PMV_CM_DO_REPORT_DISCONNECTED_RESET,   /* -ECONNRESET: the peer sent a REJ */
	PMV_CM_DO_REPORT_TIMEWAIT_EXIT,

	PMV_CM_DO_RELEASE, /* the record is free; last action */
	PMV_CM_DO_MAX,
};

#define PMV_CM_FSM_ACTIONS_MAX 6

enum pmv_cm_fsm_kind {
	PMV_CM_FSM_UNDEFINED, /* never in the table: a test walks over all pairs */
	PMV_CM_FSM_GO,        /* take the step (err is 0) */
	PMV_CM_FSM_IGNORE,    /* packet or own event without meaning here: count, nothing changes */
	PMV_CM_FSM_REFUSE,    /* user's call: return err, nothing changes */
};

struct pmv_cm_fsm_step {
	uint8_t kind; /* enum pmv_cm_fsm_kind */
	uint8_t next; /* enum pmv_cm_state */
	uint8_t nb_actions;
	uint8_t actions[PMV_CM_FSM_ACTIONS_MAX]; /* enum pmv_cm_do */
	int16_t err;                             /* REFUSE: negative errno */
};

/* @return the table's cell, never NULL; an "ignore" for numbers outside both enums. */
const struct pmv_cm_fsm_step *pmv_cm_fsm_step(enum pmv_cm_state state, enum pmv_cm_input input);

/* Static texts, without prefix ("REQ_SENT"); never NULL. */
const char *pmv_cm_state_name(enum pmv_cm_state state);
const char *pmv_cm_input_name(enum pmv_cm_input input);
const char *pmv_cm_do_name(enum pmv_cm_do action);

#endif
