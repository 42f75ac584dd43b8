// SPDX-License-Identifier: BSD-3-Clause
/*
 * Answers made by hand to a real requester: what each acknowledges, what is sent again and from
 * where, what waits, and what fails with which status. Node 0 asks; its frames are recorded and go
 * nowhere.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define MTU   1024u
#define FIRST 100u /* PSN of the first request */
#define VA    0x77000000ull
#define RKEY  0x5555u

struct sent {
	uint8_t opcode;
	bool ackreq;
	uint32_t psn;
	uint32_t len;
	struct pmv_reth reth;
};

struct lab {
	struct rc_lab rc;
	struct craft_path path;
	struct pmv_worker *w;
	struct sent sent[256];
	uint32_t nb;
};

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct lab *lab = arg;
	uint8_t flat[CRAFT_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, flat);
	struct pmv_roce_view v;
	struct sent *s;

	assert_int_equal(pmv_roce_parse(p + 42, m->pkt_len - 42, m->pkt_len - 42, &v), PMV_WIRE_OK);
	assert_true(lab->nb < 256);
	s = &lab->sent[lab->nb++];
	*s = (struct sent){ v.bth.opcode, v.bth.ackreq, v.bth.psn.v, v.payload_len, { 0 } };
	if (pmv_opcode_has(v.op, PMV_EXT_RETH))
		pmv_reth_parse(p + 42 + PMV_OFF_RETH, &s->reth);
	return PMV_TEST_DROP;
}

static uint8_t timeout_code = 14; /* 67 ms: not in the way */
static uint8_t retry_cnt = 7;
static uint8_t rnr_retry = 7;

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->sq_psn = FIRST;
	attr->timeout = timeout_code;
	attr->retry_cnt = retry_cnt;
	attr->rnr_retry = rnr_retry;
}

static struct lab *
open_lab(uint32_t window_pkts)
{
	const struct rc_lab_param param = {
		.tune = tune, .mtu = PMV_MTU_1024, .window_pkts = window_pkts
	};
	struct lab *lab = test_calloc(1, sizeof(*lab));

	rc_lab_open(&lab->rc, &param);
	lab->w = lab->rc.pair.node[0].worker[0];
	craft_path_get(&lab->rc.pair, 0, false, 0, &lab->path);
	lab->rc.pair.link->end[0].out.hook = record;
	lab->rc.pair.link->end[0].out.hook_arg = lab;
	rc_lab_run(&lab->rc, 5);
	return lab;
}

static void
close_lab(struct lab *lab)
{
	rc_lab_close(&lab->rc);
	test_free(lab);
}

static void
post(struct lab *lab, enum pmv_wr_opcode op, uint32_t len, uint64_t wr_id)
{
	const struct pmv_sge sge = { (uintptr_t)lab->rc.mem[0] + wr_id * 0x4000, len,
		pmv_mr_lkey(lab->rc.mr[0]) };
	struct pmv_send_wr wr = { .wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = VA;
	wr.wr.rdma.rkey = RKEY;
	assert_int_equal(pmv_post_send(lab->rc.qp[0], &wr, 1), 1);
}

/* What an atomic's answer says was found. */
static const uint8_t found[8] = { 0x80, 1, 2, 3, 4, 5, 6, 7 };
#define FOUND_VALUE 0x8001020304050607ull

/* An ACK packet, an atomic's answer, or a READ response of `len` bytes. */
struct reply {
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t psn;
	uint32_t len;
};

static void
reply(struct lab *lab, struct reply r)
{
	const struct pmv_bth bth = { .opcode = r.opcode,
		.pkey = PMV_PKEY_DEFAULT,
		.padcnt = pmv_bth_pad(r.len),
		.dqpn = pmv_qp_num(lab->rc.qp[0]),
		.psn = pmv_psn(r.psn) };
	struct rte_mbuf *m, *foreign;
	uint8_t body[MTU + 8];
	struct craft c;

	rc_lab_fill(body, sizeof(body), r.psn);
	craft_begin(&c, &lab->path, &bth);
	if (pmv_opcode_table[r.opcode].ext & PMV_EXT_AETH)
		craft_put_aeth(&c, r.syndrome, 0);
	if (r.opcode == PMV_OPCODE_RC_ATOMIC_ACK)
		craft_put(&c, found, sizeof(found));
	craft_put(&c, body, r.len);
	craft_put(&c, NULL, bth.padcnt);
	craft_end(&c);
	m = craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0);
	assert_int_equal(pmv_worker_input(lab->w, &m, 1, &foreign), 0);
	pmv_worker_flush(lab->w);
	pmv_test_link_step(lab->rc.pair.link, lab->rc.pair.now);
	rc_lab_run(&lab->rc, 0);
}

