// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/atomic.h"

#include <errno.h>

#include <rte_atomic.h>
#include <rte_common.h>

#include "lib/wire/ext_hdr.h"

#define WORD_BYTES 8u

#define PLACEMENTS ((uint32_t)PMV_FLUSH_GLOBAL | (uint32_t)PMV_FLUSH_PERSISTENT)

/* What an atomic's queue entry holds behind its one SGE. */
struct operands {
	uint64_t compare_add;
	uint64_t swap;
};

/* What a FLUSH's holds instead of SGEs. */
struct flush {
	uint32_t length;
	struct pmv_feth feth;
};

_Static_assert(sizeof(struct pmv_roce_wqe) + sizeof(struct pmv_sge) + sizeof(struct operands) <=
			       2 * PMV_ROCE_WQE_ALIGN &&
		       sizeof(struct pmv_roce_wqe) + sizeof(struct pmv_sge) > PMV_ROCE_WQE_ALIGN,
	"an entry that takes one SGE takes the operands too");
_Static_assert(sizeof(struct pmv_roce_wqe) + sizeof(struct flush) <= PMV_ROCE_WQE_ALIGN,
	"every entry takes a FLUSH");
_Static_assert(offsetof(struct pmv_send_wr, wr.atomic.remote_addr) ==
			       offsetof(struct pmv_send_wr, wr.rdma.remote_addr) &&
		       offsetof(struct pmv_send_wr, wr.atomic.rkey) ==
			       offsetof(struct pmv_send_wr, wr.rdma.rkey) &&
		       offsetof(struct pmv_send_wr, wr.flush.remote_addr) ==
			       offsetof(struct pmv_send_wr, wr.rdma.remote_addr) &&
		       offsetof(struct pmv_send_wr, wr.flush.rkey) ==
			       offsetof(struct pmv_send_wr, wr.rdma.rkey),
	"one way to read address and key of every request");

static bool
is_flush_ok(const struct pmv_send_wr *wr)
{
	return wr->num_sge == 0 && !(wr->send_flags & PMV_SEND_INLINE) &&
	       (wr->wr.flush.type & PLACEMENTS) != 0 && (wr->wr.flush.type & ~PLACEMENTS) == 0 &&
	       wr->wr.flush.level <= PMV_FLUSH_MR && wr->wr.flush.length <= PMV_RETH_LEN_MAX;
}

static bool
is_write_ok(const struct pmv_send_wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < RTE_MIN(wr->num_sge, PMV_SGE_MAX); i++)
		length += wr->sg_list[i].length;
	return length == WORD_BYTES;
}

int
pmv_roce_atomic_check(const struct pmv_send_wr *wr)
{
	bool ok;

	if (wr->opcode == PMV_WR_FLUSH)
		ok = is_flush_ok(wr);
	else if (wr->opcode == PMV_WR_ATOMIC_WRITE)
		ok = is_write_ok(wr);
	else /* IBTA vol. 1, 11.4.1.1: what was found goes to one data segment of 64 bits */
		ok = wr->num_sge == 1 && wr->sg_list[0].length == WORD_BYTES &&
		     !(wr->send_flags & PMV_SEND_INLINE);
	return ok ? 0 : -EINVAL;
}

static inline struct operands *
operands_of(const struct pmv_roce_wqe *wqe)
{
	return RTE_PTR_ADD(wqe, sizeof(*wqe) + sizeof(struct pmv_sge));
}

static inline struct flush *
flush_of(const struct pmv_roce_wqe *wqe)
{
	return RTE_PTR_ADD(wqe, sizeof(*wqe));
}

void
pmv_roce_atomic_fill(struct pmv_roce_wqe *wqe, const struct pmv_send_wr *wr)
{
	if (wr->opcode == PMV_WR_FLUSH)
		*flush_of(wqe) = (struct flush){ wr->wr.flush.length,
			{ wr->wr.flush.level, wr->wr.flush.type } };
	else
		*operands_of(wqe) =
			(struct operands){ wr->wr.atomic.compare_add, wr->wr.atomic.swap };
}

static void
build_atomic(const struct pmv_roce_wqe *wqe, uint8_t *p)
{
	bool is_add = wqe->opcode == PMV_WR_ATOMIC_FETCH_AND_ADD;
	const struct operands *o = operands_of(wqe);
	const struct pmv_atomic_eth h = { .va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.swap_add = is_add ? o->compare_add : o->swap,
		.compare = is_add ? 0 : o->compare_add };

	pmv_atomic_eth_build(p, &h);
}

static void
build_flush(const struct pmv_roce_wqe *wqe, uint8_t *p)
{
	const struct flush *f = flush_of(wqe);
	const struct pmv_reth h = { wqe->remote_addr, wqe->rkey, f->length };

	pmv_feth_build(p, &f->feth);
	pmv_reth_build(p + PMV_FETH_LEN, &h);
}

