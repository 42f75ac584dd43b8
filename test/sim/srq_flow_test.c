// SPDX-License-Identifier: BSD-3-Clause
/*
 * Several QPs, one shared receive queue: which receive a message takes, where its completion
 * appears, when the limit's event comes, and that a change of size loses nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/eth_ip.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/srq_lab.h"

static const struct srq_lab_param plain = { 0 };

static void
check_wc(const struct srq_lab *lab, int q, uint32_t i, uint64_t wr_id, uint32_t len)
{
	const struct pmv_wc *wc = &lab->wc[q][i];

	assert_true(i < lab->nb_wc[q]);
	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->opcode, PMV_WC_RECV);
	assert_int_equal(wc->wr_id, wr_id);
	assert_int_equal(wc->byte_len, len);
	assert_int_equal(wc->qp_num, pmv_qp_num(lab->to[q]));
}

/* SQ-506: every number of SGEs, through three QPs, each message as long as its receive. */
static void
srq_flow__all_sges(void **state)
{
	const struct srq_lab_param param = { .max_sge = 16 };
	static const uint32_t nb_sge[] = { 1, 2, 15, 16 };
	struct srq_lab *lab = srq_lab_open(&param);

	for (uint32_t i = 0; i < 12; i++) {
		int q = (int)(i % SRQ_LAB_QPS);
		uint32_t len = 1000 + 331 * i;

		assert_int_equal(srq_lab_recv(lab, i, len, nb_sge[i % 4]), 1);
		srq_lab_send(lab, q, len, i);
		assert_true(srq_lab_wait(lab, q, i / SRQ_LAB_QPS + 1, 10000));
		check_wc(lab, q, i / SRQ_LAB_QPS, i, len);
		assert_true(srq_lab_holds(lab, i, len, nb_sge[i % 4], i));
	}
	srq_lab_run(lab, 100);
	assert_int_equal(lab->nb_sent, 12);
	srq_lab_close(lab);
}

/* A receive belongs to the message whose first packet took it, whatever arrives in between. */
static void
srq_flow__packets_interleaved(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);

	srq_lab_recv_many(lab, 0, 4, 4000);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_packet(lab, 1, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_packet(lab, 2, PMV_OPCODE_RC_SEND_ONLY, 0, 77);
	srq_lab_packet(lab, 1, PMV_OPCODE_RC_SEND_MIDDLE, 1, 1024);
	srq_lab_packet(lab, 2, PMV_OPCODE_RC_SEND_ONLY, 1, 78);
	srq_lab_packet(lab, 1, PMV_OPCODE_RC_SEND_LAST, 2, 3);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_LAST, 1, 1000);
	srq_lab_run(lab, 100);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1] + lab->nb_wc[2], 4);
	check_wc(lab, 0, 0, 0, 2024);
	check_wc(lab, 1, 0, 1, 2051);
	check_wc(lab, 2, 0, 2, 77);
	check_wc(lab, 2, 1, 3, 78);
	assert_true(srq_lab_holds(lab, 2, 77, 1, 0));
	assert_true(srq_lab_holds(lab, 3, 78, 1, 1));
	srq_lab_close(lab);
}

/* Messages of three packets from two QPs at once; every single frame, and pairs, of them lost. */
static void
lossy(uint64_t drop_mask)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	bool used[12] = { false };

	srq_lab_recv_many(lab, 0, 12, 3000);
	lab->pair.link->end[0].out.drop_mask = drop_mask;
	for (uint32_t i = 0; i < 12; i++)
		srq_lab_send(lab, (int)(i & 1), 2100 + i, i);
	assert_true(srq_lab_wait(lab, 0, 6, 200000));
	assert_true(srq_lab_wait(lab, 1, 6, 200000));
	srq_lab_run(lab, 1000);
	for (uint32_t i = 0; i < 12; i++) {
		const struct pmv_wc *wc = &lab->wc[i & 1][i / 2];

		/* in the order of their QP, each in a receive of its own */
		assert_in_range(wc->wr_id, 0, 11);
		assert_false(used[wc->wr_id]);
		used[wc->wr_id] = true;
		check_wc(lab, (int)(i & 1), i / 2, wc->wr_id, 2100 + i);
		assert_true(srq_lab_holds(lab, wc->wr_id, 2100 + i, 1, i));
	}
	assert_int_equal(lab->nb_sent, 12);
	srq_lab_close(lab);
}

