// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmv-pingpong -b: both ends in one process, without a connection manager. Called by main instead
 * of connecting; one lcore does everything.
 */
#ifndef PMV_APPS_PINGPONG_BOTH_H
#define PMV_APPS_PINGPONG_BOTH_H

#include "apps/common/options.h"
#include "apps/common/role.h"

/*
 * Runs role->count round trips of role->size bytes by SEND, then as many by WRITE, and prints how
 * long they took. @param ibdev  "NAME" or "NAME,NAME", RDMA devices of the kernel; NULL: two ports
 * on a virtual wire. @return 0; a negative errno after it has said why.
 */
int pmv_pingpong_both(
	const struct pmv_app_options *options, const struct pmv_app_role *role, const char *ibdev);

#endif
