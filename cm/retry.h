// SPDX-License-Identifier: BSD-3-Clause
/*
 * The schedule of one retried message (REQ, REP, DREQ): when is it sent again, when is it given up,
 * what does an MRA change.
 *
 * Called by cm/conn around its timer, control lcore. Pure: `now` and all times are ticks of the
 * caller's clock. Does not own a timer: the caller arms one for `deadline`. Values come from
 * cm/limits.h.
 */
#ifndef PMV_CM_RETRY_H
#define PMV_CM_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct pmv_cm_retry_rule {
	uint64_t interval_ticks;     /* first wait, >= 1 */
	uint64_t interval_max_ticks; /* ceiling of the back-off; <= interval_ticks: all intervals
					are equal */
	uint8_t nb_equal;            /* waits of interval_ticks before the first doubling */
	uint8_t nb_retries;          /* sends after the first one */
};

struct pmv_cm_retry {
	struct pmv_cm_retry_rule rule;
	uint64_t deadline; /* end of the running wait */
	uint8_t nb_sent;   /* sends so far, 1..nb_retries + 1 */
	bool extended;     /* an MRA has lengthened the running wait */
};

/* The default rule (PMV_CM_RESPONSE_TIMEOUT_CODE, PMV_CM_RETRIES, with back-off). */
struct pmv_cm_retry_rule pmv_cm_retry_rule_default(uint64_t ticks_per_us);

/* Equal intervals of a given code: an id's own timers, or a REP (REQ's local response timeout and
 * max CM retries). */
struct pmv_cm_retry_rule pmv_cm_retry_rule_equal(
	uint8_t timeout_code, uint8_t nb_retries, uint64_t ticks_per_us);

/* The message was sent for the first time. */
void pmv_cm_retry_start(struct pmv_cm_retry *r, const struct pmv_cm_retry_rule *rule, uint64_t now);

/*
 * The deadline is reached. @return true: input RETRY (then pmv_cm_retry_next() in its REARM_RETRY
 * action); false: input EXHAUSTED. Ask only when now >= deadline.
 */
bool pmv_cm_retry_left(const struct pmv_cm_retry *r);

/* The message was sent once more; the next wait starts. */
void pmv_cm_retry_next(struct pmv_cm_retry *r, uint64_t now);

/*
 * MRA: the running wait ends the peer's service timeout plus one interval from now, unless it was
 * extended already or would end later anyway. Codes above PMV_CM_MRA_WAIT_CODE_MAX count as that.
 */
void pmv_cm_retry_extend(
	struct pmv_cm_retry *r, uint8_t service_timeout_code, uint64_t ticks_per_us, uint64_t now);

#endif
