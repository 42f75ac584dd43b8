// SPDX-License-Identifier: BSD-3-Clause
/*
 * Requester: turns posted requests into packets as far as the window, the limit of READs and
 * atomics, fences and the port allow. Owner lcore.
 */
#ifndef PMV_ROCE_REQUESTER_H
#define PMV_ROCE_REQUESTER_H

#include "drivers/roce/qp.h"

/* An acknowledgement is asked for at least so often; Linux rxe answers nothing else. */
#define PMV_ROCE_ACKREQ_PKTS 32u

/* post_send of RC queue pairs. */
int pmv_roce_requester_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);

/* Sends what may be sent; puts the QP on the run list when only the port or the turn's budget
 * stopped it. */
void pmv_roce_requester_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* Sends from PSN `psn` on again. */
void pmv_roce_requester_go_back(struct pmv_roce_qp *qp, struct pmv_psn psn);

/* Sends the packet at the left edge of the window once more, with AckReq. False: no room or no
 * mbuf. */
bool pmv_roce_requester_probe(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* The oldest unacknowledged request fails with `status`; the QP goes to ERR. */
void pmv_roce_requester_fail(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, enum pmv_wc_status status);

#endif
