// SPDX-License-Identifier: BSD-3-Clause
/*
 * See state.h. Between prepare and commit the HCA is ahead of us. Towards RTR and RTS that is
 * harmless: nobody posts yet. Towards ERR the flushed completions may be polled before commit,
 * which takes us to ERR as well. Towards RESET a post in between writes a doorbell record of the
 * old time; commit clears it, and before INIT nobody looks.
 */
#include "drivers/mlx5/state.h"

#include <errno.h>
#include <string.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/glue.h"
#include "drivers/mlx5/objects.h"
#include "drivers/mlx5/post.h"
#include "lib/util/log.h"

/* The masks are the same numbers, so are states and MTU codes. */
_Static_assert((int)PMV_QP_STATE == (int)IBV_QP_STATE && (int)PMV_QP_AV == (int)IBV_QP_AV &&
		       (int)PMV_QP_TIMEOUT == (int)IBV_QP_TIMEOUT &&
		       (int)PMV_QP_RQ_PSN == (int)IBV_QP_RQ_PSN &&
		       (int)PMV_QP_SQ_PSN == (int)IBV_QP_SQ_PSN &&
		       (int)PMV_QP_MAX_DEST_RD_ATOMIC == (int)IBV_QP_MAX_DEST_RD_ATOMIC &&
		       (int)PMV_QP_MIN_RNR_TIMER == (int)IBV_QP_MIN_RNR_TIMER &&
		       (int)PMV_QP_DEST_QPN == (int)IBV_QP_DEST_QPN &&
		       (int)PMV_QPS_ERR == (int)IBV_QPS_ERR &&
		       (int)PMV_MTU_4096 == (int)IBV_MTU_4096,
	"attributes are passed on as they are");

#define ACCESS_PASSED                                                                              \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC)

static int
fill_path(const struct pmv_mlx5_device *dev, const struct pmv_av *av, struct ibv_ah_attr *ret)
{
	int index = pmv_mlx5_device_gid_index(dev, &av->sgid);
	char text[64];

	if (index < 0) {
		PMV_LOG(ERR, "modify_qp: address %s is not in the GID table of %s",
			pmv_gid_str(&av->sgid, text, sizeof(text)), dev->base.ibdev);
		return index;
	}
	*ret = (struct ibv_ah_attr){ .is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = (uint8_t)index,
			.hop_limit = av->hop_limit,
			.traffic_class = av->traffic_class,
			.flow_label = av->flow_label } };
	memcpy(ret->grh.dgid.raw, av->dgid.raw, sizeof(ret->grh.dgid.raw));
	return 0;
}

int
pmv_mlx5_state_prepare(struct pmv_qp *qp, struct pmv_qp_modify *m)
{
	const struct pmv_qp_attr *a = &m->attr;
	struct ibv_qp_attr ask = { .qp_state = (enum ibv_qp_state)a->qp_state,
		.cur_qp_state = (enum ibv_qp_state)a->cur_qp_state,
		.path_mtu = (enum ibv_mtu)a->path_mtu,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.dest_qp_num = a->dest_qp_num,
		.qp_access_flags = a->qp_access_flags & ACCESS_PASSED,
		.pkey_index = a->pkey_index,
		.en_sqd_async_notify = a->en_sqd_async_notify,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer,
		.port_num = 1,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry };
	int rc = 0;

	if (m->mask & PMV_QP_AV)
		rc = fill_path((struct pmv_mlx5_device *)qp->worker->device, &m->av, &ask.ah_attr);
	return rc < 0 ? rc : pmv_mlx5_glue_qp_modify(pmv_mlx5_qp(qp)->ibv, &ask, (int)m->mask);
}

int
pmv_mlx5_state_commit(struct pmv_qp *base, const struct pmv_qp_modify *m)
{
	struct pmv_mlx5_qp *qp = pmv_mlx5_qp(base);

	if (!(m->mask & PMV_QP_STATE))
		return 0;
	if (m->attr.qp_state == PMV_QPS_RESET) {
		pmv_mlx5_post_forget(qp);
		pmv_mlx5_queue_cq_clean((struct pmv_mlx5_cq *)base->send_cq, base->qpn);
		pmv_mlx5_queue_cq_clean((struct pmv_mlx5_cq *)base->recv_cq, base->qpn);
		pmv_mlx5_queue_reset(qp);
		base->comm_est = 0;
	}
	__atomic_store_n(&base->state, (uint8_t)m->attr.qp_state, __ATOMIC_RELEASE);
	return 0;
}

/* Commit refused: the QP had failed meanwhile. So it shall be for the HCA too. */
void
pmv_mlx5_state_abort(struct pmv_qp *qp, struct pmv_qp_modify *m)
{
	struct ibv_qp_attr ask = { .qp_state = IBV_QPS_ERR };
	int rc = pmv_mlx5_glue_qp_modify(pmv_mlx5_qp(qp)->ibv, &ask, IBV_QP_STATE);

	if (rc < 0)
		PMV_LOG(ERR, "modify_qp 0x%06x: to ERR: %s", qp->qpn, strerror(-rc));
}

void
pmv_mlx5_state_query(const struct pmv_qp *qp, struct pmv_qp_attr *attr)
{
	attr->sq_draining = 0;
}
