// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/peer: a frame that is taken is one that packet.c would have passed, and is seen
 * alike; the frames of a well-behaved peer are taken; headers that are remembered belong to the
 * right frames; an address that is deleted ends it.
 */
#include "drivers/roce/peer.h"

#include "lib/util/random.h"
#include "test/harness/guard_page.h"
#include "test/unit/drivers/roce/rig.h"
#include "test/unit/lib/wire/packet.h"

#define FRAME_MAX 400u
#define VLAN      0x123u

/* One side of a connection, without port or queue pair. */
struct side {
	struct pmv_roce_device dev;
	struct pmv_roce_worker w;
	struct pmv_roce_hdr ours;   /* frames to the peer */
	struct pmv_roce_hdr theirs; /* frames of the peer */
	struct pmv_roce_peer peer;
	struct pmv_guard_page guard;
	struct pmv_random random;
	uint32_t nb_taken;
	uint32_t nb_known;
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
};

static struct pmv_av
av_make(bool v6, uint8_t from, uint8_t to)
{
	struct pmv_av av = { .sgid.raw = { 0xfd }, .dgid.raw = { 0xfd }, .dmac = { { 2, to } } };

	if (!v6) {
		pmv_gid_from_ipv4(av.sgid.raw, 0xc0a80a00);
		pmv_gid_from_ipv4(av.dgid.raw, 0xc0a80a00);
	}
	av.sgid.raw[15] = from;
	av.dgid.raw[15] = to;
	return av;
}

/* Shape: bit 0 IPv6, bit 1 a VLAN tag. We are .1, the peer is .2. */
static struct side *
side_open(int shape)
{
	struct side *s = test_calloc(1, sizeof(*s));
	struct pmv_device *dev = &s->dev.base;
	struct pmv_av av = av_make(shape & 1, 1, 2);

	dev->param.hop_limit = 64;
	dev->param.vlan_id = shape & 2 ? VLAN : 0;
	dev->addrs.addr[0].gid = av.sgid;
	dev->addrs.nb = 1;
	s->w.base.device = dev;
	s->w.dev = &s->dev;
	assert_int_equal(pmv_roce_hdr_init(&s->ours, dev, &av, 0x11, 0x12), 0);
	av = av_make(shape & 1, 2, 1);
	av.traffic_class = 0x68;
	assert_int_equal(pmv_roce_hdr_init(&s->theirs, dev, &av, 0x12, 0x11), 0);
	pmv_roce_peer_learn(&s->peer, &s->ours, 5);
	assert_true(pmv_roce_peer_is_known(&s->peer, 5));
	assert_false(pmv_roce_peer_is_known(&s->peer, 4));
	pmv_guard_page_init(&s->guard, 4096);
	pmv_random_init(&s->random, (uint64_t)shape + 31);
	return s;
}

/* Makes lengths and sums right for what stands in the frame. */
static void
frame_seal(const struct side *s, struct frame *f)
{
	const struct pmv_eth_ip_tmpl *t = &s->theirs.tmpl;
	uint32_t roce_len = f->len - t->hdr_len;

	pmv_eth_ip_set_len(f->bytes, t, roce_len, 0);
	pmv_icrc_packet_store(f->bytes + t->l3_off, t->is_v6, f->len - t->l3_off - PMV_ICRC_LEN);
}

/* body: bytes behind the BTH, before the ICRC; random ones. */
static void
frame_make(struct side *s, struct frame *f, const struct pmv_bth *bth, uint32_t body)
{
	const struct pmv_eth_ip_tmpl *t = &s->theirs.tmpl;
	uint8_t *p = f->bytes + t->hdr_len;

	memcpy(f->bytes, s->theirs.bytes, t->hdr_len);
	pmv_bth_build(p, bth);
	for (uint32_t i = 0; i < body; i++)
		p[PMV_BTH_LEN + i] = (uint8_t)pmv_random_next64(&s->random);
	f->len = t->hdr_len + PMV_BTH_LEN + body + PMV_ICRC_LEN;
	frame_seal(s, f);
}

/* A sound one: opcode, payload with its pad. */
static void
frame_sound(struct side *s, struct frame *f, uint8_t opcode, uint32_t payload)
{
	struct pmv_bth bth = { .opcode = opcode,
		.padcnt = pmv_bth_pad(payload),
		.migreq = true,
		.ackreq = pmv_random_below(&s->random, 2) != 0,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = 0x11,
		.psn = pmv_psn((uint32_t)pmv_random_next64(&s->random)) };

	frame_make(s, f, &bth,
		pmv_opcode_table[opcode].hdr_len - PMV_BTH_LEN + payload + pmv_bth_pad(payload));
}

