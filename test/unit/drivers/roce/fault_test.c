// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/fault: what each rule does to which frame, the same for the same seed, and nothing
 * when there is none.
 */
#include "drivers/roce/fault.h"

#include <errno.h>
#include <math.h>

#include "lib/wire/mad.h"
#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

#define ANY .opcode = -1, .qpn = -1, .cm_attr = -1

/* A RoCE frame with a number in its PSN, from node 0's pool. */
static struct rte_mbuf *
numbered(struct rig *r, uint8_t opcode, uint32_t qpn, uint32_t n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool);
	struct rig_frame f = rig_frame(opcode, qpn, n);
	uint8_t bytes[512];
	uint32_t len;

	assert_non_null(m);
	f.payload = 16;
	len = rig_frame_write(&f, bytes);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

static uint32_t
number_of(const struct rte_mbuf *m)
{
	return pmv_be24_load(rte_pktmbuf_mtod_offset(m, const uint8_t *, 42 + 9));
}

/* Passes one frame; writes the numbers that come out. */
static uint32_t
pass(struct rig *r, enum pmv_fault_dir dir, uint32_t n, uint32_t *numbers)
{
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT];
	uint32_t nb = pmv_roce_fault_pass(
		rig_worker(r, 0), dir, numbered(r, PMV_OPCODE_RC_SEND_ONLY, 5, n), out);

	assert_in_range(nb, 0, PMV_ROCE_FAULT_OUT);
	for (uint32_t i = 0; i < nb; i++) {
		numbers[i] = number_of(out[i]);
		rte_pktmbuf_free(out[i]);
	}
	return nb;
}

static uint32_t
due(struct rig *r, enum pmv_fault_dir dir, uint64_t now, uint32_t *numbers)
{
	struct rte_mbuf *out[32];
	uint32_t nb = pmv_roce_fault_due(rig_worker(r, 0), dir, now, out, 32);

	for (uint32_t i = 0; i < nb; i++) {
		numbers[i] = number_of(out[i]);
		rte_pktmbuf_free(out[i]);
	}
	return nb;
}

static void
add(struct rig *r, const struct pmv_fault_rule *rule, uint64_t seed)
{
	assert_int_equal(pmv_fault_add(r->pair.node[0].worker[0], rule, seed), 0);
}

static struct pmv_fault_counts
counts(struct rig *r)
{
	struct pmv_fault_counts c;

	assert_int_equal(pmv_fault_query(r->pair.node[0].worker[0], &c), 0);
	return c;
}

static void
clear(struct rig *r)
{
	struct pmv_fault_counts c, zero = { 0 };

	assert_int_equal(pmv_fault_clear(r->pair.node[0].worker[0]), 0);
	assert_null(rig_worker(r, 0)->fault);
	c = counts(r);
	assert_memory_equal(&c, &zero, sizeof(c));
}

static void
fault__bad_rules(void **state)
{
	const struct pmv_fault_rule bad[] = {
		{ PMV_FAULT_DELAY + 1, PMV_FAULT_RX, 0.5, 0, -1, -1, -1, 5 },
		{ (enum pmv_fault_action) - 1, PMV_FAULT_RX, 0.5, 0, -1, -1, -1, 5 },
		{ PMV_FAULT_DROP, 0, 0.5, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DROP, 4, 0.5, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 1.01, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, -0.01, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, (double)NAN, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 0.5, 0, 256, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 0.5, 0, -2, -1, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 0.5, 0, -1, 0x1000000, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 0.5, 0, -1, -2, -1, 0 },
		{ PMV_FAULT_DROP, PMV_FAULT_RX, 0.5, 0, -1, -1, 0x10000, 0 },
		{ PMV_FAULT_DELAY, PMV_FAULT_RX, 0.5, 0, -1, -1, -1, 0 },
		{ PMV_FAULT_DELAY, PMV_FAULT_RX, 0.5, 0, -1, -1, -1, 10000001 },
	};
	const struct pmv_fault_rule good = { PMV_FAULT_DROP, PMV_FAULT_RX, 0, 0, ANY };
	struct rig *r = rig_open(&plain);
	struct pmv_worker *w = r->pair.node[0].worker[0];

	for (size_t i = 0; i < RTE_DIM(bad); i++) {
		assert_int_equal(pmv_fault_add(w, &bad[i], 1), -EINVAL);
		assert_null(rig_worker(r, 0)->fault);
	}
	for (uint32_t i = 0; i < PMV_ROCE_FAULT_RULES; i++)
		assert_int_equal(pmv_fault_add(w, &good, 1), 0);
	assert_int_equal(pmv_fault_add(w, &good, 1), -ENOSPC);
	clear(r);
	clear(r); /* nothing to do */
	assert_int_equal(counts(r).dropped, 0);
	rig_close(r);
}

