// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/rx (and stats): every frame that is not for a QP, or that its QP must not see, is
 * dropped under exactly one counter, given away, or handed back; nothing else changes.
 */
#include "drivers/roce/rx.h"

#include <errno.h>

#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param plain;

/* What must not move: the responder's and requester's places of node 1's RC QP. */
static void
untouched(struct rig *r)
{
	const struct pmv_roce_qp *qp = pmv_roce_qp(r->rc[1]);
	struct pmv_qp_attr attr;
	struct pmv_qp_init_attr init;
	struct pmv_wc wc;

	assert_int_equal(qp->base.state, PMV_QPS_RTS);
	assert_int_equal(pmv_query_qp(r->rc[1], &attr, &init), 0);
	assert_int_equal(attr.rq_psn, 0xfffff8);
	assert_int_equal(attr.sq_psn, 0x123456);
	assert_int_equal(pmv_poll_cq(r->pair.node[1].cq[0], &wc, 1), 0);
	for (uint32_t i = 0; i < RIG_MEM; i++)
		assert_int_equal(r->mem[1][i], 0xa5);
}

/* A WRITE ONLY that would be executed if it were let through. */
static struct rig_frame
write_frame(struct rig *r)
{
	struct rig_frame f = rig_frame(PMV_OPCODE_RC_WRITE_ONLY, r->rc[1]->qpn, 0xfffff8);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1], pmv_mr_rkey(r->mr[1]), 8 };

	pmv_reth_build(f.ext, &reth);
	f.payload = 8;
	return f;
}

static struct rig_frame
ud_frame(struct rig *r, uint32_t qkey)
{
	struct rig_frame f = rig_frame(PMV_OPCODE_UD_SEND_ONLY, r->ud[1]->qpn, 0);
	const struct pmv_deth deth = { qkey, 0x77 };

	pmv_deth_build(f.ext, &deth);
	f.payload = 16;
	return f;
}

/* The frame the others differ from is a good one. */
static void
rx__good_frame(void **state)
{
	struct rig *r = rig_open(&plain);
	struct rig_frame f = write_frame(r);

	rig_expect(r, &f, NULL);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(r->mem[1][i], i);
	rig_close(r);
}

