// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames that change lcores: from worker to worker (a frame whose QP lives elsewhere), from workers
 * to the connection manager, and from it to a worker. One single-producer single-consumer ring per
 * pair. Used by worker.c (the worker's ends) and by lib/verbs/ctl_channel.c (the connection
 * manager's ends).
 *
 * The rings of a worker index are made when a worker of that index is first created, on its NUMA
 * node, and stay until the device closes: another lcore may be in the middle of a turn with one
 * when the worker is destroyed or the connection manager leaves. Every frame in them is freed at
 * the latest when the device closes.
 */
#ifndef PMV_LCORE_EXCHANGE_H
#define PMV_LCORE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/driver/pmv_driver.h"

#define PMV_LCORE_EXCHANGE_HANDOVER_SLOTS 512u
#define PMV_LCORE_EXCHANGE_CTL_SLOTS      1024u

int pmv_lcore_exchange_create(struct pmv_device *dev); /* 0; -ENOMEM */
void pmv_lcore_exchange_destroy(struct pmv_device *dev);

/* Opens worker w's lane, making its rings the first time. 0; -ENOMEM. Under the device's lock. */
int pmv_lcore_exchange_open(struct pmv_worker *w);
/* Frames for w are dropped from now on; those that wait are freed. Worker detached; under the
 * device's lock. */
void pmv_lcore_exchange_close(struct pmv_worker *w);

/* Tells ctl_send whether somebody polls the worker. Owner. */
void pmv_lcore_exchange_set_polled(struct pmv_worker *w, bool polled);

/* The two of struct pmv_host_ops. Owner lcore of w; the mbuf is taken. */
void pmv_lcore_exchange_handover(struct pmv_worker *w, uint16_t target, struct rte_mbuf *m);
void pmv_lcore_exchange_ctl_input(struct pmv_worker *w, struct rte_mbuf *m);

/* One turn's share of frames handed over and control frames to send. Returns frames handed over.
 * Owner lcore of w. */
uint32_t pmv_lcore_exchange_run(struct pmv_worker *w);

/* The connection manager's ends; one thread at a time for each device. */
uint32_t pmv_lcore_exchange_ctl_recv(
	struct pmv_exchange *ex, uint16_t index, struct rte_mbuf **mbufs, uint32_t nb);
/* 0; -EAGAIN the ring is full; -ENODEV no open lane. */
int pmv_lcore_exchange_ctl_send(struct pmv_exchange *ex, uint16_t hint, struct rte_mbuf *m);

#endif
