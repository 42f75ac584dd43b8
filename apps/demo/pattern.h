// SPDX-License-Identifier: BSD-3-Clause
/*
 * The content of a message: a pattern that its number decides, so that every byte can be checked
 * and no two messages look alike. Called by both ends before and after transfers; pure bytes, any
 * thread.
 */
#ifndef PMV_APPS_DEMO_PATTERN_H
#define PMV_APPS_DEMO_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* Fills size bytes with the pattern of message `id`. */
void pmv_demo_pattern_fill(uint8_t *buf, uint32_t size, uint64_t id);
/* Fills size bytes so that not one of them is what message `id` has there: a byte that never
 * arrives is noticed. */
void pmv_demo_pattern_spoil(uint8_t *buf, uint32_t size, uint64_t id);
/* True when all size bytes are those of message `id`. */
bool pmv_demo_pattern_check(const uint8_t *buf, uint32_t size, uint64_t id);

#endif
