// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/nexthop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
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

#include "lib/lcore/mailbox.h"

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 1 }, mac_b[6] = { 2, 0, 0, 0, 0, 2 };
static uint8_t mac[6];

static int
resolve(const char *dgid, uint16_t sgid_index)
{
	union pmv_gid gid = fake_gid(dgid);

	return pmv_verbs_nexthop_resolve(n.dev, &gid, sgid_index, mac);
}

static int
set(const char *text, const uint8_t m[6])
{
	union pmv_gid gid = fake_gid(text);

	return pmv_neigh_set(n.dev, &gid, m);
}

static void
resolve__own_multicast_on_link_gateway(void **state)
{
	const uint8_t group4[6] = { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 };
	union pmv_gid gw = fake_gid("10.0.0.254"), dst = fake_gid("192.0.2.1"), hop;

	fake_add_addr(n.dev, "10.0.0.1/24");
	fake_add_addr(n.dev, "fd00::1/64");
	assert_int_equal(resolve("10.0.0.1", 0), 0);
	assert_memory_equal(mac, n.dev->mac.addr_bytes, 6);
	assert_int_equal(resolve("239.129.2.3", 0), 0);
	assert_memory_equal(mac, group4, 6);
	assert_int_equal(resolve("10.0.0.9", 0), -EHOSTUNREACH);
	assert_int_equal(set("10.0.0.9", mac_a), 0);
	assert_int_equal(resolve("10.0.0.9", 0), 0);
	assert_memory_equal(mac, mac_a, 6);
	assert_int_equal(resolve("192.0.2.1", 0), -EHOSTUNREACH); /* no gateway */
	assert_int_equal(pmv_verbs_nexthop_route(n.dev, &dst, 0, &hop), -EHOSTUNREACH);
	assert_int_equal(pmv_device_set_gateway(n.dev, &gw), 0);
	assert_int_equal(resolve("192.0.2.1", 0), -EHOSTUNREACH); /* not known yet */
	assert_int_equal(pmv_verbs_nexthop_route(n.dev, &dst, 0, &hop), 0);
	assert_memory_equal(&hop, &gw, 16);
	assert_int_equal(set("10.0.0.254", mac_b), 0);
	assert_int_equal(resolve("192.0.2.1", 0), 0);
	assert_memory_equal(mac, mac_b, 6);
	assert_int_equal(
		resolve("fd01::1", 1), -EHOSTUNREACH); /* the gateway is of the other family */
}

static void
resolve__refuses(void **state)
{
	fake_add_addr(n.dev, "10.0.0.1/24");
	assert_int_equal(resolve("10.0.0.9", 1), -EINVAL);
	assert_int_equal(resolve("fd00::1", 0), -EINVAL);
	assert_int_equal(resolve("0.0.0.0", 0), -EINVAL);
}

static void
neigh_set__refuses(void **state)
{
	const uint8_t zero[6] = { 0 }, multicast[6] = { 1 };
	union pmv_gid gid = fake_gid("10.0.0.9");

	assert_refused(set("239.0.0.1", mac_a), -EINVAL, "multicast");
	assert_refused(set("::", mac_a), -EINVAL, "unspecified");
	assert_refused(set("10.0.0.9", multicast), -EINVAL, "multicast");
	assert_refused(set("10.0.0.9", zero), -EINVAL, "all-zero");
	assert_refused(pmv_neigh_set(NULL, &gid, mac_a), -EINVAL, "device");
	assert_refused(pmv_neigh_set(n.dev, NULL, mac_a), -EINVAL, "gid");
	assert_refused(pmv_neigh_set(n.dev, &gid, NULL), -EINVAL, "mac");
}

static void
neigh_set__a_full_table(void **state)
{
	union pmv_gid gid = fake_gid("fd00::");
	uint32_t i;

	for (i = 1; i <= PMV_VERBS_NEXTHOPS_MAX; i++) {
		memcpy(&gid.raw[12], &i, 4);
		assert_int_equal(pmv_neigh_set(n.dev, &gid, mac_a), 0);
	}
	assert_int_equal(pmv_neigh_set(n.dev, &gid, mac_b), 0); /* a known one may still change */
	memcpy(&gid.raw[12], &i, 4);
	assert_refused(pmv_neigh_set(n.dev, &gid, mac_a), -ENOSPC, "full");
	i = 1;
	memcpy(&gid.raw[12], &i, 4);
	assert_int_equal(pmv_verbs_nexthop_del(n.dev, &gid), 0);
	assert_int_equal(pmv_verbs_nexthop_del(n.dev, &gid), -ENOENT);
	assert_int_equal(pmv_verbs_nexthop_lookup(n.dev, &gid, mac), -ENOENT);
	assert_int_equal(pmv_neigh_set(n.dev, &gid, mac_a), 0);
	assert_int_equal(pmv_verbs_nexthop_lookup(n.dev, &gid, mac), 0);
	assert_memory_equal(mac, mac_a, 6);
}

static void
neigh_set__a_change_reaches_the_workers(void **state)
{
	struct fake_worker *w = fake_worker(n.worker[0]);
	union pmv_gid gid = fake_gid("10.0.0.9");

	assert_int_equal(set("10.0.0.9", mac_a), 0);
	assert_int_equal(set("10.0.0.9", mac_a), 0);
	assert_int_equal(w->nb_neigh, 0); /* nothing changed for anybody */
	assert_int_equal(set("10.0.0.9", mac_b), 0);
	assert_int_equal(w->nb_neigh, 1);
	assert_memory_equal(&w->neigh_gid, &gid, 16);
	assert_memory_equal(w->neigh_old.addr_bytes, mac_a, 6);
	assert_memory_equal(w->neigh_new.addr_bytes, mac_b, 6);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
	assert_int_equal(set("10.0.0.9", mac_a), 0);
	assert_int_equal(w->nb_neigh, 1);
	n.worker[0]->owner--;
	pmv_worker_poll_at(n.worker[0], 1);
	assert_int_equal(w->nb_neigh, 2);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
neigh_set__full_mailbox_changes_nothing(void **state)
{
	const char *text;
	uint32_t nb = 0;
	int rc;

	fake_add_addr(n.dev, "10.0.0.1/24");
	assert_int_equal(set("10.0.0.9", mac_a), 0);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
	do {
		rc = pmv_lcore_mailbox_room(n.worker[0]) == 0
			     ? -EAGAIN
			     : set("10.0.0.9", nb & 1 ? mac_a : mac_b);
		nb += rc == 0;
	} while (rc == 0);
	assert_int_equal(resolve("10.0.0.9", 0), 0);
	assert_memory_equal(mac, nb & 1 ? mac_b : mac_a, 6);
	pmv_test_log_begin();
	assert_int_equal(set("10.0.0.9", nb & 1 ? mac_a : mac_b), -EAGAIN);
	assert_int_equal(pmv_test_log_end(&text), 0);
	assert_int_equal(resolve("10.0.0.9", 0), 0);
	assert_memory_equal(mac, nb & 1 ? mac_b : mac_a, 6);
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
	assert_int_equal(fake_worker(n.worker[0])->nb_neigh, nb);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(resolve__own_multicast_on_link_gateway),
		T(resolve__refuses),
		T(neigh_set__refuses),
		T(neigh_set__a_full_table),
		T(neigh_set__a_change_reaches_the_workers),
		T(neigh_set__full_mailbox_changes_nothing),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
