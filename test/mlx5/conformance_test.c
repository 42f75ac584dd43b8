// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the model does, as unmodified libibverbs and libmlx5 see it: every field of every work
 * completion and every byte of memory, for SEND, WRITE, READ and immediates, by segments and
 * inline, and for errors. Runs without HCA thread, under the settings of PMV_MLX5M_* (meson.build
 * lists them); seeded_bugs runs it once more for each planted fault and expects it to fail.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/pair.h"

#define GUARD       64
#define SEND_AT     4096u
#define RECV_AT     131072u
#define CLEAN       0xa5
#define IMM         0x01020304u
#define SCATTER_MAX 32 /* 64-byte CQEs hold this much data, and then no source QPN */

static struct pair pair;
static bool scatters;

static const uint32_t lengths[] = { 0, 1, 3, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 200, 1023,
	1024, 1025, 4096, 4097, 65536 };
static const uint32_t inline_lengths[] = { 0, 1, 11, 12, 13, 27, 28, 29, 32, 44, 45, 60, 61, 76, 77,
	92, 100, 140, 200 };

#define NB(array) (sizeof(array) / sizeof((array)[0]))

static struct ibv_sge
sge_of(const struct pair_end *end, uint32_t at, uint32_t bytes)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)end->buf + at, .length = bytes, .lkey = end->mr->lkey
	};
}

static void
post_recv(struct pair_end *end, uint64_t wr_id, uint32_t at, uint32_t bytes)
{
	struct ibv_sge sge = sge_of(end, at, bytes);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(end->qp, &wr, &bad), 0);
}

/* Fills in the remote side and posts. */
static void
post_send(struct pair_end *end, const struct pair_end *peer, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr.rdma.remote_addr = (uintptr_t)peer->buf + RECV_AT;
	wr->wr.rdma.rkey = peer->mr->rkey;
	assert_int_equal(ibv_post_send(end->qp, wr, &bad), 0);
}

/* The only completion that waits; poisoned first, so that every field asked for was written. */
static struct ibv_wc
poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc[2];

	memset(wc, 0x5a, sizeof(wc));
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	return wc[0];
}

static void
poll_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

static void
check_sent(
	const struct pair_end *end, uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct ibv_wc wc = poll_one(end->send_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.qp_num, end->qp->qp_num);
	assert_int_equal(wc.wc_flags, flags);
}

static void
check_received(const struct pair_end *end, const struct pair_end *peer, uint64_t wr_id,
	enum ibv_wc_opcode opcode, uint32_t bytes, bool has_imm)
{
	struct ibv_wc wc = poll_one(end->recv_cq);
	bool scattered = scatters && opcode == IBV_WC_RECV && bytes > 0 && bytes <= SCATTER_MAX;

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.byte_len, bytes);
	assert_int_equal(wc.qp_num, end->qp->qp_num);
	if (has_imm)
		assert_int_equal(wc.imm_data, htobe32(IMM));
	if (scattered) /* the data lies over the fields that follow */
		return;
	assert_int_equal(wc.src_qp, peer->qp->qp_num);
	assert_int_equal(wc.wc_flags, has_imm ? IBV_WC_WITH_IMM : 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0);
	assert_int_equal(wc.dlid_path_bits, 0);
}

static void
check_failed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status, uint32_t qpn)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, qpn);
}

static void
check_state(struct pair_end *end, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, state);
}

/* Clean memory with room around; afterwards exactly `bytes` of it are as sent. */
static void
clean(struct pair_end *end, uint32_t at, uint32_t bytes)
{
	memset(end->buf + at - GUARD, CLEAN, bytes + 2 * GUARD);
}

static void
check_memory(const struct pair_end *end, uint32_t at, uint32_t bytes, uint8_t seed)
{
	uint8_t *want = malloc(bytes + 2 * GUARD);

	assert_non_null(want);
	memset(want, CLEAN, bytes + 2 * GUARD);
	pair_fill(want + GUARD, bytes, seed);
	assert_memory_equal(end->buf + at - GUARD, want, bytes + 2 * GUARD);
	free(want);
}

static void
send_once(uint32_t bytes, unsigned int flags, bool imm)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = 0x1122334455667788 + bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = htobe32(IMM) };

	pair_fill(a->buf + SEND_AT, bytes, (uint8_t)bytes);
	clean(b, RECV_AT, bytes);
	post_recv(b, 77 + bytes, RECV_AT, bytes + 8);
	post_send(a, b, &wr);
	pair_settle(0);
	check_sent(a, wr.wr_id, IBV_WC_SEND, imm ? IBV_WC_WITH_IMM : 0);
	check_received(b, a, 77 + bytes, IBV_WC_RECV, bytes, imm);
	check_memory(b, RECV_AT, bytes, (uint8_t)bytes);
}

