// SPDX-License-Identifier: BSD-3-Clause
/*
 * Syndromes of the HCA as completion statuses; see poll_error.h. Owner lcore, cold.
 */
#include "drivers/mlx5/poll_error.h"

#include "drivers/mlx5/device.h"

static enum pmv_wc_status
status_of(uint8_t syndrome)
{
	static const uint8_t status[] = {
		[0x01] = PMV_WC_LOC_LEN_ERR,
		[0x02] = PMV_WC_LOC_QP_OP_ERR,
		[0x04] = PMV_WC_LOC_PROT_ERR,
		[0x05] = PMV_WC_WR_FLUSH_ERR,
		[0x06] = PMV_WC_MW_BIND_ERR,
		[0x10] = PMV_WC_BAD_RESP_ERR,
		[0x11] = PMV_WC_LOC_ACCESS_ERR,
		[0x12] = PMV_WC_REM_INV_REQ_ERR,
		[0x13] = PMV_WC_REM_ACCESS_ERR,
		[0x14] = PMV_WC_REM_OP_ERR,
		[0x15] = PMV_WC_RETRY_EXC_ERR,
		[0x16] = PMV_WC_RNR_RETRY_EXC_ERR,
		[0x22] = PMV_WC_REM_ABORT_ERR,
	};

	if (syndrome >= sizeof(status) || status[syndrome] == PMV_WC_SUCCESS)
		return PMV_WC_GENERAL_ERR;
	return (enum pmv_wc_status)status[syndrome];
}

void
pmv_mlx5_poll_error(struct pmv_mlx5_qp *qp, const struct pmv_mlx5_cqe *cqe, struct pmv_wc *wc)
{
	struct pmv_mlx5_stats *stats = &pmv_mlx5_worker(qp->base.worker)->stats;
	uint8_t opcode = cqe->op_own >> 4;

	stats->completions_error++;
	if (opcode == PMV_MLX5_CQE_REQ_ERR || opcode == PMV_MLX5_CQE_RECV_ERR) {
		wc->status = status_of(cqe->syndrome);
		wc->vendor_err = cqe->vendor_syndrome;
	} else {
		/* Compressed, or data in the entry: bytes would be lost if we went on. */
		stats->completions_format++;
		wc->status = PMV_WC_FATAL_ERR;
		wc->vendor_err = cqe->op_own;
	}
	if (qp->base.state >= PMV_QPS_INIT)
		__atomic_store_n(&qp->base.state, (uint8_t)PMV_QPS_ERR, __ATOMIC_RELEASE);
}
