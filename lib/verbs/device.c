// SPDX-License-Identifier: BSD-3-Clause
/*
 * Opening, closing and querying devices. Control threads. Addresses are addr.c's, workers
 * worker.c's.
 */
#include "lib/verbs/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "lib/driver/registry.h"
#include "lib/lcore/exchange.h"
#include "lib/util/log.h"
#include "lib/verbs/ctl_channel.h"
#include "lib/verbs/guid.h"
#include "lib/verbs/mem.h"
#include "lib/verbs/nexthop.h"
#include "lib/verbs/port.h"
#include "lib/verbs/port_check.h"

#define MR_MAX_DEFAULT      4096u
#define MR_MAX_MOST         65536u
#define WINDOW_PKTS_DEFAULT 128u
#define WINDOW_PKTS_MOST    4096u
#define HOP_LIMIT_DEFAULT   64u

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static STAILQ_HEAD(, pmv_device) devices = STAILQ_HEAD_INITIALIZER(devices);

/* A sentence about the first argument that is out of range, or NULL. */
static const char *
param_problem(const struct pmv_device_param *p)
{
	if (p->nb_workers == 0 || p->nb_workers > PMV_WORKERS_MAX)
		return "nb_workers is not 1..16";
	if (p->ip_mtu != 0 && p->ip_mtu < PMV_VERBS_IP_MTU_MIN)
		return "ip_mtu is below 352";
	if (p->vlan_id > 4094)
		return "vlan_id is above 4094";
	if (p->vlan_pcp > 7)
		return "vlan_pcp is above 7";
	if (p->ownership != PMV_ADDR_OWN && p->ownership != PMV_ADDR_SHARED)
		return "ownership is not an enum pmv_addr_ownership";
	if (p->mr_max > MR_MAX_MOST)
		return "mr_max is above 65536";
	if (p->mw_max > MR_MAX_MOST)
		return "mw_max is above 65536";
	if (p->window_pkts > WINDOW_PKTS_MOST)
		return "window_pkts is above 4096";
	if (p->ibdev != NULL && (p->ibdev[0] == '\0' || strlen(p->ibdev) >= PMV_IBDEV_BYTES))
		return "ibdev is not a name of 1..63 bytes";
	return NULL;
}

static void
log_violation(void *arg, const char *sentence)
{
	PMV_LOG(ERR, "device_open: port_id %u does not fit: %s", *(uint16_t *)arg, sentence);
}

static bool
is_port_open(uint16_t port_id)
{
	struct pmv_device *dev;

	STAILQ_FOREACH(dev, &devices, next)
	if (dev->port_id == port_id)
		return true;
	return false;
}

static bool
is_ibdev_open(const char *ibdev)
{
	struct pmv_device *dev;

	STAILQ_FOREACH(dev, &devices, next)
	if (strcmp(dev->ibdev, ibdev) == 0)
		return true;
	return false;
}

static bool
is_guid_used(uint64_t guid)
{
	struct pmv_device *dev;

	STAILQ_FOREACH(dev, &devices, next)
	if (dev->node_guid == guid)
		return true;
	return false;
}

/* Defaults of the parameters. 0; -ENODEV. */
static int
fill_param(struct pmv_device *dev, const struct pmv_device_param *param)
{
	struct pmv_device_param *p = &dev->param;

	*p = *param;
	p->driver = dev->driver->name;
	if (p->ip_mtu == 0 && !dev->driver->portless &&
		rte_eth_dev_get_mtu(p->port_id, &p->ip_mtu) != 0)
		return -ENODEV;
	if (p->hop_limit == 0)
		p->hop_limit = HOP_LIMIT_DEFAULT;
	if (p->mr_max == 0)
		p->mr_max = MR_MAX_DEFAULT;
	p->mr_max = rte_align32pow2(p->mr_max);
	if (p->mw_max == 0)
		p->mw_max = p->mr_max;
	if (p->window_pkts == 0)
		p->window_pkts = WINDOW_PKTS_DEFAULT;
	return 0;
}

/* What identifies the device: MAC and node GUID, distinct from those of the other devices of this
 * process. */
