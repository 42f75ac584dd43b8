// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/mad: the ten CM frames both ways, header round trip, refusals.
 */
#include "lib/wire/mad.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/wire/icrc.h"
#include "test/harness/guard_page.h"
#include "test/vectors/cm_vectors.h"
#include "test/vectors/hex.h"

#define NB_VECTORS (sizeof(pmv_cm_vectors) / sizeof(pmv_cm_vectors[0]))
#define FRAME_LEN  322

static void
param_fill(struct pmv_mad_frame_param *p, size_t i)
{
	bool from_a = pmv_cm_vectors[i].from_a;

	*p = (struct pmv_mad_frame_param){
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = PMV_QPN_GSI,
		.sqpn = PMV_QPN_GSI,
		.psn = pmv_psn((uint32_t)i),
		.ip = { .ttl = 64, .udp_sport = 0xd872 },
	};
	pmv_gid_from_ipv4(p->ip.src_gid, from_a ? 0xc0a80a01 : 0xc0a80a02);
	pmv_gid_from_ipv4(p->ip.dst_gid, from_a ? 0xc0a80a02 : 0xc0a80a01);
}

static void
frame_make(size_t i, uint8_t *frame)
{
	struct pmv_mad_frame_param p;
	uint8_t mad[PMV_MAD_LEN] = { 0 };

	pmv_hex_read(pmv_cm_vectors[i].mad, mad, sizeof(mad));
	param_fill(&p, i);
	assert_int_equal(pmv_mad_frame_build(frame, FRAME_LEN, &p, mad), FRAME_LEN);
}

static void
mad_frame__vectors(void **state)
{
	static const uint16_t attr[NB_VECTORS] = { 0x10, 0x11, 0x13, 0x14, 0x15, 0x16, 0x12, 0x12,
		0x17, 0x18 };

	for (size_t i = 0; i < NB_VECTORS; i++) {
		uint8_t f[FRAME_LEN], want[16], out[PMV_MAD_HDR_LEN];
		struct pmv_mad_view v;

		frame_make(i, f);
		/* IPv4 checksum, the fixed words, ICRC: as written down in the vectors'
		 * description. */
		assert_int_equal(pmv_be16_load(f + 24), 0xa465);
		pmv_hex_read("d87212b701200000", want, 8);
		assert_memory_equal(f + 34, want, 8);
		pmv_hex_read("6440ffff00000001", want, 8);
		assert_memory_equal(f + 42, want, 8);
		pmv_hex_read("8001000000000001", want, 8);
		assert_memory_equal(f + 54, want, 8);
		pmv_hex_read(pmv_cm_vectors[i].icrc, want, 4);
		assert_memory_equal(f + FRAME_LEN - 4, want, 4);

		assert_int_equal(pmv_mad_frame_parse(f, sizeof(f), &v), PMV_WIRE_OK);
		assert_ptr_equal(v.mad, f + 62);
		assert_int_equal(v.hdr.mgmt_class, PMV_MAD_CLASS_CM);
		assert_int_equal(v.hdr.class_version, PMV_MAD_CM_VERSION);
		assert_int_equal(v.hdr.method, PMV_MAD_METHOD_SEND);
		assert_int_equal(v.hdr.attr_id, attr[i]);
		assert_int_equal(v.hdr.tid >> 32, 10);
		assert_int_equal(v.roce.bth.psn.v, i);
		assert_int_equal(v.deth.sqpn, 1);
		pmv_mad_hdr_build(out, &v.hdr);
		assert_memory_equal(out, v.mad, PMV_MAD_HDR_LEN);
	}
}

