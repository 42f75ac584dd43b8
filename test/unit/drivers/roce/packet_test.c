// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/packet: frames from templates against published bytes, frames cut into chains in
 * every place, VLAN, UDP checksums, P_Keys.
 */
#include "drivers/roce/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>
#include <rte_mempool.h>

#include "drivers/roce/worker.h"
#include "lib/wire/icrc.h"
#include "test/harness/eal.h"
#include "test/unit/lib/wire/packet.h"
#include "test/vectors/hex.h"
#include "test/vectors/roce_vectors.h"

#define NB_FRAMES 63u

struct rig {
	struct pmv_roce_device dev;
	struct pmv_roce_worker w;
	struct rte_mempool *pool;
};

static const char *const addrs[] = { "00000000000000000000ffffc0a80a01",
	"00000000000000000000ffffc0a80a02", "fd000000000000000000000000000001",
	"fd000000000000000000000000000002", "fe800000000000000000000000000001",
	"fe800000000000000000000000000002", "00000000000000000000ffff0a001201" };

static union pmv_gid
gid_of(const char *hex)
{
	union pmv_gid gid;

	assert_int_equal(pmv_hex_read(hex, gid.raw, 16), 16);
	return gid;
}

/* A worker whose device has all the addresses of the vectors. */
static struct rig *
rig_open(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->dev.base.param.hop_limit = 64;
	for (uint32_t i = 0; i < RTE_DIM(addrs); i++)
		r->dev.base.addrs.addr[i].gid = gid_of(addrs[i]);
	r->dev.base.addrs.nb = RTE_DIM(addrs);
	r->pool = rte_pktmbuf_pool_create(
		"packet_test", NB_FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + 4400, SOCKET_ID_ANY);
	assert_non_null(r->pool);
	r->w.base.device = &r->dev.base;
	r->w.base.pool = r->pool;
	pmv_roce_spare_init(&r->w.spare, r->pool);
	r->w.dev = &r->dev;
	return r;
}

static void
rig_close(struct rig *r)
{
	pmv_roce_spare_drop(&r->w.spare);
	assert_int_equal(rte_mempool_avail_count(r->pool), NB_FRAMES);
	rte_mempool_free(r->pool);
	free(r);
}

