// SPDX-License-Identifier: BSD-3-Clause
/*
 * Makes the two rings and the two ports on them. Main's thread.
 */
#include "apps/common/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "apps/common/say.h"

/* More than both ends may have under way: the wire itself loses nothing. */
#define RING_FRAMES 2048

static const char *const end_names[PMV_APP_WIRE_ENDS] = { "pmv_server", "pmv_client" };

/* A net_ring port has no MAC address. Adding one to a port whose first is empty makes it the first.
 */
static int
give_mac(uint16_t port_id, unsigned int end)
{
	struct rte_ether_addr mac = { { 0x02, 0x70, 0x6d, 0x76, 0x00, (uint8_t)(end + 1) } };

	return rte_eth_dev_mac_addr_add(port_id, &mac, 0);
}

static int
open_port(struct pmv_app_wire *wire, unsigned int end)
{
	struct rte_ring *rx = wire->to[end];
	struct rte_ring *tx = wire->to[!end];
	int id = rte_eth_from_rings(end_names[end], &rx, 1, &tx, 1, rte_socket_id());
	int ret = id < 0 ? -rte_errno : give_mac((uint16_t)id, end);

	if (ret == 0)
		snprintf(wire->port[end], sizeof(wire->port[end]), "%d", id);
	return ret;
}

int
pmv_app_wire_open(struct pmv_app_wire *ret_wire)
{
	struct pmv_app_wire wire = { 0 };
	int ret = 0;

	for (unsigned int end = 0; end < PMV_APP_WIRE_ENDS && ret == 0; end++) {
		/* One lcore on either side of each ring. */
		wire.to[end] = rte_ring_create(end_names[end], RING_FRAMES, (int)rte_socket_id(),
			RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (wire.to[end] == NULL)
			ret = -rte_errno;
	}
	for (unsigned int end = 0; end < PMV_APP_WIRE_ENDS && ret == 0; end++)
		ret = open_port(&wire, end);
	if (ret != 0) {
		pmv_app_say("the virtual wire cannot be made: %s", strerror(-ret));
		pmv_app_wire_close(&wire);
		return ret;
	}
	*ret_wire = wire;
	return 0;
}

void
pmv_app_wire_drain(struct pmv_app_wire *wire)
{
	void *frame;

	for (unsigned int end = 0; end < PMV_APP_WIRE_ENDS; end++)
		while (wire->to[end] != NULL && rte_ring_sc_dequeue(wire->to[end], &frame) == 0)
			rte_pktmbuf_free(frame);
}

void
pmv_app_wire_close(struct pmv_app_wire *wire)
{
	for (unsigned int end = 0; end < PMV_APP_WIRE_ENDS; end++)
		rte_ring_free(wire->to[end]);
	memset(wire, 0, sizeof(*wire));
}
