// SPDX-License-Identifier: BSD-3-Clause
/*
 * See objects.h.
 */
#include "drivers/mlx5/objects.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/doorbell.h"
#include "drivers/mlx5/glue.h"
#include "drivers/mlx5/poll.h"
#include "drivers/mlx5/post.h"
#include "drivers/mlx5/short.h"
#include "lib/util/log.h"

/* Those that we pass on have the same numbers. */
#define ACCESS_PASSED                                                                              \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_MW_BIND)
_Static_assert((int)PMV_ACCESS_LOCAL_WRITE == (int)IBV_ACCESS_LOCAL_WRITE &&
		       (int)PMV_ACCESS_REMOTE_WRITE == (int)IBV_ACCESS_REMOTE_WRITE &&
		       (int)PMV_ACCESS_REMOTE_READ == (int)IBV_ACCESS_REMOTE_READ &&
		       (int)PMV_ACCESS_REMOTE_ATOMIC == (int)IBV_ACCESS_REMOTE_ATOMIC &&
		       (int)PMV_ACCESS_MW_BIND == (int)IBV_ACCESS_MW_BIND,
	"access rights are passed on as they are");

static const struct pmv_qp_ops rc_ops = { pmv_mlx5_post_send, pmv_mlx5_post_recv };
static const struct pmv_qp_ops rc_short_ops = { pmv_mlx5_post_send_short, pmv_mlx5_post_recv };
static const struct pmv_cq_ops cq_ops = { .poll = pmv_mlx5_poll_cq };

static const struct pmv_mlx5_device *
device_of(const struct pmv_device *dev)
{
	return (const struct pmv_mlx5_device *)dev;
}

/* ---- protection domain, memory ---- */

int
pmv_mlx5_pd_init(struct pmv_pd *pd)
{
	return pmv_mlx5_glue_pd_alloc(device_of(pd->device)->ctx, &((struct pmv_mlx5_pd *)pd)->ibv);
}

void
pmv_mlx5_pd_fini(struct pmv_pd *pd)
{
	int rc = pmv_mlx5_glue_pd_free(((struct pmv_mlx5_pd *)pd)->ibv);

	if (rc < 0)
		PMV_LOG(ERR, "dealloc_pd: ibdev %s: %s", pd->device->ibdev, strerror(-rc));
}

int
pmv_mlx5_mr_reg(struct pmv_mr *base)
{
	struct pmv_mlx5_mr *mr = (struct pmv_mlx5_mr *)base;
	int rc;

	if (base->access & PMV_ACCESS_FLUSH_GLOBAL) {
		PMV_LOG(ERR, "reg_mr: access: FLUSH_GLOBAL is not offered by the mlx5 driver");
		return -EINVAL;
	}
	rc = pmv_mlx5_glue_mr_reg(((struct pmv_mlx5_pd *)base->pd)->ibv, base->addr, base->length,
		base->iova, base->access & ACCESS_PASSED, &mr->ibv);
	if (rc < 0)
		return rc;
	base->lkey = mr->ibv->lkey;
	base->rkey = mr->ibv->rkey;
	return 0;
}

int
pmv_mlx5_mr_kill(struct pmv_mr *base)
{
	struct pmv_mlx5_mr *mr = (struct pmv_mlx5_mr *)base;
	int rc = pmv_mlx5_glue_mr_dereg(mr->ibv);

	if (rc < 0)
		PMV_LOG(ERR, "dereg_mr: lkey 0x%08x: %s", base->lkey, strerror(-rc));
	mr->ibv = NULL;
	return 0; /* without windows nothing is bound to it */
}

bool
pmv_mlx5_mr_frames_out(const struct pmv_mr *mr)
{
	return false;
}

void
pmv_mlx5_mr_free(struct pmv_mr *mr)
{
}

int
pmv_mlx5_ah_init(struct pmv_ah *ah)
{
	return -ENOTSUP;
}

/* ---- completion queue ---- */

