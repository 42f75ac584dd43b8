// SPDX-License-Identifier: BSD-3-Clause
/*
 * The requester. One message is under way at a time: slower than hardware, but what software can
 * see through its queues is the same. Called by the engine with the lock held.
 */
#include <stdlib.h>

#include "test/mlx5/model_cq.h"
#include "test/mlx5/model_mr.h"
#include "test/mlx5/model_qp.h"
#include "test/mlx5/model_requester.h"
#include "test/mlx5/model_wqe.h"

#define RNR_FOREVER 7 /* IBTA: the retry count that means no limit */

/* IBTA table 45: time in 10 us by the code of an RNR NAK. */
static const uint32_t rnr_10us[32] = { 65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
	192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
	32768, 49152 };

/* IBTA 9.7.6.1.3: 4.096 us times 2 to the code; 0 waits for ever. */
static uint64_t
ack_deadline(const struct pmv_mlx5m_qp *qp)
{
	if (qp->attr.timeout == 0)
		return UINT64_MAX;
	return pmv_mlx5m_now_us() + ((uint64_t)4096 << qp->attr.timeout) / 1000 + 1;
}

static bool
is_read(const struct pmv_mlx5m_qp *qp)
{
	return qp->req.wqe.opcode == PMV_MLX5M_OP_READ;
}

static void
fail(struct pmv_mlx5m_qp *qp, uint8_t syndrome)
{
	struct pmv_mlx5m_completion done = { .opcode = PMV_MLX5M_CQE_REQ_ERR,
		.wqe_opcode = qp->req.wqe.opcode,
		.syndrome = syndrome,
		.counter = qp->req.wqe.index };

	if (syndrome == PMV_MLX5M_SYND_REMOTE_ACCESS && pmv_mlx5m_bug(PMV_MLX5M_BUG_SYNDROME))
		done.syndrome = PMV_MLX5M_SYND_REMOTE_OP;
	qp->sq_ci = (uint16_t)(qp->sq_ci + qp->req.wqe.nb_blocks);
	pmv_mlx5m_qp_fail(qp);
	pmv_mlx5m_cq_write(qp->send_cq, qp, &done);
}

static void
complete(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	struct pmv_mlx5m_completion done = { .opcode = PMV_MLX5M_CQE_REQ,
		.wqe_opcode = req->wqe.opcode,
		.counter = req->wqe.index };

	if (is_read(qp)) {
		done.bytes = req->wqe.bytes;
		done.data = req->wqe.is_inline ? req->wqe.data : NULL;
	}
	req->psn = (req->psn_base + req->nb_packets) & PMV_MLX5M_PSN;
	req->phase = PMV_MLX5M_IDLE;
	qp->sq_ci = (uint16_t)(qp->sq_ci + req->wqe.nb_blocks);
	if ((req->wqe.signalled || pmv_mlx5m_bug(PMV_MLX5M_BUG_CE_ALWAYS)) &&
		!pmv_mlx5m_bug(PMV_MLX5M_BUG_CE_NEVER))
		pmv_mlx5m_cq_write(qp->send_cq, qp, &done);
}

