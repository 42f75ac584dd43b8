// SPDX-License-Identifier: BSD-3-Clause
/*
 * The memory of a node under a fuzzer: zones with different rights, each between bytes that nobody
 * may touch, and a shadow that tells what has changed. Used by the state fuzzer.
 */
#ifndef PMV_TEST_FUZZED_ZONES_H
#define PMV_TEST_FUZZED_ZONES_H

#include "test/harness/node.h"

#define ZONE_SECRET 0xee /* bytes that must neither leave nor change */
#define ZONE_BUF    4096u
#define ZONE_BUFS   16u

enum zone {
	ZONE_RW,    /* remote read and write */
	ZONE_RO,    /* remote read */
	ZONE_IOVA,  /* remote read and write; its addresses end at 2^64 */
	ZONE_OTHER, /* all rights, of another PD */
	ZONE_DEAD,  /* deregistered */
	ZONE_OUT,   /* local: what is sent */
	ZONE_RECV,  /* local: ZONE_BUFS receive buffers */
	ZONE_READ,  /* local: ZONE_BUFS targets of READs */
	ZONE_NB
};

struct zones {
	struct pmv_pd *other_pd;
	struct pmv_mr *mr[ZONE_NB];
	uint32_t key[ZONE_NB];
	uint8_t *zone[ZONE_NB];
	uint8_t *arena;
	uint8_t *shadow;
};

uint32_t zone_bytes(enum zone z);
/* First address of a zone as the peer names it. */
uint64_t zone_start(const struct zones *s, enum zone z);

void zones_open(struct zones *s, struct pmv_test_node *node);
/* Deregisters; then, when nothing is in use any more, ends. */
void zones_dereg(struct zones *s);
void zones_close(struct zones *s);

/* Whatever changed in a zone is right. */
void zones_accept(struct zones *s, enum zone z);
/* Memory is what it was but for [from, from + len) (NULL: no exception), which is taken over. */
void zones_check(struct zones *s, const uint8_t *from, uint32_t len);

/* Nothing that the peer may not read is in these bytes. */
void zones_check_no_secret(const uint8_t *p, uint32_t len);

#endif
