// SPDX-License-Identifier: BSD-3-Clause
/*
 * Commands from control threads to the owner of a worker. Senders on any thread, under the
 * mailbox's mutex; commits on the owner lcore, or on a control thread that claimed a detached
 * worker. See mailbox.h for order and replies.
 */
#include "lib/lcore/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "lib/lcore/owner.h"
#include "lib/lcore/ring.h"
#include "lib/util/assert.h"

#define DRAIN_BURST 16u

/* A command that nobody polls; freed by a later post, once it is done. */
struct post {
	struct pmv_op op;
	STAILQ_ENTRY(post) next;
};

struct pmv_mailbox {
	struct pmv_lcore_ring
		*ring; /* of struct pmv_op; producer: under lock, consumer: the owner */
	uint32_t nb_slots;
	pthread_mutex_t lock;      /* of senders among themselves */
	STAILQ_HEAD(, post) posts; /* oldest first, so in the order they get done; under lock */
	struct pmv_lcore_counters counters;
};

_Static_assert(sizeof(struct pmv_op) <= 128, "public: users embed it");

int
pmv_lcore_mailbox_create(struct pmv_worker *w, uint32_t nb_reserved)
{
	struct pmv_mailbox *mb;

	mb = rte_zmalloc_socket("pmv_mailbox", sizeof(*mb), RTE_CACHE_LINE_SIZE, w->socket_id);
	if (mb == NULL)
		return -ENOMEM;
	mb->ring = pmv_lcore_ring_create(PMV_LCORE_MAILBOX_OPS_MAX + nb_reserved, w->socket_id);
	if (mb->ring == NULL) {
		rte_free(mb);
		return -ENOMEM;
	}
	mb->nb_slots = mb->ring->mask + 1;
	pthread_mutex_init(&mb->lock, NULL);
	STAILQ_INIT(&mb->posts);
	w->mailbox = mb;
	return 0;
}

/* Frees posts that were committed. They are committed in order, so the first that is not ends it.
 */
static void
reap_posts(struct pmv_mailbox *mb)
{
	struct post *p;

	while ((p = STAILQ_FIRST(&mb->posts)) != NULL &&
		__atomic_load_n(&p->op.state, __ATOMIC_ACQUIRE) == PMV_LCORE_OP_DONE) {
		STAILQ_REMOVE_HEAD(&mb->posts, next);
		free(p);
	}
}

void
pmv_lcore_mailbox_destroy(struct pmv_worker *w)
{
	struct pmv_mailbox *mb = w->mailbox;

	if (mb == NULL)
		return;
	pmv_lcore_mailbox_drain(w, UINT32_MAX);
	reap_posts(mb);
	PMV_ASSERT(STAILQ_EMPTY(&mb->posts));
	pthread_mutex_destroy(&mb->lock);
	pmv_lcore_ring_free(mb->ring);
	rte_free(mb);
	w->mailbox = NULL;
}

/* After the state is "done" the record is its submitter's again: it must not be touched. */
static void
commit(struct pmv_op *op)
{
	op->commit(op);
	__atomic_store_n(&op->state, PMV_LCORE_OP_DONE, __ATOMIC_RELEASE);
}

static __rte_noinline uint32_t
drain(struct pmv_mailbox *mb, uint32_t nb_max)
{
	void *ops[DRAIN_BURST];
	uint32_t nb_done = 0;

	while (nb_done < nb_max) {
		uint32_t nb =
			pmv_lcore_ring_pop(mb->ring, ops, RTE_MIN(nb_max - nb_done, DRAIN_BURST));

		for (uint32_t i = 0; i < nb; i++)
			commit(ops[i]);
		nb_done += nb;
	}
	pmv_lcore_count(&mb->counters.commands, nb_done);
	return nb_done;
}

uint32_t
pmv_lcore_mailbox_drain(struct pmv_worker *w, uint32_t nb_max)
{
	struct pmv_mailbox *mb = w->mailbox;
	/* Not more than there are now: a sender that never stops does not hold us here. */
	uint32_t nb = pmv_lcore_ring_count(mb->ring);

	return likely(nb == 0) ? 0 : drain(mb, RTE_MIN(nb, nb_max));
}

int
pmv_lcore_mailbox_enter(struct pmv_worker *w)
{
	uint64_t self = pmv_lcore_owner_self();
	uint32_t nb_waits = 0;
	uint64_t owner;

	for (;;) {
		owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);
		/* A commit never enters: it would leave its own claim. */
		PMV_ASSERT(owner != (self | PMV_LCORE_OWNER_CLAIM));
		if (owner == self || pmv_lcore_owner_claim(w) == 0)
			break;
		owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);
		if (owner != PMV_LCORE_OWNER_NONE && !(owner & PMV_LCORE_OWNER_CLAIM))
			return -EPERM;
		pmv_lcore_owner_wait(&nb_waits);
	}
	pmv_lcore_mailbox_drain(w, UINT32_MAX);
	return 0;
}

