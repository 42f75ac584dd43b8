// SPDX-License-Identifier: BSD-3-Clause
/*
 * Remote atomics between two nodes: what they do, the bytes on the wire, every loss, duplicate and
 * swap of a conversation with READs, WRITEs and a SEND around them, duplicates for ever, what is
 * refused by whom, and how many may be out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define FIRST 0x000100u /* PSN of the first request of side 0 */
#define WORD  0x8000u   /* offset of the word under test in the memory of side 1 */
#define FOUND 0x4000u   /* offset of what was found in the memory of side 0 */

static uint8_t max_out = 4, max_in = 4;
static uint32_t rights =
	PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC;

static void
tune(int side, struct pmv_qp_attr *attr)
{
	if (side == 0)
		attr->sq_psn = FIRST;
	else
		attr->rq_psn = FIRST;
	attr->max_rd_atomic = max_out;
	attr->max_dest_rd_atomic = max_in;
	attr->qp_access_flags = rights;
}

static struct rc_lab *
open_lab(void)
{
	const struct rc_lab_param param = { .tune = tune, .seed = 7 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	return lab;
}

static void
close_lab(struct rc_lab *lab)
{
	rc_lab_close(lab);
	test_free(lab);
}

static uint64_t
word_of(const struct rc_lab *lab, int side, uint32_t off)
{
	uint64_t v;

	memcpy(&v, lab->mem[side] + off, sizeof(v));
	return v;
}

static void
set_word(struct rc_lab *lab, int side, uint32_t off, uint64_t v)
{
	memcpy(lab->mem[side] + off, &v, sizeof(v));
}

/* An atomic of side 0. */
struct atomic {
	enum pmv_wr_opcode op;
	uint32_t found;  /* offset in our memory */
	uint64_t remote; /* address */
	uint32_t rkey;   /* 0: the lab's */
	uint64_t compare_add;
	uint64_t swap;
	uint32_t flags;
	uint64_t wr_id;
};

static int
post(struct rc_lab *lab, const struct atomic *a)
{
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[0] + a->found), 8,
		pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = { .wr_id = a->wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = a->op,
		.send_flags = a->flags | PMV_SEND_SIGNALED };

	wr.wr.atomic.remote_addr = a->remote;
	wr.wr.atomic.rkey = a->rkey != 0 ? a->rkey : pmv_mr_rkey(lab->mr[1]);
	wr.wr.atomic.compare_add = a->compare_add;
	wr.wr.atomic.swap = a->swap;
	return pmv_post_send(lab->qp[0], &wr, 1);
}

static uint64_t
remote(const struct rc_lab *lab, uint32_t off)
{
	return (uintptr_t)lab->mem[1] + off;
}

static struct atomic
fetch_add(const struct rc_lab *lab, uint64_t add)
{
	return (struct atomic){ .op = PMV_WR_ATOMIC_FETCH_AND_ADD,
		.found = FOUND,
		.remote = remote(lab, WORD),
		.compare_add = add };
}

static struct atomic
comp_swap(const struct rc_lab *lab, uint64_t compare, uint64_t swap)
{
	return (struct atomic){ .op = PMV_WR_ATOMIC_CMP_AND_SWP,
		.found = FOUND,
		.remote = remote(lab, WORD),
		.compare_add = compare,
		.swap = swap };
}

/* Runs one atomic; its completion's status. */
static enum pmv_wc_status
run(struct rc_lab *lab, struct atomic a)
{
	const struct pmv_wc *wc = &lab->wc[0][lab->nb_wc[0]];

	a.wr_id = 1000 + lab->nb_wc[0];
	assert_int_equal(post(lab, &a), 1);
	assert_true(rc_lab_wait(lab, 0, lab->nb_wc[0] + 1, 100000));
	assert_int_equal(wc->wr_id, a.wr_id);
	if (wc->status == PMV_WC_SUCCESS) {
		assert_int_equal(wc->opcode,
			a.op == PMV_WR_ATOMIC_CMP_AND_SWP ? PMV_WC_COMP_SWAP : PMV_WC_FETCH_ADD);
		assert_int_equal(wc->byte_len, 8);
		assert_int_equal(wc->qp_num, pmv_qp_num(lab->qp[0]));
	}
	return wc->status;
}

