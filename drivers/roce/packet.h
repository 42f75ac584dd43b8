// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames between bytes and mbufs: a received frame as the data path sees it, and the three steps of
 * making one (begin: header template; fill: BTH, extension headers, payload; finish: pad, lengths,
 * ICRC). Owner lcore. It knows nothing of QP state.
 * Frames are what rte_mbuf promises: pkt_len is the sum of the segments' data_len.
 */
#ifndef PMV_ROCE_PACKET_H
#define PMV_ROCE_PACKET_H

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "drivers/roce/tx.h"
#include "lib/driver/pmv_driver.h"
#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/icrc.h"
#include "lib/wire/opcode.h"

struct pmv_roce_worker;

#define PMV_ROCE_TRAILER_BYTES (3u + PMV_ICRC_LEN) /* pad at most, ICRC */

/* A received frame, parsed; valid while the mbuf is. */
struct pmv_roce_pkt {
	struct rte_mbuf *m; /* may be a chain */
	struct pmv_eth_ip ip;
	struct pmv_roce_view roce; /* roce.bth, roce.op, payload_off/len relative to the BTH */
	const uint8_t *hdr;   /* first byte of the frame: contiguous through the extension headers
				 (frame or scratch) */
	uint32_t hdr_len;     /* bytes contiguous at hdr */
	const uint8_t *bth;   /* BTH and extension headers, contiguous */
	uint32_t payload_off; /* from the frame's first byte */
	uint32_t payload_len; /* without pad */
	struct pmv_mcast_group *group; /* NULL: to an address of ours; set by parse alone */
	uint8_t drop;                  /* enum pmv_roce_drop; set when parse returns PMV_WIRE_NB */
	uint8_t scratch[128]; /* headers of a frame whose first segment is shorter than they are */
};

/* Lengths whose ICRC register over the first headers a template remembers, by (length / 4) modulo
 * this: a QP uses few (full packets, first packets, acknowledgements). */
#define PMV_ROCE_HDR_CRCS 4u

/* Bytes of a template that are copied whatever its length: one constant-size copy. */
#define PMV_ROCE_HDR_BYTES 80u

/*
 * What every frame of one destination starts with: Ethernet .. BTH. The lengths in it are those of
 * the last frame, which most often is as long as the next. Of the BTH, P_Key and destination QPN
 * are there, and the rest is 0.
 */
struct pmv_roce_hdr {
	struct pmv_eth_ip_tmpl tmpl;
	uint32_t roce_len; /* BTH .. ICRC length that the lengths in `bytes` tell; 0 = none yet */
	uint32_t crc_state[PMV_ROCE_HDR_CRCS]; /* pmv_icrc_bth_begin() */
	uint64_t crc_key[PMV_ROCE_HDR_CRCS];   /* what it belongs to: length and the BTH's first
						  four bytes; 0 = nothing yet */
	uint8_t bytes[PMV_ROCE_HDR_BYTES];
};

/*
 * 0, or -EINVAL (families differ). The UDP source port is av's; when that is 0 the fold of its flow
 * label, and without one the fold of the two QPNs. ECN is 00, see pmv_roce_hdr_set_ect().
 */
int pmv_roce_hdr_init(struct pmv_roce_hdr *h, const struct pmv_device *dev, const struct pmv_av *av,
	uint32_t local_qpn, uint32_t remote_qpn);

/* Frames may be marked instead of dropped: ECN is ECT(0) from now on (RFC 3168 5). Nothing was made
 * of the template yet. */
void pmv_roce_hdr_set_ect(struct pmv_roce_hdr *h);

/*
 * Parses a frame and checks everything that needs no QP: headers, lengths, checksums, VLAN,
 * destination address, P_Key, ICRC. PMV_WIRE_NOT_ROCE and FRAGMENT_LATER: not ours (p->ip then is
 * what pmv_eth_ip_parse() promises, with p->hdr contiguous for p->hdr_len bytes). PMV_WIRE_NB: the
 * bytes are right, drop and count under p->drop. Other verdicts: drop and count under that verdict.
 */
enum pmv_wire_verdict pmv_roce_packet_parse(
	struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_pkt *p);

/* Of a frame that is not RoCE: its tag is the device's; its destination is one of our addresses. */
bool pmv_roce_packet_vlan_is_ours(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p);
bool pmv_roce_packet_dest_is_ours(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p);
/* Its source is. */
bool pmv_roce_packet_is_own(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p);

/*
 * Starts a frame in a fresh mbuf: template copied, `hdr_len` bytes (BTH and extension headers)
 * counted in. Returns where the BTH is, to be filled by pmv_roce_packet_bth() or whole.
 */
