// SPDX-License-Identifier: BSD-3-Clause
/*
 * ARP (RFC 826, RFC 5227) and IPv6 neighbour solicitation and advertisement (RFC 4861) as whole
 * Ethernet frames, read and written, with all receive checks. One struct for both protocols:
 * request = ARP request or NS, answer = ARP reply or NA.
 *
 * Called by cm/loop and cm/io, control lcore. Pure: bytes in, struct out. Keeps no state (that is
 * cm/neigh), knows no addresses of ours but those passed in, and does no duplicate address
 * detection by itself.
 *
 * Addresses are GIDs; IPv4 is mapped. VLAN: an in-frame tag is read and written; where the port
 * strips or inserts tags, the caller sets `vlan` after parse() and clears it before build().
 */
#ifndef PMV_CM_NEIGH_PROTO_H
#define PMV_CM_NEIGH_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/neigh.h"

/* Room for every frame that build() writes: 14 + VLAN 4 + IPv6 40 + NS/NA 24 + link-layer option 8
 * + nonce option 8. */
#define PMV_CM_NEIGH_FRAME_MAX 98u
#define PMV_CM_NEIGH_FRAME_MIN                                                                     \
	60u /* shorter frames are padded with zeros (Ethernet minimum without FCS) */

enum pmv_cm_neigh_kind {
	PMV_CM_ARP_REQUEST,
	PMV_CM_ARP_REPLY,
	PMV_CM_ND_SOLICIT,
	PMV_CM_ND_ADVERT,
};

/* Everything but OK is dropped; one counter each. */
enum pmv_cm_neigh_verdict {
	PMV_CM_NEIGH_OK,
	PMV_CM_NEIGH_OTHER, /* neither ARP nor NS/NA: not for us */
	PMV_CM_NEIGH_TRUNCATED,
	PMV_CM_NEIGH_BAD_ARP,    /* hardware or protocol type, lengths, opcode */
	PMV_CM_NEIGH_BAD_SENDER, /* sender MAC multicast, broadcast or zero; sender IP multicast or
				    loopback */
	PMV_CM_NEIGH_BAD_TARGET, /* target IP multicast, loopback or zero */
	PMV_CM_NEIGH_BAD_HOP_LIMIT, /* not 255: it came through a router */
	PMV_CM_NEIGH_BAD_CHECKSUM,
	PMV_CM_NEIGH_BAD_ND, /* code, length, option length, DAD rules, S to a multicast destination
			      */
	PMV_CM_NEIGH_VERDICT_MAX,
};

struct pmv_cm_neigh_msg {
	uint8_t kind;    /* enum pmv_cm_neigh_kind */
	bool to_unicast; /* parse: the frame's destination MAC (ARP) or IP (ND) is unicast */
	bool has_mac;    /* parse: sender_mac is known (an NS or NA may lack the option) */
	bool solicited;  /* NA: S flag. ARP reply: to_unicast */
	bool override;   /* NA: O flag. ARP: true */
	bool router;     /* NA: R flag */
	bool has_nonce;  /* NS: option 14 */
	uint16_t vlan;   /* 0 = untagged or priority-tagged */
	uint8_t eth_src[6];
	uint8_t eth_dst[6];
	uint8_t sender_mac[6]; /* ARP SHA; NS source, NA target link-layer address option */
	uint8_t target_mac[6]; /* ARP THA */
	uint8_t sender_ip[16]; /* ARP SPA; NS: IP source; NA: target. All zero (or ::ffff:0.0.0.0):
				  a probe */
	uint8_t target_ip[16]; /* ARP TPA, ND target */
	uint8_t ip_dst[16];    /* ND: IP destination */
	uint8_t ip_src[16];    /* ND: IP source (an NA may speak for another address) */
	uint8_t nonce[6];
};

/*
 * Reads a frame (from the Ethernet header, without FCS; longer than its packet is fine). *ret_msg
 * is set on OK only.
 */
enum pmv_cm_neigh_verdict pmv_cm_neigh_proto_parse(
	const uint8_t *frame, size_t frame_bytes, struct pmv_cm_neigh_msg *ret_msg);

/* Writes a frame. @return its length, >= 60; -ENOSPC less than PMV_CM_NEIGH_FRAME_MAX bytes of
 * room; -EINVAL kind. */
int pmv_cm_neigh_proto_build(const struct pmv_cm_neigh_msg *msg, uint8_t *frame, size_t room);

/* Our own addresses and MAC as the functions below need them. */
struct pmv_cm_neigh_self {
	uint8_t mac[6];
	uint8_t ip[16]; /* of the family at hand */
	uint16_t vlan;
};

/* "Who has target?" @param unicast  NULL: broadcast or solicited-node group; else the MAC to probe.
 */
void pmv_cm_neigh_proto_request(const struct pmv_cm_neigh_self *self, const uint8_t target_ip[16],
	const uint8_t *unicast, struct pmv_cm_neigh_msg *ret_msg);

/* The answer to a request (ARP request, NS) whose target is self->ip, also to a probe from the
 * unspecified address. */
void pmv_cm_neigh_proto_answer(const struct pmv_cm_neigh_self *self,
	const struct pmv_cm_neigh_msg *request, struct pmv_cm_neigh_msg *ret_msg);

/* Gratuitous ARP or unsolicited NA: after bring-up, on link-up, in defence. */
void pmv_cm_neigh_proto_announce(
	const struct pmv_cm_neigh_self *self, struct pmv_cm_neigh_msg *ret_msg);

/* Conflict test before use (RFC 5227 ARP probe, DAD NS). @param nonce  6 bytes, ND only: our own
 * looped-back probe. */
void pmv_cm_neigh_proto_probe(const struct pmv_cm_neigh_self *self, const uint8_t nonce[6],
	struct pmv_cm_neigh_msg *ret_msg);

/* What a received message means for a host with this address. */
struct pmv_cm_neigh_judgement {
	bool answer;   /* send pmv_cm_neigh_proto_answer() */
	bool conflict; /* another MAC uses or wants self->ip: log, defend at most every
			  PMV_CM_NEIGH_DEFEND_US */
	bool learn;    /* pass (sender_ip, vlan), sender_mac and `seen` to pmv_cm_neigh_packet() */
	uint8_t seen;  /* enum pmv_cm_neigh_seen */
};

/*
 * @param self  an address of ours in the message's VLAN. For a message whose target is none of our
 * addresses pass any of the family: only `learn` (as an update of existing entries) and `conflict`
 * can result. Our own frames (sender MAC = ours) mean nothing.
 */
struct pmv_cm_neigh_judgement pmv_cm_neigh_proto_judge(
	const struct pmv_cm_neigh_self *self, const struct pmv_cm_neigh_msg *msg);

/* Solicited-node group ff02::1:ffXX:XXXX of an IPv6 address. */
void pmv_cm_neigh_proto_solicited_node(const uint8_t ip[16], uint8_t ret_group[16]);

const char *pmv_cm_neigh_verdict_name(enum pmv_cm_neigh_verdict verdict);

#endif
