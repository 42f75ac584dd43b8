// SPDX-License-Identifier: BSD-3-Clause
/*
 * ARP and NS/NA frames (RFC 826, 5227, 4861). Called through cm/neigh_proto.h on the control lcore.
 * Pure. It keeps no state and sends nothing.
 */
#include "cm/neigh_proto.h"

#include <errno.h>
#include <string.h>

#include "cm/inet_sum.h"
#include "lib/util/be.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/gid.h"

#define ARP_BYTES        28u
#define ARP_HTYPE_ETHER  1
#define ARP_HTYPE_802    6 /* Linux takes it on Ethernet, too */
#define ARP_OPER_REQUEST 1
#define ARP_OPER_REPLY   2

#define ICMP6_PROTO       58
#define ND_SOLICIT_TYPE   135
#define ND_ADVERT_TYPE    136
#define ND_BYTES          24u /* ICMPv6 header, flags or reserved, target */
#define ND_FLAG_ROUTER    0x80
#define ND_FLAG_SOLICITED 0x40
#define ND_FLAG_OVERRIDE  0x20
#define ND_HOP_LIMIT      255
#define ND_OPT_SOURCE     1
#define ND_OPT_TARGET     2
#define ND_OPT_NONCE      14
#define ND_OPT_BYTES      8u

