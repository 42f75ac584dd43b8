// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/icrc: vectors both ways, every bit (PK-704), pieces, the two implementations against
 * each other.
 */
#include "lib/wire/icrc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "lib/wire/icrc_vector.h"
#include "test/harness/guard_page.h"
#include "test/unit/lib/wire/packet.h"
#include "test/vectors/hex.h"
#include "test/vectors/roce_vectors.h"

#define NB_VECTORS (sizeof(pmv_roce_vectors) / sizeof(pmv_roce_vectors[0]))

/* A vector as a frame; returns its length. */
static uint32_t
vector_load(size_t i, uint8_t *frame, uint32_t room)
{
	memset(frame, 0, 14);
	pmv_be16_store(
		frame + 12, pmv_roce_vectors[i].is_v6 ? PMV_ETHERTYPE_IPV6 : PMV_ETHERTYPE_IPV4);
	return 14 + pmv_hex_read(pmv_roce_vectors[i].packet, frame + 14, room - 14);
}

/* Bit by bit, as IBTA's figure draws it: the slowest and plainest form. */
static uint32_t
crc_serial(uint32_t state, const uint8_t *p, uint32_t len)
{
	for (; len > 0; len--, p++) {
		state ^= *p;
		for (int i = 0; i < 8; i++)
			state = state & 1 ? state >> 1 ^ 0xedb88320u : state >> 1;
	}
	return state;
}

