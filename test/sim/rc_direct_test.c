// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small inline requests that go out as they are posted: the frame is the one that the long way
 * builds when it has to be sent again; order and count hold when something stands in the way.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/requester.h"
#include "lib/wire/icrc.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define REMOTE     0x1000u
#define INLINE_MAX 64u
#define FRAME_MAX  256u
#define SEEN_MAX   64u

/* Request frames of node 0, in the order in which they were sent for the first time. */
struct seen {
	uint32_t nb;
	uint32_t nb_again;
	bool lose_first; /* each frame, the first time */
	uint32_t l3;
	struct {
		uint8_t bytes[FRAME_MAX];
		uint32_t len;
		struct pmv_psn psn;
	} frame[SEEN_MAX];
};

/* The same but for AckReq, and each with an ICRC of its own that is right. */
static void
check_same(const struct seen *s, const uint8_t *a, const uint8_t *b, uint32_t len)
{
	const uint8_t *both[2] = { a, b };
	uint8_t copy[2][FRAME_MAX];

	for (int i = 0; i < 2; i++) {
		bool v6 = both[i][s->l3] >> 4 == 6;
		uint32_t bth = s->l3 + (v6 ? 48 : 28);

		assert_true(pmv_icrc_packet_check(both[i] + s->l3, v6, len - s->l3));
		memcpy(copy[i], both[i], len - PMV_ICRC_LEN);
		copy[i][bth + PMV_BTH_ACKREQ_OFF] &= (uint8_t)~PMV_BTH_ACKREQ;
	}
	assert_memory_equal(copy[0], copy[1], len - PMV_ICRC_LEN);
}

static enum pmv_test_fate
look(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct seen *s = arg;
	uint8_t bytes[FRAME_MAX];
	const uint8_t *f = rte_pktmbuf_read(m, 0, m->pkt_len, bytes);
	uint32_t bth = s->l3 + (f[s->l3] >> 4 == 6 ? 48 : 28);
	struct pmv_psn psn = pmv_psn(pmv_be32_load(f + bth + 8));

	assert_true(m->pkt_len <= FRAME_MAX);
	for (uint32_t i = 0; i < s->nb; i++) {
		if (!pmv_psn_eq(s->frame[i].psn, psn))
			continue;
		assert_int_equal(m->pkt_len, s->frame[i].len);
		check_same(s, s->frame[i].bytes, f, m->pkt_len);
		s->nb_again++;
		return PMV_TEST_PASS;
	}
	assert_true(s->nb < SEEN_MAX);
	/* none overtakes another */
	if (s->nb > 0)
		assert_int_equal(pmv_psn_diff(psn, s->frame[s->nb - 1].psn), 1);
	memcpy(s->frame[s->nb].bytes, f, m->pkt_len);
	s->frame[s->nb].len = m->pkt_len;
	s->frame[s->nb++].psn = psn;
	return s->lose_first ? PMV_TEST_DROP : PMV_TEST_PASS;
}

static void
watch(struct rc_lab *lab, struct seen *s, bool lose_first)
{
	memset(s, 0, sizeof(*s));
	s->lose_first = lose_first;
	s->l3 = pmv_roce_worker(lab->pair.node[0].worker[0])->l3_off;
	lab->pair.link->end[0].out.hook = look;
	lab->pair.link->end[0].out.hook_arg = s;
}

static struct rc_lab *
open_lab(const struct rc_lab_param *param)
{
	struct rc_lab *lab = test_malloc(sizeof(*lab));

	rc_lab_open(lab, param);
	rc_lab_run(lab, 20); /* new RTS queue pairs wait for their first turn */
	return lab;
}

static void
close_lab(struct rc_lab *lab)
{
	lab->pair.link->end[0].out.hook = NULL;
	rc_lab_close(lab);
	test_free(lab);
}

/* The request, whose bytes lie at mem[0] + 128 * id and go to REMOTE + 128 * id or to a receive. */
static void
wr_make(struct rc_lab *lab, struct pmv_send_wr *wr, struct pmv_sge *sge, enum pmv_wr_opcode op,
	uint32_t len, uint32_t flags, uint64_t id)
{
	uint8_t *src = lab->mem[0] + 128 * id;

	rc_lab_fill(src, len, (uint32_t)id);
	*sge = (struct pmv_sge){ (uintptr_t)src, len, 0 };
	*wr = (struct pmv_send_wr){ .wr_id = id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = PMV_SEND_INLINE | flags,
		.imm_data = rte_cpu_to_be_32(0xabcd0000 | (uint32_t)id) };
	wr->wr.rdma.remote_addr = (uintptr_t)(lab->mem[1] + REMOTE + 128 * id);
	wr->wr.rdma.rkey = pmv_mr_rkey(lab->mr[1]);
}

