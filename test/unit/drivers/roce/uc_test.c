// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/uc: which packets begin, continue and end a message, by hand-made frames; what costs
 * a message and what costs the queue pair; the send queue's errors and its draining.
 */
#include "drivers/roce/uc.h"

#include <errno.h>

#include "lib/wire/ext_hdr.h"
#include "test/unit/drivers/roce/rig.h"

#define MTU     1024u
#define RQ_PSN  0xfffff8u /* of node 1 */
#define PSN_MAX 0xffffffu

static const struct pmv_test_pair_param plain;

static void
post_recv(struct rig *r, int side, uint32_t off, uint32_t len, uint32_t lkey)
{
	const struct pmv_sge sge = { (uintptr_t)r->mem[side] + off, len, lkey };
	const struct pmv_recv_wr wr = { 100 + off, &sge, 1 };

	assert_int_equal(pmv_post_recv(r->uc[side], &wr, 1), 1);
}

static uint32_t
poll(struct rig *r, int side, struct pmv_wc *wc)
{
	return pmv_poll_cq(r->pair.node[side].cq[0], wc, 4);
}

/* A frame from node 0, with a RETH where the opcode has one. */
struct packet {
	uint8_t opcode;
	uint32_t psn; /* behind RQ_PSN */
	uint32_t payload;
	uint32_t dma_len;
	uint32_t rkey; /* 0: the right one */
	const char *drop;
};

static void
feed(struct rig *r, const struct packet *p)
{
	struct rig_frame f =
		rig_frame(p->opcode, pmv_qp_num(r->uc[1]), (RQ_PSN + p->psn) & PSN_MAX);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1] + 0x8000,
		p->rkey != 0 ? p->rkey : pmv_mr_rkey(r->mr[1]), p->dma_len };

	if (pmv_opcode_has(&pmv_opcode_table[p->opcode], PMV_EXT_RETH))
		pmv_reth_build(f.ext, &reth);
	f.bth.ackreq = true; /* must not matter */
	f.payload = p->payload;
	if (p->drop != NULL) {
		rig_expect(r, &f, p->drop);
	} else {
		uint8_t bytes[2048];
		uint32_t len = rig_frame_write(&f, bytes);

		rig_stats_mark(r, 1);
		pmv_test_link_inject(r->pair.link, 1, bytes, len);
		pmv_worker_poll_at(r->pair.node[1].worker[0], r->pair.now);
		rig_stats_expect(r, 1, NULL, 0);
	}
}

