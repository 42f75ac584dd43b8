// SPDX-License-Identifier: BSD-3-Clause
/*
 * GID, IP address, MAC and GUID: how each is made from the other (RoCEv2 annex A17.4; IPv4 as
 * IPv4-mapped IPv6, RFC 4291 2.5.5.2). A GID is 16 bytes in network order, any alignment. Used by
 * drivers/roce and cm; pure; any thread.
 */
#ifndef PMV_WIRE_GID_H
#define PMV_WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/util/be.h"

#define PMV_GID_LEN  16
#define PMV_MAC_LEN  6
#define PMV_GUID_LEN 8

static inline bool
pmv_gid_is_v4(const uint8_t *gid)
{
	return pmv_be64_load(gid) == 0 && pmv_be32_load(gid + 8) == 0xffffu;
}

static inline bool
pmv_gid_is_equal(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, PMV_GID_LEN) == 0;
}

static inline bool
pmv_gid_is_zero(const uint8_t *gid)
{
	return (pmv_be64_load(gid) | pmv_be64_load(gid + 8)) == 0;
}

/* The IPv4-mapped GID of addr (host order: 192.168.10.1 is 0xc0a80a01). */
static inline void
pmv_gid_from_ipv4(uint8_t *gid, uint32_t addr)
{
	pmv_be64_store(gid, 0);
	pmv_be32_store(gid + 8, 0xffffu);
	pmv_be32_store(gid + 12, addr);
}

/* The IPv4 address in host order; meaningful only if pmv_gid_is_v4. */
static inline uint32_t
pmv_gid_ipv4(const uint8_t *gid)
{
	return pmv_be32_load(gid + 12);
}

/* ff00::/8, or IPv4-mapped 224.0.0.0/4. */
static inline bool
pmv_gid_is_multicast(const uint8_t *gid)
{
	return gid[0] == 0xff || (pmv_gid_is_v4(gid) && (gid[12] & 0xf0) == 0xe0);
}

/* 255.255.255.255: no host has it, and none is meant alone by it (RFC 1122 3.2.1.3). */
static inline bool
pmv_gid_is_broadcast(const uint8_t *gid)
{
	return pmv_gid_is_v4(gid) && pmv_gid_ipv4(gid) == UINT32_MAX;
}

/* 127.0.0.0/8 and ::1, which never leave a host (RFC 1122 3.2.1.3, RFC 4291 2.5.3). */
static inline bool
pmv_gid_is_loopback(const uint8_t *gid)
{
	if (pmv_gid_is_v4(gid))
		return gid[12] == 127;
	return pmv_be64_load(gid) == 0 && pmv_be64_load(gid + 8) == 1;
}

/* fe80::/10. */
static inline bool
pmv_gid_is_link_local(const uint8_t *gid)
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* The Ethernet address of a multicast GID: RFC 1112 6.4 for IPv4, RFC 2464 7 for IPv6. */
void pmv_gid_multicast_mac(const uint8_t *gid, uint8_t *mac);

/* EUI-64 with the universal bit inverted (RFC 4291 appendix A): node GUID and IPv6 interface id of
 * a port. */
void pmv_guid_from_mac(const uint8_t *mac, uint8_t *guid);

/* fe80::/64 plus the EUI-64 of the MAC: the default GID of a port. */
void pmv_gid_link_local(const uint8_t *mac, uint8_t *gid);

#endif