static void
srq_flow__loss(void **state)
{
	lossy(0);
	for (uint32_t i = 0; i < 36; i++)
		lossy(1ull << i);
	for (uint32_t i = 0; i < 35; i += 3)
		lossy(5ull << i);
	lossy(0x249249249ull); /* the first packet of each message */
	lossy(0xfffffffffull); /* all */
}

/* An empty queue: RNR NAK with the QP's timer code, and all arrives once something is posted. No
 * credits are offered, in no acknowledgement (0x1f says so: IBTA vol. 1, 9.7.7.2). */
static void
srq_flow__not_ready_then_posted(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	uint32_t nb_acks = 0;

	srq_lab_send(lab, 0, 2500, 1);
	srq_lab_send(lab, 1, 10, 2);
	srq_lab_run(lab, 100);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 0);
	assert_int_equal(srq_lab_stat(lab, "rnr_tx"), 2);
	srq_lab_recv_many(lab, 0, 1, 3000);
	srq_lab_run(lab, 2000);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 1); /* only one of them */
	srq_lab_recv_many(lab, 1, 3, 3000);
	srq_lab_run(lab, 5000);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 2);
	assert_int_equal(lab->wc[0][0].byte_len, 2500);
	assert_int_equal(lab->wc[1][0].byte_len, 10);
	assert_int_equal(lab->nb_sent, 2);
	for (uint32_t i = 0; i < lab->nb_aeth; i++) {
		assert_true(lab->aeth[i] == 0x1f || lab->aeth[i] == (0x20 | 12));
		nb_acks += lab->aeth[i] == 0x1f;
	}
	assert_int_not_equal(nb_acks, 0);
	srq_lab_close(lab);
}

/* A WRITE with immediate takes a receive with its last packet, and only that. */
static void
srq_flow__write_with_imm(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[0], 3000, pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = rte_cpu_to_be_32(0x11223344) };

	wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1] + 100 * SRQ_LAB_PLACE;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
	assert_int_equal(pmv_post_send(lab->from[1], &wr, 1), 1);
	srq_lab_run(lab, 100);
	assert_int_equal(srq_lab_stat(lab, "rnr_tx"), 1);
	srq_lab_recv_many(lab, 5, 2, 0);
	srq_lab_run(lab, 3000);
	assert_int_equal(lab->nb_wc[1], 1);
	assert_int_equal(lab->wc[1][0].status, PMV_WC_SUCCESS);
	assert_int_equal(lab->wc[1][0].opcode, PMV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(lab->wc[1][0].wr_id, 5);
	assert_int_equal(lab->wc[1][0].byte_len, 3000);
	assert_int_equal(lab->wc[1][0].imm_data, rte_cpu_to_be_32(0x11223344));
	srq_lab_send(lab, 0, 0, 1);
	srq_lab_run(lab, 100);
	check_wc(lab, 0, 0, 6, 0);
	srq_lab_close(lab);
}

/* UC: nothing is answered. A message without a receive is dropped; one that is lost half way keeps
 * its receive for the QP's next, and the other QPs take the others. */
