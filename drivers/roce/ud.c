// SPDX-License-Identifier: BSD-3-Clause
/*
 * Unreliable datagrams: see ud.h. Owner lcore, but for the address handle, which any control thread
 * makes.
 */
#include "drivers/roce/ud.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "drivers/roce/completion.h"
#include "drivers/roce/deliver.h"
#include "drivers/roce/mcast.h"
#include "drivers/roce/recv.h"
#include "drivers/roce/sgl.h"
#include "lib/wire/flow_label.h"

#define QKEY_CONTROLLED 0x80000000u
#define TURN_PKTS_MAX   64u

int
pmv_roce_ah_init(struct pmv_ah *base)
{
	const struct pmv_roce_device *dev = (const struct pmv_roce_device *)base->pd->device;
	struct pmv_roce_ah *ah = (struct pmv_roce_ah *)base;
	struct pmv_av av = base->av;

	/* There are no two QPNs to fold: one handle may serve many. */
	if (av.udp_sport == 0 && av.flow_label == 0)
		av.udp_sport = dev->ud_sport;
	return pmv_roce_hdr_init(&ah->hdr, &dev->base, &av, 0, 0);
}

static inline struct pmv_roce_hdr *
wqe_hdr(const struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	return (struct pmv_roce_hdr *)(void *)(wqe->data + qp->sq.ud_off);
}

/* Checks a request and puts it into the queue with its own copy of the address. 0, -ENOMEM,
 * -EINVAL. */
static int
post_one(struct pmv_roce_qp *qp, const struct pmv_send_wr *wr)
{
	const struct pmv_roce_ah *ah = (const struct pmv_roce_ah *)wr->wr.ud.ah;
	struct pmv_roce_wqe *wqe;
	int rc;

	if ((wr->opcode != PMV_WR_SEND && wr->opcode != PMV_WR_SEND_WITH_IMM) || ah == NULL ||
		ah->base.pd != qp->base.pd)
		return -EINVAL;
	rc = pmv_roce_sq_fill(&qp->sq, wr, pmv_mtu_bytes(qp->base.worker->device->active_mtu),
		qp->base.sq_sig_all);
	if (unlikely(rc < 0))
		return rc;
	wqe = pmv_roce_sq_wqe(&qp->sq, qp->sq.head);
	/* IBTA vol. 1, 10.2.5: a controlled Q_Key in the request stands for the QP's own. */
	wqe->rkey = (wr->wr.ud.remote_qkey & QKEY_CONTROLLED) != 0 ? qp->base.attr.qkey
								   : wr->wr.ud.remote_qkey;
	wqe->remote_qpn =
		ah->base.av.is_multicast ? PMV_QPN_MULTICAST : wr->wr.ud.remote_qpn & PMV_QPN_MASK;
	*wqe_hdr(qp, wqe) = ah->hdr;
	qp->sq.head++;
	return 0;
}

static int
add_payload(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe,
	struct rte_mbuf *m)
{
	const struct pmv_roce_sgl sgl = { (const struct pmv_sge *)(const void *)wqe->data,
		wqe->num_sge, wqe->length };
	uint8_t *dst = pmv_roce_packet_payload(m, wqe->length);

	if (unlikely(dst == NULL))
		return -EACCES;
	if (wqe->flags & PMV_SEND_INLINE) {
		rte_memcpy(dst, wqe->data, wqe->length);
		return 0;
	}
	w->stats.copied_bytes += wqe->length;
	return pmv_roce_sgl_gather(w, qp->base.pd, &sgl, 0, dst, wqe->length) == PMV_ROCE_REGION_OK
		       ? 0
		       : -EACCES;
}

/* 0 staged; -ENOBUFS no mbuf; -EACCES a key is bad. */
static int
send_one(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, struct pmv_roce_wqe *wqe)
{
	bool imm = wqe->opcode == PMV_WR_SEND_WITH_IMM;
	const struct pmv_bth bth = {
		.opcode = imm ? PMV_OPCODE_UD_SEND_ONLY_IMM : PMV_OPCODE_UD_SEND_ONLY,
		.migreq = true,
		.padcnt = pmv_bth_pad(wqe->length),
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = wqe->remote_qpn,
		.psn = pmv_psn(qp->ud_psn),
		.se = (wqe->flags & PMV_SEND_SOLICITED) != 0,
	};
	const struct pmv_deth deth = { .qkey = wqe->rkey, .sqpn = qp->base.qpn };
	struct pmv_roce_hdr *hdr = wqe_hdr(qp, wqe);
	struct rte_mbuf *m;
	uint8_t *p;
	int rc = 0;

	p = pmv_roce_packet_begin(
		w, w->base.pool, hdr, PMV_BTH_LEN + PMV_DETH_LEN + (imm ? PMV_IMMDT_LEN : 0), &m);
	if (unlikely(p == NULL))
		return -ENOBUFS;
	pmv_bth_build(p, &bth);
	pmv_deth_build(p + PMV_OFF_DETH, &deth);
	if (imm)
		pmv_immdt_build(p + PMV_BTH_LEN + PMV_DETH_LEN, wqe->imm);
	if (wqe->length > 0)
		rc = add_payload(w, qp, wqe, m);
	if (unlikely(rc < 0)) {
		rte_pktmbuf_free(m);
		return rc;
	}
	pmv_roce_packet_finish(w, hdr, m); /* one segment: cannot fail */
	if (unlikely(wqe->remote_qpn == PMV_QPN_MULTICAST))
		pmv_roce_mcast_loop(
			w, m, rte_pktmbuf_mtod_offset(m, const uint8_t *, hdr->tmpl.l3_off));
	pmv_roce_tx_stage(w, m);
	qp->stats.tx_pkts++;
	qp->ud_psn = pmv_psn(qp->ud_psn + 1).v;
	return 0;
}

