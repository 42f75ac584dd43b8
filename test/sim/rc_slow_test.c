// SPDX-License-Identifier: BSD-3-Clause
/*
 * A peer that repeats READ responses slowly, as Linux rxe does in a virtual machine: what is asked
 * for once more while it is still at the last repetition makes it slower, until everything behind
 * the READ runs out of retries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define LEN      (1u << 20)
#define FRAMES   (LEN / 1024)
#define REMOTE   LEN
#define NB_GAPS  8u
#define GAP_EACH 100u

/* Every 100th frame that carries a full payload is lost, eight in all. */
struct gaps {
	uint32_t nb_full;
	uint32_t nb_lost;
};

static enum pmv_test_fate
lose(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct gaps *g = arg;

	if (m->pkt_len < 1024 || ++g->nb_full % GAP_EACH != 0 || g->nb_lost == NB_GAPS)
		return PMV_TEST_PASS;
	g->nb_lost++;
	return PMV_TEST_DROP;
}

static void
rc_slow__read_is_repeated_once_a_gap(void **state)
{
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	const struct rc_lab_param param = { .seed = 5 };
	struct gaps gaps = { 0 };
	struct pmv_test_dir *back;
	struct pmv_qp_stats stats;
	uint64_t requests;

	rc_lab_open(lab, &param);
	back = &lab->pair.link->end[1].out;
	rc_lab_fill(lab->mem[1], LEN, 9);
	for (uint32_t i = 0; i < 8; i++) { /* the round trip is known, and short */
		assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, REMOTE, REMOTE, 64,
					 PMV_SEND_SIGNALED, i),
			1);
		assert_true(rc_lab_wait(lab, 0, i + 1, 10000));
	}
	back->bytes_per_us = 20; /* a pass over all responses takes three times the ACK timeout */
	back->hook = lose;
	back->hook_arg = &gaps;
	requests = lab->pair.link->end[0].out.nb_frames;
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0, 0, LEN, PMV_SEND_SIGNALED, 8), 1);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, REMOTE, REMOTE, 64,
				 PMV_SEND_SIGNALED | PMV_SEND_FENCE, 9),
		1);
	assert_true(rc_lab_wait(lab, 0, 10, 4000000));
	assert_int_equal(lab->wc[0][8].status, PMV_WC_SUCCESS);
	assert_int_equal(lab->wc[0][9].status, PMV_WC_SUCCESS);
	assert_true(rc_lab_check(lab->mem[0], LEN, 9));
	assert_int_equal(gaps.nb_lost, NB_GAPS);
	/* The READ, once more at most for each gap, and the WRITE; and two probes, which the pause
	 * between two responses asks for before it is known to be usual. */
	requests = lab->pair.link->end[0].out.nb_frames - requests;
	assert_in_range(requests, 3, NB_GAPS + 2 + 2);
	pmv_qp_get_stats(lab->qp[0], &stats);
	assert_int_equal(stats.timeouts, 0);
	rc_lab_close(lab);
	test_free(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_slow__read_is_repeated_once_a_gap),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