static int
fill_identity(struct pmv_device *dev)
{
	uint64_t seed = dev->param.seed;
	int rc;

	if (rte_eth_macaddr_get(dev->port_id, &dev->mac) != 0)
		return -ENODEV;
	if (rte_is_zero_ether_addr(&dev->mac)) {
		rc = pmv_verbs_guid_make_mac(seed, dev->port_id, dev->mac.addr_bytes);
		if (rc < 0)
			return rc;
	}
	rc = pmv_verbs_guid_make(dev->mac.addr_bytes, seed, &dev->node_guid);
	while (rc == 0 && is_guid_used(dev->node_guid))
		dev->node_guid += 2;
	return rc;
}

static int
fill_base(struct pmv_device *dev, const struct pmv_device_param *param)
{
	int rc;

	dev->port_id = dev->driver->portless ? PMV_PORT_NONE : param->port_id;
	dev->socket_id =
		dev->driver->portless ? SOCKET_ID_ANY : rte_eth_dev_socket_id(param->port_id);
	dev->ticks_per_sec = rte_get_tsc_hz();
	STAILQ_INIT(&dev->dying);
	rc = fill_param(dev, param);
	if (rc < 0)
		return rc;
	while ((1u << dev->worker_bits) < dev->param.nb_workers)
		dev->worker_bits++;
	if (dev->driver->portless) { /* who it is and what it can, device_init tells */
		dev->param.port_id = PMV_PORT_NONE;
		dev->param.ownership = PMV_ADDR_SHARED;
		snprintf(dev->ibdev, sizeof(dev->ibdev), "%s", param->ibdev);
		dev->param.ibdev = dev->ibdev;
		return 0;
	}
	dev->param.ibdev = NULL;
	dev->ip_mtu = dev->param.ip_mtu;
	dev->active_mtu = pmv_verbs_port_active_mtu(dev->ip_mtu);
	return fill_identity(dev);
}

static void
destroy(struct pmv_device *dev)
{
	pmv_lcore_exchange_destroy(dev);
	pmv_verbs_nexthops_destroy(dev);
	pthread_mutex_destroy(&dev->lock);
	rte_free(dev);
}

/* Under devices_lock. */
static int
create(struct pmv_driver *driver, const struct pmv_device_param *param,
	struct pmv_device **ret_device)
{
	struct pmv_device *dev;
	int rc;

	dev = rte_zmalloc_socket("pmv_device", driver->device_bytes, RTE_CACHE_LINE_SIZE,
		driver->portless ? SOCKET_ID_ANY : rte_eth_dev_socket_id(param->port_id));
	if (dev == NULL)
		return -ENOMEM;
	dev->driver = driver;
	pthread_mutex_init(&dev->lock, NULL);
	rc = fill_base(dev, param);
	if (rc == 0)
		rc = pmv_verbs_nexthops_create(dev);
	if (rc == 0)
		rc = pmv_lcore_exchange_create(dev);
	if (rc == 0)
		rc = driver->ops->device_init(dev);
	if (rc < 0) {
		destroy(dev);
		return rc;
	}
	pmv_verbs_port_watch(dev);
	STAILQ_INSERT_TAIL(&devices, dev, next);
	*ret_device = dev;
	return 0;
}

/* Under devices_lock. */
static int
create_or_tell(struct pmv_driver *driver, const struct pmv_device_param *param,
	struct pmv_device **ret_device)
{
	uint32_t mark = pmv_log_nb_errors;
	int rc = create(driver, param, ret_device);

	if (rc == 0)
		return 0;
	if (param->ibdev != NULL)
		return pmv_log_refuse_since(
			mark, rc, "device_open: ibdev %s: %s", param->ibdev, strerror(-rc));
	return pmv_log_refuse_since(
		mark, rc, "device_open: port_id %u: %s", param->port_id, strerror(-rc));
}

static int
refuse_driver(const struct pmv_device_param *param, int rc)
{
	return pmv_log_refuse(rc, "device_open: driver %s: %s",
		param->driver == NULL ? "(any)" : param->driver,
		rc == -ENOENT          ? "no such driver"
		: param->ibdev != NULL ? "runs ports, not RDMA devices"
				       : "cannot run this port");
}

