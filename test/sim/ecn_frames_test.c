// SPDX-License-Identifier: BSD-3-Clause
/*
 * Congestion, frame by frame: who says that it may be marked, what a mark makes its receiver send,
 * what a notification does to its receiver, and what neither of them may do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "lib/wire/cnp.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define LINE      1250000000u /* net_ring's 10 Gb/s, in bytes a second */
#define DSCP      0x68u
#define SEEN_MAX  512u
#define SEEN_HEAD 128u

/* Frames that left one side. */
struct seen {
	uint8_t head[SEEN_MAX][SEEN_HEAD];
	uint32_t len[SEEN_MAX];
	uint32_t nb;
	uint32_t nb_lose; /* the next ones get lost */
};

struct lab {
	struct rc_lab rc;
	struct craft_path path[2]; /* to that side */
	struct seen seen[2];
};

static enum pmv_test_fate
see(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct seen *s = arg;
	uint8_t buf[SEEN_HEAD];
	uint32_t n = RTE_MIN(m->pkt_len, SEEN_HEAD);

	assert_true(s->nb < SEEN_MAX);
	memcpy(s->head[s->nb], rte_pktmbuf_read(m, 0, n, buf), n);
	s->len[s->nb++] = m->pkt_len;
	if (s->nb_lose == 0)
		return PMV_TEST_PASS;
	s->nb_lose--;
	return PMV_TEST_DROP;
}

/* tune() has no argument of its own. */
static uint32_t options[2];
static uint8_t timeout_code;
static enum pmv_mtu mtu;

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->ece = (struct pmv_ece){ options[side] != 0 ? PMV_ECE_VENDOR_ID : 0, options[side] };
	attr->ah_attr.traffic_class = DSCP | 3; /* the bits of ECN are not the program's */
	attr->path_mtu = mtu;
	if (timeout_code != 0)
		attr->timeout = timeout_code;
}

enum shape { RC_V4, RC_V6, RC_VLAN, UC_V4, UC_V6, NB_SHAPES };

static struct lab *
lab_open(enum shape shape, uint32_t options0, uint32_t options1)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));
	const bool is_v6 = shape == RC_V6 || shape == UC_V6;
	const struct rc_lab_param p = { .is_v6 = is_v6,
		.is_uc = shape >= UC_V4,
		.vlan_id = shape == RC_VLAN ? 77 : 0,
		.tune = tune };

	options[0] = options0;
	options[1] = options1;
	mtu = mtu == 0 ? PMV_MTU_1024 : mtu;
	rc_lab_open(&lab->rc, &p);
	for (int side = 0; side < 2; side++) {
		craft_path_get(&lab->rc.pair, side, is_v6, p.vlan_id, &lab->path[side]);
		lab->rc.pair.link->end[side].out.hook = see;
		lab->rc.pair.link->end[side].out.hook_arg = &lab->seen[side];
	}
	return lab;
}

static void
lab_close(struct lab *lab)
{
	lab->rc.pair.link->end[0].out.hook = NULL;
	lab->rc.pair.link->end[1].out.hook = NULL;
	rc_lab_close(&lab->rc);
	test_free(lab);
	mtu = 0;
	timeout_code = 0;
}

static struct pmv_worker *
worker(struct lab *lab, int side)
{
	return lab->rc.pair.node[side].worker[0];
}

static struct pmv_qp_stats
stats(struct lab *lab, int side)
{
	struct pmv_qp_stats s;

	assert_int_equal(pmv_qp_get_stats(lab->rc.qp[side], &s), 0);
	return s;
}

static struct pmv_qp_attr
query(struct lab *lab, int side)
{
	struct pmv_qp_attr attr;

	assert_int_equal(pmv_query_qp(lab->rc.qp[side], &attr, NULL), 0);
	return attr;
}

static bool
timer_is_armed(const struct lab *lab, int side)
{
	return pmv_timer_is_armed(&pmv_roce_qp(lab->rc.qp[side])->pace.timer);
}

/* A WRITE of 8 bytes to side 1, in sequence; marked as the network does it: no ICRC knows. */
static void
write_one(struct lab *lab, struct craft *c, bool marked)
{
	bool is_uc = pmv_qp_get_type(lab->rc.qp[1]) == PMV_QPT_UC;
	const struct pmv_bth bth = { .opcode = (uint8_t)(PMV_OPCODE_RC_WRITE_ONLY +
							 (is_uc ? PMV_OPCODE_UC_BASE : 0)),
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->rc.qp[1]),
		.psn = pmv_psn(query(lab, 1).rq_psn) };

	craft_begin(c, &lab->path[1], &bth);
	craft_put_reth(c, (uintptr_t)lab->rc.mem[1], pmv_mr_rkey(lab->rc.mr[1]), 8);
	craft_put(c, "01234567", 8);
	craft_end(c);
	if (!marked)
		return;
	c->bytes[c->l3 + 1] |= (uint8_t)(PMV_IP_ECN_CE << (c->is_v6 ? 4 : 0));
	craft_seal_ip(c);
}

