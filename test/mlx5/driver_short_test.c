// SPDX-License-Identifier: BSD-3-Clause
/*
 * The short ways of drivers/mlx5 on the model: short inline WRITEs (drivers/mlx5/short.h), alone
 * with the doorbell and in lists among others, and the runs of completions that they make. What is
 * checked elsewhere for every request is checked here again, since other code does it.
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

#define LENGTH_MAX 28u /* bytes of a short one */
#define LIST       8u
#define SHIFT      1u /* nothing need be aligned, here or there */
#define NOW_FLAGS  (PMV_SEND_SIGNALED | PMV_SEND_INLINE | PMV_SEND_FLUSH)

/* Mostly 8 bytes, which have a way of their own; else 1 to 28. */
static uint32_t
length_of(uint32_t i)
{
	return i % 3 == 1 ? 1 + i % LENGTH_MAX : 8;
}

static uint8_t
byte_of(uint32_t i, uint32_t k)
{
	return (uint8_t)(i * 13 + k + 1);
}

/* Request number i of its own bytes to a place of its own. */
static struct pmv_send_wr
short_wr(struct lab *lab, struct pmv_sge *sge, uint32_t i, uint32_t flags)
{
	uint8_t *from = lab->end[0].buf + SHIFT + 64 * (i % 64);

	memset(lab->end[1].buf + 64 * (i % 64), 0, 64);
	for (uint32_t k = 0; k < LENGTH_MAX; k++)
		from[k] = byte_of(i, k);
	*sge = (struct pmv_sge){ (uintptr_t)from, length_of(i), 0xbad };
	return (struct pmv_send_wr){ .wr_id = 0x100000000ull + i,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)lab->end[1].buf + SHIFT + 64 * (i % 64),
			pmv_mr_rkey(lab->end[1].mr) } };
}

static void
check_short(const struct lab *lab, uint32_t i)
{
	const uint8_t *to = lab->end[1].buf + SHIFT + 64 * (i % 64);

	/* exactly these bytes */
	for (uint32_t k = 0; k < length_of(i); k++)
		if (to[k] != byte_of(i, k))
			fail_msg("request %u, byte %u", i, k);
	if (to[-1] != 0 || to[length_of(i)] != 0)
		fail_msg("request %u writes beside its place", i);
}

static void
check_wc(const struct lab *lab, const struct pmv_wc *wc, uint64_t wr_id, enum pmv_wc_opcode opcode)
{
	const struct pmv_wc want = { .wr_id = wr_id,
		.opcode = opcode,
		.qp_num = pmv_qp_num(lab->end[0].qp),
		.qp_context = (void *)(uintptr_t)&lab->end[0] };

	assert_memory_equal(wc, &want, sizeof(want));
}

/* More than 65536, so that the ring's counters go round; flushed in the call that posts. */
static void
now__counters_wrap(void **state)
{
	struct pmv_mlx5m_counters before, after;
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct pmv_wc wc;
	struct lab lab;

	lab_open(&lab);
	pmv_mlx5m_counters_get(&before);
	for (uint32_t i = 0; i < 66000; i++) {
		/* every third without completion: retired by the next that has one */
		wr = short_wr(&lab, &sge, i, NOW_FLAGS & ~(i % 3 == 0 ? PMV_SEND_SIGNALED : 0));
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
		pmv_mlx5m_run();
		check_short(&lab, i);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, &wc, 1), i % 3 == 0 ? 0 : 1);
		if (i % 3 != 0)
			check_wc(&lab, &wc, wr.wr_id, PMV_WC_RDMA_WRITE);
	}
	pmv_mlx5m_counters_get(&after);
	assert_int_equal(after.nb_rings - before.nb_rings, 66000);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "rings"), 66000);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "posted_send"), 66000);
	assert_int_equal(
		pmv_worker_stat(lab.end[0].worker, "bursts"), after.nb_bursts - before.nb_bursts);
	lab_close(&lab);
}

