// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames between bytes and mbufs: a received frame as the data path sees it, and the three steps of
 * making one (begin: header template; fill: BTH, extension headers, payload; finish: pad, lengths,
 * ICRC). Owner lcore. It knows nothing of QP state.
 * Frames are what rte_mbuf promises: pkt_len is the sum of the segments' data_len.
 */
#ifndef PMV_ROCE_PACKET_H
#define PMV_ROCE_PACKET_H

#include <rte_mbuf.h>

#include "lib/driver/pmv_driver.h"
#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/opcode.h"

struct pmv_roce_worker;

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
	uint8_t drop;         /* enum pmv_roce_drop; set when parse returns PMV_WIRE_NB */
	uint8_t scratch[128]; /* headers of a frame whose first segment is shorter than they are */
};

/* Lengths whose ICRC register after IP and UDP headers a template remembers, by (length / 4) modulo
 * this: a QP uses few (full packets, first packets, acknowledgements). */
#define PMV_ROCE_HDR_CRCS 4u

/* Bytes of a template that are copied whatever its length: one constant-size copy. */
#define PMV_ROCE_HDR_BYTES 72u

/* What every frame of one destination starts with: Ethernet .. UDP. */
struct pmv_roce_hdr {
	struct pmv_eth_ip_tmpl tmpl;
	uint16_t crc_len[PMV_ROCE_HDR_CRCS]; /* BTH .. ICRC length that crc_state belongs to; 0 =
						none yet */
	uint32_t crc_state[PMV_ROCE_HDR_CRCS];
	uint8_t bytes[PMV_ROCE_HDR_BYTES];
};

/*
 * 0, or -EINVAL (families differ). The UDP source port is av's; when that is 0 the fold of its flow
 * label, and without one the fold of the two QPNs. ECN is 00: nothing here reacts to congestion
 * marks yet.
 */
int pmv_roce_hdr_init(struct pmv_roce_hdr *h, const struct pmv_device *dev, const struct pmv_av *av,
	uint32_t local_qpn, uint32_t remote_qpn);

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

/*
 * Starts a frame in a new mbuf of `pool`: template copied, `hdr_len` bytes (BTH and extension
 * headers) reserved behind it. Returns NULL when the pool is empty (counted). *ret_bth points at
 * the BTH to fill.
 */
struct rte_mbuf *pmv_roce_packet_begin(struct pmv_roce_worker *w, struct rte_mempool *pool,
	const struct pmv_roce_hdr *h, uint32_t hdr_len, uint8_t **ret_bth);

/* Reserves payload room in the same mbuf and returns it; NULL if the data room is too small. Fill
 * it before finish. */
uint8_t *pmv_roce_packet_payload(struct rte_mbuf *m, uint32_t len);

/* Appends pad (as told in the BTH) and ICRC, sets the lengths. The frame may be a chain (attached
 * payload). 0 or -ENOMEM (no mbuf for the trailer of a chain). */
int pmv_roce_packet_finish(struct pmv_roce_worker *w, struct pmv_roce_hdr *h, struct rte_mbuf *m);

#endif