/* Bit i is the i-th frame that matches, whatever else passes between, and only the first 64. */
static void
fault__mask(void **state)
{
	const uint64_t mask = 0x8000000000000015;
	struct pmv_fault_rule rule = { PMV_FAULT_DROP, PMV_FAULT_TX, 0, mask, ANY };
	struct rig *r = rig_open(&plain);
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT];
	uint32_t n[4];

	rule.qpn = 5;
	add(r, &rule, 1);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t nb = pass(r, PMV_FAULT_TX, i, n);

		assert_int_equal(nb, i < 64 && (mask >> i & 1) ? 0 : 1);
		assert_int_equal(pass(r, PMV_FAULT_RX, i, n), 1); /* another direction */
		nb = pmv_roce_fault_pass(rig_worker(r, 0), PMV_FAULT_TX,
			numbered(r, PMV_OPCODE_RC_SEND_ONLY, 6, 0), out); /* another QP */
		assert_int_equal(nb, 1);
		rte_pktmbuf_free(out[0]);
	}
	assert_int_equal(counts(r).dropped, 4);
	clear(r);
	rig_close(r);
}

static uint64_t
drop_pattern(struct rig *r, double p, uint64_t seed, uint32_t nb_frames, uint32_t *ret_dropped)
{
	struct pmv_fault_rule rule = { PMV_FAULT_DROP, PMV_FAULT_TX, p, 0, ANY };
	uint64_t hash = 0;
	uint32_t n[4];

	add(r, &rule, seed);
	*ret_dropped = 0;
	for (uint32_t i = 0; i < nb_frames; i++) {
		uint32_t nb = pass(r, PMV_FAULT_TX, i, n);

		*ret_dropped += nb == 0;
		hash = hash * 0x9e3779b97f4a7c15 + nb + 1;
	}
	clear(r);
	return hash;
}

static void
fault__probability(void **state)
{
	struct rig *r = rig_open(&plain);
	uint32_t dropped, again;
	uint64_t first;

	first = drop_pattern(r, 0.1, 42, 20000, &dropped);
	assert_in_range(dropped, 1800, 2200);
	assert_int_equal(drop_pattern(r, 0.1, 42, 20000, &again), first);
	assert_int_equal(again, dropped);
	assert_int_not_equal(drop_pattern(r, 0.1, 43, 20000, &again), first);
	drop_pattern(r, 0, 1, 1000, &dropped);
	assert_int_equal(dropped, 0);
	drop_pattern(r, 1, 1, 1000, &dropped);
	assert_int_equal(dropped, 1000);
	rig_close(r);
}

static void
fault__duplicate_and_reorder(void **state)
{
	const struct pmv_fault_rule dup = { PMV_FAULT_DUPLICATE, PMV_FAULT_TX, 0, 1 << 1 | 1 << 5,
		ANY };
	const struct pmv_fault_rule swap = { PMV_FAULT_REORDER, PMV_FAULT_TX, 0,
		1 << 3 | 3 << 4 | 1 << 8, ANY };
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint32_t seen[64], nb = 0;
	static const uint32_t want[] = { 0, 1, 1, 2, 4, 3, 5, 5, 6, 7, 9, 8 };

	add(r, &dup, 1);
	add(r, &swap, 1);
	/* 3 is overtaken by 4, whose own turn to be held is lost; 5 is the first rule's */
	for (uint32_t i = 0; i < 10; i++)
		nb += pass(r, PMV_FAULT_TX, i, seen + nb);
	assert_int_equal(nb, RTE_DIM(want));
	assert_memory_equal(seen, want, sizeof(want));
	assert_int_equal(counts(r).duplicated, 2);
	assert_int_equal(counts(r).reordered, 2);
	clear(r);
	/* nothing comes behind it: alone after 100 us */
	const struct pmv_fault_rule alone = { PMV_FAULT_REORDER, PMV_FAULT_RX, 0, 1, ANY };

	add(r, &alone, 1);
	assert_int_equal(pass(r, PMV_FAULT_RX, 77, seen), 0);
	assert_int_equal(pmv_roce_fault_held(w), 1);
	assert_false(pmv_roce_worker_idle(&w->base));
	assert_int_equal(due(r, PMV_FAULT_RX, w->base.now + 99 * w->ticks_per_us, seen), 0);
	assert_int_equal(due(r, PMV_FAULT_TX, UINT64_MAX, seen), 0);
	assert_int_equal(due(r, PMV_FAULT_RX, w->base.now + 100 * w->ticks_per_us, seen), 1);
	assert_int_equal(seen[0], 77);
	clear(r);
	rig_close(r);
}

