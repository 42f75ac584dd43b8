// SPDX-License-Identifier: BSD-3-Clause
/*
 * Hex strings of the vectors -> bytes. Spaces are ignored; anything else that is no hex digit ends
 * the test process.
 */
#ifndef PMV_TEST_HEX_H
#define PMV_TEST_HEX_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the number of bytes written to dst (room bytes). */
static inline uint32_t
pmv_hex_read(const char *hex, uint8_t *dst, uint32_t room)
{
	uint32_t n = 0;

	for (; *hex != '\0'; hex++) {
		unsigned int v;

		if (*hex == ' ')
			continue;
		if (n == room || !isxdigit((unsigned char)hex[0]) || sscanf(hex, "%2x", &v) != 1 ||
			!isxdigit((unsigned char)hex[1])) {
			fprintf(stderr, "bad vector at: %s\n", hex);
			abort();
		}
		dst[n++] = (uint8_t)v;
		hex++;
	}
	return n;
}

#endif
