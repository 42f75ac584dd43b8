// SPDX-License-Identifier: BSD-3-Clause
/*
 * CRC-32 for the ICRC. Runs on worker lcores over every byte sent and received. Three kernels give
 * the same number: our own vector code where the machine can run it, else ISA-L's where the build
 * has it, else eight table look-ups per eight bytes.
 */
#include "lib/wire/icrc.h"

#ifdef PMV_HAVE_ISAL
#include <isa-l/crc.h>
#endif

#include "lib/util/assert.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/icrc_vector.h"

/*
 * Bytes of the packet that one masked copy takes, where there is no vector kernel: the longest
 * headers (IPv6, UDP, BTH, AtomicETH: 88) and a small payload. One pass over a copy beats several
 * short CRC calls.
 */
#define COPY_MAX 128

/*
 * The tables are linear: the entry of a byte is the XOR of the entries of its bits. So eight
 * numbers define a table of 256, and the compiler fills it. BASIS_k: the CRC (polynomial
 * 0xedb88320, reflected) of bit b followed by k bytes 0.
 */
#define BASIS_0(X, i)                                                                              \
	X(i, 0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u,         \
		0x76dc4190u, 0xedb88320u)
#define BASIS_1(X, i)                                                                              \
	X(i, 0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u, 0x4ac21251u, 0x958424a2u,         \
		0xf0794f05u, 0x3b83984bu)
#define BASIS_2(X, i)                                                                              \
	X(i, 0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u, 0x1c26a370u, 0x384d46e0u,         \
		0x709a8dc0u, 0xe1351b80u)
#define BASIS_3(X, i)                                                                              \
	X(i, 0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu, 0x5019579fu, 0xa032af3eu,         \
		0x9b14583du, 0xed59b63bu)
#define BASIS_4(X, i)                                                                              \
	X(i, 0x3d6029b0u, 0x7ac05360u, 0xf580a6c0u, 0x30704bc1u, 0x60e09782u, 0xc1c12f04u,         \
		0x58f35849u, 0xb1e6b092u)
#define BASIS_5(X, i)                                                                              \
	X(i, 0xcb5cd3a5u, 0x4dc8a10bu, 0x9b914216u, 0xec53826du, 0x03d6029bu, 0x07ac0536u,         \
		0x0f580a6cu, 0x1eb014d8u)
#define BASIS_6(X, i)                                                                              \
	X(i, 0xa6770bb4u, 0x979f1129u, 0xf44f2413u, 0x33ef4e67u, 0x67de9cceu, 0xcfbd399cu,         \
		0x440b7579u, 0x8816eaf2u)
#define BASIS_7(X, i)                                                                              \
	X(i, 0xccaa009eu, 0x4225077du, 0x844a0efau, 0xd3e51bb5u, 0x7cbb312bu, 0xf9766256u,         \
		0x299dc2edu, 0x533b85dau)

#define BIT(i, b, v) ((i) & (1 << (b)) ? (v) : 0u)
#define XOR_BITS(i, v0, v1, v2, v3, v4, v5, v6, v7)                                                \
	(BIT(i, 0, v0) ^ BIT(i, 1, v1) ^ BIT(i, 2, v2) ^ BIT(i, 3, v3) ^ BIT(i, 4, v4) ^           \
		BIT(i, 5, v5) ^ BIT(i, 6, v6) ^ BIT(i, 7, v7))
#define ROW_4(B, i)  B(XOR_BITS, i), B(XOR_BITS, (i) + 1), B(XOR_BITS, (i) + 2), B(XOR_BITS, (i) + 3)
#define ROW_16(B, i) ROW_4(B, i), ROW_4(B, (i) + 4), ROW_4(B, (i) + 8), ROW_4(B, (i) + 12)
#define ROW_64(B, i) ROW_16(B, i), ROW_16(B, (i) + 16), ROW_16(B, (i) + 32), ROW_16(B, (i) + 48)
#define ROW_256(B)   ROW_64(B, 0), ROW_64(B, 64), ROW_64(B, 128), ROW_64(B, 192)

static const uint32_t crc_table[8][256] = {
	{ ROW_256(BASIS_0) },
	{ ROW_256(BASIS_1) },
	{ ROW_256(BASIS_2) },
	{ ROW_256(BASIS_3) },
	{ ROW_256(BASIS_4) },
	{ ROW_256(BASIS_5) },
	{ ROW_256(BASIS_6) },
	{ ROW_256(BASIS_7) },
};

