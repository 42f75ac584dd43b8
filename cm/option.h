// SPDX-License-Identifier: BSD-3-Clause
/*
 * Options of an id: declared in cm/api/pmv_cm.h, checked and stored in option.c, read from struct
 * pmv_cm_id by conn, connect and route. Nothing to call here from inside.
 */
#ifndef PMV_CM_OPTION_H
#define PMV_CM_OPTION_H

#include "cm/api/pmv_cm.h"

#endif
