// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable datagrams: one packet a message, the 40-byte network header area in front of what is
 * received. Owner lcore.
 */
#ifndef PMV_ROCE_UD_H
#define PMV_ROCE_UD_H

#include "drivers/roce/qp.h"

/* post_send of UD queue pairs. */
int pmv_roce_ud_post(struct pmv_qp *qp, const struct pmv_send_wr *wr, uint32_t nb);

/* Sends requests that found no room before. */
void pmv_roce_ud_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

/* A UD frame for this QP; the caller keeps the mbuf. */
void pmv_roce_ud_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

int pmv_roce_ah_init(struct pmv_ah *ah);

/* Address handle of the software driver. */
struct pmv_roce_ah {
	struct pmv_ah base;
	struct pmv_roce_hdr
		hdr; /* UDP source port from the flow label; without one a constant of the device */
};

#endif