static void
ack(struct lab *lab, uint8_t syndrome, uint32_t psn)
{
	reply(lab, (struct reply){ PMV_OPCODE_RC_ACK, syndrome, psn, 0 });
}

static void
resp(struct lab *lab, uint8_t opcode, uint32_t psn, uint32_t len)
{
	reply(lab, (struct reply){ opcode, 0x1f, psn, len });
}

/* These PSNs, in this order, left since the last look. */
static void
left(struct lab *lab, uint32_t from, uint32_t nb)
{
	assert_int_equal(lab->nb, nb);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(lab->sent[i].psn, from + i);
	lab->nb = 0;
}

static void
completed(struct lab *lab, uint32_t nb)
{
	rc_lab_run(&lab->rc, 5); /* attached frames come back with a turn */
	assert_int_equal(lab->rc.nb_wc[0], nb);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(lab->rc.wc[0][i].wr_id, i);
		assert_int_equal(lab->rc.wc[0][i].status, PMV_WC_SUCCESS);
	}
}

/* Request `n` failed with this status, the rest was flushed, those before it are through. */
static void
failed(struct lab *lab, uint32_t n, enum pmv_wc_status status, uint32_t nb)
{
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(lab->rc.nb_wc[0], nb);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(lab->rc.wc[0][i].wr_id, i);
		assert_int_equal(lab->rc.wc[0][i].status, i < n    ? PMV_WC_SUCCESS
							  : i == n ? status
								   : PMV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[0]), PMV_QPS_ERR);
}

static void
post_sends(struct lab *lab, uint32_t from, uint32_t nb, uint32_t len)
{
	for (uint32_t i = 0; i < nb; i++)
		post(lab, PMV_WR_SEND, len, from + i);
	rc_lab_run(&lab->rc, 5);
}

/* B.5.2: one ACK for many; stale ones and ones for what was never sent do nothing. */
static void
fuzzed_answers__acknowledge(void **state)
{
	struct lab *lab = open_lab(0);

	post_sends(lab, 0, 10, 64);
	left(lab, FIRST, 10);
	ack(lab, 0x1f, FIRST + 10); /* never sent */
	ack(lab, 0x1f, FIRST + 5000);
	ack(lab, 0x1f, FIRST - 1); /* stale */
	completed(lab, 0);
	ack(lab, 0x1f, FIRST + 3);
	completed(lab, 4);
	ack(lab, 0x1f, FIRST + 1); /* overtaken by the other */
	ack(lab, 0x60, FIRST + 2); /* a NAK that is late */
	ack(lab, 0x62, FIRST + 3);
	ack(lab, 0x61, FIRST + 10);
	completed(lab, 4);
	for (uint32_t s = 0x40; s < 0x60; s++) /* reserved */
		ack(lab, (uint8_t)s, FIRST + 9);
	for (uint32_t s = 0x64; s < 0x80; s++) /* codes that mean nothing here */
		ack(lab, (uint8_t)s, FIRST + 4);
	ack(lab, 0x9f, FIRST + 9);
	ack(lab, 0xff, FIRST + 4);
	completed(lab, 4);
	assert_int_equal(lab->nb, 0);
	ack(lab, 0x00, FIRST + 4); /* credits are ignored */
	ack(lab, 0x0a, FIRST + 9);
	completed(lab, 10);
	rc_lab_run(&lab->rc, 200000);
	assert_int_equal(lab->nb, 0);
	close_lab(lab);
}

