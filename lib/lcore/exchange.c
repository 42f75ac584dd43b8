// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rings for frames that change lcores; see exchange.h. Full rings drop and count, they never wait:
 * the transport above retransmits, and so does the connection manager.
 */
#include "lib/lcore/exchange.h"

#include <errno.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "lib/lcore/mailbox.h"
#include "lib/lcore/ring.h"

/* Frames taken from one ring in one turn. */
#define BURST 32u

/* What leads to and from the worker of one index. Pointers are set once (release), then constant.
 */
struct lane {
	struct pmv_lcore_ring
		*from[PMV_WORKERS_MAX]; /* frames handed over, by source; NULL at its own index */
	struct pmv_lcore_ring *ctl_in;  /* to the connection manager */
	struct pmv_lcore_ring *ctl_out; /* from it */
	bool open;                      /* a worker of this index exists; atomic */
	bool polled;                    /* and some thread attached it; atomic */
};

struct pmv_exchange {
	uint16_t nb_workers;
	struct lane lane[PMV_WORKERS_MAX];
};

int
pmv_lcore_exchange_create(struct pmv_device *dev)
{
	dev->exchange = rte_zmalloc_socket(
		"pmv_exchange", sizeof(*dev->exchange), RTE_CACHE_LINE_SIZE, dev->socket_id);
	if (dev->exchange == NULL)
		return -ENOMEM;
	dev->exchange->nb_workers = dev->param.nb_workers;
	return 0;
}

/* Consumer's side of r, or nobody is left. */
static void
purge(struct pmv_lcore_ring *r)
{
	void *m;

	while (r != NULL && pmv_lcore_ring_pop(r, &m, 1) == 1)
		rte_pktmbuf_free(m);
}

void
pmv_lcore_exchange_destroy(struct pmv_device *dev)
{
	struct pmv_exchange *ex = dev->exchange;
	struct lane *l;
	uint32_t i, j;

	if (ex == NULL)
		return;
	for (i = 0; i < ex->nb_workers; i++) {
		l = &ex->lane[i];
		for (j = 0; j < ex->nb_workers; j++) {
			purge(l->from[j]);
			pmv_lcore_ring_free(l->from[j]);
		}
		purge(l->ctl_in);
		pmv_lcore_ring_free(l->ctl_in);
		purge(l->ctl_out);
		pmv_lcore_ring_free(l->ctl_out);
	}
	rte_free(ex);
	dev->exchange = NULL;
}

/* Makes *slot unless it is there. The release pairs with the acquires of `open` and of ctl_in. */
static int
make_ring(struct pmv_lcore_ring **slot, uint32_t nb_slots, int socket_id)
{
	struct pmv_lcore_ring *r;

	if (*slot != NULL)
		return 0;
	r = pmv_lcore_ring_create(nb_slots, socket_id);
	__atomic_store_n(slot, r, __ATOMIC_RELEASE);
	return r == NULL ? -ENOMEM : 0;
}

int
pmv_lcore_exchange_open(struct pmv_worker *w)
{
	struct pmv_exchange *ex = w->device->exchange;
	struct lane *l = &ex->lane[w->index];
	int rc = 0;
	uint32_t i;

	/* With one worker there is nobody to hand over to; the loop makes nothing. */
	for (i = 0; i < ex->nb_workers && rc == 0; i++) {
		if (i != w->index)
			rc = make_ring(
				&l->from[i], PMV_LCORE_EXCHANGE_HANDOVER_SLOTS, w->socket_id);
	}
	if (rc == 0)
		rc = make_ring(&l->ctl_in, PMV_LCORE_EXCHANGE_CTL_SLOTS, w->socket_id);
	if (rc == 0)
		rc = make_ring(&l->ctl_out, PMV_LCORE_EXCHANGE_CTL_SLOTS, w->socket_id);
	if (rc == 0)
		__atomic_store_n(&l->open, true, __ATOMIC_RELEASE);
	return rc;
}

void
pmv_lcore_exchange_close(struct pmv_worker *w)
{
	struct pmv_exchange *ex = w->device->exchange;
	struct lane *l = &ex->lane[w->index];
	uint32_t i;

	__atomic_store_n(&l->open, false, __ATOMIC_RELEASE);
	/* A turn of another worker may still add a frame: the next worker of this index finds it,
	 * or the end. */
	for (i = 0; i < ex->nb_workers; i++)
		purge(l->from[i]);
	purge(l->ctl_out);
}

void
pmv_lcore_exchange_set_polled(struct pmv_worker *w, bool polled)
{
	__atomic_store_n(&w->device->exchange->lane[w->index].polled, polled, __ATOMIC_RELAXED);
}

