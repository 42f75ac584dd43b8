// SPDX-License-Identifier: BSD-3-Clause
/*
 * CM MAD codec: hand-made vectors and captures of two Linux hosts both ways, every field at its
 * place and width, every wrong header and length. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "cm/msg.h"
#include "lib/util/random.h"
#include "test/harness/guard_page.h"
#include "test/harness/pcap_file.h"
#include "test/vectors/cm_vectors.h"
#include "test/vectors/hex.h"

#define NB_VECTORS (sizeof(pmv_cm_vectors) / sizeof(pmv_cm_vectors[0]))

static const uint16_t attrs[] = { PMV_CM_ATTR_REQ, PMV_CM_ATTR_MRA, PMV_CM_ATTR_REJ,
	PMV_CM_ATTR_REP, PMV_CM_ATTR_RTU, PMV_CM_ATTR_DREQ, PMV_CM_ATTR_DREP, PMV_CM_ATTR_SIDR_REQ,
	PMV_CM_ATTR_SIDR_REP };
#define NB_ATTRS (sizeof(attrs) / sizeof(attrs[0]))

static void
vector_read(uint32_t i, uint8_t mad[PMV_MAD_LEN])
{
	memset(mad, 0, PMV_MAD_LEN);
	pmv_hex_read(pmv_cm_vectors[i].mad, mad, PMV_MAD_LEN);
}

static uint32_t
vector_find(const char *name)
{
	uint32_t i;

	for (i = 0; i < NB_VECTORS; i++) {
		if (strcmp(pmv_cm_vectors[i].name, name) == 0)
			return i;
	}
	fail_msg("no vector %s", name);
	return 0;
}

/* Parsed and built again: the same bytes, and nothing of the old buffer left. */
static void
rebuild_check(const uint8_t *mad)
{
	uint8_t out[PMV_MAD_LEN];
	struct pmv_cm_msg msg;

	assert_int_equal(pmv_cm_msg_parse(mad, PMV_MAD_LEN, &msg), PMV_CM_MSG_OK);
	assert_int_equal(msg.private_bytes, pmv_cm_msg_private_max(msg.attr));
	assert_ptr_equal(msg.private_data, mad + PMV_MAD_LEN - msg.private_bytes);
	assert_true(pmv_cm_msg_reserved_zero(mad));
	memset(out, 0xa5, sizeof(out));
	assert_int_equal(pmv_cm_msg_build(&msg, out), 0);
	assert_memory_equal(out, mad, PMV_MAD_LEN);
}

static void
parse__vectors_rebuild(void **state)
{
	uint8_t mad[PMV_MAD_LEN];
	uint32_t i;

	(void)state;
	for (i = 0; i < NB_VECTORS; i++) {
		vector_read(i, mad);
		rebuild_check(mad);
	}
}

