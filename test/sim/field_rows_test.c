// SPDX-License-Identifier: BSD-3-Clause
/*
 * Faults that others met in the field and that fit no other file: what a CQ counts and when it is
 * said to be small, what create refuses, a process that forks.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/sim/rc_lab.h"

static struct pmv_qp_init_attr
init_of(struct pmv_cq *send, struct pmv_cq *recv, uint32_t nb_send, uint32_t nb_recv)
{
	return (struct pmv_qp_init_attr){ .send_cq = send,
		.recv_cq = recv,
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = nb_send,
			.max_recv_wr = nb_recv,
			.max_send_sge = 1,
			.max_recv_sge = 1 } };
}

/* A million completions through four entries: those of requests that are posted in ERR. */
static void
through_four_entries(struct pmv_test_node *n, struct pmv_qp *qp, struct pmv_cq *cq)
{
	const struct pmv_recv_wr none = { 0 };
	struct pmv_cq_attr attr;
	struct pmv_wc wc[16];
	uint64_t posted = 0, seen = 0;

	while (seen < 1000000) {
		for (uint32_t i = 0; i < 1 + seen % 4; i++) {
			struct pmv_recv_wr wr = none;

			wr.wr_id = posted++;
			assert_int_equal(pmv_post_recv(qp, &wr, 1), 1);
		}
		assert_int_equal(pmv_query_cq(cq, &attr), 0);
		assert_int_equal(attr.nb_ready, posted - seen);
		assert_int_equal(pmv_poll_cq(cq, wc, 0), 0);
		for (uint32_t nb; (nb = pmv_poll_cq(cq, wc, 1 + seen % 16)) > 0; seen += nb)
			for (uint32_t i = 0; i < nb; i++)
				assert_int_equal(wc[i].wr_id, seen + i);
		assert_int_equal(seen, posted);
	}
	assert_int_equal(pmv_query_cq(cq, &attr), 0);
	assert_false(attr.overrun);
}

/* CQ-601: three, then none, then none for none; the wrap is clean. */
static void
poll_cq__counts(void **state)
{
	const struct rc_lab_param param = { 0 };
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR, .port_num = 1 };
	struct pmv_qp_init_attr init;
	struct pmv_test_node *n;
	struct pmv_cq *small;
	struct pmv_wc wc[16];
	struct rc_lab lab;
	struct pmv_qp *qp;

	rc_lab_open(&lab, &param);
	n = &lab.pair.node[0];
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(
			rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, i), 1);
	pmv_test_pair_run(&lab.pair, 100, 5);
	assert_int_equal(pmv_poll_cq(n->cq[0], wc, 0), 0);
	assert_int_equal(pmv_poll_cq(n->cq[0], wc, 16), 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, i);
	for (int i = 0; i < 100; i++)
		assert_int_equal(pmv_poll_cq(n->cq[0], wc, 16), 0);
	assert_int_equal(rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 7), 1);
	pmv_test_pair_run(&lab.pair, 100, 5);
	assert_int_equal(pmv_poll_cq(n->cq[0], wc, 16), 1);
	assert_int_equal(wc[0].wr_id, 7);

	assert_int_equal(pmv_create_cq(n->worker[0], 4, NULL, &small), 0);
	init = init_of(n->cq[0], small, 1, 4);
	assert_int_equal(pmv_create_qp(n->pd, n->worker[0], &init, &qp), 0);
	{
		const struct pmv_qp_attr to = { .qp_state = PMV_QPS_INIT, .port_num = 1 };

		assert_int_equal(pmv_modify_qp(qp, &to,
					 PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT |
						 PMV_QP_ACCESS_FLAGS),
			0);
	}
	assert_int_equal(pmv_modify_qp(qp, &err, PMV_QP_STATE), 0);
	through_four_entries(n, qp, small);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_destroy_cq(small), 0);
	rc_lab_close(&lab);
}

/* Creates a QP; whether a warning named the CQ, and with how many entries. */
static struct pmv_qp *
create_and_listen(struct pmv_test_node *n, struct pmv_cq *cq, uint32_t nb, const char *expect)
{
	struct pmv_qp_init_attr init = init_of(cq, cq, nb, 16);
	struct pmv_qp *qp;
	const char *text;
	char name[32];

	pmv_test_log_begin();
	assert_int_equal(pmv_create_qp(n->pd, n->worker[0], &init, &qp), 0);
	pmv_test_log_end(&text);
	if (expect == NULL) {
		assert_null(strstr(text, "entries"));
		return qp;
	}
	snprintf(name, sizeof(name), "cq %p", (void *)cq);
	assert_non_null(strstr(text, name));
	assert_non_null(strstr(text, expect));
	return qp;
}

