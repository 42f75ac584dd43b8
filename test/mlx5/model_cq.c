// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes completions in the order in which the model finishes work; the owner bit goes last.
 * Called by requester, responder and flush with the lock held. Raises no events: software polls.
 */
#include <errno.h>
#include <stdlib.h>

#include "test/mlx5/model_cq.h"

#define CI_MASK 0xffffffu

int
pmv_mlx5m_cq_create(const struct pmv_mlx5m_cq *wanted, uint32_t *ret_slot)
{
	struct pmv_mlx5m_cq *cq;
	int slot;

	if (wanted->nb == 0 || (wanted->nb & (wanted->nb - 1)) != 0 ||
		(wanted->cqe_bytes != 64 && wanted->cqe_bytes != 128))
		return -EINVAL;
	cq = malloc(sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	*cq = *wanted;
	slot = pmv_mlx5m_table_put(&pmv_mlx5m_state()->cqs, cq);
	if (slot < 0) {
		free(cq);
		return -ENOMEM;
	}
	cq->cqn = pmv_mlx5m_cqn_of((uint32_t)slot);
	*ret_slot = (uint32_t)slot;
	return 0;
}

int
pmv_mlx5m_cq_destroy(uint32_t slot)
{
	struct pmv_mlx5m_cq *cq = pmv_mlx5m_table_get(&pmv_mlx5m_state()->cqs, slot);

	if (cq->nb_users != 0)
		return -EBUSY;
	pmv_mlx5m_table_clear(&pmv_mlx5m_state()->cqs, slot);
	free(cq);
	return 0;
}

uint32_t
pmv_mlx5m_cq_inline_max(const struct pmv_mlx5m_cq *cq)
{
	return cq->cqe_bytes == 128 ? 64 : 32;
}

/* Judges the consumer index; true if there is room. */
static bool
has_room(struct pmv_mlx5m_cq *cq, uint32_t qpn)
{
	uint32_t record = pmv_mlx5m_record_get(cq->record_be, PMV_MLX5M_RECORD_CI);
	uint32_t used = (cq->pi - record) & CI_MASK;

	if (record > CI_MASK)
		pmv_mlx5m_violate(PMV_MLX5M_RECORD_RESERVED, qpn, "CQ %#x: consumer record %#x",
			cq->cqn, record);
	if (used > cq->nb) {
		pmv_mlx5m_violate(PMV_MLX5M_CQ_RECORD, qpn, "CQ %#x: consumer %u, producer %u",
			cq->cqn, record, cq->pi);
		return true;
	}
	if (used < cq->nb)
		return true;
	if (!cq->overrun)
		pmv_mlx5m_violate(PMV_MLX5M_CQ_OVERRUN, qpn, "CQ %#x: all %u entries are unread",
			cq->cqn, cq->nb);
	cq->overrun = true;
	return false;
}

static void
fill_identity(uint8_t *cqe, const struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_completion *done)
{
	const struct pmv_mlx5m_config *config = &pmv_mlx5m_state()->config;
	uint32_t qpn = pmv_mlx5m_bug(PMV_MLX5M_BUG_QPN_ZERO) ? 0 : qp->qpn;
	uint32_t wqe_opcode = done->wqe_opcode;
	uint32_t uidx = config->cqe_version == 0 ? 0 : qp->uidx & 0xffffffu;

	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_SEND_OPCODE_ZERO))
		wqe_opcode = 0;
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_UIDX_ZERO))
		uidx = 0;
	pmv_mlx5m_put32(cqe + PMV_MLX5M_CQE_UIDX, uidx);
	pmv_mlx5m_put32(cqe + PMV_MLX5M_CQE_QPN, wqe_opcode << 24 | qpn);
	cqe[PMV_MLX5M_CQE_COUNTER] = (uint8_t)(done->counter >> 8);
	cqe[PMV_MLX5M_CQE_COUNTER + 1] = (uint8_t)done->counter;
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_COUNTER_LE)) {
		cqe[PMV_MLX5M_CQE_COUNTER] = (uint8_t)done->counter;
		cqe[PMV_MLX5M_CQE_COUNTER + 1] = (uint8_t)(done->counter >> 8);
	}
}

static void
fill_result(uint8_t *cqe, const struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_completion *done)
{
	uint32_t source = pmv_mlx5m_bug(PMV_MLX5M_BUG_SOURCE_QPN) ? qp->qpn : done->source_qpn;
	uint32_t bytes_be = htobe32(done->bytes);
	uint32_t imm_be = done->imm_be;

	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_BYTE_COUNT_LE))
		bytes_be = done->bytes;
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_IMM_SWAPPED))
		imm_be = __builtin_bswap32(imm_be);
	if (done->opcode == PMV_MLX5M_CQE_REQ_ERR || done->opcode == PMV_MLX5M_CQE_RESP_ERR) {
		/* The vendor's syndrome has no public meaning; the model repeats the syndrome. */
		cqe[PMV_MLX5M_CQE_VENDOR] = done->syndrome;
		cqe[PMV_MLX5M_CQE_SYNDROME] = done->syndrome;
		return;
	}
	if (done->opcode != PMV_MLX5M_CQE_REQ)
		pmv_mlx5m_put32(cqe + PMV_MLX5M_CQE_RQPN, source & 0xffffffu);
	memcpy(cqe + PMV_MLX5M_CQE_IMM, &imm_be, sizeof(imm_be));
	memcpy(cqe + PMV_MLX5M_CQE_BYTES, &bytes_be, sizeof(bytes_be));
}

/* Opcode, format, solicited and owner: the byte that hands the entry to software. */
static uint8_t
own_byte(const struct pmv_mlx5m_cq *cq, const struct pmv_mlx5m_completion *done)
{
	uint32_t owner = (cq->pi & cq->nb) != 0;
	uint32_t format = 0;

	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_OWNER_INVERTED))
		owner ^= 1;
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_OWNER_STUCK))
		owner = 0;
	if (done->data != NULL)
		format = cq->cqe_bytes == 128 ? PMV_MLX5M_CQE_INLINE_64 : PMV_MLX5M_CQE_INLINE_32;
	return (uint8_t)((uint32_t)done->opcode << 4 | format | (done->solicited ? 2u : 0) | owner);
}

void
pmv_mlx5m_cq_write(struct pmv_mlx5m_cq *cq, const struct pmv_mlx5m_qp *qp,
	const struct pmv_mlx5m_completion *done)
{
	uint8_t image[64] = { 0 };
	uint8_t *entry;
	uint8_t *cqe;

	if (cq->overrun || !has_room(cq, qp->qpn))
		return;
	entry = cq->buf + (size_t)(cq->pi & (cq->nb - 1)) * cq->cqe_bytes;
	cqe = cq->cqe_bytes == 128 ? entry + 64 : entry;
	fill_identity(image, qp, done);
	fill_result(image, qp, done);
	if (done->data != NULL)
		memcpy(cq->cqe_bytes == 128 ? entry : image, done->data, done->bytes);
	memcpy(cqe, image, PMV_MLX5M_CQE_OWN);
	__atomic_store_n(&cqe[PMV_MLX5M_CQE_OWN], own_byte(cq, done), __ATOMIC_RELEASE);
	cq->pi = (cq->pi + 1) & CI_MASK;
	pmv_mlx5m_state()->counters.nb_cqes++;
}
