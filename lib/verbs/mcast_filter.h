// SPDX-License-Identifier: BSD-3-Clause
/*
 * The multicast filter of a device's port. Control threads, under the device's lock; called by
 * mcast.c when the first QP joins a group and the last one leaves, by addr.c when our addresses
 * change.
 */
#ifndef PMV_VERBS_MCAST_FILTER_H
#define PMV_VERBS_MCAST_FILTER_H

#include "lib/driver/pmv_driver.h"

/*
 * Lets the port receive the device's groups and, unless it is NULL, one more. 0, also when the
 * filter is the application's; -ENOTSUP no way to receive multicast; or what the port says
 * (-ENOSPC, -ENODEV, -EIO): then the filter is what it was.
 */
int pmv_verbs_mcast_filter_apply(struct pmv_device *dev, const union pmv_gid *more);

/* Our addresses changed: those that others look for by multicast stay receivable. */
void pmv_verbs_mcast_filter_refresh(struct pmv_device *dev);

#endif
