// SPDX-License-Identifier: BSD-3-Clause
/*
 * An application with a receive loop of its own: frames in, foreign frames out, who gets control
 * frames under either ownership of addresses, workers that never touch a receive queue, and sending
 * at once instead of at the end of the turn.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ethdev.h>

#include "lib/util/be.h"
#include "lib/verbs/ctl_channel.h"
#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/craft.h"
#include "test/sim/rc_lab.h"

#define OUR_V4   0xc0a80a02u /* 192.168.10.2 */
#define OTHER_V4 0xc0a80a63u

/* One device without a peer. */
struct lab {
	struct pmv_test_link *link;
	struct pmv_device *dev;
	struct pmv_worker *w[2];
	uint16_t nb;
	struct pmv_ctl_channel *ctl;
	uint64_t now;
};

static struct lab *
open_lab(enum pmv_addr_ownership ownership, uint16_t nb_workers, bool no_rx)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));
	struct pmv_device_param dp = {
		.driver = "roce", .nb_workers = nb_workers, .ip_mtu = 4200, .ownership = ownership
	};
	struct pmv_ip_addr addr;

	assert_int_equal(pmv_test_link_open(&lab->link, nb_workers, 1), 0);
	dp.port_id = lab->link->end[0].port_id;
	assert_int_equal(pmv_device_open(&dp, &lab->dev), 0);
	assert_int_equal(pmv_ip_addr_parse("192.168.10.2/24", &addr), 0);
	assert_int_equal(pmv_device_add_addr(lab->dev, &addr), 0);
	assert_int_equal(pmv_ip_addr_parse("fd00::2/64", &addr), 0);
	assert_int_equal(pmv_device_add_addr(lab->dev, &addr), 0);
	lab->nb = nb_workers;
	for (uint16_t i = 0; i < nb_workers; i++) {
		const struct pmv_worker_param wp = { .rx_queue = no_rx ? 0 : i,
			.tx_queue = i,
			.socket_id = -1,
			.qp_max = 16,
			.pool = lab->link->pool,
			.no_rx = no_rx };

		assert_int_equal(pmv_worker_create(lab->dev, &wp, &lab->w[i]), 0);
		assert_int_equal(pmv_worker_attach(lab->w[i]), 0);
	}
	lab->now = 1;
	return lab;
}

static void
close_lab(struct lab *lab)
{
	if (lab->ctl != NULL)
		pmv_verbs_ctl_close(lab->ctl);
	for (uint16_t i = 0; i < lab->nb; i++) {
		assert_int_equal(pmv_worker_detach(lab->w[i]), 0);
		assert_int_equal(pmv_worker_destroy(lab->w[i]), 0);
	}
	assert_int_equal(pmv_device_close(lab->dev), 0);
	assert_int_equal(pmv_test_link_close(lab->link), 0);
	test_free(lab);
}

static void
eth(struct craft *c, uint16_t ethertype, uint16_t vlan)
{
	memset(c, 0, sizeof(*c));
	memset(c->bytes, 0xff, 6);
	memset(c->bytes + 6, 0x02, 6);
	c->len = 12;
	if (vlan != 0) {
		pmv_be16_store(c->bytes + 12, 0x8100);
		pmv_be16_store(c->bytes + 14, vlan);
		c->len = 16;
	}
	pmv_be16_store(c->bytes + c->len, ethertype);
	c->len += 2;
	c->l3 = c->len;
}

static void
arp(struct craft *c, uint16_t vlan)
{
	static const uint8_t fixed[8] = { 0, 1, 8, 0, 6, 4, 0, 1 };

	eth(c, 0x0806, vlan);
	memcpy(c->bytes + c->len, fixed, sizeof(fixed));
	pmv_be32_store(c->bytes + c->len + 24, OUR_V4);
	c->len += 28;
}

