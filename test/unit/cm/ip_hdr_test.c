// SPDX-License-Identifier: BSD-3-Clause
/*
 * IP-CM header and service IDs: vectors, captures, every wrong value. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "cm/ip_hdr.h"
#include "cm/msg.h"
#include "lib/wire/gid.h"
#include "test/harness/guard_page.h"
#include "test/harness/pcap_file.h"
#include "test/vectors/hex.h"

static const char v4_hex[] =
	"0040c822 000000000000000000000000c0a80a01 000000000000000000000000c0a80a02";
static const char v6_hex[] =
	"0060c822 fd090000000000000000000000000002 fd090000000000000000000000000001";

static void
both_ways(const char *hex, uint8_t version, const char *src_hex, const char *dst_hex)
{
	uint8_t wire[PMV_CM_IP_HDR_BYTES], out[PMV_CM_IP_HDR_BYTES], src[16], dst[16];
	struct pmv_cm_ip_hdr h;

	assert_int_equal(pmv_hex_read(hex, wire, sizeof(wire)), sizeof(wire));
	pmv_hex_read(src_hex, src, sizeof(src));
	pmv_hex_read(dst_hex, dst, sizeof(dst));
	assert_int_equal(pmv_cm_ip_hdr_parse(wire, sizeof(wire), &h), PMV_CM_IP_HDR_OK);
	assert_int_equal(h.ip_version, version);
	assert_int_equal(h.src_port, 0xc822);
	assert_memory_equal(h.src_ip, src, 16);
	assert_memory_equal(h.dst_ip, dst, 16);
	memset(out, 0xa5, sizeof(out));
	assert_int_equal(pmv_cm_ip_hdr_build(&h, out), 0);
	assert_memory_equal(out, wire, sizeof(wire));
}

static void
parse__vectors_rebuild(void **state)
{
	(void)state;
	both_ways(
		v4_hex, 4, "00000000000000000000ffffc0a80a01", "00000000000000000000ffffc0a80a02");
	both_ways(
		v6_hex, 6, "fd090000000000000000000000000002", "fd090000000000000000000000000001");
}

/* CM-116: too short, wrong version bytes; nothing behind the area is read. */
static void
parse__wrong_values(void **state)
{
	uint8_t wire[PMV_CM_IP_HDR_BYTES];
	struct pmv_guard_page guard;
	struct pmv_cm_ip_hdr h;
	uint32_t v;
	size_t len;

	(void)state;
	pmv_hex_read(v4_hex, wire, sizeof(wire));
	pmv_guard_page_init(&guard, sizeof(wire));
	for (len = 0; len < sizeof(wire); len++)
		assert_int_equal(
			pmv_cm_ip_hdr_parse(pmv_guard_page_copy(&guard, wire, len), len, &h),
			PMV_CM_IP_HDR_TRUNCATED);
	for (v = 1; v < 256; v++) {
		wire[0] = (uint8_t)v;
		assert_int_equal(
			pmv_cm_ip_hdr_parse(wire, sizeof(wire), &h), PMV_CM_IP_HDR_BAD_VERSION);
	}
	wire[0] = 0;
	for (v = 0; v < 16; v++) {
		wire[1] = (uint8_t)(v << 4 | 0x0f); /* the low four bits are reserved: ignored */
		assert_int_equal(pmv_cm_ip_hdr_parse(wire, sizeof(wire), &h),
			v == 4 || v == 6 ? PMV_CM_IP_HDR_OK : PMV_CM_IP_HDR_BAD_IP_VERSION);
	}
}

static void
parse__source_that_cannot_be_answered(void **state)
{
	static const struct {
		uint8_t version;
		const char *src;
		enum pmv_cm_ip_hdr_verdict verdict;
	} cases[] = {
		{ 4, "00000000000000000000000000000000", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 4, "000000000000000000000000ffffffff", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 4, "0000000000000000000000007f000001", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 4, "000000000000000000000000e0000001", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 4, "000000000000000000000000efffffff", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 4, "0000000000000000000000000a000001", PMV_CM_IP_HDR_OK },
		{ 6, "00000000000000000000000000000000", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 6, "00000000000000000000000000000001", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 6, "ff020000000000000000000000000001", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 6, "00000000000000000000ffff7f000001", PMV_CM_IP_HDR_BAD_SOURCE },
		{ 6, "fe800000000000000000000000000001", PMV_CM_IP_HDR_OK },
	};
	uint8_t wire[PMV_CM_IP_HDR_BYTES];
	struct pmv_cm_ip_hdr h;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pmv_hex_read(v4_hex, wire, sizeof(wire));
		wire[1] = (uint8_t)(cases[i].version << 4);
		pmv_hex_read(cases[i].src, wire + 4, 16);
		assert_int_equal(pmv_cm_ip_hdr_parse(wire, sizeof(wire), &h), cases[i].verdict);
	}
}