int
pmv_roce_atomic_build(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_wqe *wqe, bool ackreq, struct rte_mbuf *m)
{
	static const uint8_t opcodes[] = {
		[PMV_WR_ATOMIC_CMP_AND_SWP] = PMV_OPCODE_RC_COMPARE_SWAP,
		[PMV_WR_ATOMIC_FETCH_AND_ADD] = PMV_OPCODE_RC_FETCH_ADD,
		[PMV_WR_FLUSH] = PMV_OPCODE_RC_FLUSH,
	};
	uint8_t opcode = opcodes[wqe->opcode];
	uint8_t *bth = pmv_roce_packet_start(m, &qp->hdr, pmv_opcode_table[opcode].hdr_len);

	pmv_roce_packet_bth(bth, pmv_roce_bth_word0(opcode, false, 0), ackreq, wqe->first);
	if (wqe->opcode == PMV_WR_FLUSH)
		build_flush(wqe, bth + PMV_BTH_LEN);
	else
		build_atomic(wqe, bth + PMV_BTH_LEN);
	return pmv_roce_packet_finish(w, &qp->hdr, m) == 0 ? 0 : -ENOBUFS;
}

/* A request, parsed; the store's entry for it. */
struct request {
	struct pmv_roce_rd rd;
	uint64_t swap_add;
	uint64_t compare;
	struct pmv_feth feth;
};

static void
parse_reth(const uint8_t *p, struct request *r)
{
	struct pmv_reth h;

	pmv_reth_parse(p, &h);
	r->rd.va = h.va;
	r->rd.rkey = h.rkey;
	r->rd.len = h.dma_len;
}

static void
parse(const struct pmv_roce_pkt *p, struct request *r)
{
	struct pmv_atomic_eth h;

	/* the BTH's own byte: a frame that was recognised has no parsed opcode */
	*r = (struct request){
		.rd = { .first = p->roce.bth.psn, .nb_psn = 1, .opcode = p->bth[0] }
	};
	if (p->roce.op->kind == PMV_OPKIND_FLUSH) {
		pmv_feth_parse(p->bth + PMV_OFF_FETH, &r->feth);
		parse_reth(p->bth + PMV_OFF_FLUSH_RETH, r);
	} else if (p->roce.op->kind == PMV_OPKIND_ATOMIC_WRITE) {
		parse_reth(p->bth + PMV_OFF_RETH, r);
	} else {
		pmv_atomic_eth_parse(p->bth + PMV_OFF_ATOMIC, &h);
		r->rd.va = h.va;
		r->rd.rkey = h.rkey;
		r->rd.len = WORD_BYTES;
		r->swap_add = h.swap_add;
		r->compare = h.compare;
	}
}

/* The word that a request names, or the syndrome to refuse it with. In the order of Linux rxe: key,
 * then alignment. */
static uint8_t
find_word(const struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct request *r,
	uint32_t access, uint64_t **ret_word)
{
	const struct pmv_roce_span span = { r->rd.va, WORD_BYTES, r->rd.rkey, access,
		qp->base.qpn };
	enum pmv_roce_region_verdict v;
	uint8_t *ptr;

	v = pmv_roce_region_grant(w->dev, qp->base.pd, &span, &ptr, NULL);
	if (v != PMV_ROCE_REGION_OK && v != PMV_ROCE_REGION_SPLIT)
		return PMV_SYNDROME_NAK_REM_ACC;
	/* Memory may be registered under another alignment than its own. A word on two pages is not
	 * aligned. */
	if (v == PMV_ROCE_REGION_SPLIT || ((r->rd.va | (uintptr_t)ptr) & (WORD_BYTES - 1)) != 0)
		return PMV_SYNDROME_NAK_INV_REQ;
	*ret_word = (uint64_t *)(void *)ptr;
	return 0;
}

/* The operands are numbers: big-endian on the wire, the CPU's own order in memory, as Linux rxe has
 * it. Returns what was found. */
