// SPDX-License-Identifier: BSD-3-Clause
/*
 * Fault rules on live workers: each action, direction and filter does what it says, to the frames
 * it names and no others, and is counted; traffic survives; switched off, nothing of it is left.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/bth.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define NB_MSGS 40u
#define SLOT    8192u
#define REMOTE  0x100000u

/* The PSNs that one side put on the wire, in order. */
struct trace {
	uint32_t psn[512];
	uint8_t opcode[512];
	uint32_t nb;
};

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct trace *t = arg;
	struct pmv_bth bth;

	pmv_bth_parse(rte_pktmbuf_mtod_offset(m, const uint8_t *, 42), &bth);
	if (t->nb < 512) {
		t->psn[t->nb] = bth.psn.v;
		t->opcode[t->nb++] = bth.opcode;
	}
	return PMV_TEST_PASS;
}

static struct pmv_fault_rule
rule(enum pmv_fault_action action, uint32_t dirs, double probability, uint64_t mask)
{
	return (struct pmv_fault_rule){ .action = action,
		.dirs = dirs,
		.probability = probability,
		.mask = mask,
		.opcode = -1,
		.qpn = -1,
		.cm_attr = -1,
		.delay_us = action == PMV_FAULT_DELAY ? 50 : 0 };
}

static struct pmv_worker *
worker(struct rc_lab *lab, int side)
{
	return lab->pair.node[side].worker[0];
}

static void
add(struct rc_lab *lab, int side, const struct pmv_fault_rule *r)
{
	assert_int_equal(pmv_fault_add(worker(lab, side), r, 5), 0);
}

static struct pmv_fault_counts
counts(struct rc_lab *lab, int side)
{
	struct pmv_fault_counts c;

	assert_int_equal(pmv_fault_query(worker(lab, side), &c), 0);
	return c;
}

static uint64_t
count_of(const struct pmv_fault_counts *c, enum pmv_fault_action action)
{
	const uint64_t by_action[] = { c->dropped, c->duplicated, c->reordered, c->corrupted,
		c->delayed };

	return by_action[action];
}

static uint64_t
count_all(const struct pmv_fault_counts *c)
{
	return c->dropped + c->duplicated + c->reordered + c->corrupted + c->delayed;
}

static enum pmv_wr_opcode
op_of(uint32_t i)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_RDMA_WRITE, PMV_WR_SEND, PMV_WR_RDMA_READ,
		PMV_WR_RDMA_WRITE_WITH_IMM };

	return ops[i % 4];
}

static uint32_t
len_of(uint32_t i)
{
	static const uint32_t lens[] = { 1, 5000, 3000, 1024, 64, 4096, 0 };

	return lens[i % 7];
}

/* Mixed traffic from side 0; all of it completes, in order, with the right bytes on both sides, and
 * what was sent is unchanged. */
static void
converse(struct rc_lab *lab, uint64_t limit_us)
{
	uint32_t nb_recv = 0;

	lab->nb_wc[0] = lab->nb_wc[1] = 0;
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		bool read = op_of(i) == PMV_WR_RDMA_READ;

		rc_lab_fill(lab->mem[read] + (read ? REMOTE : 0) + i * SLOT, len_of(i), i);
		if (op_of(i) == PMV_WR_SEND || op_of(i) == PMV_WR_RDMA_WRITE_WITH_IMM) {
			rc_lab_recv(lab, 1, REMOTE + i * SLOT, SLOT, i);
			nb_recv++;
		}
	}
	for (uint32_t i = 0; i < NB_MSGS; i++)
		assert_int_equal(rc_lab_post(lab, 0, op_of(i), i * SLOT, REMOTE + i * SLOT,
					 len_of(i), PMV_SEND_SIGNALED, i),
			1);
	assert_true(rc_lab_wait(lab, 0, NB_MSGS, limit_us));
	assert_true(rc_lab_wait(lab, 1, nb_recv, 1000));
	assert_int_equal(lab->nb_wc[1], nb_recv);
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[0][i].wr_id, i);
		assert_true(rc_lab_check(lab->mem[0] + i * SLOT, len_of(i), i));
		assert_true(rc_lab_check(lab->mem[1] + REMOTE + i * SLOT, len_of(i), i));
	}
}

