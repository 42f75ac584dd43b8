// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/srq: sizes and what fits into them, bursts, changes of size with and without memory
 * for it, and the limits that the device tells.
 */
#include "drivers/roce/srq.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "drivers/roce/device.h"
#include "drivers/roce/recv.h"
#include "test/harness/eal.h"
#include "test/harness/node.h"

static struct pmv_roce_worker worker;
static struct pmv_roce_qp qp; /* takes what is posted */
static struct pmv_pd pd;

static struct pmv_srq *
make(uint32_t max_wr, uint32_t max_sge, uint32_t limit)
{
	struct pmv_srq_attr a = { max_wr, max_sge, limit };
	struct pmv_qp_cap one = { .max_recv_wr = 1, .max_recv_sge = max_sge };
	struct pmv_srq *srq = NULL;

	memset(&worker, 0, sizeof(worker));
	memset(&qp, 0, sizeof(qp));
	worker.base.socket_id = SOCKET_ID_ANY;
	TAILQ_INIT(&worker.base.events);
	assert_int_equal(pmv_roce_srq_create(&pd, &worker.base, &a, &srq), 0);
	assert_in_range(a.max_wr, max_wr, 2 * max_wr);
	assert_int_equal(pmv_roce_rq_init(&qp.rq, &one, SOCKET_ID_ANY), 0);
	qp.base.srq = srq;
	return srq;
}

static void
unmake(struct pmv_srq *srq)
{
	pmv_roce_rq_fini(&qp.rq);
	pmv_roce_srq_free(srq);
}

static uint32_t
max_wr_of(const struct pmv_srq *srq)
{
	struct pmv_srq_attr a;

	pmv_roce_srq_query(srq, &a);
	return a.max_wr;
}

/* Receives first .. first + nb - 1, each with nb_sge SGEs that tell its wr_id. */
static int
post(struct pmv_srq *srq, uint64_t first, uint32_t nb, uint32_t nb_sge)
{
	struct pmv_recv_wr wr[64];
	struct pmv_sge sge[64][PMV_SGE_MAX];

	assert_true(nb <= 64);
	for (uint32_t i = 0; i < nb; i++) {
		for (uint32_t k = 0; k < nb_sge; k++)
			sge[i][k] = (struct pmv_sge){ first + i, k + 1, (uint32_t)first + i + k };
		wr[i] = (struct pmv_recv_wr){ first + i, sge[i], nb_sge };
	}
	nb_sge = (uint32_t)pmv_post_srq_recv(srq, wr, nb);
	memset(sge, 0xff, sizeof(sge)); /* copied at post */
	memset(wr, 0xff, sizeof(wr));
	return (int)nb_sge;
}

/* The QP takes the next one and is done with it; it must be this one. */
static void
take(uint64_t wr_id, uint32_t nb_sge)
{
	const struct pmv_roce_rwqe *next = pmv_roce_recv_look(&qp);
	const struct pmv_roce_rwqe *rwqe = pmv_roce_recv_take(&qp);
	uint64_t length = 0;

	assert_non_null(next);
	assert_non_null(rwqe);
	assert_int_equal(next->wr_id, wr_id);
	assert_int_equal(rwqe->wr_id, wr_id);
	assert_int_equal(rwqe->num_sge, nb_sge);
	for (uint32_t k = 0; k < nb_sge; k++) {
		assert_int_equal(rwqe->sge[k].addr, wr_id);
		assert_int_equal(rwqe->sge[k].length, k + 1);
		assert_int_equal(rwqe->sge[k].lkey, (uint32_t)wr_id + k);
		length += k + 1;
	}
	assert_int_equal(rwqe->length, length);
	assert_ptr_equal(pmv_roce_recv_held(&qp), rwqe);
	assert_ptr_equal(pmv_roce_recv_take(&qp), rwqe); /* it stays the one */
	assert_ptr_equal(pmv_roce_recv_look(&qp), rwqe);
	pmv_roce_recv_done(&qp);
}

