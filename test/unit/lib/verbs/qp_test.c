// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_qp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;

static int
setup(void **state)
{
	fake_node_open(&n, 1);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

#include "lib/lcore/mailbox.h"
#include "lib/verbs/ctl_channel.h"
#include "lib/verbs/nexthop.h"

#define TO_INIT (PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS)
#define TO_RTR                                                                                     \
	(PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN | PMV_QP_RQ_PSN |            \
		PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER)

/* An address of ours and a neighbour. */
static void
know_peer(void)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };
	union pmv_gid gid = fake_gid("10.0.0.9");

	fake_add_addr(n.dev, "10.0.0.1/24");
	assert_int_equal(pmv_neigh_set(n.dev, &gid, mac), 0);
}

static void
attach_elsewhere(void)
{
	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	n.worker[0]->owner++;
}

static void
poll_elsewhere(void)
{
	n.worker[0]->owner--;
	pmv_worker_poll_at(n.worker[0], 1);
	n.worker[0]->owner++;
}

static void
detach_elsewhere(void)
{
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

static struct pmv_qp_attr
attr(enum pmv_qp_state state)
{
	return (struct pmv_qp_attr){
		.qp_state = state,
		.port_num = 1,
		.path_mtu = PMV_MTU_1024,
		.dest_qp_num = 0x200,
		.ah_attr = { .dgid = fake_gid("10.0.0.9") },
	};
}

static struct pmv_qp_init_attr
init_attr(void)
{
	return (struct pmv_qp_init_attr){
		.send_cq = n.cq[0],
		.recv_cq = n.cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 5, .max_recv_wr = 5, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

static void
create_qp__writes_back_what_was_allocated(void **state)
{
	struct pmv_qp_init_attr a = init_attr(), back;
	struct pmv_qp_attr q;
	struct pmv_qp *qp;

	a.sq_sig_all = true;
	a.qp_context = &a;
	assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp), 0);
	assert_int_equal(a.cap.max_send_wr, 8);
	assert_int_equal(pmv_query_qp(qp, &q, &back), 0);
	assert_int_equal(q.qp_state, PMV_QPS_RESET);
	assert_int_equal(q.cap.max_send_wr, 8);
	assert_int_equal(q.sq_draining, 1);
	assert_ptr_equal(back.send_cq, n.cq[0]);
	assert_ptr_equal(back.qp_context, &a);
	assert_true(back.sq_sig_all);
	assert_int_equal(back.qp_type, PMV_QPT_RC);
	assert_int_equal(pmv_qp_get_type(qp), PMV_QPT_RC);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_RESET);
	assert_ptr_equal(pmv_qp_get_worker(qp), n.worker[0]);
	assert_ptr_equal(pmv_qp_get_pd(qp), n.pd);
	assert_false(pmv_qp_comm_est(qp));
	qp->comm_est = 1;
	assert_true(pmv_qp_comm_est(qp));
	assert_true(((struct fake_qp *)qp)->linked);
	assert_int_equal(pmv_query_qp(qp, NULL, NULL), -EINVAL);
	assert_int_equal(pmv_query_qp(qp, &q, NULL), 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

#define BAD(field, value, error, word)                                                             \
	do {                                                                                       \
		struct pmv_qp_init_attr bad = init_attr();                                         \
		bad.field = value;                                                                 \
		assert_refused(pmv_create_qp(n.pd, n.worker[0], &bad, &qp), error, word);          \
	} while (0)

static void
create_qp__refuses(void **state)
{
	struct pmv_qp_init_attr a = init_attr();
	struct fake_node other;
	struct pmv_qp *qp = NULL;

	BAD(send_cq, NULL, -EINVAL, "send_cq");
	BAD(recv_cq, NULL, -EINVAL, "recv_cq");
	BAD(qp_type, (enum pmv_qp_type)1, -ENOTSUP, "qp_type");
	BAD(qp_type, (enum pmv_qp_type)9, -ENOTSUP, "qp_type");
	BAD(cap.max_send_wr, 0, -EINVAL, "max_send_wr");
	BAD(cap.max_recv_wr, 2000, -EINVAL, "max_recv_wr");
	BAD(cap.max_send_sge, 9, -EINVAL, "max_send_sge");
	BAD(cap.max_recv_sge, 0, -EINVAL, "max_recv_sge");
	BAD(cap.max_inline_data, 257, -EINVAL, "max_inline_data");
	assert_refused(pmv_create_qp(NULL, n.worker[0], &a, &qp), -EINVAL, "pd");
	assert_refused(pmv_create_qp(n.pd, NULL, &a, &qp), -EINVAL, "worker");
	assert_refused(pmv_create_qp(n.pd, n.worker[0], NULL, &qp), -EINVAL, "attr");
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, NULL), -EINVAL, "ret_qp");
	fake.qp_create = -ENOSPC;
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, &qp), -ENOSPC, "QPN");
	fake.qp_create = -ENOMEM;
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, &qp), -ENOMEM, "memory");
	fake.qp_create = 0;
	assert_int_equal(a.cap.max_send_wr, 5);
	assert_null(qp);
	/* Objects of another device. */
	fake_node_open(&other, 1);
	assert_refused(pmv_create_qp(other.pd, n.worker[0], &a, &qp), -EINVAL, "pd");
	BAD(recv_cq, other.cq[0], -EINVAL, "recv_cq");
	fake_node_close(&other);
	fake.nb_devices = fake.nb_workers = fake.nb_cqs = 1;
}

