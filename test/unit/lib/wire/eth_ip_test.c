// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/eth_ip: template builder, parser, each verdict, truncation at each length, UDP checksum
 * in pieces.
 */
#include "lib/wire/eth_ip.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/harness/guard_page.h"

#define PAYLOAD 20 /* UDP payload of the test frames */

struct frame {
	uint8_t b[256];
	uint32_t len;
	struct pmv_eth_ip_tmpl t;
};

static void
param_fill(struct pmv_eth_ip_param *p, bool v6, bool vlan)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->dst_mac, "\x02\x00\x00\x00\x00\x02", 6);
	memcpy(p->src_mac, "\x02\x00\x00\x00\x00\x01", 6);
	pmv_gid_from_ipv4(p->src_gid, 0xc0a80a01);
	pmv_gid_from_ipv4(p->dst_gid, 0xc0a80a02);
	if (v6) {
		memset(p->src_gid, 0x11, 16);
		memset(p->dst_gid, 0x22, 16);
		p->src_gid[0] = 0xfd;
		p->dst_gid[0] = 0xfd;
	}
	p->flow_label = 0xabcde;
	p->vlan_tci = 0x6123;
	p->has_vlan = vlan;
	p->tos = 0x6a;
	p->ttl = 64;
	p->udp_sport = 0xc123;
}

static void
frame_make(struct frame *f, bool v6, bool vlan)
{
	struct pmv_eth_ip_param p;

	memset(f, 0, sizeof(*f));
	param_fill(&p, v6, vlan);
	assert_int_equal(pmv_eth_ip_build(f->b, &p, &f->t), 0);
	assert_int_equal(f->t.hdr_len, 42 + (v6 ? 20 : 0) + (vlan ? 4 : 0));
	for (int i = 0; i < PAYLOAD; i++)
		f->b[f->t.hdr_len + i] = (uint8_t)(i * 7 + 1);
	pmv_eth_ip_set_len(f->b, &f->t, PAYLOAD, 0x1234);
	f->len = f->t.hdr_len + PAYLOAD;
}

static enum pmv_wire_verdict
parse(const struct frame *f, struct pmv_eth_ip *v)
{
	return pmv_eth_ip_parse(f->b, f->len, f->len, v);
}

