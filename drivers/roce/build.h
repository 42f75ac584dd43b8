// SPDX-License-Identifier: BSD-3-Clause
/*
 * Requests whose payload the program writes into the queue entry itself: the entry at head is lent
 * out, and the commit posts it with a payload that is there already. Every type of QP. Owner lcore.
 */
#ifndef PMV_ROCE_BUILD_H
#define PMV_ROCE_BUILD_H

#include "drivers/roce/qp.h"

/* send_begin and send_commit of all queue pairs. */
int pmv_roce_build_begin(struct pmv_qp *qp, uint32_t length, void **ret_payload);
int pmv_roce_build_commit(struct pmv_qp *qp, const struct pmv_send_wr *wr);

#endif
