// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bad frames pushed into a live node: a table of them, each dropped with exactly one counter up by
 * one, no answer, and nothing of the QP changed; one flipped bit in every byte; and every opcode at
 * every short length against every kind of QP. Frames lie in memory of exactly their length, so
 * that a sanitizer sees a read past the end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define QKEY 0x11223344u

/* Node 1 is the one under test; node 0 only lends its addresses. */
struct lab {
	struct rc_lab rc;
	struct pmv_worker *w;
	struct pmv_qp *ud;
	struct craft_path path;
	uint32_t nb_accepted; /* SENDs executed */
	struct pmv_random random;
	bool is_v6;
};

static struct lab *
open_lab(bool is_v6)
{
	const struct rc_lab_param param = { .is_v6 = is_v6, .mtu = PMV_MTU_256 };
	struct lab *lab = test_calloc(1, sizeof(*lab));

	rc_lab_open(&lab->rc, &param);
	lab->w = lab->rc.pair.node[1].worker[0];
	lab->ud = pmv_test_qp_create(&lab->rc.pair.node[1], 0, PMV_QPT_UD);
	pmv_test_qp_ud_rts(lab->ud, QKEY, 0);
	craft_path_get(&lab->rc.pair, 1, is_v6, 0, &lab->path);
	lab->is_v6 = is_v6;
	pmv_random_init(&lab->random, 17);
	return lab;
}

static void
close_lab(struct lab *lab)
{
	assert_int_equal(pmv_destroy_qp(lab->ud), 0);
	rc_lab_close(&lab->rc);
	test_free(lab);
}

static void
recv_one(struct lab *lab, struct pmv_qp *qp)
{
	const struct pmv_sge sge = { (uintptr_t)lab->rc.mem[1], 1024, pmv_mr_lkey(lab->rc.mr[1]) };
	const struct pmv_recv_wr wr = { 1, &sge, 1 };

	assert_int_equal(pmv_post_recv(qp, &wr, 1), 1);
}

static uint32_t
epsn(struct lab *lab)
{
	struct pmv_qp_attr attr;

	assert_int_equal(pmv_query_qp(lab->rc.qp[1], &attr, NULL), 0);
	return attr.rq_psn;
}

/* A right SEND_ONLY of 16 bytes for the RC QP, in sequence. */
static void
good(struct lab *lab, struct craft *c)
{
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->rc.qp[1]),
		.ackreq = true,
		.psn = pmv_psn(epsn(lab)) };

	craft_begin(c, &lab->path, &bth);
	craft_put(c, "0123456789abcdef", 16);
	craft_end(c);
}

/* The same for the UD QP. */
static void
good_ud(struct lab *lab, struct craft *c)
{
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_UD_SEND_ONLY,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->ud),
		.psn = pmv_psn(0x55) };

	craft_begin(c, &lab->path, &bth);
	craft_put_deth(c, QKEY, 0x77);
	craft_put(c, "0123456789abcdef", 16);
	craft_end(c);
}

/* Hands a frame in. True: it came back as foreign. */
static bool
input(struct lab *lab, struct rte_mbuf *m)
{
	struct rte_mbuf *foreign;
	bool is_foreign = pmv_worker_input(lab->w, &m, 1, &foreign) == 1;

	if (is_foreign) {
		assert_ptr_equal(foreign, m);
		rte_pktmbuf_free(m);
	}
	pmv_worker_flush(lab->w);
	return is_foreign;
}

static uint32_t
wcs(struct lab *lab)
{
	struct pmv_wc wc[16];
	uint32_t nb = pmv_poll_cq(lab->rc.pair.node[1].cq[0], wc, 16);

	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
	return nb;
}

/* Dropped under `name`: one counter, by one; no answer, no completion, no change. Flat and as
 * chains. `name` NULL: foreign, nothing counted but perhaps rx_fragment_later. */
