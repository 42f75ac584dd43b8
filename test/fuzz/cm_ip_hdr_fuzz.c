// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the IP-CM header of a REQ. What is accepted is built again and must be read the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "cm/ip_hdr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmv_cm_ip_hdr hdr, again;
	uint8_t out[PMV_CM_IP_HDR_BYTES];
	uint8_t *copy;

	if (size == 0 || size > 256)
		return 0;
	copy = malloc(size); /* its end is guarded */
	must(copy != NULL);
	memcpy(copy, data, size);
	if (pmv_cm_ip_hdr_parse(copy, size, &hdr) == PMV_CM_IP_HDR_OK) {
		must(size >= PMV_CM_IP_HDR_BYTES && (hdr.ip_version == 4 || hdr.ip_version == 6));
		must(pmv_cm_ip_hdr_build(&hdr, out) == 0);
		must(pmv_cm_ip_hdr_parse(out, sizeof(out), &again) == PMV_CM_IP_HDR_OK);
		must(again.src_port == hdr.src_port && again.ip_version == hdr.ip_version);
		must(memcmp(again.src_ip, hdr.src_ip, 16) == 0);
		must(memcmp(again.dst_ip, hdr.dst_ip, 16) == 0);
	}
	free(copy);
	return 0;
}