static void
parse__req_fields(void **state)
{
	static const uint8_t a_gid[16] = { [10] = 0xff, [11] = 0xff, 192, 168, 10, 1 };
	static const uint8_t b_gid[16] = { [10] = 0xff, [11] = 0xff, 192, 168, 10, 2 };
	uint8_t mad[PMV_MAD_LEN];
	struct pmv_cm_msg m;

	(void)state;
	vector_read(vector_find("REQ"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.attr, PMV_CM_ATTR_REQ);
	assert_true(m.tid == 0x0000000a11223344ull);
	assert_int_equal(m.attr_mod, 0);
	assert_int_equal(m.req.local_comm_id, 0x11223344);
	assert_true(m.req.service_id == 0x01061d2f);
	assert_true(m.req.local_ca_guid == 0x000000fffe000001ull);
	assert_int_equal(m.req.local_qpn, 0x11);
	assert_int_equal(m.req.responder_resources, 4);
	assert_int_equal(m.req.initiator_depth, 4);
	assert_int_equal(m.req.remote_response_timeout, 20);
	assert_int_equal(m.req.local_response_timeout, 20);
	assert_int_equal(m.req.transport, PMV_CM_TRANSPORT_RC);
	assert_int_equal(m.req.starting_psn, 0x123456);
	assert_int_equal(m.req.retry_count, 7);
	assert_int_equal(m.req.rnr_retry_count, 7);
	assert_int_equal(m.req.pkey, 0xffff);
	assert_int_equal(m.req.mtu, 3);
	assert_int_equal(m.req.max_cm_retries, 15);
	assert_int_equal(m.req.srq, 0);
	assert_int_equal(m.req.primary.local_lid, 0xffff);
	assert_int_equal(m.req.primary.remote_lid, 0xffff);
	assert_memory_equal(m.req.primary.local_gid, a_gid, 16);
	assert_memory_equal(m.req.primary.remote_gid, b_gid, 16);
	assert_int_equal(m.req.primary.flow_label, 0x8594d);
	assert_int_equal(m.req.primary.hop_limit, 64);
	assert_int_equal(m.req.primary.subnet_local, 0);
	assert_int_equal(m.req.primary.local_ack_timeout, 17);
	assert_int_equal(m.req.alternate.local_lid, 0);
	assert_memory_equal(m.private_data + 36, "client-hello", 13);
}

static void
parse__other_fields(void **state)
{
	uint8_t mad[PMV_MAD_LEN];
	struct pmv_cm_msg m;

	(void)state;
	vector_read(vector_find("REP"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.rep.local_comm_id, 0x55667788);
	assert_int_equal(m.rep.remote_comm_id, 0x11223344);
	assert_int_equal(m.rep.local_qpn, 0x12);
	assert_int_equal(m.rep.starting_psn, 0x654321);
	assert_int_equal(m.rep.target_ack_delay, 15);
	assert_int_equal(m.rep.rnr_retry_count, 7);
	assert_true(m.rep.local_ca_guid == 0x000000fffe000002ull);
	assert_int_equal(m.rep.ece_vendor_id, 0);
	assert_memory_equal(m.private_data, "server-hi", 10);

	vector_read(vector_find("MRA"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.mra.about, PMV_CM_ABOUT_REQ);
	assert_int_equal(m.mra.service_timeout, 24);

	vector_read(vector_find("DREQ"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.dreq.remote_qpn, 0x12);

	vector_read(vector_find("REJ 28"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.rej.reason, PMV_CM_REASON_CONSUMER);
	assert_int_equal(m.rej.local_comm_id, 0x55667788);
	assert_memory_equal(m.private_data, "no thanks", 10);

	vector_read(vector_find("SIDR_REP"), mad);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
	assert_int_equal(m.sidr_rep.qpn, 0x33);
	assert_int_equal(m.sidr_rep.qkey, 0x01234567);
	assert_true(m.sidr_rep.service_id == 0x01111c06);
}

/* CM-119: the vendor ID, spread over a REP and over a SIDR_REP, meets again; options travel in the
 * modifier. */
static void
parse__ece_vendor_id_spread(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_REP, .attr_mod = 5 }, back;
	uint8_t mad[PMV_MAD_LEN];
	const uint8_t *d = mad + PMV_MAD_HDR_LEN;

	(void)state;
	m.rep.ece_vendor_id = 0x0015b3;
	m.rep.local_eecn = 0xffffff;
	assert_int_equal(pmv_cm_msg_build(&m, mad), 0);
	assert_int_equal(d[15], 0x00);
	assert_int_equal(d[19], 0x15);
	assert_int_equal(d[23], 0xb3);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &back), PMV_CM_MSG_OK);
	assert_int_equal(back.rep.ece_vendor_id, 0x15b3);
	assert_int_equal(back.attr_mod, 5);

	/* a REQ has it in one piece, where older releases have reserved bytes */
	memset(&m, 0, sizeof(m));
	m.attr = PMV_CM_ATTR_REQ;
	m.attr_mod = 0x80000001;
	m.req.ece_vendor_id = 0x706d76;
	assert_int_equal(pmv_cm_msg_build(&m, mad), 0);
	assert_memory_equal(mad + 16, "\x00\x10\x00\x00\x80\x00\x00\x01", 8);
	assert_memory_equal(d, "\0\0\0\0\0\x70\x6d\x76\0", 9);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &back), PMV_CM_MSG_OK);
	assert_int_equal(back.req.ece_vendor_id, 0x706d76);
	assert_true(back.attr_mod == 0x80000001);

	memset(&m, 0, sizeof(m));
	m.attr = PMV_CM_ATTR_SIDR_REP;
	m.sidr_rep.ece_vendor_id = 0xabcdef;
	assert_int_equal(pmv_cm_msg_build(&m, mad), 0);
	assert_int_equal(d[6], 0xab);
	assert_int_equal(d[7], 0xcd);
	assert_int_equal(d[11], 0xef);
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &back), PMV_CM_MSG_OK);
	assert_int_equal(back.sidr_rep.ece_vendor_id, 0xabcdef);
}

