// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/rq.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/roce/qp.h"

int
pmv_roce_rq_init(struct pmv_roce_rq *rq, struct pmv_qp_cap *cap, int socket_id)
{
	uint32_t nb;

	memset(rq, 0, sizeof(*rq));
	if (cap->max_recv_wr == 0) {
		cap->max_recv_sge = 0;
		return 0;
	}
	nb = rte_align32pow2(cap->max_recv_wr);
	rq->stride = (uint32_t)(sizeof(struct pmv_roce_rwqe) +
				cap->max_recv_sge * sizeof(struct pmv_sge));
	rq->ring = rte_zmalloc_socket(
		"pmv_rq", (size_t)nb * rq->stride, RTE_CACHE_LINE_SIZE, socket_id);
	if (rq->ring == NULL)
		return -ENOMEM;
	rq->mask = nb - 1;
	rq->max_wr = nb;
	rq->max_sge = cap->max_recv_sge;
	cap->max_recv_wr = nb;
	return 0;
}

void
pmv_roce_rq_fini(struct pmv_roce_rq *rq)
{
	rte_free(rq->ring);
	rq->ring = NULL;
}

static int
post_one(struct pmv_roce_rq *rq, const struct pmv_recv_wr *wr)
{
	struct pmv_roce_rwqe *e;
	uint64_t length = 0;

	if (wr->num_sge > rq->max_sge && rq->max_wr != 0)
		return -EINVAL;
	if (rq->head - rq->tail >= rq->max_wr)
		return -ENOMEM;
	e = pmv_roce_rq_place(rq);
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		e->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	e->wr_id = wr->wr_id;
	e->num_sge = wr->num_sge;
	/* A receive may offer more than a message may have (2^31 bytes, IBTA vol. 1, 9.7.4): capped
	 * here, the length check of each packet ends a message that is too long. */
	e->length = RTE_MIN(length, (uint64_t)PMV_MSG_BYTES_MAX);
	rq->head++;
	return 0;
}

int
pmv_roce_rq_post(struct pmv_roce_rq *rq, const struct pmv_recv_wr *wr, uint32_t nb)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < nb; i++) {
		err = post_one(rq, &wr[i]);
		if (err != 0)
			break;
	}
	return i > 0 ? (int)i : err;
}

int
pmv_roce_post_recv(struct pmv_qp *base, const struct pmv_recv_wr *wr, uint32_t nb)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	int rc;

	if (base->state == PMV_QPS_RESET)
		return nb == 0 ? 0 : -ENOTCONN;
	rc = pmv_roce_rq_post(&qp->rq, wr, nb);
	if (base->state == PMV_QPS_ERR)
		pmv_roce_qp_flush_rq(qp);
	return rc;
}
