// SPDX-License-Identifier: BSD-3-Clause
/*
 * Protection domains, memory regions, buffers: what is behind pmv_mem.h. Control threads, under the
 * device's lock.
 *
 * A region or a window (mw.c) dies in steps. Its keys die at once (driver's mr_kill) and the
 * device's epoch goes up. It is quiescent when every worker is detached or has begun a turn of that
 * epoch, and no frame that points into it is with a port. Then its key slot is free again
 * ("released"), and what is left is the event.
 */
#ifndef PMV_VERBS_MEM_H
#define PMV_VERBS_MEM_H

#include "lib/driver/pmv_driver.h"

/* Releases dying regions and windows that have become quiescent. Under the device's lock. */
void pmv_verbs_mem_reap(struct pmv_device *dev);

/* The keys are dead: releases the region or window. 0: it is the caller's to free; -EINPROGRESS: an
 * event will tell. Under the lock. */
int pmv_verbs_mem_bury(struct pmv_device *dev, struct pmv_dying *d);

/* Takes the oldest that was released off the device: its event is to be delivered. False: none.
 * Under the lock. */
bool pmv_verbs_mem_take_released(struct pmv_device *dev, struct pmv_event *ret_event);

/* Drops events that nobody took; the device is closing and all its regions are released. */
void pmv_verbs_mem_forget_events(struct pmv_device *dev);

#endif