static void
refused(struct lab *lab, const struct craft *c, const char *name)
{
	const uint32_t cuts[4][2] = { { 0, 0 }, { 20, 0 }, { 50, 60 }, { c->len - 1, 0 } };
	uint32_t psn = epsn(lab);

	for (int i = 0; i < 4; i++) {
		struct craft_stats before, after;
		bool foreign;

		craft_stats_take(lab->w, &before);
		foreign =
			input(lab, craft_mbuf(lab->rc.pair.link->pool, c, cuts[i][0], cuts[i][1]));
		craft_stats_take(lab->w, &after);
		if (strcmp(craft_stats_drop(&before, &after), name != NULL ? name : "") != 0)
			print_error("want %s\n", name != NULL ? name : "foreign");
		assert_string_equal(craft_stats_drop(&before, &after), name != NULL ? name : "");
		assert_int_equal(foreign, name == NULL || strcmp(name, "rx_fragment_later") == 0);
		assert_int_equal(craft_stats_delta(&before, &after, "tx_frames"), 0);
		assert_int_equal(epsn(lab), psn);
		assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
		assert_int_equal(pmv_qp_get_state(lab->ud), PMV_QPS_RTS);
		assert_int_equal(wcs(lab), 0);
	}
}

/* Executed: a completion, nothing counted as dropped; RC: an ACK, the next PSN. */
static void
accepted(struct lab *lab, const struct craft *c, bool is_ud)
{
	const uint32_t psn = epsn(lab);
	struct craft_stats before, after;

	recv_one(lab, is_ud ? lab->ud : lab->rc.qp[1]);
	craft_stats_take(lab->w, &before);
	assert_false(input(lab, craft_mbuf(lab->rc.pair.link->pool, c, 0, 0)));
	craft_stats_take(lab->w, &after);
	assert_string_equal(craft_stats_drop(&before, &after), "");
	assert_int_equal(wcs(lab), 1);
	assert_int_equal(craft_stats_delta(&before, &after, "tx_frames"), !is_ud);
	assert_int_equal(epsn(lab), (psn + !is_ud) & 0xffffff);
	lab->nb_accepted++;
}

/* IPv4 header fields: offset in it, value, what it is dropped as. */
static void
bad_ipv4(struct lab *lab)
{
	static const struct {
		uint32_t off;
		uint32_t bytes; /* 1 or 2 */
		uint32_t value;
		bool seal; /* checksum redone */
		const char *name;
	} rows[] = {
		{ 0, 1, 0x55, true, "rx_drop_ip_version" },
		{ 0, 1, 0x65, true, "rx_drop_ip_version" },
		{ 0, 1, 0x44, true, "rx_drop_ip_version" },
		{ 0, 1, 0x40, true, "rx_drop_ip_version" },
		{ 2, 2, 0, true, "rx_drop_ip_len" },
		{ 2, 2, 19, true, "rx_drop_ip_len" },
		{ 2, 2, 20, true, "rx_drop_udp_len" },
		{ 2, 2, 27, true, "rx_drop_udp_len" },
		{ 2, 2, 59, true, "rx_drop_udp_len" },
		{ 2, 2, 61, true, "rx_drop_ip_len" },
		{ 2, 2, 0xffff, true, "rx_drop_ip_len" },
		{ 4, 2, 0x1234, false, "rx_drop_ip_csum" },
		{ 4, 2, 0x1234, true, "rx_drop_icrc" },
		{ 6, 2, 0x2000, true, "rx_drop_fragment" },
		{ 6, 2, 0x0001, true, "rx_fragment_later" },
		{ 6, 2, 0x3fff, true, "rx_fragment_later" },
		{ 9, 1, 6, true, NULL },  /* TCP */
		{ 9, 1, 89, true, NULL }, /* OSPF */
		{ 10, 2, 0, false, "rx_drop_ip_csum" },
		{ 10, 2, 0xffff, false, "rx_drop_ip_csum" },
		{ 15, 1, 3, true, "rx_drop_icrc" },
		{ 19, 1, 99, true, "rx_drop_icrc" },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct craft c;

		good(lab, &c);
		if (rows[i].bytes == 2)
			pmv_be16_store(c.bytes + c.l3 + rows[i].off, (uint16_t)rows[i].value);
		else
			c.bytes[c.l3 + rows[i].off] = (uint8_t)rows[i].value;
		if (rows[i].seal)
			craft_seal_ip(&c);
		refused(lab, &c, rows[i].name);
	}
}

