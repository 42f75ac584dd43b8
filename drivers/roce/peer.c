// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/peer.h"

void
pmv_roce_peer_learn(
	struct pmv_roce_peer *peer, const struct pmv_roce_hdr *hdr, uint32_t addr_version)
{
	pmv_eth_ip_peer_init(&peer->match, hdr->bytes, &hdr->tmpl);
	peer->addr_version = addr_version;
}

/* The header of a frame that is sound: *p says what it holds. */
static void
remember(struct pmv_roce_peer *peer, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_known *k = pmv_roce_peer_known(peer, p->m->data_len);
	const uint8_t *l3 = p->hdr + peer->match.l3_off;
	uint32_t nb = peer->match.is_v6 ? PMV_ROCE_PEER_WORDS_V6 : PMV_ROCE_PEER_WORDS_V4;

	memcpy(k->word, l3 - 8, nb * sizeof(k->word[0]));
	k->op = p->roce.op;
	k->data_len = p->m->data_len;
	k->crc_state = pmv_icrc_bth_begin(pmv_icrc_start_ip_udp(l3, peer->match.is_v6), p->bth);
	k->payload_len = (uint16_t)p->payload_len;
	k->padcnt = p->roce.bth.padcnt;
}

static bool
is_marked(const uint8_t *l3, bool is_v6)
{
	return (l3[1] >> (is_v6 ? 4 : 0) & PMV_IP_ECN_MASK) == PMV_IP_ECN_CE;
}

enum pmv_roce_peer_verdict
pmv_roce_peer_match(
	struct pmv_roce_peer *peer, struct rte_mbuf *m, uint32_t bth_off, struct pmv_roce_pkt *p)
{
	uint32_t roce_len = pmv_eth_ip_match(&peer->match, p->hdr, m->data_len);

	if (pmv_roce_parse(p->bth, m->data_len - bth_off, roce_len, &p->roce) != PMV_WIRE_OK ||
		p->roce.op->opclass != PMV_OPCLASS_RC ||
		!pmv_pkey_is_match(p->roce.bth.pkey, PMV_PKEY_DEFAULT))
		return PMV_ROCE_PEER_UNSURE;
	if (!pmv_icrc_packet_check(p->hdr + peer->match.l3_off, peer->match.is_v6,
		    bth_off - peer->match.l3_off + roce_len))
		return PMV_ROCE_PEER_UNSURE;
	p->payload_len = p->roce.payload_len;
	p->payload_off = bth_off + p->roce.payload_off;
	if (is_marked(p->hdr + peer->match.l3_off, peer->match.is_v6))
		return PMV_ROCE_PEER_MARKED;
	remember(peer, p);
	return PMV_ROCE_PEER_TAKEN;
}
