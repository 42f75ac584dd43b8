// SPDX-License-Identifier: BSD-3-Clause
/*
 * The range of request PSNs between "acknowledged" and "never sent": the only owner of the send PSN
 * and of what may be outstanding. Pure: no QP, no clock, no mbuf. Requester and completer ask it;
 * neither keeps a PSN of its own.
 *
 *      una            nxt                 end
 *       |-- sent once ---|-- never sent -- |      nxt moves back to una on go-back-N; `end` is the
 * first PSN never sent
 */
#ifndef PMV_ROCE_WINDOW_H
#define PMV_ROCE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/util/seq24.h"

struct pmv_roce_window {
	struct pmv_psn una; /* oldest PSN not acknowledged */
	struct pmv_psn nxt; /* PSN of the next packet to send */
	struct pmv_psn end; /* one past the highest PSN ever sent; nxt <= end while resending */
	uint32_t size;      /* packets that may be on their way */
	uint32_t span; /* PSNs that may lie between una and nxt, packets that are not on their way
			  included */
	uint32_t away; /* of those between: known to be with the peer, or lost; resend.c */
};

enum pmv_roce_window_place {
	PMV_ROCE_WINDOW_STALE,  /* before una */
	PMV_ROCE_WINDOW_INSIDE, /* una <= psn < end */
	PMV_ROCE_WINDOW_UNSENT, /* end or later: the peer cannot have seen it */
};

/* span = size: whoever hears of packets behind a gap may widen it. */
void pmv_roce_window_init(struct pmv_roce_window *win, struct pmv_psn first, uint32_t size);

/* Distances from una, not signed differences: a READ may take half of all PSNs. */
static inline uint32_t
pmv_roce_window_ahead(const struct pmv_roce_window *win, struct pmv_psn psn)
{
	return (psn.v - win->una.v) & PMV_PSN_MASK;
}

/* Packets that may be sent now. A READ counts with its first PSN only: its other PSNs are the
 * peer's to send. */
static inline uint32_t
pmv_roce_window_room(const struct pmv_roce_window *win)
{
	uint32_t ahead = pmv_roce_window_ahead(win, win->nxt);
	uint32_t on_way = ahead - win->away;
	uint32_t room = on_way < win->size ? win->size - on_way : 0;
	uint32_t left = ahead < win->span ? win->span - ahead : 0;

	return room < left ? room : left;
}

/* More PSNs than this cannot be outstanding: neither side could tell new from old (IBTA vol.
 * 1, 9.7.2). */
#define PMV_ROCE_WINDOW_PSNS_MAX (1u << 23)

/* So many more may be. A matter for READs: `size` keeps other packets far below. */
static inline bool
pmv_roce_window_takes(const struct pmv_roce_window *win, uint32_t nb_psn)
{
	return pmv_roce_window_ahead(win, win->nxt) + nb_psn <= PMV_ROCE_WINDOW_PSNS_MAX;
}

/* A packet of `nb_psn` PSNs (1; more for a READ) was surely staged. Returns true if its first PSN
 * was sent before. */
static inline bool
pmv_roce_window_sent(struct pmv_roce_window *win, uint32_t nb_psn)
{
	uint32_t sent = pmv_roce_window_ahead(win, win->nxt);
	uint32_t ever = pmv_roce_window_ahead(win, win->end);

	win->nxt = pmv_psn_add(win->nxt, nb_psn);
	if (ever < sent + nb_psn)
		win->end = win->nxt;
	return sent < ever;
}

enum pmv_roce_window_place pmv_roce_window_place(
	const struct pmv_roce_window *win, struct pmv_psn psn);

/* Everything before `psn` is acknowledged. Returns how many PSNs that freed; 0 for a stale or
 * unsent one. */
uint32_t pmv_roce_window_ack_before(struct pmv_roce_window *win, struct pmv_psn psn);

/* Send again from `psn` (una <= psn <= nxt); otherwise nothing happens and false. */
bool pmv_roce_window_go_back(struct pmv_roce_window *win, struct pmv_psn psn);

static inline bool
pmv_roce_window_idle(const struct pmv_roce_window *win)
{
	return pmv_psn_eq(win->una, win->end);
}

#endif
