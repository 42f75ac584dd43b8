// SPDX-License-Identifier: BSD-3-Clause
/*
 * Multicast: a frame to a group goes to every QP that is attached to it, here and on the other
 * workers of the device, and what we send ourselves to those that asked for it. Owner lcore; the
 * groups are lib/verbs', the lists of a worker's members its own.
 */
#ifndef PMV_ROCE_MCAST_H
#define PMV_ROCE_MCAST_H

#include "drivers/roce/qp.h"

/* The mcast_* operations of the driver contract. */
void pmv_roce_mcast_attach(struct pmv_qp *qp, struct pmv_mcast *m);
void pmv_roce_mcast_detach(struct pmv_qp *qp, struct pmv_mcast *m);

/* To this worker's members of p->group; own: a message of this device, for those that want such.
 * The caller keeps the mbuf. */
void pmv_roce_mcast_rx(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, bool own);

/* A copy to every other worker that has members. */
void pmv_roce_mcast_spread(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p);

/* A finished frame to a group is about to leave: copies for members that want our own messages.
 * This worker's wait for the end of the turn, see rx.h. l3: its IP header. */
void pmv_roce_mcast_loop(struct pmv_roce_worker *w, struct rte_mbuf *m, const uint8_t *l3);

#endif
