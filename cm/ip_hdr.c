// SPDX-License-Identifier: BSD-3-Clause
/*
 * The IP CM service's private-data header (IBTA annex A11.3). Called through cm/ip_hdr.h on the
 * control lcore. Pure. It does not decide whether an address is ours.
 */
#include "cm/ip_hdr.h"

#include <errno.h>
#include <string.h>

#include "lib/util/be.h"
#include "lib/wire/gid.h"

#define VERSION_OFFSET    0
#define IP_VERSION_OFFSET 1
#define SRC_PORT_OFFSET   2
#define SRC_IP_OFFSET     4
#define DST_IP_OFFSET     20
#define IPV4_OFFSET       12 /* an IPv4 address fills the last 4 of its 16 bytes, zeros before it */

static void
address_parse(const uint8_t *wire, uint8_t ip_version, uint8_t *gid)
{
	if (ip_version == 4)
		pmv_gid_from_ipv4(gid, pmv_be32_load(wire + IPV4_OFFSET));
	else
		memcpy(gid, wire, PMV_GID_LEN);
}

/* Nobody can be answered there: multicast, unspecified, IPv4 broadcast or loopback, IPv6 loopback.
 */
static bool
source_is_bad(const uint8_t *gid)
{
	return pmv_gid_is_multicast(gid) || pmv_gid_is_broadcast(gid) || pmv_gid_is_loopback(gid) ||
	       pmv_gid_is_zero(gid) || (pmv_gid_is_v4(gid) && pmv_gid_ipv4(gid) == 0);
}

enum pmv_cm_ip_hdr_verdict
pmv_cm_ip_hdr_parse(
	const uint8_t *private_data, size_t private_bytes, struct pmv_cm_ip_hdr *ret_hdr)
{
	struct pmv_cm_ip_hdr hdr;

	if (private_bytes < PMV_CM_IP_HDR_BYTES)
		return PMV_CM_IP_HDR_TRUNCATED;
	if (private_data[VERSION_OFFSET] != 0)
		return PMV_CM_IP_HDR_BAD_VERSION;
	hdr.ip_version = private_data[IP_VERSION_OFFSET] >> 4; /* low 4 bits reserved */
	if (hdr.ip_version != 4 && hdr.ip_version != 6)
		return PMV_CM_IP_HDR_BAD_IP_VERSION;
	hdr.src_port = pmv_be16_load(private_data + SRC_PORT_OFFSET);
	address_parse(private_data + SRC_IP_OFFSET, hdr.ip_version, hdr.src_ip);
	address_parse(private_data + DST_IP_OFFSET, hdr.ip_version, hdr.dst_ip);
	if (source_is_bad(hdr.src_ip))
		return PMV_CM_IP_HDR_BAD_SOURCE;
	*ret_hdr = hdr;
	return PMV_CM_IP_HDR_OK;
}

static void
address_build(const uint8_t *gid, uint8_t ip_version, uint8_t *wire)
{
	if (ip_version == 4)
		memcpy(wire + IPV4_OFFSET, gid + IPV4_OFFSET, 4);
	else
		memcpy(wire, gid, PMV_GID_LEN);
}

int
pmv_cm_ip_hdr_build(const struct pmv_cm_ip_hdr *hdr, uint8_t out[PMV_CM_IP_HDR_BYTES])
{
	if (hdr->ip_version != 4 && hdr->ip_version != 6)
		return -EINVAL;
	if (hdr->ip_version == 4 && !(pmv_gid_is_v4(hdr->src_ip) && pmv_gid_is_v4(hdr->dst_ip)))
		return -EINVAL;
	memset(out, 0, PMV_CM_IP_HDR_BYTES);
	out[IP_VERSION_OFFSET] = (uint8_t)(hdr->ip_version << 4);
	pmv_be16_store(out + SRC_PORT_OFFSET, hdr->src_port);
	address_build(hdr->src_ip, hdr->ip_version, out + SRC_IP_OFFSET);
	address_build(hdr->dst_ip, hdr->ip_version, out + DST_IP_OFFSET);
	return 0;
}

const char *
pmv_cm_ip_hdr_verdict_name(enum pmv_cm_ip_hdr_verdict verdict)
{
	static const char *const names[] = {
		[PMV_CM_IP_HDR_OK] = "ok",
		[PMV_CM_IP_HDR_TRUNCATED] = "truncated",
		[PMV_CM_IP_HDR_BAD_VERSION] = "bad_version",
		[PMV_CM_IP_HDR_BAD_IP_VERSION] = "bad_ip_version",
		[PMV_CM_IP_HDR_BAD_SOURCE] = "bad_source",
	};

	return (unsigned int)verdict < PMV_CM_IP_HDR_VERDICT_MAX ? names[verdict] : "invalid";
}
