// SPDX-License-Identifier: BSD-3-Clause
/*
 * Fault injection: checks of the rules; the driver applies them. The worker's owner, or any one
 * thread while detached.
 */
#include "lib/api/pmv_fault.h"

#include <errno.h>
#include <string.h>

#include "lib/driver/pmv_driver.h"
#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"

#define DELAY_US_MAX 10000000u

static const char *
rule_problem(const struct pmv_fault_rule *r)
{
	if ((unsigned int)r->action > PMV_FAULT_DELAY)
		return "action is not an enum pmv_fault_action";
	if (r->dirs == 0 || (r->dirs & ~(uint32_t)(PMV_FAULT_RX | PMV_FAULT_TX)))
		return "dirs is not RX, TX or both";
	/* Written so that a NaN is refused, too. */
	if (r->mask == 0 && !(r->probability >= 0 && r->probability <= 1))
		return "probability is not 0..1";
	if (r->opcode < -1 || r->opcode > 255)
		return "opcode is not -1..255";
	if (r->qpn < -1 || r->qpn > 0xffffff)
		return "qpn is not -1 or 24 bits";
	if (r->cm_attr < -1 || r->cm_attr > 0xffff)
		return "cm_attr is not -1 or 16 bits";
	if (r->action == PMV_FAULT_DELAY && (r->delay_us == 0 || r->delay_us > DELAY_US_MAX))
		return "delay_us is not 1..10,000,000";
	return NULL;
}

/* Enters as the owner; the errno is the caller's answer. */
static int
enter(struct pmv_worker *w, const char *who)
{
	int rc = pmv_lcore_mailbox_enter(w);

	if (rc < 0)
		return pmv_log_refuse(rc, "%s: another thread owns worker %u", who, w->index);
	return 0;
}

int
pmv_fault_add(struct pmv_worker *w, const struct pmv_fault_rule *rule, uint64_t seed)
{
	const char *problem;
	uint32_t mark;
	int rc;

	if (PMV_ANY_NULL("fault_add", "worker rule", w, rule))
		return -EINVAL;
	problem = rule_problem(rule);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "fault_add: %s", problem);
	rc = enter(w, "fault_add");
	if (rc < 0)
		return rc;
	mark = pmv_log_nb_errors;
	rc = w->ops->fault_add(w, rule, seed);
	pmv_lcore_mailbox_leave(w);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "fault_add: rule: %s",
			rc == -ENOSPC ? "worker has all the rules it can" : strerror(-rc));
	return 0;
}

int
pmv_fault_clear(struct pmv_worker *w)
{
	uint32_t mark;
	int rc;

	if (PMV_ANY_NULL("fault_clear", "worker", w))
		return -EINVAL;
	rc = enter(w, "fault_clear");
	if (rc < 0)
		return rc;
	mark = pmv_log_nb_errors;
	rc = w->ops->fault_clear(w);
	pmv_lcore_mailbox_leave(w);
	return rc < 0 ? pmv_log_refuse_since(mark, rc, "fault_clear: %s", strerror(-rc)) : 0;
}

int
pmv_fault_query(struct pmv_worker *w, struct pmv_fault_counts *ret_counts)
{
	uint32_t mark;
	int rc;

	if (PMV_ANY_NULL("fault_query", "worker ret_counts", w, ret_counts))
		return -EINVAL;
	rc = enter(w, "fault_query");
	if (rc < 0)
		return rc;
	mark = pmv_log_nb_errors;
	rc = w->ops->fault_query(w, ret_counts);
	pmv_lcore_mailbox_leave(w);
	return rc < 0 ? pmv_log_refuse_since(mark, rc, "fault_query: %s", strerror(-rc)) : 0;
}
