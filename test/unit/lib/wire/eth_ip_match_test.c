// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib/wire/eth_ip_match: a yes is never more than what the parser says with all its checks,
 * whatever is wrong with a frame; and the frames that a peer really sends get a yes.
 */
#include "lib/wire/eth_ip_match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "test/harness/guard_page.h"
#include "test/unit/lib/wire/packet.h"

#define PAYLOAD 44u /* BTH .. ICRC of the frames that are spoiled */
#define ROOM    66000u
#define VLAN    0x123u

/* A frame of the peer, and what we expect of the peer's frames. */
struct rig {
	struct pmv_eth_ip_peer peer;
	struct pmv_eth_ip_tmpl t;
	uint8_t theirs[PMV_GID_LEN];
	uint8_t ours[PMV_GID_LEN];
	bool has_vlan;
	uint32_t len;
	uint8_t bytes[ROOM];
};

static void
param_fill(struct pmv_eth_ip_param *p, bool v6, bool vlan, bool from_us)
{
	uint8_t a[PMV_GID_LEN], b[PMV_GID_LEN];

	*p = (struct pmv_eth_ip_param){ .flow_label = from_us ? 0x12345 : 0xabcde,
		.vlan_tci = (uint16_t)((from_us ? 0x2000 : 0x6000) | VLAN),
		.has_vlan = vlan,
		.tos = from_us ? 0 : 0x6a,
		.ttl = from_us ? 64 : 63,
		.udp_sport = from_us ? 0xc001 : 0xd002 };
	memset(p->dst_mac, from_us ? 2 : 4, sizeof(p->dst_mac));
	memset(p->src_mac, from_us ? 4 : 2, sizeof(p->src_mac));
	pmv_gid_from_ipv4(a, 0xc0a80a01);
	pmv_gid_from_ipv4(b, 0x0a00fe02);
	for (uint8_t i = 0; v6 && i < PMV_GID_LEN; i++) {
		a[i] = (uint8_t)(0xfd - 3 * i);
		b[i] = (uint8_t)(0x20 + 7 * i);
	}
	memcpy(p->src_gid, from_us ? a : b, PMV_GID_LEN);
	memcpy(p->dst_gid, from_us ? b : a, PMV_GID_LEN);
}

static void
rig_set_len(struct rig *r, uint32_t roce_len, uint16_t ip_id)
{
	pmv_eth_ip_set_len(r->bytes, &r->t, roce_len, ip_id);
	r->len = r->t.hdr_len + roce_len;
}

static struct rig *
rig_open(bool v6, bool vlan)
{
	struct rig *r = test_calloc(1, sizeof(*r));
	struct pmv_eth_ip_param p;
	struct pmv_eth_ip_tmpl t;
	uint8_t ours[PMV_ETH_IP_LEN_MAX];

	param_fill(&p, v6, vlan, true);
	assert_int_equal(pmv_eth_ip_build(ours, &p, &t), 0);
	pmv_eth_ip_peer_init(&r->peer, ours, &t);
	assert_int_equal(r->peer.hdr_len, t.hdr_len);
	param_fill(&p, v6, vlan, false);
	memcpy(r->theirs, p.src_gid, PMV_GID_LEN);
	memcpy(r->ours, p.dst_gid, PMV_GID_LEN);
	r->has_vlan = vlan;
	memset(r->bytes, 0x5a, sizeof(r->bytes));
	assert_int_equal(pmv_eth_ip_build(r->bytes, &p, &r->t), 0);
	rig_set_len(r, PAYLOAD, 0x1234);
	return r;
}

/* Asks, and holds a yes against the parser. */
static bool
matches(const struct rig *r, const uint8_t *frame, uint32_t len)
{
	uint32_t n = pmv_eth_ip_match(&r->peer, frame, len);
	struct pmv_eth_ip ip;

	if (n == 0)
		return false;
	assert_int_equal(pmv_eth_ip_parse(frame, len, len, &ip), PMV_WIRE_OK);
	assert_int_equal(ip.payload_len, n);
	assert_int_equal(ip.payload_off, r->peer.hdr_len);
	assert_int_equal(ip.l3_off, r->peer.l3_off);
	assert_int_equal(ip.is_v6, r->peer.is_v6);
	assert_false(ip.need_udp_csum);
	assert_memory_equal(ip.src_gid, r->theirs, PMV_GID_LEN);
	assert_memory_equal(ip.dst_gid, r->ours, PMV_GID_LEN);
	assert_int_equal(ip.nb_vlan, r->has_vlan);
	assert_int_equal(ip.vlan_tci & 0xfff, r->has_vlan ? VLAN : 0);
	return true;
}

