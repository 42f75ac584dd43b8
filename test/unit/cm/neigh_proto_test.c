// SPDX-License-Identifier: BSD-3-Clause
/*
 * ARP, NS and NA frames: what Linux hosts sent is read and written the same; our answers equal
 * theirs; every receive check. Pure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "cm/inet_sum.h"
#include "cm/neigh_proto.h"
#include "lib/util/be.h"
#include "lib/wire/gid.h"
#include "test/harness/guard_page.h"
#include "test/harness/pcap_file.h"
#include "test/vectors/hex.h"

/* Offsets in untagged frames. */
#define ARP  14
#define IP   14
#define ND   54
#define ROOM 256

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static struct pmv_cm_neigh_self
self4(uint32_t addr)
{
	struct pmv_cm_neigh_self s = { .vlan = 0 };

	memcpy(s.mac, own_mac, 6);
	pmv_gid_from_ipv4(s.ip, addr);
	return s;
}

static struct pmv_cm_neigh_self
self6(const char *hex)
{
	struct pmv_cm_neigh_self s = { .vlan = 0 };

	memcpy(s.mac, own_mac, 6);
	pmv_hex_read(hex, s.ip, 16);
	return s;
}

static const char own6[] = "fd090000000000000000000000000001";
static const char peer6[] = "fd090000000000000000000000000002";

/* A peer's frame of each kind to us. */
static size_t
frame_make(enum pmv_cm_neigh_kind kind, uint8_t *frame)
{
	bool v4 = kind == PMV_CM_ARP_REQUEST || kind == PMV_CM_ARP_REPLY;
	struct pmv_cm_neigh_self peer = v4 ? self4(0x0a090002) : self6(peer6);
	struct pmv_cm_neigh_self own = v4 ? self4(0x0a090001) : self6(own6);
	struct pmv_cm_neigh_msg ask, m;
	int len;

	memcpy(peer.mac, peer_mac, 6);
	if (kind == PMV_CM_ARP_REQUEST || kind == PMV_CM_ND_SOLICIT) {
		pmv_cm_neigh_proto_request(&peer, own.ip, NULL, &m);
	} else {
		pmv_cm_neigh_proto_request(&own, peer.ip, NULL, &ask);
		pmv_cm_neigh_proto_answer(&peer, &ask, &m);
	}
	memset(frame, 0xee, ROOM);
	len = pmv_cm_neigh_proto_build(&m, frame, ROOM);
	assert_true(len >= 60);
	return (size_t)len;
}

/* The ICMPv6 checksum of a frame that a test has changed. */
static void
nd_sum(uint8_t *frame)
{
	uint16_t bytes = pmv_be16_load(frame + IP + 4);

	pmv_be16_store(frame + ND + 2, 0);
	pmv_be16_store(frame + ND + 2,
		pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(
			pmv_cm_inet_sum_pseudo6(frame + IP + 8, bytes, 58), frame + ND, bytes)));
}

static enum pmv_cm_neigh_verdict
judge(const uint8_t *frame, size_t len)
{
	struct pmv_cm_neigh_msg m;

	return pmv_cm_neigh_proto_parse(frame, len, &m);
}

/* ---- Against Linux ---- */

static void
rebuild_check(const struct pmv_pcap_frame *pf, const struct pmv_cm_neigh_msg *m)
{
	uint8_t out[ROOM];
	int len = pmv_cm_neigh_proto_build(m, out, sizeof(out));
	uint32_t i;

	assert_true(len >= (int)pf->len);
	assert_memory_equal(out, pf->data, pf->len);
	for (i = pf->len; i < (uint32_t)len; i++)
		assert_int_equal(out[i], 0); /* padding */
}

/* What we would have sent in the host's place. */
static void
request_check(const struct pmv_pcap_frame *pf, const struct pmv_cm_neigh_msg *m)
{
	struct pmv_cm_neigh_self host = { .vlan = 0 };
	struct pmv_cm_neigh_msg ours;
	uint8_t out[ROOM];

	memcpy(host.mac, m->sender_mac, 6);
	memcpy(host.ip, m->sender_ip, 16);
	pmv_cm_neigh_proto_request(&host, m->target_ip, m->to_unicast ? m->eth_dst : NULL, &ours);
	assert_true(pmv_cm_neigh_proto_build(&ours, out, sizeof(out)) >= 60);
	assert_memory_equal(out, pf->data, pf->len);
}

