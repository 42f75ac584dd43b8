// SPDX-License-Identifier: BSD-3-Clause
/*
 * The content of rping's messages: the 16 bytes that name a buffer, and the text of a ping. Called
 * by session.c; pure bytes, any thread.
 *
 * A round: the client sends the place of its source buffer; the server reads it (RDMA READ) and
 * sends 16 bytes as "go on"; the client sends the place of its sink; the server writes the text
 * there (RDMA WRITE) and sends "go on" again.
 */
#ifndef PMV_APPS_RPING_PING_H
#define PMV_APPS_RPING_PING_H

#include <stdbool.h>
#include <stdint.h>

/* On the wire: address (8 bytes), rkey (4), size (4), all big-endian. */
#define PMV_RPING_PLACE_BYTES 16u
/* What rping takes for -S. */
#define PMV_RPING_SIZE_MIN 26u
#define PMV_RPING_SIZE_MAX 65535u

struct pmv_rping_place {
	uint64_t addr;
	uint32_t rkey;
	uint32_t size; /* bytes */
};

void pmv_rping_place_build(const struct pmv_rping_place *place, uint8_t *bytes);
void pmv_rping_place_parse(const uint8_t *bytes, struct pmv_rping_place *ret_place);

/* Writes the text of round nb into size bytes (PMV_RPING_SIZE_MIN and more), the last one 0. */
void pmv_rping_text_fill(char *buf, uint32_t size, uint64_t nb);
/* True when buf holds that text. */
bool pmv_rping_text_check(const char *buf, uint32_t size, uint64_t nb);

#endif
