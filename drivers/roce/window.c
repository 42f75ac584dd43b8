// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/window.h"

void
pmv_roce_window_init(struct pmv_roce_window *win, struct pmv_psn first, uint32_t size)
{
	win->una = first;
	win->nxt = first;
	win->end = first;
	win->size = size;
}

uint32_t
pmv_roce_window_room(const struct pmv_roce_window *win)
{
	uint32_t used = (win->nxt.v - win->una.v) & PMV_PSN_MASK;

	return used < win->size ? win->size - used : 0;
}

bool
pmv_roce_window_sent(struct pmv_roce_window *win, uint32_t nb_psn)
{
	bool again = pmv_psn_before(win->nxt, win->end);

	win->nxt = pmv_psn_add(win->nxt, nb_psn);
	if (pmv_psn_before(win->end, win->nxt))
		win->end = win->nxt;
	return again;
}

enum pmv_roce_window_place
pmv_roce_window_place(const struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (pmv_psn_before(psn, win->una))
		return PMV_ROCE_WINDOW_STALE;
	return pmv_psn_before(psn, win->end) ? PMV_ROCE_WINDOW_INSIDE : PMV_ROCE_WINDOW_UNSENT;
}

uint32_t
pmv_roce_window_ack_before(struct pmv_roce_window *win, struct pmv_psn psn)
{
	int32_t nb = pmv_psn_diff(psn, win->una);

	if (nb <= 0 || pmv_psn_before(win->end, psn))
		return 0;
	win->una = psn;
	if (pmv_psn_before(win->nxt, psn)) /* overtaken while resending: the old copy had arrived */
		win->nxt = psn;
	return (uint32_t)nb;
}

bool
pmv_roce_window_go_back(struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (pmv_psn_before(psn, win->una) || pmv_psn_before(win->nxt, psn))
		return false;
	win->nxt = psn;
	return true;
}
