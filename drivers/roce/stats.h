// SPDX-License-Identifier: BSD-3-Clause
/*
 * Counters of a worker, one writer (its owner lcore). The verdict of a dropped frame is its
 * counter.
 */
#ifndef PMV_ROCE_STATS_H
#define PMV_ROCE_STATS_H

#include <stdint.h>

#include "lib/driver/pmv_driver.h"
#include "lib/wire/verdict.h"

/* Why a frame whose bytes are right is dropped all the same. Each has one counter and one name
 * (stats.c). */
enum pmv_roce_drop {
	PMV_ROCE_DROP_VLAN,      /* tag not the device's */
	PMV_ROCE_DROP_DEST_ADDR, /* destination IP not ours */
	PMV_ROCE_DROP_PKEY,
	PMV_ROCE_DROP_QPN,      /* no such QP */
	PMV_ROCE_DROP_QP_CLASS, /* opcode class does not fit the QP's type */
	PMV_ROCE_DROP_QP_STATE,
	PMV_ROCE_DROP_PEER_ADDR, /* RC, UC: not from the QP's peer */
	PMV_ROCE_DROP_QKEY,
	PMV_ROCE_DROP_UD_NO_RECV,
	PMV_ROCE_DROP_UD_LEN,
	PMV_ROCE_DROP_UC_LOST, /* rest of a message of which a packet is missing */
	PMV_ROCE_DROP_UC_NO_RECV,
	PMV_ROCE_DROP_UC_REFUSED,      /* rights, lengths */
	PMV_ROCE_DROP_MCAST,           /* no QP is attached to the group */
	PMV_ROCE_DROP_MCAST_OWN,       /* what we sent ourselves came back */
	PMV_ROCE_DROP_MCAST_LOOP_FULL, /* own messages, more than a turn takes */
	PMV_ROCE_DROP_OPCODE,          /* known, but not agreed upon */
	PMV_ROCE_DROP_CNP_LEN,         /* not what a CNP is */
	PMV_ROCE_DROP_CNP_UNASKED,     /* the QP does not react to CNPs */
	PMV_ROCE_DROP_SEQ_SILENT,      /* ahead of a gap that was NAKed already */
	PMV_ROCE_DROP_DUP,             /* a duplicate that needs no answer */
	PMV_ROCE_DROP_FLUSH_BUSY,      /* FLUSH: every answer agreed to is still being sent */
	PMV_ROCE_DROP_DUP_READ,      /* no matching READ or atomic to replay, or one that differs */
	PMV_ROCE_DROP_RESP_STALE,    /* response before or outside the window */
	PMV_ROCE_DROP_RESP_SYNDROME, /* reserved syndrome */
	PMV_ROCE_DROP_RESP_GAP,      /* READ response behind a gap */
	PMV_ROCE_DROP_REORDER_FULL,  /* behind a gap, and too many wait already */
	PMV_ROCE_DROP_NO_MBUF,
	PMV_ROCE_DROP_FOREIGN, /* not RoCE and nobody took it */
	PMV_ROCE_DROP_NB
};

struct pmv_roce_stats {
	uint64_t rx_frames;
	uint64_t tx_frames;
	uint64_t rx_ctl;      /* to the CM */
	uint64_t tx_ctl;      /* of the CM */
	uint64_t tx_ctl_drop; /* of the CM, no room */
	uint64_t rx_handover; /* to another worker */
	uint64_t tx_busy;     /* flushes that left frames behind */
	uint64_t no_mbuf;     /* a frame could not be built: pool empty */
	uint64_t acks_tx;
	uint64_t naks_tx;
	uint64_t rnr_tx;
	uint64_t retx_pkts;
	uint64_t probes;
	uint64_t timeouts;
	uint64_t ecn_marked; /* frames of connected QPs that came with ECN CE */
	uint64_t cnp_tx;
	uint64_t cnp_rx;
	uint64_t paced;        /* times that a QP had to wait for its rate */
	uint64_t attached;     /* frames sent with user memory attached */
	uint64_t attach_busy;  /* copied because no slot or mbuf was free */
	uint64_t copied_bytes; /* payload copied on transmit */
	uint64_t verdict[PMV_WIRE_NB];
	uint64_t drop[PMV_ROCE_DROP_NB];
};

uint32_t pmv_roce_worker_stats(const struct pmv_worker *w, struct pmv_stat *stats, uint32_t nb);

#endif
