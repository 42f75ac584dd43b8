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

/* What was logged through these lines; text must be big enough. */
static void
catch_begin(char *text, size_t bytes, FILE **ret_out)
{
	*ret_out = fmemopen(text, bytes, "w");
	assert_non_null(*ret_out);
	assert_int_equal(rte_openlog_stream(*ret_out), 0);
}

static void
catch_end(FILE *out)
{
	rte_openlog_stream(NULL);
	fclose(out);
}

static void
log_refuse__one_line_and_the_errno(void **state)
{
	char text[1024] = "", longest[600];
	FILE *out;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	catch_begin(text, sizeof(text), &out);
	assert_int_equal(pmv_log_refuse(-22, "call: cqe %u is not 1..%u", 9u, 8u), -22);
	assert_int_equal(pmv_log_refuse(-12, "%s", longest), -12);
	catch_end(out);
	assert_ptr_equal(strstr(text, "pmverbs: call: cqe 9 is not 1..8\npmverbs: xxx"), text);
	/* cut, and still a line */
	assert_in_range(strlen(text), 200, 400);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

/* The caller of a driver adds nothing to what was told below; warnings do not count. */
static void
log_refuse_since__only_if_nobody_has_told(void **state)
{
	char text[256] = "";
	uint32_t mark;
	FILE *out;

	catch_begin(text, sizeof(text), &out);
	mark = pmv_log_nb_errors;
	PMV_LOG(WARNING, "far away");
	assert_int_equal(pmv_log_refuse_since(mark, -5, "above: %s", "why"), -5);
	mark = pmv_log_nb_errors;
	PMV_LOG(ERR, "below");
	assert_int_equal(pmv_log_refuse_since(mark, -5, "above"), -5);
	catch_end(out);
	assert_string_equal(text, "pmverbs: far away\npmverbs: above: why\npmverbs: below\n");
}

static void
log_any_null__names_the_first(void **state)
{
	char text[256] = "";
	int a, b;
	FILE *out;

	catch_begin(text, sizeof(text), &out);
	assert_false(PMV_ANY_NULL("call", "one two", &a, &b));
	assert_true(PMV_ANY_NULL("call", "one two three", &a, NULL, NULL));
	assert_true(PMV_ANY_NULL("call", "one two", &a, NULL));
	assert_true(PMV_ANY_NULL("call", "one", NULL));
	catch_end(out);
	assert_string_equal(text, "pmverbs: call: two is NULL\npmverbs: call: two is NULL\n"
				  "pmverbs: call: one is NULL\n");
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
		cmocka_unit_test(log_refuse__one_line_and_the_errno),
		cmocka_unit_test(log_refuse_since__only_if_nobody_has_told),
		cmocka_unit_test(log_any_null__names_the_first),
		cmocka_unit_test(assert__false_aborts_true_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
