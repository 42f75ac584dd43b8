// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/cnp: the bytes of a frame that a ConnectX-4 Lx sent, made and read; what else is one.
 */
#include "lib/wire/cnp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/unit/lib/wire/packet.h"

/* To 10.0.18.1, QP 0x118; DSCP 48, ECT(0), UDP source port 0. */
static const uint8_t captured[] = {
	0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08,
	0x00, /* Eth */
	0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11,
	0x01, 0x0a, 0x00, 0x12, 0x01,                                           /* IPv4 */
	0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,                         /* UDP */
	0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, /* BTH */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00,                   /* reserved */
	0x82, 0xfd, 0x00, 0x2a, /* ICRC */
};

static void
cnp__bytes_of_a_connectx(void **state)
{
	struct pmv_eth_ip_param p = { .dst_mac = { 0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2 },
		.src_mac = { 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32 },
		.tos = 0xc2,
		.ttl = 64,
		.udp_sport = 0 };
	uint8_t frame[sizeof(captured) + 16];
	struct pmv_eth_ip_tmpl t;

	memset(frame, 0xee, sizeof(frame));
	pmv_gid_from_ipv4(p.src_gid, 0x0a001101);
	pmv_gid_from_ipv4(p.dst_gid, 0x0a001201);
	assert_int_equal(pmv_eth_ip_build(frame, &p, &t), 0);
	pmv_cnp_build(frame + t.hdr_len, 0x118);
	pmv_eth_ip_set_len(frame, &t, PMV_CNP_LEN + PMV_ICRC_LEN, 0x718c);
	pmv_icrc_packet_store(
		frame + t.l3_off, false, (uint32_t)(t.hdr_len - t.l3_off) + PMV_CNP_LEN);
	assert_memory_equal(frame, captured, sizeof(captured));
	assert_int_equal(frame[sizeof(captured)], 0xee);
}

static void
cnp__is_read(void **state)
{
	struct pmv_roce_view r;
	struct pmv_eth_ip ip;

	assert_int_equal(packet_judge(captured, sizeof(captured), &ip, &r), PMV_WIRE_OK);
	assert_int_equal(ip.udp_sport, 0);
	assert_int_equal(ip.tos & PMV_IP_ECN_MASK, PMV_IP_ECN_ECT0);
	assert_int_equal(r.op->opclass, PMV_OPCLASS_CNP);
	assert_true(r.bth.becn && !r.bth.fecn && !r.bth.migreq && !r.bth.ackreq);
	assert_int_equal(r.bth.dqpn, 0x118);
	assert_int_equal(r.bth.psn.v, 0);
	assert_int_equal(r.payload_len, PMV_CNP_RESERVED_LEN);
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		assert_true(pmv_opcode_payload_is_ok(&r, mtu));
}

/* 16 reserved bytes, not fewer, not more, and no pad; what they hold is reserved. */
static void
cnp__lengths(void **state)
{
	for (uint32_t len = 0; len <= 64; len++) {
		for (uint8_t pad = 0; pad < 4; pad++) {
			struct pmv_bth bth = { .opcode = PMV_OPCODE_CNP, .padcnt = pad };
			uint8_t p[PMV_BTH_LEN + 64 + PMV_ICRC_LEN];
			struct pmv_roce_view r;
			uint32_t n = PMV_BTH_LEN + len + PMV_ICRC_LEN;
			bool is_ok;

			memset(p, 0x5a, sizeof(p));
			pmv_bth_build(p, &bth);
			is_ok = pmv_roce_parse(p, n, n, &r) == PMV_WIRE_OK &&
				pmv_opcode_payload_is_ok(&r, 1024);
			assert_int_equal(is_ok, len == 16 && pad == 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cnp__bytes_of_a_connectx),
		cmocka_unit_test(cnp__is_read),
		cmocka_unit_test(cnp__lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
