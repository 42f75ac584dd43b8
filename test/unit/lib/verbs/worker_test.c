// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_worker.h"

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

static struct pmv_worker *w;

/* The one worker of the node is destroyed first: these tests make their own. */
static int
setup(void **state)
{
	fake_node_open(&n, 1);
	assert_int_equal(pmv_destroy_cq(n.cq[0]), 0);
	assert_int_equal(pmv_worker_destroy(n.worker[0]), 0);
	n.nb_workers = 0;
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static struct pmv_worker_param
param(void)
{
	return (struct pmv_worker_param){ .socket_id = -1, .pool = n.link->pool };
}

#define BAD(field, value, word)                                                                    \
	do {                                                                                       \
		struct pmv_worker_param bad = param();                                             \
		bad.field = value;                                                                 \
		assert_refused(pmv_worker_create(n.dev, &bad, &w), -EINVAL, word);                 \
	} while (0)

static void
create__refuses_wrong_arguments(void **state)
{
	struct pmv_worker_param p = param();
	struct rte_mempool *small;

	small = rte_pktmbuf_pool_create("small", 63, 0, 0, 1024, SOCKET_ID_ANY);
	assert_non_null(small);
	w = NULL;
	BAD(rx_queue, 1, "rx_queue");
	BAD(tx_queue, 1, "tx_queue");
	BAD(pool, NULL, "pool");
	BAD(pool, small, "pool");
	BAD(qp_max, 65537, "qp_max");
	assert_refused(pmv_worker_create(n.dev, NULL, &w), -EINVAL, "param");
	assert_refused(pmv_worker_create(NULL, &p, &w), -EINVAL, "device");
	assert_refused(pmv_worker_create(n.dev, &p, NULL), -EINVAL, "ret_worker");
	assert_null(w);
	rte_mempool_free(small);
}

static void
create__a_failing_driver_leaves_nothing(void **state)
{
	struct pmv_worker_param p = param();

	fake.worker_init = -ENOMEM;
	w = NULL;
	assert_refused(pmv_worker_create(n.dev, &p, &w), -ENOMEM, "memory");
	assert_null(w);
	assert_int_equal(n.dev->nb_workers_made, 0);
}

static void
create__no_more_than_told_at_open(void **state)
{
	struct pmv_worker_param p = param();
	struct pmv_worker *second = NULL;

	assert_int_equal(pmv_worker_create(n.dev, &p, &w), 0);
	assert_refused(pmv_worker_create(n.dev, &p, &second), -ENOSPC, "workers");
	assert_null(second);
	assert_int_equal(pmv_worker_destroy(w), 0);
}

static void
create__a_queue_has_one_worker(void **state)
{
	struct pmv_device_param dp = {
		.driver = "fake", .port_id = n.link->end[1].port_id, .nb_workers = 2
	};
	struct pmv_worker_param p = param();
	struct pmv_worker *second;
	struct pmv_device *dev;

	assert_int_equal(pmv_device_open(&dp, &dev), 0);
	assert_int_equal(pmv_worker_create(dev, &p, &w), 0);
	assert_refused(pmv_worker_create(dev, &p, &second), -EINVAL, "another worker");
	assert_int_equal(pmv_worker_destroy(w), 0);
	assert_int_equal(pmv_device_close(dev), 0);
}

static void
destroy__while_used_or_attached(void **state)
{
	struct pmv_worker_param p = param();
	struct pmv_cq *cq;

	assert_int_equal(pmv_worker_create(n.dev, &p, &w), 0);
	assert_int_equal(pmv_create_cq(w, 4, NULL, &cq), 0);
	assert_refused(pmv_worker_destroy(w), -EBUSY, "CQs");
	assert_int_equal(pmv_destroy_cq(cq), 0);
	assert_int_equal(pmv_worker_attach(w), 0);
	assert_refused(pmv_worker_destroy(w), -EBUSY, "attached");
	assert_int_equal(pmv_worker_detach(w), 0);
	assert_int_equal(pmv_worker_destroy(w), 0);
	assert_int_equal(pmv_worker_destroy(NULL), -EINVAL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(create__refuses_wrong_arguments),
		T(create__a_failing_driver_leaves_nothing),
		T(create__no_more_than_told_at_open),
		T(create__a_queue_has_one_worker),
		T(destroy__while_used_or_attached),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