/* Receives in the order of the requests that take one, so that the bytes end where a WRITE's would.
 */
static void
recv_for(struct rc_lab *lab, enum pmv_wr_opcode op, uint32_t len, uint64_t id)
{
	memset(lab->mem[1] + REMOTE + 128 * id, 0x5a, 128);
	if (op != PMV_WR_RDMA_WRITE)
		assert_int_equal(
			rc_lab_recv(lab, 1, REMOTE + 128 * (uint32_t)id, len, 1000 + id), 1);
}

static void
check_arrived(const struct rc_lab *lab, uint32_t len, uint64_t id)
{
	const uint8_t *p = lab->mem[1] + REMOTE + 128 * id;

	assert_true(rc_lab_check(p, len, (uint32_t)id));
	for (uint32_t i = len; i < 128; i++)
		assert_int_equal(p[i], 0x5a);
}

/* Went the direct way: its ICRC is still to be made. */
static void
check_direct(struct rc_lab *lab, uint32_t nb, bool direct)
{
	const struct pmv_roce_tx *tx = &pmv_roce_worker(lab->pair.node[0].worker[0])->tx;

	assert_int_equal(tx->tail - tx->head, nb);
	for (uint32_t i = tx->head; i != tx->tail; i++)
		assert_int_equal(tx->seal[i & (PMV_ROCE_TX_RING - 1)].len != 0, direct);
}

/* Every direct opcode in one burst, all of it lost. */
static void
one_burst(struct rc_lab *lab, struct seen *s, uint32_t len, uint32_t flags)
{
	struct pmv_send_wr wr[4];
	struct pmv_sge sge[4];
	uint32_t nb0 = lab->nb_wc[0], nb1 = lab->nb_wc[1];

	watch(lab, s, true);
	for (uint32_t op = 0; op < 4; op++) {
		wr_make(lab, &wr[op], &sge[op], (enum pmv_wr_opcode)op, len,
			flags | (op == 3 ? PMV_SEND_SIGNALED : 0), op);
		recv_for(lab, (enum pmv_wr_opcode)op, len, op);
	}
	assert_int_equal(pmv_post_send(lab->qp[0], wr, 4), 4);
	check_direct(lab, 4, true);
	memset(lab->mem[0], 0xff, 4 * 128); /* it was copied */
	assert_true(rc_lab_wait(lab, 0, nb0 + 1, 200000));
	assert_int_equal(lab->wc[0][nb0].status, PMV_WC_SUCCESS);
	assert_true(rc_lab_wait(lab, 1, nb1 + 3, 100));
	assert_int_equal(s->nb, 4);
	assert_true(s->nb_again >= 4);
	for (uint32_t op = 0; op < 4; op++)
		check_arrived(lab, len, op);
	for (uint32_t i = 0; i < 3; i++) {
		const struct pmv_wc *wc = &lab->wc[1][nb1 + i];

		assert_int_equal(wc->status, PMV_WC_SUCCESS);
		assert_int_equal(wc->wr_id, 1001 + i);
		assert_int_equal(wc->byte_len, len);
		if (i != 1)
			assert_int_equal(wc->imm_data, rte_cpu_to_be_32(0xabcd0001 + i));
	}
	lab->nb_wc[0] = nb0;
	lab->nb_wc[1] = nb1;
}

static void
rc_direct__sent_again_is_the_same(void **state)
{
	for (int k = 0; k < 3; k++) {
		const struct rc_lab_param param = { .is_v6 = k == 1, .vlan_id = k == 2 ? 77 : 0 };
		struct rc_lab *lab = open_lab(&param);
		struct seen *s = test_malloc(sizeof(*s));

		for (uint32_t len = 0; len <= INLINE_MAX; len++) {
			one_burst(lab, s, len, 0);
			one_burst(lab, s, len, PMV_SEND_SOLICITED);
		}
		close_lab(lab);
		test_free(s);
	}
}

