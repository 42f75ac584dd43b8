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

/* Distances from una, not signed differences: a READ may take half of all PSNs. */
static inline uint32_t
ahead_of_una(const struct pmv_roce_window *win, struct pmv_psn psn)
{
	return (psn.v - win->una.v) & PMV_PSN_MASK;
}

uint32_t
pmv_roce_window_room(const struct pmv_roce_window *win)
{
	uint32_t used = ahead_of_una(win, win->nxt);

	return used < win->size ? win->size - used : 0;
}

bool
pmv_roce_window_takes(const struct pmv_roce_window *win, uint32_t nb_psn)
{
	return ahead_of_una(win, win->nxt) + nb_psn <= PMV_ROCE_WINDOW_PSNS_MAX;
}

bool
pmv_roce_window_sent(struct pmv_roce_window *win, uint32_t nb_psn)
{
	bool again = ahead_of_una(win, win->nxt) < ahead_of_una(win, win->end);

	win->nxt = pmv_psn_add(win->nxt, nb_psn);
	if (ahead_of_una(win, win->end) < ahead_of_una(win, win->nxt))
		win->end = win->nxt;
	return again;
}

enum pmv_roce_window_place
pmv_roce_window_place(const struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (ahead_of_una(win, psn) < ahead_of_una(win, win->end))
		return PMV_ROCE_WINDOW_INSIDE;
	return pmv_psn_before(psn, win->una) ? PMV_ROCE_WINDOW_STALE : PMV_ROCE_WINDOW_UNSENT;
}

uint32_t
pmv_roce_window_ack_before(struct pmv_roce_window *win, struct pmv_psn psn)
{
	uint32_t nb = ahead_of_una(win, psn);

	if (nb > ahead_of_una(win, win->end))
		return 0;
	if (ahead_of_una(win, win->nxt) < nb)
		/* overtaken while resending: the old copy had arrived */
		win->nxt = psn;
	win->una = psn;
	return nb;
}

bool
pmv_roce_window_go_back(struct pmv_roce_window *win, struct pmv_psn psn)
{
	if (ahead_of_una(win, psn) > ahead_of_una(win, win->nxt))
		return false;
	win->nxt = psn;
	return true;
}
