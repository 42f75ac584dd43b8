// SPDX-License-Identifier: BSD-3-Clause
/*
 * Judges doorbells at the moment of the store, while the thread that rings stands still: at that
 * moment the queue entry must be complete in memory and the doorbell record must cover it, since
 * the device may read both as soon as the store reaches it. Called by the fault handler with the
 * lock held.
 */
#include "test/mlx5/trap_uar.h"

static void
close_burst(struct pmv_mlx5m_bf *bf)
{
	if (bf->open && bf->pos != 8 && bf->pos != bf->want)
		pmv_mlx5m_violate(PMV_MLX5M_BURST_LENGTH, bf->qpn,
			"a burst of %u bytes for an entry of %u", bf->pos, bf->want);
	bf->open = false;
}

/* The doorbell record, read by hardware after the ring. */
static void
judge_record(struct pmv_mlx5m_qp *qp, uint16_t index, uint16_t nb_blocks)
{
	uint32_t record = pmv_mlx5m_record_get(qp->record_be, PMV_MLX5M_RECORD_SQ);
	uint16_t end = (uint16_t)(index + nb_blocks);
	uint16_t filled = (uint16_t)(record - qp->sq_ci);

	if (record > 0xffff)
		pmv_mlx5m_violate(PMV_MLX5M_RECORD_RESERVED, qp->qpn, "send record is %#x", record);
	if ((uint16_t)record != end)
		pmv_mlx5m_violate(PMV_MLX5M_RING_RECORD, qp->qpn,
			"entry %u ends at %u, the record says %u", index, end, record);
	if ((uint16_t)record == qp->sq_rung)
		pmv_mlx5m_violate(
			PMV_MLX5M_RING_STALE, qp->qpn, "entry %u, record %u", index, record);
	if (filled > qp->sq_nb) {
		pmv_mlx5m_violate(PMV_MLX5M_SQ_OVERFLOW, qp->qpn, "%u blocks in a ring of %u",
			filled, qp->sq_nb);
		return;
	}
	qp->sq_rung = (uint16_t)record;
}

static const uint8_t *
ring_word(const struct pmv_mlx5m_qp *qp, uint16_t index, uint32_t pos)
{
	uint32_t bytes = qp->sq_nb * PMV_MLX5M_BLOCK;

	return qp->sq_buf + (((uint32_t)index * PMV_MLX5M_BLOCK + pos) & (bytes - 1));
}

static void
judge_place(const struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_page *page, uint32_t reg)
{
	if (qp->page != page->index || (qp->bfreg >= 0 && (uint32_t)qp->bfreg != reg) ||
		reg >= PMV_MLX5M_BF_USER)
		pmv_mlx5m_violate(PMV_MLX5M_RING_UAR, qp->qpn,
			"rung on page %u register %u, created on page %u", page->index, reg,
			qp->page);
	if (qp->state != PMV_MLX5M_RTS && qp->state != PMV_MLX5M_ERR)
		pmv_mlx5m_violate(PMV_MLX5M_RING_STATE, qp->qpn, "state is %d", (int)qp->state);
}

/* The first word of a half: a doorbell. */
static void
ring(struct pmv_mlx5m_page *page, uint32_t reg, uint8_t half, const uint8_t *word)
{
	struct pmv_mlx5m_bf *bf = &page->bf[reg];
	uint16_t index = (uint16_t)(pmv_mlx5m_get32(word) >> 8);
	uint32_t qpn = pmv_mlx5m_get32(word + 4) >> 8;
	uint32_t ds = pmv_mlx5m_get32(word + 4) & PMV_MLX5M_DS_MAX;
	struct pmv_mlx5m_qp *qp = pmv_mlx5m_qp_find(qpn);

	close_burst(bf);
	pmv_mlx5m_state()->counters.nb_rings++;
	if (qp == NULL || qp->ctx != page->ctx || qp->sq_nb == 0) {
		pmv_mlx5m_violate(PMV_MLX5M_RING_QPN, qpn, "no such QP; the word is %08x %08x",
			pmv_mlx5m_get32(word), pmv_mlx5m_get32(word + 4));
		return;
	}
	qp->nb_rings++;
	bf->open = true;
	bf->prev_half = bf->half;
	bf->half = half;
	bf->pos = 8;
	bf->want = (uint16_t)((ds * 16 + 63) & ~63u);
	bf->index = index;
	bf->qpn = qpn;
	judge_place(qp, page, reg);
	if (memcmp(ring_word(qp, index, 0), word, 8) != 0)
		pmv_mlx5m_violate(PMV_MLX5M_RING_BYTES, qpn, "rung %08x %08x, memory has %08x %08x",
			pmv_mlx5m_get32(word), pmv_mlx5m_get32(word + 4),
			pmv_mlx5m_get32(ring_word(qp, index, 0)),
			pmv_mlx5m_get32(ring_word(qp, index, 4)));
	judge_record(qp, index, (uint16_t)((ds * 16 + 63) / 64));
}

