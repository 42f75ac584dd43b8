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

/* The fake driver offers none of it; then one that does. */
static struct pmv_driver_ops rich;
static int answer;
static uint32_t nb_disarmed;

static int
rich_resize(struct pmv_cq *c, uint32_t cqe)
{
	return answer;
}

static int
rich_stamps(struct pmv_cq *c)
{
	return answer;
}

static int
rich_arm(struct pmv_cq *c, bool solicited_only)
{
	return solicited_only;
}

static void
rich_disarm(struct pmv_cq *c)
{
	nb_disarmed++;
}

static void
hook(struct pmv_cq *c, void *arg)
{
}

static void
cq__what_a_driver_does_not_offer(void **state)
{
	const struct pmv_cq_init_attr a = { .cqe = 1, .flags = PMV_CQ_TIMESTAMPS };

	cq = n.cq[0];
	assert_refused(pmv_create_cq_ex(n.worker[0], &a, &cq), -ENOTSUP, "timestamps");
	assert_refused(pmv_resize_cq(cq, 8), -ENOTSUP, "resize");
	assert_refused(pmv_cq_set_notify(cq, hook, NULL), -ENOTSUP, "notifies");
	assert_refused(pmv_modify_cq(cq, 1, 1), -ENOTSUP, "notifies");
	assert_refused(pmv_req_notify_cq(cq, false), -ENOTSUP, "notifies");
	assert_refused(pmv_resize_cq(NULL, 8), -EINVAL, "cq");
	assert_refused(pmv_cq_set_notify(NULL, hook, NULL), -EINVAL, "cq");
	assert_refused(pmv_modify_cq(NULL, 1, 1), -EINVAL, "cq");
	assert_refused(pmv_req_notify_cq(NULL, false), -EINVAL, "cq");
}

static void
cq__what_it_offers(void **state)
{
	struct pmv_cq_init_attr a = { .cqe = 1, .flags = 2 };
	struct pmv_worker *w = n.worker[0];

	rich = *w->ops;
	rich.cq_resize = rich_resize;
	rich.cq_timestamps = rich_stamps;
	rich.cq_arm = rich_arm;
	rich.cq_disarm = rich_disarm;
	w->ops = &rich;
	answer = 0;
	cq = NULL;
	assert_refused(pmv_create_cq_ex(w, &a, &cq), -EINVAL, "flags");
	a.flags = PMV_CQ_TIMESTAMPS;
	assert_refused(pmv_create_cq_ex(w, NULL, &cq), -EINVAL, "attr");
	a.cqe = 4097;
	assert_refused(pmv_create_cq_ex(w, &a, &cq), -EINVAL, "cqe");
	a.cqe = 1;
	answer = -ENOMEM;
	assert_refused(pmv_create_cq_ex(w, &a, &cq), -ENOMEM, "memory");
	assert_null(cq);
	answer = 0;
	assert_int_equal(pmv_create_cq_ex(w, &a, &cq), 0);

	assert_refused(pmv_resize_cq(cq, 0), -EINVAL, "cqe");
	assert_refused(pmv_resize_cq(cq, 4097), -EINVAL, "cqe");
	answer = -EINVAL;
	assert_refused(pmv_resize_cq(cq, 2), -EINVAL, "waits");
	answer = -ENOMEM;
	assert_refused(pmv_resize_cq(cq, 2), -ENOMEM, "memory");
	answer = 0;
	assert_int_equal(pmv_resize_cq(cq, 4096), 0);

	assert_refused(pmv_req_notify_cq(cq, true), -EINVAL, "hook");
	assert_int_equal(pmv_cq_set_notify(cq, hook, &n), 0);
	assert_int_equal(pmv_req_notify_cq(cq, true), 1);
	assert_int_equal(pmv_req_notify_cq(cq, false), 0);
	assert_int_equal(pmv_modify_cq(cq, 7, 9), 0);
	assert_int_equal(cq->notify_count, 7);
	assert_int_equal(cq->notify_period_us, 9);

	assert_int_equal(pmv_worker_attach(w), 0);
	w->owner++;
	assert_refused(pmv_resize_cq(cq, 2), -EPERM, "owns");
	assert_refused(pmv_cq_set_notify(cq, hook, NULL), -EPERM, "owns");
	assert_refused(pmv_modify_cq(cq, 1, 1), -EPERM, "owns");
	w->owner--;
	assert_int_equal(pmv_worker_detach(w), 0);

	nb_disarmed = 0;
	assert_int_equal(pmv_cq_set_notify(cq, NULL, NULL), 0);
	assert_int_equal(nb_disarmed, 1);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	assert_int_equal(nb_disarmed, 2);
	w->ops = w->device->driver->ops;
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
		T(cq__what_a_driver_does_not_offer),
		T(cq__what_it_offers),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
