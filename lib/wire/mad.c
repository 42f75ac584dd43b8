// SPDX-License-Identifier: BSD-3-Clause
/*
 * MAD header codec and whole QP1 frames. Control lcore; no hot path. Pure.
 */
#include "lib/wire/mad.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/icrc.h"

void
pmv_mad_hdr_parse(const uint8_t *p, struct pmv_mad_hdr *ret)
{
	ret->base_version = p[0];
	ret->mgmt_class = p[1];
	ret->class_version = p[2];
	ret->method = p[3];
	ret->status = pmv_be16_load(p + 4);
	ret->class_specific = pmv_be16_load(p + 6);
	ret->tid = pmv_be64_load(p + 8);
	ret->attr_id = pmv_be16_load(p + 16);
	ret->attr_mod = pmv_be32_load(p + 20);
}

void
pmv_mad_hdr_build(uint8_t *p, const struct pmv_mad_hdr *h)
{
	p[0] = h->base_version;
	p[1] = h->mgmt_class;
	p[2] = h->class_version;
	p[3] = h->method;
	pmv_be16_store(p + 4, h->status);
	pmv_be16_store(p + 6, h->class_specific);
	pmv_be64_store(p + 8, h->tid);
	pmv_be16_store(p + 16, h->attr_id);
	pmv_be16_store(p + 18, 0);
	pmv_be32_store(p + 20, h->attr_mod);
}

int
pmv_mad_frame_build(
	uint8_t *dst, uint32_t room, const struct pmv_mad_frame_param *p, const uint8_t *mad)
{
	struct pmv_bth bth = {
		.opcode = PMV_OPCODE_UD_SEND_ONLY,
		.migreq = true,
		.pkey = p->pkey,
		.dqpn = p->dqpn,
		.psn = p->psn,
	};
	struct pmv_deth deth = { .qkey = PMV_MAD_QKEY, .sqpn = p->sqpn };
	uint8_t hdr[PMV_ETH_IP_LEN_MAX];
	struct pmv_eth_ip_tmpl tmpl;
	uint32_t len;
	uint8_t *q;
	int rc;

	rc = pmv_eth_ip_build(hdr, &p->ip, &tmpl);
	if (rc != 0)
		return rc;
	len = tmpl.hdr_len + PMV_MAD_ROCE_LEN;
	if (len > room)
		return -ENOSPC;
	memcpy(dst, hdr, tmpl.hdr_len);
	pmv_eth_ip_set_len(dst, &tmpl, PMV_MAD_ROCE_LEN, p->ip_id);
	q = dst + tmpl.hdr_len;
	pmv_bth_build(q, &bth);
	pmv_deth_build(q + PMV_OFF_DETH, &deth);
	memcpy(q + PMV_OFF_DETH + PMV_DETH_LEN, mad, PMV_MAD_LEN);
	pmv_icrc_packet_store(dst + tmpl.l3_off, tmpl.is_v6, len - PMV_ICRC_LEN - tmpl.l3_off);
	return (int)len;
}

/* The layers under the MAD: IP, UDP checksum, BTH, ICRC. */
static enum pmv_wire_verdict
packet_parse(const uint8_t *frame, uint32_t len, struct pmv_mad_view *ret)
{
	struct pmv_eth_ip *ip = &ret->ip;
	enum pmv_wire_verdict v;

	v = pmv_eth_ip_parse(frame, len, len, ip);
	if (v != PMV_WIRE_OK)
		return v;
	if (ip->need_udp_csum) {
		struct pmv_udp_csum c;

		pmv_udp_csum_start(&c, ip);
		pmv_udp_csum_update(&c, frame + ip->l4_off, ip->payload_len + PMV_UDP_LEN);
		if (!pmv_udp_csum_is_ok(&c))
			return PMV_WIRE_UDP_CSUM;
	}
	v = pmv_roce_parse(frame + ip->payload_off, ip->payload_len, ip->payload_len, &ret->roce);
	if (v != PMV_WIRE_OK)
		return v;
	if (!pmv_icrc_packet_check(frame + ip->l3_off, ip->is_v6,
		    (uint32_t)(ip->payload_off - ip->l3_off) + ip->payload_len))
		return PMV_WIRE_ICRC;
	return PMV_WIRE_OK;
}

enum pmv_wire_verdict
pmv_mad_frame_parse(const uint8_t *frame, uint32_t len, struct pmv_mad_view *ret)
{
	enum pmv_wire_verdict v = packet_parse(frame, len, ret);
	const uint8_t *bth;

	if (v != PMV_WIRE_OK)
		return v;
	bth = frame + ret->ip.payload_off;
	if (ret->roce.bth.opcode != PMV_OPCODE_UD_SEND_ONLY || ret->roce.bth.dqpn != PMV_QPN_GSI)
		return PMV_WIRE_MAD_QP;
	pmv_deth_parse(bth + PMV_OFF_DETH, &ret->deth);
	if (ret->deth.qkey != PMV_MAD_QKEY)
		return PMV_WIRE_MAD_QKEY;
	if (ret->roce.payload_len != PMV_MAD_LEN)
		return PMV_WIRE_MAD_LEN;
	ret->mad = bth + ret->roce.payload_off;
	pmv_mad_hdr_parse(ret->mad, &ret->hdr);
	if (ret->hdr.base_version != PMV_MAD_BASE_VERSION)
		return PMV_WIRE_MAD_VERSION;
	return PMV_WIRE_OK;
}
