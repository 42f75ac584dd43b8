// SPDX-License-Identifier: BSD-3-Clause
/*
 * See local_op.h.
 */
#include "drivers/roce/local_op.h"

#include <errno.h>

#include "drivers/roce/fastreg.h"
#include "drivers/roce/invalidate.h"
#include "drivers/roce/mw.h"

#define BIND_ACCESS                                                                                \
	(PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC |             \
		PMV_ACCESS_FLUSH_GLOBAL | PMV_ACCESS_OPTIONAL_RANGE)

/* What a bind has besides a WQE's own fields; in `data`. */
struct bind_rest {
	uint64_t length;
	uint32_t mr_key;
	uint32_t access;
};
_Static_assert(sizeof(struct bind_rest) <= PMV_ROCE_WQE_DATA_MIN, "it fits into any queue");

static bool
is_here(const struct pmv_roce_qp *qp, const struct pmv_pd *pd)
{
	return pd->device == qp->base.pd->device;
}

/* Keys are taken down, not objects: these may be gone when the turn of the request comes. */
static int
fill_bind(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr, struct pmv_roce_wqe *wqe)
{
	const struct pmv_mw_bind *b = wr->wr.bind_mw.bind;
	struct pmv_mw *mw = wr->wr.bind_mw.mw;
	struct bind_rest *rest = (struct bind_rest *)(void *)wqe->data;

	if (mw == NULL || b == NULL || !is_here(qp, mw->pd) || (b->access & ~BIND_ACCESS) != 0 ||
		(b->length != 0 && (b->mr == NULL || !is_here(qp, b->mr->pd))))
		return -EINVAL;
	/* Type 1: the key is ours to choose (IBTA vol. 1, 10.6.7.2.2). */
	wqe->rkey = mw->type == 1 ? pmv_inc_rkey(mw->rkey) : wr->wr.bind_mw.rkey;
	wqe->remote_addr = b->addr;
	*rest = (struct bind_rest){ b->length, b->mr == NULL ? 0 : b->mr->lkey, b->access };
	__atomic_store_n(&mw->rkey, wqe->rkey, __ATOMIC_RELAXED);
	return 0;
}

static int
fill_reg(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr, struct pmv_roce_wqe *wqe)
{
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)wr->wr.reg.mr;

	if (mr == NULL || !is_here(qp, mr->base.pd) || mr->max_pages == 0 ||
		pmv_roce_region_access_fault(wr->wr.reg.access) != NULL)
		return -EINVAL;
	wqe->rkey = wr->wr.reg.key;
	wqe->remote_addr = wr->wr.reg.access;
	__atomic_store_n(&mr->base.lkey, wr->wr.reg.key, __ATOMIC_RELAXED);
	__atomic_store_n(&mr->base.rkey, wr->wr.reg.key, __ATOMIC_RELAXED);
	return 0;
}

static int
fill(const struct pmv_roce_qp *qp, const struct pmv_send_wr *wr, struct pmv_roce_wqe *wqe)
{
	switch (wr->opcode) {
	case PMV_WR_LOCAL_INV:
		wqe->rkey = wr->invalidate_rkey;
		wqe->remote_addr = 0; /* later: the epoch that it waits for */
		return 0;
	case PMV_WR_BIND_MW:
		return fill_bind(qp, wr, wqe);
	case PMV_WR_REG_MR:
		return fill_reg(qp, wr, wqe);
	case PMV_WR_NOP:
		return 0;
	default:
		return -EINVAL;
	}
}

int
pmv_roce_local_op_post(struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	struct pmv_roce_sq *sq = &qp->sq;
	struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, sq->head);
	int err;

	if (!pmv_roce_local_op_is((uint32_t)wr->opcode))
		return -EINVAL;
	if (pmv_roce_sq_full(sq))
		return -ENOMEM;
	err = fill(qp, wr, wqe);
	if (err != 0)
		return err;
	pmv_roce_sq_wqe_set(wqe, wr, 0, qp->base.sq_sig_all);
	wqe->num_sge = 0;
	wqe->nb_psn = 1;
	wqe->first = sq->next_psn;
	sq->head++;
	return 0;
}

/*
 * IBTA vol. 1, 10.8.3.3: a LOCAL_INV may be ordered behind all work before it, which Linux's rxe
 * always does, and so do we: what was sent before may have to be sent again, from memory under this
 * very key.
 */
static int
local_inv(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	if (wqe->remote_addr == 0) {
		if (qp->sq.ack != qp->sq.snd)
			return -EAGAIN;
		if (pmv_roce_invalidate(w, qp, wqe->rkey, false, &wqe->remote_addr) != 0)
			return PMV_WC_LOC_QP_OP_ERR;
	}
	/* After its completion no byte changes any more: not by a packet either that another worker
	 * is just placing. */
	return w->base.host->is_quiet(&w->base, wqe->remote_addr) ? PMV_WC_SUCCESS : -EINPROGRESS;
}

static int
bind_mw(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_wqe *wqe)
{
	const struct bind_rest *rest = (const struct bind_rest *)(const void *)wqe->data;
	const struct pmv_roce_bind bind = { wqe->remote_addr, rest->length, wqe->rkey, rest->mr_key,
		rest->access };

	return pmv_roce_mw_bind(w, qp, &bind);
}

int
pmv_roce_local_op_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	int rc;

	switch (wqe->opcode) {
	case PMV_WR_LOCAL_INV:
		return local_inv(w, qp, wqe);
	case PMV_WR_BIND_MW:
		rc = bind_mw(w, qp, wqe);
		return rc == -EINVAL ? PMV_WC_MW_BIND_ERR : rc;
	case PMV_WR_REG_MR:
		rc = pmv_roce_fastreg_register(w, qp, wqe->rkey, (uint32_t)wqe->remote_addr);
		return rc == -EINVAL ? PMV_WC_LOC_QP_OP_ERR : rc;
	default: /* NOP */
		return PMV_WC_SUCCESS;
	}
}