/* After clear: no rule, no count, no held frame, no trace in the traffic. */
static void
check_off(struct rc_lab *lab)
{
	uint64_t retx[2], frames[2];

	for (int side = 0; side < 2; side++) {
		struct pmv_fault_counts c;

		assert_int_equal(pmv_fault_clear(worker(lab, side)), 0);
		assert_int_equal(pmv_fault_clear(worker(lab, side)), 0); /* again: harmless */
		c = counts(lab, side);
		assert_int_equal(count_all(&c), 0);
	}
	rc_lab_run(lab, 20000); /* what was held comes out, and settles */
	for (int side = 0; side < 2; side++) {
		retx[side] = pmv_worker_stat(worker(lab, side), "retx_pkts");
		frames[side] = lab->pair.link->end[side].out.nb_frames;
	}
	rc_lab_run(lab, 20000);
	for (int side = 0; side < 2; side++)
		assert_int_equal(lab->pair.link->end[side].out.nb_frames, frames[side]);
	converse(lab, 100000);
	for (int side = 0; side < 2; side++)
		assert_int_equal(pmv_worker_stat(worker(lab, side), "retx_pkts"), retx[side]);
}

/* Every action, either direction, either side, by probability and by mask: the traffic survives,
 * only that action is counted, and afterwards nothing is left. */
static void
fuzzed_rules__every_action(void **state)
{
	for (int k = 0; k < 5 * 2 * 2 * 2; k++) {
		enum pmv_fault_action action = (enum pmv_fault_action)(k % 5);
		uint32_t dir = k / 5 % 2 ? PMV_FAULT_TX : PMV_FAULT_RX;
		int side = k / 10 % 2;
		const struct rc_lab_param param = { .is_v6 = k & 1, .seed = (uint64_t)k + 1 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		struct pmv_fault_rule r =
			rule(action, dir, k / 20 ? 0 : 0.08, k / 20 ? 0x5a5a00f3 : 0);
		struct pmv_fault_counts c;

		rc_lab_open(lab, &param);
		add(lab, side, &r);
		converse(lab, 20000000);
		c = counts(lab, side);
		assert_true(count_of(&c, action) > 0);
		assert_int_equal(count_all(&c), count_of(&c, action));
		c = counts(lab, !side);
		assert_int_equal(count_all(&c), 0);
		check_off(lab);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* Everything at once, both directions, both sides. */
static void
fuzzed_rules__all_together(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		const struct rc_lab_param param = { .seed = seed };
		struct rc_lab *lab = test_malloc(sizeof(*lab));

		rc_lab_open(lab, &param);
		for (int side = 0; side < 2; side++)
			for (int action = PMV_FAULT_DROP; action <= PMV_FAULT_DELAY; action++) {
				struct pmv_fault_rule r = rule((enum pmv_fault_action)action,
					PMV_FAULT_RX | PMV_FAULT_TX, 0.02, 0);

				add(lab, side, &r);
			}
		for (int i = 0; i < 4; i++)
			converse(lab, 20000000);
		check_off(lab);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* The mask counts frames that match: exactly these are lost, and no others. */
static void
fuzzed_rules__mask_and_opcode(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule r = rule(PMV_FAULT_DROP, PMV_FAULT_TX, 0, 0xa); /* 2nd and 4th */
	struct trace *t = test_calloc(1, sizeof(*t));
	struct pmv_fault_counts c;

	rc_lab_open(lab, &param);
	lab->pair.link->end[0].out.hook = record;
	lab->pair.link->end[0].out.hook_arg = t;
	r.opcode = PMV_OPCODE_RC_WRITE_LAST;
	add(lab, 0, &r);
	for (uint64_t i = 0; i < 3; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 3000, 0, i);
	rc_lab_run(lab, 5);
	/* 9 packets, the 6th (second LAST) is missing */
	assert_int_equal(t->nb, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(t->psn[i], (0xfffff8 + i + (i >= 5)) & 0xffffff);
	assert_int_equal(t->opcode[2], PMV_OPCODE_RC_WRITE_LAST);
	rc_lab_run(lab, 20000);
	c = counts(lab, 0);
	assert_int_equal(c.dropped, 2); /* the fourth LAST was the second one sent again, or the
					   next */
	check_off(lab);
	test_free(t);
	rc_lab_close(lab);
	test_free(lab);
}

/* One QP of two on the worker suffers. */
static void
fuzzed_rules__qpn(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule r = rule(PMV_FAULT_DROP, PMV_FAULT_RX, 1.0, 0);
	struct pmv_qp *other[2], *first[2];
	struct pmv_fault_counts c;

	rc_lab_open(lab, &param);
	for (int side = 0; side < 2; side++) {
		other[side] = pmv_test_qp_create(&lab->pair.node[side], 0, PMV_QPT_RC);
		first[side] = lab->qp[side];
	}
	pmv_test_qp_connect(&lab->pair, other[0], other[1], false, PMV_MTU_1024, NULL);
	r.qpn = pmv_qp_num(other[1]);
	add(lab, 1, &r);
	converse(lab, 100000);
	c = counts(lab, 1);
	assert_int_equal(count_all(&c), 0);
	lab->qp[0] = other[0];
	lab->nb_wc[0] = 0;
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 1);
	rc_lab_run(lab, 1000);
	assert_int_equal(lab->nb_wc[0], 0);
	c = counts(lab, 1);
	assert_true(c.dropped >= 1);
	assert_int_equal(pmv_fault_clear(worker(lab, 1)), 0);
	assert_true(rc_lab_wait(lab, 0, 1, 200000));
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pmv_destroy_qp(other[side]), 0);
		lab->qp[side] = first[side];
	}
	rc_lab_close(lab);
	test_free(lab);
}

/* A delay is as long as it says: neither less nor much more. */
static void
fuzzed_rules__delay(void **state)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t dir = PMV_FAULT_RX; dir <= PMV_FAULT_TX; dir <<= 1) {
			const struct rc_lab_param param = { 0 };
			struct rc_lab *lab = test_malloc(sizeof(*lab));
			struct pmv_fault_rule r = rule(PMV_FAULT_DELAY, dir, 0, 1);
			uint64_t start;

			rc_lab_open(lab, &param);
			r.delay_us = 700;
			add(lab, side, &r);
			rc_lab_run(lab, 5); /* a delay counts from the last turn */
			start = lab->pair.now;
			rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 1024, PMV_SEND_SIGNALED, 1);
			assert_true(rc_lab_wait(lab, 0, 1, 5000));
			start = (lab->pair.now - start) / lab->pair.link->ticks_per_us;
			assert_in_range(start, 700, 760);
			check_off(lab);
			rc_lab_close(lab);
			test_free(lab);
		}
	}
}

