// SPDX-License-Identifier: BSD-3-Clause
/*
 * The responder. Packets of a message come in PSN order, each is executed when it comes; a
 * message that may not be executed is refused at its first packet. Acknowledges before it
 * completes: a program may exit as soon as it has its completion. Called by the engine with the
 * lock held.
 */
#include <stdlib.h>

#include "test/mlx5/model_cq.h"
#include "test/mlx5/model_mr.h"
#include "test/mlx5/model_qp.h"
#include "test/mlx5/model_responder.h"
#include "test/mlx5/model_wqe.h"

static void
answer(struct pmv_mlx5m_qp *qp, enum pmv_mlx5m_frame_type type, uint32_t psn, uint8_t nak)
{
	struct pmv_mlx5m_frame *frame = pmv_mlx5m_wire_new(qp, type, psn);

	if (frame == NULL)
		return;
	frame->nak = nak;
	frame->rnr_timer = qp->attr.min_rnr_timer;
	pmv_mlx5m_wire_send(frame);
}

static void
refuse(struct pmv_mlx5m_qp *qp, uint32_t psn, enum pmv_mlx5m_nak nak)
{
	answer(qp, PMV_MLX5M_FRAME_NAK, psn, (uint8_t)nak);
	pmv_mlx5m_qp_fail(qp);
}

/* An error of the receive entry: it completes with it. */
static void
refuse_recv(struct pmv_mlx5m_qp *qp, uint32_t psn, enum pmv_mlx5m_nak nak, uint8_t syndrome)
{
	struct pmv_mlx5m_completion done = {
		.opcode = PMV_MLX5M_CQE_RESP_ERR, .syndrome = syndrome, .counter = qp->rq_ci
	};

	qp->rq_ci++;
	refuse(qp, psn, nak);
	pmv_mlx5m_cq_write(qp->recv_cq, qp, &done);
}

/* Looks at the next receive entry for a SEND of this size; false when the message is refused. */
static bool
take_recv(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;
	const uint8_t *entry = qp->rq_buf + (size_t)(qp->rq_ci & (qp->rq_nb - 1)) * qp->rq_stride;

	if (!pmv_mlx5m_recv_parse(entry, qp->rq_stride, qp->qpn, &resp->sgl)) {
		refuse_recv(qp, frame->psn, PMV_MLX5M_NAK_OPERATION, PMV_MLX5M_SYND_LOCAL_QP_OP);
		return false;
	}
	if (frame->message_bytes > resp->sgl.bytes) {
		refuse_recv(qp, frame->psn, PMV_MLX5M_NAK_INVALID, PMV_MLX5M_SYND_LOCAL_LENGTH);
		return false;
	}
	if (frame->message_bytes > 0 &&
		!pmv_mlx5m_sgl_allowed(qp->pd, &resp->sgl, PMV_MLX5M_LOCAL_WRITE)) {
		refuse_recv(qp, frame->psn, PMV_MLX5M_NAK_OPERATION, PMV_MLX5M_SYND_LOCAL_PROT);
		return false;
	}
	resp->has_recv = true;
	resp->scatter_to_cqe = qp->scatter_recv && frame->message_bytes != 0 &&
			       frame->message_bytes <= pmv_mlx5m_cq_inline_max(qp->recv_cq);
	return true;
}

static bool
begin_send(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	if (pmv_mlx5m_qp_recv_ready(qp) > 0)
		return take_recv(qp, frame);
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_NO_RNR))
		return true;
	answer(qp, PMV_MLX5M_FRAME_NAK, frame->psn, PMV_MLX5M_NAK_RNR);
	return false;
}

/* A zero-length access looks at no key (IBTA 9.7.5.2.4). */
static bool
may_access(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame, uint32_t right)
{
	if (!(qp->attr.access & right)) {
		refuse(qp, frame->psn, PMV_MLX5M_NAK_INVALID);
		return false;
	}
	if (frame->message_bytes != 0 && pmv_mlx5m_mr_resolve(qp->pd, frame->rkey, frame->va,
						 frame->message_bytes, right) == NULL) {
		refuse(qp, frame->psn, PMV_MLX5M_NAK_ACCESS);
		return false;
	}
	return true;
}

static bool
begin_write(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	if (!may_access(qp, frame, PMV_MLX5M_REMOTE_WRITE))
		return false;
	if (!frame->has_imm)
		return true;
	if (pmv_mlx5m_qp_recv_ready(qp) == 0) {
		answer(qp, PMV_MLX5M_FRAME_NAK, frame->psn, PMV_MLX5M_NAK_RNR);
		return false;
	}
	qp->resp.has_recv = true; /* its segments are not used */
	return true;
}

static bool
place_send(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;

	if (!resp->has_recv) /* only by a planted bug */
		return true;
	if (resp->scatter_to_cqe) {
		memcpy(resp->small, frame->data, frame->bytes);
		return true;
	}
	if (pmv_mlx5m_sgl_scatter(qp->pd, &resp->sgl, frame->offset, frame->data, frame->bytes))
		return true;
	refuse_recv(qp, frame->psn, PMV_MLX5M_NAK_OPERATION, PMV_MLX5M_SYND_LOCAL_PROT);
	return false;
}

