// SPDX-License-Identifier: BSD-3-Clause
/*
 * Connections over a lossy link: each CM message lost, copied, overtaken; the RTU replaced by the
 * first packet; peers that fall silent. All end as documented, and nothing stays behind.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/limits.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

#define NB_MESSAGES 20

static struct cm_lab lab;

static uint64_t
us_since(uint64_t then)
{
	return (lab.pair.now - then) / lab.pair.link->ticks_per_us;
}

/* One connection, established, disconnected by side `closer`, over whatever the lab drops. */
static void
one_life(const char *addr, int closer)
{
	struct cm_lab_pair p;

	p.listener = cm_lab_listen(&lab, 1, addr, CM_LAB_PORT);
	p.a = cm_lab_connect(&lab, 0, addr, CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 5000000));
	assert_true(cm_lab_wait(&lab, 1, PMV_CM_EVENT_ESTABLISHED, 5000000));
	p.b = lab.s[1].ids[0];
	assert_int_equal(pmv_cm_disconnect(closer == 0 ? p.a : p.b), 0);
	cm_lab_run_slow(&lab, 20000000);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_ESTABLISHED), 1);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_DISCONNECTED), 1);
		assert_int_equal(cm_lab_last(&lab, side, PMV_CM_EVENT_DISCONNECTED)->status, 0);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_TIMEWAIT_EXIT), 1);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_REJECTED), 0);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_UNREACHABLE), 0);
	}
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
}

/* Each message of each side lost once, twice, three times; closed by either side. */
static void
cm_loss__each_message(void **state)
{
	static const uint16_t attrs[] = { PMV_CM_ATTR_REQ, PMV_CM_ATTR_REP, PMV_CM_ATTR_RTU,
		PMV_CM_ATTR_DREQ, PMV_CM_ATTR_DREP };

	for (size_t i = 0; i < 5; i++) {
		for (int n = 1; n <= 3; n++) {
			cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
			lab.s[0].drop[attrs[i]] = (1u << n) - 1;
			lab.s[1].drop[attrs[i]] = (1u << n) - 1;
			one_life(n & 1 ? "192.168.10.2" : "fd00::2", n & 1);
			cm_lab_close(&lab);
		}
	}
}

/* Retransmissions are the same bytes (C.1.3: same TID). */
static void
cm_loss__copies_are_identical(void **state)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].drop[PMV_CM_ATTR_REQ] = 7;
	lab.s[1].drop[PMV_CM_ATTR_REP] = 3;
	lab.s[0].drop[PMV_CM_ATTR_DREQ] = 3;
	one_life("192.168.10.2", 0);
	/* the fifth went out while the first two REPs were lost */
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 5);
	for (uint32_t i = 1; i < 5; i++)
		assert_memory_equal(cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->mad,
			cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, i)->mad, PMV_MAD_LEN);
	for (uint32_t i = 1; i < 3; i++) {
		assert_memory_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0)->mad,
			cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, i)->mad, PMV_MAD_LEN);
		assert_memory_equal(cm_lab_sent(&lab, 0, PMV_CM_ATTR_DREQ, 0)->mad,
			cm_lab_sent(&lab, 0, PMV_CM_ATTR_DREQ, i)->mad, PMV_MAD_LEN);
	}
	cm_lab_close(&lab);
}

/* Every frame twice. */
static void
cm_loss__everything_twice(void **state)
{
	for (int i = 0; i < 2; i++) {
		cm_lab_open(&lab, &(struct cm_lab_param){ .use_ring = i });
		lab.s[0].dup_all = true;
		lab.s[1].dup_all = true;
		one_life(i ? "fd00::2" : "192.168.10.2", i);
		cm_lab_close(&lab);
	}
}

/* ARP and ND requests and answers lost once. */
static void
cm_loss__address_resolution(void **state)
{
	for (int i = 0; i < 4; i++) {
		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		lab.s[i & 1].drop_arp = true;
		cm_lab_run(&lab, 1000);
		cm_lab_connect(&lab, 0, i & 2 ? "fd00::2" : "192.168.10.2", CM_LAB_PORT);
		cm_lab_run(&lab, 100000);
		assert_int_equal(lab.s[0].nb_ev, 0);
		lab.s[i & 1].drop_arp = false;
		cm_lab_run_slow(&lab, 500000);
		assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED), 1);
		cm_lab_close(&lab);
	}
}

static void
post(struct pmv_qp *from, uint32_t i)
{
	struct pmv_sge sge = { .addr = (uintptr_t)&i, .length = sizeof(i) };
	struct pmv_send_wr wr = { .wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE };

	assert_int_equal(pmv_post_send(from, &wr, 1), 1);
}