int
pmv_mlx5_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq)
{
	struct mlx5dv_cq dv;
	struct pmv_mlx5_cq *cq;
	int rc;

	cq = rte_zmalloc_socket("pmv_mlx5_cq", sizeof(*cq), RTE_CACHE_LINE_SIZE, w->socket_id);
	if (cq == NULL)
		return -ENOMEM;
	rc = pmv_mlx5_glue_cq_create(
		device_of(w->device)->ctx, rte_align32pow2(cqe), &cq->ibv, &dv);
	if (rc < 0) {
		rte_free(cq);
		return rc;
	}
	if (dv.cqe_size != PMV_MLX5_CQE_BYTES) {
		PMV_LOG(ERR, "create_cq: entries of %u bytes", dv.cqe_size);
		pmv_mlx5_glue_cq_destroy(cq->ibv);
		rte_free(cq);
		return -EINVAL;
	}
	cq->base.ops = &cq_ops;
	cq->base.worker = w;
	cq->base.cqe = dv.cqe_cnt;
	cq->buf = dv.buf;
	cq->record = (rte_be32_t *)dv.dbrec;
	cq->end = cq->buf + dv.cqe_cnt;
	cq->mask = dv.cqe_cnt - 1;
	cq->run.op_qpn_be = PMV_MLX5_RUN_NONE;
	*ret_cq = &cq->base;
	return 0;
}

void
pmv_mlx5_cq_free(struct pmv_cq *base)
{
	struct pmv_mlx5_cq *cq = (struct pmv_mlx5_cq *)base;
	int rc = pmv_mlx5_glue_cq_destroy(cq->ibv);

	if (rc < 0)
		PMV_LOG(ERR, "destroy_cq: %s", strerror(-rc));
	rte_free(cq);
}

void
pmv_mlx5_cq_query(const struct pmv_cq *cq, struct pmv_cq_attr *attr)
{
	attr->nb_ready = pmv_mlx5_queue_cq_ready((const struct pmv_mlx5_cq *)cq);
}

/* ---- queue pair ---- */

/* The worker's own register if the QP got it; else one that is shared: no copies there. */
static void
choose_uar(struct pmv_mlx5_worker *w, struct pmv_mlx5_qp *qp, const struct mlx5dv_qp *dv)
{
	if (qp->joined_pd != NULL && w->uar.reg == NULL) {
		w->uar.reg = w->uar.next = dv->bf.reg;
		w->uar.half_bytes = dv->bf.size;
	}
	if (qp->joined_pd != NULL && w->uar.reg == dv->bf.reg) {
		qp->sq.uar = &w->uar;
		return;
	}
	qp->own_uar.reg = qp->own_uar.next = dv->bf.reg;
	qp->sq.uar = &qp->own_uar;
}

/* The verbs object, on a domain that has the worker's registers where there are such. */
static int
create_ibv(struct pmv_pd *pd, struct pmv_mlx5_worker *w, struct pmv_qp_init_attr *attr,
	struct pmv_mlx5_qp *qp, struct mlx5dv_qp *ret_dv)
{
	struct ibv_pd *ibv_pd = ((struct pmv_mlx5_pd *)pd)->ibv;
	struct ibv_qp_init_attr ask = { .send_cq = ((struct pmv_mlx5_cq *)attr->send_cq)->ibv,
		.recv_cq = ((struct pmv_mlx5_cq *)attr->recv_cq)->ibv,
		.cap = { .max_send_wr = attr->cap.max_send_wr,
			.max_recv_wr = attr->cap.max_recv_wr,
			.max_send_sge = attr->cap.max_send_sge,
			.max_recv_sge = attr->cap.max_recv_sge,
			.max_inline_data = attr->cap.max_inline_data },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = attr->sq_sig_all };
	int rc = 0;

	if (w->td != NULL)
		rc = pmv_mlx5_glue_pd_join(ibv_pd, w->td, &qp->joined_pd);
	if (rc == 0)
		rc = pmv_mlx5_glue_qp_create(
			qp->joined_pd != NULL ? qp->joined_pd : ibv_pd, &ask, &qp->ibv, ret_dv);
	if (rc < 0)
		return rc;
	attr->cap = (struct pmv_qp_cap){ .max_send_wr = ask.cap.max_send_wr,
		.max_recv_wr = ask.cap.max_recv_wr,
		.max_send_sge = ask.cap.max_send_sge,
		.max_recv_sge = ask.cap.max_recv_sge,
		.max_inline_data = ask.cap.max_inline_data };
	return 0;
}