/* IBTA 9.4.5: what each does, and what is found; MR-408: at offsets 0 and 8. */
static void
rc_atomic__values(void **state)
{
	struct rc_lab *lab = open_lab();
	struct atomic a;

	set_word(lab, 1, WORD, 0xfffffffffffffff0ull);
	assert_int_equal(run(lab, fetch_add(lab, 0x21)), PMV_WC_SUCCESS);
	assert_true(word_of(lab, 0, FOUND) == 0xfffffffffffffff0ull);
	assert_true(word_of(lab, 1, WORD) == 0x11); /* wraps */
	assert_int_equal(run(lab, comp_swap(lab, 0x12, 5)), PMV_WC_SUCCESS);
	assert_true(word_of(lab, 0, FOUND) == 0x11);
	assert_true(word_of(lab, 1, WORD) == 0x11);
	assert_int_equal(run(lab, comp_swap(lab, 0x11, 0x0102030405060708ull)), PMV_WC_SUCCESS);
	assert_true(word_of(lab, 0, FOUND) == 0x11);
	assert_true(word_of(lab, 1, WORD) == 0x0102030405060708ull);
	a = fetch_add(lab, (uint64_t)-1);
	a.remote += 8;
	a.found = FOUND + 3; /* where the value goes is nobody's business */
	set_word(lab, 1, WORD + 8, 0);
	assert_int_equal(run(lab, a), PMV_WC_SUCCESS);
	assert_true(word_of(lab, 0, FOUND + 3) == 0);
	assert_true(word_of(lab, 1, WORD + 8) == UINT64_MAX);
	assert_true(word_of(lab, 1, WORD + 16) == 0xa5a5a5a5a5a5a5a5ull);
	close_lab(lab);
}

struct tap {
	uint8_t bytes[16][128];
	uint32_t len[16];
	uint32_t nb;
};

/* From the BTH to before the ICRC. */
static enum pmv_test_fate
tap(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct tap *t = arg;

	assert_true(t->nb < 16 && m->pkt_len > 46 && m->pkt_len - 46 <= 128);
	t->len[t->nb] = m->pkt_len - 46;
	assert_int_equal(m->nb_segs, 1);
	memcpy(t->bytes[t->nb++], rte_pktmbuf_mtod_offset(m, uint8_t *, 42), m->pkt_len - 46);
	return PMV_TEST_PASS;
}

static void
expect_bytes(const struct tap *t, uint32_t i, const uint8_t *want, uint32_t len)
{
	assert_true(i < t->nb);
	assert_int_equal(t->len[i], len);
	assert_memory_equal(t->bytes[i], want, len);
}

/* IBTA 9.3.3 (AtomicETH), 9.3.5.3 (AtomicAckETH), table 38: every byte but the keys and numbers
 * that the lab draws. */
