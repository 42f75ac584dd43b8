// SPDX-License-Identifier: BSD-3-Clause
/*
 * SIGSEGV with two owners: the trap, which must see every fault first, and whoever else in the
 * process installs a handler (cmocka does for each test, sanitizers at start). sigaction() and
 * signal() are interposed, so that others get the place behind the trap.
 */
#ifndef PMV_TEST_MLX5_TRAP_SIGNAL_H
#define PMV_TEST_MLX5_TRAP_SIGNAL_H

#include <signal.h>

typedef void (*pmv_mlx5m_signal_handler)(int signo, siginfo_t *info, void *context);

/* 0 or -errno. */
int pmv_mlx5m_signal_take(pmv_mlx5m_signal_handler handler);
void pmv_mlx5m_signal_release(void);

/* A fault that is not the trap's goes to the handler behind it. */
void pmv_mlx5m_signal_hand_on(int signo, siginfo_t *info, void *context);

/* The instruction will fault again, then without any handler. */
void pmv_mlx5m_signal_give_up(void);

#endif