static struct rte_mbuf *
frame_make(struct rig *r, const uint8_t *bytes, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

/* The same bytes in segments of the given lengths; the last one has the rest. */
static struct rte_mbuf *
chain_make(
	struct rig *r, const uint8_t *bytes, uint32_t len, const uint32_t *cuts, uint32_t nb_cuts)
{
	struct rte_mbuf *head = NULL;
	uint32_t done = 0;

	for (uint32_t i = 0; i <= nb_cuts; i++) {
		uint32_t n = i < nb_cuts ? cuts[i] : len - done;
		struct rte_mbuf *m = frame_make(r, bytes + done, n);

		done += n;
		if (head == NULL)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	}
	return head;
}

static struct pmv_av
av_make(const char *sgid, const char *dgid, uint16_t sport, uint8_t tos)
{
	return (struct pmv_av){ .sgid = gid_of(sgid),
		.dgid = gid_of(dgid),
		.udp_sport = sport,
		.traffic_class = tos,
		.dmac = { { 2, 0, 0, 0, 0, 2 } } };
}

/* A vector as our side would have sent it: ECN 00, IP ID 0, no FECN; the sums redone by lib/wire.
 */
static uint32_t
vector_ours(const char *hex, bool is_v6, uint8_t *ip)
{
	uint32_t len = pmv_hex_read(hex, ip, 512);
	uint8_t *bth = ip + (is_v6 ? 48 : 28);

	bth[4] &= 0x3f;
	if (!is_v6) {
		ip[1] &= 0xfc;
		pmv_be16_store(ip + 4, 0);
		packet_ipv4_csum_redo(ip);
	}
	pmv_icrc_packet_store(ip, is_v6, len - 4);
	return len;
}

/* Builds header and payload that a vector has behind UDP. */
static struct rte_mbuf *
vector_build(struct rig *r, struct pmv_roce_hdr *h, const uint8_t *bth, uint32_t hdr_len,
	uint32_t payload_len)
{
	struct rte_mbuf *m;
	uint8_t *p;

	p = pmv_roce_packet_begin(&r->w, r->pool, h, hdr_len, &m);
	assert_non_null(p);
	memcpy(p, bth, hdr_len);
	p[4] &= 0x3f;
	if (payload_len > 0) {
		p = pmv_roce_packet_payload(m, payload_len);
		assert_non_null(p);
		memcpy(p, bth + hdr_len, payload_len);
	}
	assert_int_equal(pmv_roce_packet_finish(&r->w, h, m), 0);
	return m;
}

static void
packet__vectors_built(void **state)
{
	static const struct {
		uint32_t i; /* in pmv_roce_vectors */
		uint16_t sport;
		uint8_t tos;
		uint8_t ttl;
		bool exact; /* even without our changes */
		const char *sgid;
		const char *dgid;
		uint32_t hdr_len;
		uint32_t payload_len;
	} cases[] = {
		{ 0, 0xc123, 0, 64, false, "00000000000000000000ffffc0a80a01",
			"00000000000000000000ffffc0a80a02", 12, 10 },
		{ 1, 0xc123, 0, 64, true, "fd000000000000000000000000000001",
			"fd000000000000000000000000000002", 12, 10 },
		{ 2, 0xd872, 0, 64, false, "00000000000000000000ffffc0a80a01",
			"00000000000000000000ffffc0a80a02", 20, 8 },
		{ 3, 0xd872, 0, 64, true, "fe800000000000000000000000000001",
			"fe800000000000000000000000000002", 20, 8 },
		{ 4, 0xc123, 0x02, 63, false, "00000000000000000000ffffc0a80a02",
			"00000000000000000000ffffc0a80a01", 16, 0 },
		{ 5, 0xc123, 0x6b, 64, false, "00000000000000000000ffffc0a80a01",
			"00000000000000000000ffffc0a80a02", 28, 7 },
	};
	struct rig *r = rig_open();

	for (uint32_t c = 0; c < RTE_DIM(cases); c++) {
		const struct pmv_roce_vector *v = &pmv_roce_vectors[cases[c].i];
		struct pmv_av av =
			av_make(cases[c].sgid, cases[c].dgid, cases[c].sport, cases[c].tos);
		uint8_t theirs[512], ours[512];
		uint32_t len = pmv_hex_read(v->packet, theirs, sizeof(theirs));
		struct pmv_roce_hdr h;
		struct rte_mbuf *m;

		av.hop_limit = cases[c].ttl;
		assert_int_equal(vector_ours(v->packet, v->is_v6, ours), len);
		if (cases[c].exact)
			assert_memory_equal(ours, theirs, len);
		assert_int_equal(pmv_roce_hdr_init(&h, &r->dev.base, &av, 0x11, 0x12), 0);
		for (int again = 0; again < 2; again++) { /* the second from remembered state */
			m = vector_build(r, &h, theirs + (v->is_v6 ? 48 : 28), cases[c].hdr_len,
				cases[c].payload_len);
			assert_int_equal(m->pkt_len, 14 + len);
			assert_int_equal(m->data_len, m->pkt_len);
			assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 14), ours, len);
			rte_pktmbuf_free(m);
		}
	}
	rig_close(r);
}

static uint32_t
vector_frame(uint32_t i, uint8_t *frame)
{
	memset(frame, 0, 12);
	pmv_be16_store(frame + 12, pmv_roce_vectors[i].is_v6 ? 0x86dd : 0x0800);
	return 14 + pmv_hex_read(pmv_roce_vectors[i].packet, frame + 14, 512);
}

static enum pmv_wire_verdict
judge(struct rig *r, struct rte_mbuf *m, struct pmv_roce_pkt *p)
{
	memset(p, 0xee, sizeof(*p));
	return pmv_roce_packet_parse(&r->w, m, p);
}

