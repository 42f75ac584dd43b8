/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of a worker: one writer (its lcore), read by anybody as a snapshot. Named, so that
 * programs can print all of them without knowing any.
 */
#ifndef PMV_STATS_H
#define PMV_STATS_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_stat {
	const char *name; /**< static, for example "rx_drop_icrc" */
	uint64_t value;
};

/**
 * Reads counters of a worker.
 * @param stats  room for nb entries; may be NULL when nb is 0
 * @return how many counters there are (may be more than nb).
 * @note Context: any thread.
 */
PMV_API uint32_t pmv_worker_stats(
	const struct pmv_worker *worker, struct pmv_stat *stats, uint32_t nb);

/** @return one counter by name, 0 when there is none of that name. @note Context: any thread, not a
 * data path. */
PMV_API uint64_t pmv_worker_stat(const struct pmv_worker *worker, const char *name);

/** Counters of one QP, RC if not said otherwise; those of congestion are UC's too. */
struct pmv_qp_stats {
	uint64_t tx_pkts;
	uint64_t rx_pkts;
	uint64_t retx_pkts; /**< packets sent again */
	uint64_t probes; /**< single packets sent again to ask for an acknowledgement; never charged
			  */
	uint64_t timeouts; /**< ACK timeouts, charged to retry_cnt */
	uint64_t nak_seq_rx;
	uint64_t nak_seq_tx;
	uint64_t rnr_rx;
	uint64_t rnr_tx;
	uint64_t duplicates; /**< request packets received again */
	uint64_t ecn_marked; /**< packets that came with the mark of congestion (ECN CE) */
	uint64_t cnp_tx;     /**< congestion notification packets sent for these, one in 50 us */
	uint64_t cnp_rx;     /**< and received for marked packets of ours */
	uint64_t rate;       /**< bytes a second to which these limit us now; 0 = no limit. Headers
				count, from Ethernet's preamble on */
	uint32_t srtt_ns;    /**< smoothed round trip, 0 = not measured yet */
};

/** @return 0. @note Context: owner lcore. */
PMV_API int pmv_qp_get_stats(const struct pmv_qp *qp, struct pmv_qp_stats *ret_stats);

#ifdef __cplusplus
}
#endif
#endif
