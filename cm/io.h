// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames of the control channels on their way in: everything is checked here before anybody
 * believes it (ICRC, P_Key, Q_Key, lengths, addresses, VLAN), one counter for each reason. Called
 * by cm/loop; control lcore.
 */
#ifndef PMV_CM_IO_H
#define PMV_CM_IO_H

#include "cm/dev.h"

/* Takes up to nb frames of the device. @return how many. */
uint32_t pmv_cm_io_turn(struct pmv_cm_dev *dev, uint32_t nb);

#endif