static void
answer_check(const struct pmv_pcap_frame *pf, const struct pmv_cm_neigh_msg *request,
	const struct pmv_cm_neigh_msg *answer)
{
	struct pmv_cm_neigh_self host = { .vlan = 0 };
	struct pmv_cm_neigh_msg ours;
	uint8_t out[ROOM];

	memcpy(host.mac, answer->sender_mac, 6);
	memcpy(host.ip, request->target_ip, 16);
	pmv_cm_neigh_proto_answer(&host, request, &ours);
	assert_true(pmv_cm_neigh_proto_build(&ours, out, sizeof(out)) >= 60);
	assert_memory_equal(out, pf->data, pf->len);
}

struct capture {
	const char *file;
	uint32_t nb_requests;
	uint32_t nb_answers; /* counted with another tool */
};

static void
capture_check(const struct capture *c)
{
	struct pmv_cm_neigh_msg m, request = { 0 };
	uint32_t nb_requests = 0, nb_answers = 0;
	struct pmv_pcap_frame pf;
	struct pmv_pcap_file f;
	char path[512];

	snprintf(path, sizeof(path), "%s/captures/%s", PMV_TEST_VECTORS_DIR, c->file);
	assert_int_equal(pmv_pcap_file_open(&f, path), 0);
	while (pmv_pcap_file_next(&f, &pf) == 1) {
		enum pmv_cm_neigh_verdict v = pmv_cm_neigh_proto_parse(pf.data, pf.len, &m);

		if (v == PMV_CM_NEIGH_OTHER)
			continue;
		assert_int_equal(v, PMV_CM_NEIGH_OK);
		assert_true(m.has_mac);
		rebuild_check(&pf, &m);
		if (m.kind == PMV_CM_ARP_REQUEST || m.kind == PMV_CM_ND_SOLICIT) {
			request_check(&pf, &m);
			request = m;
			nb_requests++;
		} else {
			answer_check(&pf, &request, &m);
			nb_answers++;
		}
	}
	pmv_pcap_file_close(&f);
	assert_int_equal(nb_requests, c->nb_requests);
	assert_int_equal(nb_answers, c->nb_answers);
}