static void
rc_atomic__bytes_on_the_wire(void **state)
{
	uint8_t add[40] = { 0x14, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x00,
		/* VA */ 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* R_Key */ 0, 0, 0, 0,
		/* add */ 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		/* nothing to compare */ 0, 0, 0, 0, 0, 0, 0, 0 };
	uint8_t swap[40] = { 0x13, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x01,
		/* VA */ 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x90, /* R_Key */ 0, 0, 0, 0,
		/* swap */ 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
		/* compare */ 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8 };
	uint8_t found_1[24] = { 0x12, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x01, 0x00,
		/* AETH */ 0x1f, 0, 0, 1, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 };
	uint8_t found_2[24] = { 0x12, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x01, 0x01,
		/* AETH */ 0x1f, 0, 0, 2, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8 };
	struct rc_lab *lab = open_lab();
	struct tap *t = test_calloc(2, sizeof(*t));
	struct atomic a;
	struct pmv_mr *mr;

	assert_int_equal(
		pmv_reg_mr_iova(lab->pair.node[1].pd, lab->mem[1] + WORD, 16, 0x1122334455667788ull,
			PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_ATOMIC, &mr),
		0);
	for (int i = 0; i < 2; i++) {
		lab->pair.link->end[i].out.hook = tap;
		lab->pair.link->end[i].out.hook_arg = &t[i];
	}
	set_word(lab, 1, WORD, 0xd1d2d3d4d5d6d7d8ull);
	set_word(lab, 1, WORD + 8, 0xe1e2e3e4e5e6e7e8ull);
	a = fetch_add(lab, 0x0102030405060708ull);
	a.rkey = pmv_mr_rkey(mr);
	a.remote = 0x1122334455667788ull;
	assert_int_equal(run(lab, a), PMV_WC_SUCCESS);
	a = comp_swap(lab, 0xe1e2e3e4e5e6e7e8ull, 0xf1f2f3f4f5f6f7f8ull);
	a.rkey = pmv_mr_rkey(mr);
	a.remote = 0x1122334455667790ull;
	assert_int_equal(run(lab, a), PMV_WC_SUCCESS);
	pmv_be32_store(add + 4, pmv_qp_num(lab->qp[1]));
	pmv_be32_store(swap + 4, pmv_qp_num(lab->qp[1]));
	pmv_be32_store(found_1 + 4, pmv_qp_num(lab->qp[0]));
	pmv_be32_store(found_2 + 4, pmv_qp_num(lab->qp[0]));
	pmv_be32_store(add + 20, pmv_mr_rkey(mr));
	pmv_be32_store(swap + 20, pmv_mr_rkey(mr));
	expect_bytes(&t[0], 0, add, sizeof(add));
	expect_bytes(&t[0], 1, swap, sizeof(swap));
	expect_bytes(&t[1], 0, found_1, sizeof(found_1));
	expect_bytes(&t[1], 1, found_2, sizeof(found_2));
	assert_int_equal(t[0].nb, 2);
	assert_int_equal(t[1].nb, 2);
	assert_true(word_of(lab, 1, WORD) == 0xd2d4d6d8dadcdee0ull);
	assert_true(word_of(lab, 1, WORD + 8) == 0xf1f2f3f4f5f6f7f8ull);
	rc_lab_dereg(mr);
	close_lab(lab);
	test_free(t);
}

#define START 0x1000000000000001ull
#define ADD   0x0000000100000010ull
#define SWAP  0x0badc0de0badcafeull

/* READ, FETCH_ADD, WRITE, COMPARE_SWAP, READ, SEND; then everything is as on a clean link. */
static void
converse(struct rc_lab *lab)
{
	struct atomic a;

	rc_lab_fill(lab->mem[1], 2500, 1);
	rc_lab_fill(lab->mem[0] + 0x10000, 2000, 2);
	rc_lab_fill(lab->mem[0] + 0x20000, 100, 3);
	set_word(lab, 1, WORD, START);
	assert_int_equal(rc_lab_recv(lab, 1, 0x20000, 100, 77), 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0, 0, 2500, PMV_SEND_SIGNALED, 0);
	a = fetch_add(lab, ADD);
	a.wr_id = 1;
	assert_int_equal(post(lab, &a), 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0x10000, 0x10000, 2000, PMV_SEND_SIGNALED, 2);
	a = comp_swap(lab, START + ADD, SWAP);
	a.found = FOUND + 8;
	a.wr_id = 3;
	assert_int_equal(post(lab, &a), 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_READ, FOUND + 16, WORD, 8, PMV_SEND_SIGNALED, 4);
	rc_lab_post(lab, 0, PMV_WR_SEND, 0x20000, 0, 100, PMV_SEND_SIGNALED, 5);
	assert_true(rc_lab_wait(lab, 0, 6, 1000000));
	assert_true(rc_lab_wait(lab, 1, 1, 1000));
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i);
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
	}
	assert_int_equal(lab->wc[1][0].status, PMV_WC_SUCCESS);
	assert_true(rc_lab_check(lab->mem[0], 2500, 1));
	assert_true(rc_lab_check(lab->mem[1] + 0x10000, 2000, 2));
	assert_true(rc_lab_check(lab->mem[1] + 0x20000, 100, 3));
	assert_true(word_of(lab, 0, FOUND) == START);
	assert_true(word_of(lab, 0, FOUND + 8) == START + ADD);
	assert_true(word_of(lab, 0, FOUND + 16) == SWAP);
	rc_lab_run(lab, 2000); /* what may still come changes nothing */
	assert_true(word_of(lab, 1, WORD) == SWAP);
	assert_int_equal(lab->nb_wc[0], 6);
	assert_int_equal(lab->nb_wc[1], 1);
}

