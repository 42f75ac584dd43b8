// SPDX-License-Identifier: BSD-3-Clause
/*
 * Echo and port unreachable: the replies of Linux hosts, every receive check, every length. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "cm/icmp.h"
#include "cm/inet_sum.h"
#include "cm/limits.h"
#include "lib/util/be.h"
#include "lib/wire/gid.h"
#include "test/harness/guard_page.h"
#include "test/harness/pcap_file.h"

#define ROOM 2048

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };

static void
sums_set(uint8_t *f, bool v6)
{
	uint8_t *ip = f + 14, *icmp = ip + (v6 ? 40 : 20);
	uint16_t bytes = v6 ? pmv_be16_load(ip + 4) : (uint16_t)(pmv_be16_load(ip + 2) - 20);
	uint64_t sum = v6 ? pmv_cm_inet_sum_pseudo6(ip + 8, bytes, 58) : 0;

	if (!v6) {
		pmv_be16_store(ip + 10, 0);
		pmv_be16_store(ip + 10, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, ip, 20)));
	}
	pmv_be16_store(icmp + 2, 0);
	pmv_be16_store(icmp + 2, pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(sum, icmp, bytes)));
}

/* An echo request from 10.9.0.2 or fd09::2 to .1 with so many bytes of data. */
static size_t
request_make(uint8_t *f, bool v6, uint16_t data)
{
	static const uint8_t v4_ip[20] = { 0x45, 0x88, 0, 0, 0x12, 0x34, 0, 0, 3, 1, 0, 0, 10, 9, 0,
		2, 10, 9, 0, 1 };
	static const uint8_t v6_ip[40] = { 0x60, 0x81, 0x23, 0x45, 0, 0, 58, 5, 0xfd, 9, [23] = 2,
		0xfd, 9, [39] = 1 };
	size_t header = v6 ? 40 : 20;
	uint16_t i;

	memset(f, 0, ROOM);
	memcpy(f, own_mac, 6);
	memcpy(f + 6, "\x02\x00\x00\x00\x00\x02", 6);
	pmv_be16_store(f + 12, v6 ? 0x86dd : 0x0800);
	memcpy(f + 14, v6 ? v6_ip : v4_ip, header);
	pmv_be16_store(f + 14 + (v6 ? 4 : 2), (uint16_t)((v6 ? 0 : 20) + 8 + data));
	f[14 + header] = v6 ? 128 : 8;
	pmv_be32_store(f + 14 + header + 4, 0xbeef0007);
	for (i = 0; i < data; i++)
		f[14 + header + 8 + i] = (uint8_t)(i * 7);
	sums_set(f, v6);
	return 14 + header + 8 + data;
}

static enum pmv_cm_icmp_verdict
judge(const uint8_t *f, size_t len)
{
	struct pmv_cm_icmp r;

	return pmv_cm_icmp_parse(f, len, &r);
}

static void
reply__fields(void **state)
{
	uint8_t f[ROOM], out[ROOM];
	struct pmv_cm_icmp r;
	int v6, len;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		size_t n = request_make(f, v6, 48), ip = 14, icmp = v6 ? 54 : 34;

		assert_int_equal(pmv_cm_icmp_parse(f, n, &r), PMV_CM_ICMP_ECHO_REQUEST);
		assert_int_equal(r.icmp_bytes, 56);
		memset(out, 0xee, sizeof(out));
		len = pmv_cm_icmp_reply_build(f, &r, own_mac, out, sizeof(out));
		assert_int_equal(len, n);
		assert_memory_equal(out, f + 6, 6);
		assert_memory_equal(out + 6, own_mac, 6);
		assert_int_equal(out[icmp], v6 ? 129 : 0);
		assert_memory_equal(out + icmp + 4, f + icmp + 4, 52);
		if (v6) {
			assert_memory_equal(
				out + ip, "\x60\x80\x00\x00", 4); /* class 8, no flow label */
			assert_int_equal(out[ip + 7], 64);
			assert_memory_equal(out + ip + 8, f + ip + 24, 16);
			assert_memory_equal(out + ip + 24, f + ip + 8, 16);
		} else {
			assert_int_equal(out[ip + 1], 0x88);
			assert_int_equal(out[ip + 8], 64);
			assert_memory_equal(out + ip + 12, f + ip + 16, 4);
			assert_memory_equal(out + ip + 16, f + ip + 12, 4);
		}
		/* Its checksums are right: as a request it would be taken. */
		out[icmp] = v6 ? 128 : 8;
		out[icmp + 2] = f[icmp + 2];
		out[icmp + 3] = f[icmp + 3];
		assert_int_equal(judge(out, (size_t)len), PMV_CM_ICMP_ECHO_REQUEST);
	}
}

