// SPDX-License-Identifier: BSD-3-Clause
/*
 * Datagrams between two nodes: what arrives and where, what the 40 bytes in front hold, how to
 * answer, keys, lengths, queues, and which mistakes end what.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define BYTES   (64u << 10)
#define GUARD   64u
#define QKEY    0x11223344u
#define RECV_AT 0x8000u /* where receives lie */
#define WC_MAX  256u

struct ud_lab {
	struct pmv_test_pair pair;
	struct pmv_qp *qp[2];
	struct pmv_mr *mr[2];
	uint8_t *raw[2];
	uint8_t *mem[2];
	struct pmv_ah *ah[2][2]; /* [from][is_v6] */
	struct pmv_wc wc[2][WC_MAX];
	uint32_t nb_wc[2];
	uint8_t frame[2][CRAFT_BYTES]; /* the last one each side sent */
	uint32_t frame_len[2];
};

/* One message from side `from`. */
struct message {
	int from;
	bool is_v6;
	uint32_t off;
	uint32_t len;
	uint32_t flags;
	uint32_t qkey;
	uint64_t wr_id;
	bool imm;
};

static enum pmv_test_fate
remember(void *arg, struct rte_mbuf *m, uint64_t index, int side)
{
	struct ud_lab *lab = arg;
	const void *p = rte_pktmbuf_read(m, 0, m->pkt_len, lab->frame[side]);

	if (p != lab->frame[side])
		memcpy(lab->frame[side], p, m->pkt_len);
	lab->frame_len[side] = m->pkt_len;
	return PMV_TEST_PASS;
}

static enum pmv_test_fate
remember0(void *arg, struct rte_mbuf *m, uint64_t index)
{
	return remember(arg, m, index, 0);
}

static enum pmv_test_fate
remember1(void *arg, struct rte_mbuf *m, uint64_t index)
{
	return remember(arg, m, index, 1);
}

static void
make_ah(struct ud_lab *lab, int from, bool is_v6)
{
	struct pmv_ah_attr attr = { .sgid_index = is_v6 };

	assert_int_equal(pmv_query_gid(lab->pair.node[!from].dev, is_v6, &attr.dgid), 0);
	assert_int_equal(pmv_create_ah(lab->pair.node[from].pd, &attr, &lab->ah[from][is_v6]), 0);
}

static struct ud_lab *
ud_open(void)
{
	const struct pmv_test_pair_param pp = { 0 };
	struct ud_lab *lab = test_calloc(1, sizeof(*lab));

	pmv_test_pair_open(&lab->pair, &pp);
	for (int side = 0; side < 2; side++) {
		lab->raw[side] = malloc(BYTES + 2 * GUARD);
		memset(lab->raw[side], 0xa5, BYTES + 2 * GUARD);
		lab->mem[side] = lab->raw[side] + GUARD;
		assert_int_equal(pmv_reg_mr(lab->pair.node[side].pd, lab->mem[side], BYTES,
					 PMV_ACCESS_LOCAL_WRITE, &lab->mr[side]),
			0);
		lab->qp[side] = pmv_test_qp_create(&lab->pair.node[side], 0, PMV_QPT_UD);
		pmv_test_qp_ud_rts(lab->qp[side], QKEY, 0xfffffe);
		make_ah(lab, side, false);
		make_ah(lab, side, true);
		lab->pair.link->end[side].out.hook = side == 0 ? remember0 : remember1;
		lab->pair.link->end[side].out.hook_arg = lab;
	}
	return lab;
}

static void
ud_close(struct ud_lab *lab)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < GUARD; i++) {
			assert_int_equal(lab->raw[side][i], 0xa5);
			assert_int_equal(lab->mem[side][BYTES + i], 0xa5);
		}
		assert_int_equal(pmv_destroy_qp(lab->qp[side]), 0);
		assert_int_equal(pmv_destroy_ah(lab->ah[side][0]), 0);
		assert_int_equal(pmv_destroy_ah(lab->ah[side][1]), 0);
		rc_lab_dereg(lab->mr[side]);
	}
	pmv_test_pair_close(&lab->pair);
	free(lab->raw[0]);
	free(lab->raw[1]);
	test_free(lab);
}

