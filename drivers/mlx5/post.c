// SPDX-License-Identifier: BSD-3-Clause
/*
 * Builds queue entries; see post.h. Checks come before the first store into the ring, or before
 * head moves: what is behind head is nobody's.
 */
#include "drivers/mlx5/post.h"

#include <errno.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/doorbell.h"
#include "drivers/mlx5/word.h"
#include "drivers/mlx5/wqe.h"

struct op_shape {
	uint8_t opcode;
	bool has_remote;
	bool has_imm;
	bool may_solicit; /* consumes a receive at the peer */
};

static const struct op_shape shapes[] = {
	[PMV_WR_RDMA_WRITE] = { PMV_MLX5_OP_RDMA_WRITE, true, false, false },
	[PMV_WR_RDMA_WRITE_WITH_IMM] = { PMV_MLX5_OP_RDMA_WRITE_IMM, true, true, true },
	[PMV_WR_SEND] = { PMV_MLX5_OP_SEND, false, false, true },
	[PMV_WR_SEND_WITH_IMM] = { PMV_MLX5_OP_SEND_IMM, false, true, true },
	[PMV_WR_RDMA_READ] = { PMV_MLX5_OP_RDMA_READ, true, false, false },
};

/* Pointers to the payload; returns units, or -EINVAL: the message is too long. */
static inline int
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
		pmv_mlx5_wqe_data(seg, sge->length, sge->lkey, sge->addr);
		seg += PMV_MLX5_UNIT_BYTES;
		total += sge->length;
		nb++;
	}
	return likely(total <= sq->max_bytes) ? nb : -EINVAL;
}

/* The payload itself; the same. */
static inline int
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
	if (unlikely(seg == sq->end))
		seg = sq->buf;
	*(rte_be32_t *)(void *)seg = rte_cpu_to_be_32(PMV_MLX5_INLINE_FLAG | (uint32_t)total);
	to = seg + PMV_MLX5_INLINE_HEAD;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct pmv_sge *sge = &wr->sg_list[i];

		to = pmv_mlx5_wqe_copy(sq, to, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
	}
	return (int)((PMV_MLX5_INLINE_HEAD + total + PMV_MLX5_UNIT_BYTES - 1) /
		     PMV_MLX5_UNIT_BYTES);
}

static inline uint8_t
ctrl_flags(const struct pmv_mlx5_sq *sq, const struct op_shape *shape, uint32_t send_flags)
{
	uint8_t flags = 0;

	if (sq->sig_all || (send_flags & PMV_SEND_SIGNALED))
		flags = PMV_MLX5_CTRL_CQE_ALWAYS;
	if (unlikely(send_flags & PMV_SEND_FENCE))
		flags |= PMV_MLX5_CTRL_FENCE;
	if (unlikely(send_flags & PMV_SEND_SOLICITED) && shape->may_solicit)
		flags |= PMV_MLX5_CTRL_SOLICITED;
	return flags;
}

