// SPDX-License-Identifier: BSD-3-Clause
/*
 * Prepared sends: the same frames as posts, the payload as it is at each post, and every way in
 * which one cannot go out at once.
 */
#include "drivers/roce/prepared.h"

#include <errno.h>

#include "lib/wire/opcode.h"
#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

struct bench {
	struct rig *r;
	uint8_t payload[128];
	struct pmv_sge sge;
	struct pmv_send_wr wr;
	struct pmv_prepared_send prep;
};

static struct bench *
open_bench(enum pmv_wr_opcode opcode, uint32_t length)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->r = rig_open(&plain);
	b->sge = (struct pmv_sge){ (uintptr_t)b->payload, length, 0 };
	b->wr = (struct pmv_send_wr){ .wr_id = 5,
		.sg_list = &b->sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = PMV_SEND_INLINE | PMV_SEND_SIGNALED,
		.imm_data = 0x04030201 };
	b->wr.wr.rdma.remote_addr = (uintptr_t)(b->r->mem[1] + 64);
	b->wr.wr.rdma.rkey = pmv_mr_rkey(b->r->mr[1]);
	return b;
}

static void
close_bench(struct bench *b)
{
	rig_close(b->r);
	free(b);
}

static uint32_t
completions(struct bench *b, int side)
{
	struct pmv_wc wc[128];
	uint32_t nb = pmv_poll_cq(b->r->pair.node[side].cq[0], wc, 128);

	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
	return nb;
}

/* ---- the same frames ---- */

struct seen {
	uint32_t nb;
	uint32_t len[2];
	uint8_t bytes[2][256];
};

static enum pmv_test_fate
look(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct seen *s = arg;

	assert_true(s->nb < 2 && m->pkt_len <= 256 && m->nb_segs == 1);
	s->len[s->nb] = m->pkt_len;
	memcpy(s->bytes[s->nb++], rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len);
	return PMV_TEST_DROP;
}

/* A post and a prepared post differ in the PSN and the ICRC; the two connections of the same
 * address and QPN are one that is set up twice. */
static void
same_frame(enum pmv_wr_opcode opcode, uint32_t length)
{
	struct seen s = { 0 };

	for (uint32_t k = 0; k < 2; k++) {
		struct bench *b = open_bench(opcode, length);

		b->wr.wr.rdma.remote_addr = 0x1122334455667788;
		b->wr.wr.rdma.rkey = 0x99aabbcc;
		memset(b->payload, 0x77, length);
		b->r->pair.link->end[0].out.hook = look;
		b->r->pair.link->end[0].out.hook_arg = &s;
		if (k == 0) {
			assert_int_equal(pmv_post_send(b->r->rc[0], &b->wr, 1), 1);
		} else {
			assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
			assert_int_equal(pmv_post_prepared(&b->prep), 0);
		}
		rig_run(b->r, 10);
		b->r->pair.link->end[0].out.hook = NULL;
		rig_run(b->r, 20);
		close_bench(b);
	}
	assert_int_equal(s.nb, 2);
	assert_int_equal(s.len[0], s.len[1]);
	assert_memory_equal(s.bytes[0], s.bytes[1], s.len[0]);
}

static void
prepared__same_frames(void **state)
{
	static const enum pmv_wr_opcode opcodes[] = { PMV_WR_SEND, PMV_WR_SEND_WITH_IMM,
		PMV_WR_RDMA_WRITE, PMV_WR_RDMA_WRITE_WITH_IMM };
	static const uint32_t lengths[] = { 0, 1, 3, 8, 63, 64 };

	for (size_t i = 0; i < RTE_DIM(opcodes); i++)
		for (size_t k = 0; k < RTE_DIM(lengths); k++)
			same_frame(opcodes[i], lengths[k]);
}

/* ---- the payload ---- */