static uint64_t
operate(uint64_t *word, const struct request *r)
{
	uint64_t found = r->compare;

	if (r->rd.opcode == PMV_OPCODE_RC_FETCH_ADD)
		return __atomic_fetch_add(word, r->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(
		word, &found, r->swap_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return found;
}

static uint8_t
do_atomic(const struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, struct request *r)
{
	uint64_t *word;
	uint8_t syndrome;

	if (!(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_ATOMIC))
		return PMV_SYNDROME_NAK_INV_REQ;
	syndrome = find_word(w, qp, r, PMV_ACCESS_REMOTE_ATOMIC, &word);
	if (syndrome == 0)
		r->rd.value = operate(word, r);
	return syndrome;
}

/* A WRITE of one word that nobody sees torn, behind all that was written before. Its payload is
 * bytes, not a number. */
static uint8_t
do_write(const struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct request *r,
	const struct pmv_roce_pkt *p)
{
	const uint8_t *bytes;
	uint64_t *word, v;
	uint8_t syndrome;

	if (!(qp->base.attr.qp_access_flags & PMV_ACCESS_REMOTE_WRITE) || r->rd.len != WORD_BYTES)
		return PMV_SYNDROME_NAK_INV_REQ;
	syndrome = find_word(w, qp, r, PMV_ACCESS_REMOTE_WRITE, &word);
	if (syndrome != 0)
		return syndrome;
	bytes = rte_pktmbuf_read(p->m, p->payload_off, WORD_BYTES, &v);
	memmove(&v, bytes, WORD_BYTES); /* it may be there already */
	__atomic_store_n(word, v, __ATOMIC_RELEASE);
	return 0;
}

/* Whatever was written before is visible once the fence is passed: to CPUs, and to devices of a
 * coherent machine. Persistence cannot be promised, so no key grants it. */
static uint8_t
do_flush(const struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct request *r)
{
	const struct pmv_roce_span span = { r->rd.va, r->rd.len, r->rd.rkey,
		PMV_ACCESS_FLUSH_GLOBAL, qp->base.qpn };
	enum pmv_roce_region_verdict v;
	uint8_t *ptr;

	if (r->feth.plt != PMV_FLUSH_GLOBAL || r->feth.sel > PMV_FLUSH_MR ||
		!(qp->base.attr.qp_access_flags & PMV_ACCESS_FLUSH_GLOBAL) ||
		r->rd.len > PMV_RETH_LEN_MAX)
		return PMV_SYNDROME_NAK_INV_REQ;
	v = pmv_roce_region_grant_key(w->dev, qp->base.pd, &span);
	if (v == PMV_ROCE_REGION_OK && r->feth.sel == PMV_FLUSH_RANGE)
		v = pmv_roce_region_grant(w->dev, qp->base.pd, &span, &ptr, NULL);
	if (v != PMV_ROCE_REGION_OK && v != PMV_ROCE_REGION_SPLIT)
		return PMV_SYNDROME_NAK_REM_ACC;
	rte_smp_mb(); /* no fence of C11: the thread sanitizer refuses to compile one */
	return 0;
}

uint8_t
pmv_roce_atomic_execute(
	struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct pmv_roce_resp *s = &qp->resp;
	uint8_t kind = p->roce.op->kind;
	struct request r;
	uint8_t syndrome;

	if (!pmv_roce_rdatomic_room(&s->rd))
		return kind == PMV_OPKIND_FLUSH && s->rd.nb_max != 0 ? PMV_ROCE_ATOMIC_BUSY
								     : PMV_SYNDROME_NAK_INV_REQ;
	parse(p, &r);
	if (kind == PMV_OPKIND_FLUSH)
		syndrome = do_flush(w, qp, &r);
	else if (kind == PMV_OPKIND_ATOMIC_WRITE)
		syndrome = do_write(w, qp, &r, p);
	else
		syndrome = do_atomic(w, qp, &r);
	if (syndrome != 0)
		return syndrome;
	pmv_roce_rdatomic_add(&s->rd, &r.rd);
	s->epsn = pmv_psn_add(s->epsn, 1);
	s->msn = (s->msn + 1) & PMV_PSN_MASK;
	return 0;
}

bool
pmv_roce_atomic_again(struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	struct request r;

	parse(p, &r);
	return pmv_roce_rdatomic_replay(&qp->resp.rd, r.rd.first, &r.rd, qp->mtu_bytes);
}

int
pmv_roce_atomic_answer(struct pmv_roce_worker *w, struct pmv_roce_qp *qp,
	const struct pmv_roce_rd *rd, struct rte_mbuf **ret_m)
{
	bool has_value = pmv_opcode_table[rd->opcode].kind == PMV_OPKIND_ATOMIC;
	uint8_t opcode = has_value ? PMV_OPCODE_RC_ATOMIC_ACK : PMV_OPCODE_RC_READ_RESP_ONLY;
	const struct pmv_aeth aeth = { PMV_SYNDROME_ACK_NO_CREDIT, qp->resp.msn };
	struct rte_mbuf *m;
	uint8_t *bth;

	/* as small as an ACK, and no data can exhaust that pool */
	bth = pmv_roce_packet_begin(w, w->ack_pool, &qp->hdr, pmv_opcode_table[opcode].hdr_len, &m);
	if (bth == NULL)
		return -ENOBUFS;
	pmv_roce_packet_bth(bth, pmv_roce_bth_word0(opcode, false, 0), false, rd->first);
	pmv_aeth_build(bth + PMV_OFF_AETH, &aeth);
	if (has_value)
		pmv_atomic_ack_build(bth + PMV_OFF_ATOMIC_ACK, rd->value);
	if (pmv_roce_packet_finish(w, &qp->hdr, m) != 0) {
		rte_pktmbuf_free(m);
		return -ENOBUFS;
	}
	*ret_m = m;
	return 0;
}
