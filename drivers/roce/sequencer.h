// SPDX-License-Identifier: BSD-3-Clause
/*
 * The receiving half of selective repeat: request frames behind a gap are put aside and executed
 * when their turn has come, so the responder sees every request in PSN order. Owner lcore; rx.c
 * calls it for QPs with `sel`.
 */
#ifndef PMV_ROCE_SEQUENCER_H
#define PMV_ROCE_SEQUENCER_H

#include "drivers/roce/qp.h"

/* A request packet; otherwise as pmv_roce_responder_rx(). True: the frame is not the caller's any
 * more. */
bool pmv_roce_sequencer_rx(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p);

#endif
