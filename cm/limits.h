// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every timeout, retry count and table bound of the connection manager, with unit and reason, and
 * the arithmetic of the spec's timeout codes. Included by all of cm; pure; any thread. Nothing here
 * is a policy of one connection: an id may carry its own response timeout and retries
 * (pmv_cm_set_timers()).
 */
#ifndef PMV_CM_LIMITS_H
#define PMV_CM_LIMITS_H

#include <stdint.h>

#define PMV_CM_US_PER_MS 1000ull
#define PMV_CM_US_PER_S  1000000ull

/* ---- Timeout codes ---- */

#define PMV_CM_TIMEOUT_CODE_MAX 31u /* 5-bit fields */

/*
 * IBTA writes 4.096 us << n; Linux reads the same code as 2^(n-8) ms, at least 1 ms. We read it as
 * Linux does: both ends must agree, and below 1 ms no control loop keeps its word. 31 gives 2^23 ms
 * = 2.3 h, far from overflow in 64 bits; wider values (a caller's mistake) count as 31.
 */
static inline uint64_t
pmv_cm_timeout_us(uint8_t code)
{
	if (code > PMV_CM_TIMEOUT_CODE_MAX)
		code = PMV_CM_TIMEOUT_CODE_MAX;
	return PMV_CM_US_PER_MS << (code > 8 ? code - 8 : 0);
}

/* ---- Requests under a retry timer: REQ, REP, DREQ ---- */

/*
 * CM response timeout that we put in a REQ and use ourselves: 2^8 = 256 ms. Linux's 20 (4.1 s)
 * turns one lost frame into 4 s; slow accepts do not need it, the MRA covers them.
 */
#define PMV_CM_RESPONSE_TIMEOUT_CODE 16u

/* Sends after the first one. 15 is the most the REQ's 4-bit field can ask for, and Linux's value.
 */
#define PMV_CM_RETRIES 15u

/*
 * Back-off of the *default* timing, against storms on an overloaded peer: the first
 * PMV_CM_RETRY_EQUAL intervals are equal (a lost frame costs 256 ms), each further one doubles up
 * to the maximum. Sends at 0, 0.26, 0.51, 0.77, 1.0, 1.5, 2.6 s
 * ... every 1.02 s; UNREACHABLE after 12.8 s. An id with its own timers, and a REP (whose interval
 * the peer's REQ dictates), keeps equal intervals throughout: a number that somebody chose is taken
 * literally.
 */
#define PMV_CM_RETRY_EQUAL           4u
#define PMV_CM_RETRY_INTERVAL_MAX_US (1024u * PMV_CM_US_PER_MS)

/* ---- MRA ---- */

/*
 * Service timeout we send: 22 = 16.4 s for an application that sits on a CONNECT_REQUEST (each
 * further copy of the REQ is answered again, so a longer think is covered too; a server that dies
 * is noticed after 16 s, not Linux's 65 s).
 */
#define PMV_CM_MRA_REQ_TIMEOUT_CODE 22u
/* 17 = 512 ms for the time our own QP needs between REP and RTU: a lost RTU must not cost more. */
#define PMV_CM_MRA_REP_TIMEOUT_CODE 17u
/* A peer's wish is honoured up to 24 = 65.5 s, what Linux asks for; more would be a way to pin our
 * records. */
#define PMV_CM_MRA_WAIT_CODE_MAX 24u

/* ---- After the end ---- */

/*
 * Time-wait: comm ID and QPN stay unused, late packets find nobody. The spec asks for the packet
 * lifetime both ways plus the peer's ACK delay, which the connection's ACK timeout bounds; 2 s at
 * least because switches and retrying peers keep frames longer than the lifetime codes people set;
 * 30 s at most so that a code of 31 does not pin the record.
 */
#define PMV_CM_TIMEWAIT_MIN_US (2u * PMV_CM_US_PER_S)
#define PMV_CM_TIMEWAIT_MAX_US (30u * PMV_CM_US_PER_S)

