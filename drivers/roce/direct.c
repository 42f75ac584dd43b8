// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/direct.h"

#include <rte_branch_prediction.h>

static inline bool
is_direct(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	return (uint32_t)wr->opcode < PMV_WR_RDMA_READ &&
	       (wr->send_flags & (PMV_SEND_INLINE | PMV_SEND_FENCE)) == PMV_SEND_INLINE &&
	       wr->num_sge == 1 &&
	       wr->sg_list[0].length <= RTE_MIN(qp->sq.max_inline, qp->mtu_bytes);
}

uint32_t
pmv_roce_direct_post(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_send_wr *wr, uint32_t nb)
{
	uint32_t budget = pmv_roce_direct_budget(w, qp, nb);
	uint32_t i;

	for (i = 0; i < budget && is_direct(qp, &wr[i]); i++) {
		struct rte_mbuf *m = pmv_roce_spare_take(&w->spare);

		if (unlikely(m == NULL))
			break;
		if (unlikely(!pmv_roce_direct_send(
			    w, qp, &wr[i], wr[i].sg_list, i + 1 == budget, m))) {
			rte_pktmbuf_free(m);
			break;
		}
		pmv_roce_direct_staged(qp);
	}
	if (i != 0) /* else others may wait: their place in the queue stays */
		pmv_roce_direct_end(qp, i);
	return i;
}
