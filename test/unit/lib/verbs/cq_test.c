// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_cq.h"

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

static struct pmv_cq *cq;

static void
create_cq__refuses(void **state)
{
	cq = NULL;
	assert_refused(pmv_create_cq(n.worker[0], 0, NULL, &cq), -EINVAL, "cqe");
	assert_refused(pmv_create_cq(n.worker[0], 4097, NULL, &cq), -EINVAL, "cqe");
	assert_refused(pmv_create_cq(NULL, 1, NULL, &cq), -EINVAL, "worker");
	assert_refused(pmv_create_cq(n.worker[0], 1, NULL, NULL), -EINVAL, "ret_cq");
	fake.cq_create = -ENOMEM;
	assert_refused(pmv_create_cq(n.worker[0], 1, NULL, &cq), -ENOMEM, "memory");
	fake.cq_create = 0;
	assert_null(cq);
	assert_int_equal(n.worker[0]->nb_cqs, 1);
}

static void
query_cq__tells(void **state)
{
	struct pmv_cq_attr a;

	assert_int_equal(pmv_create_cq(n.worker[0], 100, &n, &cq), 0);
	assert_int_equal(pmv_query_cq(cq, &a), 0);
	assert_int_equal(a.cqe, 128);
	assert_int_equal(a.nb_ready, 3);
	assert_false(a.overrun);
	assert_int_equal(pmv_query_cq(NULL, &a), -EINVAL);
	assert_int_equal(pmv_query_cq(cq, NULL), -EINVAL);
	assert_int_equal(pmv_destroy_cq(cq), 0);
}

static void
destroy_cq__refuses(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);

	assert_refused(pmv_destroy_cq(n.cq[0]), -EBUSY, "queue pairs");
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
	assert_refused(pmv_destroy_cq(n.cq[0]), -EPERM, "owns");
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
	assert_int_equal(pmv_destroy_cq(NULL), -EINVAL);
}

static void
destroy_cq__takes_its_event_along(void **state)
{
	struct pmv_event ev;

	assert_int_equal(pmv_create_cq(n.worker[0], 1, NULL, &cq), 0);
	pmv_event_raise(n.worker[0], &cq->event, PMV_EVENT_CQ_ERR);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(create_cq__refuses),
		T(query_cq__tells),
		T(destroy_cq__refuses),
		T(destroy_cq__takes_its_event_along),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
