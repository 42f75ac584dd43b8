// SPDX-License-Identifier: BSD-3-Clause
/*
 * User memory attached to frames instead of copied. Each attached frame takes a slot of the worker
 * with its own shared-info block, reference count 1; whoever frees the frame (any lcore: a ring
 * port's peer, a NIC driver) sets the slot's flag, and the owner lcore collects flagged slots once
 * a turn. A work request completes, and a region is released, only when its frames are back. A NIC
 * may keep sent frames until it needs their descriptors: it is asked for them when nothing else
 * happens, and one that cannot be asked gets copies.
 */
#ifndef PMV_ROCE_ATTACH_H
#define PMV_ROCE_ATTACH_H

#include <stdbool.h>

#include <rte_mbuf.h>

#define PMV_ROCE_ATTACH_SLOTS     1024u
#define PMV_ROCE_ATTACH_BYTES_MIN 1024u /* below this a copy is cheaper: the default */

struct pmv_roce_worker;
struct pmv_roce_mr;
struct pmv_roce_qp;
struct pmv_roce_device;
struct pmv_roce_attach_slot;
struct pmv_roce_attach_store;

struct pmv_roce_attach {
	struct pmv_roce_attach_store *store; /* memory of the slots */
	struct pmv_roce_attach_slot *slot;   /* [PMV_ROCE_ATTACH_SLOTS] */
	uint32_t *free_list;
	uint32_t nb_free;
	uint32_t *out; /* indices handed out, oldest first; ring of PMV_ROCE_ATTACH_SLOTS */
	uint32_t out_head;
	uint32_t out_tail;
	uint32_t out_scan;    /* where the search behind a late frame goes on */
	uint32_t nb_idle;     /* turns with frames out in which none was sent or came home */
	uint64_t sent_before; /* stats.tx_frames at the last collect */
	bool ask;             /* the port is to be asked for frames that it has sent */
	bool allowed;         /* attaching is; else copy */
	uint32_t bytes_min;   /* the device's attach_bytes_min */
};

/* Control thread, under the device's lock; all QPs of the worker are gone before fini. */
int pmv_roce_attach_init(struct pmv_roce_worker *w);
void pmv_roce_attach_fini(struct pmv_roce_worker *w);

/* Frames of ended workers that came home meanwhile: regions no longer wait for them. Control
 * thread, under the device's lock. */
void pmv_roce_attach_reap(struct pmv_roce_device *dev);

/* Who waits for an attached frame. */
struct pmv_roce_attach_for {
	struct pmv_roce_mr *mr;
	uint32_t *frames_out; /* counter of the work request, raised now and lowered when the frame
				 is back (see collect); NULL: none */
	struct pmv_roce_qp *qp; /* pmv_roce_completion_run() is called when the counter is 0
				   again; NULL: nobody */
};

/* Appends user memory to the chain of `m`. 0; -EAGAIN no slot or mbuf: copy instead. */
int pmv_roce_attach_bytes(struct pmv_roce_worker *w, struct rte_mbuf *m, uint8_t *ptr, uint32_t len,
	const struct pmv_roce_attach_for *owner);

/* Collects frames that are back; bounded. Once a turn. */
void pmv_roce_attach_collect(struct pmv_roce_worker *w);

/* A QP dies: its slots stay out but no longer point to it. */
void pmv_roce_attach_forget(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp);

#endif
