// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ranges of queue pair attributes, see qp_attr.h. The limits are those of IBTA vol. 1, 11.2.5.2 and
 * of the device.
 */
#include "lib/verbs/qp_attr.h"

#define MAX_24_BITS 0xffffffu
/* LOCAL_WRITE means nothing for a queue pair, but verbs programs pass it and Linux takes it. */
#define ACCESS_BITS                                                                                \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL | PMV_ACCESS_OPTIONAL_RANGE)

static const char *const attr_names[] = {
	"qp_state",
	"cur_qp_state",
	"en_sqd_async_notify",
	"qp_access_flags",
	"pkey_index",
	"port_num",
	"qkey",
	"ah_attr",
	"path_mtu",
	"timeout",
	"retry_cnt",
	"rnr_retry",
	"rq_psn",
	"max_rd_atomic",
	"alternate path",
	"min_rnr_timer",
	"sq_psn",
	"max_dest_rd_atomic",
	"path migration state",
	"cap",
	"dest_qp_num",
};

const char *
pmv_verbs_qp_attr_name(uint32_t mask)
{
	uint32_t bit;

	if (mask == 0)
		return "none";
	bit = (uint32_t)__builtin_ctz(mask);
	return bit < sizeof(attr_names) / sizeof(attr_names[0]) ? attr_names[bit]
								: "an unknown bit";
}

/* Whole-QP attributes and those of the peer. */
static const char *
check_path(const struct pmv_device_attr *limits, const struct pmv_qp_attr *a, uint32_t mask)
{
	if (mask & (PMV_QP_ALT_PATH | PMV_QP_PATH_MIG_STATE))
		return "RoCE has no alternate path"; /* Linux refuses it for RoCE ports, too */
	if ((mask & PMV_QP_ACCESS_FLAGS) && (a->qp_access_flags & ~ACCESS_BITS))
		return "qp_access_flags has an unknown bit";
	if ((mask & PMV_QP_PKEY_INDEX) && a->pkey_index != 0)
		return "pkey_index is not 0";
	if ((mask & PMV_QP_PORT) && a->port_num != 1)
		return "port_num is not 1";
	if ((mask & PMV_QP_PATH_MTU) && pmv_mtu_bytes((uint8_t)a->path_mtu) == 0)
		return "path_mtu is not a code 1..5";
	if ((mask & PMV_QP_PATH_MTU) && a->path_mtu > limits->active_mtu)
		return "path_mtu is above the device's active_mtu";
	if ((mask & PMV_QP_DEST_QPN) && a->dest_qp_num > MAX_24_BITS)
		return "dest_qp_num has more than 24 bits";
	if ((mask & PMV_QP_RQ_PSN) && a->rq_psn > MAX_24_BITS)
		return "rq_psn has more than 24 bits";
	if ((mask & PMV_QP_SQ_PSN) && a->sq_psn > MAX_24_BITS)
		return "sq_psn has more than 24 bits";
	return NULL;
}

const char *
pmv_verbs_qp_attr_check(
	const struct pmv_device_attr *limits, const struct pmv_qp_attr *a, uint32_t mask)
{
	const char *why = check_path(limits, a, mask);

	if (why != NULL)
		return why;
	if ((mask & PMV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > limits->max_rd_atomic)
		return "max_rd_atomic is above the device's";
	if ((mask & PMV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > limits->max_rd_atomic)
		return "max_dest_rd_atomic is above the device's";
	if ((mask & PMV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31)
		return "min_rnr_timer is above 31";
	if ((mask & PMV_QP_TIMEOUT) && a->timeout > 31)
		return "timeout is above 31";
	if ((mask & PMV_QP_RETRY_CNT) && a->retry_cnt > 7)
		return "retry_cnt is above 7";
	if ((mask & PMV_QP_RNR_RETRY) && a->rnr_retry > 7)
		return "rnr_retry is above 7";
	return NULL;
}

const char *
pmv_verbs_qp_cap_check(const struct pmv_device_attr *limits, const struct pmv_qp_cap *cap)
{
	if (cap->max_send_wr == 0 || cap->max_send_wr > limits->max_qp_wr)
		return "max_send_wr is 0 or above the device's max_qp_wr";
	if (cap->max_recv_wr > limits->max_qp_wr)
		return "max_recv_wr is above the device's max_qp_wr";
	if (cap->max_send_sge == 0 || cap->max_send_sge > limits->max_sge)
		return "max_send_sge is 0 or above the device's max_sge";
	if (cap->max_recv_sge > limits->max_sge || (cap->max_recv_wr > 0 && cap->max_recv_sge == 0))
		return "max_recv_sge is 0 or above the device's max_sge";
	if (cap->max_inline_data > limits->max_inline)
		return "max_inline_data is above the device's max_inline";
	return NULL;
}

void
pmv_verbs_qp_attr_copy(struct pmv_qp_attr *dst, const struct pmv_qp_attr *src, uint32_t mask)
{
#define COPY(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			dst->field = src->field;                                                   \
	} while (0)
	COPY(PMV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	COPY(PMV_QP_ACCESS_FLAGS, qp_access_flags);
	COPY(PMV_QP_PKEY_INDEX, pkey_index);
	COPY(PMV_QP_PORT, port_num);
	COPY(PMV_QP_QKEY, qkey);
	COPY(PMV_QP_AV, ah_attr);
	COPY(PMV_QP_PATH_MTU, path_mtu);
	COPY(PMV_QP_TIMEOUT, timeout);
	COPY(PMV_QP_RETRY_CNT, retry_cnt);
	COPY(PMV_QP_RNR_RETRY, rnr_retry);
	COPY(PMV_QP_RQ_PSN, rq_psn);
	COPY(PMV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(PMV_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(PMV_QP_SQ_PSN, sq_psn);
	COPY(PMV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(PMV_QP_DEST_QPN, dest_qp_num);
#undef COPY
}
