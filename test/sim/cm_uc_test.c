// SPDX-License-Identifier: BSD-3-Clause
/*
 * UC queue pairs over the connection manager: both port spaces, the fields that say so, the fields
 * that UC does not have, and listeners of the other type.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"
#include "test/sim/rc_lab.h"

#define LEN 5000u

static struct cm_lab lab;
static struct pmv_cm_msg req;
static uint8_t private_data[92];
static uint8_t mem[2][8192];

static void
open(enum pmv_cm_port_space ps)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.ps = ps;
	lab.qp_type = PMV_QPT_UC;
}

/* A SEND from `side` arrives whole; the sender's completion tells of nothing but the sending. */
static void
send_from(int side, struct pmv_qp *const qp[2], uint32_t seed)
{
	struct pmv_mr *mr[2];
	struct pmv_sge sge[2];
	struct pmv_wc wc;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(pmv_reg_mr(lab.pair.node[i].pd, mem[i], sizeof(mem[i]),
					 PMV_ACCESS_LOCAL_WRITE, &mr[i]),
			0);
		sge[i] = (struct pmv_sge){ (uintptr_t)mem[i], LEN, pmv_mr_lkey(mr[i]) };
	}
	rc_lab_fill(mem[side], LEN, seed);
	memset(mem[!side], 0, sizeof(mem[!side]));
	{
		const struct pmv_recv_wr recv = { 7, &sge[!side], 1 };
		const struct pmv_send_wr send = { .wr_id = 8,
			.sg_list = &sge[side],
			.num_sge = 1,
			.opcode = PMV_WR_SEND,
			.send_flags = PMV_SEND_SIGNALED };

		assert_int_equal(pmv_post_recv(qp[!side], &recv, 1), 1);
		assert_int_equal(pmv_post_send(qp[side], &send, 1), 1);
	}
	cm_lab_run(&lab, 500);
	assert_int_equal(pmv_poll_cq(lab.pair.node[side].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_poll_cq(lab.pair.node[!side].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, LEN);
	assert_true(rc_lab_check(mem[!side], LEN, seed));
	for (int i = 0; i < 2; i++)
		rc_lab_dereg(mr[i]);
	cm_lab_run(&lab, 100);
}

static void
expect_qp(struct pmv_cm_id *id, uint32_t peer_qpn)
{
	struct pmv_qp_attr attr;

	assert_int_equal(pmv_qp_get_type(pmv_cm_id_qp(id)), PMV_QPT_UC);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(id), &attr, NULL), 0);
	assert_int_equal(attr.qp_state, PMV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, peer_qpn);
	assert_int_equal(attr.path_mtu, PMV_MTU_4096);
	assert_int_equal(attr.qp_access_flags, PMV_ACCESS_REMOTE_WRITE);
	assert_int_equal(attr.ece.vendor_id, 0);
	assert_int_equal(pmv_cm_id_ece(id).vendor_id, 0);
}

static void
expect_no_rc_fields(int side, enum pmv_cm_event_type event)
{
	const struct pmv_cm_conn_param *p = &cm_lab_last(&lab, side, event)->param;

	assert_int_equal(p->responder_resources, 0);
	assert_int_equal(p->initiator_depth, 0);
	assert_int_equal(p->retry_count, 0);
	assert_int_equal(p->rnr_retry_count, 0);
}

/* IBTA vol. 1, 12.6.5: byte 43 bits 2..1 are 1 for UC; what RC alone has is zero, as is ECE. */
static void
expect_bytes(const char *service_id)
{
	const uint8_t *d = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->mad + 24;

	assert_memory_equal(d + 5, "\0\0\0", 3); /* vendor */
	assert_memory_equal(d + 8, service_id, 8);
	assert_int_equal(d[35], 0); /* responder resources */
	assert_int_equal(d[39], 0); /* initiator depth */
	assert_int_equal(d[43] & 0x07, 0x02);
	assert_int_equal(d[47] & 0x07, 0); /* retry count */
	assert_int_equal(d[50], 0x50);     /* MTU 4096, no RNR retry count */
	assert_int_equal(d[51] & 0x0f, 0); /* no SRQ, no extended transport */
	assert_int_equal(d[95] >> 3, 18);  /* the time-wait's measure is everybody's */
	d = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0)->mad + 24;
	assert_int_equal(d[24], 0);
	assert_int_equal(d[25], 0);
	assert_int_equal(d[27] >> 5, 0);
}

static void
whole_life(enum pmv_cm_port_space ps, const char *addr, const char *service_id)
{
	static const struct pmv_cm_conn_param param = { .responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7 };
	struct pmv_qp *qp[2];
	struct cm_lab_pair p;

	open(ps);
	lab.s[0].param = lab.s[1].param = &param;
	p = cm_lab_established(&lab, addr);
	qp[0] = pmv_cm_id_qp(p.a);
	qp[1] = pmv_cm_id_qp(p.b);
	expect_bytes(service_id);
	expect_qp(p.a, pmv_qp_num(qp[1]));
	expect_qp(p.b, pmv_qp_num(qp[0]));
	expect_no_rc_fields(1, PMV_CM_EVENT_CONNECT_REQUEST);
	expect_no_rc_fields(1, PMV_CM_EVENT_ESTABLISHED);
	expect_no_rc_fields(0, PMV_CM_EVENT_ESTABLISHED);
	send_from(0, qp, 1);
	send_from(1, qp, 2);
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	cm_lab_run(&lab, 1000);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_DISCONNECTED), 1);
		assert_int_equal(pmv_qp_get_state(qp[side]), PMV_QPS_ERR);
	}
	cm_lab_close(&lab);
}