/* RC-306: NAK sequence error: everything before is through, the rest again from there, with the
 * opcodes that belong there; more of the same is one loss. */
static void
fuzzed_answers__sequence_nak(void **state)
{
	struct lab *lab = open_lab(0);
	static const uint8_t ops[] = { PMV_OPCODE_RC_SEND_MIDDLE, PMV_OPCODE_RC_SEND_LAST,
		PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_LAST };
	struct pmv_qp_stats stats;

	post(lab, PMV_WR_SEND, 8, 0);
	post(lab, PMV_WR_SEND, 4 * MTU, 1);
	post(lab, PMV_WR_RDMA_WRITE, MTU + 1, 2);
	rc_lab_run(&lab->rc, 5);
	left(lab, FIRST, 7);
	ack(lab, 0x60, FIRST + 3);
	completed(lab, 1);
	assert_int_equal(lab->nb, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(lab->sent[i].opcode, ops[i]);
	assert_int_equal(lab->sent[2].reth.va, VA);
	assert_int_equal(lab->sent[2].reth.dma_len, MTU + 1);
	assert_true(lab->sent[3].ackreq);
	left(lab, FIRST + 3, 4);
	ack(lab, 0x60, FIRST + 3);
	ack(lab, 0x60, FIRST + 3);
	left(lab, 0, 0);
	assert_int_equal(pmv_qp_get_stats(lab->rc.qp[0], &stats), 0);
	assert_int_equal(stats.retx_pkts, 4);
	ack(lab, 0x1f, FIRST + 6);
	completed(lab, 3);
	close_lab(lab);
}

/* Fatal NAKs: what was before it succeeds, the one it names fails, the rest is flushed; nothing new
 * is sent on the way down. */
static void
fuzzed_answers__fatal_naks(void **state)
{
	static const enum pmv_wc_status status[] = { PMV_WC_REM_INV_REQ_ERR, PMV_WC_REM_ACCESS_ERR,
		PMV_WC_REM_OP_ERR };

	for (uint32_t k = 0; k < 3; k++) {
		struct lab *lab = open_lab(4);

		post_sends(lab, 0, 4, 8);
		post_sends(lab, 4, 4, 8); /* wait for the window */
		left(lab, FIRST, 4);
		ack(lab, (uint8_t)(0x61 + k), FIRST + 2);
		left(lab, 0, 0);
		failed(lab, 2, status[k], 8);
		ack(lab, 0x1f, FIRST + 3);
		close_lab(lab);
	}
}

/* RC-302: an RNR NAK: nothing from its PSN on leaves before the time is over, whatever is posted or
 * comes in, and although the window has moved. */
static void
fuzzed_answers__rnr_is_silent(void **state)
{
	struct lab *lab = open_lab(4);

	post_sends(lab, 0, 4, 8);
	post_sends(lab, 4, 4, 8);
	left(lab, FIRST, 4);
	ack(lab, 0x2e, FIRST + 2); /* 1.28 ms */
	completed(lab, 2);
	left(lab, 0, 0);
	post_sends(lab, 8, 3, 8);
	ack(lab, 0x1f, FIRST + 1);
	ack(lab, 0x60, FIRST + 2);
	ack(lab, 0x2e, FIRST + 2);
	rc_lab_run(&lab->rc, 1270);
	left(lab, 0, 0);
	rc_lab_run(&lab->rc, 20);
	left(lab, FIRST + 2, 4);
	for (uint32_t i = 2; i < 11; i++)
		ack(lab, 0x1f, FIRST + i);
	completed(lab, 11);
	close_lab(lab);
}

/* RNR retries: charged once a wait, refilled by progress, exhausted after n. */
static void
fuzzed_answers__rnr_retries(void **state)
{
	struct lab *lab;

	rnr_retry = 2;
	lab = open_lab(0);
	post_sends(lab, 0, 3, 8);
	left(lab, FIRST, 3);
	for (uint32_t i = 0; i < 2; i++) {
		ack(lab, 0x21, FIRST);
		ack(lab, 0x21, FIRST); /* the same once more */
		rc_lab_run(&lab->rc, 30);
		left(lab, FIRST, 3);
	}
	ack(lab, 0x1f, FIRST); /* progress: two more are allowed */
	for (uint32_t i = 0; i < 2; i++) {
		ack(lab, 0x21, FIRST + 1);
		rc_lab_run(&lab->rc, 30);
		left(lab, FIRST + 1, 2);
	}
	ack(lab, 0x21, FIRST + 1);
	failed(lab, 1, PMV_WC_RNR_RETRY_EXC_ERR, 3);
	close_lab(lab);
	rnr_retry = 7;
}

/* RC-304 (b): an ACK passes over a READ that was not answered: the READ again, from its first
 * missing response, and nothing behind it is through yet. */
static void
fuzzed_answers__ack_over_a_read(void **state)
{
	struct lab *lab = open_lab(0);

	post(lab, PMV_WR_RDMA_WRITE, 8, 0);
	post(lab, PMV_WR_RDMA_READ, 3 * MTU, 1);
	post(lab, PMV_WR_RDMA_WRITE, 8, 2);
	rc_lab_run(&lab->rc, 5);
	assert_int_equal(lab->nb, 3);
	assert_int_equal(lab->sent[2].psn, FIRST + 4);
	lab->nb = 0;
	ack(lab, 0x1f, FIRST + 4);
	completed(lab, 1);
	assert_int_equal(lab->nb, 2);
	assert_int_equal(lab->sent[0].psn, FIRST + 1);
	assert_int_equal(lab->sent[0].opcode, PMV_OPCODE_RC_READ_REQUEST);
	lab->nb = 0;
	ack(lab, 0x1f, FIRST + 4); /* an echo */
	assert_int_equal(lab->nb, 0);
	resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST + 1, MTU);
	/* the second response is lost, the third arrives: again from the second */
	resp(lab, PMV_OPCODE_RC_READ_RESP_LAST, FIRST + 3, MTU);
	assert_int_equal(lab->nb, 2);
	assert_int_equal(lab->sent[0].psn, FIRST + 2);
	assert_int_equal(lab->sent[0].opcode, PMV_OPCODE_RC_READ_REQUEST);
	assert_int_equal(lab->sent[0].reth.va, VA + MTU);
	assert_int_equal(lab->sent[0].reth.rkey, RKEY);
	assert_int_equal(lab->sent[0].reth.dma_len, 2 * MTU);
	lab->nb = 0;
	resp(lab, PMV_OPCODE_RC_READ_RESP_LAST, FIRST + 3, MTU); /* still behind the gap */
	assert_int_equal(lab->nb, 0);
	completed(lab, 1);
	resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST + 2, MTU);
	resp(lab, PMV_OPCODE_RC_READ_RESP_LAST, FIRST + 3, MTU);
	completed(lab, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(rc_lab_check(lab->rc.mem[0] + 0x4000 + i * MTU, MTU, FIRST + 1 + i));
	ack(lab, 0x1f, FIRST + 4);
	completed(lab, 3);
	close_lab(lab);
}

