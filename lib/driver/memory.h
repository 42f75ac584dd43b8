/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bases of what grants access to memory, and how it ends: the share of the driver contract that
 * pmv_driver.h includes. Control threads write, under the device's lock, unless said otherwise.
 */
#ifndef PMV_MEMORY_H
#define PMV_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct pmv_device;

/* A memory region or window on its way out; lib/verbs/mem.h. Under device->lock. */
struct pmv_dying {
	uint64_t epoch; /* the device's once the keys were dead */
	bool released;  /* quiescent, key slot freed: only the event is left to deliver */
	bool is_mw;
	STAILQ_ENTRY(pmv_dying) next;
};

/*
 * Where others see how far a worker's turns have come, without touching the worker, which may go at
 * any time. A line each.
 */
struct pmv_seat {
	uint64_t epoch_seen; /* device->epoch at the start of the turn; the owner stores it with
				release */
	uint64_t owner;      /* thread id, 0 detached; lib/lcore/owner.h */
	uint64_t reserved[6];
};

/* Base of a protection domain. */
struct pmv_pd {
	struct pmv_device *device;
	uint32_t refs; /* MRs, MWs, AHs, SRQs, QPs; under device->lock */
};

/* Base of a memory region. Constant after registration, but for the keys of a fast-registration
 * region: they are those of the last REG_MR posted, written by who posts it. */
struct pmv_mr {
	struct pmv_pd *pd;
	uint8_t *addr;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
	uint32_t lkey;
	uint32_t rkey;
	void *context;
	struct pmv_dying dying;
};

/* Base of a memory window. */
struct pmv_mw {
	struct pmv_pd *pd;
	uint8_t type;  /* 1, 2 */
	uint32_t rkey; /* of the last bind posted; written by who posts it */
	void *context;
	struct pmv_dying dying;
};

#endif
