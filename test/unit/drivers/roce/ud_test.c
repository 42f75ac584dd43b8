// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/ud: datagrams between two nodes; the 40 bytes in front; Q_Keys; what is too long,
 * too short or not allowed.
 */
#include "drivers/roce/ud.h"

#include <errno.h>

#include "lib/wire/flow_label.h"
#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

/* An address handle on node `side` for the other node. */
static struct pmv_ah *
ah_make(struct rig *r, int side, bool v6, const struct pmv_ah_attr *more)
{
	struct pmv_ah_attr a = more != NULL ? *more : (struct pmv_ah_attr){ 0 };
	struct pmv_ah *ah = NULL;

	a.sgid_index = v6;
	assert_int_equal(pmv_query_gid(r->pair.node[!side].dev, v6, &a.dgid), 0);
	assert_int_equal(pmv_create_ah(r->pair.node[side].pd, &a, &ah), 0);
	return ah;
}

static int
post_send(struct rig *r, int side, struct pmv_ah *ah, uint32_t len, struct pmv_send_wr *more)
{
	const struct pmv_sge sge = { (uintptr_t)r->mem[side], len, pmv_mr_lkey(r->mr[side]) };
	struct pmv_send_wr wr = { .wr_id = 7,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pmv_qp_num(r->ud[!side]);
	wr.wr.ud.remote_qkey = RIG_QKEY;
	if (more != NULL)
		wr = *more;
	return pmv_post_send(r->ud[side], &wr, 1);
}

static void
post_recv(struct rig *r, int side, uint32_t off, uint32_t len, uint32_t lkey)
{
	const struct pmv_sge sge = { (uintptr_t)r->mem[side] + off, len, lkey };
	const struct pmv_recv_wr wr = { 100 + off, &sge, 1 };

	assert_int_equal(pmv_post_recv(r->ud[side], &wr, 1), 1);
}

static struct pmv_wc
one_wc(struct rig *r, int side)
{
	struct pmv_wc wc[2];

	assert_int_equal(pmv_poll_cq(r->pair.node[side].cq[0], wc, 2), 1);
	return wc[0];
}

static void
no_wc(struct rig *r, int side)
{
	struct pmv_wc wc;

	assert_int_equal(pmv_poll_cq(r->pair.node[side].cq[0], &wc, 1), 0);
}

static void
fill(struct rig *r, int side)
{
	for (uint32_t i = 0; i < RIG_MEM; i++)
		r->mem[side][i] = (uint8_t)(i * 11 + i / 256);
}

/* The last frame that left node 0. */
static uint8_t sent[2048];
static uint32_t sent_len;

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	sent_len = m->pkt_len;
	assert_int_equal(m->nb_segs, 1);
	memcpy(sent, rte_pktmbuf_mtod(m, void *), RTE_MIN(m->pkt_len, (uint32_t)sizeof(sent)));
	return PMV_TEST_PASS;
}

