// SPDX-License-Identifier: BSD-3-Clause
/*
 * RC operations on a clean link: every opcode at every interesting length and path MTU, scatter and
 * gather, inline, selective signalling, fences, limits of post.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REMOTE 0x80000u /* where the peer's side of a transfer lies */

static bool
needs_recv(enum pmv_wr_opcode op)
{
	return op == PMV_WR_SEND || op == PMV_WR_SEND_WITH_IMM || op == PMV_WR_RDMA_WRITE_WITH_IMM;
}

static bool
has_imm(enum pmv_wr_opcode op)
{
	return op == PMV_WR_SEND_WITH_IMM || op == PMV_WR_RDMA_WRITE_WITH_IMM;
}

static void
check_recv_wc(const struct pmv_wc *wc, enum pmv_wr_opcode op, uint32_t len, uint64_t id)
{
	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->wr_id, 1000 + id);
	assert_int_equal(wc->byte_len, len);
	assert_int_equal(wc->opcode,
		op == PMV_WR_RDMA_WRITE_WITH_IMM ? PMV_WC_RECV_RDMA_WITH_IMM : PMV_WC_RECV);
	assert_int_equal(!!(wc->wc_flags & PMV_WC_WITH_IMM), has_imm(op));
	if (has_imm(op))
		assert_int_equal(wc->imm_data, rte_cpu_to_be_32((uint32_t)id));
}

/* One transfer from side 0, checked on both sides. */
static void
transfer(struct rc_lab *lab, enum pmv_wr_opcode op, uint32_t len, uint64_t id)
{
	bool is_read = op == PMV_WR_RDMA_READ;
	uint32_t nb0 = lab->nb_wc[0];
	uint32_t nb1 = lab->nb_wc[1];

	rc_lab_fill(is_read ? lab->mem[1] + REMOTE : lab->mem[0], len, (uint32_t)id);
	memset(is_read ? lab->mem[0] : lab->mem[1] + REMOTE, 0x5a, len + 8);
	if (needs_recv(op))
		assert_int_equal(rc_lab_recv(lab, 1, REMOTE, len, 1000 + id), 1);
	assert_int_equal(rc_lab_post(lab, 0, op, 0, REMOTE, len, PMV_SEND_SIGNALED, id), 1);
	assert_true(rc_lab_wait(lab, 0, nb0 + 1, 200000));
	assert_int_equal(lab->wc[0][nb0].status, PMV_WC_SUCCESS);
	assert_int_equal(lab->wc[0][nb0].wr_id, id);
	assert_int_equal(lab->wc[0][nb0].qp_num, pmv_qp_num(lab->qp[0]));
	if (is_read)
		assert_int_equal(lab->wc[0][nb0].byte_len, len);
	if (needs_recv(op)) {
		assert_true(rc_lab_wait(lab, 1, nb1 + 1, 1000));
		check_recv_wc(&lab->wc[1][nb1], op, len, id);
	}
	assert_true(rc_lab_check(is_read ? lab->mem[0] : lab->mem[1] + REMOTE, len, (uint32_t)id));
	assert_int_equal((is_read ? lab->mem[0] : lab->mem[1] + REMOTE)[len], 0x5a);
}

/* RC-316, RC-317: every opcode x MTU x {0, 1, MTU-1, MTU, MTU+1, 2*MTU-1, 2*MTU, 2*MTU+1, 3*MTU+7,
 * 1 MiB}. */
static void
rc_ops__every_opcode_and_length(void **state)
{
	for (enum pmv_mtu mtu = PMV_MTU_256; mtu <= PMV_MTU_4096; mtu++) {
		const uint32_t m = pmv_mtu_bytes(mtu);
		const uint32_t lens[] = { 0, 1, 3, m - 1, m, m + 1, 2 * m - 1, 2 * m, 2 * m + 1,
			3 * m + 7, 16 * m, 1u << 20 };
		const struct rc_lab_param param = { .mtu = mtu, .is_v6 = mtu & 1 };
		struct rc_lab *lab = test_malloc(sizeof(*lab));
		uint64_t id = 1;

		rc_lab_open(lab, &param);
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			for (enum pmv_wr_opcode op = PMV_WR_RDMA_WRITE; op <= PMV_WR_RDMA_READ;
				op++)
				transfer(lab, op,
					lens[i] <= RC_LAB_BYTES - REMOTE - 8 ? lens[i] : 0, id++);
		rc_lab_close(lab);
		test_free(lab);
	}
}

