// SPDX-License-Identifier: BSD-3-Clause
/*
 * Builds queue entries; see post.h. Checks come before the first store into the ring, or before
 * head moves: what is behind head is nobody's.
 */
#include "drivers/mlx5/post.h"

#include <errno.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/doorbell.h"
#include "drivers/mlx5/short.h"
#include "drivers/mlx5/wqe.h"

struct op_shape {
	uint64_t opcode;  /* where pmv_mlx5_wqe_ctrl() wants it */
	uint32_t solicit; /* PMV_SEND_SOLICITED if it consumes a receive at the peer */
	bool has_remote;
	bool has_imm;
};

#define OPCODE(name) ((uint64_t)PMV_MLX5_OP_##name << 32)
static const struct op_shape shapes[] = {
	[PMV_WR_RDMA_WRITE] = { OPCODE(RDMA_WRITE), 0, true, false },
	[PMV_WR_RDMA_WRITE_WITH_IMM] = { OPCODE(RDMA_WRITE_IMM), PMV_SEND_SOLICITED, true, true },
	[PMV_WR_SEND] = { OPCODE(SEND), PMV_SEND_SOLICITED, false, false },
	[PMV_WR_SEND_WITH_IMM] = { OPCODE(SEND_IMM), PMV_SEND_SOLICITED, false, true },
	[PMV_WR_RDMA_READ] = { OPCODE(RDMA_READ), 0, true, false },
};

/* Pointers to the payload; returns units, or -EINVAL: the message is too long. */
static __rte_noinline int
put_list(const struct pmv_mlx5_sq *sq, uint8_t *seg, const struct pmv_send_wr *wr)
{
	uint64_t total = 0;
	int nb = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct pmv_sge *sge = &wr->sg_list[i];

		if (sge->length == 0)
			continue;
		if (unlikely(seg == sq->end))
			seg = sq->buf;
		pmv_mlx5_wqe_put(seg, pmv_mlx5_wqe_data(sge));
		seg += PMV_MLX5_UNIT_BYTES;
		total += sge->length;
		nb++;
	}
	return likely(total <= sq->max_bytes) ? nb : -EINVAL;
}

