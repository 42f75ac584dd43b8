// SPDX-License-Identifier: BSD-3-Clause
/*
 * What two ends agree on by enhanced connection establishment: the bytes of REQ and REP, what both
 * QPs do then, and peers who know nothing of it, somebody else's, or claim too much (CM-119).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"
#include "test/sim/rc_lab.h"

#define FOREIGN 0x15b3u
#define MEM     65536u
#define LEN     16384u

static struct cm_lab lab;
static struct pmv_cm_msg req;
static uint8_t private_data[92];
static uint8_t mem[2][MEM];

/* What each side's program says in its call; no word: the plain call. */
static const struct pmv_ece *word[2];

static const struct pmv_ece ours = { PMV_ECE_VENDOR_ID,
	PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION };
static const struct pmv_ece nothing;
static const struct pmv_ece greedy = { PMV_ECE_VENDOR_ID, 0xffffffff };
static const struct pmv_ece unknown_option = { PMV_ECE_VENDOR_ID, 0x80 };
static const struct pmv_ece foreign = { FOREIGN, 0x12345678 };

static int
speak(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	if (e->event == PMV_CM_EVENT_ROUTE_RESOLVED) {
		cm_lab_qp(s->lab, e->id);
		assert_int_equal(pmv_cm_connect_ece(e->id, NULL, word[s->side]), 0);
		return 1;
	}
	if (e->event == PMV_CM_EVENT_CONNECT_REQUEST && !s->no_accept) {
		cm_lab_qp(s->lab, e->id);
		assert_int_equal(pmv_cm_accept_ece(e->id, NULL, word[s->side]), 0);
		return 1;
	}
	return 0;
}

static void
open(const struct pmv_ece *active, const struct pmv_ece *passive)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	word[0] = active;
	word[1] = passive;
	for (int side = 0; side < 2; side++)
		lab.s[side].on_event = speak;
}

static void
expect_ece(struct pmv_ece seen, struct pmv_ece expected)
{
	assert_int_equal(seen.vendor_id, expected.vendor_id);
	assert_int_equal(seen.options, expected.options);
}

/* The CM and the QP tell the same. */
static void
expect_agreed(struct pmv_cm_id *id, struct pmv_ece expected)
{
	struct pmv_qp_attr attr;

	expect_ece(pmv_cm_id_ece(id), expected);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(id), &attr, NULL), 0);
	assert_int_equal(attr.qp_state, PMV_QPS_RTS);
	expect_ece(attr.ece, expected);
}

/* Vendor id in bytes 5..7 behind the MAD header of a REQ, in bytes 15, 19, 23 of a REP; options in
 * the attribute modifier, bytes 20..23 (IBTA vol. 1, 12.6.5, 12.6.8). */
static void
expect_bytes(uint16_t attr, const char *modifier, const char *vendor)
{
	const uint8_t *mad = cm_lab_sent(&lab, attr == PMV_CM_ATTR_REP, attr, 0)->mad;
	uint8_t seen[3] = { mad[24 + 5], mad[24 + 6], mad[24 + 7] };

	if (attr == PMV_CM_ATTR_REP) {
		seen[0] = mad[24 + 15];
		seen[1] = mad[24 + 19];
		seen[2] = mad[24 + 23];
	}
	assert_memory_equal(mad + 20, modifier, 4);
	assert_memory_equal(seen, vendor, 3);
}

/* ---- Two of ours ---- */

static uint32_t nb_data;

static enum pmv_test_fate
lose_the_second(void *arg, struct rte_mbuf *m, uint64_t index)
{
	(void)arg;
	(void)m;
	(void)index;
	return nb_data++ == 1 ? PMV_TEST_DROP : PMV_TEST_PASS;
}

/* Four packets on a fresh connection, the second of them lost: known from those behind it, within
 * 100 ms. @return packets sent again. */
