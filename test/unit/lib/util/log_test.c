// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/util/log and lib/util/assert: the own log type, its level, and that a false assertion ends
 * the process.
 */
#include "lib/util/log.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#undef NDEBUG
#include "lib/util/assert.h"

static void
log__own_type_and_level(void **state)
{
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	assert_int_equal(rte_log_get_level((uint32_t)pmv_log_type), RTE_LOG_NOTICE);
	assert_int_equal(rte_openlog_stream(out), 0);
	PMV_LOG(DEBUG, "silent");
	PMV_LOG(ERR, "port %u: %s", 7u, "gone");
	assert_int_equal(rte_log_set_level_pattern("pmverbs", RTE_LOG_DEBUG), 0);
	PMV_LOG(DEBUG, "no arguments");
	rte_openlog_stream(NULL);
	fclose(out);
	assert_string_equal(text, "pmverbs: port 7: gone\npmverbs: no arguments\n");
}

static void
assert__false_aborts_true_does_not(void **state)
{
	int status;
	pid_t child;

	PMV_ASSERT(state != NULL);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		PMV_ASSERT(child != 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log__own_type_and_level),
		cmocka_unit_test(assert__false_aborts_true_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
