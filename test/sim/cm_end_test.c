// SPDX-License-Identifier: BSD-3-Clause
/*
 * How ids end: destroyed in every state, from handlers, with events still out, with their device
 * gone; and what the peer is told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/id.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;

static uint32_t
nb_all_sent(int side)
{
	return lab.s[side].nb_sent;
}

/* An id of node 0 in each phase before connecting: destroyed, not a word is said. */
static void
cm_end__before_connecting(void **state)
{
	for (int phase = 0; phase < 6; phase++) {
		struct pmv_cm_id *id;

		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		lab.s[0].hands_off = true;
		id = cm_lab_id(&lab, 0);
		if (phase == 1 || phase == 2)
			assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr("192.168.10.1", 0)), 0);
		if (phase == 2)
			assert_int_equal(pmv_cm_listen(id, 0), 0);
		if (phase >= 3)
			assert_int_equal(
				pmv_cm_resolve_addr(id, NULL,
					cm_lab_addr(phase == 3 ? "192.168.10.99" : "192.168.10.2",
						CM_LAB_PORT),
					2000),
				0);
		cm_lab_run(&lab, 5000);
		if (phase >= 5) {
			assert_int_equal(pmv_cm_resolve_route(id, 0), 0);
			cm_lab_run(&lab, 100);
			cm_lab_qp(&lab, id);
		}
		lab.s[0].nb_ev = 0;
		if (pmv_cm_id_qp(id) != NULL)
			assert_int_equal(pmv_cm_destroy_qp(id), 0);
		assert_int_equal(pmv_cm_destroy_id(id), 0);
		cm_lab_run_slow(&lab, 3000000);
		assert_int_equal(lab.s[0].nb_ev, 0);
		assert_int_equal(nb_all_sent(0), 0);
		assert_int_equal(lab.s[0].cm->nb_ids, 0);
		cm_lab_close(&lab);
	}
}

/* CM-107: REQ_SENT and MRA_REQ_RCVD: one REJ 4, no more REQs; B learns of it. */
static void
cm_end__while_connecting(void **state)
{
	for (int mra = 0; mra < 2; mra++) {
		const struct cm_lab_frame *rej;
		struct pmv_device_attr attr;
		struct pmv_cm_id *id;

		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		lab.s[1].no_accept = true;
		cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
		id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
		cm_lab_run_slow(&lab, mra ? 400000 : 100000);
		assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_MRA), (uint32_t)mra);
		assert_int_equal(id->conn.state, mra ? PMV_CM_ST_MRA_REQ_RCVD : PMV_CM_ST_REQ_SENT);
		cm_lab_destroy(&lab, 0, id);
		cm_lab_run_slow(&lab, 30000000);
		assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), (uint32_t)mra + 1);
		assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REJ), 1);
		rej = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REJ, 0);
		assert_int_equal(pmv_query_device(lab.pair.node[0].dev, &attr), 0);
		assert_int_equal(rej->msg.rej.about, PMV_CM_ABOUT_OTHER);
		assert_int_equal(rej->msg.rej.reason, 4);
		assert_int_equal(rej->msg.rej.remote_comm_id, 0);
		assert_int_equal(rej->msg.rej.ari_len, 8);
		assert_true(pmv_be64_load(rej->msg.rej.ari) == attr.node_guid);
		assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_REJECTED), 1);
		assert_int_equal(cm_lab_last(&lab, 1, PMV_CM_EVENT_REJECTED)->status, 4);
		assert_int_equal(pmv_cm_accept(lab.s[1].ids[0], NULL), -EINVAL);
		cm_lab_close(&lab);
	}
}

/* The passive side in MRA_REQ_SENT and REP_SENT (REQ_RCVD: cm_request__listener_destroyed). */
static void
cm_end__passive(void **state)
{
	for (int phase = 1; phase < 3; phase++) {
		struct pmv_cm_id *id;

		cm_lab_open(&lab, &(struct cm_lab_param){ .use_ring = true });
		lab.s[1].no_accept = phase < 2;
		lab.s[0].drop[PMV_CM_ATTR_RTU] = ~0ull;
		cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
		cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
		cm_lab_run(&lab, 3000);
		id = lab.s[1].ids[0];
		assert_int_equal(
			id->conn.state, phase == 1 ? PMV_CM_ST_MRA_REQ_SENT : PMV_CM_ST_REP_SENT);
		cm_lab_destroy(&lab, 1, id);
		cm_lab_run_slow(&lab, 3000000);
		assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 1);
		assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 0)->msg.rej.reason, 28);
		assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 0)->msg.rej.about,
			phase == 1 ? PMV_CM_ABOUT_REQ : PMV_CM_ABOUT_OTHER);
		assert_int_equal(
			cm_lab_count(&lab, 0,
				phase == 1 ? PMV_CM_EVENT_REJECTED : PMV_CM_EVENT_DISCONNECTED),
			1);
		cm_lab_close(&lab);
	}
}