/* PK-707: IPv4; every byte of the buffer. */
static void
ud__ipv4_grh(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	struct pmv_wc wc;
	uint32_t sum = 0;

	fill(r, 0);
	r->pair.link->end[0].out.hook = record;
	post_recv(r, 1, 0, 4096, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(post_send(r, 0, ah, 16, NULL), 1);
	wc = one_wc(r, 0); /* at once: the frame is a copy */
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.opcode, PMV_WC_SEND);
	rig_run(r, 50);
	wc = one_wc(r, 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.opcode, PMV_WC_RECV);
	assert_int_equal(wc.wr_id, 100);
	assert_int_equal(wc.byte_len, 56);
	assert_int_equal(wc.src_qp, pmv_qp_num(r->ud[0]));
	assert_int_equal(wc.qp_num, pmv_qp_num(r->ud[1]));
	assert_int_equal(wc.wc_flags, PMV_WC_GRH);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(r->mem[1][i], 0);
	assert_memory_equal(r->mem[1] + 20, sent + 14, 20);
	assert_int_equal(r->mem[1][20], 0x45);
	for (uint32_t i = 20; i < 40; i += 2)
		sum += pmv_be16_load(r->mem[1] + i);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_memory_equal(r->mem[1] + 40, r->mem[0], 16);
	for (uint32_t i = 56; i < RIG_MEM; i++)
		assert_int_equal(r->mem[1][i], 0xa5);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

/* PK-706: IPv6, and the answer by a handle made from the completion. */
static void
ud__ipv6_grh_and_answer(void **state)
{
	struct rig *r = rig_open(&plain);
	const struct pmv_ah_attr a = {
		.flow_label = 0x12345, .traffic_class = 0x6b, .hop_limit = 9
	};
	struct pmv_ah *ah = ah_make(r, 0, true, &a), *back = NULL;
	struct pmv_wc wc;
	uint8_t request[40];

	fill(r, 0);
	fill(r, 1);
	r->pair.link->end[0].out.hook = record;
	post_recv(r, 1, 1000, 100, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(post_send(r, 0, ah, 33, NULL), 1);
	one_wc(r, 0);
	rig_run(r, 50);
	wc = one_wc(r, 1);
	assert_int_equal(wc.byte_len, 73);
	assert_memory_equal(r->mem[1] + 1000, sent + 14, 40);
	memcpy(request, sent + 14, 40);
	assert_int_equal(pmv_be32_load(request), 0x66812345); /* DSCP kept, ECN 00 */
	assert_int_equal(request[7], 9);
	assert_int_equal(pmv_be16_load(sent + 54), pmv_flow_label_sport(0x12345));
	assert_memory_equal(r->mem[1] + 1040, r->mem[0], 33);

	assert_int_equal(
		pmv_create_ah_from_wc(r->pair.node[1].pd, &wc, r->mem[1] + 1000, &back), 0);
	r->pair.link->end[1].out.hook = record;
	post_recv(r, 0, 0, 100, pmv_mr_lkey(r->mr[0]));
	assert_int_equal(post_send(r, 1, back, 4, NULL), 1);
	one_wc(r, 1);
	rig_run(r, 50);
	wc = one_wc(r, 0);
	assert_int_equal(wc.byte_len, 44);
	assert_memory_equal(sent + 14 + 8, request + 24, 16); /* from where it was sent to */
	assert_memory_equal(sent + 14 + 24, request + 8, 16);
	assert_int_equal(pmv_be32_load(sent + 14), 0x66812345);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	assert_int_equal(pmv_destroy_ah(back), 0);
	rig_close(r);
}

static void
ud__immediate_solicited_inline(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, true, NULL);
	uint8_t text[5] = { 1, 2, 3, 4, 5 };
	const struct pmv_sge sge[] = { { (uintptr_t)text, 2, 0xbad },
		{ (uintptr_t)text + 2, 3, 0 } };
	struct pmv_send_wr wr = { .wr_id = 1,
		.sg_list = sge,
		.num_sge = 2,
		.opcode = PMV_WR_SEND_WITH_IMM,
		.imm_data = rte_cpu_to_be_32(0xdeadbeef),
		.send_flags = PMV_SEND_INLINE | PMV_SEND_SOLICITED };
	struct pmv_wc wc;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pmv_qp_num(r->ud[1]);
	wr.wr.ud.remote_qkey = RIG_QKEY;
	r->pair.link->end[0].out.hook = record;
	post_recv(r, 1, 0, 45, pmv_mr_lkey(r->mr[1])); /* just enough */
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), 1);
	memset(text, 0xff, sizeof(text));
	no_wc(r, 0); /* not asked for */
	rig_run(r, 50);
	wc = one_wc(r, 1);
	assert_int_equal(wc.imm_data, rte_cpu_to_be_32(0xdeadbeef));
	assert_int_equal(wc.wc_flags, PMV_WC_GRH | PMV_WC_WITH_IMM | PMV_WC_SOLICITED);
	assert_int_equal(wc.byte_len, 45);
	assert_memory_equal(r->mem[1] + 40, "\1\2\3\4\5", 5);
	assert_int_equal(r->mem[1][45], 0xa5);
	assert_int_equal(sent[62], PMV_OPCODE_UD_SEND_ONLY_IMM);
	assert_int_equal(sent[63], 0x80 | 0x40 | 3 << 4); /* SE, M, PadCnt */
	assert_int_equal(sent[62 + 8], 0);                /* no AckReq */
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