static void
write_once(uint32_t bytes, unsigned int flags, bool imm)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = 0x99aabbccddeeff00 + bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = htobe32(IMM) };

	pair_fill(a->buf + SEND_AT, bytes, (uint8_t)~bytes);
	clean(b, RECV_AT, bytes);
	if (imm)
		post_recv(b, 5 + bytes, 0, 16);
	post_send(a, b, &wr);
	pair_settle(0);
	check_sent(a, wr.wr_id, IBV_WC_RDMA_WRITE, imm ? IBV_WC_WITH_IMM : 0);
	if (imm)
		check_received(b, a, 5 + bytes, IBV_WC_RECV_RDMA_WITH_IMM, bytes, true);
	poll_none(b->recv_cq);
	check_memory(b, RECV_AT, bytes, (uint8_t)~bytes);
}

static void
read_once(uint32_t bytes)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	pair_fill(b->buf + RECV_AT, bytes, (uint8_t)(bytes + 3));
	clean(a, SEND_AT, bytes);
	post_send(a, b, &wr);
	pair_settle(0);
	wc = poll_one(a->send_cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, bytes);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, bytes);
	assert_int_equal(wc.qp_num, a->qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	check_memory(a, SEND_AT, bytes, (uint8_t)(bytes + 3));
}

static void
device__attributes(void **state)
{
	struct ibv_context *ctx = pair.end[1].ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.vendor_id, 0x15b3);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_NONE);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.gid_tbl_len, 2);
	assert_int_not_equal(ibv_query_port(ctx, 2, &port), 0);
	assert_int_equal(ibv_query_gid(ctx, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[0], 0xfe);
	assert_memory_not_equal(&pair.end[0].gid, &pair.end[1].gid, sizeof(gid));
}

static void
qp__query_tells_what_modify_set(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)state;
	assert_int_equal(ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, pair.end[1].qp->qp_num);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 3);
	assert_int_equal(attr.rnr_retry, 3);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &pair.end[1].gid, 16);
	assert_true(attr.cap.max_inline_data >= PAIR_INLINE);
	assert_true(attr.cap.max_send_wr >= PAIR_DEPTH);
}

static void
qp__refuses_wrong_transitions(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	(void)state;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	check_state(a, IBV_QPS_RESET);
}

static void
objects__busy_and_bad(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };

	(void)state;
	assert_int_equal(ibv_dealloc_pd(a->pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(a->send_cq), EBUSY);
	/* Remote write without local write; memory that is not there. */
	assert_null(ibv_reg_mr(a->pd, a->buf, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(a->pd, (void *)4096, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	/* What this model does not have says so. */
	assert_null(ibv_create_srq(a->pd, &srq));
	assert_null(ibv_create_comp_channel(a->ctx));
}

static void
send__every_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(lengths); i++) {
		send_once(lengths[i], 0, false);
		send_once(lengths[i], 0, true);
	}
}

static void
send__every_length_inline(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(inline_lengths); i++) {
		send_once(inline_lengths[i], IBV_SEND_INLINE, false);
		send_once(inline_lengths[i], IBV_SEND_INLINE | IBV_SEND_SOLICITED, true);
	}
}

static void
write__every_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(lengths); i++) {
		write_once(lengths[i], 0, false);
		write_once(lengths[i], 0, true);
	}
}

static void
write__every_length_inline(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(inline_lengths); i++) {
		write_once(inline_lengths[i], IBV_SEND_INLINE, false);
		write_once(inline_lengths[i], IBV_SEND_INLINE | IBV_SEND_FENCE, true);
	}
}

static void
read__every_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(lengths); i++)
		read_once(lengths[i]);
}

/* With sq_sig_all a device may put READ data into the CQE. */
static void
read__every_length_sig_all(void **state)
{
	read__every_length(state);
}

