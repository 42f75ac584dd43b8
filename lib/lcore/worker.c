// SPDX-License-Identifier: BSD-3-Clause
/*
 * A worker's turn, and who may run it. The turn belongs to the owner lcore: no lock, no system
 * call, no allocation, no read-modify-write; it reads the clock once. Attach and detach are control
 * path.
 */
#include "lib/lcore/worker.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "lib/lcore/exchange.h"
#include "lib/lcore/mailbox.h"
#include "lib/lcore/owner.h"
#include "lib/lcore/placement.h"
#include "lib/util/assert.h"
#include "lib/util/log.h"

/* Commands committed in one turn: a burst of connects must not hold up the data. */
#define TURN_COMMANDS 32u

static const struct pmv_host_ops host_ops = {
	.ctl_input = pmv_lcore_exchange_ctl_input,
	.handover = pmv_lcore_exchange_handover,
	.is_quiet = pmv_lcore_owner_all_quiet,
};

int
pmv_lcore_worker_init(struct pmv_worker *w, uint32_t nb_reserved)
{
	int rc;

	w->ops = w->device->driver->ops;
	w->host = &host_ops;
	w->owner = PMV_LCORE_OWNER_NONE;
	w->seat = &w->device->seat[w->index];
	TAILQ_INIT(&w->events);
	rc = pmv_lcore_mailbox_create(w, nb_reserved);
	if (rc < 0)
		return rc;
	rc = pmv_lcore_exchange_open(w);
	if (rc < 0)
		pmv_lcore_mailbox_destroy(w);
	return rc;
}

void
pmv_lcore_worker_fini(struct pmv_worker *w)
{
	pmv_lcore_exchange_close(w);
	pmv_lcore_mailbox_destroy(w);
}

int
pmv_worker_attach(struct pmv_worker *w)
{
	int rc;

	if (PMV_ANY_NULL("worker_attach", "worker", w))
		return -EINVAL;
	rc = pmv_lcore_owner_attach(w);
	if (rc < 0)
		return pmv_log_refuse(rc, "worker_attach: port %u worker %u: attached already",
			w->device->port_id, w->index);
	/* An exchange: see pmv_lcore_owner_all_quiet(). */
	__atomic_exchange_n(&w->seat->owner, pmv_lcore_owner_self(), __ATOMIC_ACQ_REL);
	pmv_lcore_exchange_set_polled(w, true);
	pmv_lcore_placement_check(
		w->device, PMV_LCORE_PLACEMENT_LCORE, pmv_lcore_placement_of_thread());
	return 0;
}

int
pmv_worker_detach(struct pmv_worker *w)
{
	if (PMV_ANY_NULL("worker_detach", "worker", w))
		return -EINVAL;
	if (!pmv_lcore_owner_is_attached_here(w))
		return pmv_log_refuse(-EPERM,
			"worker_detach: port %u worker %u: this thread did not attach it",
			w->device->port_id, w->index);
	pmv_lcore_exchange_set_polled(w, false);
	pmv_lcore_mailbox_drain(w, UINT32_MAX);
	w->ops->worker_flush(w);
	__atomic_store_n(&w->seat->owner, PMV_LCORE_OWNER_NONE, __ATOMIC_RELEASE);
	return pmv_lcore_owner_detach(w);
}

uint32_t
pmv_worker_poll_at(struct pmv_worker *w, uint64_t now)
{
	uint32_t nb;

	PMV_ASSERT(pmv_lcore_owner_is_attached_here(w));
	/*
	 * Keys: the acquire pairs with the release in dereg, so this turn sees every key of that
	 * epoch dead; the release pairs with dereg's acquire, so it knows that the turns before are
	 * over.
	 */
	__atomic_store_n(&w->seat->epoch_seen, __atomic_load_n(&w->device->epoch, __ATOMIC_ACQUIRE),
		__ATOMIC_RELEASE);
	w->turn++;
	if (now > w->now)
		w->now = now;
	pmv_lcore_mailbox_drain(w, TURN_COMMANDS);
	nb = pmv_lcore_exchange_run(w);
	if (!w->no_rx)
		nb += w->ops->worker_rx(w);
	w->ops->worker_run(w);
	return nb;
}

uint32_t
pmv_worker_poll(struct pmv_worker *w)
{
	return pmv_worker_poll_at(w, rte_rdtsc());
}

uint32_t
pmv_worker_input(
	struct pmv_worker *w, struct rte_mbuf **mbufs, uint32_t nb, struct rte_mbuf **foreign)
{
	PMV_ASSERT(pmv_lcore_owner_is_attached_here(w));
	return nb == 0 ? 0 : w->ops->worker_input(w, mbufs, nb, foreign);
}

uint32_t
pmv_worker_flush(struct pmv_worker *w)
{
	PMV_ASSERT(pmv_lcore_owner_is_attached_here(w));
	return w->ops->worker_flush(w);
}

struct pmv_device *
pmv_worker_get_device(const struct pmv_worker *w)
{
	return w->device;
}

uint16_t
pmv_worker_index(const struct pmv_worker *w)
{
	return w->index;
}