static void
bad_ipv6(struct lab *lab)
{
	static const struct {
		uint32_t off;
		uint8_t value;
		const char *name;
	} rows[] = {
		{ 0, 0x50, "rx_drop_ip_version" },
		{ 0, 0x40, "rx_drop_ip_version" },
		{ 4, 1, "rx_drop_ip_len" },
		{ 5, 0, "rx_drop_udp_len" },
		{ 5, 7, "rx_drop_udp_len" },
		{ 5, 39, "rx_drop_udp_len" },
		{ 5, 41, "rx_drop_ip_len" },
		{ 6, 6, NULL },
		{ 6, 58, NULL }, /* ICMPv6 of an unknown type, and nobody manages connections */
		{ 8, 0xfe, "rx_drop_icrc" },
		{ 39, 9, "rx_drop_icrc" },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct craft c;

		good(lab, &c);
		c.bytes[c.l3 + rows[i].off] = rows[i].value;
		refused(lab, &c, rows[i].name);
	}
}

/* Headers between IP and UDP: no RoCE sender makes them. */
static void
bad_options(struct lab *lab)
{
	const uint32_t nb = lab->is_v6 ? 8 : 4;
	struct craft c;

	good(lab, &c);
	memmove(c.bytes + c.udp + nb, c.bytes + c.udp, c.len - c.udp);
	memset(c.bytes + c.udp, 1, nb);
	c.len += nb;
	if (lab->is_v6) {
		c.bytes[c.udp] = 17; /* next header; one unit of 8 */
		c.bytes[c.udp + 1] = 0;
		pmv_be16_store(c.bytes + c.l3 + 4, (uint16_t)(c.len - c.l3 - 40));
		c.bytes[c.l3 + 6] = 60; /* destination options */
		refused(lab, &c, "rx_drop_ip_options");
		c.bytes[c.l3 + 6] = 44; /* fragment, the first */
		pmv_be16_store(c.bytes + c.udp + 2, 1);
		refused(lab, &c, "rx_drop_fragment");
		pmv_be16_store(c.bytes + c.udp + 2, 8);
		refused(lab, &c, "rx_fragment_later");
		return;
	}
	c.bytes[c.l3] = 0x46;
	pmv_be16_store(c.bytes + c.l3 + 2, (uint16_t)(c.len - c.l3));
	refused(lab, &c, "rx_drop_ip_options");
}

static void
bad_udp(struct lab *lab)
{
	static const struct {
		uint16_t len;
		const char *name;
	} rows[] = { { 0, "rx_drop_udp_len" }, { 7, "rx_drop_udp_len" },
		{ 8, "rx_drop_roce_short" }, { 23, "rx_drop_roce_short" }, { 24, "rx_drop_icrc" },
		{ 39, "rx_drop_pad" }, { 36, "rx_drop_icrc" }, { 41, "rx_drop_udp_len" },
		{ 0xffff, "rx_drop_udp_len" } };
	struct craft c;

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		good(lab, &c);
		pmv_be16_store(c.bytes + c.udp + 4, rows[i].len);
		refused(lab, &c, rows[i].name);
	}
	good(lab, &c);
	craft_seal_udp(&c);
	c.bytes[c.udp + 7] ^= 1;
	refused(lab, &c, "rx_drop_udp_csum");
	good(lab, &c);
	pmv_be16_store(c.bytes + c.udp + 2, 4790);
	refused(lab, &c, NULL);
	good(lab, &c);
	pmv_be16_store(c.bytes + c.udp, 1); /* the source port is under the ICRC */
	refused(lab, &c, "rx_drop_icrc");
}

/* One BTH field wrong, ICRC right. */
static void
bad_bth(struct lab *lab)
{
	static const struct {
		uint32_t off;
		uint8_t value;
		const char *name;
	} rows[] = {
		{ 0, 0x15, "rx_drop_opcode" },
		{ 0, 0x1b, "rx_drop_opcode" },
		{ 0, 0x1f, "rx_drop_opcode" },
		{ 0, 0x40, "rx_drop_opcode" },
		{ 0, 0x60, "rx_drop_opcode" },
		{ 0, 0xa4, "rx_drop_opcode" },
		{ 0, 0xff, "rx_drop_opcode" },
		{ 0, 0x24, "rx_drop_qp_class" },    /* UC */
		{ 0, 0x81, "rx_drop_cnp_unasked" }, /* CNP */
		{ 0, 0x64, "rx_drop_qp_class" },
		{ 0, 0x0c, "rx_drop_roce_short" }, /* READ: room for no more than its RETH */
		{ 0, 0x11, "rx_drop_payload" },    /* ACK */
		{ 1, 0x01, "rx_drop_tver" },
		{ 1, 0x0f, "rx_drop_tver" },
		{ 2, 0x00, "rx_drop_pkey" },
		{ 3, 0xfe, "rx_drop_pkey" },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct craft c;

		good(lab, &c);
		c.bytes[c.bth + rows[i].off] = rows[i].value;
		craft_seal_icrc(&c);
		if (rows[i].value == 0x0c) { /* 16 bytes of body are its RETH: cut one word */
			c.len -= 4;
			pmv_be16_store(c.bytes + c.udp + 4, 36);
			craft_seal_icrc(&c);
			refused(lab, &c, "rx_drop_ip_len");
			continue;
		}
		refused(lab, &c, rows[i].name);
	}
}

