// SPDX-License-Identifier: BSD-3-Clause
/*
 * The address conversions that are too rare to be inline. Control lcore and address handle
 * creation; pure.
 */
#include "lib/wire/gid.h"

void
pmv_gid_multicast_mac(const uint8_t *gid, uint8_t *mac)
{
	if (pmv_gid_is_v4(gid)) {
		/* 01:00:5e and the low 23 bits (RFC 1112 6.4). */
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		pmv_be24_store(mac + 3, pmv_gid_ipv4(gid) & 0x7fffff);
		return;
	}
	/* 33:33 and the low 32 bits (RFC 2464 7). */
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, gid + 12, 4);
}

void
pmv_guid_from_mac(const uint8_t *mac, uint8_t *guid)
{
	guid[0] = mac[0] ^ 0x02;
	guid[1] = mac[1];
	guid[2] = mac[2];
	guid[3] = 0xff;
	guid[4] = 0xfe;
	guid[5] = mac[3];
	guid[6] = mac[4];
	guid[7] = mac[5];
}

void
pmv_gid_link_local(const uint8_t *mac, uint8_t *gid)
{
	pmv_be64_store(gid, 0xfe80000000000000u);
	pmv_guid_from_mac(mac, gid + 8);
}
