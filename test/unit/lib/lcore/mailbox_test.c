// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/mailbox.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "lib/lcore/owner.h"
#include "test/harness/eal.h"

#define RESERVED 8u

static struct pmv_worker w;
static uint64_t committed[4096]; /* arg[0] of each, in order */
static uint32_t nb_committed;
static uint32_t nb_finished;

static void
commit(struct pmv_op *op)
{
	committed[nb_committed++] = op->arg[0];
	op->result = (int)op->arg[1];
}

static void
finish(struct pmv_op *op)
{
	nb_finished++;
}

static struct pmv_op
make_op(uint64_t tag)
{
	return (struct pmv_op){ .commit = commit, .finish = finish, .arg = { tag } };
}

static int
setup(void **state)
{
	memset(&w, 0, sizeof(w));
	w.socket_id = SOCKET_ID_ANY;
	nb_committed = 0;
	nb_finished = 0;
	return pmv_lcore_mailbox_create(&w, RESERVED);
}

static int
teardown(void **state)
{
	w.owner = PMV_LCORE_OWNER_NONE;
	pmv_lcore_mailbox_destroy(&w);
	return 0;
}

/* Another thread attaches and does nothing. */
static void
own_elsewhere(void)
{
	w.owner = pmv_lcore_owner_self() + 1;
}

static void
own_here(void)
{
	w.owner = pmv_lcore_owner_self();
}

static void
submit__by_the_owner_commits_at_once(void **state)
{
	struct pmv_op op = make_op(1);

	own_here();
	op.arg[1] = 77;
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op), 0);
	assert_int_equal(nb_committed, 1);
	assert_int_equal(op.state, PMV_LCORE_OP_DONE);
	assert_int_equal(nb_finished, 0);
	assert_int_equal(pmv_op_poll(&op), 77);
	assert_int_equal(nb_finished, 1);
	/* Exactly once; the result stays. */
	assert_int_equal(pmv_op_poll(&op), 77);
	assert_int_equal(nb_finished, 1);
	assert_true(pmv_lcore_owner_is_attached_here(&w));
}

static void
submit__while_detached_commits_at_once_and_lets_go(void **state)
{
	struct pmv_op op = make_op(1);

	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op), 0);
	assert_int_equal(nb_committed, 1);
	assert_int_equal(w.owner, PMV_LCORE_OWNER_NONE);
	assert_int_equal(pmv_op_poll(&op), 0);
}

static void
submit__to_another_owner_waits_for_its_turn(void **state)
{
	struct pmv_op op[3] = { make_op(1), make_op(2), make_op(3) };
	uint32_t i;

	own_elsewhere();
	for (i = 0; i < 3; i++)
		assert_int_equal(pmv_lcore_mailbox_submit(&w, &op[i]), 0);
	assert_int_equal(nb_committed, 0);
	assert_int_equal(pmv_op_poll(&op[0]), -EINPROGRESS);
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op[0]), -EBUSY);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_drain(&w, 2), 2);
	assert_int_equal(op[1].state, PMV_LCORE_OP_DONE);
	assert_int_equal(op[2].state, PMV_LCORE_OP_SUBMITTED);
	assert_int_equal(pmv_lcore_mailbox_drain(&w, 32), 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(committed[i], i + 1);
		assert_int_equal(pmv_op_poll(&op[i]), 0);
	}
	assert_int_equal(nb_finished, 3);
	assert_int_equal(pmv_lcore_mailbox_counters(&w)->commands, 3);
}

static void
submit__directly_comes_after_what_waits(void **state)
{
	struct pmv_op first = make_op(1), second = make_op(2), third = make_op(3);

	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &first), 0);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &second), 0);
	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &third), 0);
	w.owner = PMV_LCORE_OWNER_NONE;
	/* Nobody polls the worker: the submitter finds its op by itself. */
	assert_int_equal(pmv_op_poll(&third), 0);
	assert_int_equal(nb_committed, 3);
	assert_int_equal(committed[0], 1);
	assert_int_equal(committed[1], 2);
	assert_int_equal(committed[2], 3);
	assert_int_equal(w.owner, PMV_LCORE_OWNER_NONE);
}

static void
op_poll__by_the_submitter_that_has_become_the_owner(void **state)
{
	struct pmv_op op = make_op(1);

	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op), 0);
	own_here();
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(nb_finished, 1);
}