static void
run(struct ud_lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, 5);
	for (int side = 0; side < 2; side++)
		lab->nb_wc[side] += pmv_poll_cq(lab->pair.node[side].cq[0],
			&lab->wc[side][lab->nb_wc[side]], WC_MAX - lab->nb_wc[side]);
}

static int
post(struct ud_lab *lab, const struct message *msg)
{
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[msg->from] + msg->off), msg->len,
		pmv_mr_lkey(lab->mr[msg->from]) };
	struct pmv_send_wr wr = { .wr_id = msg->wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = msg->imm ? PMV_WR_SEND_WITH_IMM : PMV_WR_SEND,
		.send_flags = msg->flags,
		.imm_data = rte_cpu_to_be_32(0xcafe0000u + (uint32_t)msg->wr_id) };

	wr.wr.ud.ah = lab->ah[msg->from][msg->is_v6];
	wr.wr.ud.remote_qpn = pmv_qp_num(lab->qp[!msg->from]);
	wr.wr.ud.remote_qkey = msg->qkey != 0 ? msg->qkey : QKEY;
	return pmv_post_send(lab->qp[msg->from], &wr, 1);
}

static void
recv_at(struct ud_lab *lab, int side, uint32_t off, uint32_t len, uint64_t wr_id)
{
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[side] + off), len,
		pmv_mr_lkey(lab->mr[side]) };
	const struct pmv_recv_wr wr = { wr_id, &sge, 1 };

	assert_int_equal(pmv_post_recv(lab->qp[side], &wr, 1), 1);
}

static uint64_t
stat_of(struct ud_lab *lab, int side, const char *name)
{
	return pmv_worker_stat(lab->pair.node[side].worker[0], name);
}

static const uint8_t *
last_ip(const struct ud_lab *lab, int side)
{
	return lab->frame[side] + PMV_ETH_LEN;
}

/* The message is in the receive that lies at RECV_AT of the other side. */
static void
check_arrived(struct ud_lab *lab, const struct message *msg, const struct pmv_wc *wc)
{
	const uint8_t *area = lab->mem[!msg->from] + RECV_AT;
	const uint8_t *ip = last_ip(lab, msg->from);

	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->opcode, PMV_WC_RECV);
	assert_int_equal(wc->byte_len, 40 + msg->len);
	assert_int_equal(wc->wc_flags, PMV_WC_GRH | (msg->imm ? PMV_WC_WITH_IMM : 0));
	if (msg->imm)
		assert_int_equal(
			wc->imm_data, rte_cpu_to_be_32(0xcafe0000u + (uint32_t)msg->wr_id));
	assert_int_equal(wc->qp_num, pmv_qp_num(lab->qp[!msg->from]));
	assert_int_equal(wc->src_qp, pmv_qp_num(lab->qp[msg->from]));
	if (msg->is_v6) {
		assert_memory_equal(area, ip, PMV_IPV6_LEN);
	} else {
		for (int i = 0; i < 20; i++)
			assert_int_equal(area[i], 0);
		assert_memory_equal(area + 20, ip, PMV_IPV4_LEN);
		assert_int_equal(area[20], 0x45);
	}
	assert_memory_equal(area + 40, lab->mem[msg->from] + msg->off, msg->len);
	assert_int_equal(area[40 + msg->len], 0xa5);
}

/* PK-706, PK-707, SQ-510: every length that is special, both families, with and without immediate;
 * the buffer is exactly as long as needed. */
static void
ud_send__lengths_and_header_area(void **state)
{
	static const uint32_t lens[] = { 0, 1, 2, 3, 4, 16, 63, 1024, 4095, 4096 };
	struct ud_lab *lab = ud_open();
	uint64_t id = 0;

	for (size_t i = 0; i < RTE_DIM(lens); i++) {
		for (uint32_t k = 0; k < 4; k++) {
			const struct message msg = { .is_v6 = k & 1,
				.imm = k >> 1,
				.len = lens[i],
				.flags = PMV_SEND_SIGNALED,
				.wr_id = ++id };

			memset(lab->mem[1], 0xa5, BYTES);
			rc_lab_fill(lab->mem[0], lens[i], (uint32_t)id);
			recv_at(lab, 1, RECV_AT, 40 + lens[i], 100 + id);
			assert_int_equal(post(lab, &msg), 1);
			run(lab, 20);
			assert_int_equal(lab->nb_wc[0], 1);
			assert_int_equal(lab->nb_wc[1], 1);
			assert_int_equal(lab->wc[0][0].status, PMV_WC_SUCCESS);
			assert_int_equal(lab->wc[0][0].opcode, PMV_WC_SEND);
			assert_int_equal(lab->wc[0][0].wr_id, id);
			assert_int_equal(lab->wc[1][0].wr_id, 100 + id);
			check_arrived(lab, &msg, &lab->wc[1][0]);
			lab->nb_wc[0] = lab->nb_wc[1] = 0;
		}
	}
	ud_close(lab);
}

