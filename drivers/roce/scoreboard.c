// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/scoreboard.h"

#include <string.h>

#define INDEX(psn) ((psn).v & (PMV_ROCE_SCOREBOARD_PSNS - 1))

static uint32_t
span(struct pmv_psn una, struct pmv_psn end)
{
	uint32_t nb = (end.v - una.v) & PMV_PSN_MASK;

	return nb < PMV_ROCE_SCOREBOARD_PSNS ? nb : PMV_ROCE_SCOREBOARD_PSNS;
}

void
pmv_roce_scoreboard_init(struct pmv_roce_scoreboard *s)
{
	memset(s, 0, sizeof(*s));
}

void
pmv_roce_scoreboard_forget(struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn end)
{
	uint32_t nb = span(una, end);

	for (uint32_t k = 0; k < nb; k++)
		pmv_roce_scoreboard_mark(s, INDEX(pmv_psn_add(una, k)), PMV_ROCE_SCOREBOARD_OUT);
	s->newest = s->order - PMV_ROCE_SCOREBOARD_PSNS; /* nothing is older than that */
	s->gap = false;
}

static void
arrived(struct pmv_roce_scoreboard *s, uint32_t i)
{
	if ((int32_t)(s->psn[i].order - s->newest) > 0)
		s->newest = s->psn[i].order;
}

void
pmv_roce_scoreboard_acked(struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn psn)
{
	uint32_t nb = span(una, psn);

	for (uint32_t k = 0; k < nb; k++) {
		uint32_t i = INDEX(pmv_psn_add(una, k));

		arrived(s, i);
		pmv_roce_scoreboard_mark(s, i, PMV_ROCE_SCOREBOARD_OUT);
	}
}

uint32_t
pmv_roce_scoreboard_held(struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn end,
	const struct pmv_sack *sack)
{
	uint32_t nb = span(una, end);
	uint32_t before = s->nb_held;

	for (uint32_t k = 1; k < nb; k++) {
		uint32_t i = INDEX(pmv_psn_add(una, k));

		if (!pmv_sack_has(sack, k - 1) || s->psn[i].mark == PMV_ROCE_SCOREBOARD_HELD)
			continue;
		arrived(s, i);
		pmv_roce_scoreboard_mark(s, i, PMV_ROCE_SCOREBOARD_HELD);
		s->gap = true;
	}
	return s->nb_held - before;
}

uint32_t
pmv_roce_scoreboard_judge(
	struct pmv_roce_scoreboard *s, struct pmv_psn una, struct pmv_psn end, uint32_t late)
{
	uint32_t nb = span(una, end);

	s->gap = false;
	for (uint32_t k = 0; k < nb; k++) {
		uint32_t i = INDEX(pmv_psn_add(una, k));

		if (s->psn[i].mark == PMV_ROCE_SCOREBOARD_OUT &&
			(int32_t)(s->newest - s->psn[i].order) > (int32_t)late)
			pmv_roce_scoreboard_mark(s, i, PMV_ROCE_SCOREBOARD_LOST);
		s->gap = s->gap || s->psn[i].mark != PMV_ROCE_SCOREBOARD_OUT;
	}
	return s->nb_lost;
}

bool
pmv_roce_scoreboard_next(const struct pmv_roce_scoreboard *s, struct pmv_psn una,
	struct pmv_psn end, struct pmv_psn *ret_psn)
{
	uint32_t nb = s->nb_lost == 0 ? 0 : span(una, end);

	for (uint32_t k = 0; k < nb; k++) {
		struct pmv_psn psn = pmv_psn_add(una, k);

		if (s->psn[INDEX(psn)].mark != PMV_ROCE_SCOREBOARD_LOST)
			continue;
		*ret_psn = psn;
		return true;
	}
	return false;
}