/* Sets the IPv4 header checksum from scratch. */
static void
csum_redo(struct frame *f)
{
	uint8_t *p = f->b + f->t.l3_off;
	uint32_t sum = 0;

	pmv_be16_store(p + 10, 0);
	for (int i = 0; i < 20; i += 2)
		sum += pmv_be16_load(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(p + 10, (uint16_t)~sum);
}

static void
eth_ip__build_then_parse(void **state)
{
	for (int k = 0; k < 4; k++) {
		bool v6 = k & 1, vlan = k & 2;
		struct pmv_eth_ip_param p;
		struct pmv_eth_ip v;
		struct frame f;

		frame_make(&f, v6, vlan);
		param_fill(&p, v6, vlan);
		assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
		assert_memory_equal(f.b, p.dst_mac, 6);
		assert_memory_equal(f.b + 6, p.src_mac, 6);
		assert_int_equal(v.is_v6, v6);
		assert_int_equal(v.nb_vlan, vlan);
		assert_int_equal(v.vlan_tci, vlan ? 0x6123 : 0);
		assert_int_equal(v.l3_off, vlan ? 18 : 14);
		assert_int_equal(v.payload_off, f.t.hdr_len);
		assert_int_equal(v.payload_len, PAYLOAD);
		assert_int_equal(v.tos, 0x6a);
		assert_int_equal(v.ttl, 64);
		assert_int_equal(v.flow_label, v6 ? 0xabcde : 0);
		assert_int_equal(v.udp_sport, 0xc123);
		assert_int_equal(v.udp_dport, 4791);
		assert_int_equal(v.proto, 17);
		assert_false(v.need_udp_csum);
		assert_true(pmv_gid_is_equal(v.src_gid, p.src_gid));
		assert_true(pmv_gid_is_equal(v.dst_gid, p.dst_gid));
	}
}

static void
eth_ip_build__mixed_families(void **state)
{
	struct pmv_eth_ip_param p;
	struct pmv_eth_ip_tmpl t;
	uint8_t b[PMV_ETH_IP_LEN_MAX];

	param_fill(&p, false, false);
	p.dst_gid[0] = 0xfd;
	assert_int_equal(pmv_eth_ip_build(b, &p, &t), -EINVAL);
	param_fill(&p, false, false);
	p.src_gid[0] = 0xfd;
	assert_int_equal(pmv_eth_ip_build(b, &p, &t), -EINVAL);
}

/* The patched checksum equals one from scratch for every ID and for lengths over the whole range.
 */
static void
eth_ip_set_len__checksum(void **state)
{
	struct frame f;

	frame_make(&f, false, false);
	for (uint32_t id = 0; id < 0x10000; id++) {
		uint8_t got[2];

		pmv_eth_ip_set_len(f.b, &f.t, 16 + id % 4100, (uint16_t)id);
		memcpy(got, f.b + 24, 2);
		csum_redo(&f);
		assert_memory_equal(got, f.b + 24, 2);
	}
}

/* PK-701: every cut of the readable part and of the frame; the guard page kills an over-read. */
static void
eth_ip_parse__truncation(void **state)
{
	struct pmv_guard_page g;

	pmv_guard_page_init(&g, 256);
	for (int k = 0; k < 4; k++) {
		struct pmv_eth_ip v;
		struct frame f;

		frame_make(&f, k & 1, k & 2);
		for (uint32_t n = 0; n < f.len; n++) {
			const uint8_t *p = pmv_guard_page_copy(&g, f.b, n);
			enum pmv_wire_verdict want = PMV_WIRE_FRAME_SHORT;

			/* Part of the frame is contiguous: enough from the headers' end on. */
			assert_int_equal(pmv_eth_ip_parse(p, n, f.len, &v),
				n < f.t.hdr_len ? PMV_WIRE_HDR_SPLIT : PMV_WIRE_OK);
			/* The frame ends there. */
			if (n >= f.t.hdr_len)
				want = PMV_WIRE_IP_LEN;
			assert_int_equal(pmv_eth_ip_parse(p, n, n, &v), want);
			/* A caller that claims more bytes than the frame has is not believed. */
			assert_int_equal(pmv_eth_ip_parse(p, f.len, n, &v), want);
		}
	}
}

/* PK-701: Ethernet padding is fine, at most as long as the frame. */
static void
eth_ip_parse__padding(void **state)
{
	struct pmv_eth_ip v;
	struct frame f;

	frame_make(&f, false, false);
	pmv_eth_ip_set_len(f.b, &f.t, 16, 1);
	for (f.len = f.t.hdr_len + 16; f.len <= 80; f.len++) {
		assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
		assert_int_equal(v.payload_len, 16);
	}
}

/* PK-701: UDP length against IP length. Shorter: ends there; < 8 or longer: dropped. */
static void
eth_ip_parse__udp_length(void **state)
{
	for (int k = 0; k < 2; k++) {
		struct pmv_eth_ip v;
		struct frame f;

		frame_make(&f, k, false);
		for (uint32_t n = 0; n < 65536; n++) {
			pmv_be16_store(f.b + f.t.hdr_len - 4, (uint16_t)n);
			if (n < 8 || n > PAYLOAD + 8) {
				assert_int_equal(parse(&f, &v), PMV_WIRE_UDP_LEN);
				continue;
			}
			assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
			assert_int_equal(v.payload_len, n - 8);
		}
	}
}

static void
eth_ip_parse__ip_length(void **state)
{
	for (int k = 0; k < 2; k++) {
		struct pmv_eth_ip v;
		struct frame f;
		uint32_t full = PAYLOAD + 8 + (k ? 0 : 20);

		frame_make(&f, k, false);
		for (uint32_t n = 0; n < 65536; n++) {
			enum pmv_wire_verdict want = PMV_WIRE_OK;

			pmv_be16_store(f.b + f.t.l3_off + (k ? 4 : 2), (uint16_t)n);
			if (!k)
				csum_redo(&f);
			if (n > full || (!k && n < 20))
				want = PMV_WIRE_IP_LEN;
			else if (n < full)
				want = PMV_WIRE_UDP_LEN;
			assert_int_equal(parse(&f, &v), want);
		}
	}
}

static void
eth_ip_parse__ipv4_verdicts(void **state)
{
	struct pmv_eth_ip v;
	struct frame f;

	frame_make(&f, false, false);
	f.b[24] ^= 1;
	assert_int_equal(parse(&f, &v), PMV_WIRE_IP_CSUM);

	frame_make(&f, false, false);
	f.b[14] = 0x65;
	assert_int_equal(parse(&f, &v), PMV_WIRE_IP_VERSION);
	f.b[14] = 0x44;
	assert_int_equal(parse(&f, &v), PMV_WIRE_IP_VERSION);

	/* First fragment, later fragment. */
	frame_make(&f, false, false);
	pmv_be16_store(f.b + 20, 0x2000);
	csum_redo(&f);
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAGMENT);
	pmv_be16_store(f.b + 20, 0x0001);
	csum_redo(&f);
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAGMENT_LATER);

	/* Somebody else's: protocol, port, ethertype; broken ones too. */
	frame_make(&f, false, false);
	pmv_be16_store(f.b + 36, 53);
	f.b[24] ^= 1;
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
	assert_int_equal(v.udp_dport, 53);
	frame_make(&f, false, false);
	f.b[23] = 1;
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
	assert_int_equal(v.proto, 1);
	assert_int_equal(v.payload_off, 0);
	pmv_be16_store(f.b + 12, PMV_ETHERTYPE_ARP);
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
	assert_int_equal(v.ethertype, PMV_ETHERTYPE_ARP);
	assert_int_equal(v.l4_off, 0);
}

