// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ethernet [802.1Q] / IPv4 or IPv6 / UDP 4791: parse a received frame down to the UDP payload, and
 * build the header template that a QP or address handle keeps (RoCEv2 annex A17.3). Called by
 * drivers/roce (worker lcores, per packet) and by cm's builders; pure. It does not look into the
 * UDP payload (opcode.h) and does not verify a UDP checksum, which covers bytes that may lie in
 * other segments: the caller does with pmv_udp_csum_*.
 */
#ifndef PMV_WIRE_ETH_IP_H
#define PMV_WIRE_ETH_IP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/util/be.h"
#include "lib/wire/gid.h"
#include "lib/wire/verdict.h"

#define PMV_ETH_LEN        14
#define PMV_VLAN_LEN       4
#define PMV_IPV4_LEN       20
#define PMV_IPV6_LEN       40
#define PMV_UDP_LEN        8
#define PMV_ETH_IP_LEN_MAX (PMV_ETH_LEN + PMV_VLAN_LEN + PMV_IPV6_LEN + PMV_UDP_LEN) /* 66 */

#define PMV_ETHERTYPE_IPV4 0x0800
#define PMV_ETHERTYPE_IPV6 0x86dd
#define PMV_ETHERTYPE_ARP  0x0806
#define PMV_ETHERTYPE_VLAN 0x8100

#define PMV_IP_PROTO_UDP  17
#define PMV_ROCE_UDP_PORT 4791
#define PMV_IP_ECN_MASK   0x03 /* of TOS / traffic class */
#define PMV_IP_ECN_ECT0   0x02
#define PMV_IP_ECN_CE     0x03

/*
 * A parsed frame. Offsets count from the first byte of the frame. Valid after PMV_WIRE_OK:
 * everything. After PMV_WIRE_NOT_ROCE: ethertype, nb_vlan, vlan_tci, l3_off always; the IP fields
 * if l4_off is not 0; the ports if payload_off is not 0. After any other verdict nothing is
 * promised.
 */
struct pmv_eth_ip {
	uint8_t src_gid[PMV_GID_LEN]; /* IPv4 in mapped form */
	uint8_t dst_gid[PMV_GID_LEN];
	uint32_t flow_label;  /* IPv6; 0 for IPv4 */
	uint16_t l3_off;      /* length of the Ethernet header, 14 or 18 */
	uint16_t l4_off;      /* UDP header */
	uint16_t payload_off; /* first byte of the BTH */
	uint16_t payload_len; /* UDP length - 8: BTH .. ICRC. Ends there even if the IP packet or
				 the frame is longer */
	uint16_t ethertype;   /* behind the VLAN tag */
	uint16_t vlan_tci;    /* PCP, DEI, VID; 0 if nb_vlan is 0 */
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint8_t nb_vlan; /* 0, 1; 2: a stripped tag in front of one in the frame, which no RoCE port
			    expects */
	uint8_t tos;     /* TOS or traffic class */
	uint8_t ttl;     /* or hop limit */
	uint8_t proto;   /* or next header */
	bool is_v6;
	bool need_udp_csum; /* the UDP checksum is not 0: verify it before believing the payload */
};

/*
 * Parses a frame whose first hdr_len bytes are contiguous at hdr and which is frame_len bytes long
 * in all (no FCS, Ethernet padding included). Reads nothing at or past hdr + hdr_len. UDP length
 * rules; it may be shorter than the IP payload (then the rest is ignored, as Linux does), and the
 * frame may be longer than the IP packet (padding).
 */
enum pmv_wire_verdict pmv_eth_ip_parse(
	const uint8_t *hdr, uint32_t hdr_len, uint32_t frame_len, struct pmv_eth_ip *ret);

/* The checksum of the 20-byte IPv4 header at p is right (RFC 1071). */
bool pmv_ipv4_csum_is_ok(const uint8_t *p);

/* Adds a tag that the port stripped (mbuf->vlan_tci). Call after the parse, whatever the verdict.
 */
static inline void
pmv_eth_ip_add_stripped_vlan(struct pmv_eth_ip *f, uint16_t tci)
{
	if (f->nb_vlan == 0)
		f->vlan_tci = tci;
	f->nb_vlan++;
}

/*
 * UDP checksum over a chain of pieces: start, update for each piece from the UDP header (f->l4_off)
 * on, for f->payload_len + 8 bytes in all, then is_ok. Pieces may have odd lengths.
 */
struct pmv_udp_csum {
	uint64_t sum;
	uint32_t odd; /* 1: an odd number of bytes so far */
};

void pmv_udp_csum_start(struct pmv_udp_csum *c, const struct pmv_eth_ip *f);
void pmv_udp_csum_update(struct pmv_udp_csum *c, const uint8_t *buf, uint32_t len);
bool pmv_udp_csum_is_ok(const struct pmv_udp_csum *c);

/* What the header template of one destination is made of. */
struct pmv_eth_ip_param {
	uint8_t dst_mac[PMV_MAC_LEN];
	uint8_t src_mac[PMV_MAC_LEN];
	uint8_t src_gid[PMV_GID_LEN]; /* same family as dst_gid; mapped = IPv4 */
	uint8_t dst_gid[PMV_GID_LEN];
	uint32_t flow_label; /* 20 bits, written for IPv6 only */
	uint16_t vlan_tci;
	bool has_vlan;
	uint8_t tos; /* TOS or traffic class, whole byte */
	uint8_t ttl;
	uint16_t udp_sport;
};

/* What pmv_eth_ip_set_len needs to know about a template: 8 bytes, kept beside it. */
struct pmv_eth_ip_tmpl {
	uint32_t ip_sum; /* IPv4: sum of the constant header words; 0 for IPv6 */
	uint8_t l3_off;
	uint8_t hdr_len; /* Ethernet .. UDP: 42, 46, 62 or 66; where the BTH goes */
	bool is_v6;
	uint8_t reserved;
};

/*
 * Writes Ethernet .. UDP to dst (room: PMV_ETH_IP_LEN_MAX) with lengths, IP ID and checksum 0, DF
 * set, UDP checksum 0 (allowed towards port 4791 for both families), UDP destination 4791. 0;
 * -EINVAL: the GIDs are of different families.
 */
int pmv_eth_ip_build(uint8_t *dst, const struct pmv_eth_ip_param *p, struct pmv_eth_ip_tmpl *ret);

/*
 * Completes a copy of the template (hdr = its first byte) for roce_len bytes of BTH .. ICRC: IP and
 * UDP length, and for IPv4 the ID and the header checksum. Must come before the ICRC, which covers
 * lengths and ID. ip_id is ignored for IPv6.
 */
static inline void
pmv_eth_ip_set_len(uint8_t *hdr, const struct pmv_eth_ip_tmpl *t, uint32_t roce_len, uint16_t ip_id)
{
	uint8_t *l3 = hdr + t->l3_off;
	uint32_t udp_len = roce_len + PMV_UDP_LEN;
	uint32_t sum;

	pmv_be16_store(hdr + t->hdr_len - 4, (uint16_t)udp_len);
	if (t->is_v6) {
		pmv_be16_store(l3 + 4, (uint16_t)udp_len);
		return;
	}
	pmv_be16_store(l3 + 2, (uint16_t)(udp_len + PMV_IPV4_LEN));
	pmv_be16_store(l3 + 4, ip_id);
	/* At most ten words of 16 bits: the first fold leaves at most one carry, the second none.
	 */
	sum = t->ip_sum + ((udp_len + PMV_IPV4_LEN) & 0xffff) + ip_id;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(l3 + 10, (uint16_t)~sum);
}

#endif
