// SPDX-License-Identifier: BSD-3-Clause
/*
 * Transitions of a worker's owner word: detached, attached, claimed. Called on any thread; see
 * owner.h.
 */
#include "lib/lcore/owner.h"

#include <sched.h>
#include <time.h>

#include "lib/util/assert.h"

/* Detached -> word. False, and the word that is there, when somebody has it. */
static bool
take(struct pmv_worker *w, uint64_t word, uint64_t *ret_found)
{
	*ret_found = PMV_LCORE_OWNER_NONE;
	return __atomic_compare_exchange_n(
		&w->owner, ret_found, word, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void
pmv_lcore_owner_wait(uint32_t *nb_waits)
{
	const struct timespec moment = { .tv_nsec = 20000 };

	if (++*nb_waits < 64)
		sched_yield();
	else
		nanosleep(&moment, NULL);
}

int
pmv_lcore_owner_attach(struct pmv_worker *w)
{
	uint64_t self = pmv_lcore_owner_self();
	uint32_t nb_waits = 0;
	uint64_t found;

	while (!take(w, self, &found)) {
		if (!(found & PMV_LCORE_OWNER_CLAIM))
			return -EBUSY;
		PMV_ASSERT(found != (self | PMV_LCORE_OWNER_CLAIM));
		pmv_lcore_owner_wait(&nb_waits);
	}
	return 0;
}

int
pmv_lcore_owner_detach(struct pmv_worker *w)
{
	if (!pmv_lcore_owner_is_attached_here(w))
		return -EPERM;
	__atomic_store_n(&w->owner, PMV_LCORE_OWNER_NONE, __ATOMIC_RELEASE);
	return 0;
}

int
pmv_lcore_owner_claim(struct pmv_worker *w)
{
	uint64_t found;

	return take(w, pmv_lcore_owner_self() | PMV_LCORE_OWNER_CLAIM, &found) ? 0 : -EBUSY;
}

void
pmv_lcore_owner_unclaim(struct pmv_worker *w)
{
	PMV_ASSERT(__atomic_load_n(&w->owner, __ATOMIC_RELAXED) ==
		   (pmv_lcore_owner_self() | PMV_LCORE_OWNER_CLAIM));
	__atomic_store_n(&w->owner, PMV_LCORE_OWNER_NONE, __ATOMIC_RELEASE);
}

bool
pmv_lcore_owner_is_quiet(struct pmv_worker *w)
{
	/*
	 * A read-modify-write, not a load: either it comes before the compare-exchange of a later
	 * attach, which then acquires what we wrote before, or after it and we see the new owner. A
	 * load could miss both.
	 */
	uint64_t owner = __atomic_fetch_or(&w->owner, 0, __ATOMIC_ACQ_REL);

	return owner == PMV_LCORE_OWNER_NONE || owner == pmv_lcore_owner_self();
}

bool
pmv_lcore_owner_all_quiet(struct pmv_worker *self, uint64_t epoch)
{
	struct pmv_device *dev = self->device;

	for (uint32_t i = 0; i < dev->param.nb_workers; i++) {
		struct pmv_seat *seat = &dev->seat[i];
		uint64_t owner;

		if (seat == self->seat)
			continue;
		/* a read-modify-write, as above; its partner is the exchange in pmv_worker_attach()
		 */
		owner = __atomic_fetch_or(&seat->owner, 0, __ATOMIC_ACQ_REL);
		if (owner == PMV_LCORE_OWNER_NONE || owner == pmv_lcore_owner_self())
			continue;
		/* Acquire: what the turns before did to the memory is done. */
		if (__atomic_load_n(&seat->epoch_seen, __ATOMIC_ACQUIRE) < epoch)
			return false;
	}
	return true;
}
