// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/fuzzed_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Whoever asks, and however often: what was found is what was there at the one time. */
static void
check_told(struct fuzz *f, struct pmv_psn psn, uint64_t found)
{
	uint32_t i = f->nb_done;

	while (i > 0 && f->nb_done - i < NB_OLD && !pmv_psn_eq(f->done[(i - 1) % NB_OLD].psn, psn))
		i--;
	assert_true(i > 0 && f->nb_done - i < NB_OLD);
	assert_true(f->done[(i - 1) % NB_OLD].found == found);
	f->nb_told++;
}

/* Every frame of the QP under test ends here. */
static enum pmv_test_fate
on_frame(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct fuzz *f = arg;
	uint8_t flat[CRAFT_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, flat);
	struct pmv_roce_view v;
	uint32_t nb = 1;

	if (m->pkt_len == 0) /* fills the port */
		return PMV_TEST_DROP;
	zones_check_no_secret(p, m->pkt_len);
	assert_int_equal(pmv_roce_parse(p + 42, m->pkt_len - 42, m->pkt_len - 42, &v), PMV_WIRE_OK);
	assert_int_equal(v.bth.dqpn, pmv_qp_num(f->peer));
	if (v.op->kind == PMV_OPKIND_ATOMIC_ACK)
		check_told(f, v.bth.psn, pmv_atomic_ack_parse(p + 42 + PMV_OFF_ATOMIC_ACK));
	if (!(v.op->flags & PMV_OPF_REQUEST))
		return PMV_TEST_DROP;
	if (v.op->kind == PMV_OPKIND_READ_REQ) {
		struct pmv_reth reth;

		pmv_reth_parse(p + 42 + PMV_BTH_LEN, &reth);
		nb = reth.dma_len == 0 ? 1 : (reth.dma_len + f->mtu - 1) / f->mtu;
	}
	if (pmv_psn_before(f->end_sent, pmv_psn_add(v.bth.psn, nb)))
		f->end_sent = pmv_psn_add(v.bth.psn, nb);
	return PMV_TEST_DROP;
}

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->timeout = 9;
	attr->rnr_retry = 3;
	attr->retry_cnt = 5;
	attr->min_rnr_timer = 1;
	attr->max_dest_rd_atomic = 3;
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL;
}

void
fuzz_connect(struct fuzz *f)
{
	pmv_test_qp_connect(
		&f->pair, f->peer, f->qp, false, f->mtu == 256 ? PMV_MTU_256 : PMV_MTU_1024, tune);
	f->next_psn = pmv_psn(0x123456); /* as the harness sets it */
	f->end_sent = f->next_psn;
	f->plan.running = false;
	f->nb_done = 0;
}

struct fuzz *
fuzz_open(uint64_t seed)
{
	const struct pmv_test_pair_param pp = { .seed = seed, .window_pkts = 16, .cqe = 256 };
	struct fuzz *f = test_calloc(1, sizeof(*f));
	static struct rte_mempool *pool;

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create("own", 255, 0, 0, 256, SOCKET_ID_ANY);
	f->own_pool = pool;

	f->seed = seed;
	pmv_random_init(&f->random, seed);
	pmv_test_pair_open(&f->pair, &pp);
	f->w = f->pair.node[1].worker[0];
	f->mtu = seed & 1 ? 256 : 1024;
	f->wildness = 1u << (seed / 2 % 5);
	zones_open(&f->zones, &f->pair.node[1]);
	f->qp = pmv_test_qp_create(&f->pair.node[1], 0, PMV_QPT_RC);
	f->peer = pmv_test_qp_create(&f->pair.node[0], 0, PMV_QPT_RC);
	craft_path_get(&f->pair, 1, false, 0, &f->path);
	f->pair.link->end[1].out.hook = on_frame;
	f->pair.link->end[1].out.hook_arg = f;
	fuzz_connect(f);
	return f;
}

static void
check_read_data(struct fuzz *f, const struct sent *s)
{
	for (uint32_t i = 0; i < s->len; i++)
		assert_int_equal(s->buf[i], pattern(pmv_psn_add(s->first, i / f->mtu), i % f->mtu));
}

/* What an atomic of ours found is what was answered, in our own byte order. */
static void
check_found(const struct sent *s)
{
	uint8_t want[8];

	for (uint32_t i = 0; i < 8; i++)
		want[i] = pattern(s->first, i);
	assert_true(pmv_be64_load(want) == *(const uint64_t *)(const void *)s->buf);
}

static void
on_send_wc(struct fuzz *f, const struct pmv_wc *wc)
{
	struct sent *s = &f->sq[f->sq_tail % 64];

	assert_true(f->sq_tail != f->sq_head);
	assert_int_equal(wc->wr_id, s->wr_id);
	if (wc->status == PMV_WC_SUCCESS) {
		struct pmv_psn end = pmv_psn_add(s->first, s->nb_psn);

		/* nothing succeeds that was never wholly on the wire */
		assert_false(pmv_psn_before(f->end_sent, end));
		if (s->op == PMV_WR_RDMA_READ)
			check_read_data(f, s);
		else if (is_atomic(s->op))
			check_found(s);
		f->nb_ok++;
	}
	f->sq_tail++;
}

static void
on_recv_wc(struct fuzz *f, const struct pmv_wc *wc)
{
	assert_true(f->rq_tail != f->rq_head);
	assert_int_equal(wc->wr_id, f->rq[f->rq_tail % 64]);
	if (wc->status == PMV_WC_SUCCESS) {
		if (wc->opcode == PMV_WC_RECV)
			assert_true(wc->byte_len <= ZONE_BUF);
		f->nb_ok++;
	}
	f->rq_tail++;
}

/* Receives have odd numbers. */
void
fuzz_collect(struct fuzz *f)
{
	struct pmv_wc wc[16];
	uint32_t nb;

	while ((nb = pmv_poll_cq(f->pair.node[1].cq[0], wc, 16)) > 0) {
		for (uint32_t i = 0; i < nb; i++) {
			assert_int_equal(wc[i].qp_num, pmv_qp_num(f->qp));
			if (wc[i].wr_id & 1)
				on_recv_wc(f, &wc[i]);
			else
				on_send_wc(f, &wc[i]);
		}
	}
}
