// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a received frame: the parsers of lib/wire, whole and with only a first part
 * contiguous, the UDP checksum and the ICRC. Beside what the sanitizers see, every accepted frame
 * must keep the promises of the headers' comments.
 */
#include <stdlib.h>

#include "lib/wire/eth_ip.h"
#include "lib/wire/icrc.h"
#include "lib/wire/opcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not PMV_ASSERT: must hold in a build with NDEBUG too. */
static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* A copy whose end the sanitizer guards. */
static uint8_t *
exact_copy(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(size > 0 ? size : 1);

	must(p != NULL);
	if (size > 0)
		memcpy(p, data, size);
	return p;
}

static void
roce_try(const uint8_t *frame, uint32_t avail, const struct pmv_eth_ip *ip)
{
	const uint8_t *bth = frame + ip->payload_off;
	struct pmv_roce_view r;
	uint8_t out[PMV_BTH_LEN];

	avail = avail > ip->payload_off ? avail - ip->payload_off : 0;
	if (avail > ip->payload_len)
		avail = ip->payload_len;
	if (pmv_roce_parse(bth, avail, ip->payload_len, &r) != PMV_WIRE_OK)
		return;
	must(r.payload_off == r.op->hdr_len && r.payload_off <= avail);
	must(r.payload_off + r.payload_len + r.bth.padcnt + PMV_ICRC_LEN == ip->payload_len);
	must(r.icrc_off + PMV_ICRC_LEN == ip->payload_len);
	pmv_opcode_payload_is_ok(&r, 1024);
	pmv_bth_build(out, &r.bth);
	must(out[0] == bth[0] && out[1] == bth[1] && out[4] == (bth[4] & 0xc0));
	must(memcmp(out + 2, bth + 2, 2) == 0 && memcmp(out + 5, bth + 5, 3) == 0);
	must(out[8] == (bth[8] & 0x80) && memcmp(out + 9, bth + 9, 3) == 0);
}

/* The whole datagram is at hand: checksums over it. */
static void
sums_try(const uint8_t *frame, const struct pmv_eth_ip *ip)
{
	uint32_t len = (uint32_t)(ip->payload_off - ip->l3_off) + ip->payload_len;
	struct pmv_udp_csum c;
	bool whole, parts;

	pmv_udp_csum_start(&c, ip);
	pmv_udp_csum_update(&c, frame + ip->l4_off, ip->payload_len + 8u);
	whole = pmv_udp_csum_is_ok(&c);
	pmv_udp_csum_start(&c, ip);
	pmv_udp_csum_update(&c, frame + ip->l4_off, ip->payload_len / 2);
	pmv_udp_csum_update(&c, frame + ip->l4_off + ip->payload_len / 2,
		ip->payload_len + 8u - ip->payload_len / 2);
	parts = pmv_udp_csum_is_ok(&c);
	must(whole == parts);
	pmv_icrc_packet_check(frame + ip->l3_off, ip->is_v6, len);
}

/* The first hdr_len bytes are contiguous. Returns the verdict. */
static enum pmv_wire_verdict
frame_try(const uint8_t *data, uint32_t hdr_len, uint32_t frame_len)
{
	uint8_t *p = exact_copy(data, hdr_len);
	struct pmv_eth_ip ip;
	enum pmv_wire_verdict v = pmv_eth_ip_parse(p, hdr_len, frame_len, &ip);

	must((unsigned int)v < PMV_WIRE_NB);
	if (hdr_len == frame_len)
		must(v != PMV_WIRE_HDR_SPLIT);
	if (v == PMV_WIRE_OK) {
		must(ip.payload_off <= hdr_len);
		must((uint32_t)ip.payload_off + ip.payload_len <= frame_len);
		must(ip.l4_off + PMV_UDP_LEN == ip.payload_off);
		must(ip.udp_dport == PMV_ROCE_UDP_PORT);
		roce_try(p, hdr_len, &ip);
		if (hdr_len == frame_len)
			sums_try(p, &ip);
	}
	free(p);
	return v;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t len = (uint32_t)size;
	enum pmv_wire_verdict whole, part;

	if (size == 0 || size > 65535)
		return 0;
	whole = frame_try(data, len, len);
	/* Cut where the input says; a cut may hide what the headers say, never change it. */
	part = frame_try(data, data[size - 1] % (len + 1), len);
	must(part == whole || part == PMV_WIRE_HDR_SPLIT);
	return 0;
}
