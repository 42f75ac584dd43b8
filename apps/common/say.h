// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a program says when something is wrong: one sentence on stderr, an exit status, and the flag
 * that Ctrl-C sets. Used by every program and every file of apps; any thread. It never ends the
 * process: main does, after it has freed everything.
 */
#ifndef PMV_APPS_COMMON_SAY_H
#define PMV_APPS_COMMON_SAY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of all programs. */
enum pmv_app_exit {
	PMV_APP_OK = 0,
	PMV_APP_FAILED = 1, /* the work was not done */
	PMV_APP_USAGE = 2,  /* a wrong command line; nothing was started */
};

/* Set by SIGINT and SIGTERM, and by SIGPIPE when nobody reads our output any more; every loop looks
 * at it. Never cleared. */
extern volatile sig_atomic_t pmv_app_stop;

/* Name that stands in front of each sentence: the last part of argv[0]. Call first. */
void pmv_app_set_name(const char *argv0);
const char *pmv_app_name(void);

/* Prints one sentence, without a newline in fmt, to stderr. */
void pmv_app_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* First of all: no socket of ours gets a standard descriptor's number that the caller has closed,
 * which printing would then write into; and stdout goes line by line. */
void pmv_app_claim_stdio(void);

/* Last of all: true, after it has said so, if something printed did not arrive (a full disk). */
bool pmv_app_is_output_lost(void);

/* Makes SIGINT, SIGTERM and SIGPIPE set pmv_app_stop; the second SIGINT or SIGTERM ends the process
 * as usual. 0 or a negative errno. */
int pmv_app_catch_signals(void);

/* Milliseconds of a steady clock, for deadlines of seconds. */
uint64_t pmv_app_now_ms(void);

#endif
