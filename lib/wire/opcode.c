// SPDX-License-Identifier: BSD-3-Clause
/*
 * The opcode table and the parser of BTH .. ICRC that it drives. Worker lcores, per packet; pure.
 */
#include "lib/wire/opcode.h"

#define REQ  PMV_OPF_REQUEST
#define WQE  PMV_OPF_RECV_WQE
#define COMP PMV_OPF_COMP

/* Bytes of a set of extension headers; a constant expression. */
#define EXT_BYTES(ext)                                                                             \
	(((ext)&PMV_EXT_DETH ? PMV_DETH_LEN : 0) + ((ext)&PMV_EXT_FETH ? PMV_FETH_LEN : 0) +       \
		((ext)&PMV_EXT_RETH ? PMV_RETH_LEN : 0) +                                          \
		((ext)&PMV_EXT_ATOMIC ? PMV_ATOMIC_ETH_LEN : 0) +                                  \
		((ext)&PMV_EXT_AETH ? PMV_AETH_LEN : 0) +                                          \
		((ext)&PMV_EXT_ATOMIC_ACK ? PMV_ATOMIC_ACK_LEN : 0) +                              \
		((ext)&PMV_EXT_IMMDT ? PMV_IMMDT_LEN : 0) +                                        \
		((ext)&PMV_EXT_IETH ? PMV_IETH_LEN : 0))

#define OP(class_, kind_, pos_, flags_, ext_, payload_)                                            \
	{                                                                                          \
		.opclass = PMV_OPCLASS_##class_, .kind = PMV_OPKIND_##kind_,                       \
		.pos = PMV_OPPOS_##pos_, .flags = (flags_), .ext = (ext_),                         \
		.hdr_len = PMV_BTH_LEN + EXT_BYTES(ext_), .payload = PMV_OPPAY_##payload_          \
	}

/* SEND and WRITE exist alike in RC and UC. */
#define SEND_WRITE(base, class_)                                                                   \
	[(base) + 0x00] = OP(class_, SEND, FIRST, REQ | WQE, 0, FULL),                             \
		  [(base) + 0x01] = OP(class_, SEND, MIDDLE, REQ, 0, FULL),                        \
		  [(base) + 0x02] = OP(class_, SEND, LAST, REQ | COMP, 0, SOME),                   \
		  [(base) + 0x03] = OP(class_, SEND, LAST, REQ | COMP, PMV_EXT_IMMDT, SOME),       \
		  [(base) + 0x04] = OP(class_, SEND, ONLY, REQ | WQE | COMP, 0, ANY),              \
		  [(base) + 0x05] = OP(class_, SEND, ONLY, REQ | WQE | COMP, PMV_EXT_IMMDT, ANY),  \
		  [(base) + 0x06] = OP(class_, WRITE, FIRST, REQ, PMV_EXT_RETH, FULL),             \
		  [(base) + 0x07] = OP(class_, WRITE, MIDDLE, REQ, 0, FULL),                       \
		  [(base) + 0x08] = OP(class_, WRITE, LAST, REQ, 0, SOME),                         \
		  [(base) + 0x09] =                                                                \
			  OP(class_, WRITE, LAST, REQ | WQE | COMP, PMV_EXT_IMMDT, SOME),          \
		  [(base) + 0x0a] = OP(class_, WRITE, ONLY, REQ, PMV_EXT_RETH, ANY),               \
		  [(base) + 0x0b] = OP(class_, WRITE, ONLY, REQ | WQE | COMP,                      \
			  PMV_EXT_RETH | PMV_EXT_IMMDT, ANY)

#define UNKNOWN                                                                                    \
	{                                                                                          \
		.hdr_len = PMV_BTH_LEN                                                             \
	}

