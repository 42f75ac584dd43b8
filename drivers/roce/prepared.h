// SPDX-License-Identifier: BSD-3-Clause
/*
 * Prepared sends of RC queue pairs: frame and queue entry are made beforehand, but for PSN, AckReq
 * and payload. Whatever cannot go out at once, or does not fit into one packet, takes the way of
 * every other request. Owner lcore, but for init: any thread.
 */
#ifndef PMV_ROCE_PREPARED_H
#define PMV_ROCE_PREPARED_H

#include "lib/driver/pmv_driver.h"

/* prepare of RC queue pairs. */
void pmv_roce_prepared_init(struct pmv_qp *qp, struct pmv_prepared_send *prep);

#endif