/* PK-702: every opcode at its minimum length with each PadCnt: no room for the pad. */
static void
bad_pads(struct lab *lab)
{
	for (uint32_t op = 0; op < 256; op++) {
		const struct pmv_opcode_info *info = &pmv_opcode_table[op];

		if (info->opclass == PMV_OPCLASS_NONE)
			continue;
		for (uint8_t pad = 1; pad < 4; pad++) {
			const struct pmv_bth bth = { .opcode = (uint8_t)op,
				.padcnt = pad,
				.pkey = PMV_PKEY_DEFAULT,
				.dqpn = pmv_qp_num(lab->rc.qp[1]),
				.psn = pmv_psn(epsn(lab)) };
			struct craft c;

			craft_begin(&c, &lab->path, &bth);
			craft_put(&c, NULL, info->hdr_len - PMV_BTH_LEN);
			craft_end(&c);
			refused(lab, &c, "rx_drop_roce_short");
		}
	}
}

static void
bad_dqpn(struct lab *lab, uint32_t dqpn, const char *name)
{
	struct craft c;

	good(lab, &c);
	pmv_be32_store(c.bytes + c.bth + 4, dqpn);
	craft_seal_icrc(&c);
	refused(lab, &c, name);
}

/* PK-703, PK-708: who it is for and where it comes from. */
static void
bad_addresses(struct lab *lab)
{
	const uint32_t last = lab->is_v6 ? 39 : 19; /* of the destination */
	const uint32_t src = lab->is_v6 ? 23 : 15;
	const uint32_t rc = pmv_qp_num(lab->rc.qp[1]);
	struct craft_path other;
	struct craft c;

	bad_dqpn(lab, 0, "rx_drop_qpn");
	bad_dqpn(lab, 2, "rx_drop_qpn");
	bad_dqpn(lab, 0xffffff, "rx_drop_qpn"); /* group QPN, unicast address */
	bad_dqpn(lab, 0xfffffe, "rx_drop_qpn");
	bad_dqpn(lab, rc ^ 0x800000, "rx_drop_qpn"); /* same slot, another life */
	bad_dqpn(lab, rc ^ 0x000001, "rx_drop_qpn");
	bad_dqpn(lab, pmv_qp_num(lab->ud), "rx_drop_qp_class");
	bad_dqpn(lab, 1, "rx_drop_qp_class");
	good(lab, &c);
	c.bytes[c.l3 + last] = 99;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_dest_addr");
	good(lab, &c);
	c.bytes[c.l3 + src] = 99;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_peer_addr");
	good(lab, &c);
	c.bytes[c.l3 + (lab->is_v6 ? 24 : 16)] = lab->is_v6 ? 0xff : 239;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_mcast");
	/* the peer's other family */
	other = lab->path;
	craft_path_get(&lab->rc.pair, 1, !lab->is_v6, 0, &lab->path);
	good(lab, &c);
	lab->path = other;
	refused(lab, &c, "rx_drop_peer_addr");
	/* a VLAN that is not ours */
	lab->path.vlan_id = 5;
	good(lab, &c);
	refused(lab, &c, "rx_drop_vlan");
	lab->path.vlan_id = 0;
}

static void
bad_ud(struct lab *lab)
{
	struct craft c;

	good_ud(lab, &c);
	c.bytes[c.bth + 15] ^= 1;
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_qkey");
	good_ud(lab, &c);
	refused(lab, &c, "rx_drop_ud_no_recv");
	good_ud(lab, &c);
	pmv_be32_store(c.bytes + c.bth + 4, 1); /* to QP 1; nobody manages connections */
	craft_seal_icrc(&c);
	refused(lab, &c, "ctl_rx_drop_no_cm");
}

