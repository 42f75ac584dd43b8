// SPDX-License-Identifier: BSD-3-Clause
/*
 * ICMP and ICMPv6 echo, port unreachable (RFC 792, 4443). Called through cm/icmp.h on the control
 * lcore. Pure. It keeps no rate and knows no address of ours.
 */
#include "cm/icmp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cm/inet_sum.h"
#include "cm/limits.h"
#include "lib/util/be.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/gid.h"

#define ICMP4_PROTO 1
#define ICMP6_PROTO 58
#define ICMP_BYTES  8u /* type, code, checksum, identifier and sequence (or unused) */

#define ECHO4_REQUEST     8
#define ECHO4_REPLY       0
#define ECHO6_REQUEST     128
#define ECHO6_REPLY       129
#define UNREACHABLE4      3
#define UNREACHABLE4_PORT 3
#define UNREACHABLE6      1
#define UNREACHABLE6_PORT 4

#define IPV4_DF       0x4000
#define IPV4_FRAGMENT 0x3fff /* MF and offset */
#define REPLY_TTL     64
#define FRAME_MIN     60u

/* Sets addresses, icmp_offset and icmp_bytes. OTHER: go on with nothing; ECHO_REQUEST stands for
 * "fine so far". */
static enum pmv_cm_icmp_verdict
ipv4_parse(const uint8_t *frame, size_t frame_bytes, struct pmv_cm_icmp *r)
{
	const uint8_t *ip = frame + r->ip_offset;
	size_t bytes = frame_bytes - r->ip_offset;
	uint16_t header, total;

	if (bytes < PMV_IPV4_LEN)
		return PMV_CM_ICMP_TRUNCATED;
	if (ip[0] >> 4 != 4 || ip[9] != ICMP4_PROTO)
		return PMV_CM_ICMP_OTHER;
	header = (uint16_t)((ip[0] & 0x0f) * 4);
	total = pmv_be16_load(ip + 2);
	if (header < PMV_IPV4_LEN || total < header || total > bytes)
		return PMV_CM_ICMP_TRUNCATED;
	if (pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, ip, header)) != 0)
		return PMV_CM_ICMP_BAD_CHECKSUM;
	if ((pmv_be16_load(ip + 6) & IPV4_FRAGMENT) != 0)
		return PMV_CM_ICMP_FRAGMENT;
	r->icmp_offset = (uint16_t)(r->ip_offset + header);
	r->icmp_bytes = (uint16_t)(total - header);
	pmv_gid_from_ipv4(r->src_ip, pmv_be32_load(ip + 12));
	pmv_gid_from_ipv4(r->dst_ip, pmv_be32_load(ip + 16));
	if (r->icmp_bytes < ICMP_BYTES)
		return PMV_CM_ICMP_TRUNCATED;
	if (pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, ip + header, r->icmp_bytes)) != 0)
		return PMV_CM_ICMP_BAD_CHECKSUM;
	return PMV_CM_ICMP_ECHO_REQUEST;
}

static enum pmv_cm_icmp_verdict
ipv6_parse(const uint8_t *frame, size_t frame_bytes, struct pmv_cm_icmp *r)
{
	const uint8_t *ip = frame + r->ip_offset;
	size_t bytes = frame_bytes - r->ip_offset;
	uint64_t sum;

	if (bytes < PMV_IPV6_LEN)
		return PMV_CM_ICMP_TRUNCATED;
	/* Behind an extension header (a fragment's, too) ICMPv6 is not looked for. */
	if (ip[0] >> 4 != 6 || ip[6] != ICMP6_PROTO)
		return PMV_CM_ICMP_OTHER;
	r->icmp_offset = (uint16_t)(r->ip_offset + PMV_IPV6_LEN);
	r->icmp_bytes = pmv_be16_load(ip + 4);
	if (r->icmp_bytes > bytes - PMV_IPV6_LEN || r->icmp_bytes < ICMP_BYTES)
		return PMV_CM_ICMP_TRUNCATED;
	memcpy(r->src_ip, ip + 8, PMV_GID_LEN);
	memcpy(r->dst_ip, ip + 24, PMV_GID_LEN);
	sum = pmv_cm_inet_sum_pseudo6(ip + 8, r->icmp_bytes, ICMP6_PROTO);
	if (pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(sum, ip + PMV_IPV6_LEN, r->icmp_bytes)) != 0)
		return PMV_CM_ICMP_BAD_CHECKSUM;
	return PMV_CM_ICMP_ECHO_REQUEST;
}

