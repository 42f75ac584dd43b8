// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/attach: user memory in frames, and everything that waits until the frames are back.
 */
#define _GNU_SOURCE /* affinity */
#include "drivers/roce/attach.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <rte_ethdev.h>

#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

/* A frame with `len` bytes of node 0's memory attached; counters as given. */
static struct rte_mbuf *
attached(struct rig *r, uint32_t off, uint32_t *frames_out, struct pmv_qp *qp)
{
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)r->mr[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool);

	assert_non_null(m);
	if (pmv_roce_attach_bytes(rig_worker(r, 0), m, r->mem[0] + off, 1024,
		    &(const struct pmv_roce_attach_for){
			    mr, frames_out, qp != NULL ? pmv_roce_qp(qp) : NULL }) == 0)
		return m;
	rte_pktmbuf_free(m);
	return NULL;
}

static void
attach__counts(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct rte_mbuf *m[40];
	uint32_t out = 0;

	assert_true(w->attach.allowed);
	for (uint32_t i = 0; i < 40; i++) {
		m[i] = attached(r, i * 8, &out, NULL);
		assert_non_null(m[i]);
		assert_int_equal(m[i]->pkt_len, 1024);
		assert_int_equal(m[i]->nb_segs, 2);
		assert_ptr_equal(rte_pktmbuf_mtod(m[i]->next, uint8_t *), r->mem[0] + i * 8);
	}
	assert_int_equal(out, 40);
	assert_true(pmv_roce_mr_frames_out(r->mr[0]));
	assert_false(pmv_roce_worker_idle(&w->base));
	pmv_roce_attach_collect(w);
	assert_int_equal(out, 40); /* none is back */
	for (uint32_t i = 0; i < 40; i++) {
		rte_pktmbuf_free(m[(i * 7) % 40]); /* in any order */
		for (int turn = 0; turn < 3; turn++)
			pmv_roce_attach_collect(w);
		assert_int_equal(out, 39 - i);
	}
	assert_false(pmv_roce_mr_frames_out(r->mr[0]));
	assert_true(pmv_roce_worker_idle(&w->base));
	assert_int_equal(w->attach.nb_free, PMV_ROCE_ATTACH_SLOTS);
	rig_close(r);
}

/* All slots out: copy. The oldest stays away: the others come home all the same, and are lent
 * again, until the list of what is out has no more room behind it. */
static void
attach__late_frame(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	static struct rte_mbuf *m[PMV_ROCE_ATTACH_SLOTS];
	struct rte_mbuf *late;
	uint32_t out = 0, nb = 0;

	late = attached(r, 0, &out, NULL);
	for (nb = 0; nb < PMV_ROCE_ATTACH_SLOTS - 1; nb++)
		assert_non_null(m[nb] = attached(r, 8, &out, NULL));
	assert_null(attached(r, 8, &out, NULL));
	assert_int_equal(w->stats.attach_busy, 1);
	assert_int_equal(out, PMV_ROCE_ATTACH_SLOTS);
	for (uint32_t i = 0; i < nb; i++)
		rte_pktmbuf_free(m[i]);
	for (uint32_t turn = 0; turn < PMV_ROCE_ATTACH_SLOTS / 64 + 2; turn++)
		pmv_roce_attach_collect(w);
	assert_int_equal(out, 1);
	assert_int_equal(w->attach.nb_free, PMV_ROCE_ATTACH_SLOTS - 1);
	assert_null(attached(r, 8, &out, NULL)); /* no room behind the late one */
	rte_pktmbuf_free(late);
	for (uint32_t turn = 0; turn < 5; turn++)
		pmv_roce_attach_collect(w);
	assert_int_equal(out, 0);
	for (uint32_t round = 0; round < 5000; round++) { /* around the list a few times */
		m[0] = attached(r, 8, &out, NULL);
		assert_non_null(m[0]);
		rte_pktmbuf_free(m[0]);
		pmv_roce_attach_collect(w);
	}
	assert_int_equal(out, 0);
	rig_close(r);
}