static inline uint64_t
pmv_cm_timewait_us(uint8_t ack_timeout_code)
{
	uint64_t us = 2 * pmv_cm_timeout_us(ack_timeout_code);

	if (us < PMV_CM_TIMEWAIT_MIN_US)
		return PMV_CM_TIMEWAIT_MIN_US;
	return us < PMV_CM_TIMEWAIT_MAX_US ? us : PMV_CM_TIMEWAIT_MAX_US;
}

/*
 * How long a rejected request is remembered so that its next copy meets the same REJ: the peer
 * repeats after about the response timeout its REQ names plus its packet lifetime twice (Linux: 4.6
 * s or 6.1 s for code 20), so twice the code, within these bounds.
 */
#define PMV_CM_REJ_HOLD_MIN_US (2u * PMV_CM_US_PER_S)
#define PMV_CM_REJ_HOLD_MAX_US (10u * PMV_CM_US_PER_S)

static inline uint64_t
pmv_cm_rej_hold_us(uint8_t response_timeout_code)
{
	uint64_t us = 2 * pmv_cm_timeout_us(response_timeout_code);

	if (us < PMV_CM_REJ_HOLD_MIN_US)
		return PMV_CM_REJ_HOLD_MIN_US;
	return us < PMV_CM_REJ_HOLD_MAX_US ? us : PMV_CM_REJ_HOLD_MAX_US;
}

/* ---- Neighbours (ARP, ND) ---- */

/*
 * Requests while nothing is known: at 0, 0.25, 0.75 s, then each second until the last caller's
 * timeout. RFC 4861 and Linux send one a second; the two early ones turn a lost first request into
 * 250 ms.
 */
#define PMV_CM_NEIGH_RETRY_FIRST_US (250u * PMV_CM_US_PER_MS)
#define PMV_CM_NEIGH_RETRY_MAX_US   (1u * PMV_CM_US_PER_S)
/* Without a confirmation for 30 s (RFC 4861 REACHABLE_TIME) an entry in use is asked again, by
 * unicast. */
#define PMV_CM_NEIGH_REACHABLE_US (30u * PMV_CM_US_PER_S)
/* Unicast probes (MAX_UNICAST_SOLICIT) one second apart, then one broadcast; then the entry is
 * failed, its MAC kept. */
#define PMV_CM_NEIGH_PROBE_MAX         3u
#define PMV_CM_NEIGH_PROBE_INTERVAL_US (1u * PMV_CM_US_PER_S)
/*
 * Somebody claims the address with another MAC: the MAC we know is asked first and has this long to
 * answer; then the new one must answer a unicast probe of ours. Two hosts that fight can so flip an
 * entry once in 0.5 s at most.
 */
#define PMV_CM_NEIGH_CHALLENGE_US (500u * PMV_CM_US_PER_MS)
/* After a failure no request for this long, whoever asks. */
#define PMV_CM_NEIGH_HOLD_OFF_US (1u * PMV_CM_US_PER_S)
/* A failed entry in use is tried again this often: the peer may be rebooting, the RC retries decide
 * about the QP. */
#define PMV_CM_NEIGH_FAILED_RETRY_US (5u * PMV_CM_US_PER_S)
/* Entries nobody uses are forgotten after this long. */
#define PMV_CM_NEIGH_UNUSED_US (60u * PMV_CM_US_PER_S)
/* Default table size. */
#define PMV_CM_NEIGH_ENTRIES_MAX 1024u
/* RFC 5227 DEFEND_INTERVAL: announcements against an address conflict. */
#define PMV_CM_NEIGH_DEFEND_US (10u * PMV_CM_US_PER_S)

/* ---- ICMP ---- */

/* Largest echo (whole frame) that is answered: a 1500-byte IP packet with VLAN tag. Fragments are
 * never reassembled. */
#define PMV_CM_ICMP_FRAME_MAX 1518u
/* Replies per second, with a burst of as many. */
#define PMV_CM_ICMP_REPLIES_PER_S 100u

#endif
