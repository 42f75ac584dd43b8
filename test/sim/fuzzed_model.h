// SPDX-License-Identifier: BSD-3-Clause
/*
 * The model of the state fuzz: what the queue pair under test may have done, told by its frames and
 * its completions, and what is wrong with them.
 */
#ifndef PMV_TEST_FUZZED_MODEL_H
#define PMV_TEST_FUZZED_MODEL_H

#include "drivers/roce/qp.h"
#include "lib/util/random.h"
#include "lib/wire/opcode.h"
#include "test/sim/craft.h"
#include "test/sim/fuzzed_zones.h"
#include "test/sim/rc_lab.h"

#define NB_OLD 16u /* requests kept for repetition */

/* A request of ours that has not completed. */
struct sent {
	uint64_t wr_id;
	enum pmv_wr_opcode op;
	uint32_t len;
	uint32_t nb_psn;
	struct pmv_psn first;
	uint8_t *buf; /* READ: target */
};

/* What the peer is in the middle of sending. */
struct plan {
	bool running;
	enum pmv_opcode_kind kind;
	bool imm;
	uint32_t len;
	uint32_t off;
	uint64_t va;
	uint32_t rkey;
};

/* An atomic of the peer that was executed, and what it found. */
struct done {
	struct pmv_psn psn;
	uint64_t found;
};

struct fuzz {
	struct pmv_test_pair pair;
	struct pmv_random random;
	struct craft_path path;
	struct pmv_worker *w;
	struct pmv_qp *qp;   /* under test, node 1 */
	struct pmv_qp *peer; /* lends its number, node 0 */
	struct zones zones;
	uint32_t mtu;
	struct sent sq[64];
	uint32_t sq_head, sq_tail;
	uint64_t rq[64]; /* wr_id, oldest first */
	uint32_t rq_head, rq_tail;
	struct pmv_psn next_psn; /* of the next request posted */
	struct pmv_psn end_sent; /* one past the highest PSN seen on the wire */
	uint64_t next_id;
	struct plan plan;
	struct craft old[NB_OLD];
	uint32_t nb_old;
	uint64_t nb_ok; /* completions that succeeded */
	uint64_t nb_deaths;
	uint64_t seed;
	uint32_t wildness;            /* 1..16: how often fatal things happen, in sixteenths */
	struct rte_mempool *own_pool; /* of frames that are handed in */
	struct rte_mbuf **hoard;      /* all that the node's pool had, when it is starved */
	uint32_t nb_hoard;
	bool port_full;           /* the port takes no frame */
	struct done done[NB_OLD]; /* atomics that the peer's requests had executed */
	uint32_t nb_done;
	uint64_t nb_told; /* ATOMIC ACKs that told what the model knows */
};

static inline uint32_t
below(struct fuzz *f, uint32_t n)
{
	return (uint32_t)pmv_random_below(&f->random, n);
}

static inline bool
chance(struct fuzz *f, uint32_t percent)
{
	return below(f, 100) < percent;
}

static inline uint32_t
epsn(const struct fuzz *f)
{
	return pmv_roce_qp(f->qp)->resp.epsn.v;
}

/* What the packet of a PSN carries: never the secret. */
static inline uint8_t
pattern(struct pmv_psn psn, uint32_t i)
{
	return (uint8_t)((psn.v * 29 + i * 7 + (i >> 8)) & 0x7f);
}

/* Something that ends a life more often than not. */
static inline bool
wild(struct fuzz *f, uint32_t percent)
{
	return below(f, 1600) < percent * f->wildness;
}

static inline bool
is_dead(const struct fuzz *f)
{
	return pmv_qp_get_state(f->qp) == PMV_QPS_ERR;
}

static inline bool
is_atomic(enum pmv_wr_opcode op)
{
	return op == PMV_WR_ATOMIC_CMP_AND_SWP || op == PMV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Two nodes, the QP under test connected to a number that node 0 lends. */
struct fuzz *fuzz_open(uint64_t seed);

/* Both in RESET: connected anew. */
void fuzz_connect(struct fuzz *f);

/* Takes the completions, and compares them with what was posted and seen. */
void fuzz_collect(struct fuzz *f);

#endif
