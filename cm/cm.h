// SPDX-License-Identifier: BSD-3-Clause
/*
 * struct pmv_cm: what one control lcore owns. Included by every file of cm that is not pure; only
 * the thread that attached the CM touches it. The calls behind it (create, attach, devices) are in
 * cm.c, one turn is in loop.c.
 *
 * Time. Inside, time counts from the first turn: `now` stands still until then, so that what is
 * armed before the first turn counts from it, whatever clock the program uses. Calls between turns
 * take the time of the last turn, or read the TSC if the program polls without giving a time.
 */
#ifndef PMV_CM_CM_H
#define PMV_CM_CM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_cycles.h>

#include "cm/api/pmv_cm.h"
#include "cm/comm_id.h"
#include "cm/dup.h"
#include "cm/stats.h"
#include "lib/timer/wheel.h"
#include "lib/util/random.h"

#define PMV_CM_DEVS_MAX 16u

/* Work of one turn, so that a storm of connects cannot starve a worker that shares the lcore. */
#define PMV_CM_BUDGET_FRAMES 32u /* of each device */
#define PMV_CM_BUDGET_TIMERS 64u
#define PMV_CM_BUDGET_EVENTS 64u
#define PMV_CM_BUDGET_QPS    64u /* ids with a QP operation under way */
#define PMV_CM_BUDGET_EST    64u /* ids whose QP is asked for its first packet */

/* One bucket per 4 ports: lists stay short up to the 28,232 ephemeral ports. */
#define PMV_CM_PORT_BUCKETS 16384u

struct pmv_cm_dev;
struct pmv_cm_id;
struct pmv_cm_event_node;

TAILQ_HEAD(pmv_cm_id_list, pmv_cm_id);
TAILQ_HEAD(pmv_cm_event_list, pmv_cm_event_node);

/* Owner lcore throughout. */
struct pmv_cm {
	uint64_t now;          /* ticks; stands at one second until the first turn */
	uint64_t epoch;        /* the program's clock when that second began */
	uint64_t ticks_per_us; /* >= 1 */
	bool started;          /* there was a turn */
	bool own_clock;        /* the last turn read the TSC itself */
	uint32_t in_turn;      /* depth: a handler may poll */
	uint64_t owner;        /* thread id, 0 detached */
	int socket_id;

	uint32_t id_max;
	uint32_t nb_ids; /* the application's; records that linger do not count */
	struct pmv_cm_dev *devs[PMV_CM_DEVS_MAX];
	uint32_t nb_devs;

	struct pmv_random random;
	struct pmv_cm_comm_ids comm_ids; /* -> struct pmv_cm_id */
	struct pmv_cm_dup peer_ids;   /* (peer GUID, its comm ID) -> comm_ids index: duplicates */
	struct pmv_cm_dup peer_qpns;  /* (peer GUID, its QPN) -> the same: stale connections */
	void *tables;                 /* memory of the three */
	struct pmv_cm_id_list *ports; /* [PMV_CM_PORT_BUCKETS] ids by local port */

	struct pmv_cm_id_list ids;       /* the application's */
	struct pmv_cm_id_list lingering; /* destroyed, still answering; oldest first */
	struct pmv_cm_id_list dying;     /* nothing refers to them but perhaps events or QP work */
	struct pmv_cm_id_list qp_work;   /* ids with a QP operation under way */
	struct pmv_cm_id_list est_wait;  /* REP sent: the first packet counts as the RTU */
	struct pmv_cm_id_list mac_wait;  /* resolving: a MAC may come from the application too */
	struct pmv_cm_event_list events; /* to be delivered by the next turn */
	struct pmv_cm_event_list ring;   /* for pmv_cm_get_event() */

	uint64_t stat[PMV_CM_STAT_MAX];
	struct pmv_wheel wheel;
};

/* Ticks, never going back. */
static inline uint64_t
pmv_cm_clock(struct pmv_cm *cm)
{
	uint64_t t;

	if (cm->in_turn != 0 || !cm->started || !cm->own_clock)
		return cm->now;
	t = rte_rdtsc() - cm->epoch;
	if (t > cm->now)
		cm->now = t;
	return cm->now;
}

static inline void
pmv_cm_count(struct pmv_cm *cm, uint32_t stat)
{
	__atomic_store_n(&cm->stat[stat], cm->stat[stat] + 1, __ATOMIC_RELAXED);
}

/* The calling thread may use the CM: it attached it, or nobody did. */
bool pmv_cm_is_mine(const struct pmv_cm *cm);

/* The same for calls that refuse. @return 0; -EPERM, which was logged. */
int pmv_cm_owner_check(const struct pmv_cm *cm, const char *call);

#endif
