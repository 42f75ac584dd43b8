// SPDX-License-Identifier: BSD-3-Clause
/*
 * The virtual wire of programs that are both ends: two net_ring ports, what one sends the other
 * receives. Called by main before and after the run; in between only the two ports' drivers touch
 * it.
 */
#ifndef PMV_APPS_COMMON_WIRE_H
#define PMV_APPS_COMMON_WIRE_H

#include <stdint.h>

struct rte_ring;

enum { PMV_APP_WIRE_SERVER, PMV_APP_WIRE_CLIENT, PMV_APP_WIRE_ENDS };

struct pmv_app_wire {
	struct rte_ring *to[PMV_APP_WIRE_ENDS]; /* frames on their way to that end */
	char port[PMV_APP_WIRE_ENDS][8];        /* number of its ethdev port, as text for --port */
};

/* @return 0; a negative errno after it has said why. */
int pmv_app_wire_open(struct pmv_app_wire *ret_wire);
/* Frees the frames that are still on the wire; before the ports and their pools go. */
void pmv_app_wire_drain(struct pmv_app_wire *wire);
/* After the ports are closed. Legal on a zeroed wire. */
void pmv_app_wire_close(struct pmv_app_wire *wire);

#endif
