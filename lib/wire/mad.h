// SPDX-License-Identifier: BSD-3-Clause
/*
 * Management datagrams on QP1 (IBTA vol. 1, 13.4 and, for the packet, 9.8): the common MAD header,
 * and whole frames Ethernet .. ICRC around a 256-byte MAD. Called by cm and by lib/verbs' control
 * channel (control lcore) and by tests; not a hot path. It knows no CM message: those are 232 bytes
 * of data here. Pure.
 */
#ifndef PMV_WIRE_MAD_H
#define PMV_WIRE_MAD_H

#include <stdint.h>

#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/opcode.h"

#define PMV_MAD_LEN                                                                                \
	256 /* always; Linux drops a longer one and reads stale bytes of a shorter one */
#define PMV_MAD_HDR_LEN  24
#define PMV_MAD_DATA_LEN (PMV_MAD_LEN - PMV_MAD_HDR_LEN)

#define PMV_MAD_QKEY                 0x80010000u /* Q_Key of QP1 */
#define PMV_MAD_BASE_VERSION         1
#define PMV_MAD_CLASS_SA             0x03
#define PMV_MAD_CLASS_CM             0x07
#define PMV_MAD_CM_VERSION           2
#define PMV_MAD_METHOD_GET           0x01
#define PMV_MAD_METHOD_SEND          0x03
#define PMV_MAD_METHOD_RESP          0x80 /* the R bit */
#define PMV_MAD_ATTR_CLASS_PORT_INFO 0x0001

/* BTH .. ICRC of a QP1 frame, and the longest frame: 322 bytes IPv4 untagged .. 346 IPv6 tagged. */
#define PMV_MAD_ROCE_LEN  (PMV_BTH_LEN + PMV_DETH_LEN + PMV_MAD_LEN + PMV_ICRC_LEN)
#define PMV_MAD_FRAME_MAX (PMV_ETH_IP_LEN_MAX + PMV_MAD_ROCE_LEN)

struct pmv_mad_hdr {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method; /* with the R bit */
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid; /* host order; answers copy it */
	uint16_t attr_id;
	uint32_t attr_mod;
};

/* The 24 bytes at p. The reserved half-word is ignored by parse and written 0 by build. */
void pmv_mad_hdr_parse(const uint8_t *p, struct pmv_mad_hdr *ret);
void pmv_mad_hdr_build(uint8_t *p, const struct pmv_mad_hdr *h);

/* Where a MAD goes. */
struct pmv_mad_frame_param {
	struct pmv_eth_ip_param ip; /* ip.udp_sport etc. as for any template */
	uint16_t ip_id;
	uint16_t pkey; /* PMV_PKEY_DEFAULT */
	uint32_t dqpn; /* PMV_QPN_GSI */
	uint32_t sqpn; /* PMV_QPN_GSI */
	struct pmv_psn psn;
};

/*
 * Writes the whole frame around mad (PMV_MAD_LEN bytes) to dst: UD SEND_ONLY, M 1, AckReq 0, Q_Key
 * of QP1, ICRC last. Returns the frame's length (without FCS; always above the Ethernet minimum);
 * -EINVAL: GIDs of two families; -ENOSPC: room too small (PMV_MAD_FRAME_MAX always suffices).
 */
int pmv_mad_frame_build(
	uint8_t *dst, uint32_t room, const struct pmv_mad_frame_param *p, const uint8_t *mad);

struct pmv_mad_view {
	struct pmv_eth_ip ip;
	struct pmv_roce_view roce;
	struct pmv_deth deth;
	struct pmv_mad_hdr hdr;
	const uint8_t *mad; /* PMV_MAD_LEN bytes inside the frame */
};

/*
 * Parses a contiguous frame of len bytes that should be a QP1 MAD, checking everything down to the
 * base version, UDP checksum and ICRC included. Class, class version and method are the reader's
 * business. Destination address and VLAN too.
 */
enum pmv_wire_verdict pmv_mad_frame_parse(
	const uint8_t *frame, uint32_t len, struct pmv_mad_view *ret);

#endif
