// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/tx: order, bursts, a port that takes no more, and the room kept for acknowledgements
 * and control frames.
 */
#include "drivers/roce/tx.h"

#include <errno.h>

#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

static struct rte_mbuf *
numbered(struct rig *r, uint32_t n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool);

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, 64), 0, 64);
	memcpy(rte_pktmbuf_mtod(m, void *), &n, sizeof(n));
	return m;
}

/* Takes what the port has sent; checks that numbers go on from *next. Returns how many. */
static uint32_t
drain(struct rig *r, uint32_t *next)
{
	struct rte_ring *ring = r->pair.link->end[0].tx[0];
	uint32_t nb = 0, n;
	void *m;

	for (; rte_ring_dequeue(ring, &m) == 0; nb++) {
		memcpy(&n, rte_pktmbuf_mtod((struct rte_mbuf *)m, void *), sizeof(n));
		assert_int_equal(n, (*next)++);
		rte_pktmbuf_free(m);
	}
	return nb;
}

static void
tx__bursts(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct rte_ring *ring = r->pair.link->end[0].tx[0];
	uint64_t before = w->stats.tx_frames;
	uint32_t next = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(pmv_roce_tx_room(&w->tx),
			PMV_ROCE_TX_RING - PMV_ROCE_TX_RESERVE - i % PMV_ROCE_TX_BURST);
		pmv_roce_tx_stage(w, numbered(r, i));
		/* nothing before a burst is full, everything then */
		assert_int_equal(
			rte_ring_count(ring), (i + 1) / PMV_ROCE_TX_BURST * PMV_ROCE_TX_BURST);
	}
	assert_false(pmv_roce_worker_idle(&w->base));
	assert_int_equal(pmv_roce_worker_flush(&w->base), 0);
	assert_true(pmv_roce_worker_idle(&w->base));
	assert_int_equal(drain(r, &next), 1000);
	assert_int_equal(w->stats.tx_frames - before, 1000);
	assert_int_equal(w->stats.tx_busy, 0);
	rig_close(r);
}

/* The port is full: data stops at the reserve, the rest at the end; the order holds. */
static void
tx__port_full(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint32_t next = 0, staged = 0, room;

	while (pmv_roce_tx_room(&w->tx) > 0)
		pmv_roce_tx_stage(w, numbered(r, staged++));
	room = staged;
	assert_in_range(w->stats.tx_busy, 1, 20); /* it was not asked for each frame */
	assert_int_equal(w->tx.tail - w->tx.head, PMV_ROCE_TX_RING - PMV_ROCE_TX_RESERVE);
	for (; pmv_roce_tx_ctl_room(&w->tx); staged++)
		pmv_roce_worker_ctl_send(&w->base, numbered(r, staged));
	assert_int_equal(staged - room, PMV_ROCE_TX_RESERVE);
	assert_int_equal(w->stats.tx_ctl, PMV_ROCE_TX_RESERVE);
	pmv_roce_worker_ctl_send(&w->base, numbered(r, 0)); /* freed and counted */
	assert_int_equal(w->stats.tx_ctl_drop, 1);
	assert_int_equal(pmv_worker_flush(&w->base), PMV_ROCE_TX_RING);
	for (uint32_t left = PMV_ROCE_TX_RING; left > 0;) {
		drain(r, &next);
		left = pmv_worker_flush(&w->base);
	}
	drain(r, &next);
	assert_int_equal(next, staged);
	rig_close(r);
}

/* A worker may end with frames staged. */
static void
tx__ends_with_frames(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint32_t staged = 0, next = 0;

	while (pmv_roce_tx_room(&w->tx) > 0)
		pmv_roce_tx_stage(w, numbered(r, staged++));
	/* what comes back in the ring is taken by rig_close(); the mbufs are counted there */
	drain(r, &next);
	while (pmv_roce_tx_room(&w->tx) > 0)
		pmv_roce_tx_stage(w, numbered(r, staged++));
	assert_false(pmv_roce_worker_idle(&w->base));
	drain(r, &next);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx__bursts),
		cmocka_unit_test(tx__port_full),
		cmocka_unit_test(tx__ends_with_frames),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