/* PK-701: UDP payloads 0..80 of several opcodes, the UDP and IP lengths following; ICRC right. */
static void
rx__cut_payloads(void **state)
{
	static const uint8_t opcodes[] = { 0x04, 0x0a, 0x0c, 0x11, 0x64 };
	struct rig *r = rig_open(&plain);

	for (size_t o = 0; o < sizeof(opcodes); o++) {
		for (uint32_t n = 0; n <= 80; n++) {
			struct rig_frame f = rig_frame(opcodes[o], 0x123456, 0);
			uint32_t hdr = pmv_opcode_table[opcodes[o]].hdr_len;
			const char *name = "rx_drop_qpn";
			uint8_t bytes[256];

			f.payload = 100;
			rig_frame_write(&f, bytes);
			pmv_be16_store(bytes + 16, (uint16_t)(28 + n));
			pmv_be16_store(bytes + 38, (uint16_t)(8 + n));
			/* redo the sums */
			pmv_be16_store(bytes + 24, 0);
			uint32_t sum = 0;

			for (int i = 0; i < 20; i += 2)
				sum += pmv_be16_load(bytes + 14 + i);
			sum = (sum & 0xffff) + (sum >> 16);
			pmv_be16_store(bytes + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
			if (n >= 16)
				pmv_icrc_packet_store(bytes + 14, false, 28 + n - 4);
			if (n < 16 || n < hdr + 4)
				name = "rx_drop_roce_short";
			else if (pmv_opcode_table[opcodes[o]].payload == PMV_OPPAY_NONE &&
				 n > hdr + 4)
				name = "rx_drop_payload";
			else if ((n - hdr - 4) % 4 != 0)
				name = "rx_drop_pad";
			rig_expect_drop(r, 1, bytes, 42 + n, name);
			/* behind a frame that is cut off: never read */
			if (n > 0)
				rig_expect_drop(r, 1, bytes, 42 + n - 1, "rx_drop_ip_len");
		}
	}
	untouched(r);
	rig_close(r);
}

/* PK-701: every prefix of a good frame; its own length fields stay. */
static void
rx__truncated(void **state)
{
	struct rig *r = rig_open(&plain);

	for (uint32_t v6 = 0; v6 < 2; v6++) {
		struct rig_frame f = write_frame(r);
		uint8_t bytes[256];
		uint32_t len;

		f.is_v6 = v6;
		len = rig_frame_write(&f, bytes);
		for (uint32_t n = 1; n < len; n++) {
			uint32_t hdrs = v6 ? 62 : 42;

			rig_expect_drop(r, 1, bytes, n,
				n < hdrs ? "rx_drop_frame_short" : "rx_drop_ip_len");
		}
	}
	untouched(r);
	rig_close(r);
}

/* PK-702: no PadCnt makes a payload of nothing. */
static void
rx__pad_without_payload(void **state)
{
	struct rig *r = rig_open(&plain);

	for (uint32_t op = 0; op < 256; op++) {
		const struct pmv_opcode_info *info = &pmv_opcode_table[op];

		if (info->opclass == PMV_OPCLASS_NONE)
			continue;
		for (uint8_t pad = 1; pad < 4; pad++) {
			struct rig_frame f = rig_frame((uint8_t)op, 0x123456, 0);
			uint8_t bytes[256];
			uint32_t len;

			len = rig_frame_write(&f, bytes);
			bytes[43] = (uint8_t)(bytes[43] | pad << 4); /* PadCnt, lengths unchanged */
			pmv_icrc_packet_store(bytes + 14, false, len - 14 - 4);
			rig_expect_drop(r, 1, bytes, len, "rx_drop_roce_short");
		}
	}
	untouched(r);
	rig_close(r);
}

/* PK-703: all opcodes to an RC, a UD, an unknown QP and QP 1, with good and bad ICRC. */
static void
rx__all_opcodes(void **state)
{
	struct rig *r = rig_open(&plain);

	for (uint32_t op = 0; op < 256; op++) {
		const struct pmv_opcode_info *info = &pmv_opcode_table[op];
		struct rig_frame f = rig_frame((uint8_t)op, r->rc[1]->qpn, 0);
		const char *served = NULL;
		uint8_t bytes[256];
		uint32_t len;

		f.payload = info->payload == PMV_OPPAY_NONE ? 0 : 16;
		f.payload = info->payload == PMV_OPPAY_EIGHT ? 8 : f.payload;
		if (info->opclass == PMV_OPCLASS_NONE)
			served = "rx_drop_opcode";
		else if (info->opclass == PMV_OPCLASS_CNP) /* of a connected QP, if it reacts */
			served = "rx_drop_cnp_unasked";
		/* bad ICRC first: never further than that */
		len = rig_frame_write(&f, bytes);
		bytes[len - 1] ^= 0x40;
		rig_expect_drop(r, 1, bytes, len,
			info->opclass == PMV_OPCLASS_NONE ? "rx_drop_opcode" : "rx_drop_icrc");
		if (info->opclass !=
			PMV_OPCLASS_RC) /* RC ones are the responder's and completer's */
			rig_expect(r, &f, served != NULL ? served : "rx_drop_qp_class");
		f.bth.dqpn = r->ud[1]->qpn;
		if (info->opclass != PMV_OPCLASS_UD)
			rig_expect(r, &f,
				info->opclass == PMV_OPCLASS_NONE ? "rx_drop_opcode"
								  : "rx_drop_qp_class");
		f.bth.dqpn = r->uc[1]->qpn;
		if (info->opclass != PMV_OPCLASS_UC)
			rig_expect(r, &f, served != NULL ? served : "rx_drop_qp_class");
		f.bth.dqpn = PMV_QPN_GSI;
		if (info->opclass != PMV_OPCLASS_UD)
			rig_expect(r, &f,
				info->opclass == PMV_OPCLASS_NONE ? "rx_drop_opcode"
								  : "rx_drop_qp_class");
		served = info->opclass == PMV_OPCLASS_NONE ? "rx_drop_opcode" : "rx_drop_qpn";
		f.bth.dqpn = PMV_QPN_MULTICAST; /* with a unicast address */
		rig_expect(r, &f, served);
		f.bth.dqpn = 0;
		rig_expect(r, &f, served);
		f.bth.tver = 1;
		rig_expect(r, &f,
			info->opclass == PMV_OPCLASS_NONE ? "rx_drop_opcode" : "rx_drop_tver");
	}
	untouched(r);
	rig_close(r);
}

/* PK-705: only the QPN's own bits make the QPN. */
static void
rx__qpn_bits(void **state)
{
	static const uint32_t qpns[] = { 0x000002, 0x00ffff, 0x555555, 0xaaaaaa, 0x800000,
		0xfffffe };
	static const uint8_t marks[] = { 0x00, 0x3f, 0x40, 0x80, 0xff };
	struct rig *r = rig_open(&plain);

	for (size_t i = 0; i < sizeof(qpns) / sizeof(qpns[0]); i++) {
		struct rig_frame f = rig_frame(PMV_OPCODE_RC_SEND_ONLY, qpns[i], 0);

		rig_expect(r, &f, "rx_drop_qpn");
	}
	for (size_t i = 0; i < sizeof(marks); i++) {
		struct rig_frame f = write_frame(r);
		uint8_t bytes[256];
		uint32_t len;

		f.bth.psn = pmv_psn_add(f.bth.psn, (uint32_t)i);
		len = rig_frame_write(&f, bytes);
		bytes[42 + 4] = marks[i];
		bytes[42 + 8] |= 0x7f; /* reserved, but under the ICRC */
		pmv_icrc_packet_store(bytes + 14, false, len - 14 - 4);
		memset(r->mem[1], 0xa5, 16);
		rig_expect_drop(r, 1, bytes, len, NULL);
		assert_int_equal(r->mem[1][7], 7);
	}
	rig_close(r);
}

/* PK-708 (a) to (d), both families; a QP of the other family. */
static void
rx__addresses(void **state)
{
	struct rig *r = rig_open(&plain);
	struct rig_frame f = write_frame(r);

	f.dst = 99;
	rig_expect(r, &f, "rx_drop_dest_addr");
	f.is_v6 = true;
	rig_expect(r, &f, "rx_drop_dest_addr");
	f.dst = 0;
	rig_expect(r, &f, "rx_drop_peer_addr");
	f.is_v6 = false;
	f.src = 77;
	rig_expect(r, &f, "rx_drop_peer_addr");
	untouched(r);
	f = ud_frame(r, RIG_QKEY);
	f.src = 77;
	rig_expect(r, &f, "rx_drop_ud_no_recv"); /* everything else was right */
	f.is_v6 = true;
	rig_expect(r, &f, "rx_drop_ud_no_recv");
	rig_close(r);
}

/* Requests from RTR on, responses from RTS on, nothing in ERR. */
static void
rx__states(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_ERR };
	struct rig_frame req = write_frame(r);
	struct rig_frame resp = rig_frame(PMV_OPCODE_RC_ACK, r->rc[1]->qpn, 5);
	struct rig_frame ud = ud_frame(r, RIG_QKEY);

	for (enum pmv_qp_state s = PMV_QPS_RESET; s <= PMV_QPS_INIT; s++) {
		r->rc[1]->state = (uint8_t)s;
		r->ud[1]->state = (uint8_t)s;
		rig_expect(r, &req, "rx_drop_qp_state");
		rig_expect(r, &resp, "rx_drop_qp_state");
		rig_expect(r, &ud, "rx_drop_qp_state");
	}
	r->rc[1]->state = PMV_QPS_RTR;
	rig_expect(r, &resp, "rx_drop_qp_state");
	r->rc[1]->state = PMV_QPS_RTS;
	r->ud[1]->state = PMV_QPS_RTS;
	untouched(r);
	rig_expect(r, &resp, "rx_drop_resp_stale"); /* it reached the completer */
	assert_int_equal(pmv_modify_qp(r->rc[1], &attr, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(r->ud[1], &attr, PMV_QP_STATE), 0);
	rig_expect(r, &req, "rx_drop_qp_state");
	rig_expect(r, &resp, "rx_drop_qp_state");
	rig_expect(r, &ud, "rx_drop_qp_state");
	rig_close(r);
}

/* A destroyed QP is unknown at once. */
static void
rx__destroyed(void **state)
{
	struct rig *r = rig_open(&plain);
	struct rig_frame f = write_frame(r);

	assert_int_equal(pmv_destroy_qp(r->rc[1]), 0);
	rig_expect(r, &f, "rx_drop_qpn");
	r->rc[1] = pmv_test_qp_create(&r->pair.node[1], 0, PMV_QPT_RC);
	rig_expect(r, &f, "rx_drop_qpn");
	rig_close(r);
}

/* Frames for the control lcore, recorded. */
static struct rte_mbuf *ctl_frame[8];
static uint32_t nb_ctl;

static void
record_ctl(struct pmv_worker *w, struct rte_mbuf *m)
{
	assert_in_range(nb_ctl, 0, 7);
	ctl_frame[nb_ctl++] = m;
}

static void
no_handover(struct pmv_worker *w, uint16_t target, struct rte_mbuf *m)
{
	fail_msg("handed over to %u", target);
}

static const struct pmv_host_ops recorder = { record_ctl, no_handover };

enum belongs { CTL, FOREIGN, BOTH, ECHO };

/* Hands a frame in; says whether it came back, and what the control lcore got. */
static void
sort_one(struct rig *r, const uint8_t *bytes, uint32_t len, bool want_ctl, bool want_foreign)
{
	struct pmv_worker *w = r->pair.node[1].worker[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pair.link->pool);
	struct rte_mbuf *foreign = NULL;
	uint32_t nb;

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	nb_ctl = 0;
	rig_stats_mark(r, 1);
	nb = pmv_worker_input(w, &m, 1, &foreign);
	assert_int_equal(nb, want_foreign);
	assert_int_equal(nb_ctl, want_ctl);
	if (nb == 1) {
		assert_ptr_equal(foreign, m);
		assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), bytes, len);
		rte_pktmbuf_free(m);
	}
	if (nb_ctl == 1) {
		assert_int_equal(ctl_frame[0]->pkt_len, len);
		assert_memory_equal(rte_pktmbuf_mtod(ctl_frame[0], uint8_t *), bytes, len);
		if (nb == 0)
			rte_pktmbuf_free(ctl_frame[0]);
		else if (ctl_frame[0] != foreign)
			rte_pktmbuf_free(ctl_frame[0]);
		else
			fail_msg("one frame was given to two");
	}
	rig_stats_expect(r, 1, NULL, 0);
}

