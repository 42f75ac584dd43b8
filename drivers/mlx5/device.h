// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ConnectX driver's share of a device and of a worker. A worker has doorbell registers of its
 * own (a thread domain), so that no lock is needed; it has no ethdev queue: completion queues are
 * all that is looked at. Control threads, but for what struct pmv_mlx5_worker says.
 */
#ifndef PMV_MLX5_DEVICE_H
#define PMV_MLX5_DEVICE_H

#include <infiniband/verbs.h>

#include "drivers/mlx5/qp_table.h"
#include "drivers/mlx5/queue.h"
#include "drivers/mlx5/stats.h"
#include "lib/driver/pmv_driver.h"

/* Constant once the device is open. */
struct pmv_mlx5_device {
	struct pmv_device base;
	struct ibv_context *ctx;
	struct ibv_device_attr limits;
	struct ibv_port_attr port;
	uint8_t gid_index[PMV_ADDRS_MAX]; /* in the GID table, by index in base.addrs at open */
	union pmv_gid gid[PMV_ADDRS_MAX];
	uint32_t nb_gids;
};

struct pmv_mlx5_worker {
	struct pmv_worker base;
	struct pmv_mlx5_qp_table qps;                        /* owner lcore */
	TAILQ_HEAD(pmv_mlx5_ring_list, pmv_mlx5_qp) to_ring; /* owner lcore: posted, not rung */
	struct pmv_mlx5_uar uar; /* reg NULL until the first QP; then the owner lcore's */
	struct pmv_mlx5_stats stats;
	struct ibv_td *td; /* NULL: the kernel gives none, registers are shared */
	uint32_t qp_max;
};

static inline struct pmv_mlx5_worker *
pmv_mlx5_worker(struct pmv_worker *w)
{
	return (struct pmv_mlx5_worker *)w;
}

/* -ENOTSUP, always: finding the RDMA device behind an ethdev port is left to the user (ibdev). */
int pmv_mlx5_device_probe(uint16_t port_id);
int pmv_mlx5_device_init(struct pmv_device *dev);
void pmv_mlx5_device_fini(struct pmv_device *dev);
void pmv_mlx5_device_query(struct pmv_device *dev, struct pmv_device_attr *attr);
int pmv_mlx5_device_port_query(struct pmv_device *dev, struct pmv_port_attr *attr);

/* Index in the GID table of an address of ours, or -EINVAL. */
int pmv_mlx5_device_gid_index(const struct pmv_mlx5_device *dev, const union pmv_gid *gid);

int pmv_mlx5_worker_init(struct pmv_worker *w, const struct pmv_worker_param *param);
void pmv_mlx5_worker_fini(struct pmv_worker *w);

#endif