/* A CNP to the QP `dqpn` of a side. */
static void
cnp_make(struct lab *lab, int to, struct craft *c, uint32_t dqpn)
{
	static const uint8_t zeros[16];
	const struct pmv_bth bth = {
		.opcode = PMV_OPCODE_CNP, .becn = true, .pkey = PMV_PKEY_DEFAULT, .dqpn = dqpn
	};

	craft_begin(c, &lab->path[to], &bth);
	craft_put(c, zeros, sizeof(zeros));
	craft_end(c);
}

static void
cnp_send(struct lab *lab, int to)
{
	struct craft c;

	cnp_make(lab, to, &c, pmv_qp_num(lab->rc.qp[to]));
	craft_inject(&lab->rc.pair, to, &c);
	rc_lab_run(&lab->rc, lab->rc.step_us);
}

/* Down to the slowest rate. */
static void
cnp_flood(struct lab *lab, int to)
{
	for (uint32_t i = 0; i < 40; i++) {
		cnp_send(lab, to);
		rc_lab_run(&lab->rc, 45);
	}
	assert_int_equal(stats(lab, to).rate, PMV_ROCE_RATE_MIN);
}

/* Runs, and does not let the rate rise. */
static void
run_slow(struct lab *lab, int side, uint64_t us)
{
	uint64_t end = lab->rc.pair.now + us * lab->rc.pair.link->ticks_per_us;

	while (lab->rc.pair.now < end) {
		rc_lab_run(&lab->rc, 45);
		cnp_send(lab, side);
	}
	assert_int_equal(stats(lab, side).rate, PMV_ROCE_RATE_MIN);
}

/* Index of the n-th frame of an opcode that a side sent; -1: fewer. */
static int
nth(const struct lab *lab, int side, const struct craft *like, uint8_t opcode, uint32_t n)
{
	for (uint32_t i = 0; i < lab->seen[side].nb; i++) {
		if (lab->seen[side].head[i][like->bth] == opcode && n-- == 0)
			return (int)i;
	}
	return -1;
}

