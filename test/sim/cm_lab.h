// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two nodes with a connection manager each, and a small application on both: what the CM
 * simulations share. Node 0 is the active side unless a test does otherwise. Events are recorded,
 * whether they come through handlers or through the ring.
 */
#ifndef PMV_TEST_CM_LAB_H
#define PMV_TEST_CM_LAB_H

#include "cm/api/pmv_cm.h"
#include "cm/msg.h"
#include "test/harness/node.h"

#define CM_LAB_EVENTS 256
#define CM_LAB_IDS    64
#define CM_LAB_PORT   7471
#define CM_LAB_SENT   512

struct cm_lab_event {
	enum pmv_cm_event_type event;
	struct pmv_cm_id *id;
	int status;
	struct pmv_cm_conn_param param;
	struct pmv_ece ece;
	uint8_t private_data[256];
	uint64_t at; /* ticks */
};

/* A frame of the CM as it left a node. */
struct cm_lab_frame {
	uint64_t at;
	struct pmv_cm_msg msg; /* private data is not valid */
	uint8_t mad[PMV_MAD_LEN];
	uint8_t tos;
	uint8_t ttl;
	uint16_t udp_sport;
	uint8_t dmac[6];
	bool dropped;
};

struct cm_lab_side {
	struct cm_lab *lab;
	int side;
	struct pmv_cm *cm;
	struct cm_lab_event ev[CM_LAB_EVENTS];
	uint32_t nb_ev;
	struct pmv_cm_id *ids[CM_LAB_IDS]; /* made by CONNECT_REQUEST */
	uint32_t nb_ids;
	struct pmv_cm_id *listener; /* of the last CONNECT_REQUEST */
	struct cm_lab_frame sent[CM_LAB_SENT];
	uint32_t nb_sent;
	uint64_t drop[0x20]; /* by attribute ID: bit i = the i-th message of that kind is lost */
	uint32_t nb_seen[0x20];
	bool drop_all;
	bool dup_all;
	bool drop_arp;
	uint8_t other[2048]; /* the last frame that was no CM message */
	uint32_t other_len;
	uint32_t nb_other;
	/* what the application does by itself */
	bool hands_off;                        /* nothing */
	bool no_accept;                        /* takes requests, does not answer */
					       /* unused when 0 */
	const struct pmv_cm_conn_param *param; /* of connect and accept */
	int (*on_event)(
		struct cm_lab_side *s, const struct pmv_cm_event *e); /* asked first; 1: done */
};

struct cm_lab {
	struct pmv_test_pair pair;
	struct cm_lab_side s[2];
	bool use_ring;
	enum pmv_cm_port_space ps; /* of ids that the lab makes; PMV_PS_TCP at first */
	enum pmv_qp_type qp_type;  /* likewise, and of their QPs; RC at first */
	struct pmv_srq *srq[2];    /* of the QPs that cm_lab_qp() makes; NULL: none */
	bool stopped[2];           /* the CM of that side is not polled: the process hangs */
	uint32_t step_us;
};

struct cm_lab_param {
	bool use_ring; /* events through pmv_cm_get_event() */
	uint16_t vlan_id;
	uint16_t ip_mtu;
	enum pmv_addr_ownership ownership;
	uint32_t id_max;
	uint64_t seed;
};

void cm_lab_open(struct cm_lab *lab, const struct cm_lab_param *param);
/* Destroys ids that are left, waits out the time-wait, asserts that nothing is left anywhere. */
void cm_lab_close(struct cm_lab *lab);

/* Runs until `side` has an event of this kind (the nth, from 1), or limit_us passed. */
bool cm_lab_wait(struct cm_lab *lab, int side, enum pmv_cm_event_type event, uint64_t limit_us);
void cm_lab_run(struct cm_lab *lab, uint64_t us);
/* Coarse steps for long waits. */
void cm_lab_run_slow(struct cm_lab *lab, uint64_t us);

/* Events of a kind so far; the last one of the kind. */
uint32_t cm_lab_count(const struct cm_lab *lab, int side, enum pmv_cm_event_type event);
const struct cm_lab_event *cm_lab_last(
	const struct cm_lab *lab, int side, enum pmv_cm_event_type event);

/* Messages of a kind that left a node; the nth of them (from 0). */
uint32_t cm_lab_nb_sent(const struct cm_lab *lab, int side, uint16_t attr);
const struct cm_lab_frame *cm_lab_sent(
	const struct cm_lab *lab, int side, uint16_t attr, uint32_t n);

struct pmv_cm_id *cm_lab_id(struct cm_lab *lab, int side);
struct pmv_cm_id *cm_lab_listen(struct cm_lab *lab, int side, const char *addr, uint16_t port);
/* Starts resolving; the application of the side goes on to connect. */
struct pmv_cm_id *cm_lab_connect(struct cm_lab *lab, int side, const char *addr, uint16_t port);
struct pmv_qp *cm_lab_qp(struct cm_lab *lab, struct pmv_cm_id *id);
/* Gives the QP back and destroys the id. */
void cm_lab_destroy(struct cm_lab *lab, int side, struct pmv_cm_id *id);

/* sockaddr of "a.b.c.d" or IPv6 text. */
const struct sockaddr *cm_lab_addr(const char *text, uint16_t port);

/* A listener on 1, a connection from 0, ESTABLISHED on both. */
struct cm_lab_pair {
	struct pmv_cm_id *listener;
	struct pmv_cm_id *a; /* active, on node 0 */
	struct pmv_cm_id *b; /* passive, on node 1 */
};
struct cm_lab_pair cm_lab_established(struct cm_lab *lab, const char *addr);

/* A CM message as from the peer of `side`, put into the receive queue of `side`. msg gets packed;
 * from: address of the sender, NULL the other node's IPv4 one. */
void cm_lab_inject(struct cm_lab *lab, int side, const struct pmv_cm_msg *msg, const char *from);
/* A REQ that `side` would take, to be changed by the test and injected. */
void cm_lab_req(struct cm_lab *lab, int side, struct pmv_cm_msg *ret, uint8_t private_data[92]);

#endif