uint32_t
pmv_icrc_update_table(uint32_t state, const uint8_t *buf, uint32_t len)
{
	for (; len >= 8; len -= 8, buf += 8) {
		uint32_t lo, hi;

		memcpy(&lo, buf, sizeof(lo));
		memcpy(&hi, buf + 4, sizeof(hi));
		lo ^= state;
		state = crc_table[7][lo & 0xff] ^ crc_table[6][(lo >> 8) & 0xff] ^
			crc_table[5][(lo >> 16) & 0xff] ^ crc_table[4][lo >> 24] ^
			crc_table[3][hi & 0xff] ^ crc_table[2][(hi >> 8) & 0xff] ^
			crc_table[1][(hi >> 16) & 0xff] ^ crc_table[0][hi >> 24];
	}
	for (; len > 0; len--, buf++)
		state = state >> 8 ^ crc_table[0][(state ^ *buf) & 0xff];
	return state;
}

static uint32_t
update_scalar(uint32_t state, const uint8_t *buf, uint32_t len)
{
#ifdef PMV_HAVE_ISAL
	/* ISA-L complements before and after; the raw register wants neither. */
	return ~crc32_gzip_refl(~state, buf, len);
#else
	return pmv_icrc_update_table(state, buf, len);
#endif
}

uint32_t
pmv_icrc_update(uint32_t state, const uint8_t *buf, uint32_t len)
{
	if (pmv_icrc_vector_is_usable && len > 0)
		return pmv_icrc_vector(state, buf, len);
	return update_scalar(state, buf, len);
}

/*
 * The fields that routers and switches may change, as ones (IBTA vol. 1, 7.8.1; RoCEv2 annex
 * A17.3.3). IPv4: TOS, TTL, header checksum; IPv6: traffic class, flow label, hop limit; UDP
 * checksum; FECN, BECN and the reserved bits beside them.
 */
static const uint8_t mask_ipv4[PMV_ICRC_VECTOR_MASK_LEN] = {
	[1] = 0xff,
	[8] = 0xff,
	[10] = 0xff,
	[11] = 0xff,
	[26] = 0xff,
	[27] = 0xff,
	[32] = 0xff,
};
static const uint8_t mask_ipv6[PMV_ICRC_VECTOR_MASK_LEN] = {
	[0] = 0x0f,
	[1] = 0xff,
	[2] = 0xff,
	[3] = 0xff,
	[7] = 0xff,
	[46] = 0xff,
	[47] = 0xff,
	[52] = 0xff,
};

/* Without a vector kernel, or for headers too short for it. */
static uint32_t
start_copied(const uint8_t *l3, const uint8_t *mask, uint32_t hdr_len, uint32_t len)
{
	uint8_t copy[COPY_MAX];
	uint32_t n = len < COPY_MAX ? len : COPY_MAX;
	uint32_t state;

	memcpy(copy, l3, n);
	for (uint32_t i = 0; i < hdr_len; i += 4) {
		uint32_t v, m;

		memcpy(&v, copy + i, sizeof(v));
		memcpy(&m, mask + i, sizeof(m));
		v |= m;
		memcpy(copy + i, &v, sizeof(v));
	}
	state = update_scalar(PMV_ICRC_SEED, copy, n);
	return n < len ? update_scalar(state, l3 + n, len - n) : state;
}

uint32_t
pmv_icrc_start(const uint8_t *l3, bool is_v6, uint32_t len)
{
	const uint8_t *mask = is_v6 ? mask_ipv6 : mask_ipv4;

	PMV_ASSERT(len >= PMV_ICRC_HDR_LEN(is_v6));
	if (pmv_icrc_vector_is_usable)
		return pmv_icrc_vector_masked(PMV_ICRC_SEED, l3, len, mask);
	return start_copied(l3, mask, PMV_ICRC_HDR_LEN(is_v6), len);
}

uint32_t
pmv_icrc_start_ip_udp(const uint8_t *l3, bool is_v6)
{
	uint32_t len = is_v6 ? PMV_IPV6_LEN + PMV_UDP_LEN : PMV_IPV4_LEN + PMV_UDP_LEN;

	return start_copied(l3, is_v6 ? mask_ipv6 : mask_ipv4, len, len);
}

uint32_t
pmv_icrc_bth_begin(uint32_t state, const uint8_t *bth)
{
	uint32_t v;

	memcpy(&v, bth, sizeof(v));
	state ^= v;
	state = crc_table[3][state & 0xff] ^ crc_table[2][(state >> 8) & 0xff] ^
		crc_table[1][(state >> 16) & 0xff] ^ crc_table[0][state >> 24];
	return state ^ 0xff;
}

bool
pmv_icrc_packet_check(const uint8_t *l3, bool is_v6, uint32_t len)
{
	if (len < PMV_ICRC_HDR_LEN(is_v6) + sizeof(uint32_t))
		return false;
	len -= sizeof(uint32_t);
	return pmv_icrc_check(l3 + len, pmv_icrc_start(l3, is_v6, len));
}

void
pmv_icrc_packet_store(uint8_t *l3, bool is_v6, uint32_t len)
{
	pmv_icrc_store(l3 + len, pmv_icrc_start(l3, is_v6, len));
}
