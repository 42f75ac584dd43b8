// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two RC QPs on two model devices, connected, through plain libibverbs. For tests of the model;
 * everything fails the running cmocka test when it cannot be done.
 */
#ifndef PMV_TEST_MLX5_PAIR_H
#define PMV_TEST_MLX5_PAIR_H

#include <infiniband/verbs.h>

#include "test/mlx5/model.h"

#define PAIR_BYTES  (256 * 1024) /* of each end's buffer */
#define PAIR_INLINE 200
#define PAIR_SGES   4
#define PAIR_DEPTH  64

struct pair_options {
	bool sig_all;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint32_t access; /* of the QPs; 0: all */
	uint32_t send_psn;
};

struct pair_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *buf;
};

struct pair {
	struct pair_end end[2];
};

void pair_open(struct pair *pair, const struct pair_options *options); /* NULL: defaults */
void pair_close(struct pair *pair);

/* Brings both QPs of an open pair from RESET to RTS. */
void pair_connect(struct pair *pair, const struct pair_options *options);

/* Another pair of QPs on the same objects, connected; pair_remove ends it. */
void pair_add(struct pair *more, const struct pair *pair);
void pair_remove(struct pair *more);

/* One QP from RESET to INIT, RTR, RTS; the peer's number and PSN as given. */
void pair_to_init(struct pair_end *end, uint32_t access);
void pair_to_rtr(struct pair_end *end, const struct pair_end *peer, uint32_t recv_psn);
void pair_to_rts(struct pair_end *end, const struct pair_options *options);

/* Lets the model work, and its clock run up to this many us where only timers are left. */
void pair_settle(uint64_t us);

/* Bytes that name their place. */
void pair_fill(uint8_t *to, uint32_t bytes, uint8_t seed);

#endif
