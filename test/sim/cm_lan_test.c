// SPDX-License-Identifier: BSD-3-Clause
/*
 * Living on the LAN: ARP, neighbour discovery and echo are answered for our addresses (and not when
 * they are shared), a changed MAC reaches connections, and frames that are wrong are counted, each
 * under its own name, and answered by nobody.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/icmp.h"
#include "cm/id.h"
#include "cm/limits.h"
#include "cm/neigh_proto.h"
#include "lib/wire/gid.h"
#include "lib/wire/icrc.h"
#include "lib/wire/mad.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;
static const uint8_t stranger_mac[6] = { 0x02, 0, 0, 0, 0, 0x66 };

static void
gid_of(const char *text, uint8_t gid[16])
{
	struct pmv_ip_addr a;

	assert_int_equal(pmv_ip_addr_parse(text, &a), 0);
	memcpy(gid, a.gid.raw, 16);
}

static void
mac_of(int side, uint8_t mac[6])
{
	struct pmv_device_attr attr;

	assert_int_equal(pmv_query_device(lab.pair.node[side].dev, &attr), 0);
	memcpy(mac, attr.mac, 6);
}

/* Past the announcements of a new device. */
static void
open_quiet(const struct cm_lab_param *param)
{
	cm_lab_open(&lab, param);
	cm_lab_run_slow(&lab, 3000000);
	lab.s[0].nb_other = 0;
	lab.s[1].nb_other = 0;
}

static void
inject(int side, const uint8_t *frame, int len)
{
	assert_true(len > 0);
	pmv_test_link_inject(lab.pair.link, side, frame, (uint32_t)len);
	cm_lab_run(&lab, 100);
}

/* "Who has `target`?" from a stranger, to node 1. */
static void
ask(const char *from, const char *target, uint16_t vlan)
{
	struct pmv_cm_neigh_self self = { .vlan = vlan };
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX], ip[16];
	struct pmv_cm_neigh_msg msg;

	memcpy(self.mac, stranger_mac, 6);
	gid_of(from, self.ip);
	gid_of(target, ip);
	pmv_cm_neigh_proto_request(&self, ip, NULL, &msg);
	inject(1, frame, pmv_cm_neigh_proto_build(&msg, frame, sizeof(frame)));
}

static void
check_answer(const char *target, uint8_t kind, uint16_t vlan)
{
	struct pmv_cm_neigh_msg msg;
	uint8_t mac[6], ip[16];

	mac_of(1, mac);
	gid_of(target, ip);
	assert_int_equal(lab.s[1].nb_other, 1);
	assert_int_equal(pmv_cm_neigh_proto_parse(lab.s[1].other, lab.s[1].other_len, &msg),
		PMV_CM_NEIGH_OK);
	assert_int_equal(msg.kind, kind);
	assert_int_equal(msg.vlan, vlan);
	assert_memory_equal(msg.sender_mac, mac, 6);
	assert_memory_equal(msg.sender_ip, ip, 16);
	assert_memory_equal(msg.eth_dst, stranger_mac, 6);
	assert_true(msg.solicited);
}

static void
cm_lan__answers_for_own_addresses(void **state)
{
	open_quiet(&(struct cm_lab_param){ 0 });
	ask("192.168.10.77", "192.168.10.2", 0);
	check_answer("192.168.10.2", PMV_CM_ARP_REPLY, 0);
	lab.s[1].nb_other = 0;
	ask("fd00::77", "fd00::2", 0);
	check_answer("fd00::2", PMV_CM_ND_ADVERT, 0);
	lab.s[1].nb_other = 0;
	ask("192.168.10.77", "192.168.10.3", 0);
	ask("fd00::77", "fd00::3", 0);
	ask("192.168.10.77", "192.168.10.2", 5); /* another VLAN */
	assert_int_equal(lab.s[1].nb_other, 0);
	cm_lab_close(&lab);
}

static void
cm_lan__answers_in_its_vlan(void **state)
{
	open_quiet(&(struct cm_lab_param){ .vlan_id = 5 });
	ask("192.168.10.77", "192.168.10.2", 5);
	check_answer("192.168.10.2", PMV_CM_ARP_REPLY, 5);
	lab.s[1].nb_other = 0;
	ask("192.168.10.77", "192.168.10.2", 0);
	assert_int_equal(lab.s[1].nb_other, 0);
	cm_lab_close(&lab);
}