/* Reordered: behind the next frame; alone, it leaves after 100 us. */
static void
fuzzed_rules__reorder(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule r = rule(PMV_FAULT_REORDER, PMV_FAULT_TX, 0, 0x11);
	struct trace *t = test_calloc(1, sizeof(*t));
	uint64_t start;

	rc_lab_open(lab, &param);
	lab->pair.link->end[0].out.hook = record;
	lab->pair.link->end[0].out.hook_arg = t;
	add(lab, 0, &r);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 4096, PMV_SEND_SIGNALED, 1);
	rc_lab_run(lab, 5);
	assert_int_equal(t->nb, 4);
	assert_int_equal(t->psn[0], 0xfffff9);
	assert_int_equal(t->psn[1], 0xfffff8);
	assert_int_equal(t->psn[2], 0xfffffa);
	assert_true(rc_lab_wait(lab, 0, 1, 20000));
	assert_int_equal(pmv_fault_clear(worker(lab, 0)), 0);
	r.mask = 1;
	add(lab, 0, &r);
	start = lab->pair.now;
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 2);
	lab->nb_wc[0] = 0;
	assert_true(rc_lab_wait(lab, 0, 1, 20000));
	start = (lab->pair.now - start) / lab->pair.link->ticks_per_us;
	assert_in_range(start, 30, 160); /* the probe's copy may overtake it */
	check_off(lab);
	test_free(t);
	rc_lab_close(lab);
	test_free(lab);
}

