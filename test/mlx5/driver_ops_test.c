// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/mlx5 on the model: every opcode at lengths around each boundary of the entry format,
 * every field of the completions, rings and counters that wrap, doorbells counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <cmocka.h>

#include "test/mlx5/driver_lab.h"

#define FROM  4096u          /* in the sender's buffer */
#define TO    (128u * 1024u) /* in the receiver's */
#define GUARD 16u            /* bytes around the target that must not change */

enum form {
	FORM_ONE,    /* one SGE */
	FORM_PIECES, /* four, the second of no bytes */
	FORM_INLINE,
	FORM_INLINE_PIECES,
	FORM_MAX
};

/* Units of an entry end at 12, 28, 44 inline bytes; blocks at 12 and 28 + 64 n; packets at 1024. */
static const uint32_t lengths[] = { 0, 1, 3, 4, 8, 11, 12, 13, 27, 28, 29, 44, 45, 59, 60, 61, 75,
	76, 77, 91, 92, 93, 124, 156, 157, 188, 199, 200, 201, 1023, 1024, 1025, 4096, 5000,
	100000 };

static void
fill(uint8_t *to, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13 + 1);
}

/* Splits one SGE of the sender. */
static uint32_t
make_list(const struct lab_end *end, enum form form, uint32_t length, struct pmv_sge sge[LAB_SGES])
{
	uint32_t lkey = form >= FORM_INLINE ? 0xbad : pmv_mr_lkey(end->mr);
	uint64_t addr = (uintptr_t)end->buf + FROM;
	uint32_t third = length / 3;

	if (form == FORM_ONE || form == FORM_INLINE) {
		sge[0] = (struct pmv_sge){ addr, length, lkey };
		return 1;
	}
	sge[0] = (struct pmv_sge){ addr, third, lkey };
	sge[1] = (struct pmv_sge){ addr + third, 0, lkey };
	sge[2] = (struct pmv_sge){ addr + third, third, lkey };
	sge[3] = (struct pmv_sge){ addr + 2 * third, length - 2 * third, lkey };
	return 4;
}

static void
check_sent(const struct lab_end *end, const struct pmv_send_wr *wr, uint32_t length)
{
	static const enum pmv_wc_opcode opcode[] = { PMV_WC_RDMA_WRITE, PMV_WC_RDMA_WRITE,
		PMV_WC_SEND, PMV_WC_SEND, PMV_WC_RDMA_READ };
	struct pmv_wc wc = lab_one(end->send_cq);

	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr->wr_id);
	assert_int_equal(wc.opcode, opcode[wr->opcode]);
	assert_int_equal(wc.byte_len, wr->opcode == PMV_WR_RDMA_READ ? length : 0);
	assert_int_equal(wc.qp_num, pmv_qp_num(end->qp));
	assert_ptr_equal(wc.qp_context, end);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.src_qp, 0);
}

static void
check_received(const struct lab_end *end, const struct pmv_send_wr *wr, uint32_t length)
{
	bool has_imm =
		wr->opcode == PMV_WR_SEND_WITH_IMM || wr->opcode == PMV_WR_RDMA_WRITE_WITH_IMM;
	struct pmv_wc wc = lab_one(end->recv_cq);

	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, ~wr->wr_id);
	assert_int_equal(wc.opcode,
		wr->opcode == PMV_WR_RDMA_WRITE_WITH_IMM ? PMV_WC_RECV_RDMA_WITH_IMM : PMV_WC_RECV);
	assert_int_equal(wc.byte_len, length);
	assert_int_equal(wc.qp_num, pmv_qp_num(end->qp));
	assert_ptr_equal(wc.qp_context, end);
	assert_int_equal(wc.wc_flags, has_imm ? PMV_WC_WITH_IMM : 0);
	assert_int_equal(wc.imm_data, has_imm ? wr->imm_data : 0);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.src_qp, 0);
}