static void
srq_flow__unreliable(void **state)
{
	const struct srq_lab_param param = { .type = { PMV_QPT_UC, PMV_QPT_UC, PMV_QPT_RC } };
	struct srq_lab *lab = srq_lab_open(&param);
	struct pmv_event ev;

	srq_lab_send(lab, 0, 2500, 1);
	srq_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 0);
	srq_lab_recv_many(lab, 0, 4, 4000);
	lab->pair.link->end[0].out.drop_mask =
		1ull << (lab->pair.link->end[0].out.nb_frames + 1); /* the second of three */
	srq_lab_send(lab, 0, 2501, 2);
	srq_lab_run(lab, 50);
	srq_lab_send(lab, 1, 2502, 3);
	srq_lab_send(lab, 2, 2503, 4);
	srq_lab_run(lab, 50);
	srq_lab_send(lab, 0, 2504, 5);
	srq_lab_send(lab, 0, 2505, 6);
	srq_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1] + lab->nb_wc[2], 4);
	check_wc(lab, 1, 0, 1, 2502);
	check_wc(lab, 2, 0, 2, 2503);
	check_wc(lab, 0, 0, 0, 2504); /* the one that it held */
	check_wc(lab, 0, 1, 3, 2505);
	assert_true(srq_lab_holds(lab, 0, 2504, 1, 5));
	assert_true(srq_lab_holds(lab, 3, 2505, 1, 6));
	/* held when it ends: flushed */
	srq_lab_recv_many(lab, 7, 2, 4000);
	lab->pair.link->end[0].out.drop_mask = 1ull << (lab->pair.link->end[0].out.nb_frames + 1);
	srq_lab_send(lab, 0, 2000, 7);
	srq_lab_run(lab, 50);
	srq_lab_to_err(lab->to[0]);
	srq_lab_run(lab, 5);
	assert_int_equal(lab->nb_wc[0], 3);
	assert_int_equal(lab->wc[0][2].wr_id, 7);
	assert_int_equal(lab->wc[0][2].status, PMV_WC_WR_FLUSH_ERR);
	while (srq_lab_event(lab, &ev) == PMV_EVENT_COMM_EST)
		;
	assert_int_equal(ev.type, PMV_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(ev.object, lab->to[0]);
	assert_int_equal(srq_lab_event(lab, &ev), -1);
	srq_lab_close(lab);
}

static void
consume(struct srq_lab *lab, int q)
{
	uint32_t nb = lab->nb_wc[q];

	srq_lab_send(lab, q, 8, nb);
	assert_true(srq_lab_wait(lab, q, nb + 1, 10000));
}

static void
set_limit(struct srq_lab *lab, uint32_t limit)
{
	struct pmv_srq_attr a = { .srq_limit = limit };

	assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_LIMIT), 0);
}

static uint32_t
limit_of(struct srq_lab *lab)
{
	struct pmv_srq_attr a;

	assert_int_equal(pmv_query_srq(lab->srq, &a, NULL), 0);
	return a.srq_limit;
}

/* 16 are posted, limit 8 is armed: the event comes with the receive that leaves 7, and no other. */
static void
limit_event(struct srq_lab *lab)
{
	struct pmv_event ev;

	for (uint32_t left = 15; left >= 8; left--) {
		consume(lab, (int)(left % SRQ_LAB_QPS));
		assert_int_equal(srq_lab_event(lab, &ev), -1);
		assert_int_equal(limit_of(lab), 8);
	}
	consume(lab, 0);
	assert_int_equal(srq_lab_event(lab, &ev), PMV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(ev.object, lab->srq);
	assert_ptr_equal(ev.context, lab);
	assert_int_equal(limit_of(lab), 0);
	for (uint32_t left = 6; left + 1 > 0; left--)
		consume(lab, (int)(left % SRQ_LAB_QPS));
	assert_int_equal(srq_lab_event(lab, &ev), -1);
}

/* SQ-503, SQ-501 */
static void
srq_flow__limit(void **state)
{
	const struct srq_lab_param created = { .limit = 8 };
	struct srq_lab *lab = srq_lab_open(&plain);
	struct pmv_srq_attr a = { .max_wr = 128 };
	struct pmv_event ev;

	/* (a) never armed */
	srq_lab_recv_many(lab, 0, 16, 64);
	for (int i = 0; i < 16; i++)
		consume(lab, i % SRQ_LAB_QPS);
	assert_int_equal(srq_lab_event(lab, &ev), -1);
	/* (b) armed, and armed again after the event */
	for (int i = 0; i < 2; i++) {
		srq_lab_recv_many(lab, 0, 16, 64);
		set_limit(lab, 8);
		limit_event(lab);
	}
	/* (c) then another size */
	srq_lab_recv_many(lab, 0, 16, 64);
	set_limit(lab, 8);
	assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_MAX_WR), 0);
	assert_int_equal(a.srq_limit, 8);
	limit_event(lab);
	srq_lab_close(lab);
	/* armed by create: posting the first ones raises nothing */
	lab = srq_lab_open(&created);
	srq_lab_recv_many(lab, 0, 16, 64);
	assert_int_equal(srq_lab_event(lab, &ev), -1);
	limit_event(lab);
	srq_lab_close(lab);
}

