// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands of the device itself: context, attributes, port. The numbers are those of a plausible
 * ConnectX-5; what the model cannot do (atomics, SRQ, memory windows, CQE compression) is zero.
 */
#include <errno.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "test/mlx5/shim_command.h"

#define VENDOR_MELLANOX 0x15b3
#define PART_CONNECTX5  4121
#define BFREGS_ASKED    16 /* what libmlx5 asks for: 2 for each of 8 pages */
#define LOG_UAR_SIZE    12
#define PORT_ACTIVE     4
#define MTU_4096        5
#define LINK_ETHERNET   2
#define PHYS_LINK_UP    5
#define WIDTH_4X        2
#define SPEED_EDR       32
#define MAX_ENTRIES     32768

int
pmv_mlx5m_cmd_get_context(const struct pmv_mlx5m_command *c)
{
	const struct pmv_mlx5m_config *config = &pmv_mlx5m_state()->config;
	struct ib_uverbs_get_context_resp resp = { .async_fd = (uint32_t)c->ctx->pipe[0],
		.num_comp_vectors = 1 };
	struct mlx5_ib_alloc_ucontext_req_v2 ask;
	struct mlx5_ib_alloc_ucontext_resp driver = { .qp_tab_size = PMV_MLX5M_SLOTS,
		.bf_reg_size = PMV_MLX5M_BF_BYTES,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = MAX_ENTRIES,
		.max_recv_wr = MAX_ENTRIES,
		.max_srq_recv_wr = MAX_ENTRIES,
		.num_ports = 1,
		.response_length = sizeof(driver),
		.cqe_version = config->cqe_version,
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE,
		.log_uar_size = LOG_UAR_SIZE,
		.num_uars_per_page = 1 };

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->driver_in, c->driver_in_bytes);
	/* A kernel without DevX refuses, and libmlx5 asks again without. */
	if (ask.flags & MLX5_IB_ALLOC_UCTX_DEVX)
		return -EOPNOTSUPP;
	if (ask.total_num_bfregs != BFREGS_ASKED || ask.max_cqe_version < config->cqe_version)
		return -EINVAL;
	/* None means that the library is to allocate UAR objects. */
	driver.tot_bfregs = config->ioctl_abi ? 0 : ask.total_num_bfregs;
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	pmv_mlx5m_command_give(c->driver_out, c->driver_out_bytes, &driver, sizeof(driver));
	return 0;
}

static void
fill_device(const struct pmv_mlx5m_device *device, struct ib_uverbs_query_device_resp *resp)
{
	uint64_t guid = 0x506b4b0300a10000ull | (uint64_t)device->gid[0][13] << 16 |
			(uint64_t)device->gid[0][14] << 8 | device->gid[0][15];

	*resp = (struct ib_uverbs_query_device_resp){ .fw_ver = 16ull << 32 | 35ull << 16 | 2000,
		.node_guid = htobe64(guid),
		.sys_image_guid = htobe64(guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffffffffffff000ull,
		.vendor_id = VENDOR_MELLANOX,
		.vendor_part_id = PART_CONNECTX5,
		.max_qp = PMV_MLX5M_SLOTS,
		.max_qp_wr = MAX_ENTRIES,
		.max_sge = 30,
		.max_sge_rd = 30,
		.max_cq = PMV_MLX5M_SLOTS,
		.max_cqe = 4194303,
		.max_mr = PMV_MLX5M_SLOTS,
		.max_pd = PMV_MLX5M_SLOTS,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 16 * PMV_MLX5M_SLOTS,
		.max_qp_init_rd_atom = 16,
		.max_pkeys = 1,
		.local_ca_ack_delay = 16,
		.phys_port_cnt = 1 };
}

int
pmv_mlx5m_cmd_query_device(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_query_device_resp resp;

	fill_device(c->ctx->device, &resp);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return 0;
}

int
pmv_mlx5m_cmd_query_device_ex(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_ex_query_device_resp resp = { .response_length = sizeof(resp) };
	struct mlx5_ib_query_device_resp driver = { .response_length = sizeof(driver) };

	fill_device(c->ctx->device, &resp.base);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	pmv_mlx5m_command_give(c->driver_out, c->driver_out_bytes, &driver, sizeof(driver));
	return 0;
}

int
pmv_mlx5m_cmd_query_port(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_query_port ask;
	struct ib_uverbs_query_port_resp resp = { .port_cap_flags = 0x04010000, /* CM, GIDs by IP */
		.max_msg_sz = PMV_MLX5M_MESSAGE_MAX,
		.gid_tbl_len = PMV_MLX5M_GIDS,
		.pkey_tbl_len = 1,
		.state = PORT_ACTIVE,
		.max_mtu = MTU_4096,
		.active_mtu = MTU_4096,
		.max_vl_num = 1,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = PHYS_LINK_UP,
		.link_layer = LINK_ETHERNET };

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	if (ask.port_num != 1)
		return -EINVAL;
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return 0;
}
