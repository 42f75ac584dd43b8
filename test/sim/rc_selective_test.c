// SPDX-License-Identifier: BSD-3-Clause
/*
 * Selective repeat between peers who agreed on it: only what is missing goes out again, and nobody
 * who looks at memory or completions can tell that anything was lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/bth.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REMOTE  0x80000u
#define STRIDE  0x4000u
#define NB_MSGS 12u
#define MTU     1024u

static bool one_side_only;

static void
agree(int side, struct pmv_qp_attr *attr)
{
	if (side == 1 && one_side_only)
		return;
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

static const struct rc_lab_param selective = { .tune = agree };

static uint32_t
len_of(uint32_t i)
{
	static const uint32_t lens[] = { 5000, 1, 1024, 8192, 0, 3000 };

	return lens[i % 6];
}

static enum pmv_wr_opcode
op_of(uint32_t i)
{
	return (enum pmv_wr_opcode)(i % 4); /* WRITE, WRITE_WITH_IMM, SEND, SEND_WITH_IMM */
}

static uint32_t
frames_needed(void)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < NB_MSGS; i++)
		nb += len_of(i) == 0 ? 1 : (len_of(i) + MTU - 1) / MTU;
	return nb;
}

/* What the receiver saw of the order: a request's completion while older memory is not written
 * would be a lie. */
static void
check_prefix(struct rc_lab *lab)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < NB_MSGS && seen < lab->nb_wc[1]; i++) {
		assert_true(rc_lab_check(lab->mem[1] + REMOTE + i * STRIDE, len_of(i), i));
		seen += op_of(i) != PMV_WR_RDMA_WRITE;
	}
}

/* Twelve messages in one burst from side 0. Returns data frames sent. */
static uint64_t
converse(struct rc_lab *lab)
{
	struct pmv_qp_stats stats;
	uint32_t nb_recv = 0;
	uint64_t end;

	for (uint32_t i = 0; i < NB_MSGS; i++) {
		rc_lab_fill(lab->mem[0] + i * STRIDE, len_of(i), i);
		if (op_of(i) == PMV_WR_RDMA_WRITE)
			continue;
		assert_int_equal(rc_lab_recv(lab, 1, REMOTE + i * STRIDE, STRIDE, i), 1);
		nb_recv++;
	}
	for (uint32_t i = 0; i < NB_MSGS; i++)
		assert_int_equal(rc_lab_post(lab, 0, op_of(i), i * STRIDE, REMOTE + i * STRIDE,
					 len_of(i), PMV_SEND_SIGNALED, i),
			1);
	end = lab->pair.now + 4000000ull * lab->pair.link->ticks_per_us;
	while (lab->nb_wc[0] < NB_MSGS && lab->pair.now < end) {
		rc_lab_run(lab, lab->step_us);
		check_prefix(lab);
	}
	assert_int_equal(lab->nb_wc[0], NB_MSGS);
	assert_int_equal(lab->nb_wc[1], nb_recv);
	nb_recv = 0;
	for (uint32_t i = 0; i < NB_MSGS; i++) {
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[0][i].wr_id, i);
		assert_true(rc_lab_check(lab->mem[1] + REMOTE + i * STRIDE, len_of(i), i));
		if (op_of(i) == PMV_WR_RDMA_WRITE)
			continue;
		assert_int_equal(lab->wc[1][nb_recv].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[1][nb_recv].wr_id, i);
		assert_int_equal(lab->wc[1][nb_recv].byte_len, len_of(i));
		nb_recv++;
	}
	assert_int_equal(pmv_qp_get_stats(lab->qp[0], &stats), 0);
	return stats.retx_pkts;
}

/* Any one request frame, and any two neighbours: the repair is as long as the loss, plus at most
 * the probe that finds out about a lost end. */
static void
loss__only_what_is_missing_goes_again(void **state)
{
	uint32_t nb = frames_needed();

	for (uint32_t i = 0; i < nb; i++) {
		for (uint32_t k = 1; k <= 2; k++) {
			struct rc_lab lab;
			uint64_t again;

			rc_lab_open(&lab, &selective);
			lab.pair.link->end[0].out.drop_mask = ((1ull << k) - 1) << i;
			again = converse(&lab);
			assert_in_range(again, 0, k + 1);
			if (i + k + 3 < nb)
				assert_int_equal(again, k);
			rc_lab_close(&lab);
		}
	}
}

static void
loss__of_answers_costs_no_data(void **state)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct rc_lab lab;

		rc_lab_open(&lab, &selective);
		lab.pair.link->end[1].out.drop_mask = 1ull << i;
		assert_in_range(converse(&lab), 0, 1);
		rc_lab_close(&lab);
	}
}