static void
icrc__seed_and_residue(void **state)
{
	static const uint8_t ones[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	assert_int_equal(crc_serial(0xffffffffu, ones, 8), PMV_ICRC_SEED);
	assert_int_equal(pmv_icrc_update(0xffffffffu, ones, 8), PMV_ICRC_SEED);
	assert_int_equal(
		~pmv_icrc_update(0xffffffffu, (const uint8_t *)"123456789", 9), 0xcbf43926u);
}

static void
icrc__vectors(void **state)
{
	for (size_t i = 0; i < NB_VECTORS; i++) {
		uint8_t f[128], out[128];
		uint32_t n = vector_load(i, f, sizeof(f));
		bool v6 = pmv_roce_vectors[i].is_v6;
		struct pmv_eth_ip ip;
		struct pmv_roce_view r;
		uint32_t state_;

		assert_int_equal(packet_judge(f, n, &ip, &r), PMV_WIRE_OK);
		assert_int_equal(ip.payload_off + r.icrc_off + 4, n);
		memcpy(out, f, n);
		memset(out + n - 4, 0, 4);
		pmv_icrc_packet_store(out + 14, v6, n - 14 - 4);
		assert_memory_equal(out, f, n);
		/* Including the trailer, the register ends at the residue. */
		state_ = pmv_icrc_start(f + 14, v6, n - 14);
		assert_int_equal(state_, PMV_ICRC_RESIDUE);
	}
}

static void
icrc__hdr_fields_of_vectors(void **state)
{
	struct pmv_eth_ip ip;
	struct pmv_roce_view r;
	uint8_t f[128];

	vector_load(0, f, sizeof(f));
	assert_int_equal(packet_judge(f, 14 + 56, &ip, &r), PMV_WIRE_OK);
	assert_int_equal(r.bth.opcode, PMV_OPCODE_RC_SEND_ONLY);
	assert_true(r.bth.migreq && r.bth.ackreq && !r.bth.se);
	assert_int_equal(r.bth.dqpn, 0x11);
	assert_int_equal(r.bth.psn.v, 0x123456);
	assert_int_equal(r.payload_len, 10);
	assert_memory_equal(f + ip.payload_off + r.payload_off, "hello RoCE", 10);
}

/* PK-704: one bit flipped anywhere. Covered: refused. Masked, with checksums made right again:
 * accepted. */
static void
icrc__every_bit(void **state)
{
	for (size_t i = 0; i < NB_VECTORS; i++) {
		uint8_t orig[128], f[128];
		uint32_t n = vector_load(i, orig, sizeof(orig));
		bool v6 = pmv_roce_vectors[i].is_v6;
		uint32_t udp_csum = v6 ? 46 : 26;

		for (uint32_t k = 0; k < (n - 14) * 8; k++) {
			uint32_t off = k / 8;
			struct pmv_eth_ip ip;
			struct pmv_roce_view r;
			enum pmv_wire_verdict v;

			memcpy(f, orig, n);
			f[14 + off] ^= (uint8_t)(1 << k % 8);
			if (!v6)
				packet_ipv4_csum_redo(f + 14);
			v = packet_judge(f, n, &ip, &r);
			if (off == udp_csum || off == udp_csum + 1)
				assert_int_equal(v, PMV_WIRE_UDP_CSUM);
			else if (packet_is_masked(v6, off, k % 8))
				assert_int_equal(v, PMV_WIRE_OK);
			else
				assert_int_not_equal(v, PMV_WIRE_OK);
		}
	}
}

/* PK-704: UDP checksum right instead of 0: accepted, on both families. */
static void
icrc__udp_checksum_right(void **state)
{
	for (size_t i = 0; i < NB_VECTORS; i++) {
		struct pmv_eth_ip ip;
		struct pmv_roce_view r;
		uint8_t f[128];
		uint32_t n = vector_load(i, f, sizeof(f));

		assert_int_equal(packet_judge(f, n, &ip, &r), PMV_WIRE_OK);
		packet_udp_csum_redo(f, &ip);
		assert_int_equal(packet_judge(f, n, &ip, &r), PMV_WIRE_OK);
		assert_true(ip.need_udp_csum);
	}
}

/* PK-703: every opcode and payload length, ICRC right and wrong: only the right one passes, unknown
 * ones never. */
static void
icrc__all_opcodes(void **state)
{
	for (uint32_t op = 0; op < 256; op++)
		for (uint32_t n = 16; n <= 80; n++) {
			struct pmv_eth_ip_param p = { .ttl = 64, .udp_sport = 0xc000 };
			struct pmv_eth_ip_tmpl t;
			struct pmv_eth_ip ip;
			struct pmv_roce_view r;
			enum pmv_wire_verdict v;
			uint8_t f[160] = { 0 };

			pmv_gid_from_ipv4(p.src_gid, 0x0a000001);
			pmv_gid_from_ipv4(p.dst_gid, 0x0a000002);
			assert_int_equal(pmv_eth_ip_build(f, &p, &t), 0);
			pmv_eth_ip_set_len(f, &t, n, 1);
			f[42] = (uint8_t)op;
			pmv_be32_store(f + 46, 0xffffff);
			pmv_icrc_packet_store(f + 14, false, 28 + n - 4);
			v = packet_judge(f, 42 + n, &ip, &r);
			assert_int_not_equal(v, PMV_WIRE_ICRC);
			f[42 + n - 1] ^= 0x10;
			assert_int_equal(packet_judge(f, 42 + n, &ip, &r),
				v == PMV_WIRE_OK ? PMV_WIRE_ICRC : v);
		}
}

static void
icrc__any_pieces(void **state)
{
	uint8_t buf[600];
	struct pmv_random rnd;

	pmv_random_init(&rnd, 11);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)pmv_random_next64(&rnd);
	for (int k = 0; k < 2000; k++) {
		bool v6 = k & 1;
		uint32_t min = PMV_ICRC_HDR_LEN(v6);
		uint32_t len = min + (uint32_t)pmv_random_below(&rnd, sizeof(buf) - min + 1);
		uint32_t at = min + (uint32_t)pmv_random_below(&rnd, len - min + 1);
		uint32_t whole = pmv_icrc_start(buf, v6, len);
		uint32_t s = pmv_icrc_start(buf, v6, at);

		while (at < len) {
			uint32_t n = 1 + (uint32_t)pmv_random_below(&rnd, len - at);

			s = pmv_icrc_update(s, buf + at, n);
			at += n;
		}
		assert_int_equal(s, whole);
	}
	assert_int_equal(pmv_icrc_update(0x1234, buf, 0), 0x1234);
}

/* Both implementations and the serial one agree on every length and alignment. */
static void
icrc_update__implementations_agree(void **state)
{
	struct pmv_random rnd;
	uint8_t *buf = malloc(5000);

	pmv_random_init(&rnd, 12);
	for (size_t i = 0; i < 5000; i++)
		buf[i] = (uint8_t)pmv_random_next64(&rnd);
	for (uint32_t n = 0; n < 5000; n += n < 300 ? 1 : 131)
		for (uint32_t off = 0; off < 70 && off + n <= 5000; off += 3) {
			uint32_t seed = (uint32_t)pmv_random_next64(&rnd);
			uint32_t want = crc_serial(seed, buf + off, n);

			assert_int_equal(pmv_icrc_update_table(seed, buf + off, n), want);
			assert_int_equal(pmv_icrc_update(seed, buf + off, n), want);
		}
	free(buf);
}