/* RC-304 (a): after a restart a peer may call the first response what it likes; Linux says MIDDLE
 * or LAST. */
static void
fuzzed_answers__restart_opcodes(void **state)
{
	static const uint8_t middle[2] = { PMV_OPCODE_RC_READ_RESP_FIRST,
		PMV_OPCODE_RC_READ_RESP_MIDDLE };
	static const uint8_t last[2] = { PMV_OPCODE_RC_READ_RESP_ONLY,
		PMV_OPCODE_RC_READ_RESP_LAST };

	for (uint32_t k = 0; k < 4; k++) {
		struct lab *lab = open_lab(0);

		post(lab, PMV_WR_RDMA_READ, 3 * MTU, 0);
		rc_lab_run(&lab->rc, 5);
		resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST, MTU);
		resp(lab, middle[k & 1], FIRST + 1, MTU);
		resp(lab, last[k >> 1], FIRST + 2, MTU);
		completed(lab, 1);
		close_lab(lab);
	}
}

/* A READ response of the wrong length, or one that ends too early or too late: BAD_RESP_ERR;
 * nothing beyond the READ's target is written. */
static void
fuzzed_answers__bad_responses(void **state)
{
	static const struct reply rows[] = {
		{ PMV_OPCODE_RC_READ_RESP_ONLY, 0x1f, FIRST, MTU },
		{ PMV_OPCODE_RC_READ_RESP_LAST, 0x1f, FIRST, MTU },
		{ PMV_OPCODE_RC_READ_RESP_FIRST, 0x1f, FIRST, MTU - 4 },
		{ PMV_OPCODE_RC_READ_RESP_FIRST, 0x1f, FIRST, MTU + 4 },
		{ PMV_OPCODE_RC_READ_RESP_FIRST, 0x1f, FIRST, 0 },
		{ PMV_OPCODE_RC_READ_RESP_MIDDLE, 0, FIRST, 8 },
		{ PMV_OPCODE_RC_READ_RESP_ONLY, 0x1f, FIRST, 0 },
	};
	static const struct reply second[] = {
		{ PMV_OPCODE_RC_READ_RESP_LAST, 0x1f, FIRST + 1, 9 },
		{ PMV_OPCODE_RC_READ_RESP_LAST, 0x1f, FIRST + 1, 11 },
		{ PMV_OPCODE_RC_READ_RESP_MIDDLE, 0, FIRST + 1, MTU },
		{ PMV_OPCODE_RC_READ_RESP_MIDDLE, 0, FIRST + 1, 10 },
		{ PMV_OPCODE_RC_READ_RESP_LAST, 0x1f, FIRST + 1, 0 },
	};

	for (size_t i = 0; i < RTE_DIM(rows) + RTE_DIM(second); i++) {
		struct lab *lab = open_lab(0);
		bool is_second = i >= RTE_DIM(rows);

		post(lab, PMV_WR_RDMA_READ, MTU + 10, 0);
		post(lab, PMV_WR_SEND, 8, 1);
		rc_lab_run(&lab->rc, 5);
		if (is_second)
			resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST, MTU);
		reply(lab, is_second ? second[i - RTE_DIM(rows)] : rows[i]);
		failed(lab, 0, PMV_WC_BAD_RESP_ERR, 2);
		assert_int_equal(lab->rc.mem[0][is_second ? MTU : 0], 0xa5);
		assert_int_equal(lab->rc.mem[0][MTU + 10], 0xa5);
		close_lab(lab);
	}
}