/* IPv4 or IPv6 frame of a protocol with a first payload byte. */
static uint32_t
ip_frame(uint8_t *p, bool v6, uint8_t proto, uint8_t first, uint8_t dst)
{
	static const uint8_t v6_dst[16] = { 0xfd };

	memset(p, 0, 100);
	pmv_be16_store(p + 12, v6 ? 0x86dd : 0x0800);
	if (v6) {
		p[14] = 0x60;
		pmv_be16_store(p + 18, 46);
		p[20] = proto;
		memcpy(p + 38, v6_dst, 16);
		p[53] = dst;
		p[54] = first;
		return 100;
	}
	p[14] = 0x45;
	pmv_be16_store(p + 16, 86);
	p[23] = proto;
	p[30] = 192, p[31] = 168, p[32] = 10, p[33] = dst;
	p[34] = first;
	return 100;
}

static uint32_t
mld_frame(uint8_t *p, uint8_t type)
{
	uint32_t len = ip_frame(p, true, 0, 58, 2); /* hop-by-hop, then ICMPv6 */

	p[55] = 0;
	p[62] = type;
	return len;
}

static void
sort_all(struct rig *r, bool own, bool cm)
{
	uint8_t b[128];
	uint32_t len;

	memset(b, 0, sizeof(b));
	pmv_be16_store(b + 12, PMV_ETHERTYPE_ARP);
	sort_one(r, b, 60, cm, !own || !cm);
	pmv_be16_store(b + 12, 0x88cc);
	sort_one(r, b, 60, false, true);
	pmv_be16_store(b + 12, 0x8100); /* ARP on a VLAN that is not ours */
	pmv_be16_store(b + 14, 7);
	pmv_be16_store(b + 16, PMV_ETHERTYPE_ARP);
	sort_one(r, b, 60, false, true);
	for (uint32_t type = 0; type < 256; type++) {
		bool nd = type >= 133 && type <= 137;
		bool mld = (type >= 130 && type <= 132) || type == 143;
		bool echo = type == 128;

		len = ip_frame(b, true, 58, (uint8_t)type, 2);
		sort_one(r, b, len, cm && (own ? nd || mld || echo : nd),
			!(cm && own && (nd || mld || echo)));
		len = ip_frame(b, true, 58, (uint8_t)type, 9); /* not to us */
		sort_one(r, b, len, cm && (own ? nd || mld : nd), !(cm && own && (nd || mld)));
		len = mld_frame(b, (uint8_t)type);
		sort_one(r, b, len, cm && (own ? nd || mld || echo : nd),
			!(cm && own && (nd || mld || echo)));
		len = ip_frame(b, false, 1, (uint8_t)type, 2);
		sort_one(r, b, len, cm && own && type == 8, !(cm && own && type == 8));
		len = ip_frame(b, false, 1, (uint8_t)type, 9);
		sort_one(r, b, len, false, true);
	}
	len = ip_frame(b, false, 2, 0x11, 9); /* IGMP */
	sort_one(r, b, len, cm && own, !(cm && own));
	len = ip_frame(b, false, 6, 0, 2); /* TCP */
	sort_one(r, b, len, false, true);
	len = ip_frame(b, false, 17, 0, 2); /* UDP, another port */
	sort_one(r, b, len, false, true);
	len = ip_frame(b, true, 43, 59, 2); /* routing header */
	sort_one(r, b, len, false, true);
	len = ip_frame(b, true, 0, 58, 2); /* hop-by-hop that goes on behind the frame */
	b[55] = 255;
	sort_one(r, b, len, false, true);
}

