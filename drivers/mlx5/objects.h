// SPDX-License-Identifier: BSD-3-Clause
/*
 * Protection domains, memory regions, completion queues and queue pairs: made and destroyed by
 * verbs (prepare halves, control threads), known to the data path by commit halves (owner lcore).
 */
#ifndef PMV_MLX5_OBJECTS_H
#define PMV_MLX5_OBJECTS_H

#include <infiniband/verbs.h>

#include "drivers/mlx5/queue.h"
#include "lib/driver/pmv_driver.h"

struct pmv_mlx5_pd {
	struct pmv_pd base;
	struct ibv_pd *ibv;
};

struct pmv_mlx5_mr {
	struct pmv_mr base;
	struct ibv_mr *ibv;
};

int pmv_mlx5_pd_init(struct pmv_pd *pd);
void pmv_mlx5_pd_fini(struct pmv_pd *pd);

int pmv_mlx5_mr_reg(struct pmv_mr *mr);
/* Deregisters at once: when the kernel has answered, the HCA touches the memory no more. */
int pmv_mlx5_mr_kill(struct pmv_mr *mr);
bool pmv_mlx5_mr_frames_out(const struct pmv_mr *mr);
void pmv_mlx5_mr_free(struct pmv_mr *mr);

/* -ENOTSUP: no UD yet. */
int pmv_mlx5_ah_init(struct pmv_ah *ah);

int pmv_mlx5_cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq);
void pmv_mlx5_cq_free(struct pmv_cq *cq);
void pmv_mlx5_cq_query(const struct pmv_cq *cq, struct pmv_cq_attr *attr);

int pmv_mlx5_qp_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp);
void pmv_mlx5_qp_create_commit(struct pmv_qp *qp);
void pmv_mlx5_qp_destroy_commit(struct pmv_qp *qp);
void pmv_mlx5_qp_free(struct pmv_qp *qp);

#endif
