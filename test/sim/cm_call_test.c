// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every pmv_cm_* call in every phase of an id: the legal ones are elsewhere, the others return
 * their errno and change nothing (AD-204, CM-123). And arguments, owners, limits.
 */
#include <errno.h>
#include <pthread.h>
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

enum phase {
	IDLE,
	BOUND,
	LISTEN,
	QUERY,
	RESOLVED,
	ROUTED,
	SENT,
	ESTAB,
	CLOSED,
	REQUEST,
	NB_PHASES
};

/* Brings an id of node 0 into a phase. */
static struct pmv_cm_id *
id_in(enum phase phase)
{
	struct pmv_cm_id *id;

	lab.s[0].hands_off = true;
	lab.s[0].no_accept = true;
	if (phase == REQUEST) {
		struct pmv_cm_msg req;
		uint8_t private_data[92];

		cm_lab_listen(&lab, 0, "0.0.0.0", CM_LAB_PORT);
		cm_lab_req(&lab, 0, &req, private_data);
		cm_lab_inject(&lab, 0, &req, NULL);
		cm_lab_run(&lab, 200);
		return lab.s[0].ids[0];
	}
	id = cm_lab_id(&lab, 0);
	if (phase == BOUND || phase == LISTEN)
		assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr("192.168.10.1", 5000)), 0);
	if (phase == LISTEN)
		assert_int_equal(pmv_cm_listen(id, 1), 0);
	if (phase < QUERY)
		return id;
	assert_int_equal(
		pmv_cm_resolve_addr(id, NULL,
			cm_lab_addr(phase == QUERY ? "192.168.10.99" : "192.168.10.2", CM_LAB_PORT),
			60000),
		0);
	cm_lab_run(&lab, 3000);
	if (phase >= ROUTED) {
		assert_int_equal(pmv_cm_resolve_route(id, 0), 0);
		cm_lab_run(&lab, 200);
	}
	if (phase >= SENT) {
		if (phase == SENT)
			lab.s[0].drop[PMV_CM_ATTR_REQ] = ~0ull;
		cm_lab_qp(&lab, id);
		assert_int_equal(pmv_cm_connect(id, NULL), 0);
		cm_lab_run(&lab, 1000);
	}
	if (phase == CLOSED) {
		assert_int_equal(pmv_cm_disconnect(id), 0);
		cm_lab_run_slow(&lab, 4000000);
	}
	return id;
}

/* What a refused call must not change. Events and lists are behind pointers; the parts count. */
struct snapshot {
	uint8_t phase, options, state;
	uint8_t src[16], dst[16];
	uint16_t src_port, dst_port;
	uint32_t backlog, comm_id;
	uint64_t deadline;
	struct pmv_qp *qp;
	uint32_t nb_sent;
	uint32_t nb_armed;
};

static struct snapshot
look(const struct pmv_cm_id *id)
{
	struct snapshot s;

	memset(&s, 0, sizeof(s));
	s.phase = id->phase;
	s.options = id->options;
	s.state = id->conn.state;
	memcpy(s.src, id->src, 16);
	memcpy(s.dst, id->dst, 16);
	s.src_port = id->src_port;
	s.dst_port = id->dst_port;
	s.backlog = id->backlog;
	s.comm_id = id->conn.local_comm_id;
	s.deadline = id->conn.timer.deadline;
	s.qp = pmv_cm_id_qp(id);
	s.nb_sent = lab.s[0].nb_sent;
	s.nb_armed = id->cm->wheel.nb_armed;
	return s;
}

static int
call(struct pmv_cm_id *id, int which)
{
	struct pmv_test_node *node = &lab.pair.node[0];
	struct pmv_qp_init_attr init = { .send_cq = node->cq[0],
		.recv_cq = node->cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { 16, 16, 1, 1, 0 } };

	switch (which) {
	case 0:
		return pmv_cm_bind_addr(id, cm_lab_addr("192.168.10.1", 5001));
	case 1:
		return pmv_cm_listen(id, 3);
	case 2:
		return pmv_cm_resolve_addr(id, NULL, cm_lab_addr("192.168.10.2", 9), 50);
	case 3:
		return pmv_cm_resolve_route(id, 50);
	case 4:
		return pmv_cm_create_qp(id, node->pd, node->worker[0], &init);
	case 5:
		return pmv_cm_destroy_qp(id);
	case 6:
		return pmv_cm_connect(id, NULL);
	case 7:
		return pmv_cm_accept(id, NULL);
	case 8:
		return pmv_cm_reject(id, NULL, 0, 28);
	case 9:
		return pmv_cm_disconnect(id);
	case 10:
		return pmv_cm_set_service_type(id, 4);
	case 11:
		return pmv_cm_set_ack_timeout(id, 3);
	case 12:
		return pmv_cm_set_timers(id, 9, 3);
	default:
		return pmv_cm_set_min_rnr_timer(id, 3);
	}
}

