// SPDX-License-Identifier: BSD-3-Clause
/*
 * Extension headers behind the BTH (IBTA vol. 1, 9.3 and, for FETH, A19): one struct, one parse and
 * one build each, on plain bytes. The AETH is in aeth.h. Lengths are the caller's duty. Pure;
 * worker lcores per packet.
 */
#ifndef PMV_WIRE_EXT_HDR_H
#define PMV_WIRE_EXT_HDR_H

#include <stdint.h>
#include <string.h>

#include "lib/util/be.h"

#define PMV_DETH_LEN       8
#define PMV_RETH_LEN       16
#define PMV_ATOMIC_ETH_LEN 28
#define PMV_ATOMIC_ACK_LEN 8
#define PMV_IMMDT_LEN      4
#define PMV_IETH_LEN       4
#define PMV_FETH_LEN       4

#define PMV_RETH_LEN_MAX 0x80000000u /* largest DMA length of one message */

/* RDMA extended transport header. */
struct pmv_reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len; /* bytes of the whole message; above PMV_RETH_LEN_MAX is invalid, for the
			     responder to refuse */
};

static inline void
pmv_reth_parse(const uint8_t *p, struct pmv_reth *ret)
{
	ret->va = pmv_be64_load(p);
	ret->rkey = pmv_be32_load(p + 8);
	ret->dma_len = pmv_be32_load(p + 12);
}

static inline void
pmv_reth_build(uint8_t *p, const struct pmv_reth *h)
{
	pmv_be64_store(p, h->va);
	pmv_be32_store(p + 8, h->rkey);
	pmv_be32_store(p + 12, h->dma_len);
}

/* Atomic request. Operands are host numbers here. */
struct pmv_atomic_eth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add; /* COMPARE_SWAP: new value; FETCH_ADD: addend */
	uint64_t compare;  /* FETCH_ADD: 0 on send, ignored on receive */
};

static inline void
pmv_atomic_eth_parse(const uint8_t *p, struct pmv_atomic_eth *ret)
{
	ret->va = pmv_be64_load(p);
	ret->rkey = pmv_be32_load(p + 8);
	ret->swap_add = pmv_be64_load(p + 12);
	ret->compare = pmv_be64_load(p + 20);
}

static inline void
pmv_atomic_eth_build(uint8_t *p, const struct pmv_atomic_eth *h)
{
	pmv_be64_store(p, h->va);
	pmv_be32_store(p + 8, h->rkey);
	pmv_be64_store(p + 12, h->swap_add);
	pmv_be64_store(p + 20, h->compare);
}

/* AtomicAckETH: the value before the operation, host order here. */
static inline uint64_t
pmv_atomic_ack_parse(const uint8_t *p)
{
	return pmv_be64_load(p);
}

static inline void
pmv_atomic_ack_build(uint8_t *p, uint64_t orig)
{
	pmv_be64_store(p, orig);
}

/* Datagram extended transport header. */
struct pmv_deth {
	uint32_t qkey;
	uint32_t sqpn; /* 24 bits; the reserved byte in front is 0 on send and ignored on receive */
};

static inline void
pmv_deth_parse(const uint8_t *p, struct pmv_deth *ret)
{
	ret->qkey = pmv_be32_load(p);
	ret->sqpn = pmv_be32_load(p + 4) & 0xffffffu;
}

static inline void
pmv_deth_build(uint8_t *p, const struct pmv_deth *h)
{
	pmv_be32_store(p, h->qkey);
	pmv_be32_store(p + 4, h->sqpn & 0xffffffu);
}

/*
 * Immediate data: opaque, and in network order on both sides of the API (like libibverbs), so the
 * value returned and taken here is big-endian as it lies in memory.
 */
static inline uint32_t
pmv_immdt_parse(const uint8_t *p)
{
	uint32_t imm_be;

	memcpy(&imm_be, p, sizeof(imm_be));
	return imm_be;
}

static inline void
pmv_immdt_build(uint8_t *p, uint32_t imm_be)
{
	memcpy(p, &imm_be, sizeof(imm_be));
}

/* IETH: the rkey to invalidate, host order. */
static inline uint32_t
pmv_ieth_parse(const uint8_t *p)
{
	return pmv_be32_load(p);
}

static inline void
pmv_ieth_build(uint8_t *p, uint32_t rkey)
{
	pmv_be32_store(p, rkey);
}

/* FLUSH header: selectivity level and placement type; reserved bits ignored. */
struct pmv_feth {
	uint8_t sel; /* 0 range, 1 whole MR */
	uint8_t plt; /* bit 0 global visibility, bit 1 persistence */
};

static inline void
pmv_feth_parse(const uint8_t *p, struct pmv_feth *ret)
{
	uint32_t v = pmv_be32_load(p);

	ret->sel = (v >> 4) & 3;
	ret->plt = v & 15;
}

static inline void
pmv_feth_build(uint8_t *p, const struct pmv_feth *h)
{
	pmv_be32_store(p, (uint32_t)(h->sel & 3) << 4 | (h->plt & 15));
}

#endif