/* The payload itself, in whatever pieces; the same. */
static __rte_noinline int
put_inline(const struct pmv_mlx5_sq *sq, uint8_t *seg, const struct pmv_send_wr *wr)
{
	uint64_t total = 0;
	uint8_t *to;

	for (uint32_t i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	if (unlikely(total > sq->max_inline || wr->opcode == PMV_WR_RDMA_READ))
		return -EINVAL;
	if (total == 0)
		return 0;
	*(rte_be32_t *)(void *)seg = rte_cpu_to_be_32(PMV_MLX5_INLINE_FLAG | (uint32_t)total);
	to = seg + PMV_MLX5_INLINE_HEAD;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct pmv_sge *sge = &wr->sg_list[i];

		to = pmv_mlx5_wqe_copy(sq, to, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
	}
	return (int)((PMV_MLX5_INLINE_HEAD + (uint32_t)total + PMV_MLX5_UNIT_BYTES - 1) /
		     PMV_MLX5_UNIT_BYTES);
}

/* The payload of one piece, which nearly all are: a pointer, or bytes that fit into the entry's
 * first block. Others go the long way. */
static inline int
put_payload(const struct pmv_mlx5_sq *sq, uint8_t *seg, const struct pmv_send_wr *wr)
{
	const struct pmv_sge *sge = wr->sg_list;

	if (wr->send_flags & PMV_SEND_INLINE) {
		uint32_t length;

		if (unlikely(wr->num_sge != 1))
			return put_inline(sq, seg, wr);
		length = sge->length;
		if (length - 1 >= PMV_MLX5_WQE_FLAT_MAX || length > sq->max_inline ||
			wr->opcode == PMV_WR_RDMA_READ)
			return put_inline(sq, seg, wr);
		*(rte_be32_t *)(void *)seg = rte_cpu_to_be_32(PMV_MLX5_INLINE_FLAG | length);
		pmv_mlx5_wqe_copy_flat(
			seg + PMV_MLX5_INLINE_HEAD, (const uint8_t *)(uintptr_t)sge->addr, length);
		return length <= PMV_MLX5_UNIT_BYTES - PMV_MLX5_INLINE_HEAD ? 1 : 2;
	}
	if (unlikely(wr->num_sge != 1 || sge->length == 0 || sge->length > sq->max_bytes))
		return put_list(sq, seg, wr);
	pmv_mlx5_wqe_put(seg, pmv_mlx5_wqe_data(sge));
	return 1;
}

/* Each flag is a bit here and a bit there. */
static inline uint32_t
ctrl_flags(const struct op_shape *shape, uint32_t send_flags)
{
	_Static_assert(PMV_SEND_SIGNALED << 2 == PMV_MLX5_CTRL_CQE_ALWAYS &&
			       PMV_SEND_FENCE << 7 == PMV_MLX5_CTRL_FENCE &&
			       PMV_SEND_SOLICITED >> 1 == PMV_MLX5_CTRL_SOLICITED,
		"shifts");
	return (send_flags & PMV_SEND_SIGNALED) << 2 | (send_flags & PMV_SEND_FENCE) << 7 |
	       (send_flags & shape->solicit) >> 1;
}

/* A request of any kind. */
static __rte_noinline int
post_one(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr)
{
	uint64_t head = sq->head;
	uint32_t index = (uint32_t)head & sq->mask;
	uint8_t *entry = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES;
	uint8_t *seg = entry + PMV_MLX5_UNIT_BYTES;
	struct pmv_mlx5_sent *sent = &sq->sent[index];
	uint32_t send_flags = wr->send_flags | sq->sig_all;
	uint32_t nb_posted = sq->nb_posted;
	const struct op_shape *shape;
	uint32_t nb_units = 1;
	int nb;

	if (unlikely(nb_posted == sq->stop))
		return -ENOMEM;
	if (unlikely((uint32_t)wr->opcode >= RTE_DIM(shapes) || wr->num_sge > sq->max_sge))
		return -EINVAL;
	shape = &shapes[wr->opcode];
	if (shape->has_remote) {
		pmv_mlx5_wqe_put(seg, pmv_mlx5_wqe_remote(wr));
		seg += PMV_MLX5_UNIT_BYTES;
		nb_units = 2;
	}
	nb = put_payload(sq, seg, wr);
	if (unlikely(nb < 0))
		return nb;
	nb_units += (uint32_t)nb;
	pmv_mlx5_wqe_ctrl(entry, head << 40 | shape->opcode | sq->qpn_shifted | nb_units,
		ctrl_flags(shape, send_flags), shape->has_imm ? wr->imm_data : 0);
	sent->wr_id = wr->wr_id;
	sent->nb_posted = nb_posted + 1;
	sq->nb_posted = nb_posted + 1;
	sq->last = (uint32_t)head;
	sq->head = (uint16_t)(head + (nb_units + 3) / 4);
	return 0;
}

#define SHORT_FLAGS ((uint32_t)(PMV_SEND_SIGNALED | PMV_SEND_FLUSH))

/* Short ones of one kind at the head of the list, as many as fit before the ring's end. */
static __rte_always_inline uint32_t
post_shorts(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr, uint32_t nb, uint32_t *flags,
	bool is_word)
{
	uint32_t head = sq->head;
	uint32_t index = head & sq->mask;
	uint8_t *to = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES;
	struct pmv_mlx5_sent *sent = &sq->sent[index];
	uint64_t ctrl = (uint64_t)head << 40 | sq->short_ctrl;
	uint32_t nb_posted = sq->nb_posted;
	const struct pmv_send_wr *first = wr, *end;
	uint32_t seen = 0;

	nb = RTE_MIN(nb, RTE_MIN(sq->stop - nb_posted, sq->mask + 1 - index));
	for (end = wr + nb; wr != end; wr++) {
		uint32_t f = pmv_mlx5_short_flags(wr);

		if (unlikely(!pmv_mlx5_short_is(wr, f, SHORT_FLAGS, is_word)))
			break;
		seen |= f;
		pmv_mlx5_short_put(to, sent, ctrl, wr, f, is_word);
		sent->nb_posted = ++nb_posted;
		to += PMV_MLX5_BLOCK_BYTES;
		sent++;
		ctrl += 1ull << 40;
	}
	nb = (uint32_t)(wr - first);
	if (unlikely(nb == 0))
		return 0;
	sq->nb_posted = nb_posted;
	sq->last = head + nb - 1;
	sq->head = (uint16_t)(head + nb);
	*flags |= seen;
	return nb;
}

static __rte_noinline uint32_t
post_words(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr, uint32_t nb, uint32_t *flags)
{
	return post_shorts(sq, wr, nb, flags, true);
}

static __rte_noinline uint32_t
post_others(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr, uint32_t nb, uint32_t *flags)
{
	return post_shorts(sq, wr, nb, flags, false);
}

/* A short one, to be rung at once, on a queue pair that has nothing else to ring: what a program
 * does that waits for the answer. */
static __rte_always_inline bool
post_now(struct pmv_mlx5_qp *qp, const struct pmv_send_wr *wr, bool is_word)
{
	struct pmv_mlx5_sq *sq = &qp->sq;
	uint32_t nb_posted = sq->nb_posted;
	uint32_t head = sq->head;
	uint32_t index = head & sq->mask;
	uint32_t flags = pmv_mlx5_short_flags(wr) ^ PMV_SEND_FLUSH;
	uint8_t *to = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES;
	struct pmv_mlx5_sent *sent = &sq->sent[index];

	if (!pmv_mlx5_short_is(wr, flags, PMV_SEND_SIGNALED, is_word) || nb_posted == sq->stop ||
		qp->on_ring)
		return false;
	pmv_mlx5_short_put(to, sent, (uint64_t)head << 40 | sq->short_ctrl, wr, flags, is_word);
	sent->nb_posted = nb_posted + 1;
	sq->nb_posted = nb_posted + 1;
	sq->head = (uint16_t)(head + 1);
	pmv_mlx5_doorbell_block(sq, (uint16_t)(head + 1), to);
	return true;
}

void
pmv_mlx5_post_forget(struct pmv_mlx5_qp *qp)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(qp->base.worker);

	if (!qp->on_ring)
		return;
	TAILQ_REMOVE(&w->to_ring, qp, ring_link);
	qp->on_ring = false;
}

