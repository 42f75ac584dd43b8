// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frame -> parsed view, UDP checksum over pieces, and the header template. The parser runs on
 * worker lcores for every received frame; the builder when an address vector is set (patching is
 * inline in eth_ip.h). Pure.
 */
#include "lib/wire/eth_ip.h"

#include <errno.h>

#define IPV4_FRAG_OFF_MASK 0x1fff
#define IPV4_FRAG_MORE     0x2000
#define IPV4_FRAG_DF       0x4000

#define IPV6_NH_HOPOPTS  0
#define IPV6_NH_ROUTING  43
#define IPV6_NH_FRAGMENT 44
#define IPV6_NH_DSTOPTS  60
#define IPV6_FRAG_LEN    8

/* The bytes at hand: hdr_len are readable, frame_len exist. */
struct extent {
	const uint8_t *hdr;
	uint32_t hdr_len;
	uint32_t frame_len;
};

static bool
extent_has(const struct extent *x, uint32_t n)
{
	return n <= x->hdr_len;
}

/* Why n bytes cannot be read. Cold. */
static enum pmv_wire_verdict
extent_fault(const struct extent *x, uint32_t n)
{
	return n <= x->frame_len ? PMV_WIRE_HDR_SPLIT : PMV_WIRE_FRAME_SHORT;
}

static uint32_t
sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)sum;
}

/* One's complement sums do not care for byte order (RFC 1071), so words are added as the machine
 * loads them. */
static uint32_t
load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

bool
pmv_ipv4_csum_is_ok(const uint8_t *p)
{
	uint64_t sum = (uint64_t)load32(p) + load32(p + 4) + load32(p + 8) + load32(p + 12) +
		       load32(p + 16);

	return sum_fold(sum) == 0xffff;
}

/* The UDP header at f->l4_off, in an IP payload of ip_payload bytes. */
static enum pmv_wire_verdict
udp_parse(const struct extent *x, uint32_t ip_payload, struct pmv_eth_ip *f)
{
	const uint8_t *p = x->hdr + f->l4_off;
	uint32_t udp_len = pmv_be16_load(p + 4);

	if (udp_len < PMV_UDP_LEN || udp_len > ip_payload)
		return PMV_WIRE_UDP_LEN;
	f->payload_len = (uint16_t)(udp_len - PMV_UDP_LEN);
	f->need_udp_csum = pmv_be16_load(p + 6) != 0;
	return PMV_WIRE_OK;
}

/* Ports of the UDP header at off. OK if it is RoCE's. */
static enum pmv_wire_verdict
ports_parse(const struct extent *x, uint32_t off, struct pmv_eth_ip *f)
{
	if (!extent_has(x, off + PMV_UDP_LEN))
		return extent_fault(x, off + PMV_UDP_LEN);
	f->udp_sport = pmv_be16_load(x->hdr + off);
	f->udp_dport = pmv_be16_load(x->hdr + off + 2);
	f->payload_off = (uint16_t)(off + PMV_UDP_LEN);
	return f->udp_dport == PMV_ROCE_UDP_PORT ? PMV_WIRE_OK : PMV_WIRE_NOT_ROCE;
}

/*
 * "Is it ours" is decided before "is it sound": a frame for somebody else is theirs to judge,
 * broken or not.
 */
static enum pmv_wire_verdict
ipv4_parse(const struct extent *x, struct pmv_eth_ip *f)
{
	const uint8_t *p = x->hdr + f->l3_off;
	uint32_t ihl_len, total, frag;
	enum pmv_wire_verdict v;

	if (!extent_has(x, f->l3_off + PMV_IPV4_LEN))
		return extent_fault(x, f->l3_off + PMV_IPV4_LEN);
	ihl_len = (p[0] & 15u) * 4;
	if (p[0] >> 4 != 4 || ihl_len < PMV_IPV4_LEN)
		return PMV_WIRE_IP_VERSION;
	f->tos = p[1];
	f->ttl = p[8];
	f->proto = p[9];
	pmv_gid_from_ipv4(f->src_gid, pmv_be32_load(p + 12));
	pmv_gid_from_ipv4(f->dst_gid, pmv_be32_load(p + 16));
	f->l4_off = (uint16_t)(f->l3_off + ihl_len);
	if (f->proto != PMV_IP_PROTO_UDP)
		return PMV_WIRE_NOT_ROCE;
	frag = pmv_be16_load(p + 6);
	if ((frag & IPV4_FRAG_OFF_MASK) != 0)
		return PMV_WIRE_FRAGMENT_LATER;
	v = ports_parse(x, f->l4_off, f);
	if (v != PMV_WIRE_OK)
		return v;

	if (ihl_len != PMV_IPV4_LEN)
		return PMV_WIRE_IP_OPTIONS;
	if ((frag & IPV4_FRAG_MORE) != 0)
		return PMV_WIRE_FRAGMENT;
	total = pmv_be16_load(p + 2);
	if (total < PMV_IPV4_LEN || f->l3_off + total > x->frame_len)
		return PMV_WIRE_IP_LEN;
	if (!pmv_ipv4_csum_is_ok(p))
		return PMV_WIRE_IP_CSUM;
	return udp_parse(x, total - PMV_IPV4_LEN, f);
}