/* 20 messages from A, each completed once on both sides, in order. */
static void
messages(struct cm_lab_pair *p)
{
	uint32_t buf[NB_MESSAGES] = { 0 };
	struct pmv_mr *mr;
	uint32_t sent = 0, done = 0, got = 0;
	struct pmv_wc wc;

	assert_int_equal(
		pmv_reg_mr(lab.pair.node[1].pd, buf, sizeof(buf), PMV_ACCESS_LOCAL_WRITE, &mr), 0);
	for (uint32_t i = 0; i < 16; i++) {
		struct pmv_sge sge = { (uintptr_t)&buf[i], sizeof(buf[i]), pmv_mr_lkey(mr) };
		struct pmv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		assert_int_equal(pmv_post_recv(pmv_cm_id_qp(p->b), &wr, 1), 1);
	}
	for (uint32_t turn = 0; turn < 400000 && (done < NB_MESSAGES || got < NB_MESSAGES);
		turn++) {
		if (sent < NB_MESSAGES && sent - done < 8 && sent - got < 8)
			post(pmv_cm_id_qp(p->a), sent++);
		cm_lab_run(&lab, lab.step_us);
		while (pmv_poll_cq(lab.pair.node[0].cq[0], &wc, 1) == 1) {
			assert_int_equal(wc.status, PMV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, done++);
		}
		while (pmv_poll_cq(lab.pair.node[1].cq[0], &wc, 1) == 1) {
			assert_int_equal(wc.status, PMV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, got);
			assert_int_equal(buf[got], got);
			if (got + 16 < NB_MESSAGES) {
				struct pmv_sge sge = { (uintptr_t)&buf[got + 16], sizeof(buf[0]),
					pmv_mr_lkey(mr) };
				struct pmv_recv_wr wr = {
					.wr_id = got + 16, .sg_list = &sge, .num_sge = 1
				};

				assert_int_equal(pmv_post_recv(pmv_cm_id_qp(p->b), &wr, 1), 1);
			}
			got++;
		}
	}
	assert_int_equal(done, NB_MESSAGES);
	assert_int_equal(got, NB_MESSAGES);
	pmv_dereg_mr(mr);
}

static void
run_with_mask(int dir, int bit)
{
	struct cm_lab_pair p;
	uint64_t end;

	cm_lab_open(&lab, &(struct cm_lab_param){ .seed = 11 + (uint64_t)bit });
	lab.pair.link->end[dir].out.drop_mask = 1ull << bit;
	p.listener = cm_lab_listen(&lab, 1, "192.168.10.2", CM_LAB_PORT);
	p.a = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 3000000));
	p.b = lab.s[1].ids[0];
	messages(&p);
	assert_true(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED) == 1);
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	end = lab.pair.now + 20000000 * lab.pair.link->ticks_per_us;
	while (lab.pair.now < end &&
		(cm_lab_count(&lab, 0, PMV_CM_EVENT_TIMEWAIT_EXIT) == 0 ||
			cm_lab_count(&lab, 1, PMV_CM_EVENT_TIMEWAIT_EXIT) == 0))
		cm_lab_run_slow(&lab, 10000);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_DISCONNECTED), 1);
		assert_int_equal(cm_lab_last(&lab, side, PMV_CM_EVENT_DISCONNECTED)->status, 0);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_TIMEWAIT_EXIT), 1);
	}
	cm_lab_close(&lab);
}

/* Each single loss among the first 64 frames of connect, 20 messages, disconnect; both directions.
 */
static void
cm_loss__each_of_the_first_64_frames(void **state)
{
	for (int dir = 0; dir < 2; dir++)
		for (int bit = 0; bit < 64; bit++)
			run_with_mask(dir, bit);
}

/* CM-105: all RTUs lost, no data, the REQ asks for 3 retries of 64 ms. */
static void
cm_loss__no_rtu_at_all(void **state)
{
	struct pmv_cm_id *id;
	uint64_t start;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].drop[PMV_CM_ATTR_RTU] = ~0ull;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_int_equal(pmv_cm_set_timers(id, 14, 3), 0);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	start = lab.pair.now;
	assert_true(cm_lab_wait(&lab, 1, PMV_CM_EVENT_UNREACHABLE, 2000000));
	assert_in_range(us_since(start), 4 * 64000 - 2000, 4 * 64000 + 10000);
	assert_int_equal(cm_lab_last(&lab, 1, PMV_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 4);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_RTU), 4);
	for (uint32_t i = 1; i < 4; i++) {
		uint64_t gap = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, i)->at -
			       cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, i - 1)->at;

		assert_in_range(gap / lab.pair.link->ticks_per_us, 63900, 64700);
	}
	/* B says so, A's half does not stay open */
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_DISCONNECTED, 100000));
	cm_lab_close(&lab);
}

