// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/eth_ip.h"
#include "lib/wire/icrc.h"

void
craft_path_get(
	struct pmv_test_pair *pair, int to, bool is_v6, uint16_t vlan_id, struct craft_path *ret)
{
	struct pmv_device_attr attr;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(pmv_query_device(pair->node[!to].dev, &attr), 0);
	memcpy(ret->src_mac, attr.mac, 6);
	assert_int_equal(pmv_query_device(pair->node[to].dev, &attr), 0);
	memcpy(ret->dst_mac, attr.mac, 6);
	assert_int_equal(pmv_query_gid(pair->node[!to].dev, is_v6, &ret->src), 0);
	assert_int_equal(pmv_query_gid(pair->node[to].dev, is_v6, &ret->dst), 0);
	ret->vlan_id = vlan_id;
	ret->sport = 0xc123;
}

void
craft_begin(struct craft *c, const struct craft_path *path, const struct pmv_bth *bth)
{
	struct pmv_eth_ip_param p = { .has_vlan = path->vlan_id != 0,
		.vlan_tci = path->vlan_id,
		.ttl = 64,
		.udp_sport = path->sport };
	struct pmv_eth_ip_tmpl t;

	memcpy(p.src_mac, path->src_mac, 6);
	memcpy(p.dst_mac, path->dst_mac, 6);
	memcpy(p.src_gid, path->src.raw, PMV_GID_LEN);
	memcpy(p.dst_gid, path->dst.raw, PMV_GID_LEN);
	memset(c->bytes, 0, 128);
	assert_int_equal(pmv_eth_ip_build(c->bytes, &p, &t), 0);
	c->is_v6 = t.is_v6;
	c->l3 = t.l3_off;
	c->bth = t.hdr_len;
	c->udp = t.hdr_len - PMV_UDP_LEN;
	pmv_bth_build(c->bytes + c->bth, bth);
	c->len = c->bth + PMV_BTH_LEN;
}

void
craft_put(struct craft *c, const void *bytes, uint32_t len)
{
	assert_true(c->len + len + PMV_ICRC_LEN <= CRAFT_BYTES);
	if (bytes != NULL)
		memcpy(c->bytes + c->len, bytes, len);
	else
		memset(c->bytes + c->len, 0, len);
	c->len += len;
}

void
craft_put_reth(struct craft *c, uint64_t va, uint32_t rkey, uint32_t len)
{
	const struct pmv_reth h = { va, rkey, len };

	pmv_reth_build(c->bytes + c->len, &h);
	c->len += PMV_RETH_LEN;
}

void
craft_put_atomic(struct craft *c, const struct pmv_atomic_eth *h)
{
	pmv_atomic_eth_build(c->bytes + c->len, h);
	c->len += PMV_ATOMIC_ETH_LEN;
}

void
craft_put_aeth(struct craft *c, uint8_t syndrome, uint32_t msn)
{
	const struct pmv_aeth h = { syndrome, msn };

	pmv_aeth_build(c->bytes + c->len, &h);
	c->len += PMV_AETH_LEN;
}

void
craft_put_deth(struct craft *c, uint32_t qkey, uint32_t sqpn)
{
	const struct pmv_deth h = { qkey, sqpn };

	pmv_deth_build(c->bytes + c->len, &h);
	c->len += PMV_DETH_LEN;
}

