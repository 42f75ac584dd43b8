// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory keys: which bytes a key grants. One overflow-safe check, used for local SGEs, remote
 * accesses and replays alike. The table is written by control threads (mr_reg, mr_kill, mr_free
 * under the device lock) and read by every worker: a slot's {key, state} word is released last on
 * registration and killed first on deregistration. lkey == rkey. A key holds the slot (scrambled
 * with a per-device secret) and a random tag.
 */
#ifndef PMV_ROCE_REGION_H
#define PMV_ROCE_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "lib/driver/pmv_driver.h"

struct pmv_roce_device;

/* A memory region of this driver. Base and the next three: constant after registration. */
struct pmv_roce_mr {
	struct pmv_mr base;
	uint32_t slot;
	bool attachable;   /* the port can read it in place, see enum pmv_roce_reach */
	uint64_t io_delta; /* port's address of a byte - its virtual address (modulo 2^64) */
	uint32_t orphans;  /* frames of ended workers that point into the region; attach.c, under
			      the device's lock */
	/* Frames that point into the region; writer: the worker of that index. 64 bytes apart:
	 * workers do not share lines. */
	struct {
		uint32_t nb;
		uint32_t reserved[15];
	} frames_out[PMV_WORKERS_MAX];
};

/* Which memory a port may be given in place, in a frame's segment. Decided once per device
 * (device.c). */
enum pmv_roce_reach {
	PMV_ROCE_REACH_EAL, /* may use DMA: EAL or registered external memory with one offset to IO
			       addresses */
	PMV_ROCE_REACH_ANY, /* reads frames with the CPU in this process */
};

/* What a key grants. Fields behind `live` change only while no worker can have found the slot
 * alive. */
struct pmv_roce_region {
	uint64_t live;  /* the key and PMV_ROCE_REGION_ALIVE, or 0; writer: control threads, release
			 */
	uint64_t start; /* first address of the region as work requests and the peer name it */
	uint64_t length;
	uint8_t *ptr; /* of start */
	struct pmv_pd *pd;
	struct pmv_roce_mr *mr;
	uint32_t access; /* enum pmv_access_flags */
	uint32_t key;    /* of this life or, while the slot is free, of the last one */
	bool used;       /* from mr_reg to mr_free */
} __rte_cache_aligned;

#define PMV_ROCE_REGION_ALIVE (1ull << 32)

struct pmv_roce_regions {
	struct pmv_roce_region *slot; /* [nb_slots] */
	uint32_t nb_slots;            /* power of two */
	uint32_t slot_xor;            /* secret */
	uint32_t nb_used;
	uint32_t next; /* where the search for a free slot starts */
};

enum pmv_roce_region_verdict {
	PMV_ROCE_REGION_OK,
	PMV_ROCE_REGION_KEY,    /* no such key, or dead */
	PMV_ROCE_REGION_PD,     /* the key belongs to another PD */
	PMV_ROCE_REGION_ACCESS, /* a right is missing */
	PMV_ROCE_REGION_RANGE,  /* not wholly inside */
};

/* What somebody wants of a key. */
struct pmv_roce_span {
	uint64_t va;
	uint64_t len;
	uint32_t key;
	uint32_t access; /* rights that must all be there (enum pmv_access_flags); 0 = local read */
};

/* As pmv_roce_region_grant(), of a device's table. */
static inline enum pmv_roce_region_verdict
pmv_roce_regions_grant(const struct pmv_roce_regions *t, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t **ret_ptr, struct pmv_roce_mr **ret_mr)
{
	const struct pmv_roce_region *r = &t->slot[(span->key ^ t->slot_xor) & (t->nb_slots - 1)];
	uint64_t off;

	if (unlikely(span->len == 0)) {
		*ret_ptr = NULL;
		if (ret_mr != NULL)
			*ret_mr = NULL;
		return PMV_ROCE_REGION_OK;
	}
	/* live-acquire: pairs with live-release in mr_reg, which publishes the fields below. */
	if (__atomic_load_n(&r->live, __ATOMIC_ACQUIRE) != (span->key | PMV_ROCE_REGION_ALIVE))
		return PMV_ROCE_REGION_KEY;
	if (r->pd != pd)
		return PMV_ROCE_REGION_PD;
	if ((r->access & span->access) != span->access)
		return PMV_ROCE_REGION_ACCESS;
	/* Subtractions only: a sum of two numbers that the peer chose could wrap into the region.
	 * An address before the start becomes a huge offset. */
	off = span->va - r->start;
	if (off > r->length || span->len > r->length - off)
		return PMV_ROCE_REGION_RANGE;
	*ret_ptr = r->ptr + off;
	if (ret_mr != NULL)
		*ret_mr = r->mr;
	return PMV_ROCE_REGION_OK;
}

/*
 * Translates [va, va + len) under a key. len 0 is OK without any check and gives *ret_ptr = NULL.
 * ret_mr may be NULL. Any worker.
 */
enum pmv_roce_region_verdict pmv_roce_region_grant(const struct pmv_roce_device *dev,
	const struct pmv_pd *pd, const struct pmv_roce_span *span, uint8_t **ret_ptr,
	struct pmv_roce_mr **ret_mr);

/* The same without a range: the key as a whole (FLUSH). Any worker. */
enum pmv_roce_region_verdict pmv_roce_region_grant_key(
	const struct pmv_roce_device *dev, const struct pmv_pd *pd, uint32_t key, uint32_t access);

/* -ENOMEM. Control thread. */
int pmv_roce_regions_init(struct pmv_roce_device *dev);
void pmv_roce_regions_fini(struct pmv_roce_device *dev);

/* The mr_* operations of the driver contract. */
int pmv_roce_mr_reg(struct pmv_mr *mr);
void pmv_roce_mr_kill(struct pmv_mr *mr);
bool pmv_roce_mr_frames_out(const struct pmv_mr *mr);
void pmv_roce_mr_free(struct pmv_mr *mr);

#endif
