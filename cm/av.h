// SPDX-License-Identifier: BSD-3-Clause
/*
 * An address vector: what frames to one peer carry. A connection keeps one for its life, an answer
 * without a connection makes one from the frame it answers. Control lcore.
 */
#ifndef PMV_CM_AV_H
#define PMV_CM_AV_H

#include <stdint.h>

#include "cm/dev.h"

struct pmv_cm_av {
	struct pmv_cm_dev *dev; /* NULL: not set */
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint16_t sgid_index;
	uint16_t worker;     /* the frames leave through it if it is polled */
	uint32_t flow_label; /* of CM frames and of the QP: both directions use one UDP source port
			      */
	uint16_t udp_sport;  /* of CM frames */
	uint8_t tos;         /* traffic class byte */
	uint8_t dmac[6];     /* used when `entry` is NONE or has no MAC */
	uint32_t entry;      /* neighbour on which we hold a reference, PMV_CM_NEIGH_NONE */
};

/* The MAC to send to now. */
static inline const uint8_t *
pmv_cm_av_dmac(const struct pmv_cm_av *av)
{
	const struct pmv_cm_neigh_entry *e;

	if (av->entry == PMV_CM_NEIGH_NONE)
		return av->dmac;
	e = &av->dev->neigh.entries[av->entry];
	return e->has_mac ? e->mac : av->dmac;
}

#endif