static void
all__same_bytes_as_linux(void **state)
{
	static const struct capture captures[] = {
		{ "rping.pcap", 1, 1 },
		{ "rping6.pcap", 1, 1 },
		{ "no-listener.pcap", 2, 1 },
		{ "rc-ops.pcap", 1, 1 },
		{ "silent-peer.pcap", 21, 1 },
		{ "uc-ud-srq.pcap", 1, 1 },
		{ "ucmatose.pcap", 1, 1 },
		{ "udaddy.pcap", 1, 1 },
		{ "mckey.pcap", 0, 0 },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		capture_check(&captures[i]);
}

/* ---- Reading ---- */

/* Every kind, cut at each length, with and without a VLAN tag: never OK, nothing read behind the
 * end. */
static void
parse__truncated(void **state)
{
	static const size_t whole[] = { 42, 42, 86, 86 };
	uint8_t frame[ROOM], tagged[ROOM + 4];
	struct pmv_guard_page guard;
	struct pmv_cm_neigh_msg m;
	size_t len, cut;
	int kind;

	(void)state;
	pmv_guard_page_init(&guard, sizeof(tagged));
	for (kind = PMV_CM_ARP_REQUEST; kind <= PMV_CM_ND_ADVERT; kind++) {
		len = frame_make(kind, frame);
		assert_int_equal(judge(frame, len), PMV_CM_NEIGH_OK);
		for (cut = 0; cut <= len; cut++)
			assert_int_equal(judge(pmv_guard_page_copy(&guard, frame, cut), cut),
				cut < whole[kind] ? PMV_CM_NEIGH_TRUNCATED : PMV_CM_NEIGH_OK);
		memcpy(tagged, frame, 12);
		memcpy(tagged + 12, "\x81\x00\xa0\x2a", 4); /* PCP 5, VLAN 42 */
		memcpy(tagged + 16, frame + 12, len - 12);
		for (cut = 0; cut < whole[kind] + 4; cut++)
			assert_int_equal(judge(pmv_guard_page_copy(&guard, tagged, cut), cut),
				PMV_CM_NEIGH_TRUNCATED);
		assert_int_equal(pmv_cm_neigh_proto_parse(tagged, len + 4, &m), PMV_CM_NEIGH_OK);
		assert_int_equal(m.vlan, 42);
	}
}

static void
byte_check(
	enum pmv_cm_neigh_kind kind, uint32_t offset, uint8_t value, enum pmv_cm_neigh_verdict want)
{
	uint8_t frame[ROOM];
	size_t len = frame_make(kind, frame);

	frame[offset] = value;
	if (kind == PMV_CM_ND_SOLICIT || kind == PMV_CM_ND_ADVERT)
		nd_sum(frame);
	assert_int_equal(judge(frame, len), want);
}

static void
parse__arp_checks(void **state)
{
	int kind;

	(void)state;
	for (kind = PMV_CM_ARP_REQUEST; kind <= PMV_CM_ARP_REPLY; kind++) {
		byte_check(kind, 12, 0x88, PMV_CM_NEIGH_OTHER);
		byte_check(kind, ARP + 0, 1, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 1, 2, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 1, 6, PMV_CM_NEIGH_OK); /* IEEE 802, as Linux */
		byte_check(kind, ARP + 2, 0x86, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 4, 8, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 5, 16, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 7, 0, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 7, 3, PMV_CM_NEIGH_BAD_ARP);
		byte_check(kind, ARP + 8, 3, PMV_CM_NEIGH_BAD_SENDER); /* multicast MAC */
		byte_check(kind, ARP + 14, 224, PMV_CM_NEIGH_BAD_SENDER);
		byte_check(kind, ARP + 14, 127, PMV_CM_NEIGH_BAD_SENDER);
		byte_check(kind, ARP + 24, 239, PMV_CM_NEIGH_BAD_TARGET);
		byte_check(kind, ARP + 24, 127, PMV_CM_NEIGH_BAD_TARGET);
	}
}

static void
parse__arp_zero_addresses(void **state)
{
	uint8_t frame[ROOM];
	size_t len;

	(void)state;
	len = frame_make(PMV_CM_ARP_REQUEST, frame);
	memset(frame + ARP + 14, 0, 4);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_OK); /* a probe */
	memset(frame + ARP + 24, 0, 4);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_TARGET);
	len = frame_make(PMV_CM_ARP_REPLY, frame);
	memset(frame + ARP + 14, 0, 4);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_SENDER);
	len = frame_make(PMV_CM_ARP_REPLY, frame);
	memset(frame + ARP + 8, 0, 6);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_SENDER);
}

static void
parse__nd_checks(void **state)
{
	int kind;

	(void)state;
	for (kind = PMV_CM_ND_SOLICIT; kind <= PMV_CM_ND_ADVERT; kind++) {
		byte_check(kind, IP + 0, 0x40, PMV_CM_NEIGH_OTHER);
		byte_check(kind, IP + 6, 17, PMV_CM_NEIGH_OTHER);
		byte_check(kind, IP + 7, 254, PMV_CM_NEIGH_BAD_HOP_LIMIT);
		byte_check(kind, IP + 7, 1, PMV_CM_NEIGH_BAD_HOP_LIMIT);
		byte_check(kind, IP + 8, 0xff, PMV_CM_NEIGH_BAD_SENDER); /* multicast source */
		byte_check(kind, ND + 0, 134, PMV_CM_NEIGH_OTHER);
		byte_check(kind, ND + 1, 1, PMV_CM_NEIGH_BAD_ND);
		byte_check(kind, ND + 8, 0xff, PMV_CM_NEIGH_BAD_TARGET);
		byte_check(kind, ND + 25, 0, PMV_CM_NEIGH_BAD_ND);     /* option of length 0 */
		byte_check(kind, ND + 25, 2, PMV_CM_NEIGH_BAD_ND);     /* longer than the packet */
		byte_check(kind, ND + 26, 3, PMV_CM_NEIGH_BAD_SENDER); /* multicast MAC */
	}
}

