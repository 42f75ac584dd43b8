// SPDX-License-Identifier: BSD-3-Clause
/*
 * Attached user memory and its way back: see attach.h. Owner lcore, but for the free callback,
 * which runs wherever a frame is freed.
 */
#include "drivers/roce/attach.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "drivers/roce/completion.h"
#include "drivers/roce/worker.h"
#include "lib/util/log.h"

#define SLOT_MASK   (PMV_ROCE_ATTACH_SLOTS - 1)
#define HOLE        UINT32_MAX /* in `out`: collected while an older frame was still away */
#define COLLECT_MAX 256u       /* frames collected in a turn */
#define SCAN_MAX    64u        /* entries looked at in a turn behind a frame that is late */
#define ASK_TURNS   64u        /* idle turns between two questions; a power of two */
#define ASK_MAX     64u        /* frames asked for at once */

_Static_assert((PMV_ROCE_ATTACH_SLOTS & SLOT_MASK) == 0, "indices are masked");

/* Line 1: owner lcore. Line 2 is also written by the lcore that frees the frame. */
struct pmv_roce_attach_slot {
	struct pmv_roce_mr *mr;
	uint32_t *frames_out;
	struct pmv_roce_qp *qp;
	struct rte_mbuf_ext_shared_info shinfo __rte_cache_aligned;
	uint32_t back; /* writer: the free callback 1 (release), the owner 0 */
} __rte_cache_aligned;

/* Slots of a worker; once it has ended, those of its frames that are still out. Then `next`, nb_out
 * and mr of the slots: under the device's lock. */
struct pmv_roce_attach_store {
	STAILQ_ENTRY(pmv_roce_attach_store) next;
	uint32_t nb_out;
	struct pmv_roce_attach_slot slot[PMV_ROCE_ATTACH_SLOTS]; /* mr NULL: not out */
};

static void
frame_back(void *addr, void *arg)
{
	struct pmv_roce_attach_slot *slot = arg;

	/* back-release: pairs with back-acquire in collect; the port's reads of the memory come
	 * before. */
	__atomic_store_n(&slot->back, 1, __ATOMIC_RELEASE);
}

/* Asks the port to free at most nb frames that it has sent. One that cannot frees them when it
 * likes, which may be never if nothing more is sent: no more are given to it. */
static void
ask_port(struct pmv_roce_worker *w, uint32_t nb)
{
	int rc = rte_eth_tx_done_cleanup(w->base.device->port_id, w->base.tx_queue, nb);

	if (rc >= 0)
		return;
	w->attach.ask = false; /* it would say so each time */
	if (rc == -ENOTSUP)
		w->attach.allowed = false;
}

/* Ports that read frames with the CPU free them at once, too. */
static void
ask_init(struct pmv_roce_worker *w)
{
	struct rte_eth_txq_info info;
	uint16_t port_id = w->base.device->port_id;

	w->attach.allowed = true;
	w->attach.ask = w->dev->reach == PMV_ROCE_REACH_EAL;
	/* A queue that is not set up yet must not be asked: then the first idle turn tells. */
	if (w->attach.ask && rte_eth_tx_queue_info_get(port_id, w->base.tx_queue, &info) == 0)
		ask_port(w, 1);
	if (!w->attach.allowed)
		PMV_LOG(NOTICE,
			"port %u: it cannot be asked for frames that it has sent: payloads are "
			"copied",
			port_id);
}

int
pmv_roce_attach_init(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;
	int socket_id = w->base.socket_id;

	memset(a, 0, sizeof(*a));
	a->store =
		rte_zmalloc_socket("pmv_attach", sizeof(*a->store), RTE_CACHE_LINE_SIZE, socket_id);
	a->free_list = rte_malloc_socket("pmv_attach", PMV_ROCE_ATTACH_SLOTS * sizeof(uint32_t),
		RTE_CACHE_LINE_SIZE, socket_id);
	a->out = rte_malloc_socket("pmv_attach", PMV_ROCE_ATTACH_SLOTS * sizeof(uint32_t),
		RTE_CACHE_LINE_SIZE, socket_id);
	if (a->store == NULL || a->free_list == NULL || a->out == NULL) {
		pmv_roce_attach_fini(w);
		return -ENOMEM;
	}
	a->slot = a->store->slot;
	a->bytes_min = w->base.device->param.attach_bytes_min;
	for (uint32_t i = 0; i < PMV_ROCE_ATTACH_SLOTS; i++)
		a->free_list[i] = PMV_ROCE_ATTACH_SLOTS - 1 - i;
	a->nb_free = PMV_ROCE_ATTACH_SLOTS;
	ask_init(w);
	return 0;
}

/* Raises or lowers the region's count of this worker's frames. The release pairs with
 * pmv_roce_mr_frames_out(). */
static inline void
mr_count(struct pmv_roce_worker *w, struct pmv_roce_mr *mr, int n)
{
	uint32_t *nb = &mr->frames_out[w->base.index].nb;

	__atomic_store_n(nb, *nb + (uint32_t)n, __ATOMIC_RELEASE);
}

