// SPDX-License-Identifier: BSD-3-Clause
/*
 * The multicast filter of a port, see mcast_filter.h.
 */
#include "lib/verbs/mcast_filter.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lib/util/log.h"
#include "lib/wire/gid.h"

/* Groups, solicited-node groups of our addresses, all nodes (IPv6), all hosts (IPv4). */
#define MACS_MAX (PMV_MCAST_GROUPS_MAX + 1 + PMV_ADDRS_MAX + 2)

struct mac_list {
	struct rte_ether_addr mac[MACS_MAX];
	uint32_t nb;
};

/* Once: 32 IPv4 groups share a MAC (RFC 1112 6.4). */
static void
add(struct mac_list *l, const uint8_t *gid)
{
	struct rte_ether_addr mac;

	pmv_gid_multicast_mac(gid, mac.addr_bytes);
	for (uint32_t i = 0; i < l->nb; i++)
		if (rte_is_same_ether_addr(&l->mac[i], &mac))
			return;
	l->mac[l->nb++] = mac;
}

/* The list replaces what the port had: what ARP, neighbour discovery and group queries need has to
 * be in it (RFC 4291 2.7.1, RFC 1112 4). */
static void
add_own(struct mac_list *l, const struct pmv_device *dev)
{
	static const uint8_t all_hosts[PMV_GID_LEN] = { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 };
	static const uint8_t all_nodes[PMV_GID_LEN] = { 0xff, 0x02, [15] = 1 };
	uint8_t node[PMV_GID_LEN] = { 0xff, 0x02, [11] = 1, 0xff };

	add(l, all_hosts);
	add(l, all_nodes);
	for (uint32_t i = 0; i < dev->addrs.nb; i++) {
		const uint8_t *gid = dev->addrs.addr[i].gid.raw;

		if (pmv_gid_is_v4(gid) || pmv_gid_is_zero(gid))
			continue;
		memcpy(node + 13, gid + 13, 3);
		add(l, node);
	}
}

/* True: some group is there. */
static bool
fill(struct mac_list *l, struct pmv_device *dev, const union pmv_gid *more)
{
	bool any = more != NULL;

	l->nb = 0;
	add_own(l, dev);
	for (uint32_t i = 0; i < PMV_MCAST_GROUPS_MAX; i++) {
		if (dev->mcast.group[i].nb_qps == 0)
			continue;
		add(l, dev->mcast.group[i].gid.raw);
		any = true;
	}
	if (more != NULL)
		add(l, more->raw);
	return any;
}

/* The port has no list. */
static int
open_wide(struct pmv_device *dev)
{
	uint16_t port = dev->port_id;
	int rc;

	if (rte_eth_allmulticast_get(port) == 1 || rte_eth_promiscuous_get(port) == 1)
		return 0; /* and not ours to end */
	rc = rte_eth_allmulticast_enable(port);
	if (rc == 0) {
		dev->mcast.filter = PMV_MCAST_FILTER_ALL;
		return 0;
	}
	if (rc == -ENOTSUP)
		rc = rte_eth_promiscuous_enable(port);
	if (rc == 0)
		dev->mcast.filter = PMV_MCAST_FILTER_PROMISCUOUS;
	return rc;
}

/* No group is left. */
static void
close_again(struct pmv_device *dev)
{
	int rc = 0;

	if (dev->mcast.filter == PMV_MCAST_FILTER_ALL)
		rc = rte_eth_allmulticast_disable(dev->port_id);
	else if (dev->mcast.filter == PMV_MCAST_FILTER_PROMISCUOUS)
		rc = rte_eth_promiscuous_disable(dev->port_id);
	dev->mcast.filter = PMV_MCAST_FILTER_NONE;
	if (rc < 0)
		PMV_LOG(ERR, "port %u: its multicast filter stays open: %s", dev->port_id,
			strerror(-rc));
}

int
pmv_verbs_mcast_filter_apply(struct pmv_device *dev, const union pmv_gid *more)
{
	struct mac_list l;
	bool any;
	int rc;

	if (dev->driver->portless || dev->param.mcast_filter_app)
		return 0;
	any = fill(&l, dev, more);
	if (dev->mcast.filter == PMV_MCAST_FILTER_ALL ||
		dev->mcast.filter == PMV_MCAST_FILTER_PROMISCUOUS) {
		if (!any)
			close_again(dev);
		return 0;
	}
	rc = rte_eth_dev_set_mc_addr_list(dev->port_id, l.mac, l.nb);
	if (rc == 0)
		dev->mcast.filter = PMV_MCAST_FILTER_LIST;
	return rc == -ENOTSUP && any ? open_wide(dev) : rc;
}

void
pmv_verbs_mcast_filter_refresh(struct pmv_device *dev)
{
	int rc = dev->mcast.filter == PMV_MCAST_FILTER_LIST
			 ? pmv_verbs_mcast_filter_apply(dev, NULL)
			 : 0;

	if (rc < 0)
		PMV_LOG(ERR, "port %u: its multicast filter does not follow our addresses: %s",
			dev->port_id, strerror(-rc));
}
