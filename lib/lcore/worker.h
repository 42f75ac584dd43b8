// SPDX-License-Identifier: BSD-3-Clause
/*
 * The lcore side of a worker: its base fields, mailbox and lane, and the turn. lib/verbs/worker.c
 * makes and destroys workers with it; the public calls (attach, detach, poll, input, flush) are in
 * worker.c here.
 */
#ifndef PMV_LCORE_WORKER_H
#define PMV_LCORE_WORKER_H

#include "lib/driver/pmv_driver.h"

/*
 * Fills the base of a zeroed worker (device, index, queues, pool, socket_id given by the caller)
 * and makes it ready to be attached. nb_reserved: see pmv_lcore_mailbox_create. 0; -ENOMEM. Under
 * the device's lock.
 */
int pmv_lcore_worker_init(struct pmv_worker *w, uint32_t nb_reserved);

/* The caller has claimed the worker; commits and frees what waits. Under the device's lock. */
void pmv_lcore_worker_fini(struct pmv_worker *w);

#endif