static uint64_t
write_with_a_loss(const struct cm_lab_pair *p)
{
	struct pmv_cm_id *ids[2] = { p->a, p->b };
	struct pmv_qp_stats stats;
	struct pmv_mr *mr[2];
	struct pmv_wc wc;
	int nb = 0;

	for (int side = 0; side < 2; side++)
		assert_int_equal(
			pmv_reg_mr(lab.pair.node[side].pd, mem[side], MEM,
				PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE, &mr[side]),
			0);
	memset(mem[1], 0, MEM);
	rc_lab_fill(mem[0], LEN, 5);
	{
		const struct pmv_sge sge = { (uintptr_t)mem[0], LEN, pmv_mr_lkey(mr[0]) };
		struct pmv_send_wr wr = { .sg_list = &sge,
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_SIGNALED };

		wr.wr.rdma.remote_addr = (uintptr_t)mem[1];
		wr.wr.rdma.rkey = pmv_mr_rkey(mr[1]);
		nb_data = 0;
		lab.pair.link->end[0].out.hook = lose_the_second;
		assert_int_equal(pmv_post_send(pmv_cm_id_qp(ids[0]), &wr, 1), 1);
	}
	for (int i = 0; i < 1000 && nb == 0; i++) {
		cm_lab_run(&lab, 100);
		nb = (int)pmv_poll_cq(lab.pair.node[0].cq[0], &wc, 1);
	}
	assert_int_equal(nb, 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_true(rc_lab_check(mem[1], LEN, 5));
	assert_int_equal(pmv_qp_get_stats(pmv_cm_id_qp(ids[0]), &stats), 0);
	for (int side = 0; side < 2; side++)
		rc_lab_dereg(mr[side]);
	cm_lab_run(&lab, 100);
	return stats.retx_pkts;
}

/* By default: offered, answered, in force at both ends; a lost packet costs one packet. */
static void
cm_ece__two_of_ours_repeat_selectively(void **state)
{
	struct cm_lab_pair p;

	open(NULL, NULL);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\x00\x00\x00\x03", "pmv");
	expect_bytes(PMV_CM_ATTR_REP, "\x00\x00\x00\x03", "pmv");
	expect_agreed(p.a, ours);
	expect_agreed(p.b, ours);
	expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->ece, ours);
	expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_ESTABLISHED)->ece, ours);
	expect_ece(cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED)->ece, ours);
	assert_int_equal(write_with_a_loss(&p), 1);
	cm_lab_close(&lab);
}

/* The plain calls say the same as those without a word. */
static void
cm_ece__plain_calls(void **state)
{
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "fd00::2");
	expect_bytes(PMV_CM_ATTR_REQ, "\x00\x00\x00\x03", "pmv");
	expect_bytes(PMV_CM_ATTR_REP, "\x00\x00\x00\x03", "pmv");
	expect_agreed(p.a, ours);
	expect_agreed(p.b, ours);
	cm_lab_close(&lab);
}

/* One side says nothing: zero bytes, plain go-back-N at both ends. */
static void
cm_ece__one_side_off(void **state)
{
	struct cm_lab_pair p;

	open(&nothing, NULL);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\0\0\0\0", "\0\0\0");
	expect_bytes(PMV_CM_ATTR_REP, "\0\0\0\0", "\0\0\0");
	expect_agreed(p.a, nothing);
	expect_agreed(p.b, nothing);
	expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->ece, nothing);
	assert_int_equal(write_with_a_loss(&p), 3);
	cm_lab_close(&lab);

	open(NULL, &nothing);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\x00\x00\x00\x03", "pmv");
	expect_bytes(PMV_CM_ATTR_REP, "\0\0\0\0", "\0\0\0");
	expect_agreed(p.a, nothing);
	expect_agreed(p.b, nothing);
	expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->ece, ours);
	expect_ece(cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED)->ece, nothing);
	assert_int_equal(write_with_a_loss(&p), 3);
	cm_lab_close(&lab);
}

/* A program's words of our vendor are cut to what the device can do, on either side. */
static void
cm_ece__no_more_than_the_device_can(void **state)
{
	struct cm_lab_pair p;

	open(&greedy, &greedy);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\x00\x00\x00\x03", "pmv");
	expect_bytes(PMV_CM_ATTR_REP, "\x00\x00\x00\x03", "pmv");
	expect_agreed(p.a, ours);
	expect_agreed(p.b, ours);
	cm_lab_close(&lab);

	open(&unknown_option, NULL);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\0\0\0\0", "\0\0\0");
	expect_agreed(p.a, nothing);
	expect_agreed(p.b, nothing);
	cm_lab_close(&lab);
}

