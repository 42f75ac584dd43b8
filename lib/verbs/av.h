// SPDX-License-Identifier: BSD-3-Clause
/*
 * Address vectors: from what the user says (struct pmv_ah_attr) to what frames carry (struct
 * pmv_av). Called by qp.c and ah.c on control threads under the device's lock. It resolves the next
 * hop, once; a MAC that changes later is nexthop.c's.
 */
#ifndef PMV_VERBS_AV_H
#define PMV_VERBS_AV_H

#include "lib/driver/pmv_driver.h"

/*
 * who: for the log line ("modify_qp"). 0; -EINVAL; -EHOSTUNREACH: the next hop's MAC is not known.
 */
int pmv_verbs_av_resolve(struct pmv_device *dev, const struct pmv_ah_attr *attr,
	bool may_be_multicast, const char *who, struct pmv_av *ret_av);

#endif