/* A READ goes the other way: its list is where the bytes go to. */
static void
one(struct lab *lab, enum pmv_wr_opcode opcode, enum form form, uint32_t length, uint64_t id)
{
	bool is_read = opcode == PMV_WR_RDMA_READ;
	bool has_recv = opcode != PMV_WR_RDMA_WRITE && !is_read;
	struct lab_end *a = &lab->end[0], *b = &lab->end[1];
	uint8_t *from = is_read ? b->buf + TO : a->buf + FROM;
	uint8_t *to = is_read ? a->buf + FROM : b->buf + TO;
	struct pmv_sge sge[LAB_SGES];
	struct pmv_send_wr wr = { .wr_id = id,
		.sg_list = sge,
		.num_sge = make_list(a, form, length, sge),
		.opcode = opcode,
		.send_flags = PMV_SEND_SIGNALED | (form >= FORM_INLINE ? PMV_SEND_INLINE : 0),
		.imm_data = rte_cpu_to_be_32(0xa1b20000u + (uint32_t)id),
		.wr = { .rdma = { (uintptr_t)b->buf + TO, pmv_mr_rkey(b->mr) } } };

	memset(to - GUARD, 0xee, length + 2 * GUARD);
	fill(from, length, (uint32_t)id);
	if (has_recv)
		lab_recv(b, b->qp, ~id, TO, opcode == PMV_WR_RDMA_WRITE_WITH_IMM ? 0 : length);
	assert_int_equal(pmv_post_send(a->qp, &wr, 1), 1);
	if (form >= FORM_INLINE) /* the buffer is ours again at once */
		memset(from, 0, length);
	lab_run(lab, 0);
	check_sent(a, &wr, length);
	if (has_recv)
		check_received(b, &wr, length);
	fill(from, length, (uint32_t)id);
	assert_memory_equal(to, from, length);
	for (uint32_t i = 0; i < GUARD; i++)
		assert_true(to[-1 - (int)i] == 0xee && to[length + i] == 0xee);
	assert_int_equal(pmv_poll_cq(b->send_cq, &(struct pmv_wc){ 0 }, 1), 0);
	assert_int_equal(pmv_poll_cq(b->recv_cq, &(struct pmv_wc){ 0 }, 1), 0);
}

static void
ops__every_opcode_form_and_length(void **state)
{
	uint64_t id = 0x1122334455660000ull;
	struct lab lab;

	lab_open(&lab);
	for (int opcode = PMV_WR_RDMA_WRITE; opcode <= PMV_WR_RDMA_READ; opcode++)
		for (int form = 0; form < FORM_MAX; form++)
			for (uint32_t i = 0; i < RTE_DIM(lengths); i++) {
				if (form >= FORM_INLINE &&
					(lengths[i] > LAB_INLINE || opcode == PMV_WR_RDMA_READ))
					continue;
				one(&lab, (enum pmv_wr_opcode)opcode, (enum form)form, lengths[i],
					id++);
			}
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "completions_error"), 0);
	lab_close(&lab);
}

/* Requests without completion are retired by the next one that has one. */
static void
post__full_until_polled(void **state)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_RDMA_WRITE };
	struct lab lab;
	uint32_t nb = 0;

	lab_open(&lab);
	wr.wr.rdma.remote_addr = (uintptr_t)lab.end[1].buf;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab.end[1].mr);
	for (int round = 0; round < 50; round++) {
		for (nb = 0; nb < 1000; nb++) {
			wr.wr_id = nb;
			wr.send_flags = nb == LAB_DEPTH - 1 ? PMV_SEND_SIGNALED : 0;
			if (pmv_post_send(lab.end[0].qp, &wr, 1) != 1)
				break;
		}
		assert_true(nb >= LAB_DEPTH && nb < 1000);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -ENOMEM);
		lab_run(&lab, 0);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -ENOMEM);
		assert_int_equal(lab_one(lab.end[0].send_cq).wr_id, LAB_DEPTH - 1);
		/* so many are free again, the rest is retired with the next signalled one */
		wr.send_flags = PMV_SEND_SIGNALED;
		lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 0);
		lab_run(&lab, 0);
		lab_one(lab.end[0].send_cq);
	}
	lab_close(&lab);
}

static void
post__recv_full_until_received(void **state)
{
	struct pmv_recv_wr rwr = { 0 };
	struct pmv_send_wr wr = { .opcode = PMV_WR_SEND, .send_flags = PMV_SEND_SIGNALED };
	struct lab lab;
	uint32_t nb = 0;

	lab_open(&lab);
	while (nb < 1000 && pmv_post_recv(lab.end[1].qp, &rwr, 1) == 1)
		nb++;
	assert_true(nb >= LAB_DEPTH && nb < 1000);
	assert_int_equal(pmv_post_recv(lab.end[1].qp, &rwr, 1), -ENOMEM);
	lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 0);
	lab_run(&lab, 0);
	assert_int_equal(pmv_post_recv(lab.end[1].qp, &rwr, 1), -ENOMEM);
	lab_one(lab.end[1].recv_cq);
	assert_int_equal(pmv_post_recv(lab.end[1].qp, &rwr, 1), 1);
	lab_one(lab.end[0].send_cq);
	lab_close(&lab);
}

/* More than 65536 blocks and entries: every 16-bit counter goes round. */
static void
post__counters_wrap(void **state)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_SEND, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_wc sent[8], received[8];
	struct lab lab;

	lab_open(&lab);
	for (uint32_t i = 0; i < 66000; i += 8) {
		for (uint32_t k = i; k < i + 8; k++) {
			wr.wr_id = k;
			lab_recv(&lab.end[1], lab.end[1].qp, ~(uint64_t)k, 0, 0);
			lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 0);
		}
		lab_run(&lab, 0);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, sent, 8), 8);
		assert_int_equal(pmv_poll_cq(lab.end[1].recv_cq, received, 8), 8);
		for (uint32_t k = 0; k < 8; k++)
			if (sent[k].wr_id != i + k || received[k].wr_id != ~(uint64_t)(i + k))
				fail();
	}
	lab_close(&lab);
}

