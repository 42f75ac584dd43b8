// SPDX-License-Identifier: BSD-3-Clause
/*
 * Selective repeat: what an RC queue pair has more when its peer is one of ours and both agreed
 * (PMV_QP_ECE). Towards everybody else a QP goes back to the gap and sends all again, and none
 * of this exists. Here is its memory; the receiving half is sequencer.h, the sending one resend.h.
 */
#ifndef PMV_ROCE_SELECTIVE_H
#define PMV_ROCE_SELECTIVE_H

#include "drivers/roce/qp.h"
#include "drivers/roce/reorder.h"
#include "drivers/roce/scoreboard.h"

struct pmv_roce_selective {
	uint64_t probe_sent;             /* ticks */
	struct pmv_roce_scoreboard sent; /* writers: requester.c, direct.c, completer.c, resend.c */
	struct pmv_roce_reorder waiting; /* writer: sequencer.c */
};

/* Control thread. NULL: no memory. */
struct pmv_roce_selective *pmv_roce_selective_alloc(int socket_id);
void pmv_roce_selective_free(struct pmv_roce_selective *sel);

/* Frees the frames that wait: the QP is reset, has failed, or goes. */
void pmv_roce_selective_drop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp);

#endif
