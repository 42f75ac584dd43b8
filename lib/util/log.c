// SPDX-License-Identifier: BSD-3-Clause
/*
 * Registers the log type of pmverbs with the EAL before main. Every message goes through PMV_LOG in
 * log.h.
 */
#include "lib/util/log.h"

#include <rte_common.h>

/* NOTICE: silent in normal running, errors and warnings seen; --log-level=pmverbs:debug for more.
 */
RTE_LOG_REGISTER(pmv_log_type, pmverbs, NOTICE)
