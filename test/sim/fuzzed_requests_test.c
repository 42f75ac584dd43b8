// SPDX-License-Identifier: BSD-3-Clause
/*
 * Requests made by hand against a real responder: which answer each gets (opcode, PSN, syndrome,
 * MSN), what is executed, what completes, which event is raised, and that a QP in ERR is silent.
 * Node 1 answers; its frames are recorded and go nowhere.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define MTU    1024u
#define FIRST  100u /* PSN expected at the start */
#define REMOTE 0x10000u
#define IOVA   0x10000u

struct answer {
	uint8_t opcode;
	uint8_t syndrome; /* AETH; 0xff: none */
	uint32_t psn;
	uint32_t msn;
	uint32_t len;
	uint8_t payload[MTU];
};

struct lab {
	struct rc_lab rc;
	struct craft_path path;
	struct pmv_worker *w;
	struct answer answer[64];
	uint32_t nb;
	struct pmv_wc wc[64];
	uint32_t nb_wc;
};

/* A request. */
struct req {
	uint8_t opcode;
	uint32_t psn;
	uint32_t len; /* payload */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	bool quiet; /* no AckReq */
};

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct lab *lab = arg;
	uint8_t flat[CRAFT_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, flat);
	struct pmv_roce_view v;
	struct answer *a;

	assert_int_equal(pmv_roce_parse(p + 42, m->pkt_len - 42, m->pkt_len - 42, &v), PMV_WIRE_OK);
	assert_true(lab->nb < 64);
	a = &lab->answer[lab->nb++];
	*a = (struct answer){
		.opcode = v.bth.opcode, .psn = v.bth.psn.v, .syndrome = 0xff, .len = v.payload_len
	};
	memcpy(a->payload, p + 42 + v.payload_off, v.payload_len);
	if (pmv_opcode_has(v.op, PMV_EXT_AETH)) {
		struct pmv_aeth h;

		pmv_aeth_parse(p + 42 + PMV_OFF_AETH, &h);
		a->syndrome = h.syndrome;
		a->msn = h.msn;
	}
	return PMV_TEST_DROP;
}

static uint8_t max_dest_rd_atomic = 4;
static uint32_t access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ;

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->rq_psn = FIRST;
	attr->min_rnr_timer = 13;
	attr->max_dest_rd_atomic = max_dest_rd_atomic;
	attr->qp_access_flags = access_flags;
}

static struct lab *
open_lab(void)
{
	const struct rc_lab_param param = { .tune = tune, .mtu = PMV_MTU_1024 };
	struct lab *lab = test_calloc(1, sizeof(*lab));
	struct pmv_event ev;

	rc_lab_open(&lab->rc, &param);
	lab->w = lab->rc.pair.node[1].worker[0];
	craft_path_get(&lab->rc.pair, 1, false, 0, &lab->path);
	lab->rc.pair.link->end[1].out.hook = record;
	lab->rc.pair.link->end[1].out.hook_arg = lab;
	rc_lab_fill(lab->rc.mem[1], RC_LAB_BYTES, 6);
	while (pmv_worker_get_event(lab->w, &ev) == 1)
		continue;
	return lab;
}

static void
close_lab(struct lab *lab)
{
	rc_lab_close(&lab->rc);
	test_free(lab);
}

/* One turn in which these frames arrive together. */
static void
turn(struct lab *lab, const struct req *r, uint32_t nb)
{
	struct rte_mbuf *m[16], *foreign[16];

	for (uint32_t i = 0; i < nb; i++) {
		const struct pmv_bth bth = { .opcode = r[i].opcode,
			.pkey = PMV_PKEY_DEFAULT,
			.padcnt = pmv_bth_pad(r[i].len),
			.dqpn = pmv_qp_num(lab->rc.qp[1]),
			.ackreq = !r[i].quiet,
			.psn = pmv_psn(r[i].psn) };
		const struct pmv_opcode_info *op = &pmv_opcode_table[r[i].opcode];
		struct craft c;
		uint8_t body[MTU + 8];

		rc_lab_fill(body, sizeof(body), r[i].psn);
		craft_begin(&c, &lab->path, &bth);
		if (op->ext & PMV_EXT_RETH)
			craft_put_reth(&c, r[i].va, r[i].rkey, r[i].dma_len);
		craft_put(&c, NULL, op->hdr_len - (c.len - c.bth));
		craft_put(&c, body, r[i].len);
		craft_put(&c, NULL, bth.padcnt);
		craft_end(&c);
		m[i] = craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0);
	}
	assert_int_equal(pmv_worker_input(lab->w, m, nb, foreign), 0);
	pmv_test_pair_run(&lab->rc.pair, 5, 5);
	lab->nb_wc +=
		pmv_poll_cq(lab->rc.pair.node[1].cq[0], &lab->wc[lab->nb_wc], 64 - lab->nb_wc);
}

