// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every RoCE frame that two Linux hosts exchanged (test/vectors/captures): accepted, ICRC right,
 * and each header built again from the parsed values gives the same bytes. PK-704 on real frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/mad.h"
#include "test/harness/pcap_file.h"
#include "test/unit/lib/wire/packet.h"

#define FRAME_MAX 2048

struct capture {
	const char *file;
	uint32_t nb_roce; /* frames to port 4791, counted with another tool */
};

struct context {
	uint32_t nb_roce;
	uint32_t nb_other;
	uint32_t nb_mad;
	uint32_t seen[256]; /* by opcode */
};

static void
ext_rebuild(const struct pmv_opcode_info *op, const uint8_t *bth, uint8_t *out)
{
	if (pmv_opcode_has(op, PMV_EXT_DETH)) {
		struct pmv_deth h;

		pmv_deth_parse(bth + PMV_OFF_DETH, &h);
		pmv_deth_build(out + PMV_OFF_DETH, &h);
	}
	if (pmv_opcode_has(op, PMV_EXT_RETH)) {
		struct pmv_reth h;

		pmv_reth_parse(bth + PMV_OFF_RETH, &h);
		pmv_reth_build(out + PMV_OFF_RETH, &h);
	}
	if (pmv_opcode_has(op, PMV_EXT_ATOMIC)) {
		struct pmv_atomic_eth h;

		pmv_atomic_eth_parse(bth + PMV_OFF_ATOMIC, &h);
		pmv_atomic_eth_build(out + PMV_OFF_ATOMIC, &h);
	}
	if (pmv_opcode_has(op, PMV_EXT_AETH)) {
		struct pmv_aeth h;

		pmv_aeth_parse(bth + PMV_OFF_AETH, &h);
		pmv_aeth_build(out + PMV_OFF_AETH, &h);
	}
	if (pmv_opcode_has(op, PMV_EXT_ATOMIC_ACK))
		pmv_atomic_ack_build(
			out + PMV_OFF_ATOMIC_ACK, pmv_atomic_ack_parse(bth + PMV_OFF_ATOMIC_ACK));
	if (pmv_opcode_has(op, PMV_EXT_IMMDT))
		pmv_immdt_build(out + PMV_OFF_IMMDT(op), pmv_immdt_parse(bth + PMV_OFF_IMMDT(op)));
}

/* BTH and extension headers. The output starts as garbage, so a byte not written shows. */
static void
roce_rebuild(const uint8_t *bth, const struct pmv_roce_view *r)
{
	uint8_t out[64];

	memset(out, 0xa5, sizeof(out));
	pmv_bth_build(out, &r->bth);
	ext_rebuild(r->op, bth, out);
	assert_memory_equal(out, bth, r->op->hdr_len);
}

/* Ethernet .. UDP through the template, and the ICRC. */
static void
ip_rebuild(const uint8_t *frame, const struct pmv_eth_ip *ip, uint32_t len)
{
	struct pmv_eth_ip_param p = {
		.flow_label = ip->flow_label,
		.vlan_tci = ip->vlan_tci,
		.has_vlan = ip->nb_vlan == 1,
		.tos = ip->tos,
		.ttl = ip->ttl,
		.udp_sport = ip->udp_sport,
	};
	uint8_t out[FRAME_MAX];
	struct pmv_eth_ip_tmpl t;

	memcpy(p.dst_mac, frame, 6);
	memcpy(p.src_mac, frame + 6, 6);
	memcpy(p.src_gid, ip->src_gid, 16);
	memcpy(p.dst_gid, ip->dst_gid, 16);
	memcpy(out, frame, len);
	assert_int_equal(pmv_eth_ip_build(out, &p, &t), 0);
	assert_int_equal(t.hdr_len, ip->payload_off);
	pmv_eth_ip_set_len(
		out, &t, ip->payload_len, ip->is_v6 ? 0 : pmv_be16_load(frame + ip->l3_off + 4));
	memset(out + ip->payload_off + ip->payload_len - 4, 0, 4);
	pmv_icrc_packet_store(out + ip->l3_off, ip->is_v6,
		(uint32_t)(ip->payload_off - ip->l3_off) + ip->payload_len - 4);
	assert_memory_equal(out, frame, len);
}

static void
mad_check(const uint8_t *frame, uint32_t len)
{
	uint8_t out[PMV_MAD_HDR_LEN];
	struct pmv_mad_view v;

	assert_int_equal(pmv_mad_frame_parse(frame, len, &v), PMV_WIRE_OK);
	assert_int_equal(v.hdr.mgmt_class, PMV_MAD_CLASS_CM);
	pmv_mad_hdr_build(out, &v.hdr);
	assert_memory_equal(out, v.mad, PMV_MAD_HDR_LEN);
}