static int
check_open_ibdev(const struct pmv_device_param *param, struct pmv_driver **ret_driver)
{
	int rc = pmv_driver_choose_portless(param->driver, ret_driver);

	if (rc < 0)
		return refuse_driver(param, rc);
	if (is_ibdev_open(param->ibdev))
		return pmv_log_refuse(
			-EBUSY, "device_open: ibdev %s is open already", param->ibdev);
	return 0;
}

/* Everything that can be refused before something is made. Under devices_lock. */
static int
check_open(const struct pmv_device_param *param, struct pmv_driver **ret_driver)
{
	uint16_t port_id = param->port_id;
	int rc;

	if (param->ibdev != NULL)
		return check_open_ibdev(param, ret_driver);
	if (!rte_eth_dev_is_valid_port(port_id))
		return pmv_log_refuse(-ENODEV, "device_open: port_id %u: no such port", port_id);
	if (is_port_open(port_id))
		return pmv_log_refuse(
			-EBUSY, "device_open: port_id %u already carries a device", port_id);
	rc = pmv_driver_choose(param->driver, port_id, ret_driver);
	if (rc == 0 && (*ret_driver)->portless)
		rc = -ENOTSUP;
	if (rc < 0)
		return refuse_driver(param, rc);
	return pmv_port_check(port_id, param->ip_mtu, log_violation, &port_id) != 0 ? -ENOTSUP : 0;
}

int
pmv_device_open(const struct pmv_device_param *param, struct pmv_device **ret_device)
{
	struct pmv_driver *driver;
	const char *problem;
	int rc;

	if (PMV_ANY_NULL("device_open", "param ret_device", param, ret_device))
		return -EINVAL;
	problem = param_problem(param);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "device_open: %s", problem);
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return pmv_log_refuse(
			-ENOTSUP, "device_open: secondary processes are not supported");
	pthread_mutex_lock(&devices_lock);
	rc = check_open(param, &driver);
	if (rc == 0)
		rc = create_or_tell(driver, param, ret_device);
	pthread_mutex_unlock(&devices_lock);
	return rc;
}

/* Why the device cannot be closed, or NULL. Under its lock. */
static const char *
user_of(struct pmv_device *dev)
{
	pmv_verbs_mem_reap(dev);
	if (dev->ctl != NULL)
		return "a connection manager";
	if (dev->nb_workers_made > 0)
		return "a worker";
	if (dev->nb_pds > 0)
		return "a protection domain";
	return NULL;
}

int
pmv_device_close(struct pmv_device *dev)
{
	const char *user;

	if (PMV_ANY_NULL("device_close", "device", dev))
		return -EINVAL;
	pthread_mutex_lock(&devices_lock);
	pmv_verbs_lock(dev);
	user = user_of(dev);
	pmv_verbs_unlock(dev);
	if (user != NULL) {
		pthread_mutex_unlock(&devices_lock);
		return pmv_log_refuse(
			-EBUSY, "device_close: port %u: %s still uses it", dev->port_id, user);
	}
	STAILQ_REMOVE(&devices, dev, pmv_device, next);
	pmv_verbs_mem_forget_events(dev);
	dev->driver->ops->device_fini(dev);
	destroy(dev);
	pmv_verbs_ctl_reap_pools();
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

void
pmv_verbs_device_attr(struct pmv_device *dev, struct pmv_device_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->max_mr = dev->param.mr_max;
	a->max_mr_size = 1ull << 48;
	a->max_msg_size = PMV_MSG_BYTES_MAX;
	a->active_mtu = dev->active_mtu;
	dev->driver->ops->device_query(dev, a);
	a->driver = dev->driver->name;
	memcpy(a->mac, dev->mac.addr_bytes, sizeof(a->mac));
	a->port_id = dev->port_id;
	a->node_guid = dev->node_guid;
	a->nb_workers = dev->param.nb_workers;
	a->ip_mtu = dev->ip_mtu;
	a->nb_gids = (uint16_t)dev->addrs.nb;
	a->vlan_id = dev->param.vlan_id;
	a->ownership = dev->param.ownership;
}

int
pmv_query_device(struct pmv_device *dev, struct pmv_device_attr *ret_attr)
{
	if (PMV_ANY_NULL("query_device", "device ret_attr", dev, ret_attr))
		return -EINVAL;
	pmv_verbs_lock(dev);
	pmv_verbs_device_attr(dev, ret_attr);
	pmv_verbs_unlock(dev);
	return 0;
}
