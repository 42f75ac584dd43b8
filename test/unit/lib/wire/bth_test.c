// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/bth, ext_hdr and aeth: fields both ways, no field spills into another, tables.
 */
#include "lib/wire/bth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "test/vectors/hex.h"

static void
bth__vector(void **state)
{
	uint8_t b[12], out[12];
	struct pmv_bth h;

	pmv_hex_read("0a d0 ffff 80 000011 80 123457", b, 12);
	pmv_bth_parse(b, &h);
	assert_int_equal(h.opcode, 0x0a);
	assert_true(h.se && h.migreq && h.fecn && !h.becn && h.ackreq);
	assert_int_equal(h.padcnt, 1);
	assert_int_equal(h.tver, 0);
	assert_int_equal(h.pkey, 0xffff);
	assert_int_equal(h.dqpn, 0x11);
	assert_int_equal(h.psn.v, 0x123457);
	pmv_bth_build(out, &h);
	assert_memory_equal(out, b, 12);
}

/* PK-705: reserved bits never reach QPN or PSN, nor the reverse. */
static void
bth__reserved_bits(void **state)
{
	static const uint32_t qpns[] = { 2, 0x00ffff, 0x555555, 0xaaaaaa, 0x800000, 0xfffffe };
	static const uint8_t byte4[] = { 0x00, 0x3f, 0xff };

	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < 3; k++) {
			uint8_t b[12] = { 0x04, 0x40, 0xff, 0xff };
			struct pmv_bth h;

			b[4] = byte4[k];
			pmv_be24_store(b + 5, qpns[i]);
			b[8] = 0x7f;
			pmv_be24_store(b + 9, ~qpns[i]);
			pmv_bth_parse(b, &h);
			assert_int_equal(h.dqpn, qpns[i]);
			assert_int_equal(h.psn.v, ~qpns[i] & 0xffffff);
			assert_int_equal(h.fecn, byte4[k] >> 7);
			assert_int_equal(h.becn, (byte4[k] >> 6) & 1);
			assert_false(h.ackreq);
			pmv_bth_build(b, &h);
			assert_int_equal(b[4], byte4[k] & 0xc0);
			assert_int_equal(b[8], 0);
			assert_int_equal(pmv_be24_load(b + 5), qpns[i]);
			assert_int_equal(pmv_be24_load(b + 9), ~qpns[i] & 0xffffff);
		}
}

/* Values too wide for their field are cut, never spilled. */
static void
bth_build__wide_values(void **state)
{
	struct pmv_bth h = {
		.opcode = 0, .padcnt = 0xff, .tver = 0xff, .dqpn = 0xffffffff, .psn = { 0xffffffff }
	};
	uint8_t b[12], want[12];

	pmv_bth_build(b, &h);
	pmv_hex_read("003f0000 00ffffff 00ffffff", want, 12);
	assert_memory_equal(b, want, 12);
}

/* Any bytes: parse then build gives them back, but for the reserved bits. */
static void
bth__random_round_trip(void **state)
{
	struct pmv_random r;

	pmv_random_init(&r, 5);
	for (int i = 0; i < 10000; i++) {
		uint8_t b[16], out[12];
		struct pmv_bth h;

		pmv_be64_store(b, pmv_random_next64(&r));
		pmv_be64_store(b + 8, pmv_random_next64(&r));
		pmv_bth_parse(b, &h);
		pmv_bth_build(out, &h);
		b[4] &= 0xc0;
		b[8] &= 0x80;
		assert_memory_equal(out, b, 12);
	}
}

static void
pkey__match(void **state)
{
	assert_true(pmv_pkey_is_match(0xffff, 0xffff));
	assert_true(pmv_pkey_is_match(0x7fff, 0xffff));
	assert_true(pmv_pkey_is_match(0xffff, 0x7fff));
	assert_false(pmv_pkey_is_match(0x7fff, 0x7fff));
	assert_false(pmv_pkey_is_match(0xffff, 0xfffe));
	assert_false(pmv_pkey_is_match(0x8000, 0x8000));
	assert_false(pmv_pkey_is_match(0, 0));
}

static void
bth_pad__all(void **state)
{
	for (uint32_t n = 0; n < 100; n++) {
		assert_true(pmv_bth_pad(n) < 4);
		assert_int_equal((n + pmv_bth_pad(n)) % 4, 0);
	}
}

