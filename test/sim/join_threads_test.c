// SPDX-License-Identifier: BSD-3-Clause
/*
 * Real threads and the real clock: a worker that moves between threads with traffic in between,
 * queue pairs made, changed and destroyed from one thread while another polls, memory that is given
 * back while a peer writes to it, and two workers of a device on two threads that hand frames over.
 * The main thread runs node 0 and the link.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "lib/util/be.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define LIMIT_S 25.0

/* A thread that polls a worker of node 1. What went wrong there is told in `fault` and judged by
 * the main thread. */
struct poller {
	pthread_t thread;
	struct pmv_worker *w;
	struct pmv_cq *cq;
	struct pmv_qp *qp;
	uint8_t *mem;
	uint32_t lkey;
	uint32_t *turn; /* whose turn it is to own the worker; NULL: always its own */
	uint32_t self;
	uint32_t nb_turns;
	uint32_t *stop;
	uint32_t *nb_received; /* owner of the worker, but it moves: atomic */
	const char *fault;
};

static bool
is_set(const uint32_t *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

static void
set(uint32_t *flag, uint32_t v)
{
	__atomic_store_n(flag, v, __ATOMIC_RELEASE);
}

static double
seconds(void)
{
	return (double)rte_rdtsc() / (double)rte_get_tsc_hz();
}

static void
post_recv(struct poller *p, uint32_t slot)
{
	const struct pmv_sge sge = { (uintptr_t)(p->mem + slot * 64), 64, p->lkey };
	const struct pmv_recv_wr wr = { slot, &sge, 1 };

	if (pmv_post_recv(p->qp, &wr, 1) != 1)
		p->fault = "post_recv";
}

/* Messages carry numbers: in order, none missing, none twice. */
static void
take_messages(struct poller *p)
{
	struct pmv_wc wc[16];
	uint32_t nb = pmv_poll_cq(p->cq, wc, 16);

	for (uint32_t i = 0; i < nb; i++) {
		uint32_t want = __atomic_load_n(p->nb_received, __ATOMIC_RELAXED), got;

		memcpy(&got, p->mem + wc[i].wr_id * 64, 4);
		if (wc[i].status != PMV_WC_SUCCESS || got != want)
			p->fault = "message";
		__atomic_store_n(p->nb_received, want + 1, __ATOMIC_RELAXED);
		post_recv(p, (uint32_t)wc[i].wr_id);
	}
}

static void *
poll_in_turns(void *arg)
{
	struct poller *p = arg;

	while (!is_set(p->stop)) {
		if (p->turn != NULL && __atomic_load_n(p->turn, __ATOMIC_ACQUIRE) != p->self) {
			sched_yield();
			continue;
		}
		if (pmv_worker_attach(p->w) != 0)
			p->fault = "attach";
		for (int i = 0; i < 50 || (p->turn == NULL && !is_set(p->stop)); i++) {
			pmv_worker_poll(p->w);
			if (p->qp != NULL)
				take_messages(p);
			sched_yield();
		}
		if (pmv_worker_detach(p->w) != 0)
			p->fault = "detach";
		p->nb_turns++;
		if (p->turn != NULL)
			set(p->turn, !p->self);
	}
	return NULL;
}

/* One round of what the main thread does. */
static void
turn_node_0(struct pmv_test_pair *pair)
{
	for (uint16_t i = 0; i < pair->node[0].nb_workers; i++)
		pmv_worker_poll(pair->node[0].worker[i]);
	pmv_test_link_step(pair->link, rte_rdtsc());
	sched_yield();
}

/* The nodes' clock goes on from here when the main thread has node 1 again. */
static void
take_back(struct pmv_test_pair *pair)
{
	for (uint16_t i = 0; i < pair->node[1].nb_workers; i++)
		assert_int_equal(pmv_worker_attach(pair->node[1].worker[i]), 0);
	pair->now = rte_rdtsc();
}

static void
start(struct poller *p)
{
	assert_int_equal(pthread_create(&p->thread, NULL, poll_in_turns, p), 0);
}

static void
stop(struct poller *p)
{
	set(p->stop, 1);
	assert_int_equal(pthread_join(p->thread, NULL), 0);
	if (p->fault != NULL)
		fail_msg("%s", p->fault);
}

/* Posts numbered SENDs, at most 24 unfinished; returns when all have completed. */
static void
send_numbers(struct rc_lab *lab, uint32_t nb)
{
	double end = seconds() + LIMIT_S;
	uint32_t nb_posted = 0, nb_done = 0;
	struct pmv_wc wc[16];

	while (nb_done < nb && seconds() < end) {
		while (nb_posted < nb && nb_posted - nb_done < 24) {
			uint32_t slot = nb_posted % 64;

			memcpy(lab->mem[0] + slot * 64, &nb_posted, 4);
			assert_int_equal(rc_lab_post(lab, 0, PMV_WR_SEND, slot * 64, 0, 64,
						 PMV_SEND_SIGNALED, nb_posted),
				1);
			nb_posted++;
		}
		turn_node_0(&lab->pair);
		for (uint32_t n = pmv_poll_cq(lab->pair.node[0].cq[0], wc, 16), i = 0; i < n; i++) {
			assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, nb_done++);
		}
	}
	assert_int_equal(nb_done, nb);
}

