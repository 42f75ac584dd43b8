/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmverbs: poll-mode verbs for DPDK. Includes every data-path header; the connection manager is
 * <pmverbs/pmv_cm.h>.
 *
 * For all functions that return an errno: NULL where an object or a result is wanted is -EINVAL and
 * is not listed at each. A call that is refused logs one line, which names the argument; calls that
 * are polled (events, operations) return -EINVAL without one. Functions of the data path and those
 * that return a field of an object take valid objects only.
 */
#ifndef PMV_H
#define PMV_H

#include "pmv_types.h"
#include "pmv_op.h"
#include "pmv_device.h"
#include "pmv_port.h"
#include "pmv_mem.h"
#include "pmv_mw.h"
#include "pmv_cq.h"
#include "pmv_ah.h"
#include "pmv_qp.h"
#include "pmv_mcast.h"
#include "pmv_post.h"
#include "pmv_prepared.h"
#include "pmv_srq.h"
#include "pmv_worker.h"
#include "pmv_event.h"
#include "pmv_fault.h"
#include "pmv_stats.h"

#endif
