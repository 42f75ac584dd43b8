// SPDX-License-Identifier: BSD-3-Clause
/*
 * An outside program, as small as can be: prints the registered drivers, and fails if the one it is
 * told to expect is not among them. A driver enters itself in a constructor, which a static link
 * drops unless pkg-config keeps it.
 */
#include <stdio.h>
#include <string.h>

#include <pmverbs/pmv.h>
#include <pmverbs/pmv_cm.h>

int
main(int argc, char **argv)
{
	const char *name;
	unsigned int i;
	int found = 0;

	for (i = 0; (name = pmv_driver_name(i)) != NULL; i++) {
		printf("driver %s\n", name);
		if (argc > 1 && strcmp(name, argv[1]) == 0)
			found = 1;
	}
	return argc > 1 && !found;
}