/* A real core may lose its time slice for long: nothing may run out of retries for that. */
static void
patient(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 18;
}

/* The worker changes its thread some hundred times while messages arrive. */
static void
join_threads__worker_moves(void **state)
{
	const struct rc_lab_param param = { .tune = patient };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint32_t turn = 0, done = 0, nb_received = 0;
	struct poller p[2];

	rc_lab_open(lab, &param);
	for (uint32_t i = 0; i < 2; i++)
		p[i] = (struct poller){ .w = lab->pair.node[1].worker[0],
			.cq = lab->pair.node[1].cq[0],
			.qp = lab->qp[1],
			.mem = lab->mem[1],
			.lkey = pmv_mr_lkey(lab->mr[1]),
			.turn = &turn,
			.self = i,
			.stop = &done,
			.nb_received = &nb_received };
	for (uint32_t i = 0; i < 32; i++)
		post_recv(&p[0], i);
	assert_int_equal(pmv_worker_detach(p[0].w), 0);
	start(&p[0]);
	start(&p[1]);
	send_numbers(lab, 5000);
	stop(&p[0]);
	stop(&p[1]);
	take_back(&lab->pair);
	assert_int_equal(nb_received, 5000);
	assert_true(p[0].nb_turns > 5 && p[1].nb_turns > 5);
	rc_lab_close(lab);
	test_free(lab);
}

/* Waits for a submitted operation while traffic goes on. */
static int
finish(struct pmv_test_pair *pair, struct pmv_op *op)
{
	double end = seconds() + LIMIT_S;
	int rc;

	while ((rc = pmv_op_poll(op)) == -EINPROGRESS && seconds() < end)
		turn_node_0(pair);
	return rc;
}

static int
submit(struct pmv_test_pair *pair, struct pmv_qp *qp, const struct pmv_qp_attr *a, uint32_t mask)
{
	struct pmv_op op = { 0 };
	int rc = pmv_modify_qp_submit(qp, a, mask, &op);

	return rc != 0 ? rc : finish(pair, &op);
}

/* Both ends to RTS: side 0 is ours, side 1 is polled by another thread. */
static void
connect_across(struct rc_lab *lab, struct pmv_qp *a, struct pmv_qp *b)
{
	struct pmv_qp *const qp[2] = { a, b };

	for (int side = 0; side < 2; side++) {
		struct pmv_qp_attr attr = { .path_mtu = PMV_MTU_1024,
			.port_num = 1,
			.rq_psn = 100,
			.sq_psn = 100,
			.dest_qp_num = pmv_qp_num(qp[!side]),
			.qp_access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
			.max_rd_atomic = 4,
			.max_dest_rd_atomic = 4,
			.min_rnr_timer = 12,
			.timeout = 18,
			.retry_cnt = 7,
			.rnr_retry = 7 };

		assert_int_equal(
			pmv_query_gid(lab->pair.node[!side].dev, 0, &attr.ah_attr.dgid), 0);
		attr.qp_state = PMV_QPS_INIT;
		assert_int_equal(submit(&lab->pair, qp[side], &attr,
					 PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT |
						 PMV_QP_ACCESS_FLAGS),
			0);
		attr.qp_state = PMV_QPS_RTR;
		assert_int_equal(submit(&lab->pair, qp[side], &attr,
					 PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU |
						 PMV_QP_DEST_QPN | PMV_QP_RQ_PSN |
						 PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER),
			0);
		attr.qp_state = PMV_QPS_RTS;
		assert_int_equal(
			submit(&lab->pair, qp[side], &attr,
				PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT |
					PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC),
			0);
	}
}