static void
one(struct lab *lab, struct req r)
{
	turn(lab, &r, 1);
}

/* The only answer since the last look. */
static void
answered(struct lab *lab, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	assert_int_equal(lab->nb, 1);
	assert_int_equal(lab->answer[0].opcode, PMV_OPCODE_RC_ACK);
	assert_int_equal(lab->answer[0].syndrome, syndrome);
	assert_int_equal(lab->answer[0].psn, psn);
	assert_int_equal(lab->answer[0].msn, msn);
	lab->nb = 0;
}

static void
silent(struct lab *lab)
{
	assert_int_equal(lab->nb, 0);
}

/* READ responses of `len` bytes from offset `off` of the memory, first PSN `psn`. */
static void
responded(struct lab *lab, uint32_t psn, uint32_t off, uint32_t len, uint32_t msn)
{
	uint32_t nb = len == 0 ? 1 : (len + MTU - 1) / MTU;

	assert_int_equal(lab->nb, nb);
	for (uint32_t i = 0; i < nb; i++) {
		const struct answer *a = &lab->answer[i];
		uint32_t n = RTE_MIN(MTU, len - i * MTU);

		assert_int_equal(a->opcode, nb == 1       ? PMV_OPCODE_RC_READ_RESP_ONLY
					    : i == 0      ? PMV_OPCODE_RC_READ_RESP_FIRST
					    : i + 1 == nb ? PMV_OPCODE_RC_READ_RESP_LAST
							  : PMV_OPCODE_RC_READ_RESP_MIDDLE);
		assert_int_equal(a->psn, psn + i);
		assert_int_equal(a->len, n);
		assert_memory_equal(a->payload, lab->rc.mem[1] + off + i * MTU, n);
		assert_int_equal(a->syndrome, i == 0 || i + 1 == nb ? 0x1f : 0xff);
		if (a->syndrome != 0xff)
			assert_int_equal(a->msn, msn);
	}
	lab->nb = 0;
}

static uint64_t
addr(const struct lab *lab, uint32_t off)
{
	return (uintptr_t)lab->rc.mem[1] + off;
}

static uint32_t
key(const struct lab *lab)
{
	return pmv_mr_rkey(lab->rc.mr[1]);
}

static void
recv_one(struct lab *lab, uint32_t len)
{
	assert_int_equal(rc_lab_recv(&lab->rc, 1, 0x80000, len, 7), 1);
}

static int
event(struct lab *lab)
{
	struct pmv_event ev;

	return pmv_worker_get_event(lab->w, &ev) == 1 ? (int)ev.type : -1;
}

/* Refused: one NAK, ERR, silence for the copy, the event (or none), and what became of the one
 * receive that was posted (0: none was). */
static void
dies(struct lab *lab, struct req r, uint8_t syndrome, int want_event, int want_wc)
{
	uint32_t epsn = r.psn;

	lab->nb = 0;
	lab->nb_wc = 0;
	one(lab, r);
	assert_int_equal(lab->nb, 1);
	assert_int_equal(lab->answer[0].opcode, PMV_OPCODE_RC_ACK);
	assert_int_equal(lab->answer[0].syndrome, syndrome);
	assert_int_equal(lab->answer[0].psn, epsn);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_ERR);
	lab->nb = 0;
	one(lab, r);
	silent(lab);
	assert_int_equal(event(lab), want_event);
	assert_int_equal(event(lab), -1);
	assert_int_equal(lab->nb_wc, want_wc != 0);
	if (want_wc != 0) {
		assert_int_equal(lab->wc[0].wr_id, 7);
		assert_int_equal(lab->wc[0].status, want_wc);
	}
	assert_true(rc_lab_check(lab->rc.mem[1], RC_LAB_BYTES, 6)); /* nothing was written */
}

