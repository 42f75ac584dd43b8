// SPDX-License-Identifier: BSD-3-Clause
/*
 * User memory in frames: it is the library's until the frame is back, whatever happens to the
 * request, the QP, the region or the worker meanwhile; and not a moment longer.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "drivers/roce/attach.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define BIG 16384u /* four packets, all attached */

/* An ACK timeout of 1 ms. */
static void
hasty(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 8;
}

static struct rc_lab *
open_lab(uint32_t window_pkts)
{
	const struct rc_lab_param param = {
		.mtu = PMV_MTU_4096, .tune = hasty, .window_pkts = window_pkts
	};
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, &param);
	rc_lab_run(lab, 20);
	return lab;
}

static void
close_lab(struct rc_lab *lab)
{
	rc_lab_close(lab);
	test_free(lab);
}

static uint64_t
stat_of(struct rc_lab *lab, int side, const char *name)
{
	return pmv_worker_stat(lab->pair.node[side].worker[0], name);
}

static struct pmv_test_dir *
out(struct rc_lab *lab, int side)
{
	return &lab->pair.link->end[side].out;
}

/* Frames now wait `us` in the link; later ones pass them. */
static void
hold_what_follows(struct rc_lab *lab, uint32_t us)
{
	out(lab, 0)->delay_us = us;
}

static int
write_big(struct rc_lab *lab, uint64_t wr_id)
{
	return rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0x80000, BIG, PMV_SEND_SIGNALED, wr_id);
}

static uint32_t
events(struct rc_lab *lab, void *context)
{
	struct pmv_event ev;
	uint32_t nb = 0;

	while (pmv_poll_async_event(lab->pair.node[0].dev, &ev) == 1) {
		assert_int_equal(ev.type, PMV_EVENT_MR_RELEASED);
		assert_ptr_equal(ev.context, context);
		assert_null(ev.object);
		nb++;
	}
	return nb;
}

/* The first copies are held; the second ones arrive and are acknowledged: the request completes
 * only when the first ones are back, and later requests wait for it. */
static void
vis_memory__copies_in_a_ring_hold_the_completion(void **state)
{
	struct rc_lab *lab = open_lab(0);

	rc_lab_fill(lab->mem[0], BIG, 1);
	hold_what_follows(lab, 5000);
	assert_int_equal(write_big(lab, 1), 1);
	rc_lab_run(lab, 10);
	assert_true(stat_of(lab, 0, "attached") >= 4);
	hold_what_follows(lab, 0);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0x1000, 8, PMV_SEND_SIGNALED, 2);
	rc_lab_run(lab, 3000);
	assert_true(stat_of(lab, 0, "retx_pkts") > 0);
	assert_true(rc_lab_check(lab->mem[1] + 0x80000, BIG, 1)); /* there, and acknowledged */
	assert_int_equal(lab->nb_wc[0], 0);
	rc_lab_run(lab, 3000);
	assert_int_equal(lab->nb_wc[0], 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i + 1);
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
	}
	close_lab(lab);
}

/* Deregistered with frames out: -EINPROGRESS, exactly one event once they are back, none before;
 * then the memory may go. The request itself completes. */
static void
vis_memory__released_when_the_frames_are_back(void **state)
{
	struct rc_lab *lab = open_lab(0);
	uint8_t *mem = malloc(BIG);
	struct pmv_sge sge = { (uintptr_t)mem, BIG, 0 };
	struct pmv_send_wr wr = { .wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };
	struct pmv_mr *mr;

	rc_lab_fill(mem, BIG, 2);
	assert_int_equal(pmv_reg_mr(lab->pair.node[0].pd, mem, BIG, 0, &mr), 0);
	pmv_mr_set_context(mr, lab);
	sge.lkey = pmv_mr_lkey(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1] + 0x80000;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
	hold_what_follows(lab, 300);
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	rc_lab_run(lab, 20);
	assert_int_equal(pmv_dereg_mr(mr), -EINPROGRESS);
	for (int i = 0; i < 20; i++) {
		rc_lab_run(lab, 10);
		assert_int_equal(events(lab, lab), 0);
		assert_int_equal(lab->nb_wc[0], 0);
	}
	rc_lab_run(lab, 200);
	assert_int_equal(events(lab, lab), 1);
	free(mem);
	rc_lab_run(lab, 1000);
	assert_int_equal(events(lab, lab), 0);
	assert_int_equal(lab->nb_wc[0], 1);
	assert_int_equal(lab->wc[0][0].status, PMV_WC_SUCCESS);
	assert_true(rc_lab_check(lab->mem[1] + 0x80000, BIG, 2));
	close_lab(lab);
}