static inline void
ring_later(struct pmv_mlx5_worker *w, struct pmv_mlx5_qp *qp)
{
	if (qp->on_ring)
		return;
	qp->on_ring = true;
	TAILQ_INSERT_TAIL(&w->to_ring, qp, ring_link);
}

/* What of the list can be taken in one go: how many (1 at least), or why not. */
static inline int
post_some(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr, uint32_t nb, uint32_t *flags)
{
	uint32_t f = pmv_mlx5_short_flags(wr);
	uint32_t nb_taken;
	int err;

	if (sq->shorts && pmv_mlx5_short_is(wr, f, SHORT_FLAGS, true)) {
		nb_taken = post_words(sq, wr, nb, flags);
	} else if (sq->shorts && pmv_mlx5_short_is(wr, f, SHORT_FLAGS, false)) {
		nb_taken = post_others(sq, wr, nb, flags);
	} else {
		err = post_one(sq, wr);
		*flags |= err == 0 ? wr->send_flags : 0;
		return err == 0 ? 1 : err;
	}
	return nb_taken > 0 ? (int)nb_taken : -ENOMEM;
}

static __rte_noinline int
post_list(struct pmv_mlx5_qp *qp, const struct pmv_send_wr *wr, uint32_t nb)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(qp->base.worker);
	struct pmv_mlx5_sq *sq = &qp->sq;
	uint32_t flags = 0;
	uint32_t i = 0;
	int err = 0;

	if (!qp->on_ring)
		sq->waiting = sq->head;
	while (i < nb) {
		err = post_some(sq, &wr[i], nb - i, &flags);
		if (unlikely(err < 0))
			break;
		i += (uint32_t)err;
	}
	if (unlikely(i == 0))
		return err;
	w->stats.posted_send += i;
	if (flags & PMV_SEND_FLUSH) {
		pmv_mlx5_post_forget(qp);
		pmv_mlx5_doorbell_send(sq, &w->stats);
	} else {
		ring_later(w, qp);
	}
	return (int)i;
}

