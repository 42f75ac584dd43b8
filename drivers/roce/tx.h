// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames on their way to the port: staged during the turn, handed over in bursts, kept in order
 * when the port takes no more. A caller asks for room first, builds, and then stages: staging never
 * fails. Owner lcore.
 */
#ifndef PMV_ROCE_TX_H
#define PMV_ROCE_TX_H

#include <stdbool.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#define PMV_ROCE_TX_RING    512u /* frames staged at most; power of two */
#define PMV_ROCE_TX_RESERVE 128u /* of these, kept for acknowledgements and CM frames */
#define PMV_ROCE_TX_BURST   32u  /* hand over as soon as so many wait */

struct pmv_roce_worker;

/* An ICRC still to be made: over len bytes at `from`, behind which it goes. len 0: it is there. */
struct pmv_roce_seal {
	uint8_t *from;
	uint32_t len;
	uint32_t state; /* register so far */
};

struct pmv_roce_tx {
	uint32_t head;   /* next to hand over */
	uint32_t sealed; /* frames before this one have their ICRC; head <= sealed <= tail */
	uint32_t tail;   /* next free */
	struct rte_mbuf *ring[PMV_ROCE_TX_RING];
	struct pmv_roce_seal seal[PMV_ROCE_TX_RING];
};

/* Frames that data may stage now (the reserve is left alone). */
static inline uint32_t
pmv_roce_tx_room(const struct pmv_roce_tx *tx)
{
	uint32_t used = tx->tail - tx->head;

	return used < PMV_ROCE_TX_RING - PMV_ROCE_TX_RESERVE
		       ? PMV_ROCE_TX_RING - PMV_ROCE_TX_RESERVE - used
		       : 0;
}

/* Room for an acknowledgement or a CM frame. */
static inline bool
pmv_roce_tx_ctl_room(const struct pmv_roce_tx *tx)
{
	return tx->tail - tx->head < PMV_ROCE_TX_RING;
}

/* Hands over what waits. Returns how many the port did not take. */
uint32_t pmv_roce_tx_flush(struct pmv_roce_worker *w);

/* A frame into the ring, its seal to be made when it leaves: a CRC right behind the stores of the
 * bytes would wait for them, and those of a burst overlap. For tx.c and those who know that no
 * fault rules are set. Needs room. */
static inline void
pmv_roce_tx_push(struct pmv_roce_worker *w, struct pmv_roce_tx *tx, struct rte_mbuf *m,
	struct pmv_roce_seal seal)
{
	uint32_t i = tx->tail++ & (PMV_ROCE_TX_RING - 1);

	tx->ring[i] = m;
	tx->seal[i] = seal;
	/* On multiples only: a port that takes nothing is not asked again for every frame. */
	if (unlikely(((tx->tail - tx->head) & (PMV_ROCE_TX_BURST - 1)) == 0))
		pmv_roce_tx_flush(w);
}

/* Stages a finished frame (fault rules are applied here); hands a burst over when enough wait.
 * Needs room. */
void pmv_roce_tx_stage(struct pmv_roce_worker *w, struct rte_mbuf *m);

/* The same behind the fault rules: frames that were held back. Freed when there is no room at all.
 */
void pmv_roce_tx_put(struct pmv_roce_worker *w, struct rte_mbuf *m);

#endif
