// SPDX-License-Identifier: BSD-3-Clause
/*
 * Prepared sends: the checks that a post would make, made once; the driver adds what it can make
 * beforehand. Any thread.
 */
#include <errno.h>

#include "lib/api/pmv_prepared.h"
#include "lib/driver/pmv_driver.h"
#include "lib/util/log.h"

static bool
opcode_is_legal(const struct pmv_qp *qp, enum pmv_wr_opcode opcode)
{
	bool is_send = opcode == PMV_WR_SEND || opcode == PMV_WR_SEND_WITH_IMM;
	bool is_write = opcode == PMV_WR_RDMA_WRITE || opcode == PMV_WR_RDMA_WRITE_WITH_IMM;

	return is_send || (is_write && qp->type != PMV_QPT_UD);
}

static uint32_t
length_max(const struct pmv_qp *qp)
{
	uint32_t mtu = pmv_mtu_bytes(qp->worker->device->active_mtu);

	return qp->type == PMV_QPT_UD ? RTE_MIN(mtu, qp->cap.max_inline_data)
				      : qp->cap.max_inline_data;
}

static int
check(const struct pmv_qp *qp, const struct pmv_send_wr *wr)
{
	if (!opcode_is_legal(qp, wr->opcode))
		return pmv_log_refuse(-EINVAL, "prepare_send: opcode %u", (unsigned)wr->opcode);
	if ((wr->send_flags & PMV_SEND_INLINE) == 0)
		return pmv_log_refuse(-EINVAL, "prepare_send: not inline");
	if (wr->num_sge > 1)
		return pmv_log_refuse(-EINVAL, "prepare_send: %u SGEs, 1 at most", wr->num_sge);
	if (wr->num_sge == 1 && wr->sg_list[0].length > length_max(qp))
		return pmv_log_refuse(-EINVAL, "prepare_send: %u bytes, %u at most",
			wr->sg_list[0].length, length_max(qp));
	if (qp->type == PMV_QPT_UD && (wr->wr.ud.ah == NULL || wr->wr.ud.ah->pd != qp->pd))
		return pmv_log_refuse(-EINVAL, "prepare_send: no address handle of the QP's PD");
	return 0;
}

/* As any other request. */
static int
post(struct pmv_prepared_send *prep)
{
	int rc = pmv_post_send(prep->qp, &prep->wr, 1);

	return rc < 0 ? rc : 0;
}

int
pmv_prepare_send(
	struct pmv_qp *qp, const struct pmv_send_wr *wr, struct pmv_prepared_send *ret_prep)
{
	int rc;

	if (PMV_ANY_NULL("prepare_send", "qp wr ret_prep", qp, wr, ret_prep))
		return -EINVAL;
	rc = check(qp, wr);
	if (rc < 0)
		return rc;
	*ret_prep = (struct pmv_prepared_send){ .post = post, .qp = qp, .wr = *wr };
	if (wr->num_sge == 1)
		ret_prep->sge = wr->sg_list[0];
	ret_prep->wr.sg_list = &ret_prep->sge;
	ret_prep->wr.num_sge = 1;
	if (qp->ops->prepare != NULL)
		qp->ops->prepare(qp, ret_prep);
	return 0;
}