static void
mad_frame__ipv6_and_vlan(void **state)
{
	uint8_t f[PMV_MAD_FRAME_MAX], mad[PMV_MAD_LEN] = { 1, 7, 2, 3 };
	struct pmv_mad_frame_param p;
	struct pmv_mad_view v;

	param_fill(&p, 0);
	memset(p.ip.src_gid, 0xfd, 16);
	assert_int_equal(pmv_mad_frame_build(f, sizeof(f), &p, mad), -EINVAL);
	memset(p.ip.dst_gid, 0xfc, 16);
	p.ip.has_vlan = true;
	p.ip.vlan_tci = 7;
	assert_int_equal(pmv_mad_frame_build(f, sizeof(f) - 1, &p, mad), -ENOSPC);
	assert_int_equal(pmv_mad_frame_build(f, sizeof(f), &p, mad), PMV_MAD_FRAME_MAX);
	assert_int_equal(pmv_mad_frame_parse(f, sizeof(f), &v), PMV_WIRE_OK);
	assert_true(v.ip.is_v6 && v.ip.nb_vlan == 1 && v.ip.vlan_tci == 7);
	assert_memory_equal(v.mad, mad, PMV_MAD_LEN);
}

static void
mad_hdr__every_field(void **state)
{
	uint8_t b[24], out[24];
	struct pmv_mad_hdr h;

	for (int i = 0; i < 24; i++)
		b[i] = (uint8_t)(0x81 + i * 5);
	pmv_mad_hdr_parse(b, &h);
	pmv_mad_hdr_build(out, &h);
	b[18] = 0; /* reserved */
	b[19] = 0;
	assert_memory_equal(out, b, 24);
}

/* The ICRC made right after a change, so that what is under it is judged. */
static enum pmv_wire_verdict
judge(uint8_t *f, uint32_t len)
{
	struct pmv_mad_view v;

	pmv_icrc_packet_store(f + 14, false, len - 14 - 4);
	return pmv_mad_frame_parse(f, len, &v);
}

static void
mad_frame_parse__refusals(void **state)
{
	struct pmv_mad_view v;
	uint8_t f[FRAME_LEN];

	frame_make(0, f);
	f[100] ^= 1;
	assert_int_equal(pmv_mad_frame_parse(f, sizeof(f), &v), PMV_WIRE_ICRC);
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_OK);
	f[49] = 2; /* QPN 2 */
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_MAD_QP);
	frame_make(0, f);
	f[42] = PMV_OPCODE_RC_SEND_ONLY;
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_MAD_QP);
	frame_make(0, f);
	f[57] ^= 1;
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_MAD_QKEY);
	frame_make(0, f);
	f[62] = 2;
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_MAD_VERSION);
	/* A UDP checksum that is not 0 must be right. */
	frame_make(0, f);
	f[40] = 1;
	assert_int_equal(judge(f, sizeof(f)), PMV_WIRE_UDP_CSUM);
}

/* Exactly 256 bytes: 252 and 260 are refused though everything else is right. */
static void
mad_frame_parse__length(void **state)
{
	static const uint32_t lens[] = { 24, 252, 260 };

	for (size_t i = 0; i < 3; i++) {
		uint8_t f[FRAME_LEN + 8] = { 0 };
		struct pmv_eth_ip_tmpl t;
		struct pmv_mad_frame_param p;

		frame_make(0, f);
		param_fill(&p, 0);
		assert_int_equal(pmv_eth_ip_build(f, &p.ip, &t), 0);
		pmv_eth_ip_set_len(f, &t, 12 + 8 + lens[i] + 4, 0);
		assert_int_equal(judge(f, 42 + 12 + 8 + lens[i] + 4), PMV_WIRE_MAD_LEN);
	}
}

static void
mad_frame_parse__truncation(void **state)
{
	struct pmv_guard_page g;
	struct pmv_mad_view v;
	uint8_t f[FRAME_LEN];

	pmv_guard_page_init(&g, FRAME_LEN);
	frame_make(0, f);
	for (uint32_t n = 0; n < FRAME_LEN; n++)
		assert_int_not_equal(
			pmv_mad_frame_parse(pmv_guard_page_copy(&g, f, n), n, &v), PMV_WIRE_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mad_frame__vectors),
		cmocka_unit_test(mad_frame__ipv6_and_vlan),
		cmocka_unit_test(mad_hdr__every_field),
		cmocka_unit_test(mad_frame_parse__refusals),
		cmocka_unit_test(mad_frame_parse__length),
		cmocka_unit_test(mad_frame_parse__truncation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