/* An address a host can have; a mapped IPv4 address has no place in an IPv6 header. */
static bool
address_is_host(const uint8_t *gid, bool is_v6)
{
	uint32_t v4 = pmv_gid_ipv4(gid);

	if (pmv_gid_is_multicast(gid) || pmv_gid_is_zero(gid))
		return false;
	if (is_v6)
		return !pmv_gid_is_v4(gid) &&
		       (pmv_be64_load(gid) != 0 || pmv_be64_load(gid + 8) != 1);
	return v4 != 0 && v4 != UINT32_MAX && v4 >> 24 != 127;
}

/* The quoted packet behind the ICMP header: ours if it is UDP; its destination is who has no
 * listener. */
static enum pmv_cm_icmp_verdict
unreachable_parse(const uint8_t *frame, bool is_v6, struct pmv_cm_icmp *r)
{
	const uint8_t *ip = frame + r->icmp_offset + ICMP_BYTES;
	size_t bytes = r->icmp_bytes - ICMP_BYTES;
	size_t header;

	if (bytes < (is_v6 ? PMV_IPV6_LEN : PMV_IPV4_LEN))
		return PMV_CM_ICMP_TRUNCATED;
	if (ip[0] >> 4 != (is_v6 ? 6 : 4) || ip[is_v6 ? 6 : 9] != PMV_IP_PROTO_UDP)
		return PMV_CM_ICMP_OTHER;
	header = is_v6 ? PMV_IPV6_LEN : (size_t)(ip[0] & 0x0f) * 4;
	if (header < PMV_IPV4_LEN || bytes < header + 4)
		return PMV_CM_ICMP_TRUNCATED;
	if (is_v6)
		memcpy(r->unreachable_ip, ip + 24, PMV_GID_LEN);
	else
		pmv_gid_from_ipv4(r->unreachable_ip, pmv_be32_load(ip + 16));
	r->unreachable_port = pmv_be16_load(ip + header + 2);
	return PMV_CM_ICMP_PORT_UNREACHABLE;
}

static enum pmv_cm_icmp_verdict
icmp_judge(const uint8_t *frame, bool is_v6, struct pmv_cm_icmp *r)
{
	const uint8_t *icmp = frame + r->icmp_offset;

	if (!address_is_host(r->src_ip, is_v6) || (frame[PMV_MAC_LEN] & 1) != 0)
		return PMV_CM_ICMP_BAD_SOURCE;
	if (!address_is_host(r->dst_ip, is_v6) || (frame[0] & 1) != 0)
		return PMV_CM_ICMP_BAD_DESTINATION;
	if (icmp[0] == (is_v6 ? UNREACHABLE6 : UNREACHABLE4) &&
		icmp[1] == (is_v6 ? UNREACHABLE6_PORT : UNREACHABLE4_PORT))
		return unreachable_parse(frame, is_v6, r);
	if (icmp[0] != (is_v6 ? ECHO6_REQUEST : ECHO4_REQUEST) || icmp[1] != 0)
		return PMV_CM_ICMP_OTHER;
	if ((size_t)r->icmp_offset + r->icmp_bytes > PMV_CM_ICMP_FRAME_MAX)
		return PMV_CM_ICMP_TOO_LONG;
	return PMV_CM_ICMP_ECHO_REQUEST;
}

enum pmv_cm_icmp_verdict
pmv_cm_icmp_parse(const uint8_t *frame, size_t frame_bytes, struct pmv_cm_icmp *ret_icmp)
{
	struct pmv_cm_icmp r = { .ip_offset = PMV_ETH_LEN };
	enum pmv_cm_icmp_verdict verdict;
	uint16_t ethertype;

	if (frame_bytes < PMV_ETH_LEN)
		return PMV_CM_ICMP_TRUNCATED;
	ethertype = pmv_be16_load(frame + 12);
	if (ethertype == PMV_ETHERTYPE_VLAN) {
		r.ip_offset += PMV_VLAN_LEN;
		if (frame_bytes < r.ip_offset)
			return PMV_CM_ICMP_TRUNCATED;
		r.vlan = pmv_be16_load(frame + 14) & 0xfff;
		ethertype = pmv_be16_load(frame + 16);
	}
	if (ethertype == PMV_ETHERTYPE_IPV4)
		verdict = ipv4_parse(frame, frame_bytes, &r);
	else if (ethertype == PMV_ETHERTYPE_IPV6)
		verdict = ipv6_parse(frame, frame_bytes, &r);
	else
		return PMV_CM_ICMP_OTHER;
	if (verdict == PMV_CM_ICMP_ECHO_REQUEST)
		verdict = icmp_judge(frame, ethertype == PMV_ETHERTYPE_IPV6, &r);
	if (verdict == PMV_CM_ICMP_ECHO_REQUEST || verdict == PMV_CM_ICMP_PORT_UNREACHABLE)
		*ret_icmp = r;
	return verdict;
}

