// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/opcode: the table against an independent list, and the length rules for every opcode,
 * pad and length.
 */
#include "lib/wire/opcode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/harness/guard_page.h"

/* Extension header bytes by opcode, written down independently of the table; -1: unknown. */
static int
ext_bytes(uint8_t opcode)
{
	static const int8_t rc[32] = { 0, 0, 0, 4, 0, 4, 16, 0, 0, 4, 16, 20, 16, 4, 0, 4, 4, 4, 12,
		28, 28, -1, 4, 4, -1, -1, -1, -1, 20, 16, -1, -1 };

	if (opcode < 0x20)
		return rc[opcode];
	if (opcode < 0x2c)
		return rc[opcode - 0x20];
	if (opcode == 0x64)
		return 8;
	if (opcode == 0x65)
		return 12;
	if (opcode == 0xc1) /* our own: AETH */
		return 4;
	return opcode == 0x81 ? 0 : -1;
}

static bool
has_no_payload(uint8_t opcode)
{
	return opcode == 0x0c || (opcode >= 0x11 && opcode <= 0x14) || opcode == 0x1c;
}

static void
opcode_table__headers(void **state)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < 256; i++) {
		const struct pmv_opcode_info *op = &pmv_opcode_table[i];
		int ext = ext_bytes((uint8_t)i);

		if (ext < 0) {
			assert_int_equal(op->opclass, PMV_OPCLASS_NONE);
			assert_int_equal(op->kind, PMV_OPKIND_NONE);
			assert_int_equal(op->hdr_len, 12);
			continue;
		}
		known++;
		assert_int_equal(op->hdr_len, 12 + ext);
		assert_int_equal(op->payload == PMV_OPPAY_NONE, has_no_payload((uint8_t)i));
		assert_int_equal(op->opclass, i == 0xc1   ? PMV_OPCLASS_RC
					      : i == 0x81 ? PMV_OPCLASS_CNP
					      : i >= 0x60 ? PMV_OPCLASS_UD
					      : i >= 0x20 ? PMV_OPCLASS_UC
							  : PMV_OPCLASS_RC);
	}
	assert_int_equal(known, 25 + 12 + 2 + 1 + 1);
}

static bool
in_list(uint8_t opcode, const char *list)
{
	for (; *list != '\0'; list++)
		if ((uint8_t)*list == opcode + 1) /* + 1: 0 ends the list */
			return true;
	return false;
}

static void
opcode_table__flags_and_positions(void **state)
{
	for (uint32_t i = 0; i < 32; i++) {
		const struct pmv_opcode_info *op = &pmv_opcode_table[i];
		uint8_t o = (uint8_t)i;
		bool imm = in_list(o, "\x04\x06\x0a\x0c"), inv = in_list(o, "\x17\x18");
		bool resp = o >= 0x0d && o <= 0x12;

		if (op->opclass == PMV_OPCLASS_NONE)
			continue;
		assert_int_equal(pmv_opcode_has(op, PMV_EXT_IMMDT), imm);
		assert_int_equal(pmv_opcode_has(op, PMV_EXT_IETH), inv);
		assert_int_equal((op->flags & PMV_OPF_REQUEST) != 0, !resp);
		/* A receive is taken by SEND first/only and by the last packet of WRITE with
		 * immediate. */
		assert_int_equal((op->flags & PMV_OPF_RECV_WQE) != 0,
			in_list(o, "\x01\x05\x06\x18") || in_list(o, "\x0a\x0c"));
		/* It completes at SEND last/only and there. */
		assert_int_equal((op->flags & PMV_OPF_COMP) != 0,
			in_list(o, "\x03\x04\x05\x06\x17\x18\x0a\x0c"));
		assert_int_equal(op->pos == PMV_OPPOS_FIRST, in_list(o, "\x01\x07\x0e"));
		assert_int_equal(op->pos == PMV_OPPOS_MIDDLE, in_list(o, "\x02\x08\x0f"));
		assert_int_equal(op->pos == PMV_OPPOS_LAST, in_list(o, "\x03\x04\x09\x0a\x10\x17"));
		/* UC is RC without responses and one-sided extras. */
		if (i < 0x0c) {
			const struct pmv_opcode_info *uc =
				&pmv_opcode_table[i + PMV_OPCODE_UC_BASE];

			assert_int_equal(uc->kind, op->kind);
			assert_int_equal(uc->pos, op->pos);
			assert_int_equal(uc->flags, op->flags);
			assert_int_equal(uc->ext, op->ext);
			assert_int_equal(uc->payload, op->payload);
		}
	}
}

/*
 * PK-701, PK-702, PK-703: all 256 opcodes, each pad count, UDP payloads 0..80; the payload length
 * never goes negative and nothing is read past the bytes there are.
 */