static const uint8_t mac_broadcast[PMV_MAC_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t ip_all_nodes[PMV_GID_LEN] = { 0xff, 0x02, [15] = 0x01 };
static const uint8_t ip_zero[PMV_GID_LEN];
/* ff02::1:ff00:0/104 */
static const uint8_t solicited_node_prefix[13] = { 0xff, 0x02, [11] = 0x01, [12] = 0xff };

static bool
mac_is_unicast(const uint8_t *mac)
{
	static const uint8_t zero[PMV_MAC_LEN];

	return (mac[0] & 1) == 0 && memcmp(mac, zero, PMV_MAC_LEN) != 0;
}

static bool
ipv4_is_zero(const uint8_t *gid)
{
	return pmv_gid_is_v4(gid) && pmv_gid_ipv4(gid) == 0;
}

/* Nobody's own address: multicast, broadcast, loopback. */
static bool
ipv4_is_special(uint32_t addr)
{
	return addr >> 28 == 0xe || addr == UINT32_MAX || addr >> 24 == 127;
}

/*
 * Not an address that ND may speak of. A mapped IPv4 address is among them: as a GID it would be
 * the ARP neighbour of that name, which ND must not be able to touch.
 */
static bool
ipv6_is_special(const uint8_t *ip)
{
	return pmv_gid_is_multicast(ip) || pmv_gid_is_v4(ip) ||
	       (pmv_be64_load(ip) == 0 && pmv_be64_load(ip + 8) <= 1);
}

void
pmv_cm_neigh_proto_solicited_node(const uint8_t ip[16], uint8_t ret_group[16])
{
	memcpy(ret_group, solicited_node_prefix, sizeof(solicited_node_prefix));
	memcpy(ret_group + 13, ip + 13, 3);
}

/* ---- Reading ---- */

static enum pmv_cm_neigh_verdict
arp_parse(const uint8_t *arp, size_t bytes, struct pmv_cm_neigh_msg *m)
{
	uint32_t spa, tpa;
	uint16_t htype, oper;

	if (bytes < ARP_BYTES)
		return PMV_CM_NEIGH_TRUNCATED;
	htype = pmv_be16_load(arp);
	oper = pmv_be16_load(arp + 6);
	if ((htype != ARP_HTYPE_ETHER && htype != ARP_HTYPE_802) ||
		pmv_be16_load(arp + 2) != PMV_ETHERTYPE_IPV4 || arp[4] != PMV_MAC_LEN ||
		arp[5] != 4 || (oper != ARP_OPER_REQUEST && oper != ARP_OPER_REPLY))
		return PMV_CM_NEIGH_BAD_ARP;
	spa = pmv_be32_load(arp + 14);
	tpa = pmv_be32_load(arp + 24);
	if (!mac_is_unicast(arp + 8) || ipv4_is_special(spa))
		return PMV_CM_NEIGH_BAD_SENDER;
	if (ipv4_is_special(tpa))
		return PMV_CM_NEIGH_BAD_TARGET;
	/* SPA 0 is a probe, which only a request can be; a request for 0 asks for nobody. */
	if (oper == ARP_OPER_REPLY && spa == 0)
		return PMV_CM_NEIGH_BAD_SENDER;
	if (oper == ARP_OPER_REQUEST && tpa == 0)
		return PMV_CM_NEIGH_BAD_TARGET;

	m->kind = oper == ARP_OPER_REQUEST ? PMV_CM_ARP_REQUEST : PMV_CM_ARP_REPLY;
	m->to_unicast = (m->eth_dst[0] & 1) == 0;
	m->has_mac = true;
	m->solicited = oper == ARP_OPER_REPLY && m->to_unicast && spa != tpa;
	m->override = true;
	memcpy(m->sender_mac, arp + 8, PMV_MAC_LEN);
	memcpy(m->target_mac, arp + 18, PMV_MAC_LEN);
	pmv_gid_from_ipv4(m->sender_ip, spa);
	pmv_gid_from_ipv4(m->target_ip, tpa);
	return PMV_CM_NEIGH_OK;
}

/* Options of an NS or NA: only the link-layer address of its kind and the nonce matter, others are
 * skipped. */
static enum pmv_cm_neigh_verdict
nd_options_parse(const uint8_t *opt, size_t bytes, struct pmv_cm_neigh_msg *m)
{
	uint8_t mac_type = m->kind == PMV_CM_ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET;

	while (bytes > 0) {
		size_t len;

		if (bytes < ND_OPT_BYTES)
			return PMV_CM_NEIGH_BAD_ND;
		len = (size_t)opt[1] * ND_OPT_BYTES;
		if (len == 0 || len > bytes)
			return PMV_CM_NEIGH_BAD_ND;
		if (opt[0] == mac_type && len == ND_OPT_BYTES) {
			if (!mac_is_unicast(opt + 2))
				return PMV_CM_NEIGH_BAD_SENDER;
			memcpy(m->sender_mac, opt + 2, PMV_MAC_LEN);
			m->has_mac = true;
		} else if (opt[0] == ND_OPT_NONCE && len == ND_OPT_BYTES) {
			memcpy(m->nonce, opt + 2, sizeof(m->nonce));
			m->has_nonce = true;
		}
		opt += len;
		bytes -= len;
	}
	return PMV_CM_NEIGH_OK;
}

/* RFC 4861 7.1.1 and 7.1.2, after the options are known. */
static enum pmv_cm_neigh_verdict
nd_rules_check(const struct pmv_cm_neigh_msg *m)
{
	bool unspecified = pmv_gid_is_zero(m->ip_src);

	if (ipv6_is_special(m->target_ip))
		return PMV_CM_NEIGH_BAD_TARGET;
	if (m->kind == PMV_CM_ND_SOLICIT && unspecified) {
		if (m->has_mac || memcmp(m->ip_dst, solicited_node_prefix,
					  sizeof(solicited_node_prefix)) != 0)
			return PMV_CM_NEIGH_BAD_ND;
		return PMV_CM_NEIGH_OK;
	}
	if (ipv6_is_special(m->ip_src))
		return PMV_CM_NEIGH_BAD_SENDER;
	if (m->kind == PMV_CM_ND_ADVERT && m->solicited && !m->to_unicast)
		return PMV_CM_NEIGH_BAD_ND;
	return PMV_CM_NEIGH_OK;
}

static enum pmv_cm_neigh_verdict
nd_message_parse(const uint8_t *nd, uint16_t bytes, struct pmv_cm_neigh_msg *m)
{
	enum pmv_cm_neigh_verdict verdict;

	m->kind = nd[0] == ND_SOLICIT_TYPE ? PMV_CM_ND_SOLICIT : PMV_CM_ND_ADVERT;
	m->to_unicast = !pmv_gid_is_multicast(m->ip_dst);
	memcpy(m->target_ip, nd + 8, PMV_GID_LEN);
	if (m->kind == PMV_CM_ND_ADVERT) {
		m->router = (nd[4] & ND_FLAG_ROUTER) != 0;
		m->solicited = (nd[4] & ND_FLAG_SOLICITED) != 0;
		m->override = (nd[4] & ND_FLAG_OVERRIDE) != 0;
	}
	verdict = nd_options_parse(nd + ND_BYTES, bytes - ND_BYTES, m);
	if (verdict == PMV_CM_NEIGH_OK)
		verdict = nd_rules_check(m);
	if (verdict != PMV_CM_NEIGH_OK)
		return verdict;
	memcpy(m->sender_ip, m->kind == PMV_CM_ND_SOLICIT ? m->ip_src : m->target_ip, PMV_GID_LEN);
	if (!m->has_mac) {
		/* The frame's source is the best guess; has_mac says that it is one. */
		if (!mac_is_unicast(m->eth_src))
			return PMV_CM_NEIGH_BAD_SENDER;
		memcpy(m->sender_mac, m->eth_src, PMV_MAC_LEN);
	}
	return PMV_CM_NEIGH_OK;
}

static enum pmv_cm_neigh_verdict
nd_parse(const uint8_t *ip, size_t bytes, struct pmv_cm_neigh_msg *m)
{
	const uint8_t *nd = ip + PMV_IPV6_LEN;
	uint16_t nd_bytes;

	if (bytes < PMV_IPV6_LEN)
		return PMV_CM_NEIGH_TRUNCATED;
	if (ip[0] >> 4 != 6 || ip[6] != ICMP6_PROTO)
		return PMV_CM_NEIGH_OTHER;
	nd_bytes = pmv_be16_load(ip + 4);
	if (bytes - PMV_IPV6_LEN < nd_bytes || nd_bytes == 0)
		return PMV_CM_NEIGH_TRUNCATED;
	if (nd[0] != ND_SOLICIT_TYPE && nd[0] != ND_ADVERT_TYPE)
		return PMV_CM_NEIGH_OTHER;
	if (ip[7] != ND_HOP_LIMIT)
		return PMV_CM_NEIGH_BAD_HOP_LIMIT;
	if (nd_bytes < ND_BYTES)
		return PMV_CM_NEIGH_BAD_ND;
	if (pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(
		    pmv_cm_inet_sum_pseudo6(ip + 8, nd_bytes, ICMP6_PROTO), nd, nd_bytes)) != 0)
		return PMV_CM_NEIGH_BAD_CHECKSUM;
	if (nd[1] != 0)
		return PMV_CM_NEIGH_BAD_ND;
	memcpy(m->ip_src, ip + 8, PMV_GID_LEN);
	memcpy(m->ip_dst, ip + 24, PMV_GID_LEN);
	return nd_message_parse(nd, nd_bytes, m);
}