static void
fault__delay(void **state)
{
	struct pmv_fault_rule rule = { PMV_FAULT_DELAY, PMV_FAULT_TX | PMV_FAULT_RX, 1, 0, ANY };
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint64_t us = w->ticks_per_us, now = w->base.now;
	uint32_t n[32];

	rule.delay_us = 50;
	add(r, &rule, 1);
	for (uint32_t i = 0; i < 5; i++) {
		w->base.now = now + i * us;
		assert_int_equal(pass(r, i & 1 ? PMV_FAULT_RX : PMV_FAULT_TX, i, n), 0);
		assert_int_equal(due(r, i & 1 ? PMV_FAULT_RX : PMV_FAULT_TX, w->base.now, n), 0);
	}
	assert_int_equal(due(r, PMV_FAULT_TX, now + 52 * us, n), 2);
	assert_int_equal(n[0], 0);
	assert_int_equal(n[1], 2);
	assert_int_equal(due(r, PMV_FAULT_RX, now + 52 * us, n), 1);
	assert_int_equal(n[0], 1);
	assert_int_equal(due(r, PMV_FAULT_TX, UINT64_MAX, n), 1);
	assert_int_equal(due(r, PMV_FAULT_RX, UINT64_MAX, n), 1);
	assert_int_equal(n[0], 3);
	/* the limit: one more is not delayed */
	for (uint32_t i = 0; i < PMV_ROCE_FAULT_HELD; i++)
		assert_int_equal(pass(r, PMV_FAULT_TX, i, n), 0);
	assert_int_equal(pass(r, PMV_FAULT_TX, 9, n), 1);
	assert_int_equal(counts(r).delayed, 5 + PMV_ROCE_FAULT_HELD);
	for (uint32_t i = 0; i < PMV_ROCE_FAULT_HELD;) {
		uint32_t nb = due(r, PMV_FAULT_TX, UINT64_MAX, n);

		assert_in_range(nb, 1, 32);
		assert_int_equal(n[0], i);
		i += nb;
	}
	clear(r);
	rig_close(r);
}

/* One bit behind the IP header, never in the padding, never in memory that is not the frame's own.
 */
static void
fault__corrupt(void **state)
{
	const struct pmv_fault_rule rule = { PMV_FAULT_CORRUPT, PMV_FAULT_TX, 1, 0, ANY };
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint8_t hit[128] = { 0 };

	add(r, &rule, 3);
	for (uint32_t i = 0; i < 4000; i++) {
		struct rte_mbuf *m = numbered(r, PMV_OPCODE_RC_SEND_ONLY, 5, 1), *extra = NULL,
				*out[3];
		uint8_t before[256], after[256];
		uint32_t len = m->pkt_len, bits = 0;

		memcpy(before, rte_pktmbuf_mtod(m, void *), len);
		memset(rte_pktmbuf_append(m, 10), 0, 10); /* Ethernet padding */
		memset(before + len, 0, 10);
		if (i % 3 == 1) { /* shared */
			extra = m;
			rte_mbuf_refcnt_update(m, 1);
		} else if (i % 3 == 2) { /* a clone: another mbuf's bytes */
			extra = m;
			m = rte_pktmbuf_clone(extra, r->pair.link->pool);
		}
		assert_int_equal(pmv_roce_fault_pass(w, PMV_FAULT_TX, m, out), 1);
		assert_int_equal(out[0]->pkt_len, len + 10);
		memcpy(after, rte_pktmbuf_read(out[0], 0, len + 10, after), len + 10);
		for (uint32_t k = 0; k < len + 10; k++) {
			if (before[k] != after[k]) {
				assert_in_range(k, 34, len - 1);
				bits += (uint32_t)__builtin_popcount(before[k] ^ after[k]);
				hit[k] = 1;
			}
		}
		assert_int_equal(bits, 1);
		if (extra != NULL)
			assert_memory_equal(rte_pktmbuf_mtod(extra, uint8_t *), before, len + 10);
		rte_pktmbuf_free(out[0]);
		rte_pktmbuf_free(extra);
	}
	for (uint32_t k = 34; k < 34 + 8 + 12 + 16 + 4; k++)
		assert_int_equal(hit[k], 1);
	assert_int_equal(counts(r).corrupted, 4000);
	clear(r);
	rig_close(r);
}

