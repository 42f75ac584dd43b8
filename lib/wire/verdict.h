// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a parser of this folder thinks of a frame: one value per reason, so that each gets its own
 * counter. A verdict is never an errno and never a completion status. Used by every reader of
 * frames (drivers/roce rx, cm io, tests); pure.
 */
#ifndef PMV_WIRE_VERDICT_H
#define PMV_WIRE_VERDICT_H

enum pmv_wire_verdict {
	PMV_WIRE_OK = 0,
	/* Not ours: give the frame back to the application or to the ARP/ND/IGMP/MLD path. No
	   fault. */
	PMV_WIRE_NOT_ROCE,
	/*
	 * A fragment that is not the first: its port is unknown. No RoCE sender fragments (RoCEv2
	 * annex A17.3: DF is set), so it is counted and treated like NOT_ROCE.
	 */
	PMV_WIRE_FRAGMENT_LATER,
	/* The contiguous part ends inside the headers while the frame goes on: make it contiguous
	   and parse again. */
	PMV_WIRE_HDR_SPLIT,

	/* All below: addressed to UDP port 4791 (or unreadable) and wrong. Drop and count, never
	   answer. */
	PMV_WIRE_FRAME_SHORT, /* the frame ends before the headers do */
	PMV_WIRE_IP_VERSION,  /* ethertype and version nibble disagree, or IHL < 5 */
	PMV_WIRE_IP_OPTIONS,  /* IPv4 options or an IPv6 extension header in front of UDP port 4791
			       */
	PMV_WIRE_IP_LEN,      /* IP length smaller than its headers or larger than the frame */
	PMV_WIRE_IP_CSUM,     /* IPv4 header checksum wrong */
	PMV_WIRE_FRAGMENT,    /* first fragment */
	PMV_WIRE_UDP_LEN,     /* UDP length < 8 or larger than the IP payload */
	PMV_WIRE_UDP_CSUM,    /* non-zero UDP checksum that is wrong (found by the caller, over the
				 whole chain) */
	PMV_WIRE_ROCE_SHORT,  /* UDP payload too short for BTH, extension headers, pad and ICRC */
	PMV_WIRE_OPCODE,      /* opcode not in the table */
	PMV_WIRE_TVER,        /* BTH transport version not 0 */
	PMV_WIRE_PAYLOAD,     /* payload or pad on an opcode that carries none */
	PMV_WIRE_PAD,         /* payload plus pad not a multiple of 4 */
	PMV_WIRE_ICRC,        /* ICRC wrong */
	PMV_WIRE_MAD_QP,      /* frame for a MAD reader that is not a UD SEND_ONLY to QP1 */
	PMV_WIRE_MAD_QKEY,    /* Q_Key not the QP1 key */
	PMV_WIRE_MAD_LEN,     /* MAD not exactly 256 bytes */
	PMV_WIRE_MAD_VERSION, /* base version not 1 */
	PMV_WIRE_NB           /* number of verdicts: size of a counter array */
};

/* Short lower-case name for statistics and messages, e.g. "ip_csum"; "?" for a value out of range.
 */
const char *pmv_wire_verdict_name(enum pmv_wire_verdict v);

#endif