/* Also of one half made. */
static void
free_qp(struct pmv_mlx5_qp *qp)
{
	int rc = 0;

	if (qp->ibv != NULL)
		rc = pmv_mlx5_glue_qp_destroy(qp->ibv);
	if (rc < 0)
		PMV_LOG(ERR, "destroy_qp 0x%06x: %s", qp->base.qpn, strerror(-rc));
	if (qp->joined_pd != NULL)
		(void)pmv_mlx5_glue_pd_free(qp->joined_pd);
	pmv_mlx5_queue_fini(qp);
	rte_free(qp);
}

static void
fill_qp(struct pmv_pd *pd, struct pmv_worker *w, const struct pmv_qp_init_attr *attr,
	struct pmv_mlx5_qp *qp)
{
	qp->base.worker = w;
	qp->base.pd = pd;
	qp->base.qpn = qp->ibv->qp_num;
	qp->base.state = PMV_QPS_RESET;
	qp->base.type = (uint8_t)attr->qp_type;
	qp->base.context = attr->qp_context;
	qp->sq.qpn_shifted = qp->base.qpn << 8;
	qp->sq.short_ctrl = pmv_mlx5_short_ctrl(qp->base.qpn);
	qp->sq.sig_all = attr->sq_sig_all ? PMV_SEND_SIGNALED : 0;
	qp->sq.shorts = !attr->sq_sig_all && qp->sq.max_sge > 0 &&
			qp->sq.max_inline >= PMV_MLX5_WQE_FLAT_MAX;
	qp->base.ops = qp->sq.shorts && qp->sq.uar->half_bytes >= PMV_MLX5_BLOCK_BYTES
			       ? &rc_short_ops
			       : &rc_ops;
	qp->sq.max_bytes = RTE_MIN(device_of(w->device)->port.max_msg_sz, PMV_MSG_BYTES_MAX);
}

int
pmv_mlx5_qp_create(struct pmv_pd *pd, struct pmv_worker *base_w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(base_w);
	struct pmv_mlx5_qp *qp;
	struct mlx5dv_qp dv;
	int rc;

	if (attr->qp_type != PMV_QPT_RC) {
		PMV_LOG(ERR, "create_qp: the mlx5 driver offers RC only");
		return -ENOTSUP;
	}
	if (base_w->nb_qps >= w->qp_max)
		return -ENOSPC;
	qp = rte_zmalloc_socket("pmv_mlx5_qp", sizeof(*qp), RTE_CACHE_LINE_SIZE, base_w->socket_id);
	if (qp == NULL)
		return -ENOMEM;
	rc = create_ibv(pd, w, attr, qp, &dv);
	if (rc == 0)
		rc = pmv_mlx5_queue_init(qp, &dv, &attr->cap, base_w->socket_id);
	if (rc < 0) {
		free_qp(qp);
		return rc;
	}
	choose_uar(w, qp, &dv);
	fill_qp(pd, base_w, attr, qp);
	*ret_qp = &qp->base;
	return 0;
}

void
pmv_mlx5_qp_create_commit(struct pmv_qp *base)
{
	struct pmv_mlx5_qp *qp = pmv_mlx5_qp(base);

	/* The firmware may give a number again while entries of its last owner are unread. */
	pmv_mlx5_queue_cq_clean((struct pmv_mlx5_cq *)base->send_cq, base->qpn);
	pmv_mlx5_queue_cq_clean((struct pmv_mlx5_cq *)base->recv_cq, base->qpn);
	pmv_mlx5_qp_table_put(&pmv_mlx5_worker(base->worker)->qps, base->qpn, qp);
}

static void
forget_last(struct pmv_cq *base, const struct pmv_mlx5_qp *qp)
{
	struct pmv_mlx5_cq *cq = (struct pmv_mlx5_cq *)base;

	if (cq->last_qp == qp) {
		cq->last_qp = NULL;
		cq->run.op_qpn_be = PMV_MLX5_RUN_NONE;
	}
}

void
pmv_mlx5_qp_destroy_commit(struct pmv_qp *base)
{
	struct pmv_mlx5_qp *qp = pmv_mlx5_qp(base);

	pmv_mlx5_post_forget(qp);
	pmv_mlx5_qp_table_remove(&pmv_mlx5_worker(base->worker)->qps, base->qpn);
	forget_last(base->send_cq, qp);
	forget_last(base->recv_cq, qp);
}

void
pmv_mlx5_qp_free(struct pmv_qp *base)
{
	free_qp(pmv_mlx5_qp(base));
}