/* An mbuf over the frame's bytes, behind which nothing can be read. */
static void
mbuf_over(const struct side *s, const struct frame *f, struct rte_mbuf *m)
{
	*m = (struct rte_mbuf){ .buf_addr = pmv_guard_page_copy(&s->guard, f->bytes, f->len),
		.buf_len = (uint16_t)f->len,
		.data_len = (uint16_t)f->len,
		.pkt_len = f->len,
		.nb_segs = 1,
		.refcnt = 1 };
}

static enum pmv_roce_peer_verdict
ask(struct pmv_roce_peer *peer, struct rte_mbuf *m, uint32_t l3_off, struct pmv_roce_pkt *p)
{
	const uint8_t *hdr = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t bth_off;

	memset(p, 0xee, sizeof(*p));
	if (m->data_len <= l3_off)
		return PMV_ROCE_PEER_UNSURE;
	bth_off = pmv_roce_peer_bth_off(hdr, l3_off);
	if (m->data_len < bth_off + PMV_BTH_LEN + PMV_ICRC_LEN)
		return PMV_ROCE_PEER_UNSURE;
	return pmv_roce_peer_take(peer, m, bth_off, p);
}

/* Is the frame's header remembered? Then it is taken even if nothing could be found out about it.
 */
static bool
is_remembered(const struct side *s, struct rte_mbuf *m)
{
	struct pmv_roce_peer blind = s->peer;
	struct pmv_roce_pkt p;

	blind.match.addr[0] = ~blind.match.addr[0];
	return ask(&blind, m, s->ours.tmpl.l3_off, &p) != PMV_ROCE_PEER_UNSURE;
}

/* Asks, and holds a yes against the parser. */
static bool
takes(struct side *s, const struct frame *f)
{
	enum pmv_roce_peer_verdict verdict;
	struct pmv_roce_pkt got, want;
	bool known, marked;
	struct rte_mbuf m;

	mbuf_over(s, f, &m);
	known = is_remembered(s, &m);
	verdict = ask(&s->peer, &m, s->ours.tmpl.l3_off, &got);
	if (verdict == PMV_ROCE_PEER_UNSURE) {
		assert_false(known);
		return false;
	}
	memset(&want, 0x11, sizeof(want));
	assert_int_equal(pmv_roce_packet_parse(&s->w, &m, &want), PMV_WIRE_OK);
	assert_ptr_equal(got.m, &m);
	assert_ptr_equal(got.hdr, want.hdr);
	assert_ptr_equal(got.bth, want.bth);
	assert_int_equal(got.payload_off, want.payload_off);
	assert_int_equal(got.payload_len, want.payload_len);
	assert_ptr_equal(got.roce.op, want.roce.op);
	assert_int_equal(got.roce.payload_len, want.roce.payload_len);
	assert_int_equal(got.roce.bth.padcnt, want.roce.bth.padcnt);
	assert_int_equal(got.roce.bth.ackreq, want.roce.bth.ackreq);
	assert_int_equal(got.roce.bth.psn.v, want.roce.bth.psn.v);
	/* what the caller will not look at again */
	assert_int_equal(want.roce.op->opclass, PMV_OPCLASS_RC);
	/* or will not be told when it looks again */
	marked = (want.ip.tos & PMV_IP_ECN_MASK) == PMV_IP_ECN_CE;
	assert_int_equal(verdict, marked ? PMV_ROCE_PEER_MARKED : PMV_ROCE_PEER_TAKEN);
	assert_int_equal(is_remembered(s, &m), !marked);
	s->nb_taken++;
	s->nb_known += known;
	return true;
}

static void
mark(const struct side *s, struct frame *f)
{
	const struct pmv_eth_ip_tmpl *t = &s->theirs.tmpl;

	f->bytes[t->l3_off + 1] |= (uint8_t)(PMV_IP_ECN_CE << (t->is_v6 ? 4 : 0));
	if (!t->is_v6)
		packet_ipv4_csum_redo(f->bytes + t->l3_off);
}

