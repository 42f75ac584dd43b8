// SPDX-License-Identifier: BSD-3-Clause
/*
 * The table of commands and the two ways into it. The C library's write() and ioctl() lead here
 * (shim_libc.c), with the lock held. What a kernel would not know is refused the way a kernel
 * refuses it, since libibverbs chooses its way by that.
 */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "test/mlx5/shim_command.h"
#include "test/mlx5/shim_uar.h"

#define EX(number) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (number))

static const struct pmv_mlx5m_command_entry commands[] = {
	{ IB_USER_VERBS_CMD_GET_CONTEXT, sizeof(struct ib_uverbs_get_context),
		sizeof(struct ib_uverbs_get_context_resp), pmv_mlx5m_cmd_get_context },
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device),
		sizeof(struct ib_uverbs_query_device_resp), pmv_mlx5m_cmd_query_device },
	{ EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
		sizeof(struct ib_uverbs_ex_query_device_resp), pmv_mlx5m_cmd_query_device_ex },
	{ IB_USER_VERBS_CMD_QUERY_PORT, sizeof(struct ib_uverbs_query_port),
		sizeof(struct ib_uverbs_query_port_resp), pmv_mlx5m_cmd_query_port },
	{ IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
		sizeof(struct ib_uverbs_alloc_pd_resp), pmv_mlx5m_cmd_alloc_pd },
	{ IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(struct ib_uverbs_dealloc_pd), 0,
		pmv_mlx5m_cmd_dealloc_pd },
	{ IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp), pmv_mlx5m_cmd_reg_mr },
	{ IB_USER_VERBS_CMD_DEREG_MR, sizeof(struct ib_uverbs_dereg_mr), 0,
		pmv_mlx5m_cmd_dereg_mr },
	{ IB_USER_VERBS_CMD_CREATE_CQ, sizeof(struct ib_uverbs_create_cq),
		sizeof(struct ib_uverbs_create_cq_resp), pmv_mlx5m_cmd_create_cq },
	{ EX(IB_USER_VERBS_EX_CMD_CREATE_CQ), sizeof(struct ib_uverbs_ex_create_cq),
		sizeof(struct ib_uverbs_ex_create_cq_resp), pmv_mlx5m_cmd_create_cq_ex },
	{ IB_USER_VERBS_CMD_DESTROY_CQ, sizeof(struct ib_uverbs_destroy_cq),
		sizeof(struct ib_uverbs_destroy_cq_resp), pmv_mlx5m_cmd_destroy_cq },
	{ IB_USER_VERBS_CMD_CREATE_QP, sizeof(struct ib_uverbs_create_qp),
		sizeof(struct ib_uverbs_create_qp_resp), pmv_mlx5m_cmd_create_qp },
	{ EX(IB_USER_VERBS_EX_CMD_CREATE_QP), sizeof(struct ib_uverbs_ex_create_qp),
		sizeof(struct ib_uverbs_ex_create_qp_resp), pmv_mlx5m_cmd_create_qp_ex },
	{ IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0,
		pmv_mlx5m_cmd_modify_qp },
	{ IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
		sizeof(struct ib_uverbs_query_qp_resp), pmv_mlx5m_cmd_query_qp },
	{ IB_USER_VERBS_CMD_DESTROY_QP, sizeof(struct ib_uverbs_destroy_qp),
		sizeof(struct ib_uverbs_destroy_qp_resp), pmv_mlx5m_cmd_destroy_qp },
};

const struct pmv_mlx5m_command_entry *
pmv_mlx5m_command_find(uint32_t number)
{
	unsigned int i;

	if ((number & ~IB_USER_VERBS_CMD_FLAG_EXTENDED) == pmv_mlx5m_state()->config.lacks)
		return NULL;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].number == number)
			return &commands[i];
	}
	return NULL;
}

void
pmv_mlx5m_command_take(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
	size_t both = to_bytes < from_bytes ? to_bytes : from_bytes;

	memset(to, 0, to_bytes);
	if (both != 0)
		memcpy(to, from, both);
}

void
pmv_mlx5m_command_give(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
	size_t both = to_bytes < from_bytes ? to_bytes : from_bytes;

	if (both != 0)
		memcpy(to, from, both);
}

/* Header, core part that begins with the address of the answer, driver's part. */
static int
write_plain(struct pmv_mlx5m_context *ctx, const uint8_t *buf, size_t bytes)
{
	const struct pmv_mlx5m_command_entry *entry;
	struct pmv_mlx5m_command c = { .ctx = ctx };
	struct ib_uverbs_cmd_hdr hdr;
	uint64_t response = 0;

	memcpy(&hdr, buf, sizeof(hdr));
	entry = pmv_mlx5m_command_find(hdr.command);
	if (entry == NULL)
		return -EOPNOTSUPP;
	if ((size_t)hdr.in_words * 4 != bytes || bytes < sizeof(hdr) + entry->in_bytes ||
		(size_t)hdr.out_words * 4 < entry->out_bytes)
		return -EINVAL;
	c.in = buf + sizeof(hdr);
	c.in_bytes = entry->in_bytes;
	c.driver_in = buf + sizeof(hdr) + c.in_bytes;
	c.driver_in_bytes = bytes - sizeof(hdr) - c.in_bytes;
	if (entry->out_bytes != 0) {
		memcpy(&response, c.in, sizeof(response));
		c.out = (void *)(uintptr_t)response;
		c.out_bytes = entry->out_bytes;
		c.driver_out = (uint8_t *)c.out + c.out_bytes;
		c.driver_out_bytes = (size_t)hdr.out_words * 4 - c.out_bytes;
	}
	return entry->handler(&c);
}

