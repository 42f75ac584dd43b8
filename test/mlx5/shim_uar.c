// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two ways to register pages: eight fixed ones (kernels before 5.7, or write() only), and objects
 * that the library allocates. Called by commands and by mmap(), with the lock held.
 */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "test/mlx5/shim_command.h"
#include "test/mlx5/shim_uar.h"
#include "test/mlx5/trap_page.h"

#define FIXED_PAGES    8u
#define DEDICATED      4u /* registers that libmlx5 uses without a lock: one QP each */
#define SHARED         10u
#define OBJECT_PAGE_NO 0x1000u /* in the file, in pages: where objects begin */
#define COMMAND_SHIFT  8       /* of a page number: the kind of mapping */

struct ib_uverbs_attr *
pmv_mlx5m_attr_find(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	uint32_t i;

	for (i = 0; i < hdr->num_attrs; i++) {
		if (hdr->attrs[i].attr_id == id)
			return (struct ib_uverbs_attr *)(uintptr_t)&hdr->attrs[i];
	}
	return NULL;
}

const void *
pmv_mlx5m_attr_in(const struct ib_uverbs_attr *attr, size_t *ret_bytes)
{
	*ret_bytes = attr == NULL ? 0 : attr->len;
	if (attr == NULL)
		return NULL;
	/* Up to 8 bytes travel in place of the pointer. */
	return attr->len <= sizeof(attr->data) ? (const void *)&attr->data
					       : (const void *)(uintptr_t)attr->data;
}

void *
pmv_mlx5m_attr_out(const struct ib_uverbs_attr *attr, size_t *ret_bytes)
{
	*ret_bytes = attr == NULL ? 0 : attr->len;
	return attr == NULL ? NULL : (void *)(uintptr_t)attr->data;
}

static void
give(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint64_t value)
{
	size_t bytes;
	void *to = pmv_mlx5m_attr_out(pmv_mlx5m_attr_find(hdr, id), &bytes);

	pmv_mlx5m_command_give(to, bytes, &value, sizeof(value));
}

static int
uar_alloc(struct pmv_mlx5m_context *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = pmv_mlx5m_attr_find(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	uint64_t offset;
	uint32_t i;
	int ret;

	if (handle == NULL)
		return -EINVAL;
	for (i = 0; i < PMV_MLX5M_PAGES && ctx->page[i] != NULL; i++)
		;
	if (i == PMV_MLX5M_PAGES)
		return -ENOMEM;
	offset = (uint64_t)(OBJECT_PAGE_NO + i) * PMV_MLX5M_UAR_BYTES;
	ret = pmv_mlx5m_page_create(ctx, i, offset);
	if (ret != 0)
		return ret;
	handle->data = i;
	give(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset);
	give(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, PMV_MLX5M_UAR_BYTES);
	give(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, i);
	return 0;
}

int
pmv_mlx5m_uar_ioctl(struct pmv_mlx5m_context *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *handle;
	struct pmv_mlx5m_page *page;

	if (hdr->method_id == MLX5_IB_METHOD_UAR_OBJ_ALLOC)
		return uar_alloc(ctx, hdr);
	if (hdr->method_id != MLX5_IB_METHOD_UAR_OBJ_DESTROY)
		return -EPROTONOSUPPORT;
	handle = pmv_mlx5m_attr_find(hdr, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE);
	page = handle == NULL ? NULL : pmv_mlx5m_page_find(ctx, (uint32_t)handle->data);
	if (page == NULL)
		return -ENOENT;
	pmv_mlx5m_page_destroy(page);
	return 0;
}

uint32_t
pmv_mlx5m_uar_next_bfreg(struct pmv_mlx5m_context *ctx)
{
	uint32_t n = ctx->nb_bfregs_given++;
	uint32_t page, reg;

	if (n < DEDICATED) {
		page = FIXED_PAGES - 1 - n / PMV_MLX5M_BF_USER;
		reg = n % PMV_MLX5M_BF_USER;
	} else {
		n = (n - DEDICATED) % SHARED;
		page = 1 + n / PMV_MLX5M_BF_USER;
		reg = n % PMV_MLX5M_BF_USER;
	}
	return page * PMV_MLX5M_BF_PER_PAGE + reg;
}

struct pmv_mlx5m_page *
pmv_mlx5m_uar_page(struct pmv_mlx5m_context *ctx, uint64_t offset)
{
	uint64_t number = offset / PMV_MLX5M_UAR_BYTES;
	uint32_t index = (uint32_t)number & 0xff;
	uint32_t i;

	for (i = 0; i < PMV_MLX5M_PAGES; i++) {
		if (ctx->page[i] != NULL && ctx->page[i]->offset == offset)
			return ctx->page[i];
	}
	if (pmv_mlx5m_state()->config.ioctl_abi ||
		number >> COMMAND_SHIFT != MLX5_IB_MMAP_REGULAR_PAGE || index >= FIXED_PAGES ||
		offset % PMV_MLX5M_UAR_BYTES != 0)
		return NULL;
	if (pmv_mlx5m_page_create(ctx, index, offset) != 0)
		return NULL;
	return ctx->page[index];
}
