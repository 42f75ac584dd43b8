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
