// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/port_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ethdev.h>

#include "test/harness/eal.h"
#include "test/harness/link.h"

static char said[8][200];
static int nb_said;
static struct pmv_test_link *link;

static void
report(void *arg, const char *sentence)
{
	assert_ptr_equal(arg, said);
	snprintf(said[nb_said++], sizeof(said[0]), "%s", sentence);
}

static int
setup(void **state)
{
	nb_said = 0;
	return pmv_test_link_open(&link, 1, 1);
}

static int
teardown(void **state)
{
	return (int)pmv_test_link_close(link);
}

static int
check(uint16_t mtu)
{
	nb_said = 0;
	return pmv_port_check(link->end[0].port_id, mtu, report, said);
}

/* Configures the port with these offloads, as far as net_ring lets us: it refuses what it does not
 * offer. */
static void
configure(uint64_t tx_offloads, uint64_t rx_offloads)
{
	struct rte_eth_conf conf = { .txmode.offloads = tx_offloads,
		.rxmode.offloads = rx_offloads };
	uint16_t port = link->end[0].port_id;

	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
}

static void
port_check__a_good_port(void **state)
{
	assert_int_equal(check(0), 0);
	assert_int_equal(check(1500), 0);
	assert_int_equal(check(4200), 0); /* more than net_ring reports, not more than it carries */
	assert_int_equal(pmv_port_check(link->end[0].port_id, 0, NULL, NULL), 0);
}

static void
port_check__no_such_port(void **state)
{
	assert_int_equal(pmv_port_check(RTE_MAX_ETHPORTS - 1, 0, report, said), -ENODEV);
	assert_int_equal(pmv_port_check(UINT16_MAX, 0, report, said), -ENODEV);
	assert_int_equal(nb_said, 0);
}

static void
port_check__mtu_too_small(void **state)
{
	assert_int_equal(check(351), 1);
	assert_non_null(strstr(said[0], "IP MTU of 351"));
	assert_int_equal(check(352), 0);
}

static void
port_check__segments_must_be_on(void **state)
{
	configure(0, 0);
	assert_int_equal(check(0), 1);
	assert_non_null(strstr(said[0], "MULTI_SEGS"));
	assert_int_equal(pmv_port_check(link->end[0].port_id, 351, NULL, NULL), 2);
}

static void
active_mtu__follows_ip_mtu_minus_96(void **state)
{
	assert_int_equal(pmv_verbs_port_active_mtu(351), 0);
	assert_int_equal(pmv_verbs_port_active_mtu(352), PMV_MTU_256);
	assert_int_equal(pmv_verbs_port_active_mtu(607), PMV_MTU_256);
	assert_int_equal(pmv_verbs_port_active_mtu(608), PMV_MTU_512);
	assert_int_equal(pmv_verbs_port_active_mtu(1120), PMV_MTU_1024);
	assert_int_equal(pmv_verbs_port_active_mtu(1500), PMV_MTU_1024);
	assert_int_equal(pmv_verbs_port_active_mtu(2144), PMV_MTU_2048);
	assert_int_equal(pmv_verbs_port_active_mtu(4191), PMV_MTU_2048);
	assert_int_equal(pmv_verbs_port_active_mtu(4192), PMV_MTU_4096);
	assert_int_equal(pmv_verbs_port_active_mtu(9000), PMV_MTU_4096);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(port_check__a_good_port),
		T(port_check__no_such_port),
		T(port_check__mtu_too_small),
		T(port_check__segments_must_be_on),
		T(active_mtu__follows_ip_mtu_minus_96),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