enum pmv_cm_neigh_verdict
pmv_cm_neigh_proto_parse(const uint8_t *frame, size_t frame_bytes, struct pmv_cm_neigh_msg *ret_msg)
{
	struct pmv_cm_neigh_msg m = { 0 };
	enum pmv_cm_neigh_verdict verdict;
	size_t l3 = PMV_ETH_LEN;
	uint16_t ethertype;

	if (frame_bytes < PMV_ETH_LEN)
		return PMV_CM_NEIGH_TRUNCATED;
	memcpy(m.eth_dst, frame, PMV_MAC_LEN);
	memcpy(m.eth_src, frame + PMV_MAC_LEN, PMV_MAC_LEN);
	ethertype = pmv_be16_load(frame + 12);
	if (ethertype == PMV_ETHERTYPE_VLAN) {
		l3 += PMV_VLAN_LEN;
		if (frame_bytes < l3)
			return PMV_CM_NEIGH_TRUNCATED;
		m.vlan = pmv_be16_load(frame + 14) & 0xfff;
		ethertype = pmv_be16_load(frame + 16);
	}
	if (ethertype == PMV_ETHERTYPE_ARP)
		verdict = arp_parse(frame + l3, frame_bytes - l3, &m);
	else if (ethertype == PMV_ETHERTYPE_IPV6)
		verdict = nd_parse(frame + l3, frame_bytes - l3, &m);
	else
		return PMV_CM_NEIGH_OTHER;
	if (verdict == PMV_CM_NEIGH_OK)
		*ret_msg = m;
	return verdict;
}

/* ---- Writing ---- */

