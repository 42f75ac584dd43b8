// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sentences, the stop flag and a clock for deadlines. Any thread; no EAL needed.
 */
#include "apps/common/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

volatile sig_atomic_t pmv_app_stop;
static const char *name = "pmv";

void
pmv_app_set_name(const char *argv0)
{
	const char *slash = argv0 != NULL ? strrchr(argv0, '/') : NULL;

	if (argv0 != NULL && argv0[0] != '\0')
		name = slash != NULL ? slash + 1 : argv0;
}

const char *
pmv_app_name(void)
{
	return name;
}

void
pmv_app_say(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* One call, so that sentences of two threads do not mix; stdout first, so that the order of
	 * both is the true one. */
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", name, text);
}

static void
on_signal(int number)
{
	(void)number;
	pmv_app_stop = 1;
}

void
pmv_app_claim_stdio(void)
{
	/* Opened the wrong way round for output, so that a write fails and is noticed. */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			return;
	/* Line by line also into a file or a pipe: whoever waits for a line gets it when it is
	 * printed. */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

bool
pmv_app_is_output_lost(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return false;
	pmv_app_say("what was printed could not all be written%s%s", errno != 0 ? ": " : "",
		errno != 0 ? strerror(errno) : "");
	return true;
}

int
pmv_app_catch_signals(void)
{
	/* RESETHAND: if the orderly end hangs, the second Ctrl-C is the ordinary one. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGINT, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0)
		return -errno;
	/* Nobody reads what we print: that ends the work, but the peer is told and all is freed. It
	 * comes again with every line. */
	action.sa_flags = 0;
	return sigaction(SIGPIPE, &action, NULL) == 0 ? 0 : -errno;
}

uint64_t
pmv_app_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
