// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the requester knows of packets between "acknowledged" and "sent", one by one: which the peer
 * has although one before them is missing, which are lost. A packet counts as lost when one that
 * was sent clearly later has arrived, whatever its PSN, so a repair that is lost again is noticed
 * in the same way. For connections that repeat selectively; pure: no QP, no clock, no mbuf.
 */
#ifndef PMV_ROCE_SCOREBOARD_H
#define PMV_ROCE_SCOREBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/util/seq24.h"
#include "lib/wire/sack.h"

#define PMV_ROCE_SCOREBOARD_PSNS 256u /* that may lie between una and end; power of two */

/* How much later: so many packets may overtake another on the way before it is sent again. */
#define PMV_ROCE_SCOREBOARD_LATER 2u

enum pmv_roce_scoreboard_mark {
	PMV_ROCE_SCOREBOARD_OUT, /* sent, nothing known */
	PMV_ROCE_SCOREBOARD_HELD,
	PMV_ROCE_SCOREBOARD_LOST,
};

struct pmv_roce_scoreboard {
	uint32_t order;   /* number of sendings so far, repairs included */
	uint32_t newest;  /* highest number of a sending that arrived */
	uint32_t nb_held; /* marked */
	uint32_t nb_lost; /* marked, not yet sent again */
	uint32_t probe_order;
	struct pmv_psn probe_psn;
	bool probing; /* the last probe is not passed yet */
	bool gap;     /* something between una and end is held or lost: acked() and judge()
			 have work */
	struct {
		uint32_t order;          /* of the last sending */
		uint32_t mark;           /* enum pmv_roce_scoreboard_mark */
	} psn[PMV_ROCE_SCOREBOARD_PSNS]; /* by PSN modulo the size */
};

void pmv_roce_scoreboard_init(struct pmv_roce_scoreboard *s);

/* Everything goes out again in order (a timeout): what was known is forgotten. */
void pmv_roce_scoreboard_forget(
	struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn end);

static inline void
pmv_roce_scoreboard_mark(
	struct pmv_roce_scoreboard *s, uint32_t i, enum pmv_roce_scoreboard_mark mark)
{
	uint32_t old = s->psn[i].mark;

	s->nb_held += (mark == PMV_ROCE_SCOREBOARD_HELD) - (old == PMV_ROCE_SCOREBOARD_HELD);
	s->nb_lost += (mark == PMV_ROCE_SCOREBOARD_LOST) - (old == PMV_ROCE_SCOREBOARD_LOST);
	s->psn[i].mark = mark;
}

/* A packet goes out, for the first time or again. */
static inline void
pmv_roce_scoreboard_sent(struct pmv_roce_scoreboard *s, struct pmv_psn psn)
{
	uint32_t i = psn.v & (PMV_ROCE_SCOREBOARD_PSNS - 1);

	s->psn[i].order = ++s->order;
	pmv_roce_scoreboard_mark(s, i, PMV_ROCE_SCOREBOARD_OUT);
}

/*
 * The packet at una goes out again although nothing says that it is lost. If it is this copy that
 * arrives (pmv_roce_scoreboard_answered()), all that was sent before and did not is lost.
 */
static inline void
pmv_roce_scoreboard_probed(struct pmv_roce_scoreboard *s, struct pmv_psn una)
{
	s->order += PMV_ROCE_SCOREBOARD_LATER + 1;
	s->probe_order = s->order;
	s->probe_psn = una;
	s->probing = true;
}

/* The left edge moved past the probe, too late for any other copy of it. */
static inline void
pmv_roce_scoreboard_answered(struct pmv_roce_scoreboard *s)
{
	if ((int32_t)(s->probe_order - s->newest) > 0)
		s->newest = s->probe_order;
	s->gap = true;
}

/* The left edge moves from una to psn (at most the size): the packets between have arrived. */
void pmv_roce_scoreboard_acked(
	struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn psn);

/* The peer waits for una and has what the map says; end is one past the last packet sent. Returns
 * how many of these are news. */
uint32_t pmv_roce_scoreboard_held(struct pmv_roce_scoreboard *s, struct pmv_psn una,
	struct pmv_psn end, const struct pmv_sack *sack);

/* Marks what is lost by now between una and end (at most the size apart): more than `late` that
 * were sent after it have arrived. Returns how many are to be sent again. */
uint32_t pmv_roce_scoreboard_judge(
	struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn end, uint32_t late);

/* The first lost packet at or behind una. False: none. */
bool pmv_roce_scoreboard_next(const struct pmv_roce_scoreboard *s, struct pmv_psn una,
	struct pmv_psn end, struct pmv_psn *ret_psn);

#endif
