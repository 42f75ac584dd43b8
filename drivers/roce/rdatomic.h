// SPDX-License-Identifier: BSD-3-Clause
/*
 * The responder's store of requests that have answers of their own (READ, atomics, ATOMIC WRITE,
 * FLUSH): what still has to be answered, in request order, and what may have to be answered again.
 * A ring of max_dest_rd_atomic entries; finished ones stay for replay until they are overwritten.
 * It knows no opcode but as a number that a duplicate must share. Pure.
 */
#ifndef PMV_ROCE_RDATOMIC_H
#define PMV_ROCE_RDATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/util/seq24.h"

#define PMV_ROCE_RD_MAX 16u /* device limit; power of two */

struct pmv_roce_rd {
	uint64_t va;
	uint64_t value; /* atomics: what was there before; a duplicate is told the same */
	uint32_t rkey;
	uint32_t len; /* bytes */
	struct pmv_psn first;
	uint32_t nb_psn; /* all but READ: 1 */
	uint32_t next;   /* index of the response to send next; nb_psn = all sent */
	uint32_t start; /* index with which the running answer began: that packet is a FIRST or ONLY
			 */
	bool again;     /* the running answer is a replay: an access that fails now is silent */
	uint8_t opcode; /* of the request */
};

struct pmv_roce_rdatomic {
	struct pmv_roce_rd entry[PMV_ROCE_RD_MAX];
	uint32_t nb_max; /* entries in use: max_dest_rd_atomic, 0..16 */
	uint32_t head;   /* free-running: next entry to fill */
	uint32_t valid;  /* entries filled since reset, saturates at nb_max */
};

void pmv_roce_rdatomic_init(struct pmv_roce_rdatomic *s, uint32_t nb_max);

/* Another nb_max; the youngest answered entries stay for replay. False, and nothing changes: some
 * request is still being answered. */
bool pmv_roce_rdatomic_resize(struct pmv_roce_rdatomic *s, uint32_t nb_max);

/* What add would say. */
bool pmv_roce_rdatomic_room(const struct pmv_roce_rdatomic *s);

/* Takes a new request. False: the oldest entry is still being answered, or nb_max is 0 (the peer
 * overran what was agreed). */
bool pmv_roce_rdatomic_add(struct pmv_roce_rdatomic *s, const struct pmv_roce_rd *rd);

/* The oldest entry with responses to send, or NULL. */
struct pmv_roce_rd *pmv_roce_rdatomic_pending(struct pmv_roce_rdatomic *s);

/*
 * A request seen again. It must lie inside a stored one: psn = first + k, va = va0 + k * mtu,
 * len = len0 - k * mtu, same rkey (the tail coincides), same opcode. True: the answer starts again
 * at k (unless it is still to come anyway).
 */
bool pmv_roce_rdatomic_replay(struct pmv_roce_rdatomic *s, struct pmv_psn psn,
	const struct pmv_roce_rd *again, uint32_t mtu_bytes);

/* Forgets everything that is still to be sent. */
void pmv_roce_rdatomic_cancel(struct pmv_roce_rdatomic *s);

#endif
