// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/ctl_channel.h"

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
	fake_node_open(&n, 2);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

static struct pmv_ctl_channel *ch;
static struct rte_mbuf *m[64];
static uint16_t from[64];

static struct rte_mbuf *
frame(void)
{
	struct rte_mbuf *f = rte_pktmbuf_alloc(n.link->pool);

	assert_non_null(f);
	return f;
}

static void
open__one_at_a_time(void **state)
{
	struct pmv_ctl_channel *second;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	assert_ptr_equal(pmv_verbs_ctl_device(ch), n.dev);
	assert_int_equal(pmv_verbs_ctl_open(n.dev, &second), -EBUSY);
	pmv_verbs_ctl_close(ch);
	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	pmv_verbs_ctl_close(ch);
}

static void
recv__from_all_workers_in_fair_shares(void **state)
{
	uint32_t i, nb, nb_from[2] = { 0 };

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	assert_int_equal(pmv_verbs_ctl_recv(ch, m, from, 64), 0);
	for (i = 0; i < 40; i++)
		n.worker[0]->host->ctl_input(n.worker[0], frame());
	for (i = 0; i < 3; i++)
		n.worker[1]->host->ctl_input(n.worker[1], frame());
	/* The busy worker does not keep the other waiting. */
	nb = pmv_verbs_ctl_recv(ch, m, from, 8);
	for (i = 0; i < nb; i++)
		nb_from[from[i]]++;
	assert_int_equal(nb_from[1], 3);
	assert_true(nb_from[0] >= 4);
	rte_pktmbuf_free_bulk(m, nb);
	/* Frames left by a worker that is gone still arrive. */
	assert_int_equal(pmv_destroy_cq(n.cq[0]), 0);
	assert_int_equal(pmv_worker_destroy(n.worker[0]), 0);
	nb = 0;
	while ((i = pmv_verbs_ctl_recv(ch, m, NULL, 16)) > 0) {
		rte_pktmbuf_free_bulk(m, i);
		nb += i;
	}
	assert_int_equal(nb, 40 - nb_from[0]);
	assert_null(pmv_verbs_ctl_worker(ch, 0));
	assert_ptr_equal(pmv_verbs_ctl_worker(ch, 1), n.worker[1]);
	assert_null(pmv_verbs_ctl_worker(ch, 2));
	pmv_verbs_ctl_close(ch);
	n.worker[0] = n.worker[1];
	n.cq[0] = n.cq[1];
	n.nb_workers = 1;
}

static void
send__through_a_worker_that_is_polled(void **state)
{
	struct rte_mbuf *f[4];
	int i;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	for (i = 0; i < 4; i++) {
		f[i] = pmv_verbs_ctl_alloc(ch);
		assert_non_null(f[i]);
		assert_true(rte_pktmbuf_tailroom(f[i]) >= PMV_VERBS_CTL_FRAME_BYTES);
	}
	/* Nobody polls: it waits at the hinted worker. */
	assert_int_equal(pmv_verbs_ctl_send(ch, 1, f[0]), 0);
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	/* The hinted one is not polled: another is. */
	assert_int_equal(pmv_verbs_ctl_send(ch, 1, f[1]), 0);
	assert_int_equal(pmv_verbs_ctl_send(ch, 99, f[2]), 0);
	pmv_worker_poll_at(n.worker[0], 1);
	assert_int_equal(fake_worker(n.worker[0])->nb_ctl_sent, 2);
	assert_ptr_equal(fake_worker(n.worker[0])->ctl_sent[0], f[1]);
	assert_int_equal(pmv_worker_attach(n.worker[1]), 0);
	assert_int_equal(pmv_verbs_ctl_send(ch, 1, f[3]), 0);
	pmv_worker_poll_at(n.worker[1], 1);
	assert_int_equal(fake_worker(n.worker[1])->nb_ctl_sent, 2);
	assert_ptr_equal(fake_worker(n.worker[1])->ctl_sent[0], f[0]);
	assert_int_equal(pmv_worker_stat(n.worker[1], "ctl_tx"), 2);
	rte_pktmbuf_free_bulk(f, 4);
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
	assert_int_equal(pmv_worker_detach(n.worker[1]), 0);
	pmv_verbs_ctl_close(ch);
}

