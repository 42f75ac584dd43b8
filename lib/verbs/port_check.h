// SPDX-License-Identifier: BSD-3-Clause
/*
 * Whether a port can carry RoCE: pmv_port_check() for applications, used by pmv_device_open() too.
 * Any control thread; it only asks ethdev and changes nothing.
 */
#ifndef PMV_VERBS_PORT_CHECK_H
#define PMV_VERBS_PORT_CHECK_H

#include "lib/api/pmv_device.h"

/* Smallest IP MTU: a path MTU of 256 and the longest headers. */
#define PMV_VERBS_IP_MTU_MIN 352u

/* IP MTU - 96 carries this path MTU code; 0 when not even 256 fits. */
uint8_t pmv_verbs_port_active_mtu(uint16_t ip_mtu);

#endif
