// SPDX-License-Identifier: BSD-3-Clause
/*
 * The CM moves a QP that another lcore may own: each change is prepared here, committed by the
 * owner, and its reply is looked for once a turn. One operation of an id is under way at a time;
 * what comes later waits in `todo`, in the order of the bits. Control lcore.
 *
 * Until the last operation is done the QP is held (pmv_destroy_qp() by the application is -EBUSY).
 */
#ifndef PMV_CM_QP_BRIDGE_H
#define PMV_CM_QP_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/api/pmv_op.h"
#include "lib/api/pmv_qp.h"

struct pmv_cm;
struct pmv_cm_id;

enum pmv_cm_qp_step {
	PMV_CM_QP_INIT = 1 << 0,
	PMV_CM_QP_RTR = 1 << 1,
	PMV_CM_QP_RTS = 1 << 2,
	PMV_CM_QP_ERR = 1 << 3,
	PMV_CM_QP_LET_GO = 1 << 4, /* the QP is the application's again */
	PMV_CM_QP_DESTROY = 1 << 5,
};

struct pmv_cm_qp_bridge {
	struct pmv_op op;
	struct pmv_qp *qp; /* the id's; NULL: none */
	uint8_t todo;      /* enum pmv_cm_qp_step, not submitted yet */
	uint8_t step;      /* the one under way, 0 none */
	int refused;       /* errno of a step that did not even start; its result all the same */
	bool listed;       /* in cm->qp_work */
	uint32_t attempt;  /* of the connection that RTR and RTS belong to */
	TAILQ_ENTRY(pmv_cm_id) link;
};

/* Takes a new QP and brings it to INIT. @return 0; the errno of the first step: the QP is destroyed
 * then. */
int pmv_cm_qp_bridge_take(struct pmv_cm_id *id, struct pmv_qp *qp);

/* Starts steps (an OR). ERR drops what has not been submitted of RTR and RTS. */
void pmv_cm_qp_bridge_start(struct pmv_cm_id *id, uint8_t steps);

/* Nothing is under way and nothing waits. */
bool pmv_cm_qp_bridge_is_idle(const struct pmv_cm_id *id);

/* The id's QP, NULL if there is none or it is on its way out. */
struct pmv_qp *pmv_cm_qp_bridge_qp(const struct pmv_cm_id *id);

/* Looks for replies, at most nb ids; results become inputs of the connections. @return replies. */
uint32_t pmv_cm_qp_bridge_turn(struct pmv_cm *cm, uint32_t nb);

#endif