/* The key dies with frames out that are lost: sent again it cannot be, so the request fails. */
static void
vis_memory__dead_key_is_not_sent_again(void **state)
{
	struct rc_lab *lab = open_lab(0);
	struct pmv_mr *mr;
	struct pmv_sge sge = { (uintptr_t)lab->mem[0], BIG, 0 };
	struct pmv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE
	};

	assert_int_equal(pmv_reg_mr(lab->pair.node[0].pd, lab->mem[0], BIG, 0, &mr), 0);
	sge.lkey = pmv_mr_lkey(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1] + 0x80000;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
	out(lab, 0)->drop = 1.0;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	rc_lab_run(lab, 20);
	out(lab, 0)->drop = 0;
	rc_lab_dereg(mr);
	assert_true(rc_lab_wait(lab, 0, 1, 20000));
	assert_int_equal(lab->wc[0][0].wr_id, 1);
	assert_int_equal(lab->wc[0][0].status, PMV_WC_LOC_PROT_ERR);
	close_lab(lab);
}

/* Into ERR with frames out: receives are flushed at once, the send when its memory is free. */
static void
vis_memory__flush_waits_for_the_frames(void **state)
{
	struct rc_lab *lab = open_lab(0);
	const struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };

	hold_what_follows(lab, 500);
	assert_int_equal(write_big(lab, 1), 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, 0, 2);
	rc_lab_recv(lab, 0, 0, 8, 100);
	rc_lab_run(lab, 20);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &err, PMV_QP_STATE), 0);
	rc_lab_run(lab, 100);
	assert_int_equal(lab->nb_wc[0], 1);
	assert_int_equal(lab->wc[0][0].wr_id, 100);
	rc_lab_run(lab, 600);
	assert_int_equal(lab->nb_wc[0], 3);
	assert_int_equal(lab->wc[0][1].wr_id, 1);
	assert_int_equal(lab->wc[0][2].wr_id, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(lab->wc[0][i].status, PMV_WC_WR_FLUSH_ERR);
	close_lab(lab);
}

/* Through RESET and back with frames out: they return into a queue whose entries are in use again
 * and must not be mistaken for theirs. */
static void
vis_memory__reset_forgets_the_frames(void **state)
{
	struct rc_lab *lab = open_lab(0);
	const struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };

	hold_what_follows(lab, 400);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(write_big(lab, i), 1);
	rc_lab_run(lab, 20);
	for (int side = 0; side < 2; side++)
		assert_int_equal(pmv_modify_qp(lab->qp[side], &reset, PMV_QP_STATE), 0);
	pmv_test_qp_connect(&lab->pair, lab->qp[0], lab->qp[1], true, PMV_MTU_4096, hasty);
	hold_what_follows(lab, 2000);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(write_big(lab, 100 + i), 1);
	rc_lab_run(lab, 1000); /* the old ones are back, the new ones are not */
	assert_int_equal(lab->nb_wc[0], 0);
	hold_what_follows(lab, 0);
	rc_lab_run(lab, 5000);
	assert_int_equal(lab->nb_wc[0], 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(lab->wc[0][i].wr_id, 100 + i);
	close_lab(lab);
}

/* The QP is destroyed with frames out: the region still knows of them. */
static void
vis_memory__destroyed_qp_leaves_its_frames(void **state)
{
	struct rc_lab *lab = open_lab(0);
	struct pmv_mr *mr = lab->mr[0];

	hold_what_follows(lab, 400);
	assert_int_equal(write_big(lab, 1), 1);
	rc_lab_run(lab, 20);
	assert_int_equal(pmv_destroy_qp(lab->qp[0]), 0);
	pmv_mr_set_context(mr, mr);
	assert_int_equal(pmv_dereg_mr(mr), -EINPROGRESS);
	rc_lab_run(lab, 200);
	assert_int_equal(events(lab, mr), 0);
	rc_lab_run(lab, 400);
	assert_int_equal(events(lab, mr), 1);
	assert_int_equal(lab->nb_wc[0], 0);
	/* what close expects */
	assert_int_equal(pmv_reg_mr(lab->pair.node[0].pd, lab->mem[0], BIG, 0, &lab->mr[0]), 0);
	lab->qp[0] = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_RC);
	close_lab(lab);
}