static void
cm_uc__whole_life_tcp_space_v4(void **state)
{
	whole_life(PMV_PS_TCP, "192.168.10.2", "\x00\x00\x00\x00\x01\x06\x1d\x2f");
}

static void
cm_uc__whole_life_ib_space_v6(void **state)
{
	whole_life(PMV_PS_IB, "fd00::2", "\x00\x00\x00\x00\x01\x3f\x1d\x2f");
}

/* The first packet counts as a lost RTU for UC too. */
static void
cm_uc__first_packet_is_the_rtu(void **state)
{
	struct pmv_qp *qp[2];
	struct pmv_cm_id *a;

	open(PMV_PS_TCP);
	lab.s[0].drop[PMV_CM_ATTR_RTU] = ~0ull;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	a = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 0);
	qp[0] = pmv_cm_id_qp(a);
	qp[1] = pmv_cm_id_qp(lab.s[1].ids[0]);
	send_from(0, qp, 3);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 1);
	cm_lab_close(&lab);
}

/* RC and UC do not meet, whoever listens: REJ 9 and no event (IBTA vol. 1, 12.6.7.2). */
static void
cm_uc__types_differ(void **state)
{
	static const enum pmv_qp_type type[2][2] = { { PMV_QPT_RC, PMV_QPT_UC },
		{ PMV_QPT_UC, PMV_QPT_RC } };

	for (int i = 0; i < 2; i++) {
		open(PMV_PS_TCP);
		lab.qp_type = type[i][0];
		cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
		lab.qp_type = type[i][1];
		cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_REJECTED, 100000));
		assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_REJECTED)->status,
			PMV_CM_REASON_INVALID_TRANSPORT);
		assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 0);
		cm_lab_close(&lab);
	}
}

/* Every transport that a REQ can name, to a UC listener: only UC comes in, and what it says about
 * READs and retries is not believed. */
static void
cm_uc__crafted_requests(void **state)
{
	open(PMV_PS_TCP);
	lab.s[1].no_accept = true;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	for (uint8_t transport = 0; transport < 4; transport++) {
		req.req.transport = transport;
		if (transport == PMV_CM_TRANSPORT_UC)
			continue;
		cm_lab_inject(&lab, 1, &req, NULL);
		cm_lab_run(&lab, 200);
	}
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 3);
	assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 2)->msg.rej.reason,
		PMV_CM_REASON_INVALID_TRANSPORT);
	req.req.transport = PMV_CM_TRANSPORT_UC;
	req.req.ece_vendor_id = PMV_ECE_VENDOR_ID; /* options are of RC: not answered */
	req.attr_mod = 1;
	cm_lab_inject(&lab, 1, &req, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	expect_no_rc_fields(1, PMV_CM_EVENT_CONNECT_REQUEST);
	cm_lab_qp(&lab, lab.s[1].ids[0]);
	assert_int_equal(pmv_cm_accept(lab.s[1].ids[0], NULL), 0);
	cm_lab_run(&lab, 200);
	{
		const struct cm_lab_frame *rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0);

		assert_int_equal(rep->msg.rep.ece_vendor_id, 0);
		assert_int_equal(rep->msg.attr_mod, 0);
		assert_int_equal(rep->msg.rep.responder_resources, 0);
		assert_int_equal(rep->msg.rep.initiator_depth, 0);
	}
	cm_lab_close(&lab);
}

/* Port spaces have ports of their own: two listeners under one number, each with its requests. */
static void
cm_uc__port_spaces_are_apart(void **state)
{
	struct pmv_cm_id *tcp, *ib;

	open(PMV_PS_TCP);
	lab.qp_type = PMV_QPT_RC;
	tcp = cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	lab.ps = PMV_PS_IB;
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_REJECTED, 100000));
	assert_int_equal(
		cm_lab_last(&lab, 0, PMV_CM_EVENT_REJECTED)->status, PMV_CM_REJ_INVALID_SERVICE_ID);
	ib = cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	assert_ptr_equal(lab.s[1].listener, ib);
	lab.ps = PMV_PS_TCP;
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	cm_lab_run(&lab, 3000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ESTABLISHED), 2);
	assert_ptr_equal(lab.s[1].listener, tcp);
	cm_lab_close(&lab);
}

/* The QP has to be of the id's type. */
static void
cm_uc__qp_of_another_type(void **state)
{
	struct pmv_test_node *n = &lab.pair.node[0];
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct pmv_cm_id *id;

	open(PMV_PS_IB);
	lab.s[0].hands_off = true;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED, 100000));
	init.send_cq = init.recv_cq = n->cq[0];
	assert_int_equal(pmv_cm_create_qp(id, n->pd, n->worker[0], &init), -EINVAL);
	init.qp_type = PMV_QPT_UD;
	assert_int_equal(pmv_cm_create_qp(id, n->pd, n->worker[0], &init), -EINVAL);
	assert_null(pmv_cm_id_qp(id));
	init.qp_type = PMV_QPT_UC;
	assert_int_equal(pmv_cm_create_qp(id, n->pd, n->worker[0], &init), 0);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_uc__whole_life_tcp_space_v4),
		cmocka_unit_test(cm_uc__whole_life_ib_space_v6),
		cmocka_unit_test(cm_uc__first_packet_is_the_rtu),
		cmocka_unit_test(cm_uc__types_differ),
		cmocka_unit_test(cm_uc__crafted_requests),
		cmocka_unit_test(cm_uc__port_spaces_are_apart),
		cmocka_unit_test(cm_uc__qp_of_another_type),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
