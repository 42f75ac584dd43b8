// SPDX-License-Identifier: BSD-3-Clause
/*
 * Shares SIGSEGV. Called by the trap, and as sigaction() and signal() by everything else in the
 * process, on any thread; handlers are installed before threads run, so there is no lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "test/mlx5/trap_signal.h"

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);
typedef __sighandler_t (*signal_function)(int, __sighandler_t);

static struct sigaction behind; /* the handler of others */
static bool taken;

static int
next_sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	static sigaction_function next;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "sigaction");
	return next(signo, action, old);
}

int
pmv_mlx5m_signal_take(pmv_mlx5m_signal_handler handler)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigemptyset(&action.sa_mask);
	if (next_sigaction(SIGSEGV, &action, &behind) != 0)
		return -errno;
	taken = true;
	return 0;
}

void
pmv_mlx5m_signal_release(void)
{
	if (!taken)
		return;
	taken = false;
	next_sigaction(SIGSEGV, &behind, NULL);
}

void
pmv_mlx5m_signal_give_up(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	next_sigaction(SIGSEGV, &action, NULL);
}

void
pmv_mlx5m_signal_hand_on(int signo, siginfo_t *info, void *context)
{
	if (behind.sa_flags & SA_SIGINFO)
		behind.sa_sigaction(signo, info, context);
	else if (behind.sa_handler != SIG_DFL && behind.sa_handler != SIG_IGN)
		behind.sa_handler(signo);
	else
		pmv_mlx5m_signal_give_up();
}

int
sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = behind;

	if (signo != SIGSEGV || !taken)
		return next_sigaction(signo, action, old);
	if (action != NULL)
		behind = *action;
	if (old != NULL)
		*old = before;
	return 0;
}

__sighandler_t
signal(int signo, __sighandler_t handler)
{
	static signal_function next;
	__sighandler_t before = behind.sa_handler;

	if (signo == SIGSEGV && taken) {
		memset(&behind, 0, sizeof(behind));
		behind.sa_handler = handler;
		return before;
	}
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "signal");
	return next(signo, handler);
}
