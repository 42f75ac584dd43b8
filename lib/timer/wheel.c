// SPDX-License-Identifier: BSD-3-Clause
/*
 * The timing wheel's moves. Runs on the lcore that owns the wheel; every call is bounded; pure.
 *
 * Wheel time counts steps of 2^shift clock ticks. A timer whose step is T stands on the level of
 * the highest 6-bit digit in which T differs from cur, in the slot of T's digit there. So, on every
 * level, all timers share cur's higher digits and have a greater digit than cur: the lowest used
 * level holds the next event, and its lowest used slot is that event. When cur reaches the start of
 * an upper slot, its timers are placed again, lower. This invariant survives any step of cur that
 * does not pass a used slot's start, which is why empty time is crossed in one assignment.
 */
#include "lib/timer/wheel.h"

#include "lib/util/assert.h"

#define SLOT_MASK (PMV_WHEEL_NB_SLOTS - 1)
#define SLOT_DUE  UINT16_MAX /* pmv_timer.slot of a timer in the due list */

static void
list_init(struct pmv_timer_link *head)
{
	head->next = head;
	head->prev = head;
}

static bool
list_is_empty(const struct pmv_timer_link *head)
{
	return head->next == head;
}

static void
list_append(struct pmv_timer_link *head, struct pmv_timer_link *l)
{
	l->next = head;
	l->prev = head->prev;
	head->prev->next = l;
	head->prev = l;
}

static void
list_remove(struct pmv_timer_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->next = NULL;
	l->prev = NULL;
}

