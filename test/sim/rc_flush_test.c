// SPDX-License-Identifier: BSD-3-Clause
/*
 * ATOMIC WRITE and FLUSH between two nodes: what they do, the bytes on the wire, every loss,
 * duplicate and swap of a conversation with a WRITE, a FETCH_ADD and a READ, and what is refused by
 * whom.
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

#define FIRST 0x000100u /* PSN of the first request of side 0 */
#define WORD  0x8000u   /* offset of the word under test in the memory of side 1 */
#define ALL                                                                                        \
	(PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC |             \
		PMV_ACCESS_FLUSH_GLOBAL)

static uint8_t max_out = 4, max_in = 4;
static uint32_t rights = ALL;

static void
tune(int side, struct pmv_qp_attr *attr)
{
	if (side == 0)
		attr->sq_psn = FIRST;
	else
		attr->rq_psn = FIRST;
	attr->max_rd_atomic = max_out;
	attr->max_dest_rd_atomic = max_in;
	attr->qp_access_flags = rights;
}

struct lab {
	struct rc_lab rc;
	struct pmv_mr *mr; /* WORD and 4095 bytes behind it, with all rights */
};

static struct lab *
open_lab(void)
{
	const struct rc_lab_param param = { .tune = tune, .seed = 7 };
	struct lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(&lab->rc, &param);
	assert_int_equal(pmv_reg_mr(lab->rc.pair.node[1].pd, lab->rc.mem[1] + WORD, 0x1000,
				 ALL | PMV_ACCESS_LOCAL_WRITE, &lab->mr),
		0);
	return lab;
}

static void
close_lab(struct lab *lab)
{
	rc_lab_dereg(lab->mr);
	rc_lab_close(&lab->rc);
	test_free(lab);
}

static uint64_t
remote(const struct lab *lab, uint32_t off)
{
	return (uintptr_t)lab->rc.mem[1] + off;
}

static uint64_t
word_of(const struct lab *lab, int side, uint32_t off)
{
	uint64_t v;

	memcpy(&v, lab->rc.mem[side] + off, sizeof(v));
	return v;
}

/* A FLUSH of the lab's region. */
static struct pmv_send_wr
flush_of(const struct lab *lab, uint32_t off, uint32_t len)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_FLUSH, .send_flags = PMV_SEND_SIGNALED };

	wr.wr.flush.remote_addr = remote(lab, off);
	wr.wr.flush.rkey = pmv_mr_rkey(lab->mr);
	wr.wr.flush.length = len;
	wr.wr.flush.type = PMV_FLUSH_GLOBAL;
	wr.wr.flush.level = PMV_FLUSH_RANGE;
	return wr;
}

/* An ATOMIC WRITE of *v, inline. */
static struct pmv_send_wr
write_of(const struct lab *lab, struct pmv_sge *sge, const uint64_t *v)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_ATOMIC_WRITE,
		.sg_list = sge,
		.num_sge = 1,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE };

	*sge = (struct pmv_sge){ (uintptr_t)v, 8, 0 };
	wr.wr.rdma.remote_addr = remote(lab, WORD);
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr);
	return wr;
}

static int
post(struct lab *lab, const struct pmv_send_wr *wr)
{
	return pmv_post_send(lab->rc.qp[0], wr, 1);
}

/* Runs one request; its completion's status. */
static enum pmv_wc_status
run(struct lab *lab, const struct pmv_send_wr *wr)
{
	const struct pmv_wc *wc = &lab->rc.wc[0][lab->rc.nb_wc[0]];

	assert_int_equal(post(lab, wr), 1);
	assert_true(rc_lab_wait(&lab->rc, 0, lab->rc.nb_wc[0] + 1, 100000));
	if (wc->status == PMV_WC_SUCCESS) {
		assert_int_equal(wc->opcode,
			wr->opcode == PMV_WR_FLUSH ? PMV_WC_FLUSH : PMV_WC_ATOMIC_WRITE);
		assert_int_equal(wc->byte_len, 0);
	}
	return wc->status;
}