/* Four segments of odd sizes on each side, one of them empty. */
static void
segments__gather_and_scatter(void **state)
{
	static const uint32_t pieces[PAIR_SGES] = { 13, 1000, 0, 2049 };
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge from[PAIR_SGES], to[PAIR_SGES];
	struct ibv_recv_wr recv = { .wr_id = 8, .sg_list = to, .num_sge = PAIR_SGES }, *bad;
	struct ibv_send_wr wr = { .wr_id = 9,
		.sg_list = from,
		.num_sge = PAIR_SGES,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };
	uint32_t i, at, bytes = 0;
	uint8_t all[4096];

	(void)state;
	for (i = 0; i < PAIR_SGES; i++) {
		from[i] = sge_of(a, SEND_AT + 8192 * i, pieces[i]);
		to[i] = sge_of(b, RECV_AT + 8192 * i, pieces[PAIR_SGES - 1 - i]);
		bytes += pieces[i];
	}
	pair_fill(all, bytes, 99);
	for (i = 0, at = 0; i < PAIR_SGES; at += pieces[i++])
		memcpy(a->buf + SEND_AT + 8192 * i, all + at, pieces[i]);
	assert_int_equal(ibv_post_recv(b->qp, &recv, &bad), 0);
	post_send(a, b, &wr);
	pair_settle(0);
	check_sent(a, 9, IBV_WC_SEND, 0);
	check_received(b, a, 8, IBV_WC_RECV, bytes, false);
	for (i = 0, at = 0; i < PAIR_SGES; i++) {
		assert_memory_equal(b->buf + RECV_AT + 8192 * i, all + at, to[i].length);
		at += to[i].length;
	}
	/* READ into several segments, and WRITE from them. */
	wr.opcode = IBV_WR_RDMA_READ;
	memcpy(b->buf + RECV_AT, all, bytes);
	for (i = 0; i < PAIR_SGES; i++)
		memset(a->buf + SEND_AT + 8192 * i, 0, pieces[i]);
	post_send(a, b, &wr);
	pair_settle(0);
	assert_int_equal(poll_one(a->send_cq).byte_len, bytes);
	for (i = 0, at = 0; i < PAIR_SGES; at += pieces[i++])
		assert_memory_equal(a->buf + SEND_AT + 8192 * i, all + at, pieces[i]);
	wr.opcode = IBV_WR_RDMA_WRITE;
	memset(b->buf + RECV_AT, 0, bytes);
	post_send(a, b, &wr);
	pair_settle(0);
	check_sent(a, 9, IBV_WC_RDMA_WRITE, 0);
	assert_memory_equal(b->buf + RECV_AT, all, bytes);
}

static void
inline__gathers_segments(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge from[3] = { sge_of(a, SEND_AT, 50), sge_of(a, SEND_AT + 50, 1),
		sge_of(a, SEND_AT + 51, 49) };
	struct ibv_send_wr wr = { .wr_id = 1,
		.sg_list = from,
		.num_sge = 3,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	(void)state;
	pair_fill(a->buf + SEND_AT, 100, 4);
	clean(b, RECV_AT, 100);
	from[0].lkey = 1; /* inline data needs no key */
	post_send(a, b, &wr);
	memset(a->buf + SEND_AT, 0, 100); /* and is the caller's again at once */
	pair_settle(0);
	check_sent(a, 1, IBV_WC_RDMA_WRITE, 0);
	check_memory(b, RECV_AT, 100, 4);
}

static void
signalling__one_completion_for_many(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	uint32_t i;

	(void)state;
	for (i = 0; i < PAIR_DEPTH - 1; i++) {
		wr.wr_id = i;
		wr.send_flags = i == PAIR_DEPTH - 2 ? IBV_SEND_SIGNALED : 0;
		post_send(a, b, &wr);
	}
	pair_settle(0);
	check_sent(a, PAIR_DEPTH - 2, IBV_WC_RDMA_WRITE, 0);
	/* The completion gave back all of them. */
	for (i = 0; i < PAIR_DEPTH - 1; i++) {
		wr.send_flags = IBV_SEND_SIGNALED;
		post_send(a, b, &wr);
		pair_settle(0);
		check_sent(a, wr.wr_id, IBV_WC_RDMA_WRITE, 0);
	}
}

/* Only the user index (CQE version 1) or the QPN (version 0) tells whose completion it is. */
static void
cq__shared_by_two_qps(void **state)
{
	struct pair first = pair, more;
	int i;

	(void)state;
	pair_add(&more, &pair);
	for (i = 0; i < 4; i++) {
		pair = i % 2 ? first : more;
		send_once(40 + (uint32_t)i, 0, true);
		write_once(100 + (uint32_t)i, IBV_SEND_INLINE, false);
		read_once(300);
	}
	pair = first;
	pair_remove(&more);
}

/* Chains of mixed sizes, rung once each, until ring, CQ and 16-bit counters have wrapped. */
static void
ring__wraps(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	uint32_t random = 12345, counter = 0, blocks = 0;

	(void)state;
	while (blocks < 70000) {
		struct ibv_send_wr wr[16] = { 0 };
		struct ibv_sge sge[16];
		struct ibv_send_wr *bad;
		struct ibv_wc wc[17];
		uint32_t i;

		for (i = 0; i < 16; i++) {
			uint32_t bytes = (random >> 16) % (PAIR_INLINE - 4) + 4;
			uint32_t at = SEND_AT + 256 * i;

			random = random * 1103515245 + 12345;
			memcpy(a->buf + at, &counter, 4);
			a->buf[at + bytes - 1] = (uint8_t)counter;
			sge[i] = sge_of(a, at, bytes);
			wr[i] = (struct ibv_send_wr){ .wr_id = counter++,
				.next = i < 15 ? &wr[i + 1] : NULL,
				.sg_list = &sge[i],
				.num_sge = 1,
				.opcode = IBV_WR_RDMA_WRITE,
				.send_flags = IBV_SEND_SIGNALED | (i % 3 ? IBV_SEND_INLINE : 0),
				.wr.rdma = { (uintptr_t)b->buf + RECV_AT + 256 * i, b->mr->rkey } };
			blocks += i % 3 ? (16 + 16 + 4 + bytes + 63) / 64 : 1;
		}
		assert_int_equal(ibv_post_send(a->qp, wr, &bad), 0);
		pair_settle(0);
		assert_int_equal(ibv_poll_cq(a->send_cq, 17, wc), 16);
		for (i = 0; i < 16; i++) {
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, wr[i].wr_id);
			assert_memory_equal(b->buf + RECV_AT + 256 * i, a->buf + SEND_AT + 256 * i,
				sge[i].length);
		}
	}
}