/* CQ-605: more requests than entries is legal; it is said once, with both numbers. */
static void
create_qp__small_cq(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct pmv_qp *qp[5];
	struct rc_lab lab;
	struct pmv_test_node *n;
	struct pmv_cq *cq;

	rc_lab_open(&lab, &param);
	n = &lab.pair.node[0];
	assert_int_equal(pmv_create_cq(n->worker[0], 64, &lab, &cq), 0);
	qp[0] = create_and_listen(n, cq, 16, NULL);
	qp[1] = create_and_listen(n, cq, 16, NULL); /* 64 of 64 */
	assert_int_equal(pmv_destroy_qp(qp[1]), 0); /* and back */
	qp[1] = create_and_listen(n, cq, 16, NULL);
	qp[2] = create_and_listen(n, cq, 1, " 64 entries");
	qp[3] = create_and_listen(n, cq, 16, NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pmv_destroy_qp(qp[i]), 0);
	assert_int_equal(pmv_destroy_cq(cq), 0);
	rc_lab_close(&lab);
}

/* CQ-607: a missing or foreign object; nothing is given back. */
static void
create_qp__foreign_objects(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct pmv_qp *const poison = (struct pmv_qp *)(uintptr_t)0x5a5a;
	struct pmv_qp *qp = poison;
	struct rc_lab lab;
	struct pmv_test_node *n;

	rc_lab_open(&lab, &param);
	n = lab.pair.node;
	for (int i = 0; i < 6; i++) {
		struct pmv_cq *own = n[0].cq[0], *other = n[1].cq[0];
		struct pmv_qp_init_attr init = init_of(i == 0   ? NULL
						       : i == 1 ? other
								: own,
			i == 2   ? NULL
			: i == 3 ? other
				 : own,
			4, 4);
		struct pmv_pd *pd = i == 4 ? NULL : i == 5 ? n[1].pd : n[0].pd;

		assert_int_equal(pmv_create_qp(pd, n[0].worker[0], &init, &qp), -EINVAL);
		assert_ptr_equal(qp, poison);
	}
	rc_lab_close(&lab);
}

/* MR-410: a child that ends, or writes to its copy of the memory, does the parent no harm. */
static void
fork__parent_goes_on(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab lab;

	rc_lab_open(&lab, &param);
	for (int touch = 0; touch < 3; touch++) {
		int status = -1;
		pid_t child;

		rc_lab_fill(lab.mem[0], 100000, (uint32_t)touch);
		assert_int_equal(rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 100000,
					 PMV_SEND_SIGNALED, (uint64_t)touch),
			1);
		rc_lab_run(&lab, 5); /* in the middle of it */
		fflush(NULL);
		child = fork();
		assert_true(child >= 0);
		if (child == 0 && touch == 2) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		if (child == 0) {
			if (touch == 1) {
				memset(lab.mem[0], 0, RC_LAB_BYTES);
				memset(lab.mem[1], 0, RC_LAB_BYTES);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_true(rc_lab_wait(&lab, 0, (uint32_t)touch + 1, 100000));
		assert_int_equal(lab.wc[0][touch].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab.mem[1], 100000, (uint32_t)touch));
	}
	rc_lab_close(&lab);
}

static void
code_0(int side, struct pmv_qp_attr *attr)
{
	attr->min_rnr_timer = 0;
}

/* RC-324: code 0 is honoured, and wondered about once. */
static void
modify_qp__rnr_code_0(void **state)
{
	const struct rc_lab_param param = { .tune = code_0 };
	struct pmv_qp_attr attr;
	const char *text, *first;
	struct rc_lab lab;

	pmv_test_log_begin();
	rc_lab_open(&lab, &param);
	pmv_test_log_end(&text);
	first = strstr(text, "min_rnr_timer 0 means 655.36 ms");
	assert_non_null(first);
	assert_null(strstr(first + 1, "min_rnr_timer 0 means"));
	assert_int_equal(pmv_query_qp(lab.qp[1], &attr, NULL), 0);
	assert_int_equal(attr.min_rnr_timer, 0);
	assert_int_equal(rc_lab_post(&lab, 0, PMV_WR_SEND, 0, 0, 8, PMV_SEND_SIGNALED, 1), 1);
	rc_lab_run(&lab, 1000);
	assert_int_equal(rc_lab_recv(&lab, 1, 0, 8, 1), 1);
	lab.step_us = 100;
	rc_lab_run(&lab, 650000);
	assert_int_equal(lab.nb_wc[0], 0);
	assert_true(rc_lab_wait(&lab, 0, 1, 10000));
	assert_int_equal(lab.wc[0][0].status, PMV_WC_SUCCESS);
	rc_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modify_qp__rnr_code_0),
		cmocka_unit_test(poll_cq__counts),
		cmocka_unit_test(create_qp__small_cq),
		cmocka_unit_test(create_qp__foreign_objects),
		cmocka_unit_test(fork__parent_goes_on),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