/* IBTA vol. 1, 9.8.2: rows of one conversation; `bytes` of the message that completes there. */
static void
uc__sequences(void **state)
{
	static const struct {
		struct packet p;
		uint32_t bytes; /* 0: no completion */
	} rows[] = {
		{ { 0x20, 0, MTU, 0, 0, NULL }, 0 },
		{ { 0x21, 1, MTU, 0, 0, NULL }, 0 },
		{ { 0x22, 2, 7, 0, 0, NULL }, 2 * MTU + 7 },
		/* a copy of it, and of its beginning */
		{ { 0x22, 2, 7, 0, 0, "rx_drop_dup" }, 0 },
		{ { 0x20, 0, MTU, 0, 0, "rx_drop_dup" }, 0 },
		/* MIDDLE and LAST without a beginning */
		{ { 0x21, 3, MTU, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x22, 3, 7, 0, 0, "rx_drop_uc_lost" }, 0 },
		/* the beginning is still good: nothing newer was taken */
		{ { 0x20, 3, MTU, 0, 0, NULL }, 0 },
		/* a copy in the middle of a message does not disturb it */
		{ { 0x20, 3, MTU, 0, 0, "rx_drop_dup" }, 0 },
		/* another kind than the one that runs ends it */
		{ { 0x28, 4, 7, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x22, 4, 7, 0, 0, "rx_drop_uc_lost" }, 0 },
		/* the end is lost, the next one takes the receive, with and without a gap */
		{ { 0x20, 5, MTU, 0, 0, NULL }, 0 },
		{ { 0x24, 6, 9, 0, 0, NULL }, 9 },
		{ { 0x20, 7, MTU, 0, 0, NULL }, 0 },
		{ { 0x24, 9, 10, 0, 0, NULL }, 10 },
		/* a gap in the middle; the rest is lost, overtaken packets too */
		{ { 0x20, 10, MTU, 0, 0, NULL }, 0 },
		{ { 0x21, 12, MTU, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x21, 11, MTU, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x22, 13, 3, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x24, 14, 11, 0, 0, NULL }, 11 },
		/* payloads that the opcode does not allow cost their message */
		{ { 0x20, 15, MTU - 4, 0, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x22, 16, 5, 0, 0, "rx_drop_uc_lost" }, 0 },
		{ { 0x20, 17, MTU, 0, 0, NULL }, 0 },
		{ { 0x22, 18, 0, 0, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x24, 19, MTU + 4, 0, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x24, 20, MTU, 0, 0, NULL }, MTU },
		/* WRITEs: their beginning tells the length */
		{ { 0x26, 21, MTU, 2 * MTU, 0, NULL }, 0 },
		{ { 0x28, 22, MTU, 0, 0, NULL }, 0 },
		{ { 0x26, 23, MTU, 2 * MTU, 0, NULL }, 0 },
		{ { 0x29, 24, MTU, 0, 0, NULL }, 2 * MTU },
		{ { 0x26, 25, MTU, 2 * MTU, 0, NULL }, 0 },
		{ { 0x28, 26, MTU - 1, 0, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x2a, 27, 8, 9, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x2a, 28, 8, 8, 0, NULL }, 0 },
		{ { 0x2b, 29, 8, 8, 0, NULL }, 8 },
		{ { 0x2a, 30, 0, 0, 1, NULL }, 0 }, /* no bytes: no key is looked at */
		/* a MIDDLE that leaves nothing for the LAST */
		{ { 0x26, 31, MTU, 2 * MTU, 0, NULL }, 0 },
		{ { 0x27, 32, MTU, 0, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x2a, 33, 8, 8, 0x1234, "rx_drop_uc_refused" }, 0 },
		{ { 0x2a, 34, 8, 0x80000001, 0, "rx_drop_uc_refused" }, 0 },
		{ { 0x24, 35, 12, 0, 0, NULL }, 12 },
	};
	struct rig *r = rig_open(&plain);
	uint64_t answers = r->pair.link->end[1].out.nb_frames;

	for (uint32_t i = 0; i < RTE_DIM(rows); i++)
		post_recv(r, 1, 0, 0x4000, pmv_mr_lkey(r->mr[1]));
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		struct pmv_wc wc[4];

		feed(r, &rows[i].p);
		assert_int_equal(poll(r, 1, wc), rows[i].bytes != 0);
		if (rows[i].bytes == 0)
			continue;
		assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
		assert_int_equal(wc[0].byte_len, rows[i].bytes);
	}
	rig_run(r, 100);
	assert_int_equal(r->pair.link->end[1].out.nb_frames, answers); /* never an answer */
	assert_int_equal(pmv_qp_get_state(r->uc[1]), PMV_QPS_RTS);
	rig_close(r);
}

/* How far behind is a copy, how far is a peer that went on. */
static void
uc__psn_window(void **state)
{
	static const struct {
		uint32_t psn; /* behind the one expected */
		bool taken;
	} rows[] = { { PSN_MAX, false }, { 0x1000000 - 65536, false }, { 0x1000000 - 65537, true },
		{ 0x800000, true }, { 0x7fffff, true }, { 0, true }, { 1, true } };
	struct rig *r = rig_open(&plain);
	uint32_t next = 0;

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		struct packet p = { 0x2a, next + rows[i].psn, 8, 8, 0,
			rows[i].taken ? NULL : "rx_drop_dup" };
		struct pmv_qp_attr attr;

		memset(r->mem[1] + 0x8000, 0xa5, 8);
		feed(r, &p);
		assert_int_equal(r->mem[1][0x8001], rows[i].taken ? 1 : 0xa5);
		if (rows[i].taken)
			next = p.psn + 1;
		assert_int_equal(pmv_query_qp(r->uc[1], &attr, NULL), 0);
		assert_int_equal(attr.rq_psn, (RQ_PSN + next) & PSN_MAX);
	}
	rig_close(r);
}