static void
ext_hdr__both_ways(void **state)
{
	uint8_t b[28], out[28];
	struct pmv_reth reth;
	struct pmv_atomic_eth at;
	struct pmv_deth deth;
	struct pmv_feth feth;

	pmv_hex_read("00007f0012345678 deadbeef 80000000 01020304 05060708 11121314", b, 28);
	pmv_reth_parse(b, &reth);
	assert_true(reth.va == 0x7f0012345678u && reth.rkey == 0xdeadbeef);
	assert_true(reth.dma_len == PMV_RETH_LEN_MAX);
	pmv_reth_build(out, &reth);
	assert_memory_equal(out, b, 16);

	pmv_atomic_eth_parse(b, &at);
	assert_true(at.va == 0x7f0012345678u && at.rkey == 0xdeadbeef);
	assert_true(at.swap_add == 0x8000000001020304u && at.compare == 0x0506070811121314u);
	pmv_atomic_eth_build(out, &at);
	assert_memory_equal(out, b, 28);

	pmv_hex_read("80010000 ff000012", b, 8);
	pmv_deth_parse(b, &deth);
	assert_true(deth.qkey == 0x80010000 && deth.sqpn == 0x12);
	deth.sqpn |= 0xab000000;
	pmv_deth_build(out, &deth);
	b[4] = 0;
	assert_memory_equal(out, b, 8);

	pmv_hex_read("ffffffda", b, 4);
	pmv_feth_parse(b, &feth);
	assert_true(feth.sel == 1 && feth.plt == 10);
	pmv_feth_build(out, &feth);
	pmv_hex_read("0000001a", b, 4);
	assert_memory_equal(out, b, 4);

	pmv_hex_read("1122334455667788", b, 8);
	assert_true(pmv_atomic_ack_parse(b) == 0x1122334455667788u);
	pmv_atomic_ack_build(out, 0x1122334455667788u);
	assert_memory_equal(out, b, 8);
	assert_int_equal(pmv_ieth_parse(b), 0x11223344);
	pmv_ieth_build(out, 0x11223344);
	assert_memory_equal(out, b, 4);
	/* The immediate keeps its byte order. */
	assert_int_equal(pmv_immdt_parse(b), __builtin_bswap32(0x11223344));
	pmv_immdt_build(out, pmv_immdt_parse(b));
	assert_memory_equal(out, b, 4);
}

static void
aeth__both_ways(void **state)
{
	uint8_t b[4], out[4];
	struct pmv_aeth a;

	pmv_hex_read("1f000001", b, 4);
	pmv_aeth_parse(b, &a);
	assert_int_equal(a.syndrome, PMV_SYNDROME_ACK_NO_CREDIT);
	assert_int_equal(a.msn, 1);
	a.msn |= 0xff000000;
	pmv_aeth_build(out, &a);
	assert_memory_equal(out, b, 4);

	for (uint32_t s = 0; s < 256; s++) {
		static const enum pmv_aeth_kind kinds[8] = { PMV_AETH_ACK, PMV_AETH_RNR,
			PMV_AETH_RESERVED, PMV_AETH_NAK, PMV_AETH_RESERVED, PMV_AETH_RESERVED,
			PMV_AETH_RESERVED, PMV_AETH_RESERVED };

		assert_int_equal(pmv_aeth_kind((uint8_t)s), kinds[s >> 5]);
		assert_int_equal(pmv_aeth_value((uint8_t)s), s & 31);
	}
	assert_int_equal(pmv_aeth_value(PMV_SYNDROME_NAK_REM_ACC), PMV_NAK_REM_ACCESS);
	assert_int_equal(pmv_aeth_kind(PMV_SYNDROME_RNR), PMV_AETH_RNR);
}

static void
rnr_timer__codes(void **state)
{
	assert_int_equal(pmv_rnr_timer_us(0), 655360);
	assert_int_equal(pmv_rnr_timer_us(1), 10);
	assert_int_equal(pmv_rnr_timer_us(12), 640);
	assert_int_equal(pmv_rnr_timer_us(25), 61440);
	assert_int_equal(pmv_rnr_timer_us(31), 491520);
	assert_int_equal(pmv_rnr_timer_us(32 + 12), 640);
	/* Never shorter than asked; each code is its own shortest. */
	for (uint8_t code = 0; code < 32; code++)
		assert_int_equal(pmv_rnr_timer_code(pmv_rnr_timer_us(code)), code);
	for (uint8_t code = 1; code < 31; code++)
		assert_int_equal(pmv_rnr_timer_code(pmv_rnr_timer_us(code) + 1), code + 1);
	assert_int_equal(pmv_rnr_timer_code(0), 1);
	assert_int_equal(pmv_rnr_timer_code(491521), 0);
	assert_int_equal(pmv_rnr_timer_code(UINT32_MAX), 0);
}

static void
credits__codes(void **state)
{
	for (uint8_t code = 0; code < 31; code++) {
		assert_int_equal(pmv_aeth_credit_code(pmv_aeth_credits(code)), code);
		if (code > 0)
			assert_int_equal(
				pmv_aeth_credit_code(pmv_aeth_credits(code) - 1), code - 1);
	}
	assert_int_equal(pmv_aeth_credits(0x0e), 128);
	assert_int_equal(pmv_aeth_credits(PMV_AETH_CREDIT_INVALID), UINT32_MAX);
	assert_int_equal(pmv_aeth_credit_code(UINT32_MAX), 30);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bth__vector),
		cmocka_unit_test(bth__reserved_bits),
		cmocka_unit_test(bth_build__wide_values),
		cmocka_unit_test(bth__random_round_trip),
		cmocka_unit_test(pkey__match),
		cmocka_unit_test(bth_pad__all),
		cmocka_unit_test(ext_hdr__both_ways),
		cmocka_unit_test(aeth__both_ways),
		cmocka_unit_test(rnr_timer__codes),
		cmocka_unit_test(credits__codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