static void
attach__forget(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	uint32_t out[2] = { 0 };
	struct rte_mbuf *m[2];

	m[0] = attached(r, 0, &out[0], r->rc[0]);
	m[1] = attached(r, 0, &out[1], r->ud[0]);
	pmv_roce_attach_forget(w, pmv_roce_qp(r->rc[0]));
	rte_pktmbuf_free(m[0]);
	rte_pktmbuf_free(m[1]);
	pmv_roce_attach_collect(w);
	assert_int_equal(out[0], 1); /* not touched any more */
	assert_int_equal(out[1], 0);
	assert_false(pmv_roce_mr_frames_out(r->mr[0]));
	rig_close(r);
}

/* References to frames that passed, as a port that has not let go of them. */
static struct rte_mbuf *kept[64];
static uint32_t nb_kept;

static enum pmv_test_fate
keep(void *arg, struct rte_mbuf *m, uint64_t index)
{
	if (m->nb_segs > 1 && nb_kept < 64) {
		rte_pktmbuf_refcnt_update(m, 1);
		kept[nb_kept++] = m;
	}
	return PMV_TEST_PASS;
}

static struct pmv_send_wr
write_wr(struct rig *r, const struct pmv_sge *sge, uint64_t wr_id)
{
	struct pmv_send_wr wr = { .wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)r->mem[1] + 3;
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	return wr;
}

/* Acknowledged, but a port still holds a frame: no completion, and the region is not released. */
static void
attach__completion_waits_for_frames(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_qp *qp = pmv_roce_qp(r->rc[0]);
	const struct pmv_sge sge = { (uintptr_t)r->mem[0] + 1, 4000, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = write_wr(r, &sge, 1);
	struct pmv_event ev;
	struct pmv_wc wc[4];

	for (uint32_t i = 0; i < RIG_MEM; i++)
		r->mem[0][i] = (uint8_t)(i * 5 + i / 256);
	nb_kept = 0;
	r->pair.link->end[0].out.hook = keep;
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	r->pair.link->end[0].out.hook = keep;
	rig_run(r, 200);
	assert_int_equal(nb_kept, 3); /* 3 x 1024; 928 bytes were copied */
	assert_memory_equal(r->mem[1] + 3, r->mem[0] + 1, 4000);
	assert_true(pmv_roce_window_idle(&qp->win)); /* acknowledged */
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], wc, 4), 0);
	r->pair.link->end[0].out.hook = NULL;
	wr.wr_id = 2;
	wr.send_flags |= PMV_SEND_INLINE; /* a later one does not pass it */
	wr.num_sge = 0;
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	rig_run(r, 200);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], wc, 4), 0);
	assert_int_equal(pmv_dereg_mr(r->mr[0]), -EINPROGRESS);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pmv_poll_async_event(r->pair.node[0].dev, &ev), 0);
		rte_pktmbuf_free(kept[2 - i]);
		rig_run(r, 20);
		assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], wc, 4), i == 2 ? 2 : 0);
	}
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(pmv_poll_async_event(r->pair.node[0].dev, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_MR_RELEASED);
	assert_int_equal(pmv_poll_async_event(r->pair.node[0].dev, &ev), 0);
	assert_int_equal(pmv_reg_mr(r->pair.node[0].pd, r->mem[0], 64, 0, &r->mr[0]), 0);
	rig_close(r);
}

