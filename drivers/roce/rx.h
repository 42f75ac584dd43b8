// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames that arrive: parsed, told apart, checked against the QP they name in the order that Linux
 * rxe uses, and given to responder, completer or datagram code; the rest to the control lcore,
 * another worker, or back to the application. Owner lcore. It knows nothing of sequence numbers.
 */
#ifndef PMV_ROCE_RX_H
#define PMV_ROCE_RX_H

#include "drivers/roce/worker.h"

/* The receiving operations of the driver contract. */
uint32_t pmv_roce_rx_poll(struct pmv_worker *w);
uint32_t pmv_roce_rx_input(
	struct pmv_worker *w, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign);
void pmv_roce_rx_frame(struct pmv_worker *w, struct rte_mbuf *m);

/* A frame that a fault rule held back, or a copy it made. Foreign frames are not the application's
 * any more: freed. */
void pmv_roce_rx_late(struct pmv_roce_worker *w, struct rte_mbuf *m);

/* Copies of what this worker's QPs sent to multicast groups, for those that want them. */
void pmv_roce_rx_looped(struct pmv_roce_worker *w);

#endif
