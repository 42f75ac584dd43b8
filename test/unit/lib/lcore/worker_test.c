// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/worker.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/lcore/mailbox.h"
#include "lib/lcore/owner.h"
#include "lib/verbs/ctl_channel.h"
#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;
static struct fake_worker *w0;

static int
setup(void **state)
{
	fake_node_open(&n, 2);
	w0 = fake_worker(n.worker[0]);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static void
note_commit(struct pmv_op *op)
{
	struct fake_worker *w = fake_worker(op->worker);

	w->calls[w->nb_calls++] = 'm';
}

static void
poll__goes_mailbox_frames_control_rx_run(void **state)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(n.link->pool);
	struct pmv_op op = { .commit = note_commit };
	struct pmv_ctl_channel *ch;
	struct rte_mbuf *c;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	c = pmv_verbs_ctl_alloc(ch);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	assert_int_equal(pmv_verbs_ctl_send(ch, 0, c), 0);
	n.worker[1]->host->handover(n.worker[1], 0, m);
	n.worker[0]->owner++; /* as another thread sees it */
	assert_int_equal(pmv_lcore_mailbox_submit(n.worker[0], &op), 0);
	n.worker[0]->owner--;
	/* One handed over, two received. */
	assert_int_equal(pmv_worker_poll_at(n.worker[0], 1000), 3);
	assert_string_equal(w0->calls, "mhcrR");
	assert_int_equal(n.worker[0]->now, 1000);
	assert_int_equal(n.worker[0]->turn, 1);
	assert_int_equal(pmv_op_poll(&op), 0);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(c);
	pmv_verbs_ctl_close(ch);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
poll__time_never_goes_back(void **state)
{
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	pmv_worker_poll_at(n.worker[0], 1000);
	pmv_worker_poll_at(n.worker[0], 999);
	assert_int_equal(n.worker[0]->now, 1000);
	pmv_worker_poll(n.worker[0]);
	assert_true(n.worker[0]->now > 1000);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
poll__bounds_the_commands_of_a_turn(void **state)
{
	static struct pmv_op op[40];
	uint32_t i, nb_done = 0;

	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
	for (i = 0; i < 40; i++) {
		op[i] = (struct pmv_op){ .commit = note_commit };
		assert_int_equal(pmv_lcore_mailbox_submit(n.worker[0], &op[i]), 0);
	}
	n.worker[0]->owner--;
	w0->nb_calls = 0;
	pmv_worker_poll_at(n.worker[0], 1);
	w0->nb_calls = 0;
	for (i = 0; i < 40; i++)
		nb_done += op[i].state == PMV_LCORE_OP_DONE;
	assert_int_equal(nb_done, 32);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
	for (i = 0; i < 40; i++)
		assert_int_equal(pmv_op_poll(&op[i]), 0);
}

static void
poll__without_rx_for_programs_with_their_own_loop(void **state)
{
	struct rte_mbuf *m[2], *foreign[2];

	n.worker[0]->no_rx = true;
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	assert_int_equal(pmv_worker_poll_at(n.worker[0], 1), 0);
	assert_string_equal(w0->calls, "R");
	assert_int_equal(rte_pktmbuf_alloc_bulk(n.link->pool, m, 2), 0);
	assert_int_equal(pmv_worker_input(n.worker[0], m, 2, foreign), 2);
	assert_ptr_equal(foreign[1], m[1]);
	assert_int_equal(pmv_worker_input(n.worker[0], m, 0, foreign), 0);
	assert_int_equal(pmv_worker_flush(n.worker[0]), 7);
	assert_string_equal(w0->calls, "Rif");
	rte_pktmbuf_free_bulk(m, 2);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static void
detach__commits_what_waits_and_flushes(void **state)
{
	struct pmv_op op = { .commit = note_commit };

	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	assert_int_equal(pmv_worker_attach(n.worker[0]), -EBUSY);
	n.worker[0]->owner++;
	assert_int_equal(pmv_lcore_mailbox_submit(n.worker[0], &op), 0);
	assert_int_equal(pmv_worker_detach(n.worker[0]), -EPERM);
	assert_int_equal(pmv_worker_attach(n.worker[0]), -EBUSY);
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
	assert_string_equal(w0->calls, "mf");
	assert_int_equal(op.state, PMV_LCORE_OP_DONE);
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(pmv_worker_detach(n.worker[0]), -EPERM);
	assert_int_equal(pmv_worker_attach(NULL), -EINVAL);
	assert_int_equal(pmv_worker_detach(NULL), -EINVAL);
}

static void
get_device__and_index(void **state)
{
	assert_ptr_equal(pmv_worker_get_device(n.worker[1]), n.dev);
	assert_int_equal(pmv_worker_index(n.worker[1]), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(poll__goes_mailbox_frames_control_rx_run),
		T(poll__time_never_goes_back),
		T(poll__bounds_the_commands_of_a_turn),
		T(poll__without_rx_for_programs_with_their_own_loop),
		T(detach__commits_what_waits_and_flushes),
		T(get_device__and_index),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