/* A frame is lost after it was attached: the same memory is attached again. */
static void
attach__retransmission(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	const struct pmv_sge sge = { (uintptr_t)r->mem[0], 16384, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = write_wr(r, &sge, 1);
	struct pmv_wc wc;

	for (uint32_t i = 0; i < RIG_MEM; i++)
		r->mem[0][i] = (uint8_t)(i * 7 + i / 256);
	r->pair.link->end[0].out.drop_mask = 0x8421;
	r->pair.link->end[0].out.dup_mask = 0x4;
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	rig_run(r, 5000);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_memory_equal(r->mem[1] + 3, r->mem[0], 16384);
	assert_in_range(w->stats.attached, 17, 200);
	assert_int_equal(w->stats.copied_bytes, 0);
	assert_true(pmv_roce_worker_idle(&w->base));
	rig_close(r);
}

/* Not worth it, or not allowed: copied. */
static void
attach__copies(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct pmv_sge sge = { (uintptr_t)r->mem[0], 1023, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = write_wr(r, &sge, 1);
	struct pmv_wc wc;

	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	assert_int_equal(w->stats.copied_bytes, 1023);
	w->attach.allowed = false;
	sge.length = 2048;
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	assert_int_equal(w->stats.copied_bytes, 1023 + 2048);
	assert_int_equal(w->stats.attached, 0);
	rig_run(r, 100);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], &wc, 1), 1);
	rig_close(r);
}

/* A NIC: frames stay with it, a reference each, until it is asked for them. Only it can be asked;
 * virtual ports free at once. */
static struct {
	struct rte_mbuf *m[64];
	uint32_t nb;
	uint32_t nb_asked;
	int answer;     /* negative: to every question */
	int queue_info; /* whether the queue is set up */
} nic;

int __wrap_rte_eth_tx_done_cleanup(uint16_t port_id, uint16_t queue_id, uint32_t free_cnt);
int __wrap_rte_eth_tx_queue_info_get(
	uint16_t port_id, uint16_t queue_id, struct rte_eth_txq_info *info);

int
__wrap_rte_eth_tx_done_cleanup(uint16_t port_id, uint16_t queue_id, uint32_t free_cnt)
{
	uint32_t nb = RTE_MIN(free_cnt, nic.nb);

	nic.nb_asked++;
	assert_in_range(free_cnt, 1, 64); /* 0 is all that there are: not bounded */
	if (nic.answer < 0)
		return nic.answer;
	for (uint32_t i = 0; i < nb; i++)
		rte_pktmbuf_free(nic.m[--nic.nb]);
	return (int)nb;
}

int
__wrap_rte_eth_tx_queue_info_get(uint16_t port_id, uint16_t queue_id, struct rte_eth_txq_info *info)
{
	return nic.queue_info;
}

static enum pmv_test_fate
nic_keeps(void *arg, struct rte_mbuf *m, uint64_t index)
{
	assert_in_range(nic.nb, 0, RTE_DIM(nic.m) - 1);
	for (struct rte_mbuf *seg = m; seg != NULL; seg = seg->next)
		rte_mbuf_refcnt_update(seg, 1);
	nic.m[nic.nb++] = m;
	return PMV_TEST_PASS;
}

/* Node 0's port is such a NIC, and its worker begins anew. */
static struct rig *
rig_open_nic(int answer, int queue_info)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);

	memset(&nic, 0, sizeof(nic));
	nic.answer = answer;
	nic.queue_info = queue_info;
	w->dev->reach = PMV_ROCE_REACH_EAL;
	pmv_roce_attach_fini(w);
	assert_int_equal(pmv_roce_attach_init(w), 0);
	r->pair.link->end[0].out.hook = nic_keeps;
	return r;
}

static uint32_t
completions(struct rig *r)
{
	struct pmv_wc wc[8];

	return pmv_poll_cq(r->pair.node[0].cq[0], wc, 8);
}