/* Options in front of port 4791 are a fault; in front of anything else (IGMP's router alert) not
 * ours. */
static void
eth_ip_parse__ipv4_options(void **state)
{
	struct pmv_eth_ip v;
	struct frame f;

	frame_make(&f, false, false);
	memmove(f.b + 14 + 24, f.b + 14 + 20, PAYLOAD + 8);
	memset(f.b + 14 + 20, 1, 4);
	f.len += 4;
	f.b[14] = 0x46;
	assert_int_equal(parse(&f, &v), PMV_WIRE_IP_OPTIONS);
	pmv_be16_store(f.b + 14 + 24 + 2, 5353);
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
	f.b[23] = 2;
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
	/* Options that would reach past the frame. */
	f.b[23] = 17;
	f.b[14] = 0x4f;
	f.len = 14 + 60 + 7;
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAME_SHORT);
}

/* Inserts an extension header of 8 * (1 + more) bytes. */
static void
ext_insert(struct frame *f, uint8_t kind, uint8_t more)
{
	uint8_t *p = f->b + f->t.l3_off + 40;
	uint32_t n = 8u * (1u + more);

	memmove(p + n, p, PAYLOAD + 8);
	memset(p, 0, n);
	p[0] = 17;
	p[1] = kind == 44 ? 0 : more;
	f->b[f->t.l3_off + 6] = kind;
	f->len += n;
}

static void
eth_ip_parse__ipv6_extensions(void **state)
{
	static const uint8_t kinds[] = { 0, 43, 60 };
	struct pmv_eth_ip v;
	struct frame f;

	for (size_t i = 0; i < 3; i++)
		for (uint8_t more = 0; more < 3; more++) {
			frame_make(&f, true, false);
			ext_insert(&f, kinds[i], more);
			assert_int_equal(parse(&f, &v), PMV_WIRE_IP_OPTIONS);
			f.b[f.t.l3_off + 40] = 58; /* hop-by-hop in front of MLD */
			assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
		}
	frame_make(&f, true, false);
	ext_insert(&f, 44, 0);
	f.b[f.t.l3_off + 43] = 1; /* more fragments */
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAGMENT);
	f.b[f.t.l3_off + 43] = 8; /* offset 1 */
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAGMENT_LATER);
	/* A length that leads out of the frame. */
	frame_make(&f, true, false);
	ext_insert(&f, 0, 0);
	f.b[f.t.l3_off + 41] = 255;
	assert_int_equal(parse(&f, &v), PMV_WIRE_FRAME_SHORT);
	frame_make(&f, true, false);
	f.b[f.t.l3_off] = 0x46;
	assert_int_equal(parse(&f, &v), PMV_WIRE_IP_VERSION);
}

