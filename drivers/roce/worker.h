// SPDX-License-Identifier: BSD-3-Clause
/*
 * The software driver's share of a device and of a worker: what its parts have in common. Each
 * sub-struct belongs to the file of that name; everything of a worker is written by its owner lcore
 * only, unless said otherwise.
 */
#ifndef PMV_ROCE_WORKER_H
#define PMV_ROCE_WORKER_H

#include <rte_mempool.h>

#include "drivers/roce/attach.h"
#include "drivers/roce/region.h"
#include "drivers/roce/spare.h"
#include "drivers/roce/stamp.h"
#include "drivers/roce/stats.h"
#include "drivers/roce/tx.h"
#include "lib/driver/pmv_driver.h"
#include "lib/timer/wheel.h"
#include "lib/util/idmap.h"
#include "lib/util/random.h"

#define PMV_ROCE_RX_BURST   32u
#define PMV_ROCE_LOOPED_MAX 64u

/* Frames that may wait behind gaps, of all QPs of a worker: their mbufs are the port's. */
#define PMV_ROCE_REORDERED_MAX 1024u

struct pmv_roce_cq;
struct pmv_roce_qp;
struct pmv_roce_fault;

struct pmv_roce_device {
	struct pmv_device base;
	struct pmv_roce_regions regions;
	struct pmv_random random; /* QPNs' seeds, keys when the seed is given; under base.lock */
	enum pmv_roce_reach reach;
	uint64_t line;     /* bytes a second of the port, as last asked; relaxed atomics, qp.c */
	uint16_t ud_sport; /* UDP source port of address handles without a flow label */
	/* Slots of ended workers whose frames are still out; attach.c, under base.lock. */
	STAILQ_HEAD(, pmv_roce_attach_store) orphans;
};

struct pmv_roce_worker {
	struct pmv_worker base;
	struct pmv_roce_device *dev; /* = base.device */
	struct pmv_idmap qps; /* QPN -> struct pmv_roce_qp; ids carry the worker's index in the top
				 worker_bits */
	struct pmv_roce_tx tx;
	struct pmv_roce_spare spare;  /* of base.pool, for frames with data */
	struct rte_mempool *ack_pool; /* responses without payload: never starved by data (house
					 rule for ACKs) */
	struct pmv_wheel wheel;       /* two nodes a QP: retry.h, pace.h */
	TAILQ_HEAD(pmv_roce_run_list, pmv_roce_qp)
	run; /* QPs that have something to send and could not send it all */
	TAILQ_HEAD(, pmv_roce_qp) fresh; /* QPs whose timers start this turn, see retry.c */
	TAILQ_HEAD(, pmv_roce_qp)
	acks;                          /* QPs that owe an acknowledgement, see ack.h */
	TAILQ_HEAD(, pmv_roce_qp) all; /* every committed QP: neighbour changes and fini walk it */
	struct pmv_roce_attach attach;
	struct pmv_roce_stats stats;
	struct rte_mbuf
		*looped[PMV_ROCE_LOOPED_MAX]; /* copies of what we sent to groups; mcast.c */
	uint32_t nb_looped;
	struct pmv_roce_fault *fault; /* NULL: off */
	struct pmv_roce_stamp stamp;
	TAILQ_HEAD(, pmv_roce_cq) noticed; /* armed CQs that were pushed to; cq.c */
	uint32_t nb_reordered;             /* frames that wait behind gaps; reorder.c */
	bool cq_overrun; /* some CQ did: its QPs are looked for in this turn or the next; cq.c */
	struct pmv_random random;
	uint32_t l3_off;       /* of frames to us: with the device's tag, or without */
	uint64_t ticks_per_us; /* at least 1 */
	void *qps_mem;
};

static inline struct pmv_roce_worker *
pmv_roce_worker(struct pmv_worker *w)
{
	return (struct pmv_roce_worker *)w;
}

/* The worker's share of the driver contract (rx.h has the receiving half). */
int pmv_roce_worker_init(struct pmv_worker *w, const struct pmv_worker_param *param);
void pmv_roce_worker_fini(struct pmv_worker *w);
void pmv_roce_worker_run(struct pmv_worker *w);
void pmv_roce_worker_ctl_send(struct pmv_worker *w, struct rte_mbuf *m);
uint32_t pmv_roce_worker_flush(struct pmv_worker *w);
bool pmv_roce_worker_idle(const struct pmv_worker *w);
int pmv_roce_worker_fault_clear(struct pmv_worker *w);

#endif