/* What a request is on the wire, field by field: the two ways might be wrong alike. */
static void
rc_direct__fields(void **state)
{
	static const uint8_t opcode[4] = { PMV_OPCODE_RC_WRITE_ONLY, PMV_OPCODE_RC_WRITE_ONLY_IMM,
		PMV_OPCODE_RC_SEND_ONLY, PMV_OPCODE_RC_SEND_ONLY_IMM };
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = open_lab(&param);
	struct seen *s = test_malloc(sizeof(*s));

	for (uint32_t len = 0; len <= INLINE_MAX; len++)
		for (uint32_t se = 0; se < 2; se++) {
			one_burst(lab, s, len, se ? PMV_SEND_SOLICITED : 0);
			for (uint32_t op = 0; op < 4; op++) {
				const uint8_t *f = s->frame[op].bytes, *p;
				struct pmv_eth_ip ip;
				struct pmv_roce_view v;

				assert_int_equal(pmv_eth_ip_parse(f, s->frame[op].len,
							 s->frame[op].len, &ip),
					PMV_WIRE_OK);
				p = f + ip.payload_off;
				assert_int_equal(
					pmv_roce_parse(p, ip.payload_len, ip.payload_len, &v),
					PMV_WIRE_OK);
				assert_int_equal(v.bth.opcode, opcode[op]);
				assert_int_equal(v.bth.dqpn, pmv_qp_num(lab->qp[1]));
				assert_int_equal(v.bth.se, se && op != PMV_WR_RDMA_WRITE);
				assert_int_equal(v.bth.ackreq, op == 3);
				assert_int_equal(v.payload_len, len);
				assert_true(rc_lab_check(p + v.payload_off, len, op));
				for (uint32_t i = 0; i < v.bth.padcnt; i++)
					assert_int_equal(p[v.payload_off + len + i], 0);
				if (pmv_opcode_has(v.op, PMV_EXT_IMMDT))
					assert_int_equal(pmv_be32_load(p + PMV_OFF_IMMDT(v.op)),
						0xabcd0000 | op);
				if (pmv_opcode_has(v.op, PMV_EXT_RETH)) {
					struct pmv_reth h;

					pmv_reth_parse(p + PMV_OFF_RETH, &h);
					assert_int_equal(
						h.va, (uintptr_t)(lab->mem[1] + REMOTE + 128 * op));
					assert_int_equal(h.rkey, pmv_mr_rkey(lab->mr[1]));
					assert_int_equal(h.dma_len, len);
				}
			}
		}
	close_lab(lab);
	test_free(s);
}

/* nb requests, one call; the opcode by turns. Returns what post returned. */
static int
post_many(struct rc_lab *lab, uint32_t from, uint32_t nb, uint32_t flags)
{
	struct pmv_send_wr wr[100];
	struct pmv_sge sge[100];

	for (uint32_t i = 0; i < nb; i++) {
		memset(lab->mem[1] + REMOTE + 128 * (from + i), 0x5a, 128);
		wr_make(lab, &wr[i], &sge[i], PMV_WR_RDMA_WRITE, (from + i) % 65, flags, from + i);
	}
	return pmv_post_send(lab->qp[0], wr, nb);
}

static void
check_many(struct rc_lab *lab, uint32_t nb, uint64_t limit_us)
{
	assert_true(rc_lab_wait(lab, 0, nb, limit_us));
	assert_int_equal(lab->nb_wc[0], nb);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i);
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
		check_arrived(lab, i % 65, i);
	}
}

/* More than the window takes, more than the queue takes. */
static void
rc_direct__window_and_queue_full(void **state)
{
	for (uint32_t window = 1; window < 8; window += 3) {
		const struct rc_lab_param param = { .window_pkts = window };
		struct rc_lab *lab = open_lab(&param);
		struct seen *s = test_malloc(sizeof(*s));

		watch(lab, s, false);
		assert_int_equal(post_many(lab, 0, window - 1, PMV_SEND_SIGNALED), window - 1);
		check_direct(lab, window - 1, true);
		assert_int_equal(post_many(lab, window - 1, 10, PMV_SEND_SIGNALED), 10);
		check_direct(lab, window, true); /* one more; nine wait */
		assert_int_equal(
			post_many(lab, window + 9, 100, PMV_SEND_SIGNALED), 64 - (window + 9));
		assert_int_equal(post_many(lab, 64, 1, PMV_SEND_SIGNALED), -ENOMEM);
		check_direct(lab, window, true);
		check_many(lab, 64, 10000);
		assert_int_equal(s->nb_again, 0);
		close_lab(lab);
		test_free(s);
	}
}

