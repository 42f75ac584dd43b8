// SPDX-License-Identifier: BSD-3-Clause
/*
 * The opcode map (IBTA vol. 1, table 38; FLUSH and ATOMIC_WRITE: A19, A20) as one table of 256
 * entries, and the parser of a UDP payload that uses it: BTH, then every length check that needs no
 * QP. RC, UC, UD and the CNP of the RoCEv2 annex A17.9.3 are known; RD, XRC and manufacturer
 * opcodes are not. Worker lcores per packet, cm for QP1. Pure.
 */
#ifndef PMV_WIRE_OPCODE_H
#define PMV_WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/bth.h"
#include "lib/wire/sack.h"
#include "lib/wire/verdict.h"

enum pmv_opcode {
	PMV_OPCODE_RC_SEND_FIRST = 0x00,
	PMV_OPCODE_RC_SEND_MIDDLE = 0x01,
	PMV_OPCODE_RC_SEND_LAST = 0x02,
	PMV_OPCODE_RC_SEND_LAST_IMM = 0x03,
	PMV_OPCODE_RC_SEND_ONLY = 0x04,
	PMV_OPCODE_RC_SEND_ONLY_IMM = 0x05,
	PMV_OPCODE_RC_WRITE_FIRST = 0x06,
	PMV_OPCODE_RC_WRITE_MIDDLE = 0x07,
	PMV_OPCODE_RC_WRITE_LAST = 0x08,
	PMV_OPCODE_RC_WRITE_LAST_IMM = 0x09,
	PMV_OPCODE_RC_WRITE_ONLY = 0x0a,
	PMV_OPCODE_RC_WRITE_ONLY_IMM = 0x0b,
	PMV_OPCODE_RC_READ_REQUEST = 0x0c,
	PMV_OPCODE_RC_READ_RESP_FIRST = 0x0d,
	PMV_OPCODE_RC_READ_RESP_MIDDLE = 0x0e,
	PMV_OPCODE_RC_READ_RESP_LAST = 0x0f,
	PMV_OPCODE_RC_READ_RESP_ONLY = 0x10,
	PMV_OPCODE_RC_ACK = 0x11,
	PMV_OPCODE_RC_ATOMIC_ACK = 0x12,
	PMV_OPCODE_RC_COMPARE_SWAP = 0x13,
	PMV_OPCODE_RC_FETCH_ADD = 0x14,
	PMV_OPCODE_RC_SEND_LAST_INV = 0x16,
	PMV_OPCODE_RC_SEND_ONLY_INV = 0x17,
	PMV_OPCODE_RC_FLUSH = 0x1c,
	PMV_OPCODE_RC_ATOMIC_WRITE = 0x1d,
	PMV_OPCODE_UC_SEND_FIRST = 0x20,
	PMV_OPCODE_UC_SEND_MIDDLE = 0x21,
	PMV_OPCODE_UC_SEND_LAST = 0x22,
	PMV_OPCODE_UC_SEND_LAST_IMM = 0x23,
	PMV_OPCODE_UC_SEND_ONLY = 0x24,
	PMV_OPCODE_UC_SEND_ONLY_IMM = 0x25,
	PMV_OPCODE_UC_WRITE_FIRST = 0x26,
	PMV_OPCODE_UC_WRITE_MIDDLE = 0x27,
	PMV_OPCODE_UC_WRITE_LAST = 0x28,
	PMV_OPCODE_UC_WRITE_LAST_IMM = 0x29,
	PMV_OPCODE_UC_WRITE_ONLY = 0x2a,
	PMV_OPCODE_UC_WRITE_ONLY_IMM = 0x2b,
	PMV_OPCODE_UD_SEND_ONLY = 0x64,
	PMV_OPCODE_UD_SEND_ONLY_IMM = 0x65,
	PMV_OPCODE_CNP = 0x81,
	PMV_OPCODE_SACK = 0xc1, /* our own, between peers who agreed: lib/wire/sack.h */
};

/* Top three bits of an opcode choose the transport; UC = RC + this. */
#define PMV_OPCODE_UC_BASE 0x20

enum pmv_opcode_class {
	PMV_OPCLASS_NONE = 0, /* opcode not known */
	PMV_OPCLASS_RC,
	PMV_OPCLASS_UC,
	PMV_OPCLASS_UD,
	PMV_OPCLASS_CNP,
};

enum pmv_opcode_kind {
	PMV_OPKIND_NONE = 0,
	PMV_OPKIND_SEND,
	PMV_OPKIND_WRITE,
	PMV_OPKIND_READ_REQ,
	PMV_OPKIND_ATOMIC, /* COMPARE_SWAP, FETCH_ADD */
	PMV_OPKIND_FLUSH,
	PMV_OPKIND_ATOMIC_WRITE,
	PMV_OPKIND_READ_RESP,
	PMV_OPKIND_ACK,
	PMV_OPKIND_ATOMIC_ACK,
	PMV_OPKIND_CNP,
	PMV_OPKIND_SACK,
};

/* Place in the message, as two bits: a packet with FIRST begins one, a packet with LAST ends one.
 */
#define PMV_OPPOS_MIDDLE 0u
#define PMV_OPPOS_FIRST  1u
#define PMV_OPPOS_LAST   2u
#define PMV_OPPOS_ONLY   (PMV_OPPOS_FIRST | PMV_OPPOS_LAST)

