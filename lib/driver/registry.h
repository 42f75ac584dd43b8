// SPDX-License-Identifier: BSD-3-Clause
/*
 * The list of drivers. Drivers enter themselves from constructors (pmv_driver_register in
 * pmv_driver.h, one thread, before main); afterwards the list is constant and any thread reads it.
 * lib/verbs picks a port's driver here.
 */
#ifndef PMV_DRIVER_REGISTRY_H
#define PMV_DRIVER_REGISTRY_H

#include "lib/driver/pmv_driver.h"

/*
 * The driver called `name`, or with NULL the first whose probe accepts the port.
 * 0; -ENOENT no driver of that name, or none at all; -ENOTSUP no driver (or not the named one) can
 * run the port.
 */
int pmv_driver_choose(const char *name, uint16_t port_id, struct pmv_driver **ret_driver);

/* The same for a device without a port: the named driver, or with NULL the first that is portless.
 * 0; -ENOENT; -ENOTSUP the named driver is not portless. */
int pmv_driver_choose_portless(const char *name, struct pmv_driver **ret_driver);

#endif