/* One bit per byte, a different one each time; the payload in steps. */
static void
flip_check(const uint8_t *orig, const struct pmv_eth_ip *ip, uint32_t turn)
{
	uint32_t end = (uint32_t)(ip->payload_off + ip->payload_len);
	uint32_t udp_csum = ip->l4_off + 6u;

	for (uint32_t off = ip->l3_off; off < end; off += off < ip->payload_off + 40u ? 1 : 29) {
		uint32_t bit = (off + turn) % 8, l3_off = off - ip->l3_off;
		uint8_t f[FRAME_MAX];
		struct pmv_eth_ip ip2;
		struct pmv_roce_view r;
		enum pmv_wire_verdict v;

		memcpy(f, orig, end);
		f[off] ^= (uint8_t)(1 << bit);
		if (!ip->is_v6)
			packet_ipv4_csum_redo(f + ip->l3_off);
		v = packet_judge(f, end, &ip2, &r);
		if (off == udp_csum || off == udp_csum + 1)
			assert_int_equal(v, PMV_WIRE_UDP_CSUM);
		else if (packet_is_masked(ip->is_v6, l3_off, bit))
			assert_int_equal(v, PMV_WIRE_OK);
		else
			assert_int_not_equal(v, PMV_WIRE_OK);
	}
}

static void
frame_check(const struct pmv_pcap_frame *pf, struct context *c)
{
	struct pmv_eth_ip ip;
	struct pmv_roce_view r;
	enum pmv_wire_verdict v = packet_judge(pf->data, pf->len, &ip, &r);

	assert_int_equal(pf->len, pf->wire_len);
	assert_true(pf->len <= FRAME_MAX);
	if (v == PMV_WIRE_NOT_ROCE) {
		c->nb_other++;
		return;
	}
	assert_int_equal(v, PMV_WIRE_OK);
	c->nb_roce++;
	c->seen[r.bth.opcode]++;
	roce_rebuild(pf->data + ip.payload_off, &r);
	ip_rebuild(pf->data, &ip, ip.payload_off + ip.payload_len);
	if (c->nb_roce <= 40)
		flip_check(pf->data, &ip, c->nb_roce);
	if (r.bth.dqpn == PMV_QPN_GSI) {
		mad_check(pf->data, pf->len);
		c->nb_mad++;
	}
}

static void
capture_check(const struct capture *k, struct context *c)
{
	struct pmv_pcap_file f;
	struct pmv_pcap_frame pf;
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/captures/%s", PMV_TEST_VECTORS_DIR, k->file);
	memset(c, 0, sizeof(*c));
	assert_int_equal(pmv_pcap_file_open(&f, path), 0);
	while ((rc = pmv_pcap_file_next(&f, &pf)) == 1)
		frame_check(&pf, c);
	assert_int_equal(rc, 0);
	pmv_pcap_file_close(&f);
	assert_int_equal(c->nb_roce, k->nb_roce);
}

static void
capture__all_files(void **state)
{
	static const struct capture captures[] = {
		{ "loss.pcap", 1163 },
		{ "mckey.pcap", 5 },
		{ "no-listener.pcap", 4 },
		{ "rc-ops.pcap", 270 },
		{ "rping.pcap", 41 },
		{ "rping6.pcap", 53 },
		{ "silent-peer.pcap", 8 },
		{ "uc-ud-srq.pcap", 386 },
		{ "ucmatose.pcap", 420 },
		{ "udaddy.pcap", 24 },
	};
	uint32_t seen[256] = { 0 }, nb_mad = 0;

	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		struct context c;

		capture_check(&captures[i], &c);
		nb_mad += c.nb_mad;
		for (int op = 0; op < 256; op++)
			seen[op] += c.seen[op];
	}
	assert_true(nb_mad > 0);
	/* The set is only worth something if it has these. */
	assert_true(seen[PMV_OPCODE_RC_SEND_MIDDLE] > 0 && seen[PMV_OPCODE_RC_WRITE_FIRST] > 0);
	assert_true(seen[PMV_OPCODE_RC_READ_REQUEST] > 0 && seen[PMV_OPCODE_RC_READ_RESP_LAST] > 0);
	assert_true(seen[PMV_OPCODE_RC_COMPARE_SWAP] > 0 && seen[PMV_OPCODE_RC_ATOMIC_ACK] > 0);
	assert_true(seen[PMV_OPCODE_UC_SEND_ONLY] + seen[PMV_OPCODE_UC_SEND_FIRST] > 0);
	assert_true(seen[PMV_OPCODE_UD_SEND_ONLY] > 0 && seen[PMV_OPCODE_UD_SEND_ONLY_IMM] > 0);
}

/* The reader itself: files that are none. */
static void
pcap_file__refusals(void **state)
{
	struct pmv_pcap_file f;

	assert_true(pmv_pcap_file_open(&f, PMV_TEST_VECTORS_DIR "/no-such-file") < 0);
	assert_true(pmv_pcap_file_open(&f, PMV_TEST_VECTORS_DIR "/README.md") < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture__all_files),
		cmocka_unit_test(pcap_file__refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