static void
parse__nd_checksum(void **state)
{
	uint8_t frame[ROOM];
	uint32_t off, bit;
	int kind;

	(void)state;
	for (kind = PMV_CM_ND_SOLICIT; kind <= PMV_CM_ND_ADVERT; kind++) {
		size_t len = frame_make(kind, frame);

		for (off = ND + 2; off < len; off++) {
			for (bit = 0; bit < 8; bit++) {
				frame[off] ^= (uint8_t)(1 << bit);
				assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_CHECKSUM);
				frame[off] ^= (uint8_t)(1 << bit);
			}
		}
		assert_int_equal(judge(frame, len), PMV_CM_NEIGH_OK);
	}
}

/* Payload lengths that are too short for the message, or end inside an option. */
static void
parse__nd_lengths(void **state)
{
	uint8_t frame[ROOM];
	uint16_t bytes;

	(void)state;
	for (bytes = 0; bytes <= 32; bytes++) {
		enum pmv_cm_neigh_verdict want = PMV_CM_NEIGH_BAD_ND;
		size_t len = frame_make(PMV_CM_ND_SOLICIT, frame);

		pmv_be16_store(frame + IP + 4, bytes);
		nd_sum(frame);
		if (bytes == 0)
			want = PMV_CM_NEIGH_TRUNCATED;
		else if (bytes == 24 || bytes == 32)
			want = PMV_CM_NEIGH_OK;
		assert_int_equal(judge(frame, len), want);
	}
}

/* An IPv4 neighbour has a GID of its own: ND cannot speak for it. */
static void
parse__nd_mapped_addresses(void **state)
{
	uint8_t frame[ROOM];
	size_t len = frame_make(PMV_CM_ND_ADVERT, frame);

	(void)state;
	pmv_gid_from_ipv4(frame + ND + 8, 0x0a090002);
	nd_sum(frame);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_TARGET);
	len = frame_make(PMV_CM_ND_SOLICIT, frame);
	pmv_gid_from_ipv4(frame + IP + 8, 0x0a090002);
	nd_sum(frame);
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_SENDER);
}

/* RFC 4861 7.1.1: DAD comes from ::, to a solicited-node group, without a source option. */
static void
parse__nd_dad_rules(void **state)
{
	static const uint8_t nonce[6] = { 1, 2, 3, 4, 5, 6 };
	struct pmv_cm_neigh_self own = self6(own6);
	struct pmv_cm_neigh_msg m, back;
	uint8_t frame[ROOM];
	int len;

	(void)state;
	pmv_cm_neigh_proto_probe(&own, nonce, &m);
	len = pmv_cm_neigh_proto_build(&m, frame, sizeof(frame));
	assert_int_equal(pmv_cm_neigh_proto_parse(frame, (size_t)len, &back), PMV_CM_NEIGH_OK);
	assert_false(back.has_mac);
	assert_true(back.has_nonce);
	assert_memory_equal(back.nonce, nonce, 6);
	assert_true(pmv_gid_is_zero(back.sender_ip));
	assert_memory_equal(back.sender_mac, own_mac, 6);

	pmv_hex_read("ff020000000000000000000000000001", frame + IP + 24, 16);
	nd_sum(frame);
	assert_int_equal(judge(frame, (size_t)len), PMV_CM_NEIGH_BAD_ND);
	m.has_mac = true;
	len = pmv_cm_neigh_proto_build(&m, frame, sizeof(frame));
	assert_int_equal(judge(frame, (size_t)len), PMV_CM_NEIGH_BAD_ND);
}