enum what { LOSE, REPEAT, SWAPPED };

static void
run_mask(int dir, uint64_t mask, enum what what)
{
	struct rc_lab *lab = open_lab();
	struct pmv_test_dir *d = &lab->pair.link->end[dir].out;

	*(what == LOSE ? &d->drop_mask : what == REPEAT ? &d->dup_mask : &d->swap_mask) = mask;
	converse(lab);
	close_lab(lab);
}

/* RC-304, RC-313: each set of losses among the seven request frames, and among the first eight
 * answers; single later ones, which are repairs. */
static void
rc_atomic__every_loss(void **state)
{
	for (uint64_t mask = 0; mask < 1 << 7; mask++)
		run_mask(0, mask, LOSE);
	for (uint64_t mask = 0; mask < 1 << 8; mask++)
		run_mask(1, mask, LOSE);
	for (int dir = 0; dir < 2; dir++)
		for (int i = 7; i < 16; i++)
			run_mask(dir, 1ull << i, LOSE);
}

static void
rc_atomic__every_duplicate(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (uint64_t i = 0; i < 10; i++)
			run_mask(dir, 1ull << i, REPEAT);
	run_mask(0, UINT64_MAX, REPEAT);
	run_mask(1, UINT64_MAX, REPEAT);
}

/* RC-314 */
static void
rc_atomic__every_swap(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (uint64_t i = 0; i < 10; i++)
			run_mask(dir, 1ull << i, SWAPPED);
	run_mask(0, 0x5555, SWAPPED);
	run_mask(1, 0x5555, SWAPPED);
}

/* Many atomics at the depth that was agreed, over a bad link: the sum is right, and each finds
 * what the one before it left. */
static void
rc_atomic__random(void **state)
{
	static const uint8_t depth[] = { 1, 2, 4, 16 };

	for (uint32_t seed = 0; seed < 12; seed++) {
		struct rc_lab *lab;
		uint64_t sum = 0;

		max_out = depth[seed % 4];
		max_in = depth[seed % 4];
		lab = open_lab();
		for (int i = 0; i < 2; i++) {
			lab->pair.link->end[i].out.drop = 0.05;
			lab->pair.link->end[i].out.dup = 0.05;
			lab->pair.link->end[i].out.swap = 0.05;
		}
		pmv_random_init(&lab->pair.link->random, seed);
		set_word(lab, 1, WORD, 0);
		for (uint32_t i = 0; i < 400; i++) {
			struct atomic a = fetch_add(lab, i + 1);

			if (i % 5 == 4)
				a = comp_swap(lab, sum + (i % 2), sum + 7);
			a.found = FOUND + 8 * i;
			a.wr_id = i;
			a.flags = i % 7 == 0 ? PMV_SEND_FENCE : 0;
			while (post(lab, &a) != 1)
				rc_lab_run(lab, 5);
			/* expected to be found, kept in our memory of the other side */
			set_word(lab, 0, 0x10000 + 8 * i, sum);
			if (i % 5 != 4)
				sum += i + 1;
			else if (i % 2 == 0)
				sum += 7;
		}
		assert_true(rc_lab_wait(lab, 0, 400, 4000000));
		for (uint32_t i = 0; i < 400; i++) {
			assert_int_equal(lab->wc[0][i].wr_id, i);
			assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
			assert_true(
				word_of(lab, 0, FOUND + 8 * i) == word_of(lab, 0, 0x10000 + 8 * i));
		}
		rc_lab_run(lab, 2000);
		assert_true(word_of(lab, 1, WORD) == sum);
		close_lab(lab);
	}
	max_out = 4;
	max_in = 4;
}

/* A frame of side 0 that the test makes. */
static void
craft_request(struct rc_lab *lab, struct craft *c, uint8_t opcode, uint32_t psn,
	const struct pmv_atomic_eth *h)
{
	const struct pmv_bth bth = { .opcode = opcode,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->qp[1]),
		.ackreq = true,
		.psn = pmv_psn(psn) };
	struct craft_path path;

	craft_path_get(&lab->pair, 1, false, 0, &path);
	craft_begin(c, &path, &bth);
	craft_put_atomic(c, h);
	craft_end(c);
}

static void
inject(struct rc_lab *lab, const struct craft *c)
{
	craft_inject(&lab->pair, 1, c);
	rc_lab_run(lab, 10);
}

