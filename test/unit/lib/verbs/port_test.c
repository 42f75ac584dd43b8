// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/verbs/port: what the port says of itself, and the events of its changes. The clock of the
 * looks is the real one: a test waits for it, and asserts nothing about it.
 */
#include "lib/api/pmv_port.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

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

/* The next event, if there is one once the link may be looked at again. */
static int
next_event(struct pmv_event *ev)
{
	rte_delay_us_sleep(11000);
	return pmv_poll_async_event(n.dev, ev);
}

static void
query_port__tells_the_link(void **state)
{
	uint16_t port = n.link->end[0].port_id;
	struct pmv_port_attr a;
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	assert_int_equal(pmv_query_port(n.dev, &a), 0);
	assert_int_equal(a.state, PMV_PORT_ACTIVE);
	assert_int_equal(a.active_speed, link.link_speed);
	assert_true(a.is_full_duplex);
	assert_int_equal(a.active_mtu, PMV_MTU_1024);
	assert_int_equal(a.gid_tbl_len, 16);
	assert_int_equal(a.pkey_tbl_len, 1);
	assert_int_equal(rte_eth_dev_set_link_down(port), 0);
	assert_int_equal(pmv_query_port(n.dev, &a), 0);
	assert_int_equal(a.state, PMV_PORT_DOWN);
	assert_int_equal(a.active_speed, 0);
	assert_string_equal(pmv_port_state_str(a.state), "down");
	assert_string_equal(pmv_port_state_str(PMV_PORT_ACTIVE), "active");
	assert_string_equal(pmv_port_state_str((enum pmv_port_state)77), "unknown state");
	assert_int_equal(rte_eth_dev_set_link_up(port), 0);
}

static void
query_port__refused(void **state)
{
	struct pmv_port_attr a;

	assert_int_equal(pmv_query_port(NULL, &a), -EINVAL);
	assert_int_equal(pmv_query_port(n.dev, NULL), -EINVAL);
}

static void
events__link_goes_and_comes(void **state)
{
	uint16_t port = n.link->end[0].port_id;
	struct pmv_event ev;

	assert_int_equal(next_event(&ev), 0);
	assert_int_equal(rte_eth_dev_set_link_down(port), 0);
	assert_int_equal(next_event(&ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_PORT_ERR);
	assert_ptr_equal(ev.object, n.dev);
	assert_null(ev.context);
	assert_int_equal(next_event(&ev), 0);
	assert_int_equal(rte_eth_dev_set_link_up(port), 0);
	assert_int_equal(next_event(&ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_PORT_ACTIVE);
	assert_int_equal(next_event(&ev), 0);
}

static void
events__addresses_change(void **state)
{
	struct pmv_ip_addr addr;
	struct pmv_event ev;

	assert_int_equal(next_event(&ev), 0);
	assert_int_equal(pmv_ip_addr_parse("10.77.0.1/24", &addr), 0);
	assert_int_equal(pmv_device_add_addr(n.dev, &addr), 0);
	assert_int_equal(next_event(&ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_GID_CHANGE);
	assert_ptr_equal(ev.object, n.dev);
	assert_int_equal(next_event(&ev), 0);
	/* refused: no change */
	assert_int_equal(pmv_device_add_addr(n.dev, &addr), -EEXIST);
	assert_int_equal(next_event(&ev), 0);
	/* two changes are one piece of news */
	assert_int_equal(pmv_device_del_addr(n.dev, &addr.gid), 0);
	assert_int_equal(pmv_device_add_addr(n.dev, &addr), 0);
	assert_int_equal(next_event(&ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_GID_CHANGE);
	assert_int_equal(next_event(&ev), 0);
	assert_int_equal(pmv_device_del_addr(n.dev, &addr.gid), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(query_port__tells_the_link, setup, teardown),
		cmocka_unit_test_setup_teardown(query_port__refused, setup, teardown),
		cmocka_unit_test_setup_teardown(events__link_goes_and_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(events__addresses_change, setup, teardown),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