/* Words of a vendor that no device knows travel as they are, and switch nothing on. */
static void
cm_ece__foreign_words_travel(void **state)
{
	static const struct pmv_ece answer = { FOREIGN, 0x40 };
	struct cm_lab_pair p;

	open(&foreign, &answer);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REQ, "\x12\x34\x56\x78", "\x00\x15\xb3");
	expect_bytes(PMV_CM_ATTR_REP, "\x00\x00\x00\x40", "\x00\x15\xb3");
	expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->ece, foreign);
	expect_ece(cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED)->ece, answer);
	expect_agreed(p.a, nothing);
	expect_agreed(p.b, nothing);
	cm_lab_close(&lab);

	open(&foreign, NULL);
	p = cm_lab_established(&lab, "192.168.10.2");
	expect_bytes(PMV_CM_ATTR_REP, "\0\0\0\0", "\0\0\0");
	expect_agreed(p.b, nothing);
	cm_lab_close(&lab);
}

/* Another attempt on the same id does not remember the last one's words. */
static void
cm_ece__a_second_attempt_starts_anew(void **state)
{
	struct cm_lab_pair p;

	open(NULL, NULL);
	p = cm_lab_established(&lab, "192.168.10.2");
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_TIMEWAIT_EXIT, 40000000));
	assert_int_equal(pmv_cm_destroy_qp(p.a), 0);
	cm_lab_run(&lab, 100);
	cm_lab_qp(&lab, p.a);
	word[1] = &nothing;
	assert_int_equal(pmv_cm_connect(p.a, NULL), 0);
	expect_ece(pmv_cm_id_ece(p.a), nothing);
	cm_lab_run(&lab, 2000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ESTABLISHED), 2);
	expect_agreed(p.a, nothing);
	expect_agreed(lab.s[1].ids[1], nothing);
	cm_lab_close(&lab);
}

/* ---- Crafted peers ---- */

/* A REQ with these words comes in; the program accepts by the plain call. @return its id. */
static struct pmv_cm_id *
asked_with(uint32_t vendor_id, uint32_t options)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	req.req.ece_vendor_id = vendor_id;
	req.attr_mod = options;
	cm_lab_inject(&lab, 1, &req, NULL);
	cm_lab_run(&lab, 300);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 1);
	return lab.s[1].ids[0];
}

static void
cm_ece__requests_of_others(void **state)
{
	static const struct {
		struct pmv_ece asked;
		const char *modifier, *vendor;
		uint32_t agreed;
	} row[] = {
		{ { 0, 0 }, "\0\0\0\0", "\0\0\0", 0 },
		{ { 0, 1 }, "\0\0\0\0", "\0\0\0", 0 },
		{ { FOREIGN, 5 }, "\0\0\0\0", "\0\0\0", 0 },
		{ { 0xffffff, 0xffffffff }, "\0\0\0\0", "\0\0\0", 0 },
		{ { PMV_ECE_VENDOR_ID, 0 }, "\0\0\0\0", "\0\0\0", 0 },
		{ { PMV_ECE_VENDOR_ID, 0xfffffffc }, "\0\0\0\0", "\0\0\0", 0 },
		{ { PMV_ECE_VENDOR_ID, 0xffffffff }, "\x00\x00\x00\x03", "pmv", 1 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pmv_cm_id *id = asked_with(row[i].asked.vendor_id, row[i].asked.options);

		expect_ece(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->ece, row[i].asked);
		expect_bytes(PMV_CM_ATTR_REP, row[i].modifier, row[i].vendor);
		expect_agreed(id, row[i].agreed != 0 ? ours : nothing);
		cm_lab_close(&lab);
	}
}

/* We say `said` and get a REP that says `heard`. */
static void
answered_with(const struct pmv_ece *said, struct pmv_ece heard, struct pmv_ece agreed)
{
	struct pmv_cm_msg rep = { .attr = PMV_CM_ATTR_REP,
		.attr_mod = heard.options,
		.rep = { .local_comm_id = 0x77,
			.local_qpn = 0x12,
			.starting_psn = 1,
			.ece_vendor_id = heard.vendor_id,
			.responder_resources = 4,
			.initiator_depth = 4,
			.rnr_retry_count = 7,
			.local_ca_guid = 0x020000fffe000001 } };
	struct pmv_cm_id *id;

	open(said, NULL);
	lab.s[1].no_accept = true; /* the real peer stays silent */
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	cm_lab_run(&lab, 5000);
	rep.tid = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.tid;
	rep.rep.remote_comm_id = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.req.local_comm_id;
	cm_lab_inject(&lab, 0, &rep, NULL);
	cm_lab_run(&lab, 300);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_RTU), 1);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ESTABLISHED), 1);
	expect_ece(cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED)->ece, heard);
	expect_agreed(id, agreed);
	cm_lab_close(&lab);
}

