// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/port.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "lib/util/log.h"
#include "lib/verbs/device.h"
#include "lib/verbs/port_check.h"

#define LOOKS_PER_SEC 100u /* some ports ask a device, or the kernel, for their link */

static int
query_ethdev(const struct pmv_device *dev, struct pmv_port_attr *a)
{
	struct rte_eth_link link;
	uint16_t mtu;

	if (rte_eth_link_get_nowait(dev->port_id, &link) != 0 ||
		rte_eth_dev_get_mtu(dev->port_id, &mtu) != 0)
		return -ENODEV;
	a->max_mtu = pmv_verbs_port_active_mtu(mtu);
	if (link.link_status == RTE_ETH_LINK_DOWN) {
		a->state = PMV_PORT_DOWN;
		return 0;
	}
	a->state = PMV_PORT_ACTIVE;
	a->is_full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
	if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		a->active_speed = link.link_speed;
	return 0;
}

static int
query(struct pmv_device *dev, struct pmv_port_attr *a)
{
	struct pmv_device_attr limits;

	pmv_verbs_device_attr(dev, &limits);
	*a = (struct pmv_port_attr){ .active_mtu = dev->active_mtu,
		.gid_tbl_len = PMV_ADDRS_MAX,
		.pkey_tbl_len = 1,
		.max_msg_sz = limits.max_msg_size };
	if (!dev->driver->portless)
		return query_ethdev(dev, a);
	return dev->driver->ops->port_query != NULL ? dev->driver->ops->port_query(dev, a)
						    : -ENODEV;
}

int
pmv_query_port(struct pmv_device *dev, struct pmv_port_attr *ret_attr)
{
	struct pmv_port_attr a;
	int rc;

	if (PMV_ANY_NULL("query_port", "device ret_attr", dev, ret_attr))
		return -EINVAL;
	pmv_verbs_lock(dev);
	rc = query(dev, &a);
	pmv_verbs_unlock(dev);
	if (rc < 0)
		return pmv_log_refuse(-ENODEV, "query_port: port_id %u does not say: %s",
			dev->port_id, strerror(-rc));
	*ret_attr = a;
	return 0;
}

const char *
pmv_port_state_str(enum pmv_port_state state)
{
	switch (state) {
	case PMV_PORT_DOWN:
		return "down";
	case PMV_PORT_ACTIVE:
		return "active";
	}
	return "unknown state";
}

/* A port that does not say is taken to be as it was. */
static void
look(struct pmv_device *dev)
{
	struct pmv_port_watch *p = &dev->port;
	struct pmv_port_attr a;
	bool is_up;

	p->look_at = rte_get_tsc_cycles() + dev->ticks_per_sec / LOOKS_PER_SEC;
	if (query(dev, &a) < 0)
		return;
	is_up = a.state == PMV_PORT_ACTIVE;
	if (is_up == p->is_up)
		return;
	p->is_up = is_up;
	/* the news is what holds now: a change that nobody took is none */
	p->pending &= ~(1u << PMV_EVENT_PORT_ACTIVE | 1u << PMV_EVENT_PORT_ERR);
	p->pending |= 1u << (is_up ? PMV_EVENT_PORT_ACTIVE : PMV_EVENT_PORT_ERR);
}

void
pmv_verbs_port_watch(struct pmv_device *dev)
{
	look(dev);
	dev->port.pending = 0;
}

void
pmv_verbs_port_gids_changed(struct pmv_device *dev)
{
	if (dev->nb_workers_made > 0) /* before, nobody has used an address */
		dev->port.pending |= 1u << PMV_EVENT_GID_CHANGE;
}

bool
pmv_verbs_port_take_event(struct pmv_device *dev, struct pmv_event *ret_event)
{
	struct pmv_port_watch *p = &dev->port;

	if (rte_get_tsc_cycles() >= p->look_at)
		look(dev);
	if (p->pending == 0)
		return false;
	*ret_event = (struct pmv_event){ .type = (enum pmv_event_type)__builtin_ctz(p->pending),
		.object = dev };
	p->pending &= p->pending - 1;
	return true;
}