/* What waits goes first, and is not forgotten. */
static void
now__behind_what_waits(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct pmv_wc wc[4];
	struct lab lab;

	lab_open(&lab);
	for (uint32_t i = 0; i < 200; i += 2) {
		wr = short_wr(&lab, &sge, i, PMV_SEND_SIGNALED | PMV_SEND_INLINE);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
		wr = short_wr(&lab, &sge, i + 1, NOW_FLAGS);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
		pmv_mlx5m_run();
		assert_int_equal(pmv_mlx5m_qp_rings(pmv_qp_num(lab.end[0].qp)), i / 2 + 1);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 4), 2);
		check_wc(&lab, &wc[0], wr.wr_id - 1, PMV_WC_RDMA_WRITE);
		check_wc(&lab, &wc[1], wr.wr_id, PMV_WC_RDMA_WRITE);
		check_short(&lab, i);
		check_short(&lab, i + 1);
	}
	lab_close(&lab);
}

static void
now__full_and_not_connected(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct pmv_wc wc[4 * LAB_DEPTH];
	struct pmv_qp *fresh;
	uint32_t nb = 0;
	struct lab lab;

	lab_open(&lab);
	fresh = lab_qp_create(&lab.end[0]);
	wr = short_wr(&lab, &sge, 0, NOW_FLAGS);
	assert_int_equal(pmv_post_send(fresh, &wr, 1), -ENOTCONN);
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	for (uint32_t round = 0; round < 5; round++) {
		for (nb = 0; nb < 1000 && pmv_post_send(lab.end[0].qp, &wr, 1) == 1; nb++)
			;
		assert_true(nb >= LAB_DEPTH && nb <= 4 * LAB_DEPTH);
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -ENOMEM);
		pmv_mlx5m_run();
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), -ENOMEM);
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 4 * LAB_DEPTH), nb);
	}
	lab_close(&lab);
}

/* What is not short in this sense although it nearly is. */
static void
make_other(struct lab *lab, struct pmv_send_wr *wr, struct pmv_sge *sge, uint32_t kind)
{
	sge->lkey = pmv_mr_lkey(lab->end[0].mr);
	switch (kind) {
	case 0: /* not inline */
		wr->send_flags &= ~(uint32_t)PMV_SEND_INLINE;
		break;
	case 1: /* another flag */
		wr->send_flags |= PMV_SEND_FENCE;
		break;
	case 2: /* another opcode */
		wr->opcode = PMV_WR_SEND;
		lab_recv(&lab->end[1], lab->end[1].qp, wr->wr_id,
			(uint32_t)(wr->wr.rdma.remote_addr - (uintptr_t)lab->end[1].buf),
			sge->length);
		break;
	default: /* a READ of the same bytes onto themselves */
		wr->opcode = PMV_WR_RDMA_READ;
		wr->send_flags &= ~(uint32_t)PMV_SEND_INLINE;
		memcpy((void *)(uintptr_t)wr->wr.rdma.remote_addr,
			(const void *)(uintptr_t)sge->addr, sge->length);
	}
}

/* Short ones and others in one list, in random order: order of execution and completions is kept.
 */
