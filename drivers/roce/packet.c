// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames between bytes and mbufs: see packet.h. Owner lcore; the template is made by whoever sets
 * an address.
 */
#include "drivers/roce/packet.h"

#include <errno.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "drivers/roce/worker.h"
#include "lib/wire/flow_label.h"
#include "lib/wire/icrc.h"

#define DSCP_MASK 0xfcu

_Static_assert(
	PMV_ROCE_HDR_BYTES >= PMV_ETH_IP_LEN_MAX + PMV_BTH_LEN, "a template holds every header");

int
pmv_roce_hdr_init(struct pmv_roce_hdr *h, const struct pmv_device *dev, const struct pmv_av *av,
	uint32_t local_qpn, uint32_t remote_qpn)
{
	uint32_t label = av->flow_label != 0 ? av->flow_label
					     : pmv_flow_label_from_qpns(local_qpn, remote_qpn);
	struct pmv_eth_ip_param p = {
		.flow_label = av->flow_label,
		.has_vlan = dev->param.vlan_id != 0,
		.vlan_tci = (uint16_t)(dev->param.vlan_pcp << 13 | dev->param.vlan_id),
		.tos = av->traffic_class & DSCP_MASK,
		.ttl = av->hop_limit != 0 ? av->hop_limit : dev->param.hop_limit,
		.udp_sport = av->udp_sport != 0 ? av->udp_sport : pmv_flow_label_sport(label),
	};
	const struct pmv_bth bth = { .pkey = PMV_PKEY_DEFAULT, .dqpn = remote_qpn };
	int err;

	memcpy(p.dst_mac, &av->dmac, sizeof(p.dst_mac));
	memcpy(p.src_mac, &dev->mac, sizeof(p.src_mac));
	memcpy(p.src_gid, av->sgid.raw, sizeof(p.src_gid));
	memcpy(p.dst_gid, av->dgid.raw, sizeof(p.dst_gid));
	memset(h, 0, sizeof(*h));
	err = pmv_eth_ip_build(h->bytes, &p, &h->tmpl);
	if (err == 0)
		pmv_bth_build(h->bytes + h->tmpl.hdr_len, &bth);
	return err;
}

/* The traffic class of IPv6 straddles two bytes. No ICRC covers these bits. */
void
pmv_roce_hdr_set_ect(struct pmv_roce_hdr *h)
{
	uint8_t *l3 = h->bytes + h->tmpl.l3_off;

	if (h->tmpl.is_v6) {
		l3[1] |= PMV_IP_ECN_ECT0 << 4;
		return;
	}
	h->tmpl.ip_sum += PMV_IP_ECN_ECT0; /* ECN was 00 */
	l3[1] |= PMV_IP_ECN_ECT0;
}

uint8_t *
pmv_roce_packet_begin(struct pmv_roce_worker *w, struct rte_mempool *pool,
	const struct pmv_roce_hdr *h, uint32_t hdr_len, struct rte_mbuf **ret_m)
{
	*ret_m = rte_pktmbuf_alloc(pool);
	if (unlikely(*ret_m == NULL)) {
		w->stats.no_mbuf++;
		return NULL;
	}
	return pmv_roce_packet_start(*ret_m, h, hdr_len);
}

/* A frame of another length than the last: tells its lengths, and so does the template now. DF is
 * set, so one ID will do (RFC 6864). */
void
pmv_roce_hdr_set_len(struct pmv_roce_hdr *h, uint8_t *hdr, uint32_t roce_len)
{
	pmv_eth_ip_set_len(h->bytes, &h->tmpl, roce_len, 0);
	memcpy(hdr, h->bytes, h->tmpl.hdr_len);
	h->roce_len = roce_len;
}

void
pmv_roce_hdr_set_crc(struct pmv_roce_hdr *h, const uint8_t *hdr, uint64_t key, uint32_t slot)
{
	uint32_t state = pmv_icrc_start_ip_udp(hdr + h->tmpl.l3_off, h->tmpl.is_v6);

	h->crc_state[slot] = pmv_icrc_bth_begin(state, hdr + h->tmpl.hdr_len);
	h->crc_key[slot] = key;
}

/* The frame ends in memory that is not ours to write behind: pad and ICRC get a segment of their
 * own. */
