// SPDX-License-Identifier: BSD-3-Clause
/*
 * The receive path: see rx.h. Owner lcore. One pass a frame; the next frame's headers are
 * prefetched meanwhile.
 */
#include "drivers/roce/rx.h"

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "drivers/roce/ack.h"
#include "drivers/roce/completer.h"
#include "drivers/roce/congestion.h"
#include "drivers/roce/fault.h"
#include "drivers/roce/mcast.h"
#include "drivers/roce/qp.h"
#include "drivers/roce/responder.h"
#include "drivers/roce/sequencer.h"
#include "drivers/roce/uc.h"
#include "drivers/roce/ud.h"

/* Frames ahead: first the mbuf, then, once it is here, the headers it points at. */
#define PREFETCH_MBUF 16u
#define PREFETCH_DATA 8u

#define PROTO_ICMP   1u
#define PROTO_IGMP   2u
#define PROTO_ICMPV6 58u
#define HOP_BY_HOP   0u
#define ICMP_ECHO    8u

/* What became of a frame. */
enum fate {
	FATE_DONE,    /* free it */
	FATE_TAKEN,   /* somebody has it */
	FATE_FOREIGN, /* the application's */
};

/* Control frames, by who needs them. */
enum ctl_kind {
	CTL_NONE,
	CTL_NEIGH, /* ARP, neighbour discovery: the application may need it too */
	CTL_OTHER, /* IGMP, MLD, echo requests to us */
};

static inline enum fate
drop(struct pmv_roce_worker *w, enum pmv_roce_drop why)
{
	w->stats.drop[why]++;
	return FATE_DONE;
}

/* One byte of a frame that may be a chain; -1 behind its end. */
static int
byte_at(const struct rte_mbuf *m, uint32_t off)
{
	uint8_t buf;
	const uint8_t *p = rte_pktmbuf_read(m, off, 1, &buf);

	return p == NULL ? -1 : *p;
}

/* ICMPv6 types: RFC 4861 4 (133..137), RFC 2710 and 3810 (130..132, 143), RFC 4443 4.1 (128). */
static enum ctl_kind
icmpv6_kind(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	uint32_t off = p->ip.l4_off;
	uint32_t proto = p->ip.proto;
	int type;

	if (proto == HOP_BY_HOP) { /* MLD carries a router alert (RFC 2710 3) */
		int next = byte_at(p->m, off);
		int words = byte_at(p->m, off + 1);

		if (next < 0 || words < 0)
			return CTL_NONE;
		proto = (uint32_t)next;
		off += ((uint32_t)words + 1) * 8;
	}
	if (proto != PROTO_ICMPV6)
		return CTL_NONE;
	type = byte_at(p->m, off);
	if (type >= 133 && type <= 137)
		return CTL_NEIGH;
	if ((type >= 130 && type <= 132) || type == 143)
		return CTL_OTHER;
	return type == 128 && pmv_roce_packet_dest_is_ours(w, p) ? CTL_OTHER : CTL_NONE;
}

static enum ctl_kind
ctl_kind(const struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	if (!pmv_roce_packet_vlan_is_ours(w, p))
		return CTL_NONE;
	if (p->ip.ethertype == PMV_ETHERTYPE_ARP)
		return CTL_NEIGH;
	if (p->ip.l4_off == 0)
		return CTL_NONE;
	if (p->ip.is_v6)
		return icmpv6_kind(w, p);
	if (p->ip.proto == PROTO_IGMP)
		return CTL_OTHER;
	return p->ip.proto == PROTO_ICMP && byte_at(p->m, p->ip.l4_off) == ICMP_ECHO &&
			       pmv_roce_packet_dest_is_ours(w, p)
		       ? CTL_OTHER
		       : CTL_NONE;
}

static void
ctl_input(struct pmv_roce_worker *w, struct rte_mbuf *m)
{
	w->stats.rx_ctl++;
	w->base.host->ctl_input(&w->base, m);
}