static void
begin(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	struct pmv_mlx5m_wqe_place place = { .ring = qp->sq_buf,
		.nb_blocks = qp->sq_nb,
		.index = qp->sq_ci,
		.end = qp->sq_rung,
		.qpn = qp->qpn };

	pmv_mlx5m_state()->counters.nb_wqes++;
	if (!pmv_mlx5m_wqe_parse(&place, &req->wqe)) {
		fail(qp, PMV_MLX5M_SYND_LOCAL_QP_OP);
		return;
	}
	if (!req->wqe.is_inline && !pmv_mlx5m_sgl_allowed(qp->pd, &req->wqe.sgl,
					   is_read(qp) ? PMV_MLX5M_LOCAL_WRITE : 0)) {
		fail(qp, PMV_MLX5M_SYND_LOCAL_PROT);
		return;
	}
	/* Small READ data may come in the CQE, for which the library then looks (scatter-to-CQE).
	 */
	if (is_read(qp) && qp->scatter_send && req->wqe.signalled && req->wqe.bytes != 0 &&
		req->wqe.bytes <= pmv_mlx5m_cq_inline_max(qp->send_cq))
		req->wqe.is_inline = true;
	req->psn_base = req->psn;
	req->nb_packets = (req->wqe.bytes + qp->attr.path_mtu - 1) / qp->attr.path_mtu;
	if (req->nb_packets == 0)
		req->nb_packets = 1;
	req->offset = 0;
	req->retries = qp->attr.retry_cnt;
	req->rnr_retries = qp->attr.rnr_retry;
	req->phase = PMV_MLX5M_SENDING;
}

static void
send_read(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	struct pmv_mlx5m_frame *frame;

	frame = pmv_mlx5m_wire_new(qp, PMV_MLX5M_FRAME_READ, req->psn_base);
	if (frame == NULL)
		return;
	frame->va = req->wqe.remote_va;
	frame->rkey = req->wqe.rkey;
	frame->message_bytes = req->wqe.bytes;
	frame->last = 1;
	pmv_mlx5m_wire_send(frame);
	req->offset = 0;
	req->phase = PMV_MLX5M_WAITING;
	req->deadline_us = ack_deadline(qp);
}

static void
describe(struct pmv_mlx5m_frame *frame, const struct pmv_mlx5m_wqe *wqe)
{
	frame->va = wqe->remote_va;
	frame->rkey = wqe->rkey;
	frame->message_bytes = wqe->bytes;
	frame->imm_be = wqe->imm_be;
	frame->has_imm =
		wqe->opcode == PMV_MLX5M_OP_SEND_IMM || wqe->opcode == PMV_MLX5M_OP_WRITE_IMM;
	frame->solicited = wqe->solicited;
}

static void
send_packet(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	struct pmv_mlx5m_wqe *wqe = &req->wqe;
	uint32_t left = wqe->bytes - req->offset;
	uint32_t bytes = left < qp->attr.path_mtu ? left : qp->attr.path_mtu;
	bool is_send = wqe->opcode == PMV_MLX5M_OP_SEND || wqe->opcode == PMV_MLX5M_OP_SEND_IMM;
	struct pmv_mlx5m_frame *frame;

	frame = pmv_mlx5m_wire_new(qp, is_send ? PMV_MLX5M_FRAME_SEND : PMV_MLX5M_FRAME_WRITE,
		req->psn_base + req->offset / qp->attr.path_mtu);
	if (frame == NULL)
		return;
	describe(frame, wqe);
	frame->offset = req->offset;
	frame->bytes = (uint16_t)bytes;
	frame->last = bytes == left;
	if (wqe->is_inline) {
		memcpy(frame->data, wqe->data + req->offset, bytes);
	} else if (!pmv_mlx5m_sgl_gather(qp->pd, &wqe->sgl, req->offset, frame->data, bytes)) {
		free(frame);
		fail(qp, PMV_MLX5M_SYND_LOCAL_PROT);
		return;
	}
	req->offset += bytes;
	if (frame->last) {
		req->phase = PMV_MLX5M_WAITING;
		req->deadline_us = ack_deadline(qp);
	}
	pmv_mlx5m_wire_send(frame);
}

/* Sends the message under way again, unless its retries are used up. */
static void
retry(struct pmv_mlx5m_qp *qp)
{
	if (qp->req.retries == 0) {
		fail(qp, PMV_MLX5M_SYND_RETRY);
		return;
	}
	qp->req.retries--;
	qp->req.offset = 0;
	qp->req.phase = PMV_MLX5M_SENDING;
}

