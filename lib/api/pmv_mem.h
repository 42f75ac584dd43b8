/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, memory regions, and buffers on a chosen NUMA node.
 */
#ifndef PMV_MEM_H
#define PMV_MEM_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @return 0; -ENOMEM. @note Context: any thread. */
PMV_API int pmv_alloc_pd(struct pmv_device *device, struct pmv_pd **ret_pd);

/** @return 0; -EBUSY regions, windows, QPs or AHs still use it. @note Context: any thread. */
PMV_API int pmv_dealloc_pd(struct pmv_pd *pd);

struct pmv_mr_attr {
	void *addr;
	uint64_t length;
	uint64_t iova; /**< the address the peer uses for `addr` */
	uint32_t lkey;
	uint32_t rkey;
	uint32_t access; /**< enum pmv_access_flags; of pmv_alloc_mr(), 0: REG_MR says them */
};

/**
 * Registers memory. The memory stays the caller's and must outlive the region; it is not pinned by
 * the software driver. After fork() only the parent may go on using its regions; there is no
 * registration cache.
 * @param addr    first byte, any alignment
 * @param length  bytes, 1..2^48; addr + length must not wrap
 * @param iova    address the peer will name; pmv_reg_mr() uses the virtual address
 * @param access  enum pmv_access_flags; REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE;
 * FLUSH_PERSISTENT is refused; bits 20..29 are hints
 * @return 0; -EINVAL a bad range or access bit; -ENOSPC the device's mr_max is reached; -ENOMEM; or
 * the errno of the operating system's random numbers.
 * @note Context: any thread.
 */
PMV_API int pmv_reg_mr_iova(struct pmv_pd *pd, void *addr, uint64_t length, uint64_t iova,
	uint32_t access, struct pmv_mr **ret_mr);
PMV_API int pmv_reg_mr(
	struct pmv_pd *pd, void *addr, uint64_t length, uint32_t access, struct pmv_mr **ret_mr);

/**
 * Deregisters: both keys die at once, for the peer and for work requests already posted.
 * @return 0: no lcore can touch the memory any more, the handle is gone.
 *         -EBUSY: windows are bound to it; nothing has changed.
 *         -EINPROGRESS: some attached worker may still be inside the turn in which it looked the
 * key up, or frames that point into the memory are still with a port. The handle is gone for the
 * caller; exactly one PMV_EVENT_MR_RELEASED with the region's context follows from
 * pmv_poll_async_event(), and until then the memory must stay.
 * @note Context: any thread. Never waits.
 */
PMV_API int pmv_dereg_mr(struct pmv_mr *mr);

/** @return 0. @note Context: any thread. */
PMV_API int pmv_query_mr(const struct pmv_mr *mr, struct pmv_mr_attr *ret_attr);
PMV_API uint32_t pmv_mr_lkey(const struct pmv_mr *mr);
PMV_API uint32_t pmv_mr_rkey(const struct pmv_mr *mr);
/** Context that MR_RELEASED carries; NULL by default. */
PMV_API void pmv_mr_set_context(struct pmv_mr *mr, void *context);

/**
 * Allocates zeroed, page-aligned memory on a NUMA node through libnuma.
 * @param socket_id  ethdev/EAL socket id; < 0: the caller's node
 * @return memory to be freed with pmv_buf_free(ptr, bytes), or NULL.
 * @note Context: any thread.
 */
PMV_API void *pmv_buf_alloc(uint64_t bytes, int socket_id);
PMV_API void pmv_buf_free(void *ptr, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