/* The queue alone is the limit. */
static void
rc_direct__queue_full(void **state)
{
	const struct rc_lab_param param = { .window_pkts = 256 };
	struct rc_lab *lab = open_lab(&param);

	assert_int_equal(post_many(lab, 0, 100, PMV_SEND_SIGNALED), 64);
	assert_int_equal(pmv_roce_qp(lab->qp[0])->sq.snd, pmv_roce_qp(lab->qp[0])->sq.head);
	check_many(lab, 64, 1000);
	close_lab(lab);
}

/* Large ones before: small ones wait for their turn. RNR: nothing overtakes what waits. */
static void
rc_direct__behind_others(void **state)
{
	const struct rc_lab_param param = { .window_pkts = 8, .mtu = PMV_MTU_256 };
	struct rc_lab *lab = open_lab(&param);
	uint32_t nb;

	rc_lab_fill(lab->mem[0] + 0x10000, 5000, 500);
	assert_int_equal(rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0x10000, 0x10000, 5000, 0, 500), 1);
	assert_int_equal(post_many(lab, 0, 20, PMV_SEND_SIGNALED), 20);
	check_many(lab, 20, 10000);
	assert_true(rc_lab_check(lab->mem[1] + 0x10000, 5000, 500));

	nb = lab->nb_wc[0];
	assert_int_equal(
		rc_lab_post(lab, 0, PMV_WR_SEND, 0x10000, 0, 300, PMV_SEND_SIGNALED, 600), 1);
	rc_lab_run(lab, 100);
	assert_int_equal(lab->nb_wc[0], nb);
	assert_true(pmv_roce_qp(lab->qp[0])->retry.rnr_until != 0);
	memset(lab->mem[1] + REMOTE, 0x5a, 128);
	assert_int_equal(post_many(lab, 0, 10, PMV_SEND_SIGNALED), 10);
	check_direct(lab, 0, true);
	rc_lab_run(lab, 100);
	for (uint32_t i = 0; i < 128; i++) /* none was let through */
		assert_int_equal(lab->mem[1][REMOTE + i], 0x5a);
	assert_int_equal(rc_lab_recv(lab, 1, 0x20000, 300, 1), 1);
	assert_true(rc_lab_wait(lab, 0, nb + 11, 20000));
	assert_int_equal(lab->wc[0][nb].wr_id, 600);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(lab->wc[0][nb + 1 + i].wr_id, i);
		check_arrived(lab, i, i);
	}
	close_lab(lab);
}

/* A READ is outstanding: small requests need not wait for its data, fenced ones do, and those
 * behind them. */
static void
rc_direct__reads_and_fences(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = open_lab(&param);

	lab->pair.link->end[1].out.delay_us = 300;
	rc_lab_fill(lab->mem[1] + 0x10000, 3000, 9);
	for (int k = 0; k < 2; k++) {
		memset(lab->mem[0] + 0x10000, 0, 3000);
		lab->nb_wc[0] = 0;
		assert_int_equal(
			rc_lab_post(lab, 0, PMV_WR_RDMA_READ, 0x10000, 0x10000, 3000, 0, 900), 1);
		assert_int_equal(post_many(lab, 0, 3, PMV_SEND_SIGNALED), 3);
		assert_int_equal(
			post_many(lab, 3, 1, PMV_SEND_SIGNALED | (k ? PMV_SEND_FENCE : 0)), 1);
		assert_int_equal(post_many(lab, 4, 3, PMV_SEND_SIGNALED), 3);
		rc_lab_run(lab, 100);
		for (uint32_t i = 0; i < 3; i++)
			check_arrived(lab, i, i);
		for (uint32_t i = 3; i < 7; i++)
			assert_int_equal(lab->mem[1][REMOTE + 128 * i] == 0x5a, k);
		check_many(lab, 7, 5000);
		assert_true(rc_lab_check(lab->mem[0] + 0x10000, 3000, 9));
	}
	close_lab(lab);
}