/* Loss, copies and changes of order together. */
static void
loss__random(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct rc_lab_param p = selective;
		struct rc_lab lab;

		p.seed = seed;
		rc_lab_open(&lab, &p);
		for (int side = 0; side < 2; side++) {
			lab.pair.link->end[side].out.drop = seed % 3 == 0 ? 0.2 : 0.05;
			lab.pair.link->end[side].out.dup = 0.05;
			lab.pair.link->end[side].out.swap = 0.05;
			lab.pair.link->end[side].out.delay_us = seed % 20;
		}
		converse(&lab);
		for (int side = 0; side < 2; side++)
			lab.pair.link->end[side].out = (struct pmv_test_dir){ .delay_us = 1 };
		rc_lab_close(&lab);
	}
}

/* A READ between: the requester goes back, the peer keeps what it has; nothing is executed twice.
 */
static void
loss__with_reads_between(void **state)
{
	for (uint32_t i = 0; i < 24; i++) {
		struct rc_lab lab;

		rc_lab_open(&lab, &selective);
		for (uint32_t m = 0; m < 6; m++) {
			bool read = m % 2 == 1;

			rc_lab_fill(lab.mem[read] + (read ? REMOTE : 0) + m * STRIDE, 3000, m);
			assert_int_equal(
				rc_lab_post(&lab, 0, read ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE,
					m * STRIDE, REMOTE + m * STRIDE, 3000, PMV_SEND_SIGNALED,
					m),
				1);
		}
		lab.pair.link->end[i / 12].out.drop_mask = 1ull << i % 12;
		assert_true(rc_lab_wait(&lab, 0, 6, 4000000));
		for (uint32_t m = 0; m < 6; m++) {
			bool read = m % 2 == 1;

			assert_int_equal(lab.wc[0][m].status, PMV_WC_SUCCESS);
			assert_true(rc_lab_check(
				lab.mem[!read] + (read ? 0 : REMOTE) + m * STRIDE, 3000, m));
		}
		rc_lab_close(&lab);
	}
}

/* A missing receive: RNR at the gap's end, with frames waiting behind it. */
static void
rnr__with_frames_waiting(void **state)
{
	struct rc_lab lab;

	rc_lab_open(&lab, &selective);
	rc_lab_fill(lab.mem[0], 5000, 1);
	lab.pair.link->end[0].out.drop_mask = 2;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(
			rc_lab_post(&lab, 0, PMV_WR_SEND, 0, 0, 3000, PMV_SEND_SIGNALED, i), 1);
	assert_int_equal(rc_lab_recv(&lab, 1, REMOTE, STRIDE, 0), 1);
	rc_lab_run(&lab, 400);
	for (uint32_t i = 1; i < 3; i++)
		assert_int_equal(rc_lab_recv(&lab, 1, REMOTE + i * STRIDE, STRIDE, i), 1);
	assert_true(rc_lab_wait(&lab, 0, 3, 4000000));
	assert_int_equal(lab.nb_wc[1], 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(lab.wc[1][i].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab.mem[1] + REMOTE + i * STRIDE, 3000, 1));
	}
	rc_lab_close(&lab);
}

/* Reset and destruction with frames waiting: every mbuf comes home (rc_lab_close checks). */
static void
end__frames_waiting(void **state)
{
	for (int how = 0; how < 3; how++) {
		const struct pmv_qp_attr to = { .qp_state =
							how == 0 ? PMV_QPS_RESET : PMV_QPS_ERR };
		struct rc_lab lab;

		rc_lab_open(&lab, &selective);
		lab.pair.link->end[0].out.drop_mask = 1;
		assert_int_equal(rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8192, 0, 0), 1);
		rc_lab_run(&lab, lab.step_us);
		if (how < 2)
			assert_int_equal(pmv_modify_qp(lab.qp[1], &to, PMV_QP_STATE), 0);
		rc_lab_close(&lab);
	}
}

