// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as an ICMP frame, checksums made right first. The reply to what is accepted has the
 * size it must have, and no room less will do.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm/icmp.h"
#include "cm/inet_sum.h"
#include "cm/limits.h"
#include "lib/wire/eth_ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
icmp_repair(uint8_t *icmp, size_t bytes, uint64_t sum)
{
	if (bytes < 4)
		return;
	pmv_be16_store(icmp + 2, 0);
	pmv_be16_store(icmp + 2, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(sum, icmp, bytes)));
}

static void
checksums_repair(uint8_t *frame, size_t len)
{
	size_t l3 = 14, header, total;
	uint8_t *ip;

	if (len >= 18 && pmv_be16_load(frame + 12) == PMV_ETHERTYPE_VLAN)
		l3 = 18;
	ip = frame + l3;
	if (len >= l3 + 20 && pmv_be16_load(frame + l3 - 2) == PMV_ETHERTYPE_IPV4) {
		header = (size_t)(ip[0] & 15) * 4;
		total = pmv_be16_load(ip + 2);
		if (header < 20 || header > total || total > len - l3)
			return;
		pmv_be16_store(ip + 10, 0);
		pmv_be16_store(ip + 10, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, ip, header)));
		icmp_repair(ip + header, total - header, 0);
	} else if (len >= l3 + 40 && pmv_be16_load(frame + l3 - 2) == PMV_ETHERTYPE_IPV6) {
		total = pmv_be16_load(ip + 4);
		if (total <= len - l3 - 40)
			icmp_repair(ip + 40, total,
				pmv_cm_inet_sum_pseudo6(ip + 8, (uint16_t)total, 58));
	}
}

static void
reply(const uint8_t *frame, const struct pmv_cm_icmp *icmp)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	size_t want = (size_t)icmp->ip_offset + (frame[icmp->ip_offset] >> 4 == 6 ? 40 : 20) +
		      icmp->icmp_bytes;
	uint8_t *out;

	want = want < 60 ? 60 : want;
	must(want <= PMV_CM_ICMP_FRAME_MAX);
	out = malloc(want);
	must(out != NULL);
	must(pmv_cm_icmp_reply_build(frame, icmp, mac, out, want) == (int)want);
	must(pmv_cm_icmp_reply_build(frame, icmp, mac, out, want - 1) < 0);
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmv_cm_icmp icmp;
	uint8_t *frame;

	if (size == 0 || size > 4096)
		return 0;
	frame = malloc(size); /* its end is guarded */
	must(frame != NULL);
	memcpy(frame, data, size);
	checksums_repair(frame, size);
	if (pmv_cm_icmp_parse(frame, size, &icmp) == PMV_CM_ICMP_ECHO_REQUEST) {
		must((size_t)icmp.icmp_offset + icmp.icmp_bytes <= size);
		reply(frame, &icmp);
	}
	free(frame);
	return 0;
}