/* Not RoCE: the control lcore's, or the application's, or both. */
static __rte_noinline enum fate
not_roce(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	const struct pmv_device *dev = w->base.device;
	enum ctl_kind kind;
	struct rte_mbuf *copy;

	/* ctl-acquire: pairs with the release when a CM attaches. Without one nothing is for it. */
	if (__atomic_load_n(&dev->ctl, __ATOMIC_ACQUIRE) == NULL)
		return FATE_FOREIGN;
	kind = ctl_kind(w, p);
	if (kind == CTL_NONE)
		return FATE_FOREIGN;
	if (dev->param.ownership == PMV_ADDR_OWN) {
		ctl_input(w, p->m);
		return FATE_TAKEN;
	}
	if (kind == CTL_NEIGH) {
		copy = rte_pktmbuf_copy(p->m, w->base.pool, 0, UINT32_MAX);
		if (copy != NULL)
			ctl_input(w, copy);
		else
			w->stats.drop[PMV_ROCE_DROP_NO_MBUF]++;
	}
	return FATE_FOREIGN;
}

static __rte_noinline enum fate
bad_frame(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, enum pmv_wire_verdict v)
{
	if (v == PMV_WIRE_NOT_ROCE)
		return not_roce(w, p);
	if (v == PMV_WIRE_NB)
		return drop(w, (enum pmv_roce_drop)p->drop);
	w->stats.verdict[v]++;
	return v == PMV_WIRE_FRAGMENT_LATER ? FATE_FOREIGN : FATE_DONE;
}

/* QP 1 is the CM's: management datagrams only. */
static enum fate
gsi(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p)
{
	if (p->roce.op->opclass != PMV_OPCLASS_UD)
		return drop(w, PMV_ROCE_DROP_QP_CLASS);
	ctl_input(w, p->m);
	return FATE_TAKEN;
}

/* No QP here. Another worker's, or nobody's. */
static __rte_noinline enum fate
no_qp(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, bool may_hand_over)
{
	const struct pmv_device *dev = w->base.device;
	uint32_t target = p->roce.bth.dqpn >> (PMV_IDMAP_ID_BITS - dev->worker_bits);

	if (p->roce.bth.dqpn == PMV_QPN_MULTICAST || !may_hand_over || target == w->base.index ||
		target >= dev->param.nb_workers)
		return drop(w, PMV_ROCE_DROP_QPN);
	w->stats.rx_handover++;
	w->base.host->handover(&w->base, (uint16_t)target, p->m);
	return FATE_TAKEN;
}

/* The frame comes from where our frames to the peer go, and goes to where they come from. */
static inline bool
is_from_peer(const struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	const struct pmv_eth_ip_tmpl *t = &qp->hdr.tmpl;
	const uint8_t *theirs = p->hdr + p->ip.l3_off;
	const uint8_t *ours = qp->hdr.bytes + t->l3_off;

	if (unlikely(t->is_v6 != p->ip.is_v6))
		return false;
	if (t->is_v6)
		return memcmp(theirs + 8, ours + 24, PMV_GID_LEN) == 0 &&
		       memcmp(theirs + 24, ours + 8, PMV_GID_LEN) == 0;
	return memcmp(theirs + 12, ours + 16, 4) == 0 && memcmp(theirs + 16, ours + 12, 4) == 0;
}

/* Requests are taken in RTR, RTS, SQD, SQE, responses in RTS, SQD, SQE (IBTA vol. 1, 10.3.1). */
#define STATES_REQUEST                                                                             \
	(1u << PMV_QPS_RTR | 1u << PMV_QPS_RTS | 1u << PMV_QPS_SQD | 1u << PMV_QPS_SQE)
#define STATES_RESPONSE (STATES_REQUEST & ~(1u << PMV_QPS_RTR))

static inline bool
state_takes(const struct pmv_roce_qp *qp, const struct pmv_opcode_info *op)
{
	uint32_t states = op->flags & PMV_OPF_REQUEST ? STATES_REQUEST : STATES_RESPONSE;

	return (states >> qp->base.state & 1) != 0;
}

static inline enum fate
rc_frame(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p)
{
	if (!(p->roce.op->flags & PMV_OPF_REQUEST)) {
		pmv_roce_completer_rx(w, qp, p);
		return FATE_DONE;
	}
	if (unlikely(qp->sel != NULL)) {
		if (pmv_roce_sequencer_rx(w, qp, p))
			return FATE_TAKEN;
	} else {
		pmv_roce_responder_rx(w, qp, p);
	}
	return qp->ack.owed && pmv_roce_ack_keep(qp, p->m) ? FATE_TAKEN : FATE_DONE;
}

