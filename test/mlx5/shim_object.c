// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands for protection domains, memory regions and completion queues. A handle is a slot of
 * the model's tables and is good for the context that made the object.
 */
#include <errno.h>
#include <stdlib.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "test/mlx5/model_cq.h"
#include "test/mlx5/model_mr.h"
#include "test/mlx5/shim_command.h"
#include "test/mlx5/shim_object.h"

struct pmv_mlx5m_pd *
pmv_mlx5m_object_pd(const struct pmv_mlx5m_context *ctx, uint32_t handle)
{
	struct pmv_mlx5m_pd *pd = pmv_mlx5m_table_get(&pmv_mlx5m_state()->pds, handle);

	return pd != NULL && pd->ctx == ctx ? pd : NULL;
}

struct pmv_mlx5m_cq *
pmv_mlx5m_object_cq(const struct pmv_mlx5m_context *ctx, uint32_t handle)
{
	struct pmv_mlx5m_cq *cq = pmv_mlx5m_table_get(&pmv_mlx5m_state()->cqs, handle);

	return cq != NULL && cq->ctx == ctx ? cq : NULL;
}

int
pmv_mlx5m_cmd_alloc_pd(const struct pmv_mlx5m_command *c)
{
	struct pmv_mlx5m_pd *pd = calloc(1, sizeof(*pd));
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct mlx5_ib_alloc_pd_resp driver;
	int slot;

	if (pd == NULL)
		return -ENOMEM;
	pd->ctx = c->ctx;
	slot = pmv_mlx5m_table_put(&pmv_mlx5m_state()->pds, pd);
	if (slot < 0) {
		free(pd);
		return -ENOMEM;
	}
	resp.pd_handle = (uint32_t)slot;
	driver.pdn = (uint32_t)slot + 0x20;
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	pmv_mlx5m_command_give(c->driver_out, c->driver_out_bytes, &driver, sizeof(driver));
	return 0;
}

int
pmv_mlx5m_cmd_dealloc_pd(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_dealloc_pd ask;
	struct pmv_mlx5m_pd *pd;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	pd = pmv_mlx5m_object_pd(c->ctx, ask.pd_handle);
	if (pd == NULL)
		return -EINVAL;
	if (pd->nb_users != 0)
		return -EBUSY;
	pmv_mlx5m_table_clear(&pmv_mlx5m_state()->pds, ask.pd_handle);
	free(pd);
	return 0;
}

int
pmv_mlx5m_cmd_reg_mr(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_reg_mr_resp resp = { 0 };
	struct pmv_mlx5m_mr wanted = { .ctx = c->ctx };
	struct ib_uverbs_reg_mr ask;
	struct pmv_mlx5m_mr *mr;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	wanted.pd = pmv_mlx5m_object_pd(c->ctx, ask.pd_handle);
	/* Both addresses lie at the same place of a page (uverbs_cmd.c of the kernel). */
	if (wanted.pd == NULL || ((ask.start ^ ask.hca_va) & 4095) != 0)
		return -EINVAL;
	wanted.access = ask.access_flags;
	wanted.va = ask.hca_va;
	wanted.length = ask.length;
	wanted.memory = (uint8_t *)(uintptr_t)ask.start;
	ret = pmv_mlx5m_mr_create(&wanted, &mr);
	if (ret != 0)
		return ret;
	resp.mr_handle = mr->key; /* not a slot: a key finds its region too */
	resp.lkey = mr->key;
	resp.rkey = mr->key;
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return 0;
}

int
pmv_mlx5m_cmd_dereg_mr(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_dereg_mr ask;
	struct pmv_mlx5m_mr *mr;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	mr = pmv_mlx5m_mr_find(ask.mr_handle);
	if (mr == NULL || mr->ctx != c->ctx)
		return -EINVAL;
	pmv_mlx5m_mr_destroy(mr);
	return 0;
}

static int
create_cq(const struct pmv_mlx5m_command *c, uint32_t cqe, struct ib_uverbs_create_cq_resp *resp)
{
	struct mlx5_ib_create_cq ask;
	struct mlx5_ib_create_cq_resp driver = { 0 };
	struct pmv_mlx5m_cq wanted = { .ctx = c->ctx };
	uint32_t slot;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->driver_in, c->driver_in_bytes);
	if (ask.cqe_comp_en != 0)
		return -EOPNOTSUPP;
	wanted.buf = (uint8_t *)(uintptr_t)ask.buf_addr;
	wanted.record_be = (const uint32_t *)(uintptr_t)ask.db_addr;
	wanted.nb = cqe + 1;
	wanted.cqe_bytes = ask.cqe_size;
	ret = pmv_mlx5m_cq_create(&wanted, &slot);
	if (ret != 0)
		return ret;
	resp->cq_handle = slot;
	resp->cqe = cqe;
	driver.cqn = pmv_mlx5m_cqn_of(slot);
	pmv_mlx5m_command_give(c->driver_out, c->driver_out_bytes, &driver, sizeof(driver));
	return 0;
}

int
pmv_mlx5m_cmd_create_cq(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_create_cq_resp resp = { 0 };
	struct ib_uverbs_create_cq ask;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	if (ask.comp_channel >= 0) /* this model raises no events */
		return -EOPNOTSUPP;
	ret = create_cq(c, ask.cqe, &resp);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return ret;
}

int
pmv_mlx5m_cmd_create_cq_ex(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_ex_create_cq_resp resp = { .response_length = sizeof(resp) };
	struct ib_uverbs_ex_create_cq ask;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	if (ask.comp_channel >= 0 || ask.flags != 0)
		return -EOPNOTSUPP;
	ret = create_cq(c, ask.cqe, &resp.base);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return ret;
}

int
pmv_mlx5m_cmd_destroy_cq(const struct pmv_mlx5m_command *c)
{
	struct ib_uverbs_destroy_cq_resp resp = { 0 };
	struct ib_uverbs_destroy_cq ask;
	int ret;

	pmv_mlx5m_command_take(&ask, sizeof(ask), c->in, c->in_bytes);
	if (pmv_mlx5m_object_cq(c->ctx, ask.cq_handle) == NULL)
		return -EINVAL;
	ret = pmv_mlx5m_cq_destroy(ask.cq_handle);
	pmv_mlx5m_command_give(c->out, c->out_bytes, &resp, sizeof(resp));
	return ret;
}
