// SPDX-License-Identifier: BSD-3-Clause
/*
 * A worker of the software driver: what it is made of (control threads, before and after its life)
 * and what it does in a turn besides receiving (owner lcore).
 */
#include "drivers/roce/worker.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>

#include "drivers/roce/ack.h"
#include "drivers/roce/ack_pool.h"
#include "drivers/roce/cq.h"
#include "drivers/roce/fault.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/responder.h"
#include "drivers/roce/retry.h"
#include "drivers/roce/rx.h"
#include "drivers/roce/uc.h"
#include "drivers/roce/ud.h"
#include "lib/wire/eth_ip.h"

#define TURN_QPS_MAX 64u /* QPs of the run list served in a turn */

/* QPNs: the worker's index in the top bits, then slot and generation. */
static int
qps_init(struct pmv_roce_worker *w, uint32_t qp_max, uint64_t seed)
{
	uint32_t bits = PMV_IDMAP_ID_BITS - w->base.device->worker_bits;
	uint32_t nb = rte_align32pow2(qp_max);

	w->qps_mem = rte_zmalloc_socket(
		"pmv_qps", pmv_idmap_bytes(nb), RTE_CACHE_LINE_SIZE, w->base.socket_id);
	if (w->qps_mem == NULL)
		return -ENOMEM;
	return pmv_idmap_init(&w->qps, w->qps_mem, nb, (uint32_t)w->base.index << bits, bits, seed);
}

int
pmv_roce_worker_init(struct pmv_worker *base, const struct pmv_worker_param *param)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	int rc;

	w->dev = (struct pmv_roce_device *)base->device;
	w->ticks_per_us = RTE_MAX(base->device->ticks_per_sec / 1000000, 1ull);
	pmv_random_init(&w->random, pmv_random_next64(&w->dev->random));
	pmv_roce_spare_init(&w->spare, base->pool);
	w->l3_off = PMV_ETH_LEN + (base->device->param.vlan_id != 0 ? PMV_VLAN_LEN : 0);
	TAILQ_INIT(&w->run);
	TAILQ_INIT(&w->acks);
	TAILQ_INIT(&w->fresh);
	TAILQ_INIT(&w->all);
	TAILQ_INIT(&w->noticed);
	pmv_roce_stamp_init(&w->stamp);
	/* The first turn may bring any time, that of a simulation too: a jump costs nothing. */
	pmv_wheel_init(&w->wheel, base->now, w->ticks_per_us);
	rc = qps_init(w, param->qp_max, pmv_random_next64(&w->random));
	if (rc == 0)
		rc = pmv_roce_attach_init(w);
	if (rc == 0) {
		w->ack_pool = pmv_roce_ack_pool_get(base->socket_id);
		rc = w->ack_pool == NULL ? -ENOMEM : 0;
	}
	if (rc < 0)
		pmv_roce_worker_fini(base);
	return rc;
}

static void
held_drop(struct pmv_roce_worker *w, enum pmv_fault_dir dir)
{
	struct rte_mbuf *m[PMV_ROCE_RX_BURST];
	uint32_t nb;

	while ((nb = pmv_roce_fault_due(w, dir, UINT64_MAX, m, RTE_DIM(m))) > 0)
		rte_pktmbuf_free_bulk(m, nb);
}

void
pmv_roce_worker_fini(struct pmv_worker *base)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	struct pmv_roce_tx *tx = &w->tx;

	if (w->fault != NULL) {
		held_drop(w, PMV_FAULT_RX);
		held_drop(w, PMV_FAULT_TX);
		pmv_roce_fault_free(w);
	}
	for (; tx->head != tx->tail; tx->head++)
		rte_pktmbuf_free(tx->ring[tx->head & (PMV_ROCE_TX_RING - 1)]);
	rte_pktmbuf_free_bulk(w->looped, w->nb_looped);
	w->nb_looped = 0;
	pmv_roce_spare_drop(&w->spare);
	pmv_roce_attach_fini(w);
	pmv_roce_ack_pool_put(w->ack_pool);
	w->ack_pool = NULL;
	rte_free(w->qps_mem);
	w->qps_mem = NULL;
}

