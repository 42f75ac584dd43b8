// SPDX-License-Identifier: BSD-3-Clause
/*
 * The software driver's share of opening and closing a device, its limits, and what its port can
 * reach. Control threads, under the device's lock.
 */
#ifndef PMV_ROCE_DEVICE_H
#define PMV_ROCE_DEVICE_H

#include "drivers/roce/worker.h"

#define PMV_ROCE_QP_WR_MAX     16384u
#define PMV_ROCE_SGE_MAX       16u
#define PMV_ROCE_INLINE_MAX    512u /* bytes */
#define PMV_ROCE_CQE_MAX       262144u
#define PMV_ROCE_QP_MAX        65536u /* per worker */
#define PMV_ROCE_MCAST_QPS_MAX 64u    /* of a group */
#define PMV_ROCE_SRQ_MAX       4096u  /* per worker */
#define PMV_ROCE_SRQ_WR_MAX    65536u
#define PMV_ROCE_MR_BYTES_MAX  (1ull << 48)

/* 4.096 us * 2^n: a poll-mode lcore answers within microseconds, but a shared core can lose its
 * time slice (16.8 ms). */
#define PMV_ROCE_ACK_DELAY 12u

/* 0: any ethdev port will do. -ENODEV. */
int pmv_roce_device_probe(uint16_t port_id);
int pmv_roce_device_init(struct pmv_device *dev);
void pmv_roce_device_fini(struct pmv_device *dev);
/* Asks the port for its speed, for connections to come. */
void pmv_roce_device_ask_line(struct pmv_device *dev);
void pmv_roce_device_query(struct pmv_device *dev, struct pmv_device_attr *attr);

#endif
