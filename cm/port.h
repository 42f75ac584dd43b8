// SPDX-License-Identifier: BSD-3-Clause
/*
 * Local ports. A bound port belongs to one id as far as its address reaches; a port picked for a
 * connection is unique per (source, destination, destination port) only, so 28,232 of them serve
 * each destination. Control lcore.
 */
#ifndef PMV_CM_PORT_H
#define PMV_CM_PORT_H

#include <stdint.h>

#include "cm/cm.h"

/* Linux's default range of ephemeral ports. */
#define PMV_CM_PORT_FIRST 32768u
#define PMV_CM_PORT_LAST  60999u

/* The ids under a port, for walks: TAILQ_FOREACH(id, list, port_link), compare ps and src_port. */
struct pmv_cm_id_list *pmv_cm_port_list(struct pmv_cm *cm, uint16_t port);

/* Takes `port` (0: one is chosen) for a bound id; src, v4, src_any and ps are set.
 * who: call and argument, for the log. @return 0; -EADDRINUSE. */
int pmv_cm_port_bind(struct pmv_cm_id *id, uint16_t port, const char *who);

/* Picks a port for a connection; src, dst and dst_port are set. @return 0; -EADDRINUSE none free.
 */
int pmv_cm_port_pick(struct pmv_cm_id *id);

/* Gives the port back; nothing happens if there is none. */
void pmv_cm_port_drop(struct pmv_cm_id *id);

#endif
