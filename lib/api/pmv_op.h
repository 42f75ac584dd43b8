/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation in two halves: it was prepared by the calling control thread and is committed by the
 * lcore that owns the worker. The record belongs to the caller and carries its own reply slot, so a
 * reply can neither be lost nor need a queue.
 */
#ifndef PMV_OP_H
#define PMV_OP_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fields are the library's; zero the record before first use. At most 128 bytes, so that it can be
 * embedded. */
struct pmv_op {
	void (*commit)(struct pmv_op *op); /* runs on the owner lcore: O(1), no allocation, no
					      system call; sets result */
	void (*finish)(struct pmv_op *op); /* runs in pmv_op_poll() on the control thread; may free;
					      NULL = nothing to do */
	struct pmv_worker *worker;         /* whose owner commits it */
	void *object;
	void *prepared; /* what the prepare half allocated */
	uint64_t arg[9];
	int result;     /* valid once state says done */
	uint32_t state; /* 0 idle, 1 submitted, 2 done; written by the owner lcore with release */
};

/**
 * @return -EINPROGRESS while the owner lcore has not committed it; otherwise the operation's result
 * (0 or a negative errno), and the record may be reused.
 * @note Context: the thread that submitted it.
 */
PMV_API int pmv_op_poll(struct pmv_op *op);

#ifdef __cplusplus
}
#endif
#endif
