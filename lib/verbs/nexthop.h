// SPDX-License-Identifier: BSD-3-Clause
/*
 * Next hops of a device: which MAC a destination GID is reached by. The table is written by the
 * connection manager (results of ARP and neighbour discovery) or by pmv_neigh_set(), and read when
 * an address handle or the address vector of a QP is made. A MAC that changes is sent to every
 * worker by mailbox, so that QPs which use it move. It asks nobody: resolving is cm's (neigh.h
 * there). Any control thread, under the device's lock, which the functions take themselves.
 */
#ifndef PMV_VERBS_NEXTHOP_H
#define PMV_VERBS_NEXTHOP_H

#include <stdint.h>

#include "lib/api/pmv_device.h"

#define PMV_VERBS_NEXTHOPS_MAX 4096u

/*
 * The neighbour whose MAC leads to dgid when sent from sgid_index: dgid itself when it is on-link,
 * a multicast group or our own, else the gateway of the family. *ret_nexthop is a GID to ask ARP or
 * ND for. 0; -EINVAL: no such sgid_index, another family, or dgid unspecified; -EHOSTUNREACH: not
 * on-link and no gateway.
 */
int pmv_verbs_nexthop_route(struct pmv_device *device, const union pmv_gid *dgid,
	uint16_t sgid_index, union pmv_gid *ret_nexthop);

/*
 * The destination MAC of frames to dgid: our own for an own address, the group's for multicast,
 * else the table's for the next hop. 0; -EINVAL as above; -EHOSTUNREACH: no route, or the table
 * does not know it.
 */
int pmv_verbs_nexthop_resolve(struct pmv_device *device, const union pmv_gid *dgid,
	uint16_t sgid_index, uint8_t ret_mac[6]);

/*
 * Enters a neighbour or changes its MAC; QPs that send to the old MAC are moved by their owners.
 * 0; -EINVAL multicast, unspecified or all-zero; -ENOSPC the table is full; -EAGAIN a worker's
 * mailbox is full, nothing was changed.
 */
int pmv_verbs_nexthop_set(
	struct pmv_device *device, const union pmv_gid *gid, const uint8_t mac[6]);

/* Forgets a neighbour. QPs that send to its MAC go on doing so. 0; -ENOENT. */
int pmv_verbs_nexthop_del(struct pmv_device *device, const union pmv_gid *gid);

/* The MAC of an entry. 0; -ENOENT. */
int pmv_verbs_nexthop_lookup(
	struct pmv_device *device, const union pmv_gid *gid, uint8_t ret_mac[6]);

/* For lib/verbs: made and destroyed with the device; resolve for callers that hold the device's
 * lock. */
int pmv_verbs_nexthops_create(struct pmv_device *device); /* 0; -ENOMEM */
void pmv_verbs_nexthops_destroy(struct pmv_device *device);
int pmv_verbs_nexthop_resolve_locked(struct pmv_device *device, const union pmv_gid *dgid,
	uint16_t sgid_index, uint8_t ret_mac[6]);

#endif