struct tap {
	uint8_t bytes[16][64];
	uint32_t len[16];
	uint32_t nb;
};

/* From the BTH to before the ICRC. */
static enum pmv_test_fate
tap(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct tap *t = arg;

	assert_true(t->nb < 16 && m->pkt_len > 46 && m->pkt_len - 46 <= 64);
	t->len[t->nb] = m->pkt_len - 46;
	assert_int_equal(m->nb_segs, 1);
	memcpy(t->bytes[t->nb++], rte_pktmbuf_mtod_offset(m, uint8_t *, 42), m->pkt_len - 46);
	return PMV_TEST_PASS;
}

static enum pmv_test_fate
tap_and_drop(void *arg, struct rte_mbuf *m, uint64_t index)
{
	tap(arg, m, index);
	return PMV_TEST_DROP;
}

static void
expect_bytes(const struct tap *t, uint32_t i, const uint8_t *want, uint32_t len)
{
	assert_true(i < t->nb);
	assert_int_equal(t->len[i], len);
	assert_memory_equal(t->bytes[i], want, len);
}

/* A19; Linux rxe_opcode.c, rxe_hdr.h: opcode 1D is RETH and 8 bytes as they lie in memory, 1C is
 * FETH and RETH; both are answered by a READ response ONLY without payload. */
