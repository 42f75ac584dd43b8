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
	uint8_t only_bytes; /* BTH and extension headers of an ONLY packet */
	bool has_reth;      /* on the packet that begins the message */
	bool has_imm;       /* on the packet that ends it */
	bool has_se;        /* the solicited event bit means something on the packet that ends it */
};

/* By enum pmv_wr_opcode, up to PMV_WR_RDMA_READ. */
extern const struct pmv_roce_shape pmv_roce_shapes[];

/*
 * Builds the packet of `psn`, unsent. 0; -ENOBUFS: no mbuf now; -EACCES: a key is bad, or the
 * pool's data room is too small.
 */
int pmv_roce_request_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	struct pmv_roce_wqe *wqe, struct pmv_psn psn, bool ackreq, struct rte_mbuf **ret_m);

/* The headers of an ONLY packet, BTH first; returns where the payload goes. */
static inline uint8_t *
pmv_roce_request_only(const struct pmv_roce_shape *shape, const struct pmv_roce_wqe *wqe,
	bool ackreq, uint8_t *bth)
{
	bool se = shape->has_se && (wqe->flags & PMV_SEND_SOLICITED);
	uint8_t *p = bth + PMV_BTH_LEN;

	pmv_roce_packet_bth(bth, pmv_roce_bth_word0(shape->base[3], se, pmv_bth_pad(wqe->length)),
		ackreq, wqe->first);
	if (shape->has_reth) {
		const struct pmv_reth h = { wqe->remote_addr, wqe->rkey, wqe->length };

		pmv_reth_build(p, &h);
		p += PMV_RETH_LEN;
	}
	if (shape->has_imm) {
		pmv_immdt_build(p, wqe->imm);
		p += PMV_IMMDT_LEN;
	}
	return p;
}

#endif