/* One row a phase, one column a call; x: legal. */
static const char *const legal[NB_PHASES] = {
	[IDLE] = "x.x.......xxxx",
	[BOUND] = ".xx.......xxxx",
	[LISTEN] = "..............",
	[QUERY] = "..........xxxx",
	[RESOLVED] = "...xx.....xxxx",
	[ROUTED] = "....x......xxx",
	[SENT] = ".....x........",
	[ESTAB] = ".....x...x....",
	[CLOSED] = ".....x.....xxx", /* connect: only with a new QP, but the old one is there */
	[REQUEST] = "....x...x.xxxx",
};

static void
cm_call__every_call_in_every_phase(void **state)
{
	for (enum phase phase = 0; phase < NB_PHASES; phase++) {
		for (int which = 0; which < 14; which++) {
			struct snapshot before, after;
			struct pmv_cm_id *id;
			int err;

			cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
			if (phase != SENT && phase != REQUEST)
				cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
			id = id_in(phase);
			if (phase == CLOSED &&
				which == 6) { /* legal for the CM: RTR will fail later */
				cm_lab_close(&lab);
				continue;
			}
			before = look(id);
			err = call(id, which);
			after = look(id);
			if (legal[phase][which] == 'x') {
				if (err != 0)
					print_error("phase %d call %d: %d\n", phase, which, err);
				assert_int_equal(err, 0);
			} else {
				if (err != -EINVAL)
					print_error("phase %d call %d: %d\n", phase, which, err);
				assert_int_equal(err, -EINVAL);
				assert_memory_equal(&before, &after, sizeof(before));
			}
			cm_lab_run(&lab, 200);
			cm_lab_close(&lab);
		}
	}
}

static void
cm_call__arguments(void **state)
{
	struct pmv_cm_conn_param p = { 0 };
	struct sockaddr_storage ss = { .ss_family = AF_UNIX };
	struct pmv_cm_id *id;
	uint8_t big[255] = { 0 };
	struct pmv_cm *cm;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm = lab.s[0].cm;
	assert_int_equal(pmv_cm_create(NULL, NULL), -EINVAL);
	assert_int_equal(pmv_cm_create(&(struct pmv_cm_param){ .id_max = 1u << 30 }, &cm), -EINVAL);
	assert_int_equal(pmv_cm_add_device(cm, NULL), -EINVAL);
	assert_int_equal(pmv_cm_add_device(lab.s[1].cm, lab.pair.node[0].dev), -EBUSY);
	assert_int_equal(pmv_cm_create_id(cm, NULL, NULL, PMV_PS_UDP, PMV_QPT_UD, &id), -ENOTSUP);
	assert_int_equal(pmv_cm_create_id(cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_UD, &id), -ENOTSUP);
	assert_int_equal(pmv_cm_create_id(cm, NULL, NULL, 7, PMV_QPT_RC, &id), -EINVAL);
	assert_int_equal(pmv_cm_create_id(NULL, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &id), -EINVAL);
	id = cm_lab_id(&lab, 0);
	assert_int_equal(pmv_cm_bind_addr(NULL, cm_lab_addr("192.168.10.1", 1)), -EINVAL);
	assert_int_equal(pmv_cm_bind_addr(id, NULL), -EINVAL);
	assert_int_equal(pmv_cm_bind_addr(id, (struct sockaddr *)&ss), -EINVAL);
	assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr("224.0.0.1", 1)), -EINVAL);
	assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr("ff02::1", 1)), -EINVAL);
	/* AD-202: link-local without a scope names no port */
	assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr("fe80::1", 1)), -EINVAL);
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, cm_lab_addr("fe80::1", 1), 10), -EINVAL);
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, cm_lab_addr("192.168.10.2", 1), 0), -EINVAL);
	assert_int_equal(
		pmv_cm_resolve_addr(id, NULL, cm_lab_addr("192.168.10.2", 1), 600001), -EINVAL);
	assert_int_equal(
		pmv_cm_resolve_addr(id, NULL, cm_lab_addr("192.168.10.2", 0), 10), -EINVAL);
	assert_int_equal(pmv_cm_resolve_addr(
				 id, cm_lab_addr("fd00::1", 0), cm_lab_addr("192.168.10.2", 1), 10),
		-EINVAL);
	assert_int_equal(pmv_cm_resolve_addr(id, cm_lab_addr("10.1.1.1", 0),
				 cm_lab_addr("192.168.10.2", 1), 10),
		-EADDRNOTAVAIL);
	assert_int_equal(id->phase, PMV_CM_PH_IDLE);
	assert_false(id->has_src);
	assert_int_equal(pmv_cm_set_ack_timeout(id, 32), -EINVAL);
	assert_int_equal(pmv_cm_set_min_rnr_timer(id, 32), -EINVAL);
	assert_int_equal(pmv_cm_set_timers(id, 7, 1), -EINVAL);
	assert_int_equal(pmv_cm_set_timers(id, 8, 16), -EINVAL);
	cm_lab_destroy(&lab, 0, id);
	id = id_in(ROUTED);
	cm_lab_qp(&lab, id);
	p.private_data = big;
	p.private_data_len = 57;
	assert_int_equal(pmv_cm_connect(id, &p), -EINVAL);
	p.private_data_len = 0;
	p.retry_count = 8;
	assert_int_equal(pmv_cm_connect(id, &p), -EINVAL);
	p.retry_count = 0;
	p.private_data = NULL;
	p.private_data_len = 1;
	assert_int_equal(pmv_cm_connect(id, &p), -EINVAL);
	assert_int_equal(lab.s[0].nb_sent, 0);
	assert_int_equal(pmv_cm_destroy(lab.s[0].cm), -EBUSY);
	cm_lab_close(&lab);
}