static void
rc_ops__tagged_frames(void **state)
{
	const struct rc_lab_param param = { .vlan_id = 77 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	for (enum pmv_wr_opcode op = PMV_WR_RDMA_WRITE; op <= PMV_WR_RDMA_READ; op++)
		transfer(lab, op, 5000, op + 1);
	rc_lab_close(lab);
	test_free(lab);
}

/* Several SGEs on both sides, with empty ones between, none aligned to a packet. */
static void
rc_ops__gathers_and_scatters(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint32_t lkey0, lkey1;

	rc_lab_open(lab, &param);
	lkey0 = pmv_mr_lkey(lab->mr[0]);
	lkey1 = pmv_mr_lkey(lab->mr[1]);
	for (int read = 0; read < 2; read++) {
		const uint64_t a = (uintptr_t)lab->mem[0];
		const uint64_t b = (uintptr_t)lab->mem[1];
		const struct pmv_sge local[4] = { { a, 700, lkey0 }, { a + 5000, 0, 1 },
			{ a + 8001, 1500, lkey0 }, { a + 20000, 801, lkey0 } };
		const struct pmv_sge remote[3] = { { b + 3, 1, lkey1 }, { b + 100, 2000, lkey1 },
			{ b + 9000, 2000, lkey1 } };
		const struct pmv_recv_wr rwr = { 5, remote, 3 };
		struct pmv_send_wr wr = { .wr_id = 6,
			.sg_list = local,
			.num_sge = 4,
			.opcode = read ? PMV_WR_RDMA_READ : PMV_WR_SEND,
			.send_flags = PMV_SEND_SIGNALED };
		uint8_t flat[3001];
		uint32_t nb = lab->nb_wc[0];

		wr.wr.rdma.remote_addr = b + REMOTE;
		wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
		rc_lab_fill(flat, sizeof(flat), 9 + (uint32_t)read);
		if (read) {
			memcpy(lab->mem[1] + REMOTE, flat, sizeof(flat));
		} else {
			memcpy(lab->mem[0], flat, 700);
			memcpy(lab->mem[0] + 8001, flat + 700, 1500);
			memcpy(lab->mem[0] + 20000, flat + 2200, 801);
			assert_int_equal(pmv_post_recv(lab->qp[1], &rwr, 1), 1);
		}
		assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
		assert_true(rc_lab_wait(lab, 0, nb + 1, 10000));
		assert_int_equal(lab->wc[0][nb].status, PMV_WC_SUCCESS);
		rc_lab_run(lab, 50);
		if (read) {
			assert_memory_equal(lab->mem[0], flat, 700);
			assert_memory_equal(lab->mem[0] + 8001, flat + 700, 1500);
			assert_memory_equal(lab->mem[0] + 20000, flat + 2200, 801);
		} else {
			assert_memory_equal(lab->mem[1] + 3, flat, 1);
			assert_memory_equal(lab->mem[1] + 100, flat + 1, 2000);
			assert_memory_equal(lab->mem[1] + 9000, flat + 2001, 1000);
		}
	}
	rc_lab_close(lab);
	test_free(lab);
}

/* MR-407: the request, its SGEs and inline bytes may be overwritten as soon as post returns. */
static void
rc_ops__inline_copies_at_post(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint8_t stack[64];
	struct pmv_sge sge = { (uintptr_t)stack, sizeof(stack), 0 };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_INLINE | PMV_SEND_SIGNALED };

	rc_lab_open(lab, &param);
	wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1];
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
	rc_lab_fill(stack, sizeof(stack), 3);
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	memset(stack, 0, sizeof(stack));
	memset(&wr, 0xff, sizeof(wr));
	memset(&sge, 0xff, sizeof(sge));
	assert_true(rc_lab_wait(lab, 0, 1, 1000));
	assert_true(rc_lab_check(lab->mem[1], 64, 3));
	rc_lab_close(lab);
	test_free(lab);
}

static void
rc_ops__unsignalled_make_no_completion(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	for (uint64_t i = 0; i < 300; i++) {
		while (rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 100,
			       i % 16 == 15 ? PMV_SEND_SIGNALED : 0, i) != 1)
			rc_lab_run(lab, 5);
	}
	rc_lab_run(lab, 1000);
	assert_int_equal(lab->nb_wc[0], 18);
	for (uint32_t i = 0; i < 18; i++)
		assert_int_equal(lab->wc[0][i].wr_id, 16 * i + 15);
	rc_lab_close(lab);
	test_free(lab);
}