static void
eth_ip__stripped_vlan(void **state)
{
	struct pmv_eth_ip v;
	struct frame f;

	frame_make(&f, false, false);
	assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
	pmv_eth_ip_add_stripped_vlan(&v, 0x2005);
	assert_int_equal(v.nb_vlan, 1);
	assert_int_equal(v.vlan_tci, 0x2005);
	frame_make(&f, false, true);
	assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
	pmv_eth_ip_add_stripped_vlan(&v, 0x2005);
	assert_int_equal(v.nb_vlan, 2);
	/* Two tags in the frame are not RoCE. */
	memmove(f.b + 16, f.b + 12, 200);
	assert_int_equal(parse(&f, &v), PMV_WIRE_NOT_ROCE);
}

/* A right checksum is recognised however the datagram is cut, and one bit makes it wrong. */
static void
udp_csum__pieces(void **state)
{
	for (int k = 0; k < 2; k++) {
		struct pmv_udp_csum c;
		struct pmv_eth_ip v;
		struct frame f;
		uint32_t csum, n = PAYLOAD + 8;

		frame_make(&f, k, false);
		pmv_be16_store(f.b + f.t.hdr_len - 2, 0);
		assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
		/* From scratch: pseudo header and datagram as big-endian words. */
		csum = 17 + n;
		for (int i = k ? 0 : 12; i < 16; i += 2)
			csum += pmv_be16_load(v.src_gid + i) + pmv_be16_load(v.dst_gid + i);
		for (uint32_t i = 0; i < n; i += 2)
			csum += pmv_be16_load(f.b + v.l4_off + i);
		while (csum >> 16)
			csum = (csum & 0xffff) + (csum >> 16);
		pmv_be16_store(f.b + f.t.hdr_len - 2, (uint16_t)~csum);
		assert_int_equal(parse(&f, &v), PMV_WIRE_OK);
		assert_true(v.need_udp_csum);
		for (uint32_t a = 0; a <= n; a++)
			for (uint32_t b = a; b <= n; b++) {
				const uint8_t *p = f.b + v.l4_off;

				pmv_udp_csum_start(&c, &v);
				pmv_udp_csum_update(&c, p, a);
				pmv_udp_csum_update(&c, p + a, b - a);
				pmv_udp_csum_update(&c, p + b, n - b);
				assert_true(pmv_udp_csum_is_ok(&c));
			}
		for (uint32_t bit = 0; bit < n * 8; bit++) {
			f.b[v.l4_off + bit / 8] ^= 1 << bit % 8;
			pmv_udp_csum_start(&c, &v);
			pmv_udp_csum_update(&c, f.b + v.l4_off, n);
			assert_false(pmv_udp_csum_is_ok(&c));
			f.b[v.l4_off + bit / 8] ^= 1 << bit % 8;
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eth_ip__build_then_parse),
		cmocka_unit_test(eth_ip_build__mixed_families),
		cmocka_unit_test(eth_ip_set_len__checksum),
		cmocka_unit_test(eth_ip_parse__truncation),
		cmocka_unit_test(eth_ip_parse__padding),
		cmocka_unit_test(eth_ip_parse__udp_length),
		cmocka_unit_test(eth_ip_parse__ip_length),
		cmocka_unit_test(eth_ip_parse__ipv4_verdicts),
		cmocka_unit_test(eth_ip_parse__ipv4_options),
		cmocka_unit_test(eth_ip_parse__ipv6_extensions),
		cmocka_unit_test(eth_ip__stripped_vlan),
		cmocka_unit_test(udp_csum__pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
