// SPDX-License-Identifier: BSD-3-Clause
/*
 * Finds, configures, starts, stops and closes a DPDK port, as an application does that the library
 * then works on. Main's thread. No verbs, no addresses.
 */
#include "apps/common/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "apps/common/say.h"

#define NB_DESC         512
#define POOL_CACHE      256
#define ROOM_STEP_BYTES 4096
#define ROOM_MAX_BYTES  16384
/* Room in front of the IP packet that pmv_worker_param asks for. */
#define LINK_ROOM_BYTES 128

static void
list_ports(char *buf, size_t buf_bytes)
{
	size_t used = 0;
	uint16_t id;

	buf[0] = '\0';
	RTE_ETH_FOREACH_DEV(id)
	{
		char name[RTE_ETH_NAME_MAX_LEN] = "?";

		rte_eth_dev_get_name_by_port(id, name);
		if (used < buf_bytes)
			used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%u (%s)",
				used > 0 ? ", " : "", id, name);
	}
}

static int
find_port(const char *text, uint16_t *ret_port_id)
{
	char list[256];
	char *end = NULL;
	unsigned long id;

	if (text == NULL) {
		*ret_port_id = (uint16_t)rte_eth_find_next(0);
		if (*ret_port_id < RTE_MAX_ETHPORTS)
			return 0;
		pmv_app_say("there is no DPDK port; give EAL one, such as "
			    "--vdev=net_af_packet0,iface=eth1 before the --");
		return -ENODEV;
	}
	id = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && id < RTE_MAX_ETHPORTS &&
		rte_eth_dev_is_valid_port((uint16_t)id)) {
		*ret_port_id = (uint16_t)id;
		return 0;
	}
	if (rte_eth_dev_get_port_by_name(text, ret_port_id) == 0)
		return 0;
	list_ports(list, sizeof(list));
	pmv_app_say("there is no DPDK port '%s'; there is %s", text,
		list[0] != '\0' ? list : "none at all");
	return -ENODEV;
}

static void
say_violation(void *arg, const char *sentence)
{
	const struct pmv_app_port *port = arg;

	pmv_app_say("port %u does not suit: %s", port->port_id, sentence);
}

/* A port may belong to another library of the process (a bond, a fail-safe port). */
static int
check_owner(uint16_t port_id)
{
	struct rte_eth_dev_owner owner = { 0 };

	if (rte_eth_dev_owner_get(port_id, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER) {
		pmv_app_say("port %u is busy: it belongs to %s", port_id, owner.name);
		return -EBUSY;
	}
	return 0;
}

static int
configure(const struct pmv_app_port *port, uint16_t ip_mtu, struct rte_eth_dev_info *info)
{
	struct rte_eth_conf conf = { 0 };
	int ret = rte_eth_dev_info_get(port->port_id, info);

	if (ret == 0 && ip_mtu != 0 && (ip_mtu < info->min_mtu || ip_mtu > info->max_mtu)) {
		pmv_app_say("port %u takes an IP MTU from %u to %u, not %u", port->port_id,
			info->min_mtu, info->max_mtu, ip_mtu);
		return -EINVAL;
	}
	/* Virtual drivers (af_packet, net_ring, memif) know one MTU, 1500, and refuse any other,
	 * although their frame slots may well hold more. */
	if ((uint32_t)ip_mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN <= info->max_rx_pktlen)
		conf.rxmode.mtu = ip_mtu;
	/* Headers and payload are separate segments; FAST_FREE would forbid what the library does
	 * with them. */
	conf.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	info->default_txconf.offloads = conf.txmode.offloads;
	if (ret == 0)
		ret = rte_eth_dev_configure(port->port_id, port->nb_queues, port->nb_queues, &conf);
	if (ret == -EBUSY)
		pmv_app_say("port %u is busy: somebody has started it already", port->port_id);
	else if (ret != 0)
		pmv_app_say("port %u cannot be configured with %u queue pairs: %s", port->port_id,
			port->nb_queues, rte_strerror(-ret));
	return ret;
}

static struct rte_mempool *
create_pool(const struct pmv_app_port *port, uint16_t queue, uint32_t nb_mbufs, uint32_t room_bytes)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "pmv_app_%u_%u", port->port_id, queue);
	return rte_pktmbuf_pool_create(name, nb_mbufs, POOL_CACHE, 0,
		(uint16_t)RTE_MIN(room_bytes, (uint32_t)UINT16_MAX), port->socket_id);
}

/* Page faults now, not while frames fly. */
static void
touch_frame(struct rte_mempool *pool, void *arg, void *obj, unsigned int index)
{
	struct rte_mbuf *m = obj;

	(void)pool;
	(void)arg;
	(void)index;
	memset(m->buf_addr, 0, m->buf_len);
}