/* Every length of data up to the limit; the smallest are padded to a whole frame. */
static void
reply__each_length(void **state)
{
	uint8_t f[ROOM], out[ROOM];
	struct pmv_cm_icmp r;
	uint16_t data;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		for (data = 0; data < 1600; data++) {
			size_t n = request_make(f, v6, data), want = n < 60 ? 60 : n;

			if (n > PMV_CM_ICMP_FRAME_MAX) {
				assert_int_equal(judge(f, n), PMV_CM_ICMP_TOO_LONG);
				continue;
			}
			assert_int_equal(pmv_cm_icmp_parse(f, want, &r), PMV_CM_ICMP_ECHO_REQUEST);
			assert_int_equal(pmv_cm_icmp_reply_build(f, &r, own_mac, out, want), want);
			assert_int_equal(
				pmv_cm_icmp_reply_build(f, &r, own_mac, out, want - 1), -ENOSPC);
		}
	}
}

static void
parse__truncated(void **state)
{
	struct pmv_guard_page guard;
	uint8_t f[ROOM];
	size_t cut;
	int v6;

	(void)state;
	pmv_guard_page_init(&guard, ROOM);
	for (v6 = 0; v6 < 2; v6++) {
		size_t n = request_make(f, v6, 30);

		for (cut = 0; cut < n; cut++)
			assert_int_equal(judge(pmv_guard_page_copy(&guard, f, cut), cut),
				PMV_CM_ICMP_TRUNCATED);
		assert_int_equal(
			judge(pmv_guard_page_copy(&guard, f, n), n), PMV_CM_ICMP_ECHO_REQUEST);
	}
}

static void
parse__vlan(void **state)
{
	uint8_t f[ROOM], tagged[ROOM], out[ROOM];
	struct pmv_cm_icmp r;
	size_t n = request_make(f, false, 48);

	(void)state;
	memcpy(tagged, f, 12);
	memcpy(tagged + 12, "\x81\x00\x60\x07", 4);
	memcpy(tagged + 16, f + 12, n - 12);
	assert_int_equal(judge(tagged, 17), PMV_CM_ICMP_TRUNCATED);
	assert_int_equal(pmv_cm_icmp_parse(tagged, n + 4, &r), PMV_CM_ICMP_ECHO_REQUEST);
	assert_int_equal(r.vlan, 7);
	assert_int_equal(pmv_cm_icmp_reply_build(tagged, &r, own_mac, out, sizeof(out)), n + 4);
	assert_memory_equal(out + 12, tagged + 12, 6); /* the same tag */
}

static void
byte_check(bool v6, uint32_t offset, uint8_t value, enum pmv_cm_icmp_verdict want)
{
	uint8_t f[ROOM];
	size_t n = request_make(f, v6, 48);

	f[offset] = value;
	sums_set(f, v6);
	assert_int_equal(judge(f, n), want);
}

