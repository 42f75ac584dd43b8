/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that live in work requests: memory windows (BIND_MW) and regions for fast registration
 * (REG_MR), both taken back by LOCAL_INV or the peer's SEND_WITH_INV.
 */
#ifndef PMV_MW_H
#define PMV_MW_H

#include "pmv_mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The next key of the same object: another tag in the low eight bits, which belong to whoever makes
 * the key valid. For BIND_MW of a window of type 2 and for REG_MR.
 * @note Context: any thread.
 */
static inline uint32_t
pmv_inc_rkey(uint32_t rkey)
{
	return (rkey & ~0xffu) | ((rkey + 1) & 0xff);
}

/**
 * Allocates a region for fast registration: it has no memory until a REG_MR work request gives it
 * the pages of pmv_map_mr() and makes its key valid. LOCAL_INV, or the peer's SEND_WITH_INV if it
 * grants remote rights, takes the key back; then the next REG_MR may follow, with another tag. lkey
 * and rkey are the same: those of the last REG_MR that was posted.
 * @param max_pages   pages at most, 1..max_mr_pages of the device
 * @param page_bytes  size of each page, a power of two, 4096..2^30
 * @return 0; -EINVAL a parameter is out of range; -ENOSPC the device's mr_max is reached; -ENOMEM;
 * -ENOTSUP the driver has no fast registration; or the errno of the operating system's random
 * numbers. To be given back by pmv_dereg_mr().
 * @note Context: any thread.
 */
PMV_API int pmv_alloc_mr(
	struct pmv_pd *pd, uint32_t max_pages, uint32_t page_bytes, struct pmv_mr **ret_mr);

/**
 * Puts down the pages that the next REG_MR of this region shall register. The list is copied; it
 * may be made while the region is still registered with another. Between the post of a REG_MR and
 * its completion it must not be called. The memory stays the caller's, as with pmv_reg_mr().
 * @param pages     addresses, multiples of page_bytes
 * @param nb_pages  1..max_pages
 * @param iova      address of the first byte for work requests and the peer; its offset into a page
 * is also that of the first byte in pages[0]
 * @param length    bytes, from there on, >= 1; they end in the last page or before
 * @return 0; -EINVAL not of pmv_alloc_mr(), or a parameter is out of range.
 * @note Context: the thread that posts the REG_MR.
 */
PMV_API int pmv_map_mr(
	struct pmv_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova, uint64_t length);

/** Numbers are libibverbs'. */
enum pmv_mw_type {
	PMV_MW_TYPE_1 = 1, /**< for every QP of the PD; a bind replaces the one before */
	PMV_MW_TYPE_2 = 2, /**< (2B) for the QP that bound it; to be invalidated before it is bound
			      again */
};

/**
 * Allocates a memory window: a key of its own for a part of a region, with remote rights of its
 * own, given and taken by work requests (BIND_MW). It grants nothing at first.
 * @return 0; -EINVAL no such type; -ENOSPC the device's max_mw is reached; -ENOMEM; -ENOTSUP the
 * driver has no windows; or the errno of the operating system's random numbers.
 * @note Context: any thread.
 */
PMV_API int pmv_alloc_mw(struct pmv_pd *pd, enum pmv_mw_type type, struct pmv_mw **ret_mw);

/**
 * Deallocates a window, bound or not: its key dies at once.
 * @return 0: no lcore can touch memory through it any more; -EINPROGRESS: the handle is gone for
 * the caller, but some attached worker may still be inside the turn in which it looked the key up;
 * exactly one PMV_EVENT_MW_RELEASED with the window's context follows, as with pmv_dereg_mr().
 * @note Context: any thread. Never waits.
 */
PMV_API int pmv_dealloc_mw(struct pmv_mw *mw);

/** The key of the last bind that was posted; before that, the one that the first bind may have.
 * @note Context: any thread. */
PMV_API uint32_t pmv_mw_rkey(const struct pmv_mw *mw);
/** Context that MW_RELEASED carries; NULL by default. */
PMV_API void pmv_mw_set_context(struct pmv_mw *mw, void *context);

/** What a memory window shall grant. */
struct pmv_mw_bind {
	struct pmv_mr *mr; /**< a region of the same PD with PMV_ACCESS_MW_BIND */
	uint64_t addr;     /**< first byte, as the region names it; the peer uses the same */
	uint64_t length;   /**< bytes; 0 (type 1 only): the window grants nothing any more */
	uint32_t access;   /**< remote rights only; the region need not have them, but REMOTE_WRITE
			      and REMOTE_ATOMIC ask for its LOCAL_WRITE */
};

#ifdef __cplusplus
}
#endif
#endif