/* Answers that nobody asked for. */
static void
bad_responses(struct lab *lab)
{
	static const uint8_t ops[] = { PMV_OPCODE_RC_ACK, PMV_OPCODE_RC_READ_RESP_ONLY,
		PMV_OPCODE_RC_READ_RESP_MIDDLE, PMV_OPCODE_RC_ATOMIC_ACK };
	struct pmv_qp_attr attr;

	assert_int_equal(pmv_query_qp(lab->rc.qp[1], &attr, NULL), 0);
	for (size_t i = 0; i < RTE_DIM(ops); i++) {
		for (int ahead = -2; ahead <= 2; ahead++) {
			const struct pmv_bth bth = { .opcode = ops[i],
				.pkey = PMV_PKEY_DEFAULT,
				.dqpn = pmv_qp_num(lab->rc.qp[1]),
				.psn = pmv_psn(attr.sq_psn + (uint32_t)ahead) };
			struct craft c;

			craft_begin(&c, &lab->path, &bth);
			if (ops[i] != PMV_OPCODE_RC_READ_RESP_MIDDLE)
				craft_put_aeth(&c, 0x1f, 0);
			if (ops[i] == PMV_OPCODE_RC_ATOMIC_ACK)
				craft_put(&c, NULL, 8);
			craft_end(&c);
			refused(lab, &c, "rx_drop_resp_stale");
		}
	}
}

/* PK-701: cut at every length, and with garbage lengths; Ethernet padding is fine. */
static void
truncated(struct lab *lab)
{
	struct craft c;
	uint32_t full;

	good(lab, &c);
	full = c.len;
	for (c.len = 1; c.len < full; c.len++) {
		const char *name = c.len < c.bth ? "rx_drop_frame_short" : "rx_drop_ip_len";
		const uint32_t cut = c.len / 2;
		struct craft_stats before, after;

		craft_stats_take(lab->w, &before);
		assert_false(input(lab, craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0)));
		if (cut > 0)
			assert_false(input(lab, craft_mbuf(lab->rc.pair.link->pool, &c, cut, 0)));
		craft_stats_take(lab->w, &after);
		assert_int_equal(craft_stats_delta(&before, &after, name), cut > 0 ? 2 : 1);
	}
	for (uint32_t pad = 1; pad < 40; pad += 13) {
		good(lab, &c);
		memset(c.bytes + c.len, 0xee, pad);
		c.len += pad;
		accepted(lab, &c, false);
	}
	good(lab, &c); /* UDP shorter than the IP packet: it ends there */
	memset(c.bytes + c.len, 0xee, 12);
	c.len += 12;
	pmv_be16_store(c.bytes + c.l3 + (lab->is_v6 ? 4 : 2),
		(uint16_t)(pmv_be16_load(c.bytes + c.l3 + (lab->is_v6 ? 4 : 2)) + 12));
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	accepted(lab, &c, false);
}

/* PK-705, PK-704: what must not matter. */
static void
harmless(struct lab *lab)
{
	struct craft c;

	for (uint32_t marks = 0; marks < 256; marks += 17) {
		good(lab, &c);
		c.bytes[c.bth + 4] = (uint8_t)marks; /* not under the ICRC */
		accepted(lab, &c, false);
		good(lab, &c);
		c.bytes[c.bth + 8] |= marks & 0x7f;
		craft_seal_icrc(&c);
		accepted(lab, &c, false);
	}
	good(lab, &c);
	c.bytes[c.bth + 1] |= 0xc0; /* SE, MigReq */
	craft_seal_icrc(&c);
	accepted(lab, &c, false);
	good(lab, &c);
	c.bytes[c.bth + 2] = 0x7f; /* limited member */
	craft_seal_icrc(&c);
	accepted(lab, &c, false);
	good(lab, &c);
	craft_seal_udp(&c);
	accepted(lab, &c, false);
	good(lab, &c);
	memset(c.bytes, 0x02, 12); /* MACs are the port's business */
	accepted(lab, &c, false);
	if (!lab->is_v6) {
		good(lab, &c);
		pmv_be16_store(c.bytes + c.l3 + 4, 0xbeef); /* IP ID */
		pmv_be16_store(c.bytes + c.l3 + 6, 0);      /* no DF */
		craft_seal_ip(&c);
		craft_seal_icrc(&c);
		accepted(lab, &c, false);
	}
	good_ud(lab, &c); /* PK-708 (d): datagrams from anywhere */
	c.bytes[c.l3 + (lab->is_v6 ? 23 : 15)] = 99;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	accepted(lab, &c, true);
	good_ud(lab, &c);
	c.bytes[c.bth + 8] |= 0x80; /* AckReq on a datagram: never answered */
	craft_seal_icrc(&c);
	accepted(lab, &c, true);
}