static int
modify(struct pmv_srq *srq, uint32_t max_wr)
{
	struct pmv_srq_modify m = { .mask = PMV_SRQ_MAX_WR, .attr = { .max_wr = max_wr } };
	int rc = pmv_roce_srq_modify_prepare(srq, &m);

	if (rc == 0) {
		rc = pmv_roce_srq_modify_commit(srq, &m);
		pmv_roce_srq_modify_end(srq, &m);
	}
	assert_null(m.driver_data);
	return rc;
}

/* As many as the queue was told to have can be posted, and not one more. */
static void
check_room(struct pmv_srq *srq, uint32_t max_wr)
{
	uint32_t i;

	assert_int_equal(max_wr_of(srq), max_wr);
	for (i = 0; i < max_wr; i++)
		assert_int_equal(post(srq, i, 1, 1), 1);
	assert_int_equal(post(srq, i, 1, 1), -ENOMEM);
	for (i = 0; i < max_wr; i++)
		take(i, 1);
	assert_null(pmv_roce_recv_take(&qp));
	assert_null(pmv_roce_recv_look(&qp));
	assert_null(pmv_roce_recv_held(&qp));
}

/* SQ-504 */
static void
srq__sizes(void **state)
{
	static const uint32_t sizes[] = { 33, 17, 1000, 1, PMV_ROCE_SRQ_WR_MAX, 16 };
	struct pmv_srq *srq = make(16, 1, 0);

	check_room(srq, 16);
	for (size_t i = 0; i < RTE_DIM(sizes); i++) {
		assert_int_equal(modify(srq, sizes[i]), 0);
		assert_in_range(max_wr_of(srq), sizes[i], 2 * sizes[i] - 1);
		check_room(srq, max_wr_of(srq));
	}
	unmake(srq);
	srq = make(PMV_ROCE_SRQ_WR_MAX, PMV_ROCE_SGE_MAX, 0);
	assert_int_equal(max_wr_of(srq), PMV_ROCE_SRQ_WR_MAX);
	unmake(srq);
}

/* A burst is taken as far as it goes; a short count names the first that was not. */
static void
srq__bursts(void **state)
{
	struct pmv_srq *srq = make(32, 3, 0);
	struct pmv_sge sge[4] = { { 7, 1, 7 } };
	struct pmv_recv_wr wr[3] = { { 7, sge, 1 }, { 8, sge, 4 }, { 9, sge, 1 } };

	assert_int_equal(post(srq, 0, 0, 1), 0);
	assert_int_equal(post(srq, 100, 20, 3), 20);
	assert_int_equal(post(srq, 120, 20, 3), 12);
	assert_int_equal(post(srq, 132, 20, 3), -ENOMEM);
	for (uint64_t i = 100; i < 132; i++)
		take(i, 3);
	assert_int_equal(pmv_post_srq_recv(srq, wr, 3), 1); /* the second has too many SGEs */
	assert_int_equal(pmv_post_srq_recv(srq, wr + 1, 2), -EINVAL);
	take(7, 1);
	assert_int_equal(post(srq, 1, 1, 0), 1);
	take(1, 0);
	unmake(srq);
}

/* Order holds whatever is posted, taken and changed in between, wherever the ring has its end. */
static void
srq__order_through_every_size(void **state)
{
	struct pmv_srq *srq = make(4, 2, 0);
	uint64_t in = 0, out = 0;
	uint32_t seed = 1;

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t nb = (uint32_t)(in - out);

		seed = seed * 1664525u + 1013904223u;
		switch (seed >> 30) {
		case 0:
			if (nb > 0)
				take(out++, 2);
			break;
		case 1: {
			uint32_t want = 1 + (seed >> 8) % 100;

			assert_int_equal(modify(srq, want), want < nb ? -EINVAL : 0);
			break;
		}
		default:
			nb = max_wr_of(srq) - nb;
			assert_int_equal(post(srq, in, 1, 2), nb > 0 ? 1 : -ENOMEM);
			in += nb > 0;
		}
	}
	assert_true(in > 1000);
	unmake(srq);
}