static void
ipv4(struct craft *c, uint8_t proto, uint32_t dst, uint32_t payload, uint16_t frag)
{
	uint8_t *ip;

	eth(c, 0x0800, 0);
	ip = c->bytes + c->len;
	ip[0] = 0x45;
	pmv_be16_store(ip + 2, (uint16_t)(20 + payload));
	pmv_be16_store(ip + 6, frag);
	ip[8] = 64;
	ip[9] = proto;
	pmv_be32_store(ip + 12, 0xc0a80a01u);
	pmv_be32_store(ip + 16, dst);
	c->is_v6 = false;
	craft_seal_ip(c);
	c->len += 20 + payload;
}

static void
icmp_echo(struct craft *c, uint32_t dst)
{
	ipv4(c, 1, dst, 16, 0);
	c->bytes[c->l3 + 20] = 8;
}

static void
udp(struct craft *c, uint16_t port, uint16_t frag)
{
	ipv4(c, 17, OUR_V4, 24, frag);
	pmv_be16_store(c->bytes + c->l3 + 22, port);
	pmv_be16_store(c->bytes + c->l3 + 24, 24);
}

/* An ICMPv6 message, from and to fd00::x. */
static void
icmpv6(struct craft *c, uint8_t type, uint8_t last_of_dst)
{
	uint8_t *ip;

	eth(c, 0x86dd, 0);
	ip = c->bytes + c->len;
	ip[0] = 0x60;
	pmv_be16_store(ip + 4, 32);
	ip[6] = 58;
	ip[7] = 255;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = last_of_dst;
	ip[40] = type;
	c->len += 72;
}

/* Foreign for everybody, whoever owns the addresses. */
static uint32_t
strangers(struct craft *c)
{
	uint32_t n = 0;

	ipv4(&c[n++], 6, OUR_V4, 20, 0); /* TCP */
	udp(&c[n++], 53, 0);
	udp(&c[n++], 4790, 0);
	udp(&c[n++], 4791, 0x0010); /* a later fragment: whose port is unknown */
	icmp_echo(&c[n++], OTHER_V4);
	ipv4(&c[n], 1, OUR_V4, 8, 0); /* an echo reply: the application's own ping */
	c[n++].bytes[34] = 0;
	icmpv6(&c[n++], 128, 99); /* echo request to another */
	icmpv6(&c[n++], 129, 2);  /* echo reply to us */
	icmpv6(&c[n++], 1, 2);    /* unreachable */
	eth(&c[n], 0x88cc, 0);    /* LLDP */
	c[n++].len = 60;
	eth(&c[n], 0x0026, 0); /* 802.3 with a length: spanning tree */
	c[n++].len = 60;
	arp(&c[n++], 77); /* on a VLAN that is not the device's */
	eth(&c[n], 0x88a8, 0);
	c[n++].len = 60;
	return n;
}

static void
check_untouched(const struct rte_mbuf *m, const struct craft *c)
{
	assert_int_equal(m->pkt_len, c->len);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_memory_equal(rte_pktmbuf_mtod(m, const void *), c->bytes, c->len);
}

/* All foreign: the same mbufs, in order, untouched. `same`: the array handed in takes them. */
static void
all_foreign(struct lab *lab, const struct craft *c, uint32_t nb, bool same)
{
	struct rte_mbuf *in[32], *keep[32], *out[32];
	struct rte_mbuf **foreign = same ? in : out;
	struct craft_stats before, after;

	for (uint32_t i = 0; i < nb; i++)
		in[i] = keep[i] = craft_mbuf(lab->link->pool, &c[i], 0, 0);
	craft_stats_take(lab->w[0], &before);
	assert_int_equal(pmv_worker_input(lab->w[0], in, nb, foreign), nb);
	craft_stats_take(lab->w[0], &after);
	for (uint32_t i = 0; i < nb; i++) {
		assert_ptr_equal(foreign[i], keep[i]);
		check_untouched(foreign[i], &c[i]);
		rte_pktmbuf_free(foreign[i]);
	}
	assert_int_equal(craft_stats_delta(&before, &after, "rx_frames"), nb);
	assert_int_equal(craft_stats_delta(&before, &after, "rx_drop_foreign"), 0);
}

