// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/window.h"

void
pmv_roce_window_init(struct pmv_roce_window *win, struct pmv_psn first, uint32_t size)
{
	win->una = first;
	win->nxt = first;
	win->end = first;
	win->size = size;
	win->span = size;
	win->away = 0;
}

enum pmv_roce_window_place
pmv_roce_window_place(const struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (pmv_roce_window_ahead(win, psn) < pmv_roce_window_ahead(win, win->end))
		return PMV_ROCE_WINDOW_INSIDE;
	return pmv_psn_before(psn, win->una) ? PMV_ROCE_WINDOW_STALE : PMV_ROCE_WINDOW_UNSENT;
}

uint32_t
pmv_roce_window_ack_before(struct pmv_roce_window *win, struct pmv_psn psn)
{
	uint32_t nb = pmv_roce_window_ahead(win, psn);

	if (nb > pmv_roce_window_ahead(win, win->end))
		return 0;
	if (pmv_roce_window_ahead(win, win->nxt) < nb)
		/* overtaken while resending: the old copy had arrived */
		win->nxt = psn;
	win->una = psn;
	return nb;
}

bool
pmv_roce_window_go_back(struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (pmv_roce_window_ahead(win, psn) > pmv_roce_window_ahead(win, win->nxt))
		return false;
	win->nxt = psn;
	return true;
}
