// SPDX-License-Identifier: BSD-3-Clause
/*
 * RC under loss, duplication and reordering: every single loss of a mixed conversation in either
 * direction, and long random ones. Data, order and number of completions must be what they are on a
 * clean link.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "lib/wire/bth.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REMOTE  0x80000u
#define STRIDE  0x2000u
#define NB_MSGS 20u

static enum pmv_wr_opcode
op_of(uint32_t i)
{
	return (enum pmv_wr_opcode)(i % 5);
}

static uint32_t
len_of(uint32_t i)
{
	static const uint32_t lens[] = { 1, 1024, 2500, 0, 5000, 64, 4096 };

	return lens[i % 7];
}

static bool
needs_recv(enum pmv_wr_opcode op)
{
	return op == PMV_WR_SEND || op == PMV_WR_SEND_WITH_IMM || op == PMV_WR_RDMA_WRITE_WITH_IMM;
}

/* 20 messages of all kinds from side 0, then everything is checked. */
static void
converse(struct rc_lab *lab)
{
	uint32_t nb_recv = 0;

	for (uint32_t i = 0; i < NB_MSGS; i++) {
		bool read = op_of(i) == PMV_WR_RDMA_READ;

		rc_lab_fill(lab->mem[read] + (read ? REMOTE : 0) + i * STRIDE, len_of(i), i);
		if (!needs_recv(op_of(i)))
			continue;
		assert_int_equal(rc_lab_recv(lab, 1, REMOTE + i * STRIDE, STRIDE, i), 1);
		nb_recv++;
	}
	for (uint32_t i = 0; i < NB_MSGS; i++)
		assert_int_equal(rc_lab_post(lab, 0, op_of(i), i * STRIDE, REMOTE + i * STRIDE,
					 len_of(i), PMV_SEND_SIGNALED, i),
			1);
	assert_true(rc_lab_wait(lab, 0, NB_MSGS, 4000000));
	assert_true(rc_lab_wait(lab, 1, nb_recv, 1000));
	assert_int_equal(lab->nb_wc[0], NB_MSGS);
	assert_int_equal(lab->nb_wc[1], nb_recv);
	nb_recv = 0;
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		bool read = op_of(i) == PMV_WR_RDMA_READ;

		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[0][i].wr_id, i);
		if (needs_recv(op_of(i))) {
			assert_int_equal(lab->wc[1][nb_recv].status, PMV_WC_SUCCESS);
			assert_int_equal(lab->wc[1][nb_recv].wr_id, i);
			assert_int_equal(lab->wc[1][nb_recv].byte_len, len_of(i));
			nb_recv++;
		}
		assert_true(rc_lab_check(
			lab->mem[!read] + (read ? 0 : REMOTE) + i * STRIDE, len_of(i), i));
	}
}

/* Everything is answered, so no timer may still run towards a retry: a long silence changes
 * nothing. */
static void
check_quiet(struct rc_lab *lab)
{
	uint64_t sent[2];

	rc_lab_run(lab, 100);
	for (int i = 0; i < 2; i++)
		sent[i] = lab->pair.link->end[i].out.nb_frames;
	lab->step_us = 5000;
	rc_lab_run(lab, 200000);
	lab->step_us = 5;
	for (int i = 0; i < 2; i++)
		assert_int_equal(lab->pair.link->end[i].out.nb_frames, sent[i]);
}

enum what { LOSE, REPEAT, SWAP };

static void
run_mask(int dir, uint64_t mask, enum what what)
{
	const struct rc_lab_param param = { .seed = 7 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_test_dir *d;

	rc_lab_open(lab, &param);
	d = &lab->pair.link->end[dir].out;
	*(what == LOSE ? &d->drop_mask : what == REPEAT ? &d->dup_mask : &d->swap_mask) = mask;
	converse(lab);
	check_quiet(lab);
	rc_lab_close(lab);
	test_free(lab);
}

/* RC-304, RC-306, RC-313, RC-322: each frame of either direction is lost once; and each pair of
 * neighbours. */
static void
rc_loss__every_single_loss(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (int i = 0; i < 64; i++)
			run_mask(dir, 1ull << i, LOSE);
}

static void
rc_loss__every_pair_of_losses(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (int i = 0; i < 63; i++)
			run_mask(dir, 3ull << i, LOSE);
}

static void
rc_loss__every_duplicate(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (int i = 0; i < 64; i += 2)
			run_mask(dir, 5ull << i, REPEAT);
}

/* RC-314 */
static void
rc_loss__every_swap(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (int i = 0; i < 64; i++)
			run_mask(dir, 1ull << i, SWAP);
}

/* RC-315 in short: random loss, duplication and reordering both ways. */
static void
rc_loss__random(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct rc_lab_param param = { .seed = seed, .is_v6 = seed & 1 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));

		print_message("seed %u\n", (unsigned int)seed);
		rc_lab_open(lab, &param);
		for (int i = 0; i < 2; i++) {
			lab->pair.link->end[i].out.drop = 0.05;
			lab->pair.link->end[i].out.dup = 0.03;
			lab->pair.link->end[i].out.swap = 0.05;
		}
		for (int round = 0; round < 5; round++) {
			lab->nb_wc[0] = 0;
			lab->nb_wc[1] = 0;
			converse(lab);
		}
		rc_lab_close(lab);
		test_free(lab);
	}
}

