// SPDX-License-Identifier: BSD-3-Clause
/*
 * Answers that need no record, see reply.h. Control lcore.
 */
#include "cm/reply.h"

#include <string.h>

#include "cm/tx.h"
#include "lib/verbs/nexthop.h"

void
pmv_cm_reply_av(const struct pmv_cm_rx *rx, struct pmv_cm_av *ret_av)
{
	struct pmv_cm_av *av = ret_av;
	union pmv_gid dgid;

	memset(av, 0, sizeof(*av));
	av->dev = rx->dev;
	av->entry = PMV_CM_NEIGH_NONE;
	av->worker = rx->worker;
	memcpy(av->sgid, rx->ip->dst_gid, 16);
	memcpy(av->dgid, rx->ip->src_gid, 16);
	av->sgid_index = pmv_cm_dev_addr_index(rx->dev, av->sgid);
	av->flow_label = rx->ip->flow_label;
	av->udp_sport = rx->ip->udp_sport;
	av->tos = rx->ip->tos & (uint8_t)~PMV_IP_ECN_MASK;
	memcpy(dgid.raw, av->dgid, 16);
	if (pmv_verbs_nexthop_resolve(rx->dev->device, &dgid, av->sgid_index, av->dmac) != 0)
		memcpy(av->dmac, rx->src_mac, 6);
}

void
pmv_cm_reply_rej(const struct pmv_cm_rx *rx, uint16_t reason, const uint8_t *ari, uint8_t ari_len)
{
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_REJ,
		.tid = rx->msg.tid,
		.rej = {
			.remote_comm_id = rx->msg.req.local_comm_id,
			.about = PMV_CM_ABOUT_REQ,
			.reason = reason,
			.ari_len = ari_len,
		},
	};
	struct pmv_cm_av av;

	if (ari_len != 0)
		memcpy(msg.rej.ari, ari, ari_len);
	pmv_cm_reply_av(rx, &av);
	pmv_cm_tx_msg(&av, &msg, NULL);
}

void
pmv_cm_reply_drep(const struct pmv_cm_rx *rx)
{
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_DREP,
		.tid = rx->msg.tid,
		.drep = { rx->msg.dreq.remote_comm_id, rx->msg.dreq.local_comm_id },
	};
	struct pmv_cm_av av;

	pmv_cm_reply_av(rx, &av);
	pmv_cm_tx_msg(&av, &msg, NULL);
}

void
pmv_cm_reply_sidr(const struct pmv_cm_rx *rx, enum pmv_cm_sidr_status status)
{
	struct pmv_cm_msg msg = {
		.attr = PMV_CM_ATTR_SIDR_REP,
		.tid = rx->msg.tid,
		.sidr_rep = {
			.request_id = rx->msg.sidr_req.request_id,
			.status = status,
			.service_id = rx->msg.sidr_req.service_id,
		},
	};
	struct pmv_cm_av av;

	pmv_cm_reply_av(rx, &av);
	pmv_cm_tx_msg(&av, &msg, NULL);
}