static size_t
arp_build(const struct pmv_cm_neigh_msg *m, uint8_t *arp)
{
	pmv_be16_store(arp, ARP_HTYPE_ETHER);
	pmv_be16_store(arp + 2, PMV_ETHERTYPE_IPV4);
	arp[4] = PMV_MAC_LEN;
	arp[5] = 4;
	pmv_be16_store(arp + 6, m->kind == PMV_CM_ARP_REQUEST ? ARP_OPER_REQUEST : ARP_OPER_REPLY);
	memcpy(arp + 8, m->sender_mac, PMV_MAC_LEN);
	memcpy(arp + 14, m->sender_ip + 12, 4);
	memcpy(arp + 18, m->target_mac, PMV_MAC_LEN);
	memcpy(arp + 24, m->target_ip + 12, 4);
	return ARP_BYTES;
}

static uint8_t *
nd_option_build(uint8_t *opt, uint8_t type, const uint8_t *six_bytes)
{
	opt[0] = type;
	opt[1] = 1;
	memcpy(opt + 2, six_bytes, 6);
	return opt + ND_OPT_BYTES;
}

static size_t
nd_build(const struct pmv_cm_neigh_msg *m, uint8_t *ip)
{
	bool advert = m->kind == PMV_CM_ND_ADVERT;
	uint8_t *nd = ip + PMV_IPV6_LEN;
	uint8_t *end = nd + ND_BYTES;
	uint16_t nd_bytes;

	nd[0] = advert ? ND_ADVERT_TYPE : ND_SOLICIT_TYPE;
	if (advert)
		nd[4] = (uint8_t)((m->router ? ND_FLAG_ROUTER : 0) |
				  (m->solicited ? ND_FLAG_SOLICITED : 0) |
				  (m->override ? ND_FLAG_OVERRIDE : 0));
	memcpy(nd + 8, m->target_ip, PMV_GID_LEN);
	if (m->has_mac)
		end = nd_option_build(end, advert ? ND_OPT_TARGET : ND_OPT_SOURCE, m->sender_mac);
	if (m->has_nonce && !advert)
		end = nd_option_build(end, ND_OPT_NONCE, m->nonce);
	nd_bytes = (uint16_t)(end - nd);

	ip[0] = 0x60;
	pmv_be16_store(ip + 4, nd_bytes);
	ip[6] = ICMP6_PROTO;
	ip[7] = ND_HOP_LIMIT;
	memcpy(ip + 8, m->ip_src, PMV_GID_LEN);
	memcpy(ip + 24, m->ip_dst, PMV_GID_LEN);
	pmv_be16_store(nd + 2,
		pmv_cm_inet_sum_fold(pmv_cm_inet_sum_add(
			pmv_cm_inet_sum_pseudo6(ip + 8, nd_bytes, ICMP6_PROTO), nd, nd_bytes)));
	return PMV_IPV6_LEN + nd_bytes;
}

int
pmv_cm_neigh_proto_build(const struct pmv_cm_neigh_msg *msg, uint8_t *frame, size_t room)
{
	bool arp = msg->kind == PMV_CM_ARP_REQUEST || msg->kind == PMV_CM_ARP_REPLY;
	uint8_t *p = frame + 2 * PMV_MAC_LEN;
	size_t len;

	if (!arp && msg->kind != PMV_CM_ND_SOLICIT && msg->kind != PMV_CM_ND_ADVERT)
		return -EINVAL;
	if (room < PMV_CM_NEIGH_FRAME_MAX)
		return -ENOSPC;
	memset(frame, 0, PMV_CM_NEIGH_FRAME_MAX);
	memcpy(frame, msg->eth_dst, PMV_MAC_LEN);
	memcpy(frame + PMV_MAC_LEN, msg->eth_src, PMV_MAC_LEN);
	if (msg->vlan != 0) {
		pmv_be16_store(p, PMV_ETHERTYPE_VLAN);
		pmv_be16_store(p + 2, msg->vlan & 0xfff);
		p += PMV_VLAN_LEN;
	}
	pmv_be16_store(p, arp ? PMV_ETHERTYPE_ARP : PMV_ETHERTYPE_IPV6);
	p += 2;
	len = (size_t)(p - frame) + (arp ? arp_build(msg, p) : nd_build(msg, p));
	return (int)(len < PMV_CM_NEIGH_FRAME_MIN ? PMV_CM_NEIGH_FRAME_MIN : len);
}

/* ---- What to say ---- */

