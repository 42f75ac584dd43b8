// SPDX-License-Identifier: BSD-3-Clause
/*
 * Lcores and EAL's defaults. Main's thread.
 */
/* CPU sets. */
#define _GNU_SOURCE
#include "apps/demo/lcores.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>

static const char *const memory_options[] = { "--no-huge", "-m", "--socket-mem", "--huge-dir",
	"--legacy-mem", NULL };
static const char *const lcore_options[] = { "-l", "-c", "--lcores", "-s", "-S", NULL };
static const char *const plain_defaults[] = { "--no-pci", "--no-shconf", "--no-telemetry",
	"--log-level=lib.eal:warning" };

/* "-l0" and "--lcores=0" are -l and --lcores. */
static bool
is_given(const struct pmv_app_args *args, const char *const *names)
{
	for (int i = 1; i < args->nb_eal; i++)
		for (int n = 0; names[n] != NULL; n++)
			if (strncmp(args->eal[i], names[n], strlen(names[n])) == 0)
				return true;
	return false;
}

/* EAL writes into no option, but its type says so. */
static char *
word(const char *text)
{
	union {
		const char *in;
		char *out;
	} cast = { .in = text };

	return cast.out;
}

/* The first two CPUs this process may use, by EAL's numbering 0 and 1, so that a big CPU number is
 * no matter. */
static const char *
allowed_lcores(void)
{
	static char text[48];
	int cpus[2];
	int nb = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return "0";
	for (int cpu = 0; cpu < CPU_SETSIZE && nb < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[nb++] = cpu;
	if (nb == 2)
		snprintf(text, sizeof(text), "0@%d,1@%d", cpus[0], cpus[1]);
	else
		snprintf(text, sizeof(text), "0@%d", nb == 1 ? cpus[0] : 0);
	return text;
}

int
pmv_demo_eal_defaults(struct pmv_app_args *args, const char *lcores)
{
	const char *add[PMV_APP_EAL_EXTRA];
	int nb = 0;

	for (size_t i = 0; i < RTE_DIM(plain_defaults); i++)
		add[nb++] = plain_defaults[i];
	if (!is_given(args, memory_options)) {
		add[nb++] = "--no-huge";
		add[nb++] = "-m";
		add[nb++] = "128";
	}
	if (lcores != NULL) {
		add[nb++] = "-l";
		add[nb++] = lcores;
	} else if (!is_given(args, lcore_options)) {
		add[nb++] = "--lcores";
		add[nb++] = allowed_lcores();
	}
	/* In front, so that of an option given twice the user's is the last. */
	memmove(&args->eal[1 + nb], &args->eal[1],
		(size_t)(args->nb_eal - 1) * sizeof(args->eal[0]));
	for (int i = 0; i < nb; i++)
		args->eal[1 + i] = word(add[i]);
	args->nb_eal += nb;
	args->eal[args->nb_eal] = NULL;
	return 0;
}

unsigned int
pmv_demo_server_lcore(void)
{
	rte_cpuset_t main_set = rte_lcore_cpuset(rte_get_main_lcore());
	unsigned int lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		rte_cpuset_t set = rte_lcore_cpuset(lcore);
		rte_cpuset_t both;

		/* Two pollers on one CPU would wait for each other's time slice. */
		CPU_OR(&both, &main_set, &set);
		if (CPU_COUNT(&both) >= 2)
			return lcore;
	}
	return RTE_MAX_LCORE;
}