/* The last message is acknowledged, nothing more is sent, and the port keeps its frames. */
static void
attach__lazy_port(void **state)
{
	struct rig *r = rig_open_nic(0, 0);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct pmv_sge sge = { (uintptr_t)r->mem[0], 4096, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = write_wr(r, &sge, 1);

	assert_int_equal(nic.nb_asked, 1); /* whether it can be */
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	rig_run(r, 5 * 40);
	assert_int_equal(w->stats.attached, 4);
	assert_int_equal(nic.nb, 4);
	assert_true(pmv_psn_eq(pmv_roce_qp(r->rc[0])->win.una, pmv_roce_qp(r->rc[0])->win.nxt));
	assert_int_equal(completions(r), 0);
	assert_int_equal(nic.nb_asked, 1);
	rig_run(r, 5 * 60);
	assert_int_equal(completions(r), 1);
	assert_int_equal(nic.nb_asked, 2);
	rig_run(r, 5 * 300);
	assert_int_equal(nic.nb_asked, 2); /* nothing is out */
	r->pair.link->end[0].out.hook = NULL;
	rig_close(r);
}

/* A port that cannot be asked: known at once if its queue is there, else by the first idle turns.
 */
static void
attach__port_cannot_be_asked(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct rig *r = rig_open_nic(-ENOTSUP, late ? -EINVAL : 0);
		struct pmv_roce_worker *w = rig_worker(r, 0);
		struct pmv_sge sge = { (uintptr_t)r->mem[0], 2048, pmv_mr_lkey(r->mr[0]) };
		struct pmv_send_wr wr = write_wr(r, &sge, 1);

		assert_int_equal(nic.nb_asked, !late);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
			rig_run(r, 5 * 400);
		}
		assert_int_equal(nic.nb_asked, 1);
		assert_int_equal(w->stats.attached, late ? 2 : 0);
		assert_int_equal(w->stats.copied_bytes, late ? 2048 : 4096);
		while (nic.nb > 0) /* what it has, it frees when its descriptors come around */
			rte_pktmbuf_free(nic.m[--nic.nb]);
		r->pair.link->end[0].out.hook = NULL;
		rig_run(r, 100);
		assert_int_equal(completions(r), 2);
		rig_close(r);
	}
}

/* Another lcore frees the frames while the owner lends and collects. */
struct remote {
	struct rte_ring *ring;
	bool stop;
};

static void *
free_them(void *arg)
{
	struct remote *o = arg;
	cpu_set_t all;
	void *m;

	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
	for (;;) {
		bool stop = __atomic_load_n(&o->stop, __ATOMIC_ACQUIRE);

		while (rte_ring_dequeue(o->ring, &m) == 0)
			rte_pktmbuf_free(m);
		if (stop)
			return NULL;
	}
}

static void
attach__freed_elsewhere(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct remote o = { .ring = rte_ring_create("attach_test", 512, SOCKET_ID_ANY, 0) };
	uint32_t out = 0, lent = 0;
	pthread_t thread;

	assert_non_null(o.ring);
	assert_int_equal(pthread_create(&thread, NULL, free_them, &o), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		struct rte_mbuf *m = attached(r, i % 1000, &out, NULL);

		if (m != NULL) {
			lent++;
			if (rte_ring_enqueue(o.ring, m) != 0)
				rte_pktmbuf_free(m);
		}
		if (i % 16 == 0)
			pmv_roce_attach_collect(w);
		assert_int_equal(out, PMV_ROCE_ATTACH_SLOTS - w->attach.nb_free);
	}
	__atomic_store_n(&o.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (uint32_t i = 0; i < 40; i++)
		pmv_roce_attach_collect(w);
	assert_int_equal(out, 0);
	assert_false(pmv_roce_mr_frames_out(r->mr[0]));
	assert_true(lent > 1000);
	rte_ring_free(o.ring);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach__counts),
		cmocka_unit_test(attach__late_frame),
		cmocka_unit_test(attach__forget),
		cmocka_unit_test(attach__completion_waits_for_frames),
		cmocka_unit_test(attach__retransmission),
		cmocka_unit_test(attach__copies),
		cmocka_unit_test(attach__lazy_port),
		cmocka_unit_test(attach__port_cannot_be_asked),
		cmocka_unit_test(attach__freed_elsewhere),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