/* RC-307: a fenced SEND leaves after the READ before it has placed its data, and carries that data.
 */
static void
rc_ops__fence_waits_for_read(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	rc_lab_fill(lab->mem[1] + REMOTE, 8192, 77);
	lab->pair.link->end[1].out.delay_us = 300;
	assert_int_equal(rc_lab_recv(lab, 1, 0, 8192, 1), 1);
	assert_int_equal(
		rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0, REMOTE, 8192, PMV_SEND_SIGNALED, 1), 1);
	assert_int_equal(
		rc_lab_post(lab, 0, PMV_WR_SEND, 0, 0, 8192, PMV_SEND_SIGNALED | PMV_SEND_FENCE, 2),
		1);
	rc_lab_run(lab, 200);
	assert_int_equal(lab->nb_wc[1], 0);
	assert_true(rc_lab_wait(lab, 1, 1, 5000));
	assert_true(rc_lab_check(lab->mem[1], 8192, 77));
	rc_lab_close(lab);
	test_free(lab);
}

static void
one_read_at_a_time(int side, struct pmv_qp_attr *attr)
{
	attr->max_rd_atomic = 1;
	attr->max_dest_rd_atomic = 1;
}

/* CM-117: with depth 1, many READs still run. */
static void
rc_ops__reads_within_depth_one(void **state)
{
	const struct rc_lab_param param = { .tune = one_read_at_a_time };
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	rc_lab_fill(lab->mem[1], 100 * 3000, 5);
	for (uint32_t i = 0; i < 100; i++) {
		while (rc_lab_post(lab, 0, PMV_WR_RDMA_READ, i * 3000, i * 3000, 3000,
			       PMV_SEND_SIGNALED, i) != 1)
			rc_lab_run(lab, 5);
	}
	assert_true(rc_lab_wait(lab, 0, 100, 100000));
	assert_true(rc_lab_check(lab->mem[0], 100 * 3000, 5));
	rc_lab_close(lab);
	test_free(lab);
}

/* RC-321, MR-409, CQ-604: what post refuses, and that it takes nothing then. */
static void
rc_ops__post_refuses(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	const uint64_t a = (uintptr_t)0x1000;
	struct pmv_sge sge[6] = { { a, 0x80000000u, 1 }, { a, 0x80000000u, 1 } };
	struct pmv_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE };
	struct pmv_recv_wr rwr = { 1, sge, 5 };
	struct pmv_qp *fresh;
	int nb = 0;

	rc_lab_open(lab, &param);
	wr.opcode = (enum pmv_wr_opcode)5;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.opcode = PMV_WR_SEND;
	wr.num_sge = 5;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.num_sge = 2; /* 2 x 2^31: the sum is 64 bits wide */
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.send_flags = PMV_SEND_INLINE;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.num_sge = 1;
	sge[0].length = 65;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 0), 0);
	assert_int_equal(pmv_post_recv(lab->qp[0], &rwr, 1), -EINVAL);

	fresh = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_RC);
	rwr.num_sge = 1;
	assert_int_equal(pmv_post_recv(fresh, &rwr, 1), -ENOTCONN);
	wr.send_flags = 0;
	assert_int_equal(pmv_post_send(fresh, &wr, 1), -ENOTCONN);
	assert_int_equal(pmv_destroy_qp(fresh), 0);

	lab->pair.link->end[0].out.drop = 1.0; /* nothing is acknowledged: the queue fills */
	while (rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, 0, 1) == 1)
		nb++;
	assert_int_equal(nb, 64);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, 0, 1), -ENOMEM);
	nb = 0;
	while (rc_lab_recv(lab, 0, 0, 8, 1) == 1)
		nb++;
	assert_int_equal(nb, 64);
	rc_lab_close(lab);
	test_free(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_ops__every_opcode_and_length),
		cmocka_unit_test(rc_ops__tagged_frames),
		cmocka_unit_test(rc_ops__gathers_and_scatters),
		cmocka_unit_test(rc_ops__inline_copies_at_post),
		cmocka_unit_test(rc_ops__unsignalled_make_no_completion),
		cmocka_unit_test(rc_ops__fence_waits_for_read),
		cmocka_unit_test(rc_ops__reads_within_depth_one),
		cmocka_unit_test(rc_ops__post_refuses),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
