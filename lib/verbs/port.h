// SPDX-License-Identifier: BSD-3-Clause
/*
 * The port of a device: what it is like now, and the events of its changes. Any thread; under the
 * device's lock but for start.
 */
#ifndef PMV_VERBS_PORT_H
#define PMV_VERBS_PORT_H

#include "lib/driver/pmv_driver.h"

/* A new device: what is now is no news. */
void pmv_verbs_port_watch(struct pmv_device *dev);

/* Addresses came or went. */
void pmv_verbs_port_gids_changed(struct pmv_device *dev);

/* Looks at the link, if it is time, and takes one event. */
bool pmv_verbs_port_take_event(struct pmv_device *dev, struct pmv_event *ret_event);

#endif
