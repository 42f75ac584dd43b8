// SPDX-License-Identifier: BSD-3-Clause
/*
 * Builds and reads what rping's messages carry. Pure: bytes in, bytes out; any thread.
 */
#include "apps/rping/ping.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LETTER 'A'
#define NB_LETTERS   ('z' - 'A' + 1)

void
pmv_rping_place_build(const struct pmv_rping_place *place, uint8_t *bytes)
{
	uint64_t addr_be = htobe64(place->addr);
	uint32_t rkey_be = htobe32(place->rkey);
	uint32_t size_be = htobe32(place->size);

	memcpy(bytes, &addr_be, sizeof(addr_be));
	memcpy(bytes + 8, &rkey_be, sizeof(rkey_be));
	memcpy(bytes + 12, &size_be, sizeof(size_be));
}

void
pmv_rping_place_parse(const uint8_t *bytes, struct pmv_rping_place *ret_place)
{
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t size_be;

	memcpy(&addr_be, bytes, sizeof(addr_be));
	memcpy(&rkey_be, bytes + 8, sizeof(rkey_be));
	memcpy(&size_be, bytes + 12, sizeof(size_be));
	*ret_place =
		(struct pmv_rping_place){ be64toh(addr_be), be32toh(rkey_be), be32toh(size_be) };
}

/* The letters go round from A to z and start one further in each round, so that two rounds never
 * look alike by chance. */
static uint32_t
make_head(char *head, size_t head_bytes, uint64_t nb)
{
	return (uint32_t)snprintf(head, head_bytes, "rdma-ping-%" PRIu64 ": ", nb);
}

static char
letter(uint64_t nb, uint32_t i)
{
	return (char)(FIRST_LETTER + (nb + i) % NB_LETTERS);
}

void
pmv_rping_text_fill(char *buf, uint32_t size, uint64_t nb)
{
	char head[40];
	uint32_t len = make_head(head, sizeof(head), nb);

	for (uint32_t i = 0; i < size; i++)
		buf[i] = i < len ? head[i] : letter(nb, i - len);
	buf[size - 1] = '\0';
}

bool
pmv_rping_text_check(const char *buf, uint32_t size, uint64_t nb)
{
	char head[40];
	uint32_t len = make_head(head, sizeof(head), nb);

	for (uint32_t i = 0; i + 1 < size; i++)
		if (buf[i] != (i < len ? head[i] : letter(nb, i - len)))
			return false;
	return buf[size - 1] == '\0';
}
