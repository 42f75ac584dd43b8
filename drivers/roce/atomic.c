// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/atomic.h"

#include <errno.h>

#include <rte_common.h>

#include "lib/wire/ext_hdr.h"

#define WORD_BYTES 8u

/* What an atomic's queue entry holds behind its one SGE. */
struct operands {
	uint64_t compare_add;
	uint64_t swap;
};

_Static_assert(sizeof(struct pmv_roce_wqe) + sizeof(struct pmv_sge) + sizeof(struct operands) <=
			       2 * PMV_ROCE_WQE_ALIGN &&
		       sizeof(struct pmv_roce_wqe) + sizeof(struct pmv_sge) > PMV_ROCE_WQE_ALIGN,
	"an entry that takes one SGE takes the operands too");
_Static_assert(offsetof(struct pmv_send_wr, wr.atomic.remote_addr) ==
			       offsetof(struct pmv_send_wr, wr.rdma.remote_addr) &&
		       offsetof(struct pmv_send_wr, wr.atomic.rkey) ==
			       offsetof(struct pmv_send_wr, wr.rdma.rkey),
	"one way to read address and key of every request");

/* IBTA vol. 1, 11.4.1.1: the value found goes to one data segment of 64 bits. */
int
pmv_roce_atomic_check(const struct pmv_send_wr *wr)
{
	if (wr->num_sge != 1 || wr->sg_list[0].length != WORD_BYTES ||
		(wr->send_flags & PMV_SEND_INLINE))
		return -EINVAL;
	return 0;
}

static inline struct operands *
operands_of(const struct pmv_roce_wqe *wqe)
{
	return RTE_PTR_ADD(wqe, sizeof(*wqe) + sizeof(struct pmv_sge));
}

void
pmv_roce_atomic_fill(struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr)
{
	*operands_of(wqe) = (struct operands){ wr->wr.atomic.compare_add, wr->wr.atomic.swap };
}

int
pmv_roce_atomic_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_wqe *wqe, bool ackreq, struct rte_mbuf *m)
{
	uint8_t *bth = pmv_roce_packet_start(m, &qp->hdr, PMV_BTH_LEN + PMV_ATOMIC_ETH_LEN);
	bool is_add = wqe->opcode == PMV_WR_ATOMIC_FETCH_AND_ADD;
	const struct operands *o = operands_of(wqe);
	const struct pmv_atomic_eth h = { .va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.swap_add = is_add ? o->compare_add : o->swap,
		.compare = is_add ? 0 : o->compare_add };

	pmv_roce_packet_bth(bth,
		pmv_roce_bth_word0(
			is_add ? PMV_OPCODE_RC_FETCH_ADD : PMV_OPCODE_RC_COMPARE_SWAP, false, 0),
		ackreq, wqe->first);
	pmv_atomic_eth_build(bth + PMV_OFF_ATOMIC, &h);
	return pmv_roce_packet_finish(w, &qp->hdr, m) == 0 ? 0 : -ENOBUFS;
}

/* The operands are numbers: big-endian on the wire, the CPU's own order in memory, as Linux rxe
 * has it. Returns what was found. */
static uint64_t
operate(uint64_t *word, uint8_t opcode, const struct pmv_atomic_eth *h)
{
	uint64_t found = h->compare;

	if (opcode == PMV_OPCODE_RC_FETCH_ADD)
		return __atomic_fetch_add(word, h->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(
		word, &found, h->swap_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return found;
}

/* The entry of the store that this request is, or would be. */
static struct pmv_roce_rd
entry_of(const struct pmv_roce_pkt *p, const struct pmv_atomic_eth *h)
{
	return (struct pmv_roce_rd){ .va = h->va,
		.rkey = h->rkey,
		.len = WORD_BYTES,
		.first = p->roce.bth.psn,
		.nb_psn = 1,
		.opcode = p->bth[0] };
}

/* The checks in the order of IBTA vol. 1, 9.7.4 and Linux rxe: operation, resources, key,
 * alignment. */
uint8_t
pmv_roce_atomic_execute(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_resp *r = &qp->resp;
	struct pmv_roce_span span;
	struct pmv_atomic_eth h;
	struct pmv_roce_rd rd;
	uint8_t *word;

	if (!(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_ATOMIC) ||
		!pmv_roce_rdatomic_room(&r->rd))
		return PMV_SYNDROME_NAK_INV_REQ;
	pmv_atomic_eth_parse(p->bth + PMV_OFF_ATOMIC, &h);
	span = (struct pmv_roce_span){ h.va, WORD_BYTES, h.rkey, PMV_ACCESS_REMOTE_ATOMIC };
	if (pmv_roce_region_grant(w->dev, qp->base.pd, &span, &word, NULL) != PMV_ROCE_REGION_OK)
		return PMV_SYNDROME_NAK_REM_ACC;
	/* memory may be registered under another alignment than its own */
	if (((h.va | (uintptr_t)word) & (WORD_BYTES - 1)) != 0)
		return PMV_SYNDROME_NAK_INV_REQ;
	rd = entry_of(p, &h);
	rd.value = operate((uint64_t *)(void *)word, rd.opcode, &h);
	pmv_roce_rdatomic_add(&r->rd, &rd);
	r->epsn = pmv_psn_add(r->epsn, 1);
	r->msn = (r->msn + 1) & PMV_PSN_MASK;
	return 0;
}

bool
pmv_roce_atomic_again(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_atomic_eth h;
	struct pmv_roce_rd again;

	pmv_atomic_eth_parse(p->bth + PMV_OFF_ATOMIC, &h);
	again = entry_of(p, &h);
	return pmv_roce_rdatomic_replay(&qp->resp.rd, again.first, &again, qp->mtu_bytes);
}

int
pmv_roce_atomic_answer(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_rd *rd, struct rte_mbuf **ret_m)
{
	const struct pmv_aeth aeth = { PMV_SYNDROME_ACK_NO_CREDIT, qp->resp.msn };
	struct rte_mbuf *m;
	uint8_t *bth;

	/* as small as an ACK, and no data can exhaust that pool */
	bth = pmv_roce_packet_begin(
		w, w->ack_pool, &qp->hdr, PMV_BTH_LEN + PMV_AETH_LEN + PMV_ATOMIC_ACK_LEN, &m);
	if (bth == NULL)
		return -ENOBUFS;
	pmv_roce_packet_bth(
		bth, pmv_roce_bth_word0(PMV_OPCODE_RC_ATOMIC_ACK, false, 0), false, rd->first);
	pmv_aeth_build(bth + PMV_OFF_AETH, &aeth);
	pmv_atomic_ack_build(bth + PMV_OFF_ATOMIC_ACK, rd->value);
	if (pmv_roce_packet_finish(w, &qp->hdr, m) != 0) {
		rte_pktmbuf_free(m);
		return -ENOBUFS;
	}
	*ret_m = m;
	return 0;
}