/* RFC 4861 7.1.2: a solicited advertisement never goes to a group. */
static void
parse__na_solicited_to_group(void **state)
{
	struct pmv_cm_neigh_self peer = self6(peer6);
	struct pmv_cm_neigh_msg m;
	uint8_t frame[ROOM];
	int len;

	(void)state;
	pmv_cm_neigh_proto_announce(&peer, &m);
	len = pmv_cm_neigh_proto_build(&m, frame, sizeof(frame));
	assert_int_equal(judge(frame, (size_t)len), PMV_CM_NEIGH_OK);
	m.solicited = true;
	len = pmv_cm_neigh_proto_build(&m, frame, sizeof(frame));
	assert_int_equal(judge(frame, (size_t)len), PMV_CM_NEIGH_BAD_ND);
}

/* Without the option the frame's source stands in for it, if it can be a host's. */
static void
parse__nd_without_option(void **state)
{
	uint8_t frame[ROOM];
	struct pmv_cm_neigh_msg m;
	size_t len = frame_make(PMV_CM_ND_SOLICIT, frame);

	(void)state;
	pmv_be16_store(frame + IP + 4, 24);
	nd_sum(frame);
	assert_int_equal(pmv_cm_neigh_proto_parse(frame, len, &m), PMV_CM_NEIGH_OK);
	assert_false(m.has_mac);
	assert_memory_equal(m.sender_mac, peer_mac, 6);
	frame[6] = 3;
	assert_int_equal(judge(frame, len), PMV_CM_NEIGH_BAD_SENDER);
}

/* Unknown options are skipped, several at a time. */
static void
parse__nd_other_options(void **state)
{
	uint8_t frame[ROOM] = { 0 };
	struct pmv_cm_neigh_msg m;
	size_t len = frame_make(PMV_CM_ND_SOLICIT, frame);
	uint8_t option[8];

	(void)state;
	memcpy(option, frame + ND + 24, 8);
	memset(frame + ND + 24, 0, 24);
	frame[ND + 24] = 77;
	frame[ND + 25] = 2;
	memcpy(frame + ND + 40, option, 8);
	pmv_be16_store(frame + IP + 4, 24 + 24);
	nd_sum(frame);
	len += 16;
	assert_int_equal(pmv_cm_neigh_proto_parse(frame, len, &m), PMV_CM_NEIGH_OK);
	assert_true(m.has_mac);
	assert_memory_equal(m.sender_mac, peer_mac, 6);
}

/* ---- Writing ---- */

static void
build__refuses(void **state)
{
	struct pmv_cm_neigh_self own = self4(0x0a090001);
	struct pmv_cm_neigh_msg m;
	uint8_t frame[ROOM];

	(void)state;
	pmv_cm_neigh_proto_announce(&own, &m);
	assert_int_equal(pmv_cm_neigh_proto_build(&m, frame, PMV_CM_NEIGH_FRAME_MAX - 1), -ENOSPC);
	m.kind = 9;
	assert_int_equal(pmv_cm_neigh_proto_build(&m, frame, sizeof(frame)), -EINVAL);
}

/* The longest frame fits its bound exactly. */
static void
build__vlan_and_longest(void **state)
{
	static const uint8_t nonce[6] = { 9, 9, 9, 9, 9, 9 };
	struct pmv_cm_neigh_self own = self6(own6);
	struct pmv_cm_neigh_msg m, back;
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX];

	(void)state;
	own.vlan = 4094;
	pmv_cm_neigh_proto_request(&own, own.ip, NULL, &m);
	m.has_nonce = true;
	memcpy(m.nonce, nonce, 6);
	assert_int_equal(
		pmv_cm_neigh_proto_build(&m, frame, sizeof(frame)), PMV_CM_NEIGH_FRAME_MAX);
	assert_int_equal(pmv_cm_neigh_proto_parse(frame, sizeof(frame), &back), PMV_CM_NEIGH_OK);
	assert_int_equal(back.vlan, 4094);
	assert_memory_equal(frame, "\x33\x33\xff\x00\x00\x01", 6);
}

/* ---- Meaning ---- */

static struct pmv_cm_neigh_judgement
judged(const struct pmv_cm_neigh_self *self, const struct pmv_cm_neigh_msg *m)
{
	struct pmv_cm_neigh_msg back;
	uint8_t frame[ROOM];
	int len = pmv_cm_neigh_proto_build(m, frame, sizeof(frame));

	assert_int_equal(pmv_cm_neigh_proto_parse(frame, (size_t)len, &back), PMV_CM_NEIGH_OK);
	return pmv_cm_neigh_proto_judge(self, &back);
}

