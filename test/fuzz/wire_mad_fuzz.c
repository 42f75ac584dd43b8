// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a QP1 frame. Checksum and ICRC are made right first, so that the fuzzer gets past
 * them to the MAD checks; an accepted MAD is put into a new frame, which must be accepted with the
 * same content.
 */
#include <stdlib.h>

#include "lib/wire/icrc.h"
#include "lib/wire/mad.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
ipv4_csum_repair(uint8_t *frame, uint32_t len)
{
	uint32_t sum = 0, l3 = 14;

	if (len >= 18 && pmv_be16_load(frame + 12) == PMV_ETHERTYPE_VLAN)
		l3 = 18;
	if (len < l3 + 20 || pmv_be16_load(frame + l3 - 2) != PMV_ETHERTYPE_IPV4)
		return;
	pmv_be16_store(frame + l3 + 10, 0);
	for (uint32_t i = 0; i < 20; i += 2)
		sum += pmv_be16_load(frame + l3 + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(frame + l3 + 10, (uint16_t)~sum);
}

static void
frame_repair(uint8_t *frame, uint32_t len)
{
	struct pmv_eth_ip ip;

	ipv4_csum_repair(frame, len);
	if (pmv_eth_ip_parse(frame, len, len, &ip) != PMV_WIRE_OK || ip.payload_len < 16)
		return;
	pmv_be16_store(frame + ip.l4_off + 6, 0);
	pmv_icrc_packet_store(frame + ip.l3_off, ip.is_v6,
		(uint32_t)(ip.payload_off - ip.l3_off) + ip.payload_len - PMV_ICRC_LEN);
}

static void
mad_rebuild(const struct pmv_mad_view *v)
{
	struct pmv_mad_frame_param p = {
		.pkey = v->roce.bth.pkey,
		.dqpn = v->roce.bth.dqpn,
		.sqpn = v->deth.sqpn,
		.psn = v->roce.bth.psn,
		.ip = { .ttl = v->ip.ttl, .tos = v->ip.tos, .flow_label = v->ip.flow_label },
	};
	uint8_t frame[PMV_MAD_FRAME_MAX], hdr[PMV_MAD_HDR_LEN];
	struct pmv_mad_view w;
	int len;

	memcpy(p.ip.src_gid, v->ip.src_gid, PMV_GID_LEN);
	memcpy(p.ip.dst_gid, v->ip.dst_gid, PMV_GID_LEN);
	len = pmv_mad_frame_build(frame, sizeof(frame), &p, v->mad);
	if (v->ip.is_v6 && len < 0)
		return; /* a mapped address in an IPv6 header has no frame of its own */
	must(len > 0);
	must(pmv_mad_frame_parse(frame, (uint32_t)len, &w) == PMV_WIRE_OK);
	must(memcmp(w.mad, v->mad, PMV_MAD_LEN) == 0);
	must(w.deth.sqpn == v->deth.sqpn && w.hdr.tid == v->hdr.tid);
	pmv_mad_hdr_build(hdr, &w.hdr);
	must(memcmp(hdr, v->mad, 18) == 0 && memcmp(hdr + 20, v->mad + 20, 4) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmv_mad_view v;
	uint8_t *frame;

	if (size == 0 || size > 4096)
		return 0;
	frame = malloc(size);
	must(frame != NULL);
	memcpy(frame, data, size);
	frame_repair(frame, (uint32_t)size);
	if (pmv_mad_frame_parse(frame, (uint32_t)size, &v) == PMV_WIRE_OK) {
		must(v.mad >= frame && v.mad + PMV_MAD_LEN + PMV_ICRC_LEN <= frame + size);
		mad_rebuild(&v);
	}
	free(frame);
	return 0;
}