static void
roce_parse__every_length(void **state)
{
	struct pmv_guard_page g;

	pmv_guard_page_init(&g, 128);
	for (uint32_t op = 0; op < 256; op++)
		for (uint32_t pad = 0; pad < 4; pad++)
			for (uint32_t n = 0; n <= 80; n++) {
				uint8_t b[80] = { (uint8_t)op, (uint8_t)(0x40 | pad << 4), 0xff,
					0xff };
				const uint8_t *p = pmv_guard_page_copy(&g, b, n);
				int ext = ext_bytes((uint8_t)op);
				int payload = (int)n - 12 - ext - (int)pad - 4;
				enum pmv_wire_verdict v, want = PMV_WIRE_OK;
				struct pmv_roce_view r;

				if (n < 16)
					want = PMV_WIRE_ROCE_SHORT;
				else if (ext < 0)
					want = PMV_WIRE_OPCODE;
				else if (payload < 0)
					want = PMV_WIRE_ROCE_SHORT;
				else if (has_no_payload((uint8_t)op) && payload + (int)pad > 0)
					want = PMV_WIRE_PAYLOAD;
				else if ((payload + (int)pad) % 4 != 0)
					want = PMV_WIRE_PAD;
				v = pmv_roce_parse(p, n, n, &r);
				assert_int_equal(v, want);
				if (v != PMV_WIRE_OK)
					continue;
				assert_int_equal(r.payload_len, payload);
				assert_int_equal(r.payload_off, 12 + ext);
				assert_int_equal(r.icrc_off, n - 4);
				assert_int_equal(r.payload_off + r.payload_len + pad, r.icrc_off);
			}
}

/* Headers in several segments: only the headers must be contiguous. */
static void
roce_parse__split(void **state)
{
	struct pmv_guard_page g;

	pmv_guard_page_init(&g, 128);
	for (uint32_t op = 0; op < 256; op++) {
		uint32_t hdr_len = pmv_opcode_table[op].hdr_len;
		uint32_t total = has_no_payload((uint8_t)op) ? hdr_len + 4 : 4096 + hdr_len + 4;
		uint8_t b[64] = { (uint8_t)op, 0x40 };

		if (ext_bytes((uint8_t)op) < 0)
			continue;
		for (uint32_t n = 0; n <= hdr_len; n++) {
			struct pmv_roce_view r;

			assert_int_equal(
				pmv_roce_parse(pmv_guard_page_copy(&g, b, n), n, total, &r),
				n < hdr_len ? PMV_WIRE_HDR_SPLIT : PMV_WIRE_OK);
		}
	}
}

static void
roce_parse__version(void **state)
{
	uint8_t b[16] = { 0x04 };
	struct pmv_roce_view r;

	for (uint8_t t = 0; t < 16; t++) {
		b[1] = t;
		assert_int_equal(
			pmv_roce_parse(b, 16, 16, &r), t == 0 ? PMV_WIRE_OK : PMV_WIRE_TVER);
	}
}

static void
opcode_payload__rules(void **state)
{
	static const struct {
		uint8_t opcode;
		uint16_t len;
		uint8_t pad;
		bool ok;
	} cases[] = {
		{ 0x00, 1024, 0, true },
		{ 0x00, 1020, 0, false },
		{ 0x00, 1028, 0, false },
		{ 0x01, 1024, 0, true },
		{ 0x01, 0, 0, false },
		{ 0x06, 1023, 1, false },
		{ 0x02, 0, 0, false },
		{ 0x02, 1, 3, true },
		{ 0x02, 1024, 0, true },
		{ 0x02, 1028, 0, false },
		{ 0x04, 0, 0, true },
		{ 0x04, 1025, 3, false },
		{ 0x0f, 0, 0, false },
		{ 0x10, 0, 0, true },
		{ 0x0e, 1024, 0, true },
		{ 0x1d, 8, 0, true },
		{ 0x1d, 4, 0, false },
		{ 0x1d, 7, 1, false },
		{ 0x11, 0, 0, true },
		{ 0x64, 1024, 0, true },
		{ 0x64, 1028, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t b[64] = { cases[i].opcode, (uint8_t)(cases[i].pad << 4) };
		struct pmv_roce_view r;
		uint32_t n = pmv_opcode_table[b[0]].hdr_len + cases[i].len + cases[i].pad + 4u;

		assert_int_equal(pmv_roce_parse(b, 64, n, &r), PMV_WIRE_OK);
		assert_int_equal(r.payload_len, cases[i].len);
		assert_int_equal(pmv_opcode_payload_is_ok(&r, 1024), cases[i].ok);
	}
}

static void
verdict__names(void **state)
{
	for (int v = 0; v < PMV_WIRE_NB; v++) {
		assert_non_null(pmv_wire_verdict_name((enum pmv_wire_verdict)v));
		for (int w = 0; w < v; w++)
			assert_string_not_equal(pmv_wire_verdict_name((enum pmv_wire_verdict)v),
				pmv_wire_verdict_name((enum pmv_wire_verdict)w));
	}
	assert_string_equal(pmv_wire_verdict_name(PMV_WIRE_NB), "?");
	assert_string_equal(pmv_wire_verdict_name((enum pmv_wire_verdict) - 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opcode_table__headers),
		cmocka_unit_test(opcode_table__flags_and_positions),
		cmocka_unit_test(roce_parse__every_length),
		cmocka_unit_test(roce_parse__split),
		cmocka_unit_test(roce_parse__version),
		cmocka_unit_test(opcode_payload__rules),
		cmocka_unit_test(verdict__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