/* More frames out than there are slots: the rest is copied, and everything arrives. */
static void
vis_memory__copies_when_slots_run_out(void **state)
{
	struct rc_lab *lab = open_lab(2048);
	const uint32_t len = 1u << 19;

	rc_lab_fill(lab->mem[0], len, 4);
	hold_what_follows(lab, 600);
	lab->step_us = 2;
	for (uint64_t i = 0; i < 12; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0x80000, len, PMV_SEND_SIGNALED, i);
	rc_lab_run(lab, 300);
	assert_true(stat_of(lab, 0, "attach_busy") > 0);
	assert_true(stat_of(lab, 0, "attached") >= PMV_ROCE_ATTACH_SLOTS);
	hold_what_follows(lab, 0);
	assert_true(rc_lab_wait(lab, 0, 12, 100000));
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i);
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
	}
	assert_true(rc_lab_check(lab->mem[1] + 0x80000, len, 4));
	assert_int_equal(stat_of(lab, 1, "rx_drop_icrc"), 0);
	close_lab(lab);
}

/* Each buffer is overwritten the moment its request completes, under loss, duplication and delay:
 * no frame with a broken ICRC leaves, so no frame still pointed there. */
static void
vis_memory__mine_again_at_completion(void **state)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct rc_lab *lab = open_lab(0);
		uint32_t nb_posted = 0, nb_done = 0;

		out(lab, 0)->drop = 0.05;
		out(lab, 0)->swap = 0.1;
		out(lab, 1)->drop = 0.05;
		out(lab, 1)->delay_us = (uint32_t)seed * 3;
		while (nb_done < 200) {
			while (nb_posted < 200 && nb_posted - nb_done < 16) {
				uint32_t off = nb_posted % 16 * BIG;

				rc_lab_fill(lab->mem[0] + off, BIG, nb_posted);
				rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, off, off, BIG,
					PMV_SEND_SIGNALED, nb_posted++);
			}
			/* now and then a frame takes long, longer than a retransmission */
			out(lab, 0)->delay_us = nb_done % 7 == 0 ? 300 : 0;
			rc_lab_run(lab, 5);
			for (uint32_t i = 0; i < lab->nb_wc[0]; i++) {
				uint32_t off = nb_done % 16 * BIG;

				assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
				assert_int_equal(lab->wc[0][i].wr_id, nb_done);
				assert_true(rc_lab_check(lab->mem[1] + off, BIG, nb_done));
				memset(lab->mem[0] + off, 0xdd, BIG);
				nb_done++;
			}
			lab->nb_wc[0] = 0;
		}
		out(lab, 0)->delay_us = 0;
		rc_lab_run(lab, 1000);
		assert_int_equal(stat_of(lab, 1, "rx_drop_icrc"), 0);
		assert_true(stat_of(lab, 0, "retx_pkts") > 0);
		close_lab(lab);
	}
}