static void
message_start(const struct pmv_cm_neigh_self *self, enum pmv_cm_neigh_kind kind, uint16_t vlan,
	struct pmv_cm_neigh_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->kind = (uint8_t)kind;
	m->vlan = vlan;
	m->has_mac = true;
	m->override = true;
	memcpy(m->eth_src, self->mac, PMV_MAC_LEN);
	memcpy(m->sender_mac, self->mac, PMV_MAC_LEN);
	memcpy(m->sender_ip, self->ip, PMV_GID_LEN);
	memcpy(m->ip_src, self->ip, PMV_GID_LEN);
}

/* To everybody (ARP), to one group (ND). */
static void
message_to_group(const uint8_t *group, struct pmv_cm_neigh_msg *m)
{
	if (group == NULL) {
		memcpy(m->eth_dst, mac_broadcast, PMV_MAC_LEN);
		return;
	}
	memcpy(m->ip_dst, group, PMV_GID_LEN);
	pmv_gid_multicast_mac(group, m->eth_dst);
}

void
pmv_cm_neigh_proto_request(const struct pmv_cm_neigh_self *self, const uint8_t target_ip[16],
	const uint8_t *unicast, struct pmv_cm_neigh_msg *ret_msg)
{
	bool v4 = pmv_gid_is_v4(target_ip);
	uint8_t group[PMV_GID_LEN];

	message_start(self, v4 ? PMV_CM_ARP_REQUEST : PMV_CM_ND_SOLICIT, self->vlan, ret_msg);
	ret_msg->override = v4;
	memcpy(ret_msg->target_ip, target_ip, PMV_GID_LEN);
	if (unicast != NULL) {
		ret_msg->to_unicast = true;
		memcpy(ret_msg->eth_dst, unicast, PMV_MAC_LEN);
		if (!v4)
			memcpy(ret_msg->ip_dst, target_ip, PMV_GID_LEN);
		return;
	}
	pmv_cm_neigh_proto_solicited_node(target_ip, group);
	message_to_group(v4 ? NULL : group, ret_msg);
}

void
pmv_cm_neigh_proto_answer(const struct pmv_cm_neigh_self *self,
	const struct pmv_cm_neigh_msg *request, struct pmv_cm_neigh_msg *ret_msg)
{
	bool v4 = request->kind == PMV_CM_ARP_REQUEST;

	message_start(self, v4 ? PMV_CM_ARP_REPLY : PMV_CM_ND_ADVERT, request->vlan, ret_msg);
	if (!v4 && pmv_gid_is_zero(request->sender_ip)) {
		/* Somebody tests our address before use: everybody shall hear (RFC 4861 7.2.4). */
		memcpy(ret_msg->target_ip, self->ip, PMV_GID_LEN);
		message_to_group(ip_all_nodes, ret_msg);
		return;
	}
	ret_msg->to_unicast = true;
	ret_msg->solicited = true;
	memcpy(ret_msg->eth_dst, request->sender_mac, PMV_MAC_LEN);
	if (v4) {
		memcpy(ret_msg->target_mac, request->sender_mac, PMV_MAC_LEN);
		memcpy(ret_msg->target_ip, request->sender_ip, PMV_GID_LEN);
	} else {
		memcpy(ret_msg->target_ip, self->ip, PMV_GID_LEN);
		memcpy(ret_msg->ip_dst, request->sender_ip, PMV_GID_LEN);
	}
}

void
pmv_cm_neigh_proto_announce(const struct pmv_cm_neigh_self *self, struct pmv_cm_neigh_msg *ret_msg)
{
	bool v4 = pmv_gid_is_v4(self->ip);

	message_start(self, v4 ? PMV_CM_ARP_REQUEST : PMV_CM_ND_ADVERT, self->vlan, ret_msg);
	memcpy(ret_msg->target_ip, self->ip, PMV_GID_LEN);
	message_to_group(v4 ? NULL : ip_all_nodes, ret_msg);
}

void
pmv_cm_neigh_proto_probe(const struct pmv_cm_neigh_self *self, const uint8_t nonce[6],
	struct pmv_cm_neigh_msg *ret_msg)
{
	bool v4 = pmv_gid_is_v4(self->ip);
	uint8_t group[PMV_GID_LEN];

