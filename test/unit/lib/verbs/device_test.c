// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/device.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "lib/verbs/ctl_channel.h"
#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct pmv_test_link *link;
static bool is_secondary;

/* A secondary process needs hugepages that it shares with its primary; the answer is the same. */
enum rte_proc_type_t __wrap_rte_eal_process_type(void);

enum rte_proc_type_t
__wrap_rte_eal_process_type(void)
{
	return is_secondary ? RTE_PROC_SECONDARY : RTE_PROC_PRIMARY;
}

static int
setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	return pmv_test_link_open(&link, 1, 1);
}

static int
teardown(void **state)
{
	return (int)(pmv_test_link_close(link) + fake.nb_devices);
}

static struct pmv_device_param
param(int end)
{
	return (struct pmv_device_param){
		.driver = "fake", .port_id = link->end[end].port_id, .nb_workers = 3
	};
}

static void
open__resolves_defaults(void **state)
{
	struct pmv_device_param p = param(0);
	struct pmv_device_attr a;
	struct pmv_device *dev;

	p.mr_max = 1000;
	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(pmv_query_device(dev, &a), 0);
	assert_string_equal(a.driver, "fake");
	assert_int_equal(a.port_id, p.port_id);
	assert_int_equal(a.ip_mtu, 1500);
	assert_int_equal(a.active_mtu, PMV_MTU_1024);
	assert_int_equal(a.max_mr, 1024);
	assert_int_equal(a.nb_workers, 3);
	assert_int_equal(a.max_cqe, 4096);
	assert_int_not_equal(a.node_guid, 0);
	assert_int_equal(dev->worker_bits, 2);
	assert_int_equal(dev->param.hop_limit, 64);
	assert_int_equal(dev->param.window_pkts, 128);
	assert_int_equal(pmv_device_close(dev), 0);
	p.mr_max = 0;
	p.ip_mtu = 4200;
	p.nb_workers = 1;
	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(dev->param.mr_max, 4096);
	assert_int_equal(dev->active_mtu, PMV_MTU_4096);
	assert_int_equal(dev->worker_bits, 0);
	assert_int_equal(pmv_device_close(dev), 0);
}

static void
open__a_port_without_mac_gets_one(void **state)
{
	struct pmv_device_param p[2] = { param(0), param(1) };
	struct pmv_device_attr a[2];
	struct pmv_device *dev[2];
	int i;

	for (i = 0; i < 2; i++) {
		p[i].seed = 5; /* the same: still two devices */
		assert_int_equal(pmv_device_open(&p[i], &dev[i]), 0);
		assert_int_equal(pmv_query_device(dev[i], &a[i]), 0);
		assert_memory_not_equal(a[i].mac, "\0\0\0\0\0", 6);
		assert_int_equal(a[i].mac[0] & 1, 0);
	}
	assert_int_not_equal(a[0].node_guid, a[1].node_guid);
	assert_memory_not_equal(a[0].mac, a[1].mac, 6);
	assert_int_equal(pmv_device_close(dev[0]), 0);
	assert_int_equal(pmv_device_close(dev[1]), 0);
}

#define BAD(field, value, word)                                                                    \
	do {                                                                                       \
		struct pmv_device_param bad = param(0);                                            \
		bad.field = value;                                                                 \
		assert_refused(pmv_device_open(&bad, &dev), -EINVAL, word);                        \
	} while (0)

static void
open__refuses_wrong_arguments(void **state)
{
	struct pmv_device_param p = param(0);
	struct pmv_device *dev = NULL;

	BAD(nb_workers, 0, "nb_workers");
	BAD(nb_workers, 17, "nb_workers");
	BAD(ip_mtu, 351, "ip_mtu");
	BAD(vlan_id, 4095, "vlan_id");
	BAD(vlan_pcp, 8, "vlan_pcp");
	BAD(ownership, (enum pmv_addr_ownership)2, "ownership");
	BAD(mr_max, 65537, "mr_max");
	BAD(window_pkts, 4097, "window_pkts");
	assert_refused(pmv_device_open(NULL, &dev), -EINVAL, "param");
	assert_refused(pmv_device_open(&p, NULL), -EINVAL, "ret_device");
	p.port_id = RTE_MAX_ETHPORTS - 1;
	assert_refused(pmv_device_open(&p, &dev), -ENODEV, "port_id");
	p = param(0);
	p.driver = "none";
	assert_refused(pmv_device_open(&p, &dev), -ENOENT, "none");
	fake.probe = -1;
	p.driver = "fake";
	assert_refused(pmv_device_open(&p, &dev), -ENOTSUP, "cannot run");
	fake.probe = 0;
	assert_null(dev);
}