static void
rc_flush__bytes_on_the_wire(void **state)
{
	uint8_t write[36] = { 0x1d, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x00,
		/* VA */ 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* R_Key */ 0, 0, 0, 0,
		/* length */ 0, 0, 0, 8, /* payload */ 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t range[32] = { 0x1c, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x01,
		/* FETH */ 0, 0, 0, 0x01, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x8a, 0, 0, 0,
		0, 0, 0, 0, 14 };
	uint8_t whole[32] = { 0x1c, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x02,
		/* FETH */ 0, 0, 0, 0x11, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x8a, 0, 0, 0,
		0, 0, 0, 0, 14 };
	uint8_t answer[16] = { 0x10, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 1, 0, 0x1f, 0, 0, 1 };
	const uint8_t payload[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct lab *lab = open_lab();
	struct tap *t = test_calloc(2, sizeof(*t));
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	uint64_t v;
	struct pmv_mr *mr;

	assert_int_equal(pmv_reg_mr_iova(lab->rc.pair.node[1].pd, lab->rc.mem[1] + WORD, 16,
				 0x1122334455667788ull, ALL | PMV_ACCESS_LOCAL_WRITE, &mr),
		0);
	for (int i = 0; i < 2; i++) {
		lab->rc.pair.link->end[i].out.hook = tap;
		lab->rc.pair.link->end[i].out.hook_arg = &t[i];
	}
	memcpy(&v, payload, 8);
	wr = write_of(lab, &sge, &v);
	wr.wr.rdma.remote_addr = 0x1122334455667788ull;
	wr.wr.rdma.rkey = pmv_mr_rkey(mr);
	assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
	assert_memory_equal(lab->rc.mem[1] + WORD, payload, 8);
	wr = flush_of(lab, 0, 14);
	wr.wr.flush.remote_addr = 0x112233445566778aull;
	wr.wr.flush.rkey = pmv_mr_rkey(mr);
	assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
	wr.wr.flush.level = PMV_FLUSH_MR;
	assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
	pmv_be32_store(write + 4, pmv_qp_num(lab->rc.qp[1]));
	pmv_be32_store(range + 4, pmv_qp_num(lab->rc.qp[1]));
	pmv_be32_store(whole + 4, pmv_qp_num(lab->rc.qp[1]));
	pmv_be32_store(answer + 4, pmv_qp_num(lab->rc.qp[0]));
	pmv_be32_store(write + 20, pmv_mr_rkey(mr));
	pmv_be32_store(range + 24, pmv_mr_rkey(mr));
	pmv_be32_store(whole + 24, pmv_mr_rkey(mr));
	expect_bytes(&t[0], 0, write, sizeof(write));
	expect_bytes(&t[0], 1, range, sizeof(range));
	expect_bytes(&t[0], 2, whole, sizeof(whole));
	for (uint8_t i = 0; i < 3; i++) {
		answer[11] = i;
		answer[15] = (uint8_t)(i + 1);
		expect_bytes(&t[1], i, answer, sizeof(answer));
	}
	assert_int_equal(t[0].nb, 3);
	assert_int_equal(t[1].nb, 3);
	rc_lab_dereg(mr);
	close_lab(lab);
	test_free(t);
}

/* WRITE, FLUSH, ATOMIC WRITE, FETCH_ADD, FLUSH, READ; then everything is as on a clean link. */
static void
converse(struct lab *lab)
{
	const uint64_t v = 0x1122334455667788ull;
	const struct pmv_sge found = { (uintptr_t)lab->rc.mem[0] + 0x4000, 8,
		pmv_mr_lkey(lab->rc.mr[0]) };
	struct pmv_send_wr wr;
	struct pmv_sge sge;

	rc_lab_fill(lab->rc.mem[0], 2000, 3);
	rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, 0, WORD + 8, 2000, PMV_SEND_SIGNALED, 0);
	wr = flush_of(lab, WORD + 8, 2000);
	wr.wr_id = 1;
	assert_int_equal(post(lab, &wr), 1);
	wr = write_of(lab, &sge, &v);
	wr.wr_id = 2;
	assert_int_equal(post(lab, &wr), 1);
	wr = (struct pmv_send_wr){ .wr_id = 3,
		.sg_list = &found,
		.num_sge = 1,
		.opcode = PMV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = PMV_SEND_SIGNALED };
	wr.wr.atomic.remote_addr = remote(lab, WORD);
	wr.wr.atomic.rkey = pmv_mr_rkey(lab->mr);
	wr.wr.atomic.compare_add = 0x11;
	assert_int_equal(post(lab, &wr), 1);
	wr = flush_of(lab, 0, 0);
	wr.wr.flush.level = PMV_FLUSH_MR;
	wr.wr_id = 4;
	assert_int_equal(post(lab, &wr), 1);
	rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_READ, 0x10000, WORD, 2008, PMV_SEND_SIGNALED, 5);
	assert_true(rc_lab_wait(&lab->rc, 0, 6, 1000000));
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(lab->rc.wc[0][i].wr_id, i);
		assert_int_equal(lab->rc.wc[0][i].status, PMV_WC_SUCCESS);
	}
	rc_lab_run(&lab->rc, 2000); /* what may still come changes nothing */
	assert_true(word_of(lab, 0, 0x4000) == v);
	assert_true(word_of(lab, 1, WORD) == v + 0x11);
	assert_true(word_of(lab, 0, 0x10000) == v + 0x11);
	assert_true(rc_lab_check(lab->rc.mem[0] + 0x10008, 2000, 3));
	assert_int_equal(lab->rc.nb_wc[0], 6);
}

enum what { LOSE, REPEAT, SWAPPED };

static void
run_mask(int dir, uint64_t mask, enum what what)
{
	struct lab *lab = open_lab();
	struct pmv_test_dir *d = &lab->rc.pair.link->end[dir].out;

	*(what == LOSE ? &d->drop_mask : what == REPEAT ? &d->dup_mask : &d->swap_mask) = mask;
	converse(lab);
	close_lab(lab);
}

/* RC-304, RC-313, RC-314. An ATOMIC WRITE that was executed twice would undo the FETCH_ADD. */
static void
rc_flush__every_loss(void **state)
{
	for (int dir = 0; dir < 2; dir++) {
		for (uint64_t mask = 0; mask < 1 << 7; mask++)
			run_mask(dir, mask, LOSE);
		for (int i = 0; i < 12; i++) {
			run_mask(dir, 1ull << i, REPEAT);
			run_mask(dir, 1ull << i, SWAPPED);
		}
		run_mask(dir, UINT64_MAX, REPEAT);
	}
}