static void
build__refuses(void **state)
{
	uint8_t out[PMV_CM_IP_HDR_BYTES];
	struct pmv_cm_ip_hdr h = { .ip_version = 4 };

	(void)state;
	assert_int_equal(pmv_cm_ip_hdr_build(&h, out), -EINVAL); /* :: is no IPv4 address */
	pmv_gid_from_ipv4(h.src_ip, 0xc0a80a01);
	assert_int_equal(pmv_cm_ip_hdr_build(&h, out), -EINVAL);
	pmv_gid_from_ipv4(h.dst_ip, 0xc0a80a02);
	assert_int_equal(pmv_cm_ip_hdr_build(&h, out), 0);
	h.ip_version = 5;
	assert_int_equal(pmv_cm_ip_hdr_build(&h, out), -EINVAL);
}

static void
service_id__both_ways(void **state)
{
	uint16_t ps, port;

	(void)state;
	assert_true(pmv_cm_service_id(0x0106, 7471) == 0x0000000001061d2full);
	assert_true(pmv_cm_service_id(0x0111, 7174) == 0x0000000001111c06ull);
	assert_true(pmv_cm_service_id_split(0x013fffffull, &ps, &port));
	assert_int_equal(ps, 0x013f);
	assert_int_equal(port, 0xffff);
	assert_false(pmv_cm_service_id_split(0x0200000001061d2full, &ps, &port));
	assert_false(pmv_cm_service_id_split(0x0000000101061d2full, &ps, &port));
}

/* The headers of real REQs and SIDR_REQs; their addresses are those of the packets around them. */
static void
parse__captures(void **state)
{
	static const char *const files[] = { "rping.pcap", "rping6.pcap", "ucmatose.pcap",
		"udaddy.pcap" };
	static const uint32_t nb_want[] = { 1, 1, 4, 2 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct pmv_pcap_frame pf;
		struct pmv_pcap_file f;
		char path[512];
		uint32_t nb = 0;

		snprintf(path, sizeof(path), "%s/captures/%s", PMV_TEST_VECTORS_DIR, files[i]);
		assert_int_equal(pmv_pcap_file_open(&f, path), 0);
		while (pmv_pcap_file_next(&f, &pf) == 1) {
			uint8_t out[PMV_CM_IP_HDR_BYTES];
			struct pmv_cm_ip_hdr h;
			struct pmv_mad_view v;
			struct pmv_cm_msg m;

			if (pmv_mad_frame_parse(pf.data, pf.len, &v) != PMV_WIRE_OK ||
				pmv_cm_msg_parse(v.mad, PMV_MAD_LEN, &m) != PMV_CM_MSG_OK ||
				(m.attr != PMV_CM_ATTR_REQ && m.attr != PMV_CM_ATTR_SIDR_REQ))
				continue;
			assert_int_equal(pmv_cm_ip_hdr_parse(m.private_data, m.private_bytes, &h),
				PMV_CM_IP_HDR_OK);
			assert_memory_equal(h.src_ip, v.ip.src_gid, 16);
			assert_memory_equal(h.dst_ip, v.ip.dst_gid, 16);
			assert_int_equal(pmv_cm_ip_hdr_build(&h, out), 0);
			assert_memory_equal(out, m.private_data, sizeof(out));
			nb++;
		}
		pmv_pcap_file_close(&f);
		assert_int_equal(nb, nb_want[i]);
	}
}

static void
names__never_null(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < PMV_CM_IP_HDR_VERDICT_MAX + 3; i++)
		assert_non_null(pmv_cm_ip_hdr_verdict_name((enum pmv_cm_ip_hdr_verdict)i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__vectors_rebuild),
		cmocka_unit_test(parse__wrong_values),
		cmocka_unit_test(parse__source_that_cannot_be_answered),
		cmocka_unit_test(parse__captures),
		cmocka_unit_test(build__refuses),
		cmocka_unit_test(service_id__both_ways),
		cmocka_unit_test(names__never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
