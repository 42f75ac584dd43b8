// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames of the CM on their way out, see tx.h. Control lcore.
 */
#include "cm/tx.h"

#include <string.h>

#include <rte_mbuf.h>

#include "lib/util/log.h"

static void
count_sent(struct pmv_cm *cm, const uint8_t *mad)
{
	struct pmv_mad_hdr hdr;

	pmv_mad_hdr_parse(mad, &hdr);
	switch (hdr.attr_id) {
	case PMV_CM_ATTR_REQ:
		pmv_cm_count(cm, PMV_CM_STAT_TX_REQ);
		break;
	case PMV_CM_ATTR_MRA:
		pmv_cm_count(cm, PMV_CM_STAT_TX_MRA);
		break;
	case PMV_CM_ATTR_REJ:
		pmv_cm_count(cm, PMV_CM_STAT_TX_REJ);
		break;
	case PMV_CM_ATTR_REP:
		pmv_cm_count(cm, PMV_CM_STAT_TX_REP);
		break;
	case PMV_CM_ATTR_RTU:
		pmv_cm_count(cm, PMV_CM_STAT_TX_RTU);
		break;
	case PMV_CM_ATTR_DREQ:
		pmv_cm_count(cm, PMV_CM_STAT_TX_DREQ);
		break;
	case PMV_CM_ATTR_DREP:
		pmv_cm_count(cm, PMV_CM_STAT_TX_DREP);
		break;
	default:
		pmv_cm_count(cm, PMV_CM_STAT_TX_SIDR);
		break;
	}
}

static struct rte_mbuf *
frame_alloc(struct pmv_cm_dev *dev)
{
	struct rte_mbuf *m = pmv_verbs_ctl_alloc(dev->channel);

	if (m == NULL)
		pmv_cm_count(dev->cm, PMV_CM_STAT_TX_DROP_FULL);
	return m;
}

static bool
frame_send(struct pmv_cm_dev *dev, uint16_t worker, struct rte_mbuf *m, uint32_t len)
{
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (pmv_verbs_ctl_send(dev->channel, worker, m) != 0) {
		rte_pktmbuf_free(m);
		pmv_cm_count(dev->cm, PMV_CM_STAT_TX_DROP_FULL);
		return false;
	}
	pmv_cm_count(dev->cm, PMV_CM_STAT_TX_FRAMES);
	return true;
}

static void
frame_param(const struct pmv_cm_av *av, struct pmv_mad_frame_param *p)
{
	struct pmv_cm_dev *dev = av->dev;
	const struct pmv_verbs_ctl_facts *facts = &dev->facts;

	*p = (struct pmv_mad_frame_param){
		.ip = {
			.flow_label = av->flow_label,
			.vlan_tci = (uint16_t)(facts->vlan_pcp << 13 | facts->vlan_id),
			.has_vlan = facts->vlan_id != 0,
			.tos = (uint8_t)(av->tos & ~PMV_IP_ECN_MASK), /* as in data frames */
			.ttl = facts->hop_limit,
			.udp_sport = av->udp_sport,
		},
		.ip_id = dev->ip_id++,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = PMV_QPN_GSI,
		.sqpn = PMV_QPN_GSI,
		.psn = pmv_psn(dev->psn++),
	};
	memcpy(p->ip.dst_mac, pmv_cm_av_dmac(av), 6);
	memcpy(p->ip.src_mac, facts->mac, 6);
	memcpy(p->ip.src_gid, av->sgid, 16);
	memcpy(p->ip.dst_gid, av->dgid, 16);
}

void
pmv_cm_tx_mad(const struct pmv_cm_av *av, const uint8_t mad[PMV_MAD_LEN])
{
	struct pmv_mad_frame_param p;
	struct rte_mbuf *m;
	int len;

	if (av->dev == NULL)
		return;
	m = frame_alloc(av->dev);
	if (m == NULL)
		return;
	frame_param(av, &p);
	len = pmv_mad_frame_build(
		rte_pktmbuf_mtod(m, uint8_t *), PMV_VERBS_CTL_FRAME_BYTES, &p, mad);
	if (len < 0) {
		/* Addresses of two families never get into an av; if they did, the frame is lost.
		 */
		rte_pktmbuf_free(m);
		pmv_cm_count(av->dev->cm, PMV_CM_STAT_TX_DROP_FULL);
		return;
	}
	if (frame_send(av->dev, av->worker, m, (uint32_t)len))
		count_sent(av->dev->cm, mad);
}

void
pmv_cm_tx_msg(const struct pmv_cm_av *av, const struct pmv_cm_msg *msg, uint8_t *kept)
{
	uint8_t mad[PMV_MAD_LEN];
	int err = pmv_cm_msg_build(msg, mad);

	if (err != 0) {
		PMV_LOG(ERR, "cannot pack a %s: %d", pmv_cm_msg_attr_name(msg->attr), err);
		return;
	}
	if (kept != NULL)
		memcpy(kept, mad, sizeof(mad));
	pmv_cm_tx_mad(av, mad);
}

bool
pmv_cm_tx_frame(struct pmv_cm_dev *dev, uint16_t worker, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m;

	if (len > PMV_VERBS_CTL_FRAME_BYTES)
		return false;
	m = frame_alloc(dev);
	if (m == NULL)
		return false;
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame, len);
	return frame_send(dev, worker, m, len);
}