/* Refused: this status here, nothing changed there, both QPs in ERR. */
static void
refused(struct lab *lab, const struct pmv_send_wr *wr, enum pmv_wc_status status)
{
	uint8_t *before = test_malloc(RC_LAB_BYTES);

	memcpy(before, lab->rc.mem[1], RC_LAB_BYTES);
	assert_int_equal(run(lab, wr), status);
	rc_lab_run(&lab->rc, 100);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_ERR);
	assert_memory_equal(before, lab->rc.mem[1], RC_LAB_BYTES);
	test_free(before);
}

/* Where a FLUSH may reach: its range, or the whole key whatever the range says. */
static void
rc_flush__reach(void **state)
{
	static const struct {
		int64_t off; /* of the region */
		uint32_t len;
		uint8_t level;
		bool good;
	} rows[] = { { 0, 0x1000, PMV_FLUSH_RANGE, true }, { 0xfff, 1, PMV_FLUSH_RANGE, true },
		{ 0x1000, 0, PMV_FLUSH_RANGE, true }, { 0x1000, 1, PMV_FLUSH_RANGE, false },
		{ -1, 2, PMV_FLUSH_RANGE, false }, { 1, 0x1000, PMV_FLUSH_RANGE, false },
		{ 0, 0x80000000u, PMV_FLUSH_RANGE, false },
		{ -77, 0x80000000u, PMV_FLUSH_MR, true }, { 0, 0, PMV_FLUSH_MR, true } };

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct lab *lab = open_lab();
		struct pmv_send_wr wr = flush_of(lab, WORD, rows[i].len);

		wr.wr.flush.remote_addr += (uint64_t)rows[i].off;
		wr.wr.flush.level = rows[i].level;
		if (rows[i].good)
			assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
		else
			refused(lab, &wr, PMV_WC_REM_ACCESS_ERR);
		close_lab(lab);
	}
}

/* Rights: of the QP (invalid request), of the key (remote access, whatever the level and length);
 * none is agreed; persistence is promised by nobody. */
static void
rc_flush__rights(void **state)
{
	for (int k = 0; k < 7; k++) {
		struct pmv_send_wr wr;
		struct lab *lab;

		rights = k == 0 ? ALL & ~(uint32_t)PMV_ACCESS_FLUSH_GLOBAL : ALL;
		max_in = k == 1 ? 0 : 4;
		lab = open_lab();
		wr = flush_of(lab, WORD, k == 5 ? 0 : 8);
		if (k == 2)
			wr.wr.flush.type = PMV_FLUSH_PERSISTENT;
		if (k == 3)
			wr.wr.flush.type |= PMV_FLUSH_PERSISTENT;
		if (k >= 4) /* a key that grants everything else */
			wr.wr.flush.rkey = pmv_mr_rkey(lab->rc.mr[1]);
		if (k == 6)
			wr.wr.flush.level = PMV_FLUSH_MR;
		refused(lab, &wr, k < 4 ? PMV_WC_REM_INV_REQ_ERR : PMV_WC_REM_ACCESS_ERR);
		close_lab(lab);
	}
	rights = ALL;
	max_in = 4;
}