	message_start(self, v4 ? PMV_CM_ARP_REQUEST : PMV_CM_ND_SOLICIT, self->vlan, ret_msg);
	memcpy(ret_msg->target_ip, self->ip, PMV_GID_LEN);
	if (v4) {
		pmv_gid_from_ipv4(ret_msg->sender_ip, 0);
		message_to_group(NULL, ret_msg);
		return;
	}
	ret_msg->has_mac = false; /* no source option from the unspecified address */
	ret_msg->override = false;
	memcpy(ret_msg->sender_ip, ip_zero, PMV_GID_LEN);
	memcpy(ret_msg->ip_src, ip_zero, PMV_GID_LEN);
	ret_msg->has_nonce = true;
	memcpy(ret_msg->nonce, nonce, sizeof(ret_msg->nonce));
	pmv_cm_neigh_proto_solicited_node(self->ip, group);
	message_to_group(group, ret_msg);
}

/* ---- What it means ---- */

static enum pmv_cm_neigh_seen
seen_of(const struct pmv_cm_neigh_msg *m)
{
	/* Without the option the MAC is a guess from the frame: it may confirm, never replace. */
	if (m->override && m->has_mac)
		return m->solicited ? PMV_CM_NEIGH_SEEN_ANSWER : PMV_CM_NEIGH_SEEN_ANNOUNCE;
	return m->solicited ? PMV_CM_NEIGH_SEEN_ANSWER_WEAK : PMV_CM_NEIGH_SEEN_ANNOUNCE_WEAK;
}

static void
judge_request(const struct pmv_cm_neigh_self *self, const struct pmv_cm_neigh_msg *m,
	struct pmv_cm_neigh_judgement *j)
{
	bool for_us = pmv_gid_is_equal(m->target_ip, self->ip);
	bool probe = pmv_gid_is_zero(m->sender_ip) || ipv4_is_zero(m->sender_ip);
	bool gratuitous = pmv_gid_is_equal(m->sender_ip, m->target_ip);

	if (probe) {
		j->answer = for_us;
		j->conflict = for_us;
		return;
	}
	if (pmv_gid_is_equal(m->sender_ip, self->ip)) {
		j->conflict = true;
		return;
	}
	j->answer = for_us;
	j->seen = PMV_CM_NEIGH_SEEN_REQUEST;
	if (for_us && !gratuitous) {
		j->learn = m->has_mac;
	} else if (m->kind == PMV_CM_ARP_REQUEST) {
		/* A broadcast for somebody else still tells where its sender is. */
		j->seen = PMV_CM_NEIGH_SEEN_ANNOUNCE;
		j->learn = true;
	}
}

struct pmv_cm_neigh_judgement
pmv_cm_neigh_proto_judge(const struct pmv_cm_neigh_self *self, const struct pmv_cm_neigh_msg *msg)
{
	struct pmv_cm_neigh_judgement j = { 0 };

	/* Our own frame, looped back by a switch or by a multicast filter. */
	if (memcmp(msg->sender_mac, self->mac, PMV_MAC_LEN) == 0 ||
		memcmp(msg->eth_src, self->mac, PMV_MAC_LEN) == 0)
		return j;
	if (msg->kind == PMV_CM_ARP_REQUEST || msg->kind == PMV_CM_ND_SOLICIT) {
		judge_request(self, msg, &j);
		return j;
	}
	if (pmv_gid_is_equal(msg->sender_ip, self->ip)) {
		j.conflict = true;
		return j;
	}
	j.seen = (uint8_t)seen_of(msg);
	j.learn = msg->has_mac || msg->solicited;
	return j;
}

const char *
pmv_cm_neigh_verdict_name(enum pmv_cm_neigh_verdict verdict)
{
	static const char *const names[] = {
		[PMV_CM_NEIGH_OK] = "ok",
		[PMV_CM_NEIGH_OTHER] = "other",
		[PMV_CM_NEIGH_TRUNCATED] = "truncated",
		[PMV_CM_NEIGH_BAD_ARP] = "bad_arp",
		[PMV_CM_NEIGH_BAD_SENDER] = "bad_sender",
		[PMV_CM_NEIGH_BAD_TARGET] = "bad_target",
		[PMV_CM_NEIGH_BAD_HOP_LIMIT] = "bad_hop_limit",
		[PMV_CM_NEIGH_BAD_CHECKSUM] = "bad_checksum",
		[PMV_CM_NEIGH_BAD_ND] = "bad_nd",
	};

	return (unsigned int)verdict < PMV_CM_NEIGH_VERDICT_MAX ? names[verdict] : "invalid";
}