/* Duplicated: the peer gets it twice, executes it once. Corrupted: it gets it never. */
static void
fuzzed_rules__duplicate_and_corrupt(void **state)
{
	for (int corrupt = 0; corrupt < 2; corrupt++) {
		const struct rc_lab_param param = { 0 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		struct pmv_fault_rule r = rule(
			corrupt ? PMV_FAULT_CORRUPT : PMV_FAULT_DUPLICATE, PMV_FAULT_TX, 1.0, 0);
		struct pmv_fault_counts c;
		uint64_t nb = corrupt ? 200 : 40;

		rc_lab_open(lab, &param);
		add(lab, 0, &r);
		for (uint64_t i = 0; i < nb; i++) {
			rc_lab_recv(lab, 1, 0, 64, i);
			rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 64, PMV_SEND_SIGNALED, i);
			rc_lab_run(lab, 10);
		}
		c = counts(lab, 0);
		if (!corrupt) {
			assert_int_equal(lab->nb_wc[1], nb);
			assert_int_equal(c.duplicated, nb);
			assert_int_equal(pmv_worker_stat(worker(lab, 1), "rx_frames"), 2 * nb);
		} else {
			assert_true(c.corrupted >= 64);
			assert_int_equal(lab->nb_wc[1], 0);
			assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_RTS);
			assert_int_equal(pmv_worker_stat(worker(lab, 1), "acks_tx"), 0);
		}
		assert_int_equal(pmv_fault_clear(worker(lab, 0)), 0);
		rc_lab_run(lab, 200000);
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* User memory that lies in a frame is never corrupted with it. */
static void
fuzzed_rules__corrupt_spares_user_memory(void **state)
{
	const struct rc_lab_param param = { .mtu = PMV_MTU_4096 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule r = rule(PMV_FAULT_CORRUPT, PMV_FAULT_TX, 0.3, 0);

	rc_lab_open(lab, &param);
	add(lab, 0, &r);
	rc_lab_fill(lab->mem[0], 1u << 18, 9);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 1u << 18, PMV_SEND_SIGNALED, 1);
	assert_true(rc_lab_wait(lab, 0, 1, 20000000));
	assert_true(pmv_worker_stat(worker(lab, 0), "attached") > 0);
	assert_true(counts(lab, 0).corrupted > 5);
	assert_true(rc_lab_check(lab->mem[0], 1u << 18, 9));
	assert_true(rc_lab_check(lab->mem[1] + REMOTE, 1u << 18, 9));
	rc_lab_close(lab); /* with the rule still on */
	test_free(lab);
}

/* The first rule that fires acts, but every rule counts what it matched. */
static void
fuzzed_rules__order(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule dup = rule(PMV_FAULT_DUPLICATE, PMV_FAULT_TX, 0, 0x1);
	struct pmv_fault_rule drop = rule(PMV_FAULT_DROP, PMV_FAULT_TX, 0, 0x3);
	struct pmv_fault_counts c;

	rc_lab_open(lab, &param);
	add(lab, 0, &dup);
	add(lab, 0, &drop);
	for (uint64_t i = 0; i < 4; i++) {
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, i);
		rc_lab_run(lab, 5);
	}
	rc_lab_run(lab, 50000);
	c = counts(lab, 0);
	assert_int_equal(c.duplicated, 1); /* frame 0 */
	assert_int_equal(c.dropped, 1);    /* frame 1 */
	assert_int_equal(lab->nb_wc[0], 4);
	rc_lab_close(lab);
	test_free(lab);
}

