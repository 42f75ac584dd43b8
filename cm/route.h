// SPDX-License-Identifier: BSD-3-Clause
/*
 * From a destination address to device, source address, next hop and its MAC: what
 * pmv_cm_resolve_addr() and pmv_cm_resolve_route() do. Control lcore. Asking is cm/neigh's, sending
 * the questions cm/lan's. On a device whose addresses are shared nobody is asked: the MAC comes
 * from the application (pmv_neigh_set()) or from ARP and ND frames seen by chance.
 */
#ifndef PMV_CM_ROUTE_H
#define PMV_CM_ROUTE_H

#include <stdint.h>

#include "cm/dev.h"
#include "cm/neigh.h"
#include "cm/sockaddr.h"

/* Sets the id's own address. who: call and argument, for the log. @return 0; -EADDRNOTAVAIL no
 * device has it. */
int pmv_cm_route_set_source(struct pmv_cm_id *id, const struct pmv_cm_sockaddr *a, const char *who);
void pmv_cm_route_clear_source(struct pmv_cm_id *id);

/* GID index of an address of ours whose prefix covers ip; PMV_CM_NO_ADDR. */
uint16_t pmv_cm_route_source_on_link(const struct pmv_cm_dev *dev, const uint8_t ip[16]);

/* A waiter of the neighbour cache has its result. */
void pmv_cm_route_done(struct pmv_cm_neigh_waiter *w);

/* Passive side: looks for the peer's MAC while the connection goes on with the one of the REQ. */
void pmv_cm_route_track(struct pmv_cm_id *id);

/* Stops waiting. */
void pmv_cm_route_cancel(struct pmv_cm_id *id);

/* Lets go of the neighbour; the address vector is empty then. */
void pmv_cm_route_drop(struct pmv_cm_id *id);

/* MACs that the application has entered meanwhile. */
uint32_t pmv_cm_route_turn(struct pmv_cm *cm, uint32_t nb);

#endif