static void
judgement_check(struct pmv_cm_neigh_judgement j, bool answer, bool conflict, bool learn,
	enum pmv_cm_neigh_seen seen)
{
	assert_int_equal(j.answer, answer);
	assert_int_equal(j.conflict, conflict);
	assert_int_equal(j.learn, learn);
	if (learn)
		assert_int_equal(j.seen, seen);
}

/* Both families in turn: own, peer and a third address. */
static void
family(int v6, struct pmv_cm_neigh_self *own, struct pmv_cm_neigh_self *peer,
	struct pmv_cm_neigh_self *third)
{
	*own = v6 ? self6(own6) : self4(0x0a090001);
	*peer = v6 ? self6(peer6) : self4(0x0a090002);
	*third = v6 ? self6("fd090000000000000000000000000003") : self4(0x0a090003);
	memcpy(peer->mac, peer_mac, 6);
	memcpy(third->mac, peer_mac, 6);
	third->mac[5] = 3;
}

static void
judge__requests(void **state)
{
	static const uint8_t nonce[6] = { 1 };
	struct pmv_cm_neigh_self own, peer, third;
	struct pmv_cm_neigh_msg m;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		family(v6, &own, &peer, &third);
		pmv_cm_neigh_proto_request(&peer, own.ip, NULL, &m);
		judgement_check(judged(&own, &m), true, false, true, PMV_CM_NEIGH_SEEN_REQUEST);
		pmv_cm_neigh_proto_request(&peer, own.ip, own.mac, &m);
		judgement_check(judged(&own, &m), true, false, true, PMV_CM_NEIGH_SEEN_REQUEST);
		/* For somebody else: no answer; a broadcast ARP updates what we know. */
		pmv_cm_neigh_proto_request(&peer, third.ip, NULL, &m);
		judgement_check(judged(&own, &m), false, false, !v6, PMV_CM_NEIGH_SEEN_ANNOUNCE);
		/* A test of our address: answered, noticed, not learned. */
		memcpy(peer.ip, own.ip, 16);
		pmv_cm_neigh_proto_probe(&peer, nonce, &m);
		judgement_check(judged(&own, &m), true, true, false, 0);
		memcpy(peer.ip, third.ip, 16);
		pmv_cm_neigh_proto_probe(&peer, nonce, &m);
		judgement_check(judged(&own, &m), false, false, false, 0);
		/* Our own probe, looped back. */
		pmv_cm_neigh_proto_probe(&own, nonce, &m);
		judgement_check(judged(&own, &m), false, false, false, 0);
	}
}

static void
judge__answers_and_announcements(void **state)
{
	struct pmv_cm_neigh_self own, peer, third;
	struct pmv_cm_neigh_msg ask, m;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		family(v6, &own, &peer, &third);
		pmv_cm_neigh_proto_request(&own, peer.ip, NULL, &ask);
		pmv_cm_neigh_proto_answer(&peer, &ask, &m);
		judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANSWER);
		pmv_cm_neigh_proto_announce(&peer, &m);
		judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANNOUNCE);
		/* Another MAC announces our address. */
		memcpy(peer.ip, own.ip, 16);
		pmv_cm_neigh_proto_announce(&peer, &m);
		judgement_check(judged(&own, &m), false, true, false, 0);
		pmv_cm_neigh_proto_request(&peer, third.ip, NULL, &m);
		judgement_check(judged(&own, &m), false, true, false, 0);
		/* Our own announcement, looped back. */
		pmv_cm_neigh_proto_announce(&own, &m);
		judgement_check(judged(&own, &m), false, false, false, 0);
	}
}