static void
join_input__strangers_come_back(void **state)
{
	struct craft *c = test_calloc(32, sizeof(*c));

	for (int k = 0; k < 8; k++) {
		struct lab *lab = open_lab(k & 1 ? PMV_ADDR_SHARED : PMV_ADDR_OWN, 1, true);

		if (k & 2)
			assert_int_equal(pmv_verbs_ctl_open(lab->dev, &lab->ctl), 0);
		all_foreign(lab, c, strangers(c), k & 4);
		assert_int_equal(pmv_worker_stat(lab->w[0], "rx_ctl"), 0);
		close_lab(lab);
	}
	test_free(c);
}

/* Frames that somebody has to answer. */
static uint32_t
controls(struct craft *c, uint32_t *ret_nb_neigh)
{
	uint32_t n = 0;

	arp(&c[n++], 0);
	icmpv6(&c[n++], 135, 2);
	icmpv6(&c[n++], 136, 2);
	icmpv6(&c[n++], 134, 2);
	*ret_nb_neigh = n;
	icmp_echo(&c[n++], OUR_V4);
	icmpv6(&c[n++], 128, 2);
	ipv4(&c[n++], 2, 0xe0000001u, 8, 0); /* IGMP */
	icmpv6(&c[n++], 130, 2);             /* MLD */
	icmpv6(&c[n++], 143, 2);
	return n;
}

static uint32_t
drain_ctl(struct lab *lab, const struct craft *c, struct rte_mbuf **ret_m)
{
	uint32_t nb = pmv_verbs_ctl_recv(lab->ctl, ret_m, NULL, 32);

	for (uint32_t i = 0; i < nb; i++)
		check_untouched(ret_m[i], &c[i]);
	return nb;
}

/* Nobody manages connections: control frames are the application's as well. */
static void
join_input__no_cm_takes_nothing(void **state)
{
	struct craft *c = test_calloc(32, sizeof(*c));

	for (int k = 0; k < 2; k++) {
		struct lab *lab = open_lab(k ? PMV_ADDR_SHARED : PMV_ADDR_OWN, 1, true);
		uint32_t nb_neigh;

		all_foreign(lab, c, controls(c, &nb_neigh), false);
		close_lab(lab);
	}
	test_free(c);
}

/* Own: the connection manager gets them all, the application none. */
static void
join_input__own_takes_control_frames(void **state)
{
	struct lab *lab = open_lab(PMV_ADDR_OWN, 1, true);
	struct craft *c = test_calloc(32, sizeof(*c));
	struct rte_mbuf *in[32], *foreign[32], *got[32];
	uint32_t nb_neigh, nb;

	assert_int_equal(pmv_verbs_ctl_open(lab->dev, &lab->ctl), 0);
	nb = controls(c, &nb_neigh);
	for (uint32_t i = 0; i < nb; i++)
		in[i] = craft_mbuf(lab->link->pool, &c[i], 0, 0);
	assert_int_equal(pmv_worker_input(lab->w[0], in, nb, foreign), 0);
	assert_int_equal(drain_ctl(lab, c, got), nb);
	for (uint32_t i = 0; i < nb; i++) {
		assert_ptr_equal(got[i], in[i]);
		rte_pktmbuf_free(got[i]);
	}
	assert_int_equal(pmv_worker_stat(lab->w[0], "rx_ctl"), nb);
	test_free(c);
	close_lab(lab);
}

/* Shared: ARP and ND go to both (the CM has a copy of its own), the rest to the application. */
static void
join_input__shared_copies_neighbour_frames(void **state)
{
	struct lab *lab = open_lab(PMV_ADDR_SHARED, 1, true);
	struct craft *c = test_calloc(32, sizeof(*c));
	struct rte_mbuf *got[32];
	uint32_t nb_neigh, nb;

	assert_int_equal(pmv_verbs_ctl_open(lab->dev, &lab->ctl), 0);
	nb = controls(c, &nb_neigh);
	all_foreign(lab, c, nb, false); /* freed there: the copies must not notice */
	assert_int_equal(drain_ctl(lab, c, got), nb_neigh);
	rte_pktmbuf_free_bulk(got, nb_neigh);
	assert_int_equal(pmv_worker_stat(lab->w[0], "rx_ctl"), nb_neigh);
	test_free(c);
	close_lab(lab);
}