/* Marked and not, of one length, in every order of four: each mark is told, also behind and before
 * a known header, and none makes its neighbours unknown. */
static void
peer__marks(void **state)
{
	for (int shape = 0; shape < 4; shape++) {
		for (uint32_t mask = 0; mask < 16; mask++) {
			struct side *s = side_open(shape);
			uint32_t seen = 0;
			struct frame f;

			for (uint32_t i = 0; i < 4; i++) {
				frame_sound(s, &f, PMV_OPCODE_RC_WRITE_ONLY, 24);
				if (mask >> i & 1)
					mark(s, &f); /* its ICRC stays right: takes() asks */
				else
					seen++;
				assert_true(takes(s, &f));
			}
			assert_int_equal(s->nb_taken, 4);
			assert_int_equal(s->nb_known, seen != 0 ? seen - 1 : 0);
			test_free(s);
		}
	}
}

/* RC opcodes, every payload length twice in a row and between others: all are taken, and those
 * whose slot still has their header without a second look at it. */
static void
peer__sound_frames(void **state)
{
	for (int shape = 0; shape < 4; shape++) {
		struct side *s = side_open(shape);
		uint32_t nb = 0;

		for (uint32_t op = 0; op < 256; op++) {
			const struct pmv_opcode_info *info = &pmv_opcode_table[op];
			struct frame f;

			if (info->opclass != PMV_OPCLASS_RC)
				continue;
			for (uint32_t n = 0; n < (info->payload == PMV_OPPAY_NONE ? 1u : 70u);
				n++) {
				for (int again = 0; again < 3; again++, nb++) {
					frame_sound(s, &f, (uint8_t)op, n);
					assert_true(takes(s, &f));
				}
			}
		}
		assert_int_equal(s->nb_taken, nb);
		assert_int_equal(s->nb_known, nb / 3 * 2);
		test_free(s);
	}
}

/* Two lengths that share a slot push each other out, two that do not stay; a known header of one
 * length is not that of a frame that is longer behind it. */
static void
peer__slots(void **state)
{
	for (int shape = 0; shape < 4; shape++) {
		struct side *s = side_open(shape);
		struct frame f[3];

		for (uint32_t i = 0; i < 3; i++) /* 16 bytes apart */
			frame_sound(s, &f[i], PMV_OPCODE_RC_WRITE_ONLY, 16 * i);
		for (uint32_t i = 0; i < 30; i++)
			assert_true(takes(s, &f[i & 1]));
		assert_int_equal(s->nb_known, 28);
		for (uint32_t i = 0; i < 30; i++)
			assert_true(takes(s, &f[i & 1 ? 2 : 0]));
		assert_int_equal(s->nb_known, 29); /* f[0] was still there */
		/* Ethernet padding: the same header, another length of frame. */
		for (uint32_t pad = 1; pad < 16; pad++) {
			struct frame g = f[0];

			memset(g.bytes + g.len, 0x77, pad);
			g.len += pad;
			assert_true(takes(s, &f[0]));
			assert_true(takes(s, &g));
			g.bytes[f[0].len - 1] ^= 4;
			assert_false(takes(s, &g));
		}
		test_free(s);
	}
}

/* Each bit of a frame whose header is remembered (and of one that is not): flipped alone, with the
 * IP checksum made right, with the ICRC, with both. */
static void
peer__every_bit(void **state)
{
	for (int shape = 0; shape < 4; shape++) {
		struct side *s = side_open(shape);
		const struct pmv_eth_ip_tmpl *t = &s->theirs.tmpl;
		uint32_t l3 = t->l3_off;
		struct frame good, f;

		frame_sound(s, &good, PMV_OPCODE_RC_WRITE_ONLY_IMM, 21);
		for (uint32_t bit = 0; bit < good.len * 8; bit++)
			for (uint32_t how = 0; how < 8; how++) {
				uint32_t off = bit / 8;
				bool masked =
					off < l3 || packet_is_masked(t->is_v6, off - l3, bit % 8);

				if (how & 4) /* forgotten */
					memset(s->peer.known, 0, sizeof(s->peer.known));
				else
					assert_true(takes(s, &good));
				f = good;
				f.bytes[off] ^= (uint8_t)(1 << bit % 8);
				if (how & 1 && !t->is_v6)
					packet_ipv4_csum_redo(f.bytes + l3);
				if (how & 2)
					pmv_icrc_packet_store(
						f.bytes + l3, t->is_v6, f.len - l3 - PMV_ICRC_LEN);
				if (takes(s, &f))
					assert_true(masked || (how & 2) != 0);
				/* FECN, BECN and what is beside them are no reason to refuse */
				else
					assert_int_not_equal(off, t->hdr_len + 4);
				if (off > t->hdr_len + (uint32_t)PMV_BTH_LEN &&
					off < f.len - PMV_ICRC_LEN - 3)
					assert_int_equal(takes(s, &f), (how & 2) != 0);
			}
		test_free(s);
	}
}