/* SQ-502: armed below the fill it comes at once; a receive that a QP holds is not posted. */
static void
srq_flow__limit_at_once(void **state)
{
	struct srq_lab *lab = srq_lab_open(&plain);
	struct pmv_srq_attr a = { .srq_limit = 65 };
	struct pmv_event ev;

	srq_lab_recv_many(lab, 0, 4, 2048);
	set_limit(lab, 4); /* not fewer: armed */
	assert_int_equal(limit_of(lab), 4);
	assert_int_equal(srq_lab_event(lab, &ev), -1);
	assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_LIMIT), -EINVAL);
	assert_int_equal(limit_of(lab), 4); /* the old one is kept */
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_FIRST, 0, 1024);
	srq_lab_run(lab, 20);
	assert_int_equal(srq_lab_event(lab, &ev), PMV_EVENT_SRQ_LIMIT_REACHED);
	a = (struct pmv_srq_attr){ .srq_limit = 8 };
	assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_LIMIT), 0);
	assert_int_equal(a.srq_limit, 0); /* raised, so disarmed */
	assert_int_equal(srq_lab_event(lab, &ev), PMV_EVENT_SRQ_LIMIT_REACHED);
	set_limit(lab, 3);
	set_limit(lab, 0); /* called off */
	consume(lab, 1);
	assert_int_equal(srq_lab_event(lab, &ev), -1);
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_LAST, 1, 4);
	srq_lab_run(lab, 20);
	check_wc(lab, 0, 0, 0, 1028);
	srq_lab_close(lab);
}

/* SQ-505: what is posted comes through every change of size in its order, a message that is half
 * received too. */
static void
srq_flow__resize_with_receives_posted(void **state)
{
	static const uint32_t sizes[] = { 64, 12, 100, 10, 16 };
	const struct srq_lab_param param = { .max_wr = 16 };
	struct srq_lab *lab = srq_lab_open(&param);
	struct pmv_srq_attr a = { .max_wr = 4 };
	uint32_t next = 0, posted = 0;

	/* the ring has turned: the 10 lie across its end */
	srq_lab_recv_many(lab, posted, 12, 2048);
	for (posted = 12; next < 12; next++)
		consume(lab, 1);
	srq_lab_recv_many(lab, posted, 11, 2048);
	posted += 11;
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_FIRST, 0, 1024); /* takes 12 */
	srq_lab_run(lab, 20);
	next++;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_MAX_WR), -EINVAL);
		assert_int_equal(pmv_query_srq(lab->srq, &a, NULL), 0);
		assert_int_equal(a.max_wr, 16);
		a.max_wr = 9; /* one below the fill, although 16 would be allocated */
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		a.max_wr = sizes[i];
		assert_int_equal(pmv_modify_srq(lab->srq, &a, PMV_SRQ_MAX_WR), 0);
		assert_in_range(a.max_wr, sizes[i], 2 * sizes[i]);
		consume(lab, 1);
		check_wc(lab, 1, lab->nb_wc[1] - 1, next++, 8);
		srq_lab_recv_many(lab, posted++, 1, 2048);
	}
	srq_lab_packet(lab, 0, PMV_OPCODE_RC_SEND_LAST, 1, 512);
	srq_lab_run(lab, 20);
	check_wc(lab, 0, 0, 12, 1536);
	for (; next < posted; next++) {
		consume(lab, 2);
		check_wc(lab, 2, lab->nb_wc[2] - 1, next, 8);
	}
	srq_lab_close(lab);
}