/* Longer than the path MTU: refused, nothing taken; so are other mistakes that post can see. */
static void
ud_send__post_refuses(void **state)
{
	struct ud_lab *lab = ud_open();
	struct pmv_sge sge[5] = { { (uintptr_t)lab->mem[0], 4097, pmv_mr_lkey(lab->mr[0]) } };
	struct pmv_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = PMV_WR_SEND };
	struct pmv_pd *other_pd;
	struct pmv_ah *other_ah;
	struct pmv_ah_attr attr = { .sgid_index = 0 };
	struct pmv_qp *fresh;

	wr.wr.ud.ah = lab->ah[0][0];
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	sge[0].length = 4000;
	sge[1] = sge[0];
	sge[1].length = 97;
	wr.num_sge = 2;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.num_sge = 5; /* the QP has 4 */
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.num_sge = 1;
	sge[0].length = 65;
	wr.send_flags = PMV_SEND_INLINE;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	wr.send_flags = 0;
	sge[0].length = 8;
	for (enum pmv_wr_opcode op = PMV_WR_RDMA_WRITE; op <= PMV_WR_RDMA_READ + 3; op++) {
		if (op == PMV_WR_SEND || op == PMV_WR_SEND_WITH_IMM)
			continue;
		wr.opcode = op;
		assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	}
	wr.opcode = PMV_WR_SEND;
	wr.wr.ud.ah = NULL;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	assert_int_equal(pmv_alloc_pd(lab->pair.node[0].dev, &other_pd), 0);
	assert_int_equal(pmv_query_gid(lab->pair.node[1].dev, 0, &attr.dgid), 0);
	assert_int_equal(pmv_create_ah(other_pd, &attr, &other_ah), 0);
	wr.wr.ud.ah = other_ah;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), -EINVAL);
	assert_int_equal(pmv_destroy_ah(other_ah), 0);
	assert_int_equal(pmv_dealloc_pd(other_pd), 0);
	fresh = pmv_test_qp_create(&lab->pair.node[0], 0, PMV_QPT_UD);
	wr.wr.ud.ah = lab->ah[0][0];
	assert_int_equal(pmv_post_send(fresh, &wr, 1), -ENOTCONN);
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 0);
	assert_int_equal(lab->pair.link->end[0].out.nb_frames, 0);
	ud_close(lab);
}

/* What an answer to the message in wc and area looks like on the wire, and that it arrives. */
static void
answer(struct ud_lab *lab, const struct pmv_wc *wc, bool is_v6, uint32_t flow_label, uint8_t tc)
{
	const struct pmv_sge sge = { (uintptr_t)lab->mem[1], 5, pmv_mr_lkey(lab->mr[1]) };
	struct pmv_send_wr wr = { .wr_id = 7,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED };
	uint32_t nb = lab->nb_wc[0];
	struct pmv_ah *ah;
	const uint8_t *ip;

	assert_int_equal(
		pmv_create_ah_from_wc(lab->pair.node[1].pd, wc, lab->mem[1] + RECV_AT, &ah), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc->src_qp;
	wr.wr.ud.remote_qkey = QKEY;
	memcpy(lab->mem[1], "hello", 5);
	recv_at(lab, 0, RECV_AT, 100, 8);
	assert_int_equal(pmv_post_send(lab->qp[1], &wr, 1), 1);
	assert_int_equal(pmv_destroy_ah(ah), 0); /* the request has its own copy */
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0], nb + 1);
	assert_int_equal(lab->wc[0][nb].wr_id, 8);
	assert_int_equal(lab->wc[0][nb].byte_len, 45);
	assert_memory_equal(lab->mem[0] + RECV_AT + 40, "hello", 5);
	ip = last_ip(lab, 1);
	if (is_v6) {
		const uint8_t *theirs = last_ip(lab, 0);

		assert_int_equal(pmv_be32_load(ip), 6u << 28 | (uint32_t)tc << 20 | flow_label);
		assert_memory_equal(ip + 8, theirs + 24, 16); /* from fd00::2 to fd00::1 */
		assert_memory_equal(ip + 24, theirs + 8, 16);
	} else {
		assert_int_equal(ip[1], tc);
		assert_memory_equal(ip + 12, last_ip(lab, 0) + 16, 4);
		assert_memory_equal(ip + 16, last_ip(lab, 0) + 12, 4);
	}
}