static struct pmv_qp *
fresh_qp(struct rc_lab *lab, int side)
{
	return pmv_test_qp_create(&lab->pair.node[side], 0, PMV_QPT_RC);
}

/* A request from qp; its completion's status. What a QP before it left in the CQ is passed:
 * requests are flushed when their last frame is back, which may be after the QP was looked at. */
static enum pmv_wc_status
transfer(struct rc_lab *lab, struct pmv_qp *qp, enum pmv_wr_opcode op, uint32_t rkey, void *remote,
	uint32_t len)
{
	const struct pmv_sge sge = { (uintptr_t)lab->mem[0], len, pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = { .wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = PMV_SEND_SIGNALED };
	double end = seconds() + LIMIT_S;
	struct pmv_wc wc = { .status = PMV_WC_GENERAL_ERR };

	wr.wr.rdma.remote_addr = (uintptr_t)remote;
	wr.wr.rdma.rkey = rkey;
	assert_int_equal(pmv_post_send(qp, &wr, 1), 1);
	while ((pmv_poll_cq(lab->pair.node[0].cq[0], &wc, 1) == 0 || wc.qp_num != pmv_qp_num(qp)) &&
		seconds() < end)
		turn_node_0(&lab->pair);
	return wc.status;
}

/* QPs come and go on a worker that another thread polls; each carries data meanwhile. */
static void
join_threads__submit_while_polled(void **state)
{
	const struct rc_lab_param param = { .tune = patient };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	uint32_t done = 0;
	struct poller p;
	struct pmv_op op;

	rc_lab_open(lab, &param);
	p = (struct poller){ .w = lab->pair.node[1].worker[0], .stop = &done };
	assert_int_equal(pmv_worker_detach(p.w), 0);
	start(&p);
	for (uint32_t round = 0; round < 40; round++) {
		struct pmv_qp *a = fresh_qp(lab, 0), *b = fresh_qp(lab, 1);

		connect_across(lab, a, b);
		rc_lab_fill(lab->mem[0], 3000, round);
		assert_int_equal(transfer(lab, a, PMV_WR_RDMA_WRITE, pmv_mr_rkey(lab->mr[1]),
					 lab->mem[1] + 4096, 3000),
			PMV_WC_SUCCESS);
		memset(lab->mem[0], 0, 3000);
		assert_int_equal(transfer(lab, a, PMV_WR_RDMA_READ, pmv_mr_rkey(lab->mr[1]),
					 lab->mem[1] + 4096, 3000),
			PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab->mem[0], 3000, round));
		if (round == 0 && !is_set(&done)) { /* these belong to the owner */
			assert_int_equal(pmv_modify_qp(b, &err, PMV_QP_STATE), -EPERM);
			assert_int_equal(pmv_destroy_qp(b), -EPERM);
		}
		if (round & 1)
			assert_int_equal(submit(&lab->pair, b, &err, PMV_QP_STATE), 0);
		memset(&op, 0, sizeof(op));
		assert_int_equal(pmv_destroy_qp_submit(b, &op), 0);
		assert_int_equal(finish(&lab->pair, &op), 0);
		assert_int_equal(pmv_destroy_qp(a), 0);
	}
	stop(&p);
	take_back(&lab->pair);
	rc_lab_close(lab);
	test_free(lab);
}

/* Memory is deregistered, and unmapped as soon as it is released, while the peer's WRITEs and READs
 * are on their way to it: nobody touches it any more. */