static void
rx__sorts_frames(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 1);
	const struct pmv_host_ops *host = w->base.host;
	struct pmv_ctl_channel *ctl = (struct pmv_ctl_channel *)r;

	w->base.host = &recorder;
	for (int cm = 0; cm < 2; cm++) {
		for (int own = 0; own < 2; own++) {
			w->base.device->ctl = cm ? ctl : NULL;
			w->base.device->param.ownership = own ? PMV_ADDR_OWN : PMV_ADDR_SHARED;
			sort_all(r, own, cm);
		}
	}
	/* QP 1's datagrams in any ownership */
	for (int own = 0; own < 2; own++) {
		struct rig_frame f = rig_frame(PMV_OPCODE_UD_SEND_ONLY, PMV_QPN_GSI, 0);
		uint8_t bytes[512];
		uint32_t len;

		w->base.device->param.ownership = own ? PMV_ADDR_OWN : PMV_ADDR_SHARED;
		f.payload = 256;
		len = rig_frame_write(&f, bytes);
		sort_one(r, bytes, len, true, false);
	}
	w->base.device->ctl = NULL;
	w->base.device->param.ownership = PMV_ADDR_OWN;
	w->base.host = host;
	rig_close(r);
}

/* The order of foreign frames, and good ones between them. */
static void
rx__mixed_burst(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_worker *w = r->pair.node[1].worker[0];
	struct rte_mbuf *m[100], *foreign[100];
	uint8_t good[256], other[64] = { [12] = 0x88, [13] = 0xcc };
	uint32_t nb_want = 0;

	for (uint32_t i = 0; i < 100; i++) {
		struct rig_frame f = write_frame(r);

		f.bth.psn = pmv_psn_add(f.bth.psn, i - nb_want);
		m[i] = rte_pktmbuf_alloc(r->pair.link->pool);
		assert_non_null(m[i]);
		if (i % 3 == 1) {
			other[20] = (uint8_t)nb_want++;
			memcpy(rte_pktmbuf_append(m[i], 64), other, 64);
		} else {
			uint32_t len = rig_frame_write(&f, good);

			memcpy(rte_pktmbuf_append(m[i], (uint16_t)len), good, len);
		}
	}
	rig_stats_mark(r, 1);
	assert_int_equal(pmv_worker_input(w, m, 100, foreign), nb_want);
	rig_stats_expect(r, 1, NULL, 0);
	for (uint32_t i = 0; i < nb_want; i++)
		assert_int_equal(rte_pktmbuf_mtod(foreign[i], uint8_t *)[20], i);
	rte_pktmbuf_free_bulk(foreign, nb_want);
	assert_int_equal(pmv_roce_qp(r->rc[1])->resp.epsn.v, (0xfffff8 + 100 - nb_want) & 0xffffff);
	/* the same through the port: nobody to give them to */
	rig_stats_mark(r, 1);
	pmv_test_link_inject(r->pair.link, 1, other, 64);
	pmv_worker_poll_at(w, r->pair.now);
	rig_stats_expect(r, 1, "rx_drop_foreign", 1);
	rig_close(r);
}