/* PK-701, PK-702, PK-703, PK-705, PK-708. */
static void
fuzzed_frames__table(void **state)
{
	for (int is_v6 = 0; is_v6 < 2; is_v6++) {
		struct lab *lab = open_lab(is_v6);

		if (is_v6)
			bad_ipv6(lab);
		else
			bad_ipv4(lab);
		bad_options(lab);
		bad_udp(lab);
		bad_bth(lab);
		bad_pads(lab);
		bad_addresses(lab);
		bad_ud(lab);
		bad_responses(lab);
		truncated(lab);
		harmless(lab);
		assert_true(lab->nb_accepted > 30);
		close_lab(lab);
	}
}

/* A QP that is not ready: in INIT and after ERR nothing is answered. */
static void
fuzzed_frames__wrong_state(void **state)
{
	struct lab *lab = open_lab(false);
	struct pmv_qp *fresh = pmv_test_qp_create(&lab->rc.pair.node[1], 0, PMV_QPT_RC);
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT, .port_num = 1 };
	struct craft c;

	bad_dqpn(lab, pmv_qp_num(fresh), "rx_drop_qp_state");
	assert_int_equal(
		pmv_modify_qp(fresh, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	bad_dqpn(lab, pmv_qp_num(fresh), "rx_drop_qp_state");
	a.qp_state = PMV_QPS_ERR;
	assert_int_equal(pmv_modify_qp(fresh, &a, PMV_QP_STATE), 0);
	bad_dqpn(lab, pmv_qp_num(fresh), "rx_drop_qp_state");
	good(lab, &c);
	pmv_be32_store(c.bytes + c.bth + 4, pmv_qp_num(fresh));
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_qpn");
	close_lab(lab);
}

/* May a router change this byte? (offset from the IP header) */
static bool
is_masked(const struct craft *c, uint32_t off, uint8_t bit)
{
	if (off == c->bth - c->l3 + 4)
		return true;
	if (!c->is_v6)
		return off == 1 || off == 8;
	return (off == 0 && bit < 4) || (off >= 1 && off <= 3) || off == 7;
}

/* PK-704: one bit flipped in each byte from the IP header to the ICRC, the IP checksum redone. */
static void
fuzzed_frames__one_bit(void **state)
{
	for (int k = 0; k < 16; k++) {
		struct lab *lab = open_lab(k & 1);
		const uint8_t bit = (uint8_t)(k >> 1);
		struct craft c;
		uint32_t len;

		good(lab, &c);
		len = c.len - c.l3;
		for (uint32_t off = 0; off < len; off++) {
			uint32_t psn = epsn(lab);
			bool is_csum = !c.is_v6 && (off == 10 || off == 11);

			good(lab, &c);
			c.bytes[c.l3 + off] ^= (uint8_t)(1u << bit);
			if (!is_csum)
				craft_seal_ip(&c);
			if (is_masked(&c, off, bit)) {
				accepted(lab, &c, false);
				continue;
			}
			input(lab, craft_mbuf(lab->rc.pair.link->pool, &c, 0, 0));
			assert_int_equal(epsn(lab), psn);
			assert_int_equal(wcs(lab), 0);
			assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
		}
		assert_int_equal(pmv_worker_stat(lab->w, "naks_tx"), 0);
		close_lab(lab);
	}
}

/* Puts the connection back where it was. */
static void
reconnect(struct lab *lab)
{
	const struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };
	struct pmv_event ev;

	for (int side = 0; side < 2; side++)
		assert_int_equal(pmv_modify_qp(lab->rc.qp[side], &reset, PMV_QP_STATE), 0);
	pmv_test_qp_connect(
		&lab->rc.pair, lab->rc.qp[0], lab->rc.qp[1], lab->is_v6, PMV_MTU_256, NULL);
	while (pmv_worker_get_event(lab->w, &ev) == 1)
		continue;
}