/* ATOMIC WRITE: aligned, granted, enabled as a WRITE is. */
static void
rc_flush__atomic_write_rights(void **state)
{
	const uint64_t v = 5;
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct lab *lab;

	for (uint32_t off = 0; off <= 8; off++) {
		lab = open_lab();
		wr = write_of(lab, &sge, &v);
		wr.wr.rdma.remote_addr += off;
		if (off % 8 == 0)
			assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
		else
			refused(lab, &wr, PMV_WC_REM_INV_REQ_ERR);
		close_lab(lab);
	}
	for (int k = 0; k < 4; k++) {
		struct pmv_mr *mr;

		rights = k == 0 ? ALL & ~(uint32_t)PMV_ACCESS_REMOTE_WRITE : ALL;
		max_in = k == 1 ? 0 : 4;
		lab = open_lab();
		assert_int_equal(pmv_reg_mr(lab->rc.pair.node[1].pd, lab->rc.mem[1] + WORD, 64,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_ATOMIC |
						 PMV_ACCESS_REMOTE_READ,
					 &mr),
			0);
		wr = write_of(lab, &sge, &v);
		if (k == 2)
			wr.wr.rdma.rkey = pmv_mr_rkey(mr);
		if (k == 3)
			wr.wr.rdma.remote_addr += 0x1000;
		refused(lab, &wr, k < 2 ? PMV_WC_REM_INV_REQ_ERR : PMV_WC_REM_ACCESS_ERR);
		rc_lab_dereg(mr);
		close_lab(lab);
	}
	rights = ALL;
	max_in = 4;
}

/* What the post refuses. */
static void
rc_flush__local(void **state)
{
	const uint64_t v[2] = { 5, 6 };
	struct lab *lab = open_lab();
	struct pmv_send_wr wr;
	struct pmv_sge sge[2];

	wr = write_of(lab, sge, v);
	sge[0].length = 7;
	assert_int_equal(post(lab, &wr), -EINVAL);
	sge[0].length = 16;
	assert_int_equal(post(lab, &wr), -EINVAL);
	wr.num_sge = 0;
	assert_int_equal(post(lab, &wr), -EINVAL);
	sge[0].length = 4; /* two halves, not inline */
	sge[1] = (struct pmv_sge){ (uintptr_t)lab->rc.mem[0], 4, pmv_mr_lkey(lab->rc.mr[0]) };
	sge[0].addr = sge[1].addr + 4;
	sge[0].lkey = sge[1].lkey;
	memcpy(lab->rc.mem[0], v, 8);
	wr.num_sge = 2;
	wr.send_flags = PMV_SEND_SIGNALED;
	assert_int_equal(run(lab, &wr), PMV_WC_SUCCESS);
	assert_true(word_of(lab, 1, WORD) == (v[0] << 32 | v[0] >> 32));
	wr = flush_of(lab, WORD, 8);
	wr.num_sge = 1;
	wr.sg_list = sge;
	assert_int_equal(post(lab, &wr), -EINVAL);
	wr = flush_of(lab, WORD, 0x80000001u);
	assert_int_equal(post(lab, &wr), -EINVAL);
	wr = flush_of(lab, WORD, 8);
	wr.send_flags |= PMV_SEND_INLINE;
	assert_int_equal(post(lab, &wr), -EINVAL);
	wr = flush_of(lab, WORD, 8);
	wr.wr.flush.level = 2;
	assert_int_equal(post(lab, &wr), -EINVAL);
	for (uint8_t type = 0; type < 16; type++) {
		if (type >= 1 && type <= 3)
			continue;
		wr = flush_of(lab, WORD, 8);
		wr.wr.flush.type = type;
		assert_int_equal(post(lab, &wr), -EINVAL);
	}
	close_lab(lab);
	max_out = 0;
	lab = open_lab();
	wr = flush_of(lab, WORD, 8);
	assert_int_equal(post(lab, &wr), -EINVAL);
	wr = write_of(lab, sge, v);
	assert_int_equal(post(lab, &wr), -EINVAL);
	close_lab(lab);
	max_out = 4;
}

/* A FLUSH made by hand. */
static struct rte_mbuf *
craft_flush(struct lab *lab, uint32_t psn, uint8_t feth, uint32_t len)
{
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_FLUSH,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->rc.qp[1]),
		.ackreq = true,
		.psn = pmv_psn(psn) };
	const uint8_t word[4] = { 0xff, 0xff, 0xff, (uint8_t)(0xc0 | feth) }; /* reserved bits */
	struct craft_path path;
	struct craft c;

	craft_path_get(&lab->rc.pair, 1, false, 0, &path);
	craft_begin(&c, &path, &bth);
	craft_put(&c, word, 4);
	craft_put_reth(&c, remote(lab, WORD), pmv_mr_rkey(lab->mr), len);
	craft_end(&c);
	return craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0);
}

