// SPDX-License-Identifier: BSD-3-Clause
/*
 * The staging ring in front of the port's transmit queue: see tx.h. Owner lcore.
 */
#include "drivers/roce/tx.h"

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>

#include "drivers/roce/fault.h"
#include "drivers/roce/worker.h"
#include "lib/wire/icrc.h"

#define RING_MASK (PMV_ROCE_TX_RING - 1)

_Static_assert((PMV_ROCE_TX_RING & RING_MASK) == 0, "indices are masked");

static const struct pmv_roce_seal whole;

void
pmv_roce_tx_put(struct pmv_roce_worker *w, struct rte_mbuf *m)
{
	if (likely(pmv_roce_tx_ctl_room(&w->tx)))
		pmv_roce_tx_push(w, &w->tx, m, whole);
	else
		rte_pktmbuf_free(m);
}

static __rte_noinline void
stage_faulty(struct pmv_roce_worker *w, struct rte_mbuf *m)
{
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT];
	uint32_t nb = pmv_roce_fault_pass(w, PMV_FAULT_TX, m, out);

	for (uint32_t i = 0; i < nb; i++)
		pmv_roce_tx_put(w, out[i]);
}

void
pmv_roce_tx_stage(struct pmv_roce_worker *w, struct rte_mbuf *m)
{
	if (unlikely(w->fault != NULL)) {
		stage_faulty(w, m);
		return;
	}
	pmv_roce_tx_push(w, &w->tx, m, whole);
}

static inline void
seal_all(struct pmv_roce_tx *tx)
{
	for (; tx->sealed != tx->tail; tx->sealed++) {
		const struct pmv_roce_seal *s = &tx->seal[tx->sealed & RING_MASK];

		if (s->len != 0)
			pmv_icrc_store(
				s->from + s->len, pmv_icrc_update(s->state, s->from, s->len));
	}
}

uint32_t
pmv_roce_tx_flush(struct pmv_roce_worker *w)
{
	struct pmv_roce_tx *tx = &w->tx;

	seal_all(tx);
	while (tx->head != tx->tail) {
		uint32_t first = tx->head & RING_MASK;
		uint32_t nb = RTE_MIN(tx->tail - tx->head, PMV_ROCE_TX_RING - first);
		uint16_t nb_sent = rte_eth_tx_burst(
			w->base.device->port_id, w->base.tx_queue, &tx->ring[first], (uint16_t)nb);

		tx->head += nb_sent;
		w->stats.tx_frames += nb_sent;
		if (nb_sent < nb) {
			w->stats.tx_busy++;
			break;
		}
	}
	return tx->tail - tx->head;
}