/*
 * An extension header behind the IPv6 header. RoCE carries none (RoCEv2 annex A17.3.1), so one look
 * behind the first is enough to tell a broken RoCE sender; anything deeper (MLD behind hop-by-hop
 * options, say) is not RoCE.
 */
static enum pmv_wire_verdict
ipv6_ext_parse(const struct extent *x, struct pmv_eth_ip *f)
{
	uint32_t off = f->l4_off;
	enum pmv_wire_verdict v;
	const uint8_t *p;

	if (f->proto != IPV6_NH_HOPOPTS && f->proto != IPV6_NH_ROUTING &&
		f->proto != IPV6_NH_FRAGMENT && f->proto != IPV6_NH_DSTOPTS)
		return PMV_WIRE_NOT_ROCE;
	if (!extent_has(x, off + IPV6_FRAG_LEN))
		return extent_fault(x, off + IPV6_FRAG_LEN);
	p = x->hdr + off;
	if (p[0] != PMV_IP_PROTO_UDP)
		return PMV_WIRE_NOT_ROCE;
	if (f->proto != IPV6_NH_FRAGMENT) {
		v = ports_parse(x, off + (p[1] + 1u) * 8, f);
		return v == PMV_WIRE_OK ? PMV_WIRE_IP_OPTIONS : v;
	}
	if ((pmv_be16_load(p + 2) & 0xfff8) != 0)
		return PMV_WIRE_FRAGMENT_LATER;
	v = ports_parse(x, off + IPV6_FRAG_LEN, f);
	return v == PMV_WIRE_OK ? PMV_WIRE_FRAGMENT : v;
}

static enum pmv_wire_verdict
ipv6_parse(const struct extent *x, struct pmv_eth_ip *f)
{
	const uint8_t *p = x->hdr + f->l3_off;
	uint32_t word, payload;
	enum pmv_wire_verdict v;

	if (!extent_has(x, f->l3_off + PMV_IPV6_LEN))
		return extent_fault(x, f->l3_off + PMV_IPV6_LEN);
	word = pmv_be32_load(p);
	if (word >> 28 != 6)
		return PMV_WIRE_IP_VERSION;
	f->is_v6 = true;
	f->tos = (uint8_t)(word >> 20);
	f->flow_label = word & 0xfffff;
	f->proto = p[6];
	f->ttl = p[7];
	memcpy(f->src_gid, p + 8, PMV_GID_LEN);
	memcpy(f->dst_gid, p + 24, PMV_GID_LEN);
	f->l4_off = (uint16_t)(f->l3_off + PMV_IPV6_LEN);
	if (f->proto != PMV_IP_PROTO_UDP)
		return ipv6_ext_parse(x, f);
	v = ports_parse(x, f->l4_off, f);
	if (v != PMV_WIRE_OK)
		return v;

	payload = pmv_be16_load(p + 4);
	if (f->l4_off + payload > x->frame_len)
		return PMV_WIRE_IP_LEN;
	return udp_parse(x, payload, f);
}

enum pmv_wire_verdict
pmv_eth_ip_parse(const uint8_t *hdr, uint32_t hdr_len, uint32_t frame_len, struct pmv_eth_ip *ret)
{
	struct extent x = { hdr, hdr_len < frame_len ? hdr_len : frame_len, frame_len };

	memset(ret, 0, sizeof(*ret));
	if (!extent_has(&x, PMV_ETH_LEN))
		return extent_fault(&x, PMV_ETH_LEN);
	ret->ethertype = pmv_be16_load(hdr + 12);
	ret->l3_off = PMV_ETH_LEN;
	if (ret->ethertype == PMV_ETHERTYPE_VLAN) {
		if (!extent_has(&x, PMV_ETH_LEN + PMV_VLAN_LEN))
			return extent_fault(&x, PMV_ETH_LEN + PMV_VLAN_LEN);
		ret->nb_vlan = 1;
		ret->vlan_tci = pmv_be16_load(hdr + 14);
		ret->ethertype = pmv_be16_load(hdr + 16);
		ret->l3_off = PMV_ETH_LEN + PMV_VLAN_LEN;
	}
	if (ret->ethertype == PMV_ETHERTYPE_IPV4)
		return ipv4_parse(&x, ret);
	if (ret->ethertype == PMV_ETHERTYPE_IPV6)
		return ipv6_parse(&x, ret);
	return PMV_WIRE_NOT_ROCE;
}

