// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lcore/exchange.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/lcore/mailbox.h"
#include "lib/verbs/ctl_channel.h"
#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;

static int
setup(void **state)
{
	fake_node_open(&n, 2);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static struct rte_mbuf *
frame(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(n.link->pool);

	assert_non_null(m);
	return m;
}

static uint64_t
stat(uint16_t i, const char *name)
{
	return pmv_worker_stat(n.worker[i], name);
}

static void
handover__arrives_in_order(void **state)
{
	struct fake_worker *to = fake_worker(n.worker[1]);
	struct rte_mbuf *m[3];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		m[i] = frame();
		n.worker[0]->host->handover(n.worker[0], 1, m[i]);
	}
	assert_int_equal(pmv_lcore_exchange_run(n.worker[0]), 0);
	assert_int_equal(pmv_lcore_exchange_run(n.worker[1]), 3);
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(to->frames[i], m[i]);
		rte_pktmbuf_free(m[i]);
	}
	assert_int_equal(stat(0, "handover_tx"), 3);
	assert_int_equal(stat(1, "handover_rx"), 3);
	assert_int_equal(stat(0, "handover_drop"), 0);
}

static void
handover__full_drops_and_counts(void **state)
{
	struct fake_worker *to = fake_worker(n.worker[1]);
	uint32_t i;

	for (i = 0; i < PMV_LCORE_EXCHANGE_HANDOVER_SLOTS + 2; i++)
		n.worker[0]->host->handover(n.worker[0], 1, frame());
	assert_int_equal(stat(0, "handover_drop"), 2);
	/* A turn takes a burst, not everything. */
	assert_true(pmv_lcore_exchange_run(n.worker[1]) < PMV_LCORE_EXCHANGE_HANDOVER_SLOTS);
	while (pmv_lcore_exchange_run(n.worker[1]) > 0)
		continue;
	assert_int_equal(to->nb_frames, PMV_LCORE_EXCHANGE_HANDOVER_SLOTS);
	for (i = 0; i < to->nb_frames; i++)
		rte_pktmbuf_free(to->frames[i]);
}

static void
handover__to_nobody_drops(void **state)
{
	n.worker[0]->host->handover(n.worker[0], 0, frame()); /* itself */
	n.worker[0]->host->handover(n.worker[0], 2, frame()); /* beyond the device's workers */
	n.worker[0]->host->handover(n.worker[0], 15, frame());
	assert_int_equal(stat(0, "handover_drop"), 3);
}

static void
handover__to_a_destroyed_worker_drops_and_what_waited_is_freed(void **state)
{
	struct pmv_worker_param wp = {
		.rx_queue = 1, .tx_queue = 1, .socket_id = -1, .pool = n.link->pool
	};

	n.worker[0]->host->handover(n.worker[0], 1, frame());
	assert_int_equal(pmv_destroy_cq(n.cq[1]), 0);
	assert_int_equal(pmv_worker_destroy(n.worker[1]), 0);
	n.worker[0]->host->handover(n.worker[0], 1, frame());
	assert_int_equal(stat(0, "handover_drop"), 1);
	assert_int_equal(pmv_worker_create(n.dev, &wp, &n.worker[1]), 0);
	assert_int_equal(pmv_worker_index(n.worker[1]), 1);
	assert_int_equal(pmv_lcore_exchange_run(n.worker[1]), 0);
	assert_int_equal(pmv_create_cq(n.worker[1], 16, NULL, &n.cq[1]), 0);
}

static void
ctl_input__without_a_cm_drops(void **state)
{
	n.worker[0]->host->ctl_input(n.worker[0], frame());
	assert_int_equal(stat(0, "ctl_rx_drop_no_cm"), 1);
}

static void
ctl_input__full_drops_and_counts(void **state)
{
	struct pmv_ctl_channel *ch;
	uint32_t i;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	for (i = 0; i < PMV_LCORE_EXCHANGE_CTL_SLOTS + 3; i++)
		n.worker[0]->host->ctl_input(n.worker[0], frame());
	assert_int_equal(stat(0, "ctl_rx_drop_full"), 3);
	assert_int_equal(stat(0, "ctl_rx"), PMV_LCORE_EXCHANGE_CTL_SLOTS);
	/* Frees what waits; the mbuf count at the end tells. */
	pmv_verbs_ctl_close(ch);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(handover__arrives_in_order),
		T(handover__full_drops_and_counts),
		T(handover__to_nobody_drops),
		T(handover__to_a_destroyed_worker_drops_and_what_waited_is_freed),
		T(ctl_input__without_a_cm_drops),
		T(ctl_input__full_drops_and_counts),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