/* RC-303, RC-318, RC-319, MR-401: what a RETH asks for that it may not have, in every request with
 * one. */
static void
fuzzed_requests__remote_access(void **state)
{
	static const uint8_t ops[] = { PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_ONLY,
		PMV_OPCODE_RC_WRITE_ONLY_IMM, PMV_OPCODE_RC_READ_REQUEST };
	static const struct {
		uint64_t va;
		uint32_t len;
	} ranges[] = { { 0xfffffffffffffc00, 0x400 }, { IOVA - 1, 2 }, { IOVA + 0xfff, 2 },
		{ IOVA + 0x1000, 1 }, { IOVA, 0x80000000 }, { IOVA - 1, 0x1000 }, { 0, 8 },
		{ 0x8000000000010000, 8 }, { IOVA + 1, 0x1000 } };

	for (size_t k = 0; k < RTE_DIM(ops); k++) {
		for (size_t i = 0; i < RTE_DIM(ranges); i++) {
			struct lab *lab = open_lab();
			bool imm = ops[k] == PMV_OPCODE_RC_WRITE_ONLY_IMM;
			struct req r = { .opcode = ops[k], .psn = FIRST, .va = ranges[i].va };
			struct pmv_mr *mr;

			assert_int_equal(pmv_reg_mr_iova(lab->rc.pair.node[1].pd, lab->rc.mem[1],
						 0x1000, IOVA,
						 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
							 PMV_ACCESS_REMOTE_READ,
						 &mr),
				0);
			r.rkey = pmv_mr_rkey(mr);
			r.dma_len = ranges[i].len;
			if (ops[k] == PMV_OPCODE_RC_WRITE_FIRST) {
				r.len = MTU;
				r.dma_len = RTE_MAX(r.dma_len, MTU + 1);
			} else if (ops[k] != PMV_OPCODE_RC_READ_REQUEST) {
				r.len = RTE_MIN(r.dma_len, MTU);
			}
			if (imm)
				recv_one(lab, 10);
			dies(lab, r, PMV_SYNDROME_NAK_REM_ACC, imm ? -1 : PMV_EVENT_QP_ACCESS_ERR,
				imm ? PMV_WC_REM_ACCESS_ERR : 0);
			rc_lab_dereg(mr);
			pmv_test_pair_run(&lab->rc.pair, 10, 5);
			close_lab(lab);
		}
	}
}

/* MR-401, MR-405: and the ones next to them that it may have. */
static void
fuzzed_requests__remote_access_granted(void **state)
{
	struct lab *lab = open_lab();
	uint8_t *mem = lab->rc.mem[1];
	struct pmv_mr *low, *high;
	uint8_t want[0x100];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_reg_mr_iova(lab->rc.pair.node[1].pd, mem + i * 0x2000, 0x1000,
					 i == 0 ? IOVA : 0xfffffffffffff000ull,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ,
					 i == 0 ? &low : &high),
			0);
	one(lab, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, FIRST, 1, IOVA + 0xfff, pmv_mr_rkey(low),
			 1, false });
	answered(lab, 0x1f, FIRST, 1);
	rc_lab_fill(want, 1, FIRST);
	assert_int_equal(mem[0xfff], want[0]);
	one(lab, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 1, 1, UINT64_MAX,
			 pmv_mr_rkey(high), 1, false });
	answered(lab, 0x1f, FIRST + 1, 2);
	rc_lab_fill(want, 1, FIRST + 1);
	assert_int_equal(mem[0x2fff], want[0]);
	one(lab, (struct req){ PMV_OPCODE_RC_READ_REQUEST, FIRST + 2, 0, IOVA + 0x34,
			 pmv_mr_rkey(low), 0x40, false });
	responded(lab, FIRST + 2, 0x34, 0x40, 3);
	one(lab, (struct req){ PMV_OPCODE_RC_READ_REQUEST, FIRST + 3, 0, 0xfffffffffffff000ull,
			 pmv_mr_rkey(high), 0x1000, false });
	responded(lab, FIRST + 3, 0x2000, 0x1000, 4);
	assert_int_equal(event(lab), -1);
	rc_lab_dereg(low);
	rc_lab_dereg(high);
	pmv_test_pair_run(&lab->rc.pair, 10, 5);
	close_lab(lab);
}