/* Between posts of other lengths, which change what the template says of itself. */
static void
prepared__payload_of_the_moment(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);
	struct pmv_sge other_sge = { (uintptr_t)b->payload, 33, 0 };
	struct pmv_send_wr other = b->wr;

	other.sg_list = &other_sge;
	other.wr.rdma.remote_addr += 1024;
	assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
	for (uint64_t v = 1; v <= 100; v++) {
		memcpy(b->payload, &v, 8);
		assert_int_equal(pmv_post_prepared(&b->prep), 0);
		if (v % 3 == 0)
			assert_int_equal(pmv_post_send(b->r->rc[0], &other, 1), 1);
		memset(b->payload, 0xee, 8); /* it was copied */
		rig_run(b->r, 100);
		assert_memory_equal(b->r->mem[1] + 64, &v, 8);
		assert_int_equal(completions(b, 0), 1 + (v % 3 == 0));
	}
	assert_int_equal(b->r->mem[1][63], 0xa5);
	assert_int_equal(b->r->mem[1][72], 0xa5);
	close_bench(b);
}

/* A burst of them, and every one of its frames lost once: executed once and in order. */
static void
prepared__every_loss(void **state)
{
	for (uint32_t lost = 0; lost < 8; lost++) {
		struct bench *b = open_bench(PMV_WR_SEND_WITH_IMM, 8);
		struct pmv_test_dir *out = &b->r->pair.link->end[0].out;

		assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
		for (uint64_t i = 0; i < 8; i++) {
			struct pmv_sge sge = { (uintptr_t)(b->r->mem[1] + 8 * i), 8,
				pmv_mr_lkey(b->r->mr[1]) };
			const struct pmv_recv_wr rwr = { i, &sge, 1 };

			assert_int_equal(pmv_post_recv(b->r->rc[1], &rwr, 1), 1);
		}
		out->drop_mask = 1ull << (out->nb_frames + lost);
		for (uint64_t i = 0; i < 8; i++) {
			memcpy(b->payload, &i, 8);
			assert_int_equal(pmv_post_prepared(&b->prep), 0);
		}
		rig_run(b->r, 60000);
		assert_int_equal(out->nb_dropped, 1);
		assert_int_equal(completions(b, 0), 8);
		assert_int_equal(completions(b, 1), 8);
		for (uint64_t i = 0; i < 8; i++)
			assert_memory_equal(b->r->mem[1] + 8 * i, &i, 8);
		close_bench(b);
	}
}

/* ---- other ways ---- */

/* More than fit: the queue fills, says so, and what was taken arrives. */
static void
prepared__full(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);
	uint32_t nb = 0;
	int rc;

	assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
	b->r->pair.link->end[0].out.drop = 1.0;
	while ((rc = pmv_post_prepared(&b->prep)) == 0)
		nb++;
	assert_int_equal(rc, -ENOMEM);
	assert_int_equal(nb, 64);
	b->r->pair.link->end[0].out.drop = 0;
	rig_run(b->r, 60000);
	assert_int_equal(completions(b, 0), 64);
	close_bench(b);
}

/* Behind a READ and with a fence, it waits for the READ. */
static void
prepared__fence(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);
	struct pmv_sge sge = { (uintptr_t)b->r->mem[0], 8, pmv_mr_lkey(b->r->mr[0]) };
	struct pmv_send_wr read = b->wr;
	uint64_t first = b->r->pair.link->end[0].out.nb_frames;

	read.opcode = PMV_WR_RDMA_READ;
	read.send_flags = PMV_SEND_SIGNALED;
	read.sg_list = &sge;
	b->wr.send_flags |= PMV_SEND_FENCE;
	assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
	assert_int_equal(pmv_post_send(b->r->rc[0], &read, 1), 1);
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	pmv_worker_poll_at(b->r->pair.node[0].worker[0], b->r->pair.now);
	pmv_test_link_step(b->r->pair.link, b->r->pair.now);
	assert_int_equal(b->r->pair.link->end[0].out.nb_frames, first + 1);
	rig_run(b->r, 100);
	assert_int_equal(completions(b, 0), 2);
	close_bench(b);
}

/* The queue pair starts anew, towards the other family's address: the frame is made anew. */
static void
prepared__another_path(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);
	struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };

	assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
	memcpy(b->payload, "one path", 8);
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	rig_run(b->r, 100);
	assert_int_equal(completions(b, 0), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_modify_qp(b->r->rc[i], &reset, PMV_QP_STATE), 0);
	assert_int_equal(pmv_post_prepared(&b->prep), -ENOTCONN);
	pmv_test_qp_connect(&b->r->pair, b->r->rc[0], b->r->rc[1], true, PMV_MTU_1024, NULL);
	rig_run(b->r, 100);
	memcpy(b->payload, "another!", 8);
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	rig_run(b->r, 100);
	assert_int_equal(completions(b, 0), 1);
	assert_memory_equal(b->r->mem[1] + 64, "another!", 8);
	close_bench(b);
}