/* PK-706, PK-707: the answer goes back where the message came from, with IPv6's flow label and
 * traffic class, and neither over IPv4. */
static void
ud_send__answer_from_completion(void **state)
{
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct ud_lab *lab = ud_open();
		struct pmv_ah_attr attr = { .sgid_index = (uint16_t)is_v6,
			.flow_label = is_v6 ? 0xabcde : 0,
			.traffic_class = 0xb8 };
		struct pmv_ah *marked;
		struct pmv_ah *plain = lab->ah[0][is_v6];
		const struct message msg = { .is_v6 = is_v6, .len = 9 };

		assert_int_equal(
			pmv_query_gid(lab->pair.node[1].dev, (uint16_t)is_v6, &attr.dgid), 0);
		assert_int_equal(pmv_create_ah(lab->pair.node[0].pd, &attr, &marked), 0);
		lab->ah[0][is_v6] = marked;
		recv_at(lab, 1, RECV_AT, 100, 1);
		assert_int_equal(post(lab, &msg), 1);
		lab->ah[0][is_v6] = plain;
		assert_int_equal(pmv_destroy_ah(marked), 0);
		run(lab, 20);
		assert_int_equal(lab->nb_wc[1], 1);
		answer(lab, &lab->wc[1][0], is_v6, 0xabcde, is_v6 ? 0xb8 : 0);
		ud_close(lab);
	}
}

/* The 40 bytes may be garbage: no handle. */
static void
ud_send__no_answer_to_garbage(void **state)
{
	struct ud_lab *lab = ud_open();
	struct pmv_wc wc = { .wc_flags = PMV_WC_GRH };
	uint8_t grh[40] = { 0 };
	struct pmv_ah *ah = NULL;
	struct pmv_pd *pd = lab->pair.node[1].pd;
	const struct message msg = { .len = 9 };

	assert_int_equal(pmv_create_ah_from_wc(pd, &wc, grh, &ah), -EINVAL);
	recv_at(lab, 1, RECV_AT, 100, 1);
	assert_int_equal(post(lab, &msg), 1);
	run(lab, 20);
	memcpy(grh, lab->mem[1] + RECV_AT, 40);
	wc = lab->wc[1][0];
	for (int i = 20; i < 40; i++) {
		grh[i] ^= 0x40; /* the checksum no longer fits */
		assert_int_equal(pmv_create_ah_from_wc(pd, &wc, grh, &ah), -EINVAL);
		grh[i] ^= 0x40;
	}
	wc.wc_flags = 0;
	assert_int_equal(pmv_create_ah_from_wc(pd, &wc, grh, &ah), -EINVAL);
	assert_null(ah);
	ud_close(lab);
}

/* Q_Keys: right, wrong, and the controlled bit that stands for the sender's own. */
static void
ud_send__qkey_rules(void **state)
{
	struct ud_lab *lab = ud_open();
	const struct message wrong = { .len = 4, .qkey = QKEY ^ 1, .wr_id = 1 };
	const struct message own = { .len = 4, .qkey = 0x80000000u, .wr_id = 2 };
	const struct message own2 = { .len = 4, .qkey = 0xffffffffu, .wr_id = 3 };
	const struct message controlled = { .len = 4, .qkey = 0x80010000u, .wr_id = 4 };
	struct pmv_qp_attr a = { .qkey = 0x80010000u };

	recv_at(lab, 1, RECV_AT, 100, 1);
	assert_int_equal(post(lab, &wrong), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 0);
	assert_int_equal(stat_of(lab, 1, "rx_drop_qkey"), 1);
	assert_int_equal(post(lab, &own), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 1);
	recv_at(lab, 1, RECV_AT, 100, 2);
	assert_int_equal(post(lab, &own2), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 2);
	/* both ends use a controlled key: it is on the wire because the sender has it */
	recv_at(lab, 1, RECV_AT, 100, 3);
	assert_int_equal(pmv_modify_qp(lab->qp[1], &a, PMV_QP_QKEY), 0);
	assert_int_equal(post(lab, &controlled), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 2);
	assert_int_equal(stat_of(lab, 1, "rx_drop_qkey"), 2);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &a, PMV_QP_QKEY), 0);
	assert_int_equal(post(lab, &controlled), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 3);
	ud_close(lab);
}