/* Headers as a peer would not make them: opcode, pad, version, P_Key, lengths; ICRC right. */
static void
peer__any_headers(void **state)
{
	static const uint16_t pkeys[] = { 0xffff, 0x7fff, 0xffff, 0xfffe, 0x8001, 0 };

	for (int shape = 0; shape < 4; shape++) {
		struct side *s = side_open(shape);
		struct frame f;

		for (uint32_t i = 0; i < 60000; i++) {
			uint64_t x = pmv_random_next64(&s->random);
			const struct pmv_bth bth = { .opcode = (uint8_t)(x & 1 ? x >> 8
									       : x >> 8 & 31),
				.padcnt = x >> 16 & (x >> 61 ? 3 : 0),
				.tver = x >> 20 & (x >> 61 ? 0 : 15),
				.se = x >> 24 & 1,
				.migreq = x >> 25 & 1,
				.fecn = x >> 26 & 1,
				.becn = x >> 27 & 1,
				.ackreq = x >> 28 & 1,
				.pkey = pkeys[(x >> 32) % RTE_DIM(pkeys)],
				.dqpn = 0x11,
				.psn = pmv_psn((uint32_t)(x >> 40)) };
			uint32_t l3 = s->theirs.tmpl.l3_off;

			frame_make(s, &f, &bth,
				x & 2 ? (uint32_t)pmv_random_below(&s->random, 60)
				      : 4 * (uint32_t)pmv_random_below(&s->random, 15));
			(void)takes(s, &f);
			if (x & 4 && f.len > s->theirs.tmpl.hdr_len +
						     24u) { /* an UDP datagram shorter than the IP
							       packet, and others */
				pmv_be16_store(f.bytes + s->theirs.tmpl.hdr_len - 4,
					(uint16_t)(f.len - s->theirs.tmpl.hdr_len + PMV_UDP_LEN -
						   (x >> 50 & 7)));
				pmv_icrc_packet_store(f.bytes + l3, s->theirs.tmpl.is_v6,
					f.len - l3 - PMV_ICRC_LEN - (uint32_t)(x >> 50 & 7));
				(void)takes(s, &f);
			}
			/* cut */
			f.len -= 1 + (uint32_t)(x >> 53) % f.len;
			(void)takes(s, &f);
		}
		assert_true(s->nb_taken > 2000);
		test_free(s);
	}
}

/* Frames of each shape to a QP of each shape. */
static void
peer__other_shapes(void **state)
{
	for (int a = 0; a < 4; a++)
		for (int b = 0; b < 4; b++) {
			struct side *s = side_open(a), *other = side_open(b);
			struct frame f;

			for (uint32_t n = 0; n < 100; n += 4) {
				frame_sound(s, &f, PMV_OPCODE_RC_SEND_ONLY, n);
				assert_true(takes(s, &f));
				frame_sound(other, &f, PMV_OPCODE_RC_SEND_ONLY, n);
				assert_int_equal(takes(s, &f), a == b);
			}
			test_free(s);
			test_free(other);
		}
}

/* The type says IPv6, the version IPv4: as short as an IPv4 frame may be, so that an IPv6 frame's
 * UDP header would end behind it. */
static void
peer__type_against_version(void **state)
{
	for (int shape = 1; shape < 4; shape += 2) {
		struct side *s = side_open(shape);
		struct frame f;

		frame_sound(s, &f, PMV_OPCODE_RC_ACK, 0);
		f.bytes[s->theirs.tmpl.l3_off] = 0x45;
		f.len = s->theirs.tmpl.hdr_len - 4;
		assert_int_equal(pmv_be16_load(f.bytes + f.len - 2), PMV_ROCE_UDP_PORT);
		assert_false(takes(s, &f));
		test_free(s);
	}
}