/*
 * A pool and a receive queue on it. Some drivers (af_packet) copy out of frame slots of a size of
 * their own and refuse a pool whose room is smaller than a slot, but tell that size nowhere: so the
 * room grows until the driver is content.
 */
static int
set_up_rx(struct pmv_app_port *port, uint16_t queue, const struct pmv_app_port_param *param,
	const struct rte_eth_dev_info *info, uint16_t nb_desc)
{
	struct rte_eth_rxconf conf = info->default_rxconf;
	uint16_t mtu = param->ip_mtu;
	uint32_t room;
	int ret = 0;

	if (mtu == 0)
		rte_eth_dev_get_mtu(port->port_id, &mtu);
	room = RTE_ALIGN((uint32_t)LINK_ROOM_BYTES + mtu, 64u);
	if (room < RTE_MBUF_DEFAULT_DATAROOM)
		room = RTE_MBUF_DEFAULT_DATAROOM;
	while (true) {
		struct rte_mempool *pool =
			create_pool(port, queue, param->nb_mbufs, room + RTE_PKTMBUF_HEADROOM);

		if (pool == NULL) {
			pmv_app_say(
				"no memory for %u frames of %u bytes: %s; give EAL more with -m",
				param->nb_mbufs, room, rte_strerror(rte_errno));
			return -ENOMEM;
		}
		ret = rte_eth_rx_queue_setup(
			port->port_id, queue, nb_desc, (unsigned int)port->socket_id, &conf, pool);
		if (ret == 0) {
			rte_mempool_obj_iter(pool, touch_frame, NULL);
			port->pools[queue] = pool;
			return 0;
		}
		rte_mempool_free(pool);
		if (room >= ROOM_MAX_BYTES)
			break;
		room = RTE_ALIGN(room + 1, ROOM_STEP_BYTES);
	}
	pmv_app_say("receive queue %u of port %u cannot be set up: %s", queue, port->port_id,
		rte_strerror(-ret));
	return ret;
}

static int
set_up_queues(struct pmv_app_port *port, const struct pmv_app_port_param *param,
	const struct rte_eth_dev_info *info)
{
	uint16_t nb_rx = NB_DESC;
	uint16_t nb_tx = NB_DESC;
	int ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &nb_rx, &nb_tx);

	for (uint16_t q = 0; ret == 0 && q < port->nb_queues; q++) {
		ret = set_up_rx(port, q, param, info, nb_rx);
		if (ret != 0)
			return ret;
		ret = rte_eth_tx_queue_setup(port->port_id, q, nb_tx, (unsigned int)port->socket_id,
			&info->default_txconf);
	}
	if (ret != 0)
		pmv_app_say("the queues of port %u cannot be set up: %s", port->port_id,
			rte_strerror(-ret));
	return ret;
}

static int
start(struct pmv_app_port *port, const struct pmv_app_port_param *param)
{
	struct rte_eth_dev_info info;
	int ret = configure(port, param->ip_mtu, &info);

	if (ret != 0)
		return ret;
	port->is_open = true;
	ret = set_up_queues(port, param, &info);
	if (ret != 0)
		return ret;
	ret = rte_eth_dev_start(port->port_id);
	if (ret != 0) {
		pmv_app_say("port %u does not start: %s", port->port_id, rte_strerror(-ret));
		return ret;
	}
	port->is_started = true;
	/* Neighbour discovery comes to multicast addresses. Virtual ports have no filter and may
	 * refuse: no harm. */
	(void)rte_eth_allmulticast_enable(port->port_id);
	return pmv_port_check(port->port_id, param->ip_mtu, say_violation, port) == 0 ? 0
										      : -ENOTSUP;
}

int
pmv_app_port_open(const struct pmv_app_port_param *param, struct pmv_app_port *ret_port)
{
	struct pmv_app_port port = { .nb_queues = param->nb_queues };
	int ret = find_port(param->port, &port.port_id);

	if (ret == 0)
		ret = check_owner(port.port_id);
	if (ret != 0)
		return ret;
	port.socket_id = rte_eth_dev_socket_id(port.port_id);
	ret = start(&port, param);
	if (ret != 0)
		pmv_app_port_close(&port);
	else
		*ret_port = port;
	return ret;
}

int
pmv_app_port_close(struct pmv_app_port *port)
{
	int ret = 0;

	if (port->is_started)
		rte_eth_dev_stop(port->port_id);
	if (port->is_open)
		rte_eth_dev_close(port->port_id);
	for (uint16_t q = 0; q < port->nb_queues; q++) {
		uint32_t nb_out =
			port->pools[q] != NULL ? rte_mempool_in_use_count(port->pools[q]) : 0;

		if (nb_out == 0) {
			rte_mempool_free(port->pools[q]);
			continue;
		}
		pmv_app_say("%u frames of port %u did not come back", nb_out, port->port_id);
		ret = -EBUSY;
	}
	*port = (struct pmv_app_port){ 0 };
	return ret;
}