/* Two workers: a frame that came to the wrong one finds its QP all the same. */
static void
rx__handover(void **state)
{
	const struct pmv_test_pair_param two = { .nb_workers = 2 };
	struct rig *r = rig_open(&two);
	struct pmv_test_node *n = &r->pair.node[1];
	struct pmv_qp *a = pmv_test_qp_create(&r->pair.node[0], 1, PMV_QPT_RC);
	struct pmv_qp *b = pmv_test_qp_create(n, 1, PMV_QPT_RC);
	struct pmv_sge sge = { (uintptr_t)r->mem[0], 4096, pmv_mr_lkey(r->mr[0]) };
	struct pmv_send_wr wr = { .wr_id = 5,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };
	struct pmv_wc wc;

	assert_int_equal(pmv_qp_num(b) >> 23, 1);
	pmv_test_qp_connect(&r->pair, a, b, true, PMV_MTU_1024, NULL);
	for (uint32_t i = 0; i < 4096; i++)
		r->mem[0][i] = (uint8_t)(i * 3);
	wr.wr.rdma.remote_addr = (uintptr_t)r->mem[1] + 8;
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	/* the link delivers to queue 0, so all of it crosses */
	rig_stats_mark(r, 1);
	assert_int_equal(pmv_post_send(a, &wr, 1), 1);
	rig_run(r, 200);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[1], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_memory_equal(r->mem[1] + 8, r->mem[0], 4096);
	rig_stats_expect(r, 1, "rx_handover", 4);
	/* a QPN of a worker that has no such QP: dropped there, not sent back */
	struct rig_frame f = rig_frame(PMV_OPCODE_RC_SEND_ONLY, pmv_qp_num(b) ^ 1, 0);
	uint8_t bytes[256];
	uint32_t len = rig_frame_write(&f, bytes);
	uint64_t before = pmv_worker_stat(n->worker[1], "rx_drop_qpn");

	pmv_test_link_inject(r->pair.link, 1, bytes, len);
	rig_run(r, 20);
	assert_int_equal(pmv_worker_stat(n->worker[1], "rx_drop_qpn"), before + 1);
	assert_int_equal(pmv_destroy_qp(a), 0);
	assert_int_equal(pmv_destroy_qp(b), 0);
	rig_close(r);
}

