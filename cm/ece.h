// SPDX-License-Identifier: BSD-3-Clause
/*
 * Enhanced connection establishment (IBTA vol. 1 12.6: a vendor id in REQ
 * and REP, options in the attribute modifier): which options two ends have in common. The rule in
 * one place: nothing is switched on that this device cannot do, that our message did not say, or
 * that the peer's message did not say, whatever a peer claims.
 *
 * Called by cm/connect, cm/qp_bridge and cm/event on the control lcore. Bytes are cm/msg's; what an
 * option does is the driver's.
 */
#ifndef PMV_CM_ECE_H
#define PMV_CM_ECE_H

#include <stdbool.h>

#include "lib/api/pmv_types.h"

/* Options of both, under the vendor that both name; all zero if there are none. Bits of another
 * vendor cannot be told apart, so two of the same foreign vendor are intersected all the same: the
 * result is for a device, and a device knows its own vendor only. */
struct pmv_ece pmv_cm_ece_common(struct pmv_ece a, struct pmv_ece b);

/* What a message may say: nothing at all, or a vendor of 24 bits, with or without options. */
bool pmv_cm_ece_ok(struct pmv_ece ece);

#endif
