// SPDX-License-Identifier: BSD-3-Clause
/*
 * Retry schedule of CM requests (IBTA vol. 1, 12.9.8; the back-off is ours). Called through
 * cm/retry.h on the control lcore. Pure. It owns no timer and sends nothing.
 */
#include "cm/retry.h"

#include "cm/limits.h"

struct pmv_cm_retry_rule
pmv_cm_retry_rule_default(uint64_t ticks_per_us)
{
	return (struct pmv_cm_retry_rule){
		.interval_ticks = pmv_cm_timeout_us(PMV_CM_RESPONSE_TIMEOUT_CODE) * ticks_per_us,
		.interval_max_ticks = PMV_CM_RETRY_INTERVAL_MAX_US * ticks_per_us,
		.nb_equal = PMV_CM_RETRY_EQUAL,
		.nb_retries = PMV_CM_RETRIES,
	};
}

struct pmv_cm_retry_rule
pmv_cm_retry_rule_equal(uint8_t timeout_code, uint8_t nb_retries, uint64_t ticks_per_us)
{
	return (struct pmv_cm_retry_rule){
		.interval_ticks = pmv_cm_timeout_us(timeout_code) * ticks_per_us,
		.nb_retries = nb_retries,
	};
}

/* The wait after the nb_sent-th send. */
static uint64_t
wait_ticks(const struct pmv_cm_retry *r)
{
	const struct pmv_cm_retry_rule *rule = &r->rule;
	uint64_t wait = rule->interval_ticks;
	uint32_t i;

	for (i = rule->nb_equal; i < r->nb_sent && wait < rule->interval_max_ticks; i++)
		wait *= 2;
	if (wait > rule->interval_max_ticks && wait > rule->interval_ticks)
		wait = rule->interval_max_ticks;
	return wait;
}

void
pmv_cm_retry_start(struct pmv_cm_retry *r, const struct pmv_cm_retry_rule *rule, uint64_t now)
{
	r->rule = *rule;
	r->nb_sent = 1;
	r->extended = false;
	r->deadline = now + wait_ticks(r);
}

bool
pmv_cm_retry_left(const struct pmv_cm_retry *r)
{
	return r->nb_sent <= r->rule.nb_retries;
}

void
pmv_cm_retry_next(struct pmv_cm_retry *r, uint64_t now)
{
	r->nb_sent++;
	r->extended = false;
	r->deadline = now + wait_ticks(r);
}

void
pmv_cm_retry_extend(
	struct pmv_cm_retry *r, uint8_t service_timeout_code, uint64_t ticks_per_us, uint64_t now)
{
	uint64_t deadline;

	if (r->extended)
		return;
	if (service_timeout_code > PMV_CM_MRA_WAIT_CODE_MAX)
		service_timeout_code = PMV_CM_MRA_WAIT_CODE_MAX;
	deadline = now + pmv_cm_timeout_us(service_timeout_code) * ticks_per_us +
		   r->rule.interval_ticks;
	r->extended = true;
	if (deadline > r->deadline)
		r->deadline = deadline;
}