/* CM-116: only 256 bytes are a MAD, and nothing behind the payload is read. */
static void
parse__wrong_length(void **state)
{
	struct pmv_guard_page guard;
	uint8_t mad[2 * PMV_MAD_LEN] = { 0 };
	struct pmv_cm_msg m;
	uint32_t i;
	size_t len;

	(void)state;
	pmv_guard_page_init(&guard, sizeof(mad));
	for (i = 0; i < NB_VECTORS; i++) {
		vector_read(i, mad);
		for (len = 0; len <= 300; len++) {
			const uint8_t *p = pmv_guard_page_copy(&guard, mad, len);

			assert_int_equal(pmv_cm_msg_parse(p, len, &m),
				len == PMV_MAD_LEN ? PMV_CM_MSG_OK : PMV_CM_MSG_BAD_LENGTH);
		}
	}
}

static void
header_check(uint32_t offset, uint8_t value, enum pmv_cm_msg_verdict verdict)
{
	uint8_t mad[PMV_MAD_LEN];
	struct pmv_cm_msg m;

	vector_read(vector_find("REQ"), mad);
	mad[offset] = value;
	assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), verdict);
}

static void
parse__wrong_header(void **state)
{
	uint32_t method, attr;

	(void)state;
	header_check(0, 0, PMV_CM_MSG_BAD_BASE_VERSION);
	header_check(0, 2, PMV_CM_MSG_BAD_BASE_VERSION);
	header_check(1, 0x03, PMV_CM_MSG_OTHER_CLASS);
	header_check(1, 0x04, PMV_CM_MSG_OTHER_CLASS);
	header_check(2, 1, PMV_CM_MSG_BAD_CLASS_VERSION);
	header_check(2, 3, PMV_CM_MSG_BAD_CLASS_VERSION);
	for (method = 0; method < 256; method++)
		header_check(3, (uint8_t)method,
			method == PMV_MAD_METHOD_SEND ? PMV_CM_MSG_OK : PMV_CM_MSG_BAD_METHOD);
	for (attr = 0; attr < 256; attr++) {
		enum pmv_cm_msg_verdict want = PMV_CM_MSG_UNKNOWN_ATTR;

		if (attr >= PMV_CM_ATTR_REQ && attr <= PMV_CM_ATTR_SIDR_REP)
			want = PMV_CM_MSG_OK;
		else if (attr == PMV_CM_ATTR_LAP || attr == PMV_CM_ATTR_APR)
			want = PMV_CM_MSG_PATH_MIGRATION;
		else if (attr == PMV_CM_ATTR_CLASS_PORT_INFO)
			want = PMV_CM_MSG_CLASS_PORT_INFO;
		header_check(17, (uint8_t)attr, want);
	}
	header_check(16, 1, PMV_CM_MSG_UNKNOWN_ATTR);
}

/*
 * Every bit of the fixed part is either in exactly one field (it survives a rebuild) or reserved
 * (it does not, and reserved_zero sees it); the reserved ones are as many as the spec has.
 */
