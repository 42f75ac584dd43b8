// SPDX-License-Identifier: BSD-3-Clause
/*
 * Counters by name: the worker's own (lib/lcore), then the driver's. Any thread reads them as a
 * snapshot.
 */
#include "lib/api/pmv_stats.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "lib/driver/pmv_driver.h"
#include "lib/lcore/mailbox.h"
#include "lib/lcore/owner.h"
#include "lib/util/assert.h"
#include "lib/util/log.h"

/* More than any worker has; only pmv_worker_stat() needs room of its own. */
#define STATS_MAX 256u

static const struct {
	const char *name;
	size_t offset;
} own_stats[] = {
#define STAT(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct pmv_lcore_counters, field)                                 \
	}
	STAT(commands),
	STAT(ctl_rx),
	STAT(ctl_rx_drop_full),
	STAT(ctl_rx_drop_no_cm),
	STAT(ctl_tx),
	STAT(handover_tx),
	STAT(handover_rx),
	STAT(handover_drop),
#undef STAT
};

static uint64_t
own_value(const struct pmv_worker *w, uint32_t i)
{
	const char *counters = (const char *)pmv_lcore_mailbox_counters(w);

	return __atomic_load_n(
		(const uint64_t *)(const void *)(counters + own_stats[i].offset), __ATOMIC_RELAXED);
}

uint32_t
pmv_worker_stats(const struct pmv_worker *w, struct pmv_stat *stats, uint32_t nb)
{
	const uint32_t nb_own = RTE_DIM(own_stats);
	uint32_t i;

	for (i = 0; i < nb_own && i < nb; i++)
		stats[i] = (struct pmv_stat){ own_stats[i].name, own_value(w, i) };
	if (w->ops->worker_stats == NULL)
		return nb_own;
	return nb_own + w->ops->worker_stats(w, nb > nb_own ? stats + nb_own : NULL,
				nb > nb_own ? nb - nb_own : 0);
}

uint64_t
pmv_worker_stat(const struct pmv_worker *w, const char *name)
{
	struct pmv_stat stats[STATS_MAX];
	uint32_t nb = RTE_MIN(pmv_worker_stats(w, stats, STATS_MAX), STATS_MAX);
	uint32_t i;

	for (i = 0; i < nb; i++)
		if (strcmp(stats[i].name, name) == 0)
			return stats[i].value;
	return 0;
}

int
pmv_qp_get_stats(const struct pmv_qp *qp, struct pmv_qp_stats *ret_stats)
{
	if (PMV_ANY_NULL("qp_get_stats", "qp ret_stats", qp, ret_stats))
		return -EINVAL;
	PMV_ASSERT(pmv_lcore_owner_may_act(qp->worker));
	memset(ret_stats, 0, sizeof(*ret_stats));
	qp->worker->ops->qp_stats(qp, ret_stats);
	return 0;
}