/* RFC 768 and RFC 8200 8.1: the pseudo header; the addresses of mapped GIDs are their last four
 * bytes. */
void
pmv_udp_csum_start(struct pmv_udp_csum *c, const struct pmv_eth_ip *f)
{
	uint32_t from = f->is_v6 ? 0 : 12;
	uint32_t udp_len = f->payload_len + PMV_UDP_LEN;

	c->odd = 0;
	c->sum = (uint64_t)__builtin_bswap16((uint16_t)udp_len) +
		 __builtin_bswap16(PMV_IP_PROTO_UDP);
	for (uint32_t i = from; i < PMV_GID_LEN; i += 4)
		c->sum += (uint64_t)load32(f->src_gid + i) + load32(f->dst_gid + i);
}

void
pmv_udp_csum_update(struct pmv_udp_csum *c, const uint8_t *buf, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t odd = len & 1;
	uint32_t part;

	for (; len >= 4; len -= 4, buf += 4)
		sum += load32(buf);
	if (len >= 2) {
		uint16_t v;

		memcpy(&v, buf, sizeof(v));
		sum += v;
		buf += 2;
	}
	if (odd)
		sum += *buf; /* the word's first byte, its second is 0 or comes with the next piece
			      */
	part = sum_fold(sum);
	/* A piece that starts in the middle of a word has its bytes the other way round (RFC 1071
	 * 2(B)). */
	c->sum += c->odd ? __builtin_bswap16((uint16_t)part) : part;
	c->odd ^= odd;
}

bool
pmv_udp_csum_is_ok(const struct pmv_udp_csum *c)
{
	return sum_fold(c->sum) == 0xffff;
}

static void
ipv4_build(uint8_t *p, const struct pmv_eth_ip_param *param)
{
	p[0] = 0x45;
	p[1] = param->tos;
	pmv_be32_store(p + 2, 0); /* length, ID */
	pmv_be16_store(p + 6, IPV4_FRAG_DF);
	p[8] = param->ttl;
	p[9] = PMV_IP_PROTO_UDP;
	pmv_be16_store(p + 10, 0);
	memcpy(p + 12, param->src_gid + 12, 4);
	memcpy(p + 16, param->dst_gid + 12, 4);
}

static void
ipv6_build(uint8_t *p, const struct pmv_eth_ip_param *param)
{
	pmv_be32_store(p, 6u << 28 | (uint32_t)param->tos << 20 | (param->flow_label & 0xfffff));
	pmv_be16_store(p + 4, 0);
	p[6] = PMV_IP_PROTO_UDP;
	p[7] = param->ttl;
	memcpy(p + 8, param->src_gid, PMV_GID_LEN);
	memcpy(p + 24, param->dst_gid, PMV_GID_LEN);
}

int
pmv_eth_ip_build(uint8_t *dst, const struct pmv_eth_ip_param *p, struct pmv_eth_ip_tmpl *ret)
{
	bool is_v6 = !pmv_gid_is_v4(p->dst_gid);
	uint8_t *q = dst;

	if (is_v6 != !pmv_gid_is_v4(p->src_gid))
		return -EINVAL;
	*ret = (struct pmv_eth_ip_tmpl){ .is_v6 = is_v6 };
	memcpy(q, p->dst_mac, PMV_MAC_LEN);
	memcpy(q + 6, p->src_mac, PMV_MAC_LEN);
	q += 12;
	if (p->has_vlan) {
		pmv_be16_store(q, PMV_ETHERTYPE_VLAN);
		pmv_be16_store(q + 2, p->vlan_tci);
		q += PMV_VLAN_LEN;
	}
	pmv_be16_store(q, is_v6 ? PMV_ETHERTYPE_IPV6 : PMV_ETHERTYPE_IPV4);
	q += 2;
	ret->l3_off = (uint8_t)(q - dst);
	if (is_v6) {
		ipv6_build(q, p);
		q += PMV_IPV6_LEN;
	} else {
		ipv4_build(q, p);
		for (int i = 0; i < PMV_IPV4_LEN; i += 2)
			ret->ip_sum += pmv_be16_load(q + i);
		q += PMV_IPV4_LEN;
	}
	pmv_be16_store(q, p->udp_sport);
	pmv_be16_store(q + 2, PMV_ROCE_UDP_PORT);
	pmv_be32_store(q + 4, 0); /* length; checksum 0 is legal for both families (RFC 6936) */
	ret->hdr_len = (uint8_t)(q + PMV_UDP_LEN - dst);
	return 0;
}