static void
give_back(struct rc_lab *lab, uint32_t round)
{
	const uint32_t len = 1u << 20;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct pmv_qp *a = fresh_qp(lab, 0), *b = fresh_qp(lab, 1);
	const struct pmv_sge sge = { (uintptr_t)lab->mem[0], len, pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = round & 1 ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE };
	double end = seconds() + LIMIT_S;
	struct pmv_op op = { 0 };
	struct pmv_event ev = { 0 };
	struct pmv_mr *mr;
	struct pmv_wc wc[16];
	uint32_t nb_wc = 0;
	int rc;

	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_int_equal(
		pmv_reg_mr(lab->pair.node[1].pd, mem, len,
			PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
			&mr),
		0);
	pmv_mr_set_context(mr, mem);
	connect_across(lab, a, b);
	wr.wr.rdma.remote_addr = (uintptr_t)mem;
	wr.wr.rdma.rkey = pmv_mr_rkey(mr);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pmv_post_send(a, &wr, 1), 1);
	for (uint32_t i = 0; i < 20 + round * 7; i++)
		turn_node_0(&lab->pair);
	rc = pmv_dereg_mr(mr);
	assert_true(rc == 0 || rc == -EINPROGRESS);
	while (rc == -EINPROGRESS && seconds() < end) {
		turn_node_0(&lab->pair);
		if (pmv_poll_async_event(lab->pair.node[1].dev, &ev) == 1)
			rc = 0;
	}
	assert_int_equal(rc, 0);
	if (ev.context != NULL)
		assert_ptr_equal(ev.context, mem);
	assert_int_equal(munmap(mem, len), 0);
	/* unsignalled: either all were through, or the first that failed and the flushed ones
	 * tell */
	while (pmv_qp_get_state(a) != PMV_QPS_ERR && seconds() < end) {
		turn_node_0(&lab->pair);
		if (transfer(lab, a, PMV_WR_RDMA_READ, wr.wr.rdma.rkey, mem, 8) != PMV_WC_SUCCESS)
			break;
	}
	assert_int_equal(pmv_qp_get_state(a), PMV_QPS_ERR);
	while ((nb_wc = pmv_poll_cq(lab->pair.node[0].cq[0], wc, 16)) > 0)
		continue;
	assert_int_equal(pmv_poll_async_event(lab->pair.node[1].dev, &ev), 0);
	assert_int_equal(pmv_destroy_qp_submit(b, &op), 0);
	assert_int_equal(finish(&lab->pair, &op), 0);
	assert_int_equal(pmv_destroy_qp(a), 0);
}

static void
join_threads__memory_given_back_under_fire(void **state)
{
	const struct rc_lab_param param = { .tune = patient };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	uint32_t done = 0;
	struct poller p;

	rc_lab_open(lab, &param);
	p = (struct poller){ .w = lab->pair.node[1].worker[0], .stop = &done };
	assert_int_equal(pmv_worker_detach(p.w), 0);
	start(&p);
	for (uint32_t round = 0; round < 20; round++)
		give_back(lab, round);
	stop(&p);
	take_back(&lab->pair);
	rc_lab_close(lab);
	test_free(lab);
}

/* With two workers the top bit of a QPN is the worker. */
static uint16_t
steer_right(const struct rte_mbuf *m)
{
	return pmv_be32_load(rte_pktmbuf_mtod_offset(m, const uint8_t *, 46)) >> 23 & 1;
}

static uint16_t
steer_wrong(const struct rte_mbuf *m)
{
	return !steer_right(m);
}