static void
list__mixed(void **state)
{
	struct pmv_send_wr wr[LIST];
	struct pmv_sge sge[LIST];
	struct pmv_wc wc[LIST + 1];
	uint32_t cut;
	struct lab lab;

	lab_open(&lab);
	srand(1);
	for (uint32_t i = 0; i < 3000; i += LIST) {
		for (uint32_t k = 0; k < LIST; k++) {
			wr[k] = short_wr(&lab, &sge[k], i + k, PMV_SEND_SIGNALED | PMV_SEND_INLINE);
			if (rand() % 4 == 0)
				make_other(&lab, &wr[k], &sge[k], (uint32_t)rand() % 4);
		}
		assert_int_equal(pmv_post_send(lab.end[0].qp, wr, LIST), LIST);
		lab_run(&lab, 0);
		/* in two calls, which cut the run somewhere */
		cut = (uint32_t)rand() % LIST;
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, cut), cut);
		assert_int_equal(
			pmv_poll_cq(lab.end[0].send_cq, &wc[cut], LIST + 1 - cut), LIST - cut);
		for (uint32_t k = 0; k < LIST; k++) {
			check_short(&lab, i + k);
			assert_int_equal(wc[k].wr_id, wr[k].wr_id);
			assert_int_equal(wc[k].status, PMV_WC_SUCCESS);
			assert_int_equal(wc[k].opcode, wr[k].opcode == PMV_WR_SEND ? PMV_WC_SEND
						       : wr[k].opcode == PMV_WR_RDMA_READ
							       ? PMV_WC_RDMA_READ
							       : PMV_WC_RDMA_WRITE);
			assert_int_equal(wc[k].byte_len,
				wr[k].opcode == PMV_WR_RDMA_READ ? sge[k].length : 0);
		}
		(void)pmv_poll_cq(lab.end[1].recv_cq, wc, LIST);
	}
	lab_close(&lab);
}

/* The short ones before a request that is refused are taken. */
static void
list__ends_at_what_is_refused(void **state)
{
	struct pmv_send_wr wr[LIST];
	struct pmv_sge sge[LIST];
	struct pmv_wc wc[LIST];
	struct lab lab;

	lab_open(&lab);
	for (uint32_t k = 0; k < LIST; k++)
		wr[k] = short_wr(&lab, &sge[k], k, NOW_FLAGS);
	wr[5].num_sge = 100;
	assert_int_equal(pmv_post_send(lab.end[0].qp, wr, LIST), 5);
	pmv_mlx5m_run(); /* rung by the flag of the first */
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, LIST), 5);
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr[5], LIST - 5), -EINVAL);
	lab_close(&lab);
}

/* Every request completes, asked or not. */
static void
sig_all__short_ones_too(void **state)
{
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = LAB_DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = LENGTH_MAX } };
	struct pmv_send_wr wr[2];
	struct pmv_qp *qp[2];
	struct pmv_sge sge[2];
	struct pmv_wc wc[4];
	struct lab lab;

	lab_open(&lab);
	for (int i = 0; i < 2; i++) {
		init.send_cq = lab.end[i].send_cq;
		init.recv_cq = lab.end[i].recv_cq;
		assert_int_equal(pmv_create_qp(lab.end[i].pd, lab.end[i].worker, &init, &qp[i]), 0);
	}
	lab_connect(&lab, qp[0], qp[1]);
	for (uint32_t i = 0; i < 2; i++)
		wr[i] = short_wr(&lab, &sge[i], i, PMV_SEND_INLINE | PMV_SEND_FLUSH);
	assert_int_equal(pmv_post_send(qp[0], wr, 2), 2);
	assert_int_equal(pmv_post_send(qp[0], wr, 1), 1);
	pmv_mlx5m_run();
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 4), 3);
	assert_int_equal(pmv_destroy_qp(qp[0]), 0);
	assert_int_equal(pmv_destroy_qp(qp[1]), 0);
	lab_close(&lab);
}

