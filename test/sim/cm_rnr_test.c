// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a connection made by the CM says to a peer that sends more than there are receives for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

#define NB_SENDS 4u

static struct cm_lab lab;
static uint32_t nb_naks;

/* Node 1's answers: an RNR NAK names a wait of 0.01 to 0.64 ms. */
static enum pmv_test_fate
look(void *arg, struct rte_mbuf *m, uint64_t index)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(m, const uint8_t *, 42);

	if (bth[0] == 0x11 && bth[12] >> 5 == 1) {
		nb_naks++;
		assert_in_range(bth[12], 0x21, 0x2c);
	}
	return PMV_TEST_PASS;
}

/* RC-324: nobody gave an RNR timer. */
static void
cm_rnr__default_timer(void **state)
{
	const struct pmv_recv_wr recv = { .wr_id = 2 };
	const struct pmv_send_wr send = {
		.wr_id = 1, .opcode = PMV_WR_SEND, .send_flags = PMV_SEND_SIGNALED
	};
	struct pmv_qp_attr attr;
	struct cm_lab_pair p;
	struct pmv_wc wc[16];
	uint32_t nb = 0;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	lab.pair.link->end[1].out.hook = look;
	for (uint32_t i = 0; i < NB_SENDS; i++)
		assert_int_equal(pmv_post_send(pmv_cm_id_qp(p.a), &send, 1), 1);
	cm_lab_run(&lab, 5000);
	assert_int_equal(pmv_poll_cq(lab.pair.node[0].cq[0], wc, 16), 0);
	assert_in_range(nb_naks, 5, 500); /* in 5 ms */
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pmv_query_qp(pmv_cm_id_qp(side == 0 ? p.a : p.b), &attr, NULL), 0);
		assert_in_range(attr.min_rnr_timer, 1, 12);
	}
	for (uint32_t i = 0; i < NB_SENDS; i++)
		assert_int_equal(pmv_post_recv(pmv_cm_id_qp(p.b), &recv, 1), 1);
	for (int i = 0; i < 100 && nb < NB_SENDS; i++) {
		cm_lab_run(&lab, 100);
		nb += pmv_poll_cq(lab.pair.node[0].cq[0], wc, 16);
	}
	assert_int_equal(nb, NB_SENDS);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_rnr__default_timer),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
