// SPDX-License-Identifier: BSD-3-Clause
/*
 * Names of statuses and states. Static text; any thread.
 */
#include "lib/api/pmv_types.h"

static const char *const wc_status_names[] = {
	[PMV_WC_SUCCESS] = "success",
	[PMV_WC_LOC_LEN_ERR] = "local length error",
	[PMV_WC_LOC_QP_OP_ERR] = "local QP operation error",
	[PMV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
	[PMV_WC_LOC_PROT_ERR] = "local protection error",
	[PMV_WC_WR_FLUSH_ERR] = "work request flushed",
	[PMV_WC_MW_BIND_ERR] = "memory window bind error",
	[PMV_WC_BAD_RESP_ERR] = "bad response",
	[PMV_WC_LOC_ACCESS_ERR] = "local access error",
	[PMV_WC_REM_INV_REQ_ERR] = "remote invalid request",
	[PMV_WC_REM_ACCESS_ERR] = "remote access error",
	[PMV_WC_REM_OP_ERR] = "remote operation error",
	[PMV_WC_RETRY_EXC_ERR] = "transport retries exhausted",
	[PMV_WC_RNR_RETRY_EXC_ERR] = "RNR retries exhausted",
	[PMV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation",
	[PMV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
	[PMV_WC_REM_ABORT_ERR] = "remote aborted",
	[PMV_WC_INV_EECN_ERR] = "invalid EE context number",
	[PMV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
	[PMV_WC_FATAL_ERR] = "fatal error",
	[PMV_WC_RESP_TIMEOUT_ERR] = "response timeout",
	[PMV_WC_GENERAL_ERR] = "general error",
};

static const char *const qp_state_names[] = {
	[PMV_QPS_RESET] = "RESET",
	[PMV_QPS_INIT] = "INIT",
	[PMV_QPS_RTR] = "RTR",
	[PMV_QPS_RTS] = "RTS",
	[PMV_QPS_SQD] = "SQD",
	[PMV_QPS_SQE] = "SQE",
	[PMV_QPS_ERR] = "ERR",
};

const char *
pmv_wc_status_str(enum pmv_wc_status status)
{
	return (unsigned int)status <= PMV_WC_GENERAL_ERR ? wc_status_names[status]
							  : "unknown status";
}

const char *
pmv_qp_state_str(enum pmv_qp_state state)
{
	return (unsigned int)state <= PMV_QPS_ERR ? qp_state_names[state] : "unknown state";
}