int
pmv_roce_attach_bytes(struct pmv_roce_worker *w, struct rte_mbuf *m, uint8_t *ptr, uint32_t len,
	const struct pmv_roce_attach_for *owner)
{
	struct pmv_roce_attach *a = &w->attach;
	struct pmv_roce_attach_slot *slot;
	struct rte_mbuf *seg;
	uint32_t index;

	if (unlikely(a->nb_free == 0 || a->out_tail - a->out_head == PMV_ROCE_ATTACH_SLOTS)) {
		w->stats.attach_busy++;
		return -EAGAIN;
	}
	seg = pmv_roce_spare_take(&w->spare);
	if (unlikely(seg == NULL)) {
		w->stats.attach_busy++;
		return -EAGAIN;
	}
	index = a->free_list[--a->nb_free];
	slot = &a->slot[index];
	*slot = (struct pmv_roce_attach_slot){ .mr = owner->mr,
		.frames_out = owner->frames_out,
		.qp = owner->qp,
		.shinfo = { .free_cb = frame_back, .fcb_opaque = slot } };
	rte_mbuf_ext_refcnt_set(&slot->shinfo, 1);
	a->out[a->out_tail++ & SLOT_MASK] = index;
	if (owner->frames_out != NULL)
		(*owner->frames_out)++;
	mr_count(w, owner->mr, 1);
	rte_pktmbuf_attach_extbuf(
		seg, ptr, (uintptr_t)ptr + owner->mr->io_delta, (uint16_t)len, &slot->shinfo);
	seg->data_len = (uint16_t)len;
	rte_pktmbuf_lastseg(m)->next = seg;
	m->nb_segs++;
	m->pkt_len += len;
	w->stats.attached++;
	return 0;
}

/* Takes back the slot at position `at` of `out` if its frame is; false: it is not. */
static bool
collect_one(struct pmv_roce_worker *w, uint32_t at)
{
	struct pmv_roce_attach *a = &w->attach;
	uint32_t index = a->out[at & SLOT_MASK];
	struct pmv_roce_attach_slot *slot = &a->slot[index];
	struct pmv_roce_qp *qp;

	/* back-acquire: pairs with back-release in frame_back(). */
	if (!__atomic_load_n(&slot->back, __ATOMIC_ACQUIRE))
		return false;
	qp = slot->qp;
	mr_count(w, slot->mr, -1);
	a->out[at & SLOT_MASK] = HOLE;
	a->free_list[a->nb_free++] = index;
	if (slot->frames_out != NULL && --*slot->frames_out == 0 && qp != NULL)
		pmv_roce_completion_run(qp);
	return true;
}

/* The worker ends: what is home is collected, what is not is handed to the device. */
static void
leave(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;

	for (uint32_t i = 0; i < a->nb_free; i++)
		a->slot[a->free_list[i]].mr = NULL;
	for (uint32_t i = a->out_head; i != a->out_tail; i++) {
		uint32_t index = a->out[i & SLOT_MASK];
		struct pmv_roce_mr *mr;

		if (index == HOLE)
			continue;
		mr = a->slot[index].mr;
		if (collect_one(w, i)) {
			a->slot[index].mr = NULL;
			continue;
		}
		mr_count(w, mr, -1); /* the next worker of this index counts on its own */
		mr->orphans++;
		a->store->nb_out++;
	}
}

void
pmv_roce_attach_fini(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;

	if (a->slot != NULL)
		leave(w);
	if (a->store != NULL && a->store->nb_out > 0)
		STAILQ_INSERT_TAIL(&w->dev->orphans, a->store, next);
	else
		rte_free(a->store);
	rte_free(a->free_list);
	rte_free(a->out);
	memset(a, 0, sizeof(*a));
}

static void
reap_store(struct pmv_roce_attach_store *store)
{
	for (uint32_t i = 0; i < PMV_ROCE_ATTACH_SLOTS; i++) {
		struct pmv_roce_attach_slot *slot = &store->slot[i];

		/* back-acquire: as in collect_one() */
		if (slot->mr == NULL || !__atomic_load_n(&slot->back, __ATOMIC_ACQUIRE))
			continue;
		slot->mr->orphans--;
		slot->mr = NULL;
		store->nb_out--;
	}
}

void
pmv_roce_attach_reap(struct pmv_roce_device *dev)
{
	struct pmv_roce_attach_store *store, *after;

	for (store = STAILQ_FIRST(&dev->orphans); store != NULL; store = after) {
		after = STAILQ_NEXT(store, next);
		reap_store(store);
		if (store->nb_out > 0)
			continue;
		STAILQ_REMOVE(&dev->orphans, store, pmv_roce_attach_store, next);
		rte_free(store);
	}
}

/* Behind a frame that is late others may be home: an eye on some of them each turn. */
static void
scan(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;

	for (uint32_t i = 0; i < SCAN_MAX; i++, a->out_scan++) {
		if (a->out_scan - a->out_head >= a->out_tail - a->out_head)
			a->out_scan = a->out_head;
		if (a->out[a->out_scan & SLOT_MASK] != HOLE)
			collect_one(w, a->out_scan);
	}
}

/* Frames are out, and nothing was collected. As long as frames are sent their descriptors come
 * around. */
static void
wait_for_port(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;

	if (a->sent_before != w->stats.tx_frames)
		a->sent_before = w->stats.tx_frames;
	else if (a->ask && (++a->nb_idle & (ASK_TURNS - 1)) == 0)
		ask_port(w, ASK_MAX);
}

void
pmv_roce_attach_collect(struct pmv_roce_worker *w)
{
	struct pmv_roce_attach *a = &w->attach;
	uint32_t nb_free = a->nb_free;
	uint32_t i;

	for (i = 0; i < COLLECT_MAX && a->out_head != a->out_tail; i++) {
		if (a->out[a->out_head & SLOT_MASK] != HOLE && !collect_one(w, a->out_head)) {
			scan(w);
			if (a->nb_free == nb_free)
				wait_for_port(w);
			return;
		}
		a->out_head++;
	}
}

void
pmv_roce_attach_forget(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp)
{
	struct pmv_roce_attach *a = &w->attach;

	for (uint32_t i = a->out_head; i != a->out_tail; i++) {
		uint32_t index = a->out[i & SLOT_MASK];

		if (index == HOLE || a->slot[index].qp != qp)
			continue;
		a->slot[index].qp = NULL;
		a->slot[index].frames_out = NULL;
	}
}
