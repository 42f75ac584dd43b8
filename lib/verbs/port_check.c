// SPDX-License-Identifier: BSD-3-Clause
/*
 * The conditions a port must meet, one sentence each; see port_check.h.
 */
#include "lib/verbs/port_check.h"

#include <errno.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/util/log.h"

/* IPv6 40, UDP 8, BTH 12, and the longest extension headers with the ICRC: what Linux's
 * iboe_get_mtu takes off. */
#define HEADERS_MAX 96u
/* Ethernet, one VLAN tag. */
#define ETH_BYTES 18u

struct check {
	void (*report)(void *arg, const char *sentence);
	void *arg;
	int nb;
};

static void
violation(struct check *c, const char *sentence)
{
	c->nb++;
	if (c->report != NULL)
		c->report(c->arg, sentence);
}

uint8_t
pmv_verbs_port_active_mtu(uint16_t ip_mtu)
{
	uint8_t mtu = PMV_MTU_4096;

	while (mtu > 0 && ip_mtu < pmv_mtu_bytes(mtu) + HEADERS_MAX)
		mtu--;
	return mtu;
}

static void
check_offloads(struct check *c, const struct rte_eth_conf *conf)
{
	if (!(conf->txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
		violation(c, "transmit offload MULTI_SEGS is off: payloads are sent as segments of "
			     "their own");
	if (conf->txmode.offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		violation(c, "transmit offload MBUF_FAST_FREE is on: sent frames come from more "
			     "than one mempool and "
			     "may be referenced");
	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		violation(c, "receive offload TCP_LRO is on: a frame must arrive as it was sent");
	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_KEEP_CRC)
		violation(c, "receive offload KEEP_CRC is on: the frame check sequence would be "
			     "taken for payload");
}

static void
check_data_room(struct check *c, uint16_t port_id, uint16_t nb_queues,
	const struct rte_eth_conf *conf, uint16_t ip_mtu)
{
	struct rte_eth_rxq_info info;
	char text[128];
	uint16_t room, q;

	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER)
		return;
	for (q = 0; q < nb_queues; q++) {
		/* Virtual devices do not tell their mempool; then nothing can be said. */
		if (rte_eth_rx_queue_info_get(port_id, q, &info) != 0 || info.mp == NULL)
			continue;
		room = (uint16_t)(rte_pktmbuf_data_room_size(info.mp) - RTE_PKTMBUF_HEADROOM);
		if (room >= ip_mtu + ETH_BYTES)
			continue;
		snprintf(text, sizeof(text),
			"receive queue %u has buffers of %u bytes and no SCATTER: an IP MTU of %u "
			"needs %u",
			q, room, ip_mtu, ip_mtu + ETH_BYTES);
		violation(c, text);
	}
}

int
pmv_port_check(uint16_t port_id, uint16_t ip_mtu, void (*report)(void *arg, const char *sentence),
	void *arg)
{
	struct check c = { .report = report, .arg = arg };
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	char text[128];

	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0 ||
		rte_eth_dev_conf_get(port_id, &conf) != 0)
		return pmv_log_refuse(-ENODEV, "port_check: port_id %u: no such port", port_id);
	if (ip_mtu == 0 && rte_eth_dev_get_mtu(port_id, &ip_mtu) != 0)
		ip_mtu = RTE_ETHER_MTU;
	if (info.nb_rx_queues == 0 || info.nb_tx_queues == 0)
		violation(&c, "the port is not configured: it has no queue pair");
	check_offloads(&c, &conf);
	/* An MTU above the port's current one is allowed: net_ring and memif report 1500 whatever
	 * they carry. */
	if (ip_mtu < PMV_VERBS_IP_MTU_MIN || (info.max_mtu != 0 && ip_mtu > info.max_mtu)) {
		snprintf(text, sizeof(text), "an IP MTU of %u is not in %u..%u", ip_mtu,
			PMV_VERBS_IP_MTU_MIN, info.max_mtu);
		violation(&c, text);
	}
	check_data_room(&c, port_id, info.nb_rx_queues, &conf, ip_mtu);
	return c.nb;
}
