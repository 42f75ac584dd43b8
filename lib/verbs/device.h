// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the objects of lib/verbs share: the device's lock and its limits. Control threads only.
 *
 * Order of locks: the list of devices, then one device's lock, then a worker's claim (mailbox.h),
 * then a mailbox's mutex. A submit happens under the device's lock, so that the mailbox sees
 * commands in the order in which they were prepared: a neighbour's change cannot slip between the
 * resolving of an address and the command that carries it.
 */
#ifndef PMV_VERBS_DEVICE_H
#define PMV_VERBS_DEVICE_H

#include "lib/driver/pmv_driver.h"

static inline void
pmv_verbs_lock(struct pmv_device *dev)
{
	pthread_mutex_lock(&dev->lock);
}

static inline void
pmv_verbs_unlock(struct pmv_device *dev)
{
	pthread_mutex_unlock(&dev->lock);
}

/* pmv_query_device() for callers that hold the lock. */
void pmv_verbs_device_attr(struct pmv_device *dev, struct pmv_device_attr *ret_attr);

#endif