/* Nothing posted, or too little room by one byte: dropped and counted; the receive stays and takes
 * the next one that fits. */
static void
ud_send__no_room_at_the_receiver(void **state)
{
	struct ud_lab *lab = ud_open();
	const struct message ten = { .len = 10, .wr_id = 1 };
	const struct message nine = { .len = 9, .wr_id = 2 };
	const struct message none = { .len = 0, .wr_id = 3 };

	memset(lab->mem[1], 0xa5, BYTES);
	assert_int_equal(post(lab, &ten), 1);
	run(lab, 20);
	assert_int_equal(stat_of(lab, 1, "rx_drop_ud_no_recv"), 1);
	recv_at(lab, 1, RECV_AT, 49, 1);
	assert_int_equal(post(lab, &ten), 1);
	run(lab, 20);
	assert_int_equal(stat_of(lab, 1, "rx_drop_ud_len"), 1);
	assert_int_equal(lab->nb_wc[1], 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lab->mem[1][RECV_AT + i], 0xa5);
	assert_int_equal(post(lab, &nine), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 1);
	check_arrived(lab, &nine, &lab->wc[1][0]);
	recv_at(lab, 1, 0, 39, 2); /* not even the header area */
	assert_int_equal(post(lab, &none), 1);
	run(lab, 20);
	assert_int_equal(stat_of(lab, 1, "rx_drop_ud_len"), 2);
	assert_int_equal(lab->nb_wc[1], 1);
	ud_close(lab);
}

/* Payload gathered from pieces, header area and payload scattered over pieces. */
static void
ud_send__gathers_and_scatters(void **state)
{
	struct ud_lab *lab = ud_open();
	const uint64_t a = (uintptr_t)lab->mem[0], b = (uintptr_t)lab->mem[1];
	const uint32_t ka = pmv_mr_lkey(lab->mr[0]), kb = pmv_mr_lkey(lab->mr[1]);
	const struct pmv_sge from[4] = { { a, 7, ka }, { a, 0, 1 }, { a + 100, 1, ka },
		{ a + 200, 1500, ka } };
	const struct pmv_sge to[4] = { { b + 1, 20, kb }, { b + 101, 19, kb }, { b + 201, 2, kb },
		{ b + 301, 4000, kb } };
	const struct pmv_recv_wr rwr = { 1, to, 4 };
	struct pmv_send_wr wr = { .sg_list = from, .num_sge = 4, .opcode = PMV_WR_SEND };
	uint8_t want[1508];

	rc_lab_fill(want, sizeof(want), 3);
	memcpy(lab->mem[0], want, 7);
	memcpy(lab->mem[0] + 100, want + 7, 1);
	memcpy(lab->mem[0] + 200, want + 8, 1500);
	wr.wr.ud.ah = lab->ah[0][1];
	wr.wr.ud.remote_qpn = pmv_qp_num(lab->qp[1]);
	wr.wr.ud.remote_qkey = QKEY;
	assert_int_equal(pmv_post_recv(lab->qp[1], &rwr, 1), 1);
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 1);
	assert_int_equal(lab->wc[1][0].byte_len, 40 + sizeof(want));
	assert_memory_equal(lab->mem[1] + 1, last_ip(lab, 0), 20);
	assert_memory_equal(lab->mem[1] + 101, last_ip(lab, 0) + 20, 19);
	assert_memory_equal(lab->mem[1] + 201, last_ip(lab, 0) + 39, 1);
	assert_memory_equal(lab->mem[1] + 202, want, 1);
	assert_memory_equal(lab->mem[1] + 301, want + 1, sizeof(want) - 1);
	ud_close(lab);
}

