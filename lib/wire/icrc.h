// SPDX-License-Identifier: BSD-3-Clause
/*
 * Invariant CRC of a RoCEv2 packet (IBTA vol. 1, 7.8.1; RoCEv2 annex A17.3.3): CRC-32 over eight
 * bytes 0xff, then the packet from the IP header on with the fields that routers may change set to
 * ones. Incremental, so a payload may lie in any number of pieces: start over the headers, update
 * per piece, then store or check. The state is the raw register (no final complement). Called by
 * drivers/roce (worker lcores, per packet) and by cm's frame builder. Pure.
 */
#ifndef PMV_WIRE_ICRC_H
#define PMV_WIRE_ICRC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PMV_ICRC_SEED    0xdebb20e3u /* register after eight bytes 0xff */
#define PMV_ICRC_RESIDUE 0xdebb20e3u /* register after a right packet including its ICRC */

/* IP + UDP + BTH: what the first call must cover at least. */
#define PMV_ICRC_HDR_LEN(is_v6) ((is_v6) ? 60u : 40u)

/*
 * The register after the first len bytes of the packet, l3 = first byte of the IP header. len >=
 * PMV_ICRC_HDR_LEN(is_v6); pass as much as is contiguous (extension headers, small payload), one
 * call is cheaper than two. The packet is only read. Lengths, IP ID, ports and BTH must be final.
 */
uint32_t pmv_icrc_start(const uint8_t *l3, bool is_v6, uint32_t len);

/* The register after the IP and UDP headers alone: the same for all packets of one template and
 * length. */
uint32_t pmv_icrc_start_ip_udp(const uint8_t *l3, bool is_v6);

/* Bytes of the BTH that pmv_icrc_bth_begin() covers: up to the one that is masked. */
#define PMV_ICRC_BTH_BEGIN 4u

/*
 * The register after the BTH's first four bytes, made ready for the fifth (FECN, BECN, reserved),
 * which counts as ones: XOR the fifth byte as it stands in the frame into the result, and plain
 * pmv_icrc_update() may go on over the frame's bytes from the fifth on. state: the register after
 * the UDP header. (A byte and the register's low byte meet in an XOR, so either may be corrected.)
 */
uint32_t pmv_icrc_bth_begin(uint32_t state, const uint8_t *bth);

/* The register after len more bytes. len may be 0. */
uint32_t pmv_icrc_update(uint32_t state, const uint8_t *buf, uint32_t len);

/* Writes the ICRC behind the packet, least significant byte first. */
static inline void
pmv_icrc_store(uint8_t *trailer, uint32_t state)
{
	state = ~state;
	memcpy(trailer, &state, sizeof(state));
}

/* True if the four bytes at trailer are the ICRC for state. */
static inline bool
pmv_icrc_check(const uint8_t *trailer, uint32_t state)
{
	uint32_t v;

	memcpy(&v, trailer, sizeof(v));
	return v == ~state;
}

/*
 * Checks a contiguous packet, l3 = first byte of the IP header, len = bytes from there to the end
 * of the ICRC (take it from the UDP length, never from the frame). False also if len is too short
 * to hold headers and ICRC.
 */
bool pmv_icrc_packet_check(const uint8_t *l3, bool is_v6, uint32_t len);

/* Completes a contiguous packet: len bytes without ICRC, which is written behind them. */
void pmv_icrc_packet_store(uint8_t *l3, bool is_v6, uint32_t len);

/* The table implementation, always built: the only one without ISA-L, and the reference for it in
 * tests. */
uint32_t pmv_icrc_update_table(uint32_t state, const uint8_t *buf, uint32_t len);

#endif
