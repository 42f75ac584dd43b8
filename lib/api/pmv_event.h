/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events, with libibverbs' numbers. Each event is embedded in the object it tells
 * about, so the queue cannot overflow; an event that is raised again before it was taken is merged.
 */
#ifndef PMV_EVENT_H
#define PMV_EVENT_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pmv_event_type {
	PMV_EVENT_CQ_ERR = 0,
	PMV_EVENT_QP_FATAL = 1,             /**< not raised by the software driver */
	PMV_EVENT_QP_REQ_ERR = 2,           /**< responder answered NAK invalid request */
	PMV_EVENT_QP_ACCESS_ERR = 3,        /**< responder answered NAK remote access error */
	PMV_EVENT_COMM_EST = 4,             /**< first request arrived in RTR */
	PMV_EVENT_SQ_DRAINED = 5,           /**< in SQD, when it was asked for */
	PMV_EVENT_PORT_ACTIVE = 9,          /**< the link came up */
	PMV_EVENT_PORT_ERR = 10,            /**< the link went down */
	PMV_EVENT_SRQ_ERR = 14,             /**< not raised by the software driver */
	PMV_EVENT_SRQ_LIMIT_REACHED = 15,   /**< once, then the limit is to be armed again */
	PMV_EVENT_QP_LAST_WQE_REACHED = 16, /**< a QP with an SRQ went to ERR: it takes no more
					       receives, and what it had taken has completed */
	PMV_EVENT_GID_CHANGE = 18,          /**< addresses came or went while there were workers */
	PMV_EVENT_MR_RELEASED = 64,         /**< pmverbs' own: see pmv_dereg_mr() */
	PMV_EVENT_MW_RELEASED = 65,         /**< pmverbs' own: see pmv_dealloc_mw() */
};

struct pmv_event {
	enum pmv_event_type type;
	uint32_t qp_num; /**< QP events */
	void *context;   /**< of the QP, CQ, SRQ, MR or MW; else NULL */
	void *object;    /**< struct pmv_qp, pmv_cq or pmv_srq; the device's events: struct
			    pmv_device, but NULL for MR_RELEASED and MW_RELEASED (the handle is
			    gone) */
};

/** Takes one event of this worker's CQs, QPs and SRQs. The record is a copy: nothing is to be
 * acknowledged, and it stays valid when the object is destroyed. @return 1, or 0 when there is
 * none. @note Context: owner lcore. */
PMV_API int pmv_worker_get_event(struct pmv_worker *worker, struct pmv_event *ret_event);

/** Takes one event of the device: MR_RELEASED, MW_RELEASED, GID_CHANGE, PORT_ACTIVE, PORT_ERR. For
 * the last two the call looks at the link, at most a hundred times a second; ups and downs between
 * two looks are not seen. @return 1 or 0. @note Context: any thread. */
PMV_API int pmv_poll_async_event(struct pmv_device *device, struct pmv_event *ret_event);

/** @return static text, never NULL. */
PMV_API const char *pmv_event_type_str(enum pmv_event_type type);

#ifdef __cplusplus
}
#endif
#endif