/* RC-303: a bad key in every shape: unknown, dead, of another PD, without the right. */
static void
fuzzed_requests__keys(void **state)
{
	static const uint8_t ops[] = { PMV_OPCODE_RC_WRITE_ONLY, PMV_OPCODE_RC_READ_REQUEST };

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 4; i++) {
			struct lab *lab = open_lab();
			struct req r = { .opcode = ops[k],
				.psn = FIRST,
				.len = k == 0 ? 8 : 0,
				.dma_len = 8,
				.va = addr(lab, 0) };
			uint32_t rights = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
					  PMV_ACCESS_REMOTE_READ;
			struct pmv_pd *pd;
			struct pmv_mr *mr;

			if (i == 2)
				rights &= k == 0 ? ~(uint32_t)PMV_ACCESS_REMOTE_WRITE
						 : ~(uint32_t)PMV_ACCESS_REMOTE_READ;
			assert_int_equal(pmv_alloc_pd(lab->rc.pair.node[1].dev, &pd), 0);
			assert_int_equal(pmv_reg_mr(i == 1 ? pd : lab->rc.pair.node[1].pd,
						 lab->rc.mem[1], 0x1000, rights, &mr),
				0);
			r.rkey = pmv_mr_rkey(mr) ^ (i == 3 ? 0x80000000u : 0);
			if (i == 0)
				rc_lab_dereg(mr);
			dies(lab, r, PMV_SYNDROME_NAK_REM_ACC, PMV_EVENT_QP_ACCESS_ERR, 0);
			if (i != 0)
				rc_lab_dereg(mr);
			pmv_test_pair_run(&lab->rc.pair, 10, 5);
			for (struct pmv_event ev;
				pmv_poll_async_event(lab->rc.pair.node[1].dev, &ev) == 1;)
				continue;
			assert_int_equal(pmv_dealloc_pd(pd), 0);
			close_lab(lab);
		}
	}
}

