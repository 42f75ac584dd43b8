// SPDX-License-Identifier: BSD-3-Clause
/*
 * Multicast: see mcast.h. Owner lcore.
 */
#include "drivers/roce/mcast.h"

#include <rte_branch_prediction.h>

#include "drivers/roce/ud.h"

/* Which workers have members, and which have some that want our own messages; others read it. One
 * writer a bit: its worker's owner, under the device's lock. */
static void
set_masks(struct pmv_mcast_group *g, uint16_t index)
{
	uint32_t bit = 1u << index;
	uint32_t any = 0, loop = 0;
	const struct pmv_mcast *m;

	LIST_FOREACH(m, &g->members[index], member)
	{
		any = bit;
		if (m->flags & PMV_MCAST_LOOPBACK)
			loop = bit;
	}
	__atomic_store_n(&g->workers, (g->workers & ~bit) | any, __ATOMIC_RELAXED);
	__atomic_store_n(&g->loop_workers, (g->loop_workers & ~bit) | loop, __ATOMIC_RELAXED);
}

void
pmv_roce_mcast_attach(struct pmv_qp *qp, struct pmv_mcast *m)
{
	LIST_INSERT_HEAD(&m->group->members[qp->worker->index], m, member);
	set_masks(m->group, qp->worker->index);
}

void
pmv_roce_mcast_detach(struct pmv_qp *qp, struct pmv_mcast *m)
{
	LIST_REMOVE(m, member);
	set_masks(m->group, qp->worker->index);
}

void
pmv_roce_mcast_rx(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, bool own)
{
	struct pmv_mcast *m;

	LIST_FOREACH(m, &p->group->members[w->base.index], member)
	{
		struct pmv_roce_qp *qp = pmv_roce_qp(m->qp);

		if (own && !(m->flags & PMV_MCAST_LOOPBACK))
			continue;
		if (unlikely(qp->base.state < PMV_QPS_RTR || qp->base.state == PMV_QPS_ERR)) {
			w->stats.drop[PMV_ROCE_DROP_QP_STATE]++;
			continue;
		}
		pmv_roce_ud_rx(w, qp, p);
	}
}

static void
copy_to(struct pmv_roce_worker *w, struct rte_mbuf *m, uint16_t target)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, w->base.pool, 0, UINT32_MAX);

	if (unlikely(copy == NULL)) {
		w->stats.drop[PMV_ROCE_DROP_NO_MBUF]++;
		return;
	}
	if (target != w->base.index) {
		w->stats.rx_handover++;
		w->base.host->handover(&w->base, target, copy);
	} else {
		w->looped[w->nb_looped++] = copy;
	}
}

void
pmv_roce_mcast_spread(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	uint32_t workers = __atomic_load_n(&p->group->workers, __ATOMIC_RELAXED);

	for (uint16_t i = 0; i < PMV_WORKERS_MAX; i++)
		if ((workers >> i & 1) != 0 && i != w->base.index)
			copy_to(w, p->m, i);
}

void
pmv_roce_mcast_loop(struct pmv_roce_worker *w, struct rte_mbuf *m, const uint8_t *l3)
{
	const struct pmv_mcast_group *g;
	uint8_t gid[PMV_GID_LEN];
	uint32_t workers;

	if (l3[0] >> 4 == 6)
		memcpy(gid, l3 + 24, PMV_GID_LEN);
	else
		pmv_gid_from_ipv4(gid, pmv_be32_load(l3 + 16));
	g = pmv_mcast_group_find(w->base.device, gid);
	workers = g != NULL ? __atomic_load_n(&g->loop_workers, __ATOMIC_RELAXED) : 0;
	for (uint16_t i = 0; i < PMV_WORKERS_MAX; i++) {
		if ((workers >> i & 1) == 0)
			continue;
		if (unlikely(i == w->base.index && w->nb_looped == PMV_ROCE_LOOPED_MAX))
			w->stats.drop[PMV_ROCE_DROP_MCAST_LOOP_FULL]++;
		else
			copy_to(w, m, i);
	}
}