/* By enum pmv_qp_type. */
static const uint8_t opclass_of[] = {
	[PMV_QPT_RC] = PMV_OPCLASS_RC,
	[PMV_QPT_UC] = PMV_OPCLASS_UC,
	[PMV_QPT_UD] = PMV_OPCLASS_UD,
};

static inline enum fate
qp_frame(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_roce_pkt *p,
	uint32_t addr_version)
{
	const struct pmv_opcode_info *op = p->roce.op;

	if (unlikely(op->opclass != opclass_of[qp->base.type]))
		return drop(w, PMV_ROCE_DROP_QP_CLASS);
	if (unlikely(!state_takes(qp, op)))
		return drop(w, PMV_ROCE_DROP_QP_STATE);
	if (op->opclass == PMV_OPCLASS_UD) {
		pmv_roce_ud_rx(w, qp, p);
		return FATE_DONE;
	}
	if (unlikely(!is_from_peer(qp, p)))
		return drop(w, PMV_ROCE_DROP_PEER_ADDR);
	if (unlikely((p->ip.tos & PMV_IP_ECN_MASK) == PMV_IP_ECN_CE))
		pmv_roce_congestion_marked(w, qp);
	if (op->opclass == PMV_OPCLASS_UC) {
		pmv_roce_uc_rx(w, qp, p);
		return FATE_DONE;
	}
	if (unlikely(!pmv_roce_peer_is_known(&qp->peer, addr_version)))
		pmv_roce_peer_learn(&qp->peer, &qp->hdr, addr_version);
	return rc_frame(w, qp, p);
}

/* A congestion notification (RoCEv2 annex A17.9.3). It has no PSN, and makes no answer, even if it
 * was marked itself. */
static __rte_noinline enum fate
cnp_frame(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, bool may_hand_over)
{
	struct pmv_roce_qp *qp = pmv_idmap_lookup(&w->qps, p->roce.bth.dqpn);

	if (qp == NULL)
		return no_qp(w, p, may_hand_over);
	if (qp->base.type == PMV_QPT_UD)
		return drop(w, PMV_ROCE_DROP_QP_CLASS);
	if ((STATES_REQUEST >> qp->base.state & 1) == 0) /* RTR: its READ responses */
		return drop(w, PMV_ROCE_DROP_QP_STATE);
	if (!is_from_peer(qp, p))
		return drop(w, PMV_ROCE_DROP_PEER_ADDR);
	if (!pmv_opcode_payload_is_ok(&p->roce, 0))
		return drop(w, PMV_ROCE_DROP_CNP_LEN);
	if (!pmv_roce_congestion_told(w, qp))
		return drop(w, PMV_ROCE_DROP_CNP_UNASKED);
	return FATE_DONE;
}

/* The frame most frames are, see peer.h: its QP, or NULL. */
static inline struct pmv_roce_qp *
quick(struct pmv_roce_worker *w, struct rte_mbuf *m, uint32_t addr_version, struct pmv_roce_pkt *p)
{
	const uint8_t *hdr = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t bth_off, l3_off = w->l3_off;
	enum pmv_roce_peer_verdict v;
	struct pmv_roce_qp *qp;

	if (unlikely(m->nb_segs != 1 || m->data_len <= l3_off ||
		     (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)))
		return NULL;
	bth_off = pmv_roce_peer_bth_off(hdr, l3_off);
	if (unlikely(m->data_len < bth_off + PMV_BTH_LEN + PMV_ICRC_LEN))
		return NULL;
	qp = pmv_idmap_lookup(&w->qps, pmv_be32_load(hdr + bth_off + 4) & PMV_QPN_MASK);
	if (unlikely(qp == NULL || !pmv_roce_peer_is_known(&qp->peer, addr_version)))
		return NULL;
	v = pmv_roce_peer_take(&qp->peer, m, bth_off, p);
	if (unlikely(v == PMV_ROCE_PEER_MARKED))
		pmv_roce_congestion_marked(w, qp);
	return likely(v != PMV_ROCE_PEER_UNSURE) ? qp : NULL;
}

