// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/ack: acknowledgements leave with the next turn, or when the program asks, or when
 * their QP goes; they are written over the frame that asked only if it is nobody else's; and that
 * frame is never lost.
 */
#include "drivers/roce/ack.h"

#include <errno.h>

#include "drivers/roce/rx.h"
#include "test/unit/drivers/roce/rig.h"

#define PSN0 0xfffff8u /* of the peer's first request */

static const struct pmv_test_pair_param plain;

static struct rte_ring *
out_ring(struct rig *r)
{
	return r->pair.link->end[1].tx[0];
}

static void
turn(struct rig *r)
{
	pmv_worker_poll_at(r->pair.node[1].worker[0], r->pair.now++);
}

/* Requests of node 0 to node 1's RC QP. */
static struct rig_frame
write_frame(struct rig *r, uint32_t psn, bool ackreq)
{
	struct rig_frame f = rig_frame(PMV_OPCODE_RC_WRITE_ONLY, r->rc[1]->qpn, psn);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1], pmv_mr_rkey(r->mr[1]), 8 };

	pmv_reth_build(f.ext, &reth);
	f.payload = 8;
	f.bth.ackreq = ackreq;
	return f;
}

static struct rig_frame
read_frame(struct rig *r, uint32_t psn)
{
	struct rig_frame f = rig_frame(PMV_OPCODE_RC_READ_REQUEST, r->rc[1]->qpn, psn);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1], pmv_mr_rkey(r->mr[1]), 8 };

	pmv_reth_build(f.ext, &reth);
	return f;
}

static struct rte_mbuf *
mbuf_of(struct rig *r, const struct rig_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool);
	uint8_t bytes[512];
	uint32_t len = rig_frame_write(f, bytes);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

static void
arrive_mbuf(struct rig *r, struct rte_mbuf *m)
{
	assert_int_equal(rte_ring_enqueue(r->pair.link->end[1].rx[0], m), 0);
}

static struct rte_mbuf *
arrive(struct rig *r, const struct rig_frame *f)
{
	struct rte_mbuf *m = mbuf_of(r, f);

	arrive_mbuf(r, m);
	return m;
}

static struct rte_mbuf *
arrive_write(struct rig *r, uint32_t psn, bool ackreq)
{
	struct rig_frame f = write_frame(r, psn, ackreq);

	return arrive(r, &f);
}

/* The next frame that node 1 sent: its opcode, PSN and syndrome (0 without AETH). */
struct sent {
	struct rte_mbuf *m;
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t psn;
};

static struct sent
take_sent(struct rig *r)
{
	struct sent s = { 0 };
	struct pmv_roce_pkt p;
	struct pmv_aeth aeth;
	void *m = NULL;

	assert_int_equal(rte_ring_dequeue(out_ring(r), &m), 0);
	s.m = m;
	assert_int_equal(
		pmv_roce_packet_parse(rig_worker(r, 0), s.m, &p), PMV_WIRE_OK); /* ICRC right */
	assert_int_equal(p.roce.bth.dqpn, r->rc[0]->qpn);
	assert_int_equal(s.m->ol_flags & ~RTE_MBUF_F_EXTERNAL, 0);
	assert_int_equal(s.m->nb_segs, 1);
	assert_int_equal(s.m->data_len, s.m->pkt_len);
	s.opcode = p.roce.bth.opcode;
	s.psn = p.roce.bth.psn.v;
	if (pmv_opcode_has(p.roce.op, PMV_EXT_AETH)) {
		pmv_aeth_parse(p.bth + PMV_OFF_AETH, &aeth);
		s.syndrome = aeth.syndrome;
	}
	return s;
}

static struct rte_mbuf *
expect_sent(struct rig *r, uint8_t syndrome, uint32_t psn)
{
	struct sent s = take_sent(r);

	assert_int_equal(s.opcode, PMV_OPCODE_RC_ACK);
	assert_int_equal(s.syndrome, syndrome);
	assert_int_equal(s.psn, psn & 0xffffff);
	return s.m;
}

static void
expect_ack(struct rig *r, uint32_t psn)
{
	rte_pktmbuf_free(expect_sent(r, PMV_SYNDROME_ACK_NO_CREDIT, psn));
}

static void
expect_silence(struct rig *r)
{
	assert_int_equal(rte_ring_count(out_ring(r)), 0);
}

/* Mbufs that are not in the pool, those in hand left out. */
static uint32_t
nb_out(struct rig *r)
{
	uint32_t nb = r->pair.link->pool_size - rte_mempool_avail_count(r->pair.link->pool);

	return nb - rig_worker(r, 0)->spare.nb - rig_worker(r, 1)->spare.nb;
}