/* Appends everything in from to to; from is empty afterwards. */
static void
list_splice(struct pmv_timer_link *to, struct pmv_timer_link *from)
{
	if (list_is_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

static struct pmv_timer *
timer_of(struct pmv_timer_link *l)
{
	_Static_assert(offsetof(struct pmv_timer, link) == 0, "the link is a timer's first member");
	return (struct pmv_timer *)l;
}

/* The first step at which nothing with this deadline can be early. Never overflows: shift 0 leaves
 * no remainder. */
static uint64_t
step_of(const struct pmv_wheel *w, uint64_t deadline)
{
	uint64_t rest = deadline & ((UINT64_C(1) << w->shift) - 1);

	return (deadline >> w->shift) + (rest != 0);
}

static uint32_t
digit_of(uint64_t step, uint32_t level)
{
	return (uint32_t)(step >> (level * PMV_WHEEL_SLOT_BITS)) & SLOT_MASK;
}

/* Where a deadline belongs now. */
static uint16_t
slot_of(const struct pmv_wheel *w, uint64_t deadline)
{
	uint64_t step = step_of(w, deadline);
	uint32_t level;

	if (step <= w->cur)
		return SLOT_DUE;
	level = (63u - (uint32_t)__builtin_clzll(step ^ w->cur)) / PMV_WHEEL_SLOT_BITS;
	return (uint16_t)(level * PMV_WHEEL_NB_SLOTS + digit_of(step, level));
}

static void
timer_place(struct pmv_wheel *w, struct pmv_timer *t, uint16_t slot)
{
	t->slot = slot;
	if (slot == SLOT_DUE) {
		list_append(&w->due, &t->link);
		return;
	}
	list_append(&w->slot[slot], &t->link);
	w->used[slot / PMV_WHEEL_NB_SLOTS] |= UINT64_C(1) << (slot & SLOT_MASK);
}

/*
 * A timer in the cascade list still bears its old slot; looking at that slot's list (empty or not,
 * it tells the truth) makes the bitmap right in every case.
 */
static void
timer_take(struct pmv_wheel *w, struct pmv_timer *t)
{
	uint16_t slot = t->slot;

	list_remove(&t->link);
	if (slot != SLOT_DUE && list_is_empty(&w->slot[slot]))
		w->used[slot / PMV_WHEEL_NB_SLOTS] &= ~(UINT64_C(1) << (slot & SLOT_MASK));
}

void
pmv_wheel_init(struct pmv_wheel *w, uint64_t now, uint64_t resolution_ticks)
{
	PMV_ASSERT(resolution_ticks > 0);
	w->shift = 63u - (uint32_t)__builtin_clzll(resolution_ticks);
	w->cur = now >> w->shift;
	w->nb_armed = 0;
	list_init(&w->due);
	list_init(&w->cascade);
	for (uint32_t level = 0; level < PMV_WHEEL_NB_LEVELS; level++)
		w->used[level] = 0;
	for (uint32_t i = 0; i < PMV_WHEEL_NB_LEVELS * PMV_WHEEL_NB_SLOTS; i++)
		list_init(&w->slot[i]);
}

void
pmv_wheel_arm(struct pmv_wheel *w, struct pmv_timer *t, uint64_t deadline)
{
	uint16_t slot = slot_of(w, deadline);

	t->deadline = deadline;
	if (pmv_timer_is_armed(t)) {
		/* Also right in the cascade list: its timers' old slot is the one slot_of cannot
		 * give now. */
		if (t->slot == slot)
			return;
		timer_take(w, t);
	} else {
		w->nb_armed++;
	}
	timer_place(w, t, slot);
}

void
pmv_wheel_disarm(struct pmv_wheel *w, struct pmv_timer *t)
{
	if (!pmv_timer_is_armed(t))
		return;
	timer_take(w, t);
	w->nb_armed--;
}

/*
 * The next event's step and slot; false if no slot is used. On each level only digits above cur's
 * are used, so the lowest set bit of the lowest used level comes first.
 */
static bool
event_find(const struct pmv_wheel *w, uint64_t *ret_step, uint16_t *ret_slot)
{
	for (uint32_t level = 0; level < PMV_WHEEL_NB_LEVELS; level++) {
		uint32_t bits = level * PMV_WHEEL_SLOT_BITS;
		uint32_t digit;
		uint64_t upper;

		if (w->used[level] == 0)
			continue;
		digit = (uint32_t)__builtin_ctzll(w->used[level]);
		/* cur's digits above this level; the top level has none. */
		upper = bits + PMV_WHEEL_SLOT_BITS >= 64
				? 0
				: w->cur >> (bits + PMV_WHEEL_SLOT_BITS)
						    << (bits + PMV_WHEEL_SLOT_BITS);
		*ret_step = upper | (uint64_t)digit << bits;
		*ret_slot = (uint16_t)(level * PMV_WHEEL_NB_SLOTS + digit);
		return true;
	}
	return false;
}

/* Moves cur to the next event, or to target if that comes first. False: target reached, nothing new
 * to do. */
static bool
wheel_step(struct pmv_wheel *w, uint64_t target)
{
	uint64_t step;
	uint16_t slot;

	if (!event_find(w, &step, &slot) || step > target) {
		if (target > w->cur)
			w->cur = target;
		return false;
	}
	w->cur = step;
	w->used[slot / PMV_WHEEL_NB_SLOTS] &= ~(UINT64_C(1) << (slot & SLOT_MASK));
	/* Level 0 is due too, but goes the same way: its timers must learn that they are in the due
	 * list. */
	list_splice(&w->cascade, &w->slot[slot]);
	return true;
}

/* Places timers of the cascade list again; returns what is left of the budget. */
static uint32_t
cascade_drain(struct pmv_wheel *w, uint32_t budget)
{
	for (; budget > 0 && !list_is_empty(&w->cascade); budget--) {
		struct pmv_timer *t = timer_of(w->cascade.next);

		list_remove(&t->link);
		timer_place(w, t, slot_of(w, t->deadline));
	}
	return budget;
}

static uint32_t
due_drain(struct pmv_wheel *w, uint32_t max_expired, pmv_timer_cb cb, void *arg)
{
	uint32_t n = 0;

	for (; n < max_expired && !list_is_empty(&w->due); n++) {
		struct pmv_timer *t = timer_of(w->due.next);

		list_remove(&t->link);
		w->nb_armed--;
		cb(t, arg);
	}
	return n;
}

uint32_t
pmv_wheel_advance(
	struct pmv_wheel *w, uint64_t now, uint32_t max_expired, pmv_timer_cb cb, void *arg)
{
	uint64_t target = now >> w->shift;
	uint32_t budget = max_expired + PMV_WHEEL_CASCADE_MAX;
	uint32_t n = 0;

	/* most turns begin within the step of the one before */
	if (target <= w->cur && list_is_empty(&w->due) && list_is_empty(&w->cascade))
		return 0;
	do {
		budget = cascade_drain(w, budget);
		n += due_drain(w, max_expired - n, cb, arg);
		/* cur must not move on while timers wait to be placed relative to it. */
		if (!list_is_empty(&w->cascade) || !list_is_empty(&w->due))
			break;
	} while (wheel_step(w, target));
	return n;
}

uint64_t
pmv_wheel_next(const struct pmv_wheel *w)
{
	uint64_t step;
	uint16_t slot;

	if (!list_is_empty(&w->due) || !list_is_empty(&w->cascade))
		return w->cur << w->shift;
	/* A deadline in the clock's last step rounds up past its end. */
	if (!event_find(w, &step, &slot) || step > UINT64_MAX >> w->shift)
		return PMV_WHEEL_NEVER;
	return step << w->shift;
}
