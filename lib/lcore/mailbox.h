// SPDX-License-Identifier: BSD-3-Clause
/*
 * The way to a worker: commands from control threads (struct pmv_op), and the thread-safe way to
 * act as its owner for a moment. Senders are control threads and serialise on a mutex of the
 * mailbox; the receiver is whoever owns the worker and uses plain loads and stores. Used by
 * lib/verbs and cm. Frames travel by exchange.h.
 *
 * Order: commands are committed in the order they were submitted (FIFO per worker). A command that
 * is committed directly, because the caller owns the worker or the worker is detached, comes after
 * everything queued before.
 *
 * The reply is the state of the op (release by the committer, acquire by pmv_op_poll()): there is
 * no reply queue, so no reply can be lost.
 */
#ifndef PMV_LCORE_MAILBOX_H
#define PMV_LCORE_MAILBOX_H

#include <stdint.h>

#include "lib/api/pmv_op.h"
#include "lib/driver/pmv_driver.h"

/* Commands that control threads may have waiting in one worker's mailbox; one more is -EAGAIN. */
#define PMV_LCORE_MAILBOX_OPS_MAX 1024u

enum pmv_lcore_op_state {
	PMV_LCORE_OP_IDLE = 0,
	PMV_LCORE_OP_SUBMITTED = 1,
	PMV_LCORE_OP_DONE = 2,
};

/* Counters of lib/lcore for one worker; written by its owner (or claimant), read by anybody with
 * relaxed loads. */
struct pmv_lcore_counters {
	uint64_t commands;          /* committed */
	uint64_t ctl_rx;            /* frames given to the control lcore */
	uint64_t ctl_rx_drop_full;  /* its ring was full */
	uint64_t ctl_rx_drop_no_cm; /* no connection manager is attached to the device */
	uint64_t ctl_tx;            /* frames of the control lcore sent */
	uint64_t handover_tx;       /* frames handed over to other workers */
	uint64_t handover_rx;
	uint64_t handover_drop; /* the target's ring was full, or the target does not exist */
};

/*
 * Makes a worker's mailbox, for w->mailbox. nb_reserved: room for commands of the library itself
 * beyond PMV_LCORE_MAILBOX_OPS_MAX. 0; -ENOMEM. Destroy: nobody may use the worker any more; what
 * was posted is committed.
 */
int pmv_lcore_mailbox_create(struct pmv_worker *w, uint32_t nb_reserved);
void pmv_lcore_mailbox_destroy(struct pmv_worker *w);

/*
 * Hands op (commit, finish, object.. set, state idle) to the worker. Committed before the call
 * returns if the caller owns the worker or the worker is detached, else by the owner in its next
 * turn. op->result of a commit that does not set it is 0. Any thread. 0; -EAGAIN:
 * PMV_LCORE_MAILBOX_OPS_MAX commands wait already (op untouched); -EBUSY: op is submitted already.
 */
int pmv_lcore_mailbox_submit(struct pmv_worker *w, struct pmv_op *op);

/*
 * A command without a reply whose record belongs to the library (new QPs, changed neighbours):
 * commit(op) sees object and arg[0..nb_args-1]. As submit, but it may use the reserved room. 0;
 * -EAGAIN; -ENOMEM. Any thread.
 */
int pmv_lcore_mailbox_post(struct pmv_worker *w, void (*commit)(struct pmv_op *op), void *object,
	const uint64_t *args, uint32_t nb_args);

/* Room for this many posts, whatever happens, as long as nobody else posts (the device's lock sees
 * to that). */
uint32_t pmv_lcore_mailbox_room(struct pmv_worker *w);

/*
 * Lets the calling thread act as the owner: enter commits what is queued; between enter and leave
 * no other thread commits, attaches or polls. Inside, no call may take the device's lock. 0;
 * -EPERM: another thread attached the worker.
 */
int pmv_lcore_mailbox_enter(struct pmv_worker *w);
void pmv_lcore_mailbox_leave(struct pmv_worker *w);

/* Commits at most nb_max queued commands; returns how many. Owner lcore. */
uint32_t pmv_lcore_mailbox_drain(struct pmv_worker *w, uint32_t nb_max);

struct pmv_lcore_counters *pmv_lcore_mailbox_counters(const struct pmv_worker *w);

/* Adds to a counter: one writer, so a load and a store will do. */
static inline void
pmv_lcore_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
