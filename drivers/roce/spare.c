// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/spare.h"

#include <errno.h>

void
pmv_roce_spare_init(struct pmv_roce_spare *s, struct rte_mempool *pool)
{
	s->pool = pool;
	s->data_off = (uint32_t)sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(pool) +
		      RTE_PKTMBUF_HEADROOM;
	s->nb = 0;
}

int
pmv_roce_spare_fill(struct pmv_roce_spare *s)
{
	/* A pool that has not so many left may still have one. */
	if (rte_mempool_get_bulk(s->pool, (void **)s->m, PMV_ROCE_SPARE_NB) == 0)
		s->nb = PMV_ROCE_SPARE_NB;
	else if (rte_mempool_get(s->pool, (void **)s->m) == 0)
		s->nb = 1;
	else
		return -ENOBUFS;
	for (uint32_t i = s->nb; i > 0 && i + PMV_ROCE_SPARE_AHEAD > s->nb; i--)
		pmv_roce_spare_prefetch(s, s->m[i - 1]);
	return 0;
}

void
pmv_roce_spare_drop(struct pmv_roce_spare *s)
{
	if (s->nb > 0)
		rte_mempool_put_bulk(s->pool, (void *const *)s->m, s->nb);
	s->nb = 0;
}