static uint32_t
pass_mad(struct rig *r, uint16_t attr_id, bool chain)
{
	struct pmv_mad_frame_param p = { .pkey = 0xffff, .dqpn = 1, .sqpn = 1 };
	const struct pmv_mad_hdr h = { .base_version = 1,
		.mgmt_class = PMV_MAD_CLASS_CM,
		.class_version = 2,
		.method = 3,
		.attr_id = attr_id };
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool), *tail, *out[3];
	uint8_t mad[PMV_MAD_LEN] = { 0 }, bytes[PMV_MAD_FRAME_MAX];
	uint32_t cut = chain ? 50 : 0, nb;
	int len;

	pmv_gid_from_ipv4(p.ip.src_gid, 1);
	pmv_gid_from_ipv4(p.ip.dst_gid, 2);
	pmv_mad_hdr_build(mad, &h);
	len = pmv_mad_frame_build(bytes, sizeof(bytes), &p, mad);
	assert_in_range(len, 300, PMV_MAD_FRAME_MAX);
	memcpy(rte_pktmbuf_append(m, (uint16_t)cut), bytes, cut);
	tail = rte_pktmbuf_alloc(r->pair.link->pool);
	memcpy(rte_pktmbuf_append(tail, (uint16_t)((uint32_t)len - cut)), bytes + cut,
		(uint32_t)len - cut);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	nb = pmv_roce_fault_pass(rig_worker(r, 0), PMV_FAULT_TX, m, out);
	for (uint32_t i = 0; i < nb; i++)
		rte_pktmbuf_free(out[i]);
	return nb;
}

static void
fault__filters(void **state)
{
	struct pmv_fault_rule rule = { PMV_FAULT_DROP, PMV_FAULT_TX, 1, 0, ANY };
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct rte_mbuf *out[3];

	rule.opcode = PMV_OPCODE_RC_ACK;
	add(r, &rule, 1);
	for (uint32_t op = 0; op < 256; op++) {
		uint32_t nb =
			pmv_roce_fault_pass(w, PMV_FAULT_TX, numbered(r, (uint8_t)op, 5, 1), out);

		assert_int_equal(nb, op != PMV_OPCODE_RC_ACK);
		if (nb == 1)
			rte_pktmbuf_free(out[0]);
	}
	clear(r);
	rule.opcode = -1;
	rule.cm_attr = 0x10;
	add(r, &rule, 1);
	for (int chain = 0; chain < 2; chain++) {
		assert_int_equal(pass_mad(r, 0x10, chain), 0);
		assert_int_equal(pass_mad(r, 0x13, chain), 1);
	}
	clear(r);
	/* -1 everywhere: all frames, ARP too */
	rule.cm_attr = -1;
	add(r, &rule, 1);
	struct rte_mbuf *arp = rte_pktmbuf_alloc(r->pair.link->pool);

	memset(rte_pktmbuf_append(arp, 42), 0, 42);
	assert_int_equal(pmv_roce_fault_pass(w, PMV_FAULT_TX, arp, out), 0);
	clear(r);
	/* but a filter never matches what has no such field */
	rule.opcode = 0;
	add(r, &rule, 1);
	arp = rte_pktmbuf_alloc(r->pair.link->pool);
	memset(rte_pktmbuf_append(arp, 42), 0, 42);
	assert_int_equal(pmv_roce_fault_pass(w, PMV_FAULT_TX, arp, out), 1);
	rte_pktmbuf_free(out[0]);
	clear(r);
	rig_close(r);
}

static struct pmv_send_wr
write_wr(struct rig *r, const struct pmv_sge *sge, uint64_t wr_id)
{
	struct pmv_send_wr wr = { .wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)r->mem[1];
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	return wr;
}

/* Through the whole driver: transfers survive every rule, user memory does not change, and clearing
 * lets go of what is held. */
