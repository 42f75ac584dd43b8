// SPDX-License-Identifier: BSD-3-Clause
/*
 * Registers the log type of pmverbs with the EAL before main, and says why calls are refused; see
 * log.h.
 */
#include "lib/util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

/* Longer reasons are cut: they hold names and numbers, and at most one text of the caller. */
#define REASON_BYTES 256

/* NOTICE: silent in normal running, errors and warnings seen; --log-level=pmverbs:debug for more.
 */
RTE_LOG_REGISTER(pmv_log_type, pmverbs, NOTICE)

__thread uint32_t pmv_log_nb_errors;

static void
tell(const char *fmt, va_list args)
{
	char reason[REASON_BYTES];

	vsnprintf(reason, sizeof(reason), fmt, args);
	PMV_LOG(ERR, "%s", reason);
}

int
pmv_log_refuse(int rc, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(fmt, args);
	va_end(args);
	return rc;
}

int
pmv_log_refuse_since(uint32_t mark, int rc, const char *fmt, ...)
{
	va_list args;

	if (pmv_log_nb_errors != mark)
		return rc;
	va_start(args, fmt);
	tell(fmt, args);
	va_end(args);
	return rc;
}

bool
pmv_log_any_null(const char *call, const char *names, const void *const *pointers, uint32_t nb)
{
	uint32_t i;

	for (i = 0; i < nb; i++) {
		if (pointers[i] == NULL) {
			PMV_LOG(ERR, "%s: %.*s is NULL", call, (int)strcspn(names, " "), names);
			return true;
		}
		names += strcspn(names, " ");
		names += *names == ' ';
	}
	return false;
}
