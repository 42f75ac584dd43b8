// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_ah.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static const uint8_t mac9[6] = { 2, 0, 0, 0, 0, 9 };
static struct pmv_ah *ah;

static int
setup(void **state)
{
	union pmv_gid v4, v6;

	fake_node_open(&n, 1);
	v4 = fake_gid("10.0.0.9");
	v6 = fake_gid("fd00::9");
	fake_add_addr(n.dev, "10.0.0.1/24");
	fake_add_addr(n.dev, "fd00::1/64");
	assert_int_equal(pmv_neigh_set(n.dev, &v4, mac9), 0);
	assert_int_equal(pmv_neigh_set(n.dev, &v6, mac9), 0);
	ah = NULL;
	return 0;
}

/* 10.0.0.9 -> 10.0.0.1, UDP, 276 bytes, TTL 64: an IPv4 header as received, behind 20 zeros. */
static const uint8_t grh_v4[40] = { [20] = 0x45,
	0x08,
	0x01,
	0x14,
	0x12,
	0x34,
	0x40,
	0x00,
	0x40,
	0x11,
	0x00,
	0x00,
	10,
	0,
	0,
	9,
	10,
	0,
	0,
	1 };

static void
fill_sum(uint8_t *h)
{
	uint32_t sum = 0;
	int i;

	h[10] = h[11] = 0;
	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	h[10] = (uint8_t)(~sum >> 8);
	h[11] = (uint8_t)~sum;
}

static void
create_ah__holds_its_pd(void **state)
{
	struct pmv_ah_attr a = { .dgid = fake_gid("10.0.0.9") };

	assert_int_equal(pmv_create_ah(n.pd, &a, &ah), 0);
	assert_memory_equal(ah->av.dmac.addr_bytes, mac9, 6);
	assert_refused(pmv_dealloc_pd(n.pd), -EBUSY, "AHs");
	assert_int_equal(pmv_destroy_ah(ah), 0);
}

static void
create_ah__refuses(void **state)
{
	struct pmv_ah_attr a = { .dgid = fake_gid("10.0.0.8") };

	assert_refused(pmv_create_ah(n.pd, &a, &ah), -EHOSTUNREACH, "10.0.0.8");
	a.sgid_index = 9;
	assert_refused(pmv_create_ah(n.pd, &a, &ah), -EINVAL, "sgid_index");
	assert_refused(pmv_create_ah(NULL, &a, &ah), -EINVAL, "pd");
	assert_refused(pmv_create_ah(n.pd, NULL, &ah), -EINVAL, "attr");
	assert_refused(pmv_create_ah(n.pd, &a, NULL), -EINVAL, "ret_ah");
	a = (struct pmv_ah_attr){ .dgid = fake_gid("10.0.0.9") };
	fake.ah_init = -ENOMEM;
	assert_int_equal(pmv_create_ah(n.pd, &a, &ah), -ENOMEM);
	assert_null(ah);
	assert_int_equal(n.pd->refs, 0);
	assert_int_equal(pmv_destroy_ah(NULL), -EINVAL);
}

static void
create_ah_from_wc__ipv4(void **state)
{
	const struct pmv_wc wc = { .wc_flags = PMV_WC_GRH };
	uint8_t grh[40];
	union pmv_gid peer = fake_gid("10.0.0.9"), own = fake_gid("10.0.0.1");

	memcpy(grh, grh_v4, 40);
	fill_sum(grh + 20);
	assert_int_equal(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), 0);
	assert_memory_equal(&ah->av.dgid, &peer, 16);
	assert_memory_equal(&ah->av.sgid, &own, 16);
	assert_int_equal(ah->av.traffic_class, 0); /* as Linux answers IPv4 */
	assert_int_equal(ah->av.hop_limit, 64);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	/* To a group: answered from our first address of the family. */
	memcpy(grh + 36, (const uint8_t[]){ 239, 1, 1, 1 }, 4);
	fill_sum(grh + 20);
	assert_int_equal(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), 0);
	assert_memory_equal(&ah->av.sgid, &own, 16);
	assert_int_equal(pmv_destroy_ah(ah), 0);
}

static void
create_ah_from_wc__ipv6(void **state)
{
	const struct pmv_wc wc = { .wc_flags = PMV_WC_GRH };
	union pmv_gid peer = fake_gid("fd00::9"), own = fake_gid("fd00::1");
	uint8_t grh[40] = { 0x6a, 0xc1, 0x23, 0x45 };

	memcpy(grh + 8, &peer, 16);
	memcpy(grh + 24, &own, 16);
	assert_int_equal(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), 0);
	assert_memory_equal(&ah->av.dgid, &peer, 16);
	assert_memory_equal(&ah->av.sgid, &own, 16);
	assert_int_equal(ah->av.traffic_class, 0xac);
	assert_int_equal(ah->av.flow_label, 0x12345);
	assert_int_equal(pmv_destroy_ah(ah), 0);
}

static void
create_ah_from_wc__refuses_what_is_no_header(void **state)
{
	struct pmv_wc wc = { .wc_flags = PMV_WC_GRH };
	uint8_t grh[40];
	int i;

	memcpy(grh, grh_v4, 40);
	fill_sum(grh + 20);
	wc.wc_flags = 0;
	assert_refused(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), -EINVAL, "wc");
	wc.wc_flags = PMV_WC_GRH;
	/* Every single bit of the header is under its checksum, or says that it is no such header.
	 */
	for (i = 20 * 8; i < 40 * 8; i++) {
		grh[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_refused(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), -EINVAL, "grh");
		grh[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	memcpy(grh + 36, (const uint8_t[]){ 10, 0, 0, 2 }, 4);
	fill_sum(grh + 20);
	assert_refused(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), -EINVAL, "address of ours");
	memcpy(grh + 36, (const uint8_t[]){ 10, 0, 0, 1 }, 4);
	memcpy(grh + 32, (const uint8_t[]){ 10, 0, 0, 8 }, 4);
	fill_sum(grh + 20);
	assert_refused(pmv_create_ah_from_wc(n.pd, &wc, grh, &ah), -EHOSTUNREACH, "10.0.0.8");
	assert_refused(pmv_create_ah_from_wc(NULL, &wc, grh, &ah), -EINVAL, "pd");
	assert_refused(pmv_create_ah_from_wc(n.pd, NULL, grh, &ah), -EINVAL, "wc");
	assert_refused(pmv_create_ah_from_wc(n.pd, &wc, NULL, &ah), -EINVAL, "grh");
	assert_null(ah);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(create_ah__holds_its_pd),
		T(create_ah__refuses),
		T(create_ah_from_wc__ipv4),
		T(create_ah_from_wc__ipv6),
		T(create_ah_from_wc__refuses_what_is_no_header),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
