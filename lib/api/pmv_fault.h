/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fault injection: seeded drop, duplication, reordering, corruption and delay of frames, by
 * direction, by probability or by a 64-bit mask, with filters. Switched on and off at run time;
 * when off the data path is what it is without it.
 */
#ifndef PMV_FAULT_H
#define PMV_FAULT_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pmv_fault_action {
	PMV_FAULT_DROP,
	PMV_FAULT_DUPLICATE,
	PMV_FAULT_REORDER, /**< swapped with the next frame of that direction (sent alone after 100
			      us if none comes) */
	PMV_FAULT_CORRUPT, /**< one bit of the packet behind the IP header flipped */
	PMV_FAULT_DELAY,
};

enum pmv_fault_dir {
	PMV_FAULT_RX = 1 << 0,
	PMV_FAULT_TX = 1 << 1,
};

struct pmv_fault_rule {
	enum pmv_fault_action action;
	uint32_t dirs;      /**< enum pmv_fault_dir */
	double probability; /**< 0..1; ignored when mask is not 0 */
	uint64_t mask; /**< bit i: the i-th matching frame since the rule was added, i = 0..63 */
	int opcode;    /**< BTH opcode 0..255; -1 any */
	int64_t qpn;   /**< destination QPN; -1 any */
	int cm_attr;   /**< attribute ID of a CM message (0x10 REQ ..); -1 any */
	uint32_t delay_us; /**< for DELAY, 1..10,000,000 */
};

struct pmv_fault_counts {
	uint64_t dropped;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t corrupted;
	uint64_t delayed;
};

/** Adds a rule (8 at most; the first that matches acts).
 * @param seed  of the rule's random numbers
 * @return 0; -EINVAL a field is out of range (the log names it); -ENOSPC 8 rules are there;
 * -ENOTSUP the driver cannot; -ENOMEM; -EPERM the caller does not own the worker.
 * @note Context: owner lcore of the worker, or any one thread while detached. */
PMV_API int pmv_fault_add(
	struct pmv_worker *worker, const struct pmv_fault_rule *rule, uint64_t seed);

/** Removes all rules and sets the counters of pmv_fault_query() to zero; frames held back are sent
 * or delivered. @return 0; -EPERM. @note Context: as above. */
PMV_API int pmv_fault_clear(struct pmv_worker *worker);

/** Tells what the rules have done since the first was added, or since the last pmv_fault_clear():
 * right behind it all counters are zero, so ask before. @return 0; -EPERM. @note Context: as above.
 */
PMV_API int pmv_fault_query(struct pmv_worker *worker, struct pmv_fault_counts *ret_counts);

#ifdef __cplusplus
}
#endif
#endif
