// SPDX-License-Identifier: BSD-3-Clause
/*
 * ARP, neighbour discovery and echo of one device, see lan.h. Control lcore.
 */
#include "cm/lan.h"

#include <errno.h>
#include <string.h>

#include "cm/icmp.h"
#include "cm/limits.h"
#include "cm/neigh_proto.h"
#include "cm/route.h"
#include "cm/tx.h"
#include "lib/util/log.h"
#include "lib/verbs/nexthop.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/gid.h"

static void
self_of(const struct pmv_cm_dev *dev, uint32_t addr, struct pmv_cm_neigh_self *ret)
{
	memcpy(ret->mac, dev->facts.mac, 6);
	memcpy(ret->ip, dev->facts.addr[addr].gid.raw, 16);
	ret->vlan = dev->facts.vlan_id;
}

static void
send_neigh(struct pmv_cm_dev *dev, uint16_t worker, const struct pmv_cm_neigh_msg *msg)
{
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX];
	int len = pmv_cm_neigh_proto_build(msg, frame, sizeof(frame));

	if (len > 0 && pmv_cm_tx_frame(dev, worker, frame, (uint32_t)len))
		pmv_cm_count(dev->cm, PMV_CM_STAT_TX_ARP_ND);
}

/* Asks for key.ip, from an address of ours on its link if there is one. */
static void
send_request(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_key *key, const uint8_t *unicast)
{
	bool v4 = pmv_gid_is_v4(key->ip);
	struct pmv_cm_neigh_self self;
	struct pmv_cm_neigh_msg msg;
	uint16_t addr;

	if (!pmv_cm_dev_is_own(dev))
		return;
	addr = pmv_cm_route_source_on_link(dev, key->ip);
	if (addr == PMV_CM_NO_ADDR)
		addr = pmv_cm_dev_addr_first(dev, v4, false);
	if (addr == PMV_CM_NO_ADDR)
		addr = pmv_cm_dev_addr_first(dev, v4, true);
	if (addr == PMV_CM_NO_ADDR)
		return;
	self_of(dev, addr, &self);
	pmv_cm_neigh_proto_request(&self, key->ip, unicast, &msg);
	send_neigh(dev, 0, &msg);
}

void
pmv_cm_lan_nexthop(struct pmv_cm_dev *dev, const uint8_t ip[16], const uint8_t mac[6])
{
	union pmv_gid gid;
	int err;

	memcpy(gid.raw, ip, 16);
	err = pmv_verbs_nexthop_set(dev->device, &gid, mac);
	if (err == -EAGAIN) {
		dev->neigh_resync = true;
		pmv_cm_count(dev->cm, PMV_CM_STAT_NEXTHOP_RETRY);
	} else if (err != 0) {
		PMV_LOG(WARNING, "device on port %u: next hop not entered: %s", dev->facts.port_id,
			strerror(-err));
	}
}

static void
carry_out(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_action *a)
{
	switch (a->what) {
	case PMV_CM_NEIGH_DO_BROADCAST:
		send_request(dev, &a->key, NULL);
		break;
	case PMV_CM_NEIGH_DO_UNICAST:
		send_request(dev, &a->key, a->mac);
		break;
	case PMV_CM_NEIGH_DO_CHANGED:
		/* Strangers that only asked for us do not fill the table of next hops. */
		if (dev->neigh.entries[a->entry].refs != 0)
			pmv_cm_lan_nexthop(dev, a->key.ip, a->mac);
		break;
	case PMV_CM_NEIGH_DO_LOST: /* QPs keep the last MAC; their retries decide */
		break;
	}
}

void
pmv_cm_lan_apply(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_out *out)
{
	struct pmv_cm_neigh_waiter *w;
	uint32_t i;

	for (i = 0; i < out->nb; i++)
		carry_out(dev, &out->action[i]);
	while ((w = pmv_cm_neigh_done_pop(&dev->neigh)) != NULL)
		pmv_cm_route_done(w);
}