/* Turn n takes the request, turn n + 1 sends; one for a burst. */
static void
ack__leaves_with_the_next_turn(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_worker *w = r->pair.node[1].worker[0];
	uint32_t psn = PSN0, out = nb_out(r);

	for (uint32_t nb = 1; nb <= 31; nb += 5) {
		struct rte_mbuf *first = arrive_write(r, psn, true), *m;

		for (uint32_t i = 1; i < nb; i++)
			arrive_write(r, psn + i, true);
		psn += nb;
		turn(r);
		assert_int_equal(pmv_roce_qp(r->rc[1])->resp.epsn.v, psn & 0xffffff);
		expect_silence(r);
		assert_false(pmv_roce_worker_idle(w));
		assert_int_equal(nb_out(r), out + 1);
		turn(r);
		m = expect_sent(r, PMV_SYNDROME_ACK_NO_CREDIT, psn - 1);
		assert_ptr_equal(m, first); /* written over */
		rte_pktmbuf_free(m);
		expect_silence(r);
		assert_true(pmv_roce_worker_idle(w));
		turn(r);
		expect_silence(r);
		assert_int_equal(nb_out(r), out);
	}
	arrive_write(r, psn, false); /* nobody asked */
	turn(r);
	turn(r);
	expect_silence(r);
	assert_true(pmv_roce_worker_idle(w));
	rig_close(r);
}

/* What the program has to say to it goes first. */
static void
ack__answer_goes_first(void **state)
{
	struct rig *r = rig_open(&plain);
	uint8_t byte = 1;
	const struct pmv_sge sge = { (uintptr_t)&byte, 1, 0 };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_INLINE };
	struct sent s;

	wr.wr.rdma.remote_addr = (uintptr_t)r->mem[0];
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[0]);
	arrive_write(r, PSN0, true);
	turn(r);
	assert_int_equal(pmv_post_send(r->rc[1], &wr, 1), 1);
	turn(r);
	s = take_sent(r);
	assert_int_equal(s.opcode, PMV_OPCODE_RC_WRITE_ONLY);
	arrive_mbuf(r, s.m); /* dropped there: rig_close() waits for an answer otherwise */
	expect_ack(r, PSN0);
	rig_close(r);
}

static void
ack__flush_sends_at_once(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_worker *w = r->pair.node[1].worker[0];

	arrive_write(r, PSN0, true);
	turn(r);
	expect_silence(r);
	assert_int_equal(pmv_worker_flush(w), 0);
	expect_ack(r, PSN0);
	assert_true(pmv_roce_worker_idle(w));
	turn(r);
	expect_silence(r);
	rig_close(r);
}

/* A program with a receive loop of its own: staged at the end, out with the next flush or turn. */
static void
ack__input_sends_at_its_end(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_worker *w = r->pair.node[1].worker[0];
	uint32_t psn = PSN0, out = nb_out(r);

	for (int k = 0; k < 4; k++) {
		struct rig_frame f[2] = { write_frame(r, psn, true),
			write_frame(r, psn + 1, true) };
		struct rte_mbuf *m[2] = { mbuf_of(r, &f[0]), mbuf_of(r, &f[1]) }, *foreign[2];

		assert_int_equal(pmv_worker_input(w, m, 2, foreign), 0);
		assert_int_equal(pmv_roce_worker(w)->tx.tail - pmv_roce_worker(w)->tx.head, 1);
		assert_true(TAILQ_EMPTY(&pmv_roce_worker(w)->acks));
		if (k & 1)
			assert_int_equal(pmv_worker_flush(w), 0);
		else
			turn(r);
		expect_ack(r, psn + 1);
		psn += 2;
		assert_int_equal(nb_out(r), out);
	}
	rig_close(r);
}

enum way { WAY_ERR, WAY_RESET, WAY_DESTROY, NB_WAYS };

static void
leave(struct rig *r, enum way way)
{
	struct pmv_qp_attr attr = { .qp_state = way == WAY_ERR ? PMV_QPS_ERR : PMV_QPS_RESET };

	if (way != WAY_DESTROY) {
		assert_int_equal(pmv_modify_qp(r->rc[1], &attr, PMV_QP_STATE), 0);
		return;
	}
	assert_int_equal(pmv_destroy_qp(r->rc[1]), 0);
	r->rc[1] = pmv_test_qp_create(&r->pair.node[1], 0, PMV_QPT_RC); /* rig_close() wants one */
}

/* The QP goes between the turn that took the request and the next. */
static void
ack__queue_pair_leaves(void **state)
{
	for (enum way way = WAY_ERR; way < NB_WAYS; way++) {
		struct rig *r = rig_open(&plain);
		uint32_t out = nb_out(r);

		arrive_write(r, PSN0, true);
		arrive_write(r, PSN0 + 1, true);
		turn(r);
		assert_int_equal(nb_out(r), out + 1);
		leave(r, way);
		turn(r);
		expect_ack(r, PSN0 + 1);
		turn(r);
		expect_silence(r);
		assert_int_equal(nb_out(r), out);
		assert_true(TAILQ_EMPTY(&rig_worker(r, 1)->acks));
		rig_close(r);
	}
}

