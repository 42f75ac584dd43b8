// SPDX-License-Identifier: BSD-3-Clause
/*
 * From a CM message to the record it belongs to and the input of its state machine (IBTA vol. 1,
 * 12.8; the rules are listed in cm/fsm.h). Called by cm/io; control lcore.
 */
#ifndef PMV_CM_MATCH_H
#define PMV_CM_MATCH_H

#include "cm/rx.h"

void pmv_cm_match(const struct pmv_cm_rx *rx);

#endif