static void
found_is(const struct lab *lab, uint32_t n, bool there)
{
	uint64_t v;

	memcpy(&v, lab->rc.mem[0] + n * 0x4000, sizeof(v));
	assert_true(v == (there ? FOUND_VALUE : 0xa5a5a5a5a5a5a5a5ull));
}

/* RC-304: an answer that passes over an atomic's lost one is no answer: the atomic is asked for
 * again, and what is behind it waits. A syndrome that is no ACK's means nothing; late and unsent
 * ones neither. */
static void
fuzzed_answers__atomics(void **state)
{
	struct lab *lab = open_lab(0);

	post(lab, PMV_WR_RDMA_WRITE, 8, 0);
	post(lab, PMV_WR_ATOMIC_FETCH_AND_ADD, 8, 1);
	post(lab, PMV_WR_RDMA_WRITE, 8, 2);
	post(lab, PMV_WR_ATOMIC_CMP_AND_SWP, 8, 3);
	rc_lab_run(&lab->rc, 5);
	assert_int_equal(lab->sent[1].opcode, PMV_OPCODE_RC_FETCH_ADD);
	assert_true(lab->sent[1].ackreq);
	left(lab, FIRST, 4);
	ack(lab, 0x1f, FIRST + 2); /* over the FETCH_ADD */
	completed(lab, 1);
	left(lab, FIRST + 1, 3);
	ack(lab, 0x1f, FIRST + 3); /* its echo */
	ack(lab, 0x1f, FIRST + 1); /* an ACK is not its answer */
	left(lab, 0, 0);
	for (uint32_t s = 0x20; s < 0x100; s++)
		reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, (uint8_t)s, FIRST + 1, 0 });
	reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST, 0 });
	reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST + 4, 0 });
	completed(lab, 1);
	found_is(lab, 1, false);
	reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST + 1, 0 });
	completed(lab, 2);
	found_is(lab, 1, true);
	assert_int_equal(lab->rc.wc[0][1].opcode, PMV_WC_FETCH_ADD);
	reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST + 2, 0 }); /* a WRITE's */
	completed(lab, 2);
	reply(lab, (struct reply){ PMV_OPCODE_RC_ATOMIC_ACK, 0x00, FIRST + 3, 0 });
	completed(lab, 4);
	found_is(lab, 3, true);
	assert_int_equal(lab->rc.wc[0][3].opcode, PMV_WC_COMP_SWAP);
	assert_int_equal(lab->rc.wc[0][3].byte_len, 8);
	close_lab(lab);
}

