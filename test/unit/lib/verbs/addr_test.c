// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/addr.h"

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
setup(void **state)
{
	fake_node_open(&n, 1);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static void
add_addr__indices_are_stable(void **state)
{
	union pmv_gid gid, a = fake_gid("10.0.0.1"), b = fake_gid("10.0.0.2"),
			   c = fake_gid("fd00::1");
	struct pmv_device_attr attr;

	fake_add_addr(n.dev, "10.0.0.1/24");
	fake_add_addr(n.dev, "10.0.0.2/24");
	fake_add_addr(n.dev, "fd00::1/64");
	assert_int_equal(pmv_query_gid(n.dev, 0, &gid), 0);
	assert_memory_equal(&gid, &a, 16);
	assert_int_equal(pmv_device_del_addr(n.dev, &a), 0);
	assert_int_equal(pmv_device_del_addr(n.dev, &a), -ENOENT);
	assert_int_equal(pmv_query_gid(n.dev, 0, &gid), -EINVAL);
	assert_int_equal(pmv_query_gid(n.dev, 1, &gid), 0);
	assert_memory_equal(&gid, &b, 16);
	fake_add_addr(n.dev, "10.0.0.3/24"); /* fills the hole */
	assert_int_equal(pmv_verbs_addr_find(n.dev, &b), 1);
	gid = fake_gid("10.0.0.3");
	assert_int_equal(pmv_verbs_addr_find(n.dev, &gid), 0);
	/* Holes at the end are taken off. */
	assert_int_equal(pmv_device_del_addr(n.dev, &b), 0);
	assert_int_equal(pmv_device_del_addr(n.dev, &c), 0);
	assert_int_equal(pmv_query_device(n.dev, &attr), 0);
	assert_int_equal(attr.nb_gids, 1);
	assert_int_equal(pmv_query_gid(n.dev, 1, &gid), -EINVAL);
}

static void
add_addr__refuses(void **state)
{
	struct pmv_ip_addr a;
	char text[32];
	int i;

	assert_refused(pmv_device_add_addr(n.dev, NULL), -EINVAL, "addr");
	assert_refused(pmv_device_add_addr(NULL, &a), -EINVAL, "device");
	assert_int_equal(pmv_ip_addr_parse("239.1.2.3", &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -EINVAL, "multicast");
	assert_int_equal(pmv_ip_addr_parse("ff02::1", &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -EINVAL, "multicast");
	assert_int_equal(pmv_ip_addr_parse("0.0.0.0", &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -EINVAL, "unspecified");
	assert_int_equal(pmv_ip_addr_parse("::", &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -EINVAL, "unspecified");
	assert_int_equal(pmv_ip_addr_parse("10.0.0.1", &a), 0);
	a.prefix_len = 33;
	assert_refused(pmv_device_add_addr(n.dev, &a), -EINVAL, "prefix_len");
	a.prefix_len = 32;
	assert_int_equal(pmv_device_add_addr(n.dev, &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -EEXIST, "10.0.0.1");
	for (i = 1; i < 16; i++) {
		snprintf(text, sizeof(text), "10.0.1.%d", i);
		fake_add_addr(n.dev, text);
	}
	assert_int_equal(pmv_ip_addr_parse("10.0.2.1", &a), 0);
	assert_refused(pmv_device_add_addr(n.dev, &a), -ENOSPC, "10.0.2.1");
}

static void
is_on_link__by_any_prefix(void **state)
{
	static const char *const on[] = { "10.1.2.130", "10.1.2.254", "fd00:0:0:1::9", "fe80::1",
		"fd00:0:0:2:8000::" };
	static const char *const off[] = { "10.1.2.127", "10.1.3.129", "fd00::9", "fd00:0:0:2::1",
		"0.0.0.1" };
	union pmv_gid gid;
	uint32_t i;

	fake_add_addr(n.dev, "10.1.2.129/25");
	fake_add_addr(n.dev, "fd00:0:0:1::1/64");
	fake_add_addr(n.dev, "fd00:0:0:2:8000::1/65");
	for (i = 0; i < RTE_DIM(on); i++) {
		gid = fake_gid(on[i]);
		assert_true(pmv_verbs_addr_is_on_link(n.dev, &gid));
		gid = fake_gid(off[i]);
		assert_false(pmv_verbs_addr_is_on_link(n.dev, &gid));
	}
}

static void
set_gateway__one_per_family(void **state)
{
	union pmv_gid v4 = fake_gid("10.0.0.254"), v6 = fake_gid("fe80::1"), none = { { 0 } };
	union pmv_gid multicast = fake_gid("224.0.0.1"), none4 = fake_gid("0.0.0.0");

	assert_int_equal(pmv_device_set_gateway(n.dev, &v4), 0);
	assert_int_equal(pmv_device_set_gateway(n.dev, &v6), 0);
	assert_memory_equal(&n.dev->gateway[0], &v4, 16);
	assert_memory_equal(&n.dev->gateway[1], &v6, 16);
	assert_int_equal(pmv_device_set_gateway(n.dev, &none4), 0);
	assert_memory_equal(&n.dev->gateway[0], &none, 16);
	assert_memory_equal(&n.dev->gateway[1], &v6, 16);
	assert_int_equal(pmv_device_set_gateway(n.dev, &none), 0);
	assert_memory_equal(&n.dev->gateway[1], &none, 16);
	assert_refused(pmv_device_set_gateway(n.dev, &multicast), -EINVAL, "gateway");
	assert_refused(pmv_device_set_gateway(n.dev, NULL), -EINVAL, "gateway");
}

static void
changes__raise_the_version(void **state)
{
	union pmv_gid gid = fake_gid("10.0.0.1");
	uint32_t v = n.dev->addr_version;

	fake_add_addr(n.dev, "10.0.0.1/24");
	assert_int_equal(n.dev->addr_version, v + 1);
	assert_int_equal(pmv_device_set_gateway(n.dev, &gid), 0);
	assert_int_equal(n.dev->addr_version, v + 2);
	assert_int_equal(pmv_device_del_addr(n.dev, &gid), 0);
	assert_int_equal(n.dev->addr_version, v + 3);
}

static void
ip_addr_parse__good(void **state)
{
	static const struct {
		const char *text, *back;
		uint8_t len;
	} good[] = { { "10.0.0.1", "10.0.0.1", 32 }, { "10.0.0.1/24", "10.0.0.1", 24 },
		{ "1.2.3.4/0", "1.2.3.4", 0 }, { "fd00::1", "fd00::1", 128 },
		{ "FD00:0::1/64", "fd00::1", 64 }, { "::ffff:10.0.0.1/16", "10.0.0.1", 16 },
		{ "fe80:1111:2222:3333:4444:5555:6666:7777/128",
			"fe80:1111:2222:3333:4444:5555:6666:7777", 128 } };
	struct pmv_ip_addr a;
	char text[46];
	uint32_t i;

	for (i = 0; i < RTE_DIM(good); i++) {
		assert_int_equal(pmv_ip_addr_parse(good[i].text, &a), 0);
		assert_int_equal(a.prefix_len, good[i].len);
		assert_ptr_equal(pmv_gid_str(&a.gid, text, sizeof(text)), text);
		assert_string_equal(text, good[i].back);
	}
}

static void
ip_addr_parse__bad_leaves_the_result_alone(void **state)
{
	static const char *const bad[] = { "", "/", "10.0.0", "10.0.0.1/", "10.0.0.1/33",
		"10.0.0.1/-1", "10.0.0.1/2x", "10.0.0.1/ 8", "fd00::1/129", "::ffff:10.0.0.1/64",
		"host", "10.0.0.1.2", "fd00::1::2", "10.0.0.1/24/8",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb" };
	struct pmv_ip_addr a = { .prefix_len = 77 };
	uint32_t i;

	for (i = 0; i < RTE_DIM(bad); i++)
		assert_int_equal(pmv_ip_addr_parse(bad[i], &a), -EINVAL);
	assert_int_equal(pmv_ip_addr_parse(NULL, &a), -EINVAL);
	assert_int_equal(pmv_ip_addr_parse("10.0.0.1", NULL), -EINVAL);
	assert_int_equal(a.prefix_len, 77);
}

static void
gid_str__into_little_room(void **state)
{
	union pmv_gid gid = fake_gid("10.0.0.1");
	char text[4] = "abc";

	pmv_gid_str(&gid, text, 0);
	assert_string_equal(text, "abc");
	pmv_gid_str(&gid, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(add_addr__indices_are_stable),
		T(add_addr__refuses),
		T(is_on_link__by_any_prefix),
		T(set_gateway__one_per_family),
		T(changes__raise_the_version),
		T(ip_addr_parse__good),
		T(ip_addr_parse__bad_leaves_the_result_alone),
		T(gid_str__into_little_room),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