#define PMV_OPF_REQUEST 0x01u /* goes to the responder; else a response, for the requester */
#define PMV_OPF_RECV_WQE                                                                           \
	0x02u /* consumes a receive work request at this packet (SEND first/only, WRITE_IMM last)  \
	       */
#define PMV_OPF_COMP                                                                               \
	0x04u /* completes that receive work request: the only packets on which SE has a meaning   \
	       */

/* Extension headers, in the order they have on the wire. */
#define PMV_EXT_DETH       0x01u
#define PMV_EXT_FETH       0x02u
#define PMV_EXT_RETH       0x04u
#define PMV_EXT_ATOMIC     0x08u
#define PMV_EXT_AETH       0x10u
#define PMV_EXT_ATOMIC_ACK 0x20u
#define PMV_EXT_IMMDT      0x40u
#define PMV_EXT_IETH       0x80u

enum pmv_opcode_payload {
	PMV_OPPAY_NONE = 0, /* no payload: checked by pmv_roce_parse */
	PMV_OPPAY_ANY,      /* 0 .. path MTU */
	PMV_OPPAY_SOME,     /* 1 .. path MTU */
	PMV_OPPAY_FULL,     /* exactly the path MTU, pad 0 */
	PMV_OPPAY_EIGHT,    /* exactly 8, pad 0 */
	PMV_OPPAY_CNP,      /* exactly 16 reserved bytes, whatever they hold; pad 0 */
	PMV_OPPAY_SACK,     /* exactly PMV_SACK_LEN, pad 0 */
};

struct pmv_opcode_info {
	uint8_t opclass; /* enum pmv_opcode_class */
	uint8_t kind;    /* enum pmv_opcode_kind */
	uint8_t pos;     /* PMV_OPPOS_* */
	uint8_t flags;   /* PMV_OPF_* */
	uint8_t ext;     /* PMV_EXT_* */
	uint8_t hdr_len; /* BTH and extension headers: where the payload starts; 12 for unknown
			    opcodes */
	uint8_t payload; /* enum pmv_opcode_payload */
	uint8_t reserved;
};

extern const struct pmv_opcode_info pmv_opcode_table[256];

/* True if the opcode has this extension header. */
static inline bool
pmv_opcode_has(const struct pmv_opcode_info *op, uint32_t ext)
{
	return (op->ext & ext) != 0;
}

/*
 * Where each header starts, from the BTH's first byte. Only one of RETH, AtomicETH, DETH, AETH
 * stands directly behind the BTH; ImmDt and IETH are always the last four header bytes.
 */
#define PMV_OFF_DETH       PMV_BTH_LEN
#define PMV_OFF_RETH       PMV_BTH_LEN /* but for FLUSH: PMV_OFF_FLUSH_RETH */
#define PMV_OFF_ATOMIC     PMV_BTH_LEN
#define PMV_OFF_AETH       PMV_BTH_LEN
#define PMV_OFF_ATOMIC_ACK (PMV_BTH_LEN + PMV_AETH_LEN)
#define PMV_OFF_FETH       PMV_BTH_LEN
#define PMV_OFF_FLUSH_RETH (PMV_BTH_LEN + PMV_FETH_LEN)
#define PMV_OFF_IMMDT(op)  ((op)->hdr_len - PMV_IMMDT_LEN)
#define PMV_OFF_IETH(op)   ((op)->hdr_len - PMV_IETH_LEN)

/* A parsed UDP payload. Offsets count from the BTH's first byte. */
struct pmv_roce_view {
	struct pmv_bth bth;
	const struct pmv_opcode_info *op; /* entry of bth.opcode */
	uint32_t payload_off;             /* = op->hdr_len */
	uint32_t payload_len;             /* without pad */
	uint32_t icrc_off;                /* = udp_payload_len - 4 */
};

/*
 * Parses BTH .. ICRC: udp_payload_len bytes, of which the first avail are contiguous at p. Reads
 * nothing at or past p + avail. OK means: opcode known, transport version 0, all headers within
 * avail and within the payload, payload length not negative, pad right. Not judged here: whether
 * the QP takes the opcode, sequence, path MTU (pmv_opcode_payload_is_ok), P_Key, ICRC. After OPCODE
 * or TVER ret->bth is valid, so the caller can count by QP.
 */
enum pmv_wire_verdict pmv_roce_parse(
	const uint8_t *p, uint32_t avail, uint32_t udp_payload_len, struct pmv_roce_view *ret);

/* The opcode's payload rule against the path MTU; the responder answers a violation with a NAK
 * (invalid request). */
static inline bool
pmv_opcode_payload_is_ok(const struct pmv_roce_view *v, uint32_t path_mtu)
{
	switch (v->op->payload) {
	case PMV_OPPAY_FULL:
		return v->payload_len == path_mtu && v->bth.padcnt == 0;
	case PMV_OPPAY_SOME:
		return v->payload_len >= 1 && v->payload_len <= path_mtu;
	case PMV_OPPAY_ANY:
		return v->payload_len <= path_mtu;
	case PMV_OPPAY_EIGHT:
		return v->payload_len == 8 && v->bth.padcnt == 0;
	case PMV_OPPAY_CNP:
		return v->payload_len == 16 && v->bth.padcnt == 0;
	case PMV_OPPAY_SACK:
		return v->payload_len == PMV_SACK_LEN && v->bth.padcnt == 0;
	default:
		return true;
	}
}

#endif
