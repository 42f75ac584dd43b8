// SPDX-License-Identifier: BSD-3-Clause
/*
 * Answers that need no record: built from the message they answer alone, so that nothing a stranger
 * sends makes us remember anything. Called by cm/match and cm/request; control lcore.
 */
#ifndef PMV_CM_REPLY_H
#define PMV_CM_REPLY_H

#include "cm/av.h"
#include "cm/rx.h"

/* The way back to the sender of a frame: its addresses swapped; MAC from the next hops if they know
 * one, else the frame's source. */
void pmv_cm_reply_av(const struct pmv_cm_rx *rx, struct pmv_cm_av *ret_av);

/* REJ of a REQ. @param ari  ari_len bytes of additional information, or NULL. */
void pmv_cm_reply_rej(
	const struct pmv_cm_rx *rx, uint16_t reason, const uint8_t *ari, uint8_t ari_len);

/* DREP for a DREQ that no record knows: the peer wants to be rid of it. */
void pmv_cm_reply_drep(const struct pmv_cm_rx *rx);

/* SIDR_REP with an error status. */
void pmv_cm_reply_sidr(const struct pmv_cm_rx *rx, enum pmv_cm_sidr_status status);

#endif
