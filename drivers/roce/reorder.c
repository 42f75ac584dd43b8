// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/reorder.h"

#include <string.h>

#include "drivers/roce/scoreboard.h"

#define INDEX(psn) ((psn).v & (PMV_ROCE_REORDER_NB - 1))

bool
pmv_roce_reorder_hold(struct pmv_roce_worker *w, struct pmv_roce_reorder *r, uint32_t ahead,
	struct pmv_psn psn, struct rte_mbuf *m, bool *ret_tell)
{
	struct rte_mbuf **slot = &r->m[INDEX(psn)];

	*ret_tell = false;
	if (ahead > PMV_ROCE_REORDER_NB - 1)
		return false;
	if (*slot != NULL) { /* the ring spans no two PSNs of one slot: a copy */
		rte_pktmbuf_free(m);
		w->stats.drop[PMV_ROCE_DROP_DUP]++;
		return true;
	}
	if (w->nb_reordered >= PMV_ROCE_REORDERED_MAX) {
		w->stats.drop[PMV_ROCE_DROP_REORDER_FULL]++;
		return false;
	}
	if (r->nb == 0 || pmv_psn_diff(psn, r->highest) > 1)
		r->nb_passed = 0;
	*ret_tell = ++r->nb_passed == PMV_ROCE_SCOREBOARD_LATER + 1;
	if (r->nb == 0 || pmv_psn_before(r->highest, psn))
		r->highest = psn;
	*slot = m;
	r->nb++;
	w->nb_reordered++;
	return true;
}

struct rte_mbuf *
pmv_roce_reorder_take(struct pmv_roce_worker *w, struct pmv_roce_reorder *r, struct pmv_psn psn)
{
	struct rte_mbuf *m = r->m[INDEX(psn)];

	if (m == NULL || r->nb == 0)
		return NULL;
	r->m[INDEX(psn)] = NULL;
	r->nb--;
	w->nb_reordered--;
	return m;
}

void
pmv_roce_reorder_tell(
	const struct pmv_roce_reorder *r, struct pmv_psn epsn, struct pmv_sack *ret_sack)
{
	memset(ret_sack, 0, sizeof(*ret_sack));
	for (uint32_t i = 0; r->nb != 0 && i < PMV_SACK_BITS - 1; i++) {
		if (r->m[INDEX(pmv_psn_add(epsn, i + 1))] != NULL)
			pmv_sack_set(ret_sack, i);
	}
}

void
pmv_roce_reorder_drop(struct pmv_roce_worker *w, struct pmv_roce_reorder *r)
{
	for (uint32_t i = 0; i < PMV_ROCE_REORDER_NB && r->nb != 0; i++) {
		if (r->m[i] == NULL)
			continue;
		rte_pktmbuf_free(r->m[i]);
		r->m[i] = NULL;
		r->nb--;
		w->nb_reordered--;
	}
}
