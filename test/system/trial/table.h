// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a trial of the verbs consists of: named lists of operations with their lengths, the same for
 * the guest's program and for ours, and the bytes that each message holds. Pure; knows no RDMA
 * library. Numbers are libibverbs', which pmverbs shares; both sides assert that.
 */
#ifndef PMV_TEST_TRIAL_TABLE_H
#define PMV_TEST_TRIAL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum pmv_trial_opcode {
	PMV_TRIAL_WRITE = 0,
	PMV_TRIAL_WRITE_IMM = 1,
	PMV_TRIAL_SEND = 2,
	PMV_TRIAL_SEND_IMM = 3,
	PMV_TRIAL_READ = 4,
	PMV_TRIAL_COMP_SWAP = 5,
	PMV_TRIAL_FETCH_ADD = 6,
	PMV_TRIAL_SEND_INV = 9,
};

enum pmv_trial_transport { PMV_TRIAL_RC = 2, PMV_TRIAL_UC = 3, PMV_TRIAL_UD = 4 };

/* Payload of a full packet at an IP MTU of 1500, and at one of 4200. */
#define PMV_TRIAL_MTU        1024u
#define PMV_TRIAL_MTU_BIG    4096u
#define PMV_TRIAL_BYTES_MAX  (1u << 20)
#define PMV_TRIAL_COUNT_MAX  4u
#define PMV_TRIAL_ATOMIC_ADD 0x0123456789abcdefull

/* How a case of RC ends: with a request that the responder must refuse. */
enum pmv_trial_fault {
	PMV_TRIAL_NO_FAULT,
	PMV_TRIAL_BEYOND,  /* a WRITE whose second half lies beyond the region */
	PMV_TRIAL_BAD_KEY, /* a READ (or, in a case of atomics, one) with a key that nobody gave */
	PMV_TRIAL_UNALIGNED, /* an atomic on an address that is no multiple of 8 */
	PMV_TRIAL_STALE_KEY, /* a WRITE with the key of the last step's window, which is dead */
	PMV_TRIAL_TOO_LONG,  /* a SEND that is longer than the receive */
};

struct pmv_trial_case {
	const char *name;
	enum pmv_trial_transport transport;
	enum pmv_trial_fault fault;
	bool has_srq; /* the responder's receives come from a shared receive queue */
	/* The responder binds a window for each step, and the key goes through it. SEND_INV names
	 * the key and ends it; after any other operation the responder ends it itself. */
	bool has_mw;
	bool by_cm;   /* UC: the data queue pair has a connection of its own, not just the first's
			 path */
	uint32_t mtu; /* payload of a full packet */
	uint32_t nb_opcodes;
	enum pmv_trial_opcode opcodes[5];
};

/* One step: `count` operations outstanding together, then one look at everything. */
struct pmv_trial_step {
	uint32_t number;
	enum pmv_trial_opcode opcode;
	uint32_t length; /* bytes of each */
	uint32_t count;
	uint32_t variant; /* atomics: 0 adds to, or swaps, what is there; 1 compares unequal */
};

/* @return NULL: no such case. */
const struct pmv_trial_case *pmv_trial_case_find(const char *name);
uint32_t pmv_trial_case_steps(const struct pmv_trial_case *c);
void pmv_trial_case_step(
	const struct pmv_trial_case *c, uint32_t number, struct pmv_trial_step *ret_step);

bool pmv_trial_opcode_is_atomic(enum pmv_trial_opcode opcode);
/* It takes a receive of the peer's. */
bool pmv_trial_opcode_takes_recv(enum pmv_trial_opcode opcode);
/* The requester asks for an event at the responder. */
bool pmv_trial_step_is_solicited(const struct pmv_trial_step *s);
bool pmv_trial_opcode_has_imm(enum pmv_trial_opcode opcode);
const char *pmv_trial_opcode_name(enum pmv_trial_opcode opcode);

/* Byte i of message k of a step. Neighbouring bytes, packets, messages and steps differ. */
uint8_t pmv_trial_byte(uint32_t step, uint32_t k, uint32_t i);
void pmv_trial_fill(uint8_t *buf, uint32_t step, uint32_t k, uint32_t length);

#endif
