// SPDX-License-Identifier: BSD-3-Clause
/*
 * What drivers/mlx5 believes to be the format of queue entries and completions (hw.h, wqe.h,
 * short.h, poll_error.c), against what rdma-core's mlx5dv.h says: sizes, offsets, numbers, and
 * whole segments as its own inlines make them. Needs no device and no model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/poll_error.h"
#include "drivers/mlx5/short.h"
#include "drivers/mlx5/wqe.h"

#define SAME_SIZE(ours, theirs)                                                                    \
	assert_int_equal(sizeof(struct pmv_mlx5_##ours), sizeof(struct mlx5_##theirs))
#define SAME_PLACE(ours, field, theirs, their_field)                                               \
	do {                                                                                       \
		assert_int_equal(offsetof(struct pmv_mlx5_##ours, field),                          \
			offsetof(struct mlx5_##theirs, their_field));                              \
		assert_int_equal(sizeof(((struct pmv_mlx5_##ours *)0)->field),                     \
			sizeof(((struct mlx5_##theirs *)0)->their_field));                         \
	} while (0)

static void
wqe__offsets(void **state)
{
	SAME_SIZE(ctrl, wqe_ctrl_seg);
	SAME_PLACE(ctrl, op_be, wqe_ctrl_seg, opmod_idx_opcode);
	SAME_PLACE(ctrl, qpn_ds_be, wqe_ctrl_seg, qpn_ds);
	SAME_PLACE(ctrl, signature, wqe_ctrl_seg, signature);
	SAME_PLACE(ctrl, stream, wqe_ctrl_seg, dci_stream_channel_id);
	SAME_PLACE(ctrl, flags, wqe_ctrl_seg, fm_ce_se);
	SAME_PLACE(ctrl, imm_be, wqe_ctrl_seg, imm);
	SAME_SIZE(remote, wqe_raddr_seg);
	SAME_PLACE(remote, addr_be, wqe_raddr_seg, raddr);
	SAME_PLACE(remote, rkey_be, wqe_raddr_seg, rkey);
	SAME_PLACE(remote, reserved, wqe_raddr_seg, reserved);
	SAME_SIZE(data, wqe_data_seg);
	SAME_PLACE(data, bytes_be, wqe_data_seg, byte_count);
	SAME_PLACE(data, lkey_be, wqe_data_seg, lkey);
	SAME_PLACE(data, addr_be, wqe_data_seg, addr);
	assert_int_equal(PMV_MLX5_INLINE_HEAD, sizeof(struct mlx5_wqe_inl_data_seg));
	assert_int_equal(PMV_MLX5_BLOCK_BYTES, MLX5_SEND_WQE_BB);
}

static void
cqe__offsets(void **state)
{
	SAME_SIZE(cqe, cqe64);
	SAME_PLACE(cqe, srqn_uidx_be, cqe64, srqn_uidx);
	SAME_PLACE(cqe, imm_be, cqe64, imm_inval_pkey);
	SAME_PLACE(cqe, bytes_be, cqe64, byte_cnt);
	SAME_PLACE(cqe, op_qpn_be, cqe64, sop_drop_qpn);
	SAME_PLACE(cqe, counter_be, cqe64, wqe_counter);
	SAME_PLACE(cqe, signature, cqe64, signature);
	SAME_PLACE(cqe, op_own, cqe64, op_own);
	SAME_SIZE(cqe, err_cqe);
	SAME_PLACE(cqe, srqn_uidx_be, err_cqe, srqn);
	SAME_PLACE(cqe, vendor_syndrome, err_cqe, vendor_err_synd);
	SAME_PLACE(cqe, syndrome, err_cqe, syndrome);
	SAME_PLACE(cqe, op_qpn_be, err_cqe, s_wqe_opcode_qpn);
	SAME_PLACE(cqe, counter_be, err_cqe, wqe_counter);
	SAME_PLACE(cqe, op_own, err_cqe, op_own);
}

static void
numbers__same(void **state)
{
	assert_int_equal(PMV_MLX5_OP_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE);
	assert_int_equal(PMV_MLX5_OP_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_WRITE_IMM);
	assert_int_equal(PMV_MLX5_OP_SEND, MLX5_OPCODE_SEND);
	assert_int_equal(PMV_MLX5_OP_SEND_IMM, MLX5_OPCODE_SEND_IMM);
	assert_int_equal(PMV_MLX5_OP_RDMA_READ, MLX5_OPCODE_RDMA_READ);
	assert_int_equal(PMV_MLX5_CTRL_CQE_ALWAYS, MLX5_WQE_CTRL_CQ_UPDATE);
	assert_int_equal(PMV_MLX5_CTRL_SOLICITED, MLX5_WQE_CTRL_SOLICITED);
	assert_int_equal(PMV_MLX5_CTRL_FENCE, MLX5_WQE_CTRL_FENCE);
	assert_int_equal(PMV_MLX5_INLINE_FLAG, (uint32_t)MLX5_INLINE_SEG);
	assert_int_equal(PMV_MLX5_LKEY_END, MLX5_INVALID_LKEY);
	assert_int_equal(PMV_MLX5_RECORD_RECV, MLX5_RCV_DBR);
	assert_int_equal(PMV_MLX5_RECORD_SEND, MLX5_SND_DBR);
	assert_int_equal(PMV_MLX5_CQE_OWNER, MLX5_CQE_OWNER_MASK);
	assert_int_equal(PMV_MLX5_CQE_REQ, MLX5_CQE_REQ);
	assert_int_equal(PMV_MLX5_CQE_RECV_WRITE_IMM, MLX5_CQE_RESP_WR_IMM);
	assert_int_equal(PMV_MLX5_CQE_RECV_SEND, MLX5_CQE_RESP_SEND);
	assert_int_equal(PMV_MLX5_CQE_RECV_SEND_IMM, MLX5_CQE_RESP_SEND_IMM);
	assert_int_equal(PMV_MLX5_CQE_REQ_ERR, MLX5_CQE_REQ_ERR);
	assert_int_equal(PMV_MLX5_CQE_RECV_ERR, MLX5_CQE_RESP_ERR);
	assert_int_equal(PMV_MLX5_CQE_INVALID, MLX5_CQE_INVALID);
	/* what no entry may have that we take */
	assert_int_equal(PMV_MLX5_CQE_FORMAT_MASK, MLX5_INLINE_SCATTER_32 | MLX5_INLINE_SCATTER_64);
}