/* What is left of EAL's heap is taken: blocks of 64 bytes are the last. */
static void *
eat_heap(void)
{
	void **list = NULL;

	for (size_t size = 64 << 20; size >= 64; size /= 2) {
		void **p;

		while ((p = rte_malloc(NULL, size, 0)) != NULL) {
			*p = list;
			list = p;
		}
	}
	return list;
}

static void
give_back(void *list)
{
	while (list != NULL) {
		void *next = *(void **)list;

		rte_free(list);
		list = next;
	}
}

/* SQ-505: no memory for another size: twice -ENOMEM, and all is as it was. */
static void
srq__no_memory(void **state)
{
	struct pmv_srq_attr a = { 4, 1, 0 };
	struct pmv_srq *srq = make(16, 2, 3), *none = NULL;
	struct pmv_srq_attr now;
	void *list;

	assert_int_equal(post(srq, 50, 10, 2), 10);
	assert_int_equal(modify(srq, 4), -EINVAL);
	assert_int_equal(modify(srq, 4), -EINVAL);
	list = eat_heap();
	assert_int_equal(modify(srq, 64), -ENOMEM);
	assert_int_equal(modify(srq, 64), -ENOMEM);
	assert_int_equal(pmv_roce_srq_create(&pd, &worker.base, &a, &none), -ENOMEM);
	give_back(list);
	assert_null(none);
	pmv_roce_srq_query(srq, &now);
	assert_int_equal(now.max_wr, 16);
	assert_int_equal(now.max_sge, 2);
	assert_int_equal(now.srq_limit, 3);
	assert_int_equal(post(srq, 60, 7, 2), 6);
	for (uint64_t i = 50; i < 66; i++)
		take(i, 2);
	assert_int_equal(modify(srq, 64), 0);
	check_room(srq, 64);
	unmake(srq);
}

/* The device's numbers are those that hold, through the public calls. */
static void
srq__device_limits(void **state)
{
	const struct pmv_test_pair_param pp = { 0 };
	struct pmv_test_pair pair;
	struct pmv_device_attr limits;
	struct pmv_srq_init_attr a, big;
	struct pmv_srq **srq, *more = NULL;
	struct pmv_test_node *n = &pair.node[0];

	pmv_test_pair_open(&pair, &pp);
	assert_int_equal(pmv_query_device(n->dev, &limits), 0);
	assert_in_range(limits.max_srq, 1, 65536);
	a = (struct pmv_srq_init_attr){ .attr = { 1, 1, 1 } };
	srq = test_calloc(limits.max_srq, sizeof(*srq));
	for (uint32_t i = 0; i < limits.max_srq; i++)
		assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &a, &srq[i]), 0);
	assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &a, &more), -ENOSPC);
	for (uint32_t i = 0; i < limits.max_srq; i++)
		assert_int_equal(pmv_destroy_srq(srq[i]), 0);
	test_free(srq);
	a.attr = (struct pmv_srq_attr){ limits.max_srq_wr, limits.max_srq_sge, limits.max_srq_wr };
	big = a;
	big.attr.max_wr++;
	big.attr.srq_limit = 0;
	assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &big, &more), -EINVAL);
	big = a;
	big.attr.max_sge++;
	assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &big, &more), -EINVAL);
	big = a;
	big.attr.srq_limit++;
	assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &big, &more), -EINVAL);
	assert_null(more);
	assert_int_equal(pmv_create_srq(n->pd, n->worker[0], &a, &more), 0);
	assert_int_equal(a.attr.max_wr, limits.max_srq_wr);
	assert_int_equal(post(more, 1, 1, limits.max_srq_sge), 1);
	assert_int_equal(post(more, 1, 1, limits.max_srq_sge + 1), -EINVAL);
	assert_int_equal(pmv_destroy_srq(more), 0);
	pmv_test_pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srq__sizes),
		cmocka_unit_test(srq__bursts),
		cmocka_unit_test(srq__order_through_every_size),
		cmocka_unit_test(srq__no_memory),
		cmocka_unit_test(srq__device_limits),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
