// SPDX-License-Identifier: BSD-3-Clause
/*
 * One end of the wire: a port, a device on it with its addresses, one worker and one connection
 * manager, all polled by one lcore. Every program opens one (the demonstration two), attaches to
 * it, polls it and closes it.
 *
 * open and close: any thread while nobody is attached. attach, poll, drain and free_mr: the lcore
 * that owns it.
 */
#ifndef PMV_APPS_COMMON_ENDPOINT_H
#define PMV_APPS_COMMON_ENDPOINT_H

#include <pmverbs/pmv_cm.h>

#include "apps/common/options.h"
#include "apps/common/port.h"

struct pmv_app_endpoint {
	struct pmv_app_port port;
	struct pmv_device *device;
	struct pmv_worker *worker;
	struct pmv_cm *cm;
	bool is_attached;
	bool prints_stats;
	uint32_t nb_idle; /* turns without work in a row */
};

/* Opens everything the common options ask for, detached. @return 0; a negative errno after it has
 * said why. */
int pmv_app_endpoint_open(const struct pmv_app_options *options, struct pmv_app_endpoint *ret_ep);

/* Makes the calling thread the owner of worker and CM. @return 0; a negative errno after it has
 * said why. */
int pmv_app_endpoint_attach(struct pmv_app_endpoint *ep);
void pmv_app_endpoint_detach(struct pmv_app_endpoint *ep);

/* One turn of worker and CM. @return work done, 0 = idle. After a long idle time it lets other
 * processes run. */
uint32_t pmv_app_endpoint_poll(struct pmv_app_endpoint *ep);

/* A link-local IPv6 address is one on the endpoint's link; others stay as they are. */
void pmv_app_endpoint_scope(const struct pmv_app_endpoint *ep, struct sockaddr_storage *addr);

/* Goes on polling for so long: last acknowledgements leave, and a repeated DREQ is answered. */
void pmv_app_endpoint_drain(struct pmv_app_endpoint *ep, uint32_t ms);

/*
 * Deregisters a region and waits, at most a second, until its memory may be freed. @return 0;
 * -ETIMEDOUT after it has said so; then the memory must stay.
 */
int pmv_app_endpoint_free_mr(struct pmv_app_endpoint *ep, struct pmv_mr *mr);

/* Destroys a CQ, once the QPs that used it are gone; a QP that the CM destroys may need some turns.
 * @return 0 or -EBUSY. */
int pmv_app_endpoint_free_cq(struct pmv_app_endpoint *ep, struct pmv_cq *cq);

/*
 * Closes what is open; detached or owned by the caller. Ids, PDs, CQs and QPs must be gone. @return
 * 0; a negative errno after it has said what is still in use.
 */
int pmv_app_endpoint_close(struct pmv_app_endpoint *ep);

/* Says in one sentence why a connection did not come about. @param peer  "10.0.0.1 port 7174" */
void pmv_app_say_cm_failure(const struct pmv_cm_event *event, const char *peer);

#endif