static struct rig_frame
write_frame(struct rig *r, bool v6, uint32_t psn)
{
	struct rig_frame f = rig_frame(PMV_OPCODE_RC_WRITE_ONLY, r->rc[1]->qpn, psn);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1], pmv_mr_rkey(r->mr[1]), 8 };

	pmv_reth_build(f.ext, &reth);
	f.payload = 8;
	f.is_v6 = v6;
	return f;
}

/* A WRITE that is in turn: executed, or dropped under the counter. */
static void
next_write(struct rig *r, bool v6, const char *drop)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(r->rc[1]);
	struct pmv_psn before = qp->resp.epsn;
	struct rig_frame f = write_frame(r, v6, before.v);

	memset(r->mem[1], 0xa5, 8);
	rig_expect(r, &f, drop);
	assert_int_equal(pmv_psn_diff(qp->resp.epsn, before), drop == NULL);
	assert_int_equal(r->mem[1][7], drop == NULL ? 7 : 0xa5);
}

/* The address of the connection is deleted, and comes back; others come and go. */
static void
peer__address_deleted(void **state)
{
	static const struct pmv_test_pair_param plain;
	struct rig *r = rig_open(&plain);
	struct pmv_device *dev = r->pair.node[1].dev;
	const struct pmv_roce_peer *peer = &pmv_roce_qp(r->rc[1])->peer;
	struct pmv_ip_addr addr, other;

	assert_int_equal(pmv_ip_addr_parse("192.168.10.2/24", &addr), 0);
	assert_int_equal(pmv_ip_addr_parse("192.168.10.9/24", &other), 0);
	assert_false(pmv_roce_peer_is_known(peer, dev->addr_version));
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 3; i++) {
			next_write(r, false, NULL);
			assert_true(pmv_roce_peer_is_known(peer, dev->addr_version));
		}
		assert_int_equal(pmv_device_add_addr(dev, &other), 0);
		assert_false(pmv_roce_peer_is_known(peer, dev->addr_version));
		next_write(r, false, NULL);
		assert_true(pmv_roce_peer_is_known(peer, dev->addr_version));
		assert_int_equal(pmv_device_del_addr(dev, &addr.gid), 0);
		for (int i = 0; i < 3; i++)
			next_write(r, false, "rx_drop_dest_addr");
		assert_int_equal(pmv_device_del_addr(dev, &other.gid), 0);
		next_write(r, false, "rx_drop_dest_addr");
		assert_int_equal(pmv_device_add_addr(dev, &addr), 0);
	}
	rig_close(r);
}

/* The QP goes to another peer: what was known of the first is nothing to it. */
static void
peer__queue_pair_reconnected(void **state)
{
	static const struct pmv_test_pair_param plain;
	struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };
	struct rig *r = rig_open(&plain);

	for (int i = 0; i < 3; i++)
		next_write(r, false, NULL);
	next_write(r, true, "rx_drop_peer_addr");
	for (int side = 0; side < 2; side++)
		assert_int_equal(pmv_modify_qp(r->rc[side], &reset, PMV_QP_STATE), 0);
	next_write(r, false, "rx_drop_qp_state");
	pmv_test_qp_connect(&r->pair, r->rc[0], r->rc[1], true, PMV_MTU_1024, NULL);
	next_write(r, false, "rx_drop_peer_addr");
	for (int i = 0; i < 3; i++)
		next_write(r, true, NULL);
	next_write(r, false, "rx_drop_peer_addr");
	rig_close(r);
}

/* The state is asked of frames that are known, too. */
static void
peer__queue_pair_in_error(void **state)
{
	static const struct pmv_test_pair_param plain;
	struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct rig *r = rig_open(&plain);

	for (int i = 0; i < 3; i++)
		next_write(r, false, NULL);
	assert_int_equal(pmv_modify_qp(r->rc[1], &err, PMV_QP_STATE), 0);
	next_write(r, false, "rx_drop_qp_state");
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peer__sound_frames),
		cmocka_unit_test(peer__marks),
		cmocka_unit_test(peer__slots),
		cmocka_unit_test(peer__every_bit),
		cmocka_unit_test(peer__any_headers),
		cmocka_unit_test(peer__other_shapes),
		cmocka_unit_test(peer__type_against_version),
		cmocka_unit_test(peer__address_deleted),
		cmocka_unit_test(peer__queue_pair_reconnected),
		cmocka_unit_test(peer__queue_pair_in_error),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
