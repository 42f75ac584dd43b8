// SPDX-License-Identifier: BSD-3-Clause
/*
 * A virtual link between two ethdev ports of this process (net_ring), moved by the test under a
 * virtual clock: what goes into one end comes out of the other after a delay, unless a mask, a
 * probability or a hook says otherwise. A direction may be a bottleneck: senders faster than its
 * wire, a queue before it, frames marked when that is long (ECN) and dropped when it is full.
 * Deterministic for a given seed.
 */
#ifndef PMV_TEST_LINK_H
#define PMV_TEST_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/util/random.h"

#define PMV_TEST_LINK_QUEUES 2
#define PMV_TEST_LINK_HELD   8192

enum pmv_test_fate {
	PMV_TEST_PASS,
	PMV_TEST_DROP,
	PMV_TEST_DUP,
	PMV_TEST_SWAP, /* delivered behind the next frame */
	PMV_TEST_CORRUPT,
};

/* Looks at (and may change) the index-th frame of a direction. */
typedef enum pmv_test_fate (*pmv_test_link_hook)(void *arg, struct rte_mbuf *m, uint64_t index);

/* What happens to frames that come out of one end. Set by the test at any time. */
struct pmv_test_dir {
	uint64_t drop_mask; /* bit i: the i-th frame, i = 0..63 */
	uint64_t dup_mask;
	uint64_t swap_mask;
	double drop; /* probabilities */
	double dup;
	double swap;
	uint32_t delay_us;
	uint32_t bytes_per_us;     /* rate of the wire, 24 bytes a frame besides; 0 = no limit */
	uint32_t nic_bytes_per_us; /* each transmit queue puts no more on its way; 0 = no limit */
	uint32_t mark_bytes;       /* with more than that before it, a frame that may be marked is
				      marked; 0 = never */
	uint32_t queue_bytes; /* with more than that before it, a frame is dropped; 0 = never */
	uint64_t free_at;     /* the wire has passed on what came before; link.c */
	uint64_t nic_free_at[PMV_TEST_LINK_QUEUES]; /* link.c */
	uint64_t queue_bytes_max;                   /* seen before a frame */
	uint64_t nb_marked;
	uint64_t nb_overrun;     /* dropped for want of room */
	pmv_test_link_hook hook; /* asked first; PASS lets the rest decide */
	void *hook_arg;
	uint64_t nb_frames; /* seen */
	uint64_t nb_dropped;
};

struct pmv_test_held {
	struct rte_mbuf *m;
	uint64_t due;
	uint16_t queue;
};

struct pmv_test_end {
	uint16_t port_id;
	struct rte_ring *tx[PMV_TEST_LINK_QUEUES]; /* the port sends into these */
	struct rte_ring *rx[PMV_TEST_LINK_QUEUES]; /* and receives from these */
	struct pmv_test_dir out;
	struct pmv_test_held held[PMV_TEST_LINK_HELD]; /* on their way to the other end, in order */
	uint32_t head;
	uint32_t tail;
	/* receive queue for a frame that arrives here; NULL: queue 0 */
	uint16_t (*steer)(const struct rte_mbuf *m);
};

struct pmv_test_link {
	struct pmv_test_end end[2];
	struct rte_mempool *pool;
	uint64_t ticks_per_us;
	struct pmv_random random;
	uint32_t pool_size;
};

/* Makes both ports (configured, started, nb_queues queue pairs) and a pool for them. 0 or negative
 * errno. */
int pmv_test_link_open(struct pmv_test_link **ret_link, uint16_t nb_queues, uint64_t seed);

/* Frees what is on the way and both ports. Returns the number of mbufs that did not come home. */
uint32_t pmv_test_link_close(struct pmv_test_link *link);

/* Takes what the ports sent and delivers what is due. Returns frames moved. */
uint32_t pmv_test_link_step(struct pmv_test_link *link, uint64_t now);

/* Frames under way. */
uint32_t pmv_test_link_pending(const struct pmv_test_link *link);

/* Puts raw bytes into the receive queue of an end, as a frame from the wire. */
void pmv_test_link_inject(struct pmv_test_link *link, int end, const void *bytes, uint32_t len);

#endif
