// SPDX-License-Identifier: BSD-3-Clause
/*
 * The life of a QP. Called by commands, requester and responder with the lock held. The checks of
 * pmv_mlx5m_qp_modify stand for those of kernel and firmware (IBTA 11.2.5.2, table 91: attributes
 * by transition); those of SQD and SQE are left out, since no RC user here goes there.
 */
#include <errno.h>
#include <stdlib.h>

#include "test/mlx5/model_cq.h"
#include "test/mlx5/model_qp.h"
#include "test/mlx5/model_wqe.h"

struct transition {
	enum pmv_mlx5m_qp_state from;
	enum pmv_mlx5m_qp_state to;
	uint32_t required;
	uint32_t optional;
};

static const struct transition transitions[] = {
	{ PMV_MLX5M_RESET, PMV_MLX5M_INIT,
		PMV_MLX5M_ATTR_PKEY | PMV_MLX5M_ATTR_PORT | PMV_MLX5M_ATTR_ACCESS, 0 },
	{ PMV_MLX5M_INIT, PMV_MLX5M_INIT, 0,
		PMV_MLX5M_ATTR_PKEY | PMV_MLX5M_ATTR_PORT | PMV_MLX5M_ATTR_ACCESS },
	{ PMV_MLX5M_INIT, PMV_MLX5M_RTR,
		PMV_MLX5M_ATTR_AV | PMV_MLX5M_ATTR_MTU | PMV_MLX5M_ATTR_DEST_QPN |
			PMV_MLX5M_ATTR_RQ_PSN | PMV_MLX5M_ATTR_DEST_ATOMIC | PMV_MLX5M_ATTR_MIN_RNR,
		PMV_MLX5M_ATTR_ACCESS | PMV_MLX5M_ATTR_PKEY },
	{ PMV_MLX5M_RTR, PMV_MLX5M_RTS,
		PMV_MLX5M_ATTR_TIMEOUT | PMV_MLX5M_ATTR_RETRY | PMV_MLX5M_ATTR_RNR_RETRY |
			PMV_MLX5M_ATTR_SQ_PSN | PMV_MLX5M_ATTR_RD_ATOMIC,
		PMV_MLX5M_ATTR_ACCESS | PMV_MLX5M_ATTR_MIN_RNR },
	{ PMV_MLX5M_RTS, PMV_MLX5M_RTS, 0, PMV_MLX5M_ATTR_ACCESS | PMV_MLX5M_ATTR_MIN_RNR },
};

static const struct transition *
find_transition(enum pmv_mlx5m_qp_state from, enum pmv_mlx5m_qp_state to)
{
	unsigned int i;

	for (i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	}
	return NULL;
}

int
pmv_mlx5m_qp_create(const struct pmv_mlx5m_qp *wanted, uint32_t *ret_slot)
{
	struct pmv_mlx5m_qp *qp;
	int slot;

	if ((wanted->sq_nb & (wanted->sq_nb - 1)) != 0 ||
		(wanted->rq_nb & (wanted->rq_nb - 1)) != 0)
		return -EINVAL;
	qp = malloc(sizeof(*qp));
	if (qp == NULL)
		return -ENOMEM;
	*qp = *wanted;
	slot = pmv_mlx5m_table_put(&pmv_mlx5m_state()->qps, qp);
	if (slot < 0) {
		free(qp);
		return -ENOMEM;
	}
	qp->qpn = pmv_mlx5m_qpn_of((uint32_t)slot);
	qp->pd->nb_users++;
	qp->send_cq->nb_users++;
	qp->recv_cq->nb_users++;
	*ret_slot = (uint32_t)slot;
	return 0;
}

void
pmv_mlx5m_qp_destroy(uint32_t slot)
{
	struct pmv_mlx5m_qp *qp = pmv_mlx5m_table_get(&pmv_mlx5m_state()->qps, slot);

	qp->pd->nb_users--;
	qp->send_cq->nb_users--;
	qp->recv_cq->nb_users--;
	pmv_mlx5m_table_clear(&pmv_mlx5m_state()->qps, slot);
	free(qp);
}

static bool
attributes_fit(const struct pmv_mlx5m_modify *m)
{
	if ((m->mask & PMV_MLX5M_ATTR_PKEY) && m->pkey_index != 0)
		return false;
	if ((m->mask & PMV_MLX5M_ATTR_PORT) && m->attr.port_num != 1)
		return false;
	if ((m->mask & PMV_MLX5M_ATTR_MTU) && m->attr.path_mtu == 0)
		return false;
	/* RoCE has no addresses but GIDs. */
	if ((m->mask & PMV_MLX5M_ATTR_AV) &&
		(!m->is_global || m->attr.sgid_index >= PMV_MLX5M_GIDS))
		return false;
	return true;
}