static void
submit__full_is_eagain_and_leaves_the_op_alone(void **state)
{
	static struct pmv_op op[PMV_LCORE_MAILBOX_OPS_MAX];
	struct pmv_op late = make_op(9999);
	uint32_t i;

	own_elsewhere();
	for (i = 0; i < PMV_LCORE_MAILBOX_OPS_MAX; i++) {
		op[i] = make_op(i);
		assert_int_equal(pmv_lcore_mailbox_submit(&w, &op[i]), 0);
	}
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &late), -EAGAIN);
	assert_int_equal(late.state, PMV_LCORE_OP_IDLE);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_drain(&w, 1), 1);
	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &late), 0);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_drain(&w, UINT32_MAX), PMV_LCORE_MAILBOX_OPS_MAX);
	for (i = 0; i < PMV_LCORE_MAILBOX_OPS_MAX; i++)
		assert_int_equal(committed[i], i);
	assert_int_equal(committed[i], 9999);
	assert_int_equal(pmv_op_poll(&late), 0);
}

static void
post__has_room_of_its_own(void **state)
{
	static struct pmv_op op[PMV_LCORE_MAILBOX_OPS_MAX];
	const uint64_t arg[2] = { 5000, 0 };
	uint32_t i, room;

	own_elsewhere();
	for (i = 0; i < PMV_LCORE_MAILBOX_OPS_MAX; i++) {
		op[i] = make_op(i);
		assert_int_equal(pmv_lcore_mailbox_submit(&w, &op[i]), 0);
	}
	room = pmv_lcore_mailbox_room(&w);
	assert_true(room >= RESERVED);
	for (i = 0; i < room; i++)
		assert_int_equal(pmv_lcore_mailbox_post(&w, commit, NULL, arg, 2), 0);
	assert_int_equal(pmv_lcore_mailbox_room(&w), 0);
	assert_int_equal(pmv_lcore_mailbox_post(&w, commit, NULL, arg, 2), -EAGAIN);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_drain(&w, UINT32_MAX), PMV_LCORE_MAILBOX_OPS_MAX + room);
	assert_int_equal(committed[nb_committed - 1], 5000);
	/* Done posts are freed by later ones; the leak checker tells. */
	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_post(&w, commit, NULL, arg, 2), 0);
}

static void
post__by_the_owner_commits_at_once(void **state)
{
	const uint64_t arg[1] = { 4 };

	own_here();
	assert_int_equal(pmv_lcore_mailbox_post(&w, commit, NULL, arg, 1), 0);
	assert_int_equal(nb_committed, 1);
	assert_int_equal(committed[0], 4);
}

static void
enter__is_eperm_when_another_thread_polls(void **state)
{
	struct pmv_op op = make_op(1);

	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op), 0);
	assert_int_equal(pmv_lcore_mailbox_enter(&w), -EPERM);
	assert_int_equal(nb_committed, 0);
	w.owner = PMV_LCORE_OWNER_NONE;
	assert_int_equal(pmv_lcore_mailbox_enter(&w), 0);
	assert_int_equal(nb_committed, 1);
	assert_true(pmv_lcore_owner_is_self(&w));
	pmv_lcore_mailbox_leave(&w);
	assert_int_equal(w.owner, PMV_LCORE_OWNER_NONE);
	own_here();
	assert_int_equal(pmv_lcore_mailbox_enter(&w), 0);
	pmv_lcore_mailbox_leave(&w);
	assert_true(pmv_lcore_owner_is_attached_here(&w));
	assert_int_equal(pmv_op_poll(&op), 0);
}

static void
destroy__commits_what_waits(void **state)
{
	const uint64_t arg[1] = { 4 };
	struct pmv_op op = make_op(1);

	own_elsewhere();
	assert_int_equal(pmv_lcore_mailbox_submit(&w, &op), 0);
	assert_int_equal(pmv_lcore_mailbox_post(&w, commit, NULL, arg, 1), 0);
	pmv_lcore_mailbox_destroy(&w);
	assert_int_equal(nb_committed, 2);
	assert_int_equal(pmv_op_poll(&op), 0);
}

static void
op_poll__of_a_zeroed_record_and_of_null(void **state)
{
	struct pmv_op op = { 0 };

	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(pmv_op_poll(NULL), -EINVAL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(submit__by_the_owner_commits_at_once),
		T(submit__while_detached_commits_at_once_and_lets_go),
		T(submit__to_another_owner_waits_for_its_turn),
		T(submit__directly_comes_after_what_waits),
		T(op_poll__by_the_submitter_that_has_become_the_owner),
		T(submit__full_is_eagain_and_leaves_the_op_alone),
		T(post__has_room_of_its_own),
		T(post__by_the_owner_commits_at_once),
		T(enter__is_eperm_when_another_thread_polls),
		T(destroy__commits_what_waits),
		T(op_poll__of_a_zeroed_record_and_of_null),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
