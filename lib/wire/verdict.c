// SPDX-License-Identifier: BSD-3-Clause
/*
 * Names of the verdicts, for statistics and test messages. Any thread; not on the data path.
 */
#include "lib/wire/verdict.h"

static const char *const names[PMV_WIRE_NB] = {
	[PMV_WIRE_OK] = "ok",
	[PMV_WIRE_NOT_ROCE] = "not_roce",
	[PMV_WIRE_FRAGMENT_LATER] = "fragment_later",
	[PMV_WIRE_HDR_SPLIT] = "hdr_split",
	[PMV_WIRE_FRAME_SHORT] = "frame_short",
	[PMV_WIRE_IP_VERSION] = "ip_version",
	[PMV_WIRE_IP_OPTIONS] = "ip_options",
	[PMV_WIRE_IP_LEN] = "ip_len",
	[PMV_WIRE_IP_CSUM] = "ip_csum",
	[PMV_WIRE_FRAGMENT] = "fragment",
	[PMV_WIRE_UDP_LEN] = "udp_len",
	[PMV_WIRE_UDP_CSUM] = "udp_csum",
	[PMV_WIRE_ROCE_SHORT] = "roce_short",
	[PMV_WIRE_OPCODE] = "opcode",
	[PMV_WIRE_TVER] = "tver",
	[PMV_WIRE_PAYLOAD] = "payload",
	[PMV_WIRE_PAD] = "pad",
	[PMV_WIRE_ICRC] = "icrc",
	[PMV_WIRE_MAD_QP] = "mad_qp",
	[PMV_WIRE_MAD_QKEY] = "mad_qkey",
	[PMV_WIRE_MAD_LEN] = "mad_len",
	[PMV_WIRE_MAD_VERSION] = "mad_version",
};

const char *
pmv_wire_verdict_name(enum pmv_wire_verdict v)
{
	return (unsigned int)v < PMV_WIRE_NB ? names[v] : "?";
}