void
pmv_lcore_mailbox_leave(struct pmv_worker *w)
{
	if (!pmv_lcore_owner_is_attached_here(w))
		pmv_lcore_owner_unclaim(w);
}

/* Commits op now if this thread may act as the owner. */
static bool
commit_here(struct pmv_worker *w, struct pmv_op *op)
{
	if (pmv_lcore_mailbox_enter(w) < 0)
		return false;
	commit(op);
	pmv_lcore_count(&w->mailbox->counters.commands, 1);
	pmv_lcore_mailbox_leave(w);
	return true;
}

/* nb_max: entries the ring may hold after it. */
static int
push(struct pmv_mailbox *mb, struct pmv_op *op, uint32_t nb_max)
{
	if (mb->nb_slots - pmv_lcore_ring_room(mb->ring) >= nb_max)
		return -EAGAIN;
	op->state = PMV_LCORE_OP_SUBMITTED;
	pmv_lcore_ring_push(mb->ring, op);
	return 0;
}

int
pmv_lcore_mailbox_submit(struct pmv_worker *w, struct pmv_op *op)
{
	struct pmv_mailbox *mb = w->mailbox;
	int rc;

	if (__atomic_load_n(&op->state, __ATOMIC_ACQUIRE) != PMV_LCORE_OP_IDLE)
		return -EBUSY;
	op->worker = w;
	op->result = 0;
	if (commit_here(w, op))
		return 0;
	pthread_mutex_lock(&mb->lock);
	rc = push(mb, op, PMV_LCORE_MAILBOX_OPS_MAX);
	pthread_mutex_unlock(&mb->lock);
	return rc;
}

int
pmv_lcore_mailbox_post(struct pmv_worker *w, void (*commit_cb)(struct pmv_op *op), void *object,
	const uint64_t *args, uint32_t nb_args)
{
	struct pmv_mailbox *mb = w->mailbox;
	struct pmv_op op = { .commit = commit_cb, .worker = w, .object = object };
	struct post *p;
	int rc;

	PMV_ASSERT(nb_args <= RTE_DIM(op.arg));
	if (nb_args > 0)
		memcpy(op.arg, args, nb_args * sizeof(args[0]));
	if (commit_here(w, &op))
		return 0;
	p = malloc(sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->op = op;
	pthread_mutex_lock(&mb->lock);
	reap_posts(mb);
	rc = push(mb, &p->op, mb->nb_slots);
	if (rc == 0)
		STAILQ_INSERT_TAIL(&mb->posts, p, next);
	pthread_mutex_unlock(&mb->lock);
	if (rc < 0)
		free(p);
	return rc;
}

uint32_t
pmv_lcore_mailbox_room(struct pmv_worker *w)
{
	struct pmv_mailbox *mb = w->mailbox;
	uint32_t nb;

	pthread_mutex_lock(&mb->lock);
	nb = pmv_lcore_ring_room(mb->ring);
	pthread_mutex_unlock(&mb->lock);
	return nb;
}

struct pmv_lcore_counters *
pmv_lcore_mailbox_counters(const struct pmv_worker *w)
{
	return &w->mailbox->counters;
}

/* The worker may have been detached with op in its mailbox, or before it got there: nobody would
 * look. */
static void
commit_for_nobody(struct pmv_worker *w)
{
	if (pmv_lcore_owner_is_attached_here(w)) {
		pmv_lcore_mailbox_drain(w, UINT32_MAX);
	} else if (pmv_lcore_owner_claim(w) == 0) {
		pmv_lcore_mailbox_drain(w, UINT32_MAX);
		pmv_lcore_owner_unclaim(w);
	}
}

int
pmv_op_poll(struct pmv_op *op)
{
	void (*finish)(struct pmv_op * op);
	uint32_t state;
	int result;

	if (op == NULL)
		return -EINVAL;
	state = __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
	if (state == PMV_LCORE_OP_SUBMITTED) {
		commit_for_nobody(op->worker);
		state = __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
	}
	if (state == PMV_LCORE_OP_SUBMITTED)
		return -EINPROGRESS;
	if (state == PMV_LCORE_OP_IDLE)
		return op->result;
	finish = op->finish;
	op->finish = NULL;
	op->state = PMV_LCORE_OP_IDLE;
	if (finish == NULL)
		return op->result;
	/* finish may free what op is embedded in, unless it only releases the object: the result
	 * comes first. */
	result = op->result;
	finish(op);
	return result;
}