/* There is no room to send it in: the frame that was kept goes home all the same. */
static void
ack__queue_pair_leaves_without_room(void **state)
{
	for (enum way way = WAY_ERR; way < NB_WAYS; way++) {
		struct rig *r = rig_open(&plain);
		struct pmv_roce_tx *tx = &rig_worker(r, 1)->tx;
		uint32_t out = nb_out(r), head;

		arrive_write(r, PSN0, true);
		turn(r);
		head = tx->head;
		tx->head = tx->tail - PMV_ROCE_TX_RING; /* as if */
		assert_int_equal(nb_out(r), out + 1);
		leave(r, way);
		assert_int_equal(nb_out(r), out);
		assert_true(TAILQ_EMPTY(&rig_worker(r, 1)->acks));
		tx->head = head;
		turn(r);
		expect_silence(r);
		rig_close(r);
	}
}

/* No room for a while: owed until there is, with what was taken meanwhile. */
static void
ack__waits_for_room(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 1);
	uint32_t out = nb_out(r), head;

	arrive_write(r, PSN0, true);
	turn(r);
	arrive_write(r, PSN0 + 1, true);
	head = w->tx.head;
	w->tx.head = w->tx.tail - PMV_ROCE_TX_RING;
	pmv_roce_ack_flush(w);
	w->tx.head = head;
	assert_false(TAILQ_EMPTY(&w->acks));
	assert_int_equal(pmv_roce_rx_poll(&w->base), 1); /* the first leaves, the second is taken */
	turn(r);
	expect_ack(r, PSN0);
	expect_ack(r, PSN0 + 1);
	assert_int_equal(nb_out(r), out);
	rig_close(r);
}

/* A READ's answer says it: neither an ACK of its own nor a lost mbuf. */
static void
ack__read_forgives(void **state)
{
	struct rig *r = rig_open(&plain);
	uint32_t out = nb_out(r);
	struct rig_frame f = read_frame(r, PSN0 + 1);
	struct sent s;

	arrive_write(r, PSN0, true);
	arrive(r, &f);
	turn(r);
	turn(r);
	s = take_sent(r);
	assert_int_equal(s.opcode, PMV_OPCODE_RC_READ_RESP_ONLY);
	rte_pktmbuf_free(s.m);
	expect_silence(r);
	assert_int_equal(nb_out(r), out);
	rig_close(r);
}

/* An ACK never leaves ahead of a READ's answer, the end of the QP or not: the peer would take it
 * for the READ's, and a lost one. */
static void
ack__not_ahead_of_read(void **state)
{
	for (enum way way = WAY_ERR; way < NB_WAYS; way++) {
		struct rig *r = rig_open(&plain);
		struct rig_frame f[2] = { read_frame(r, PSN0), write_frame(r, PSN0 + 1, true) };
		struct rte_mbuf *m[2] = { mbuf_of(r, &f[0]), mbuf_of(r, &f[1]) }, *foreign[2];
		uint32_t out = nb_out(r);

		assert_int_equal(pmv_worker_input(r->pair.node[1].worker[0], m, 2, foreign), 0);
		assert_int_equal(pmv_worker_flush(r->pair.node[1].worker[0]), 0);
		expect_silence(r);
		leave(r, way);
		turn(r);
		expect_silence(r);
		assert_int_equal(nb_out(r), out - 2);
		rig_close(r);
	}
}

/* A gap, a missing receive: the NAK replaces what was owed, over the frame that was kept. */
static void
ack__naks(void **state)
{
	struct rig *r = rig_open(&plain);
	uint32_t out = nb_out(r);
	struct rig_frame send = rig_frame(PMV_OPCODE_RC_SEND_ONLY, r->rc[1]->qpn, PSN0 + 1);
	struct rte_mbuf *m;

	m = arrive_write(r, PSN0, true);
	arrive_write(r, PSN0 + 2, true);
	arrive_write(r, PSN0 + 3, true);
	turn(r);
	assert_int_equal(nb_out(r), out + 1);
	expect_silence(r);
	turn(r);
	assert_ptr_equal(expect_sent(r, PMV_SYNDROME_NAK_PSN_SEQ, PSN0 + 1), m);
	rte_pktmbuf_free(m);
	expect_silence(r);
	m = arrive(r, &send);
	turn(r);
	turn(r);
	assert_ptr_equal(expect_sent(r, PMV_SYNDROME_RNR | 12, PSN0 + 1), m);
	rte_pktmbuf_free(m);
	expect_silence(r);
	assert_int_equal(nb_out(r), out);
	rig_close(r);
}