static enum pmv_test_fate
tap_and_drop(void *arg, struct rte_mbuf *m, uint64_t index)
{
	tap(arg, m, index);
	return PMV_TEST_DROP;
}

/* RC-313: a duplicate is answered from what was stored, a thousand times, and never executed
 * again; one that was overwritten, or is not what was stored, is met with silence. */
static void
rc_atomic__duplicates_for_ever(void **state)
{
	for (int swap = 0; swap < 2; swap++) {
		struct rc_lab *lab = open_lab();
		struct tap *t = test_calloc(1, sizeof(*t));
		struct pmv_atomic_eth h = { remote(lab, WORD), pmv_mr_rkey(lab->mr[1]), 5,
			swap ? 100 : 0 };
		uint8_t op = swap ? PMV_OPCODE_RC_COMPARE_SWAP : PMV_OPCODE_RC_FETCH_ADD;
		struct craft c;

		lab->pair.link->end[1].out.hook = tap_and_drop;
		lab->pair.link->end[1].out.hook_arg = t;
		set_word(lab, 1, WORD, 100);
		craft_request(lab, &c, op, FIRST, &h);
		inject(lab, &c);
		assert_true(word_of(lab, 1, WORD) == (swap ? 5 : 105));
		set_word(lab, 1, WORD, 100); /* as if somebody else had changed it: CS would hit */
		for (int i = 0; i < 1000; i++) {
			assert_int_equal(t->nb, 1);
			assert_int_equal(t->bytes[0][0], PMV_OPCODE_RC_ATOMIC_ACK);
			assert_int_equal(pmv_be32_load(t->bytes[0] + 8), FIRST);
			assert_int_equal(pmv_be32_load(t->bytes[0] + 12), 0x1f000001);
			assert_true(pmv_be64_load(t->bytes[0] + 16) == 100);
			assert_true(word_of(lab, 1, WORD) == 100);
			t->nb = 0;
			inject(lab, &c);
		}
		t->nb = 0;
		for (int k = 0; k < 3; k++) { /* not the same request */
			struct pmv_atomic_eth other = h;

			other.va += k == 0 ? 8 : 0;
			other.rkey ^= k == 1 ? 1 : 0;
			craft_request(lab, &c,
				k == 2 ? PMV_OPCODE_RC_COMPARE_SWAP + PMV_OPCODE_RC_FETCH_ADD - op
				       : op,
				FIRST, &other);
			inject(lab, &c);
			assert_int_equal(t->nb, 0);
		}
		for (uint32_t i = 1; i <= 4; i++) { /* pushes the first one out */
			craft_request(lab, &c, PMV_OPCODE_RC_FETCH_ADD, FIRST + i, &h);
			inject(lab, &c);
		}
		assert_int_equal(t->nb, 4);
		t->nb = 0;
		craft_request(lab, &c, op, FIRST, &h);
		inject(lab, &c);
		assert_int_equal(t->nb, 0);
		assert_true(word_of(lab, 1, WORD) == 120);
		assert_int_equal(
			pmv_worker_stat(lab->pair.node[1].worker[0], "rx_drop_dup_read"), 4);
		assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_RTS);
		close_lab(lab);
		test_free(t);
	}
}

/* The atomic is refused: this status here, nothing changed there, both QPs in ERR. */
static void
refused(struct rc_lab *lab, struct atomic a, enum pmv_wc_status status)
{
	uint8_t *before = test_malloc(RC_LAB_BYTES);

	memcpy(before, lab->mem[1], RC_LAB_BYTES);
	assert_int_equal(run(lab, a), status);
	rc_lab_run(lab, 100);
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_ERR);
	assert_memory_equal(before, lab->mem[1], RC_LAB_BYTES);
	test_free(before);
}

static struct atomic
either(const struct rc_lab *lab, int k)
{
	return k ? comp_swap(lab, 0xa5a5a5a5a5a5a5a5ull, 1) : fetch_add(lab, 1);
}