static void
create_qp__reaches_an_attached_worker_by_mailbox(void **state)
{
	struct pmv_qp_init_attr a = init_attr();
	struct pmv_op op = { 0 };
	struct pmv_qp *qp;

	attach_elsewhere();
	assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp), 0);
	assert_false(((struct fake_qp *)qp)->linked);
	poll_elsewhere();
	assert_true(((struct fake_qp *)qp)->linked);
	assert_int_equal(pmv_destroy_qp_submit(qp, &op), 0);
	assert_int_equal(pmv_op_poll(&op), -EINPROGRESS);
	assert_int_equal(fake.nb_qps, 1);
	poll_elsewhere();
	assert_int_equal(fake.nb_qps, 1); /* freed by the submitter */
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(fake.nb_qps, 0);
	detach_elsewhere();
}

static void
create_qp__full_mailbox(void **state)
{
	struct pmv_qp_init_attr a = init_attr();
	struct pmv_qp *qp[4096];
	uint32_t i, nb = 0;

	attach_elsewhere();
	while (pmv_lcore_mailbox_room(n.worker[0]) > 0) {
		assert_true(nb < RTE_DIM(qp));
		assert_int_equal(pmv_create_qp(n.pd, n.worker[0], &a, &qp[nb++]), 0);
	}
	assert_refused(pmv_create_qp(n.pd, n.worker[0], &a, &qp[nb]), -ENOMEM, "command");
	assert_int_equal(fake.nb_qps, nb);
	detach_elsewhere();
	for (i = 0; i < nb; i++)
		assert_int_equal(pmv_destroy_qp(qp[i]), 0);
}