/* The same with the IPv4 checksum made right again, where that can be. */
static bool
matches_redone(const struct rig *r, uint8_t *frame, uint32_t len)
{
	if (r->t.is_v6)
		return false;
	packet_ipv4_csum_redo(frame + r->t.l3_off);
	return matches(r, frame, len);
}

static void
eth_ip_match__sound_frames(void **state)
{
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);

		for (uint32_t n = 1; n <= 65507; n += n < 1500 ? 1 : 997) {
			rig_set_len(r, n, (uint16_t)(n * 31));
			assert_true(matches(r, r->bytes, r->len));
			assert_int_equal(pmv_eth_ip_match(&r->peer, r->bytes, r->len), n);
			/* Ethernet padding */
			assert_int_equal(pmv_eth_ip_match(&r->peer, r->bytes, r->len + 9), n);
			assert_false(matches(r, r->bytes, r->len - 1));
		}
		test_free(r);
	}
}

/* Each length that the headers may tell, alike in both, of a frame of one length. */
static void
eth_ip_match__lengths_told(void **state)
{
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);
		uint32_t len = r->len;

		for (uint32_t n = 0; n < 65500; n += n < 300 ? 1 : 101) {
			pmv_eth_ip_set_len(r->bytes, &r->t, n, 7);
			assert_int_equal(matches(r, r->bytes, len), n >= 1 && n <= PAYLOAD);
		}
		test_free(r);
	}
}

/* One byte with each other value, the checksum left and made right; what lies behind the frame is
 * not read. */
static void
eth_ip_match__every_byte(void **state)
{
	struct pmv_guard_page g;

	pmv_guard_page_init(&g, 4096);
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);
		uint32_t nb_yes = 0;

		for (uint32_t at = 0; at < r->t.hdr_len; at++)
			for (uint32_t x = 1; x < 256; x++) {
				uint8_t *f = pmv_guard_page_copy(&g, r->bytes, r->len);

				f[at] ^= (uint8_t)x;
				nb_yes += matches(r, f, r->len);
				nb_yes += matches_redone(r, f, r->len);
			}
		/*
		 * MACs and source port (14 bytes); IPv4, where each is asked twice: TOS, ID, TTL
		 * and checksum (6, made right), reserved and DF bits; IPv6: half a byte beside the
		 * version, three of class and label, hop limit; half a byte beside the VLAN id.
		 */
		if (k & 1)
			assert_int_equal(nb_yes, 18 * 255 + 15 + (r->has_vlan ? 15 : 0));
		else
			assert_int_equal(nb_yes, 34 * 255 + 3 + (r->has_vlan ? 2 * 15 : 0));
		test_free(r);
	}
}

/* Shorter frames: sound, and with a byte spoiled. */
static void
eth_ip_match__every_length(void **state)
{
	struct pmv_guard_page g;

	pmv_guard_page_init(&g, 4096);
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);

		for (uint32_t len = r->t.hdr_len; len < r->len; len++) {
			uint8_t *f = pmv_guard_page_copy(&g, r->bytes, len);

			assert_false(matches(r, f, len));
			for (uint32_t at = 0; at < r->t.hdr_len; at++)
				for (uint32_t bit = 0; bit < 8; bit++) {
					f = pmv_guard_page_copy(&g, r->bytes, len);
					f[at] ^= (uint8_t)(1 << bit);
					(void)matches(r, f, len);
					(void)matches_redone(r, f, len);
				}
		}
		test_free(r);
	}
}

/* Several bytes at once, lengths among them, so that one fault may hide another. */
static void
eth_ip_match__several_bytes(void **state)
{
	struct pmv_random rnd;

	pmv_random_init(&rnd, 21);
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);
		uint32_t nb_yes = 0;

		for (uint32_t i = 0; i < 200000; i++) {
			uint32_t nb = 1 + (uint32_t)pmv_random_below(&rnd, 4);
			uint8_t f[PMV_ETH_IP_LEN_MAX + PAYLOAD];
			uint32_t len = r->len - (i & 1 ? 0 : i / 2 % PAYLOAD);

			memcpy(f, r->bytes, r->len);
			while (nb-- > 0) {
				uint32_t at = (uint32_t)pmv_random_below(&rnd, r->t.hdr_len);

				f[at] = i & 2 ? (uint8_t)pmv_random_next64(&rnd)
					      : f[at] ^ (uint8_t)(1 << (i >> 3 & 7));
			}
			nb_yes += matches(r, f, len);
			nb_yes += matches_redone(r, f, len);
		}
		assert_true(nb_yes > 1000);
		test_free(r);
	}
}