/* What the receiver lacks costs the message alone; the receive waits for one that it can take. */
static void
uc__refusals(void **state)
{
	const struct packet rows[] = {
		{ 0x24, 0, 8, 0, 0, "rx_drop_uc_no_recv" },
		{ 0x2b, 1, 8, 8, 0, "rx_drop_uc_no_recv" },
		{ 0x20, 2, MTU, 0, 0, "rx_drop_uc_no_recv" },
		{ 0x22, 3, 8, 0, 0, "rx_drop_uc_lost" },
		/* the bytes of a WRITE stay, only its end needs a receive */
		{ 0x26, 4, MTU, MTU + 8, 0, NULL },
		{ 0x29, 5, 8, 0, 0, "rx_drop_uc_no_recv" },
	};
	struct rig *r = rig_open(&plain);
	struct packet p = { 0x24, 6, 65, 0, 0, "rx_drop_uc_refused" };
	struct pmv_wc wc[4];

	for (uint32_t i = 0; i < RTE_DIM(rows); i++)
		feed(r, &rows[i]);
	assert_int_equal(r->mem[1][0x8000 + MTU - 1], 0xff);
	assert_int_equal(r->mem[1][0x8000 + MTU], 0xa5);
	post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
	feed(r, &p); /* longer than the receive */
	assert_int_equal(r->mem[1][0], 0xa5);
	r->uc[1]->attr.qp_access_flags = PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_READ;
	p = (struct packet){ 0x2b, 7, 8, 8, 0, "rx_drop_uc_refused" };
	feed(r, &p);
	assert_int_equal(poll(r, 1, wc), 0);
	p = (struct packet){ 0x24, 8, 64, 0, 0, NULL };
	feed(r, &p);
	assert_int_equal(poll(r, 1, wc), 1);
	assert_int_equal(wc[0].wr_id, 100);
	assert_int_equal(wc[0].byte_len, 64);
	assert_int_equal(pmv_qp_get_state(r->uc[1]), PMV_QPS_RTS);
	rig_close(r);
}

/* A receive of ours that cannot be executed ends the QP (IBTA vol. 1, 10.3.1.7), silently. */
static void
uc__receive_error(void **state)
{
	struct rig *r = rig_open(&plain);
	uint64_t answers = r->pair.link->end[1].out.nb_frames;
	struct packet p = { 0x24, 0, 8, 0, 0, NULL };
	struct pmv_wc wc[4];

	post_recv(r, 1, 0, 64, 0xbad);
	post_recv(r, 1, 64, 64, pmv_mr_lkey(r->mr[1]));
	feed(r, &p);
	assert_int_equal(poll(r, 1, wc), 2);
	assert_int_equal(wc[0].wr_id, 100);
	assert_int_equal(wc[0].status, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[1].wr_id, 164);
	assert_int_equal(wc[1].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_qp_get_state(r->uc[1]), PMV_QPS_ERR);
	p = (struct packet){ 0x24, 1, 8, 0, 0, "rx_drop_qp_state" };
	feed(r, &p);
	rig_run(r, 100);
	assert_int_equal(r->pair.link->end[1].out.nb_frames, answers);
	rig_close(r);
}

/* A receive in use when the QP goes to ERR is flushed once. */
static void
uc__error_in_a_message(void **state)
{
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_ERR };
	const struct packet p = { 0x20, 0, MTU, 0, 0, NULL };
	struct rig *r = rig_open(&plain);
	struct pmv_wc wc[4];

	post_recv(r, 1, 0, 0x4000, pmv_mr_lkey(r->mr[1]));
	feed(r, &p);
	assert_int_equal(pmv_modify_qp(r->uc[1], &attr, PMV_QP_STATE), 0);
	assert_int_equal(poll(r, 1, wc), 1);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
	rig_close(r);
}