static void
parse__checks(void **state)
{
	(void)state;
	byte_check(false, 12, 0x88, PMV_CM_ICMP_OTHER);
	byte_check(false, 0, 0xff, PMV_CM_ICMP_BAD_DESTINATION);
	byte_check(false, 6, 1, PMV_CM_ICMP_BAD_SOURCE);
	byte_check(false, 14, 0x65, PMV_CM_ICMP_OTHER);
	byte_check(false, 14, 0x44, PMV_CM_ICMP_TRUNCATED); /* header shorter than a header */
	byte_check(false, 20, 0x20, PMV_CM_ICMP_FRAGMENT);  /* more fragments */
	byte_check(false, 21, 1, PMV_CM_ICMP_FRAGMENT);
	byte_check(false, 20, 0x40, PMV_CM_ICMP_ECHO_REQUEST); /* DF is none */
	byte_check(false, 23, 17, PMV_CM_ICMP_OTHER);
	byte_check(false, 26, 127, PMV_CM_ICMP_BAD_SOURCE);
	byte_check(false, 26, 224, PMV_CM_ICMP_BAD_SOURCE);
	byte_check(false, 30, 224, PMV_CM_ICMP_BAD_DESTINATION);
	byte_check(false, 34, 13, PMV_CM_ICMP_OTHER);
	byte_check(false, 35, 1, PMV_CM_ICMP_OTHER);
	byte_check(true, 14, 0x40, PMV_CM_ICMP_OTHER);
	byte_check(true, 20, 44, PMV_CM_ICMP_OTHER); /* fragment header */
	byte_check(true, 22, 0xff, PMV_CM_ICMP_BAD_SOURCE);
	byte_check(true, 38, 0xff, PMV_CM_ICMP_BAD_DESTINATION);
	byte_check(true, 54, 135, PMV_CM_ICMP_OTHER);
	byte_check(true, 55, 1, PMV_CM_ICMP_OTHER);
}

static void
parse__addresses_of_nobody(void **state)
{
	uint8_t f[ROOM];
	size_t n;

	(void)state;
	n = request_make(f, false, 48);
	memset(f + 26, 0, 4);
	sums_set(f, false);
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_SOURCE);
	memset(f + 26, 0xff, 4);
	sums_set(f, false);
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_SOURCE);
	n = request_make(f, false, 48);
	memset(f + 30, 0xff, 4);
	sums_set(f, false);
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_DESTINATION);
	n = request_make(f, true, 48);
	memset(f + 22, 0, 16);
	sums_set(f, true);
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_SOURCE);
	pmv_gid_from_ipv4(f + 22, 0x0a090002); /* mapped IPv4 in an IPv6 header */
	sums_set(f, true);
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_SOURCE);
}

static void
parse__checksums(void **state)
{
	uint8_t f[ROOM];
	size_t n, off;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		n = request_make(f, v6, 48);
		for (off = v6 ? 54 : 34; off < n; off++) {
			f[off] ^= 0x10;
			assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_CHECKSUM);
			f[off] ^= 0x10;
		}
	}
	n = request_make(f, false, 48);
	f[22]++; /* TTL, not under ICMP's checksum */
	assert_int_equal(judge(f, n), PMV_CM_ICMP_BAD_CHECKSUM);
}

/* Total lengths that lie: beyond the frame, below the header, too little for ICMP. */
static void
parse__length_fields(void **state)
{
	uint8_t f[ROOM];
	uint32_t total;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		for (total = 0; total < 200; total++) {
			size_t n = request_make(f, v6, 48), most = v6 ? 56 : 76,
			       least = v6 ? 8 : 28;
			enum pmv_cm_icmp_verdict want = PMV_CM_ICMP_TRUNCATED;

			pmv_be16_store(f + 14 + (v6 ? 4 : 2), (uint16_t)total);
			if (total >= least) {
				want = total <= most ? PMV_CM_ICMP_ECHO_REQUEST
						     : PMV_CM_ICMP_TRUNCATED;
				sums_set(f, v6);
			} else if (!v6) {
				pmv_be16_store(f + 24, 0);
				pmv_be16_store(f + 24,
					pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(0, f + 14, 20)));
			}
			assert_int_equal(judge(f, n), want);
		}
	}
}