/* CM-112: ESTABLISHED: one DREQ, QP to ERR, no timer; the DREP comes 30 s later, or never. */
static void
cm_end__established(void **state)
{
	struct pmv_cm_msg late = { .attr = PMV_CM_ATTR_DREP };
	struct cm_lab_pair p;
	struct pmv_qp *qp;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	late.drep.local_comm_id = p.b->conn.local_comm_id;
	late.drep.remote_comm_id = p.a->conn.local_comm_id;
	lab.stopped[1] = true;
	qp = pmv_cm_id_qp(p.a);
	lab.s[0].nb_ev = 0;
	assert_int_equal(pmv_cm_destroy_id(p.a), 0);
	assert_int_equal(pmv_qp_get_state(qp), PMV_QPS_ERR); /* and stays the caller's */
	assert_int_equal(pmv_destroy_qp(qp), 0);
	cm_lab_run_slow(&lab, 31000000);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_DREQ), 1);
	assert_int_equal(lab.s[0].nb_ev, 0);
	assert_int_equal(lab.s[0].cm->comm_ids.nb, 0);
	cm_lab_inject(&lab, 0, &late, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(pmv_cm_stat(lab.s[0].cm, "rx_drop_unknown_id"), 1);
	lab.stopped[1] = false;
	cm_lab_run(&lab, 5000);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
	cm_lab_close(&lab);
}

/* While it lingers, the record still answers the peer's DREQ; DREQ_SENT and TIMEWAIT end silently.
 */
static void
cm_end__disconnecting(void **state)
{
	for (int phase = 0; phase < 2; phase++) {
		struct cm_lab_pair p;

		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		p = cm_lab_established(&lab, "192.168.10.2");
		lab.s[1].drop[PMV_CM_ATTR_DREP] = phase == 0 ? ~0ull : 0;
		assert_int_equal(pmv_cm_disconnect(p.a), 0);
		cm_lab_run(&lab, 2000);
		assert_int_equal(
			p.a->conn.state, phase == 0 ? PMV_CM_ST_DREQ_SENT : PMV_CM_ST_TIMEWAIT);
		lab.s[0].nb_ev = 0;
		cm_lab_destroy(&lab, 0, p.a);
		cm_lab_run_slow(&lab, 5000000);
		assert_int_equal(lab.s[0].nb_ev, 0);
		assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_DREQ), 1);
		cm_lab_close(&lab);
	}
}

static int edeadlk_seen;

static int
destroy_self(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	if (e->event == PMV_CM_EVENT_CONNECT_REQUEST && s->side == 1) {
		assert_int_equal(pmv_cm_destroy_id(e->id), -EDEADLK);
		assert_int_equal(pmv_cm_destroy_id(e->listen_id), -EDEADLK);
		edeadlk_seen++;
		return -1; /* destroys the new id, not the listener */
	}
	return 0;
}

/* Seeds row of destroy: from inside the own handler refused; a handler's non-zero destroys. */
static void
cm_end__from_the_handler(void **state)
{
	edeadlk_seen = 0;
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[1].on_event = destroy_self;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_REJECTED, 100000));
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_REJECTED)->status, 28);
	assert_int_equal(edeadlk_seen, 1);
	assert_int_equal(lab.s[1].cm->nb_ids, 1);
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	cm_lab_run(&lab, 3000);
	assert_int_equal(edeadlk_seen, 2);
	cm_lab_close(&lab);
}

/* CM-124: an event is out while its id is destroyed. */
static void
cm_end__event_outlives_id(void **state)
{
	struct pmv_cm_event *e;
	struct pmv_cm_id *id;

	cm_lab_open(&lab, &(struct cm_lab_param){ .use_ring = true });
	lab.stopped[0] = true;
	id = cm_lab_id(&lab, 0);
	assert_int_equal(
		pmv_cm_resolve_addr(id, NULL, cm_lab_addr("192.168.10.1", CM_LAB_PORT), 100), 0);
	pmv_cm_poll_at(lab.s[0].cm, lab.pair.now);
	assert_int_equal(pmv_cm_get_event(lab.s[0].cm, &e), 1);
	assert_int_equal(e->event, PMV_CM_EVENT_ADDR_RESOLVED); /* our own address: no ARP */
	assert_int_equal(pmv_cm_destroy_id(id), 0);
	for (int i = 0; i < 100; i++)
		pmv_cm_poll_at(lab.s[0].cm, lab.pair.now + (uint64_t)i * 100000000);
	assert_ptr_equal(e->id, id);
	assert_false(TAILQ_EMPTY(&lab.s[0].cm->dying));
	pmv_cm_ack_event(lab.s[0].cm, e);
	pmv_cm_poll_at(lab.s[0].cm, lab.pair.now + 100ull * 100000000);
	assert_true(TAILQ_EMPTY(&lab.s[0].cm->dying));
	lab.pair.now += 100ull * 100000000;
	lab.stopped[0] = false;
	cm_lab_close(&lab);
}