static void *
other_thread(void *arg)
{
	struct pmv_cm_id *id = arg;
	intptr_t bad = 0;

	bad |= pmv_cm_destroy_id(id) != -EPERM;
	bad |= pmv_cm_connect(id, NULL) != -EPERM;
	bad |= pmv_cm_detach(id->cm) != -EPERM;
	bad |= pmv_cm_attach(id->cm) != -EBUSY;
	bad |= pmv_cm_poll_at(id->cm, id->cm->epoch + id->cm->now) != 0;
	return (void *)bad;
}

/* A CM belongs to the thread that attached it. */
static void
cm_call__owner(void **state)
{
	struct pmv_cm_id *id;
	pthread_t thread;
	void *bad;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	id = cm_lab_id(&lab, 0);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, id), 0);
	pthread_join(thread, &bad);
	assert_null(bad);
	assert_int_equal(pmv_cm_attach(lab.s[0].cm), -EBUSY);
	cm_lab_close(&lab);
}

static void
cm_call__texts_and_counters(void **state)
{
	struct pmv_stat st[400];
	uint32_t nb;

	assert_string_equal(pmv_cm_event_str(PMV_CM_EVENT_TIMEWAIT_EXIT), "TIMEWAIT_EXIT");
	assert_string_equal(pmv_cm_event_str(PMV_CM_EVENT_INTERNAL), "INTERNAL");
	assert_string_equal(pmv_cm_event_str(20), "unknown event");
	assert_string_equal(pmv_cm_reject_str(34), "unknown reason");
	assert_string_equal(pmv_cm_reject_str(-1), "unknown reason");
	assert_non_null(strstr(pmv_cm_reject_str(8), "nobody listens"));
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	nb = pmv_cm_stats(lab.s[0].cm, st, 400);
	assert_in_range(nb, 50, 399);
	for (uint32_t i = 0; i < nb; i++) {
		assert_non_null(st[i].name);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(st[i].name, st[k].name);
	}
	assert_int_equal(pmv_cm_stats(lab.s[0].cm, NULL, 0), nb);
	assert_int_equal(pmv_cm_stat(lab.s[0].cm, "no such counter"), 0);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_call__every_call_in_every_phase),
		cmocka_unit_test(cm_call__arguments),
		cmocka_unit_test(cm_call__owner),
		cmocka_unit_test(cm_call__texts_and_counters),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