/* A change that a full mailbox refused: all entries in use again, the right ones change nothing. */
static void
resync(struct pmv_cm_dev *dev)
{
	uint32_t i;

	dev->neigh_resync = false;
	for (i = 0; i < dev->neigh.nb_max && !dev->neigh_resync; i++) {
		const struct pmv_cm_neigh_entry *e = &dev->neigh.entries[i];

		if (e->state != PMV_CM_NEIGH_FREE && e->has_mac && e->refs != 0)
			pmv_cm_lan_nexthop(dev, e->key.ip, e->mac);
	}
}

void
pmv_cm_lan_turn(struct pmv_cm_dev *dev)
{
	struct pmv_cm_neigh_out out;

	if (dev->neigh_resync)
		resync(dev);
	if (pmv_cm_neigh_next_due(&dev->neigh) > dev->cm->now)
		return;
	out.nb = 0;
	pmv_cm_neigh_step(&dev->neigh, dev->cm->now, &out);
	pmv_cm_lan_apply(dev, &out);
}

void
pmv_cm_lan_announce(struct pmv_cm_dev *dev)
{
	struct pmv_cm_neigh_self self;
	struct pmv_cm_neigh_msg msg;
	uint32_t i;

	for (i = 0; i < dev->facts.nb_addrs; i++) {
		if (pmv_gid_is_zero(dev->facts.addr[i].gid.raw))
			continue;
		self_of(dev, i, &self);
		pmv_cm_neigh_proto_announce(&self, &msg);
		send_neigh(dev, 0, &msg);
	}
}

/* Another host uses or wants our address: say so, and insist, but not more often than RFC 5227
 * 2.4 (c) allows. */
static void
conflict(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_self *self,
	const struct pmv_cm_neigh_msg *in)
{
	uint64_t now = dev->cm->now;
	struct pmv_cm_neigh_msg msg;
	union pmv_gid gid;
	char text[64];

	pmv_cm_count(dev->cm, PMV_CM_STAT_RX_CONFLICT);
	if (dev->defended &&
		now - dev->defended_at < PMV_CM_NEIGH_DEFEND_US * dev->cm->ticks_per_us)
		return;
	dev->defended = true;
	dev->defended_at = now;
	memcpy(gid.raw, self->ip, 16);
	PMV_LOG(WARNING, "%02x:%02x:%02x:%02x:%02x:%02x also claims our address %s",
		in->sender_mac[0], in->sender_mac[1], in->sender_mac[2], in->sender_mac[3],
		in->sender_mac[4], in->sender_mac[5], pmv_gid_str(&gid, text, sizeof(text)));
	if (!pmv_cm_dev_is_own(dev))
		return;
	pmv_cm_neigh_proto_announce(self, &msg);
	send_neigh(dev, 0, &msg);
}

/* The address of ours that a message is judged for: its target, its claimed source, or any of the
 * family. */
static uint16_t
judged_addr(const struct pmv_cm_dev *dev, const struct pmv_cm_neigh_msg *msg)
{
	bool v4 = pmv_gid_is_v4(msg->target_ip);
	uint16_t addr = pmv_cm_dev_addr_index(dev, msg->target_ip);

	if (addr == PMV_CM_NO_ADDR)
		addr = pmv_cm_dev_addr_index(dev, msg->sender_ip);
	if (addr == PMV_CM_NO_ADDR)
		addr = pmv_cm_dev_addr_first(dev, v4, false);
	if (addr == PMV_CM_NO_ADDR)
		addr = pmv_cm_dev_addr_first(dev, v4, true);
	return addr;
}

