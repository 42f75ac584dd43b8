// SPDX-License-Identifier: BSD-3-Clause
/*
 * Base transport header, 12 bytes behind UDP (IBTA vol. 1, 9.2), and through ext_hdr.h and aeth.h
 * every header that may follow it. Parse and build work on plain bytes and are inline: the worker
 * lcores call them per packet. Lengths are the caller's duty (pmv_roce_parse has checked them).
 * Pure.
 */
#ifndef PMV_WIRE_BTH_H
#define PMV_WIRE_BTH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/util/be.h"
#include "lib/util/seq24.h"
#include "lib/wire/aeth.h"
#include "lib/wire/ext_hdr.h"

#define PMV_BTH_LEN        12
#define PMV_ICRC_LEN       4
#define PMV_PKEY_DEFAULT   0xffffu
#define PMV_QPN_GSI        1u
#define PMV_QPN_MULTICAST  0xffffffu
#define PMV_QPN_MASK       0xffffffu
#define PMV_BTH_SE_OFF     1 /* byte that holds the solicited event bit */
#define PMV_BTH_SE         0x80u
#define PMV_BTH_ACKREQ_OFF 8 /* byte that holds AckReq, for patching */
#define PMV_BTH_ACKREQ     0x80u

struct pmv_bth {
	uint8_t opcode; /* enum pmv_opcode; parse accepts any byte */
	uint8_t padcnt; /* 0..3 */
	uint8_t tver;   /* 0 is the only one */
	bool se;        /* solicited event */
	bool migreq;    /* we send 1 (like HCAs in MIGRATED state) and ignore it on receive (like
			   Linux) */
	bool fecn;      /* FECN and BECN are not under the ICRC */
	bool becn;
	bool ackreq;
	uint16_t pkey;
	uint32_t dqpn; /* 24 bits */
	struct pmv_psn psn;
};

/* Reserved bits (byte 4 low six, byte 8 low seven) are ignored. */
static inline void
pmv_bth_parse(const uint8_t *p, struct pmv_bth *ret)
{
	ret->opcode = p[0];
	ret->se = p[1] >> 7;
	ret->migreq = (p[1] >> 6) & 1;
	ret->padcnt = (p[1] >> 4) & 3;
	ret->tver = p[1] & 15;
	ret->pkey = pmv_be16_load(p + 2);
	ret->fecn = p[4] >> 7;
	ret->becn = (p[4] >> 6) & 1;
	ret->dqpn = pmv_be32_load(p + 4) & PMV_QPN_MASK;
	ret->ackreq = p[8] >> 7;
	ret->psn = pmv_psn(pmv_be32_load(p + 8));
}

/* Reserved bits are written 0. padcnt above 3, tver above 15 and dqpn above 24 bits are cut, never
 * spilled over. */
static inline void
pmv_bth_build(uint8_t *p, const struct pmv_bth *bth)
{
	pmv_be32_store(p, (uint32_t)bth->opcode << 24 | (uint32_t)bth->se << 23 |
				  (uint32_t)bth->migreq << 22 | (uint32_t)(bth->padcnt & 3) << 20 |
				  (uint32_t)(bth->tver & 15) << 16 | bth->pkey);
	pmv_be32_store(p + 4,
		(uint32_t)bth->fecn << 31 | (uint32_t)bth->becn << 30 | (bth->dqpn & PMV_QPN_MASK));
	pmv_be32_store(p + 8, (uint32_t)bth->ackreq << 31 | (bth->psn.v & PMV_PSN_MASK));
}

/*
 * P_Key match (IBTA vol. 1, 10.9.3): low 15 bits equal and not 0, and at least one side a full
 * member.
 */
static inline bool
pmv_pkey_is_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && (a & 0x7fff) != 0 && ((a | b) & 0x8000) != 0;
}

/* Pad bytes that bring payload_len to a multiple of 4 (IBTA vol. 1, 9.2.6). */
static inline uint8_t
pmv_bth_pad(uint32_t payload_len)
{
	return (uint8_t)(-payload_len & 3);
}

#endif