int
pmv_mlx5_post_send(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	if (unlikely(base->state < PMV_QPS_RTS))
		return nb == 0 ? 0 : -ENOTCONN;
	return post_list(pmv_mlx5_qp(base), wr, nb);
}

/* Not a word, or not now. */
static __rte_noinline int
post_send_other(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	if (nb == 1 && base->state >= PMV_QPS_RTS && post_now(pmv_mlx5_qp(base), wr, false))
		return 1;
	return pmv_mlx5_post_send(base, wr, nb);
}

int
pmv_mlx5_post_send_short(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	if (nb == 1 && likely(base->state >= PMV_QPS_RTS) &&
		likely(post_now(pmv_mlx5_qp(base), wr, true)))
		return 1;
	return post_send_other(base, wr, nb);
}

uint32_t
pmv_mlx5_post_flush(struct pmv_worker *base)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(base);
	struct pmv_mlx5_qp *qp;

	while ((qp = TAILQ_FIRST(&w->to_ring)) != NULL) {
		TAILQ_REMOVE(&w->to_ring, qp, ring_link);
		qp->on_ring = false;
		pmv_mlx5_doorbell_send(&qp->sq, &w->stats);
	}
	return 0;
}

static inline int
post_recv_one(struct pmv_mlx5_rq *rq, const struct pmv_recv_wr *wr)
{
	static const struct pmv_sge end = { .lkey = PMV_MLX5_LKEY_END };
	uint32_t index = rq->head & rq->mask;
	uint8_t *seg = rq->buf + (size_t)index * rq->stride;
	uint32_t nb = 0;

	if (unlikely(rq->nb_out >= rq->max_wr))
		return -ENOMEM;
	if (unlikely(wr->num_sge > rq->max_sge))
		return -EINVAL;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct pmv_sge *sge = &wr->sg_list[i];

		if (unlikely(sge->length == 0))
			continue;
		pmv_mlx5_wqe_put(seg, pmv_mlx5_wqe_data(sge));
		seg += PMV_MLX5_UNIT_BYTES;
		nb++;
	}
	if (nb < rq->stride / PMV_MLX5_UNIT_BYTES)
		pmv_mlx5_wqe_put(seg, pmv_mlx5_wqe_data(&end));
	rq->wr_id[index] = wr->wr_id;
	rq->head++;
	rq->nb_out++;
	return 0;
}

int
pmv_mlx5_post_recv(struct pmv_qp *base, const struct pmv_recv_wr *wr, uint32_t nb)
{
	struct pmv_mlx5_qp *qp = pmv_mlx5_qp(base);
	uint32_t i;
	int err = 0;

	if (unlikely(base->state == PMV_QPS_RESET))
		return nb == 0 ? 0 : -ENOTCONN;
	for (i = 0; i < nb; i++) {
		err = post_recv_one(&qp->rq, &wr[i]);
		if (unlikely(err != 0))
			break;
	}
	if (unlikely(i == 0))
		return err;
	pmv_mlx5_worker(base->worker)->stats.posted_recv += i;
	pmv_mlx5_doorbell_recv(&qp->rq);
	return (int)i;
}
