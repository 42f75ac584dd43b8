// SPDX-License-Identifier: BSD-3-Clause
/*
 * Conformance: device, QPs and objects; SEND, WRITE, READ and immediates at many lengths; lists,
 * signalling, wraps. Called by conformance.c.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/conformance.h"

static const uint32_t lengths[] = { 0, 1, 3, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 200, 1023,
	1024, 1025, 4096, 4097, 65536 };
static const uint32_t inline_lengths[] = { 0, 1, 11, 12, 13, 27, 28, 29, 32, 44, 45, 60, 61, 76, 77,
	92, 100, 140, 200 };

#define NB(array) (sizeof(array) / sizeof((array)[0]))

static void
device__attributes(void **state)
{
	struct ibv_context *ctx = conformance_pair.end[1].ctx;
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
	assert_memory_not_equal(
		&conformance_pair.end[0].gid, &conformance_pair.end[1].gid, sizeof(gid));
}

static void
qp__query_tells_what_modify_set(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)state;
	assert_int_equal(ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, conformance_pair.end[1].qp->qp_num);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 3);
	assert_int_equal(attr.rnr_retry, 3);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &conformance_pair.end[1].gid, 16);
	assert_true(attr.cap.max_inline_data >= PAIR_INLINE);
	assert_true(attr.cap.max_send_wr >= PAIR_DEPTH);
}

static void
qp__refuses_wrong_transitions(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	(void)state;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EINVAL);
	conformance_check_state(a, IBV_QPS_RESET);
}

static void
objects__busy_and_bad(void **state)
{
	struct pair_end *a = &conformance_pair.end[0];
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
		conformance_send_once(lengths[i], 0, false);
		conformance_send_once(lengths[i], 0, true);
	}
}

static void
send__every_length_inline(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(inline_lengths); i++) {
		conformance_send_once(inline_lengths[i], IBV_SEND_INLINE, false);
		conformance_send_once(
			inline_lengths[i], IBV_SEND_INLINE | IBV_SEND_SOLICITED, true);
	}
}

static void
write__every_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(lengths); i++) {
		conformance_write_once(lengths[i], 0, false);
		conformance_write_once(lengths[i], 0, true);
	}
}

static void
write__every_length_inline(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(inline_lengths); i++) {
		conformance_write_once(inline_lengths[i], IBV_SEND_INLINE, false);
		conformance_write_once(inline_lengths[i], IBV_SEND_INLINE | IBV_SEND_FENCE, true);
	}
}

static void
read__every_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < NB(lengths); i++)
		conformance_read_once(lengths[i]);
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
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
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
		from[i] = conformance_sge_of(a, SEND_AT + 8192 * i, pieces[i]);
		to[i] = conformance_sge_of(b, RECV_AT + 8192 * i, pieces[PAIR_SGES - 1 - i]);
		bytes += pieces[i];
	}
	pair_fill(all, bytes, 99);
	for (i = 0, at = 0; i < PAIR_SGES; at += pieces[i++])
		memcpy(a->buf + SEND_AT + 8192 * i, all + at, pieces[i]);
	assert_int_equal(ibv_post_recv(b->qp, &recv, &bad), 0);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_check_sent(a, 9, IBV_WC_SEND, 0);
	conformance_check_received(
		b, a, &(struct conformance_recv){ 8, IBV_WC_RECV, bytes, false });
	for (i = 0, at = 0; i < PAIR_SGES; i++) {
		assert_memory_equal(b->buf + RECV_AT + 8192 * i, all + at, to[i].length);
		at += to[i].length;
	}
	/* READ into several segments, and WRITE from them. */
	wr.opcode = IBV_WR_RDMA_READ;
	memcpy(b->buf + RECV_AT, all, bytes);
	for (i = 0; i < PAIR_SGES; i++)
		memset(a->buf + SEND_AT + 8192 * i, 0, pieces[i]);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	assert_int_equal(conformance_poll_one(a->send_cq).byte_len, bytes);
	for (i = 0, at = 0; i < PAIR_SGES; at += pieces[i++])
		assert_memory_equal(a->buf + SEND_AT + 8192 * i, all + at, pieces[i]);
	wr.opcode = IBV_WR_RDMA_WRITE;
	memset(b->buf + RECV_AT, 0, bytes);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_check_sent(a, 9, IBV_WC_RDMA_WRITE, 0);
	assert_memory_equal(b->buf + RECV_AT, all, bytes);
}

static void
inline__gathers_segments(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge from[3] = { conformance_sge_of(a, SEND_AT, 50),
		conformance_sge_of(a, SEND_AT + 50, 1), conformance_sge_of(a, SEND_AT + 51, 49) };
	struct ibv_send_wr wr = { .wr_id = 1,
		.sg_list = from,
		.num_sge = 3,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	(void)state;
	pair_fill(a->buf + SEND_AT, 100, 4);
	conformance_clean(b, RECV_AT, 100);
	from[0].lkey = 1; /* inline data needs no key */
	conformance_post_send(a, b, &wr);
	memset(a->buf + SEND_AT, 0, 100); /* and is the caller's again at once */
	pair_settle(0);
	conformance_check_sent(a, 1, IBV_WC_RDMA_WRITE, 0);
	conformance_check_memory(b, RECV_AT, 100, 4);
}

static void
signalling__one_completion_for_many(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	uint32_t i;

	(void)state;
	for (i = 0; i < PAIR_DEPTH - 1; i++) {
		wr.wr_id = i;
		wr.send_flags = i == PAIR_DEPTH - 2 ? IBV_SEND_SIGNALED : 0;
		conformance_post_send(a, b, &wr);
	}
	pair_settle(0);
	conformance_check_sent(a, PAIR_DEPTH - 2, IBV_WC_RDMA_WRITE, 0);
	/* The completion gave back all of them. */
	for (i = 0; i < PAIR_DEPTH - 1; i++) {
		wr.send_flags = IBV_SEND_SIGNALED;
		conformance_post_send(a, b, &wr);
		pair_settle(0);
		conformance_check_sent(a, wr.wr_id, IBV_WC_RDMA_WRITE, 0);
	}
}

/* Only the user index (CQE version 1) or the QPN (version 0) tells whose completion it is. */
static void
cq__shared_by_two_qps(void **state)
{
	struct pair first = conformance_pair, more;
	int i;

	(void)state;
	pair_add(&more, &conformance_pair);
	for (i = 0; i < 4; i++) {
		conformance_pair = i % 2 ? first : more;
		conformance_send_once(40 + (uint32_t)i, 0, true);
		conformance_write_once(100 + (uint32_t)i, IBV_SEND_INLINE, false);
		conformance_read_once(300);
	}
	conformance_pair = first;
	pair_remove(&more);
}

/* Chains of mixed sizes, rung once each, until ring, CQ and 16-bit counters have wrapped. */
static void
ring__wraps(void **state)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
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
			sge[i] = conformance_sge_of(a, at, bytes);
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

#define CASE(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, conformance_open_pair, conformance_close_pair)

int
conformance_run_ops(void)
{
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
		cmocka_unit_test_setup_teardown(read__every_length_sig_all,
			conformance_open_pair_sig_all, conformance_close_pair),
		CASE(segments__gather_and_scatter),
		CASE(inline__gathers_segments),
		CASE(signalling__one_completion_for_many),
		CASE(cq__shared_by_two_qps),
		CASE(ring__wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