/* Each counter has a name of its own, and every verdict and reason is among them. */
static void
stats__names(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_roce_worker *w = rig_worker(r, 1);
	struct pmv_stat s[RIG_STATS_MAX];
	uint32_t nb = pmv_roce_worker_stats(&w->base, NULL, 0);
	const size_t nb_words = sizeof(w->stats) / sizeof(uint64_t);
	struct pmv_roce_stats saved = w->stats;

	assert_in_range(nb, 1, RIG_STATS_MAX);
	assert_int_equal(pmv_roce_worker_stats(&w->base, s, 3), nb);
	for (uint64_t i = 0; i < nb_words; i++)
		((uint64_t *)&w->stats)[i] = 1000 + i;
	assert_int_equal(pmv_roce_worker_stats(&w->base, s, nb), nb);
	for (uint32_t i = 0; i < nb; i++) {
		for (uint32_t k = 0; k < i; k++) {
			assert_string_not_equal(s[i].name, s[k].name);
			assert_int_not_equal(s[i].value, s[k].value);
		}
		assert_in_range(s[i].value, 1000, 1000 + nb_words - 1);
	}
	for (uint32_t v = PMV_WIRE_FRAME_SHORT; v <= PMV_WIRE_ICRC; v++) {
		char want[64];
		bool found = false;

		snprintf(want, sizeof(want), "rx_drop_%s",
			pmv_wire_verdict_name((enum pmv_wire_verdict)v));
		for (uint32_t i = 0; i < nb; i++)
			found = found ||
				(strcmp(s[i].name, want) == 0 && s[i].value == w->stats.verdict[v]);
		if (!found)
			fail_msg("no counter %s", want);
	}
	for (uint32_t d = 0; d < PMV_ROCE_DROP_NB; d++) {
		bool found = false;

		for (uint32_t i = 0; i < nb; i++)
			found = found || s[i].value == w->stats.drop[d];
		assert_true(found);
	}
	w->stats = saved;
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__good_frame),
		cmocka_unit_test(rx__cut_payloads),
		cmocka_unit_test(rx__truncated),
		cmocka_unit_test(rx__pad_without_payload),
		cmocka_unit_test(rx__all_opcodes),
		cmocka_unit_test(rx__qpn_bits),
		cmocka_unit_test(rx__addresses),
		cmocka_unit_test(rx__states),
		cmocka_unit_test(rx__destroyed),
		cmocka_unit_test(rx__sorts_frames),
		cmocka_unit_test(rx__mixed_burst),
		cmocka_unit_test(rx__handover),
		cmocka_unit_test(stats__names),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