bool
pmv_mlx5m_requester_step(struct pmv_mlx5m_qp *qp)
{
	switch (qp->req.phase) {
	case PMV_MLX5M_IDLE:
		if (qp->sq_ci == qp->sq_rung)
			return false;
		begin(qp);
		return true;
	case PMV_MLX5M_SENDING:
		if (is_read(qp))
			send_read(qp);
		else
			send_packet(qp);
		return true;
	case PMV_MLX5M_WAITING:
		if (pmv_mlx5m_now_us() < qp->req.deadline_us)
			return false;
		retry(qp);
		return true;
	case PMV_MLX5M_BACKOFF:
		if (pmv_mlx5m_now_us() < qp->req.deadline_us)
			return false;
		qp->req.offset = 0;
		qp->req.phase = PMV_MLX5M_SENDING;
		return true;
	}
	return false;
}

static void
input_nak(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_requester *req = &qp->req;

	switch ((enum pmv_mlx5m_nak)frame->nak) {
	case PMV_MLX5M_NAK_SEQUENCE:
		retry(qp);
		break;
	case PMV_MLX5M_NAK_INVALID:
		fail(qp, PMV_MLX5M_SYND_REMOTE_INVALID);
		break;
	case PMV_MLX5M_NAK_ACCESS:
		fail(qp, PMV_MLX5M_SYND_REMOTE_ACCESS);
		break;
	case PMV_MLX5M_NAK_OPERATION:
		fail(qp, PMV_MLX5M_SYND_REMOTE_OP);
		break;
	case PMV_MLX5M_NAK_RNR:
		if (req->rnr_retries == 0) {
			fail(qp, PMV_MLX5M_SYND_RNR_RETRY);
			break;
		}
		if (req->rnr_retries != RNR_FOREVER)
			req->rnr_retries--;
		req->phase = PMV_MLX5M_BACKOFF;
		req->deadline_us =
			pmv_mlx5m_now_us() + (uint64_t)rnr_10us[frame->rnr_timer & 31] * 10;
		break;
	}
}

static void
input_data(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	uint32_t left = req->wqe.bytes - req->offset;
	bool drop = pmv_mlx5m_bug(PMV_MLX5M_BUG_READ_SHORT) && frame->last;

	if (frame->offset != req->offset || frame->bytes > left)
		return;
	if (req->wqe.is_inline)
		memcpy(req->wqe.data + req->offset, frame->data, frame->bytes);
	else if (!drop && !pmv_mlx5m_sgl_scatter(
				  qp->pd, &req->wqe.sgl, req->offset, frame->data, frame->bytes)) {
		fail(qp, PMV_MLX5M_SYND_LOCAL_PROT);
		return;
	}
	req->offset += frame->bytes;
	req->deadline_us = ack_deadline(qp);
	if (frame->last)
		complete(qp);
}

void
pmv_mlx5m_requester_input(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_requester *req = &qp->req;
	uint32_t ahead = (frame->psn - req->psn_base) & PMV_MLX5M_PSN;

	if (qp->state != PMV_MLX5M_RTS || ahead >= req->nb_packets ||
		(req->phase != PMV_MLX5M_SENDING && req->phase != PMV_MLX5M_WAITING))
		return;
	if (frame->type == PMV_MLX5M_FRAME_NAK) {
		input_nak(qp, frame);
	} else if (frame->type == PMV_MLX5M_FRAME_READ_DATA) {
		if (is_read(qp) && req->phase == PMV_MLX5M_WAITING)
			input_data(qp, frame);
	} else if (!is_read(qp) && ahead == req->nb_packets - 1) {
		complete(qp);
	}
}

uint64_t
pmv_mlx5m_requester_deadline(const struct pmv_mlx5m_qp *qp)
{
	if (qp->state != PMV_MLX5M_RTS ||
		(qp->req.phase != PMV_MLX5M_WAITING && qp->req.phase != PMV_MLX5M_BACKOFF))
		return UINT64_MAX;
	return qp->req.deadline_us;
}