/* To a group that QPs of this device are attached to (RoCEv2 annex A17.4). What was handed over by
 * another worker has been copied to all of them there, and if it is our own, it was not taken from
 * the wire. */
static __rte_noinline enum fate
mcast_frame(struct pmv_roce_worker *w, const struct pmv_roce_pkt *p, bool from_wire)
{
	bool own = pmv_roce_packet_is_own(w, p);

	if (p->roce.bth.dqpn != PMV_QPN_MULTICAST)
		return drop(w, PMV_ROCE_DROP_QPN);
	if (p->roce.op->opclass != PMV_OPCLASS_UD)
		return drop(w, PMV_ROCE_DROP_QP_CLASS);
	if (own && from_wire)
		return drop(w, PMV_ROCE_DROP_MCAST_OWN);
	pmv_roce_mcast_rx(w, p, own);
	if (from_wire)
		pmv_roce_mcast_spread(w, p);
	return FATE_DONE;
}

static __rte_always_inline enum fate
frame(struct pmv_roce_worker *w, struct rte_mbuf *m, bool may_hand_over)
{
	/* Before anything is compared with our addresses: what is learned is no newer than this. */
	uint32_t addr_version = __atomic_load_n(&w->base.device->addr_version, __ATOMIC_ACQUIRE);
	enum pmv_wire_verdict v;
	struct pmv_roce_qp *qp;
	struct pmv_roce_pkt p;

	qp = quick(w, m, addr_version, &p);
	if (likely(qp != NULL)) {
		if (unlikely(!state_takes(qp, p.roce.op)))
			return drop(w, PMV_ROCE_DROP_QP_STATE);
		return rc_frame(w, qp, &p);
	}
	v = pmv_roce_packet_parse(w, m, &p);
	if (unlikely(v != PMV_WIRE_OK))
		return bad_frame(w, &p, v);
	if (unlikely(p.group != NULL))
		return mcast_frame(w, &p, may_hand_over);
	if (unlikely(p.roce.bth.dqpn == PMV_QPN_GSI))
		return gsi(w, &p);
	if (unlikely(p.roce.op->opclass == PMV_OPCLASS_CNP))
		return cnp_frame(w, &p, may_hand_over);
	qp = pmv_idmap_lookup(&w->qps, p.roce.bth.dqpn);
	if (unlikely(qp == NULL))
		return no_qp(w, &p, may_hand_over);
	return qp_frame(w, qp, &p, addr_version);
}

/* True: the frame is foreign and still the caller's. */
static inline bool
input(struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_done *done)
{
	enum fate fate = frame(w, m, true);

	if (likely(fate == FATE_DONE))
		pmv_roce_done_put(done, m);
	return unlikely(fate == FATE_FOREIGN);
}

void
pmv_roce_rx_late(struct pmv_roce_worker *w, struct rte_mbuf *m)
{
	struct pmv_roce_done done = { .nb = 0 };

	if (input(w, m, &done)) {
		w->stats.drop[PMV_ROCE_DROP_FOREIGN]++;
		rte_pktmbuf_free(m);
	}
	pmv_roce_done_flush(&done);
}

/* Somebody may want to know when the port saw it. */
static __rte_noinline bool
input_stamped(struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_done *done)
{
	bool foreign;

	w->stamp.m = m;
	foreign = input(w, m, done);
	w->stamp.m = NULL;
	return foreign;
}

/* Foreign frames stay the application's when they pass unharmed, and in their place. */
static __rte_noinline bool
input_faulty(struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_done *done)
{
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT];
	uint32_t nb = pmv_roce_fault_pass(w, PMV_FAULT_RX, m, out);
	bool foreign = false;

	for (uint32_t i = 0; i < nb; i++) {
		if (out[i] == m)
			foreign = input(w, m, done);
		else
			pmv_roce_rx_late(w, out[i]);
	}
	return foreign;
}