static void
modify_qp__to_rts_and_through_all_states(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a, q;

	know_peer();
	fake_move_qp(qp, PMV_QPS_RTS);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_RTS);
	assert_int_equal(pmv_query_qp(qp, &q, NULL), 0);
	assert_int_equal(q.path_mtu, PMV_MTU_1024);
	assert_int_equal(q.dest_qp_num, 0x200);
	assert_int_equal(q.timeout, 14);
	assert_int_equal(((struct fake_qp *)qp)->av.dmac.addr_bytes[5], 9);
	a = attr(PMV_QPS_SQD);
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
	a.cur_qp_state = PMV_QPS_SQD;
	a.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_CUR_STATE), 0);
	a.cur_qp_state = PMV_QPS_SQD;
	assert_refused(
		pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_CUR_STATE), -EINVAL, "cur_qp_state");
	/* Without a state: RTS to RTS. */
	a.min_rnr_timer = 3;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_MIN_RNR_TIMER), 0);
	a.qp_state = PMV_QPS_ERR;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
	a.qp_state = PMV_QPS_RESET;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
	assert_int_equal(pmv_query_qp(qp, &q, NULL), 0);
	assert_int_equal(q.qp_state, PMV_QPS_RESET);
	assert_int_equal(q.dest_qp_num, 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
modify_qp__refuses(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = attr(PMV_QPS_INIT);

	know_peer();
	assert_refused(pmv_modify_qp(NULL, &a, TO_INIT), -EINVAL, "qp");
	assert_refused(pmv_modify_qp(qp, NULL, TO_INIT), -EINVAL, "attr");
	assert_refused(pmv_modify_qp(qp, &a, TO_INIT & ~(uint32_t)PMV_QP_PORT), -EINVAL,
		"port_num is missing");
	assert_refused(
		pmv_modify_qp(qp, &a, TO_INIT | PMV_QP_AV), -EINVAL, "ah_attr is not allowed");
	assert_refused(pmv_modify_qp(qp, &a, TO_INIT | PMV_QP_CAP), -EINVAL, "cap is not allowed");
	a.qp_state = PMV_QPS_RTS;
	assert_refused(pmv_modify_qp(qp, &a, PMV_QP_STATE), -EINVAL, "RESET to RTS");
	a.qp_state = (enum pmv_qp_state)99;
	assert_refused(pmv_modify_qp(qp, &a, PMV_QP_STATE), -EINVAL, "qp_state");
	a = attr(PMV_QPS_INIT);
	a.port_num = 2;
	assert_refused(pmv_modify_qp(qp, &a, TO_INIT), -EINVAL, "port_num");
	fake.modify_prepare = -ENOMEM;
	a.port_num = 1;
	assert_refused(pmv_modify_qp(qp, &a, TO_INIT), -ENOMEM, "memory");
	fake.modify_prepare = 0;
	fake_move_qp(qp, PMV_QPS_INIT);
	a = attr(PMV_QPS_RTR);
	a.ah_attr.dgid = fake_gid("10.0.0.8");
	assert_refused(pmv_modify_qp(qp, &a, TO_RTR), -EHOSTUNREACH, "10.0.0.8");
	a.ah_attr.dgid = fake_gid("224.0.0.8");
	assert_refused(pmv_modify_qp(qp, &a, TO_RTR), -EINVAL, "multicast");
	fake.modify_commit = -EINVAL;
	a = attr(PMV_QPS_RTR);
	assert_refused(pmv_modify_qp(qp, &a, TO_RTR), -EINVAL, "Invalid");
	fake.modify_commit = 0;
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_INIT);
	assert_int_equal(fake.nb_aborts, 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
modify_qp__by_another_thread_is_eperm(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = attr(PMV_QPS_INIT);

	attach_elsewhere();
	assert_refused(pmv_modify_qp(qp, &a, TO_INIT), -EPERM, "owns");
	assert_refused(pmv_destroy_qp(qp), -EPERM, "owns");
	assert_int_equal(pmv_query_qp(qp, &a, NULL), -EPERM);
	detach_elsewhere();
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
modify_qp_submit__commits_in_the_owners_turn(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = attr(PMV_QPS_INIT);
	struct pmv_op op = { 0 }, other = { 0 };

	attach_elsewhere();
	assert_int_equal(pmv_modify_qp_submit(qp, &a, TO_INIT, &op), 0);
	assert_int_equal(pmv_op_poll(&op), -EINPROGRESS);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_RESET);
	/* One operation per QP at a time. */
	assert_refused(pmv_modify_qp_submit(qp, &a, TO_INIT, &other), -EINVAL, "under way");
	assert_refused(pmv_modify_qp_submit(qp, &a, TO_INIT, &op), -EINVAL, "in use");
	assert_refused(pmv_destroy_qp_submit(qp, &other), -EBUSY, "under way");
	poll_elsewhere();
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_INIT);
	assert_int_equal(pmv_op_poll(&op), 0);
	detach_elsewhere();
	a.qp_state = PMV_QPS_ERR;
	assert_int_equal(pmv_modify_qp_submit(qp, &a, PMV_QP_STATE, &op), 0);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_ERR);
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_refused(pmv_modify_qp_submit(qp, &a, TO_INIT, NULL), -EINVAL, "op");
	assert_int_equal(pmv_destroy_qp_submit(qp, &op), 0);
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_refused(pmv_destroy_qp_submit(NULL, &op), -EINVAL, "qp");
}

