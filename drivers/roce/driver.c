// SPDX-License-Identifier: BSD-3-Clause
/*
 * The software driver's entry in the registry. The constructor runs before main, so that the driver
 * is known in a static link too, provided the archive is linked whole (pkg-config says so).
 */
#include "drivers/roce/driver.h"

#include "drivers/roce/cq.h"
#include "drivers/roce/device.h"
#include "drivers/roce/fastreg.h"
#include "drivers/roce/fault.h"
#include "drivers/roce/mcast.h"
#include "drivers/roce/mw.h"
#include "drivers/roce/qp.h"
#include "drivers/roce/rx.h"
#include "drivers/roce/srq.h"
#include "drivers/roce/ud.h"
#include "drivers/roce/worker.h"

static const struct pmv_driver_ops roce_ops = {
	.probe = pmv_roce_device_probe,
	.device_init = pmv_roce_device_init,
	.device_fini = pmv_roce_device_fini,
	.device_query = pmv_roce_device_query,
	.worker_init = pmv_roce_worker_init,
	.worker_fini = pmv_roce_worker_fini,
	.worker_rx = pmv_roce_rx_poll,
	.worker_input = pmv_roce_rx_input,
	.worker_frame = pmv_roce_rx_frame,
	.worker_run = pmv_roce_worker_run,
	.worker_ctl_send = pmv_roce_worker_ctl_send,
	.worker_flush = pmv_roce_worker_flush,
	.worker_idle = pmv_roce_worker_idle,
	.mr_reg = pmv_roce_mr_reg,
	.mr_kill = pmv_roce_mr_kill,
	.mr_frames_out = pmv_roce_mr_frames_out,
	.mr_free = pmv_roce_mr_free,
	.mr_alloc = pmv_roce_fastreg_create,
	.mr_map = pmv_roce_fastreg_map,
	.mw_alloc = pmv_roce_mw_create,
	.mw_kill = pmv_roce_mw_destroy,
	.mw_free = pmv_roce_mw_free,
	.ah_init = pmv_roce_ah_init,
	.cq_create = pmv_roce_cq_create,
	.cq_free = pmv_roce_cq_free,
	.cq_query = pmv_roce_cq_query,
	.cq_timestamps = pmv_roce_cq_timestamps,
	.cq_resize = pmv_roce_cq_resize,
	.cq_arm = pmv_roce_cq_arm,
	.cq_disarm = pmv_roce_cq_disarm,
	.srq_create = pmv_roce_srq_create,
	.srq_modify_prepare = pmv_roce_srq_modify_prepare,
	.srq_modify_commit = pmv_roce_srq_modify_commit,
	.srq_modify_end = pmv_roce_srq_modify_end,
	.srq_free = pmv_roce_srq_free,
	.srq_query = pmv_roce_srq_query,
	.qp_create = pmv_roce_qp_create,
	.qp_create_commit = pmv_roce_qp_create_commit,
	.qp_modify_prepare = pmv_roce_qp_modify_prepare,
	.qp_modify_commit = pmv_roce_qp_modify_commit,
	.qp_modify_abort = pmv_roce_qp_modify_abort,
	.qp_destroy_commit = pmv_roce_qp_destroy_commit,
	.qp_free = pmv_roce_qp_free,
	.qp_query = pmv_roce_qp_query,
	.qp_neigh_commit = pmv_roce_qp_neigh_commit,
	.mcast_attach = pmv_roce_mcast_attach,
	.mcast_detach = pmv_roce_mcast_detach,
	.worker_stats = pmv_roce_worker_stats,
	.qp_stats = pmv_roce_qp_stats,
	.fault_add = pmv_roce_fault_add,
	.fault_clear = pmv_roce_worker_fault_clear,
	.fault_query = pmv_roce_fault_query,
};

struct pmv_driver pmv_roce_driver = {
	.name = "roce",
	.ops = &roce_ops,
	.device_bytes = sizeof(struct pmv_roce_device),
	.worker_bytes = sizeof(struct pmv_roce_worker),
	.mr_bytes = sizeof(struct pmv_roce_mr),
	.mw_bytes = sizeof(struct pmv_roce_mw),
	.ah_bytes = sizeof(struct pmv_roce_ah),
};

RTE_INIT(pmv_roce_driver_init)
{
	pmv_driver_register(&pmv_roce_driver);
}
