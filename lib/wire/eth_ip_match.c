// SPDX-License-Identifier: BSD-3-Clause
#include "lib/wire/eth_ip_match.h"

void
pmv_eth_ip_peer_init(
	struct pmv_eth_ip_peer *peer, const uint8_t *hdr, const struct pmv_eth_ip_tmpl *t)
{
	const uint8_t *l3 = hdr + t->l3_off;
	uint32_t n = t->is_v6 ? PMV_GID_LEN : 4;
	const uint8_t *ours = t->is_v6 ? l3 + 8 : l3 + 12;
	uint8_t addr[2 * PMV_GID_LEN];

	memset(peer, 0, sizeof(*peer));
	memcpy(addr, ours + n, n);
	memcpy(addr + n, ours, n);
	memcpy(peer->addr, addr, 2 * n);
	if (t->l3_off != PMV_ETH_LEN)
		peer->vlan_id = pmv_be16_load(hdr + PMV_ETH_LEN) & 0xfff;
	peer->l3_off = t->l3_off;
	peer->hdr_len = t->hdr_len;
	peer->is_v6 = t->is_v6;
}

/* Bytes of the IP payload if the IPv4 header at p is right in itself, for UDP, and of the peer. */
static uint32_t
match_v4(const struct pmv_eth_ip_peer *peer, const uint8_t *p, uint32_t room)
{
	uint32_t total = pmv_be16_load(p + 2);

	if (p[0] != 0x45 || p[9] != PMV_IP_PROTO_UDP || (pmv_be16_load(p + 6) & 0x3fff) != 0 ||
		pmv_eth_ip_load64(p + 12) != peer->addr[0] || total > room ||
		total < PMV_IPV4_LEN || !pmv_ipv4_csum_is_ok(p))
		return 0;
	return total - PMV_IPV4_LEN;
}

static uint32_t
match_v6(const struct pmv_eth_ip_peer *peer, const uint8_t *p, uint32_t room)
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

uint32_t
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
	payload = peer->is_v6 ? match_v6(peer, l3, len - peer->l3_off)
			      : match_v4(peer, l3, len - peer->l3_off);
	/* destination port; length that of the IP payload, checksum 0 */
	if (pmv_be16_load(udp + 2) != PMV_ROCE_UDP_PORT ||
		pmv_be32_load(udp + 4) != payload << 16 || payload < PMV_UDP_LEN)
		return 0;
	return payload - PMV_UDP_LEN;
}
