// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small requests that go out as they are posted: one packet, payload in the request, nothing of
 * this QP waiting before them. The frame is built from what was posted, in one go; the queue entry
 * is written beside it for the day the frame is lost. Everything else takes requester.c's way,
 * which also sends these again. Owner lcore.
 */
#ifndef PMV_ROCE_DIRECT_H
#define PMV_ROCE_DIRECT_H

#include "drivers/roce/qp.h"

/* Posts and sends as many as it can, from the first on. Returns how many; the rest is the
 * requester's to judge. The QP is in RTS. */
uint32_t pmv_roce_direct_post(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_send_wr *wr, uint32_t nb);

#endif
