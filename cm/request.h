// SPDX-License-Identifier: BSD-3-Clause
/*
 * A REQ: is it a copy, does it show a stale connection, does somebody listen, may it come in? If
 * all is well it becomes an id and a CONNECT_REQUEST. Called by cm/match; control lcore.
 */
#ifndef PMV_CM_REQUEST_H
#define PMV_CM_REQUEST_H

#include "cm/rx.h"

void pmv_cm_request(const struct pmv_cm_rx *rx);

#endif