/* Requests that are wrong whatever they ask for: NAK invalid request. */
static void
fuzzed_requests__invalid(void **state)
{
	static const struct {
		uint8_t before; /* opcode accepted first; 0xff: none */
		uint8_t opcode;
		uint32_t len;
		uint32_t dma_len;
		int want_wc; /* of the receive that is posted; 0: none is posted */
	} rows[] = {
		{ 0xff, PMV_OPCODE_RC_SEND_MIDDLE, MTU, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_SEND_LAST, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_SEND_LAST_IMM, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_WRITE_MIDDLE, MTU, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_LAST, 8, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_LAST_IMM, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_SEND_FIRST, PMV_OPCODE_RC_SEND_FIRST, MTU, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_SEND_FIRST, PMV_OPCODE_RC_SEND_ONLY, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_SEND_FIRST, PMV_OPCODE_RC_WRITE_LAST, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_SEND_FIRST, PMV_OPCODE_RC_READ_REQUEST, 0, 8, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_SEND_LAST, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_ONLY, 8, 8, 0 },
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_LAST, 7, 0, 0 }, /* 8 are left */
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_LAST, 9, 0, 0 },
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_WRITE_MIDDLE, MTU, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_SEND_FIRST, MTU - 4, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_SEND_FIRST, MTU + 4, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_SEND_ONLY, MTU + 1, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_WRITE_FIRST, MTU, MTU, 0 }, /* nothing left for a LAST */
		{ 0xff, PMV_OPCODE_RC_WRITE_FIRST, MTU, 8, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_ONLY, 8, 9, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_ONLY, 8, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_ONLY, 0, 8, 0 },
		{ 0xff, PMV_OPCODE_RC_WRITE_ONLY, 8, 0x80000001u, 0 },
		{ 0xff, PMV_OPCODE_RC_READ_REQUEST, 0, 0x80000001u, 0 },
		{ 0xff, PMV_OPCODE_RC_READ_REQUEST, 0, 0xffffffffu, 0 },
		{ 0xff, PMV_OPCODE_RC_COMPARE_SWAP, 0, 0, 0 }, /* not enabled */
		{ 0xff, PMV_OPCODE_RC_FETCH_ADD, 0, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_FLUSH, 0, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_ATOMIC_WRITE, 8, 9, 0 },
		{ 0xff, PMV_OPCODE_RC_ATOMIC_WRITE, 8, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_ATOMIC_WRITE, 4, 8, 0 },
		{ 0xff, PMV_OPCODE_RC_ATOMIC_WRITE, 0, 0, 0 },
		{ 0xff, PMV_OPCODE_RC_SEND_LAST_INV, 8, 0, PMV_WC_WR_FLUSH_ERR },
		{ 0xff, PMV_OPCODE_RC_SEND_ONLY_INV, MTU + 1, 0, PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_SEND_FIRST, PMV_OPCODE_RC_SEND_ONLY_INV, 8, 0,
			PMV_WC_WR_FLUSH_ERR },
		{ PMV_OPCODE_RC_WRITE_FIRST, PMV_OPCODE_RC_SEND_LAST_INV, 8, 0,
			PMV_WC_WR_FLUSH_ERR },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct lab *lab = open_lab();
		struct req r = { .opcode = rows[i].opcode,
			.psn = FIRST,
			.len = rows[i].len,
			.va = addr(lab, REMOTE),
			.rkey = key(lab),
			.dma_len = rows[i].dma_len };

		if (rows[i].want_wc != 0)
			recv_one(lab, 4096);
		if (rows[i].before != 0xff) {
			one(lab, (struct req){ rows[i].before, FIRST, MTU, addr(lab, REMOTE),
					 key(lab), MTU + 8, false });
			answered(lab, 0x1f, FIRST, 0);
			rc_lab_fill(lab->rc.mem[1], RC_LAB_BYTES, 6);
			r.psn++;
		}
		dies(lab, r, PMV_SYNDROME_NAK_INV_REQ, PMV_EVENT_QP_REQ_ERR, rows[i].want_wc);
		close_lab(lab);
	}
}

/* RC-303 (b), RC-311, RC-318: an operation that is switched off, with zero length too; no READs
 * agreed. */
static void
fuzzed_requests__not_enabled(void **state)
{
	static const uint8_t ops[] = { PMV_OPCODE_RC_WRITE_ONLY, PMV_OPCODE_RC_READ_REQUEST };

	for (int k = 0; k < 5; k++) {
		struct lab *lab;
		struct req r = { .opcode = ops[k & 1], .psn = FIRST };

		access_flags = k < 4 ? 0 : PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_WRITE;
		max_dest_rd_atomic = k < 4 ? 4 : 0;
		lab = open_lab();
		r.opcode = k == 4 ? PMV_OPCODE_RC_READ_REQUEST : ops[k & 1];
		r.dma_len = k & 2 ? 0 : 8;
		r.len = r.opcode == PMV_OPCODE_RC_WRITE_ONLY ? r.dma_len : 0;
		r.va = addr(lab, 0);
		r.rkey = key(lab);
		dies(lab, r, PMV_SYNDROME_NAK_INV_REQ, PMV_EVENT_QP_REQ_ERR, 0);
		close_lab(lab);
	}
	access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ;
	max_dest_rd_atomic = 4;
}