static bool
place_write(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	uint8_t *memory;

	if (frame->bytes == 0)
		return true;
	memory = pmv_mlx5m_mr_resolve(qp->pd, frame->rkey, frame->va + frame->offset, frame->bytes,
		PMV_MLX5M_REMOTE_WRITE);
	if (memory == NULL) {
		refuse(qp, frame->psn, PMV_MLX5M_NAK_ACCESS);
		return false;
	}
	pmv_mlx5m_copy_up(memory, frame->data, frame->bytes);
	return true;
}

static uint8_t
recv_opcode(const struct pmv_mlx5m_frame *frame)
{
	if (frame->type == PMV_MLX5M_FRAME_WRITE && !pmv_mlx5m_bug(PMV_MLX5M_BUG_WRONG_IMM_CODE))
		return PMV_MLX5M_CQE_WRITE_IMM;
	return frame->has_imm ? PMV_MLX5M_CQE_SEND_IMM : PMV_MLX5M_CQE_SEND;
}

static void
finish(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;
	struct pmv_mlx5m_completion done = { .opcode = recv_opcode(frame),
		.solicited = frame->solicited,
		.counter = qp->rq_ci,
		.bytes = frame->message_bytes,
		.imm_be = frame->imm_be,
		.source_qpn = frame->src_qpn };

	answer(qp, PMV_MLX5M_FRAME_ACK, frame->psn, 0);
	if (resp->has_recv) {
		if (frame->type == PMV_MLX5M_FRAME_SEND && resp->scatter_to_cqe)
			done.data = resp->small;
		qp->rq_ci++;
		pmv_mlx5m_cq_write(qp->recv_cq, qp, &done);
	}
	resp->has_recv = false;
	resp->scatter_to_cqe = false;
	resp->in_message = false;
}

static void
input_message(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;
	bool is_send = frame->type == PMV_MLX5M_FRAME_SEND;

	if (frame->offset == 0) {
		if (is_send ? !begin_send(qp, frame) : !begin_write(qp, frame))
			return;
		resp->in_message = true;
		resp->offset = 0;
	}
	if (!resp->in_message || frame->offset != resp->offset) {
		refuse(qp, frame->psn, PMV_MLX5M_NAK_INVALID);
		return;
	}
	if (is_send ? !place_send(qp, frame) : !place_write(qp, frame))
		return;
	resp->offset += frame->bytes;
	resp->psn = (resp->psn + 1) & PMV_MLX5M_PSN;
	if (frame->last)
		finish(qp, frame);
}

static void
input_read(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame, bool duplicate)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;
	uint32_t nb = (frame->message_bytes + qp->attr.path_mtu - 1) / qp->attr.path_mtu;

	if (!may_access(qp, frame, PMV_MLX5M_REMOTE_READ))
		return;
	resp->reading = true;
	resp->read_va = frame->va;
	resp->read_rkey = frame->rkey;
	resp->read_bytes = frame->message_bytes;
	resp->read_offset = 0;
	resp->read_psn = frame->psn;
	if (!duplicate)
		resp->psn = (resp->psn + (nb == 0 ? 1 : nb)) & PMV_MLX5M_PSN;
}

void
pmv_mlx5m_responder_input(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	uint32_t ahead = (frame->psn - qp->resp.psn) & PMV_MLX5M_PSN;
	bool duplicate = ahead >= 0x800000;

	if (frame->offset + frame->bytes > frame->message_bytes)
		return;
	if (ahead != 0 && !duplicate) {
		answer(qp, PMV_MLX5M_FRAME_NAK, frame->psn, PMV_MLX5M_NAK_SEQUENCE);
	} else if (frame->type == PMV_MLX5M_FRAME_READ) {
		input_read(qp, frame, duplicate);
	} else if (!duplicate) {
		input_message(qp, frame);
	} else if (frame->last) {
		answer(qp, PMV_MLX5M_FRAME_ACK, frame->psn, 0);
	}
}

bool
pmv_mlx5m_responder_step(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_responder *resp = &qp->resp;
	uint32_t left = resp->read_bytes - resp->read_offset;
	uint32_t bytes = left < qp->attr.path_mtu ? left : qp->attr.path_mtu;
	struct pmv_mlx5m_frame *frame;
	const uint8_t *memory;

	if (!resp->reading)
		return false;
	frame = pmv_mlx5m_wire_new(qp, PMV_MLX5M_FRAME_READ_DATA,
		resp->read_psn + resp->read_offset / qp->attr.path_mtu);
	if (frame == NULL)
		return false;
	frame->offset = resp->read_offset;
	frame->bytes = (uint16_t)bytes;
	frame->last = bytes == left;
	if (bytes != 0) {
		memory = pmv_mlx5m_mr_resolve(qp->pd, resp->read_rkey,
			resp->read_va + resp->read_offset, bytes, PMV_MLX5M_REMOTE_READ);
		if (memory == NULL) {
			free(frame);
			refuse(qp, resp->read_psn, PMV_MLX5M_NAK_ACCESS);
			return true;
		}
		memcpy(frame->data, memory, bytes);
	}
	resp->read_offset += bytes;
	resp->reading = !frame->last;
	pmv_mlx5m_wire_send(frame);
	return true;
}
