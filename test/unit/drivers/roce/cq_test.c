// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/cq: order, wrap, bursts of every size, overrun.
 */
#include "drivers/roce/cq.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/device.h"
#include "test/harness/eal.h"

static struct pmv_roce_worker worker;

static struct pmv_cq *
make(uint32_t cqe)
{
	struct pmv_cq *cq = NULL;

	memset(&worker, 0, sizeof(worker));
	worker.base.socket_id = SOCKET_ID_ANY;
	TAILQ_INIT(&worker.base.events);
	assert_int_equal(pmv_roce_cq_create(&worker.base, cqe, &cq), 0);
	return cq;
}

static void
push(struct pmv_cq *cq, uint64_t n)
{
	struct pmv_wc *wc = pmv_roce_cq_push(cq);

	assert_non_null(wc);
	*wc = (struct pmv_wc){ .wr_id = n, .qp_num = (uint32_t)n, .qp_context = cq };
}

static void
cq__sizes(void **state)
{
	static const uint32_t sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 4 }, { 5, 8 }, { 64, 64 },
		{ 65, 128 }, { PMV_ROCE_CQE_MAX, PMV_ROCE_CQE_MAX } };
	struct pmv_cq *cq = NULL;
	struct pmv_cq_attr attr;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cq = make(sizes[i][0]);
		pmv_roce_cq_query(cq, &attr);
		assert_int_equal(attr.cqe, sizes[i][1]);
		assert_int_equal(cq->cqe, sizes[i][1]);
		assert_int_equal(attr.nb_ready, 0);
		assert_false(attr.overrun);
		pmv_roce_cq_free(cq);
	}
	cq = NULL;
	assert_int_equal(pmv_roce_cq_create(&worker.base, 0, &cq), -EINVAL);
	assert_int_equal(pmv_roce_cq_create(&worker.base, PMV_ROCE_CQE_MAX + 1, &cq), -EINVAL);
	assert_null(cq);
}

/* In and out by different steps, around the ring many times and over the wrap of the indices. */
static void
cq__order(void **state)
{
	struct pmv_cq *cq = make(8);
	struct pmv_roce_cq *roce = (struct pmv_roce_cq *)cq;
	uint64_t in = 0, out = 0;
	struct pmv_wc wc[16];

	roce->head = roce->tail = UINT32_MAX - 20;
	for (uint32_t turn = 0; turn < 500; turn++) {
		uint32_t nb;

		for (uint32_t k = 0; k < turn % 9 && in - out < 8; k++)
			push(cq, in++);
		memset(wc, 0xee, sizeof(wc));
		nb = pmv_poll_cq(cq, wc, turn * 7 % 11);
		assert_in_range(nb, 0, turn * 7 % 11);
		for (uint32_t k = 0; k < nb; k++) {
			assert_int_equal(wc[k].wr_id, out++);
			assert_ptr_equal(wc[k].qp_context, cq);
		}
		assert_int_equal(wc[nb].wr_id, 0xeeeeeeeeeeeeeeee);
		if (nb < turn * 7 % 11)
			assert_int_equal(in, out);
	}
	assert_true(out > 100);
	assert_false(cq->overrun);
	pmv_roce_cq_free(cq);
}

/* Full: told once, and what is in it stays. */
static void
cq__overrun(void **state)
{
	struct pmv_cq *cq = make(4);
	struct pmv_cq_attr attr;
	struct pmv_wc wc[8];

	for (uint64_t i = 0; i < 4; i++)
		push(cq, i);
	assert_true(TAILQ_EMPTY(&worker.base.events));
	for (int again = 0; again < 3; again++)
		assert_null(pmv_roce_cq_push(cq));
	assert_ptr_equal(TAILQ_FIRST(&worker.base.events), &cq->event);
	assert_null(TAILQ_NEXT(&cq->event, link));
	assert_int_equal(cq->event.pending, 1u << PMV_EVENT_CQ_ERR);
	pmv_roce_cq_query(cq, &attr);
	assert_true(attr.overrun);
	assert_int_equal(attr.nb_ready, 4);
	assert_int_equal(pmv_poll_cq(cq, wc, 8), 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, i);
	assert_int_equal(pmv_poll_cq(cq, wc, 8), 0);
	push(cq, 9);
	assert_int_equal(pmv_poll_cq(cq, wc, 8), 1);
	assert_int_equal(wc[0].wr_id, 9);
	pmv_roce_cq_free(cq);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq__sizes),
		cmocka_unit_test(cq__order),
		cmocka_unit_test(cq__overrun),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
