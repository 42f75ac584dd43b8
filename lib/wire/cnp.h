// SPDX-License-Identifier: BSD-3-Clause
/*
 * Congestion notification packet (RoCEv2 annex A17.9.3): BTH with BECN set, then 16 reserved bytes
 * of 0, and no more. It goes to the source of a frame that was marked on its way, and names the QP
 * there that is to slow down. It has no PSN and is not answered. Worker lcores; pure.
 */
#ifndef PMV_WIRE_CNP_H
#define PMV_WIRE_CNP_H

#include <string.h>

#include "lib/wire/opcode.h"

#define PMV_CNP_RESERVED_LEN 16u
#define PMV_CNP_LEN          (PMV_BTH_LEN + PMV_CNP_RESERVED_LEN) /* without ICRC */

/* BTH and what follows, PMV_CNP_LEN bytes, as a ConnectX sends them: MigReq 0, PSN 0. */
static inline void
pmv_cnp_build(uint8_t *p, uint32_t dqpn)
{
	const struct pmv_bth bth = {
		.opcode = PMV_OPCODE_CNP, .becn = true, .pkey = PMV_PKEY_DEFAULT, .dqpn = dqpn
	};

	pmv_bth_build(p, &bth);
	memset(p + PMV_BTH_LEN, 0, PMV_CNP_RESERVED_LEN);
}

#endif