/* A request that is refused fails the QP; its NAK leaves in the next turn. */
static void
ack__nak_of_a_failed_queue_pair(void **state)
{
	struct rig *r = rig_open(&plain);
	uint32_t out = nb_out(r);
	struct rig_frame f = write_frame(r, PSN0 + 1, true);

	f.ext[11] ^= 0x55; /* the key */
	arrive_write(r, PSN0, true);
	arrive(r, &f);
	arrive_write(r, PSN0 + 2, true);
	turn(r);
	assert_int_equal(r->rc[1]->state, PMV_QPS_ERR);
	expect_silence(r);
	turn(r);
	rte_pktmbuf_free(expect_sent(r, PMV_SYNDROME_NAK_REM_ACC, PSN0 + 1));
	turn(r);
	expect_silence(r);
	assert_int_equal(nb_out(r), out);
	rig_close(r);
}

/* Frames that others hold, or that are made otherwise than the ACK is, stay as they are. */
enum kind { SHARED, CHAIN, USER, SHORT_ROOM, NB_KINDS };

static void
ext_free(void *addr, void *arg)
{
	++*(uint32_t *)arg;
}

static void
ack__foreign_memory_untouched(void **state)
{
	for (enum kind kind = SHARED; kind < NB_KINDS; kind++) {
		struct rig *r = rig_open(&plain);
		uint32_t out = nb_out(r), nb_free = 0, len;
		struct rte_mbuf_ext_shared_info info = { .free_cb = ext_free,
			.fcb_opaque = &nb_free };
		struct rig_frame f = write_frame(r, PSN0, true);
		struct rte_mbuf *m = mbuf_of(r, &f), *seg, *ack;
		uint8_t user[512], before[512] = { 0 };

		len = rig_frame_write(&f, before);
		memcpy(user, before, sizeof(user));
		if (kind == SHARED)
			rte_mbuf_refcnt_update(m, 1);
		if (kind == CHAIN) {
			seg = rte_pktmbuf_alloc(r->pair.link->pool);
			memcpy(rte_pktmbuf_append(seg, 20), before + len - 20, 20);
			assert_int_equal(rte_pktmbuf_trim(m, 20), 0);
			assert_int_equal(rte_pktmbuf_chain(m, seg), 0);
		}
		if (kind == USER) {
			rte_mbuf_ext_refcnt_set(&info, 1);
			rte_pktmbuf_attach_extbuf(m, user, 0, sizeof(user), &info);
			m->data_off = 0;
			m->data_len = (uint16_t)len;
		}
		if (kind == SHORT_ROOM) { /* fits to the byte, so an ACK with a template does not */
			m->data_off = (uint16_t)(m->buf_len - len);
			memcpy(rte_pktmbuf_mtod(m, void *), before, len);
		}
		arrive_mbuf(r, m);
		turn(r);
		turn(r);
		ack = expect_sent(r, PMV_SYNDROME_ACK_NO_CREDIT, PSN0);
		assert_int_equal(ack == m, kind == SHORT_ROOM && len >= 88);
		rte_pktmbuf_free(ack);
		if (kind == SHARED) {
			assert_int_equal(rte_mbuf_refcnt_read(m), 1);
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), before, len);
			rte_pktmbuf_free(m);
		}
		assert_memory_equal(user, before, sizeof(user));
		assert_int_equal(nb_free, kind == USER);
		assert_int_equal(nb_out(r), out);
		rig_close(r);
	}
}

/* What the port said about the request is not said about the ACK. */
static void
ack__flags_of_the_request(void **state)
{
	struct rig *r = rig_open(&plain);
	struct rte_mbuf *m = arrive_write(r, PSN0, true), *ack;

	m->ol_flags = RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_IP_CKSUM_GOOD |
		      RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	m->vlan_tci = 9;
	turn(r);
	turn(r);
	ack = expect_sent(r, PMV_SYNDROME_ACK_NO_CREDIT, PSN0); /* looks at the flags */
	assert_ptr_equal(ack, m);
	rte_pktmbuf_free(ack);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack__leaves_with_the_next_turn),
		cmocka_unit_test(ack__answer_goes_first),
		cmocka_unit_test(ack__flush_sends_at_once),
		cmocka_unit_test(ack__input_sends_at_its_end),
		cmocka_unit_test(ack__queue_pair_leaves),
		cmocka_unit_test(ack__queue_pair_leaves_without_room),
		cmocka_unit_test(ack__waits_for_room),
		cmocka_unit_test(ack__read_forgives),
		cmocka_unit_test(ack__not_ahead_of_read),
		cmocka_unit_test(ack__naks),
		cmocka_unit_test(ack__nak_of_a_failed_queue_pair),
		cmocka_unit_test(ack__foreign_memory_untouched),
		cmocka_unit_test(ack__flags_of_the_request),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