/* Two workers on two threads; everything arrives at the wrong one. */
static void
join_threads__handover(void **state)
{
	const struct pmv_test_pair_param pp = { .nb_workers = 2 };
	struct pmv_test_pair pair;
	struct pmv_qp *qp[2][2];
	struct pmv_mr *mr[2];
	uint8_t *mem[2];
	uint32_t done = 0, nb_done[2] = { 0 }, nb_posted[2] = { 0 };
	double end;
	struct poller p[2];

	pmv_test_pair_open(&pair, &pp);
	for (int side = 0; side < 2; side++) {
		mem[side] = calloc(1, 1u << 20);
		assert_int_equal(pmv_reg_mr(pair.node[side].pd, mem[side], 1u << 20,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ,
					 &mr[side]),
			0);
		for (uint16_t w = 0; w < 2; w++)
			qp[side][w] = pmv_test_qp_create(&pair.node[side], w, PMV_QPT_RC);
	}
	for (int w = 0; w < 2; w++)
		pmv_test_qp_connect(&pair, qp[0][w], qp[1][w], false, PMV_MTU_1024, patient);
	pair.link->end[1].steer = steer_wrong;
	for (uint32_t w = 0; w < 2; w++) {
		p[w] = (struct poller){ .w = pair.node[1].worker[w], .stop = &done };
		assert_int_equal(pmv_worker_detach(p[w].w), 0);
		start(&p[w]);
	}
	rc_lab_fill(mem[0], 1u << 20, 3);
	end = seconds() + LIMIT_S;
	while (nb_done[0] + nb_done[1] < 1024 && seconds() < end) {
		for (int w = 0; w < 2; w++) {
			struct pmv_wc wc;

			if (nb_posted[w] < 512 && nb_posted[w] - nb_done[w] < 8) {
				uint32_t off = (512 * (uint32_t)w + nb_posted[w]) * 1024;
				const struct pmv_sge sge = { (uintptr_t)mem[0] + off, 1024,
					pmv_mr_lkey(mr[0]) };
				struct pmv_send_wr wr = { .wr_id = nb_posted[w],
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = PMV_WR_RDMA_WRITE,
					.send_flags = PMV_SEND_SIGNALED };

				wr.wr.rdma.remote_addr = (uintptr_t)mem[1] + off;
				wr.wr.rdma.rkey = pmv_mr_rkey(mr[1]);
				assert_int_equal(pmv_post_send(qp[0][w], &wr, 1), 1);
				nb_posted[w]++;
			}
			while (pmv_poll_cq(pair.node[0].cq[w], &wc, 1) == 1) {
				assert_int_equal(wc.status, PMV_WC_SUCCESS);
				assert_int_equal(wc.wr_id, nb_done[w]++);
			}
		}
		turn_node_0(&pair);
	}
	assert_int_equal(nb_done[0] + nb_done[1], 1024);
	stop(&p[0]);
	stop(&p[1]);
	take_back(&pair);
	assert_true(rc_lab_check(mem[1], 1u << 20, 3));
	for (int w = 0; w < 2; w++)
		assert_true(pmv_worker_stat(p[w].w, "handover_rx") >= 512);
	for (int k = 0; k < 4; k++)
		assert_int_equal(pmv_destroy_qp(qp[k >> 1][k & 1]), 0);
	for (int side = 0; side < 2; side++) {
		struct pmv_event ev;

		rc_lab_dereg(mr[side]);
		pmv_test_pair_run(&pair, 100, 10);
		while (pmv_poll_async_event(pair.node[side].dev, &ev) == 1)
			continue;
	}
	pmv_test_pair_close(&pair);
	free(mem[0]);
	free(mem[1]);
}

static void
atomics_too(int side, struct pmv_qp_attr *attr)
{
	patient(side, attr);
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC;
	attr->max_rd_atomic = 16;
	attr->max_dest_rd_atomic = 16;
}

#define ADDS 20000u /* a worker */

/* Everybody adds 1 to one word: two workers on two threads for their peers, and this thread. */
static void
add_from_everywhere(struct pmv_test_pair *pair, struct pmv_qp *qp[2], uint64_t *word, uint8_t *seen,
	const struct pmv_sge *sge, uint32_t rkey)
{
	uint32_t nb_done[2] = { 0 }, nb_posted[2] = { 0 }, nb_own = 0;
	double end = seconds() + LIMIT_S;

	while ((nb_done[0] < ADDS || nb_done[1] < ADDS) && seconds() < end) {
		for (int w = 0; w < 2; w++) {
			struct pmv_wc wc[16];
			uint32_t nb;

			while (nb_posted[w] < ADDS && nb_posted[w] - nb_done[w] < 32) {
				const uint32_t slot = 64 * (uint32_t)w + nb_posted[w] % 64;
				const struct pmv_sge to = { sge->addr + 8 * slot, 8, sge->lkey };
				struct pmv_send_wr wr = { .wr_id = nb_posted[w],
					.sg_list = &to,
					.num_sge = 1,
					.opcode = PMV_WR_ATOMIC_FETCH_AND_ADD,
					.send_flags = PMV_SEND_SIGNALED };

				wr.wr.atomic.remote_addr = (uintptr_t)word;
				wr.wr.atomic.rkey = rkey;
				wr.wr.atomic.compare_add = 1;
				assert_int_equal(pmv_post_send(qp[w], &wr, 1), 1);
				nb_posted[w]++;
			}
			nb = pmv_poll_cq(pair->node[0].cq[w], wc, 16);
			for (uint32_t i = 0; i < nb; i++) {
				uint64_t v;

				assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
				assert_int_equal(wc[i].wr_id, nb_done[w]++);
				memcpy(&v,
					(const uint8_t *)(uintptr_t)sge->addr +
						8 * (64 * (uint32_t)w + wc[i].wr_id % 64),
					8);
				assert_true(v < 3 * ADDS);
				assert_int_equal(seen[v]++, 0);
			}
		}
		for (int i = 0; i < 8 && nb_own < ADDS; i++, nb_own++)
			assert_int_equal(seen[__atomic_fetch_add(word, 1, __ATOMIC_RELAXED)]++, 0);
		turn_node_0(pair);
	}
	assert_int_equal(nb_done[0] + nb_done[1], 2 * ADDS);
	for (; nb_own < ADDS; nb_own++)
		assert_int_equal(seen[__atomic_fetch_add(word, 1, __ATOMIC_RELAXED)]++, 0);
}