/* The pool is empty: the frame is the application's all the same, the missing copy is counted. */
static void
join_input__shared_without_mbufs(void **state)
{
	struct lab *lab = open_lab(PMV_ADDR_SHARED, 1, true);
	struct rte_mempool *pool = lab->link->pool;
	uint32_t nb_free, nb = 0;
	struct rte_mbuf **hoard, *m, *foreign, *got;
	struct craft *c = test_calloc(1, sizeof(*c));

	assert_int_equal(pmv_verbs_ctl_open(lab->dev, &lab->ctl), 0);
	arp(c, 0);
	m = craft_mbuf(pool, c, 0, 0);
	nb_free = rte_mempool_avail_count(pool);
	hoard = test_calloc(nb_free, sizeof(*hoard));
	while (nb < nb_free && (hoard[nb] = rte_pktmbuf_alloc(pool)) != NULL)
		nb++;
	assert_int_equal(pmv_worker_input(lab->w[0], &m, 1, &foreign), 1);
	assert_ptr_equal(foreign, m);
	check_untouched(m, c);
	rte_pktmbuf_free(m);
	assert_int_equal(pmv_worker_stat(lab->w[0], "rx_drop_no_mbuf"), 1);
	assert_int_equal(pmv_verbs_ctl_recv(lab->ctl, &got, NULL, 1), 0);
	rte_pktmbuf_free_bulk(hoard, nb);
	test_free(hoard);
	test_free(c);
	close_lab(lab);
}

/* RoCE frames among the others: they are taken, the others come back in their order. */
static void
join_input__mixed_burst(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *rc = test_malloc(sizeof(*rc));
	struct craft *c = test_calloc(64, sizeof(*c));
	struct rte_mbuf *in[64], *foreign[64];
	struct craft_path path;
	struct craft other[32];
	uint32_t nb_other, nb_in = 0, nb_foreign;
	struct pmv_wc wc[32];

	rc_lab_open(rc, &param);
	craft_path_get(&rc->pair, 1, false, 0, &path);
	nb_other = strangers(other);
	for (uint32_t i = 0; i < nb_other; i++) {
		struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_SEND_ONLY,
			.pkey = PMV_PKEY_DEFAULT,
			.dqpn = pmv_qp_num(rc->qp[1]),
			.ackreq = true,
			.psn = pmv_psn(0xfffff8 + i) };

		rc_lab_recv(rc, 1, i * 64, 64, i);
		craft_begin(&c[nb_in], &path, &bth);
		craft_put(&c[nb_in], "abcd", 4);
		craft_end(&c[nb_in]);
		in[nb_in] = craft_mbuf(rc->pair.link->pool, &c[nb_in], 0, 0);
		nb_in++;
		in[nb_in++] = craft_mbuf(rc->pair.link->pool, &other[i], 0, 0);
	}
	nb_foreign = pmv_worker_input(rc->pair.node[1].worker[0], in, nb_in, foreign);
	assert_int_equal(nb_foreign, nb_other);
	for (uint32_t i = 0; i < nb_foreign; i++) {
		assert_ptr_equal(foreign[i], in[2 * i + 1]);
		check_untouched(foreign[i], &other[i]);
	}
	rte_pktmbuf_free_bulk(foreign, nb_foreign);
	/* executed at once, without a turn; one ACK for the burst, staged */
	assert_int_equal(pmv_poll_cq(rc->pair.node[1].cq[0], wc, 32), nb_other);
	assert_int_equal(pmv_worker_stat(rc->pair.node[1].worker[0], "acks_tx"), 1);
	assert_int_equal(rte_ring_count(rc->pair.link->end[1].tx[0]), 0);
	assert_int_equal(pmv_worker_flush(rc->pair.node[1].worker[0]), 0);
	assert_int_equal(rte_ring_count(rc->pair.link->end[1].tx[0]), 1);
	test_free(c);
	rc_lab_close(rc);
	test_free(rc);
}