/* The notification, byte by byte, and in everything else like the other frames of the QP. */
static void
mark__makes_a_notification(void **state)
{
	for (int shape = 0; shape < NB_SHAPES; shape++) {
		struct lab *lab = lab_open((enum shape)shape, 0, 0);
		uint32_t qpn = pmv_qp_num(lab->rc.qp[0]);
		const uint8_t expected[] = { 0x81, 0x00, 0xff, 0xff, 0x40, (uint8_t)(qpn >> 16),
			(uint8_t)(qpn >> 8), (uint8_t)qpn, 0, 0, 0, 0, /* BTH */
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
		static const uint8_t ipv4[] = { 0x45, DSCP, 0x00, 0x3c, 0x00, 0x00, 0x40, 0x00,
			0x40, 0x11 };
		static const uint8_t addrs[] = { 192, 168, 10, 2, 192, 168, 10, 1 };
		static const uint8_t udp[] = { 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00 };
		const uint8_t *f = lab->seen[1].head[0];
		struct craft c;

		write_one(lab, &c, true);
		craft_inject(&lab->rc.pair, 1, &c);
		rc_lab_run(&lab->rc, 20);
		assert_int_equal(lab->seen[1].nb, 1); /* no ACK was asked for */
		assert_int_equal(lab->seen[1].len[0], c.bth + sizeof(expected) + 4);
		assert_memory_equal(f + c.bth, expected, sizeof(expected));
		if (!c.is_v6) {
			assert_memory_equal(f + c.l3, ipv4, sizeof(ipv4));
			assert_memory_equal(f + c.l3 + 12, addrs, sizeof(addrs));
		} else {
			assert_int_equal(pmv_be32_load(f + c.l3) >> 20, 0x600 | DSCP >> 0);
		}
		assert_memory_equal(f + c.udp + 2, udp, sizeof(udp));
		assert_true(pmv_icrc_packet_check(
			f + c.l3, c.is_v6, c.bth - c.l3 + sizeof(expected) + 4));
		/* it was done, and counted */
		assert_memory_equal(lab->rc.mem[1], "01234567", 8);
		assert_int_equal(stats(lab, 1).ecn_marked, 1);
		assert_int_equal(stats(lab, 1).cnp_tx, 1);
		assert_int_equal(pmv_worker_stat(worker(lab, 1), "ecn_marked"), 1);
		assert_int_equal(pmv_worker_stat(worker(lab, 1), "cnp_tx"), 1);
		/* whoever gets it does not react here, and does not answer */
		assert_int_equal(pmv_worker_stat(worker(lab, 0), "rx_drop_cnp_unasked"), 1);
		assert_int_equal(lab->seen[0].nb, 0);
		lab_close(lab);
	}
}

/* One in 50 us for a QP, whatever it gets. */
static void
mark__one_notification_in_50_us(void **state)
{
	struct lab *lab = lab_open(RC_V4, 0, 0);
	struct craft c;

	for (uint32_t i = 0; i < 200; i++) { /* a ms */
		write_one(lab, &c, true);
		craft_inject(&lab->rc.pair, 1, &c);
		rc_lab_run(&lab->rc, 5);
	}
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(stats(lab, 1).ecn_marked, 200);
	assert_int_equal(stats(lab, 1).cnp_tx, 20);
	assert_int_equal(lab->seen[1].nb, 20);
	lab_close(lab);
}

/* Headers that were seen before are known by their bytes; a mark among them is noticed each time,
 * and changes nothing for what comes after it. */
static void
mark__among_known_headers(void **state)
{
	static const enum shape shapes[] = { RC_V4, RC_V6, RC_VLAN };

	for (size_t k = 0; k < RTE_DIM(shapes); k++) {
		struct lab *lab = lab_open(shapes[k], 0, 0);
		uint32_t first = query(lab, 1).rq_psn;
		struct craft c;

		for (uint32_t i = 0; i < 64; i++) {
			bool marked = i % 3 == 2 || (i > 30 && i < 40);

			write_one(lab, &c, marked);
			craft_inject(&lab->rc.pair, 1, &c);
			rc_lab_run(&lab->rc, 5);
			assert_int_equal(query(lab, 1).rq_psn, (first + i + 1) & 0xffffff);
		}
		assert_int_equal(stats(lab, 1).ecn_marked, 27);
		assert_int_equal(stats(lab, 1).rx_pkts, 64);
		/* ECT alone is no mark; a mark on a frame with a wrong ICRC is nobody's */
		write_one(lab, &c, false);
		c.bytes[c.l3 + 1] |= (uint8_t)(PMV_IP_ECN_ECT0 << (c.is_v6 ? 4 : 0));
		craft_seal_ip(&c);
		craft_inject(&lab->rc.pair, 1, &c);
		rc_lab_run(&lab->rc, 5);
		assert_int_equal(query(lab, 1).rq_psn, (first + 65) & 0xffffff);
		write_one(lab, &c, true);
		c.bytes[c.len - 1] ^= 1;
		craft_inject(&lab->rc.pair, 1, &c);
		rc_lab_run(&lab->rc, 5);
		assert_int_equal(stats(lab, 1).ecn_marked, 27);
		assert_int_equal(pmv_worker_stat(worker(lab, 1), "rx_drop_icrc"), 1);
		lab_close(lab);
	}
}

static struct pmv_qp *
ud_make(struct lab *lab, int side)
{
	struct pmv_qp *qp = pmv_test_qp_create(&lab->rc.pair.node[side], 0, PMV_QPT_UD);
	struct pmv_qp_attr attr = { .port_num = 1, .qkey = 0x11, .qp_state = PMV_QPS_INIT };

	assert_int_equal(pmv_modify_qp(qp, &attr,
				 PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_QKEY),
		0);
	attr.qp_state = PMV_QPS_RTR;
	assert_int_equal(pmv_modify_qp(qp, &attr, PMV_QP_STATE), 0);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(qp, &attr, PMV_QP_STATE | PMV_QP_SQ_PSN), 0);
	return qp;
}

/* Nothing is told about a datagram's mark, a stranger's, a notification's, or to a QP that has
 * ended; the peer's answers are frames like others. */
