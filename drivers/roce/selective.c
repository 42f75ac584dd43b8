// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/selective.h"

#include <rte_malloc.h>

struct pmv_roce_selective *
pmv_roce_selective_alloc(int socket_id)
{
	return rte_zmalloc_socket(
		"pmv_sel", sizeof(struct pmv_roce_selective), RTE_CACHE_LINE_SIZE, socket_id);
}

void
pmv_roce_selective_free(struct pmv_roce_selective *sel)
{
	rte_free(sel);
}

void
pmv_roce_selective_drop(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (qp->sel == NULL)
		return;
	pmv_roce_reorder_drop(w, &qp->sel->waiting);
	pmv_roce_scoreboard_init(&qp->sel->sent);
}
