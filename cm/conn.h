// SPDX-License-Identifier: BSD-3-Clause
/*
 * The connection record of an id: what an attempt to connect has learned and agreed, its retry
 * timer, its last message. pmv_cm_conn_input() feeds the state machine (cm/fsm) and carries out
 * what it answers. Control lcore.
 *
 * A record outlives its id for a while (LINGER) to answer the peer; comm ID and tables are given
 * back when the attempt is over.
 */
#ifndef PMV_CM_CONN_H
#define PMV_CM_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm/av.h"
#include "cm/fsm.h"
#include "cm/msg.h"
#include "cm/retry.h"
#include "lib/timer/wheel.h"

struct pmv_cm_conn {
	uint8_t state; /* enum pmv_cm_state */
	bool active;
	bool id_listed;          /* in cm->peer_ids */
	bool qpn_listed;         /* in cm->peer_qpns */
	bool wait_only;          /* the timer is a time-wait or hold, not a retry */
	bool est_listed;         /* in cm->est_wait */
	bool lingers;            /* in cm->lingering */
	uint32_t attempt;        /* counts up; replies of older ones are dropped */
	uint32_t local_comm_id;  /* 0: none */
	uint32_t remote_comm_id; /* 0: not known yet */
	uint64_t tid;            /* of the REQ; REP, RTU, MRA, REJ repeat it */
	uint64_t own_tid;        /* of our DREQ */
	uint64_t remote_guid;
	uint32_t remote_qpn;
	uint32_t local_qpn;
	uint32_t rq_psn;             /* what the peer must start sending with */
	uint32_t sq_psn;             /* what we start sending with: the peer's choice */
	uint8_t mtu;                 /* enum pmv_mtu */
	uint8_t responder_resources; /* READs we serve; active, before the REP: offered */
	uint8_t initiator_depth;     /* READs we issue; likewise */
	uint8_t peer_resources; /* passive: what the REQ offers and asks, as the peer sees it */
	uint8_t peer_depth;
	uint8_t retry_count;    /* of our QP */
	uint8_t rnr_retry;      /* of our QP: the peer's choice */
	uint8_t rnr_retry_sent; /* what we tell the peer for its QP */
	uint8_t flow_control;
	uint8_t srq; /* of our QP */
	uint8_t peer_srq;
	struct pmv_ece ece_said;  /* by our REQ or REP */
	struct pmv_ece ece_heard; /* from the peer's REQ or REP */
	uint8_t hold_code; /* response timeout code after which the peer repeats what we rejected */
	uint8_t ack_timeout;           /* code for our QP */
	uint8_t req_ack_timeout;       /* Local ACK Timeout of the REQ: bounds the time-wait */
	uint8_t peer_response_timeout; /* passive: codes of the REQ, interval and number of our REPs
					*/
	uint8_t peer_cm_retries;
	struct pmv_cm_av av;
	struct pmv_cm_retry retry;
	struct pmv_timer timer;
	uint8_t kept[PMV_MAD_LEN]; /* for RESEND */
	uint8_t private_len;       /* of the message to build: REQ with IP header, or REP */
	uint8_t private_data[PMV_CM_REP_PRIVATE_MAX];
	TAILQ_ENTRY(pmv_cm_id) est_link;
};

/* What comes with an input. All optional. */
struct pmv_cm_conn_arg {
	const struct pmv_cm_msg *msg; /* the message at hand */
	int err;                      /* QP_FAILED */
	uint8_t reason;               /* REJECT */
	uint8_t private_len;          /* REJECT */
	const void *private_data;     /* REJECT */
};

/* @return 0; for a user's input the errno of the state machine. */
int pmv_cm_conn_input(
	struct pmv_cm_id *id, enum pmv_cm_input input, const struct pmv_cm_conn_arg *arg);

/* What the id's QP could do beyond the standard: options are of RC. */
struct pmv_ece pmv_cm_conn_own_ece(const struct pmv_cm_id *id);

/* What both ends and the device agree on: the QP goes to RTR with it. Zero before both messages are
 * there. */
struct pmv_ece pmv_cm_conn_ece(const struct pmv_cm_id *id);

/* The state machine would take the input. */
bool pmv_cm_conn_takes(const struct pmv_cm_id *id, enum pmv_cm_input input);

/* Starts an attempt: comm ID, TIDs, own PSN. @return 0; -ENOSPC no comm ID is free. */
int pmv_cm_conn_begin(struct pmv_cm_id *id, bool active);

/* Ends it without a word: the device is gone, or there are too many lingering records. */
void pmv_cm_conn_drop(struct pmv_cm_id *id);

/* The timer of a record expired. */
void pmv_cm_conn_timer(struct pmv_cm_id *id);

/* Asks up to nb QPs of passive ids for their first packet. @return how many had one. */
uint32_t pmv_cm_conn_est_turn(struct pmv_cm *cm, uint32_t nb);

#endif
