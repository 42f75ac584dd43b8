// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames made by hand, whole and byte by byte, and what a worker's counters say about them. Used by
 * simulations that play a peer, or a stranger, to a real node.
 */
#ifndef PMV_TEST_CRAFT_H
#define PMV_TEST_CRAFT_H

#include "lib/wire/bth.h"
#include "test/harness/node.h"

#define CRAFT_BYTES 4608u

/* A frame. Offsets from its first byte. */
struct craft {
	uint8_t bytes[CRAFT_BYTES];
	uint32_t len;
	uint32_t l3;
	uint32_t udp;
	uint32_t bth;
	bool is_v6;
};

/* Where a frame comes from and goes to. */
struct craft_path {
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	union pmv_gid src;
	union pmv_gid dst;
	uint16_t vlan_id;
	uint16_t sport;
};

/* From node !to to node `to` of a pair. */
void craft_path_get(
	struct pmv_test_pair *pair, int to, bool is_v6, uint16_t vlan_id, struct craft_path *ret);

/* Ethernet .. BTH; then put extension headers, payload, pad; then end: lengths, checksum, ICRC. */
void craft_begin(struct craft *c, const struct craft_path *path, const struct pmv_bth *bth);
void craft_put(struct craft *c, const void *bytes, uint32_t len);
void craft_end(struct craft *c);

/* Extension headers. */
void craft_put_reth(struct craft *c, uint64_t va, uint32_t rkey, uint32_t len);
void craft_put_atomic(struct craft *c, const struct pmv_atomic_eth *h);
void craft_put_aeth(struct craft *c, uint8_t syndrome, uint32_t msn);
void craft_put_deth(struct craft *c, uint32_t qkey, uint32_t sqpn);

/* After a change by hand: IPv4 header checksum, ICRC (where the UDP length says). */
void craft_seal_ip(struct craft *c);
void craft_seal_icrc(struct craft *c);
/* A right UDP checksum (0 is what end leaves). */
void craft_seal_udp(struct craft *c);

/* Into receive queue 0 of node `to`. */
void craft_inject(struct pmv_test_pair *pair, int to, const struct craft *c);

/*
 * An mbuf (or a chain, cut at the given offsets; 0 = no cut) whose segments lie in memory of their
 * own of exactly their length, so that a sanitizer sees every byte read past a segment's end.
 */
struct rte_mbuf *craft_mbuf(
	struct rte_mempool *pool, const struct craft *c, uint32_t cut1, uint32_t cut2);

/* Counters of a worker at one moment. */
struct craft_stats {
	struct pmv_stat stat[128];
	uint32_t nb;
};

void craft_stats_take(const struct pmv_worker *w, struct craft_stats *s);
/* How far one went. */
uint64_t craft_stats_delta(
	const struct craft_stats *before, const struct craft_stats *after, const char *name);

/*
 * The one counter of dropped frames that went up, by exactly one; "" when none did; "several"
 * otherwise. What went to the connection manager, and was dropped for want of one, counts too.
 */
const char *craft_stats_drop(const struct craft_stats *before, const struct craft_stats *after);

#endif
