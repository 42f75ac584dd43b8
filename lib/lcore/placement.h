// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where things lie on a NUMA machine, and the one warning that says when they lie apart. Called on
 * the control path by attach (lib/lcore) and by create and register calls (lib/verbs); nothing
 * fails because of it. It moves nothing.
 */
#ifndef PMV_LCORE_PLACEMENT_H
#define PMV_LCORE_PLACEMENT_H

#include "lib/driver/pmv_driver.h"

enum pmv_lcore_placement {
	PMV_LCORE_PLACEMENT_LCORE,
	PMV_LCORE_PLACEMENT_WORKER,
	PMV_LCORE_PLACEMENT_POOL,
	PMV_LCORE_PLACEMENT_REGION,
};

/* Nodes: an EAL socket id, or a negative number when it is not known. */
int pmv_lcore_placement_of_thread(void); /* of the core the caller runs on */
int pmv_lcore_placement_of_memory(
	const void *addr); /* of the page, negative if it is not there yet; touches nothing */

/*
 * Warns, once per device and kind, when a thing lies on another node than the device's port. True:
 * it warned. Under the device's lock or at attach (the bits are atomic).
 */
bool pmv_lcore_placement_check(struct pmv_device *dev, enum pmv_lcore_placement kind, int node);

#endif