/* RC-318: zero length: no key is looked at; a receive is needed all the same. */
static void
fuzzed_requests__zero_length(void **state)
{
	struct lab *lab = open_lab();
	const struct req imm = { PMV_OPCODE_RC_WRITE_ONLY_IMM, FIRST + 2, 0, UINT64_MAX, 0, 0,
		false };

	one(lab, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, FIRST, 0, UINT64_MAX, 0, 0, false });
	answered(lab, 0x1f, FIRST, 1);
	one(lab, (struct req){
			 PMV_OPCODE_RC_READ_REQUEST, FIRST + 1, 0, UINT64_MAX, 0x77, 0, false });
	responded(lab, FIRST + 1, 0, 0, 2);
	one(lab, imm);
	answered(lab, 0x2d, FIRST + 2, 2); /* RNR, timer code 13 */
	recv_one(lab, 10);
	one(lab, imm);
	answered(lab, 0x1f, FIRST + 2, 3);
	assert_int_equal(lab->nb_wc, 1);
	assert_int_equal(lab->wc[0].byte_len, 0);
	assert_int_equal(lab->wc[0].opcode, PMV_WC_RECV_RDMA_WITH_IMM);
	close_lab(lab);
}

/* A SEND that does not fit its receive; a receive that cannot be written. */
static void
fuzzed_requests__bad_receives(void **state)
{
	for (int k = 0; k < 3; k++) {
		struct lab *lab = open_lab();
		struct req r = { .opcode = PMV_OPCODE_RC_SEND_ONLY, .psn = FIRST, .len = 101 };
		const struct pmv_sge sge = { addr(lab, 0), 200,
			k == 1 ? 0x55 : pmv_mr_lkey(lab->rc.mr[1]) };
		const struct pmv_recv_wr wr = { 7, &sge, 1 };

		if (k == 1)
			assert_int_equal(pmv_post_recv(lab->rc.qp[1], &wr, 1), 1);
		else
			recv_one(lab, k == 0 ? 100 : MTU + 3);
		if (k == 2) { /* the second packet is the one that is too much */
			one(lab, (struct req){
					 PMV_OPCODE_RC_SEND_FIRST, FIRST, MTU, 0, 0, 0, false });
			answered(lab, 0x1f, FIRST, 0);
			rc_lab_fill(lab->rc.mem[1], RC_LAB_BYTES, 6);
			r = (struct req){
				.opcode = PMV_OPCODE_RC_SEND_LAST, .psn = FIRST + 1, .len = 4
			};
		}
		dies(lab, r, k == 1 ? PMV_SYNDROME_NAK_REM_OP : PMV_SYNDROME_NAK_INV_REQ, -1,
			k == 1 ? PMV_WC_LOC_PROT_ERR : PMV_WC_LOC_LEN_ERR);
		close_lab(lab);
	}
}

/* RC-314, RC-306: a gap is told once; what is behind it is silent; the missing one clears it. */
static void
fuzzed_requests__gaps(void **state)
{
	struct lab *lab = open_lab();
	const struct req r[6] = {
		{ PMV_OPCODE_RC_WRITE_ONLY, FIRST, 8, addr(lab, REMOTE), key(lab), 8, false },
		{ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 1, 8, addr(lab, REMOTE), key(lab), 8, false },
		{ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 2, 8, addr(lab, REMOTE), key(lab), 8, false },
		{ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 3, 8, addr(lab, REMOTE), key(lab), 8, false },
		{ PMV_OPCODE_RC_READ_REQUEST, FIRST + 4, 0, addr(lab, 0), key(lab), 8, false },
	};

	one(lab, r[1]);
	answered(lab, 0x60, FIRST, 0);
	turn(lab, &r[2], 3); /* a READ ahead of the gap is not answered either */
	silent(lab);
	one(lab, r[0]);
	answered(lab, 0x1f, FIRST, 1);
	one(lab, r[2]); /* the next gap is a new one */
	answered(lab, 0x60, FIRST + 1, 1);
	turn(lab, &r[1], 2);
	answered(lab, 0x1f, FIRST + 2, 3);
	/* swapped within a burst: whatever is said, both are executed once and the peer is not
	 * told of an error it has to repair for ever */
	turn(lab, (const struct req[]){ r[4], r[3] }, 2);
	assert_true(lab->nb <= 1);
	lab->nb = 0;
	one(lab, r[4]);
	responded(lab, FIRST + 4, 0, 8, 5);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
	close_lab(lab);
}