/* SQD: taken, not sent; RTS: sent in order, and then direct again. */
static void
rc_direct__drained(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = open_lab(&param);
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD };

	assert_int_equal(post_many(lab, 0, 5, PMV_SEND_SIGNALED), 5);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &attr, PMV_QP_STATE), 0);
	check_direct(lab, 5, true);
	assert_int_equal(post_many(lab, 5, 5, PMV_SEND_SIGNALED), 5);
	check_direct(lab, 5, true);
	rc_lab_run(lab, 100);
	check_many(lab, 5, 100);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(lab->qp[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(post_many(lab, 10, 5, PMV_SEND_SIGNALED), 5);
	check_direct(lab, 0, true); /* its turn is to come, and so is that of the five before */
	check_many(lab, 15, 100);
	assert_int_equal(post_many(lab, 15, 5, PMV_SEND_SIGNALED), 5);
	check_direct(lab, 5, true);
	check_many(lab, 20, 100);
	close_lab(lab);
}

static bool
asks(const struct seen *s, uint32_t i)
{
	const uint8_t *bth = s->frame[i].bytes + s->l3 + 28;

	return (bth[PMV_BTH_ACKREQ_OFF] & PMV_BTH_ACKREQ) != 0;
}

/* Nobody waits for a completion: an acknowledgement is asked for at the end of the burst, where the
 * window ends, and every so many packets; no timer has to. */
static void
rc_direct__asks_for_acknowledgements(void **state)
{
	static const struct {
		uint32_t window;
		uint32_t nb;
	} cases[] = { { 0, 1 }, { 0, 5 }, { 4, 4 }, { 4, 7 }, { 1, 3 }, { 256, 50 } };

	for (size_t c = 0; c < RTE_DIM(cases); c++) {
		const struct rc_lab_param param = { .window_pkts = cases[c].window };
		uint32_t nb = cases[c].nb, window = cases[c].window;
		struct rc_lab *lab = open_lab(&param);
		struct pmv_roce_qp *qp = pmv_roce_qp(lab->qp[0]);
		struct seen *s = test_malloc(sizeof(*s));

		watch(lab, s, false);
		assert_int_equal(post_many(lab, 0, nb, 0), nb);
		rc_lab_run(lab, 15);
		for (uint32_t i = 0, since = 1; i < s->nb; i++, since++) {
			bool want = i + 1 == nb || i + 1 == window || since == PMV_ROCE_ACKREQ_PKTS;

			if (i < window || window == 0)
				assert_int_equal(asks(s, i), want);
			since = want ? 0 : since;
		}
		for (int i = 0; i < 10; i++)
			rc_lab_run(lab, 10);
		assert_int_equal(s->nb, nb);
		assert_true(pmv_roce_window_idle(&qp->win));
		assert_int_equal(qp->stats.retx_pkts, 0);
		for (uint32_t i = 0; i < nb; i++)
			check_arrived(lab, i, i);
		close_lab(lab);
		test_free(s);
	}
}

/* A request that is refused in the middle of a burst: those before it are taken, and acknowledged
 * when they ask for it; nothing behind it. */
static void
rc_direct__bad_in_the_middle(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = open_lab(&param);
	struct pmv_send_wr wr[4];
	struct pmv_sge sge[4];

	for (uint32_t kind = 0; kind < 3; kind++) {
		for (uint32_t i = 0; i < 4; i++) {
			memset(lab->mem[1] + REMOTE + 128 * i, 0x5a, 128);
			wr_make(lab, &wr[i], &sge[i], PMV_WR_RDMA_WRITE, i + 1, PMV_SEND_SIGNALED,
				i);
		}
		if (kind == 0)
			sge[2].length = INLINE_MAX + 1;
		else if (kind == 1)
			wr[2].opcode = (enum pmv_wr_opcode)99;
		else
			wr[2].num_sge = 5;
		lab->nb_wc[0] = 0;
		assert_int_equal(pmv_post_send(lab->qp[0], wr, 4), 2);
		assert_int_equal(pmv_post_send(lab->qp[0], &wr[2], 2), -EINVAL);
		assert_true(rc_lab_wait(lab, 0, 2, 25)); /* before any probe */
		rc_lab_run(lab, 100);
		assert_int_equal(lab->nb_wc[0], 2);
		check_arrived(lab, 1, 0);
		check_arrived(lab, 2, 1);
		assert_int_equal(lab->mem[1][REMOTE + 2 * 128], 0x5a);
		assert_int_equal(lab->mem[1][REMOTE + 3 * 128], 0x5a);
	}
	close_lab(lab);
}

/* Nobody waits for a completion, and the request that would have asked is refused: the one before
 * it asks, also when the port took it already, or took no more, so that no timer has to. */
static void
rc_direct__asks_before_a_bad_one(void **state)
{
	static const uint32_t counts[] = { 1, 5, 31, 32, 33, 40 };

	for (size_t c = 0; c < RTE_DIM(counts); c++) {
		for (int busy = 0; busy < 2; busy++) {
			const struct rc_lab_param param = { .window_pkts = 256 };
			struct rc_lab *lab = open_lab(&param);
			struct pmv_roce_qp *qp = pmv_roce_qp(lab->qp[0]);
			struct seen *s = test_malloc(sizeof(*s));
			struct pmv_send_wr wr[41];
			struct rte_ring *port = lab->pair.link->end[0].tx[0];
			struct pmv_sge sge[41];
			uint32_t nb = counts[c];

			qp->since_ackreq = nb == 32 ? 0 : 3; /* where the 32nd does not ask */
			watch(lab, s, false);
			for (uint32_t i = 0; i <= nb; i++) {
				memset(lab->mem[1] + REMOTE + 128 * i, 0x5a, 128);
				wr_make(lab, &wr[i], &sge[i], PMV_WR_RDMA_WRITE, i, 0, i);
			}
			wr[nb].opcode = (enum pmv_wr_opcode)99;
			if (busy) /* the port takes nothing */
				while (rte_ring_enqueue(port, lab) == 0)
					;
			assert_int_equal(pmv_post_send(lab->qp[0], wr, nb + 1), nb);
			if (busy)
				rte_ring_reset(port);
			rc_lab_run(lab, 100); /* no round trip is measured, so nothing probes */
			assert_int_equal(s->nb, nb);
			assert_true(pmv_roce_window_idle(&qp->win));
			assert_int_equal(qp->stats.probes, 0);
			for (uint32_t i = 0; i < nb; i++)
				check_arrived(lab, i, i);
			close_lab(lab);
			test_free(s);
		}
	}
}

/* The pool has k mbufs left: k go at once, the rest when there are some again. */
static void
rc_direct__pool_empty(void **state)
{
	const struct rc_lab_param param = { .window_pkts = 256 };
	struct rc_lab *lab = open_lab(&param);
	struct rte_mempool *pool = lab->pair.link->pool;
	struct pmv_roce_worker *w = pmv_roce_worker(lab->pair.node[0].worker[0]);
	struct rte_mbuf **hoard = test_calloc(rte_mempool_avail_count(pool) + 1, sizeof(*hoard));

	for (uint32_t left = 0; left < 50; left += 7) {
		uint64_t no_mbuf = w->stats.no_mbuf;
		uint32_t nb = 0;

		pmv_roce_spare_drop(&w->spare);
		while ((hoard[nb] = rte_pktmbuf_alloc(pool)) != NULL)
			nb++;
		assert_true(nb > left);
		rte_pktmbuf_free_bulk(hoard + nb - left, left);
		nb -= left;
		lab->nb_wc[0] = 0;
		assert_int_equal(post_many(lab, 0, 60, PMV_SEND_SIGNALED), 60);
		assert_int_equal(w->tx.tail - w->tx.head, left % PMV_ROCE_TX_BURST);
		assert_true(w->stats.no_mbuf > no_mbuf);
		rc_lab_run(lab, 10);
		rte_pktmbuf_free_bulk(hoard, nb);
		check_many(lab, 60, 1000);
	}
	test_free(hoard);
	close_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_direct__sent_again_is_the_same),
		cmocka_unit_test(rc_direct__fields),
		cmocka_unit_test(rc_direct__window_and_queue_full),
		cmocka_unit_test(rc_direct__queue_full),
		cmocka_unit_test(rc_direct__behind_others),
		cmocka_unit_test(rc_direct__reads_and_fences),
		cmocka_unit_test(rc_direct__drained),
		cmocka_unit_test(rc_direct__asks_for_acknowledgements),
		cmocka_unit_test(rc_direct__bad_in_the_middle),
		cmocka_unit_test(rc_direct__asks_before_a_bad_one),
		cmocka_unit_test(rc_direct__pool_empty),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
