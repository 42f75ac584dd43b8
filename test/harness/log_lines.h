// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the library logs during a piece of a test, and tables of refused calls: each row is a call,
 * its errno, and the argument that its one line of log must name. One thread at a time.
 */
#ifndef PMV_TEST_LOG_LINES_H
#define PMV_TEST_LOG_LINES_H

#include <stdint.h>

/* Between begin and end everything from DEBUG on is caught. */
void pmv_test_log_begin(void);
/* @return how many lines. *ret_text: all of them, until the next begin. */
uint32_t pmv_test_log_end(const char **ret_text);

/*
 * Judges a call whose log was caught since begin: its errno; exactly one line, which begins with
 * the name of the call and has `word` behind it. word NULL: no line at all. A row that is wrong is
 * printed; the sum of them is pmv_test_refused_failures().
 */
void pmv_test_refused_judge(const char *call, int rc, int error, const char *word);

/* @return wrong rows since the last time this was asked. */
uint32_t pmv_test_refused_failures(void);

/* One row. The call comes last, so that compound literals may stand in it. */
#define REFUSED(error, word, ...)                                                                  \
	do {                                                                                       \
		int refused_rc;                                                                    \
                                                                                                   \
		pmv_test_log_begin();                                                              \
		refused_rc = (__VA_ARGS__);                                                        \
		pmv_test_refused_judge(#__VA_ARGS__, refused_rc, error, word);                     \
	} while (0)

#endif