static void
mark__who_is_told(void **state)
{
	struct lab *lab = lab_open(RC_V4, 0, 0);
	struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct pmv_qp *ud = ud_make(lab, 1);
	struct pmv_bth bth = {
		.opcode = PMV_OPCODE_UD_SEND_ONLY, .pkey = PMV_PKEY_DEFAULT, .dqpn = pmv_qp_num(ud)
	};
	struct craft c;

	craft_begin(&c, &lab->path[1], &bth);
	craft_put_deth(&c, 0x11, 1);
	craft_end(&c);
	c.bytes[c.l3 + 1] |= PMV_IP_ECN_CE;
	craft_seal_ip(&c);
	craft_inject(&lab->rc.pair, 1, &c);
	write_one(lab, &c, true);
	c.bytes[c.l3 + 15] ^= 0x40; /* 192.168.10.65 */
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	craft_inject(&lab->rc.pair, 1, &c);
	cnp_make(lab, 1, &c, pmv_qp_num(lab->rc.qp[1]));
	c.bytes[c.l3 + 1] |= PMV_IP_ECN_CE;
	craft_seal_ip(&c);
	craft_inject(&lab->rc.pair, 1, &c);
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(pmv_worker_stat(worker(lab, 1), "ecn_marked"), 0);
	assert_int_equal(lab->seen[1].nb, 0);
	/* an answer, even one that is stale */
	bth = (struct pmv_bth){ .opcode = PMV_OPCODE_RC_ACK,
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = pmv_qp_num(lab->rc.qp[1]) };
	craft_begin(&c, &lab->path[1], &bth);
	craft_put_aeth(&c, 0x1f, 0);
	craft_end(&c);
	c.bytes[c.l3 + 1] |= PMV_IP_ECN_CE;
	craft_seal_ip(&c);
	craft_inject(&lab->rc.pair, 1, &c);
	rc_lab_run(&lab->rc, 100);
	assert_int_equal(lab->seen[1].nb, 1);
	assert_int_equal(lab->seen[1].head[0][c.bth], PMV_OPCODE_CNP);
	assert_int_equal(pmv_modify_qp(lab->rc.qp[1], &err, PMV_QP_STATE), 0);
	write_one(lab, &c, true);
	craft_inject(&lab->rc.pair, 1, &c);
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(lab->seen[1].nb, 1);
	assert_int_equal(pmv_destroy_qp(ud), 0);
	lab_close(lab);
}

/* ECN of what a side sends: ECT(0) from a QP that reacts, requests and answers alike, else 00; DSCP
 * as asked. */
static void
ect__of_who_reacts(void **state)
{
	for (int shape = 0; shape < NB_SHAPES; shape++) {
		for (int reacts = 0; reacts < 2; reacts++) {
			struct lab *lab = lab_open((enum shape)shape,
				reacts ? PMV_ECE_CONGESTION : 0, reacts ? 0 : PMV_ECE_CONGESTION);

			for (int side = 0; side < 2; side++) {
				assert_int_equal(query(lab, side).ece.options,
					(side == 0) == reacts ? PMV_ECE_CONGESTION : 0);
				assert_int_equal(query(lab, side).ah_attr.traffic_class, DSCP | 3);
				assert_int_equal(rc_lab_post(&lab->rc, side, PMV_WR_RDMA_WRITE, 0,
							 8192, 2500, PMV_SEND_SIGNALED, 1),
					1);
				rc_lab_run(&lab->rc, 100);
			}
			for (int side = 0; side < 2; side++) {
				uint8_t ecn = (side == 0) == reacts ? PMV_IP_ECN_ECT0 : 0;

				assert_int_equal(
					lab->seen[side].nb, shape >= UC_V4 ? 3 : 4); /* an ACK */
				for (uint32_t i = 0; i < lab->seen[side].nb; i++) {
					struct pmv_eth_ip ip;

					assert_int_equal(
						pmv_eth_ip_parse(lab->seen[side].head[i], SEEN_HEAD,
							lab->seen[side].len[i], &ip),
						PMV_WIRE_OK); /* with the checksum of IPv4 */
					assert_int_equal(ip.tos, DSCP | ecn);
				}
			}
			lab_close(lab);
		}
	}
}

/* What is in force is what query tells; UC has no use for selective repeat. */
static void
agree__what_is_in_force(void **state)
{
	struct pmv_device_attr dev;
	struct pmv_qp_attr attr;
	struct lab *lab = lab_open(RC_V4, PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION, 0);

	assert_int_equal(pmv_query_device(lab->rc.pair.node[0].dev, &dev), 0);
	assert_int_equal(dev.ece.options, PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION);
	assert_int_equal(query(lab, 0).ece.options, PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION);
	assert_int_equal(query(lab, 0).ece.vendor_id, PMV_ECE_VENDOR_ID);
	assert_int_equal(query(lab, 1).ece.vendor_id, 0);
	cnp_send(lab, 0);
	assert_int_equal(stats(lab, 0).rate, LINE / 2);
	/* it ends with the connection, and so does the limit */
	attr = (struct pmv_qp_attr){ .qp_state = PMV_QPS_RESET };
	assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(query(lab, 0).ece.options, 0);
	assert_int_equal(stats(lab, 0).rate, 0);
	assert_false(timer_is_armed(lab, 0));
	lab_close(lab);
	lab = lab_open(UC_V4, PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION, 8);
	assert_int_equal(query(lab, 0).ece.options, PMV_ECE_CONGESTION);
	assert_int_equal(query(lab, 1).ece.options, 0);
	lab_close(lab);
}

