// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/gid and lib/wire/flow_label: address conversions and source port entropy.
 */
#include "lib/wire/gid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/wire/flow_label.h"
#include "test/vectors/hex.h"

static void
gid__ipv4_mapped(void **state)
{
	uint8_t gid[16], want[16];

	pmv_gid_from_ipv4(gid, 0xc0a80a01);
	pmv_hex_read("00000000000000000000ffffc0a80a01", want, 16);
	assert_memory_equal(gid, want, 16);
	assert_true(pmv_gid_is_v4(gid));
	assert_int_equal(pmv_gid_ipv4(gid), 0xc0a80a01);
	assert_true(pmv_gid_is_equal(gid, want));
	for (int i = 0; i < 12; i++) {
		want[i] ^= 1;
		assert_false(pmv_gid_is_v4(want));
		assert_false(pmv_gid_is_equal(gid, want));
		want[i] ^= 1;
	}
}

static void
gid__addresses_of_no_host(void **state)
{
	static const struct {
		const char *gid;
		bool is_broadcast, is_loopback;
	} cases[] = {
		{ "00000000000000000000ffff ffffffff", true, false },
		{ "00000000000000000000ffff fffffffe", false, false },
		{ "0000000000000000000000ff ffffffff", false, false }, /* no mapped address */
		{ "00000000000000000000ffff 7f000001", false, true },
		{ "00000000000000000000ffff 7fffffff", false, true },
		{ "00000000000000000000ffff 7effffff", false, false },
		{ "00000000000000000000ffff 80000000", false, false },
		{ "00000000000000000000000000000001", false, true },
		{ "00000000000000000000000000000002", false, false },
		{ "00000000000000000000000000000000", false, false },
		{ "fd000000000000000000000000000001", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t gid[16];

		assert_int_equal(pmv_hex_read(cases[i].gid, gid, 16), 16);
		assert_int_equal(pmv_gid_is_broadcast(gid), cases[i].is_broadcast);
		assert_int_equal(pmv_gid_is_loopback(gid), cases[i].is_loopback);
	}
}

static void
gid__multicast(void **state)
{
	static const struct {
		const char *gid, *mac; /* mac "": not multicast */
	} cases[] = {
		/* PK-711 */
		{ "00000000000000000000ffff ef010203", "01005e010203" },
		{ "ff050000000000000000000012345678", "333312345678" },
		{ "00000000000000000000ffff efffffff", "01005e7fffff" },
		{ "00000000000000000000ffff e0000016", "01005e000016" },
		{ "ff020000000000000000000000000016", "333300000016" },
		{ "00000000000000000000ffff c0a80a01", "" },
		{ "00000000000000000000ffff f0000001", "" },
		{ "fe800000000000000000000000000001", "" },
		{ "00000000000000000000000000000001", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t gid[16], want[6], mac[6];

		assert_int_equal(pmv_hex_read(cases[i].gid, gid, 16), 16);
		assert_int_equal(pmv_gid_is_multicast(gid), cases[i].mac[0] != '\0');
		if (cases[i].mac[0] == '\0')
			continue;
		pmv_hex_read(cases[i].mac, want, 6);
		pmv_gid_multicast_mac(gid, mac);
		assert_memory_equal(mac, want, 6);
	}
}

static void
gid__from_mac(void **state)
{
	static const uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
	uint8_t guid[8], gid[16], want[16];

	pmv_hex_read("fe80000000000000505400fffe123456", want, 16);
	pmv_guid_from_mac(mac, guid);
	assert_memory_equal(guid, want + 8, 8);
	pmv_gid_link_local(mac, gid);
	assert_memory_equal(gid, want, 16);
	assert_true(pmv_gid_is_link_local(gid));
	assert_false(pmv_gid_is_zero(gid));
	memset(gid, 0, 16);
	assert_true(pmv_gid_is_zero(gid));
	assert_false(pmv_gid_is_link_local(gid));
	gid[15] = 1;
	assert_false(pmv_gid_is_zero(gid));
}

static void
flow_label__check_values(void **state)
{
	static const struct {
		uint32_t a, b, label;
		uint16_t sport;
	} qpns[] = {
		{ 0x11, 0x12, 0x00132, 0xc132 },
		{ 0x11, 0x11, 0x00121, 0xc121 },
		{ 0x123456, 0x654321, 0xa77ae, 0xf787 },
	};

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pmv_flow_label_from_qpns(qpns[i].a, qpns[i].b), qpns[i].label);
		assert_int_equal(pmv_flow_label_from_qpns(qpns[i].b, qpns[i].a), qpns[i].label);
		assert_int_equal(pmv_flow_label_sport(qpns[i].label), qpns[i].sport);
	}
	assert_int_equal(pmv_flow_label_from_cm_ports(51234, 7471), 0x8594d);
	assert_int_equal(pmv_flow_label_sport(0x8594d), 0xd96c);
	assert_int_equal(pmv_flow_label_from_cm_ports(40000, 18515), 0x33413);
	assert_int_equal(pmv_flow_label_sport(0x33413), 0xf41f);
	assert_int_equal(pmv_flow_label_from_cm_ports(65535, 65535), (65535 * 32) & 0xfffff);
	for (uint32_t fl = 0; fl < 1u << 20; fl += 997)
		assert_true(pmv_flow_label_sport(fl) >= PMV_ROCE_SPORT_MIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid__ipv4_mapped),
		cmocka_unit_test(gid__addresses_of_no_host),
		cmocka_unit_test(gid__multicast),
		cmocka_unit_test(gid__from_mac),
		cmocka_unit_test(flow_label__check_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