/* SQ-510: the receive is exactly long enough; the area in front of the payload is the IP header as
 * it was received, an IPv4 one behind 20 zeros. */
static void
srq_flow__datagrams(void **state)
{
	const struct srq_lab_param param = { .type = { PMV_QPT_RC, PMV_QPT_UD, PMV_QPT_UD } };
	static const uint32_t lens[] = { 0, 1, 4096 };
	struct srq_lab *lab = srq_lab_open(&param);

	for (uint32_t i = 0; i < 6; i++) {
		uint32_t len = lens[i / 2];
		bool is_v6 = (i & 1) != 0;
		const uint8_t *area = lab->mem[1];
		static const uint8_t zeros[20];

		memset(lab->mem[1], 0xa5, SRQ_LAB_PLACE);
		assert_int_equal(srq_lab_recv(lab, 0, 40 + len, 1), 1);
		srq_lab_send(lab, 1, len, i);
		srq_lab_run(lab, 20);
		check_wc(lab, 1, i, 0, 40 + len);
		assert_int_equal(lab->wc[1][i].wc_flags, PMV_WC_GRH);
		assert_int_equal(lab->wc[1][i].src_qp, pmv_qp_num(lab->from[1]));
		if (is_v6) {
			assert_memory_equal(area, lab->frame + PMV_ETH_LEN, 40);
			assert_int_equal(area[0] >> 4, 6);
		} else {
			assert_memory_equal(area, zeros, 20);
			assert_memory_equal(area + 20, lab->frame + PMV_ETH_LEN, 20);
			assert_int_equal(area[20], 0x45);
		}
		assert_memory_equal(area + 40, lab->mem[0] + i * SRQ_LAB_PLACE, len);
		assert_int_equal(area[40 + len], 0xa5);
	}
	srq_lab_close(lab);
}

/* None posted: a datagram is dropped without a word. Too short: it is dropped too, and the receive
 * stays where it is, for the next of any QP. */
static void
srq_flow__datagrams_dropped(void **state)
{
	const struct srq_lab_param param = { .type = { PMV_QPT_RC, PMV_QPT_UD, PMV_QPT_UD } };
	struct srq_lab *lab = srq_lab_open(&param);
	struct pmv_event ev;

	srq_lab_send(lab, 1, 10, 1);
	srq_lab_run(lab, 50);
	assert_int_equal(srq_lab_stat(lab, "rx_drop_ud_no_recv"), 1);
	srq_lab_recv_many(lab, 3, 1, 49);
	srq_lab_recv_many(lab, 4, 1, 50);
	set_limit(lab, 2);
	srq_lab_send(lab, 1, 10, 1);
	srq_lab_send(lab, 2, 10, 2);
	srq_lab_run(lab, 50);
	assert_int_equal(srq_lab_stat(lab, "rx_drop_ud_len"), 2);
	assert_int_equal(lab->nb_wc[1] + lab->nb_wc[2], 0);
	assert_int_equal(srq_lab_event(lab, &ev), -1); /* nothing was taken */
	srq_lab_send(lab, 0, 49, 5);
	srq_lab_run(lab, 50);
	check_wc(lab, 0, 0, 3, 49);
	srq_lab_send(lab, 2, 10, 6);
	srq_lab_run(lab, 50);
	check_wc(lab, 2, 0, 4, 50);
	assert_int_equal(pmv_qp_get_state(lab->to[1]), PMV_QPS_RTS);
	srq_lab_close(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srq_flow__all_sges),
		cmocka_unit_test(srq_flow__packets_interleaved),
		cmocka_unit_test(srq_flow__loss),
		cmocka_unit_test(srq_flow__not_ready_then_posted),
		cmocka_unit_test(srq_flow__write_with_imm),
		cmocka_unit_test(srq_flow__unreliable),
		cmocka_unit_test(srq_flow__limit),
		cmocka_unit_test(srq_flow__limit_at_once),
		cmocka_unit_test(srq_flow__resize_with_receives_posted),
		cmocka_unit_test(srq_flow__datagrams),
		cmocka_unit_test(srq_flow__datagrams_dropped),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
