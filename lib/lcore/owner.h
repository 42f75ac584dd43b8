// SPDX-License-Identifier: BSD-3-Clause
/*
 * Who owns a worker: struct pmv_worker.owner holds 0 (detached), a thread id (attached), or a
 * thread id with the CLAIM bit (a control thread commits something to a detached worker and lets go
 * at once). Used by lib/lcore and lib/verbs, on any thread. It does not run commands: enter and
 * leave of mailbox.h do.
 *
 * Barriers: taking the word is a compare-exchange with acquire, giving it up is a store with
 * release. So whatever one owner wrote to the worker is seen by the next, whether lcore or control
 * thread.
 */
#ifndef PMV_LCORE_OWNER_H
#define PMV_LCORE_OWNER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_eal.h>

#include "lib/driver/pmv_driver.h"

#define PMV_LCORE_OWNER_NONE  0ull
#define PMV_LCORE_OWNER_CLAIM (1ull << 32)

/* Id of the calling thread, never 0; EAL thread or not. A system call once in a thread's life. */
static inline uint64_t
pmv_lcore_owner_self(void)
{
	return (uint32_t)rte_gettid();
}

/* The calling thread has the worker, attached or by a claim. */
static inline bool
pmv_lcore_owner_is_self(const struct pmv_worker *w)
{
	uint64_t owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);

	return (owner & ~PMV_LCORE_OWNER_CLAIM) == pmv_lcore_owner_self();
}

/* The calling thread attached the worker. */
static inline bool
pmv_lcore_owner_is_attached_here(const struct pmv_worker *w)
{
	return __atomic_load_n(&w->owner, __ATOMIC_RELAXED) == pmv_lcore_owner_self();
}

/* Some thread attached the worker. A snapshot unless the caller is that thread. */
static inline bool
pmv_lcore_owner_is_attached(const struct pmv_worker *w)
{
	uint64_t owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);

	return owner != PMV_LCORE_OWNER_NONE && !(owner & PMV_LCORE_OWNER_CLAIM);
}

/* The caller may touch what belongs to the owner: for assertions. */
static inline bool
pmv_lcore_owner_may_act(const struct pmv_worker *w)
{
	return !pmv_lcore_owner_is_attached(w) || pmv_lcore_owner_is_attached_here(w);
}

/*
 * Between two looks at a claim that another thread has. It lasts a few commands, but its thread may
 * be waiting for our core: first the core is offered, then, since a real-time thread offers it only
 * to its equals, given up for a moment.
 */
void pmv_lcore_owner_wait(uint32_t *nb_waits);

/*
 * Detached -> attached to the calling thread. Waits while another thread has a short claim. 0;
 * -EBUSY: attached, here or elsewhere. Control path.
 */
int pmv_lcore_owner_attach(struct pmv_worker *w);

/* Attached here -> detached. 0; -EPERM: not attached here. */
int pmv_lcore_owner_detach(struct pmv_worker *w);

/* Detached -> claimed by the calling thread, without waiting. 0; -EBUSY. To be given up by unclaim
 * at once. */
int pmv_lcore_owner_claim(struct pmv_worker *w);
void pmv_lcore_owner_unclaim(struct pmv_worker *w);

/*
 * True when nothing the owner did before this call can still be going on, and whoever attaches
 * later sees what the caller wrote before: the worker is detached, or attached by the calling
 * thread. Control path (a read-modify-write).
 */
bool pmv_lcore_owner_is_quiet(struct pmv_worker *w);

/*
 * The same, asked of every worker of a device but `self` and without the device's lock: it has no
 * owner, its owner is the calling thread, or it has begun a turn that saw `epoch`. Control path and
 * work requests that end keys.
 */
bool pmv_lcore_owner_all_quiet(struct pmv_worker *self, uint64_t epoch);

#endif