/* The port's pool is empty: requests queue, the queue fills, and everything leaves in order once
 * there are mbufs again, although the handle is gone meanwhile. */
static void
ud_send__queue_fills_and_drains(void **state)
{
	struct ud_lab *lab = ud_open();
	struct rte_mempool *pool = lab->pair.link->pool;
	const uint32_t nb_free = rte_mempool_avail_count(pool);
	struct rte_mbuf **hoard = test_calloc(nb_free, sizeof(*hoard));
	struct pmv_ah_attr attr = { .sgid_index = 0 };
	struct pmv_ah *kept = lab->ah[0][0];
	struct message msg = { .len = 4 };
	uint32_t nb = 0;

	assert_int_equal(pmv_query_gid(lab->pair.node[1].dev, 0, &attr.dgid), 0);
	assert_int_equal(pmv_create_ah(lab->pair.node[0].pd, &attr, &lab->ah[0][0]), 0);
	for (uint32_t i = 0; i < 64; i++)
		recv_at(lab, 1, RECV_AT + i * 64, 64, i);
	while (nb < nb_free && (hoard[nb] = rte_pktmbuf_alloc(pool)) != NULL)
		nb++;
	for (uint32_t i = 0; i < 64; i++) {
		msg.off = 4 * i;
		msg.wr_id = i;
		msg.flags = i % 4 == 3 ? PMV_SEND_SIGNALED : 0;
		memcpy(lab->mem[0] + msg.off, &i, 4);
		assert_int_equal(post(lab, &msg), 1);
	}
	assert_int_equal(post(lab, &msg), -ENOMEM);
	assert_int_equal(pmv_destroy_ah(lab->ah[0][0]), 0);
	lab->ah[0][0] = kept;
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 0);
	assert_true(stat_of(lab, 0, "no_mbuf") > 0);
	rte_pktmbuf_free_bulk(hoard, nb);
	run(lab, 100);
	assert_int_equal(lab->nb_wc[0], 16);
	assert_int_equal(lab->nb_wc[1], 64);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(lab->wc[0][i].wr_id, 4 * i + 3);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(lab->wc[1][i].wr_id, i);
		assert_memory_equal(lab->mem[1] + RECV_AT + i * 64 + 40, &i, 4);
	}
	test_free(hoard);
	ud_close(lab);
}

/* Inline bytes are copied at post; the key of the SGE is not looked at. */
static void
ud_send__inline(void **state)
{
	struct ud_lab *lab = ud_open();
	uint8_t bytes[64], keep[64];
	struct pmv_sge sge[2] = { { (uintptr_t)bytes, 60, 0 }, { (uintptr_t)bytes + 60, 4, 0 } };
	struct pmv_send_wr wr = { .sg_list = sge,
		.num_sge = 2,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_INLINE | PMV_SEND_SIGNALED };

	rc_lab_fill(bytes, sizeof(bytes), 5);
	memcpy(keep, bytes, sizeof(keep));
	wr.wr.ud.ah = lab->ah[0][0];
	wr.wr.ud.remote_qpn = pmv_qp_num(lab->qp[1]);
	wr.wr.ud.remote_qkey = QKEY;
	recv_at(lab, 1, RECV_AT, 200, 1);
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
	memset(bytes, 0, sizeof(bytes));
	memset(sge, 0xff, sizeof(sge));
	memset(&wr, 0xff, sizeof(wr));
	run(lab, 20);
	assert_int_equal(lab->nb_wc[0], 1);
	assert_int_equal(lab->nb_wc[1], 1);
	assert_memory_equal(lab->mem[1] + RECV_AT + 40, keep, 64);
	ud_close(lab);
}

/* A bad key: LOC_PROT_ERR although unsignalled, the send queue stops in SQE, what follows is
 * flushed; receiving goes on; back to RTS it sends again. */