void
pmv_lcore_exchange_handover(struct pmv_worker *w, uint16_t target, struct rte_mbuf *m)
{
	struct pmv_exchange *ex = w->device->exchange;
	struct pmv_lcore_counters *c = pmv_lcore_mailbox_counters(w);
	struct lane *l = &ex->lane[target < ex->nb_workers ? target : 0];

	if (target < ex->nb_workers && target != w->index &&
		__atomic_load_n(&l->open, __ATOMIC_ACQUIRE) &&
		pmv_lcore_ring_push(l->from[w->index], m)) {
		pmv_lcore_count(&c->handover_tx, 1);
		return;
	}
	rte_pktmbuf_free(m);
	pmv_lcore_count(&c->handover_drop, 1);
}

void
pmv_lcore_exchange_ctl_input(struct pmv_worker *w, struct rte_mbuf *m)
{
	struct pmv_lcore_counters *c = pmv_lcore_mailbox_counters(w);
	struct lane *l = &w->device->exchange->lane[w->index];

	if (__atomic_load_n(&w->device->ctl, __ATOMIC_ACQUIRE) == NULL) {
		pmv_lcore_count(&c->ctl_rx_drop_no_cm, 1);
	} else if (pmv_lcore_ring_push(l->ctl_in, m)) {
		pmv_lcore_count(&c->ctl_rx, 1);
		return;
	} else {
		pmv_lcore_count(&c->ctl_rx_drop_full, 1);
	}
	rte_pktmbuf_free(m);
}

/* Frames that other workers handed over. */
static __rte_noinline uint32_t
take_handed(struct pmv_worker *w, struct lane *l)
{
	struct pmv_exchange *ex = w->device->exchange;
	void *frames[BURST];
	uint32_t nb_handed = 0;

	for (uint32_t i = 0; i < ex->nb_workers; i++) {
		uint32_t nb;

		if (i == w->index)
			continue;
		nb = pmv_lcore_ring_pop(l->from[i], frames, BURST);
		for (uint32_t k = 0; k < nb; k++)
			w->ops->worker_frame(w, frames[k]);
		nb_handed += nb;
	}
	if (nb_handed > 0)
		pmv_lcore_count(&pmv_lcore_mailbox_counters(w)->handover_rx, nb_handed);
	return nb_handed;
}

/* Frames of the connection manager. */
static __rte_noinline void
take_ctl(struct pmv_worker *w, struct lane *l)
{
	void *frames[BURST];
	uint32_t nb = pmv_lcore_ring_pop(l->ctl_out, frames, BURST);

	for (uint32_t k = 0; k < nb; k++)
		w->ops->worker_ctl_send(w, frames[k]);
	pmv_lcore_count(&pmv_lcore_mailbox_counters(w)->ctl_tx, nb);
}

uint32_t
pmv_lcore_exchange_run(struct pmv_worker *w)
{
	struct pmv_exchange *ex = w->device->exchange;
	struct lane *l = &ex->lane[w->index];
	uint32_t nb_handed = 0;

	if (ex->nb_workers > 1)
		nb_handed = take_handed(w, l);
	if (unlikely(pmv_lcore_ring_count(l->ctl_out) != 0))
		take_ctl(w, l);
	return nb_handed;
}

uint32_t
pmv_lcore_exchange_ctl_recv(
	struct pmv_exchange *ex, uint16_t index, struct rte_mbuf **mbufs, uint32_t nb)
{
	struct pmv_lcore_ring *r = __atomic_load_n(&ex->lane[index].ctl_in, __ATOMIC_ACQUIRE);

	/* Not `open`: a worker that is gone may have left frames. */
	return r == NULL ? 0 : pmv_lcore_ring_pop(r, (void **)mbufs, nb);
}

int
pmv_lcore_exchange_ctl_send(struct pmv_exchange *ex, uint16_t hint, struct rte_mbuf *m)
{
	struct lane *chosen = NULL;
	struct lane *l;
	uint32_t i;

	if (hint >= ex->nb_workers)
		hint = 0;
	for (i = 0; i < ex->nb_workers; i++) {
		l = &ex->lane[(hint + i) % ex->nb_workers];
		if (!__atomic_load_n(&l->open, __ATOMIC_ACQUIRE))
			continue;
		if (chosen == NULL)
			chosen = l;
		if (__atomic_load_n(&l->polled, __ATOMIC_RELAXED)) {
			chosen = l;
			break;
		}
	}
	if (chosen == NULL)
		return -ENODEV;
	return pmv_lcore_ring_push(chosen->ctl_out, m) ? 0 : -EAGAIN;
}
