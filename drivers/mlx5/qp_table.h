// SPDX-License-Identifier: BSD-3-Clause
/*
 * QPN -> queue pair of one worker. QPNs are the firmware's, so this is a hash with linear probing;
 * less than half of it is ever filled. Owner lcore, but for init and fini.
 */
#ifndef PMV_MLX5_QP_TABLE_H
#define PMV_MLX5_QP_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct pmv_mlx5_qp;

struct pmv_mlx5_qp_entry {
	struct pmv_mlx5_qp *qp; /* NULL: free */
	uint32_t qpn;
};

struct pmv_mlx5_qp_table {
	struct pmv_mlx5_qp_entry *entry;
	uint32_t mask;
	uint32_t nb;
};

/* Room for nb_max QPs. 0; -ENOMEM. */
int pmv_mlx5_qp_table_init(struct pmv_mlx5_qp_table *t, uint32_t nb_max, int socket_id);
void pmv_mlx5_qp_table_fini(struct pmv_mlx5_qp_table *t);

void pmv_mlx5_qp_table_put(struct pmv_mlx5_qp_table *t, uint32_t qpn, struct pmv_mlx5_qp *qp);
void pmv_mlx5_qp_table_remove(struct pmv_mlx5_qp_table *t, uint32_t qpn);

static inline uint32_t
pmv_mlx5_qp_table_slot(const struct pmv_mlx5_qp_table *t, uint32_t qpn)
{
	return (qpn * 0x9e3779b1u >> 8) & t->mask;
}

/* NULL: there is none. */
static inline struct pmv_mlx5_qp *
pmv_mlx5_qp_table_get(const struct pmv_mlx5_qp_table *t, uint32_t qpn)
{
	uint32_t i = pmv_mlx5_qp_table_slot(t, qpn);

	while (t->entry[i].qp != NULL && t->entry[i].qpn != qpn)
		i = (i + 1) & t->mask;
	return t->entry[i].qp;
}

#endif