/* One random body of `len` bytes behind the UDP header. */
static void
random_frame(struct lab *lab, struct craft *c, uint8_t opcode, uint32_t len, uint32_t dqpn)
{
	const struct pmv_bth bth = { .opcode = opcode,
		.pkey = PMV_PKEY_DEFAULT,
		.padcnt = (uint8_t)(pmv_random_below(&lab->random, 4) & -len),
		.dqpn = dqpn,
		.ackreq = true,
		.psn = pmv_psn(epsn(lab)) };

	craft_begin(c, &lab->path, &bth);
	for (uint32_t i = 0; i < 96; i++)
		c->bytes[c->len + i] = (uint8_t)pmv_random_next64(&lab->random);
	if (len >= PMV_BTH_LEN + PMV_ICRC_LEN) {
		c->len = c->bth + len - PMV_ICRC_LEN;
		craft_end(c);
		return;
	}
	c->len = c->bth + len - PMV_ICRC_LEN; /* end adds it */
	craft_end(c);
	pmv_bth_build(c->bytes + c->bth, &bth);
}

static void
one_random(struct lab *lab, uint8_t opcode, uint32_t len, uint32_t dqpn, bool right)
{
	struct craft_stats before, after;
	struct rte_mbuf *m;
	struct craft c;
	uint32_t psn = epsn(lab);

	random_frame(lab, &c, opcode, len, dqpn);
	if (!right && len >= 4)
		c.bytes[c.len - 1 - pmv_random_below(&lab->random, 4)] ^= 0x20;
	m = craft_mbuf(lab->rc.pair.link->pool, &c,
		len & 1 ? (uint32_t)pmv_random_below(&lab->random, c.len) : 0,
		len & 2 ? (uint32_t)pmv_random_below(&lab->random, c.len) : 0);
	craft_stats_take(lab->w, &before);
	assert_false(input(lab, m));
	craft_stats_take(lab->w, &after);
	assert_int_equal(craft_stats_delta(&before, &after, "rx_frames"), 1);
	if (!right || dqpn != pmv_qp_num(lab->rc.qp[1])) {
		assert_string_not_equal(craft_stats_drop(&before, &after), "several");
		assert_int_equal(craft_stats_delta(&before, &after, "tx_frames"), 0);
		assert_int_equal(epsn(lab), psn);
		assert_int_equal(pmv_qp_get_state(lab->rc.qp[1]), PMV_QPS_RTS);
	}
	if (!right)
		assert_string_not_equal(craft_stats_drop(&before, &after), "");
}

/* PK-703: all opcodes x UDP payloads of 0..80 bytes x right and wrong ICRC, on each kind of QP. A
 * right one may execute, or be refused with a NAK and end the RC QP: then it is connected again. */
static void
every_opcode(bool is_v6)
{
	struct lab *lab = open_lab(is_v6);
	struct pmv_wc wc[64];

	for (uint32_t n = 0; n < 256 * 81; n++) {
		const uint32_t dqpns[4] = { pmv_qp_num(lab->rc.qp[1]), pmv_qp_num(lab->ud), 1,
			0x123456 };

		for (int k = 0; k < 8; k++) {
			if (n % 4 == (uint32_t)k / 2) /* receives, now and then */
				recv_one(lab, k & 1 ? lab->ud : lab->rc.qp[1]);
			one_random(lab, (uint8_t)(n / 81), n % 81, dqpns[k >> 1], k & 1);
			if (pmv_qp_get_state(lab->rc.qp[1]) != PMV_QPS_RTS)
				reconnect(lab);
		}
		while (pmv_poll_cq(lab->rc.pair.node[1].cq[0], wc, 64) > 0)
			continue;
		if (n % 16 == 0) {
			reconnect(lab); /* gives back the receives that pile up */
			assert_int_equal(pmv_destroy_qp(lab->ud), 0);
			lab->ud = pmv_test_qp_create(&lab->rc.pair.node[1], 0, PMV_QPT_UD);
			pmv_test_qp_ud_rts(lab->ud, QKEY, 0);
			pmv_test_pair_run(&lab->rc.pair, 20, 10);
		}
	}
	close_lab(lab);
}

static void
fuzzed_frames__every_opcode_ipv4(void **state)
{
	every_opcode(false);
}

static void
fuzzed_frames__every_opcode_ipv6(void **state)
{
	every_opcode(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzed_frames__table),
		cmocka_unit_test(fuzzed_frames__wrong_state),
		cmocka_unit_test(fuzzed_frames__one_bit),
		cmocka_unit_test(fuzzed_frames__every_opcode_ipv4),
		cmocka_unit_test(fuzzed_frames__every_opcode_ipv6),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