static void
uc__cq_overrun(void **state)
{
	const struct pmv_test_pair_param small = { .cqe = 4 };
	struct rig *r = rig_open(&small);
	struct pmv_cq_attr attr;

	assert_int_equal(pmv_query_cq(r->pair.node[1].cq[0], &attr), 0);
	for (uint32_t i = 0; i <= attr.cqe; i++) {
		const struct packet p = { 0x24, i, 8, 0, 0, NULL };

		assert_int_equal(pmv_qp_get_state(r->uc[1]), PMV_QPS_RTS);
		post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
		feed(r, &p);
	}
	assert_int_equal(pmv_qp_get_state(r->uc[1]), PMV_QPS_ERR);
	rig_close(r);
}

/* PK-708 (c): not from the peer's address, or not to the one it knows: PSN untouched. */
static void
uc__peer_address(void **state)
{
	struct rig *r = rig_open(&plain);
	struct rig_frame f = rig_frame(0x24, pmv_qp_num(r->uc[1]), RQ_PSN);
	struct packet p = { 0x24, 0, 8, 0, 0, NULL };
	struct pmv_wc wc[4];

	post_recv(r, 1, 0, 64, pmv_mr_lkey(r->mr[1]));
	f.payload = 8;
	f.src = 9;
	rig_expect(r, &f, "rx_drop_peer_addr");
	f.src = 0;
	f.dst = 9;
	rig_expect(r, &f, "rx_drop_dest_addr");
	f.dst = 0;
	f.is_v6 = true;
	rig_expect(r, &f, "rx_drop_peer_addr");
	feed(r, &p);
	assert_int_equal(poll(r, 1, wc), 1);
	rig_close(r);
}

static struct pmv_send_wr
write_wr(struct rig *r, const struct pmv_sge *sge, uint64_t id)
{
	struct pmv_send_wr wr = { .wr_id = id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)r->mem[1];
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	return wr;
}

/* RC-321: what UC has not, and what never fits. */
static void
uc__post_errors(void **state)
{
	struct rig *r = rig_open(&plain);
	const struct pmv_sge sge[5] = { { (uintptr_t)r->mem[0], 65, pmv_mr_lkey(r->mr[0]) } };
	struct pmv_send_wr wr = write_wr(r, sge, 1);

	for (uint32_t op = PMV_WR_RDMA_READ; op < 20; op++) {
		wr.opcode = (enum pmv_wr_opcode)op;
		assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -EINVAL);
	}
	wr.opcode = (enum pmv_wr_opcode) - 1;
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -EINVAL);
	wr.opcode = PMV_WR_SEND;
	wr.num_sge = 5;
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -EINVAL);
	wr.num_sge = 1;
	wr.send_flags = PMV_SEND_INLINE;
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -EINVAL); /* 65 of 64 */
	wr.send_flags = 0;
	for (uint32_t s = PMV_QPS_RESET; s < PMV_QPS_RTS; s++) {
		r->uc[0]->state = (uint8_t)s;
		assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -ENOTCONN);
		assert_int_equal(pmv_post_send(r->uc[0], &wr, 0), 0);
	}
	r->uc[0]->state = PMV_QPS_SQD; /* nothing leaves: the queue fills */
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), 1);
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), -ENOMEM);
	r->uc[0]->state = PMV_QPS_RTS;
	rig_close(r);
}

/* UC has neither retries nor an RNR timer. */
static void
uc__modify_errors(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_qp *qp = pmv_test_qp_create(&r->pair.node[0], 0, PMV_QPT_UC);
	struct pmv_qp_attr a = {
		.qp_state = PMV_QPS_INIT, .port_num = 1, .path_mtu = PMV_MTU_1024, .dest_qp_num = 5
	};
	const uint32_t rtr =
		PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN | PMV_QP_RQ_PSN;
	static const uint32_t not_rtr[] = { PMV_QP_MAX_DEST_RD_ATOMIC, PMV_QP_MIN_RNR_TIMER };
	static const uint32_t not_rts[] = { PMV_QP_TIMEOUT, PMV_QP_RETRY_CNT, PMV_QP_RNR_RETRY,
		PMV_QP_MAX_QP_RD_ATOMIC, PMV_QP_MIN_RNR_TIMER };

	assert_int_equal(pmv_query_gid(r->pair.node[1].dev, 0, &a.ah_attr.dgid), 0);
	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	a.qp_state = PMV_QPS_RTR;
	for (uint32_t i = 0; i < RTE_DIM(not_rtr); i++)
		assert_int_equal(pmv_modify_qp(qp, &a, rtr | not_rtr[i]), -EINVAL);
	for (uint32_t bit = PMV_QP_AV; bit <= PMV_QP_DEST_QPN; bit <<= 1)
		if (bit & rtr)
			assert_int_equal(pmv_modify_qp(qp, &a, rtr & ~bit), -EINVAL);
	assert_int_equal(pmv_modify_qp(qp, &a, rtr), 0);
	a.qp_state = PMV_QPS_RTS;
	for (uint32_t i = 0; i < RTE_DIM(not_rts); i++)
		assert_int_equal(
			pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_SQ_PSN | not_rts[i]), -EINVAL);
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), -EINVAL);
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE | PMV_QP_SQ_PSN), 0);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	rig_close(r);
}