/* It leaves no trace: counted under `name`, nothing is sent, no PSN moves, no rate is cut. */
static void
refused(struct lab *lab, const struct craft *c, const char *name)
{
	uint32_t psn = query(lab, 0).rq_psn;
	uint32_t nb = lab->seen[0].nb;
	struct craft_stats before, after;

	craft_stats_take(worker(lab, 0), &before);
	craft_inject(&lab->rc.pair, 0, c);
	rc_lab_run(&lab->rc, 10);
	craft_stats_take(worker(lab, 0), &after);
	assert_string_equal(craft_stats_drop(&before, &after), name);
	assert_int_equal(craft_stats_delta(&before, &after, "cnp_rx"), 0);
	assert_int_equal(lab->seen[0].nb, nb);
	assert_int_equal(query(lab, 0).rq_psn, psn);
	assert_int_equal(stats(lab, 0).rate, 0);
	assert_false(timer_is_armed(lab, 0));
}

static void
told__forged(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	uint32_t qpn = pmv_qp_num(lab->rc.qp[0]);
	struct pmv_qp *ud = ud_make(lab, 0);
	struct craft c;

	cnp_make(lab, 0, &c, qpn ^ 0x10); /* nobody */
	refused(lab, &c, "rx_drop_qpn");
	cnp_make(lab, 0, &c, pmv_qp_num(ud));
	refused(lab, &c, "rx_drop_qp_class");
	cnp_make(lab, 0, &c, PMV_QPN_GSI);
	refused(lab, &c, "rx_drop_qp_class");
	cnp_make(lab, 0, &c, PMV_QPN_MULTICAST);
	refused(lab, &c, "rx_drop_qpn");
	cnp_make(lab, 0, &c, qpn); /* a stranger's address */
	c.bytes[c.l3 + 15] ^= 0x40;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_peer_addr");
	cnp_make(lab, 0, &c, qpn);
	c.bytes[c.len - 3] ^= 0x01;
	refused(lab, &c, "rx_drop_icrc");
	cnp_make(lab, 0, &c, qpn);
	c.bytes[c.bth + 2] = 0;
	craft_seal_icrc(&c);
	refused(lab, &c, "rx_drop_pkey");
	for (uint32_t len = 0; len <= 24; len++) { /* all but 16 */
		const struct pmv_bth bth = {
			.opcode = PMV_OPCODE_CNP, .pkey = PMV_PKEY_DEFAULT, .dqpn = qpn
		};

		if (len == PMV_CNP_RESERVED_LEN)
			continue;
		craft_begin(&c, &lab->path[0], &bth);
		craft_put(&c, NULL, len);
		craft_end(&c);
		refused(lab, &c, len % 4 != 0 ? "rx_drop_pad" : "rx_drop_cnp_len");
	}
	assert_int_equal(pmv_destroy_qp(ud), 0);
	lab_close(lab);
}

/* Before the QP has a peer, and after it has failed. */
static void
told__in_each_state(void **state)
{
	static const enum pmv_qp_state states[] = { PMV_QPS_RESET, PMV_QPS_INIT, PMV_QPS_ERR };

	for (size_t i = 0; i < RTE_DIM(states); i++) {
		struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
		struct pmv_qp_attr attr = { .qp_state = PMV_QPS_RESET, .port_num = 1 };
		struct craft c;

		if (states[i] == PMV_QPS_ERR)
			attr.qp_state = PMV_QPS_ERR;
		assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr, PMV_QP_STATE), 0);
		attr.qp_state = PMV_QPS_INIT;
		if (states[i] == PMV_QPS_INIT)
			assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr,
						 PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT |
							 PMV_QP_ACCESS_FLAGS),
				0);
		cnp_make(lab, 0, &c, pmv_qp_num(lab->rc.qp[0]));
		refused(lab, &c, "rx_drop_qp_state");
		lab_close(lab);
	}
}