/* MR-408: 1..7 bytes off: NAK invalid request. */
static void
rc_atomic__unaligned(void **state)
{
	for (int k = 0; k < 2; k++) {
		for (uint32_t off = 0; off <= 8; off++) {
			struct rc_lab *lab = open_lab();
			struct atomic a = either(lab, k);

			a.remote += off;
			if (off % 8 == 0)
				assert_int_equal(run(lab, a), PMV_WC_SUCCESS);
			else
				refused(lab, a, PMV_WC_REM_INV_REQ_ERR);
			close_lab(lab);
		}
	}
}

/* Aligned as the region names it, but not where it is: the CPU could not do it in one piece. */
static void
rc_atomic__unaligned_region(void **state)
{
	struct rc_lab *lab = open_lab();
	struct atomic a = fetch_add(lab, 1);
	struct pmv_mr *mr;

	assert_int_equal(pmv_reg_mr_iova(lab->pair.node[1].pd, lab->mem[1] + WORD + 4, 64, 0x10000,
				 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_ATOMIC, &mr),
		0);
	a.rkey = pmv_mr_rkey(mr);
	a.remote = 0x10000;
	refused(lab, a, PMV_WC_REM_INV_REQ_ERR);
	rc_lab_dereg(mr);
	close_lab(lab);
}

/* MR-401: ranges of a region at iova 0x10000 and of one that ends at 2^64. */
static void
rc_atomic__bounds(void **state)
{
	static const struct {
		uint64_t va;
		bool high;
		bool good;
	} rows[] = { { 0xfffffffffffffff8ull, false, false }, { 0xfff8, false, false },
		{ 0x11000, false, false }, { 0x10ff8, false, true }, { 0x10000, false, true },
		{ 0xfffffffffffffff8ull, true, true }, { 0xfffffffffffff000ull, true, true },
		{ 0xffffffffffffeff8ull, true, false }, { 0, true, false } };

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < RTE_DIM(rows); i++) {
			struct rc_lab *lab = open_lab();
			struct atomic a = either(lab, k);
			struct pmv_mr *mr;

			assert_int_equal(
				pmv_reg_mr_iova(lab->pair.node[1].pd, lab->mem[1] + WORD, 0x1000,
					rows[i].high ? 0xfffffffffffff000ull : 0x10000,
					PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_ATOMIC, &mr),
				0);
			a.rkey = pmv_mr_rkey(mr);
			a.remote = rows[i].va;
			if (rows[i].good)
				assert_int_equal(run(lab, a), PMV_WC_SUCCESS);
			else
				refused(lab, a, PMV_WC_REM_ACCESS_ERR);
			rc_lab_dereg(mr);
			close_lab(lab);
		}
	}
}

/* RC-303: a key without the right, of another PD, dead or unknown: NAK remote access. */
static void
rc_atomic__keys(void **state)
{
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 4; i++) {
			struct rc_lab *lab = open_lab();
			struct atomic a = either(lab, k);
			uint32_t access = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
					  PMV_ACCESS_REMOTE_READ |
					  (i == 0 ? 0 : PMV_ACCESS_REMOTE_ATOMIC);
			struct pmv_pd *pd;
			struct pmv_mr *mr;
			struct pmv_event ev;

			assert_int_equal(pmv_alloc_pd(lab->pair.node[1].dev, &pd), 0);
			assert_int_equal(pmv_reg_mr(i == 1 ? pd : lab->pair.node[1].pd,
						 lab->mem[1] + WORD, 64, access, &mr),
				0);
			a.rkey = pmv_mr_rkey(mr) ^ (i == 2 ? 0x80000000u : 0);
			if (i == 3)
				rc_lab_dereg(mr);
			refused(lab, a, PMV_WC_REM_ACCESS_ERR);
			if (i != 3)
				rc_lab_dereg(mr);
			rc_lab_run(lab, 20);
			while (pmv_poll_async_event(lab->pair.node[1].dev, &ev) == 1)
				continue;
			assert_int_equal(pmv_dealloc_pd(pd), 0);
			close_lab(lab);
		}
	}
}

/* RC-303 (b), RC-311: switched off at the QP, or none agreed: NAK invalid request. With
 * max_rd_atomic 0 here the post refuses. */