/* "Nobody there" for one of our UDP packets. */
static void
parse__port_unreachable(void **state)
{
	struct pmv_guard_page guard;
	struct pmv_cm_icmp r;
	uint8_t f[ROOM], quoted[ROOM];
	int v6;
	size_t cut;

	(void)state;
	pmv_guard_page_init(&guard, ROOM);
	for (v6 = 0; v6 < 2; v6++) {
		size_t header = v6 ? 40 : 20, icmp = 14 + header, n;

		request_make(quoted, v6, 48);
		quoted[14 + (v6 ? 6 : 9)] = 17;
		pmv_be16_store(quoted + 14 + header, 0xd872);
		pmv_be16_store(quoted + 14 + header + 2, 4791);
		n = request_make(f, v6, (uint16_t)(header + 8));
		f[icmp] = v6 ? 1 : 3;
		f[icmp + 1] = v6 ? 4 : 3;
		memcpy(f + icmp + 8, quoted + 14, header + 8);
		sums_set(f, v6);
		assert_int_equal(pmv_cm_icmp_parse(f, n, &r), PMV_CM_ICMP_PORT_UNREACHABLE);
		assert_int_equal(r.unreachable_port, 4791);
		assert_int_equal(r.unreachable_ip[15], 1);
		f[icmp + 1] = 0; /* another code */
		sums_set(f, v6);
		assert_int_equal(judge(f, n), PMV_CM_ICMP_OTHER);
		/* The quotation cut at each length. */
		f[icmp + 1] = v6 ? 4 : 3;
		for (cut = 0; cut < header + 4; cut++) {
			pmv_be16_store(f + 14 + (v6 ? 4 : 2), (uint16_t)((v6 ? 0 : 20) + 8 + cut));
			sums_set(f, v6);
			assert_int_equal(judge(pmv_guard_page_copy(&guard, f, icmp + 8 + cut),
						 icmp + 8 + cut),
				PMV_CM_ICMP_TRUNCATED);
		}
		/* Not about UDP. */
		request_make(f, v6, (uint16_t)(header + 8));
		f[icmp] = v6 ? 1 : 3;
		f[icmp + 1] = v6 ? 4 : 3;
		quoted[14 + (v6 ? 6 : 9)] = 6;
		memcpy(f + icmp + 8, quoted + 14, header + 8);
		sums_set(f, v6);
		assert_int_equal(judge(f, n), PMV_CM_ICMP_OTHER);
	}
}

/* Linux's requests in the captures get the reply that Linux gave, from the ICMP header on. */
static void
reply__same_as_linux(void **state)
{
	static const char *const files[] = { "rping.pcap", "rping6.pcap", "silent-peer.pcap" };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		uint8_t ours[ROOM] = { 0 };
		struct pmv_pcap_frame pf;
		struct pmv_pcap_file f;
		struct pmv_cm_icmp r = { 0 };
		uint32_t nb = 0;
		char path[512];
		int len = 0;

		snprintf(path, sizeof(path), "%s/captures/%s", PMV_TEST_VECTORS_DIR, files[i]);
		assert_int_equal(pmv_pcap_file_open(&f, path), 0);
		while (pmv_pcap_file_next(&f, &pf) == 1) {
			if (pmv_cm_icmp_parse(pf.data, pf.len, &r) == PMV_CM_ICMP_ECHO_REQUEST) {
				len = pmv_cm_icmp_reply_build(
					pf.data, &r, pf.data, ours, sizeof(ours));
			} else if (len != 0 && pf.len == (uint32_t)len &&
				   pf.data[r.icmp_offset] == ours[r.icmp_offset] &&
				   r.icmp_bytes != 0) {
				assert_memory_equal(pf.data, ours, 14);
				assert_memory_equal(pf.data + r.icmp_offset, ours + r.icmp_offset,
					r.icmp_bytes);
				nb++;
				len = 0;
			}
		}
		pmv_pcap_file_close(&f);
		assert_int_equal(nb, 1);
	}
}

static void
names__never_null(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < PMV_CM_ICMP_VERDICT_MAX + 3; i++)
		assert_non_null(pmv_cm_icmp_verdict_name((enum pmv_cm_icmp_verdict)i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reply__fields),
		cmocka_unit_test(reply__each_length),
		cmocka_unit_test(reply__same_as_linux),
		cmocka_unit_test(parse__truncated),
		cmocka_unit_test(parse__vlan),
		cmocka_unit_test(parse__checks),
		cmocka_unit_test(parse__addresses_of_nobody),
		cmocka_unit_test(parse__checksums),
		cmocka_unit_test(parse__length_fields),
		cmocka_unit_test(parse__port_unreachable),
		cmocka_unit_test(names__never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