/* RC-301, B.5.1: not ready: told once a try, silence for what is behind, ready later. */
static void
fuzzed_requests__not_ready(void **state)
{
	struct lab *lab = open_lab();
	const struct req r[3] = { { .opcode = PMV_OPCODE_RC_SEND_ONLY, .psn = FIRST, .len = 8 },
		{ .opcode = PMV_OPCODE_RC_SEND_ONLY, .psn = FIRST + 1, .len = 8 },
		{ .opcode = PMV_OPCODE_RC_SEND_ONLY, .psn = FIRST + 2, .len = 8 } };

	turn(lab, r, 3);
	answered(lab, 0x2d, FIRST, 0);
	turn(lab, r, 3);
	answered(lab, 0x2d, FIRST, 0);
	for (int i = 0; i < 3; i++)
		recv_one(lab, 100);
	turn(lab, r, 3);
	answered(lab, 0x1f, FIRST + 2, 3);
	assert_int_equal(lab->nb_wc, 3);
	close_lab(lab);
}

/* RC-313: duplicates are answered with what was executed last, never executed, never refused, and
 * no ACK overtakes a READ's response. */
static void
fuzzed_requests__duplicates(void **state)
{
	struct lab *lab = open_lab();
	const struct req send = { .opcode = PMV_OPCODE_RC_SEND_ONLY, .psn = FIRST, .len = 8 };
	const struct req write = { PMV_OPCODE_RC_WRITE_ONLY, FIRST + 1, 8, addr(lab, REMOTE),
		key(lab), 8, false };
	const struct req read = { PMV_OPCODE_RC_READ_REQUEST, FIRST + 2, 0, addr(lab, 0), key(lab),
		3000, false };
	struct req bad = write;

	recv_one(lab, 100);
	turn(lab, (const struct req[]){ send, write }, 2);
	answered(lab, 0x1f, FIRST + 1, 2);
	lab->rc.mem[1][REMOTE] ^= 0xff;
	one(lab, send);
	answered(lab, 0x1f, FIRST + 1, 2);
	bad.rkey ^= 1;
	one(lab, bad);
	answered(lab, 0x1f, FIRST + 1, 2);
	one(lab, write);
	answered(lab, 0x1f, FIRST + 1, 2);
	assert_int_equal(lab->nb_wc, 1);
	/* the READ, and duplicates of what was before it in the same burst: its responses say it */
	turn(lab, (const struct req[]){ read, send, write }, 3);
	responded(lab, FIRST + 2, 0, 3000, 3);
	/* a request behind the READ is acknowledged behind its responses */
	turn(lab,
		(const struct req[]){ { PMV_OPCODE_RC_READ_REQUEST, FIRST + 5, 0, addr(lab, 0),
					      key(lab), 2000, false },
			{ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 7, 8, addr(lab, REMOTE), key(lab), 8,
				false } },
		2);
	assert_int_equal(lab->nb, 3);
	assert_int_equal(lab->answer[2].opcode, PMV_OPCODE_RC_ACK);
	assert_int_equal(lab->answer[2].psn, FIRST + 7);
	lab->nb = 2;
	responded(lab, FIRST + 5, 0, 2000, 5); /* MSN: both were taken when they were sent */
	close_lab(lab);
}

/* MR-402: a READ again: from its start, from its middle; but nothing that differs, and nothing
 * whose key has died since. */
static void
fuzzed_requests__read_again(void **state)
{
	struct lab *lab = open_lab();
	struct pmv_mr *mr;
	struct req read = { PMV_OPCODE_RC_READ_REQUEST, FIRST, 0, addr(lab, 0x100), 0, 3000,
		false };
	struct req r;

	assert_int_equal(pmv_reg_mr(lab->rc.pair.node[1].pd, lab->rc.mem[1], 0x4000,
				 PMV_ACCESS_REMOTE_READ, &mr),
		0);
	read.rkey = pmv_mr_rkey(mr);
	one(lab, read);
	responded(lab, FIRST, 0x100, 3000, 1);
	one(lab, read);
	responded(lab, FIRST, 0x100, 3000, 1);
	r = read;
	r.psn += 1;
	r.va += MTU;
	r.dma_len -= MTU;
	one(lab, r);
	responded(lab, FIRST + 1, 0x100 + MTU, 3000 - MTU, 1);
	for (int k = 0; k < 6; k++) {
		r = read;
		if (k == 0)
			r.va += 1;
		if (k == 1)
			r.va = 0xfffffffffffffc00;
		if (k == 2)
			r.dma_len += 1;
		if (k == 3)
			r.dma_len = 0x800;
		if (k == 4)
			r.rkey = key(lab); /* another good one */
		if (k == 5)
			r.psn -= 1;
		one(lab, r);
		silent(lab);
		assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
	}
	rc_lab_dereg(mr);
	one(lab, read);
	silent(lab);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
	assert_int_equal(event(lab), -1);
	one(lab, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, FIRST + 3, 8, addr(lab, REMOTE), key(lab),
			 8, false });
	answered(lab, 0x1f, FIRST + 3, 2);
	close_lab(lab);
}

