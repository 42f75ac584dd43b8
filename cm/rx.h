// SPDX-License-Identifier: BSD-3-Clause
/*
 * A CM message as it came in: the datagram's addresses and the unpacked message. Made by cm/io from
 * a frame that passed all checks, read by cm/match, cm/request and cm/reply within the same call.
 */
#ifndef PMV_CM_RX_H
#define PMV_CM_RX_H

#include <stdint.h>

#include "cm/dev.h"
#include "cm/msg.h"
#include "lib/wire/eth_ip.h"

struct pmv_cm_rx {
	struct pmv_cm_dev *dev;
	const uint8_t *src_mac;      /* inside the frame */
	const struct pmv_eth_ip *ip; /* source and destination, ports, traffic class */
	struct pmv_cm_msg msg;       /* private data: a view into the frame */
	uint16_t worker;             /* the frame came in through it */
};

#endif
