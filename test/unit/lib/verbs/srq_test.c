// SPDX-License-Identifier: BSD-3-Clause
/*
 * What lib/verbs does for every driver's shared receive queues: each errno, the limits of the
 * device at the value and one beyond, and who must outlive whom.
 */
#include "lib/api/pmv_srq.h"

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
static struct pmv_device_attr limits;

static int
setup(void **state)
{
	fake_node_open(&n, 2);
	assert_int_equal(pmv_query_device(n.dev, &limits), 0);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static struct pmv_srq_init_attr
init_attr(uint32_t max_wr, uint32_t max_sge, uint32_t limit)
{
	return (struct pmv_srq_init_attr){ { max_wr, max_sge, limit }, &n };
}

static struct pmv_srq *
create(uint32_t max_wr, uint32_t limit)
{
	struct pmv_srq_init_attr a = init_attr(max_wr, 1, limit);
	struct pmv_srq *srq = NULL;

	assert_int_equal(pmv_create_srq(n.pd, n.worker[0], &a, &srq), 0);
	return srq;
}

/* The worker is another thread's, for a while. */
static void
lend(struct pmv_worker *w)
{
	assert_int_equal(pmv_worker_attach(w), 0);
	w->owner++;
}

static void
take_back(struct pmv_worker *w)
{
	w->owner--;
	assert_int_equal(pmv_worker_detach(w), 0);
}

static void
create_srq__refuses(void **state)
{
	struct pmv_srq_init_attr a = init_attr(4, 1, 0), bad;
	const struct pmv_driver_ops *ops = n.worker[0]->ops;
	struct pmv_driver_ops without = *ops;
	struct pmv_device elsewhere;
	struct pmv_pd foreign = { .device = &elsewhere };
	struct pmv_srq *srq = NULL;

#define BAD(wr, sge, limit, word)                                                                  \
	do {                                                                                       \
		bad = init_attr(wr, sge, limit);                                                   \
		assert_refused(pmv_create_srq(n.pd, n.worker[0], &bad, &srq), -EINVAL, word);      \
		assert_int_equal(bad.attr.max_wr, wr);                                             \
	} while (0)
	BAD(0, 1, 0, "max_wr");
	BAD(limits.max_srq_wr + 1, 1, 0, "max_srq_wr");
	BAD(4, 0, 0, "max_sge");
	BAD(4, limits.max_srq_sge + 1, 0, "max_srq_sge");
	BAD(4, 1, 5, "srq_limit");   /* although 4 might be rounded up */
	BAD(64, 1, 65, "srq_limit"); /* SQ-501 */
#undef BAD
	assert_refused(pmv_create_srq(NULL, n.worker[0], &a, &srq), -EINVAL, "pd");
	assert_refused(pmv_create_srq(n.pd, NULL, &a, &srq), -EINVAL, "worker");
	assert_refused(pmv_create_srq(n.pd, n.worker[0], NULL, &srq), -EINVAL, "attr");
	assert_refused(pmv_create_srq(n.pd, n.worker[0], &a, NULL), -EINVAL, "ret_srq");
	assert_refused(
		pmv_create_srq(&foreign, n.worker[0], &a, &srq), -EINVAL, "different devices");
	fake.srq_create = -ENOMEM;
	assert_refused(pmv_create_srq(n.pd, n.worker[0], &a, &srq), -ENOMEM, "memory");
	fake.srq_create = 0;
	without.srq_create = NULL;
	n.worker[0]->ops = &without;
	assert_refused(pmv_create_srq(n.pd, n.worker[0], &a, &srq), -ENOTSUP, "driver fake");
	n.worker[0]->ops = ops;
	assert_null(srq);
	assert_int_equal(n.worker[0]->nb_srqs, 0);
	assert_int_equal(n.pd->refs, 0);
}

/* SQ-501: what create reports, what query returns and what is in force agree. */
static void
create_srq__tells_what_holds(void **state)
{
	struct pmv_srq_init_attr a = init_attr(63, 3, 8), made;
	struct pmv_srq_attr now;
	struct pmv_event ev;
	struct pmv_srq *srq;

	assert_int_equal(pmv_create_srq(n.pd, n.worker[0], &a, &srq), 0);
	assert_int_equal(a.attr.max_wr, 64);
	assert_int_equal(a.attr.max_sge, 3);
	assert_int_equal(a.attr.srq_limit, 8);
	assert_int_equal(pmv_query_srq(srq, &now, &made), 0);
	assert_memory_equal(&now, &a.attr, sizeof(now));
	assert_memory_equal(&made.attr, &a.attr, sizeof(now));
	assert_ptr_equal(made.srq_context, &n);
	assert_int_equal(pmv_query_srq(srq, &now, NULL), 0);
	assert_ptr_equal(pmv_srq_get_worker(srq), n.worker[0]);
	assert_ptr_equal(pmv_srq_get_pd(srq), n.pd);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 0); /* armed, not raised */
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

/* The device's limits are what they are told to be: the value works, one more does not. */
static void
create_srq__reaches_every_limit(void **state)
{
	struct pmv_srq_init_attr a =
		init_attr(limits.max_srq_wr, limits.max_srq_sge, limits.max_srq_wr);
	struct pmv_srq *srq[16], *one_more = NULL;
	uint32_t i;

	assert_in_range(limits.max_srq, 1, 16);
	for (i = 0; i < limits.max_srq; i++) {
		assert_int_equal(pmv_create_srq(n.pd, n.worker[0], &a, &srq[i]), 0);
		assert_int_equal(a.attr.max_wr, limits.max_srq_wr);
	}
	assert_refused(pmv_create_srq(n.pd, n.worker[0], &a, &one_more), -ENOSPC, "max_srq");
	assert_null(one_more);
	/* the limit is a worker's */
	assert_int_equal(pmv_create_srq(n.pd, n.worker[1], &a, &one_more), 0);
	assert_int_equal(pmv_destroy_srq(one_more), 0);
	assert_int_equal(pmv_destroy_srq(srq[0]), 0);
	assert_int_equal(pmv_create_srq(n.pd, n.worker[0], &a, &srq[0]), 0);
	for (i = 0; i < limits.max_srq; i++)
		assert_int_equal(pmv_destroy_srq(srq[i]), 0);
}

static void
check_attr(struct pmv_srq *srq, uint32_t max_wr, uint32_t limit)
{
	struct pmv_srq_attr now;

	assert_int_equal(pmv_query_srq(srq, &now, NULL), 0);
	assert_int_equal(now.max_wr, max_wr);
	assert_int_equal(now.srq_limit, limit);
}

static void
modify_srq__refuses(void **state)
{
	struct pmv_srq *srq = create(16, 8);
	struct pmv_srq_attr a;

#define BAD(wr, limit, mask, error, word)                                                          \
	do {                                                                                       \
		a = (struct pmv_srq_attr){ .max_wr = wr, .srq_limit = limit };                     \
		assert_refused(pmv_modify_srq(srq, &a, mask), error, word);                        \
		assert_int_equal(a.max_wr, wr);                                                    \
		check_attr(srq, 16, 8);                                                            \
	} while (0)
	BAD(32, 0, 0, -EINVAL, "mask");
	BAD(32, 0, 4 | PMV_SRQ_MAX_WR, -EINVAL, "mask");
	BAD(0, 0, PMV_SRQ_MAX_WR, -EINVAL, "max_wr is 0");
	BAD(limits.max_srq_wr + 1, 0, PMV_SRQ_MAX_WR, -EINVAL, "max_srq_wr");
	BAD(7, 0, PMV_SRQ_MAX_WR, -EINVAL, "limit in force");
	BAD(0, 17, PMV_SRQ_LIMIT, -EINVAL, "srq_limit"); /* SQ-502 */
	BAD(8, 9, PMV_SRQ_LIMIT | PMV_SRQ_MAX_WR, -EINVAL, "srq_limit");
	fake.srq_prepare = -ENOMEM;
	BAD(32, 0, PMV_SRQ_MAX_WR, -ENOMEM, "memory");
	assert_int_equal(fake.nb_srq_ends, 0);
	fake.srq_prepare = 0;
	fake.srq_commit = -EINVAL;
	BAD(32, 0, PMV_SRQ_MAX_WR, -EINVAL, "posted");
	assert_int_equal(fake.nb_srq_ends, 1); /* what was prepared is taken back */
	fake.srq_commit = 0;
	lend(n.worker[0]);
	a = (struct pmv_srq_attr){ .max_wr = 32 };
	assert_refused(pmv_modify_srq(srq, &a, PMV_SRQ_MAX_WR), -EPERM, "owns");
	take_back(n.worker[0]);
	check_attr(srq, 16, 8);
#undef BAD
	assert_refused(pmv_modify_srq(NULL, &a, PMV_SRQ_MAX_WR), -EINVAL, "srq");
	assert_refused(pmv_modify_srq(srq, NULL, PMV_SRQ_MAX_WR), -EINVAL, "attr");
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

static void
modify_srq__writes_back_what_holds(void **state)
{
	struct pmv_srq_attr a = { .max_wr = limits.max_srq_wr };
	struct pmv_srq_init_attr made;
	struct pmv_srq *srq = create(16, 8);

	assert_int_equal(pmv_modify_srq(srq, &a, PMV_SRQ_MAX_WR), 0);
	assert_int_equal(a.max_wr, limits.max_srq_wr);
	assert_int_equal(a.max_sge, 1);
	assert_int_equal(a.srq_limit, 8); /* kept */
	a.srq_limit = limits.max_srq_wr;
	a.max_wr = 0; /* not looked at */
	assert_int_equal(pmv_modify_srq(srq, &a, PMV_SRQ_LIMIT), 0);
	check_attr(srq, limits.max_srq_wr, limits.max_srq_wr);
	a = (struct pmv_srq_attr){ .max_wr = 20, .srq_limit = 20 };
	assert_int_equal(pmv_modify_srq(srq, &a, PMV_SRQ_LIMIT | PMV_SRQ_MAX_WR), 0);
	assert_int_equal(a.max_wr, 32);
	assert_int_equal(a.srq_limit, 20);
	assert_int_equal(pmv_query_srq(srq, &a, &made), 0);
	assert_int_equal(made.attr.max_wr, 16); /* as it was created */
	assert_int_equal(made.attr.srq_limit, 8);
	assert_int_equal(fake.nb_srq_ends, 3);
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

static void
query_srq__refuses(void **state)
{
	struct pmv_srq *srq = create(4, 0);
	struct pmv_srq_attr a = { .max_wr = 77 };

	assert_refused(pmv_query_srq(NULL, &a, NULL), -EINVAL, "srq");
	assert_refused(pmv_query_srq(srq, NULL, NULL), -EINVAL, "ret_attr");
	lend(n.worker[0]);
	assert_refused(pmv_query_srq(srq, &a, NULL), -EPERM, "owns");
	take_back(n.worker[0]);
	assert_int_equal(a.max_wr, 77);
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

static struct pmv_qp_init_attr
qp_attr(struct pmv_srq *srq)
{
	return (struct pmv_qp_init_attr){
		.send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.srq = srq,
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 4,
			.max_send_sge = 1,
			.max_recv_wr = 128,
			.max_recv_sge = 4 },
	};
}

static void
destroy_srq__refuses(void **state)
{
	struct pmv_srq *srq = create(4, 0);
	struct pmv_qp_init_attr a = qp_attr(srq);
	struct pmv_qp *qp;

	assert_refused(pmv_destroy_srq(NULL), -EINVAL, "srq");
	assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp), 0);
	assert_refused(pmv_destroy_srq(srq), -EBUSY, "queue pairs");
	assert_int_equal(pmv_destroy_qp(qp), 0);
	lend(n.worker[0]);
	assert_refused(pmv_destroy_srq(srq), -EPERM, "owns");
	take_back(n.worker[0]);
	/* the PD and the worker outlive it */
	assert_refused(pmv_dealloc_pd(n.pd), -EBUSY, "pd");
	assert_int_equal(pmv_destroy_srq(srq), 0);
	srq = create(4, 0);
	assert_int_equal(pmv_destroy_cq(n.cq[0]), 0);
	assert_refused(pmv_worker_destroy(n.worker[0]), -EBUSY, "1 SRQs");
	assert_int_equal(pmv_destroy_srq(srq), 0);
	assert_int_equal(pmv_create_cq(n.worker[0], 16, &n, &n.cq[0]), 0);
}

static void
destroy_srq__takes_its_event_along(void **state)
{
	struct pmv_srq *srq = create(4, 0);
	struct pmv_event ev;

	pmv_event_raise(n.worker[0], &srq->event, PMV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(pmv_destroy_srq(srq), 0);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 0);
}

static void
event__names_the_srq(void **state)
{
	struct pmv_srq *srq = create(4, 0);
	struct pmv_event ev;

	pmv_event_raise(n.worker[0], &srq->event, PMV_EVENT_SRQ_LIMIT_REACHED);
	pmv_event_raise(n.worker[0], &srq->event, PMV_EVENT_SRQ_ERR);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_SRQ_ERR);
	assert_ptr_equal(ev.object, srq);
	assert_ptr_equal(ev.context, &n);
	assert_int_equal(ev.qp_num, 0);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(pmv_worker_get_event(n.worker[0], &ev), 0);
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

/* SQ-509: the sizes of a receive queue that it does not have are neither checked nor kept. */
static void
create_qp__takes_an_srq(void **state)
{
	struct pmv_srq *srq = create(4, 0);
	struct pmv_qp_init_attr a = qp_attr(srq), made;
	struct pmv_qp_attr now;
	struct pmv_qp *qp;

	a.cap.max_recv_wr = limits.max_qp_wr + 1;
	a.cap.max_recv_sge = limits.max_sge + 1;
	assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp), 0);
	assert_int_equal(a.cap.max_recv_wr, 0);
	assert_int_equal(a.cap.max_recv_sge, 0);
	assert_int_equal(pmv_query_qp(qp, &now, &made), 0);
	assert_int_equal(now.cap.max_recv_wr, 0);
	assert_int_equal(made.cap.max_recv_sge, 0);
	assert_ptr_equal(made.srq, srq);
	assert_ptr_equal(pmv_qp_get_srq(qp), srq);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	a.srq = NULL;
	a.cap.max_recv_wr = 0;
	assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp), 0);
	assert_null(pmv_qp_get_srq(qp));
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_destroy_srq(srq), 0);
}