static void
error__one_bad_write_flushes_the_rest(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr[4], *bad;
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		wr[i] = (struct ibv_send_wr){ .wr_id = 10 + i,
			.next = i < 3 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			/* An error completes, signalled or not; so does what is flushed. */
			.send_flags = i == 0 ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = { (uintptr_t)b->buf + RECV_AT, b->mr->rkey } };
	}
	wr[1].wr.rdma.rkey ^= 0x100;
	post_recv(b, 20, RECV_AT, 16);
	post_recv(b, 21, RECV_AT, 16);
	post_recv(a, 22, RECV_AT, 16);
	pair_fill(a->buf + SEND_AT, 16, 1);
	clean(b, RECV_AT, 16);
	assert_int_equal(ibv_post_send(a->qp, wr, &bad), 0);
	pair_settle(0);
	check_failed(a->send_cq, 10, IBV_WC_SUCCESS, a->qp->qp_num);
	check_failed(a->send_cq, 11, IBV_WC_REM_ACCESS_ERR, a->qp->qp_num);
	check_failed(a->send_cq, 12, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	check_failed(a->send_cq, 13, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	poll_none(a->send_cq);
	check_failed(a->recv_cq, 22, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	check_failed(b->recv_cq, 20, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
	check_failed(b->recv_cq, 21, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
	poll_none(b->recv_cq);
	check_memory(b, RECV_AT, 16, 1); /* the first one */
	check_state(a, IBV_QPS_ERR);
	check_state(b, IBV_QPS_ERR);
}

/* Posts one operation that must fail with this status and leave the peer's memory alone. */
static void
expect_refused(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_send_wr *bad;

	clean(b, RECV_AT, 64);
	wr->wr_id = 3;
	assert_int_equal(ibv_post_send(a->qp, wr, &bad), 0);
	pair_settle(10000000);
	check_failed(a->send_cq, 3, status, a->qp->qp_num);
	check_memory(b, RECV_AT + 64, 0, 0);
	check_state(a, IBV_QPS_ERR);
}

static void
error__access_beyond_the_region(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_mr *small = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	(void)state;
	assert_non_null(small);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT + 49;
	wr.wr.rdma.rkey = small->rkey;
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	check_memory(b, RECV_AT, 0, 0);
	assert_int_equal(ibv_dereg_mr(small), 0);
}

static void
error__right_not_granted(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ };
	struct ibv_mr *mr = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	(void)state;
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = mr->rkey;
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void
error__key_of_a_region_that_is_gone(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_mr *mr = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mr *next;

	(void)state;
	assert_non_null(mr);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	next = ibv_reg_mr(
		b->pd, b->buf + RECV_AT, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(next);
	expect_refused(&wr, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(next), 0);
}

static void
error__bad_local_key(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	sge.lkey ^= 1;
	expect_refused(&wr, IBV_WC_LOC_PROT_ERR);
	check_state(&pair.end[1], IBV_QPS_RTS);
}

static void
error__local_segment_past_its_region(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_sge sge = sge_of(a, PAIR_BYTES - 8, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	expect_refused(&wr, IBV_WC_LOC_PROT_ERR);
}

static void
error__write_not_enabled(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_sge sge = sge_of(a, SEND_AT, 16);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	assert_int_equal(ibv_modify_qp(b->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	expect_refused(&wr, IBV_WC_REM_INV_REQ_ERR);
}

static void
error__send_longer_than_the_receive(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	post_recv(b, 31, RECV_AT + 1024, 99);
	post_recv(b, 32, RECV_AT + 1024, 99);
	expect_refused(&wr, IBV_WC_REM_INV_REQ_ERR);
	check_failed(b->recv_cq, 31, IBV_WC_LOC_LEN_ERR, b->qp->qp_num);
	check_failed(b->recv_cq, 32, IBV_WC_WR_FLUSH_ERR, b->qp->qp_num);
}

static void
error__receive_with_a_bad_key(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 100), to = sge_of(b, RECV_AT + 1024, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = 33, .sg_list = &to, .num_sge = 1 }, *bad;

	(void)state;
	to.lkey = a->mr->lkey; /* of another device's PD */
	assert_int_equal(ibv_post_recv(b->qp, &recv, &bad), 0);
	expect_refused(&wr, IBV_WC_REM_OP_ERR);
	check_failed(b->recv_cq, 33, IBV_WC_LOC_PROT_ERR, b->qp->qp_num);
}

static void
rnr__waits_for_the_receive(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .wr_id = 4,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };

	(void)state;
	pair_fill(a->buf + SEND_AT, 100, 5);
	clean(b, RECV_AT, 100);
	post_send(a, b, &wr);
	pair_settle(0);
	poll_none(a->send_cq);
	assert_int_equal(pmv_mlx5m_next_timer_us(), 640); /* code 12 */
	post_recv(b, 6, RECV_AT, 100);
	pair_settle(639);
	poll_none(b->recv_cq);
	pair_settle(640);
	check_sent(a, 4, IBV_WC_SEND, 0);
	check_received(b, a, 6, IBV_WC_RECV, 100, false);
	check_memory(b, RECV_AT, 100, 5);
}

static void
rnr__gives_up(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_sge sge = sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	(void)state;
	expect_refused(&wr, IBV_WC_RNR_RETRY_EXC_ERR);
	check_state(&pair.end[1], IBV_QPS_RTS);
}

static void
retry__gives_up_without_a_peer(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	pmv_mlx5m_cut_wire(true);
	expect_refused(&wr, IBV_WC_RETRY_EXC_ERR);
	pmv_mlx5m_cut_wire(false);
}

static void
retry__repairs_a_loss(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_sge sge = sge_of(a, SEND_AT, 5000);
	struct ibv_send_wr wr = { .wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED };

	(void)state;
	pair_fill(a->buf + SEND_AT, 5000, 77);
	clean(b, RECV_AT, 5000);
	pmv_mlx5m_cut_wire(true);
	post_send(a, b, &wr);
	pair_settle(0);
	poll_none(a->send_cq);
	pmv_mlx5m_cut_wire(false);
	pair_settle(1000000);
	check_sent(a, 2, IBV_WC_RDMA_WRITE, 0);
	check_memory(b, RECV_AT, 5000, 77);
}

static void
psn__must_agree(void **state)
{
	struct pair_options options = { .timeout = 10, .retry_cnt = 2, .send_psn = 0x123456 };
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_sge sge = sge_of(a, SEND_AT, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	(void)state;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	pair_to_init(a, 0);
	pair_to_rtr(a, b, 0);
	pair_to_rts(a, &options);
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf + RECV_AT;
	wr.wr.rdma.rkey = b->mr->rkey;
	expect_refused(&wr, IBV_WC_RETRY_EXC_ERR);
}

static void
flush__by_modify_to_error(void **state)
{
	struct pair_end *a = &pair.end[0];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_sge sge = sge_of(a, SEND_AT, 100);
	struct ibv_send_wr wr = { .wr_id = 42,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE };

	(void)state;
	post_recv(a, 40, RECV_AT, 100);
	post_recv(a, 41, RECV_AT, 100);
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	post_send(a, &pair.end[1], &wr);
	post_recv(a, 43, RECV_AT, 100);
	pair_settle(0);
	check_failed(a->send_cq, 42, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	check_failed(a->recv_cq, 40, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	check_failed(a->recv_cq, 41, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
	check_failed(a->recv_cq, 43, IBV_WC_WR_FLUSH_ERR, a->qp->qp_num);
}

static void
reset__starts_over(void **state)
{
	struct pair_end *a = &pair.end[0], *b = &pair.end[1];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int i;

	(void)state;
	send_once(100, IBV_SEND_INLINE, false);
	post_recv(b, 1, RECV_AT, 8);
	for (i = 0; i < 2; i++)
		assert_int_equal(ibv_modify_qp(pair.end[i].qp, &attr, IBV_QP_STATE), 0);
	pair_connect(&pair, NULL);
	poll_none(b->recv_cq);
	send_once(100, IBV_SEND_INLINE, true);
	write_once(1000, 0, false);
	read_once(3000);
	check_state(a, IBV_QPS_RTS);
}

static int
open_pair(void **state)
{
	(void)state;
	pmv_mlx5m_violations_clear();
	pair_open(&pair, NULL);
	return 0;
}

static int
open_pair_sig_all(void **state)
{
	struct pair_options options = {
		.sig_all = true, .timeout = 14, .retry_cnt = 3, .rnr_retry = 3, .send_psn = 0xfffff0
	};

	(void)state;
	pmv_mlx5m_violations_clear();
	pair_open(&pair, &options);
	return 0;
}

/* libmlx5 breaks no rule of the model: the two read the format alike. */
static int
close_pair(void **state)
{
	const struct pmv_mlx5m_violation *v;
	uint32_t i;

	(void)state;
	pair_close(&pair);
	for (i = 0; (v = pmv_mlx5m_violation_get(i)) != NULL; i++)
		printf("violation %s, QP %#x: %s\n", pmv_mlx5m_rule_name(v->rule), v->qpn, v->text);
	return pmv_mlx5m_violations() != 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

static const struct CMUnitTest tests[] = {
	CASE(device__attributes),
	CASE(qp__query_tells_what_modify_set),
	CASE(qp__refuses_wrong_transitions),
	CASE(objects__busy_and_bad),
	CASE(send__every_length),
	CASE(send__every_length_inline),
	CASE(write__every_length),
	CASE(write__every_length_inline),
	CASE(read__every_length),
	cmocka_unit_test_setup_teardown(read__every_length_sig_all, open_pair_sig_all, close_pair),
	CASE(segments__gather_and_scatter),
	CASE(inline__gathers_segments),
	CASE(signalling__one_completion_for_many),
	CASE(cq__shared_by_two_qps),
	CASE(ring__wraps),
	CASE(error__one_bad_write_flushes_the_rest),
	CASE(error__access_beyond_the_region),
	CASE(error__right_not_granted),
	CASE(error__key_of_a_region_that_is_gone),
	CASE(error__bad_local_key),
	CASE(error__local_segment_past_its_region),
	CASE(error__write_not_enabled),
	CASE(error__send_longer_than_the_receive),
	CASE(error__receive_with_a_bad_key),
	CASE(rnr__waits_for_the_receive),
	CASE(rnr__gives_up),
	CASE(retry__gives_up_without_a_peer),
	CASE(retry__repairs_a_loss),
	CASE(psn__must_agree),
	CASE(flush__by_modify_to_error),
	CASE(reset__starts_over),
};

/* For seeded_bugs. */
static void
print_bugs(void)
{
	unsigned int i;

	for (i = 0; i < PMV_MLX5M_BUG_MAX; i++)
		printf("%s\n", pmv_mlx5m_bug_name((enum pmv_mlx5m_bug)i));
}

int
main(int argc, char **argv)
{
	struct pmv_mlx5m_config config;
	int ret;

	if (argc > 1 && strcmp(argv[1], "--bugs") == 0) {
		print_bugs();
		return 0;
	}
	pmv_mlx5m_config_init(&config);
	if (pmv_mlx5m_config_env(&config) != 0)
		return 2;
	scatters = config.scatter_to_cqe;
	ret = pmv_mlx5m_start(&config);
	if (ret != 0) {
		fprintf(stderr, "the model does not start: %s\n", strerror(-ret));
		return 2;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	pmv_mlx5m_stop();
	return ret;
}
