// SPDX-License-Identifier: BSD-3-Clause
/*
 * ICMP and ICMPv6 echo: a request's frame in, the reply's frame out (RFC 792, RFC 4443); and "port
 * unreachable" for our RoCE packets, which tells early that a peer has no RDMA.
 *
 * Called by cm/loop, control lcore. Pure. Does not know our addresses or keep the reply rate: the
 * caller compares echo.dst_ip with its own and counts replies (PMV_CM_ICMP_REPLIES_PER_S).
 * Fragments are never reassembled.
 */
#ifndef PMV_CM_ICMP_H
#define PMV_CM_ICMP_H

#include <stddef.h>
#include <stdint.h>

enum pmv_cm_icmp_verdict {
	PMV_CM_ICMP_ECHO_REQUEST,     /* answer it if dst_ip is ours */
	PMV_CM_ICMP_PORT_UNREACHABLE, /* for a UDP packet of ours, see struct */
	PMV_CM_ICMP_OTHER,            /* not ICMP, or a type that needs nothing from us */
	PMV_CM_ICMP_TRUNCATED,
	PMV_CM_ICMP_FRAGMENT,
	PMV_CM_ICMP_BAD_CHECKSUM,    /* ICMP's or the IPv4 header's */
	PMV_CM_ICMP_BAD_SOURCE,      /* source address or MAC multicast, broadcast, loopback or
					unspecified */
	PMV_CM_ICMP_BAD_DESTINATION, /* multicast or broadcast: never answered */
	PMV_CM_ICMP_TOO_LONG,        /* above PMV_CM_ICMP_FRAME_MAX */
	PMV_CM_ICMP_VERDICT_MAX,
};

struct pmv_cm_icmp {
	uint8_t src_ip[16]; /* GID form */
	uint8_t dst_ip[16];
	uint16_t vlan;              /* in-frame tag's ID, 0 = none */
	uint16_t ip_offset;         /* of the IP header in the frame */
	uint16_t icmp_offset;       /* of the ICMP header */
	uint16_t icmp_bytes;        /* header and data, without Ethernet padding */
	uint16_t unreachable_port;  /* PORT_UNREACHABLE: UDP destination port of our packet */
	uint8_t unreachable_ip[16]; /* PORT_UNREACHABLE: its destination */
};

/* Reads a frame from the Ethernet header, without FCS. *ret_icmp is set for the first two verdicts.
 */
enum pmv_cm_icmp_verdict pmv_cm_icmp_parse(
	const uint8_t *frame, size_t frame_bytes, struct pmv_cm_icmp *ret_icmp);

/*
 * Builds the reply to an ECHO_REQUEST: addresses swapped, TTL 64, same identifier, sequence, data,
 * VLAN tag and traffic class.
 * @param frame  the request's; @param own_mac  source of the reply; @param reply  not overlapping
 * the request.
 * @return length, >= 60; -ENOSPC room.
 */
int pmv_cm_icmp_reply_build(const uint8_t *frame, const struct pmv_cm_icmp *icmp,
	const uint8_t own_mac[6], uint8_t *reply, size_t room);

const char *pmv_cm_icmp_verdict_name(enum pmv_cm_icmp_verdict verdict);

#endif
