// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/tx: order, bursts, a port that takes no more, the room kept for acknowledgements and
 * control frames, and ICRCs that are made when a burst leaves.
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

/* A burst of small WRITEs, whose ICRCs are made when they leave. */
static void
post_small(struct rig *r, uint32_t nb)
{
	uint8_t bytes[64];
	struct pmv_sge sge[64];
	struct pmv_send_wr wr[64];

	memset(bytes, (int)(nb * 37), sizeof(bytes));
	for (uint32_t i = 0; i < nb; i++) {
		sge[i] = (struct pmv_sge){ (uintptr_t)bytes, i, 0 };
		wr[i] = (struct pmv_send_wr){ .sg_list = &sge[i],
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_INLINE };
		wr[i].wr.rdma.remote_addr = (uintptr_t)r->mem[1];
		wr[i].wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	}
	assert_int_equal(pmv_post_send(r->rc[0], wr, nb), nb);
}

/* Takes at most nb frames that the port has sent: PSNs go on from *psn, the ICRC of each is right
 * (or, with a bit flipped, wrong: counted in *bad). They arrive. */
static uint32_t
arrive_sound(struct rig *r, uint32_t nb, uint32_t *psn, uint32_t *bad)
{
	struct rte_ring *ring = r->pair.link->end[0].tx[0];
	uint32_t i;
	void *p;

	for (i = 0; i < nb && rte_ring_dequeue(ring, &p) == 0; i++) {
		struct rte_mbuf *m = p;
		const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

		if (pmv_be16_load(f + 12) != PMV_ETHERTYPE_IPV4) { /* what filled the port */
			rte_pktmbuf_free(m);
			i--;
			continue;
		}
		if (!pmv_icrc_packet_check(f + 14, false, m->pkt_len - 14u)) {
			assert_non_null(bad);
			++*bad;
		} else if (psn != NULL) {
			assert_int_equal(pmv_psn(pmv_be32_load(f + 50)).v, *psn & PMV_PSN_MASK);
			++*psn;
		}
		assert_int_equal(rte_ring_enqueue(r->pair.link->end[1].rx[0], m), 0);
	}
	return i;
}

/* The port takes a part of a burst, again and again: every frame is sealed once. */
static void
tx__seals_of_parts(void **state)
{
	for (uint32_t room = 0; room < 40; room += 3) {
		struct rig *r = rig_open(&plain);
		struct pmv_roce_worker *w = rig_worker(r, 0);
		struct rte_ring *ring = r->pair.link->end[0].tx[0];
		uint32_t psn = 0xfffff8, nb = 0;

		while (rte_ring_free_count(ring) > room)
			assert_int_equal(rte_ring_enqueue(ring, numbered(r, 0)), 0);
		post_small(r, 50);
		assert_int_equal(w->tx.tail - w->tx.head, 50 - RTE_MIN(room, 32u));
		assert_int_equal(pmv_worker_flush(&w->base), 50 - room);
		while (nb < 50) {
			nb += arrive_sound(r, 1 + nb % 7, &psn, NULL);
			pmv_worker_flush(&w->base);
			assert_true(w->tx.sealed == w->tx.tail);
		}
		assert_int_equal(pmv_roce_worker_idle(&w->base), true);
		assert_int_equal(psn, 0xfffff8 + 50);
		rig_run(r, 100);
		assert_int_equal(pmv_roce_qp(r->rc[1])->resp.epsn.v, 42);
		rig_close(r);
	}
}

/* Round the ring many times, in steps that do not divide it. */
static void
tx__seals_around_the_ring(void **state)
{
	struct rig *r = rig_open(&plain);
	uint32_t psn = 0xfffff8, nb = 0;

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t n = 1 + i * 7 % 61;

		post_small(r, n);
		assert_int_equal(pmv_worker_flush(r->pair.node[0].worker[0]), 0);
		assert_int_equal(arrive_sound(r, 64, &psn, NULL), n);
		nb += n;
		rig_run(r, 20);
		assert_int_equal(psn, 0xfffff8 + nb);
	}
	assert_true(nb > 4 * PMV_ROCE_TX_RING);
	rig_close(r);
}

/* Rules come while frames are staged without their ICRC, and go again: nothing leaves unsealed, and
 * a frame that is to be corrupted is so after it was sealed. */
static void
tx__seals_and_fault_rules(void **state)
{
	for (int action = PMV_FAULT_DROP; action <= PMV_FAULT_DELAY; action++) {
		const struct pmv_fault_rule rule = { .action = (enum pmv_fault_action)action,
			.dirs = PMV_FAULT_TX,
			.mask = 0x5,
			.opcode = -1,
			.qpn = -1,
			.cm_attr = -1,
			.delay_us = action == PMV_FAULT_DELAY ? 10 : 0 };
		struct rig *r = rig_open(&plain);
		struct pmv_worker *w = r->pair.node[0].worker[0];
		uint32_t psn = 0xfffff8, bad = 0, nb;

		post_small(r, 10);
		assert_int_equal(pmv_fault_add(w, &rule, 1), 0);
		post_small(r, 10);
		assert_int_equal(pmv_worker_flush(w), 0);
		assert_int_equal(arrive_sound(r, 10, &psn, NULL), 10);
		nb = arrive_sound(r, 64, NULL, &bad);
		assert_int_equal(bad, action == PMV_FAULT_CORRUPT ? 2 : 0);
		assert_int_equal(nb, action == PMV_FAULT_DROP || action == PMV_FAULT_DELAY ? 8
				     : action == PMV_FAULT_DUPLICATE                       ? 12
											   : 10);
		post_small(r, 5);
		assert_int_equal(pmv_fault_clear(w), 0);
		post_small(r, 5);
		assert_int_equal(pmv_worker_flush(w), 0);
		assert_int_equal(
			arrive_sound(r, 64, NULL, NULL), 10 + (action == PMV_FAULT_DELAY ? 2 : 0));
		rig_run(r, 5000);
		assert_int_equal(pmv_roce_qp(r->rc[1])->resp.epsn.v, 30 - 8);
		rig_close(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx__bursts),
		cmocka_unit_test(tx__port_full),
		cmocka_unit_test(tx__ends_with_frames),
		cmocka_unit_test(tx__seals_of_parts),
		cmocka_unit_test(tx__seals_around_the_ring),
		cmocka_unit_test(tx__seals_and_fault_rules),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