/* PSNs count the datagrams and wrap; zero-length ones are datagrams too. */
static void
ud__psn_and_zero_length(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	static const uint32_t psns[] = { 0xffffff, 0, 1 };

	r->pair.link->end[0].out.hook = record;
	for (uint32_t i = 0; i < 3; i++) {
		post_recv(r, 1, 0, 40, pmv_mr_lkey(r->mr[1]));
		assert_int_equal(post_send(r, 0, ah, 0, NULL), 1);
		one_wc(r, 0);
		rig_run(r, 50);
		assert_int_equal(one_wc(r, 1).byte_len, 40);
		assert_int_equal(pmv_be24_load(sent + 42 + 9), psns[i]);
	}
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

/* IBTA vol. 1, 10.2.5: bit 31 in the request means the queue pair's own. */
static void
ud__qkey(void **state)
{
	static const struct {
		uint32_t request;
		uint32_t own; /* sender's */
		bool arrives;
	} cases[] = { { RIG_QKEY, 1, true }, { 0x80000000, RIG_QKEY, true },
		{ 0xffffffff, RIG_QKEY, true }, { 0x80000000 | RIG_QKEY, 1, false },
		{ RIG_QKEY + 1, RIG_QKEY, false }, { 0, RIG_QKEY, false } };
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmv_send_wr wr = { .opcode = PMV_WR_SEND };

		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = pmv_qp_num(r->ud[1]);
		wr.wr.ud.remote_qkey = cases[i].request;
		r->ud[0]->attr.qkey = cases[i].own;
		if (cases[i].arrives)
			post_recv(r, 1, 0, 40, pmv_mr_lkey(r->mr[1]));
		rig_stats_mark(r, 1);
		assert_int_equal(post_send(r, 0, NULL, 0, &wr), 1);
		rig_run(r, 50);
		rig_stats_expect(r, 1, cases[i].arrives ? NULL : "rx_drop_qkey", 1);
		if (cases[i].arrives)
			one_wc(r, 1);
		else
			no_wc(r, 1);
	}
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

/* No receive, or one that is too short: dropped, and the receive waits for one that fits. */
static void
ud__receive_missing_or_short(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);

	rig_stats_mark(r, 1);
	post_send(r, 0, ah, 16, NULL);
	rig_run(r, 50);
	rig_stats_expect(r, 1, "rx_drop_ud_no_recv", 1);
	post_recv(r, 1, 0, 55, pmv_mr_lkey(r->mr[1]));
	rig_stats_mark(r, 1);
	post_send(r, 0, ah, 16, NULL);
	rig_run(r, 50);
	rig_stats_expect(r, 1, "rx_drop_ud_len", 1);
	no_wc(r, 1);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(r->mem[1][i], 0xa5);
	post_send(r, 0, ah, 15, NULL);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 1).byte_len, 55);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

static void
ud__longest(void **state)
{
	const struct pmv_test_pair_param small = { .ip_mtu = 1200 }; /* path MTU 1024 */
	struct rig *r = rig_open(&small);
	struct pmv_ah *ah = ah_make(r, 0, true, NULL);

	fill(r, 0);
	post_recv(r, 1, 0, 4096, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(post_send(r, 0, ah, 1025, NULL), -EINVAL);
	assert_int_equal(post_send(r, 0, ah, 1024, NULL), 1);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 1).byte_len, 1064);
	assert_memory_equal(r->mem[1] + 40, r->mem[0], 1024);
	/* a peer that sends more than our port's path MTU */
	struct rig_frame f = rig_frame(PMV_OPCODE_UD_SEND_ONLY, pmv_qp_num(r->ud[1]), 0);
	const struct pmv_deth deth = { RIG_QKEY, 5 };

	pmv_deth_build(f.ext, &deth);
	f.payload = 1028;
	post_recv(r, 1, 0, 4096, pmv_mr_lkey(r->mr[1]));
	rig_expect(r, &f, "rx_drop_ud_len");
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

static void
ud__post_errors(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	struct pmv_pd *pd = NULL;
	struct pmv_ah *foreign = NULL;
	struct pmv_ah_attr a = { 0 };
	struct pmv_send_wr wr = { .opcode = PMV_WR_SEND };
	struct pmv_sge sge[5] = { { 0 } };

	wr.wr.ud.remote_qkey = RIG_QKEY;
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL); /* no handle */
	wr.wr.ud.ah = ah;
	for (uint32_t op = 0; op < 16; op++) {
		wr.opcode = (enum pmv_wr_opcode)op;
		if (op != PMV_WR_SEND && op != PMV_WR_SEND_WITH_IMM)
			assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL);
	}
	wr.opcode = PMV_WR_SEND;
	wr.sg_list = sge;
	wr.num_sge = 5; /* 4 granted */
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL);
	wr.num_sge = 1;
	sge[0].length = 65;
	wr.send_flags = PMV_SEND_INLINE; /* 64 granted */
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL);
	wr.num_sge = 2;
	wr.send_flags = 0;
	sge[0].length = sge[1].length = 0x80000000; /* MR-409: the sum does not wrap */
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL);
	wr.num_sge = 0;
	/* another PD's handle */
	assert_int_equal(pmv_alloc_pd(r->pair.node[0].dev, &pd), 0);
	assert_int_equal(pmv_query_gid(r->pair.node[1].dev, 0, &a.dgid), 0);
	assert_int_equal(pmv_create_ah(pd, &a, &foreign), 0);
	wr.wr.ud.ah = foreign;
	assert_int_equal(post_send(r, 0, NULL, 0, &wr), -EINVAL);
	wr.wr.ud.ah = ah;
	for (uint32_t s = PMV_QPS_RESET; s < PMV_QPS_RTS; s++) {
		r->ud[0]->state = (uint8_t)s;
		assert_int_equal(post_send(r, 0, NULL, 0, &wr), -ENOTCONN);
		assert_int_equal(pmv_post_send(r->ud[0], &wr, 0), 0);
	}
	r->ud[0]->state = PMV_QPS_RTS;
	no_wc(r, 0);
	assert_int_equal(pmv_destroy_ah(foreign), 0);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	assert_int_equal(pmv_dealloc_pd(pd), 0);
	rig_close(r);
}