static void
neigh_frame(struct pmv_cm_dev *dev, const struct pmv_cm_neigh_msg *in, uint16_t worker)
{
	uint16_t addr = judged_addr(dev, in);
	struct pmv_cm_neigh_judgement j;
	struct pmv_cm_neigh_self self;
	struct pmv_cm_neigh_msg reply;
	struct pmv_cm_neigh_out out;
	struct pmv_cm_neigh_key key;

	pmv_cm_count(dev->cm, PMV_CM_STAT_RX_ARP_ND);
	if (addr == PMV_CM_NO_ADDR)
		return;
	self_of(dev, addr, &self);
	j = pmv_cm_neigh_proto_judge(&self, in);
	if (j.conflict)
		conflict(dev, &self, in);
	if (j.answer && pmv_cm_dev_is_own(dev)) {
		pmv_cm_neigh_proto_answer(&self, in, &reply);
		send_neigh(dev, worker, &reply);
	}
	if (!j.learn)
		return;
	memcpy(key.ip, in->sender_ip, 16);
	key.vlan = dev->facts.vlan_id;
	out.nb = 0;
	pmv_cm_neigh_packet(&dev->neigh, &key, in->sender_mac, j.seen, dev->cm->now, &out);
	pmv_cm_lan_apply(dev, &out);
}

/* A token for each reply; they come back evenly, PMV_CM_ICMP_REPLIES_PER_S of them a second. */
static bool
echo_token(struct pmv_cm_dev *dev)
{
	uint64_t second = PMV_CM_US_PER_S * dev->cm->ticks_per_us;
	uint64_t per_token = second / PMV_CM_ICMP_REPLIES_PER_S;
	uint64_t nb = (dev->cm->now - dev->echo_refill_at) / per_token;

	if (nb != 0) {
		dev->echo_refill_at += nb * per_token;
		if (nb > PMV_CM_ICMP_REPLIES_PER_S - dev->echo_tokens)
			nb = PMV_CM_ICMP_REPLIES_PER_S - dev->echo_tokens;
		dev->echo_tokens += (uint32_t)nb;
	}
	if (dev->echo_tokens == 0)
		return false;
	dev->echo_tokens--;
	return true;
}

static void
echo_frame(struct pmv_cm_dev *dev, const uint8_t *frame, const struct pmv_cm_icmp *icmp,
	uint16_t worker)
{
	uint8_t reply[PMV_CM_ICMP_FRAME_MAX];
	int len;

	pmv_cm_count(dev->cm, PMV_CM_STAT_RX_ECHO);
	if (!pmv_cm_dev_is_own(dev) || pmv_cm_dev_addr_index(dev, icmp->dst_ip) == PMV_CM_NO_ADDR)
		return;
	if (!echo_token(dev)) {
		pmv_cm_count(dev->cm, PMV_CM_STAT_RX_DROP_ECHO_RATE);
		return;
	}
	len = pmv_cm_icmp_reply_build(frame, icmp, dev->facts.mac, reply, sizeof(reply));
	if (len > 0 && pmv_cm_tx_frame(dev, worker, reply, (uint32_t)len))
		pmv_cm_count(dev->cm, PMV_CM_STAT_TX_ECHO);
}

void
pmv_cm_lan_frame(struct pmv_cm_dev *dev, const uint8_t *frame, uint32_t len, uint16_t worker)
{
	enum pmv_cm_neigh_verdict nv;
	enum pmv_cm_icmp_verdict iv;
	struct pmv_cm_neigh_msg msg;
	struct pmv_cm_icmp icmp;

	nv = pmv_cm_neigh_proto_parse(frame, len, &msg);
	if (nv == PMV_CM_NEIGH_OK) {
		/* A frame whose tag the port stripped reads as untagged; io has compared the VLAN.
		 */
		msg.vlan = dev->facts.vlan_id;
		neigh_frame(dev, &msg, worker);
		return;
	}
	if (nv != PMV_CM_NEIGH_OTHER) {
		pmv_cm_count(dev->cm, PMV_CM_STAT_NEIGH + nv);
		return;
	}
	iv = pmv_cm_icmp_parse(frame, len, &icmp);
	if (iv == PMV_CM_ICMP_ECHO_REQUEST)
		echo_frame(dev, frame, &icmp, worker);
	else if (iv == PMV_CM_ICMP_PORT_UNREACHABLE)
		pmv_cm_count(dev->cm, PMV_CM_STAT_RX_UNREACHABLE);
	else
		pmv_cm_count(dev->cm, PMV_CM_STAT_ICMP + iv);
}
