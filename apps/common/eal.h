// SPDX-License-Identifier: BSD-3-Clause
/*
 * EAL's start and end, and what main does around them. Main's thread only.
 */
#ifndef PMV_APPS_COMMON_EAL_H
#define PMV_APPS_COMMON_EAL_H

#include "apps/common/options.h"

/* Starts EAL with the EAL half, and catches signals. @return 0; a negative errno after it has said
 * why. */
int pmv_app_eal_start(const struct pmv_app_args *args);

/*
 * What main does first: split, parse, start EAL. @return -1: go on, and end with pmv_app_finish();
 * else the exit status, and nothing is left to free.
 */
int pmv_app_begin(int argc, char **argv, const struct pmv_app_spec *spec,
	struct pmv_app_args *ret_args, struct pmv_app_options *ret_options);
/* The exit status when the command line, or --help in it, ends the program: ret is
 * pmv_app_options_parse()'s. */
int pmv_app_usage_status(int ret);
/* Closes the ports that are left, ends EAL, frees args. @return the exit status. */
int pmv_app_finish(struct pmv_app_args *args, bool failed);

#endif
