// SPDX-License-Identifier: BSD-3-Clause
/*
 * A device as the CM sees it: its control channel, a copy of its addresses, its neighbour cache.
 * Made by pmv_cm_add_device(), used by every file that sends or judges frames. Control lcore.
 */
#ifndef PMV_CM_DEV_H
#define PMV_CM_DEV_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "cm/neigh.h"
#include "lib/verbs/ctl_channel.h"

#define PMV_CM_NO_ADDR UINT16_MAX

struct pmv_cm_dev {
	struct pmv_cm *cm;
	struct pmv_device *device;
	struct pmv_ctl_channel *channel;
	struct pmv_verbs_ctl_facts facts; /* fetched again when addr_version changes */
	struct pmv_cm_neigh neigh;
	void *neigh_mem;
	bool neigh_resync; /* a change did not reach the next hops: tell them all again */
	uint32_t psn;      /* of QP1, counts up; nobody checks it */
	uint16_t ip_id;
	uint8_t announce_left; /* rounds of announcements still to send */
	uint64_t announce_due; /* ticks */
	uint64_t defended_at;  /* last announcement against a conflict */
	bool defended;
	uint64_t echo_refill_at; /* ticks */
	uint32_t echo_tokens;    /* replies that may be sent now */
};

/* @return 0; -EBUSY another CM has the device; -ENOMEM. */
int pmv_cm_dev_open(struct pmv_cm *cm, struct pmv_device *device, struct pmv_cm_dev **ret_dev);
/* No id may use it any more. */
void pmv_cm_dev_close(struct pmv_cm_dev *dev);

/* Once a turn: addresses that changed, announcements. */
void pmv_cm_dev_turn(struct pmv_cm_dev *dev);

/* GID index of an address of ours, PMV_CM_NO_ADDR. */
uint16_t pmv_cm_dev_addr_index(const struct pmv_cm_dev *dev, const uint8_t gid[16]);
/* The first address of the family, or a link-local one if `link_local`; PMV_CM_NO_ADDR. */
uint16_t pmv_cm_dev_addr_first(const struct pmv_cm_dev *dev, bool v4, bool link_local);

/* The device answers for its addresses itself, so the CM sends and answers ARP, ND and echo. */
static inline bool
pmv_cm_dev_is_own(const struct pmv_cm_dev *dev)
{
	return dev->facts.ownership == PMV_ADDR_OWN;
}

#endif
