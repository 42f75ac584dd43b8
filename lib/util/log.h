// SPDX-License-Identifier: BSD-3-Clause
/*
 * Logging of the control path, as log type "pmverbs" of the EAL (so --log-level=pmverbs:debug
 * works). Used by create, modify and destroy calls and by the connection manager's shell; never by
 * the data path (counters there) and never by a pure part (this header needs rte_log.h). Any
 * thread. The first place that sees an error logs it, once: a line begins with the call and names
 * the argument as the public header does.
 */
#ifndef PMV_UTIL_LOG_H
#define PMV_UTIL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_log.h>

/* The registered type; set by a constructor before main. Read-only afterwards. */
extern int pmv_log_type;

/* Lines of level ERR and worse that this thread has logged so far; it wraps. */
extern __thread uint32_t pmv_log_nb_errors;

/*
 * level: EMERG ALERT CRIT ERR WARNING NOTICE INFO DEBUG, without prefix. fmt: a string literal
 * without newline. PMV_LOG(ERR, "port %u: %s", port, why);
 */
#define PMV_LOG(level, fmt, ...)                                                                   \
	do {                                                                                       \
		pmv_log_nb_errors += RTE_LOG_##level <= RTE_LOG_ERR;                               \
		rte_log(RTE_LOG_##level, (uint32_t)pmv_log_type, "pmverbs: " fmt "\n",             \
			##__VA_ARGS__);                                                            \
	} while (0)

/* Logs why a call is refused. @return rc: return pmv_log_refuse(-EINVAL, "create_cq: cqe is 0"); */
int pmv_log_refuse(int rc, const char *fmt, ...) __attribute__((cold, format(printf, 2, 3)));

/*
 * The same for a failure that comes from below (a driver), where the cause may have been told
 * already: silent if this thread has logged an error since `mark`, a copy of pmv_log_nb_errors from
 * before the call.
 */
int pmv_log_refuse_since(uint32_t mark, int rc, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));

/* The work of PMV_ANY_NULL. */
bool pmv_log_any_null(
	const char *call, const char *names, const void *const *pointers, uint32_t nb);

/*
 * True if one of the pointers is NULL, which a line has told then. names: of the arguments, one
 * blank between them. if (PMV_ANY_NULL("query_mr", "mr ret_attr", mr, ret_attr)) return -EINVAL;
 */
#define PMV_ANY_NULL(call, names, ...)                                                             \
	pmv_log_any_null(call, names, (const void *const[]){ __VA_ARGS__ },                        \
		(uint32_t)(sizeof((const void *const[]){ __VA_ARGS__ }) / sizeof(void *)))

#endif