/* Regions come and go under load: each is released exactly once, and never under a frame. */
static void
vis_memory__regions_come_and_go(void **state)
{
	struct rc_lab *lab = open_lab(0);
	uint32_t nb_later = 0, nb_events = 0, nb_completed = 0;

	for (uint32_t i = 0; i < 200; i++) {
		uint8_t *mem = malloc(BIG);
		struct pmv_sge sge = { (uintptr_t)mem, BIG, 0 };
		struct pmv_send_wr wr = { .wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = PMV_WR_RDMA_WRITE,
			.send_flags = PMV_SEND_SIGNALED };
		struct pmv_event ev;
		struct pmv_mr *mr;
		int rc;

		rc_lab_fill(mem, BIG, i);
		assert_int_equal(pmv_reg_mr(lab->pair.node[0].pd, mem, BIG, 0, &mr), 0);
		pmv_mr_set_context(mr, mem);
		sge.lkey = pmv_mr_lkey(mr);
		wr.wr.rdma.remote_addr = (uintptr_t)lab->mem[1] + 0x80000;
		wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
		while (pmv_post_send(lab->qp[0], &wr, 1) != 1)
			rc_lab_run(lab, 5);
		hold_what_follows(lab, i % 5 * 4);
		rc_lab_run(lab, 5);
		if (i % 4 != 0) /* else it dies with frames out */
			assert_true(rc_lab_wait(lab, 0, nb_completed + 1, 10000));
		rc = pmv_dereg_mr(mr);
		if (rc == 0)
			free(mem);
		else
			nb_later++;
		while (pmv_poll_async_event(lab->pair.node[0].dev, &ev) == 1) {
			free(ev.context);
			nb_events++;
		}
		rc_lab_wait(lab, 0, nb_completed + 1, 10000);
		assert_int_equal(lab->nb_wc[0], nb_completed + 1);
		assert_int_equal(lab->wc[0][nb_completed].status, PMV_WC_SUCCESS);
		nb_completed++;
	}
	rc_lab_run(lab, 100);
	for (struct pmv_event ev; pmv_poll_async_event(lab->pair.node[0].dev, &ev) == 1;) {
		free(ev.context);
		nb_events++;
	}
	assert_int_equal(nb_events, nb_later);
	assert_true(nb_later >= 40);
	close_lab(lab);
}

/* The worker is destroyed while frames with user memory are still out: when they come home later
 * nothing of it may be written to any more, and the region is released then and not before. */
static void
vis_memory__worker_ends_before_its_frames(void **state)
{
	struct rc_lab *lab = open_lab(0);
	struct pmv_test_node *n = &lab->pair.node[0];
	struct pmv_test_link *link = lab->pair.link;
	const size_t size = PMV_ROCE_ATTACH_SLOTS * 192;
	struct pmv_worker_param wp = { .socket_id = -1, .qp_max = 256, .pool = link->pool };
	uint8_t *reused[16];

	hold_what_follows(lab, 1000);
	assert_int_equal(write_big(lab, 1), 1);
	rc_lab_run(lab, 20);
	assert_int_equal(pmv_destroy_qp(lab->qp[0]), 0);
	assert_int_equal(pmv_dereg_mr(lab->mr[0]), -EINPROGRESS);
	assert_int_equal(pmv_destroy_cq(n->cq[0]), 0);
	assert_int_equal(pmv_worker_detach(n->worker[0]), 0);
	assert_int_equal(pmv_worker_destroy(n->worker[0]), 0);
	for (size_t i = 0; i < RTE_DIM(reused); i++) /* whoever has that memory now */
		reused[i] = rte_zmalloc("reused", size, 64);
	assert_int_equal(events(lab, NULL), 0);
	assert_int_equal(pmv_worker_create(n->dev, &wp, &n->worker[0]), 0);
	assert_int_equal(pmv_worker_attach(n->worker[0]), 0);
	assert_int_equal(pmv_create_cq(n->worker[0], 64, NULL, &n->cq[0]), 0);
	assert_int_equal(events(lab, NULL), 0);
	rc_lab_run(lab, 1100); /* the frames go home */
	for (size_t i = 0; i < RTE_DIM(reused); i++) {
		for (size_t k = 0; reused[i] != NULL && k < size; k++)
			assert_int_equal(reused[i][k], 0);
		rte_free(reused[i]);
	}
	assert_int_equal(events(lab, NULL), 1);
	assert_int_equal(pmv_reg_mr(n->pd, lab->mem[0], BIG, 0, &lab->mr[0]), 0);
	lab->qp[0] = pmv_test_qp_create(n, 0, PMV_QPT_RC);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vis_memory__copies_in_a_ring_hold_the_completion),
		cmocka_unit_test(vis_memory__released_when_the_frames_are_back),
		cmocka_unit_test(vis_memory__dead_key_is_not_sent_again),
		cmocka_unit_test(vis_memory__flush_waits_for_the_frames),
		cmocka_unit_test(vis_memory__reset_forgets_the_frames),
		cmocka_unit_test(vis_memory__destroyed_qp_leaves_its_frames),
		cmocka_unit_test(vis_memory__copies_when_slots_run_out),
		cmocka_unit_test(vis_memory__mine_again_at_completion),
		cmocka_unit_test(vis_memory__regions_come_and_go),
		cmocka_unit_test(vis_memory__worker_ends_before_its_frames),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
