// SPDX-License-Identifier: BSD-3-Clause
/*
 * The Internet checksum (RFC 1071) over short, contiguous pieces. Used by cm/neigh_proto and
 * cm/icmp, control lcore. Pure. Not for the data path, whose IPv4 checksum is incremental
 * (lib/wire/eth_ip.h).
 */
#ifndef PMV_CM_INET_SUM_H
#define PMV_CM_INET_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/util/be.h"

/* Adds a piece of at most 64 KiB; only the last piece may have an odd length. Start with 0. */
static inline uint64_t
pmv_cm_inet_sum_add(uint64_t sum, const uint8_t *p, size_t bytes)
{
	size_t i;

	for (i = 0; i + 2 <= bytes; i += 2)
		sum += pmv_be16_load(p + i);
	if (bytes % 2 != 0)
		sum += (uint32_t)p[bytes - 1] << 8;
	return sum;
}

/* The 16 bits to store; over data that includes a right checksum it is 0. */
static inline uint16_t
pmv_cm_inet_sum_fold(uint64_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Pseudo header of IPv6 (RFC 8200 8.1): addresses are 32 bytes, source first. */
static inline uint64_t
pmv_cm_inet_sum_pseudo6(const uint8_t *addresses, uint16_t upper_bytes, uint8_t next_header)
{
	return pmv_cm_inet_sum_add((uint64_t)upper_bytes + next_header, addresses, 32);
}

#endif