/* What a queue pair reports holds for short ones as well; libmlx5 44 gives more than asked for. */
static void
max_inline__holds_for_short_ones(void **state)
{
	struct pmv_qp_init_attr init = {
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct pmv_send_wr wr;
	struct pmv_qp *qp[2];
	struct pmv_sge sge;
	struct lab lab;
	int want;

	lab_open(&lab);
	for (int i = 0; i < 2; i++) {
		init.send_cq = lab.end[i].send_cq;
		init.recv_cq = lab.end[i].recv_cq;
		init.cap.max_inline_data = 0;
		assert_int_equal(pmv_create_qp(lab.end[i].pd, lab.end[i].worker, &init, &qp[i]), 0);
	}
	lab_connect(&lab, qp[0], qp[1]);
	wr = short_wr(&lab, &sge, 0, NOW_FLAGS);
	want = init.cap.max_inline_data < sge.length ? -EINVAL : 1;
	assert_int_equal(pmv_post_send(qp[0], &wr, 1), want);
	wr.send_flags &= ~(uint32_t)PMV_SEND_FLUSH;
	assert_int_equal(pmv_post_send(qp[0], &wr, 1), want);
	assert_int_equal(pmv_destroy_qp(qp[0]), 0);
	assert_int_equal(pmv_destroy_qp(qp[1]), 0);
	lab_close(&lab);
}

/* A run of one queue pair does not go on in the entries of another, nor beyond its end. */
static void
run__two_qps_of_a_cq(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct pmv_qp *qp[2], *peer;
	struct pmv_wc wc[16];
	struct lab lab;

	lab_open(&lab);
	qp[0] = lab.end[0].qp;
	qp[1] = lab_qp_create(&lab.end[0]);
	peer = lab_qp_create(&lab.end[1]);
	lab_connect(&lab, qp[1], peer);
	srand(2);
	for (uint32_t i = 0; i < 2000; i += 8) {
		uint32_t which[8];

		for (uint32_t k = 0; k < 8; k++) {
			which[k] = (uint32_t)rand() % 5 == 0;
			wr = short_wr(&lab, &sge, i + k, NOW_FLAGS);
			assert_int_equal(pmv_post_send(qp[which[k]], &wr, 1), 1);
			pmv_mlx5m_run();
		}
		assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 16), 8);
		for (uint32_t k = 0; k < 8; k++) {
			assert_int_equal(wc[k].qp_num, pmv_qp_num(qp[which[k]]));
			assert_int_equal(wc[k].wr_id, 0x100000000ull + i + k);
		}
	}
	/* the last run's queue pair goes, with completions unread */
	for (uint32_t k = 0; k < 4; k++) {
		wr = short_wr(&lab, &sge, k, NOW_FLAGS);
		assert_int_equal(pmv_post_send(qp[1], &wr, 1), 1);
		pmv_mlx5m_run();
	}
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 2), 2);
	assert_int_equal(pmv_destroy_qp(qp[1]), 0);
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 16), 0);
	assert_int_equal(pmv_worker_stat(lab.end[0].worker, "completions_stale"), 2);
	assert_int_equal(pmv_destroy_qp(peer), 0);
	lab_close(&lab);
}

/* An error ends a run, and what follows is not a run either. */
static void
run__ends_at_an_error(void **state)
{
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	struct pmv_wc wc[8];
	struct lab lab;

	lab_open(&lab);
	for (uint32_t i = 0; i < 6; i++) {
		wr = short_wr(&lab, &sge, i, NOW_FLAGS);
		if (i == 3)
			wr.wr.rdma.rkey ^= 0x100;
		assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
	}
	pmv_mlx5m_run();
	assert_int_equal(pmv_poll_cq(lab.end[0].send_cq, wc, 8), 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(wc[i].wr_id, 0x100000000ull + i);
		assert_int_equal(wc[i].status, i < 3    ? PMV_WC_SUCCESS
					       : i == 3 ? PMV_WC_REM_ACCESS_ERR
							: PMV_WC_WR_FLUSH_ERR);
	}
	wr = short_wr(&lab, &sge, 9, NOW_FLAGS);
	assert_int_equal(pmv_post_send(lab.end[0].qp, &wr, 1), 1);
	pmv_mlx5m_run();
	assert_int_equal(lab_one(lab.end[0].send_cq).status, PMV_WC_WR_FLUSH_ERR);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(now__counters_wrap),
		cmocka_unit_test(now__behind_what_waits),
		cmocka_unit_test(now__full_and_not_connected),
		cmocka_unit_test(list__mixed),
		cmocka_unit_test(list__ends_at_what_is_refused),
		cmocka_unit_test(sig_all__short_ones_too),
		cmocka_unit_test(max_inline__holds_for_short_ones),
		cmocka_unit_test(run__two_qps_of_a_cq),
		cmocka_unit_test(run__ends_at_an_error),
	};

	return cmocka_run_group_tests(tests, lab_start, lab_stop);
}