static void
send__full_ring_and_empty_pool(void **state)
{
	struct rte_mbuf *f;
	uint32_t nb_sent = 0;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	while ((f = pmv_verbs_ctl_alloc(ch)) != NULL) {
		assert_int_equal(pmv_verbs_ctl_send(ch, 0, f), 0);
		nb_sent++;
	}
	assert_int_equal(nb_sent, PMV_VERBS_CTL_FRAMES - 1);
	f = frame();
	assert_int_equal(pmv_verbs_ctl_send(ch, 0, f), 0);
	f = frame();
	assert_int_equal(pmv_verbs_ctl_send(ch, 0, f), -EAGAIN);
	rte_pktmbuf_free(f);
	pmv_verbs_ctl_close(ch);
}

static void
send__without_any_worker(void **state)
{
	struct rte_mbuf *f = frame();
	int i;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pmv_destroy_cq(n.cq[i]), 0);
		assert_int_equal(pmv_worker_destroy(n.worker[i]), 0);
	}
	assert_int_equal(pmv_verbs_ctl_send(ch, 0, f), -ENODEV);
	rte_pktmbuf_free(f);
	pmv_verbs_ctl_close(ch);
	n.nb_workers = 0;
}

static void
close__a_frame_that_is_out_outlives_the_channel(void **state)
{
	struct rte_mbuf *f;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	f = pmv_verbs_ctl_alloc(ch);
	pmv_verbs_ctl_close(ch);
	pmv_verbs_ctl_reap_pools();
	memset(rte_pktmbuf_append(f, 100), 0x55, 100); /* its pool is still there */
	rte_pktmbuf_free(f);
	pmv_verbs_ctl_reap_pools();
}

static void
facts__follow_the_addresses(void **state)
{
	union pmv_gid gw = fake_gid("10.0.0.254"), own = fake_gid("10.0.0.1");
	struct pmv_verbs_ctl_facts f;
	uint32_t version;

	assert_int_equal(pmv_verbs_ctl_open(n.dev, &ch), 0);
	version = pmv_verbs_ctl_addr_version(ch);
	fake_add_addr(n.dev, "10.0.0.1/24");
	assert_int_equal(pmv_device_set_gateway(n.dev, &gw), 0);
	assert_int_not_equal(pmv_verbs_ctl_addr_version(ch), version);
	pmv_verbs_ctl_facts(ch, &f);
	assert_int_equal(f.addr_version, pmv_verbs_ctl_addr_version(ch));
	assert_memory_equal(f.mac, n.dev->mac.addr_bytes, 6);
	assert_int_equal(f.nb_addrs, 1);
	assert_memory_equal(&f.addr[0].gid, &own, 16);
	assert_int_equal(f.addr[0].prefix_len, 24);
	assert_memory_equal(&f.gateway[0], &gw, 16);
	assert_int_equal(f.node_guid, n.dev->node_guid);
	assert_int_equal(f.active_mtu, PMV_MTU_1024);
	assert_int_equal(f.max_rd_atomic, 16);
	assert_int_equal(f.local_ack_delay, 3);
	assert_int_equal(f.nb_workers, 2);
	assert_true(f.ticks_per_sec > 0);
	pmv_verbs_ctl_close(ch);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(open__one_at_a_time),
		T(recv__from_all_workers_in_fair_shares),
		T(send__through_a_worker_that_is_polled),
		T(send__full_ring_and_empty_pool),
		T(send__without_any_worker),
		T(close__a_frame_that_is_out_outlives_the_channel),
		T(facts__follow_the_addresses),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
