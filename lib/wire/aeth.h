// SPDX-License-Identifier: BSD-3-Clause
/*
 * ACK extended transport header: syndrome and MSN (IBTA vol. 1, 9.3.5), with the tables behind the
 * syndrome: RNR timer codes (table 45) and end-to-end credit codes (table 46). Header inline,
 * tables in aeth.c. Pure; worker lcores.
 */
#ifndef PMV_WIRE_AETH_H
#define PMV_WIRE_AETH_H

#include <stdint.h>

#include "lib/util/be.h"

#define PMV_AETH_LEN 4

/* Bits 6..5 of the syndrome. */
enum pmv_aeth_kind {
	PMV_AETH_ACK = 0,      /* value: credit code */
	PMV_AETH_RNR = 1,      /* value: RNR timer code */
	PMV_AETH_RESERVED = 2, /* ignore the packet */
	PMV_AETH_NAK = 3,      /* value: enum pmv_nak_code */
};

enum pmv_nak_code {
	PMV_NAK_PSN_SEQ = 0,
	PMV_NAK_INV_REQ = 1,
	PMV_NAK_REM_ACCESS = 2,
	PMV_NAK_REM_OP = 3,
	PMV_NAK_INV_RD_REQ = 4, /* above this: ignore */
};

/* Whole syndrome bytes. */
#define PMV_SYNDROME_ACK_NO_CREDIT 0x1fu /* "no end-to-end flow control": what we always send */
#define PMV_SYNDROME_RNR           0x20u /* + timer code */
#define PMV_SYNDROME_NAK_PSN_SEQ   0x60u
#define PMV_SYNDROME_NAK_INV_REQ   0x61u
#define PMV_SYNDROME_NAK_REM_ACC   0x62u
#define PMV_SYNDROME_NAK_REM_OP    0x63u
#define PMV_AETH_CREDIT_INVALID    0x1fu

struct pmv_aeth {
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
};

static inline void
pmv_aeth_parse(const uint8_t *p, struct pmv_aeth *ret)
{
	ret->syndrome = p[0];
	ret->msn = pmv_be24_load(p + 1);
}

static inline void
pmv_aeth_build(uint8_t *p, const struct pmv_aeth *h)
{
	pmv_be32_store(p, (uint32_t)h->syndrome << 24 | (h->msn & 0xffffffu));
}

/* Bit 7 is reserved; a set one makes the syndrome RESERVED. */
static inline enum pmv_aeth_kind
pmv_aeth_kind(uint8_t syndrome)
{
	return syndrome & 0x80 ? PMV_AETH_RESERVED : (enum pmv_aeth_kind)((syndrome >> 5) & 3);
}

static inline uint8_t
pmv_aeth_value(uint8_t syndrome)
{
	return syndrome & 0x1f;
}

/* Microseconds that an RNR timer code asks for, at least; only the low 5 bits count. Code 0 is
 * 655360, the longest. */
uint32_t pmv_rnr_timer_us(uint8_t code);

/* The code with the shortest wait that is >= us; 0 (655360 us) for anything above 491520. us = 0
 * gives code 1 (10 us). */
uint8_t pmv_rnr_timer_code(uint32_t us);

/* Credits behind a credit code; UINT32_MAX for PMV_AETH_CREDIT_INVALID (unlimited). Low 5 bits
 * count. */
uint32_t pmv_aeth_credits(uint8_t code);

/* The largest credit code whose value is <= credits; never PMV_AETH_CREDIT_INVALID. */
uint8_t pmv_aeth_credit_code(uint32_t credits);

#endif