static void
judge__advertisement_flags(void **state)
{
	struct pmv_cm_neigh_self own, peer, third;
	struct pmv_cm_neigh_msg ask, m;

	(void)state;
	family(1, &own, &peer, &third);
	pmv_cm_neigh_proto_request(&own, peer.ip, NULL, &ask);
	pmv_cm_neigh_proto_answer(&peer, &ask, &m);
	m.override = false;
	judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANSWER_WEAK);
	m.override = true;
	m.has_mac = false; /* the MAC is a guess: it may confirm, never replace */
	judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANSWER_WEAK);
	pmv_cm_neigh_proto_announce(&peer, &m);
	m.override = false;
	judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANNOUNCE_WEAK);
	m.has_mac = false;
	judgement_check(judged(&own, &m), false, false, false, 0);
}

/* A reply that was broadcast, or that is gratuitous, answers no question of ours. */
static void
judge__arp_replies_nobody_asked_for(void **state)
{
	struct pmv_cm_neigh_self own, peer, third;
	struct pmv_cm_neigh_msg ask, m;

	(void)state;
	family(0, &own, &peer, &third);
	pmv_cm_neigh_proto_request(&own, peer.ip, NULL, &ask);
	pmv_cm_neigh_proto_answer(&peer, &ask, &m);
	memset(m.eth_dst, 0xff, 6);
	judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANNOUNCE);
	pmv_cm_neigh_proto_answer(&peer, &ask, &m);
	memcpy(m.target_ip, m.sender_ip, 16);
	judgement_check(judged(&own, &m), false, false, true, PMV_CM_NEIGH_SEEN_ANNOUNCE);
}

/* The answer to a DAD probe goes to all nodes, unsolicited, with override; to an ARP probe back to
 * the prober. */
static void
answer__to_probes(void **state)
{
	static const uint8_t nonce[6] = { 1 };
	struct pmv_cm_neigh_self own, peer, third;
	struct pmv_cm_neigh_msg ask, m;

	(void)state;
	family(1, &own, &peer, &third);
	memcpy(peer.ip, own.ip, 16);
	pmv_cm_neigh_proto_probe(&peer, nonce, &ask);
	pmv_cm_neigh_proto_answer(&own, &ask, &m);
	assert_memory_equal(m.eth_dst, "\x33\x33\x00\x00\x00\x01", 6);
	assert_false(m.solicited);
	assert_true(m.override && m.has_mac);
	family(0, &own, &peer, &third);
	memcpy(peer.ip, own.ip, 16);
	pmv_cm_neigh_proto_probe(&peer, nonce, &ask);
	pmv_cm_neigh_proto_answer(&own, &ask, &m);
	assert_memory_equal(m.eth_dst, peer.mac, 6);
	assert_int_equal(pmv_gid_ipv4(m.target_ip), 0);
	assert_memory_equal(m.sender_ip, own.ip, 16);
}

static void
names__never_null(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < PMV_CM_NEIGH_VERDICT_MAX + 3; i++)
		assert_non_null(pmv_cm_neigh_verdict_name((enum pmv_cm_neigh_verdict)i));
	for (i = 0; i < PMV_CM_NEIGH_STATE_MAX; i++)
		assert_non_null(pmv_cm_neigh_state_name((enum pmv_cm_neigh_state)i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all__same_bytes_as_linux),
		cmocka_unit_test(parse__truncated),
		cmocka_unit_test(parse__arp_checks),
		cmocka_unit_test(parse__arp_zero_addresses),
		cmocka_unit_test(parse__nd_checks),
		cmocka_unit_test(parse__nd_checksum),
		cmocka_unit_test(parse__nd_lengths),
		cmocka_unit_test(parse__nd_mapped_addresses),
		cmocka_unit_test(parse__nd_dad_rules),
		cmocka_unit_test(parse__na_solicited_to_group),
		cmocka_unit_test(parse__nd_without_option),
		cmocka_unit_test(parse__nd_other_options),
		cmocka_unit_test(build__refuses),
		cmocka_unit_test(build__vlan_and_longest),
		cmocka_unit_test(judge__requests),
		cmocka_unit_test(judge__answers_and_announcements),
		cmocka_unit_test(judge__advertisement_flags),
		cmocka_unit_test(judge__arp_replies_nobody_asked_for),
		cmocka_unit_test(answer__to_probes),
		cmocka_unit_test(names__never_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