/* What differs from frame to frame, or is changed on the way, is no reason for a no. */
static void
eth_ip_match__changes_on_the_way(void **state)
{
	for (int k = 0; k < 4; k++) {
		struct rig *r = rig_open(k & 1, k & 2);
		uint8_t *l3 = r->bytes + r->t.l3_off;

		for (uint32_t i = 0; i < 256; i++) {
			memset(r->bytes, (int)i, 12); /* MACs */
			if (r->has_vlan)              /* priority */
				r->bytes[14] = (uint8_t)(i << 4) | VLAN >> 8;
			pmv_be16_store(r->bytes + r->t.hdr_len - 8, (uint16_t)(i * 257));
			if (r->t.is_v6) {
				pmv_be32_store(l3, 6u << 28 | i * 0x10107);
				l3[7] = (uint8_t)i;
				assert_true(matches(r, r->bytes, r->len));
				continue;
			}
			l3[1] = (uint8_t)i;
			l3[8] = (uint8_t)i;
			pmv_be16_store(l3 + 4, (uint16_t)(i * 259));
			l3[6] = i & 1 ? 0x40 : 0; /* DF */
			assert_true(matches_redone(r, r->bytes, r->len));
		}
		test_free(r);
	}
}

/* Fields that the random tests may miss: each makes a no, the checksum being right. */
static void
eth_ip_match__refused(void **state)
{
	static const struct {
		uint32_t off; /* from the IP header */
		uint8_t value;
		bool v6;
	} cases[] = {
		{ 0, 0x46, false }, /* options */
		{ 0, 0x65, false }, /* version */
		{ 6, 0x20, false }, /* more fragments */
		{ 7, 0x01, false }, /* fragment offset */
		{ 6, 0x10, false }, /* the same, its top bit */
		{ 9, 6, false },    /* TCP */
		{ 15, 3, false },   /* addresses */
		{ 19, 9, false },
		{ 23, 0xb6, false }, /* port 4790 */
		{ 26, 1, false },    /* a UDP checksum */
		{ 27, 1, false },
		{ 25, PAYLOAD + 7, false }, /* UDP length one less than that of IP, one more */
		{ 25, PAYLOAD + 9, false },
		{ 0, 0x40, true },
		{ 6, 44, true }, /* fragment header */
		{ 8, 1, true },
		{ 23, 1, true },
		{ 24, 1, true },
		{ 39, 1, true },
		{ 43, 0xb6, true },
		{ 46, 1, true },
		{ 47, 1, true },
		{ 45, PAYLOAD + 7, true },
		{ 45, PAYLOAD + 9, true },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		for (int vlan = 0; vlan < 2; vlan++) {
			struct rig *r = rig_open(cases[c].v6, vlan);
			uint8_t *byte = r->bytes + r->t.l3_off + cases[c].off;

			assert_int_not_equal(*byte, cases[c].value);
			*byte = cases[c].value;
			if (!r->t.is_v6)
				packet_ipv4_csum_redo(r->bytes + r->t.l3_off);
			assert_false(matches(r, r->bytes, r->len));
			test_free(r);
		}
}

/* A frame of one shape is none of the others', though as long or longer. */
static void
eth_ip_match__other_shapes(void **state)
{
	for (int a = 0; a < 4; a++)
		for (int b = 0; b < 4; b++) {
			struct rig *r = rig_open(a & 1, a & 2), *other = rig_open(b & 1, b & 2);

			rig_set_len(other, 60, 0);
			assert_int_equal(matches(r, other->bytes, other->len), a == b);
			test_free(r);
			test_free(other);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eth_ip_match__sound_frames),
		cmocka_unit_test(eth_ip_match__lengths_told),
		cmocka_unit_test(eth_ip_match__every_byte),
		cmocka_unit_test(eth_ip_match__every_length),
		cmocka_unit_test(eth_ip_match__several_bytes),
		cmocka_unit_test(eth_ip_match__changes_on_the_way),
		cmocka_unit_test(eth_ip_match__refused),
		cmocka_unit_test(eth_ip_match__other_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