static void
parse__each_bit_once(void **state)
{
	/* REQ: 8 + 32, flow label 6, 3 and 3 (LAT, SL), twice, less SAP. */
	static const uint32_t nb_reserved[] = { 8 + 32 + (6 + 3 + 3) + (6 + 3 + 2), 6 + 3, 6 + 1, 4,
		0, 8, 0, 16, 0 };
	uint32_t i, bit;

	(void)state;
	for (i = 0; i < NB_ATTRS; i++) {
		uint32_t fixed = PMV_MAD_DATA_LEN - pmv_cm_msg_private_max(attrs[i]);
		struct pmv_cm_msg m = { .attr = attrs[i] };
		uint8_t zero[PMV_MAD_LEN], mad[PMV_MAD_LEN], out[PMV_MAD_LEN];
		uint32_t lost = 0;

		assert_int_equal(pmv_cm_msg_build(&m, zero), 0);
		for (bit = 0; bit < 8 * PMV_MAD_DATA_LEN; bit++) {
			bool same;

			memcpy(mad, zero, sizeof(mad));
			mad[PMV_MAD_HDR_LEN + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
			assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
			assert_int_equal(pmv_cm_msg_build(&m, out), 0);
			same = memcmp(out, mad, sizeof(mad)) == 0;
			assert_true(same || memcmp(out, zero, sizeof(zero)) == 0);
			assert_int_equal(pmv_cm_msg_reserved_zero(mad), same);
			if (bit >= 8 * fixed)
				assert_true(same);
			lost += !same;
		}
		assert_int_equal(lost, nb_reserved[i]);
	}
}

/* CM-131: a value too wide for its field is an error, never a bit in a neighbour. */
static void
build__field_overflow(void **state)
{
	struct pmv_cm_msg req = { .attr = PMV_CM_ATTR_REQ }, rep = { .attr = PMV_CM_ATTR_REP };
	struct pmv_cm_msg mra = { .attr = PMV_CM_ATTR_MRA }, rej = { .attr = PMV_CM_ATTR_REJ };
	struct pmv_cm_msg dreq = { .attr = PMV_CM_ATTR_DREQ };
	static const uint8_t zero[PMV_MAD_LEN];
	uint8_t mad[PMV_MAD_LEN];
	uint32_t nb = 0;

	(void)state;
#define WIDTH(m, field, bits)                                                                      \
	do {                                                                                       \
		m.field = (1u << (bits)) - 1;                                                      \
		assert_int_equal(pmv_cm_msg_build(&m, mad), 0);                                    \
		m.field = 1u << (bits);                                                            \
		assert_int_equal(pmv_cm_msg_build(&m, mad), -ERANGE);                              \
		assert_memory_equal(mad, zero, sizeof(mad));                                       \
		m.field = 0;                                                                       \
		nb++;                                                                              \
	} while (0)
	WIDTH(req, req.ece_vendor_id, 24);
	WIDTH(req, req.local_qpn, 24);
	WIDTH(req, req.local_eecn, 24);
	WIDTH(req, req.remote_eecn, 24);
	WIDTH(req, req.remote_response_timeout, 5);
	WIDTH(req, req.transport, 2);
	WIDTH(req, req.flow_control, 1);
	WIDTH(req, req.starting_psn, 24);
	WIDTH(req, req.local_response_timeout, 5);
	WIDTH(req, req.retry_count, 3);
	WIDTH(req, req.mtu, 4);
	WIDTH(req, req.rdc_exists, 1);
	WIDTH(req, req.rnr_retry_count, 3);
	WIDTH(req, req.max_cm_retries, 4);
	WIDTH(req, req.srq, 1);
	WIDTH(req, req.extended_transport, 3);
	WIDTH(req, req.primary.flow_label, 20);
	WIDTH(req, req.primary.packet_rate, 6);
	WIDTH(req, req.primary.sl, 4);
	WIDTH(req, req.primary.subnet_local, 1);
	WIDTH(req, req.primary.local_ack_timeout, 5);
	WIDTH(req, req.alternate.local_ack_timeout, 5);
	WIDTH(req, req.sap_supported, 1);
	WIDTH(rep, rep.local_qpn, 24);
	WIDTH(rep, rep.ece_vendor_id, 24);
	WIDTH(rep, rep.target_ack_delay, 5);
	WIDTH(rep, rep.failover, 2);
	WIDTH(rep, rep.rnr_retry_count, 3);
	WIDTH(mra, mra.about, 2);
	WIDTH(mra, mra.service_timeout, 5);
	WIDTH(rej, rej.about, 2);
	WIDTH(rej, rej.ari_len, 7);
	WIDTH(dreq, dreq.remote_qpn, 24);
#undef WIDTH
	assert_int_equal(nb, 33);
}

static void
build__private_data(void **state)
{
	uint8_t data[PMV_MAD_DATA_LEN + 1], mad[PMV_MAD_LEN];
	struct pmv_cm_msg m, back;
	uint32_t i;
	uint16_t len, k;

	(void)state;
	memset(data, 0x5a, sizeof(data));
	for (i = 0; i < NB_ATTRS; i++) {
		uint16_t max = pmv_cm_msg_private_max(attrs[i]);

		memset(&m, 0, sizeof(m));
		m.attr = attrs[i];
		m.private_data = data;
		for (len = 0; len <= max; len++) {
			m.private_bytes = len;
			memset(mad, 0xff, sizeof(mad));
			assert_int_equal(pmv_cm_msg_build(&m, mad), 0);
			assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &back), PMV_CM_MSG_OK);
			assert_int_equal(back.private_bytes, max);
			for (k = 0; k < max; k++)
				assert_int_equal(back.private_data[k], k < len ? 0x5a : 0);
		}
		m.private_bytes = max + 1;
		assert_int_equal(pmv_cm_msg_build(&m, mad), -EMSGSIZE);
		m.private_data = NULL;
		m.private_bytes = 0;
		assert_int_equal(pmv_cm_msg_build(&m, mad), 0);
	}
}

static void
build__unknown_attribute(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_LAP };
	uint8_t mad[PMV_MAD_LEN];

	(void)state;
	assert_int_equal(pmv_cm_msg_build(&m, mad), -EINVAL);
	m.attr = 0;
	assert_int_equal(pmv_cm_msg_build(&m, mad), -EINVAL);
	assert_int_equal(pmv_cm_msg_private_max(PMV_CM_ATTR_APR), 0);
	vector_read(0, mad);
	mad[17] = PMV_CM_ATTR_APR;
	assert_false(pmv_cm_msg_reserved_zero(mad));
}

