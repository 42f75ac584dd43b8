// SPDX-License-Identifier: BSD-3-Clause
/*
 * One turn of a CM, within a budget. Called by pmv_cm_poll(); the lcore that owns the CM, which may
 * also own workers.
 */
#ifndef PMV_CM_LOOP_H
#define PMV_CM_LOOP_H

#include "cm/cm.h"

/* @param now  the program's clock. @return amount of work done, 0 = idle. */
uint32_t pmv_cm_loop_turn(struct pmv_cm *cm, uint64_t now);

#endif