static void
take_attributes(struct pmv_mlx5m_qp_attr *attr, const struct pmv_mlx5m_modify *m)
{
	const struct pmv_mlx5m_qp_attr *from = &m->attr;

	if (m->mask & PMV_MLX5M_ATTR_ACCESS)
		attr->access = from->access;
	if (m->mask & PMV_MLX5M_ATTR_PORT)
		attr->port_num = from->port_num;
	if (m->mask & PMV_MLX5M_ATTR_AV) {
		memcpy(attr->dgid, from->dgid, sizeof(attr->dgid));
		attr->sgid_index = from->sgid_index;
		attr->hop_limit = from->hop_limit;
		attr->traffic_class = from->traffic_class;
		attr->flow_label = from->flow_label;
	}
	if (m->mask & PMV_MLX5M_ATTR_MTU)
		attr->path_mtu = from->path_mtu;
	if (m->mask & PMV_MLX5M_ATTR_DEST_QPN)
		attr->dest_qpn = from->dest_qpn;
	if (m->mask & PMV_MLX5M_ATTR_RQ_PSN)
		attr->rq_psn = from->rq_psn & 0xffffffu;
	if (m->mask & PMV_MLX5M_ATTR_SQ_PSN)
		attr->sq_psn = from->sq_psn & 0xffffffu;
	if (m->mask & PMV_MLX5M_ATTR_MIN_RNR)
		attr->min_rnr_timer = from->min_rnr_timer & 31;
	if (m->mask & PMV_MLX5M_ATTR_TIMEOUT)
		attr->timeout = from->timeout & 31;
	if (m->mask & PMV_MLX5M_ATTR_RETRY)
		attr->retry_cnt = from->retry_cnt & 7;
	if (m->mask & PMV_MLX5M_ATTR_RNR_RETRY)
		attr->rnr_retry = from->rnr_retry & 7;
	if (m->mask & PMV_MLX5M_ATTR_RD_ATOMIC)
		attr->max_rd_atomic = from->max_rd_atomic;
	if (m->mask & PMV_MLX5M_ATTR_DEST_ATOMIC)
		attr->max_dest_rd_atomic = from->max_dest_rd_atomic;
}

static void
reset(struct pmv_mlx5m_qp *qp)
{
	qp->sq_rung = 0;
	qp->sq_ci = 0;
	qp->rq_ci = 0;
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->state = PMV_MLX5M_RESET;
}

void
pmv_mlx5m_qp_fail(struct pmv_mlx5m_qp *qp)
{
	qp->state = PMV_MLX5M_ERR;
	qp->req.phase = PMV_MLX5M_IDLE;
	qp->resp.in_message = false;
	qp->resp.has_recv = false;
	qp->resp.reading = false;
}

int
pmv_mlx5m_qp_modify(struct pmv_mlx5m_qp *qp, const struct pmv_mlx5m_modify *m)
{
	enum pmv_mlx5m_qp_state to = (m->mask & PMV_MLX5M_ATTR_STATE) ? m->state : qp->state;
	uint32_t given = m->mask & ~(PMV_MLX5M_ATTR_STATE | PMV_MLX5M_ATTR_CUR_STATE);
	const struct transition *t;

	if ((m->mask & PMV_MLX5M_ATTR_CUR_STATE) && m->cur_state != qp->state)
		return -EINVAL;
	if (to == PMV_MLX5M_RESET || to == PMV_MLX5M_ERR) {
		if (given != 0)
			return -EINVAL;
		if (to == PMV_MLX5M_RESET)
			reset(qp);
		else
			pmv_mlx5m_qp_fail(qp);
		return 0;
	}
	t = find_transition(qp->state, to);
	if (t == NULL || (given & t->required) != t->required ||
		(given & ~(t->required | t->optional)) != 0 || !attributes_fit(m))
		return -EINVAL;
	take_attributes(&qp->attr, m);
	if (to == PMV_MLX5M_RTR && qp->state != to)
		qp->resp.psn = qp->attr.rq_psn;
	if (to == PMV_MLX5M_RTS && qp->state != to)
		qp->req.psn = qp->attr.sq_psn;
	qp->state = to;
	return 0;
}

uint16_t
pmv_mlx5m_qp_recv_ready(struct pmv_mlx5m_qp *qp)
{
	uint32_t record = pmv_mlx5m_record_get(qp->record_be, PMV_MLX5M_RECORD_RQ);
	uint16_t ready = (uint16_t)(record - qp->rq_ci);

	if (record > 0xffff)
		pmv_mlx5m_violate(
			PMV_MLX5M_RECORD_RESERVED, qp->qpn, "receive record is %#x", record);
	if (ready > qp->rq_nb) {
		pmv_mlx5m_violate(PMV_MLX5M_RQ_OVERFLOW, qp->qpn,
			"%u receives posted into a ring of %u", ready, qp->rq_nb);
		return 0;
	}
	return ready;
}

static void
flush_send(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_wqe_place place = { .ring = qp->sq_buf,
		.nb_blocks = qp->sq_nb,
		.index = qp->sq_ci,
		.end = qp->sq_rung,
		.qpn = qp->qpn };
	struct pmv_mlx5m_completion done = { .opcode = PMV_MLX5M_CQE_REQ_ERR,
		.syndrome = PMV_MLX5M_SYND_FLUSH,
		.counter = qp->sq_ci };

	(void)pmv_mlx5m_wqe_parse(&place, &qp->req.wqe);
	done.wqe_opcode = qp->req.wqe.opcode;
	qp->sq_ci = (uint16_t)(qp->sq_ci + qp->req.wqe.nb_blocks);
	if (!pmv_mlx5m_bug(PMV_MLX5M_BUG_NO_SEND_FLUSH))
		pmv_mlx5m_cq_write(qp->send_cq, qp, &done);
}

bool
pmv_mlx5m_qp_flush_step(struct pmv_mlx5m_qp *qp)
{
	struct pmv_mlx5m_completion done = { .opcode = PMV_MLX5M_CQE_RESP_ERR,
		.syndrome = PMV_MLX5M_SYND_FLUSH,
		.counter = qp->rq_ci };

	if (qp->sq_ci != qp->sq_rung) {
		flush_send(qp);
		return true;
	}
	if (pmv_mlx5m_qp_recv_ready(qp) == 0)
		return false;
	qp->rq_ci++;
	if (!pmv_mlx5m_bug(PMV_MLX5M_BUG_NO_RECV_FLUSH))
		pmv_mlx5m_cq_write(qp->recv_cq, qp, &done);
	return true;
}