static void
rc_atomic__not_enabled(void **state)
{
	const uint32_t all = rights;
	struct rc_lab *lab;

	for (int k = 0; k < 2; k++) {
		struct atomic a;

		rights = all & ~(uint32_t)PMV_ACCESS_REMOTE_ATOMIC;
		lab = open_lab();
		refused(lab, either(lab, k), PMV_WC_REM_INV_REQ_ERR);
		close_lab(lab);
		rights = all;
		max_in = 0;
		lab = open_lab();
		refused(lab, either(lab, k), PMV_WC_REM_INV_REQ_ERR);
		close_lab(lab);
		max_in = 4;
		max_out = 0;
		lab = open_lab();
		a = either(lab, k);
		assert_int_equal(post(lab, &a), -EINVAL);
		close_lab(lab);
		max_out = 4;
	}
}

/* Many more than the peer agreed to, all at once: the ones that fit are executed and answered, the
 * next is refused before it does anything. */
static void
rc_atomic__overrun(void **state)
{
	struct rc_lab *lab = open_lab();
	struct tap *t = test_calloc(1, sizeof(*t));
	const struct pmv_atomic_eth h = { remote(lab, WORD), pmv_mr_rkey(lab->mr[1]), 1, 0 };
	struct rte_mbuf *m[6], *foreign[6];
	struct craft c;

	lab->pair.link->end[1].out.hook = tap_and_drop;
	lab->pair.link->end[1].out.hook_arg = t;
	set_word(lab, 1, WORD, 0);
	for (uint32_t i = 0; i < 6; i++) {
		craft_request(lab, &c, PMV_OPCODE_RC_FETCH_ADD, FIRST + i, &h);
		m[i] = craft_mbuf(lab->pair.link->pool, &c, 0, 0);
	}
	assert_int_equal(pmv_worker_input(lab->pair.node[1].worker[0], m, 6, foreign), 0);
	rc_lab_run(lab, 10);
	assert_true(word_of(lab, 1, WORD) == 4);
	assert_int_equal(t->nb, 5);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(t->bytes[i][0], PMV_OPCODE_RC_ATOMIC_ACK);
		assert_int_equal(pmv_be32_load(t->bytes[i] + 8), FIRST + i);
		assert_true(pmv_be64_load(t->bytes[i] + 16) == i);
	}
	assert_int_equal(t->bytes[4][0], PMV_OPCODE_RC_ACK);
	assert_int_equal(pmv_be32_load(t->bytes[4] + 8), FIRST + 4);
	assert_int_equal(t->bytes[4][12], PMV_SYNDROME_NAK_INV_REQ);
	close_lab(lab);
	test_free(t);
}

/* What the post refuses, and what fails here. */
static void
rc_atomic__local(void **state)
{
	struct rc_lab *lab = open_lab();
	struct pmv_sge sge[2] = { { (uintptr_t)lab->mem[0], 8, pmv_mr_lkey(lab->mr[0]) },
		{ (uintptr_t)lab->mem[0] + 8, 8, pmv_mr_lkey(lab->mr[0]) } };
	struct pmv_send_wr wr = { .sg_list = sge, .num_sge = 1 };

	wr.wr.atomic.remote_addr = remote(lab, WORD);
	wr.wr.atomic.rkey = pmv_mr_rkey(lab->mr[1]);
	for (int k = 0; k < 2; k++) {
		static const uint32_t lens[] = { 0, 4, 7, 9, 16 };

		wr.opcode = k ? PMV_WR_ATOMIC_CMP_AND_SWP : PMV_WR_ATOMIC_FETCH_AND_ADD;
		for (size_t i = 0; i < RTE_DIM(lens); i++) {
			sge[0].length = lens[i];
			assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
		}
		sge[0].length = 4;
		sge[1].length = 4;
		wr.num_sge = 2;
		assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
		wr.num_sge = 0;
		assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
		wr.num_sge = 1;
		sge[0].length = 8;
		wr.send_flags = PMV_SEND_INLINE;
		assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
		wr.send_flags = 0;
	}
	sge[0].lkey ^= 1; /* the peer executes it, but there is nowhere to say so */
	set_word(lab, 1, WORD, 4);
	wr.wr.atomic.compare_add = 4;
	wr.wr.atomic.swap = 6;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	assert_true(rc_lab_wait(lab, 0, 1, 1000));
	assert_int_equal(lab->wc[0][0].status, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_ERR);
	assert_true(word_of(lab, 1, WORD) == 6);
	close_lab(lab);
}

struct watch {
	uint32_t out;
	uint32_t out_max;
};