static void
cqe__accessors(void **state)
{
	struct pmv_mlx5_cqe cqe = { 0 };
	struct mlx5_cqe64 *theirs = (struct mlx5_cqe64 *)(void *)&cqe;

	for (uint32_t i = 0; i < 256; i++) {
		cqe.op_own = (uint8_t)i;
		assert_int_equal(mlx5dv_get_cqe_opcode(theirs), cqe.op_own >> 4);
		assert_int_equal(mlx5dv_get_cqe_owner(theirs), cqe.op_own & PMV_MLX5_CQE_OWNER);
		assert_int_equal(mlx5dv_get_cqe_format(theirs),
			(cqe.op_own & PMV_MLX5_CQE_FORMAT_MASK) >> 2);
		/* the two ways to look at its end */
		cqe.counter_be = rte_cpu_to_be_16((uint16_t)(0xab00 + i));
		assert_int_equal(pmv_mlx5_queue_tail(&cqe) >> 16, 0xab00 + i);
		assert_int_equal((uint8_t)pmv_mlx5_queue_tail(&cqe), i);
	}
}

/* Segments as the two make them. */
static void
wqe__segments(void **state)
{
	uint8_t ours[PMV_MLX5_BLOCK_BYTES] __attribute__((aligned(64)));
	uint8_t theirs[PMV_MLX5_BLOCK_BYTES] __attribute__((aligned(64)));
	const struct pmv_sge sge = { 0x1122334455667788, 0x12345678, 0x9abcdef0 };

	memset(ours, 0xee, sizeof(ours));
	memset(theirs, 0xee, sizeof(theirs));
	pmv_mlx5_wqe_ctrl(ours,
		0xfedcull << 40 | (uint64_t)MLX5_OPCODE_SEND_IMM << 32 | 0x123456 << 8 | 5,
		PMV_MLX5_CTRL_CQE_ALWAYS | PMV_MLX5_CTRL_FENCE | PMV_MLX5_CTRL_SOLICITED,
		0x01020304);
	/* theirs does not touch what is 0 in ours */
	memset(theirs, 0, sizeof(struct mlx5_wqe_ctrl_seg));
	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)(void *)theirs, 0xfedc,
		MLX5_OPCODE_SEND_IMM, 0, 0x123456,
		MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_FENCE | MLX5_WQE_CTRL_SOLICITED, 5, 0,
		0x01020304);
	pmv_mlx5_wqe_put(ours + 16, pmv_mlx5_wqe_data(&sge));
	mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)(theirs + 16), 0x12345678,
		0x9abcdef0, 0x1122334455667788);
	assert_memory_equal(ours, theirs, sizeof(ours));
}