/* As a ConnectX sends it: UDP source port 0, DSCP 48 and ECT(0), an IP ID, MigReq 0; and what its
 * reserved bytes hold does not matter. */
static void
told__by_a_connectx(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	uint32_t psn = query(lab, 0).rq_psn;
	struct craft c;

	cnp_make(lab, 0, &c, pmv_qp_num(lab->rc.qp[0]));
	c.bytes[c.l3 + 1] = 0xc2;
	pmv_be16_store(c.bytes + c.l3 + 4, 0x718c);
	pmv_be16_store(c.bytes + c.udp, 0);
	c.bytes[c.bth + 13] = 0x55;
	craft_seal_ip(&c);
	craft_seal_icrc(&c);
	craft_inject(&lab->rc.pair, 0, &c);
	rc_lab_run(&lab->rc, 10);
	assert_int_equal(stats(lab, 0).cnp_rx, 1);
	assert_int_equal(pmv_worker_stat(worker(lab, 0), "cnp_rx"), 1);
	assert_int_equal(stats(lab, 0).rate, LINE / 2);
	assert_true(timer_is_armed(lab, 0));
	assert_int_equal(query(lab, 0).rq_psn, psn);
	assert_int_equal(lab->seen[0].nb, 0);
	lab_close(lab);
}

/* A CNP is not the work of pacing alone: 40 bytes of headers and so on are on the wire too. */
static uint64_t
wire_us(uint32_t len)
{
	return (uint64_t)(len + 24) * 1000000 / PMV_ROCE_RATE_MIN;
}

/* Departures of data frames of a side, in us from the first one. */
static void
check_pace(struct lab *lab, int side, const struct craft *like, uint64_t start)
{
	const struct seen *s = &lab->seen[side];
	uint64_t bytes_us = 0;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < s->nb; i++) {
		if (s->len[i] < 500)
			continue; /* acknowledgements and requests */
		nb++;
		bytes_us += wire_us(s->len[i]);
	}
	assert_in_range(nb, 16, 64);
	/* no faster than the rate, but for the last frame and what was left over before; and not
	 * much slower */
	bytes_us -= wire_us(s->len[s->nb - 1]);
	assert_in_range((lab->rc.pair.now - start) / lab->rc.pair.link->ticks_per_us,
		bytes_us - 100, bytes_us + bytes_us / 20 + 4000);
}

/* A WRITE, or a READ of the peer, at the slowest rate, frames of 4 KiB: 3.3 ms each. The shortest
 * round trip is 20 us and the ACK timeout 8 ms: neither of the timers of either side takes the
 * pauses for losses. */
static void
paced__no_timer_fires(void **state)
{
	static const enum pmv_wr_opcode ops[] = { PMV_WR_RDMA_WRITE, PMV_WR_SEND,
		PMV_WR_RDMA_READ };

	for (size_t i = 0; i < RTE_DIM(ops); i++) {
		int poster = ops[i] == PMV_WR_RDMA_READ;
		const struct craft like = { .bth = 42 };
		struct pmv_qp_stats s;
		struct lab *lab;
		uint64_t start;

		mtu = PMV_MTU_4096;
		timeout_code = 11;
		lab = lab_open(RC_V4, PMV_ECE_CONGESTION, PMV_ECE_CONGESTION);
		rc_lab_fill(lab->rc.mem[0], 65536, 3);
		/* round trips are measured before the limit */
		assert_int_equal(rc_lab_post(&lab->rc, poster, PMV_WR_RDMA_WRITE, 1 << 20, 1 << 20,
					 8, PMV_SEND_SIGNALED, 0),
			1);
		assert_true(rc_lab_wait(&lab->rc, poster, 1, 1000));
		assert_true(stats(lab, poster).srtt_ns != 0);
		cnp_flood(lab, 0);
		lab->seen[0].nb = 0;
		start = lab->rc.pair.now;
		if (ops[i] == PMV_WR_SEND)
			assert_int_equal(rc_lab_recv(&lab->rc, 1, 0, 65536, 7), 1);
		assert_int_equal(
			rc_lab_post(&lab->rc, poster, ops[i], 0, 0, 65536, PMV_SEND_SIGNALED, 1),
			1);
		for (uint32_t k = 0; k < 4000 && lab->rc.nb_wc[poster] < 2; k++) {
			rc_lab_run(&lab->rc, 50);
			if (k % 5 == 0)
				cnp_send(lab, 0); /* it stays slow */
		}
		assert_int_equal(lab->rc.nb_wc[poster], 2);
		assert_int_equal(lab->rc.wc[poster][1].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_check(lab->rc.mem[1], 65536, 3));
		check_pace(lab, 0, &like, start);
		s = stats(lab, poster);
		assert_int_equal(s.timeouts, 0);
		/* how fast a READ's answers come is not the requester's to know: it asks, each
		 * time after twice as long, and gets nothing twice */
		assert_in_range(s.retx_pkts, 0, ops[i] == PMV_WR_RDMA_READ ? 12 : 0);
		assert_int_equal(stats(lab, 0).retx_pkts, 0);
		assert_true(pmv_worker_stat(worker(lab, 0), "paced") >= 15);
		lab_close(lab);
	}
}

