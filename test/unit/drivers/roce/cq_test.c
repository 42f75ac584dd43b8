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
	worker.ticks_per_us = 1;
	TAILQ_INIT(&worker.base.events);
	TAILQ_INIT(&worker.noticed);
	pmv_roce_stamp_init(&worker.stamp);
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

/* Resized at every fill and place in the ring, up and down: what waits stays, in its order; below
 * that it is refused and nothing changes. */
static void
cq__resize(void **state)
{
	struct pmv_wc wc[64];

	for (uint32_t start = 0; start < 16; start++)
		for (uint32_t fill = 0; fill <= 16; fill++)
			for (uint32_t to = 1; to <= 40; to++) {
				struct pmv_cq *cq = make(16);
				struct pmv_roce_cq *roce = (struct pmv_roce_cq *)cq;
				struct pmv_cq_attr attr;

				roce->head = roce->tail = UINT32_MAX - 7 + start;
				for (uint64_t i = 0; i < fill; i++)
					push(cq, i);
				assert_int_equal(
					pmv_roce_cq_resize(cq, to), to < fill ? -EINVAL : 0);
				pmv_roce_cq_query(cq, &attr);
				assert_int_equal(attr.cqe, to < fill ? 16u : rte_align32pow2(to));
				assert_int_equal(attr.nb_ready, fill);
				for (uint64_t i = fill; i < attr.cqe; i++)
					push(cq, i);
				assert_null(pmv_roce_cq_push(cq)); /* CQ-602: exactly so many */
				assert_true(cq->overrun);
				assert_int_equal(pmv_poll_cq(cq, wc, 64), attr.cqe);
				for (uint32_t i = 0; i < attr.cqe; i++)
					assert_int_equal(wc[i].wr_id, i);
				pmv_roce_cq_free(cq);
			}
}

static uint32_t nb_told;

static void
told(struct pmv_cq *cq, void *arg)
{
	assert_ptr_equal(arg, &nb_told);
	assert_false(((struct pmv_roce_cq *)cq)->arm.kind != PMV_ROCE_CQ_UNARMED);
	nb_told++;
}

static struct pmv_cq *
make_told(uint32_t cqe)
{
	struct pmv_cq *cq = make(cqe);

	cq->notify = told;
	cq->notify_arg = &nb_told;
	nb_told = 0;
	return cq;
}

/* One push of a kind and the end of the turn; how often the hook was called. */
static uint32_t
turn(struct pmv_cq *cq, enum pmv_wc_status status, uint32_t flags)
{
	uint32_t before = nb_told;
	struct pmv_wc *wc = pmv_roce_cq_push(cq);

	if (wc != NULL)
		*wc = (struct pmv_wc){ .status = status, .wc_flags = flags };
	if (!TAILQ_EMPTY(&worker.noticed))
		pmv_roce_cq_notify(&worker);
	return nb_told - before;
}

static void
cq__notifies_once(void **state)
{
	struct pmv_cq *cq = make_told(8);
	struct pmv_wc wc[8];

	assert_int_equal(turn(cq, 0, 0), 0);             /* not armed */
	assert_int_equal(pmv_roce_cq_arm(cq, false), 1); /* one waits: poll first */
	assert_int_equal(pmv_poll_cq(cq, wc, 8), 1);
	assert_int_equal(pmv_roce_cq_arm(cq, false), 0);
	assert_int_equal(turn(cq, 0, 0), 1);
	assert_int_equal(turn(cq, 0, 0), 0); /* once for each arming */
	assert_int_equal(pmv_poll_cq(cq, wc, 8), 2);

	assert_int_equal(pmv_roce_cq_arm(cq, true), 0);
	assert_int_equal(turn(cq, 0, PMV_WC_WITH_IMM), 0);
	assert_int_equal(turn(cq, 0, PMV_WC_SOLICITED), 1);
	pmv_roce_cq_arm(cq, true);
	assert_int_equal(turn(cq, PMV_WC_WR_FLUSH_ERR, 0), 1); /* IBTA vol. 1, 11.4.2.2 */
	pmv_roce_cq_arm(cq, false);
	pmv_roce_cq_arm(cq, true); /* takes nothing back */
	assert_int_equal(turn(cq, 0, 0), 1);
	pmv_roce_cq_arm(cq, true);
	pmv_roce_cq_arm(cq, false);
	assert_int_equal(turn(cq, 0, 0), 1);
	pmv_roce_cq_arm(cq, true);
	assert_non_null(pmv_roce_cq_push(cq));
	assert_false(TAILQ_EMPTY(&worker.noticed));
	pmv_roce_cq_disarm(cq);
	assert_true(TAILQ_EMPTY(&worker.noticed));
	pmv_roce_cq_free(cq);
}