/* The peer's MAC changes: the next frame has it. */
static void
prepared__neighbour_changes(void **state)
{
	struct rte_ether_addr mac = { { 2, 0, 0, 0, 9, 9 } };
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);
	struct seen s = { 0 };
	union pmv_gid gid;

	assert_int_equal(pmv_query_gid(b->r->pair.node[1].dev, 0, &gid), 0);
	assert_int_equal(pmv_prepare_send(b->r->rc[0], &b->wr, &b->prep), 0);
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	rig_run(b->r, 100);
	assert_int_equal(completions(b, 0), 1);
	assert_int_equal(pmv_neigh_set(b->r->pair.node[0].dev, &gid, mac.addr_bytes), 0);
	rig_run(b->r, 100);
	b->r->pair.link->end[0].out.hook = look;
	b->r->pair.link->end[0].out.hook_arg = &s;
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	pmv_worker_poll_at(b->r->pair.node[0].worker[0], b->r->pair.now);
	pmv_test_link_step(b->r->pair.link, b->r->pair.now);
	b->r->pair.link->end[0].out.hook = NULL;
	assert_int_equal(s.nb, 1);
	assert_memory_equal(s.bytes[0], &mac, 6);
	close_bench(b);
}

static void
prepared__unreliable(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_WRITE, 8);

	assert_int_equal(pmv_prepare_send(b->r->uc[0], &b->wr, &b->prep), 0);
	memcpy(b->payload, "by UC...", 8);
	assert_int_equal(pmv_post_prepared(&b->prep), 0);
	rig_run(b->r, 100);
	assert_int_equal(completions(b, 0), 1);
	assert_memory_equal(b->r->mem[1] + 64, "by UC...", 8);
	close_bench(b);
}

static void
prepared__refused(void **state)
{
	struct bench *b = open_bench(PMV_WR_RDMA_READ, 8);
	struct pmv_qp *qp = b->r->rc[0];

	assert_int_equal(pmv_prepare_send(NULL, &b->wr, &b->prep), -EINVAL);
	assert_int_equal(pmv_prepare_send(qp, NULL, &b->prep), -EINVAL);
	assert_int_equal(pmv_prepare_send(qp, &b->wr, NULL), -EINVAL);
	assert_int_equal(pmv_prepare_send(qp, &b->wr, &b->prep), -EINVAL); /* a READ */
	b->wr.opcode = PMV_WR_RDMA_WRITE;
	b->sge.length = 65;
	assert_int_equal(pmv_prepare_send(qp, &b->wr, &b->prep), -EINVAL);
	b->sge.length = 64;
	b->wr.num_sge = 2;
	assert_int_equal(pmv_prepare_send(qp, &b->wr, &b->prep), -EINVAL);
	b->wr.num_sge = 1;
	b->wr.send_flags = 0;
	assert_int_equal(pmv_prepare_send(qp, &b->wr, &b->prep), -EINVAL);
	b->wr.send_flags = PMV_SEND_INLINE;
	assert_int_equal(pmv_prepare_send(qp, &b->wr, &b->prep), 0);
	assert_int_equal(pmv_prepare_send(b->r->ud[0], &b->wr, &b->prep), -EINVAL);
	b->wr.opcode = PMV_WR_SEND;
	b->wr.wr.ud.ah = NULL;
	assert_int_equal(pmv_prepare_send(b->r->ud[0], &b->wr, &b->prep), -EINVAL);
	close_bench(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prepared__same_frames),
		cmocka_unit_test(prepared__payload_of_the_moment),
		cmocka_unit_test(prepared__every_loss),
		cmocka_unit_test(prepared__full),
		cmocka_unit_test(prepared__fence),
		cmocka_unit_test(prepared__another_path),
		cmocka_unit_test(prepared__neighbour_changes),
		cmocka_unit_test(prepared__unreliable),
		cmocka_unit_test(prepared__refused),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