static enum pmv_test_fate
watch_requests(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct watch *w = arg;
	uint8_t op = *rte_pktmbuf_mtod_offset(m, uint8_t *, 42);

	if (op == PMV_OPCODE_RC_READ_REQUEST || op == PMV_OPCODE_RC_FETCH_ADD)
		w->out++;
	w->out_max = RTE_MAX(w->out_max, w->out);
	return PMV_TEST_PASS;
}

static enum pmv_test_fate
watch_answers(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct watch *w = arg;

	w->out--;
	return PMV_TEST_PASS;
}

/* IBTA 9.7.3: READs and atomics share one limit, and it is used. */
static void
rc_atomic__depth(void **state)
{
	static const uint8_t depth[] = { 1, 2, 16 };

	for (size_t k = 0; k < RTE_DIM(depth); k++) {
		struct watch w = { 0 };
		struct rc_lab *lab;

		max_out = depth[k];
		max_in = depth[k];
		lab = open_lab();
		for (int i = 0; i < 2; i++) {
			lab->pair.link->end[i].out.hook = i == 0 ? watch_requests : watch_answers;
			lab->pair.link->end[i].out.hook_arg = &w;
			lab->pair.link->end[i].out.delay_us = 20;
		}
		set_word(lab, 1, WORD, 0);
		for (uint32_t i = 0; i < 100; i++) {
			struct atomic a = fetch_add(lab, 1);

			a.wr_id = i;
			while ((i & 1 ? post(lab, &a)
				      : rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0, 0, 8,
						PMV_SEND_SIGNALED, i)) != 1)
				rc_lab_run(lab, 5);
		}
		assert_true(rc_lab_wait(lab, 0, 100, 100000));
		assert_true(word_of(lab, 1, WORD) == 50);
		assert_int_equal(w.out_max, depth[k]);
		assert_int_equal(w.out, 0);
		close_lab(lab);
	}
	max_out = 4;
	max_in = 4;
}

/* RC-307: a fenced request leaves after the answer of the atomic before it, and carries it. */
static void
rc_atomic__fence(void **state)
{
	struct rc_lab *lab = open_lab();
	struct atomic a = fetch_add(lab, 1);

	lab->pair.link->end[1].out.delay_us = 300;
	set_word(lab, 1, WORD, 0x77);
	assert_int_equal(rc_lab_recv(lab, 1, 0, 8, 1), 1);
	assert_int_equal(post(lab, &a), 1);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_SEND, FOUND, 0, 8,
				 PMV_SEND_SIGNALED | PMV_SEND_FENCE, 2),
		1);
	rc_lab_run(lab, 200);
	assert_int_equal(lab->nb_wc[1], 0);
	assert_true(rc_lab_wait(lab, 1, 1, 5000));
	assert_true(word_of(lab, 1, 0) == 0x77);
	close_lab(lab);
}

static void
rc_atomic__device_tells(void **state)
{
	struct rc_lab *lab = open_lab();
	struct pmv_device_attr attr;

	assert_int_equal(pmv_query_device(lab->pair.node[0].dev, &attr), 0);
	assert_int_equal(attr.atomic_cap, PMV_ATOMIC_GLOB);
	assert_int_equal(attr.max_rd_atomic, 16);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_atomic__values),
		cmocka_unit_test(rc_atomic__bytes_on_the_wire),
		cmocka_unit_test(rc_atomic__every_loss),
		cmocka_unit_test(rc_atomic__every_duplicate),
		cmocka_unit_test(rc_atomic__every_swap),
		cmocka_unit_test(rc_atomic__random),
		cmocka_unit_test(rc_atomic__duplicates_for_ever),
		cmocka_unit_test(rc_atomic__unaligned),
		cmocka_unit_test(rc_atomic__unaligned_region),
		cmocka_unit_test(rc_atomic__bounds),
		cmocka_unit_test(rc_atomic__keys),
		cmocka_unit_test(rc_atomic__not_enabled),
		cmocka_unit_test(rc_atomic__overrun),
		cmocka_unit_test(rc_atomic__local),
		cmocka_unit_test(rc_atomic__depth),
		cmocka_unit_test(rc_atomic__fence),
		cmocka_unit_test(rc_atomic__device_tells),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