static void
agree__what_is_in_force(void **state)
{
	struct pmv_device_attr dev;
	struct pmv_qp_attr attr;
	struct rc_lab lab;

	rc_lab_open(&lab, &selective);
	assert_int_equal(pmv_query_device(lab.pair.node[0].dev, &dev), 0);
	assert_int_equal(dev.ece.vendor_id, PMV_ECE_VENDOR_ID);
	assert_int_equal(dev.ece.options, PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION);
	assert_int_equal(pmv_query_qp(lab.qp[0], &attr, NULL), 0);
	assert_int_equal(attr.ece.vendor_id, PMV_ECE_VENDOR_ID);
	assert_int_equal(attr.ece.options, PMV_ECE_SELECTIVE_REPEAT);
	/* the agreement ends with the connection */
	attr.qp_state = PMV_QPS_RESET;
	assert_int_equal(pmv_modify_qp(lab.qp[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(pmv_query_qp(lab.qp[0], &attr, NULL), 0);
	assert_int_equal(attr.ece.vendor_id, 0);
	assert_int_equal(attr.ece.options, 0);
	rc_lab_close(&lab);
}

static void
stranger(int side, struct pmv_qp_attr *attr)
{
	attr->ece = (struct pmv_ece){ side == 0 ? 0x15b3 : PMV_ECE_VENDOR_ID, side == 0 ? 1 : 4 };
}

static void
agree__foreign_vendor_and_unknown_options(void **state)
{
	const struct rc_lab_param p = { .tune = stranger };
	struct rc_lab lab;

	rc_lab_open(&lab, &p);
	for (int side = 0; side < 2; side++) {
		struct pmv_qp_attr attr;

		assert_int_equal(pmv_query_qp(lab.qp[side], &attr, NULL), 0);
		assert_int_equal(attr.ece.vendor_id, 0);
		assert_int_equal(attr.ece.options, 0);
	}
	rc_lab_close(&lab);
}

static enum pmv_test_fate
count_sacks(void *arg, struct rte_mbuf *m, uint64_t index)
{
	uint32_t *nb = arg;

	*nb += *rte_pktmbuf_mtod_offset(m, uint8_t *, 42) == PMV_OPCODE_SACK;
	return PMV_TEST_PASS;
}

/* A peer that agreed on nothing sees plain RoCEv2: it never gets the packet of our own, and one
 * that comes all the same is dropped. */
static void
agree__one_side_only(void **state)
{
	uint32_t nb_sacks = 0;
	struct rc_lab lab;

	one_side_only = true;
	rc_lab_open(&lab, &selective);
	one_side_only = false;
	lab.pair.link->end[1].out.hook = count_sacks;
	lab.pair.link->end[1].out.hook_arg = &nb_sacks;
	lab.pair.link->end[0].out.drop_mask = 1ull << 3;
	converse(&lab);
	assert_int_equal(nb_sacks, 0);
	rc_lab_close(&lab);
}

/* The packet itself, byte for byte. */
static enum pmv_test_fate
keep_sack(void *arg, struct rte_mbuf *m, uint64_t index)
{
	uint8_t *frame = arg;

	if (*rte_pktmbuf_mtod_offset(m, uint8_t *, 42) == PMV_OPCODE_SACK && frame[42] == 0)
		memcpy(frame, rte_pktmbuf_mtod(m, void *), 94);
	return PMV_TEST_PASS;
}

static void
sack__bytes(void **state)
{
	uint8_t frame[128] = { 0 };
	struct rc_lab lab;

	rc_lab_open(&lab, &selective);
	lab.pair.link->end[1].out.hook = keep_sack;
	lab.pair.link->end[1].out.hook_arg = frame;
	lab.pair.link->end[0].out.drop_mask = 1ull << 1 | 1ull << 4;
	assert_int_equal(
		rc_lab_post(&lab, 0, PMV_WR_RDMA_WRITE, 0, REMOTE, 8192, PMV_SEND_SIGNALED, 0), 1);
	assert_true(rc_lab_wait(&lab, 0, 1, 4000000));
	/* IPv4, UDP to 4791, 12 + 4 + 32 + 4 bytes behind the UDP header */
	assert_int_equal(frame[38] << 8 | frame[39], 8 + 52);
	assert_int_equal(frame[42], 0xc1);
	assert_int_equal(frame[43], 0x40); /* no event, MigReq, no pad */
	/* frames 0xfffff8.. were sent; the second is missing */
	assert_memory_equal(frame + 51, "\xff\xff\xf9", 3);
	assert_int_equal(frame[54], 0x60); /* NAK, PSN sequence error */
	/* behind it: 2 and 3 here, 4 missing, 5, 6, 7 here */
	assert_int_equal(frame[58], 0x3b);
	for (uint32_t i = 59; i < 90; i++)
		assert_int_equal(frame[i], 0);
	rc_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss__only_what_is_missing_goes_again),
		cmocka_unit_test(loss__of_answers_costs_no_data),
		cmocka_unit_test(loss__random),
		cmocka_unit_test(loss__with_reads_between),
		cmocka_unit_test(rnr__with_frames_waiting),
		cmocka_unit_test(end__frames_waiting),
		cmocka_unit_test(agree__what_is_in_force),
		cmocka_unit_test(agree__foreign_vendor_and_unknown_options),
		cmocka_unit_test(agree__one_side_only),
		cmocka_unit_test(sack__bytes),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