/* Shared addresses: somebody else answers, and we ask nobody; MACs come from pmv_neigh_set(). */
static void
cm_lan__silent_when_shared(void **state)
{
	uint8_t mac[6];
	union pmv_gid gid;
	struct pmv_cm_id *id;

	open_quiet(&(struct cm_lab_param){ .ownership = PMV_ADDR_SHARED });
	ask("192.168.10.77", "192.168.10.2", 0);
	ask("fd00::77", "fd00::2", 0);
	assert_int_equal(lab.s[1].nb_other, 0);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_arp_nd"), 2);
	id = cm_lab_connect(
		&lab, 0, "192.168.10.2", CM_LAB_PORT); /* the harness has told the MAC */
	cm_lab_run(&lab, 1000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED), 1);
	cm_lab_destroy(&lab, 0, id);
	cm_lab_connect(&lab, 0, "192.168.10.9", CM_LAB_PORT);
	cm_lab_run_slow(&lab, 500000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED), 1);
	gid_of("192.168.10.9", gid.raw);
	mac_of(1, mac);
	assert_int_equal(pmv_neigh_set(lab.pair.node[0].dev, &gid, mac), 0);
	cm_lab_run(&lab, 1000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED), 2);
	assert_int_equal(lab.s[0].nb_other, 0);
	cm_lab_close(&lab);
}

/* A new device's addresses are announced twice; a new address later too. */
static void
cm_lan__announces(void **state)
{
	struct pmv_ip_addr addr;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_run_slow(&lab, 3000000);
	assert_int_equal(lab.s[1].nb_other, 4);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "tx_arp_nd"), 4);
	assert_int_equal(pmv_ip_addr_parse("192.168.10.22/24", &addr), 0);
	assert_int_equal(pmv_device_add_addr(lab.pair.node[1].dev, &addr), 0);
	cm_lab_run_slow(&lab, 3000000);
	assert_int_equal(lab.s[1].nb_other, 10);
	lab.s[1].nb_other = 0;
	ask("192.168.10.77", "192.168.10.22", 0);
	check_answer("192.168.10.22", PMV_CM_ARP_REPLY, 0);
	cm_lab_close(&lab);
}

/* Another host claims our address: we insist once in ten seconds. */
static void
cm_lan__conflict(void **state)
{
	struct pmv_cm_neigh_self self = { 0 };
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX];
	struct pmv_cm_neigh_msg msg;

	open_quiet(&(struct cm_lab_param){ 0 });
	memcpy(self.mac, stranger_mac, 6);
	gid_of("192.168.10.2", self.ip);
	pmv_cm_neigh_proto_announce(&self, &msg);
	for (int i = 0; i < 5; i++)
		inject(1, frame, pmv_cm_neigh_proto_build(&msg, frame, sizeof(frame)));
	assert_int_equal(lab.s[1].nb_other, 1);
	cm_lab_run_slow(&lab, 10000000);
	inject(1, frame, pmv_cm_neigh_proto_build(&msg, frame, sizeof(frame)));
	assert_int_equal(lab.s[1].nb_other, 2);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_conflict"), 6);
	cm_lab_close(&lab);
}

