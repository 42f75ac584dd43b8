// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory keys: which bytes a key grants. One overflow-safe check, used for local SGEs, remote
 * accesses and replays alike. Slots are given out and taken back by control threads under the
 * device lock; plain regions live from mr_reg to mr_kill, windows and fast-registration regions
 * come alive and die in work requests (mw.c, fastreg.c, invalidate.c). Every worker reads: a slot's
 * {key, state} word is released last and killed first. lkey == rkey. A key is a 24-bit index (the
 * slot, scrambled with a per-device secret, below random bits) and, in its low byte, a tag that
 * belongs to whoever gives the key a new life (IBTA vol. 1, 10.6.3.3).
 */
#ifndef PMV_ROCE_REGION_H
#define PMV_ROCE_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "lib/driver/pmv_driver.h"

struct pmv_roce_device;

/* A fast-registration region's list of pages; the region starts at `iova`, whose low bits are also
 * the offset into page[0]. */
struct pmv_roce_pages {
	uint8_t **page; /* [max_pages] */
	uint32_t nb;
	bool together; /* they follow each other in memory */
	uint64_t iova;
	uint64_t length;
};

/* A memory region of this driver. Base and the next three: constant after registration. */
struct pmv_roce_mr {
	struct pmv_mr base;
	uint32_t slot;
	bool attachable;   /* the port can read it in place, see enum pmv_roce_reach */
	uint64_t io_delta; /* port's address of a byte - its virtual address (modulo 2^64) */
	uint32_t orphans;  /* frames of ended workers that point into the region; attach.c, under
			      the device's lock */
	/* Windows bound to it, and PMV_ROCE_MR_CLOSED once it dies; atomic, written where windows
	 * come alive and die: invalidate.c. */
	uint32_t binds;
	/* Fast registration; fastreg.c. `pages`: in force, changes only while the key is dead and
	 * out of use; `next`: what pmv_map_mr() has put down for the next REG_MR. */
	uint32_t max_pages; /* 0: a plain region */
	uint8_t page_shift;
	uint64_t dead_epoch; /* device's epoch when the key died; before the slot is FREE again */
	struct pmv_roce_pages pages;
	struct pmv_roce_pages next;
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

#define PMV_ROCE_MR_CLOSED (1u << 31)

/* A memory window. */
struct pmv_roce_mw {
	struct pmv_mw base;
	uint32_t slot;
	uint64_t dead_epoch;        /* as in the region */
	struct pmv_roce_mr *parent; /* while it is bound; written before the key comes alive */
};

enum pmv_roce_region_kind {
	PMV_ROCE_KEY_MR,
	PMV_ROCE_KEY_FASTREG,
	PMV_ROCE_KEY_MW1, /* type 1: for every QP of the PD */
	PMV_ROCE_KEY_MW2, /* type 2B: for the QP that bound it */
};

/* What a key grants. Fields behind `live` change only while nobody can have found the slot alive.
 */
struct pmv_roce_region {
	uint64_t live;  /* the key with one of the states below; what else: see there */
	uint64_t start; /* first address of the region as work requests and the peer name it */
	uint64_t length;
	uint8_t *ptr;      /* of start; NULL: in pages that do not lie together */
	struct pmv_pd *pd; /* whose QPs are served by the plain check; NULL: see region.c */
	union {
		struct pmv_roce_mr *mr;
		struct pmv_roce_mw *mw;
	};
	uint32_t access; /* enum pmv_access_flags, PMV_ROCE_ACCESS_LOCAL */
	uint32_t key;    /* of this life or, while the slot is dead, of the last one */
	uint32_t qpn;    /* type 2: the QP that bound it */
	uint8_t kind;    /* enum pmv_roce_region_kind */
	bool used;       /* from mr_reg or alloc to free */
} __rte_cache_aligned;

/*
 * States of `live`. FREE, BUSY and DYING are those of windows and fast-registration regions, whose
 * life is in the hands of work requests on any worker:
 *
 *   FREE -> BUSY -> ALIVE -> DYING -> FREE      each step one compare-exchange by its winner
 *   any  -> DEAD                                one exchange, by the control thread that ends it
 *
 * BUSY: the fields are being written; DYING: the epoch of death is.
 */
#define PMV_ROCE_REGION_FREE  0ull
#define PMV_ROCE_REGION_ALIVE (1ull << 32)
#define PMV_ROCE_REGION_DYING (1ull << 33)
#define PMV_ROCE_REGION_BUSY  (1ull << 34)
#define PMV_ROCE_REGION_DEAD  (1ull << 35)

/* In a span: our own access by an lkey. Windows have no lkey (IBTA vol. 1, 10.6.7.2). */
#define PMV_ROCE_ACCESS_LOCAL (1u << 31)

struct pmv_roce_regions {
	struct pmv_roce_region *slot; /* [nb_slots] */
	uint32_t slot_mask;           /* of a key: its slot number; nb_slots - 1, shifted */
	uint32_t slot_xor;            /* secret, shifted alike */
	uint32_t nb_slots;            /* power of two */
	uint32_t nb_used;
	uint32_t next; /* where the search for a free slot starts */
	uint32_t mr_max;
	uint32_t mw_max;
	uint32_t nb_mws; /* of nb_used */
};

/* Bits of a key that are not its slot: the tag. */
#define PMV_ROCE_KEY_TAG_BITS 8
#define PMV_ROCE_KEY_TAG      0xffu

static inline struct pmv_roce_region *
pmv_roce_region_of(const struct pmv_roce_regions *t, uint32_t key)
{
	return &t->slot[((key ^ t->slot_xor) & t->slot_mask) >> PMV_ROCE_KEY_TAG_BITS];
}

enum pmv_roce_region_verdict {
	PMV_ROCE_REGION_OK,
	PMV_ROCE_REGION_KEY,    /* no such key, or dead */
	PMV_ROCE_REGION_PD,     /* the key belongs to another PD, or another QP */
	PMV_ROCE_REGION_ACCESS, /* a right is missing */
	PMV_ROCE_REGION_RANGE,  /* not wholly inside */
	PMV_ROCE_REGION_SPLIT,  /* granted, but in pieces: see pmv_roce_region_piece() */
};

/* What somebody wants of a key. */
struct pmv_roce_span {
	uint64_t va;
	uint64_t len;
	uint32_t key;
	uint32_t access; /* rights that must all be there (enum pmv_access_flags) */
	uint32_t qpn;    /* the QP whose peer asks; 0: windows of type 2 are not for us */
};

/* As pmv_roce_region_grant(), but windows of type 2 and split regions count as another PD's: who
 * takes this short way asks again. */
static inline enum pmv_roce_region_verdict
pmv_roce_regions_grant(const struct pmv_roce_regions *t, const struct pmv_pd *pd,
	const struct pmv_roce_span *span, uint8_t **ret_ptr, struct pmv_roce_mr **ret_mr)
{
	const struct pmv_roce_region *r = pmv_roce_region_of(t, span->key);
	uint64_t off;

	if (unlikely(span->len == 0)) {
		*ret_ptr = NULL;
		if (ret_mr != NULL)
			*ret_mr = NULL;
		return PMV_ROCE_REGION_OK;
	}
	/* live-acquire: pairs with live-release in mr_reg and publish, before which the fields
	 * below were written. */
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
 * SPLIT: all of it is granted, but lies in several pages; *ret_ptr = NULL. ret_mr may be NULL; else
 * for local spans only. Any worker.
 */
enum pmv_roce_region_verdict pmv_roce_region_grant(const struct pmv_roce_device *dev,
	const struct pmv_pd *pd, const struct pmv_roce_span *span, uint8_t **ret_ptr,
	struct pmv_roce_mr **ret_mr);

/* The same without a range: the key of a span as a whole (FLUSH). Any worker. */
enum pmv_roce_region_verdict pmv_roce_region_grant_key(const struct pmv_roce_device *dev,
	const struct pmv_pd *pd, const struct pmv_roce_span *span);

/* Of a span, len > 0, what lies together from its start on: *ret_len bytes. OK or what is wrong. */
enum pmv_roce_region_verdict pmv_roce_region_piece(const struct pmv_roce_device *dev,
	const struct pmv_pd *pd, const struct pmv_roce_span *span, uint8_t **ret_ptr,
	uint32_t *ret_len);

/* What is wrong with the rights of a region (IBTA vol. 1, 10.6.3.1), or NULL. */
const char *pmv_roce_region_access_fault(uint32_t access);

/* -ENOMEM. Control thread. */
int pmv_roce_regions_init(struct pmv_roce_device *dev);
void pmv_roce_regions_fini(struct pmv_roce_device *dev);

/* A slot for a new object with a fresh key, not alive: *ret_r. -ENOSPC; the errno of the operating
 * system's random numbers. Control thread, under the lock, like the next. */
int pmv_roce_region_take(struct pmv_roce_device *dev, enum pmv_roce_region_kind kind,
	struct pmv_roce_region **ret_r);
void pmv_roce_region_put(struct pmv_roce_device *dev, uint32_t slot);

/* The mr_* operations of the driver contract; for fast registration see fastreg.h too. */
int pmv_roce_mr_reg(struct pmv_mr *mr);
int pmv_roce_mr_kill(struct pmv_mr *mr);
bool pmv_roce_mr_frames_out(const struct pmv_mr *mr);
void pmv_roce_mr_free(struct pmv_mr *mr);

#endif