/* A peer's length field cannot lead past the ARI area. */
static void
rej_ari_bytes__bounded(void **state)
{
	uint8_t mad[PMV_MAD_LEN];
	struct pmv_cm_msg m;
	uint32_t len;

	(void)state;
	for (len = 0; len < 128; len++) {
		vector_read(vector_find("REJ 8"), mad);
		mad[PMV_MAD_HDR_LEN + 9] = (uint8_t)(len << 1);
		assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
		assert_int_equal(m.rej.ari_len, len);
		assert_int_equal(pmv_cm_rej_ari_bytes(&m.rej), len < 72 ? len : 72);
	}
}

/* Whatever a peer sends in 232 bytes: parsed, and a second round of build and parse changes
 * nothing. */
static void
parse__random_bodies(void **state)
{
	uint8_t mad[PMV_MAD_LEN], once[PMV_MAD_LEN], twice[PMV_MAD_LEN];
	struct pmv_random rnd;
	struct pmv_cm_msg m;
	uint32_t i, k;

	(void)state;
	pmv_random_init(&rnd, 7);
	for (i = 0; i < 20000; i++) {
		vector_read(i % NB_VECTORS, mad);
		for (k = PMV_MAD_HDR_LEN; k < PMV_MAD_LEN; k++)
			mad[k] = (uint8_t)pmv_random_next64(&rnd);
		assert_int_equal(pmv_cm_msg_parse(mad, sizeof(mad), &m), PMV_CM_MSG_OK);
		assert_int_equal(pmv_cm_msg_build(&m, once), 0);
		assert_true(pmv_cm_msg_reserved_zero(once));
		assert_int_equal(pmv_cm_msg_parse(once, sizeof(once), &m), PMV_CM_MSG_OK);
		assert_int_equal(pmv_cm_msg_build(&m, twice), 0);
		assert_memory_equal(once, twice, sizeof(once));
	}
}

struct capture {
	const char *file;
	uint32_t nb_cm; /* counted with another tool */
};

static uint32_t
capture_check(const char *name)
{
	struct pmv_pcap_frame pf;
	struct pmv_pcap_file f;
	uint32_t nb = 0;
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/captures/%s", PMV_TEST_VECTORS_DIR, name);
	assert_int_equal(pmv_pcap_file_open(&f, path), 0);
	while ((rc = pmv_pcap_file_next(&f, &pf)) == 1) {
		struct pmv_mad_view v;

		if (pmv_mad_frame_parse(pf.data, pf.len, &v) != PMV_WIRE_OK)
			continue;
		rebuild_check(v.mad);
		nb++;
	}
	assert_int_equal(rc, 0);
	pmv_pcap_file_close(&f);
	return nb;
}

static void
parse__captures_rebuild(void **state)
{
	static const struct capture captures[] = {
		{ "rping.pcap", 5 },
		{ "rping6.pcap", 5 },
		{ "no-listener.pcap", 4 },
		{ "ucmatose.pcap", 20 },
		{ "udaddy.pcap", 4 },
		{ "silent-peer.pcap", 8 },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		assert_int_equal(capture_check(captures[i].file), captures[i].nb_cm);
}

static void
names__never_null(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < PMV_CM_MSG_VERDICT_MAX + 3; i++)
		assert_non_null(pmv_cm_msg_verdict_name((enum pmv_cm_msg_verdict)i));
	for (i = 0; i < 300; i++)
		assert_non_null(pmv_cm_msg_attr_name((uint16_t)i));
	assert_string_equal(pmv_cm_msg_attr_name(PMV_CM_ATTR_SIDR_REP), "SIDR_REP");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__vectors_rebuild),
		cmocka_unit_test(parse__req_fields),
		cmocka_unit_test(parse__other_fields),
		cmocka_unit_test(parse__ece_vendor_id_spread),
		cmocka_unit_test(parse__wrong_length),
		cmocka_unit_test(parse__wrong_header),
		cmocka_unit_test(parse__each_bit_once),
		cmocka_unit_test(parse__random_bodies),
		cmocka_unit_test(parse__captures_rebuild),
		cmocka_unit_test(build__field_overflow),
		cmocka_unit_test(build__private_data),
		cmocka_unit_test(build__unknown_attribute),
		cmocka_unit_test(rej_ari_bytes__bounded),
		cmocka_unit_test(names__never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
