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

/*
 * Bytes of BTH .. ICRC of the frame of len bytes at hdr, or 0: not surely a sound frame of the
 * peer. len >= peer->hdr_len.
 */
uint32_t pmv_eth_ip_match(const struct pmv_eth_ip_peer *peer, const uint8_t *hdr, uint32_t len);

#endif