/* Rare kinds of receiving. */
static __rte_noinline bool
input_odd(struct pmv_roce_worker *w, struct rte_mbuf *m, struct pmv_roce_done *done)
{
	return w->fault != NULL ? input_faulty(w, m, done) : input_stamped(w, m, done);
}

/* The same where a pool of this worker's layout has them: at once with the mbuf, whose line would
 * have to be here first to be asked. A frame alone waits for one line then, not for two in turn. */
static inline void
prefetch_guess(const struct pmv_roce_spare *s, const struct rte_mbuf *m)
{
	const char *data = (const char *)m + s->data_off;

	rte_prefetch0(data);
	rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
}

/* Headers and a small payload. */
static inline void
prefetch_data(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	rte_prefetch0(data);
	rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
}

/* What a long frame has behind those: while the frame before it is worked on. */
static inline void
prefetch_rest(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	for (uint32_t off = 2 * RTE_CACHE_LINE_SIZE; off < m->data_len; off += RTE_CACHE_LINE_SIZE)
		rte_prefetch0(data + off);
}

/* Frames in, foreign frames out (foreign may be the same array). */
static inline uint32_t
burst(struct pmv_roce_worker *w, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign)
{
	bool odd = w->fault != NULL || w->stamp.offset >= 0;
	struct pmv_roce_done done;
	uint32_t nb_foreign = 0;

	done.nb = 0;
	done.pool = NULL;
	for (uint32_t i = 0; i < nb && i < PREFETCH_MBUF; i++) {
		rte_prefetch0(m[i]);
		if (i < PREFETCH_DATA)
			prefetch_guess(&w->spare, m[i]);
	}
	for (uint32_t i = 0; i < nb && i < PREFETCH_DATA; i++)
		prefetch_data(m[i]);
	for (uint32_t i = 0; i < nb; i++) {
		bool is_foreign;

		if (i + PREFETCH_MBUF < nb)
			rte_prefetch0(m[i + PREFETCH_MBUF]);
		if (i + PREFETCH_DATA < nb)
			prefetch_data(m[i + PREFETCH_DATA]);
		if (i + 1 < nb && m[i + 1]->data_len > 2 * RTE_CACHE_LINE_SIZE)
			prefetch_rest(m[i + 1]);
		is_foreign = unlikely(odd) ? input_odd(w, m[i], &done) : input(w, m[i], &done);
		if (unlikely(is_foreign))
			foreign[nb_foreign++] = m[i];
	}
	pmv_roce_done_flush(&done);
	w->stats.rx_frames += nb;
	return nb_foreign;
}

uint32_t
pmv_roce_rx_input(
	struct pmv_worker *base, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	uint32_t nb_foreign = burst(w, m, nb, foreign);

	/* The program's own receive loop: who knows when it comes again. */
	pmv_roce_ack_flush(w);
	return nb_foreign;
}

uint32_t
pmv_roce_rx_poll(struct pmv_worker *base)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	struct rte_mbuf *m[PMV_ROCE_RX_BURST];
	uint32_t nb, nb_foreign;

	if (!TAILQ_EMPTY(&w->acks)) /* of the last turn */
		pmv_roce_ack_flush(w);
	nb = rte_eth_rx_burst(base->device->port_id, base->rx_queue, m, PMV_ROCE_RX_BURST);
	if (nb == 0)
		return 0;
	nb_foreign = burst(w, m, nb, m);
	if (unlikely(nb_foreign > 0)) {
		w->stats.drop[PMV_ROCE_DROP_FOREIGN] += nb_foreign;
		rte_pktmbuf_free_bulk(m, nb_foreign);
	}
	return nb;
}

void
pmv_roce_rx_frame(struct pmv_worker *base, struct rte_mbuf *m)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	enum fate fate;

	w->stamp.m = m;
	fate = frame(w, m, false);
	w->stamp.m = NULL;
	/* What another worker found to be RoCE is not foreign now. */
	if (fate != FATE_TAKEN)
		rte_pktmbuf_free(m);
}

void
pmv_roce_rx_looped(struct pmv_roce_worker *w)
{
	for (uint32_t i = 0; i < w->nb_looped; i++)
		pmv_roce_rx_frame(&w->base, w->looped[i]);
	w->nb_looped = 0;
}
