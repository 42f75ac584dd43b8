// SPDX-License-Identifier: BSD-3-Clause
#include "test/harness/eal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_log.h>

int
pmv_test_eal_start(void **state)
{
	static bool is_started;
	/* EAL writes into its arguments */
	static char line[] = "test --no-huge -m 256 --no-pci --no-shconf --no-telemetry -l 0 "
			     "--log-level=*:error";
	char *argv[16];
	int argc = 0;

	(void)state;
	if (is_started)
		return 0;
	for (char *a = strtok(line, " "); a != NULL; a = strtok(NULL, " "))
		argv[argc++] = a;
	argv[argc] = NULL;
	if (rte_eal_init(argc, argv) < 0)
		return -1;
	is_started = true;
	return 0;
}
