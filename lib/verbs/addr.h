// SPDX-License-Identifier: BSD-3-Clause
/*
 * A device's addresses (GIDs) and gateways. Written by control threads under the device's lock;
 * workers and the connection manager read them. An index stays what it is: a deleted address leaves
 * an all-zero hole that the next added one fills, and only holes at the end are taken off.
 */
#ifndef PMV_VERBS_ADDR_H
#define PMV_VERBS_ADDR_H

#include "lib/driver/pmv_driver.h"

/* All under the device's lock. */
int pmv_verbs_addr_find(
	const struct pmv_device *dev, const union pmv_gid *gid); /* index or -ENOENT */
/* The address of an index, or NULL: no such index. */
const struct pmv_ip_addr *pmv_verbs_addr_at(const struct pmv_device *dev, uint32_t index);
/* gid lies within the prefix of one of our addresses, or is link-local. */
bool pmv_verbs_addr_is_on_link(const struct pmv_device *dev, const union pmv_gid *gid);
/* 0 for IPv4, 1 for IPv6: index of gateway[]. */
uint32_t pmv_verbs_addr_family(const union pmv_gid *gid);
/* :: or 0.0.0.0. */
bool pmv_verbs_addr_is_unspecified(const union pmv_gid *gid);
/* NULL, or why no single host on the wire has this address: "is multicast". :: and 0.0.0.0 are not
 * among them. */
const char *pmv_verbs_addr_no_host(const union pmv_gid *gid);

#endif