static __rte_noinline int
post_one(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr)
{
	uint32_t index = sq->head & sq->mask;
	uint8_t *seg = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES + PMV_MLX5_UNIT_BYTES;
	const struct op_shape *shape;
	uint32_t nb_units = 1;
	int nb;

	if (unlikely(sq->nb_posted == sq->stop))
		return -ENOMEM;
	if (unlikely((uint32_t)wr->opcode >= RTE_DIM(shapes) || wr->num_sge > sq->max_sge))
		return -EINVAL;
	shape = &shapes[wr->opcode];
	if (shape->has_remote) {
		pmv_mlx5_wqe_remote(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		seg += PMV_MLX5_UNIT_BYTES;
		nb_units = 2;
	}
	nb = wr->send_flags & PMV_SEND_INLINE ? put_inline(sq, seg, wr) : put_list(sq, seg, wr);
	if (unlikely(nb < 0))
		return nb;
	nb_units += (uint32_t)nb;
	pmv_mlx5_wqe_ctrl(sq, shape->opcode, nb_units, ctrl_flags(sq, shape, wr->send_flags),
		shape->has_imm ? wr->imm_data : 0);
	sq->sent[index] =
		(struct pmv_mlx5_sent){ .wr_id = wr->wr_id, .nb_posted = ++sq->nb_posted };
	sq->last = sq->head;
	sq->head = (uint16_t)(sq->head + (nb_units + 3) / 4);
	return 0;
}

/* The words at the head of the list, as many as fit before the ring's end. */
static inline uint32_t
post_words(struct pmv_mlx5_sq *sq, const struct pmv_send_wr *wr, uint32_t nb, uint32_t *flags)
{
	uint32_t head = sq->head;
	uint32_t index = head & sq->mask;
	uint8_t *to = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES;
	struct pmv_mlx5_sent *sent = &sq->sent[index];
	uint64_t ctrl = (uint64_t)head << 40 | sq->word_ctrl;
	uint32_t nb_posted = sq->nb_posted;
	const struct pmv_send_wr *first = wr, *end;
	uint32_t seen = 0;

	if (unlikely(!sq->words))
		return 0;
	nb = RTE_MIN(nb, RTE_MIN(sq->stop - nb_posted, sq->mask + 1 - index));
	for (end = wr + nb; wr != end; wr++) {
		uint32_t f = pmv_mlx5_word_flags(wr);

		if (unlikely(!pmv_mlx5_word_is(wr, f, PMV_SEND_SIGNALED | PMV_SEND_FLUSH)))
			break;
		seen |= f;
		pmv_mlx5_word_put(to, sent, ctrl, wr, f);
		sent->nb_posted = ++nb_posted;
		to += PMV_MLX5_BLOCK_BYTES;
		sent++;
		ctrl += 1ull << 40;
	}
	nb = (uint32_t)(wr - first);
	if (nb == 0)
		return 0;
	sq->nb_posted = nb_posted;
	sq->last = head + nb - 1;
	sq->head = (uint16_t)(head + nb);
	*flags |= seen;
	return nb;
}

/* One word, to be rung at once, on a queue pair that has nothing else to ring: what a program does
 * that waits for the answer. */
static inline bool
post_word_now(struct pmv_mlx5_qp *qp, const struct pmv_send_wr *wr)
{
	struct pmv_mlx5_sq *sq = &qp->sq;
	uint32_t nb_posted = sq->nb_posted;
	uint32_t head = sq->head;
	uint32_t index = head & sq->mask;
	uint32_t flags = pmv_mlx5_word_flags(wr) ^ PMV_SEND_FLUSH;
	uint8_t *to = sq->buf + (size_t)index * PMV_MLX5_BLOCK_BYTES;
	struct pmv_mlx5_sent *sent = &sq->sent[index];

	if (!pmv_mlx5_word_is(wr, flags, PMV_SEND_SIGNALED) || nb_posted == sq->stop || qp->on_ring)
		return false;
	pmv_mlx5_word_put(to, sent, (uint64_t)head << 40 | sq->word_ctrl, wr, flags);
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

static __rte_noinline int
post_list(struct pmv_mlx5_qp *qp, const struct pmv_send_wr *wr, uint32_t nb)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(qp->base.worker);
	uint32_t flags = 0;
	uint32_t i = 0;
	int err = 0;

	if (!qp->on_ring)
		qp->sq.waiting = qp->sq.head;
	while (i < nb) {
		i += post_words(&qp->sq, &wr[i], nb - i, &flags);
		if (i == nb)
			break;
		err = post_one(&qp->sq, &wr[i]);
		if (unlikely(err != 0))
			break;
		flags |= wr[i++].send_flags;
	}
	if (unlikely(i == 0))
		return err;
	w->stats.posted_send += i;
	if (flags & PMV_SEND_FLUSH) {
		pmv_mlx5_post_forget(qp);
		pmv_mlx5_doorbell_send(&qp->sq, &w->stats);
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

int
pmv_mlx5_post_send_word(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	if (nb == 1 && likely(base->state >= PMV_QPS_RTS) &&
		likely(post_word_now(pmv_mlx5_qp(base), wr)))
		return 1;
	return pmv_mlx5_post_send(base, wr, nb);
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
	uint32_t index = rq->head & rq->mask;
	uint8_t *seg = rq->buf + (size_t)index * rq->stride;
	uint32_t nb = 0;

	if (unlikely(rq->nb_out >= rq->max_wr))
		return -ENOMEM;
	if (unlikely(wr->num_sge > rq->max_sge))
		return -EINVAL;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct pmv_sge *sge = &wr->sg_list[i];

		if (sge->length == 0)
			continue;
		pmv_mlx5_wqe_data(
			seg + (size_t)nb * PMV_MLX5_UNIT_BYTES, sge->length, sge->lkey, sge->addr);
		nb++;
	}
	if (nb < rq->stride / PMV_MLX5_UNIT_BYTES)
		pmv_mlx5_wqe_data(seg + (size_t)nb * PMV_MLX5_UNIT_BYTES, 0, PMV_MLX5_LKEY_END, 0);
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
