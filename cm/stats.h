// SPDX-License-Identifier: BSD-3-Clause
/*
 * Counters of a CM: one writer, the control lcore; anybody reads a snapshot. The frames of each
 * kind, the drops by reason (the verdicts of the pure parsers are counted under their own names),
 * retransmissions. Read by programs through pmv_cm_stats().
 */
#ifndef PMV_CM_STATS_H
#define PMV_CM_STATS_H

#include "cm/icmp.h"
#include "cm/ip_hdr.h"
#include "cm/msg.h"
#include "cm/neigh_proto.h"
#include "lib/wire/verdict.h"

/* Name as programs see it, and what is counted. */
#define PMV_CM_STAT_LIST(X)                                                                        \
	X(RX_FRAMES, "rx_frames") /* all frames of the control channels */                         \
	X(RX_REQ, "rx_req")                                                                        \
	X(RX_MRA, "rx_mra")                                                                        \
	X(RX_REJ, "rx_rej")                                                                        \
	X(RX_REP, "rx_rep")                                                                        \
	X(RX_RTU, "rx_rtu")                                                                        \
	X(RX_DREQ, "rx_dreq")                                                                      \
	X(RX_DREP, "rx_drep")                                                                      \
	X(RX_SIDR, "rx_sidr")                                                                      \
	X(RX_DUPLICATE, "rx_duplicate")             /* copies of a REQ or REP we know */           \
	X(RX_STALE, "rx_stale")                     /* the peer has forgotten a connection */      \
	X(RX_DROP_OTHER, "rx_drop_other")           /* nothing the CM reads */                     \
	X(RX_DROP_LONG, "rx_drop_long")             /* longer than any control frame */            \
	X(RX_DROP_VLAN, "rx_drop_vlan")             /* of another VLAN */                          \
	X(RX_DROP_DST, "rx_drop_dst")               /* destination IP is not ours */               \
	X(RX_DROP_SRC, "rx_drop_src")               /* multicast, zero, or our own address */      \
	X(RX_DROP_PKEY, "rx_drop_pkey")             /* BTH partition key */                        \
	X(RX_DROP_UNKNOWN_ID, "rx_drop_unknown_id") /* no record has these comm IDs */             \
	X(RX_DROP_PEER, "rx_drop_peer")             /* right IDs from another address, or a wrong  \
						       QPN */                                      \
	X(RX_DROP_STATE, "rx_drop_state")           /* means nothing in the record's state */      \
	X(RX_DROP_BACKLOG, "rx_drop_backlog")       /* listener full: silent, the peer repeats */  \
	X(RX_DROP_NO_ID, "rx_drop_no_id")           /* id_max, or no memory: likewise */           \
	X(RX_ARP_ND, "rx_arp_nd")                                                                  \
	X(RX_ECHO, "rx_echo")                                                                      \
	X(RX_DROP_ECHO_RATE, "rx_drop_echo_rate")                                                  \
	X(RX_UNREACHABLE, "rx_unreachable") /* ICMP port unreachable about a packet of ours */     \
	X(RX_CONFLICT, "rx_conflict")       /* another host uses an address of ours */             \
	X(TX_FRAMES, "tx_frames")                                                                  \
	X(TX_REQ, "tx_req")                                                                        \
	X(TX_MRA, "tx_mra")                                                                        \
	X(TX_REJ, "tx_rej")                                                                        \
	X(TX_REP, "tx_rep")                                                                        \
	X(TX_RTU, "tx_rtu")                                                                        \
	X(TX_DREQ, "tx_dreq")                                                                      \
	X(TX_DREP, "tx_drep")                                                                      \
	X(TX_SIDR, "tx_sidr")                                                                      \
	X(TX_RESENT, "tx_resent") /* of these: sent again */                                       \
	X(TX_ARP_ND, "tx_arp_nd")                                                                  \
	X(TX_ECHO, "tx_echo")                                                                      \
	X(TX_DROP_FULL, "tx_drop_full")   /* no frame or no room in the ring: as if lost */        \
	X(CONNECTIONS, "connections")     /* ESTABLISHED so far */                                 \
	X(LINGER_CUT, "linger_cut")       /* records given up early: too many at once */           \
	X(NEXTHOP_RETRY, "nexthop_retry") /* a worker's mailbox was full */

enum pmv_cm_stat_named {
#define X(id, name) PMV_CM_STAT_##id,
	PMV_CM_STAT_LIST(X)
#undef X
		PMV_CM_STAT_NAMED_MAX,
};

/* Counters behind the named ones: one for each verdict of a parser. */
#define PMV_CM_STAT_WIRE   ((uint32_t)PMV_CM_STAT_NAMED_MAX)
#define PMV_CM_STAT_MSG    (PMV_CM_STAT_WIRE + PMV_WIRE_NB)
#define PMV_CM_STAT_IP_HDR (PMV_CM_STAT_MSG + PMV_CM_MSG_VERDICT_MAX)
#define PMV_CM_STAT_NEIGH  (PMV_CM_STAT_IP_HDR + PMV_CM_IP_HDR_VERDICT_MAX)
#define PMV_CM_STAT_ICMP   (PMV_CM_STAT_NEIGH + PMV_CM_NEIGH_VERDICT_MAX)
#define PMV_CM_STAT_MAX    (PMV_CM_STAT_ICMP + PMV_CM_ICMP_VERDICT_MAX)

#endif