static void
fault__under_traffic(void **state)
{
	struct rig *r = rig_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)r->mem[0], 8192, pmv_mr_lkey(r->mr[0]) };
	uint8_t *copy = malloc(RIG_MEM);
	struct pmv_wc wc;

	for (uint32_t i = 0; i < RIG_MEM; i++)
		r->mem[0][i] = copy[i] = (uint8_t)(i * 7 + i / 256);
	for (int action = PMV_FAULT_DROP; action <= PMV_FAULT_DELAY; action++) {
		struct pmv_fault_rule rule = { (enum pmv_fault_action)action,
			PMV_FAULT_RX | PMV_FAULT_TX, 0.1, 0, ANY };
		struct pmv_fault_counts c;

		rule.delay_us = 40;
		add(r, &rule, 99);
		for (uint64_t k = 0; k < 50; k++) {
			struct pmv_send_wr wr = write_wr(r, &sge, k);

			memset(r->mem[1], 0, 8192);
			assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
			for (uint32_t ms = 0; pmv_poll_cq(r->pair.node[0].cq[0], &wc, 1) == 0;
				ms++) {
				assert_in_range(ms, 0, 2000);
				rig_run(r, 100);
			}
			assert_int_equal(wc.status, PMV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, k);
			assert_memory_equal(r->mem[1], copy, 8192);
		}
		assert_memory_equal(r->mem[0], copy, RIG_MEM);
		c = counts(r);
		assert_true(c.dropped + c.duplicated + c.reordered + c.corrupted + c.delayed > 20);
		clear(r);
		rig_run(r, 500);
	}
	free(copy);
	rig_close(r);
}

/* A program that was away for long and posts between two turns: the time of a frame that is held
 * begins with the next turn, not with the last. */
static void
fault__time_of_a_post(void **state)
{
	static const enum pmv_fault_action actions[] = { PMV_FAULT_DELAY, PMV_FAULT_REORDER };

	for (size_t i = 0; i < RTE_DIM(actions); i++) {
		struct rig *r = rig_open(&plain);
		struct pmv_fault_rule rule = { actions[i], PMV_FAULT_TX, 0, 1, ANY,
			.delay_us = 100 };
		const struct pmv_sge sge = { (uintptr_t)r->mem[0], 64, pmv_mr_lkey(r->mr[0]) };
		struct pmv_send_wr wr = write_wr(r, &sge, 1);
		struct pmv_roce_worker *w = rig_worker(r, 0);
		uint64_t us = w->ticks_per_us;

		add(r, &rule, 1);
		r->pair.now += 1000000 * us;
		assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
		assert_int_equal(pmv_roce_fault_held(w), 1);
		pmv_worker_poll_at(&w->base, r->pair.now);
		assert_int_equal(pmv_roce_fault_held(w), 1);
		pmv_worker_poll_at(&w->base, r->pair.now + 99 * us);
		assert_int_equal(pmv_roce_fault_held(w), 1);
		pmv_worker_poll_at(&w->base, r->pair.now + 100 * us);
		assert_int_equal(pmv_roce_fault_held(w), 0);
		r->pair.now += 100 * us;
		rig_run(r, 100);
		assert_int_equal(w->stats.retx_pkts, 0);
		clear(r);
		rig_close(r);
	}
}

static void
fault__clear_lets_go(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_fault_rule rule = { PMV_FAULT_DELAY, PMV_FAULT_TX, 1, 0, ANY,
		.delay_us = 10000000 };
	const struct pmv_sge sge = { (uintptr_t)r->mem[0], 64, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = write_wr(r, &sge, 1);
	struct pmv_wc wc;

	memset(r->mem[0], 0x42, 64);
	add(r, &rule, 1);
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	rig_run(r, 20);
	assert_int_equal(r->mem[1][0], 0xa5);
	clear(r);
	rig_run(r, 20);
	assert_int_equal(r->mem[1][0], 0x42);
	rig_run(r, 50);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], &wc, 1), 1);
	/* a worker ends with frames held in both directions */
	rule.dirs = PMV_FAULT_TX | PMV_FAULT_RX;
	add(r, &rule, 1);
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	rig_run(r, 20);
	assert_true(pmv_roce_fault_held(rig_worker(r, 0)) > 0);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault__bad_rules),
		cmocka_unit_test(fault__mask),
		cmocka_unit_test(fault__probability),
		cmocka_unit_test(fault__duplicate_and_reorder),
		cmocka_unit_test(fault__delay),
		cmocka_unit_test(fault__corrupt),
		cmocka_unit_test(fault__filters),
		cmocka_unit_test(fault__under_traffic),
		cmocka_unit_test(fault__time_of_a_post),
		cmocka_unit_test(fault__clear_lets_go),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