/* A bad local key: SQE, the rest flushed, receives go on; back to RTS. */
static void
ud__send_error(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL), *back = ah_make(r, 1, false, NULL);
	struct pmv_sge sge = { (uintptr_t)r->mem[0], 8, 0xbad };
	struct pmv_send_wr wr[3] = { { .wr_id = 1, .opcode = PMV_WR_SEND },
		{ .wr_id = 2, .opcode = PMV_WR_SEND, .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 3, .opcode = PMV_WR_SEND } };
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_RTS, .cur_qp_state = PMV_QPS_SQE };
	struct pmv_wc wc[4];

	for (int i = 0; i < 3; i++) {
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = pmv_qp_num(r->ud[1]);
		wr[i].wr.ud.remote_qkey = RIG_QKEY;
	}
	post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(pmv_post_send(r->ud[0], wr, 3), 3);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(wc[0].status, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[1].wr_id, 3);
	assert_int_equal(wc[1].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_qp_get_state(r->ud[0]), PMV_QPS_SQE);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 1).status, PMV_WC_SUCCESS); /* the first one left */
	assert_int_equal(pmv_post_send(r->ud[0], wr, 1), 1);
	assert_int_equal(one_wc(r, 0).status, PMV_WC_WR_FLUSH_ERR);
	/* datagrams still arrive */
	post_recv(r, 0, 512, 64, pmv_mr_lkey(r->mr[0]));
	post_send(r, 1, back, 8, NULL);
	one_wc(r, 1);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 0).status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_modify_qp(r->ud[0], &attr, PMV_QP_STATE | PMV_QP_CUR_STATE), 0);
	post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(pmv_post_send(r->ud[0], wr, 1), 1);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 1).status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	assert_int_equal(pmv_destroy_ah(back), 0);
	rig_close(r);
}