/* Every FETH there is: reserved bits do not matter; levels 2 and 3, and any placement but global
 * visibility alone, are invalid. A length above 2^31 too. */
static void
rc_flush__every_feth(void **state)
{
	for (uint32_t feth = 0; feth < 66; feth++) {
		struct lab *lab = open_lab();
		struct tap *t = test_calloc(1, sizeof(*t));
		struct rte_mbuf *m, *foreign;
		bool good = feth == 0x01 || feth == 0x11;

		lab->rc.pair.link->end[1].out.hook = tap_and_drop;
		lab->rc.pair.link->end[1].out.hook_arg = t;
		if (feth < 64)
			m = craft_flush(lab, FIRST, (uint8_t)feth, 8);
		else
			m = craft_flush(lab, FIRST, feth == 64 ? 0x01 : 0x11, 0x80000001u);
		assert_int_equal(
			pmv_worker_input(lab->rc.pair.node[1].worker[0], &m, 1, &foreign), 0);
		rc_lab_run(&lab->rc, 10);
		assert_int_equal(t->nb, 1);
		assert_int_equal(
			t->bytes[0][0], good ? PMV_OPCODE_RC_READ_RESP_ONLY : PMV_OPCODE_RC_ACK);
		assert_int_equal(t->bytes[0][12], good ? 0x1f : PMV_SYNDROME_NAK_INV_REQ);
		close_lab(lab);
		test_free(t);
	}
}

/* Linux rxe sends FLUSHes whatever was agreed: one too many is dropped like a lost frame, counted,
 * and asked for again by the gap; the connection lives. */
static void
rc_flush__too_many(void **state)
{
	struct lab *lab = open_lab();
	struct tap *t = test_calloc(1, sizeof(*t));
	struct rte_mbuf *m[6], *foreign[6];

	lab->rc.pair.link->end[1].out.hook = tap_and_drop;
	lab->rc.pair.link->end[1].out.hook_arg = t;
	for (uint32_t i = 0; i < 6; i++)
		m[i] = craft_flush(lab, FIRST + i, 0x01, 8);
	assert_int_equal(pmv_worker_input(lab->rc.pair.node[1].worker[0], m, 6, foreign), 0);
	rc_lab_run(&lab->rc, 10);
	assert_int_equal(t->nb, 5);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(t->bytes[i][0], PMV_OPCODE_RC_READ_RESP_ONLY);
		assert_int_equal(pmv_be32_load(t->bytes[i] + 8), FIRST + i);
	}
	assert_int_equal(t->bytes[4][0], PMV_OPCODE_RC_ACK);
	assert_int_equal(t->bytes[4][12], PMV_SYNDROME_NAK_PSN_SEQ);
	assert_int_equal(pmv_be32_load(t->bytes[4] + 8), FIRST + 4);
	assert_int_equal(pmv_worker_stat(lab->rc.pair.node[1].worker[0], "rx_drop_flush_busy"), 1);
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
	t->nb = 0;
	m[0] = craft_flush(lab, FIRST + 4, 0x01, 8);
	assert_int_equal(pmv_worker_input(lab->rc.pair.node[1].worker[0], m, 1, foreign), 0);
	rc_lab_run(&lab->rc, 10);
	assert_int_equal(t->nb, 1);
	assert_int_equal(t->bytes[0][0], PMV_OPCODE_RC_READ_RESP_ONLY);
	close_lab(lab);
	test_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_flush__bytes_on_the_wire),
		cmocka_unit_test(rc_flush__every_loss),
		cmocka_unit_test(rc_flush__reach),
		cmocka_unit_test(rc_flush__rights),
		cmocka_unit_test(rc_flush__atomic_write_rights),
		cmocka_unit_test(rc_flush__local),
		cmocka_unit_test(rc_flush__every_feth),
		cmocka_unit_test(rc_flush__too_many),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