/* A loss is found by the ACK timeout of 1 ms, and what is repeated has to wait for 2 ms more: that
 * is no second loss. Every frame is lost once, and one retry is enough. */
static void
paced__one_timeout_a_loss(void **state)
{
	struct pmv_qp_attr attr = { .qp_state = PMV_QPS_SQD, .retry_cnt = 1 };
	struct lab *lab;

	mtu = PMV_MTU_4096;
	timeout_code = 8;
	lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr, PMV_QP_STATE), 0);
	assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr, PMV_QP_STATE | PMV_QP_RETRY_CNT), 0);
	attr.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(lab->rc.qp[0], &attr, PMV_QP_STATE), 0);
	cnp_flood(lab, 0);
	rc_lab_fill(lab->rc.mem[0], 12288, 4);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(stats(lab, 0).srtt_ns, 0); /* no probe: nothing is measured */
		lab->seen[0].nb_lose = 1;
		assert_int_equal(rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, i * 4096, i * 4096,
					 4096, PMV_SEND_SIGNALED, i),
			1);
		for (uint32_t k = 0; k < 300 && lab->rc.nb_wc[0] <= i; k++)
			run_slow(lab, 0, 50);
		assert_int_equal(lab->rc.nb_wc[0], i + 1);
		assert_int_equal(lab->rc.wc[0][i].status, PMV_WC_SUCCESS);
		assert_int_equal(stats(lab, 0).timeouts, i + 1);
		assert_int_equal(stats(lab, 0).retx_pkts, i + 1);
	}
	assert_true(rc_lab_check(lab->rc.mem[1], 12288, 4));
	lab_close(lab);
}

/* Small requests that leave as they are posted wait as well, and acknowledgements do not. */
static void
paced__small_requests(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	const struct craft like = { .bth = 42 };

	cnp_flood(lab, 0);
	lab->seen[0].nb = 0;
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, 0, 0, 64,
					 PMV_SEND_INLINE | (i == 49 ? PMV_SEND_SIGNALED : 0), i),
			1);
	run_slow(lab, 0, 500); /* 166 bytes of wire each: 132 us */
	assert_in_range(lab->seen[0].nb, 4, 5);
	/* the peer's requests are acknowledged meanwhile */
	assert_int_equal(
		rc_lab_post(&lab->rc, 1, PMV_WR_RDMA_WRITE, 0, 4096, 8, PMV_SEND_SIGNALED, 1), 1);
	assert_true(rc_lab_wait(&lab->rc, 1, 1, 50));
	assert_true(nth(lab, 0, &like, PMV_OPCODE_RC_ACK, 0) >= 0);
	assert_true(rc_lab_wait(&lab->rc, 0, 1, 20000));
	assert_int_equal(stats(lab, 0).retx_pkts, 0);
	lab_close(lab);
}

static void
paced__unreliable(void **state)
{
	struct lab *lab = lab_open(UC_V4, PMV_ECE_CONGESTION, 0);

	cnp_flood(lab, 0);
	rc_lab_fill(lab->rc.mem[0], 16384, 5);
	lab->seen[0].nb = 0;
	assert_int_equal(
		rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, 0, 0, 16384, PMV_SEND_SIGNALED, 9), 1);
	run_slow(lab, 0, 1800); /* 885 us each */
	assert_in_range(lab->seen[0].nb, 2, 4);
	assert_int_equal(lab->rc.nb_wc[0], 0);
	assert_true(rc_lab_wait(&lab->rc, 0, 1, 20000));
	rc_lab_run(&lab->rc, 20);
	assert_int_equal(lab->rc.wc[0][0].wr_id, 9);
	assert_int_equal(lab->seen[0].nb, 16);
	assert_true(rc_lab_check(lab->rc.mem[1], 16384, 5));
	lab_close(lab);
}

