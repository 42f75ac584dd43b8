// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which lcores the demonstration runs on, and EAL's options for a machine of which nothing is
 * known: no hugepages, no NIC, no root. Called by main.c, once before EAL starts and once after.
 */
#ifndef PMV_APPS_DEMO_LCORES_H
#define PMV_APPS_DEMO_LCORES_H

#include "apps/common/options.h"

/*
 * Puts defaults in front of what the user gave to EAL. A default stays out when the user's options
 * say something about the same matter: memory, lcores. @param lcores  text of our own -l, or NULL.
 * @return 0 or -ENOSPC.
 */
int pmv_demo_eal_defaults(struct pmv_app_args *args, const char *lcores);

/* An lcore for the server that does not share its only CPU with the main lcore, or RTE_MAX_LCORE:
 * there is none. */
unsigned int pmv_demo_server_lcore(void);

#endif
