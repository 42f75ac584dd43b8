// SPDX-License-Identifier: BSD-3-Clause
/*
 * Retry counters on links that stay bad for long: what may go on for ever does, and what makes
 * progress never ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define ROUNDS 1000u

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->min_rnr_timer = 1;
	attr->timeout = 8; /* 1 ms */
	attr->retry_cnt = 3;
	attr->rnr_retry = 7;
}

static void
tune_selective(int side, struct pmv_qp_attr *attr)
{
	tune(side, attr);
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

/* RC-301: RNR retry count 7 means for ever, also when one RNR NAK in ten is lost: no count of lost
 * ones ends it while others arrive. Nothing was ever answered otherwise, so no round trip is known
 * and only the ACK timeout finds out about a lost one. */
static void
rnr__for_ever_although_some_naks_are_lost(void **state)
{
	for (int selective = 0; selective < 2; selective++) {
		const struct rc_lab_param p = { .tune = selective ? tune_selective : tune,
			.seed = 3 };
		struct pmv_qp_stats stats;
		struct rc_lab lab;

		rc_lab_open(&lab, &p);
		rc_lab_fill(lab.mem[0], 3000, 5);
		lab.pair.link->end[1].out.drop = 0.1;
		assert_int_equal(
			rc_lab_post(&lab, 0, PMV_WR_SEND, 0, 0, 3000, PMV_SEND_SIGNALED, 1), 1);
		do {
			rc_lab_run(&lab, 100);
			assert_int_equal(lab.nb_wc[0], 0);
			assert_int_equal(pmv_qp_get_stats(lab.qp[0], &stats), 0);
		} while (stats.rnr_rx < ROUNDS);
		assert_true(stats.timeouts > 20); /* far more than retry_cnt */
		assert_int_equal(rc_lab_recv(&lab, 1, 0, 4096, 2), 1);
		assert_true(rc_lab_wait(&lab, 0, 1, 100000));
		assert_int_equal(lab.wc[0][0].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab.mem[1], 3000, 5));
		lab.pair.link->end[1].out.drop = 0;
		rc_lab_close(&lab);
	}
}

/* But a peer that falls silent is given up, however long it has asked for patience before. */
static void
rnr__then_silence_ends(void **state)
{
	const struct rc_lab_param p = { .tune = tune };
	struct pmv_qp_stats stats;
	struct rc_lab lab;

	rc_lab_open(&lab, &p);
	assert_int_equal(rc_lab_post(&lab, 0, PMV_WR_SEND, 0, 0, 100, PMV_SEND_SIGNALED, 1), 1);
	do {
		rc_lab_run(&lab, 100);
		assert_int_equal(pmv_qp_get_stats(lab.qp[0], &stats), 0);
	} while (stats.rnr_rx < 100);
	lab.pair.link->end[1].out.drop = 1.0;
	rc_lab_run(&lab, 3900); /* not before retry_cnt timeouts more */
	assert_int_equal(lab.nb_wc[0], 0);
	assert_true(rc_lab_wait(&lab, 0, 1, 3000));
	assert_int_equal(lab.wc[0][0].status, PMV_WC_RETRY_EXC_ERR);
	lab.pair.link->end[1].out.drop = 0;
	rc_lab_close(&lab);
}

#define LEN        65536u
#define NB_MSGS    150u
#define DEPTH      4u
#define PKTS       (NB_MSGS * (LEN / 1024u))
#define LONGEST_US 20000u

/* The greatest time between two completions, in us. */
static uint64_t
stream(struct rc_lab *lab, enum pmv_wr_opcode op)
{
	uint64_t last = lab->pair.now, longest = 0;
	uint32_t posted = 0, done = 0;

	while (done < NB_MSGS) {
		while (posted < NB_MSGS && posted - done < DEPTH) {
			if (op == PMV_WR_SEND)
				assert_int_equal(
					rc_lab_recv(lab, 1, posted % DEPTH * LEN, LEN, posted), 1);
			assert_int_equal(
				rc_lab_post(lab, 0, op, posted % DEPTH * LEN, posted % DEPTH * LEN,
					LEN, PMV_SEND_SIGNALED, posted),
				1);
			posted++;
		}
		rc_lab_run(lab, 2);
		for (uint32_t i = 0; i < lab->nb_wc[0]; i++, done++) {
			assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
			assert_int_equal(lab->wc[0][i].wr_id, done);
			longest = RTE_MAX(longest, lab->pair.now - last);
			last = lab->pair.now;
		}
		lab->nb_wc[0] = lab->nb_wc[1] = 0;
		/* no completion, no end: this is what livelock looks like */
		assert_true((lab->pair.now - last) / lab->pair.link->ticks_per_us < LONGEST_US);
	}
	return longest / lab->pair.link->ticks_per_us;
}

/* A peer that keeps nothing behind a gap, 5 % lost each way, 10 Gb/s, 10 us each way: a message of
 * 64 packets meets a loss nearly always, and still each moves on from where it was. */
static void
go_back_n__no_livelock_at_five_percent(void **state)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_RDMA_WRITE, PMV_WR_SEND,
		PMV_WR_RDMA_READ };

	for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
		const struct rc_lab_param p = { .window_pkts = 128, .seed = 5 + i };
		bool read = ops[i] == PMV_WR_RDMA_READ;
		struct pmv_qp_stats stats;
		struct rc_lab lab;
		uint64_t longest;

		rc_lab_open(&lab, &p);
		lab.step_us = 1;
		for (int side = 0; side < 2; side++) {
			lab.pair.link->end[side].out.delay_us = 10;
			lab.pair.link->end[side].out.bytes_per_us = 1250;
			lab.pair.link->end[side].out.drop = 0.05;
		}
		rc_lab_fill(lab.mem[read], DEPTH * LEN, i);
		longest = stream(&lab, ops[i]);
		assert_true(rc_lab_check(lab.mem[!read], DEPTH * LEN, i));
		assert_int_equal(pmv_qp_get_stats(lab.qp[read], &stats), 0);
		print_message("operation %u: at most %u us between completions, %.2f frames a "
			      "packet, %u timeouts\n",
			ops[i], (unsigned)longest, (double)stats.tx_pkts / PKTS,
			(unsigned)stats.timeouts);
		/* a window for each loss of a packet or of what says that it is lost, no more */
		assert_true(stats.tx_pkts < PKTS * (1 + 0.05 * 128 * 1.5));
		for (int side = 0; side < 2; side++)
			lab.pair.link->end[side].out.drop = 0;
		rc_lab_close(&lab);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr__for_ever_although_some_naks_are_lost),
		cmocka_unit_test(rnr__then_silence_ends),
		cmocka_unit_test(go_back_n__no_livelock_at_five_percent),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
