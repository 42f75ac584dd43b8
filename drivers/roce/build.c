// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/build.h"

#include <errno.h>

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

int
pmv_roce_build_commit(struct pmv_qp *base, const struct pmv_send_wr *wr)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_build *b = &qp->build;
	const struct pmv_sge sge = { .addr = (uintptr_t)pmv_roce_sq_wqe(&qp->sq, b->head)->data,
		.length = b->length };
	struct pmv_send_wr v = *wr;
	int rc;

	if (!b->open)
		return -EINVAL;
	b->open = false;
	if (b->head != qp->sq.head)
		return -EINVAL;
	v.sg_list = &sge;
	v.num_sge = 1;
	v.send_flags |= PMV_SEND_INLINE;
	rc = base->ops->post_send(base, &v, 1);
	return rc < 0 ? rc : 0;
}