/* Header without options in front of `bytes` of ICMP; request: the request's header. */
static uint8_t *
ipv4_reply_build(const uint8_t *request, uint16_t bytes, uint8_t *ip)
{
	ip[0] = 0x45;
	ip[1] = request[1];
	pmv_be16_store(ip + 2, (uint16_t)(PMV_IPV4_LEN + bytes));
	pmv_be16_store(ip + 4, 0); /* legal with DF (RFC 6864 4.1) */
	pmv_be16_store(ip + 6, IPV4_DF);
	ip[8] = REPLY_TTL;
	ip[9] = ICMP4_PROTO;
	pmv_be16_store(ip + 10, 0);
	memcpy(ip + 12, request + 16, 4);
	memcpy(ip + 16, request + 12, 4);
	pmv_be16_store(ip + 10, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, ip, PMV_IPV4_LEN)));
	return ip + PMV_IPV4_LEN;
}

static uint8_t *
ipv6_reply_build(const uint8_t *request, uint16_t bytes, uint8_t *ip)
{
	ip[0] = request[0];
	ip[1] = request[1] & 0xf0; /* traffic class stays, flow label is the request's own */
	ip[2] = 0;
	ip[3] = 0;
	pmv_be16_store(ip + 4, bytes);
	ip[6] = ICMP6_PROTO;
	ip[7] = REPLY_TTL;
	memcpy(ip + 8, request + 24, PMV_GID_LEN);
	memcpy(ip + 24, request + 8, PMV_GID_LEN);
	return ip + PMV_IPV6_LEN;
}

int
pmv_cm_icmp_reply_build(const uint8_t *frame, const struct pmv_cm_icmp *icmp,
	const uint8_t own_mac[6], uint8_t *reply, size_t room)
{
	bool is_v6 = frame[icmp->ip_offset] >> 4 == 6;
	size_t len =
		icmp->ip_offset + (is_v6 ? PMV_IPV6_LEN : PMV_IPV4_LEN) + (size_t)icmp->icmp_bytes;
	const uint8_t *ip = frame + icmp->ip_offset;
	uint64_t sum = 0;
	uint8_t *out;

	if (room < len || room < FRAME_MIN)
		return -ENOSPC;
	memcpy(reply, frame + PMV_MAC_LEN, PMV_MAC_LEN);
	memcpy(reply + PMV_MAC_LEN, own_mac, PMV_MAC_LEN);
	memcpy(reply + 2 * PMV_MAC_LEN, frame + 2 * PMV_MAC_LEN, icmp->ip_offset - 2 * PMV_MAC_LEN);
	if (is_v6) {
		out = ipv6_reply_build(ip, icmp->icmp_bytes, reply + icmp->ip_offset);
		sum = pmv_cm_inet_sum_pseudo6(
			reply + icmp->ip_offset + 8, icmp->icmp_bytes, ICMP6_PROTO);
	} else {
		out = ipv4_reply_build(ip, icmp->icmp_bytes, reply + icmp->ip_offset);
	}
	memcpy(out, frame + icmp->icmp_offset, icmp->icmp_bytes);
	out[0] = is_v6 ? ECHO6_REPLY : ECHO4_REPLY;
	pmv_be16_store(out + 2, 0);
	pmv_be16_store(
		out + 2, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(sum, out, icmp->icmp_bytes)));
	if (len < FRAME_MIN) {
		memset(reply + len, 0, FRAME_MIN - len);
		len = FRAME_MIN;
	}
	return (int)len;
}

const char *
pmv_cm_icmp_verdict_name(enum pmv_cm_icmp_verdict verdict)
{
	static const char *const names[] = {
		[PMV_CM_ICMP_ECHO_REQUEST] = "echo_request",
		[PMV_CM_ICMP_PORT_UNREACHABLE] = "port_unreachable",
		[PMV_CM_ICMP_OTHER] = "other",
		[PMV_CM_ICMP_TRUNCATED] = "truncated",
		[PMV_CM_ICMP_FRAGMENT] = "fragment",
		[PMV_CM_ICMP_BAD_CHECKSUM] = "bad_checksum",
		[PMV_CM_ICMP_BAD_SOURCE] = "bad_source",
		[PMV_CM_ICMP_BAD_DESTINATION] = "bad_destination",
		[PMV_CM_ICMP_TOO_LONG] = "too_long",
	};

	return (unsigned int)verdict < PMV_CM_ICMP_VERDICT_MAX ? names[verdict] : "invalid";
}
