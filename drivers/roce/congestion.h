// SPDX-License-Identifier: BSD-3-Clause
/*
 * Marks of congestion and what is told about them (RoCEv2 annex A17.9): a frame of a connected QP
 * that was marked on its way makes a congestion notification packet to its sender, and one that
 * comes here slows its QP down, if it reacts (PMV_ECE_CONGESTION). Owner lcore; out of the way of
 * frames without a mark.
 */
#ifndef PMV_ROCE_CONGESTION_H
#define PMV_ROCE_CONGESTION_H

#include "drivers/roce/qp.h"

/* No two notifications of a QP are closer (50 us: Zhu et al., SIGCOMM 2015, 3.1). */
#define PMV_ROCE_CNP_PERIOD_US 50u

/* A frame of this RC or UC QP's peer came with ECN CE. */
void pmv_roce_congestion_marked(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* A notification of this QP's peer. False: the QP does not react, nothing happened. */
bool pmv_roce_congestion_told(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