static void
open__a_port_that_does_not_fit(void **state)
{
	struct rte_eth_conf conf = { 0 };
	struct pmv_device_param p = param(0);
	struct pmv_device *dev;

	assert_int_equal(rte_eth_dev_stop(p.port_id), 0);
	assert_int_equal(rte_eth_dev_configure(p.port_id, 1, 1, &conf), 0);
	assert_refused(pmv_device_open(&p, &dev), -ENOTSUP, "MULTI_SEGS");
}

static void
open__a_busy_port(void **state)
{
	struct pmv_device_param p = param(0);
	struct pmv_device *dev, *second = NULL;

	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_refused(pmv_device_open(&p, &second), -EBUSY, "already");
	assert_null(second);
	assert_int_equal(pmv_device_close(dev), 0);
	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(pmv_device_close(dev), 0);
}

static void
open__a_failing_driver_leaves_nothing(void **state)
{
	struct pmv_device_param p = param(0);
	struct pmv_device *dev = NULL;

	fake.device_init = -ENOMEM;
	assert_refused(pmv_device_open(&p, &dev), -ENOMEM, "memory");
	assert_null(dev);
	fake.device_init = 0;
	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(pmv_device_close(dev), 0);
}

static void
close__while_used(void **state)
{
	struct pmv_worker_param wp = { .socket_id = -1, .pool = link->pool };
	struct pmv_device_param p = param(0);
	struct pmv_ctl_channel *ch;
	struct pmv_worker *w;
	struct pmv_device *dev;
	struct pmv_pd *pd;

	assert_int_equal(pmv_device_open(&p, &dev), 0);
	assert_int_equal(pmv_alloc_pd(dev, &pd), 0);
	assert_refused(pmv_device_close(dev), -EBUSY, "protection domain");
	assert_int_equal(pmv_worker_create(dev, &wp, &w), 0);
	assert_refused(pmv_device_close(dev), -EBUSY, "worker");
	assert_int_equal(pmv_verbs_ctl_open(dev, &ch), 0);
	assert_refused(pmv_device_close(dev), -EBUSY, "connection manager");
	pmv_verbs_ctl_close(ch);
	assert_int_equal(pmv_worker_destroy(w), 0);
	assert_int_equal(pmv_dealloc_pd(pd), 0);
	assert_int_equal(pmv_device_close(dev), 0);
	assert_int_equal(pmv_device_close(NULL), -EINVAL);
	assert_int_equal(pmv_query_device(NULL, NULL), -EINVAL);
}

static void
open__secondary_process(void **state)
{
	struct pmv_device_param p = param(0);
	struct pmv_device *dev = NULL;

	is_secondary = true;
	REFUSED(-ENOTSUP, "secondary", pmv_device_open(&p, &dev));
	is_secondary = false;
	assert_int_equal(pmv_test_refused_failures(), 0);
	assert_null(dev);
	assert_int_equal(fake.nb_devices, 0);
	assert_int_equal(pmv_device_open(&p, &dev), 0); /* nothing is left behind */
	assert_int_equal(pmv_device_close(dev), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(open__resolves_defaults),
		T(open__secondary_process),
		T(open__a_port_without_mac_gets_one),
		T(open__refuses_wrong_arguments),
		T(open__a_port_that_does_not_fit),
		T(open__a_busy_port),
		T(open__a_failing_driver_leaves_nothing),
		T(close__while_used),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
