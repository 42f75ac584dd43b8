// SPDX-License-Identifier: BSD-3-Clause
/*
 * The only caller of ibv_* and mlx5dv_*; see glue.h. These say what went wrong partly in errno,
 * partly in a positive return value; here it becomes one thing.
 */
#include "drivers/mlx5/glue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/mlx5/hw.h"

/* A library that fails without a reason is out of memory. */
static int
reason(void)
{
	return errno != 0 ? -errno : -ENOMEM;
}

/* libibverbs tries two names of the device's file and tells what was wrong with the second, which
 * only udev makes. */
static int
file_problem(const struct ibv_device *device)
{
	char path[sizeof("/dev/infiniband/") + IBV_SYSFS_NAME_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return -ENOENT;
	}
	rc = -errno;
	return rc == -ENOENT ? -ENXIO : rc;
}

static int
open_one(struct ibv_device *device, struct ibv_context **ret_ctx)
{
	struct ibv_context *ctx;

	if (!mlx5dv_is_supported(device))
		return -ENOTSUP;
	errno = 0;
	ctx = ibv_open_device(device);
	if (ctx == NULL)
		return errno == ENOENT ? file_problem(device) : reason();
	*ret_ctx = ctx;
	return 0;
}

int
pmv_mlx5_glue_open(const char *name, struct ibv_context **ret_ctx)
{
	struct ibv_device **list;
	int rc = -ENODEV;

	list = ibv_get_device_list(NULL);
	if (list == NULL)
		return -ENODEV; /* ENOSYS: a kernel without RDMA */
	for (int i = 0; list[i] != NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			rc = open_one(list[i], ret_ctx);
	ibv_free_device_list(list);
	return rc;
}

void
pmv_mlx5_glue_close(struct ibv_context *ctx)
{
	ibv_close_device(ctx);
}

const char *
pmv_mlx5_glue_sysfs(const struct ibv_context *ctx)
{
	return ctx->device->ibdev_path;
}

int
pmv_mlx5_glue_query(
	struct ibv_context *ctx, struct ibv_device_attr *ret_dev, struct ibv_port_attr *ret_port)
{
	int rc = ibv_query_device(ctx, ret_dev);

	return rc != 0 ? -rc : -ibv_query_port(ctx, 1, ret_port);
}

int
pmv_mlx5_glue_gid(struct ibv_context *ctx, uint32_t index, union ibv_gid *ret_gid)
{
	static const union ibv_gid none;
	struct ibv_gid_entry entry;

	if (ibv_query_gid_ex(ctx, 1, index, &entry, 0) == 0) {
		if (entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			return -ENOENT;
		*ret_gid = entry.gid;
	} else if (ibv_query_gid(ctx, 1, (int)index, ret_gid) != 0) {
		return -ENOENT;
	}
	return memcmp(ret_gid, &none, sizeof(none)) == 0 ? -ENOENT : 0;
}

int
pmv_mlx5_glue_td_alloc(struct ibv_context *ctx, struct ibv_td **ret_td)
{
	struct ibv_td_init_attr attr = { 0 };
	struct ibv_td *td;

	errno = 0;
	td = ibv_alloc_td(ctx, &attr);
	if (td == NULL)
		return reason();
	*ret_td = td;
	return 0;
}

void
pmv_mlx5_glue_td_free(struct ibv_td *td)
{
	ibv_dealloc_td(td);
}

int
pmv_mlx5_glue_pd_alloc(struct ibv_context *ctx, struct ibv_pd **ret_pd)
{
	struct ibv_pd *pd;

	errno = 0;
	pd = ibv_alloc_pd(ctx);
	if (pd == NULL)
		return reason();
	*ret_pd = pd;
	return 0;
}

int
pmv_mlx5_glue_pd_free(struct ibv_pd *pd)
{
	return -ibv_dealloc_pd(pd);
}

int
pmv_mlx5_glue_pd_join(struct ibv_pd *pd, struct ibv_td *td, struct ibv_pd **ret_pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };
	struct ibv_pd *joined;

	errno = 0;
	joined = ibv_alloc_parent_domain(pd->context, &attr);
	if (joined == NULL)
		return reason();
	*ret_pd = joined;
	return 0;
}

int
pmv_mlx5_glue_mr_reg(struct ibv_pd *pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
	struct ibv_mr **ret_mr)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr_iova2(pd, addr, bytes, iova, access);
	if (mr == NULL)
		return reason();
	*ret_mr = mr;
	return 0;
}

int
pmv_mlx5_glue_mr_dereg(struct ibv_mr *mr)
{
	return -ibv_dereg_mr(mr);
}

int
pmv_mlx5_glue_cq_create(
	struct ibv_context *ctx, uint32_t nb, struct ibv_cq **ret_cq, struct mlx5dv_cq *ret_dv)
{
	/* No compression: it is off unless asked for. One more entry than asked is made. */
	struct ibv_cq_init_attr_ex attr = { .cqe = nb > 1 ? nb - 1 : 1 };
	struct mlx5dv_cq_init_attr dv_attr = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.cqe_size = PMV_MLX5_CQE_BYTES };
	struct ibv_cq_ex *cq;
	struct mlx5dv_obj obj = { 0 };
	int rc;

	errno = 0;
	cq = mlx5dv_create_cq(ctx, &attr, &dv_attr);
	if (cq == NULL)
		return reason();
	memset(ret_dv, 0, sizeof(*ret_dv));
	obj.cq.in = ibv_cq_ex_to_cq(cq);
	obj.cq.out = ret_dv;
	rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);
	if (rc != 0) {
		ibv_destroy_cq(obj.cq.in);
		return rc < 0 ? rc : -rc;
	}
	*ret_cq = obj.cq.in;
	return 0;
}

int
pmv_mlx5_glue_cq_destroy(struct ibv_cq *cq)
{
	return -ibv_destroy_cq(cq);
}

int
pmv_mlx5_glue_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, struct ibv_qp **ret_qp,
	struct mlx5dv_qp *ret_dv)
{
	struct ibv_qp_init_attr_ex ex = { .qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd };
	/* Small messages into the completion entry: init_obj does not tell whether they do. */
	struct mlx5dv_qp_init_attr dv_attr = { .comp_mask =
						       MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE };
	struct mlx5dv_obj obj = { 0 };
	int rc;

	errno = 0;
	obj.qp.in = mlx5dv_create_qp(pd->context, &ex, &dv_attr);
	if (obj.qp.in == NULL)
		return reason();
	memset(ret_dv, 0, sizeof(*ret_dv));
	obj.qp.out = ret_dv;
	rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);
	if (rc != 0) {
		ibv_destroy_qp(obj.qp.in);
		return rc < 0 ? rc : -rc;
	}
	attr->cap = ex.cap;
	*ret_qp = obj.qp.in;
	return 0;
}

int
pmv_mlx5_glue_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int rc = ibv_modify_qp(qp, attr, mask);

	return rc < 0 ? rc : -rc;
}

int
pmv_mlx5_glue_qp_destroy(struct ibv_qp *qp)
{
	return -ibv_destroy_qp(qp);
}
