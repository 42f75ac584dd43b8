// SPDX-License-Identifier: BSD-3-Clause
#include "test/harness/eal.h"

#include <stdbool.h>
#include <stddef.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_log.h>

int
pmv_test_eal_start(void **state)
{
	static bool is_started;
	char *argv[] = { "test", "--no-huge", "-m", "256", "--no-pci", "--in-memory",
		"--no-telemetry", "--no-shconf", "-l", "0", "--log-level=*:error", NULL };

	(void)state;
	if (is_started)
		return 0;
	if (rte_eal_init((int)RTE_DIM(argv) - 1, argv) < 0)
		return -1;
	is_started = true;
	return 0;
}