/* Extended commands say the sizes of all parts, in 8 bytes. */
static int
write_extended(struct pmv_mlx5m_context *ctx, const uint8_t *buf, size_t bytes)
{
	const size_t head = sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_ex_cmd_hdr);
	const struct pmv_mlx5m_command_entry *entry;
	struct pmv_mlx5m_command c = { .ctx = ctx };
	struct ib_uverbs_ex_cmd_hdr ex;
	struct ib_uverbs_cmd_hdr hdr;

	if (bytes < head)
		return -EINVAL;
	memcpy(&hdr, buf, sizeof(hdr));
	memcpy(&ex, buf + sizeof(hdr), sizeof(ex));
	entry = pmv_mlx5m_command_find(hdr.command);
	if (entry == NULL)
		return -EOPNOTSUPP;
	c.in = buf + head;
	c.in_bytes = (size_t)hdr.in_words * 8;
	c.driver_in = buf + head + c.in_bytes;
	c.driver_in_bytes = (size_t)ex.provider_in_words * 8;
	if (head + c.in_bytes + c.driver_in_bytes != bytes || c.in_bytes < entry->in_bytes)
		return -EINVAL;
	c.out = (void *)(uintptr_t)ex.response;
	c.out_bytes = (size_t)hdr.out_words * 8;
	c.driver_out = (uint8_t *)c.out + c.out_bytes;
	c.driver_out_bytes = (size_t)ex.provider_out_words * 8;
	return entry->handler(&c);
}

long
pmv_mlx5m_shim_write(struct pmv_mlx5m_context *ctx, const void *buf, size_t bytes)
{
	uint32_t number;
	int ret;

	if (bytes < sizeof(struct ib_uverbs_cmd_hdr))
		return -EINVAL;
	memcpy(&number, buf, sizeof(number));
	if (number & IB_USER_VERBS_CMD_FLAG_EXTENDED)
		ret = write_extended(ctx, buf, bytes);
	else
		ret = write_plain(ctx, buf, bytes);
	return ret != 0 ? ret : (long)bytes;
}

static int
invoke_write(struct pmv_mlx5m_context *ctx, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *in = pmv_mlx5m_attr_find(hdr, UVERBS_ATTR_CORE_IN);
	const struct ib_uverbs_attr *out = pmv_mlx5m_attr_find(hdr, UVERBS_ATTR_CORE_OUT);
	const struct ib_uverbs_attr *driver_in = pmv_mlx5m_attr_find(hdr, UVERBS_ATTR_UHW_IN);
	const struct ib_uverbs_attr *driver_out = pmv_mlx5m_attr_find(hdr, UVERBS_ATTR_UHW_OUT);
	const struct ib_uverbs_attr *number = pmv_mlx5m_attr_find(hdr, UVERBS_ATTR_WRITE_CMD);
	const struct pmv_mlx5m_command_entry *entry;
	struct pmv_mlx5m_command c = { .ctx = ctx };

	if (number == NULL)
		return -EINVAL;
	entry = pmv_mlx5m_command_find((uint32_t)number->data);
	if (entry == NULL)
		return -EOPNOTSUPP;
	c.in = pmv_mlx5m_attr_in(in, &c.in_bytes);
	c.driver_in = pmv_mlx5m_attr_in(driver_in, &c.driver_in_bytes);
	c.out = pmv_mlx5m_attr_out(out, &c.out_bytes);
	c.driver_out = pmv_mlx5m_attr_out(driver_out, &c.driver_out_bytes);
	/* libibverbs asks with an empty command whether this method exists, and expects this. */
	if (c.in_bytes < entry->in_bytes || c.out_bytes < entry->out_bytes)
		return -ENOSPC;
	return entry->handler(&c);
}

int
pmv_mlx5m_shim_ioctl(struct pmv_mlx5m_context *ctx, unsigned long request, void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;

	if (!pmv_mlx5m_state()->config.ioctl_abi || request != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	if (hdr->object_id == UVERBS_OBJECT_DEVICE && hdr->method_id == UVERBS_METHOD_INVOKE_WRITE)
		return invoke_write(ctx, hdr);
	if (hdr->object_id == MLX5_IB_OBJECT_UAR)
		return pmv_mlx5m_uar_ioctl(ctx, hdr);
	return -EPROTONOSUPPORT;
}