/* Nothing is read past the packet. */
static void
icrc__no_over_read(void **state)
{
	struct pmv_guard_page g;
	uint8_t buf[400] = { 0 };

	pmv_guard_page_init(&g, 400);
	for (uint32_t n = 0; n < 400; n++) {
		const uint8_t *p = pmv_guard_page_copy(&g, buf, n);

		assert_int_equal(pmv_icrc_update(1, p, n), pmv_icrc_update_table(1, buf, n));
		if (n >= 40)
			assert_int_equal(
				pmv_icrc_start(p, false, n), pmv_icrc_start(buf, false, n));
		if (n >= 60)
			assert_int_equal(pmv_icrc_start(p, true, n), pmv_icrc_start(buf, true, n));
	}
	assert_false(pmv_icrc_packet_check(buf, false, 43));
	assert_false(pmv_icrc_packet_check(buf, true, 63));
	assert_false(pmv_icrc_packet_check(buf, false, 0));
}

/* The headers in two steps, as a sender with a cached first step does it, give what one step gives.
 */
static void
icrc_start_ip_udp__goes_on_with_the_bth(void **state)
{
	uint8_t frame[256], bth[PMV_BTH_LEN];

	for (size_t i = 0; i < NB_VECTORS; i++) {
		bool v6 = pmv_roce_vectors[i].is_v6;
		uint32_t ip_udp = PMV_ICRC_HDR_LEN(v6) - PMV_BTH_LEN;
		uint32_t state_two;

		vector_load(i, frame, sizeof(frame));
		memcpy(bth, frame + 14 + ip_udp, sizeof(bth));
		bth[4] = 0xff; /* FECN, BECN, reserved */
		state_two =
			pmv_icrc_update(pmv_icrc_start_ip_udp(frame + 14, v6), bth, sizeof(bth));
		assert_int_equal(state_two, pmv_icrc_start(frame + 14, v6, PMV_ICRC_HDR_LEN(v6)));
	}
}

/* FECN, BECN and the reserved bits as they come: XORed into what was kept, nothing is copied. */
static void
icrc_bth_begin__goes_on_with_the_frame(void **state)
{
	struct pmv_random rnd;
	uint8_t buf[400];

	pmv_random_init(&rnd, 13);
	for (int k = 0; k < 20000; k++) {
		bool v6 = k & 1;
		uint32_t bth = PMV_ICRC_HDR_LEN(v6) - PMV_BTH_LEN;
		uint32_t len =
			bth + PMV_BTH_LEN +
			(uint32_t)pmv_random_below(&rnd, sizeof(buf) - PMV_ICRC_HDR_LEN(v6) + 1);
		uint32_t kept, s;

		for (size_t i = 0; i < sizeof(buf); i++)
			buf[i] = (uint8_t)pmv_random_next64(&rnd);
		kept = pmv_icrc_bth_begin(pmv_icrc_start_ip_udp(buf, v6), buf + bth);
		for (int again = 0; again < 3;
			again++) { /* one kept register, other bytes behind */
			buf[bth + PMV_ICRC_BTH_BEGIN] = (uint8_t)pmv_random_next64(&rnd);
			buf[len - 1] ^= (uint8_t)again;
			s = pmv_icrc_update(kept ^ buf[bth + PMV_ICRC_BTH_BEGIN],
				buf + bth + PMV_ICRC_BTH_BEGIN, len - bth - PMV_ICRC_BTH_BEGIN);
			assert_int_equal(s, pmv_icrc_start(buf, v6, len));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc_start_ip_udp__goes_on_with_the_bth),
		cmocka_unit_test(icrc_bth_begin__goes_on_with_the_frame),
		cmocka_unit_test(icrc__seed_and_residue),
		cmocka_unit_test(icrc__vectors),
		cmocka_unit_test(icrc__hdr_fields_of_vectors),
		cmocka_unit_test(icrc__every_bit),
		cmocka_unit_test(icrc__udp_checksum_right),
		cmocka_unit_test(icrc__all_opcodes),
		cmocka_unit_test(icrc__any_pieces),
		cmocka_unit_test(icrc_update__implementations_agree),
		cmocka_unit_test(icrc__no_over_read),
	};

	int failed = 0;

	/* With the kernel that this machine chose, then with the one that others get. */
	if (pmv_icrc_vector_is_usable)
		failed = cmocka_run_group_tests_name("vector", tests, NULL, NULL);
	pmv_icrc_vector_is_usable = false;
	return failed + cmocka_run_group_tests_name("scalar", tests, NULL, NULL);
}
