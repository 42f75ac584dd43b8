// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ICRC's kernel on x86 machines with AVX-512 and VPCLMULQDQ, made for what RoCE has most of:
 * headers and small payloads, where a kernel for long buffers spends its time on set-up and tail.
 * Called by icrc.c only, on worker lcores; pure.
 */
#ifndef PMV_WIRE_ICRC_VECTOR_H
#define PMV_WIRE_ICRC_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#define PMV_ICRC_VECTOR_MASK_LEN 64

/* False on every other machine; then nobody calls the functions below. Set before main. */
extern bool pmv_icrc_vector_is_usable;

/* The register after len bytes, len >= 1. */
uint32_t pmv_icrc_vector(uint32_t state, const uint8_t *buf, uint32_t len);

/* The same over (buf OR mask), mask being PMV_ICRC_VECTOR_MASK_LEN bytes for the start of buf; no
 * bit of it may lie past len. */
uint32_t pmv_icrc_vector_masked(
	uint32_t state, const uint8_t *buf, uint32_t len, const uint8_t *mask);

#endif
