// SPDX-License-Identifier: BSD-3-Clause
/*
 * Words for events and reject reasons: pmv_cm_event_str(), pmv_cm_reject_str(), declared in
 * cm/api/pmv_cm.h. Any thread.
 */
#ifndef PMV_CM_TEXT_H
#define PMV_CM_TEXT_H

#include "cm/api/pmv_cm.h"

#endif
