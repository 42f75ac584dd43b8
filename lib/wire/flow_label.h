// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flow label and UDP source port: the entropy that spreads flows over paths and queues (RoCEv2
 * annex A17.9; the formulas are those of Linux's ib_verbs.h and cma.c, so that both ends of a
 * connection agree). Called when an address vector is set, not per packet. Pure; any thread.
 */
#ifndef PMV_WIRE_FLOW_LABEL_H
#define PMV_WIRE_FLOW_LABEL_H

#include <stdint.h>

#define PMV_FLOW_LABEL_MASK 0xfffffu
#define PMV_ROCE_SPORT_MIN  0xc000u

/* Folds a 20-bit flow label into a source port, 0xc000..0xffff. */
static inline uint16_t
pmv_flow_label_sport(uint32_t flow_label)
{
	return (uint16_t)(PMV_ROCE_SPORT_MIN |
			  ((flow_label & 0x3fff) ^ ((flow_label & 0xfc000) >> 14)));
}

/* The label of a connected QP whose address vector gives 0. Symmetric, so both directions hash
 * alike. */
static inline uint32_t
pmv_flow_label_from_qpns(uint32_t local_qpn, uint32_t remote_qpn)
{
	uint64_t v = (uint64_t)local_qpn * remote_qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	return (uint32_t)v & PMV_FLOW_LABEL_MASK;
}

/* The label that the active side's CM puts into the REQ; ports in host order. */
static inline uint32_t
pmv_flow_label_from_cm_ports(uint16_t src_port, uint16_t dst_port)
{
	return ((uint32_t)src_port * 31 + dst_port) & PMV_FLOW_LABEL_MASK;
}

#endif