/* An echo request from a stranger; IPv4, checksums by hand. */
static int
echo_request(uint8_t *f, const char *to)
{
	static const uint8_t head[] = { 0x45, 0, 0, 48, 0, 1, 0, 0, 64, 1, 0, 0, 192, 168, 10, 77 };
	uint32_t sum = 0;
	uint8_t gid[16];

	memset(f, 0, 62);
	mac_of(1, f);
	memcpy(f + 6, stranger_mac, 6);
	f[12] = 8;
	memcpy(f + 14, head, sizeof(head));
	gid_of(to, gid);
	memcpy(f + 30, gid + 12, 4);
	for (int i = 14; i < 34; i += 2)
		sum += pmv_be16_load(f + i);
	sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(f + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	f[34] = 8;
	f[41] = 9;
	memcpy(f + 42, "abcdefghijklmnopqrst", 20);
	sum = 0;
	for (int i = 34; i < 62; i += 2)
		sum += pmv_be16_load(f + i);
	sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(f + 36, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	return 62;
}

static void
cm_lan__echo(void **state)
{
	uint8_t frame[64];
	uint32_t nb;
	int len;

	open_quiet(&(struct cm_lab_param){ 0 });
	len = echo_request(frame, "192.168.10.2");
	inject(1, frame, len);
	assert_int_equal(lab.s[1].nb_other, 1);
	assert_int_equal(lab.s[1].other[34], 0); /* echo reply */
	assert_memory_equal(lab.s[1].other, stranger_mac, 6);
	assert_memory_equal(lab.s[1].other + 38, frame + 38, 24); /* id, sequence, data */
	len = echo_request(frame, "192.168.10.3");
	inject(1, frame, len);
	assert_int_equal(lab.s[1].nb_other, 1);
	len = echo_request(frame, "192.168.10.2");
	for (int i = 0; i < 300; i++) {
		pmv_test_link_inject(lab.pair.link, 1, frame, (uint32_t)len);
		if (i % 16 == 0)
			cm_lab_run(&lab, 50);
	}
	cm_lab_run(&lab, 1000);
	nb = lab.s[1].nb_other; /* a token may have come back meanwhile */
	assert_in_range(nb, PMV_CM_ICMP_REPLIES_PER_S, PMV_CM_ICMP_REPLIES_PER_S + 1);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_echo_rate"), 301 - nb);
	cm_lab_run_slow(&lab, 1000000);
	inject(1, frame, len);
	assert_int_equal(lab.s[1].nb_other, nb + 1);
	frame[50] ^= 1; /* checksum */
	inject(1, frame, len);
	assert_int_equal(lab.s[1].nb_other, nb + 1);
	cm_lab_close(&lab);
}

/* A MAD frame for node 1 that its CM would answer (a DREQ), with the ICRC made anew after a change.
 */
static uint32_t
dreq_frame(uint8_t *frame, struct pmv_mad_frame_param *p)
{
	struct pmv_cm_msg msg = { .attr = PMV_CM_ATTR_DREQ, .dreq = { 1, 2, 3 } };
	uint8_t mad[PMV_MAD_LEN];
	int len;

	*p = (struct pmv_mad_frame_param){
		.ip = { .ttl = 64, .udp_sport = 0xd872 },
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = PMV_QPN_GSI,
		.sqpn = PMV_QPN_GSI,
	};
	mac_of(1, p->ip.dst_mac);
	mac_of(0, p->ip.src_mac);
	gid_of("192.168.10.1", p->ip.src_gid);
	gid_of("192.168.10.2", p->ip.dst_gid);
	assert_int_equal(pmv_cm_msg_build(&msg, mad), 0);
	len = pmv_mad_frame_build(frame, PMV_MAD_FRAME_MAX, p, mad);
	assert_true(len > 0);
	return (uint32_t)len;
}

#define L3  14
#define MAD 62 /* of an IPv4 frame */

/* Of the CM, or of the worker, which sees the frame first. */
static uint64_t
counter_of(const char *name)
{
	return pmv_cm_stat(lab.s[1].cm, name) + pmv_worker_stat(lab.pair.node[1].worker[0], name);
}

static void
expect_drop(const uint8_t *frame, uint32_t len, const char *counter)
{
	uint64_t before = counter_of(counter);
	uint32_t sent = lab.s[1].nb_sent + lab.s[1].nb_other;

	inject(1, frame, (int)len);
	if (counter_of(counter) != before + 1)
		print_error("%s did not count\n", counter);
	assert_int_equal(counter_of(counter), before + 1);
	assert_int_equal(lab.s[1].nb_sent + lab.s[1].nb_other, sent);
}

static void
change_and_expect(uint32_t offset, uint8_t value, const char *counter)
{
	uint8_t frame[PMV_MAD_FRAME_MAX];
	struct pmv_mad_frame_param p;
	uint32_t len = dreq_frame(frame, &p);

	frame[offset] = value;
	pmv_icrc_packet_store(frame + L3, false, len - L3 - 4);
	expect_drop(frame, len, counter);
}

/* Each fault of a MAD frame under its own counter, no answer (CM-116, CM-118 and the rest). */
static void
cm_lan__wrong_mads(void **state)
{
	uint8_t frame[PMV_MAD_FRAME_MAX];
	struct pmv_mad_frame_param p;
	uint8_t mad[PMV_MAD_LEN];
	uint32_t len;

	open_quiet(&(struct cm_lab_param){ 0 });
	len = dreq_frame(frame, &p);
	inject(1, frame, (int)len);
	assert_int_equal(lab.s[1].nb_sent, 1); /* the unchanged one is answered */
	memcpy(mad, frame + MAD, sizeof(mad));
	change_and_expect(MAD + 1, 0x03, "rx_mad_other_class");
	change_and_expect(MAD + 2, 1, "rx_mad_bad_class_version");
	change_and_expect(MAD + 3, 0x81, "rx_mad_bad_method");
	change_and_expect(MAD + 17, 0x19, "rx_mad_path_migration");
	change_and_expect(MAD + 17, 0x20, "rx_mad_unknown_attr");
	p.pkey = 0x1234;
	len = (uint32_t)pmv_mad_frame_build(frame, sizeof(frame), &p, mad);
	expect_drop(frame, len, "rx_drop_pkey");
	p.pkey = 0x7fff;
	len = (uint32_t)pmv_mad_frame_build(frame, sizeof(frame), &p, mad);
	inject(1, frame, (int)len);
	assert_int_equal(lab.s[1].nb_sent, 2);
	p.pkey = PMV_PKEY_DEFAULT;
	gid_of("192.168.10.2", p.ip.src_gid); /* our own address, not from our MAC */
	len = (uint32_t)pmv_mad_frame_build(frame, sizeof(frame), &p, mad);
	expect_drop(frame, len, "rx_drop_src");
	gid_of("127.0.0.1", p.ip.src_gid);
	len = (uint32_t)pmv_mad_frame_build(frame, sizeof(frame), &p, mad);
	expect_drop(frame, len, "rx_drop_src");
	cm_lab_close(&lab);
}

/* The peer's MAC changes: the connection's next frames go there (both addresses ask first). */
static void
cm_lan__peer_moves(void **state)
{
	struct pmv_cm_neigh_self self = { 0 };
	uint8_t frame[PMV_CM_NEIGH_FRAME_MAX], dmac[6];
	struct pmv_cm_neigh_msg msg;
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	assert_int_not_equal(p.b->conn.av.entry, PMV_CM_NEIGH_NONE);
	lab.s[1].drop_all = true; /* the old host is gone */
	memcpy(self.mac, stranger_mac, 6);
	gid_of("192.168.10.2", self.ip);
	pmv_cm_neigh_proto_announce(&self, &msg);
	inject(0, frame, pmv_cm_neigh_proto_build(&msg, frame, sizeof(frame)));
	cm_lab_run_slow(&lab, 700000);
	/* now the new one is asked, by unicast, and answers */
	assert_memory_equal(lab.s[0].other, stranger_mac, 6);
	assert_int_equal(pmv_cm_neigh_proto_parse(lab.s[0].other, lab.s[0].other_len, &msg),
		PMV_CM_NEIGH_OK);
	{
		struct pmv_cm_neigh_msg reply;

		pmv_cm_neigh_proto_answer(&self, &msg, &reply);
		inject(0, frame, pmv_cm_neigh_proto_build(&reply, frame, sizeof(frame)));
	}
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	cm_lab_run(&lab, 1000);
	memcpy(dmac, cm_lab_sent(&lab, 0, PMV_CM_ATTR_DREQ, 0)->dmac, 6);
	assert_memory_equal(dmac, stranger_mac, 6);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_lan__answers_for_own_addresses),
		cmocka_unit_test(cm_lan__answers_in_its_vlan),
		cmocka_unit_test(cm_lan__silent_when_shared),
		cmocka_unit_test(cm_lan__announces),
		cmocka_unit_test(cm_lan__conflict),
		cmocka_unit_test(cm_lan__echo),
		cmocka_unit_test(cm_lan__wrong_mads),
		cmocka_unit_test(cm_lan__peer_moves),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