void
pmv_roce_ud_run(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;
	struct pmv_roce_wqe *wqe;
	int rc;

	if (qp->base.state != PMV_QPS_RTS)
		return;
	for (uint32_t budget = TURN_PKTS_MAX; sq->snd != sq->head; budget--) {
		if (budget == 0 || pmv_roce_tx_room(&w->tx) == 0) {
			pmv_roce_qp_schedule(w, qp);
			break;
		}
		wqe = pmv_roce_sq_wqe(sq, sq->snd);
		rc = send_one(w, qp, wqe);
		if (unlikely(rc == -ENOBUFS)) {
			pmv_roce_qp_schedule(w, qp);
			break;
		}
		if (unlikely(rc < 0)) {
			pmv_roce_completion_sq_error(qp, wqe, PMV_WC_LOC_PROT_ERR);
			return;
		}
		sq->snd++;
		sq->ack = sq->snd; /* the frame is a copy: nothing more can happen to the request */
	}
	pmv_roce_completion_run(qp);
}

int
pmv_roce_ud_post(struct pmv_qp *base, const struct pmv_send_wr *wr, uint32_t nb)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);
	uint32_t flags = 0;
	uint32_t i;
	int rc = 0;

	if (unlikely(base->state < PMV_QPS_RTS))
		return nb == 0 ? 0 : -ENOTCONN;
	for (i = 0; i < nb; i++) {
		rc = post_one(qp, &wr[i]);
		if (unlikely(rc < 0))
			break;
		flags |= wr[i].send_flags;
	}
	if (unlikely(base->state >= PMV_QPS_SQE))
		pmv_roce_completion_flush(qp);
	else if (!qp->on_run) /* else older ones wait for room: keep the order of turns */
		pmv_roce_ud_run(w, qp);
	if (flags & PMV_SEND_FLUSH)
		pmv_roce_tx_flush(w);
	return i > 0 ? (int)i : rc;
}

/* The 40 bytes in front of the payload: the IP header as received, an IPv4 one behind 20 zeros,
 * which is how Linux and its applications tell the two apart. */
static enum pmv_roce_region_verdict
put_grh(struct pmv_roce_worker *w, const struct pmv_roce_qp *qp, const struct pmv_roce_sgl *sgl,
	const struct pmv_roce_pkt *p)
{
	uint8_t grh[PMV_GRH_BYTES] = { 0 };
	const uint8_t *l3 = p->hdr + p->ip.l3_off;

	if (p->ip.is_v6)
		memcpy(grh, l3, PMV_IPV6_LEN);
	else
		memcpy(grh + PMV_GRH_BYTES - PMV_IPV4_LEN, l3, PMV_IPV4_LEN);
	return pmv_roce_sgl_scatter_bytes(w, qp->base.pd, sgl, 0, grh, PMV_GRH_BYTES);
}

/* Takes the receive and makes its completion. */
static void
complete(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint32_t sqpn)
{
	const struct pmv_roce_deliver_from from = {
		.src_qp = sqpn, .byte_len = PMV_GRH_BYTES + p->payload_len, .wc_flags = PMV_WC_GRH
	};

	if (unlikely(!pmv_roce_deliver_complete(qp, p, &from)))
		pmv_roce_qp_error(w, qp);
}

void
pmv_roce_ud_rx(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_roce_rwqe *rwqe = pmv_roce_recv_look(qp);
	enum pmv_roce_region_verdict v;
	struct pmv_roce_sgl sgl;
	struct pmv_deth deth;

	pmv_deth_parse(p->bth + PMV_OFF_DETH, &deth);
	if (unlikely(deth.qkey != qp->base.attr.qkey)) {
		w->stats.drop[PMV_ROCE_DROP_QKEY]++;
		return;
	}
	if (unlikely(rwqe == NULL)) {
		w->stats.drop[PMV_ROCE_DROP_UD_NO_RECV]++;
		return;
	}
	if (unlikely(p->payload_len > pmv_mtu_bytes(w->base.device->active_mtu) ||
		     PMV_GRH_BYTES + (uint64_t)p->payload_len > rwqe->length)) {
		w->stats.drop[PMV_ROCE_DROP_UD_LEN]++; /* the receive stays for one that fits */
		return;
	}
	qp->stats.rx_pkts++;
	rwqe = pmv_roce_recv_take(qp);
	sgl = (struct pmv_roce_sgl){ rwqe->sge, rwqe->num_sge, rwqe->length };
	v = put_grh(w, qp, &sgl, p);
	if (likely(v == PMV_ROCE_REGION_OK) && p->payload_len > 0)
		v = pmv_roce_sgl_scatter(w, qp->base.pd, &sgl, PMV_GRH_BYTES,
			&(const struct pmv_roce_part){ p->m, p->payload_off, p->payload_len });
	if (likely(v == PMV_ROCE_REGION_OK)) {
		complete(w, qp, p, deth.sqpn);
		return;
	}
	/* IBTA vol. 1, 10.3.1.7: a receive that cannot be executed ends the QP. */
	pmv_roce_deliver_fail(qp, PMV_WC_LOC_PROT_ERR);
	pmv_roce_qp_error(w, qp);
}
