// SPDX-License-Identifier: BSD-3-Clause
/*
 * Modify. Firmware commands are all of it, so prepare (control thread) does it and commit (owner
 * lcore) only takes notice; what the two may disagree on meanwhile, state.c says.
 */
#ifndef PMV_MLX5_STATE_H
#define PMV_MLX5_STATE_H

#include "lib/driver/pmv_driver.h"

int pmv_mlx5_state_prepare(struct pmv_qp *qp, struct pmv_qp_modify *m);
int pmv_mlx5_state_commit(struct pmv_qp *qp, const struct pmv_qp_modify *m);
void pmv_mlx5_state_abort(struct pmv_qp *qp, struct pmv_qp_modify *m);

/* lib/verbs fills what was committed; PSNs in flight only the firmware knows, and it is not asked.
 */
void pmv_mlx5_state_query(const struct pmv_qp *qp, struct pmv_qp_attr *attr);

#endif