/* Workers without a receive queue leave the port alone, and may name one queue together. */
static void
join_input__no_rx_leaves_the_queue_alone(void **state)
{
	struct lab *lab = open_lab(PMV_ADDR_OWN, 2, true);
	struct craft *c = test_calloc(1, sizeof(*c));

	arp(c, 0);
	for (int i = 0; i < 5; i++)
		pmv_test_link_inject(lab->link, 0, c->bytes, c->len);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pmv_worker_poll_at(lab->w[0], ++lab->now), 0);
		assert_int_equal(pmv_worker_poll_at(lab->w[1], ++lab->now), 0);
	}
	assert_int_equal(rte_ring_count(lab->link->end[0].rx[0]), 5);
	test_free(c);
	close_lab(lab);
}

/* Without an application's loop foreign frames are dropped, and counted. */
static void
join_input__poll_drops_foreign(void **state)
{
	struct lab *lab = open_lab(PMV_ADDR_OWN, 1, false);
	struct craft *c = test_calloc(1, sizeof(*c));

	arp(c, 0);
	for (int i = 0; i < 5; i++)
		pmv_test_link_inject(lab->link, 0, c->bytes, c->len);
	assert_int_equal(pmv_worker_poll_at(lab->w[0], ++lab->now), 5);
	assert_int_equal(pmv_worker_stat(lab->w[0], "rx_drop_foreign"), 5);
	test_free(c);
	close_lab(lab);
}

/* PMV_SEND_FLUSH: on the wire when post returns, even in the turn in which the QP became ready;
 * without it the frame waits for the end of the turn, or for pmv_worker_flush(). */
static void
join_input__send_flush(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct rte_ring *wire;

	rc_lab_open(lab, &param);
	wire = lab->pair.link->end[0].tx[0];
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_FLUSH | PMV_SEND_SIGNALED, 1);
	assert_int_equal(rte_ring_count(wire), 1);
	rc_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 1);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 2);
	assert_int_equal(rte_ring_count(wire), 0);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_FLUSH | PMV_SEND_SIGNALED, 3);
	assert_int_equal(rte_ring_count(wire), 2);
	rc_lab_run(lab, 50);
	rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, 4);
	assert_int_equal(pmv_worker_flush(lab->pair.node[0].worker[0]), 0);
	assert_int_equal(rte_ring_count(wire), 1);
	rc_lab_run(lab, 50);
	assert_int_equal(lab->nb_wc[0], 4);
	rc_lab_close(lab);
	test_free(lab);
}

/* The same while the QP has its peer's READ to answer in the next turn. */
static void
join_input__send_flush_while_busy(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct rte_mbuf *m, *foreign;
	struct craft_path path;
	struct craft *c = test_calloc(1, sizeof(*c));
	const struct pmv_bth bth = { .opcode = PMV_OPCODE_RC_READ_REQUEST,
		.pkey = PMV_PKEY_DEFAULT,
		.psn = pmv_psn(0xfffff8) };
	struct rte_ring *wire;

	rc_lab_open(lab, &param);
	rc_lab_run(lab, 20);
	wire = lab->pair.link->end[1].tx[0];
	craft_path_get(&lab->pair, 1, false, 0, &path);
	craft_begin(c, &path, &bth);
	pmv_be32_store(c->bytes + c->bth + 4, pmv_qp_num(lab->qp[1]));
	craft_put_reth(c, (uintptr_t)lab->mem[1], pmv_mr_rkey(lab->mr[1]), 5000);
	craft_end(c);
	m = craft_mbuf(lab->pair.link->pool, c, 0, 0);
	assert_int_equal(pmv_worker_input(lab->pair.node[1].worker[0], &m, 1, &foreign), 0);
	rc_lab_post(lab, 1, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_FLUSH, 1);
	assert_int_equal(rte_ring_count(wire), 1);
	rc_lab_run(lab, 200);
	test_free(c);
	rc_lab_close(lab);
	test_free(lab);
}