/* The same seed, the same faults. */
static void
fuzzed_rules__repeatable(void **state)
{
	struct pmv_fault_counts c[3];
	uint64_t frames[3];

	for (int i = 0; i < 3; i++) {
		const struct rc_lab_param param = { .seed = 4 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		struct pmv_fault_rule r = rule(PMV_FAULT_DROP, PMV_FAULT_TX, 0.1, 0);

		rc_lab_open(lab, &param);
		assert_int_equal(pmv_fault_add(worker(lab, 0), &r, i < 2 ? 77 : 78), 0);
		converse(lab, 20000000);
		c[i] = counts(lab, 0);
		frames[i] = lab->pair.link->end[0].out.nb_frames;
		rc_lab_close(lab);
		test_free(lab);
	}
	assert_int_equal(c[0].dropped, c[1].dropped);
	assert_int_equal(frames[0], frames[1]);
	assert_true(c[2].dropped != c[0].dropped || frames[2] != frames[0]);
}

/* Frames are held back for ten seconds: clearing the rules sends and delivers them at once, and a
 * worker may end with frames held. */
static void
fuzzed_rules__held_frames(void **state)
{
	for (int k = 0; k < 3; k++) {
		const struct rc_lab_param param = { .window_pkts = 4096 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		struct pmv_fault_rule tx = rule(PMV_FAULT_DELAY, PMV_FAULT_TX, 1.0, 0);
		struct pmv_fault_rule rx = rule(PMV_FAULT_DELAY, PMV_FAULT_RX, 1.0, 0);

		rc_lab_open(lab, &param);
		tx.delay_us = rx.delay_us = 10000000;
		add(lab, 0, k == 0 ? &tx : &rx);
		for (uint64_t i = 0; i < 8; i++)
			rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 5000, PMV_SEND_SIGNALED, i);
		rc_lab_run(lab, 100);
		assert_int_equal(lab->nb_wc[0], 0);
		assert_true(counts(lab, 0).delayed > 0);
		if (k < 2) {
			assert_int_equal(pmv_fault_clear(worker(lab, 0)), 0);
			assert_true(rc_lab_wait(lab, 0, 8, 200));
			check_off(lab);
		}
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* CM messages by their attribute: a REQ is lost, a REP, a datagram for another QP and data are not.
 */
static void
fuzzed_rules__cm_attr(void **state)
{
	static const uint16_t attrs[] = { 0x10, 0x13, 0x10, 0x14 };
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule r = rule(PMV_FAULT_DROP, PMV_FAULT_RX, 0, 0x2); /* the second REQ */
	struct craft *c = test_calloc(1, sizeof(*c));
	struct craft_path path;

	rc_lab_open(lab, &param);
	craft_path_get(&lab->pair, 1, true, 0, &path);
	r.cm_attr = 0x10;
	add(lab, 1, &r);
	for (uint32_t i = 0; i < 4; i++) {
		const struct pmv_bth bth = {
			.opcode = PMV_OPCODE_UD_SEND_ONLY, .pkey = PMV_PKEY_DEFAULT, .dqpn = 1
		};
		uint8_t mad[256] = { 1, 7, 2, 3 };

		pmv_be16_store(mad + 16, attrs[i]);
		craft_begin(c, &path, &bth);
		craft_put_deth(c, 0x80010000, 1);
		craft_put(c, mad, sizeof(mad));
		craft_end(c);
		craft_inject(&lab->pair, 1, c);
		rc_lab_run(lab, 5);
	}
	assert_int_equal(counts(lab, 1).dropped, 1);
	assert_int_equal(pmv_worker_stat(worker(lab, 1), "ctl_rx_drop_no_cm"), 3);
	converse(lab, 100000);
	assert_int_equal(counts(lab, 1).dropped, 1);
	test_free(c);
	rc_lab_close(lab);
	test_free(lab);
}

static void
fuzzed_rules__bad_rules(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_fault_rule good = rule(PMV_FAULT_DROP, PMV_FAULT_TX, 0, 1);
	struct pmv_fault_rule bad[10];
	struct pmv_fault_counts c;

	rc_lab_open(lab, &param);
	for (int i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].action = (enum pmv_fault_action)5;
	bad[1].dirs = 0;
	bad[2].dirs = 4;
	bad[3].mask = 0, bad[3].probability = 1.01;
	bad[4].mask = 0, bad[4].probability = -0.01;
	bad[5].opcode = 256;
	bad[6].qpn = 0x1000000;
	bad[7].cm_attr = 0x10000;
	bad[8].action = PMV_FAULT_DELAY;
	bad[9].action = PMV_FAULT_DELAY, bad[9].delay_us = 10000001;
	for (int i = 0; i < 10; i++)
		assert_int_equal(pmv_fault_add(worker(lab, 0), &bad[i], 1), -EINVAL);
	assert_int_equal(pmv_fault_add(worker(lab, 0), NULL, 1), -EINVAL);
	assert_int_equal(pmv_fault_add(NULL, &good, 1), -EINVAL);
	good.opcode = 0x7f; /* matches nothing */
	for (int i = 0; i < 8; i++)
		add(lab, 0, &good);
	assert_int_equal(pmv_fault_add(worker(lab, 0), &good, 1), -ENOSPC);
	converse(lab, 100000);
	c = counts(lab, 0);
	assert_int_equal(count_all(&c), 0);
	check_off(lab);
	rc_lab_close(lab);
	test_free(lab);
}

static void *
add_elsewhere(void *arg)
{
	struct pmv_fault_rule r = rule(PMV_FAULT_DROP, PMV_FAULT_TX, 0, 1);
	intptr_t rc = pmv_fault_add(arg, &r, 1);

	return (void *)(rc == -EPERM && pmv_fault_clear(arg) == -EPERM ? rc : 0);
}

static void
fuzzed_rules__owner_only(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	pthread_t thread;
	void *rc;

	rc_lab_open(lab, &param);
	assert_int_equal(pthread_create(&thread, NULL, add_elsewhere, worker(lab, 0)), 0);
	assert_int_equal(pthread_join(thread, &rc), 0);
	assert_int_equal((intptr_t)rc, -EPERM);
	rc_lab_close(lab);
	test_free(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzed_rules__every_action),
		cmocka_unit_test(fuzzed_rules__all_together),
		cmocka_unit_test(fuzzed_rules__mask_and_opcode),
		cmocka_unit_test(fuzzed_rules__qpn),
		cmocka_unit_test(fuzzed_rules__delay),
		cmocka_unit_test(fuzzed_rules__reorder),
		cmocka_unit_test(fuzzed_rules__duplicate_and_corrupt),
		cmocka_unit_test(fuzzed_rules__corrupt_spares_user_memory),
		cmocka_unit_test(fuzzed_rules__order),
		cmocka_unit_test(fuzzed_rules__repeatable),
		cmocka_unit_test(fuzzed_rules__held_frames),
		cmocka_unit_test(fuzzed_rules__cm_attr),
		cmocka_unit_test(fuzzed_rules__bad_rules),
		cmocka_unit_test(fuzzed_rules__owner_only),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
