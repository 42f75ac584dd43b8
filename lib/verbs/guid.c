// SPDX-License-Identifier: BSD-3-Clause
/*
 * Node GUIDs and MACs for ports without one, see guid.h.
 */
#include "lib/verbs/guid.h"

#include "lib/util/be.h"
#include "lib/util/random.h"
#include "lib/wire/gid.h"

static int
random64(uint64_t seed, uint64_t salt, uint64_t *ret)
{
	struct pmv_random r;

	if (seed == 0)
		return pmv_random_bytes_os(ret, sizeof(*ret));
	pmv_random_init(&r, seed ^ salt);
	*ret = pmv_random_next64(&r);
	return 0;
}

int
pmv_verbs_guid_make(const uint8_t mac[6], uint64_t seed, uint64_t *ret_guid)
{
	uint8_t eui[PMV_GUID_LEN];
	uint64_t salt, bits;
	int rc;

	pmv_guid_from_mac(mac, eui);
	salt = pmv_be64_load(eui);
	rc = random64(seed, salt, &bits);
	if (rc < 0)
		return rc;
	/* 24 bits of OUI stay, 40 are random; the lowest is set so that no MAC makes it 0. */
	*ret_guid = (salt & 0xffffff0000000000ull) | (bits & 0xffffffffffull) | 1;
	return 0;
}

int
pmv_verbs_guid_make_mac(uint64_t seed, uint16_t port_id, uint8_t ret_mac[6])
{
	uint64_t bits;
	int rc = random64(seed, (uint64_t)port_id << 32, &bits);

	if (rc < 0)
		return rc;
	pmv_be16_store(ret_mac, (uint16_t)(bits >> 32));
	pmv_be32_store(ret_mac + 2, (uint32_t)bits);
	/* Locally administered, unicast (IEEE 802, 8.2.2). */
	ret_mac[0] = (uint8_t)((ret_mac[0] & 0xfc) | 0x02);
	return 0;
}
