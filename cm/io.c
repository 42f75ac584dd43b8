// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames of the control channels on their way in, see io.h. Control lcore.
 */
#include "cm/io.h"

#include <string.h>

#include <rte_mbuf.h>

#include "cm/lan.h"
#include "cm/limits.h"
#include "cm/match.h"
#include "lib/wire/gid.h"
#include "lib/wire/mad.h"

#define BURST 32u
/* Longest frame that anybody here reads (an echo), and room for a tag the port has stripped. */
#define FRAME_MAX (PMV_CM_ICMP_FRAME_MAX + PMV_VLAN_LEN)

static uint16_t
frame_vlan(const uint8_t *frame, uint32_t len)
{
	if (len < PMV_ETH_LEN + PMV_VLAN_LEN || pmv_be16_load(frame + 12) != PMV_ETHERTYPE_VLAN)
		return 0;
	return pmv_be16_load(frame + PMV_ETH_LEN) & 0xfff;
}

/* Low 15 bits equal; ours is a full member, so either kind of the peer's is right. */
static bool
pkey_ok(uint16_t pkey)
{
	return (pkey & 0x7fff) == (PMV_PKEY_DEFAULT & 0x7fff);
}

/* A source that may be answered. Our own address is only believed from our own MAC (loopback). */
static bool
source_ok(const struct pmv_cm_dev *dev, const uint8_t *gid, const uint8_t *mac)
{
	uint32_t v4;

	if (pmv_gid_is_zero(gid) || pmv_gid_is_multicast(gid) || (mac[0] & 1) != 0)
		return false;
	if (pmv_gid_is_v4(gid)) {
		v4 = pmv_gid_ipv4(gid);
		if (v4 == 0 || v4 == UINT32_MAX || v4 >> 24 == 127)
			return false;
	}
	return pmv_cm_dev_addr_index(dev, gid) == PMV_CM_NO_ADDR ||
	       memcmp(mac, dev->facts.mac, 6) == 0;
}

static void
mad_frame(struct pmv_cm_dev *dev, const uint8_t *frame, const struct pmv_mad_view *view,
	uint16_t worker)
{
	struct pmv_cm_rx rx = {
		.dev = dev,
		.src_mac = frame + 6,
		.ip = &view->ip,
		.worker = worker,
	};
	struct pmv_cm *cm = dev->cm;
	enum pmv_cm_msg_verdict verdict;

	if (!pkey_ok(view->roce.bth.pkey)) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_PKEY);
		return;
	}
	if (pmv_cm_dev_addr_index(dev, view->ip.dst_gid) == PMV_CM_NO_ADDR) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_DST);
		return;
	}
	if (!source_ok(dev, view->ip.src_gid, rx.src_mac)) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_SRC);
		return;
	}
	verdict = pmv_cm_msg_parse(view->mad, PMV_MAD_LEN, &rx.msg);
	pmv_cm_count(cm, PMV_CM_STAT_MSG + verdict);
	if (verdict == PMV_CM_MSG_OK)
		pmv_cm_match(&rx);
}

/* One contiguous frame, tag and all. */
static void
frame_in(struct pmv_cm_dev *dev, const uint8_t *frame, uint32_t len, uint16_t worker)
{
	struct pmv_cm *cm = dev->cm;
	struct pmv_mad_view view;
	enum pmv_wire_verdict verdict;

	if (frame_vlan(frame, len) != dev->facts.vlan_id) {
		pmv_cm_count(cm, PMV_CM_STAT_RX_DROP_VLAN);
		return;
	}
	verdict = pmv_mad_frame_parse(frame, len, &view);
	if (verdict == PMV_WIRE_NOT_ROCE) {
		pmv_cm_lan_frame(dev, frame, len, worker);
		return;
	}
	pmv_cm_count(cm, PMV_CM_STAT_WIRE + verdict);
	if (verdict == PMV_WIRE_OK)
		mad_frame(dev, frame, &view, worker);
}

/* The readers want one piece, and the tag where it was on the wire. */
static void
mbuf_in(struct pmv_cm_dev *dev, struct rte_mbuf *m, uint16_t worker)
{
	bool stripped = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
	uint8_t copy[FRAME_MAX];
	const uint8_t *frame;
	uint32_t len = m->pkt_len;

	pmv_cm_count(dev->cm, PMV_CM_STAT_RX_FRAMES);
	if (len < PMV_ETH_LEN || len > FRAME_MAX - PMV_VLAN_LEN) {
		pmv_cm_count(dev->cm, len < PMV_ETH_LEN ? PMV_CM_STAT_WIRE + PMV_WIRE_FRAME_SHORT
							: PMV_CM_STAT_RX_DROP_LONG);
		return;
	}
	if (!stripped) {
		frame = rte_pktmbuf_read(m, 0, len, copy);
		frame_in(dev, frame, len, worker);
		return;
	}
	frame = rte_pktmbuf_read(m, 0, len, copy + PMV_VLAN_LEN);
	memmove(copy, frame, 12);
	pmv_be16_store(copy + 12, PMV_ETHERTYPE_VLAN);
	pmv_be16_store(copy + 14, m->vlan_tci);
	if (frame != copy + PMV_VLAN_LEN)
		memcpy(copy + 16, frame + 12, len - 12);
	frame_in(dev, copy, len + PMV_VLAN_LEN, worker);
}

uint32_t
pmv_cm_io_turn(struct pmv_cm_dev *dev, uint32_t nb)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t workers[BURST];
	uint32_t done = 0;
	uint32_t n, i;

	while (done < nb) {
		n = pmv_verbs_ctl_recv(
			dev->channel, mbufs, workers, nb - done < BURST ? nb - done : BURST);
		for (i = 0; i < n; i++) {
			mbuf_in(dev, mbufs[i], workers[i]);
			rte_pktmbuf_free(mbufs[i]);
		}
		done += n;
		if (n < BURST)
			break;
	}
	return done;
}