/* Frames that left node 0: opcode and PSN. */
static struct {
	uint8_t opcode;
	uint32_t psn;
} sent[256];
static uint32_t nb_sent;

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(m, const uint8_t *, 42);

	assert_in_range(nb_sent, 0, RTE_DIM(sent) - 1);
	sent[nb_sent].opcode = bth[0];
	sent[nb_sent++].psn = pmv_be24_load(bth + 9);
	return PMV_TEST_PASS;
}

/* A bad local key in the second packet of a message: SQE, the rest flushed, receives go on; back in
 * RTS the peer takes what follows, though PSNs are missing. */
static void
uc__send_error(void **state)
{
	struct rig *r = rig_open(&plain);
	const struct pmv_sge good = { (uintptr_t)r->mem[0], 8, pmv_mr_lkey(r->mr[0]) };
	const struct pmv_sge half[2] = { { (uintptr_t)r->mem[0], MTU, pmv_mr_lkey(r->mr[0]) },
		{ (uintptr_t)r->mem[0], 2 * MTU, 0xbad } };
	struct pmv_send_wr wr[3] = { write_wr(r, &good, 1), write_wr(r, half, 2),
		write_wr(r, &good, 3) };
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_RTS, .cur_qp_state = PMV_QPS_SQE };
	struct pmv_wc wc[4];

	wr[1].num_sge = 2;
	wr[1].send_flags = 0; /* an error completes all the same */
	nb_sent = 0;
	r->pair.link->end[0].out.hook = record;
	memset(r->mem[0], 0x11, MTU);
	assert_int_equal(pmv_post_send(r->uc[0], wr, 3), 3);
	rig_run(r, 50);
	assert_int_equal(poll(r, 0, wc), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, i + 1);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	assert_int_equal(wc[1].status, PMV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[2].status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(pmv_qp_get_state(r->uc[0]), PMV_QPS_SQE);
	assert_int_equal(nb_sent, 2);
	assert_int_equal(pmv_post_send(r->uc[0], wr, 1), 1);
	assert_int_equal(poll(r, 0, wc), 1);
	assert_int_equal(wc[0].status, PMV_WC_WR_FLUSH_ERR);
	/* messages still arrive */
	r->pair.link->end[0].out.hook = NULL;
	post_recv(r, 0, 0x4000, 64, pmv_mr_lkey(r->mr[0]));
	wr[2].opcode = PMV_WR_SEND;
	wr[2].sg_list = &(const struct pmv_sge){ (uintptr_t)r->mem[1], 8, pmv_mr_lkey(r->mr[1]) };
	assert_int_equal(pmv_post_send(r->uc[1], &wr[2], 1), 1);
	rig_run(r, 50);
	assert_int_equal(poll(r, 0, wc), 1);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	assert_int_equal(poll(r, 1, wc), 1);
	assert_int_equal(pmv_modify_qp(r->uc[0], &attr, PMV_QP_STATE | PMV_QP_CUR_STATE), 0);
	memset(r->mem[1], 0xa5, 8);
	r->pair.link->end[0].out.hook = record;
	assert_int_equal(pmv_post_send(r->uc[0], wr, 1), 1);
	rig_run(r, 50);
	assert_int_equal(poll(r, 0, wc), 1);
	assert_int_equal(wc[0].status, PMV_WC_SUCCESS);
	assert_int_equal(r->mem[1][7], 0x11);
	/* WRITE_ONLY, WRITE_FIRST; its other two, and two that were flushed, are not used again */
	assert_int_equal(nb_sent, 3);
	assert_int_equal(sent[0].opcode, 0x2a);
	assert_int_equal(sent[0].psn, 0xfffff8);
	assert_int_equal(sent[1].opcode, 0x26);
	assert_int_equal(sent[1].psn, 0xfffff9);
	assert_int_equal(sent[2].opcode, 0x2a);
	assert_int_equal(sent[2].psn, 0xfffffe);
	assert_int_equal(pmv_query_qp(r->uc[0], &attr, NULL), 0);
	assert_int_equal(attr.sq_psn, 0xffffff);
	r->pair.link->end[0].out.hook = NULL;
	rig_close(r);
}

