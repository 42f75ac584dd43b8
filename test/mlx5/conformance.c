// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the model does, as unmodified libibverbs and libmlx5 see it: every field of every work
 * completion and every byte of memory. This file holds the single operations, conformance_ops.c
 * and conformance_errors.c the cases. Runs without HCA thread, under the settings of PMV_MLX5M_*
 * (meson.build lists them); seeded_bugs runs it once more for each planted fault and expects it
 * to fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/conformance.h"

#define GUARD       64
#define CLEAN       0xa5
#define IMM         0x01020304u
#define SCATTER_MAX 32 /* 64-byte CQEs hold this much data, and then no source QPN */

struct pair conformance_pair;
bool conformance_scatters;

struct ibv_sge
conformance_sge_of(const struct pair_end *end, uint32_t at, uint32_t bytes)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)end->buf + at, .length = bytes, .lkey = end->mr->lkey
	};
}

void
conformance_post_recv(struct pair_end *end, uint64_t wr_id, uint32_t at, uint32_t bytes)
{
	struct ibv_sge sge = conformance_sge_of(end, at, bytes);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(end->qp, &wr, &bad), 0);
}

/* Fills in the remote side and posts. */
void
conformance_post_send(struct pair_end *end, const struct pair_end *peer, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr.rdma.remote_addr = (uintptr_t)peer->buf + RECV_AT;
	wr->wr.rdma.rkey = peer->mr->rkey;
	assert_int_equal(ibv_post_send(end->qp, wr, &bad), 0);
}

/* The only completion that waits; poisoned first, so that every field asked for was written. */
struct ibv_wc
conformance_poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc[2];

	memset(wc, 0x5a, sizeof(wc));
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	return wc[0];
}

void
conformance_poll_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

void
conformance_check_sent(
	const struct pair_end *end, uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct ibv_wc wc = conformance_poll_one(end->send_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.qp_num, end->qp->qp_num);
	assert_int_equal(wc.wc_flags, flags);
}

void
conformance_check_received(const struct pair_end *end, const struct pair_end *peer,
	const struct conformance_recv *want)
{
	struct ibv_wc wc = conformance_poll_one(end->recv_cq);
	bool in_cqe = conformance_scatters && want->opcode == IBV_WC_RECV && want->bytes > 0 &&
		      want->bytes <= SCATTER_MAX;

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, want->wr_id);
	assert_int_equal(wc.opcode, want->opcode);
	assert_int_equal(wc.byte_len, want->bytes);
	assert_int_equal(wc.qp_num, end->qp->qp_num);
	if (want->has_imm)
		assert_int_equal(wc.imm_data, htobe32(IMM));
	if (in_cqe) /* the data lies over the fields that follow */
		return;
	assert_int_equal(wc.src_qp, peer->qp->qp_num);
	assert_int_equal(wc.wc_flags, want->has_imm ? IBV_WC_WITH_IMM : 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0);
	assert_int_equal(wc.dlid_path_bits, 0);
}

void
conformance_check_failed(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status, uint32_t qpn)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, qpn);
}

void
conformance_check_state(struct pair_end *end, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, state);
}

/* Clean memory with room around; afterwards exactly `bytes` of it are as sent. */
void
conformance_clean(struct pair_end *end, uint32_t at, uint32_t bytes)
{
	memset(end->buf + at - GUARD, CLEAN, bytes + 2 * GUARD);
}

void
conformance_check_memory(const struct pair_end *end, uint32_t at, uint32_t bytes, uint8_t seed)
{
	uint8_t *want = malloc(bytes + 2 * GUARD);

	assert_non_null(want);
	memset(want, CLEAN, bytes + 2 * GUARD);
	pair_fill(want + GUARD, bytes, seed);
	assert_memory_equal(end->buf + at - GUARD, want, bytes + 2 * GUARD);
	free(want);
}

void
conformance_send_once(uint32_t bytes, unsigned int flags, bool imm)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = 0x1122334455667788 + bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = htobe32(IMM) };

	pair_fill(a->buf + SEND_AT, bytes, (uint8_t)bytes);
	conformance_clean(b, RECV_AT, bytes);
	conformance_post_recv(b, 77 + bytes, RECV_AT, bytes + 8);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_check_sent(a, wr.wr_id, IBV_WC_SEND, imm ? IBV_WC_WITH_IMM : 0);
	conformance_check_received(
		b, a, &(struct conformance_recv){ 77 + bytes, IBV_WC_RECV, bytes, imm });
	conformance_check_memory(b, RECV_AT, bytes, (uint8_t)bytes);
}

void
conformance_write_once(uint32_t bytes, unsigned int flags, bool imm)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = 0x99aabbccddeeff00 + bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = htobe32(IMM) };

	pair_fill(a->buf + SEND_AT, bytes, (uint8_t)~bytes);
	conformance_clean(b, RECV_AT, bytes);
	if (imm)
		conformance_post_recv(b, 5 + bytes, 0, 16);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	conformance_check_sent(a, wr.wr_id, IBV_WC_RDMA_WRITE, imm ? IBV_WC_WITH_IMM : 0);
	if (imm)
		conformance_check_received(b, a,
			&(struct conformance_recv){
				5 + bytes, IBV_WC_RECV_RDMA_WITH_IMM, bytes, true });
	conformance_poll_none(b->recv_cq);
	conformance_check_memory(b, RECV_AT, bytes, (uint8_t)~bytes);
}

void
conformance_read_once(uint32_t bytes)
{
	struct pair_end *a = &conformance_pair.end[0], *b = &conformance_pair.end[1];
	struct ibv_sge sge = conformance_sge_of(a, SEND_AT, bytes);
	struct ibv_send_wr wr = { .wr_id = bytes,
		.sg_list = &sge,
		.num_sge = bytes != 0,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	pair_fill(b->buf + RECV_AT, bytes, (uint8_t)(bytes + 3));
	conformance_clean(a, SEND_AT, bytes);
	conformance_post_send(a, b, &wr);
	pair_settle(0);
	wc = conformance_poll_one(a->send_cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, bytes);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, bytes);
	assert_int_equal(wc.qp_num, a->qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	conformance_check_memory(a, SEND_AT, bytes, (uint8_t)(bytes + 3));
}

int
conformance_open_pair(void **state)
{
	(void)state;
	pmv_mlx5m_violations_clear();
	pair_open(&conformance_pair, NULL);
	return 0;
}

int
conformance_open_pair_sig_all(void **state)
{
	struct pair_options options = {
		.sig_all = true, .timeout = 14, .retry_cnt = 3, .rnr_retry = 3, .send_psn = 0xfffff0
	};

	(void)state;
	pmv_mlx5m_violations_clear();
	pair_open(&conformance_pair, &options);
	return 0;
}

/* libmlx5 breaks no rule of the model: the two read the format alike. */
int
conformance_close_pair(void **state)
{
	const struct pmv_mlx5m_violation *v;
	uint32_t i;

	(void)state;
	pair_close(&conformance_pair);
	for (i = 0; (v = pmv_mlx5m_violation_get(i)) != NULL; i++)
		printf("violation %s, QP %#x: %s\n", pmv_mlx5m_rule_name(v->rule), v->qpn, v->text);
	return pmv_mlx5m_violations() != 0;
}

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
	conformance_scatters = config.scatter_to_cqe;
	ret = pmv_mlx5m_start(&config);
	if (ret != 0) {
		fprintf(stderr, "the model does not start: %s\n", strerror(-ret));
		return 2;
	}
	ret = conformance_run_ops() + conformance_run_errors();
	pmv_mlx5m_stop();
	return ret != 0;
}