/* RC-315: both sides talk at once, thousands of messages, each compared. */
static void
rc_loss__soak_both_ways(void **state)
{
	const struct rc_lab_param param = { .seed = 99 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint32_t done[2] = { 0 };
	uint32_t posted[2] = { 0 };
	const uint32_t nb = 3000;

	rc_lab_open(lab, &param);
	for (int i = 0; i < 2; i++) {
		lab->pair.link->end[i].out.drop = 0.01;
		lab->pair.link->end[i].out.dup = 0.01;
		lab->pair.link->end[i].out.swap = 0.01;
		rc_lab_fill(lab->mem[i] + REMOTE, 16 * STRIDE, 1000 + (uint32_t)i);
	}
	while (done[0] < nb || done[1] < nb) {
		for (int i = 0; i < 2; i++) {
			uint32_t slot = posted[i] % 16 * STRIDE;

			/* WRITEs of our pattern there, READs of the peer's pattern back: both
			 * regions stay constant */
			while (posted[i] < nb && posted[i] - done[i] < 16) {
				bool read = posted[i] & 1;
				uint32_t base = i == 0 ? 0x100000u : 0x140000u;

				slot = posted[i] % 16 * STRIDE;
				if (rc_lab_post(lab, i, read ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE,
					    read ? base + slot : REMOTE + slot,
					    read ? REMOTE + slot : base + slot,
					    1 + posted[i] * 37 % 5000, PMV_SEND_SIGNALED,
					    posted[i]) != 1)
					break;
				posted[i]++;
			}
		}
		rc_lab_run(lab, 5);
		for (int i = 0; i < 2; i++) {
			for (uint32_t k = 0; k < lab->nb_wc[i]; k++) {
				assert_int_equal(lab->wc[i][k].status, PMV_WC_SUCCESS);
				assert_int_equal(lab->wc[i][k].wr_id, done[i]++);
			}
			lab->nb_wc[i] = 0;
		}
	}
	for (uint32_t slot = 0; slot < 16; slot++) {
		/* odd slots were read from the peer, even ones written by it; the shortest of the
		 * last lengths is > 0 */
		assert_int_equal(lab->mem[0][0x100000u + slot * STRIDE],
			slot & 1 ? lab->mem[1][REMOTE + slot * STRIDE] : 0xa5);
		assert_int_equal(lab->mem[1][0x100000u + slot * STRIDE],
			slot & 1 ? 0xa5 : lab->mem[0][REMOTE + slot * STRIDE]);
	}
	rc_lab_close(lab);
	test_free(lab);
}

/* A large READ and a large WRITE under loss: resumed in the middle, over windows and turns. */
static void
rc_loss__one_mebibyte(void **state)
{
	for (int read = 0; read < 2; read++) {
		const struct rc_lab_param param = { .mtu = PMV_MTU_4096, .seed = 3 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));

		rc_lab_open(lab, &param);
		lab->pair.link->end[0].out.drop = 0.02;
		lab->pair.link->end[1].out.drop = 0.02;
		rc_lab_fill(lab->mem[read], 1u << 20, 42);
		assert_int_equal(rc_lab_post(lab, 0, read ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE, 0,
					 0, 1u << 20, PMV_SEND_SIGNALED, 1),
			1);
		assert_true(rc_lab_wait(lab, 0, 1, 2000000));
		assert_int_equal(lab->wc[0][0].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab->mem[!read], 1u << 20, 42));
		rc_lab_close(lab);
		test_free(lab);
	}
}

static void
slow_timeout(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 18;
}

/* RC-323: a long way without loss: nothing is sent twice; with one loss the first resend comes
 * between T and 4T. */
static void
rc_loss__long_delay_resends_nothing(void **state)
{
	const struct rc_lab_param param = { .tune = slow_timeout };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_qp_stats stats;
	uint64_t start;

	rc_lab_open(lab, &param);
	lab->step_us = 100;
	for (int i = 0; i < 2; i++)
		lab->pair.link->end[i].out.delay_us = 40000;
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(rc_lab_post(lab, 0, i & 1 ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE,
					 0, REMOTE, 3000, PMV_SEND_SIGNALED, i),
			1);
		if (i == 4)
			assert_true(rc_lab_wait(lab, 0, 5, 2000000));
	}
	assert_true(rc_lab_wait(lab, 0, 10, 2000000));
	pmv_qp_get_stats(lab->qp[0], &stats);
	assert_int_equal(stats.retx_pkts, 0);
	assert_int_equal(stats.timeouts, 0);
	rc_lab_close(lab);

	rc_lab_open(lab, &param);
	lab->pair.link->end[0].out.drop_mask = 1;
	start = lab->pair.now;
	assert_int_equal(
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8, PMV_SEND_SIGNALED, 1), 1);
	lab->step_us = 100;
	assert_true(rc_lab_wait(lab, 0, 1, 6000000));
	start = (lab->pair.now - start) / lab->pair.link->ticks_per_us;
	assert_in_range(start, 1073000, 4 * 1073742);
	pmv_qp_get_stats(lab->qp[0], &stats);
	assert_int_equal(stats.timeouts, 1);
	rc_lab_close(lab);
	test_free(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_loss__every_single_loss),
		cmocka_unit_test(rc_loss__every_pair_of_losses),
		cmocka_unit_test(rc_loss__every_duplicate),
		cmocka_unit_test(rc_loss__every_swap),
		cmocka_unit_test(rc_loss__random),
		cmocka_unit_test(rc_loss__soak_both_ways),
		cmocka_unit_test(rc_loss__one_mebibyte),
		cmocka_unit_test(rc_loss__long_delay_resends_nothing),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
