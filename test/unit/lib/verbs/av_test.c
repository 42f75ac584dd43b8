// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/av.h"

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

static const uint8_t mac9[6] = { 2, 0, 0, 0, 0, 9 };
static struct pmv_av av;

static void
know_peers(void)
{
	union pmv_gid v4 = fake_gid("10.0.0.9"), v6 = fake_gid("fd00::9");

	fake_add_addr(n.dev, "10.0.0.1/24");
	fake_add_addr(n.dev, "fd00::1/64");
	assert_int_equal(pmv_neigh_set(n.dev, &v4, mac9), 0);
	assert_int_equal(pmv_neigh_set(n.dev, &v6, mac9), 0);
}

static void
resolve__ipv4(void **state)
{
	struct pmv_ah_attr a = {
		.dgid = fake_gid("10.0.0.9"), .traffic_class = 0xff, .flow_label = 0x8594d
	};
	union pmv_gid src = fake_gid("10.0.0.1");

	know_peers();
	assert_int_equal(pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), 0);
	assert_true(av.is_v4);
	assert_false(av.is_multicast);
	assert_memory_equal(av.dmac.addr_bytes, mac9, 6);
	assert_memory_equal(&av.sgid, &src, 16);
	assert_memory_equal(&av.dgid, &a.dgid, 16);
	assert_int_equal(av.hop_limit, 64);
	/* ECN is the driver's to set. */
	assert_int_equal(av.traffic_class, 0xfc);
	assert_int_equal(av.flow_label, 0x8594d);
	a.hop_limit = 3;
	assert_int_equal(pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), 0);
	assert_int_equal(av.hop_limit, 3);
	assert_int_equal(av.udp_sport, 0); /* the driver folds the label */
}

static void
resolve__ipv6_multicast_and_given_mac(void **state)
{
	struct pmv_ah_attr a = { .dgid = fake_gid("fd00::9"), .sgid_index = 1 };
	const uint8_t group[6] = { 0x33, 0x33, 0, 1, 2, 3 }, given[6] = { 2, 1, 1, 1, 1, 1 };

	know_peers();
	assert_int_equal(pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), 0);
	assert_false(av.is_v4);
	a.dgid = fake_gid("ff0e::1:203");
	assert_int_equal(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), 0);
	assert_true(av.is_multicast);
	assert_memory_equal(av.dmac.addr_bytes, group, 6);
	a.dgid = fake_gid("fd99::1"); /* not on-link, no gateway: a given MAC needs neither */
	a.has_dmac = true;
	memcpy(a.dmac, given, 6);
	assert_int_equal(pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), 0);
	assert_memory_equal(av.dmac.addr_bytes, given, 6);
}

static void
resolve__refuses(void **state)
{
	struct pmv_ah_attr a = { .dgid = fake_gid("10.0.0.9") };

	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "sgid_index");
	know_peers();
	a.sgid_index = 1;
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "famil");
	a.sgid_index = 2;
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "sgid_index");
	a.sgid_index = 0;
	a.flow_label = 1 << 20;
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "flow_label");
	a.flow_label = 0;
	a.has_dmac = true;
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "dmac");
	a.dmac[0] = 1;
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "dmac");
	a.has_dmac = false;
	a.dgid = fake_gid("0.0.0.0");
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, true, "test", &av), -EINVAL, "dgid");
	a.dgid = fake_gid("239.0.0.1");
	assert_refused(pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), -EINVAL, "multicast");
	a.dgid = fake_gid("10.0.0.8");
	assert_refused(
		pmv_verbs_av_resolve(n.dev, &a, false, "test", &av), -EHOSTUNREACH, "10.0.0.8");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(resolve__ipv4),
		T(resolve__ipv6_multicast_and_given_mac),
		T(resolve__refuses),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