/* Both what it asks for and what it is asked for wait: neither starves the other. */
static void
paced__requests_and_answers_share(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	uint32_t nb[2] = { 0, 0 };

	cnp_flood(lab, 0);
	assert_int_equal(
		rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, 0, 0, 65536, PMV_SEND_SIGNALED, 1), 1);
	assert_int_equal(
		rc_lab_post(&lab->rc, 1, PMV_WR_RDMA_READ, 65536, 0, 65536, PMV_SEND_SIGNALED, 2),
		1);
	lab->seen[0].nb = 0;
	run_slow(lab, 0, 20000);
	for (uint32_t i = 0; i < lab->seen[0].nb; i++) {
		uint8_t op = lab->seen[0].head[i][42];

		nb[0] += op <= PMV_OPCODE_RC_WRITE_ONLY;
		nb[1] += op >= PMV_OPCODE_RC_READ_RESP_FIRST && op <= PMV_OPCODE_RC_READ_RESP_ONLY;
	}
	assert_true(nb[0] >= 8 && nb[1] >= 8);
	assert_in_range(nb[0] + nb[1], 20, 26); /* 885 us each */
	assert_true(rc_lab_wait(&lab->rc, 0, 1, 300000));
	assert_true(rc_lab_wait(&lab->rc, 1, 1, 300000));
	assert_int_equal(stats(lab, 0).timeouts + stats(lab, 1).timeouts, 0);
	lab_close(lab);
}

/* A NAK owed behind READ responses that wait leaves when the QP has failed: nothing waits any more.
 */
static void
paced__last_word_of_a_failed_qp(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, 0);
	const struct craft like = { .bth = 42 };

	cnp_flood(lab, 0);
	assert_int_equal(
		rc_lab_post(&lab->rc, 1, PMV_WR_RDMA_READ, 0, 0, 16384, PMV_SEND_SIGNALED, 1), 1);
	rc_lab_run(&lab->rc, 100);
	/* beyond the region */
	assert_int_equal(rc_lab_post(&lab->rc, 1, PMV_WR_RDMA_WRITE, 0, RC_LAB_BYTES, 8,
				 PMV_SEND_SIGNALED, 2),
		1);
	assert_true(rc_lab_wait(&lab->rc, 1, 2, 5000));
	assert_int_equal(pmv_qp_get_state(lab->rc.qp[0]), PMV_QPS_ERR);
	assert_int_equal(lab->rc.wc[1][0].status, PMV_WC_SUCCESS);
	assert_int_equal(lab->rc.wc[1][1].status, PMV_WC_REM_ACCESS_ERR);
	assert_true(nth(lab, 0, &like, PMV_OPCODE_RC_ACK, 0) >= 0);
	assert_false(timer_is_armed(lab, 0));
	lab_close(lab);
}

/* Left alone it is as fast as ever, without a timer, and nothing is asked on the way of a frame. */
static void
told__ends_by_itself(void **state)
{
	struct lab *lab = lab_open(RC_V4, PMV_ECE_CONGESTION, PMV_ECE_CONGESTION);
	uint64_t last = 0;

	cnp_flood(lab, 0);
	for (uint32_t i = 0; i < 100 && stats(lab, 0).rate != 0; i++) {
		assert_true(stats(lab, 0).rate >= last);
		last = stats(lab, 0).rate;
		rc_lab_run(&lab->rc, 1000);
	}
	assert_int_equal(stats(lab, 0).rate, 0);
	assert_false(timer_is_armed(lab, 0));
	assert_false(pmv_roce_qp(lab->rc.qp[0])->paced);
	assert_int_equal(
		rc_lab_post(&lab->rc, 0, PMV_WR_RDMA_WRITE, 0, 0, 65536, PMV_SEND_SIGNALED, 1), 1);
	assert_true(rc_lab_wait(&lab->rc, 0, 1, 30));
	lab_close(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mark__makes_a_notification),
		cmocka_unit_test(mark__one_notification_in_50_us),
		cmocka_unit_test(mark__among_known_headers),
		cmocka_unit_test(mark__who_is_told),
		cmocka_unit_test(ect__of_who_reacts),
		cmocka_unit_test(agree__what_is_in_force),
		cmocka_unit_test(told__forged),
		cmocka_unit_test(told__in_each_state),
		cmocka_unit_test(told__by_a_connectx),
		cmocka_unit_test(told__ends_by_itself),
		cmocka_unit_test(paced__no_timer_fires),
		cmocka_unit_test(paced__one_timeout_a_loss),
		cmocka_unit_test(paced__small_requests),
		cmocka_unit_test(paced__unreliable),
		cmocka_unit_test(paced__requests_and_answers_share),
		cmocka_unit_test(paced__last_word_of_a_failed_qp),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
