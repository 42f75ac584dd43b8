// SPDX-License-Identifier: BSD-3-Clause
/*
 * One turn of a CM, see loop.h. Control lcore.
 */
#include "cm/loop.h"

#include <stddef.h>

#include "cm/conn.h"
#include "cm/dev.h"
#include "cm/event.h"
#include "cm/id.h"
#include "cm/io.h"
#include "cm/lan.h"
#include "cm/qp_bridge.h"
#include "cm/route.h"

static void
clock_set(struct pmv_cm *cm, uint64_t now)
{
	uint64_t t;

	if (!cm->started) {
		cm->started = true;
		cm->epoch = now - cm->now; /* may wrap, as the difference below */
	}
	t = now - cm->epoch;
	if ((int64_t)(t - cm->now) > 0)
		cm->now = t;
}

/* The only timers are those of connections. */
static void
expired(struct pmv_timer *t, void *arg)
{
	pmv_cm_conn_timer((struct pmv_cm_id *)((char *)t - offsetof(struct pmv_cm_id, conn.timer)));
}

uint32_t
pmv_cm_loop_turn(struct pmv_cm *cm, uint64_t now)
{
	uint32_t work = 0;
	uint32_t i;

	clock_set(cm, now);
	cm->in_turn++;
	work += pmv_cm_qp_bridge_turn(cm, PMV_CM_BUDGET_QPS);
	for (i = 0; i < cm->nb_devs; i++) {
		pmv_cm_dev_turn(cm->devs[i]);
		work += pmv_cm_io_turn(cm->devs[i], PMV_CM_BUDGET_FRAMES);
		pmv_cm_lan_turn(cm->devs[i]);
	}
	work += pmv_cm_route_turn(cm, PMV_CM_BUDGET_QPS);
	work += pmv_cm_conn_est_turn(cm, PMV_CM_BUDGET_EST);
	work += pmv_wheel_advance(&cm->wheel, cm->now, PMV_CM_BUDGET_TIMERS, expired, NULL);
	work += pmv_cm_qp_bridge_turn(cm, PMV_CM_BUDGET_QPS);
	work += pmv_cm_event_turn(cm, PMV_CM_BUDGET_EVENTS);
	if (cm->in_turn == 1)
		pmv_cm_id_bury(cm, PMV_CM_BUDGET_EVENTS, false);
	cm->in_turn--;
	return work;
}
