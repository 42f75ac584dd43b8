// SPDX-License-Identifier: BSD-3-Clause
/*
 * What loss costs: 64 KiB WRITEs of one QP, 128 packets at most on their way, over a wire of 10
 * Gb/s and 10 us each way, under the virtual clock, so the figures are the same on every machine.
 * Selective repeat between peers who agreed, and go-back-N, which is what everybody else gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define LEN     65536u
#define DEPTH   8u
#define NB_MSGS 400u
#define MTU     PMV_MTU_1024
#define FRAMES  (NB_MSGS * (LEN / 1024u))

struct outcome {
	double mb_per_s; /* of payload */
	uint64_t frames;
	uint64_t timeouts;
};

static void
agree(int side, struct pmv_qp_attr *attr)
{
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

/* NB_MSGS WRITEs, DEPTH at a time. */
static struct outcome
stream(double loss, bool selective)
{
	const struct rc_lab_param p = {
		.mtu = MTU, .window_pkts = 128, .seed = 7, .tune = selective ? agree : NULL
	};
	struct pmv_qp_stats stats;
	struct outcome out;
	uint32_t posted = 0, done = 0;
	struct rc_lab lab;
	uint64_t start, end;

	rc_lab_open(&lab, &p);
	lab.step_us = 1;
	for (int side = 0; side < 2; side++) {
		lab.pair.link->end[side].out.delay_us = 10;
		lab.pair.link->end[side].out.bytes_per_us = 1250;
		lab.pair.link->end[side].out.drop = loss;
	}
	rc_lab_fill(lab.mem[0], LEN, 1);
	start = lab.pair.now;
	end = start + 20000000ull * lab.pair.link->ticks_per_us;
	while (done < NB_MSGS && lab.pair.now < end) {
		struct pmv_wc wc[DEPTH];
		uint32_t nb;

		while (posted < NB_MSGS && posted - done < DEPTH) {
			if (rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, 0, LEN, PMV_SEND_SIGNALED,
				    posted) != 1)
				break;
			posted++;
		}
		pmv_test_pair_run(&lab.pair, 1, 1);
		nb = pmv_poll_cq(lab.pair.node[0].cq[0], wc, DEPTH);
		for (uint32_t i = 0; i < nb; i++) {
			assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, done++);
		}
	}
	assert_int_equal(done, NB_MSGS);
	assert_true(rc_lab_check(lab.mem[1], LEN, 1));
	assert_int_equal(pmv_qp_get_stats(lab.qp[0], &stats), 0);
	out.mb_per_s = (double)NB_MSGS * LEN * (double)lab.pair.link->ticks_per_us /
		       (double)(lab.pair.now - start);
	out.frames = stats.tx_pkts;
	out.timeouts = stats.timeouts;
	lab.pair.link->end[0].out.drop = 0;
	lab.pair.link->end[1].out.drop = 0;
	rc_lab_close(&lab);
	return out;
}

static void
goodput__under_loss(void **state)
{
	static const struct {
		double loss;
		double floor; /* of the rate without loss */
	} rows[] = { { 0.001, 0.985 }, { 0.01, 0.95 }, { 0.05, 0.85 } };
	struct outcome clean = stream(0, true), plain = stream(0, false);

	printf("# loss    selective: MB/s  share  frames/needed  timeouts    go-back-N: MB/s  "
	       "share  "
	       "frames/needed\n");
	printf("# 0       %15.1f  1.000  %13.3f  %8u    %15.1f  1.000  %13.3f\n", clean.mb_per_s,
		(double)clean.frames / FRAMES, (unsigned)clean.timeouts, plain.mb_per_s,
		(double)plain.frames / FRAMES);
	assert_true(clean.mb_per_s > 1000); /* of 1250 with headers */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome s = stream(rows[i].loss, true), g = stream(rows[i].loss, false);

		printf("# %-6.3f  %15.1f  %.3f  %13.3f  %8u    %15.1f  %.3f  %13.3f\n",
			rows[i].loss, s.mb_per_s, s.mb_per_s / clean.mb_per_s,
			(double)s.frames / FRAMES, (unsigned)s.timeouts, g.mb_per_s,
			g.mb_per_s / plain.mb_per_s, (double)g.frames / FRAMES);
		fflush(stdout);
		assert_true(s.mb_per_s >= rows[i].floor * clean.mb_per_s);
		assert_true((double)s.frames <= FRAMES * (1 + 1.2 * rows[i].loss));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goodput__under_loss),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