/* CM-130: a wrapper that polls until its own id is there, from inside another id's handler. */
static struct pmv_cm_id *inner;
static bool inner_resolved;
static int depth;

static int
inner_handler(struct pmv_cm_id *id, const struct pmv_cm_event *e)
{
	assert_ptr_equal(id, inner);
	inner_resolved = e->event == PMV_CM_EVENT_ADDR_RESOLVED;
	return 0;
}

static int
resolve_inside(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	if (s->side != 0 || e->event != PMV_CM_EVENT_ADDR_RESOLVED || inner != NULL)
		return 0;
	depth++;
	assert_int_equal(depth, 1); /* never two at once for one id */
	assert_int_equal(
		pmv_cm_create_id(s->cm, inner_handler, s, PMV_PS_TCP, PMV_QPT_RC, &inner), 0);
	assert_int_equal(pmv_cm_resolve_addr(inner, NULL, cm_lab_addr("192.168.10.1", 1), 100), 0);
	assert_int_equal(pmv_cm_resolve_route(e->id, 0), 0); /* queues an event of the outer id */
	for (int i = 0; i < 10 && !inner_resolved; i++)
		pmv_cm_poll_at(s->cm, s->lab->pair.now);
	assert_true(inner_resolved);
	assert_int_equal(cm_lab_count(s->lab, 0, PMV_CM_EVENT_ROUTE_RESOLVED), 0);
	depth--;
	return 1;
}

static void
cm_end__blocking_wrapper(void **state)
{
	inner = NULL;
	inner_resolved = false;
	depth = 0;
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].on_event = resolve_inside;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	assert_true(inner_resolved);
	cm_lab_close(&lab);
}

/* The device goes: the ids learn it, the peer is told, nothing is left. */
static void
cm_end__device_removed(void **state)
{
	struct pmv_cm_id *resolving, *resolved;
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	resolving = cm_lab_connect(&lab, 0, "192.168.10.99", 1);
	lab.s[0].hands_off = true;
	resolved = cm_lab_connect(&lab, 0, "192.168.10.2", 1);
	cm_lab_run(&lab, 2000);
	assert_int_equal(pmv_cm_remove_device(lab.s[0].cm, lab.pair.node[0].dev), 0);
	assert_int_equal(pmv_cm_remove_device(lab.s[0].cm, lab.pair.node[0].dev), -ENOENT);
	cm_lab_run(&lab, 2000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DEVICE_REMOVAL), 3);
	assert_int_equal(pmv_cm_resolve_route(resolved, 0), -ENODEV);
	assert_int_equal(pmv_cm_disconnect(p.a), -EINVAL);
	assert_null(pmv_cm_id_device(resolving));
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(pmv_cm_add_device(lab.s[0].cm, lab.pair.node[0].dev), 0);
	cm_lab_close(&lab);
}

/* CM-125, short: rounds leave nothing behind. */
static void
cm_end__rounds(void **state)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ .id_max = 8 });
	lab.step_us = 20;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	for (int i = 0; i < 200; i++) {
		struct pmv_cm_id *a = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);

		cm_lab_run(&lab, 1000);
		assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 1);
		if (i & 1)
			assert_int_equal(pmv_cm_disconnect(a), 0);
		cm_lab_destroy(&lab, 0, a);
		cm_lab_run(&lab, 500);
		assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
		cm_lab_destroy(&lab, 1, lab.s[1].ids[0]);
		for (int side = 0; side < 2; side++) {
			lab.s[side].nb_ev = 0;
			lab.s[side].nb_ids = 0;
			lab.s[side].nb_sent = 0;
		}
	}
	/* 200 rounds in 0.3 s: more records than slots would linger, the oldest made room */
	assert_true(pmv_cm_stat(lab.s[0].cm, "linger_cut") > 0);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_end__before_connecting),
		cmocka_unit_test(cm_end__while_connecting),
		cmocka_unit_test(cm_end__passive),
		cmocka_unit_test(cm_end__established),
		cmocka_unit_test(cm_end__disconnecting),
		cmocka_unit_test(cm_end__from_the_handler),
		cmocka_unit_test(cm_end__event_outlives_id),
		cmocka_unit_test(cm_end__blocking_wrapper),
		cmocka_unit_test(cm_end__device_removed),
		cmocka_unit_test(cm_end__rounds),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
