// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames of a connected QP's peer, recognised without parsing them. Two questions, the cheaper one
 * first: are the headers the very bytes of a frame that was found sound before (our own kind of
 * sender repeats them for every packet of a length)? Are they at least what this peer's frames look
 * like, with every check that parsing would make? Every other frame is packet.c's to parse and to
 * judge; a frame that is taken here would have passed there. Owner lcore.
 */
#ifndef PMV_ROCE_PEER_H
#define PMV_ROCE_PEER_H

#include <rte_branch_prediction.h>

#include "drivers/roce/packet.h"
#include "lib/wire/eth_ip_match.h"
#include "lib/wire/icrc.h"

/* Headers known to be sound, by length of frame: requests and answers, first and other packets. */
#define PMV_ROCE_PEER_KNOWN 2u

/* Bytes that are compared: eight before the IP header (the type, or tag and type) up to the BTH's
 * first four bytes; with IPv6 the next four too. */
#define PMV_ROCE_PEER_WORDS_V4 5u
#define PMV_ROCE_PEER_WORDS_V6 8u

/* A header that was checked, and what follows from it. */
struct pmv_roce_known {
	uint64_t word[PMV_ROCE_PEER_WORDS_V6];
	const struct pmv_opcode_info *op;
	uint32_t data_len;  /* of the frame; 0 = nothing known */
	uint32_t crc_state; /* pmv_icrc_bth_begin() */
	uint16_t payload_len;
	uint8_t padcnt;
};

/* What a QP expects of its peer. Zero: nothing yet. */
struct pmv_roce_peer {
	struct pmv_eth_ip_peer match;
	uint32_t
		addr_version; /* of the device, when a frame of this peer last passed every check */
	struct pmv_roce_known known[PMV_ROCE_PEER_KNOWN];
};

/* What is said of a frame. */
enum pmv_roce_peer_verdict {
	PMV_ROCE_PEER_UNSURE, /* not surely sound; parse it */
	PMV_ROCE_PEER_TAKEN,
	PMV_ROCE_PEER_MARKED, /* taken, and it was marked on its way (ECN CE) */
};

/* A frame to us has passed packet.c's checks and is the peer's: from now on its like may be taken
 * here. hdr: our frames' template. */
void pmv_roce_peer_learn(
	struct pmv_roce_peer *peer, const struct pmv_roce_hdr *hdr, uint32_t addr_version);

/* Something was learned, and our addresses are the same since. */
static inline bool
pmv_roce_peer_is_known(const struct pmv_roce_peer *peer, uint32_t addr_version)
{
	return peer->match.hdr_len != 0 && peer->addr_version == addr_version;
}

/* The second question. m: see pmv_roce_peer_take(). The headers of a marked frame are not kept: so
 * none of those that are known is marked. */
enum pmv_roce_peer_verdict pmv_roce_peer_match(
	struct pmv_roce_peer *peer, struct rte_mbuf *m, uint32_t bth_off, struct pmv_roce_pkt *p);

/* Where the BTH of a frame is, if it is RoCE on this device; l3_off: 14, or 18 with a tag. */
static inline uint32_t
pmv_roce_peer_bth_off(const uint8_t *hdr, uint32_t l3_off)
{
	return l3_off + PMV_UDP_LEN + (hdr[l3_off] >> 4 == 6 ? PMV_IPV6_LEN : PMV_IPV4_LEN);
}

static inline struct pmv_roce_known *
pmv_roce_peer_known(struct pmv_roce_peer *peer, uint32_t data_len)
{
	return &peer->known[data_len >> 4 & (PMV_ROCE_PEER_KNOWN - 1)];
}

/* l3: the frame's IP header. */
static inline bool
pmv_roce_peer_knows(
	const struct pmv_roce_peer *peer, const struct pmv_roce_known *k, const uint8_t *l3)
{
	uint64_t differs = 0;

	for (uint32_t i = 0; i < PMV_ROCE_PEER_WORDS_V4; i++)
		differs |= pmv_eth_ip_load64(l3 - 8 + 8 * i) ^ k->word[i];
	if (!peer->match.is_v6)
		return differs == 0;
	for (uint32_t i = PMV_ROCE_PEER_WORDS_V4; i < PMV_ROCE_PEER_WORDS_V6; i++)
		differs |= pmv_eth_ip_load64(l3 - 8 + 8 * i) ^ k->word[i];
	return differs == 0;
}

/*
 * Takes a frame of the peer into *p, of which then m, hdr, bth, payload_off, payload_len and, of
 * roce, op, payload_len, padcnt, ackreq and psn are set.
 * bth_off: pmv_roce_peer_bth_off(); the frame is one segment, which reaches at least to an ICRC
 * behind the BTH.
 */
static inline enum pmv_roce_peer_verdict
pmv_roce_peer_take(
	struct pmv_roce_peer *peer, struct rte_mbuf *m, uint32_t bth_off, struct pmv_roce_pkt *p)
{
	const uint8_t *hdr = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct pmv_roce_known *k = pmv_roce_peer_known(peer, m->data_len);
	const uint8_t *bth = hdr + bth_off;
	uint32_t word2 = pmv_be32_load(bth + 8);
	uint32_t end, state;

	if (unlikely(peer->match.hdr_len != bth_off))
		return PMV_ROCE_PEER_UNSURE;
	p->m = m;
	p->hdr = hdr;
	p->bth = bth;
	p->roce.bth.ackreq = word2 >> 31;
	p->roce.bth.psn = pmv_psn(word2);
	if (unlikely(k->data_len != m->data_len ||
		     !pmv_roce_peer_knows(peer, k, hdr + peer->match.l3_off)))
		return pmv_roce_peer_match(peer, m, bth_off, p);
	end = k->op->hdr_len + k->payload_len + k->padcnt;
	state = pmv_icrc_update(k->crc_state ^ bth[PMV_ICRC_BTH_BEGIN], bth + PMV_ICRC_BTH_BEGIN,
		end - PMV_ICRC_BTH_BEGIN);
	p->roce.op = k->op;
	p->roce.bth.padcnt = k->padcnt;
	p->roce.payload_len = k->payload_len;
	p->payload_len = k->payload_len;
	p->payload_off = bth_off + k->op->hdr_len;
	return likely(pmv_icrc_check(bth + end, state)) ? PMV_ROCE_PEER_TAKEN
							: PMV_ROCE_PEER_UNSURE;
}

#endif