/* A later word of a half: part of a BlueFlame copy. */
static void
burst(struct pmv_mlx5m_page *page, uint32_t reg, uint8_t half, uint32_t pos, const uint8_t *word)
{
	struct pmv_mlx5m_bf *bf = &page->bf[reg];
	struct pmv_mlx5m_qp *qp = pmv_mlx5m_qp_find(bf->qpn);

	if (!bf->open || half != bf->half || pos != bf->pos || qp == NULL) {
		pmv_mlx5m_violate(PMV_MLX5M_BURST_ORDER, bf->qpn,
			"byte %u of half %u, expected byte %u of half %u", pos, half, bf->pos,
			bf->half);
		return;
	}
	if (bf->pos == 8) {
		pmv_mlx5m_state()->counters.nb_bursts++;
		/* Two copies in one half could merge in a write-combining buffer. */
		if (bf->prev_half == half)
			pmv_mlx5m_violate(
				PMV_MLX5M_BURST_HALF, bf->qpn, "half %u, as the ring before", half);
	}
	if (bf->pos >= bf->want) {
		pmv_mlx5m_violate(PMV_MLX5M_BURST_LENGTH, bf->qpn,
			"a burst goes on behind the %u bytes of its entry", bf->want);
		return;
	}
	if (memcmp(ring_word(qp, bf->index, pos), word, 8) != 0)
		pmv_mlx5m_violate(PMV_MLX5M_BURST_BYTES, bf->qpn,
			"bytes %u to %u of entry %u differ", pos, pos + 7, bf->index);
	bf->pos = (uint16_t)(bf->pos + 8);
}

static void
arm(struct pmv_mlx5m_page *page, const uint8_t *word)
{
	uint32_t cqn = pmv_mlx5m_get32(word + 4) & 0xffffffu;
	struct pmv_mlx5m_cq *cq = pmv_mlx5m_cq_find(cqn);

	pmv_mlx5m_state()->counters.nb_arms++;
	if (cq == NULL || cq->ctx != page->ctx)
		pmv_mlx5m_violate(PMV_MLX5M_ARM_CQN, 0, "no CQ %#x", cqn);
}

static void
store_word(struct pmv_mlx5m_page *page, uint32_t offset, const uint8_t *word)
{
	uint32_t in_bf = offset - PMV_MLX5M_UAR_BF;
	uint32_t reg = in_bf / PMV_MLX5M_BF_BYTES;
	uint8_t half = (uint8_t)(in_bf % PMV_MLX5M_BF_BYTES / PMV_MLX5M_BF_HALF);
	uint32_t pos = in_bf % PMV_MLX5M_BF_HALF;

	if (offset == PMV_MLX5M_UAR_ARM) {
		arm(page, word);
	} else if (offset < PMV_MLX5M_UAR_BF || reg >= PMV_MLX5M_BF_PER_PAGE) {
		pmv_mlx5m_violate(
			PMV_MLX5M_STORE_REGISTER, 0, "page %u offset %#x", page->index, offset);
	} else if (pos == 0) {
		ring(page, reg, half, word);
	} else {
		burst(page, reg, half, pos, word);
	}
}

void
pmv_mlx5m_uar_store(
	struct pmv_mlx5m_page *page, uint32_t offset, const uint8_t *data, uint32_t bytes)
{
	uint32_t i;

	pmv_mlx5m_state()->counters.nb_stores++;
	if (offset + bytes > PMV_MLX5M_UAR_BYTES) {
		pmv_mlx5m_violate(PMV_MLX5M_STORE_SIZE, 0, "%u bytes at %#x", bytes, offset);
		return;
	}
	memcpy(page->alias + offset, data, bytes);
	if (bytes % 8 != 0 || offset % 8 != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_STORE_SIZE, 0, "%u bytes at %#x", bytes, offset);
		return;
	}
	for (i = 0; i < bytes; i += 8)
		store_word(page, offset + i, data + i);
}
