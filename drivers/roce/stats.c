// SPDX-License-Identifier: BSD-3-Clause
/*
 * Names of a worker's counters. Any thread reads snapshots: each counter is one aligned word with
 * one writer.
 */
#include "drivers/roce/stats.h"

#include <rte_common.h>

#include "drivers/roce/worker.h"

struct counter {
	const char *name;
	uint32_t off; /* in struct pmv_roce_stats */
};

#define AT(field)                                                                                  \
	{                                                                                          \
#field, offsetof(struct pmv_roce_stats, field)                                     \
	}
#define VERDICT(name, value)                                                                       \
	{                                                                                          \
		name, offsetof(struct pmv_roce_stats, verdict[value])                              \
	}
#define DROP(name, value)                                                                          \
	{                                                                                          \
		"rx_drop_" name, offsetof(struct pmv_roce_stats, drop[value])                      \
	}

static const struct counter counters[] = {
	AT(rx_frames),
	AT(tx_frames),
	AT(rx_ctl),
	AT(tx_ctl),
	AT(tx_ctl_drop),
	AT(rx_handover),
	AT(tx_busy),
	AT(no_mbuf),
	AT(acks_tx),
	AT(naks_tx),
	AT(rnr_tx),
	AT(retx_pkts),
	AT(probes),
	AT(timeouts),
	AT(ecn_marked),
	AT(cnp_tx),
	AT(cnp_rx),
	AT(paced),
	AT(attached),
	AT(attach_busy),
	AT(copied_bytes),
	VERDICT("rx_fragment_later", PMV_WIRE_FRAGMENT_LATER),
	VERDICT("rx_drop_frame_short", PMV_WIRE_FRAME_SHORT),
	VERDICT("rx_drop_ip_version", PMV_WIRE_IP_VERSION),
	VERDICT("rx_drop_ip_options", PMV_WIRE_IP_OPTIONS),
	VERDICT("rx_drop_ip_len", PMV_WIRE_IP_LEN),
	VERDICT("rx_drop_ip_csum", PMV_WIRE_IP_CSUM),
	VERDICT("rx_drop_fragment", PMV_WIRE_FRAGMENT),
	VERDICT("rx_drop_udp_len", PMV_WIRE_UDP_LEN),
	VERDICT("rx_drop_udp_csum", PMV_WIRE_UDP_CSUM),
	VERDICT("rx_drop_roce_short", PMV_WIRE_ROCE_SHORT),
	VERDICT("rx_drop_opcode", PMV_WIRE_OPCODE),
	VERDICT("rx_drop_tver", PMV_WIRE_TVER),
	VERDICT("rx_drop_payload", PMV_WIRE_PAYLOAD),
	VERDICT("rx_drop_pad", PMV_WIRE_PAD),
	VERDICT("rx_drop_icrc", PMV_WIRE_ICRC),
	DROP("vlan", PMV_ROCE_DROP_VLAN),
	DROP("dest_addr", PMV_ROCE_DROP_DEST_ADDR),
	DROP("pkey", PMV_ROCE_DROP_PKEY),
	DROP("qpn", PMV_ROCE_DROP_QPN),
	DROP("qp_class", PMV_ROCE_DROP_QP_CLASS),
	DROP("qp_state", PMV_ROCE_DROP_QP_STATE),
	DROP("peer_addr", PMV_ROCE_DROP_PEER_ADDR),
	DROP("qkey", PMV_ROCE_DROP_QKEY),
	DROP("ud_no_recv", PMV_ROCE_DROP_UD_NO_RECV),
	DROP("ud_len", PMV_ROCE_DROP_UD_LEN),
	DROP("uc_lost", PMV_ROCE_DROP_UC_LOST),
	DROP("uc_no_recv", PMV_ROCE_DROP_UC_NO_RECV),
	DROP("uc_refused", PMV_ROCE_DROP_UC_REFUSED),
	DROP("mcast", PMV_ROCE_DROP_MCAST),
	DROP("mcast_own", PMV_ROCE_DROP_MCAST_OWN),
	DROP("mcast_loop_full", PMV_ROCE_DROP_MCAST_LOOP_FULL),
	DROP("opcode_unserved", PMV_ROCE_DROP_OPCODE),
	DROP("cnp_len", PMV_ROCE_DROP_CNP_LEN),
	DROP("cnp_unasked", PMV_ROCE_DROP_CNP_UNASKED),
	DROP("seq_silent", PMV_ROCE_DROP_SEQ_SILENT),
	DROP("dup", PMV_ROCE_DROP_DUP),
	DROP("flush_busy", PMV_ROCE_DROP_FLUSH_BUSY),
	DROP("dup_read", PMV_ROCE_DROP_DUP_READ),
	DROP("resp_stale", PMV_ROCE_DROP_RESP_STALE),
	DROP("resp_syndrome", PMV_ROCE_DROP_RESP_SYNDROME),
	DROP("resp_gap", PMV_ROCE_DROP_RESP_GAP),
	DROP("no_mbuf", PMV_ROCE_DROP_NO_MBUF),
	DROP("reorder_full", PMV_ROCE_DROP_REORDER_FULL),
	DROP("foreign", PMV_ROCE_DROP_FOREIGN),
};

uint32_t
pmv_roce_worker_stats(const struct pmv_worker *base, struct pmv_stat *stats, uint32_t nb)
{
	const struct pmv_roce_worker *w = (const struct pmv_roce_worker *)base;
	const uint8_t *at = (const uint8_t *)&w->stats;

	for (uint32_t i = 0; i < RTE_MIN(nb, RTE_DIM(counters)); i++) {
		const uint64_t *value = (const uint64_t *)(const void *)(at + counters[i].off);

		stats[i].name = counters[i].name;
		stats[i].value = __atomic_load_n(value, __ATOMIC_RELAXED);
	}
	return RTE_DIM(counters);
}
