/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker is one poll-mode lcore's context on a device: it owns a queue pair of the port, timers,
 * a mailbox, and the CQs and QPs created on it. It belongs to the thread that attached it; while it
 * is detached any one thread may set it up. Ownership moves only by detach and attach.
 */
#ifndef PMV_WORKER_H
#define PMV_WORKER_H

#include "pmv_types.h"

struct rte_mbuf;
struct rte_mempool;

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_worker_param {
	uint16_t rx_queue;        /**< receive queue of the port that only this worker polls */
	uint16_t tx_queue;        /**< transmit queue of the port that only this worker uses */
	int socket_id;            /**< NUMA node of the worker's memory; < 0: the port's */
	uint32_t qp_max;          /**< QPs at most, 0 = 4096; rounded up to a power of two, <=
				     65536 */
	struct rte_mempool *pool; /**< data frames are made from it; data room >= 128 + IP MTU +
				     headroom. The application's */
	bool no_rx; /**< the application has its own receive loop and calls pmv_worker_input() */
};

/**
 * Creates a worker, detached.
 * @return 0; -EINVAL an argument is out of range, or another worker has the queue (the log names
 * it); -ENOSPC the device has all its nb_workers; -ENOMEM.
 * @note Context: any thread.
 */
PMV_API int pmv_worker_create(struct pmv_device *device, const struct pmv_worker_param *param,
	struct pmv_worker **ret_worker);

/** @return 0; -EBUSY CQs or QPs live on it, or it is attached. @note Context: any thread. */
PMV_API int pmv_worker_destroy(struct pmv_worker *worker);

/** Makes the calling thread the owner. @return 0; -EBUSY it is attached, here or elsewhere. @note
 * Context: the new owner. */
PMV_API int pmv_worker_attach(struct pmv_worker *worker);

/** Gives the worker up after a last flush. @return 0; -EPERM the caller is not the owner. @note
 * Context: owner lcore. */
PMV_API int pmv_worker_detach(struct pmv_worker *worker);

/**
 * One turn: mailbox, receive burst, timers, requests that wait to be sent, one flush. Received
 * frames that are neither RoCE nor the connection manager's are freed and counted.
 * @return frames received (0 = idle).
 * @note Context: owner lcore.
 */
PMV_API uint32_t pmv_worker_poll(struct pmv_worker *worker);

/** The same with the time given: `now` in TSC ticks (or in ticks of a simulation), never going
 * back. */
PMV_API uint32_t pmv_worker_poll_at(struct pmv_worker *worker, uint64_t now);

/**
 * Hands received frames in, for programs with a receive loop of their own; pmv_worker_poll() is a
 * receive burst plus this.
 * @param mbufs    taken over, but for the foreign ones
 * @param foreign  room for nb pointers: frames that are neither RoCE nor for the connection
 * manager, still the caller's
 * @return number of foreign frames.
 * @note Context: owner lcore. In `shared` address ownership ARP and ND frames are copied: both
 * sides see them. While no connection manager has the device all control frames are foreign.
 */
PMV_API uint32_t pmv_worker_input(
	struct pmv_worker *worker, struct rte_mbuf **mbufs, uint32_t nb, struct rte_mbuf **foreign);

/**
 * Sends what is staged, and the acknowledgements of the last receive burst, which otherwise leave
 * with the next turn: for a program that will not take one for a while.
 * @return frames still waiting because the port took no more.
 * @note Context: owner lcore.
 */
PMV_API uint32_t pmv_worker_flush(struct pmv_worker *worker);

PMV_API struct pmv_device *pmv_worker_get_device(const struct pmv_worker *worker);
/** 0..nb_workers-1. */
PMV_API uint16_t pmv_worker_index(const struct pmv_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
