// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a receiver does with a frame, all of it: parse, UDP checksum, BTH, ICRC, one verdict. For
 * the tests of lib/wire.
 */
#ifndef PMV_TEST_WIRE_PACKET_H
#define PMV_TEST_WIRE_PACKET_H

#include "lib/wire/eth_ip.h"
#include "lib/wire/icrc.h"
#include "lib/wire/opcode.h"

static inline enum pmv_wire_verdict
packet_judge(const uint8_t *frame, uint32_t len, struct pmv_eth_ip *ip, struct pmv_roce_view *r)
{
	enum pmv_wire_verdict v = pmv_eth_ip_parse(frame, len, len, ip);

	if (v != PMV_WIRE_OK)
		return v;
	if (ip->need_udp_csum) {
		struct pmv_udp_csum c;

		pmv_udp_csum_start(&c, ip);
		pmv_udp_csum_update(&c, frame + ip->l4_off, ip->payload_len + 8u);
		if (!pmv_udp_csum_is_ok(&c))
			return PMV_WIRE_UDP_CSUM;
	}
	v = pmv_roce_parse(frame + ip->payload_off, ip->payload_len, ip->payload_len, r);
	if (v != PMV_WIRE_OK)
		return v;
	return pmv_icrc_packet_check(frame + ip->l3_off, ip->is_v6,
		       (uint32_t)(ip->payload_off - ip->l3_off) + ip->payload_len)
		       ? PMV_WIRE_OK
		       : PMV_WIRE_ICRC;
}

/* Sets the IPv4 header checksum from scratch, so that other faults can show. */
static inline void
packet_ipv4_csum_redo(uint8_t *l3)
{
	uint32_t sum = 0;

	pmv_be16_store(l3 + 10, 0);
	for (int i = 0; i < 20; i += 2)
		sum += pmv_be16_load(l3 + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(l3 + 10, (uint16_t)~sum);
}

/* Sets a right, non-zero UDP checksum. */
static inline void
packet_udp_csum_redo(uint8_t *frame, const struct pmv_eth_ip *ip)
{
	uint8_t *udp = frame + ip->l4_off;
	uint32_t n = ip->payload_len + 8u, sum = 17 + n;

	pmv_be16_store(udp + 6, 0);
	for (int i = ip->is_v6 ? 0 : 12; i < 16; i += 2)
		sum += pmv_be16_load(ip->src_gid + i) + pmv_be16_load(ip->dst_gid + i);
	for (uint32_t i = 0; i + 1 < n; i += 2)
		sum += pmv_be16_load(udp + i);
	if (n & 1)
		sum += (uint32_t)udp[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(udp + 6, sum == 0xffff ? 0xffff : (uint16_t)~sum);
}

/* Is bit `bit` of byte `off` (from the IP header) one that the ICRC does not cover, by the annex's
 * list? */
static inline bool
packet_is_masked(bool is_v6, uint32_t off, uint32_t bit)
{
	uint32_t udp = is_v6 ? 40 : 20;

	if (off == udp + 6 || off == udp + 7 || off == udp + 12)
		return true;
	if (is_v6)
		return (off == 0 && bit < 4) || (off >= 1 && off <= 3) || off == 7;
	return off == 1 || off == 8 || off == 10 || off == 11;
}

#endif
