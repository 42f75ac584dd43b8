// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/build.h"

#include <errno.h>

#include "drivers/roce/direct.h"

int
pmv_roce_build_begin(struct pmv_qp *base, uint32_t length, void **ret_payload)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);

	if (base->state < PMV_QPS_RTS)
		return -ENOTCONN;
	if (pmv_roce_sq_full(&qp->sq))
		return -ENOMEM;
	if (length > qp->sq.max_inline)
		return -EINVAL;
	qp->build = (struct pmv_roce_build){ .open = true, .head = qp->sq.head, .length = length };
	*ret_payload = pmv_roce_sq_wqe(&qp->sq, qp->sq.head)->data;
	return 0;
}

/* At once, if nothing of the QP waits. False: it has to go another way, nothing happened. */
static bool
send(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_send_wr *wr,
	const struct pmv_sge *sge)
{
	struct rte_mbuf *m;

	if (unlikely((uint32_t)wr->opcode >= PMV_WR_RDMA_READ ||
		     (wr->send_flags & PMV_SEND_FENCE) != 0 || sge->length > qp->mtu_bytes ||
		     pmv_roce_direct_budget(w, qp, 1) == 0))
		return false;
	m = pmv_roce_spare_take(&w->spare);
	if (unlikely(m == NULL))
		return false;
	if (unlikely(!pmv_roce_direct_send(w, qp, wr, sge, true, m))) {
		rte_pktmbuf_free(m);
		return false;
	}
	pmv_roce_sq_wqe(&qp->sq, qp->sq.head)->flags |= PMV_SEND_INLINE;
	pmv_roce_direct_staged(qp);
	pmv_roce_direct_end(qp, 1);
	return true;
}

/* As any other request: the payload is where its copy would go. */
static int
post(struct pmv_qp *base, const struct pmv_send_wr *wr, const struct pmv_sge *sge)
{
	struct pmv_send_wr v = *wr;
	int rc;

	v.sg_list = sge;
	v.num_sge = 1;
	v.send_flags |= PMV_SEND_INLINE;
	rc = base->ops->post_send(base, &v, 1);
	return rc < 0 ? rc : 0;
}

int
pmv_roce_build_commit(struct pmv_qp *base, const struct pmv_send_wr *wr)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_build *b = &qp->build;
	const struct pmv_sge sge = { .addr = (uintptr_t)pmv_roce_sq_wqe(&qp->sq, b->head)->data,
		.length = b->length };

	if (unlikely(!b->open || b->head != qp->sq.head)) {
		b->open = false;
		return -EINVAL;
	}
	b->open = false;
	if (likely(base->type == PMV_QPT_RC && base->state == PMV_QPS_RTS &&
		    send(pmv_roce_qp_worker(qp), qp, wr, &sge))) {
		if (wr->send_flags & PMV_SEND_FLUSH)
			pmv_roce_tx_flush(pmv_roce_qp_worker(qp));
		return 0;
	}
	return post(base, wr, &sge);
}
