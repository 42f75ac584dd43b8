// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_event.h"

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
get_event__merges_and_takes_turns(void **state)
{
	struct pmv_worker *w = n.worker[0];
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_event ev;

	assert_int_equal(pmv_worker_get_event(w, &ev), 0);
	pmv_event_raise(w, &qp->event, PMV_EVENT_SQ_DRAINED);
	pmv_event_raise(w, &qp->event, PMV_EVENT_COMM_EST);
	pmv_event_raise(w, &qp->event, PMV_EVENT_COMM_EST);
	pmv_event_raise(w, &n.cq[0]->event, PMV_EVENT_CQ_ERR);
	assert_int_equal(pmv_worker_get_event(w, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_COMM_EST);
	assert_int_equal(ev.qp_num, pmv_qp_num(qp));
	assert_ptr_equal(ev.object, qp);
	assert_ptr_equal(ev.context, &n);
	assert_int_equal(pmv_worker_get_event(w, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_CQ_ERR);
	assert_ptr_equal(ev.object, n.cq[0]);
	assert_ptr_equal(ev.context, &n);
	assert_int_equal(pmv_worker_get_event(w, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_SQ_DRAINED);
	assert_int_equal(pmv_worker_get_event(w, &ev), 0);
	/* Raised again after it was taken: again an event. */
	pmv_event_raise(w, &qp->event, PMV_EVENT_COMM_EST);
	assert_int_equal(pmv_worker_get_event(w, &ev), 1);
	pmv_event_raise(w, &qp->event, PMV_EVENT_QP_FATAL);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_worker_get_event(w, &ev), 0);
}

static void
get_event__refuses_null(void **state)
{
	struct pmv_event ev;

	assert_int_equal(pmv_worker_get_event(NULL, &ev), -EINVAL);
	assert_int_equal(pmv_worker_get_event(n.worker[0], NULL), -EINVAL);
	assert_int_equal(pmv_poll_async_event(NULL, &ev), -EINVAL);
	assert_int_equal(pmv_poll_async_event(n.dev, NULL), -EINVAL);
}

static void
type_str__of_each(void **state)
{
	static const int types[] = { PMV_EVENT_CQ_ERR, PMV_EVENT_QP_FATAL, PMV_EVENT_QP_REQ_ERR,
		PMV_EVENT_QP_ACCESS_ERR, PMV_EVENT_COMM_EST, PMV_EVENT_SQ_DRAINED,
		PMV_EVENT_MR_RELEASED };
	uint32_t i;

	for (i = 0; i < RTE_DIM(types); i++)
		assert_string_not_equal(
			pmv_event_type_str((enum pmv_event_type)types[i]), "unknown event");
	assert_string_equal(pmv_event_type_str((enum pmv_event_type)63), "unknown event");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(get_event__merges_and_takes_turns),
		T(get_event__refuses_null),
		T(type_str__of_each),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
