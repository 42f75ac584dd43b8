// SPDX-License-Identifier: BSD-3-Clause
/*
 * The 36 bytes that the RDMA IP CM service (IBTA annex A11) puts in front of the private data of a
 * REQ or SIDR_REQ, and the service IDs that carry port space and destination port.
 *
 * Called by cm/id (connect) and cm/loop (a REQ arrived), control lcore. Pure. Does not judge
 * whether an address is ours or reachable. Inside pmverbs an IP address is its GID: IPv4 is mapped
 * (::ffff:a.b.c.d), although the header itself has twelve *zero* bytes in front of an IPv4 address.
 */
#ifndef PMV_CM_IP_HDR_H
#define PMV_CM_IP_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMV_CM_IP_HDR_BYTES 36u

struct pmv_cm_ip_hdr {
	uint8_t ip_version; /* 4 or 6 */
	uint16_t src_port;  /* the active side's port, host order; the destination port is in the
			       service ID */
	uint8_t src_ip[16]; /* GID form */
	uint8_t dst_ip[16];
};

/* Everything but OK is answered with REJ 28 without ARI (REQ) or SIDR_REP status 2. */
enum pmv_cm_ip_hdr_verdict {
	PMV_CM_IP_HDR_OK,
	PMV_CM_IP_HDR_TRUNCATED,
	PMV_CM_IP_HDR_BAD_VERSION,    /* CMA version byte is not 0.0 */
	PMV_CM_IP_HDR_BAD_IP_VERSION, /* neither 4 nor 6 (Linux then looks for AF_IB listeners; we
					 have none) */
	PMV_CM_IP_HDR_BAD_SOURCE,     /* multicast, unspecified, IPv4 broadcast or loopback */
	PMV_CM_IP_HDR_VERDICT_MAX,
};

/* @param private_bytes  size of the message's private area (92 or 216). *ret_hdr is set on OK only.
 */
enum pmv_cm_ip_hdr_verdict pmv_cm_ip_hdr_parse(
	const uint8_t *private_data, size_t private_bytes, struct pmv_cm_ip_hdr *ret_hdr);

/* @return 0; -EINVAL ip_version is neither 4 nor 6, or is 4 and an address is not an IPv4-mapped
 * GID. */
int pmv_cm_ip_hdr_build(const struct pmv_cm_ip_hdr *hdr, uint8_t out[PMV_CM_IP_HDR_BYTES]);

/* Service ID of a port in a port space (annex A11.2): 0x0106 << 16 | port for the TCP space. */
static inline uint64_t
pmv_cm_service_id(uint16_t port_space, uint16_t port)
{
	return (uint64_t)port_space << 16 | port;
}

/* @return true and both parts if the ID has the IP CM form (upper 32 bits zero). */
static inline bool
pmv_cm_service_id_split(uint64_t service_id, uint16_t *ret_port_space, uint16_t *ret_port)
{
	if (service_id >> 32 != 0)
		return false;
	*ret_port_space = (uint16_t)(service_id >> 16);
	*ret_port = (uint16_t)service_id;
	return true;
}

const char *pmv_cm_ip_hdr_verdict_name(enum pmv_cm_ip_hdr_verdict verdict);

#endif
