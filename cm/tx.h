// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames of the CM on their way out. Every send builds a new frame in a fresh buffer, so a
 * retransmission never rewrites one that a port still owns. Called by conn, reply and lan; control
 * lcore. A frame that cannot be sent is counted and counts as lost on the wire: the retry timers
 * see to it.
 */
#ifndef PMV_CM_TX_H
#define PMV_CM_TX_H

#include "cm/av.h"
#include "cm/msg.h"

/* Sends a MAD that is already packed. */
void pmv_cm_tx_mad(const struct pmv_cm_av *av, const uint8_t mad[PMV_MAD_LEN]);
/* Packs and sends a message; *kept (may be NULL) gets the 256 bytes. */
void pmv_cm_tx_msg(const struct pmv_cm_av *av, const struct pmv_cm_msg *msg, uint8_t *kept);
/* Sends a whole frame (ARP, ND, ICMP) of up to PMV_VERBS_CTL_FRAME_BYTES. @return false: dropped.
 */
bool pmv_cm_tx_frame(struct pmv_cm_dev *dev, uint16_t worker, const uint8_t *frame, uint32_t len);

#endif
