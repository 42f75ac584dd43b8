// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands for queue pairs. RC only.
 */
#include <errno.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "test/mlx5/model_qp.h"
#include "test/mlx5/shim_command.h"
#include "test/mlx5/shim_object.h"
#include "test/mlx5/shim_uar.h"
#include "test/mlx5/trap_page.h"

#define TYPE_RC 2

static struct pmv_mlx5m_qp *
find_qp(const struct pmv_mlx5m_context *ctx, uint32_t handle)
{
	struct pmv_mlx5m_qp *qp = pmv_mlx5m_table_get(&pmv_mlx5m_state()->qps, handle);

	return qp != NULL && qp->ctx == ctx ? qp : NULL;
}

/* What libmlx5 tells about rings and flags (kernel: create_user_qp, configure_*_scat_cqe). */
static int
take_driver_part(const struct mlx5_ib_create_qp *ask, struct pmv_mlx5m_qp *wanted)
{
	const uint32_t known = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
			       MLX5_QP_FLAG_UAR_PAGE_INDEX;
	bool scatter = (ask->flags & MLX5_QP_FLAG_SCATTER_CQE) != 0 &&
		       pmv_mlx5m_state()->config.scatter_to_cqe;

	if (ask->flags & ~known)
		return -EOPNOTSUPP;
	if (ask->rq_wqe_count > 32768 || ask->sq_wqe_count > 32768 || ask->rq_wqe_shift > 10)
		return -EINVAL;
	wanted->uidx = ask->uidx;
	wanted->rq_buf = (const uint8_t *)(uintptr_t)ask->buf_addr;
	wanted->rq_nb = ask->rq_wqe_count;
	wanted->rq_stride = 1u << ask->rq_wqe_shift;
	wanted->sq_buf = wanted->rq_buf + (size_t)wanted->rq_nb * wanted->rq_stride;
	wanted->sq_nb = ask->sq_wqe_count;
	if (wanted->rq_nb == 0)
		wanted->sq_buf = wanted->rq_buf;
	wanted->record_be = (const uint32_t *)(uintptr_t)ask->db_addr;
	wanted->scatter_recv = scatter;
	wanted->scatter_send =
		scatter && ((ask->flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE) != 0 || wanted->sig_all);
	return 0;
}

static int
choose_register(struct pmv_mlx5m_context *ctx, const struct mlx5_ib_create_qp *ask,
	struct pmv_mlx5m_qp *wanted, struct mlx5_ib_create_qp_resp *resp)
{
	if (ask->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		if (pmv_mlx5m_page_find(ctx, ask->bfreg_index) == NULL)
			return -EINVAL;
		wanted->page = ask->bfreg_index;
		wanted->bfreg = -1; /* which register of the page the library keeps to itself */
		return 0;
	}
	if (pmv_mlx5m_state()->config.ioctl_abi)
		return -EINVAL;
	resp->bfreg_index = pmv_mlx5m_uar_next_bfreg(ctx);
	wanted->page = resp->bfreg_index / PMV_MLX5M_BF_PER_PAGE;
	wanted->bfreg = (int)(resp->bfreg_index % PMV_MLX5M_BF_PER_PAGE);
	return 0;
}

static int
create_qp(const struct pmv_mlx5m_command *c, const struct ib_uverbs_ex_create_qp *ask,
	struct ib_uverbs_create_qp_resp *resp)
{
	struct mlx5_ib_create_qp_resp driver_resp = { 0 };
	struct mlx5_ib_create_qp driver;
	struct pmv_mlx5m_qp wanted = { .ctx = c->ctx, .sig_all = ask->sq_sig_all != 0 };
	uint32_t slot;
	int ret;

	if (ask->qp_type != TYPE_RC || ask->is_srq || ask->comp_mask != 0 || ask->create_flags != 0)
		return -EOPNOTSUPP;
	wanted.pd = pmv_mlx5m_object_pd(c->ctx, ask->pd_handle);
	wanted.send_cq = pmv_mlx5m_object_cq(c->ctx, ask->send_cq_handle);
	wanted.recv_cq = pmv_mlx5m_object_cq(c->ctx, ask->recv_cq_handle);
	if (wanted.pd == NULL || wanted.send_cq == NULL || wanted.recv_cq == NULL)
		return -EINVAL;
	wanted.cap = (struct pmv_mlx5m_cap){ .send_wr = ask->max_send_wr,
		.recv_wr = ask->max_recv_wr,
		.send_sge = ask->max_send_sge,
		.recv_sge = ask->max_recv_sge,
		.inline_bytes = ask->max_inline_data };
	pmv_mlx5m_command_take(&driver, sizeof(driver), c->driver_in, c->driver_in_bytes);
	ret = take_driver_part(&driver, &wanted);
	if (ret == 0)
		ret = choose_register(c->ctx, &driver, &wanted, &driver_resp);
	if (ret == 0)
		ret = pmv_mlx5m_qp_create(&wanted, &slot);
	if (ret != 0)
		return ret;
	*resp = (struct ib_uverbs_create_qp_resp){ .qp_handle = slot,
		.qpn = pmv_mlx5m_qpn_of(slot),
		.max_send_wr = ask->max_send_wr,
		.max_recv_wr = ask->max_recv_wr,
		.max_send_sge = ask->max_send_sge,
		.max_recv_sge = ask->max_recv_sge,
		.max_inline_data = ask->max_inline_data };
	pmv_mlx5m_command_give(
		c->driver_out, c->driver_out_bytes, &driver_resp, sizeof(driver_resp));
	return 0;
}

