// SPDX-License-Identifier: BSD-3-Clause
/*
 * A queue pair of the software driver: one struct per part, each titled with its single writer. All
 * of them run on the worker's lcore; "writer" names the file.
 */
#ifndef PMV_ROCE_QP_H
#define PMV_ROCE_QP_H

#include "drivers/roce/packet.h"
#include "drivers/roce/peer.h"
#include "drivers/roce/rate.h"
#include "drivers/roce/rdatomic.h"
#include "drivers/roce/rq.h"
#include "drivers/roce/sq.h"
#include "drivers/roce/window.h"
#include "drivers/roce/worker.h"
#include "lib/timer/wheel.h"

/* Writer: retry.c. Ticks are the worker's. 0 = not running. */
struct pmv_roce_retry {
	struct pmv_timer
		timer; /* one node; expires at or before the earliest of the three deadlines */
	uint64_t ack_deadline;   /* the negotiated ACK timeout: charges retry_cnt */
	uint64_t probe_deadline; /* from the measured round trip: sends one packet again, charges
				    nothing */
	uint64_t rnr_until;      /* receiver not ready: nothing is sent before */
	uint64_t ack_ticks;      /* 4.096 us * 2^timeout; 0 = no ACK timeout */
	uint64_t srtt_ticks;     /* 0 = not measured */
	uint64_t rttvar_ticks;
	uint64_t min_rtt_ticks; /* shortest measured; valid with srtt_ticks */
	uint64_t sample_sent;   /* when the packet under measurement went out; 0 = none */
	struct pmv_psn sample_psn;
	struct pmv_psn loss_una; /* una when the running recovery began */
	uint32_t owed; /* at most so many response packets that nobody waits for may still come */
	bool heard;    /* one of them came since the deadlines were set: the peer is at work */
	bool fresh; /* on worker->fresh: something was sent, its deadlines are set later in the turn
		     */
	bool charged; /* a loss at loss_una was charged; only timeouts charge again until una moves
		       */
	bool recovering;     /* further loss indications for loss_una are echoes of the same loss */
	uint8_t probe_shift; /* doublings since the last progress */
	uint8_t retry_left;
	uint8_t rnr_left;
};

/* Writer: responder.c, uc.c, deliver.c. */
struct pmv_roce_resp {
	struct pmv_psn epsn; /* expected */
	uint32_t msn;        /* 24 bits */
	uint32_t msg_off;    /* bytes of the running message already executed */
	uint32_t write_len;  /* running WRITE: bytes announced */
	uint32_t write_rkey;
	uint64_t write_va;
	uint8_t running; /* enum pmv_opcode_kind of the message between FIRST and LAST; NONE = none
			  */
	bool nak_sent;   /* a gap or RNR was told; silence until epsn arrives */
	struct pmv_roce_rdatomic rd;
};

/* Writer: ack.c. What the responder owes, at most one thing at a time. */
struct pmv_roce_ack {
	bool owed;
	bool linked;        /* on worker->acks */
	uint8_t syndrome;   /* ACK, RNR NAK or NAK */
	struct pmv_psn psn; /* of a NAK; an ACK takes epsn - 1 when it leaves */
	struct rte_mbuf *m; /* the frame that asked, to be written over; NULL: take a new one */
};

/* Writer: pace.c; cnp_at: congestion.c. Ticks are the worker's. */
struct pmv_roce_pace {
	struct pmv_timer timer; /* armed while there is a limit, else not */
	struct pmv_roce_rate rate;
	uint64_t next;     /* no frame before; valid while there is a limit */
	uint64_t cnp_at;   /* no notification to the peer before */
	bool waiting;      /* somebody had to wait for `next` */
	bool answers_last; /* READ responses and requests take turns at being first */
};

/* A request whose payload is being written in place; writer: build.c. */
struct pmv_roce_build {
	bool open;
	uint32_t head; /* sq.head when it began: the entry that was lent out */
	uint32_t length;
};

struct pmv_roce_selective;