static __rte_noinline int
finish_chain(struct pmv_roce_worker *w, struct pmv_roce_hdr *h, struct rte_mbuf *m, uint32_t pad)
{
	uint8_t *hdr = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t roce_len = m->pkt_len - h->tmpl.hdr_len + pad + PMV_ICRC_LEN;
	struct rte_mbuf *trailer = pmv_roce_spare_take(&w->spare);
	struct rte_mbuf *seg = m;
	uint32_t state;
	uint8_t *tail;

	if (unlikely(trailer == NULL)) {
		w->stats.no_mbuf++;
		return -ENOMEM;
	}
	tail = rte_pktmbuf_mtod(trailer, uint8_t *);
	memset(tail, 0, PMV_ICRC_LEN);
	state = pmv_icrc_update(pmv_roce_hdr_close(h, hdr, roce_len),
		hdr + h->tmpl.hdr_len + PMV_ICRC_BTH_BEGIN,
		m->data_len - h->tmpl.hdr_len - PMV_ICRC_BTH_BEGIN);
	while (seg->next != NULL) {
		seg = seg->next;
		state = pmv_icrc_update(
			state, rte_pktmbuf_mtod(seg, const uint8_t *), seg->data_len);
	}
	state = pmv_icrc_update(state, tail, pad);
	pmv_icrc_store(tail + pad, state);
	trailer->data_len = (uint16_t)(pad + PMV_ICRC_LEN);
	seg->next = trailer;
	m->nb_segs++;
	m->pkt_len += trailer->data_len;
	return 0;
}

int
pmv_roce_packet_finish(struct pmv_roce_worker *w, struct pmv_roce_hdr *h, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(m, const uint8_t *, h->tmpl.hdr_len);
	uint32_t pad = (bth[1] >> 4) & 3; /* PadCnt */
	struct pmv_roce_seal s;

	if (unlikely(m->nb_segs > 1))
		return finish_chain(w, h, m, pad);
	s = pmv_roce_packet_close(h, m, m->data_len - h->tmpl.hdr_len, pad);
	pmv_icrc_store(s.from + s.len, pmv_icrc_update(s.state, s.from, s.len));
	return 0;
}

/* The next segment's bytes from off on (bytes counted from the first byte of *m), at most len. */
static const uint8_t *
seg_bytes(const struct rte_mbuf **m, uint32_t *off, uint32_t len, uint32_t *ret_len)
{
	const uint8_t *p;

	while (*off >= (*m)->data_len) {
		*off -= (*m)->data_len;
		*m = (*m)->next;
	}
	*ret_len = RTE_MIN(len, (*m)->data_len - *off);
	p = rte_pktmbuf_mtod_offset(*m, const uint8_t *, *off);
	*off += *ret_len;
	return p;
}

/* UDP checksum of a frame that has one; its lengths have been checked against the frame. */
static __rte_noinline bool
udp_csum_is_ok(const struct pmv_roce_pkt *p)
{
	uint32_t left = p->ip.payload_len + PMV_UDP_LEN;
	const struct rte_mbuf *m = p->m;
	uint32_t off = p->ip.l4_off;
	struct pmv_udp_csum c;

	pmv_udp_csum_start(&c, &p->ip);
	while (left > 0) {
		uint32_t n;
		const uint8_t *b = seg_bytes(&m, &off, left, &n);

		pmv_udp_csum_update(&c, b, n);
		left -= n;
	}
	return pmv_udp_csum_is_ok(&c);
}

/* The ICRC of a frame that is not contiguous; end = where it stands. */
static __rte_noinline bool
icrc_chain_is_ok(const struct pmv_roce_pkt *p, uint32_t end)
{
	uint32_t n = RTE_MIN(p->hdr_len, end);
	uint32_t off = n, left = end - n;
	const struct rte_mbuf *m = p->m;
	uint8_t trailer[PMV_ICRC_LEN];
	const uint8_t *t;
	uint32_t state;

	state = pmv_icrc_start(p->hdr + p->ip.l3_off, p->ip.is_v6, n - p->ip.l3_off);
	while (left > 0) {
		const uint8_t *b = seg_bytes(&m, &off, left, &n);

		state = pmv_icrc_update(state, b, n);
		left -= n;
	}
	t = rte_pktmbuf_read(p->m, end, PMV_ICRC_LEN, trailer);
	return pmv_icrc_check(t, state);
}

static inline bool
icrc_is_ok(const struct pmv_roce_pkt *p)
{
	uint32_t end = p->ip.payload_off + p->roce.icrc_off;
	uint32_t l3 = p->ip.l3_off;

	if (unlikely(end + PMV_ICRC_LEN > p->hdr_len))
		return icrc_chain_is_ok(p, end);
	return pmv_icrc_check(p->hdr + end, pmv_icrc_start(p->hdr + l3, p->ip.is_v6, end - l3));
}

/* The tag of the device, or none; a port may have stripped it (IEEE 802.1Q: VID 0 is a priority
 * tag, not a VLAN). */
static inline bool
vlan_is_ours(const struct pmv_device *dev, const struct pmv_eth_ip *ip)
{
	return ip->nb_vlan <= 1 && (ip->vlan_tci & 0xfff) == dev->param.vlan_id;
}