/* Short entries of every length, whole but for what is behind the payload. */
static void
short_entries(bool as_other)
{
	uint8_t ours[PMV_MLX5_BLOCK_BYTES] __attribute__((aligned(64)));
	uint8_t theirs[PMV_MLX5_BLOCK_BYTES] __attribute__((aligned(64)));
	struct mlx5_wqe_raddr_seg *remote = (struct mlx5_wqe_raddr_seg *)(void *)(theirs + 16);
	struct mlx5_wqe_inl_data_seg *head = (struct mlx5_wqe_inl_data_seg *)(void *)(theirs + 32);
	uint8_t payload[28];
	struct pmv_sge sge = { (uintptr_t)payload, 0, 0 };
	struct pmv_send_wr wr = { .wr_id = 77,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.wr.rdma = { 0x1122334455667788, 0x99aabbcc } };
	struct pmv_mlx5_sent sent;

	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i + 1);
	for (uint32_t i = 2; i < 2 * (sizeof(payload) + 2); i++) {
		bool signaled = i % 2, is_word;

		sge.length = i / 2;
		memset(ours, 0xee, sizeof(ours));
		memset(theirs, 0xee, sizeof(theirs));
		wr.send_flags =
			PMV_SEND_INLINE | PMV_SEND_FLUSH | (signaled ? PMV_SEND_SIGNALED : 0);
		is_word = sge.length == 8 && !as_other;
		assert_int_equal(pmv_mlx5_short_is(&wr, pmv_mlx5_short_flags(&wr),
					 PMV_SEND_SIGNALED | PMV_SEND_FLUSH, is_word),
			sge.length <= sizeof(payload));
		if (sge.length > sizeof(payload))
			continue;
		pmv_mlx5_short_put(ours, &sent, 0xfedcull << 40 | pmv_mlx5_short_ctrl(0x123456),
			&wr, pmv_mlx5_short_flags(&wr), is_word);
		memset(theirs, 0, sizeof(struct mlx5_wqe_ctrl_seg));
		mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)(void *)theirs, 0xfedc,
			MLX5_OPCODE_RDMA_WRITE, 0, 0x123456, signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0,
			(uint8_t)(2 + (sge.length + 4 + 15) / 16), 0, 0);
		*remote = (struct mlx5_wqe_raddr_seg){ htobe64(0x1122334455667788),
			htobe32(0x99aabbcc), 0 };
		head->byte_count = htobe32(MLX5_INLINE_SEG | sge.length);
		memcpy(theirs + 36, payload, sge.length);
		assert_memory_equal(ours, theirs, sizeof(ours));
		assert_int_equal(sent.wr_id, 77);
	}
	sge.length = 0;
	assert_false(pmv_mlx5_short_is(
		&wr, pmv_mlx5_short_flags(&wr), PMV_SEND_SIGNALED | PMV_SEND_FLUSH, false));
}

static void
wqe__short(void **state)
{
	short_entries(false);
	short_entries(true);
}

static void
syndromes__same(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum pmv_wc_status status;
	} known[] = {
		{ MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, PMV_WC_LOC_LEN_ERR },
		{ MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, PMV_WC_LOC_QP_OP_ERR },
		{ MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, PMV_WC_LOC_PROT_ERR },
		{ MLX5_CQE_SYNDROME_WR_FLUSH_ERR, PMV_WC_WR_FLUSH_ERR },
		{ MLX5_CQE_SYNDROME_MW_BIND_ERR, PMV_WC_MW_BIND_ERR },
		{ MLX5_CQE_SYNDROME_BAD_RESP_ERR, PMV_WC_BAD_RESP_ERR },
		{ MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, PMV_WC_LOC_ACCESS_ERR },
		{ MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, PMV_WC_REM_INV_REQ_ERR },
		{ MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, PMV_WC_REM_ACCESS_ERR },
		{ MLX5_CQE_SYNDROME_REMOTE_OP_ERR, PMV_WC_REM_OP_ERR },
		{ MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, PMV_WC_RETRY_EXC_ERR },
		{ MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, PMV_WC_RNR_RETRY_EXC_ERR },
		{ MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR, PMV_WC_REM_ABORT_ERR },
	};
	static struct pmv_mlx5_worker w;
	struct pmv_mlx5_cqe cqe = { .op_own = PMV_MLX5_CQE_REQ_ERR << 4, .vendor_syndrome = 0x5a };
	struct pmv_mlx5_qp qp = { .base = { .worker = &w.base, .state = PMV_QPS_RTS } };

	for (uint32_t s = 0; s < 256; s++) {
		enum pmv_wc_status want = PMV_WC_GENERAL_ERR;
		struct pmv_wc wc = { 0 };

		for (uint32_t i = 0; i < RTE_DIM(known); i++)
			if (known[i].syndrome == s)
				want = known[i].status;
		cqe.syndrome = (uint8_t)s;
		pmv_mlx5_poll_error(&qp, &cqe, &wc);
		assert_int_equal(wc.status, want);
		assert_int_equal(wc.vendor_err, 0x5a);
		assert_int_equal(qp.base.state, PMV_QPS_ERR);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqe__offsets),
		cmocka_unit_test(cqe__offsets),
		cmocka_unit_test(numbers__same),
		cmocka_unit_test(cqe__accessors),
		cmocka_unit_test(wqe__segments),
		cmocka_unit_test(wqe__short),
		cmocka_unit_test(syndromes__same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
