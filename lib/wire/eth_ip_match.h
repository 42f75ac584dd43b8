// SPDX-License-Identifier: BSD-3-Clause
/*
 * "Is this a sound RoCE frame of that peer?" asked at once, of a frame whose first segment holds
 * all of it. A yes means what pmv_eth_ip_parse() would have found with all its checks: right
 * version, no options, no fragment, lengths that fit, header checksum, port, no UDP checksum, the
 * peer's addresses, our VLAN. A no means nothing: parse it. Worker lcores, per packet. Pure.
 */
#ifndef PMV_WIRE_ETH_IP_MATCH_H
#define PMV_WIRE_ETH_IP_MATCH_H

#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"

/* What the frames of one peer look like. hdr_len 0: no frame is its. */
struct pmv_eth_ip_peer {
	uint64_t addr[4]; /* source and destination as they follow each other in the frame; IPv4:
			     only the first */
	uint16_t vlan_id; /* of the tag in the frame; meant if l3_off is 18 */
	uint8_t l3_off;   /* 14, 18 */
	uint8_t hdr_len;  /* Ethernet .. UDP */
	bool is_v6;
};

/* From the template of our frames to the peer, which has the addresses the other way round. */
void pmv_eth_ip_peer_init(
	struct pmv_eth_ip_peer *peer, const uint8_t *hdr, const struct pmv_eth_ip_tmpl *t);

static inline uint64_t
pmv_eth_ip_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
pmv_eth_ip_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* IPv4 header at p: RFC 1071's sum, words as the machine loads them. */
static inline bool
pmv_eth_ip_sum_is_ok(const uint8_t *p)
{
	uint64_t sum = (uint64_t)pmv_eth_ip_load32(p) + pmv_eth_ip_load32(p + 4) +
		       pmv_eth_ip_load32(p + 8) + pmv_eth_ip_load32(p + 12) +
		       pmv_eth_ip_load32(p + 16);
	uint32_t low;

	/* five words of 32 bits leave a carry of at most 4; 0xffff times anything folds to 0xffff
	 */
	low = (uint32_t)(sum % 0xffff);
	return low == 0 && sum != 0;
}

/* Bytes of the IP payload if the IPv4 header at p is right in itself, for UDP, and of the peer. */
static inline uint32_t
pmv_eth_ip_match_v4(const struct pmv_eth_ip_peer *peer, const uint8_t *p, uint32_t room)
{
	uint32_t total = pmv_be16_load(p + 2);

	if (p[0] != 0x45 || p[9] != PMV_IP_PROTO_UDP || (pmv_be16_load(p + 6) & 0x3fff) != 0 ||
		pmv_eth_ip_load64(p + 12) != peer->addr[0] || total > room ||
		total < PMV_IPV4_LEN || !pmv_eth_ip_sum_is_ok(p))
		return 0;
	return total - PMV_IPV4_LEN;
}

static inline uint32_t
pmv_eth_ip_match_v6(const struct pmv_eth_ip_peer *peer, const uint8_t *p, uint32_t room)
{
	uint32_t payload = pmv_be16_load(p + 4);
	uint64_t differs = 0;

	for (uint32_t i = 0; i < 4; i++)
		differs |= pmv_eth_ip_load64(p + 8 + 8 * i) ^ peer->addr[i];
	if (p[0] >> 4 != 6 || p[6] != PMV_IP_PROTO_UDP || differs != 0 ||
		PMV_IPV6_LEN + payload > room)
		return 0;
	return payload;
}

/*
 * Bytes of BTH .. ICRC of the frame of len bytes at hdr, or 0: not surely a sound frame of the
 * peer. len >= peer->hdr_len.
 */
static inline uint32_t
pmv_eth_ip_match(const struct pmv_eth_ip_peer *peer, const uint8_t *hdr, uint32_t len)
{
	const uint8_t *l3 = hdr + peer->l3_off;
	const uint8_t *udp = hdr + peer->hdr_len - PMV_UDP_LEN;
	uint32_t payload;

	if (pmv_be16_load(l3 - 2) != (peer->is_v6 ? PMV_ETHERTYPE_IPV6 : PMV_ETHERTYPE_IPV4))
		return 0;
	if (peer->l3_off != PMV_ETH_LEN &&
		(pmv_be16_load(hdr + 12) != PMV_ETHERTYPE_VLAN ||
			(pmv_be16_load(hdr + 14) & 0xfff) != peer->vlan_id))
		return 0;
	payload = peer->is_v6 ? pmv_eth_ip_match_v6(peer, l3, len - peer->l3_off)
			      : pmv_eth_ip_match_v4(peer, l3, len - peer->l3_off);
	/* destination port; length that of the IP payload, checksum 0 */
	if (pmv_be16_load(udp + 2) != PMV_ROCE_UDP_PORT ||
		pmv_be32_load(udp + 4) != payload << 16 || payload < PMV_UDP_LEN)
		return 0;
	return payload - PMV_UDP_LEN;
}

#endif