/* A receive whose key is bad, or whose second piece is: nothing is written, the QP ends. */
static void
ud__receive_error(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	struct pmv_wc wc[4];

	post_recv(r, 1, 0, 64, 0xbad);
	post_recv(r, 1, 64, 64, pmv_mr_lkey(r->mr[1]));
	post_send(r, 0, ah, 8, NULL);
	rig_run(r, 50);
	assert_int_equal(pmv_poll_cq(r->pair.node[1].cq[0], wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 100);
	assert_int_equal(wc[0].status, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[1].wr_id, 164);
	assert_int_equal(wc[1].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_qp_get_state(r->ud[1]), PMV_QPS_ERR);
	for (uint32_t i = 0; i < 256; i++)
		assert_int_equal(r->mem[1][i], 0xa5);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

/* PK-711. */
static void
ud__multicast_destination(void **state)
{
	static const struct {
		const char *addr;
		uint8_t mac[6];
	} groups[] = { { "239.1.2.3", { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 } },
		{ "ff05::1234:5678", { 0x33, 0x33, 0x12, 0x34, 0x56, 0x78 } } };
	struct rig *r = rig_open(&plain);

	r->pair.link->end[0].out.hook = record;
	for (uint16_t v6 = 0; v6 < 2; v6++) {
		struct pmv_ah_attr a = { .sgid_index = v6 };
		struct pmv_send_wr wr = { .opcode = PMV_WR_SEND };
		struct pmv_ip_addr ip;
		struct pmv_ah *ah = NULL;
		uint32_t l4 = v6 ? 62 : 42;

		assert_int_equal(pmv_ip_addr_parse(groups[v6].addr, &ip), 0);
		a.dgid = ip.gid;
		assert_int_equal(pmv_create_ah(r->pair.node[0].pd, &a, &ah), 0);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 0x33;
		wr.wr.ud.remote_qkey = RIG_QKEY;
		rig_stats_mark(r, 1);
		assert_int_equal(post_send(r, 0, NULL, 0, &wr), 1);
		rig_run(r, 50);
		rig_stats_expect(r, 1, "rx_drop_mcast", 1);
		assert_memory_equal(sent, groups[v6].mac, 6);
		assert_memory_equal(
			sent + (v6 ? 38 : 30), v6 ? ip.gid.raw : ip.gid.raw + 12, v6 ? 16 : 4);
		assert_int_equal(pmv_be24_load(sent + l4 + 5), 0xffffff);
		assert_int_equal(sent[v6 ? 21 : 22], 64);
		assert_int_equal(pmv_destroy_ah(ah), 0);
	}
	rig_close(r);
}

/* The port is blocked: requests wait, with their own copy of the address, and leave in order. */
static void
ud__waits_for_the_port(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	struct pmv_roce_worker *w = rig_worker(r, 0);
	struct rte_ring *ring = r->pair.link->end[0].tx[0];
	uint32_t posted = 0, done = 0, seen = 0;
	struct pmv_wc wc[64];
	uint32_t nb;

	/* until the queue itself is full */
	for (;;) {
		memcpy(r->mem[0], &posted, sizeof(posted));
		if (post_send(r, 0, ah, 4, NULL) != 1)
			break;
		posted++;
		done += pmv_poll_cq(r->pair.node[0].cq[0], wc, 64);
		memset(r->mem[0], 0xff, 4);
	}
	memcpy(r->mem[0], &posted, sizeof(posted)); /* those that wait are gathered later */
	assert_int_equal(posted - done, 64);
	assert_int_equal(pmv_roce_tx_room(&w->tx), 0);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	while (done < posted || w->tx.head != w->tx.tail) {
		void *m;

		while (rte_ring_dequeue(ring, &m) == 0) {
			uint32_t n;

			memcpy(&n, rte_pktmbuf_mtod_offset((struct rte_mbuf *)m, void *, 62), 4);
			assert_int_equal(n, seen < posted - 64 ? seen : posted);
			assert_int_equal(pmv_be24_load(rte_pktmbuf_mtod_offset(
						 (struct rte_mbuf *)m, uint8_t *, 51)),
				(0xffffff + seen) & 0xffffff);
			seen++;
			rte_pktmbuf_free(m);
		}
		pmv_worker_poll_at(&w->base, ++r->pair.now);
		while ((nb = pmv_poll_cq(r->pair.node[0].cq[0], wc, 64)) > 0) {
			for (uint32_t i = 0; i < nb; i++)
				assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
			done += nb;
		}
	}
	assert_int_equal(done, posted);
	rig_close(r);
}

/* SQD: taken, not sent; RTS: sent. ERR: flushed. */
static void
ud__sqd_and_err(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_ah *ah = ah_make(r, 0, false, NULL);
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD };

	post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
	assert_int_equal(pmv_modify_qp(r->ud[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(post_send(r, 0, ah, 8, NULL), 1);
	rig_run(r, 50);
	no_wc(r, 0);
	no_wc(r, 1);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(r->ud[0], &attr, PMV_QP_STATE), 0);
	rig_run(r, 50);
	assert_int_equal(one_wc(r, 0).status, PMV_WC_SUCCESS);
	assert_int_equal(one_wc(r, 1).status, PMV_WC_SUCCESS);
	attr.qp_state = PMV_QPS_ERR;
	assert_int_equal(pmv_modify_qp(r->ud[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(post_send(r, 0, ah, 8, NULL), 1);
	assert_int_equal(one_wc(r, 0).status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_destroy_ah(ah), 0);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud__ipv4_grh),
		cmocka_unit_test(ud__ipv6_grh_and_answer),
		cmocka_unit_test(ud__immediate_solicited_inline),
		cmocka_unit_test(ud__psn_and_zero_length),
		cmocka_unit_test(ud__qkey),
		cmocka_unit_test(ud__receive_missing_or_short),
		cmocka_unit_test(ud__longest),
		cmocka_unit_test(ud__post_errors),
		cmocka_unit_test(ud__send_error),
		cmocka_unit_test(ud__receive_error),
		cmocka_unit_test(ud__multicast_destination),
		cmocka_unit_test(ud__waits_for_the_port),
		cmocka_unit_test(ud__sqd_and_err),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