static void
ud_send__bad_key_stops_the_send_queue(void **state)
{
	struct ud_lab *lab = ud_open();
	struct pmv_sge sge = { (uintptr_t)lab->mem[0], 8, 0x12345678 };
	struct pmv_send_wr wr[3] = { { .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 } };
	const struct message msg = { .len = 8, .wr_id = 4 };
	const struct message back = { .from = 1, .len = 8, .wr_id = 5 };
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_RTS };

	for (int i = 0; i < 3; i++) {
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = PMV_WR_SEND;
		wr[i].wr.ud.ah = lab->ah[0][0];
	}
	recv_at(lab, 0, RECV_AT, 100, 9);
	assert_int_equal(pmv_post_send(lab->qp[0], wr, 3), 3);
	run(lab, 5);
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_SQE);
	assert_int_equal(post(lab, &msg), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[0], 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(lab->wc[0][i].wr_id, i + 1);
		assert_int_equal(
			lab->wc[0][i].status, i == 0 ? PMV_WC_LOC_PROT_ERR : PMV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(lab->pair.link->end[0].out.nb_frames, 0);
	assert_int_equal(post(lab, &back), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[0], 5);
	assert_int_equal(lab->wc[0][4].wr_id, 9);
	assert_int_equal(lab->wc[0][4].status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &a, PMV_QP_STATE), 0);
	recv_at(lab, 1, RECV_AT, 100, 6);
	assert_int_equal(post(lab, &msg), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 1);
	ud_close(lab);
}

/* A receive whose memory is gone: LOC_PROT_ERR, the QP ends, the rest is flushed in order. */
static void
ud_send__bad_receive_ends_the_qp(void **state)
{
	struct ud_lab *lab = ud_open();
	const struct message msg = { .len = 8 };
	const struct pmv_sge sge = { (uintptr_t)lab->mem[1] + BYTES - 47, 100,
		pmv_mr_lkey(lab->mr[1]) };
	const struct pmv_recv_wr wr = { 1, &sge, 1 };

	assert_int_equal(pmv_post_recv(lab->qp[1], &wr, 1), 1);
	recv_at(lab, 1, RECV_AT, 100, 2);
	recv_at(lab, 1, RECV_AT, 100, 3);
	assert_int_equal(post(lab, &msg), 1);
	run(lab, 20);
	assert_int_equal(lab->nb_wc[1], 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(lab->wc[1][i].wr_id, i + 1);
		assert_int_equal(
			lab->wc[1][i].status, i == 0 ? PMV_WC_LOC_PROT_ERR : PMV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_ERR);
	ud_close(lab);
}

/* PK-711, AD-207: to a group: the group's MAC, QPN 0xffffff, default class and TTL; nobody joined
 * it, so it is dropped. */
static void
ud_send__to_a_group(void **state)
{
	static const struct {
		const char *group;
		uint8_t mac[6];
	} groups[2] = { { "239.1.2.3", { 0x01, 0x00, 0x5e, 1, 2, 3 } },
		{ "ff05::1234:5678", { 0x33, 0x33, 0x12, 0x34, 0x56, 0x78 } } };
	struct ud_lab *lab = ud_open();

	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct pmv_ah *plain = lab->ah[0][is_v6];
		struct pmv_ah_attr attr = { .sgid_index = (uint16_t)is_v6 };
		const struct message msg = { .is_v6 = is_v6, .len = 8 };
		struct pmv_ip_addr addr;
		struct pmv_bth bth;

		assert_int_equal(pmv_ip_addr_parse(groups[is_v6].group, &addr), 0);
		attr.dgid = addr.gid;
		assert_int_equal(pmv_create_ah(lab->pair.node[0].pd, &attr, &lab->ah[0][is_v6]), 0);
		recv_at(lab, 1, RECV_AT, 100, 1);
		assert_int_equal(post(lab, &msg), 1);
		run(lab, 20);
		assert_memory_equal(lab->frame[0], groups[is_v6].mac, 6);
		pmv_bth_parse(lab->frame[0] + (is_v6 ? 62 : 42), &bth);
		assert_int_equal(bth.dqpn, 0xffffff);
		assert_int_equal(last_ip(lab, 0)[is_v6 ? 7 : 8], 64);
		if (is_v6)
			assert_int_equal(pmv_be32_load(last_ip(lab, 0)), 6u << 28);
		else
			assert_int_equal(last_ip(lab, 0)[1], 0);
		assert_int_equal(lab->nb_wc[1], 0);
		assert_int_equal(stat_of(lab, 1, "rx_drop_mcast"), (uint64_t)is_v6 + 1);
		assert_int_equal(pmv_destroy_ah(lab->ah[0][is_v6]), 0);
		lab->ah[0][is_v6] = plain;
	}
	ud_close(lab);
}

