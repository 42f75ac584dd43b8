// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sixty-four connections of every kind between two nodes of two workers each, with all the memory
 * they use and a model of it: what the soak runs on. A flow is one direction of a connection: the
 * send queue at its end, and the memory at the other end that it alone changes.
 */
#ifndef PMV_TEST_SOAK_LAB_H
#define PMV_TEST_SOAK_LAB_H

#include "test/harness/node.h"

#define SOAK_CONNS   64u
#define SOAK_WORKERS 2u  /* of each node */
#define SOAK_SRQS    3u  /* of node 1 */
#define SOAK_DEPTH   16u /* requests of a flow at a time; receives of a QP */
#define SOAK_SRQ_WRS 64u
#define SOAK_MSGS    1024u
#define SOAK_LEN     6000u /* longest message */
#define SOAK_ROOM    (SOAK_LEN + 80u)
#define SOAK_TO      16384u
#define SOAK_FROM    8192u
#define SOAK_WIN     8192u
#define SOAK_WORDS   8u
#define SOAK_QKEY    0x00112233u
#define SOAK_GUARDS  8192u

enum soak_kind { SOAK_RC, SOAK_RC_SELECTIVE, SOAK_UC, SOAK_UD };

/* A key of the receiving side that the flow may use, made and ended by work requests. */
enum soak_win { SOAK_WIN_FREE, SOAK_WIN_BUSY, SOAK_WIN_VALID };

/* A request that is not known to be complete. */
struct soak_req {
	enum pmv_wr_opcode op;
	uint32_t len;
	bool signalled;
	bool of_window;
	bool of_target; /* a READ of what the flow's WRITEs change */
	bool of_all;    /* FETCH_AND_ADD of the word that all flows share */
	bool expects;   /* its slot shall hold what `expect` says */
};

/* A message that takes a receive. */
struct soak_msg {
	uint32_t seq;
	enum pmv_wr_opcode op;
	uint32_t len;
	uint32_t key;
	uint32_t dest; /* UD: connection */
	bool solicited;
	uint8_t nb_got;
};

struct soak_recv {
	uint8_t *buf;
	bool posted;
};

struct soak_flow {
	uint32_t id; /* 2 * connection + side */
	int side;
	enum soak_kind kind;
	struct pmv_qp *qp;
	struct soak_flow *peer;
	struct soak_req req[SOAK_DEPTH];
	uint32_t head, tail;
	struct soak_msg msg[SOAK_MSGS];
	uint32_t msg_head, msg_tail;
	uint8_t *slot[SOAK_DEPTH];   /* what is sent, or read */
	uint8_t *expect[SOAK_DEPTH]; /* no part of the nodes */
	/* at the other side */
	uint8_t *to, *to_model;
	uint8_t *from;
	uint64_t *words, *words_model;
	uint8_t *win, *win_model;
	struct pmv_mw *mw;   /* or */
	struct pmv_mr *fast; /* for fast registration */
	enum soak_win win_state;
	uint32_t win_key;
	uint32_t nb_win_uses;
	uint32_t nb_target_reads;
	/* receives of this QP, unless it has an SRQ */
	int srq; /* -1: none */
	struct soak_recv recv[SOAK_DEPTH];
	uint32_t recv_head, recv_tail;
};

struct soak_srq {
	struct pmv_srq *srq;
	struct soak_recv recv[SOAK_SRQ_WRS];
	uint32_t nb_posted;
};

struct soak_phase {
	uint32_t left; /* steps */
	uint32_t nb_bursts;
	uint32_t step_us;
	bool no_recvs;
};

struct soak {
	struct pmv_test_pair pair;
	struct pmv_random random;
	uint64_t seed;
	struct soak_flow flow[2 * SOAK_CONNS];
	struct soak_srq srq[SOAK_SRQS];
	struct pmv_cq *recv_cq[2][SOAK_WORKERS];
	struct pmv_mr *mr[2];
	struct pmv_ah *ah[2];
	uint8_t *arena[2];
	uint32_t used[2];
	uint8_t *guard[SOAK_GUARDS]; /* 64 bytes that nobody may touch */
	uint32_t nb_guards;
	uint64_t *all_word[2]; /* shared by all flows to this side */
	uint8_t *all_seen[2];  /* by value found */
	uint64_t all_posted[2], all_done[2];
	uint64_t max_ops;
	struct soak_phase phase;
	/* what happened */
	uint64_t nb_posted, nb_sent, nb_received, nb_recvs, nb_flushed, nb_lost;
	uint64_t by_op[64];
};

struct soak *soak_open(uint64_t seed, uint64_t max_ops);
/* QPs to ERR and gone, guards and memory judged by the caller before; every mbuf must be home. */
void soak_close(struct soak *s);
/* No byte between the buffers has changed. */
void soak_check_guards(const struct soak *s);

uint32_t soak_below(struct soak *s, uint32_t n);
bool soak_chance(struct soak *s, uint32_t percent);

#endif