static void
packet__vectors_parsed(void **state)
{
	struct rig *r = rig_open();

	for (uint32_t i = 0; i < RTE_DIM(pmv_roce_vectors); i++) {
		uint8_t frame[600];
		uint32_t len = vector_frame(i, frame);
		struct rte_mbuf *m = frame_make(r, frame, len);
		struct pmv_roce_pkt p;

		assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
		assert_int_equal(p.roce.bth.opcode, frame[len - p.ip.payload_len]);
		assert_int_equal(p.payload_off, p.ip.payload_off + p.roce.op->hdr_len);
		assert_int_equal(p.payload_off + p.payload_len + p.roce.bth.padcnt + 4, len);
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

/* Cut in two at every byte and in three around the headers: the same verdict and the same view;
 * each covered bit flipped is found in a chain too. */
static void
packet__chains_parsed(void **state)
{
	struct rig *r = rig_open();

	for (uint32_t i = 0; i < RTE_DIM(pmv_roce_vectors); i++) {
		uint8_t frame[600];
		uint32_t len = vector_frame(i, frame);
		struct pmv_roce_pkt flat, p;
		struct rte_mbuf *m = frame_make(r, frame, len);

		assert_int_equal(judge(r, m, &flat), PMV_WIRE_OK);
		rte_pktmbuf_free(m);
		for (uint32_t cut = 0; cut <= len; cut++) {
			const uint32_t cuts[] = { cut / 2, cut - cut / 2, 0 };

			m = chain_make(r, frame, len, cuts, 3);
			assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
			assert_memory_equal(&p.ip, &flat.ip, sizeof(p.ip));
			assert_memory_equal(&p.roce.bth, &flat.roce.bth, sizeof(p.roce.bth));
			assert_int_equal(p.payload_off, flat.payload_off);
			assert_int_equal(p.payload_len, flat.payload_len);
			assert_memory_equal(
				p.bth, frame + flat.ip.payload_off, flat.roce.op->hdr_len);
			assert_memory_equal(
				p.hdr + p.ip.l3_off, frame + 14, flat.ip.is_v6 ? 40 : 20);
			rte_pktmbuf_free(m);
			frame[len - 1] ^= 1;
			m = chain_make(r, frame, len, cuts, 3);
			assert_int_equal(judge(r, m, &p), PMV_WIRE_ICRC);
			rte_pktmbuf_free(m);
			frame[len - 1] ^= 1;
		}
	}
	rig_close(r);
}

/* A header, user memory attached behind it, and the trailer in a segment of its own: the same
 * bytes. */
static void
noop_free(void *addr, void *arg)
{
}

static void
packet__chains_built(void **state)
{
	struct rig *r = rig_open();
	struct pmv_av av = av_make(addrs[2], addrs[3], 0xc123, 0);
	struct rte_mbuf_ext_shared_info info = { .free_cb = noop_free };
	static uint8_t user[4096];
	struct pmv_roce_hdr h;

	for (uint32_t i = 0; i < sizeof(user); i++)
		user[i] = (uint8_t)(i * 13 + i / 251);
	assert_int_equal(pmv_roce_hdr_init(&h, &r->dev.base, &av, 0x11, 0x12), 0);
	for (uint32_t n = 1020; n <= 1024; n++) {
		const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY,
			.padcnt = pmv_bth_pad(n),
			.pkey = 0xffff,
			.dqpn = 0x12,
			.psn = pmv_psn(n) };
		struct rte_mbuf *m, *seg, *flat;
		uint8_t *p, out[2048];
		struct pmv_roce_pkt pkt;

		p = pmv_roce_packet_begin(&r->w, r->pool, &h, PMV_BTH_LEN, &m);
		pmv_bth_build(p, &bth);
		seg = rte_pktmbuf_alloc(r->pool);
		rte_mbuf_ext_refcnt_set(&info, 1);
		rte_pktmbuf_attach_extbuf(seg, user, 0, sizeof(user), &info);
		seg->data_len = (uint16_t)n;
		seg->pkt_len = n;
		assert_int_equal(rte_pktmbuf_chain(m, seg), 0);
		assert_int_equal(pmv_roce_packet_finish(&r->w, &h, m), 0);
		assert_int_equal(m->nb_segs, 3);
		assert_int_equal(judge(r, m, &pkt), PMV_WIRE_OK);

		p = pmv_roce_packet_begin(&r->w, r->pool, &h, PMV_BTH_LEN, &flat);
		pmv_bth_build(p, &bth);
		memcpy(pmv_roce_packet_payload(flat, n), user, n);
		assert_int_equal(pmv_roce_packet_finish(&r->w, &h, flat), 0);
		assert_int_equal(m->pkt_len, flat->pkt_len);
		assert_memory_equal(rte_pktmbuf_read(m, 0, m->pkt_len, out),
			rte_pktmbuf_mtod(flat, uint8_t *), flat->pkt_len);
		rte_pktmbuf_free(m);
		rte_pktmbuf_free(flat);
	}
	rig_close(r);
}

/* Lengths in every order: the remembered register always belongs to the right one. */
static void
packet__many_lengths(void **state)
{
	struct rig *r = rig_open();
	struct pmv_av av[2] = { av_make(addrs[0], addrs[1], 0, 0xff),
		av_make(addrs[2], addrs[3], 0, 0) };
	struct pmv_roce_hdr h[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_roce_hdr_init(&h[i], &r->dev.base, &av[i], 0x11, 0x12), 0);
	for (uint32_t k = 0; k < 3000; k++) {
		struct pmv_eth_ip ip;
		uint8_t ecn = k < 1000 ? 0 : PMV_IP_ECN_ECT0;
		uint32_t n = k * k * 7 % 301;
		const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY,
			.padcnt = pmv_bth_pad(n),
			.pkey = 0xffff,
			.dqpn = 0x12,
			.psn = pmv_psn(k) };
		struct rte_mbuf *m;
		uint8_t *p;

		if (k == 1000 || k == 1001) {
			assert_int_equal(
				pmv_roce_hdr_init(&h[k & 1], &r->dev.base, &av[k & 1], 0x11, 0x12),
				0);
			pmv_roce_hdr_set_ect(&h[k & 1]);
		}
		p = pmv_roce_packet_begin(&r->w, r->pool, &h[k & 1], PMV_BTH_LEN, &m);
		pmv_bth_build(p, &bth);
		memset(pmv_roce_packet_payload(m, n), (int)k, n);
		assert_int_equal(pmv_roce_packet_finish(&r->w, &h[k & 1], m), 0);
		p = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
		assert_true(pmv_icrc_packet_check(p, k & 1, m->pkt_len - 14));
		/* DSCP kept; the checksum of IPv4 is right */
		assert_int_equal(
			pmv_eth_ip_parse(p - 14, m->data_len, m->pkt_len, &ip), PMV_WIRE_OK);
		assert_int_equal(ip.tos, (k & 1 ? 0 : 0xfc) | ecn);
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

static void
packet__no_room(void **state)
{
	struct rig *r = rig_open();
	struct pmv_av av = av_make(addrs[0], addrs[1], 0, 0);
	struct rte_mbuf *m[NB_FRAMES], *extra;
	struct pmv_roce_hdr h;

	assert_int_equal(pmv_roce_hdr_init(&h, &r->dev.base, &av, 0x11, 0x12), 0);
	for (uint32_t i = 0; i < NB_FRAMES; i++)
		assert_non_null(pmv_roce_packet_begin(&r->w, r->pool, &h, 12, &m[i]));
	assert_null(pmv_roce_packet_begin(&r->w, r->pool, &h, 12, &extra));
	assert_int_equal(r->w.stats.no_mbuf, 1);
	/* 4400 bytes of room: 42 + 12 are taken, 7 are kept for pad and ICRC */
	assert_null(pmv_roce_packet_payload(m[0], 4400 - 42 - 12 - 6));
	assert_null(pmv_roce_packet_payload(m[0], 0x80000000));
	assert_non_null(pmv_roce_packet_payload(m[0], 4400 - 42 - 12 - 7));
	rte_pktmbuf_free_bulk(m, NB_FRAMES);
	/* families differ */
	av.dgid = gid_of(addrs[2]);
	assert_int_equal(pmv_roce_hdr_init(&h, &r->dev.base, &av, 0x11, 0x12), -22);
	rig_close(r);
}

/* In the frame, stripped by the port, none, VID 0, another one, two; for a device with and without.
 */
static void
packet__vlan(void **state)
{
	static const struct {
		int in_frame; /* TCI, -1 none */
		int stripped;
		uint16_t device;
		bool ok;
	} cases[] = {
		{ -1, -1, 0, true },
		{ -1, -1, 5, false },
		{ 0xa000, -1, 0, true },
		{ -1, 0xa000, 0, true },
		{ 0xa000, -1, 5, false },
		{ 5, -1, 5, true },
		{ 0xe005, -1, 5, true },
		{ -1, 0xe005, 5, true },
		{ -1, 5, 0, false },
		{ 5, -1, 0, false },
		{ 6, -1, 5, false },
		{ -1, 6, 5, false },
		{ 5, 5, 5, false },
		{ 0x1005, -1, 5, true },
		{ 5, 0, 5, false },
	};
	struct rig *r = rig_open();

	for (uint32_t c = 0; c < RTE_DIM(cases); c++) {
		for (uint32_t i = 0; i < 2; i++) { /* V1, V2: both families */
			uint8_t plain[600], frame[600];
			uint32_t len = vector_frame(i, plain);
			struct pmv_roce_pkt p;
			struct rte_mbuf *m;

			memcpy(frame, plain, len);
			if (cases[c].in_frame >= 0) {
				memcpy(frame + 16, plain + 12, len - 12);
				pmv_be16_store(frame + 12, 0x8100);
				pmv_be16_store(frame + 14, (uint16_t)cases[c].in_frame);
				len += 4;
			}
			m = frame_make(r, frame, len);
			if (cases[c].stripped >= 0) {
				m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
				m->vlan_tci = (uint16_t)cases[c].stripped;
			} else {
				m->vlan_tci = 5; /* without the flag it says nothing */
			}
			r->dev.base.param.vlan_id = cases[c].device;
			assert_int_equal(judge(r, m, &p), cases[c].ok ? PMV_WIRE_OK : PMV_WIRE_NB);
			if (!cases[c].ok)
				assert_int_equal(p.drop, PMV_ROCE_DROP_VLAN);
			rte_pktmbuf_free(m);
		}
	}
	rig_close(r);
}

/* Built with a tag and a priority, taken back by the same rules. */
static void
packet__vlan_built(void **state)
{
	struct rig *r = rig_open();
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_ACK, .pkey = 0xffff, .dqpn = 0x12 };

	r->dev.base.param.vlan_id = 0x123;
	r->dev.base.param.vlan_pcp = 6;
	for (uint32_t v6 = 0; v6 < 2; v6++) {
		struct pmv_av av = av_make(addrs[v6 * 2], addrs[v6 * 2 + 1], 0, 0);
		struct pmv_roce_hdr h;
		struct pmv_roce_pkt p;
		struct rte_mbuf *m;
		uint8_t *b;

		assert_int_equal(pmv_roce_hdr_init(&h, &r->dev.base, &av, 0x11, 0x12), 0);
		b = pmv_roce_packet_begin(&r->w, r->pool, &h, 16, &m);
		pmv_bth_build(b, &bth);
		memset(b + 12, 0, 4);
		assert_int_equal(pmv_roce_packet_finish(&r->w, &h, m), 0);
		assert_int_equal(pmv_be16_load(rte_pktmbuf_mtod_offset(m, uint8_t *, 14)), 0xc123);
		assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
		assert_int_equal(p.ip.nb_vlan, 1);
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

/* PK-704: 0 or right is accepted, wrong is found, whatever the chain. */
static void
packet__udp_checksum(void **state)
{
	struct rig *r = rig_open();

	for (uint32_t i = 0; i < 6; i++) {
		uint8_t frame[600];
		uint32_t len = vector_frame(i, frame);
		struct pmv_roce_pkt p;
		struct rte_mbuf *m = frame_make(r, frame, len);
		uint32_t csum_off;

		assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
		rte_pktmbuf_free(m);
		packet_udp_csum_redo(frame, &p.ip);
		csum_off = p.ip.l4_off + 6u;
		for (uint32_t cut = 0; cut <= len; cut++) {
			m = chain_make(r, frame, len, &cut, 1);
			assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
			rte_pktmbuf_free(m);
		}
		frame[csum_off] ^= 0x10;
		m = frame_make(r, frame, len);
		assert_int_equal(judge(r, m, &p), PMV_WIRE_UDP_CSUM);
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

/* Padding behind the packet is no part of it. */
static void
packet__ethernet_padding(void **state)
{
	struct rig *r = rig_open();
	uint8_t frame[700];
	uint32_t len = vector_frame(4, frame);

	memset(frame + len, 0x77, 64);
	for (uint32_t pad = 0; pad < 64; pad++) {
		const uint32_t cuts[] = { len };
		struct rte_mbuf *m = frame_make(r, frame, len + pad);
		struct pmv_roce_pkt p;

		assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
		assert_int_equal(p.payload_len, 0);
		rte_pktmbuf_free(m);
		m = chain_make(r, frame, len + pad, cuts, 1);
		assert_int_equal(judge(r, m, &p), PMV_WIRE_OK);
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

/* IBTA vol. 1, 10.9.3; destinations that are not ours. ICRC right. */
static void
packet__refused(void **state)
{
	static const struct {
		uint16_t pkey;
		bool ok;
	} keys[] = { { 0xffff, true }, { 0x7fff, true }, { 0x8001, false }, { 0x0001, false },
		{ 0x0000, false }, { 0x8000, false }, { 0x7ffe, false } };
	struct rig *r = rig_open();
	uint8_t frame[600];
	uint32_t len = vector_frame(0, frame);
	struct pmv_roce_pkt p;
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < RTE_DIM(keys); i++) {
		pmv_be16_store(frame + 42 + 2, keys[i].pkey);
		pmv_icrc_packet_store(frame + 14, false, len - 14 - 4);
		m = frame_make(r, frame, len);
		assert_int_equal(judge(r, m, &p), keys[i].ok ? PMV_WIRE_OK : PMV_WIRE_NB);
		if (!keys[i].ok)
			assert_int_equal(p.drop, PMV_ROCE_DROP_PKEY);
		rte_pktmbuf_free(m);
	}
	len = vector_frame(0, frame);
	for (uint32_t last = 0; last < 256; last++) { /* PK-708 (a) */
		frame[14 + 19] = (uint8_t)last;
		packet_ipv4_csum_redo(frame + 14);
		pmv_icrc_packet_store(frame + 14, false, len - 14 - 4);
		m = frame_make(r, frame, len);
		assert_int_equal(
			judge(r, m, &p), last == 1 || last == 2 ? PMV_WIRE_OK : PMV_WIRE_NB);
		if (last > 2)
			assert_int_equal(p.drop, PMV_ROCE_DROP_DEST_ADDR);
		rte_pktmbuf_free(m);
	}
	frame[14 + 16] = 239;
	packet_ipv4_csum_redo(frame + 14);
	pmv_icrc_packet_store(frame + 14, false, len - 14 - 4);
	m = frame_make(r, frame, len);
	assert_int_equal(judge(r, m, &p), PMV_WIRE_NB);
	assert_int_equal(p.drop, PMV_ROCE_DROP_MCAST);
	rte_pktmbuf_free(m);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet__vectors_built),
		cmocka_unit_test(packet__vectors_parsed),
		cmocka_unit_test(packet__chains_parsed),
		cmocka_unit_test(packet__chains_built),
		cmocka_unit_test(packet__many_lengths),
		cmocka_unit_test(packet__no_room),
		cmocka_unit_test(packet__vlan),
		cmocka_unit_test(packet__vlan_built),
		cmocka_unit_test(packet__udp_checksum),
		cmocka_unit_test(packet__ethernet_padding),
		cmocka_unit_test(packet__refused),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
