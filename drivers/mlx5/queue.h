// SPDX-License-Identifier: BSD-3-Clause
/*
 * The rings of a queue pair and of a completion queue as software sees them: where they lie, how
 * far they are filled, and what belongs to each entry. Writer: the worker's owner lcore (post.c
 * fills, poll.c empties, doorbell.c rings), but for init before anybody knows of them.
 */
#ifndef PMV_MLX5_QUEUE_H
#define PMV_MLX5_QUEUE_H

#include <stddef.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

#include "drivers/mlx5/hw.h"
#include "drivers/mlx5/stats.h"

/*
 * One BlueFlame register: two halves, used in turn, so that the write-combining buffer of one copy
 * cannot merge with the next. A worker's own, or (half_bytes 0: plain doorbells only, which are
 * atomic) one that other threads may ring too.
 */
struct pmv_mlx5_uar {
	uint8_t *next; /* the half to use next */
	uint64_t half_bytes;
	uint64_t shorts; /* counter: see stats.h */
	uint8_t *reg;
};

/* What completes with a send entry; at the index of its first block. */
struct pmv_mlx5_sent {
	uint64_t wr_id;
	uint32_t nb_posted; /* requests posted up to and with this one */
};

struct pmv_mlx5_sq {
	uint8_t *buf;
	struct pmv_mlx5_sent *sent;
	rte_be32_t *record;
	struct pmv_mlx5_uar *uar;
	uint64_t short_ctrl; /* of short.h's entry, in host order, index 0 */
	uint32_t mask;       /* blocks - 1 */
	uint32_t head;       /* block after the last entry built; 16 bits that run freely */
	uint32_t stop; /* value of nb_posted at which the ring is full: max_wr beyond those done */
	uint32_t nb_posted; /* requests; runs freely */
	uint32_t waiting;   /* value of head before the first entry that waits for a ring */
	uint32_t last;      /* first block of the last entry built */
	uint32_t max_wr;    /* so many of the largest entries fit into the ring */
	bool shorts;        /* short.h's entries are allowed: room for them, and not sig_all */
	/* not for short ones */
	uint32_t sig_all;     /* PMV_SEND_SIGNALED, or 0 */
	uint32_t qpn_shifted; /* QPN << 8 */
	uint32_t max_sge;
	uint32_t max_inline;
	uint64_t max_bytes; /* of a message */
	uint8_t *end;
};

struct pmv_mlx5_rq {
	uint8_t *buf;
	uint64_t *wr_id;
	rte_be32_t *record;
	uint32_t stride;
	uint32_t max_sge;
	uint32_t max_wr; /* 0: no receive queue */
	uint32_t nb_out; /* posted and not completed */
	uint16_t mask;
	uint16_t head; /* runs freely */
};

struct pmv_mlx5_qp {
	struct pmv_qp base;
	struct pmv_mlx5_sq sq;
	struct pmv_mlx5_rq rq;
	TAILQ_ENTRY(pmv_mlx5_qp) ring_link; /* on worker->to_ring while on_ring */
	bool on_ring;
	struct pmv_mlx5_uar own_uar; /* where the worker has no register of its own */
	struct ibv_qp *ibv;
	struct ibv_pd *joined_pd; /* or NULL */
};

/*
 * What entries of one queue pair and opcode have in common, if they went well and have no length:
 * the last that was taken is probably like the next. poll.c alone uses it.
 */
struct pmv_mlx5_run {
	rte_be32_t op_qpn_be;  /* PMV_MLX5_RUN_NONE: there is none */
	uint32_t mask;         /* of a place in sent, in bytes */
	const uint8_t *sent;   /* the send queue's */
	pmv_mlx5_unit unit[3]; /* the completion; wr_id is [0][0] */
};
#define PMV_MLX5_RUN_NONE UINT32_MAX /* no QPN and no opcode is that */
_Static_assert(offsetof(struct pmv_wc, wr_id) == 0 && sizeof(struct pmv_wc) == 48,
	"three units, wr_id first");

struct pmv_mlx5_cq {
	struct pmv_cq base;
	struct pmv_mlx5_cqe *buf;
	const struct pmv_mlx5_cqe *end;
	rte_be32_t *record;
	uint32_t ci; /* runs freely */
	uint32_t mask;
	struct pmv_mlx5_qp *last_qp; /* the last entry's, also of the run */
	struct pmv_mlx5_run run;
	struct ibv_cq *ibv;
};

static inline struct pmv_mlx5_qp *
pmv_mlx5_qp(struct pmv_qp *qp)
{
	return (struct pmv_mlx5_qp *)qp;
}

/* 0; -ENOMEM; -EINVAL the device made other rings than asked for. Capacities are written back. */
int pmv_mlx5_queue_init(
	struct pmv_mlx5_qp *qp, const struct mlx5dv_qp *dv, struct pmv_qp_cap *cap, int socket_id);
void pmv_mlx5_queue_fini(struct pmv_mlx5_qp *qp);

/* As after creation: nothing posted. The device must be in RESET. */
void pmv_mlx5_queue_reset(struct pmv_mlx5_qp *qp);

static inline struct pmv_mlx5_cqe *
pmv_mlx5_queue_place(const struct pmv_mlx5_cq *cq, uint32_t ci)
{
	return cq->buf + (ci & cq->mask);
}

/* Its last 4 bytes in host order: counter 31:16, op_own 7:0. One load, so that they belong
 * together.
 */
static inline uint32_t
pmv_mlx5_queue_tail(const struct pmv_mlx5_cqe *cqe)
{
	_Static_assert(offsetof(struct pmv_mlx5_cqe, counter_be) == 60, "the last 4 bytes");
	return rte_be_to_cpu_32(__atomic_load_n(
		(const uint32_t *)(const void *)&cqe->counter_be, __ATOMIC_RELAXED));
}

/* A completion entry that the device has written and we have not read; NULL: none. */
static inline struct pmv_mlx5_cqe *
pmv_mlx5_queue_cqe(const struct pmv_mlx5_cq *cq, uint32_t ci)
{
	struct pmv_mlx5_cqe *cqe = pmv_mlx5_queue_place(cq, ci);
	uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_RELAXED);
	bool round = (ci & (cq->mask + 1)) != 0;

	if ((op_own & PMV_MLX5_CQE_OWNER) != round || op_own >> 4 == PMV_MLX5_CQE_INVALID)
		return NULL;
	return cqe;
}

/*
 * Entries of a QPN that were written and not read are of a queue pair that is gone, or of its time
 * before RESET: marked, so that poll drops them. libmlx5 does not, once we have asked for the queue
 * (mlx5dv_init_obj). Cold; at most the entries of the queue.
 */
void pmv_mlx5_queue_cq_clean(struct pmv_mlx5_cq *cq, uint32_t qpn);

uint32_t pmv_mlx5_queue_cq_ready(const struct pmv_mlx5_cq *cq);

#endif
