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

bool
pmv_roce_peer_match(
	struct pmv_roce_peer *peer, struct rte_mbuf *m, uint32_t bth_off, struct pmv_roce_pkt *p)
{
	uint32_t word0 = pmv_be32_load(p->bth);
	const struct pmv_opcode_info *op = &pmv_opcode_table[word0 >> 24];
	uint32_t pad = word0 >> 20 & 3;
	uint32_t fixed = op->hdr_len + pad + PMV_ICRC_LEN;
	uint32_t roce_len = pmv_eth_ip_match(&peer->match, p->hdr, m->data_len);

	/* RC, transport version 0, the default P_Key as full or limited member, lengths that fit */
	if (roce_len < fixed || op->opclass != PMV_OPCLASS_RC || (word0 & 0xf0000) != 0 ||
		(word0 & 0x7fff) != 0x7fff || (roce_len & 3) != 0 ||
		(op->payload == PMV_OPPAY_NONE && roce_len != fixed))
		return false;
	if (!pmv_icrc_packet_check(p->hdr + peer->match.l3_off, peer->match.is_v6,
		    bth_off - peer->match.l3_off + roce_len))
		return false;
	p->roce.op = op;
	p->roce.bth.padcnt = (uint8_t)pad;
	p->roce.payload_len = roce_len - fixed;
	p->payload_len = roce_len - fixed;
	p->payload_off = bth_off + op->hdr_len;
	remember(peer, p);
	return true;
}
