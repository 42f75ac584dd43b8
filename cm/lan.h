// SPDX-License-Identifier: BSD-3-Clause
/*
 * Living on the LAN without a kernel: ARP, neighbour discovery and echo of one device. Carries out
 * what the neighbour cache (cm/neigh) asks for, and answers for our addresses. On a device whose
 * addresses are shared with the application or the kernel it only listens. Control lcore.
 */
#ifndef PMV_CM_LAN_H
#define PMV_CM_LAN_H

#include "cm/dev.h"

/* A received frame that is no RoCE. @param vlan  of the frame, 0 = untagged. */
void pmv_cm_lan_frame(struct pmv_cm_dev *dev, const uint8_t *frame, uint32_t len, uint16_t worker);

/* Carries out what a call of cm/neigh left in `out`, then tells ids whose waiting is over. */
void pmv_cm_lan_apply(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_out *out);

/* Timers of the neighbour cache. */
void pmv_cm_lan_turn(struct pmv_cm_dev *dev);

/* Gratuitous ARP, unsolicited NA for each address of ours. */
void pmv_cm_lan_announce(struct pmv_cm_dev *dev);

/* Enters the MAC of a neighbour into the device's next hops, for QPs and address handles. */
void pmv_cm_lan_nexthop(struct pmv_cm_dev *dev, const uint8_t ip[16], const uint8_t mac[6]);

#endif