static void
modify_qp_submit__the_state_changed_meanwhile(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = attr(PMV_QPS_RTR);
	struct pmv_op op = { 0 };

	know_peer();
	fake_move_qp(qp, PMV_QPS_INIT);
	attach_elsewhere();
	assert_int_equal(pmv_modify_qp_submit(qp, &a, TO_RTR, &op), 0);
	qp->state = PMV_QPS_ERR; /* the data path failed it */
	poll_elsewhere();
	fake_log_begin();
	assert_int_equal(pmv_op_poll(&op), -EINVAL);
	fake_log_end("meanwhile");
	assert_int_equal(fake.nb_aborts, 1);
	assert_int_equal(qp->state, PMV_QPS_ERR);
	/* To RESET it may go from wherever it is. */
	a.qp_state = PMV_QPS_RESET;
	assert_int_equal(pmv_modify_qp_submit(qp, &a, PMV_QP_STATE, &op), 0);
	poll_elsewhere();
	assert_int_equal(pmv_op_poll(&op), 0);
	detach_elsewhere();
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
nothing(struct pmv_op *op)
{
}

static void
submit__full_mailbox_is_eagain_and_undone(void **state)
{
	static struct pmv_op filler[PMV_LCORE_MAILBOX_OPS_MAX];
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_RC);
	struct pmv_qp_attr a = attr(PMV_QPS_INIT);
	struct pmv_op op = { 0 };
	uint32_t i;

	attach_elsewhere();
	for (i = 0; i < RTE_DIM(filler); i++) {
		filler[i] = (struct pmv_op){ .commit = nothing };
		assert_int_equal(pmv_lcore_mailbox_submit(n.worker[0], &filler[i]), 0);
	}
	/* An answer, not an error: no word, or a retry each turn would fill the log. */
	REFUSED(-EAGAIN, NULL, pmv_modify_qp_submit(qp, &a, TO_INIT, &op));
	assert_int_equal(fake.nb_aborts, 1);
	REFUSED(-EAGAIN, NULL, pmv_destroy_qp_submit(qp, &op));
	assert_int_equal(pmv_test_refused_failures(), 0);
	detach_elsewhere();
	assert_int_equal(pmv_modify_qp_submit(qp, &a, TO_INIT, &op), 0);
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

/* A driver without multicast. */
static void
attach_mcast__no_driver_support(void **state)
{
	const union pmv_gid gid = { .raw = { 0xff, 5, [15] = 1 } };
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_UD);

	assert_refused(pmv_attach_mcast(qp, &gid, 0), -ENOTSUP, "no multicast");
	assert_refused(pmv_detach_mcast(qp, &gid), -ENOTSUP, "no multicast");
	assert_int_equal(pmv_destroy_qp(qp), 0);
}

static void
destroy_qp__while_held_by_a_cm_id(void **state)
{
	struct pmv_qp *qp = fake_create_qp(&n, 0, PMV_QPT_UD);
	struct pmv_op op = { 0 };

	assert_int_equal(pmv_verbs_ctl_hold_qp(qp), 0);
	assert_int_equal(pmv_verbs_ctl_hold_qp(qp), -EBUSY);
	assert_refused(pmv_destroy_qp(qp), -EBUSY, "CM id");
	assert_refused(pmv_destroy_qp_submit(qp, &op), -EBUSY, "CM id");
	pmv_verbs_ctl_release_qp(qp);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	assert_int_equal(pmv_destroy_qp(NULL), -EINVAL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(create_qp__writes_back_what_was_allocated),
		T(create_qp__refuses),
		T(create_qp__reaches_an_attached_worker_by_mailbox),
		T(create_qp__full_mailbox),
		T(modify_qp__to_rts_and_through_all_states),
		T(modify_qp__refuses),
		T(modify_qp__by_another_thread_is_eperm),
		T(modify_qp_submit__commits_in_the_owners_turn),
		T(modify_qp_submit__the_state_changed_meanwhile),
		T(submit__full_mailbox_is_eagain_and_undone),
		T(attach_mcast__no_driver_support),
		T(destroy_qp__while_held_by_a_cm_id),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