static inline uint8_t *
pmv_roce_packet_start(struct rte_mbuf *m, const struct pmv_roce_hdr *h, uint32_t hdr_len)
{
	uint8_t *dst = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(dst, h->bytes, PMV_ROCE_HDR_BYTES);
	m->data_len = (uint16_t)(h->tmpl.hdr_len + hdr_len);
	m->pkt_len = m->data_len;
	return dst + h->tmpl.hdr_len;
}

/* The same in a new mbuf of `pool`. NULL when the pool is empty (counted). */
uint8_t *pmv_roce_packet_begin(struct pmv_roce_worker *w, struct rte_mempool *pool,
	const struct pmv_roce_hdr *h, uint32_t hdr_len, struct rte_mbuf **ret_m);

/* The first four bytes of a BTH of the default P_Key: opcode, flags, pad. */
static inline uint32_t
pmv_roce_bth_word0(uint8_t opcode, bool se, uint32_t padcnt)
{
	return (uint32_t)opcode << 24 | (uint32_t)se << 23 | 1u << 22 /* MigReq */ | padcnt << 20 |
	       PMV_PKEY_DEFAULT;
}

/* Completes a BTH whose destination QPN the template has. */
static inline void
pmv_roce_packet_bth(uint8_t *bth, uint32_t word0, bool ackreq, struct pmv_psn psn)
{
	pmv_be32_store(bth, word0);
	pmv_be32_store(bth + 8, (uint32_t)ackreq << 31 | psn.v);
}

/* Reserves payload room in the same mbuf and returns it; NULL if the data room is too small. Fill
 * it before finish. */
static inline uint8_t *
pmv_roce_packet_payload(struct rte_mbuf *m, uint32_t len)
{
	uint8_t *p = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len);

	if (unlikely(len + PMV_ROCE_TRAILER_BYTES > rte_pktmbuf_tailroom(m)))
		return NULL;
	m->data_len = (uint16_t)(m->data_len + len);
	m->pkt_len += len;
	return p;
}

/* Cold parts of finish: the template tells another length now, and so does the frame at hdr; a
 * register is remembered. */
void pmv_roce_hdr_set_len(struct pmv_roce_hdr *h, uint8_t *hdr, uint32_t roce_len);
void pmv_roce_hdr_set_crc(struct pmv_roce_hdr *h, const uint8_t *hdr, uint64_t key, uint32_t slot);

/* Lengths and headers of the frame at hdr are made right for roce_len bytes from the BTH on;
 * returns the ICRC register to go on with at byte PMV_ICRC_BTH_BEGIN of the BTH. */
static inline uint32_t
pmv_roce_hdr_close(struct pmv_roce_hdr *h, uint8_t *hdr, uint32_t roce_len)
{
	const uint8_t *bth = hdr + h->tmpl.hdr_len;
	uint64_t key = (uint64_t)roce_len << 32 | pmv_be32_load(bth);
	uint32_t slot = (roce_len >> 2) & (PMV_ROCE_HDR_CRCS - 1);

	if (unlikely(h->roce_len != roce_len))
		pmv_roce_hdr_set_len(h, hdr, roce_len);
	if (unlikely(h->crc_key[slot] != key))
		pmv_roce_hdr_set_crc(h, hdr, key, slot);
	return h->crc_state[slot] ^ bth[PMV_ICRC_BTH_BEGIN];
}

/* Finishes a frame of one segment, but for its ICRC: body bytes from the BTH on are there, `pad`
 * follow. Returns how to make the ICRC. */
static inline struct pmv_roce_seal
pmv_roce_packet_close(struct pmv_roce_hdr *h, struct rte_mbuf *m, uint32_t body, uint32_t pad)
{
	uint8_t *hdr = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *bth = hdr + h->tmpl.hdr_len;
	uint32_t roce_len = body + pad + PMV_ICRC_LEN;

	memset(bth + body, 0, PMV_ICRC_LEN); /* pad is zero; the ICRC overwrites the rest */
	m->data_len = (uint16_t)(h->tmpl.hdr_len + roce_len);
	m->pkt_len = m->data_len;
	return (struct pmv_roce_seal){ .from = bth + PMV_ICRC_BTH_BEGIN,
		.len = roce_len - PMV_ICRC_LEN - PMV_ICRC_BTH_BEGIN,
		.state = pmv_roce_hdr_close(h, hdr, roce_len) };
}

/* Appends pad (as told in the BTH) and ICRC, sets the lengths. The frame may be a chain (attached
 * payload). 0 or -ENOMEM (no mbuf for the trailer of a chain). */
int pmv_roce_packet_finish(struct pmv_roce_worker *w, struct pmv_roce_hdr *h, struct rte_mbuf *m);

#endif
