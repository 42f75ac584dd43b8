// SPDX-License-Identifier: BSD-3-Clause
/*
 * Timing wheel: one per lcore, used only by that lcore. The owner embeds struct pmv_timer in its
 * object, arms it with an absolute deadline in ticks of whatever clock it uses, and once per turn
 * calls pmv_wheel_advance with `now`. Never reads a clock, never allocates.
 *
 * Eleven levels of 64 slots cover the whole 64-bit clock; a bitmap per level finds the next used
 * slot at once, so a jump of `now` (a suspended process, a debugger) costs what the timers in it
 * cost, not the distance. Arm and disarm are O(1); a timer moves down a level at most ten times in
 * its life.
 *
 * A timer never expires before its deadline and at most one resolution step after it (given enough
 * budget). Timers within one step expire in no promised order. Retransmission timers should be
 * lazy: keep the true deadline in the object, leave the timer alone when an ACK moves it later, and
 * re-arm when it expires early; then an ACK never touches the wheel.
 */
#ifndef PMV_TIMER_WHEEL_H
#define PMV_TIMER_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMV_WHEEL_SLOT_BITS 6
#define PMV_WHEEL_NB_SLOTS  (1u << PMV_WHEEL_SLOT_BITS)
#define PMV_WHEEL_NB_LEVELS 11 /* 66 bits: any uint64_t */
#define PMV_WHEEL_NEVER     UINT64_MAX
/* Timers moved down a level per advance call, besides those that expire: the bound on one turn's
 * work. */
#define PMV_WHEEL_CASCADE_MAX 64

struct pmv_timer_link {
	struct pmv_timer_link *next;
	struct pmv_timer_link *prev;
};

/* 32 bytes. Zeroed memory is a valid disarmed timer. */
struct pmv_timer {
	struct pmv_timer_link link; /* next NULL = disarmed. Writer: the wheel */
	uint64_t deadline;          /* clock ticks; as given to arm. Writer: the wheel */
	uint16_t slot;              /* where the wheel keeps it. Writer: the wheel */
	uint16_t
		tag; /* the owner's: which kind of object embeds it, or which of its timers it is */
	uint32_t cookie; /* the owner's */
};

struct pmv_wheel {
	uint64_t cur;   /* wheel time, in steps: everything up to it was taken off the slots */
	uint32_t shift; /* a step is 2^shift clock ticks */
	uint32_t nb_armed;
	uint64_t used[PMV_WHEEL_NB_LEVELS]; /* bit s: slot s of the level holds a timer */
	struct pmv_timer_link due;          /* expired, not yet handed out */
	struct pmv_timer_link cascade;      /* taken from an upper slot, not yet placed again */
	struct pmv_timer_link slot[PMV_WHEEL_NB_LEVELS * PMV_WHEEL_NB_SLOTS];
};

/* Called for each expired timer, which is disarmed by then: it may be armed again, freed, and
 * others armed or disarmed. */
typedef void (*pmv_timer_cb)(struct pmv_timer *t, void *arg);

/*
 * An empty wheel that starts at `now`. resolution_ticks (> 0) is rounded down to a power of two so
 * that no turn divides. The wheel must not move in memory afterwards.
 */
void pmv_wheel_init(struct pmv_wheel *w, uint64_t now, uint64_t resolution_ticks);

/* Sets the timer's owner fields and marks it disarmed. */
static inline void
pmv_timer_init(struct pmv_timer *t, uint16_t tag, uint32_t cookie)
{
	*t = (struct pmv_timer){ .tag = tag, .cookie = cookie };
}

static inline bool
pmv_timer_is_armed(const struct pmv_timer *t)
{
	return t->link.next != NULL;
}

/* Arms t for deadline (absolute), or moves it there if it is armed. A deadline in the past expires
 * at the next advance. */
void pmv_wheel_arm(struct pmv_wheel *w, struct pmv_timer *t, uint64_t deadline);

/* Disarms t; nothing happens if it is not armed. After it returns, the callback will not see t. */
void pmv_wheel_disarm(struct pmv_wheel *w, struct pmv_timer *t);

/*
 * Hands out timers whose deadline is <= now, at most max_expired, to cb(t, arg). Returns how many.
 * Work is bounded by max_expired + PMV_WHEEL_CASCADE_MAX list operations; what is left over stays
 * due for the next call. A `now` before the last one is taken as the last one. cb must not call
 * pmv_wheel_advance.
 */
uint32_t pmv_wheel_advance(
	struct pmv_wheel *w, uint64_t now, uint32_t max_expired, pmv_timer_cb cb, void *arg);

/*
 * A time, in clock ticks, before which advance has nothing to hand out (a lower bound of the next
 * deadline, exact within a step for deadlines near); the current time if something is due;
 * PMV_WHEEL_NEVER if nothing is armed. For simulators and for workers that may sleep.
 */
uint64_t pmv_wheel_next(const struct pmv_wheel *w);

#endif