int
pmv_mlx5m_cmd_create_qp(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_create_qp_resp resp = { 0 };
	struct ib_uverbs_ex_create_qp same = { 0 };
	struct ib_uverbs_create_qp ask;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	same.pd_handle = ask.pd_handle;
	same.send_cq_handle = ask.send_cq_handle;
	same.recv_cq_handle = ask.recv_cq_handle;
	same.max_send_wr = ask.max_send_wr;
	same.max_recv_wr = ask.max_recv_wr;
	same.max_send_sge = ask.max_send_sge;
	same.max_recv_sge = ask.max_recv_sge;
	same.max_inline_data = ask.max_inline_data;
	same.sq_sig_all = ask.sq_sig_all;
	same.qp_type = ask.qp_type;
	same.is_srq = ask.is_srq;
	ret = create_qp(c, &same, &resp);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return ret;
}

int
pmv_mlx5m_cmd_create_qp_ex(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_ex_create_qp_resp resp = { .response_length = sizeof(resp) };
	struct ib_uverbs_ex_create_qp ask;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	ret = create_qp(c, &ask, &resp.base);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return ret;
}

/* IBTA's code of a path MTU to bytes; 0 for a code that does not exist. */
static uint32_t
mtu_bytes(uint8_t code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

static uint8_t
mtu_code(uint32_t bytes)
{
	uint8_t code;

	for (code = 5; code > 0 && mtu_bytes(code) != bytes; code--)
		;
	return code;
}

int
pmv_mlx5m_cmd_modify_qp(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_modify_qp ask;
	struct pmv_mlx5m_modify m = { 0 };
	struct pmv_mlx5m_qp *qp;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	qp = find_qp(c->ctx, ask.qp_handle);
	if (qp == NULL)
		return -EINVAL;
	m.mask = ask.attr_mask;
	m.state = (enum pmv_mlx5m_qp_state)ask.qp_state;
	m.cur_state = (enum pmv_mlx5m_qp_state)ask.cur_qp_state;
	m.pkey_index = ask.pkey_index;
	m.is_global = ask.dest.is_global != 0;
	m.attr = (struct pmv_mlx5m_qp_attr){ .access = ask.qp_access_flags,
		.path_mtu = mtu_bytes(ask.path_mtu),
		.dest_qpn = ask.dest_qp_num,
		.rq_psn = ask.rq_psn,
		.sq_psn = ask.sq_psn,
		.sgid_index = ask.dest.sgid_index,
		.min_rnr_timer = ask.min_rnr_timer,
		.timeout = ask.timeout,
		.retry_cnt = ask.retry_cnt,
		.rnr_retry = ask.rnr_retry,
		.max_rd_atomic = ask.max_rd_atomic,
		.max_dest_rd_atomic = ask.max_dest_rd_atomic,
		.port_num = ask.port_num,
		.hop_limit = ask.dest.hop_limit,
		.traffic_class = ask.dest.traffic_class,
		.flow_label = ask.dest.flow_label };
	memcpy(m.attr.dgid, ask.dest.dgid, sizeof(m.attr.dgid));
	return pmv_mlx5m_qp_modify(qp, &m);
}

int
pmv_mlx5m_cmd_query_qp(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_query_qp_resp resp = { 0 };
	struct ib_uverbs_query_qp ask;
	const struct pmv_mlx5m_qp_attr *attr;
	const struct pmv_mlx5m_qp *qp;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	qp = find_qp(c->ctx, ask.qp_handle);
	if (qp == NULL)
		return -EINVAL;
	attr = &qp->attr;
	memcpy(resp.dest.dgid, attr->dgid, sizeof(resp.dest.dgid));
	resp.dest.flow_label = attr->flow_label;
	resp.dest.sgid_index = attr->sgid_index;
	resp.dest.hop_limit = attr->hop_limit;
	resp.dest.traffic_class = attr->traffic_class;
	resp.dest.is_global = 1;
	resp.dest.port_num = attr->port_num;
	resp.max_send_wr = qp->cap.send_wr;
	resp.max_recv_wr = qp->cap.recv_wr;
	resp.max_send_sge = qp->cap.send_sge;
	resp.max_recv_sge = qp->cap.recv_sge;
	resp.max_inline_data = qp->cap.inline_bytes;
	resp.rq_psn = qp->resp.psn;
	resp.sq_psn = qp->req.psn;
	resp.dest_qp_num = attr->dest_qpn;
	resp.qp_access_flags = attr->access;
	resp.qp_state = (uint8_t)qp->state;
	resp.cur_qp_state = (uint8_t)qp->state;
	resp.path_mtu = mtu_code(attr->path_mtu);
	resp.max_rd_atomic = attr->max_rd_atomic;
	resp.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	resp.min_rnr_timer = attr->min_rnr_timer;
	resp.port_num = attr->port_num;
	resp.timeout = attr->timeout;
	resp.retry_cnt = attr->retry_cnt;
	resp.rnr_retry = attr->rnr_retry;
	resp.sq_sig_all = qp->sig_all;
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return 0;
}

int
pmv_mlx5m_cmd_destroy_qp(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_destroy_qp_resp resp = { 0 };
	struct ib_uverbs_destroy_qp ask;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	if (find_qp(c->ctx, ask.qp_handle) == NULL)
		return -EINVAL;
	pmv_mlx5m_qp_destroy(ask.qp_handle);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return 0;
}