/* SQD in the middle of a message: it goes on to its end, the next one waits. */
static void
uc__sqd(void **state)
{
	struct rig *r = rig_open(&plain);
	const struct pmv_sge sge = { (uintptr_t)r->mem[0], 0x8000, pmv_mr_lkey(r->mr[0]) };
	const struct pmv_sge more[4] = { sge, sge, sge, sge };
	struct pmv_send_wr wr = write_wr(r, more, 1);
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pmv_event ev;
	struct pmv_wc wc[4];

	wr.num_sge = 4;      /* 128 packets, two turns */
	wr.wr.rdma.rkey = 0; /* and the peer wants none of them */
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), 1);
	assert_int_equal(poll(r, 0, wc), 0);
	wr.num_sge = 1;
	wr.wr_id = 2;
	assert_int_equal(
		pmv_modify_qp(r->uc[0], &attr, PMV_QP_STATE | PMV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(pmv_post_send(r->uc[0], &wr, 1), 1);
	assert_int_equal(pmv_query_qp(r->uc[0], &attr, NULL), 0);
	assert_true(attr.sq_draining);
	assert_int_equal(pmv_worker_get_event(r->pair.node[0].worker[0], &ev), 0);
	rig_run(r, 100);
	assert_int_equal(poll(r, 0, wc), 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(pmv_worker_get_event(r->pair.node[0].worker[0], &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_SQ_DRAINED);
	assert_int_equal(pmv_query_qp(r->uc[0], &attr, NULL), 0);
	assert_false(attr.sq_draining);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(r->uc[0], &attr, PMV_QP_STATE), 0);
	rig_run(r, 100);
	assert_int_equal(poll(r, 0, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	rig_close(r);
}

/* A first request before RTS is taken, and told once. */
static void
uc__first_request_in_rtr(void **state)
{
	struct rig *r = rig_open(&plain);
	struct packet p = { 0x2a, 0, 8, 8, 0, NULL };
	struct pmv_event ev;

	r->uc[1]->state = PMV_QPS_RTR;
	assert_false(pmv_qp_comm_est(r->uc[1]));
	feed(r, &p);
	assert_true(pmv_qp_comm_est(r->uc[1]));
	assert_int_equal(pmv_worker_get_event(r->pair.node[1].worker[0], &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_COMM_EST);
	p.psn = 1;
	feed(r, &p);
	assert_int_equal(pmv_worker_get_event(r->pair.node[1].worker[0], &ev), 0);
	r->uc[1]->state = PMV_QPS_INIT;
	p.psn = 2;
	p.drop = "rx_drop_qp_state";
	feed(r, &p);
	r->uc[1]->state = PMV_QPS_RTS;
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc__sequences),
		cmocka_unit_test(uc__psn_window),
		cmocka_unit_test(uc__refusals),
		cmocka_unit_test(uc__receive_error),
		cmocka_unit_test(uc__error_in_a_message),
		cmocka_unit_test(uc__cq_overrun),
		cmocka_unit_test(uc__peer_address),
		cmocka_unit_test(uc__post_errors),
		cmocka_unit_test(uc__modify_errors),
		cmocka_unit_test(uc__send_error),
		cmocka_unit_test(uc__sqd),
		cmocka_unit_test(uc__first_request_in_rtr),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