/* The port takes no more: flush says how many wait, keeps them in order, and sends them later. */
static void
join_input__flush_when_the_port_is_full(void **state)
{
	const struct rc_lab_param param = { 0 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct rte_mbuf *m;
	struct rte_ring *wire;
	uint32_t nb_fill = 0;
	void *p = NULL;

	rc_lab_open(lab, &param);
	rc_lab_run(lab, 20);
	wire = lab->pair.link->end[0].tx[0];
	while ((m = rte_pktmbuf_alloc(lab->pair.link->pool)) != NULL) {
		if (rte_ring_enqueue(wire, m) != 0) {
			rte_pktmbuf_free(m);
			break;
		}
		nb_fill++;
	}
	for (uint64_t i = 0; i < 40; i++)
		rc_lab_post(lab, 0, PMV_WR_RDMA_WRITE, 0, 0, 8, PMV_SEND_SIGNALED, i);
	assert_int_equal(pmv_worker_flush(lab->pair.node[0].worker[0]), 40);
	assert_true(pmv_worker_stat(lab->pair.node[0].worker[0], "tx_busy") > 0);
	for (uint32_t i = 0; i < nb_fill; i++) {
		assert_int_equal(rte_ring_dequeue(wire, &p), 0);
		rte_pktmbuf_free(p);
	}
	assert_int_equal(pmv_worker_flush(lab->pair.node[0].worker[0]), 0);
	assert_int_equal(rte_ring_count(wire), 40);
	rc_lab_run(lab, 100);
	assert_int_equal(lab->nb_wc[0], 40);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(lab->wc[0][i].wr_id, i);
	assert_int_equal(pmv_worker_stat(lab->pair.node[0].worker[0], "retx_pkts"), 0);
	rc_lab_close(lab);
	test_free(lab);
}

static char said[4][200];
static int nb_said;

static void
hear(void *arg, const char *sentence)
{
	assert_true(nb_said < 4);
	snprintf(said[nb_said++], sizeof(said[0]), "%s", sentence);
}

/* A port that does not fit: a sentence for each violation, and open refuses it. */
static void
join_input__port_check_guards_open(void **state)
{
	struct pmv_device_param dp = { .driver = "roce", .nb_workers = 1, .ip_mtu = 4200 };
	struct rte_eth_conf conf = { 0 };
	struct pmv_test_link *link;
	struct pmv_device *dev;

	assert_int_equal(pmv_test_link_open(&link, 1, 1), 0);
	dp.port_id = link->end[0].port_id;
	assert_int_equal(pmv_port_check(dp.port_id, 4200, hear, NULL), 0);
	assert_int_equal(rte_eth_dev_stop(dp.port_id), 0);
	assert_int_equal(rte_eth_dev_configure(dp.port_id, 1, 1, &conf), 0);
	nb_said = 0;
	assert_int_equal(pmv_port_check(dp.port_id, 351, hear, NULL), 2);
	assert_int_equal(nb_said, 2);
	assert_non_null(strstr(said[0], "MULTI_SEGS"));
	assert_non_null(strstr(said[1], "351"));
	assert_int_equal(pmv_device_open(&dp, &dev), -ENOTSUP);
	dp.port_id = RTE_MAX_ETHPORTS - 1;
	assert_int_equal(pmv_device_open(&dp, &dev), -ENODEV);
	assert_int_equal(pmv_port_check(dp.port_id, 0, hear, NULL), -ENODEV);
	assert_int_equal(pmv_test_link_close(link), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_input__strangers_come_back),
		cmocka_unit_test(join_input__no_cm_takes_nothing),
		cmocka_unit_test(join_input__own_takes_control_frames),
		cmocka_unit_test(join_input__shared_copies_neighbour_frames),
		cmocka_unit_test(join_input__shared_without_mbufs),
		cmocka_unit_test(join_input__mixed_burst),
		cmocka_unit_test(join_input__no_rx_leaves_the_queue_alone),
		cmocka_unit_test(join_input__poll_drops_foreign),
		cmocka_unit_test(join_input__send_flush),
		cmocka_unit_test(join_input__send_flush_while_busy),
		cmocka_unit_test(join_input__flush_when_the_port_is_full),
		cmocka_unit_test(join_input__port_check_guards_open),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