static void
qp_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	TAILQ_REMOVE(&w->run, qp, run_link);
	qp->on_run = false;
	if (qp->base.type == PMV_QPT_UD) {
		pmv_roce_ud_run(w, qp);
		return;
	}
	if (qp->base.type == PMV_QPT_UC) {
		pmv_roce_uc_run(w, qp);
		return;
	}
	if (unlikely(qp->paced) && qp->pace.answers_last) {
		pmv_roce_requester_run(w, qp);
		pmv_roce_responder_run(w, qp);
		return;
	}
	pmv_roce_responder_run(w, qp);
	pmv_roce_requester_run(w, qp);
}

/* The list is not empty. Each QP that was on the list when the turn began gets one go; it puts
 * itself behind again. */
static __rte_noinline void
qps_run(struct pmv_roce_worker *w)
{
	struct pmv_roce_qp *last, *qp;

	last = TAILQ_LAST(&w->run, pmv_roce_run_list);
	for (uint32_t i = 0; i < TURN_QPS_MAX && !TAILQ_EMPTY(&w->run); i++) {
		qp = TAILQ_FIRST(&w->run);
		qp_run(w, qp);
		if (qp == last)
			break;
	}
}

/* Frames that were held back until `now` go on their way. */
static __rte_noinline void
faults_run(struct pmv_roce_worker *w, uint64_t now)
{
	struct rte_mbuf *m[PMV_ROCE_RX_BURST];
	uint32_t nb;

	nb = pmv_roce_fault_due(w, PMV_FAULT_RX, now, m, RTE_DIM(m));
	for (uint32_t i = 0; i < nb; i++)
		pmv_roce_rx_late(w, m[i]);
	if (nb > 0)
		pmv_roce_ack_flush(w);
	nb = pmv_roce_fault_due(w, PMV_FAULT_TX, now, m, RTE_DIM(m));
	for (uint32_t i = 0; i < nb; i++)
		pmv_roce_tx_put(w, m[i]);
}

void
pmv_roce_worker_run(struct pmv_worker *base)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);

	if (unlikely(w->cq_overrun))
		pmv_roce_qp_cq_overrun(w);
	if (unlikely(base->no_rx)) /* owed for frames that were handed over */
		pmv_roce_ack_flush(w);
	if (w->attach.out_head != w->attach.out_tail)
		pmv_roce_attach_collect(w);
	pmv_roce_retry_run(w);
	if (unlikely(!TAILQ_EMPTY(&w->run)))
		qps_run(w);
	if (unlikely(w->nb_looped > 0))
		pmv_roce_rx_looped(w);
	if (unlikely(w->fault != NULL))
		faults_run(w, base->now);
	if (w->tx.head != w->tx.tail)
		pmv_roce_tx_flush(w);
	if (unlikely(!TAILQ_EMPTY(&w->noticed)))
		pmv_roce_cq_notify(w);
}

void
pmv_roce_worker_ctl_send(struct pmv_worker *base, struct rte_mbuf *m)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);

	if (unlikely(!pmv_roce_tx_ctl_room(&w->tx))) {
		w->stats.tx_ctl_drop++;
		rte_pktmbuf_free(m);
		return;
	}
	w->stats.tx_ctl++;
	pmv_roce_tx_stage(w, m);
}

uint32_t
pmv_roce_worker_flush(struct pmv_worker *base)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);

	pmv_roce_ack_flush(w);
	return pmv_roce_tx_flush(w);
}

bool
pmv_roce_worker_idle(const struct pmv_worker *base)
{
	const struct pmv_roce_worker *w = (const struct pmv_roce_worker *)base;

	return w->tx.head == w->tx.tail && w->nb_looped == 0 && TAILQ_EMPTY(&w->acks) &&
	       w->attach.out_head == w->attach.out_tail && pmv_roce_fault_held(w) == 0;
}

int
pmv_roce_worker_fault_clear(struct pmv_worker *base)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);

	if (w->fault == NULL)
		return 0;
	pmv_roce_fault_disarm(w); /* what they lead to is not held again */
	while (pmv_roce_fault_held(w) > 0)
		faults_run(w, UINT64_MAX);
	pmv_roce_fault_free(w);
	return 0;
}
