// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/mem.h"

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

#include "lib/lcore/owner.h"

static uint8_t memory[4096];
static struct pmv_event ev;

static struct pmv_mr *
reg(void)
{
	struct pmv_mr *mr;

	assert_int_equal(pmv_reg_mr(n.pd, memory, sizeof(memory), PMV_ACCESS_LOCAL_WRITE, &mr), 0);
	return mr;
}

/* The worker belongs to a thread that is not this one. `poll` does a turn of that thread. */
static void
attach_elsewhere(void)
{
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
}

static void
poll_elsewhere(void)
{
	n.worker[0]->owner--;
	pmv_worker_poll_at(n.worker[0], 1);
	n.worker[0]->owner++;
}

static void
detach_elsewhere(void)
{
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
reg_mr__query_tells_what_was_given(void **state)
{
	struct pmv_mr_attr a;
	struct pmv_mr *mr;

	assert_int_equal(
		pmv_reg_mr_iova(n.pd, memory + 1, 77, 0x1000, PMV_ACCESS_REMOTE_READ, &mr), 0);
	assert_int_equal(pmv_query_mr(mr, &a), 0);
	assert_ptr_equal(a.addr, memory + 1);
	assert_int_equal(a.length, 77);
	assert_int_equal(a.iova, 0x1000);
	assert_int_equal(a.access, PMV_ACCESS_REMOTE_READ);
	assert_int_equal(a.lkey, pmv_mr_lkey(mr));
	assert_int_equal(a.rkey, pmv_mr_rkey(mr));
	assert_int_equal(pmv_dereg_mr(mr), 0);
	mr = reg();
	assert_int_equal(pmv_query_mr(mr, &a), 0);
	assert_int_equal(a.iova, (uintptr_t)memory);
	assert_int_equal(pmv_dereg_mr(mr), 0);
}

static void
reg_mr__refuses(void **state)
{
	void *last = (void *)UINTPTR_MAX;
	struct pmv_mr *mr = NULL;

	assert_refused(pmv_reg_mr(NULL, memory, 1, 0, &mr), -EINVAL, "pd");
	assert_refused(pmv_reg_mr(n.pd, memory, 1, 0, NULL), -EINVAL, "ret_mr");
	assert_refused(pmv_reg_mr(n.pd, memory, 0, 0, &mr), -EINVAL, "length");
	assert_refused(pmv_reg_mr(n.pd, memory, (1ull << 48) + 1, 0, &mr), -EINVAL, "length");
	assert_refused(pmv_reg_mr(n.pd, last, 2, 0, &mr), -EINVAL, "addr");
	assert_refused(pmv_reg_mr_iova(n.pd, memory, 2, UINT64_MAX, 0, &mr), -EINVAL, "iova");
	assert_refused(pmv_reg_mr(n.pd, memory, 1, 1 << 5, &mr), -EINVAL, "access");
	assert_refused(pmv_reg_mr(n.pd, memory, 1, 1u << 30, &mr), -EINVAL, "access");
	assert_refused(
		pmv_reg_mr(n.pd, memory, 1, PMV_ACCESS_REMOTE_WRITE, &mr), -EINVAL, "LOCAL_WRITE");
	assert_refused(
		pmv_reg_mr(n.pd, memory, 1, PMV_ACCESS_REMOTE_ATOMIC, &mr), -EINVAL, "LOCAL_WRITE");
	assert_refused(pmv_reg_mr(n.pd, memory, 1, PMV_ACCESS_FLUSH_PERSISTENT, &mr), -EINVAL,
		"persistent");
	fake.mr_reg = -ENOSPC;
	assert_refused(pmv_reg_mr(n.pd, memory, 1, 0, &mr), -ENOSPC, "mr_max");
	fake.mr_reg = -ENOMEM;
	assert_refused(pmv_reg_mr(n.pd, memory, 1, 0, &mr), -ENOMEM, "memory");
	fake.mr_reg = 0;
	assert_null(mr);
	/* The very last byte is legal, and so are hints. */
	assert_int_equal(pmv_reg_mr(n.pd, last, 1, PMV_ACCESS_RELAXED_ORDERING, &mr), 0);
	assert_int_equal(pmv_dereg_mr(mr), 0);
	assert_int_equal(pmv_dereg_mr(NULL), -EINVAL);
}

static void
dereg_mr__at_once_while_detached_or_from_the_owner(void **state)
{
	assert_int_equal(pmv_dereg_mr(reg()), 0);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	assert_int_equal(pmv_dereg_mr(reg()), 0);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
dealloc_mw__waits_like_dereg_mr(void **state)
{
	struct pmv_mw *mw;

	assert_int_equal(pmv_alloc_mw(n.pd, PMV_MW_TYPE_1, &mw), 0);
	pmv_mw_set_context(mw, memory);
	attach_elsewhere();
	poll_elsewhere();
	assert_int_equal(pmv_dealloc_mw(mw), -EINPROGRESS);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	assert_int_equal(fake.nb_mws, 1);
	poll_elsewhere();
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_MW_RELEASED);
	assert_ptr_equal(ev.context, memory);
	assert_null(ev.object);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	assert_int_equal(fake.nb_mws, 0);
	detach_elsewhere();
}

static void
dereg_mr__waits_for_a_new_turn_of_an_attached_worker(void **state)
{
	struct pmv_mr *mr = reg();

	pmv_mr_set_context(mr, memory);
	attach_elsewhere();
	poll_elsewhere();
	assert_int_equal(pmv_dereg_mr(mr), -EINPROGRESS);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	assert_int_equal(fake.nb_mrs, 1);
	assert_refused(pmv_dealloc_pd(n.pd), -EBUSY, "regions");
	poll_elsewhere();
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_MR_RELEASED);
	assert_ptr_equal(ev.context, memory);
	assert_null(ev.object);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	detach_elsewhere();
}

