// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ConnectX driver's entry in the registry, and its answers where the contract speaks of frames:
 * it has none, the HCA has them.
 */
#include "drivers/mlx5/driver.h"

#include <errno.h>
#include <string.h>

#include "drivers/mlx5/device.h"
#include "drivers/mlx5/objects.h"
#include "drivers/mlx5/post.h"
#include "drivers/mlx5/state.h"
#include "drivers/mlx5/stats.h"

static uint32_t
no_rx(struct pmv_worker *w)
{
	return 0;
}

static uint32_t
all_foreign(struct pmv_worker *w, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign)
{
	memcpy(foreign, m, nb * sizeof(m[0]));
	return nb;
}

static void
drop_frame(struct pmv_worker *w, struct rte_mbuf *m)
{
	rte_pktmbuf_free(m);
}

static void
run(struct pmv_worker *w)
{
	pmv_mlx5_post_flush(w);
}

static bool
is_idle(const struct pmv_worker *w)
{
	return TAILQ_EMPTY(&((const struct pmv_mlx5_worker *)w)->to_ring);
}

static void
no_neigh(struct pmv_worker *w, const union pmv_gid *gid, const struct rte_ether_addr *old_mac,
	const struct rte_ether_addr *new_mac)
{
}

/* Faults are planted in frames, and there are none. */
static int
no_fault_add(struct pmv_worker *w, const struct pmv_fault_rule *rule, uint64_t seed)
{
	return -ENOTSUP;
}

static int
no_fault_clear(struct pmv_worker *w)
{
	return 0;
}

static int
no_fault_query(struct pmv_worker *w, struct pmv_fault_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	return 0;
}

static const struct pmv_driver_ops mlx5_ops = {
	.probe = pmv_mlx5_device_probe,
	.device_init = pmv_mlx5_device_init,
	.device_fini = pmv_mlx5_device_fini,
	.device_query = pmv_mlx5_device_query,
	.port_query = pmv_mlx5_device_port_query,
	.worker_init = pmv_mlx5_worker_init,
	.worker_fini = pmv_mlx5_worker_fini,
	.worker_rx = no_rx,
	.worker_input = all_foreign,
	.worker_frame = drop_frame,
	.worker_run = run,
	.worker_flush = pmv_mlx5_post_flush,
	.worker_idle = is_idle,
	.pd_init = pmv_mlx5_pd_init,
	.pd_fini = pmv_mlx5_pd_fini,
	.mr_reg = pmv_mlx5_mr_reg,
	.mr_kill = pmv_mlx5_mr_kill,
	.mr_frames_out = pmv_mlx5_mr_frames_out,
	.mr_free = pmv_mlx5_mr_free,
	.ah_init = pmv_mlx5_ah_init,
	.cq_create = pmv_mlx5_cq_create,
	.cq_free = pmv_mlx5_cq_free,
	.cq_query = pmv_mlx5_cq_query,
	.qp_create = pmv_mlx5_qp_create,
	.qp_create_commit = pmv_mlx5_qp_create_commit,
	.qp_modify_prepare = pmv_mlx5_state_prepare,
	.qp_modify_commit = pmv_mlx5_state_commit,
	.qp_modify_abort = pmv_mlx5_state_abort,
	.qp_destroy_commit = pmv_mlx5_qp_destroy_commit,
	.qp_free = pmv_mlx5_qp_free,
	.qp_query = pmv_mlx5_state_query,
	.qp_neigh_commit = no_neigh,
	.worker_stats = pmv_mlx5_stats_worker,
	.qp_stats = pmv_mlx5_stats_qp,
	.fault_add = no_fault_add,
	.fault_clear = no_fault_clear,
	.fault_query = no_fault_query,
};

struct pmv_driver pmv_mlx5_driver = {
	.name = "mlx5",
	.ops = &mlx5_ops,
	.device_bytes = sizeof(struct pmv_mlx5_device),
	.worker_bytes = sizeof(struct pmv_mlx5_worker),
	.mr_bytes = sizeof(struct pmv_mlx5_mr),
	.ah_bytes = sizeof(struct pmv_ah),
	.pd_bytes = sizeof(struct pmv_mlx5_pd),
	.portless = true,
};

RTE_INIT(pmv_mlx5_driver_init)
{
	pmv_driver_register(&pmv_mlx5_driver);
}