/* The send queue waits in SQD and goes on in RTS; in ERR everything is flushed. */
static void
ud_send__states(void **state)
{
	struct ud_lab *lab = ud_open();
	struct message msg = { .len = 8, .flags = PMV_SEND_SIGNALED, .wr_id = 1 };
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_SQD };

	recv_at(lab, 1, RECV_AT, 100, 1);
	assert_int_equal(pmv_modify_qp(lab->qp[0], &a, PMV_QP_STATE), 0);
	assert_int_equal(post(lab, &msg), 1);
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0] + lab->nb_wc[1], 0);
	a.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(lab->qp[0], &a, PMV_QP_STATE), 0);
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 1);
	assert_int_equal(lab->nb_wc[1], 1);
	recv_at(lab, 0, RECV_AT, 100, 20);
	a.qp_state = PMV_QPS_ERR;
	assert_int_equal(pmv_modify_qp(lab->qp[0], &a, PMV_QP_STATE), 0);
	msg.wr_id = 2;
	assert_int_equal(post(lab, &msg), 1);
	recv_at(lab, 0, RECV_AT, 100, 21);
	run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 4);
	assert_int_equal(lab->wc[0][1].wr_id, 20);
	assert_int_equal(lab->wc[0][2].wr_id, 2);
	assert_int_equal(lab->wc[0][3].wr_id, 21);
	for (int i = 1; i < 4; i++)
		assert_int_equal(lab->wc[0][i].status, PMV_WC_WR_FLUSH_ERR);
	ud_close(lab);
}

/* Thousands of datagrams through a queue of 64 and a CQ that wraps: each once, in order. */
static void
ud_send__long_stream(void **state)
{
	struct ud_lab *lab = ud_open();
	struct message msg = { .len = 64, .is_v6 = true };
	uint32_t nb_sent = 0, nb_got = 0, nb_done = 0;

	for (uint32_t i = 0; i < 64; i++)
		recv_at(lab, 1, RECV_AT + i * 128, 104, i);
	while (nb_got < 5000) {
		while (nb_sent < 5000 && nb_sent - nb_got < 60) {
			msg.wr_id = nb_sent;
			msg.flags = nb_sent & 1 ? PMV_SEND_SIGNALED : 0;
			msg.off = nb_sent % 64 * 64; /* its own until it is through */
			memcpy(lab->mem[0] + msg.off, &nb_sent, 4);
			if (post(lab, &msg) != 1)
				break;
			nb_sent++;
		}
		run(lab, 5);
		for (uint32_t i = 0; i < lab->nb_wc[1]; i++, nb_got++) {
			uint32_t slot = (uint32_t)lab->wc[1][i].wr_id;

			assert_int_equal(slot, nb_got % 64);
			assert_memory_equal(lab->mem[1] + RECV_AT + slot * 128 + 40, &nb_got, 4);
			recv_at(lab, 1, RECV_AT + slot * 128, 104, slot);
		}
		for (uint32_t i = 0; i < lab->nb_wc[0]; i++, nb_done++)
			assert_int_equal(lab->wc[0][i].wr_id, 2 * nb_done + 1);
		lab->nb_wc[0] = lab->nb_wc[1] = 0;
	}
	assert_int_equal(nb_done, 2500);
	ud_close(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud_send__lengths_and_header_area),
		cmocka_unit_test(ud_send__post_refuses),
		cmocka_unit_test(ud_send__answer_from_completion),
		cmocka_unit_test(ud_send__no_answer_to_garbage),
		cmocka_unit_test(ud_send__qkey_rules),
		cmocka_unit_test(ud_send__no_room_at_the_receiver),
		cmocka_unit_test(ud_send__gathers_and_scatters),
		cmocka_unit_test(ud_send__queue_fills_and_drains),
		cmocka_unit_test(ud_send__inline),
		cmocka_unit_test(ud_send__bad_key_stops_the_send_queue),
		cmocka_unit_test(ud_send__bad_receive_ends_the_qp),
		cmocka_unit_test(ud_send__to_a_group),
		cmocka_unit_test(ud_send__states),
		cmocka_unit_test(ud_send__long_stream),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
