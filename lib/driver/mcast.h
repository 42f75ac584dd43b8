/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract's part about multicast: groups of a device and the queue pairs in them. lib/verbs
 * makes them, a driver reads them on its data path.
 */
#ifndef PMV_DRIVER_MCAST_H
#define PMV_DRIVER_MCAST_H

#include <stdint.h>
#include <sys/queue.h>

#include "lib/api/pmv.h"

#define PMV_MCAST_GROUPS_MAX 64u

/* A QP in a group. Made and freed by lib/verbs. */
struct pmv_mcast {
	struct pmv_qp *qp;
	struct pmv_mcast_group *group;
	uint32_t flags;               /* enum pmv_mcast_flags; owner lcore */
	LIST_ENTRY(pmv_mcast) of_qp;  /* qp->mcasts; under device->lock */
	LIST_ENTRY(pmv_mcast) member; /* group->members; owner lcore */
};

/* A multicast group that QPs are attached to. The slots stay, so workers read them without a lock.
 */
struct pmv_mcast_group {
	union pmv_gid gid;     /* zero = free; written under device->lock, in two halves */
	uint32_t workers;      /* a bit per worker with members; atomic; driver */
	uint32_t loop_workers; /* with members that want our own messages; atomic; driver */
	uint32_t nb_qps;       /* under device->lock */
	LIST_HEAD(, pmv_mcast) members[PMV_WORKERS_MAX]; /* each its worker's owner's */
};

enum pmv_mcast_filter {
	PMV_MCAST_FILTER_NONE, /* we did nothing */
	PMV_MCAST_FILTER_LIST,
	PMV_MCAST_FILTER_ALL, /* all multicast, because of us */
	PMV_MCAST_FILTER_PROMISCUOUS,
};

struct pmv_mcast_table {
	enum pmv_mcast_filter filter; /* under device->lock */
	uint32_t nb;                  /* slots ever used: grows only; atomic */
	struct pmv_mcast_group group[PMV_MCAST_GROUPS_MAX];
};

#endif