/* Not the library's own: the sum of RFC 1071, word by word. */
static uint16_t
sum16(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += pmv_be16_load(p + i);
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

void
craft_seal_ip(struct craft *c)
{
	uint8_t *ip = c->bytes + c->l3;

	if (c->is_v6)
		return;
	pmv_be16_store(ip + 10, 0);
	pmv_be16_store(ip + 10, (uint16_t)~sum16(0, ip, PMV_IPV4_LEN));
}

void
craft_seal_udp(struct craft *c)
{
	const uint8_t *ip = c->bytes + c->l3;
	uint8_t *udp = c->bytes + c->udp;
	uint32_t len = pmv_be16_load(udp + 4);
	uint32_t sum = PMV_IP_PROTO_UDP + len;

	sum += c->is_v6 ? sum16(0, ip + 8, 32) : sum16(0, ip + 12, 8);
	pmv_be16_store(udp + 6, 0);
	sum = (uint16_t)~sum16(sum, udp, len);
	pmv_be16_store(udp + 6, (uint16_t)(sum == 0 ? 0xffff : sum));
}

void
craft_seal_icrc(struct craft *c)
{
	uint32_t end = c->udp + pmv_be16_load(c->bytes + c->udp + 4);

	if (end > CRAFT_BYTES || end < c->l3 + PMV_ICRC_HDR_LEN(c->is_v6) + PMV_ICRC_LEN)
		return;
	pmv_icrc_packet_store(c->bytes + c->l3, c->is_v6, end - PMV_ICRC_LEN - c->l3);
}

void
craft_end(struct craft *c)
{
	uint32_t udp_len;

	c->len += PMV_ICRC_LEN;
	udp_len = c->len - c->udp;
	pmv_be16_store(c->bytes + c->udp + 4, (uint16_t)udp_len);
	if (c->is_v6)
		pmv_be16_store(c->bytes + c->l3 + 4, (uint16_t)udp_len);
	else
		pmv_be16_store(c->bytes + c->l3 + 2, (uint16_t)(udp_len + PMV_IPV4_LEN));
	craft_seal_ip(c);
	craft_seal_icrc(c);
}

void
craft_inject(struct pmv_test_pair *pair, int to, const struct craft *c)
{
	pmv_test_link_inject(pair->link, to, c->bytes, c->len);
}

/* Memory of a segment, and what tells DPDK to give it back. */
struct block {
	struct rte_mbuf_ext_shared_info shinfo;
	uint8_t *bytes;
};

static void
free_block(void *addr, void *arg)
{
	struct block *b = arg;

	free(b->bytes);
	free(b);
}

static struct rte_mbuf *
segment(struct rte_mempool *pool, const uint8_t *bytes, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct block *b = malloc(sizeof(*b));

	assert_non_null(m);
	b->bytes = malloc(len);
	memcpy(b->bytes, bytes, len);
	b->shinfo = (struct rte_mbuf_ext_shared_info){ .free_cb = free_block, .fcb_opaque = b };
	rte_mbuf_ext_refcnt_set(&b->shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, b->bytes, 0, (uint16_t)len, &b->shinfo);
	m->data_off = 0;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	return m;
}

struct rte_mbuf *
craft_mbuf(struct rte_mempool *pool, const struct craft *c, uint32_t cut1, uint32_t cut2)
{
	const uint32_t cuts[4] = { 0, cut1, cut2, c->len };
	struct rte_mbuf *head = NULL;
	uint32_t from = 0;

	for (int i = 1; i < 4; i++) {
		struct rte_mbuf *seg;

		if (cuts[i] <= from || cuts[i] > c->len)
			continue;
		seg = segment(pool, c->bytes + from, cuts[i] - from);
		from = cuts[i];
		if (head == NULL)
			head = seg;
		else
			assert_int_equal(rte_pktmbuf_chain(head, seg), 0);
	}
	assert_non_null(head);
	return head;
}

void
craft_stats_take(const struct pmv_worker *w, struct craft_stats *s)
{
	s->nb = pmv_worker_stats(w, s->stat, RTE_DIM(s->stat));
	assert_true(s->nb <= RTE_DIM(s->stat));
}

uint64_t
craft_stats_delta(
	const struct craft_stats *before, const struct craft_stats *after, const char *name)
{
	for (uint32_t i = 0; i < after->nb; i++)
		if (strcmp(after->stat[i].name, name) == 0)
			return after->stat[i].value - before->stat[i].value;
	fail_msg("no counter %s", name);
	return 0;
}

static bool
is_drop(const char *name)
{
	return strncmp(name, "rx_drop_", 8) == 0 || strcmp(name, "rx_fragment_later") == 0 ||
	       strcmp(name, "ctl_rx_drop_no_cm") == 0 || strcmp(name, "handover_drop") == 0;
}

const char *
craft_stats_drop(const struct craft_stats *before, const struct craft_stats *after)
{
	const char *found = "";

	for (uint32_t i = 0; i < after->nb; i++) {
		uint64_t n = after->stat[i].value - before->stat[i].value;

		if (n == 0 || !is_drop(after->stat[i].name))
			continue;
		if (n != 1 || found[0] != '\0')
			return "several";
		found = after->stat[i].name;
	}
	return found;
}