static uint64_t
rings(const struct pmv_qp *qp)
{
	return pmv_mlx5m_qp_rings(pmv_qp_num(qp));
}

/* Over write() the kernel gives no thread domains: then nothing may be copied. */
static bool
has_own_register(void)
{
	const char *abi = getenv("PMV_MLX5M_ABI");

	return abi == NULL || strcmp(abi, "ioctl") == 0;
}

static void
doorbell__one_a_turn(void **state)
{
	struct pmv_send_wr wr[8];
	struct pmv_mlx5m_counters before, after;
	struct pmv_wc wc[32];
	struct lab lab;

	lab_open(&lab);
	for (int i = 0; i < 8; i++)
		wr[i] = (struct pmv_send_wr){ .wr_id = (uint64_t)i,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_SIGNALED,
			.wr = { .rdma = {
					(uintptr_t)lab.end[1].buf, pmv_mr_rkey(lab.end[1].mr) } } };
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, 8), 8);
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, 3), 3);
	assert_int_equal(rings(lab.end[0].qp), 0);
	lab_run(&lab, 0);
	assert_int_equal(rings(lab.end[0].qp), 1);
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 32), 11);
	for (uint64_t i = 0; i < 11; i++)
		assert_int_equal(wc[i].wr_id, i & 7);
	/* the flag does not wait, and rings for what waited */
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, 2), 2);
	wr[1].send_flags |= PMV_SEND_FLUSH;
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, 2), 2);
	assert_int_equal(rings(lab.end[0].qp), 2);
	pmv_worker_flush(lab.end[0].worker);
	assert_int_equal(rings(lab.end[0].qp), 2);
	lab_run(&lab, 0);
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 32), 4);
	/* a single entry goes with the ring where the register is the worker's own */
	pmv_mlx5m_counters_get(&before);
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, 1), 1);
	lab_run(&lab, 0);
	pmv_mlx5m_counters_get(&after);
	assert_int_equal(after.nb_rings - before.nb_rings, 1);
	assert_int_equal(after.nb_bursts - before.nb_bursts, has_own_register() ? 1 : 0);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "rings"), 3);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "bursts"), has_own_register() ? 1 : 0);
	lab_one(lab.end[0].send_cq);
	lab_close(&lab);
}

/* Two QPs of a worker have one register between them: the halves alternate all the same. */
static void
doorbell__shared_by_two_qps(void **state)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE };
	struct pmv_qp *a, *b;
	struct pmv_wc wc[8];
	struct lab lab;

	lab_open(&lab);
	a = lab_qp_create(&lab.end[0]);
	b = lab_qp_create(&lab.end[1]);
	lab_connect(&lab, a, b);
	wr.wr.rdma.rkey = pmv_mr_rkey(lab.end[1].mr);
	for (uint32_t i = 0; i < 40; i++) {
		wr.wr_id = i;
		wr.wr.rdma.remote_addr = (uintptr_t)lab.end[1].buf + TO + 256 * i;
		lab.end[0].buf[0] = (uint8_t)i;
		lab_send(&lab.end[0], i % 3 == 0 ? a : lab.end[0].qp, &wr, 0, 1 + 4 * i);
		if (i % 4 == 3)
			lab_run(&lab, 0);
		if (i % 4 == 3)
			assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 8), 4);
	}
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(lab.end[1].buf[TO + 256 * i], i);
	assert_int_equal(pmv_destroy_qp(a), 0);
	assert_int_equal(pmv_destroy_qp(b), 0);
	lab_close(&lab);
}

static void
cq__ready_and_wrap(void **state)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_RDMA_WRITE, .send_flags = PMV_SEND_SIGNALED };
	struct pmv_cq_attr attr;
	struct pmv_wc wc[LAB_DEPTH];
	struct lab lab;

	lab_open(&lab);
	wr.wr.rdma.remote_addr = (uintptr_t)lab.end[1].buf;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab.end[1].mr);
	for (uint32_t round = 0; round < 40; round++) {
		for (uint32_t i = 0; i < 13; i++)
			lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, 0);
		lab_run(&lab, 0);
		assert_int_equal(pmv_query_cq(lab.end[0].send_cq, &attr), 0);
		assert_int_equal(attr.nb_ready, 13);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 5), 5);
		assert_int_equal(pmv_query_cq(lab.end[0].send_cq, &attr), 0);
		assert_int_equal(attr.nb_ready, 8);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, LAB_DEPTH), 8);
	}
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops__every_opcode_form_and_length),
		cmocka_unit_test(post__full_until_polled),
		cmocka_unit_test(post__recv_full_until_received),
		cmocka_unit_test(post__counters_wrap),
		cmocka_unit_test(doorbell__one_a_turn),
		cmocka_unit_test(doorbell__shared_by_two_qps),
		cmocka_unit_test(cq__ready_and_wrap),
	};

	return cmocka_run_group_tests(tests, lab_start, lab_stop);
}