/* RC-305: a READ whose memory goes while it is answered: NAK at the first response that cannot be
 * read, then ERR. More READs than agreed: NAK invalid request. */
static void
fuzzed_requests__read_fails_late(void **state)
{
	struct lab *lab = open_lab();
	struct req r[5];
	struct rte_mbuf *m, *foreign;
	struct pmv_mr *mr;
	struct craft c;
	struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_READ_REQUEST,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->rc.qp[1]),
		.psn = pmv_psn(FIRST) };

	assert_int_equal(pmv_reg_mr(lab->rc.pair.node[1].pd, lab->rc.mem[1], RC_LAB_BYTES,
				 PMV_ACCESS_REMOTE_READ, &mr),
		0);
	craft_begin(&c, &lab->path, &bth);
	craft_put_reth(&c, addr(lab, 0), pmv_mr_rkey(mr), 100 * MTU);
	craft_end(&c);
	m = craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0);
	assert_int_equal(pmv_worker_input(lab->w, &m, 1, &foreign), 0);
	pmv_test_pair_run(&lab->rc.pair, 5, 5); /* one turn: 32 responses */
	assert_in_range(lab->nb, 1, 60);
	lab->answer[0].psn = lab->nb;
	rc_lab_dereg(mr);
	pmv_test_pair_run(&lab->rc.pair, 20, 5);
	assert_int_equal(lab->nb, lab->answer[0].psn + 1);
	assert_int_equal(lab->answer[lab->nb - 1].opcode, PMV_OPCODE_RC_ACK);
	assert_int_equal(lab->answer[lab->nb - 1].syndrome, PMV_SYNDROME_NAK_REM_ACC);
	assert_int_equal(lab->answer[lab->nb - 1].psn, FIRST + lab->answer[0].psn);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_ERR);
	assert_int_equal(event(lab), PMV_EVENT_QP_ACCESS_ERR);
	close_lab(lab);

	lab = open_lab();
	for (uint32_t i = 0; i < 5; i++)
		r[i] = (struct req){ PMV_OPCODE_RC_READ_REQUEST, FIRST + i, 0, addr(lab, 0),
			key(lab), 8, false };
	turn(lab, r, 5); /* 4 were agreed, none is answered yet */
	assert_int_equal(lab->nb, 5);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(lab->answer[i].opcode, PMV_OPCODE_RC_READ_RESP_ONLY);
	assert_int_equal(lab->answer[4].syndrome, PMV_SYNDROME_NAK_INV_REQ);
	assert_int_equal(lab->answer[4].psn, FIRST + 4);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_ERR);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzed_requests__remote_access),
		cmocka_unit_test(fuzzed_requests__remote_access_granted),
		cmocka_unit_test(fuzzed_requests__keys),
		cmocka_unit_test(fuzzed_requests__invalid),
		cmocka_unit_test(fuzzed_requests__not_enabled),
		cmocka_unit_test(fuzzed_requests__zero_length),
		cmocka_unit_test(fuzzed_requests__bad_receives),
		cmocka_unit_test(fuzzed_requests__gaps),
		cmocka_unit_test(fuzzed_requests__not_ready),
		cmocka_unit_test(fuzzed_requests__duplicates),
		cmocka_unit_test(fuzzed_requests__read_again),
		cmocka_unit_test(fuzzed_requests__read_fails_late),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
