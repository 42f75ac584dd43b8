/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmverbs: poll-mode verbs for DPDK. Includes every data-path header; the connection manager is
 * <pmverbs/pmv_cm.h>.
 */
#ifndef PMV_H
#define PMV_H

#include "pmv_types.h"
#include "pmv_op.h"
#include "pmv_device.h"
#include "pmv_mem.h"
#include "pmv_cq.h"
#include "pmv_ah.h"
#include "pmv_qp.h"
#include "pmv_post.h"
#include "pmv_worker.h"
#include "pmv_event.h"
#include "pmv_fault.h"
#include "pmv_stats.h"

#endif