/* The range first gives every opcode a BTH length; known opcodes then override their entry, which
 * is meant. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

const struct pmv_opcode_info pmv_opcode_table[256] = {
	[0 ... 255] = UNKNOWN,
	SEND_WRITE(PMV_OPCODE_RC_SEND_FIRST, RC),
	SEND_WRITE(PMV_OPCODE_UC_SEND_FIRST, UC),
	[PMV_OPCODE_RC_READ_REQUEST] = OP(RC, READ_REQ, ONLY, REQ, PMV_EXT_RETH, NONE),
	[PMV_OPCODE_RC_READ_RESP_FIRST] = OP(RC, READ_RESP, FIRST, 0, PMV_EXT_AETH, FULL),
	[PMV_OPCODE_RC_READ_RESP_MIDDLE] = OP(RC, READ_RESP, MIDDLE, 0, 0, FULL),
	[PMV_OPCODE_RC_READ_RESP_LAST] = OP(RC, READ_RESP, LAST, 0, PMV_EXT_AETH, SOME),
	[PMV_OPCODE_RC_READ_RESP_ONLY] = OP(RC, READ_RESP, ONLY, 0, PMV_EXT_AETH, ANY),
	[PMV_OPCODE_RC_ACK] = OP(RC, ACK, ONLY, 0, PMV_EXT_AETH, NONE),
	[PMV_OPCODE_RC_ATOMIC_ACK] =
		OP(RC, ATOMIC_ACK, ONLY, 0, PMV_EXT_AETH | PMV_EXT_ATOMIC_ACK, NONE),
	[PMV_OPCODE_RC_COMPARE_SWAP] = OP(RC, ATOMIC, ONLY, REQ, PMV_EXT_ATOMIC, NONE),
	[PMV_OPCODE_RC_FETCH_ADD] = OP(RC, ATOMIC, ONLY, REQ, PMV_EXT_ATOMIC, NONE),
	[PMV_OPCODE_RC_SEND_LAST_INV] = OP(RC, SEND, LAST, REQ | COMP, PMV_EXT_IETH, SOME),
	[PMV_OPCODE_RC_SEND_ONLY_INV] = OP(RC, SEND, ONLY, REQ | WQE | COMP, PMV_EXT_IETH, ANY),
	[PMV_OPCODE_RC_FLUSH] = OP(RC, FLUSH, ONLY, REQ, PMV_EXT_FETH | PMV_EXT_RETH, NONE),
	[PMV_OPCODE_RC_ATOMIC_WRITE] = OP(RC, ATOMIC_WRITE, ONLY, REQ, PMV_EXT_RETH, EIGHT),
	[PMV_OPCODE_UD_SEND_ONLY] = OP(UD, SEND, ONLY, REQ | WQE | COMP, PMV_EXT_DETH, ANY),
	[PMV_OPCODE_UD_SEND_ONLY_IMM] =
		OP(UD, SEND, ONLY, REQ | WQE | COMP, PMV_EXT_DETH | PMV_EXT_IMMDT, ANY),
	[PMV_OPCODE_CNP] = OP(CNP, CNP, ONLY, 0, 0, CNP),
	[PMV_OPCODE_SACK] = OP(RC, SACK, ONLY, 0, PMV_EXT_AETH, SACK),
};

#pragma GCC diagnostic pop

enum pmv_wire_verdict
pmv_roce_parse(
	const uint8_t *p, uint32_t avail, uint32_t udp_payload_len, struct pmv_roce_view *ret)
{
	const struct pmv_opcode_info *op;
	uint32_t fixed, pad;

	if (udp_payload_len < PMV_BTH_LEN + PMV_ICRC_LEN)
		return PMV_WIRE_ROCE_SHORT;
	if (avail < PMV_BTH_LEN)
		return PMV_WIRE_HDR_SPLIT;
	pmv_bth_parse(p, &ret->bth);
	op = &pmv_opcode_table[ret->bth.opcode];
	ret->op = op;
	if (op->opclass == PMV_OPCLASS_NONE)
		return PMV_WIRE_OPCODE;
	if (ret->bth.tver != 0)
		return PMV_WIRE_TVER;
	pad = ret->bth.padcnt;
	fixed = op->hdr_len + pad + PMV_ICRC_LEN;
	if (udp_payload_len < fixed)
		return PMV_WIRE_ROCE_SHORT;
	if (avail < op->hdr_len)
		return PMV_WIRE_HDR_SPLIT;
	ret->payload_off = op->hdr_len;
	ret->payload_len = udp_payload_len - fixed;
	ret->icrc_off = udp_payload_len - PMV_ICRC_LEN;
	if (op->payload == PMV_OPPAY_NONE && (ret->payload_len | pad) != 0)
		return PMV_WIRE_PAYLOAD;
	if (((ret->payload_len + pad) & 3) != 0)
		return PMV_WIRE_PAD;
	return PMV_WIRE_OK;
}
