// SPDX-License-Identifier: BSD-3-Clause
/*
 * Who may listen where beside whom in one program; and what a datagram's request gets, for which
 * nobody can listen.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;

/* A second listener wants what the first has: the errno, one line that names the port, and the
 * first one goes on. */
static void
cm_listen__address_in_use(void **state)
{
	static const struct {
		const char *first;
		const char *second;
		bool refused; /* on the same port */
	} rows[] = {
		{ "192.168.10.2", "192.168.10.2", true },
		{ "0.0.0.0", "0.0.0.0", true },
		{ "0.0.0.0", "192.168.10.2", true },
		{ "192.168.10.2", "0.0.0.0", true },
		{ "fd00::2", "fd00::2", true },
		{ "::", "fd00::2", true },
		{ "::", "192.168.10.2", true }, /* [::] takes IPv4 too */
		{ "192.168.10.2", "::", true },
		{ "0.0.0.0", "::", true },
		{ "fd00::2", "0.0.0.0", false },
		{ "192.168.10.2", "fd00::2", false },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct pmv_cm_id *b;

		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		cm_lab_listen(&lab, 1, rows[i].first, CM_LAB_PORT);
		b = cm_lab_id(&lab, 1);
		if (rows[i].refused)
			REFUSED(-EADDRINUSE, "port 7471 is in use",
				pmv_cm_bind_addr(b, cm_lab_addr(rows[i].second, CM_LAB_PORT)));
		else
			REFUSED(0, NULL,
				pmv_cm_bind_addr(b, cm_lab_addr(rows[i].second, CM_LAB_PORT)));
		if (rows[i].refused) /* another port is another service */
			REFUSED(0, NULL,
				pmv_cm_bind_addr(b, cm_lab_addr(rows[i].second, CM_LAB_PORT + 1)));
		assert_int_equal(pmv_cm_listen(b, 4), 0);
		cm_lab_connect(&lab, 0, strchr(rows[i].first, ':') ? "fd00::2" : "192.168.10.2",
			CM_LAB_PORT);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
		cm_lab_close(&lab);
	}
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* Gone is free again. */
static void
cm_listen__address_free_again(void **state)
{
	struct pmv_cm_id *a, *b;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	a = cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	b = cm_lab_id(&lab, 1);
	assert_int_equal(pmv_cm_bind_addr(b, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), -EADDRINUSE);
	cm_lab_destroy(&lab, 1, a);
	assert_int_equal(pmv_cm_bind_addr(b, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), 0);
	cm_lab_close(&lab);
}

/* IBTA 12.11: SIDR_REQ: status 1, service not supported, with its request ID, service ID and
 * transaction ID; no id, no event, the same for a copy; a SIDR_REP that nobody asked for is
 * dropped. A listener for connections is none for datagrams. */
static void
cm_listen__sidr(void **state)
{
	struct pmv_cm_msg req = { .attr = PMV_CM_ATTR_SIDR_REQ,
		.tid = 0x0102030405060708,
		.sidr_req = { 0xdeadbeef, PMV_PKEY_DEFAULT, 0x0000000001110000 + CM_LAB_PORT } };
	const struct cm_lab_frame *f;
	uint64_t dropped;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	for (uint32_t copy = 0; copy < 2; copy++) {
		cm_lab_inject(&lab, 1, &req, NULL);
		cm_lab_run(&lab, 200);
		assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_SIDR_REP), copy + 1);
		f = cm_lab_sent(&lab, 1, PMV_CM_ATTR_SIDR_REP, copy);
		assert_true(f->msg.tid == req.tid);
		assert_int_equal(f->msg.sidr_rep.request_id, 0xdeadbeef);
		assert_int_equal(f->msg.sidr_rep.status, 1);
		assert_true(f->msg.sidr_rep.service_id == req.sidr_req.service_id);
		assert_int_equal(f->msg.sidr_rep.qpn, 0);
		assert_int_equal(f->msg.sidr_rep.qkey, 0);
		assert_int_equal(f->msg.sidr_rep.info_len, 0);
	}
	assert_int_equal(lab.s[1].nb_ev, 0);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_sidr"), 2);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "tx_sidr"), 2);
	dropped = pmv_cm_stat(lab.s[1].cm, "rx_drop_other");
	req = (struct pmv_cm_msg){ .attr = PMV_CM_ATTR_SIDR_REP, .sidr_rep = { .qpn = 5 } };
	cm_lab_inject(&lab, 1, &req, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_other"), dropped + 1);
	assert_int_equal(lab.s[1].nb_sent, 2);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_listen__address_in_use),
		cmocka_unit_test(cm_listen__address_free_again),
		cmocka_unit_test(cm_listen__sidr),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