/* CM-106: the first SEND stands for the RTU. */
static void
cm_loss__first_packet_is_the_rtu(void **state)
{
	struct pmv_cm_id *id;
	struct pmv_wc wc;
	uint8_t buf[64];
	struct pmv_mr *mr;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].drop[PMV_CM_ATTR_RTU] = 1;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	cm_lab_run(&lab, 1000);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(
		pmv_reg_mr(lab.pair.node[1].pd, buf, sizeof(buf), PMV_ACCESS_LOCAL_WRITE, &mr), 0);
	{
		struct pmv_sge sge = { (uintptr_t)buf, sizeof(buf), pmv_mr_lkey(mr) };
		struct pmv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

		assert_int_equal(pmv_post_recv(pmv_cm_id_qp(lab.s[1].ids[0]), &wr, 1), 1);
	}
	post(pmv_cm_id_qp(id), 1);
	cm_lab_run(&lab, 1000);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 1);
	assert_int_equal(pmv_poll_cq(lab.pair.node[0].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	cm_lab_run_slow(&lab, 2000000);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 1);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 1);
	pmv_dereg_mr(mr);
	cm_lab_close(&lab);
}

/* Nobody answers: the default schedule, 16 REQs, then a REJ 4 and UNREACHABLE; CM-113 with own
 * timers. */
static void
cm_loss__silent_peer(void **state)
{
	struct pmv_cm_id *id;
	uint64_t first;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	lab.s[1].drop[PMV_CM_ATTR_REP] = ~0ull;
	lab.s[0].drop[PMV_CM_ATTR_REQ] = ~0ull;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_UNREACHABLE, 20000000));
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 16);
	first = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->at;
	assert_in_range(us_since(first), 12000000, 14000000);
	assert_int_equal(pmv_qp_get_state(pmv_cm_id_qp(id)), PMV_QPS_ERR);
	assert_int_equal(pmv_cm_disconnect(id), -EINVAL);
	cm_lab_close(&lab);
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].drop[PMV_CM_ATTR_REQ] = ~0ull;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_int_equal(pmv_cm_set_timers(id, 22, 15), 0);
	cm_lab_run_slow(&lab, 16000000);
	cm_lab_run_slow(&lab, 1000000);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 2);
	pmv_test_pair_run(&lab.pair, 244000000, 20000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_UNREACHABLE), 0);
	pmv_test_pair_run(&lab.pair, 3000000, 20000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_UNREACHABLE), 1);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 16);
	cm_lab_close(&lab);
}

/* No such host: ADDR_ERROR after the caller's timeout, and the id can be used again. */
static void
cm_loss__silent_address(void **state)
{
	static const char *const addr[] = { "192.168.10.99", "fd00::99" };
	struct pmv_cm_id *id;
	uint64_t start;

	for (int i = 0; i < 2; i++) {
		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		start = lab.pair.now;
		id = cm_lab_connect(&lab, 0, addr[i], CM_LAB_PORT);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_ERROR, 5000000));
		assert_in_range(us_since(start), 2000000, 2100000);
		assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_ADDR_ERROR)->status, -ETIMEDOUT);
		assert_true(pmv_cm_stat(lab.s[0].cm, "tx_arp_nd") >= 3);
		assert_int_equal(pmv_cm_resolve_addr(id, NULL,
					 cm_lab_addr(i ? "fd00::2" : "192.168.10.2", 1), 1000),
			0);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED, 100000));
		cm_lab_close(&lab);
	}
}

/* No route at all. */
static void
cm_loss__no_route(void **state)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_connect(&lab, 0, "10.1.2.3", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_ERROR, 10000));
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_ADDR_ERROR)->status, -ENETUNREACH);
	cm_lab_close(&lab);
}

/* CM-121: B hangs, A disconnects: QP to ERR at once, 1 + 15 DREQs, one DISCONNECTED. */
static void
cm_loss__peer_dies(void **state)
{
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	lab.stopped[1] = true;
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	assert_int_equal(pmv_qp_get_state(pmv_cm_id_qp(p.a)), PMV_QPS_ERR);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_DISCONNECTED, 20000000));
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_DISCONNECTED)->status, -ETIMEDOUT);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_DREQ), 16);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_TIMEWAIT_EXIT, 5000000));
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DISCONNECTED), 1);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_loss__each_message),
		cmocka_unit_test(cm_loss__copies_are_identical),
		cmocka_unit_test(cm_loss__everything_twice),
		cmocka_unit_test(cm_loss__address_resolution),
		cmocka_unit_test(cm_loss__each_of_the_first_64_frames),
		cmocka_unit_test(cm_loss__no_rtu_at_all),
		cmocka_unit_test(cm_loss__first_packet_is_the_rtu),
		cmocka_unit_test(cm_loss__silent_peer),
		cmocka_unit_test(cm_loss__silent_address),
		cmocka_unit_test(cm_loss__no_route),
		cmocka_unit_test(cm_loss__peer_dies),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
