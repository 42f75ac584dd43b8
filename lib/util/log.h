// SPDX-License-Identifier: BSD-3-Clause
/*
 * Logging of the control path, as log type "pmverbs" of the EAL (so --log-level=pmverbs:debug
 * works). Used by create, modify and destroy calls and by the connection manager's shell; never by
 * the data path (counters there) and never by a pure part (this header needs rte_log.h). Any
 * thread. The first place that sees an error logs it, once.
 */
#ifndef PMV_UTIL_LOG_H
#define PMV_UTIL_LOG_H

#include <rte_log.h>

/* The registered type; set by a constructor before main. Read-only afterwards. */
extern int pmv_log_type;

/*
 * level: EMERG ALERT CRIT ERR WARNING NOTICE INFO DEBUG, without prefix. fmt: a string literal
 * without newline. PMV_LOG(ERR, "port %u: %s", port, why);
 */
#define PMV_LOG(level, fmt, ...)                                                                   \
	rte_log(RTE_LOG_##level, (uint32_t)pmv_log_type, "pmverbs: " fmt "\n", ##__VA_ARGS__)

#endif