/* Armed, polled and overwritten within a turn; resized while armed; full while armed. */
static void
cq__notifies_whatever_happens(void **state)
{
	struct pmv_cq *cq = make_told(2);
	struct pmv_wc wc[8];

	pmv_roce_cq_arm(cq, false);
	for (uint32_t i = 0; i < 7; i++) {
		push(cq, i);
		assert_int_equal(pmv_poll_cq(cq, wc, 8), 1);
	}
	pmv_roce_cq_notify(&worker);
	assert_int_equal(nb_told, 1);

	pmv_roce_cq_arm(cq, false);
	push(cq, 1);
	assert_int_equal(pmv_roce_cq_resize(cq, 1), 0);
	assert_int_equal(turn(cq, 0, 0), 1); /* full: an overrun is an error too */
	assert_true(cq->overrun);
	assert_int_equal(pmv_roce_cq_arm(cq, true), 1);
	assert_int_equal(turn(cq, 0, 0), 1);
	pmv_roce_cq_free(cq);
}

static void
cq__moderates(void **state)
{
	struct pmv_cq *cq = make_told(64);

	cq->notify_count = 3;
	pmv_roce_cq_arm(cq, true);
	assert_int_equal(turn(cq, 0, PMV_WC_SOLICITED), 0);
	assert_int_equal(turn(cq, 0, 0), 0);
	assert_int_equal(turn(cq, 0, PMV_WC_SOLICITED), 0);
	assert_int_equal(turn(cq, 0, PMV_WC_SOLICITED), 1);
	pmv_roce_cq_arm(cq, false);
	assert_int_equal(turn(cq, PMV_WC_RETRY_EXC_ERR, 0), 1); /* an error does not wait */

	cq->notify_period_us = 10;
	pmv_roce_cq_arm(cq, false);
	worker.base.now = 100;
	pmv_roce_cq_notify(&worker);
	worker.base.now = 1000; /* it counts from the first completion, not from the arming */
	assert_int_equal(turn(cq, 0, 0), 0);
	worker.base.now = 1009;
	pmv_roce_cq_notify(&worker);
	assert_int_equal(nb_told, 2);
	worker.base.now = 1010;
	pmv_roce_cq_notify(&worker);
	assert_int_equal(nb_told, 3);
	assert_true(TAILQ_EMPTY(&worker.noticed));
	pmv_roce_cq_free(cq);
}

/* Stamps follow their completions around the ring and through a resize; without them: zeros. */
static void
cq__stamps(void **state)
{
	struct pmv_cq *cq = make(4);
	struct pmv_cq_stamp st[8];
	struct pmv_wc wc[8];
	uint64_t in = 0, out = 0;

	push(cq, 1);
	memset(st, 0xee, sizeof(st));
	assert_int_equal(pmv_poll_cq_stamps(cq, wc, st, 8), 1);
	assert_int_equal(st[0].taken, 0);
	assert_int_equal(st[0].port, 0);
	assert_int_equal(st[1].taken, 0xeeeeeeeeeeeeeeee);
	pmv_roce_cq_free(cq);

	cq = make(4);
	assert_int_equal(pmv_roce_cq_timestamps(cq), 0);
	for (uint32_t k = 0; k < 100; k++) {
		uint32_t nb;

		for (uint32_t i = 0; i < k % 5 && in - out < 4; i++, in++) {
			worker.base.now = 1000 + in;
			push(cq, in);
		}
		if (k % 7 == 0)
			assert_int_equal(pmv_roce_cq_resize(cq, 4 + k % 9), 0);
		nb = pmv_poll_cq_stamps(cq, wc, st, k % 3);
		for (uint32_t i = 0; i < nb; i++, out++) {
			assert_int_equal(wc[i].wr_id, out);
			assert_int_equal(st[i].taken, 1000 + out);
			assert_int_equal(st[i].port, 0);
		}
	}
	assert_true(out > 50);
	for (; in - out < cq->cqe; in++)
		push(cq, in);
	assert_null(pmv_roce_cq_push(cq));
	pmv_roce_cq_free(cq);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq__sizes),
		cmocka_unit_test(cq__order),
		cmocka_unit_test(cq__overrun),
		cmocka_unit_test(cq__resize),
		cmocka_unit_test(cq__notifies_once),
		cmocka_unit_test(cq__notifies_whatever_happens),
		cmocka_unit_test(cq__moderates),
		cmocka_unit_test(cq__stamps),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