static void
create_qp__refuses_a_foreign_srq(void **state)
{
	struct pmv_srq_init_attr other = init_attr(4, 1, 0);
	const struct pmv_driver_ops *ops = n.worker[0]->ops;
	struct pmv_driver_ops without = *ops;
	struct pmv_qp_init_attr a = qp_attr(NULL);
	struct pmv_qp *qp = NULL;
	struct pmv_pd *pd;

	assert_int_equal(pmv_create_srq(n.pd, n.worker[1], &other, &a.srq), 0);
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, &qp), -EINVAL, "another worker");
	assert_int_equal(pmv_destroy_srq(a.srq), 0);
	assert_int_equal(pmv_alloc_pd(n.dev, &pd), 0);
	assert_int_equal(pmv_create_srq(pd, n.worker[0], &other, &a.srq), 0);
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, &qp), -EINVAL, "another pd");
	without.srq_create = NULL;
	n.worker[0]->ops = &without;
	assert_refused(pmv_create_qp(pd, n.worker[0], &a, &qp), -ENOTSUP, "driver fake");
	n.worker[0]->ops = ops;
	assert_null(qp);
	assert_int_equal(pmv_destroy_srq(a.srq), 0);
	assert_int_equal(pmv_dealloc_pd(pd), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(create_srq__refuses),
		T(create_srq__tells_what_holds),
		T(create_srq__reaches_every_limit),
		T(modify_srq__refuses),
		T(modify_srq__writes_back_what_holds),
		T(query_srq__refuses),
		T(destroy_srq__refuses),
		T(destroy_srq__takes_its_event_along),
		T(event__names_the_srq),
		T(create_qp__takes_an_srq),
		T(create_qp__refuses_a_foreign_srq),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