/* An answer of another kind: BAD_RESP_ERR, nothing is written. A refusal is an ACK packet. */
static void
fuzzed_answers__atomics_fail(void **state)
{
	static const struct {
		enum pmv_wr_opcode op;
		struct reply reply;
		enum pmv_wc_status status;
	} rows[] = {
		{ PMV_WR_ATOMIC_FETCH_AND_ADD, { PMV_OPCODE_RC_READ_RESP_ONLY, 0x1f, FIRST, 8 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_CMP_AND_SWP, { PMV_OPCODE_RC_READ_RESP_ONLY, 0x1f, FIRST, 0 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_CMP_AND_SWP, { PMV_OPCODE_RC_READ_RESP_MIDDLE, 0, FIRST, MTU },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_RDMA_READ, { PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST, 0 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_WRITE, { PMV_OPCODE_RC_ATOMIC_ACK, 0x1f, FIRST, 0 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_WRITE, { PMV_OPCODE_RC_READ_RESP_ONLY, 0x1f, FIRST, 8 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_WRITE, { PMV_OPCODE_RC_READ_RESP_LAST, 0x1f, FIRST, 0 },
			PMV_WC_BAD_RESP_ERR },
		{ PMV_WR_ATOMIC_WRITE, { PMV_OPCODE_RC_ACK, 0x62, FIRST, 0 },
			PMV_WC_REM_ACCESS_ERR },
		{ PMV_WR_ATOMIC_FETCH_AND_ADD, { PMV_OPCODE_RC_ACK, 0x61, FIRST, 0 },
			PMV_WC_REM_INV_REQ_ERR },
		{ PMV_WR_ATOMIC_FETCH_AND_ADD, { PMV_OPCODE_RC_ACK, 0x62, FIRST, 0 },
			PMV_WC_REM_ACCESS_ERR },
		{ PMV_WR_ATOMIC_CMP_AND_SWP, { PMV_OPCODE_RC_ACK, 0x63, FIRST, 0 },
			PMV_WC_REM_OP_ERR },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct lab *lab = open_lab(0);

		post(lab, rows[i].op, 8, 0);
		post(lab, PMV_WR_SEND, 8, 1);
		rc_lab_run(&lab->rc, 5);
		reply(lab, rows[i].reply);
		failed(lab, 0, rows[i].status, 2);
		found_is(lab, 0, false);
		close_lab(lab);
	}
}

/* RC-305: the READ is refused in its middle. */
static void
fuzzed_answers__read_refused_late(void **state)
{
	struct lab *lab = open_lab(0);

	post(lab, PMV_WR_RDMA_READ, 5 * MTU, 0);
	post(lab, PMV_WR_SEND, 8, 1);
	rc_lab_run(&lab->rc, 5);
	lab->nb = 0;
	resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST, MTU);
	resp(lab, PMV_OPCODE_RC_READ_RESP_MIDDLE, FIRST + 1, MTU);
	ack(lab, 0x62, FIRST + 2);
	assert_int_equal(lab->nb, 0);
	failed(lab, 0, PMV_WC_REM_ACCESS_ERR, 2);
	close_lab(lab);
}

/* Retries: each loss charges one, echoes none, progress refills; then RETRY_EXC. */
static void
fuzzed_answers__retries(void **state)
{
	struct lab *lab;

	timeout_code = 8; /* 1.05 ms */
	retry_cnt = 2;
	lab = open_lab(0);
	post_sends(lab, 0, 3, 8);
	left(lab, FIRST, 3);
	for (uint32_t i = 0; i < 2; i++) {
		rc_lab_run(&lab->rc, 1100);
		left(lab, FIRST, 3);
	}
	ack(lab, 0x1f, FIRST);
	completed(lab, 1);
	for (uint32_t i = 0; i < 2; i++) { /* a probe may have been sent in between: count one */
		lab->nb = 0;
		rc_lab_run(&lab->rc, 1100);
		assert_true(lab->nb >= 2);
		assert_int_equal(lab->rc.nb_wc[0], 1);
	}
	rc_lab_run(&lab->rc, 1200);
	failed(lab, 1, PMV_WC_RETRY_EXC_ERR, 3);
	close_lab(lab);
	timeout_code = 14;
	retry_cnt = 7;
}

/* retry_cnt 0: the first loss is the end; what an RNR NAK says is no loss. */
static void
fuzzed_answers__no_retry(void **state)
{
	struct lab *lab;

	retry_cnt = 0;
	lab = open_lab(0);
	post_sends(lab, 0, 3, 8);
	ack(lab, 0x21, FIRST);
	rc_lab_run(&lab->rc, 30);
	ack(lab, 0x60, FIRST + 1);
	failed(lab, 1, PMV_WC_RETRY_EXC_ERR, 3);
	close_lab(lab);
	retry_cnt = 7;
}

/* RC-307: a fenced request waits for READs, not for WRITEs. */
static void
fuzzed_answers__fence(void **state)
{
	struct lab *lab = open_lab(0);
	const struct pmv_sge sge = { (uintptr_t)lab->rc.mem[0], 8, pmv_mr_lkey(lab->rc.mr[0]) };
	struct pmv_send_wr wr = { .wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_FENCE | PMV_SEND_SIGNALED };

	post(lab, PMV_WR_RDMA_READ, 2 * MTU, 0);
	post(lab, PMV_WR_RDMA_WRITE, 8, 1);
	assert_int_equal(pmv_post_send(lab->rc.qp[0], &wr, 1), 1);
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(lab->nb, 2);
	lab->nb = 0;
	resp(lab, PMV_OPCODE_RC_READ_RESP_FIRST, FIRST, MTU);
	left(lab, 0, 0);
	resp(lab, PMV_OPCODE_RC_READ_RESP_LAST, FIRST + 1, MTU);
	left(lab, FIRST + 3, 1); /* the WRITE is not acknowledged yet */
	ack(lab, 0x1f, FIRST + 3);
	completed(lab, 3);
	close_lab(lab);
}

/* A request cannot be sent again, its key has died; then it turns out that its first copy arrived:
 * it succeeded, and the QP lives. */
static void
fuzzed_answers__arrived_after_all(void **state)
{
	struct lab *lab = open_lab(0);
	struct pmv_sge sge = { (uintptr_t)lab->rc.mem[0], 8, 0 };
	struct pmv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_SEND
	};
	struct pmv_mr *mr;

	assert_int_equal(pmv_reg_mr(lab->rc.pair.node[0].pd, lab->rc.mem[0], 64, 0, &mr), 0);
	sge.lkey = pmv_mr_lkey(mr);
	wr.send_flags = PMV_SEND_SIGNALED;
	post(lab, PMV_WR_SEND, 8, 0);
	assert_int_equal(pmv_post_send(lab->rc.qp[0], &wr, 1), 1);
	post(lab, PMV_WR_SEND, 8, 2);
	rc_lab_run(&lab->rc, 5);
	left(lab, FIRST, 3);
	rc_lab_dereg(mr);
	ack(lab, 0x60, FIRST); /* from the start again, but the second cannot be read any more */
	left(lab, FIRST, 1);
	ack(lab, 0x1f, FIRST + 1);
	completed(lab, 2);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[0]), PMV_QPS_RTS);
	left(lab, FIRST + 2, 1);
	ack(lab, 0x1f, FIRST + 2);
	completed(lab, 3);
	close_lab(lab);
}

/* 2^31 bytes at the smallest path MTU are 2^23 PSNs, half of all there are: such a READ leaves only
 * when nothing else is outstanding, or no answer could be told from a stale one. */
static void
fuzzed_answers__longest_read(void **state)
{
	const struct rc_lab_param param = { .tune = tune, .mtu = PMV_MTU_256 };
	struct lab *lab = test_calloc(1, sizeof(*lab));
	const uint64_t len = 0x80000000u;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct pmv_sge sge = { (uintptr_t)mem, (uint32_t)len, 0 };
	struct pmv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_READ
	};
	struct pmv_mr *mr;

	assert_ptr_not_equal(mem, MAP_FAILED);
	rc_lab_open(&lab->rc, &param);
	lab->w = lab->rc.pair.node[0].worker[0];
	craft_path_get(&lab->rc.pair, 0, false, 0, &lab->path);
	lab->rc.pair.link->end[0].out.hook = record;
	lab->rc.pair.link->end[0].out.hook_arg = lab;
	assert_int_equal(
		pmv_reg_mr(lab->rc.pair.node[0].pd, mem, len, PMV_ACCESS_LOCAL_WRITE, &mr), 0);
	sge.lkey = pmv_mr_lkey(mr);
	post(lab, PMV_WR_SEND, 8, 0);
	assert_int_equal(pmv_post_send(lab->rc.qp[0], &wr, 1), 1);
	post(lab, PMV_WR_SEND, 8, 2);
	rc_lab_run(&lab->rc, 20);
	left(lab, FIRST, 1);
	ack(lab, 0x1f, FIRST);
	completed(lab, 1);
	assert_int_equal(lab->sent[0].opcode, PMV_OPCODE_RC_READ_REQUEST);
	assert_int_equal(lab->sent[0].reth.dma_len, len);
	left(lab, FIRST + 1, 1);
	for (uint32_t i = 0; i < 100; i++)
		resp(lab, i == 0 ? PMV_OPCODE_RC_READ_RESP_FIRST : PMV_OPCODE_RC_READ_RESP_MIDDLE,
			FIRST + 1 + i, 256);
	assert_int_equal(pmv_worker_stat(lab->w, "rx_drop_resp_stale"), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(rc_lab_check((uint8_t *)mem + i * 256, 256, FIRST + 1 + i));
	left(lab, 0, 0);
	rc_lab_dereg(mr);
	pmv_test_pair_run(&lab->rc.pair, 10, 5);
	munmap(mem, len);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzed_answers__acknowledge),
		cmocka_unit_test(fuzzed_answers__sequence_nak),
		cmocka_unit_test(fuzzed_answers__fatal_naks),
		cmocka_unit_test(fuzzed_answers__rnr_is_silent),
		cmocka_unit_test(fuzzed_answers__rnr_retries),
		cmocka_unit_test(fuzzed_answers__ack_over_a_read),
		cmocka_unit_test(fuzzed_answers__restart_opcodes),
		cmocka_unit_test(fuzzed_answers__bad_responses),
		cmocka_unit_test(fuzzed_answers__atomics),
		cmocka_unit_test(fuzzed_answers__atomics_fail),
		cmocka_unit_test(fuzzed_answers__read_refused_late),
		cmocka_unit_test(fuzzed_answers__retries),
		cmocka_unit_test(fuzzed_answers__no_retry),
		cmocka_unit_test(fuzzed_answers__fence),
		cmocka_unit_test(fuzzed_answers__arrived_after_all),
		cmocka_unit_test(fuzzed_answers__longest_read),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