/* Whatever a REP claims, no more is in force than was offered; a vendor that was not offered
 * switches nothing on and ends nothing. */
static void
cm_ece__answers_of_others(void **state)
{
	answered_with(NULL, nothing, nothing);
	answered_with(NULL, foreign, nothing);
	answered_with(NULL, (struct pmv_ece){ 0, 1 }, nothing);
	/* Linux 6.1 with librdmacm 44 repeats a vendor that it does not know */
	answered_with(NULL, (struct pmv_ece){ PMV_ECE_VENDOR_ID, 0 }, nothing);
	answered_with(NULL, (struct pmv_ece){ PMV_ECE_VENDOR_ID, 0xfffffffc }, nothing);
	answered_with(NULL, greedy, ours);
	answered_with(&nothing, greedy, nothing);
	answered_with(&foreign, greedy, nothing);
	answered_with(&foreign, foreign, nothing);
}

/* ---- Wrong arguments ---- */

/* The lines that they log: cm_arguments_test.c. */
static void
cm_ece__wrong_arguments(void **state)
{
	const struct pmv_ece wide = { 0x1000000, 1 }, nameless = { 0, 1 };
	struct pmv_cm_id *id;

	open(NULL, NULL);
	lab.s[0].hands_off = true;
	lab.s[0].on_event = NULL;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED, 100000));
	assert_int_equal(pmv_cm_resolve_route(id, 0), 0);
	cm_lab_run(&lab, 100);
	assert_int_equal(pmv_cm_connect_ece(id, NULL, &ours), -EINVAL); /* no QP */
	cm_lab_qp(&lab, id);
	assert_int_equal(pmv_cm_connect_ece(NULL, NULL, &ours), -EINVAL);
	assert_int_equal(pmv_cm_connect_ece(id, NULL, &wide), -EINVAL);
	assert_int_equal(pmv_cm_connect_ece(id, NULL, &nameless), -EINVAL);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 0);

	lab.s[1].no_accept = true;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	req.req.ece_vendor_id = FOREIGN;
	cm_lab_inject(&lab, 1, &req, NULL);
	cm_lab_run(&lab, 300);
	id = lab.s[1].ids[0];
	assert_int_equal(pmv_cm_accept_ece(id, NULL, &foreign), -EINVAL); /* no QP */
	cm_lab_qp(&lab, id);
	assert_int_equal(pmv_cm_accept_ece(NULL, NULL, &foreign), -EINVAL);
	assert_int_equal(pmv_cm_accept_ece(id, NULL, &wide), -EINVAL);
	assert_int_equal(pmv_cm_accept_ece(id, NULL, &nameless), -EINVAL);
	assert_int_equal(pmv_cm_accept_ece(id, NULL, &ours), -EINVAL); /* not what is offered */
	cm_lab_run(&lab, 300);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 0);
	assert_int_equal(pmv_cm_accept_ece(id, NULL, &nothing), 0);
	cm_lab_run(&lab, 300);
	expect_bytes(PMV_CM_ATTR_REP, "\0\0\0\0", "\0\0\0");
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_ece__two_of_ours_repeat_selectively),
		cmocka_unit_test(cm_ece__plain_calls),
		cmocka_unit_test(cm_ece__one_side_off),
		cmocka_unit_test(cm_ece__no_more_than_the_device_can),
		cmocka_unit_test(cm_ece__foreign_words_travel),
		cmocka_unit_test(cm_ece__a_second_attempt_starts_anew),
		cmocka_unit_test(cm_ece__requests_of_others),
		cmocka_unit_test(cm_ece__answers_of_others),
		cmocka_unit_test(cm_ece__wrong_arguments),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