static inline bool
is_ours(const struct pmv_device *dev, const uint8_t *gid)
{
	/* addrs-acquire: pairs with the release of nb when an address is added. */
	uint32_t nb = __atomic_load_n(&dev->addrs.nb, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nb && i < PMV_ADDRS_MAX; i++) {
		if (pmv_gid_is_equal(dev->addrs.addr[i].gid.raw, gid))
			return !pmv_gid_is_zero(gid); /* a deleted address leaves zeros */
	}
	return false;
}

bool
pmv_roce_packet_vlan_is_ours(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	return vlan_is_ours(w->base.device, &p->ip);
}

bool
pmv_roce_packet_dest_is_ours(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	return is_ours(w->base.device, p->ip.dst_gid);
}

bool
pmv_roce_packet_is_own(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	return is_ours(w->base.device, p->ip.src_gid);
}

/* Headers of a frame whose first segment is shorter than they are. Longer ones than scratch holds
 * are no RoCE headers: IPv6 extension headers, say. */
static __rte_noinline enum pmv_wire_verdict
parse_split(struct pmv_roce_pkt *p)
{
	const struct rte_mbuf *m = p->m;
	uint32_t n = RTE_MIN(m->pkt_len, (uint32_t)sizeof(p->scratch));
	const uint8_t *b = rte_pktmbuf_read(m, 0, n, p->scratch);
	enum pmv_wire_verdict v;

	if (b != p->scratch)
		memcpy(p->scratch, b, n);
	p->hdr = p->scratch;
	p->hdr_len = n;
	v = pmv_eth_ip_parse(p->hdr, n, m->pkt_len, &p->ip);
	return v == PMV_WIRE_HDR_SPLIT ? PMV_WIRE_NOT_ROCE : v;
}

static inline enum pmv_wire_verdict
parse_bth(struct pmv_roce_pkt *p)
{
	p->bth = p->hdr + p->ip.payload_off;
	return pmv_roce_parse(p->bth, p->hdr_len - p->ip.payload_off, p->ip.payload_len, &p->roce);
}

/* Everything that makes a frame RoCE. */
static inline enum pmv_wire_verdict
parse_headers(struct pmv_roce_pkt *p)
{
	const struct rte_mbuf *m = p->m;
	enum pmv_wire_verdict v;

	p->hdr = rte_pktmbuf_mtod(m, const uint8_t *);
	p->hdr_len = m->data_len;
	v = pmv_eth_ip_parse(p->hdr, p->hdr_len, m->pkt_len, &p->ip);
	if (unlikely(v == PMV_WIRE_HDR_SPLIT))
		v = parse_split(p);
	if (likely(v == PMV_WIRE_OK)) {
		v = parse_bth(p);
		if (unlikely(v == PMV_WIRE_HDR_SPLIT)) {
			v = parse_split(p);
			if (v == PMV_WIRE_OK)
				v = parse_bth(p);
		}
	}
	if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
		pmv_eth_ip_add_stripped_vlan(&p->ip, m->vlan_tci);
	return v;
}

static inline enum pmv_wire_verdict
refuse(struct pmv_roce_pkt *p, enum pmv_roce_drop why)
{
	p->drop = (uint8_t)why;
	return PMV_WIRE_NB;
}

enum pmv_wire_verdict
pmv_roce_packet_parse(struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_pkt *p)
{
	struct pmv_device *dev = w->base.device;
	enum pmv_wire_verdict v;

	p->m = m;
	p->group = NULL;
	v = parse_headers(p);
	if (unlikely(v != PMV_WIRE_OK))
		return v;
	if (unlikely(p->ip.need_udp_csum) && !udp_csum_is_ok(p))
		return PMV_WIRE_UDP_CSUM;
	if (unlikely(!icrc_is_ok(p)))
		return PMV_WIRE_ICRC;
	p->payload_off = p->ip.payload_off + p->roce.payload_off;
	p->payload_len = p->roce.payload_len;
	if (unlikely(!vlan_is_ours(dev, &p->ip)))
		return refuse(p, PMV_ROCE_DROP_VLAN);
	if (unlikely(!is_ours(dev, p->ip.dst_gid))) {
		if (!pmv_gid_is_multicast(p->ip.dst_gid))
			return refuse(p, PMV_ROCE_DROP_DEST_ADDR);
		p->group = pmv_mcast_group_find(dev, p->ip.dst_gid);
		if (p->group == NULL)
			return refuse(p, PMV_ROCE_DROP_MCAST);
	}
	if (unlikely(!pmv_pkey_is_match(p->roce.bth.pkey, PMV_PKEY_DEFAULT)))
		return refuse(p, PMV_ROCE_DROP_PKEY);
	return PMV_WIRE_OK;
}
