// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a request looks like on the wire: the packets of a work request, built one by one and as
 * often as asked. Owner lcore. It decides nothing: the requester knows which PSN is next.
 */
#ifndef PMV_ROCE_REQUEST_H
#define PMV_ROCE_REQUEST_H

#include "drivers/roce/qp.h"
#include "lib/wire/ext_hdr.h"

/* What an operation looks like. Opcode of packet (first, last): base[first + 2 * last]. */
struct pmv_roce_shape {
	uint8_t base[4];    /* MIDDLE, FIRST, LAST, ONLY */
	bool has_reth;      /* on the packet that begins the message */
	bool has_imm;       /* (or IETH) on the packet that ends it */
	bool has_se;        /* the solicited event bit means something on the packet that ends it */
	bool is_atomic : 1; /* atomic.c checks it */
	bool is_apart : 1;  /* and builds it */
};
_Static_assert(sizeof(struct pmv_roce_shape) == 8, "found by a scaled index");

#define PMV_ROCE_SHAPES (PMV_WR_ATOMIC_WRITE + 1u)

/* By enum pmv_wr_opcode; those of local operations are empty. */
extern const struct pmv_roce_shape pmv_roce_shapes[PMV_ROCE_SHAPES];

/*
 * Builds the packet of `psn`, unsent. 0; -ENOBUFS: no mbuf now; -EACCES: a key is bad, or the
 * pool's data room is too small.
 */
int pmv_roce_request_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	struct pmv_roce_wqe *wqe, struct pmv_psn psn, bool ackreq, struct rte_mbuf **ret_m);

/* The part of a request that goes out under one PSN. */
struct pmv_roce_piece {
	uint32_t off;
	uint32_t len; /* payload of the packet; 0 for a READ */
	bool first;
	bool last;
};

/* Bytes of BTH and extension headers. */
static inline uint32_t
pmv_roce_request_hdr_len(const struct pmv_roce_shape *shape, const struct pmv_roce_piece *pc)
{
	return PMV_BTH_LEN + (shape->has_reth && pc->first ? PMV_RETH_LEN : 0) +
	       (shape->has_imm && pc->last ? PMV_IMMDT_LEN : 0);
}

/* Writes them to bth; returns where the payload goes. */
static inline uint8_t *
pmv_roce_request_headers(const struct pmv_roce_wqe *wqe, const struct pmv_roce_piece *pc,
	struct pmv_psn psn, bool ackreq, uint8_t *bth)
{
	const struct pmv_roce_shape *shape = &pmv_roce_shapes[wqe->opcode];
	bool se = shape->has_se && pc->last && (wqe->flags & PMV_SEND_SOLICITED);
	uint8_t *p = bth + PMV_BTH_LEN;

	pmv_roce_packet_bth(bth,
		pmv_roce_bth_word0(shape->base[pc->first + 2 * pc->last], se, pmv_bth_pad(pc->len)),
		ackreq, psn);
	if (shape->has_reth && pc->first) {
		const struct pmv_reth h = { wqe->remote_addr + pc->off, wqe->rkey,
			wqe->length - pc->off };

		pmv_reth_build(p, &h);
		p += PMV_RETH_LEN;
	}
	if (shape->has_imm && pc->last) {
		pmv_immdt_build(p, wqe->imm);
		p += PMV_IMMDT_LEN;
	}
	return p;
}

#endif