static void
dereg_mr__detach_is_quiescence(void **state)
{
	attach_elsewhere();
	assert_int_equal(pmv_dereg_mr(reg()), -EINPROGRESS);
	detach_elsewhere();
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
}

static void
dereg_mr__waits_for_frames(void **state)
{
	struct pmv_mr *mr = reg();

	__atomic_store_n(&((struct fake_mr *)mr)->frames_out, 1, __ATOMIC_RELEASE);
	assert_int_equal(pmv_dereg_mr(mr), -EINPROGRESS);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	__atomic_store_n(&((struct fake_mr *)mr)->frames_out, 0, __ATOMIC_RELEASE);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
}

static void
dereg_mr__each_has_its_own_epoch(void **state)
{
	struct pmv_mr *first = reg(), *second = reg();

	pmv_mr_set_context(first, &first);
	pmv_mr_set_context(second, &second);
	attach_elsewhere();
	assert_int_equal(pmv_dereg_mr(first), -EINPROGRESS);
	poll_elsewhere();
	assert_int_equal(pmv_dereg_mr(second), -EINPROGRESS);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
	assert_ptr_equal(ev.context, &first);
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 0);
	poll_elsewhere();
	assert_int_equal(pmv_poll_async_event(n.dev, &ev), 1);
	assert_ptr_equal(ev.context, &second);
	detach_elsewhere();
}

static void
dereg_mr__an_event_nobody_takes_keeps_nothing_but_itself(void **state)
{
	attach_elsewhere();
	assert_int_equal(pmv_dereg_mr(reg()), -EINPROGRESS);
	poll_elsewhere();
	detach_elsewhere();
	/* fake_node_close frees PD and device; its checks find what would be left. */
}

static void
dealloc_pd__refuses(void **state)
{
	struct pmv_mr *mr = reg();
	struct pmv_pd *pd;

	assert_refused(pmv_dealloc_pd(n.pd), -EBUSY, "regions");
	assert_int_equal(pmv_dereg_mr(mr), 0);
	assert_int_equal(pmv_dealloc_pd(NULL), -EINVAL);
	assert_refused(pmv_alloc_pd(NULL, &pd), -EINVAL, "device");
	assert_refused(pmv_alloc_pd(n.dev, NULL), -EINVAL, "ret_pd");
}

static void
buf_alloc__zeroed_and_page_aligned(void **state)
{
	uint8_t *p = pmv_buf_alloc(10000, -1), *q = pmv_buf_alloc(1, 0);
	uint32_t i;

	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 4096, 0);
	for (i = 0; i < 10000; i++)
		assert_int_equal(p[i], 0);
	memset(p, 1, 10000);
	pmv_buf_free(p, 10000);
	assert_non_null(q);
	pmv_buf_free(q, 1);
	pmv_buf_free(NULL, 1);
	assert_null(pmv_buf_alloc(0, -1));
	assert_null(pmv_buf_alloc(UINT64_MAX, -1));
	fake_log_begin();
	assert_null(pmv_buf_alloc(1, 1000));
	fake_log_end("socket_id");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(reg_mr__query_tells_what_was_given),
		T(reg_mr__refuses),
		T(dereg_mr__at_once_while_detached_or_from_the_owner),
		T(dereg_mr__waits_for_a_new_turn_of_an_attached_worker),
		T(dealloc_mw__waits_like_dereg_mr),
		T(dereg_mr__detach_is_quiescence),
		T(dereg_mr__waits_for_frames),
		T(dereg_mr__each_has_its_own_epoch),
		T(dereg_mr__an_event_nobody_takes_keeps_nothing_but_itself),
		T(dealloc_pd__refuses),
		T(buf_alloc__zeroed_and_page_aligned),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