struct pmv_roce_qp {
	struct pmv_qp base;
	struct pmv_roce_hdr hdr;   /* template of frames to the peer (RC, UC) */
	struct pmv_roce_peer peer; /* what is expected of its frames; writer: rx.c */
	uint32_t dest_qpn;
	uint32_t mtu_bytes;
	uint8_t mtu_shift;
	uint8_t op_base; /* what makes an opcode of RC one of the QP's transport: 0, for UC 0x20 */
	bool on_run;     /* on worker->run */
	bool on_all;
	bool paced;                 /* pace.rate sets a limit; pace.c */
	bool reacts;                /* to congestion that the peer tells of */
	struct pmv_roce_window win; /* writers: requester.c (sent), completer.c (acknowledged), uc.c
				       through window.h */
	struct pmv_roce_sq sq;
	struct pmv_roce_selective *sel;     /* NULL: go-back-N; see selective.h */
	struct pmv_roce_selective *sel_mem; /* its memory, once it was needed */
	uint32_t rd_out;       /* READs sent and not answered; requester.c, completer.c */
	uint32_t since_ackreq; /* request packets since the last AckReq; requester.c */
	uint32_t ud_psn;       /* UD: PSN of the next datagram; ud.c */
	uint32_t hdr_version;  /* changes with hdr.bytes; never 0 */
	struct pmv_roce_build build;
	bool sq_draining; /* SQD asked for */
	bool sqd_notify;
	struct pmv_roce_retry retry;
	struct pmv_roce_rq rq;
	struct pmv_roce_resp resp;
	struct pmv_roce_ack ack;
	struct pmv_roce_pace pace;
	struct pmv_qp_stats stats;
	TAILQ_ENTRY(pmv_roce_qp) run_link;
	TAILQ_ENTRY(pmv_roce_qp) ack_link;
	TAILQ_ENTRY(pmv_roce_qp) fresh_link;
	TAILQ_ENTRY(pmv_roce_qp) all_link;
};

static inline struct pmv_roce_qp *
pmv_roce_qp(struct pmv_qp *qp)
{
	return (struct pmv_roce_qp *)qp;
}

static inline struct pmv_roce_worker *
pmv_roce_qp_worker(const struct pmv_roce_qp *qp)
{
	return pmv_roce_worker(qp->base.worker);
}

/* The qp_* operations of the driver contract. */
int pmv_roce_qp_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp);
void pmv_roce_qp_create_commit(struct pmv_qp *qp);
int pmv_roce_qp_modify_prepare(struct pmv_qp *qp, struct pmv_qp_modify *m);
void pmv_roce_qp_modify_abort(struct pmv_qp *qp, struct pmv_qp_modify *m);
int pmv_roce_qp_modify_commit(struct pmv_qp *qp, const struct pmv_qp_modify *m);
void pmv_roce_qp_destroy_commit(struct pmv_qp *qp);
void pmv_roce_qp_free(struct pmv_qp *qp);
void pmv_roce_qp_query(const struct pmv_qp *qp, struct pmv_qp_attr *attr);
void pmv_roce_qp_neigh_commit(struct pmv_worker *w, const union pmv_gid *gid,
	const struct rte_ether_addr *old_mac, const struct rte_ether_addr *new_mac);
void pmv_roce_qp_stats(const struct pmv_qp *qp, struct pmv_qp_stats *stats);

/* The QP goes to ERR: timers off, both queues flushed in order (requests with frames out follow
 * when these are back). */
void pmv_roce_qp_error(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Every QP of a CQ that overran goes to ERR. */
void pmv_roce_qp_cq_overrun(struct pmv_roce_worker *w);

/* Puts the QP on the worker's run list: it has something to send in a later turn. */
void pmv_roce_qp_schedule(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* SQD: every request that was begun is acknowledged, and none is half sent. */
bool pmv_roce_qp_drained(const struct pmv_roce_qp *qp);

/* Flushes with WR_FLUSH_ERR what is posted on the QP, or what it has taken of its SRQ. */
void pmv_roce_qp_flush_rq(struct pmv_roce_qp *qp);

#endif