/* PMV_ATOMIC_GLOB: queue pairs of two workers on two threads, and the program itself, hit one
 * word; no addition is lost, and no two find the same value. */
static void
join_threads__one_word_two_workers(void **state)
{
	const struct pmv_test_pair_param pp = { .nb_workers = 2 };
	uint8_t *seen = calloc(3, ADDS);
	uint64_t *word = aligned_alloc(64, 64);
	uint8_t *found = calloc(128, 8);
	struct pmv_test_pair pair;
	struct pmv_qp *qp[2][2];
	struct pmv_mr *mr[2];
	struct pmv_sge sge;
	uint32_t done = 0;
	struct poller p[2];

	pmv_test_pair_open(&pair, &pp);
	memset(word, 0, 64);
	assert_int_equal(
		pmv_reg_mr(pair.node[0].pd, found, 128 * 8, PMV_ACCESS_LOCAL_WRITE, &mr[0]), 0);
	assert_int_equal(pmv_reg_mr(pair.node[1].pd, word, 64,
				 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_ATOMIC, &mr[1]),
		0);
	for (uint16_t w = 0; w < 2; w++) {
		for (int side = 0; side < 2; side++)
			qp[side][w] = pmv_test_qp_create(&pair.node[side], w, PMV_QPT_RC);
		pmv_test_qp_connect(&pair, qp[0][w], qp[1][w], false, PMV_MTU_1024, atomics_too);
	}
	pair.link->end[1].steer = steer_right;
	pair.link->end[0].out.dup = 0.05; /* executed once all the same */
	pair.link->end[1].out.drop = 0.001;
	for (uint32_t w = 0; w < 2; w++) {
		p[w] = (struct poller){ .w = pair.node[1].worker[w], .stop = &done };
		assert_int_equal(pmv_worker_detach(p[w].w), 0);
		start(&p[w]);
	}
	sge = (struct pmv_sge){ (uintptr_t)found, 8, pmv_mr_lkey(mr[0]) };
	add_from_everywhere(&pair, qp[0], word, seen, &sge, pmv_mr_rkey(mr[1]));
	stop(&p[0]);
	stop(&p[1]);
	take_back(&pair);
	assert_true(*word == 3 * ADDS);
	for (uint32_t i = 0; i < 3 * ADDS; i++)
		assert_int_equal(seen[i], 1);
	for (int k = 0; k < 4; k++)
		assert_int_equal(pmv_destroy_qp(qp[k >> 1][k & 1]), 0);
	for (int side = 0; side < 2; side++) {
		struct pmv_event ev;

		rc_lab_dereg(mr[side]);
		pmv_test_pair_run(&pair, 100, 10);
		while (pmv_poll_async_event(pair.node[side].dev, &ev) == 1)
			continue;
	}
	pmv_test_pair_close(&pair);
	free(seen);
	free(word);
	free(found);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_threads__worker_moves),
		cmocka_unit_test(join_threads__submit_while_polled),
		cmocka_unit_test(join_threads__memory_given_back_under_fire),
		cmocka_unit_test(join_threads__handover),
		cmocka_unit_test(join_threads__one_word_two_workers),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
