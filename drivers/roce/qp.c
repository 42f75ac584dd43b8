// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/qp.h"

#include <errno.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_malloc.h>

#include "drivers/roce/ack.h"
#include "drivers/roce/build.h"
#include "drivers/roce/completion.h"
#include "drivers/roce/cq.h"
#include "drivers/roce/device.h"
#include "drivers/roce/pace.h"
#include "drivers/roce/prepared.h"
#include "drivers/roce/requester.h"
#include "drivers/roce/retry.h"
#include "drivers/roce/selective.h"
#include "drivers/roce/srq.h"
#include "drivers/roce/uc.h"
#include "drivers/roce/ud.h"
#include "lib/util/log.h"

/* Its receives are posted on the SRQ. */
static int
refuse_recv(struct pmv_qp *qp, const struct pmv_recv_wr *wr, uint32_t nb)
{
	return nb == 0 ? 0 : -EINVAL;
}

#define OPS(send, recv, prep)                                                                      \
	{                                                                                          \
		send, recv, pmv_roce_build_begin, pmv_roce_build_commit, prep                      \
	}

static const struct pmv_qp_ops rc_ops =
	OPS(pmv_roce_requester_post, pmv_roce_post_recv, pmv_roce_prepared_init);
static const struct pmv_qp_ops uc_ops = OPS(pmv_roce_uc_post, pmv_roce_post_recv, NULL);
static const struct pmv_qp_ops ud_ops = OPS(pmv_roce_ud_post, pmv_roce_post_recv, NULL);
static const struct pmv_qp_ops rc_srq_ops =
	OPS(pmv_roce_requester_post, refuse_recv, pmv_roce_prepared_init);
static const struct pmv_qp_ops uc_srq_ops = OPS(pmv_roce_uc_post, refuse_recv, NULL);
static const struct pmv_qp_ops ud_srq_ops = OPS(pmv_roce_ud_post, refuse_recv, NULL);

static int
rq_init(struct pmv_roce_qp *qp, struct pmv_qp_init_attr *attr, int socket_id)
{
	struct pmv_qp_cap one = { .max_recv_wr = 1 };

	if (attr->srq == NULL)
		return pmv_roce_rq_init(&qp->rq, &attr->cap, socket_id);
	one.max_recv_sge = pmv_roce_srq(attr->srq)->rq.max_sge;
	return pmv_roce_rq_init(&qp->rq, &one, socket_id);
}

static const struct pmv_qp_ops *
ops_of(enum pmv_qp_type type)
{
	switch (type) {
	case PMV_QPT_RC:
		return &rc_ops;
	case PMV_QPT_UC:
		return &uc_ops;
	case PMV_QPT_UD:
		return &ud_ops;
	default:
		return NULL;
	}
}

/* The type is one of those above. */
static const struct pmv_qp_ops *
ops_with_srq(enum pmv_qp_type type)
{
	if (type == PMV_QPT_RC)
		return &rc_srq_ops;
	return type == PMV_QPT_UC ? &uc_srq_ops : &ud_srq_ops;
}

int
pmv_roce_qp_create(struct pmv_pd *pd, struct pmv_worker *base_w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base_w);
	bool is_ud = attr->qp_type == PMV_QPT_UD;
	struct pmv_roce_qp *qp;
	int err;

	if (ops_of(attr->qp_type) == NULL) {
		PMV_LOG(ERR, "create_qp: qp_type %d is not offered by the software driver",
			attr->qp_type);
		return -ENOTSUP;
	}
	qp = rte_zmalloc_socket("pmv_qp", sizeof(*qp), RTE_CACHE_LINE_SIZE, base_w->socket_id);
	if (qp == NULL)
		return -ENOMEM;
	err = pmv_roce_sq_init(&qp->sq, &attr->cap, is_ud, base_w->socket_id);
	if (err == 0)
		err = rq_init(qp, attr, base_w->socket_id);
	if (err == 0)
		err = pmv_idmap_alloc(&w->qps, &qp->base.qpn);
	if (err != 0) {
		pmv_roce_rq_fini(&qp->rq);
		pmv_roce_sq_fini(&qp->sq);
		rte_free(qp);
		return err;
	}
	qp->base.ops = attr->srq == NULL ? ops_of(attr->qp_type) : ops_with_srq(attr->qp_type);
	qp->op_base = attr->qp_type == PMV_QPT_UC ? PMV_OPCODE_UC_BASE : 0;
	qp->base.worker = base_w;
	qp->base.pd = pd;
	qp->base.type = (uint8_t)attr->qp_type;
	qp->base.state = PMV_QPS_RESET;
	qp->base.send_cq = attr->send_cq;
	qp->base.recv_cq = attr->recv_cq;
	qp->base.srq = attr->srq;
	qp->base.sq_sig_all = attr->sq_sig_all;
	qp->base.context = attr->qp_context;
	qp->base.cap = attr->cap;
	qp->base.event.kind = PMV_EVENT_SOURCE_QP;
	pmv_timer_init(&qp->retry.timer, 0, qp->base.qpn);
	pmv_timer_init(&qp->pace.timer, PMV_ROCE_PACE_TAG, qp->base.qpn);
	*ret_qp = &qp->base;
	return 0;
}

void
pmv_roce_qp_create_commit(struct pmv_qp *base)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);

	TAILQ_INSERT_TAIL(&w->all, qp, all_link);
	qp->on_all = true;
	pmv_idmap_publish(&w->qps, base->qpn, qp);
}

/* The agreement asks for this. lib/verbs takes PMV_QP_ECE on the way to RTR only, of RC and UC. */
static bool
is_agreed(const struct pmv_qp_modify *m, enum pmv_ece_options option)
{
	return (m->mask & PMV_QP_ECE) && m->attr.ece.vendor_id == PMV_ECE_VENDOR_ID &&
	       (m->attr.ece.options & option);
}

static bool
is_selective(const struct pmv_roce_qp *qp, const struct pmv_qp_modify *m)
{
	return qp->base.type == PMV_QPT_RC && is_agreed(m, PMV_ECE_SELECTIVE_REPEAT);
}

/* lib/verbs has checked the transition, the ranges and the address. */
int
pmv_roce_qp_modify_prepare(struct pmv_qp *base, struct pmv_qp_modify *m)
{
	const struct pmv_roce_qp *qp = pmv_roce_qp(base);

	if (is_agreed(m, PMV_ECE_CONGESTION))
		pmv_roce_device_ask_line(base->pd->device);
	if (!is_selective(qp, m) || qp->sel_mem != NULL)
		return 0;
	m->driver_data = pmv_roce_selective_alloc(base->worker->socket_id);
	return m->driver_data == NULL ? -ENOMEM : 0;
}

void
pmv_roce_qp_modify_abort(struct pmv_qp *base, struct pmv_qp_modify *m)
{
	pmv_roce_selective_free(m->driver_data);
	m->driver_data = NULL;
}

static void
unschedule(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (!qp->on_run)
		return;
	qp->on_run = false;
	TAILQ_REMOVE(&w->run, qp, run_link);
}

void
pmv_roce_qp_schedule(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	if (qp->on_run)
		return;
	qp->on_run = true;
	TAILQ_INSERT_TAIL(&w->run, qp, run_link);
}

/* RESET discards everything without completions (IBTA vol. 1, 10.3.1.1). */
static void
reset(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	pmv_roce_retry_stop(w, qp);
	pmv_roce_pace_stop(w, qp);
	pmv_roce_ack_drop(w, qp);
	pmv_roce_selective_drop(w, qp);
	qp->sel = NULL;
	qp->reacts = false;
	qp->pace.cnp_at = 0;
	unschedule(w, qp);
	pmv_roce_attach_forget(w, qp);
	pmv_roce_sq_reset(&qp->sq);
	qp->rq.head = 0;
	qp->rq.tail = 0;
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->rd_out = 0;
	qp->since_ackreq = 0;
	qp->sq_draining = false;
	qp->retry.srtt_ticks = 0;
	qp->base.comm_est = 0;
	pmv_roce_window_init(&qp->win, pmv_psn(0), 0);
}

/* What was made of the template beforehand is stale. */
static void
hdr_changed(struct pmv_roce_qp *qp)
{
	if (++qp->hdr_version == 0)
		qp->hdr_version = 1;
}

static void
set_address(struct pmv_roce_qp *qp, const struct pmv_qp_modify *m)
{
	qp->dest_qpn = qp->base.attr.dest_qp_num;
	memset(&qp->peer, 0, sizeof(qp->peer));
	/* lib/verbs made sure that both addresses are of one family: this cannot fail */
	(void)pmv_roce_hdr_init(&qp->hdr, qp->base.pd->device, &m->av, qp->base.qpn, qp->dest_qpn);
	if (qp->reacts)
		pmv_roce_hdr_set_ect(&qp->hdr);
	hdr_changed(qp);
}

/* Selective repeat: what is with the peer does not count, as far as the scoreboard reaches. */
static void
set_window(const struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	uint32_t size = w->base.device->param.window_pkts;
	bool selective = qp->sel != NULL;

	pmv_roce_window_init(&qp->win, pmv_psn(qp->base.attr.sq_psn),
		selective ? RTE_MIN(size, PMV_ROCE_SCOREBOARD_PSNS) : size);
	if (selective)
		qp->win.span = PMV_ROCE_SCOREBOARD_PSNS;
}

/* What follows from the attributes, which the base holds by now. */
static void
set_rest(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_qp_modify *m)
{
	const struct pmv_qp_attr *a = &qp->base.attr;

	if (m->mask & PMV_QP_PATH_MTU) {
		qp->mtu_bytes = pmv_mtu_bytes(a->path_mtu);
		qp->mtu_shift = (uint8_t)(7 + a->path_mtu);
	}
	if (m->mask & PMV_QP_AV)
		set_address(qp, m);
	if (m->mask & PMV_QP_RQ_PSN)
		qp->resp.epsn = pmv_psn(a->rq_psn);
	if (m->mask & PMV_QP_SQ_PSN) {
		qp->sq.next_psn = pmv_psn(a->sq_psn);
		qp->ud_psn = a->sq_psn & PMV_PSN_MASK;
		set_window(w, qp);
	}
	if (m->mask & (PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY))
		pmv_roce_retry_set(w, qp);
}

bool
pmv_roce_qp_drained(const struct pmv_roce_qp *qp)
{
	const struct pmv_roce_sq *sq = &qp->sq;

	if (!pmv_roce_window_idle(&qp->win))
		return false;
	return sq->snd == sq->head || pmv_psn_eq(qp->win.nxt, pmv_roce_sq_wqe(sq, sq->snd)->first);
}

static void
enter_state(struct pmv_roce_worker *w, struct pmv_roce_qp *qp, const struct pmv_qp_modify *m)
{
	enum pmv_qp_state to = m->attr.qp_state;

	if (to == PMV_QPS_ERR) {
		pmv_roce_qp_error(w, qp);
		return;
	}
	if (to == PMV_QPS_RESET)
		reset(w, qp);
	if (to == PMV_QPS_SQD && qp->base.state == PMV_QPS_RTS) {
		qp->sqd_notify =
			(m->mask & PMV_QP_EN_SQD_ASYNC_NOTIFY) && m->attr.en_sqd_async_notify;
		qp->sq_draining = !pmv_roce_qp_drained(qp);
		if (!qp->sq_draining && qp->sqd_notify)
			pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_SQ_DRAINED);
	}
	__atomic_store_n(&qp->base.state, (uint8_t)to, __ATOMIC_RELEASE);
	if (to == PMV_QPS_RTS && qp->sq.snd != qp->sq.head)
		pmv_roce_qp_schedule(w, qp); /* what was posted in SQD */
}

int
pmv_roce_qp_modify_commit(struct pmv_qp *base, const struct pmv_qp_modify *m)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);

	/* it may have failed between prepare and commit; only ERR and RESET are left then */
	if (base->state == PMV_QPS_ERR && (m->mask & PMV_QP_STATE) &&
		m->attr.qp_state != PMV_QPS_ERR && m->attr.qp_state != PMV_QPS_RESET)
		return -EINVAL;
	if ((m->mask & PMV_QP_MAX_DEST_RD_ATOMIC) &&
		!pmv_roce_rdatomic_resize(&qp->resp.rd, m->attr.max_dest_rd_atomic))
		return -EBUSY; /* SQD: the peer's READs go on */
	if ((m->mask & PMV_QP_STATE) && m->attr.qp_state == PMV_QPS_RTR) {
		if (m->driver_data != NULL)
			qp->sel_mem = m->driver_data;
		qp->sel = is_selective(qp, m) ? qp->sel_mem : NULL;
		qp->reacts = is_agreed(m, PMV_ECE_CONGESTION);
		pmv_roce_pace_init(w, qp, __atomic_load_n(&w->dev->line, __ATOMIC_RELAXED));
	}
	set_rest(w, qp, m);
	if (m->mask & PMV_QP_STATE)
		enter_state(w, qp, m);
	return 0;
}

void
pmv_roce_qp_flush_rq(struct pmv_roce_qp *qp)
{
	const struct pmv_roce_rwqe *rwqe;

	while ((rwqe = pmv_roce_rq_peek(&qp->rq)) != NULL) {
		struct pmv_wc *wc = pmv_roce_cq_push(qp->base.recv_cq);

		if (wc != NULL)
			*wc = (struct pmv_wc){ .wr_id = rwqe->wr_id,
				.status = PMV_WC_WR_FLUSH_ERR,
				.opcode = PMV_WC_RECV,
				.qp_num = qp->base.qpn,
				.qp_context = qp->base.context };
		pmv_roce_rq_pop(&qp->rq);
	}
}

void
pmv_roce_qp_error(struct pmv_roce_worker *w, struct pmv_roce_qp *qp)
{
	struct pmv_roce_sq *sq = &qp->sq;

	if (qp->base.state == PMV_QPS_ERR)
		return;
	__atomic_store_n(&qp->base.state, (uint8_t)PMV_QPS_ERR, __ATOMIC_RELEASE);
	pmv_roce_retry_stop(w, qp);
	pmv_roce_pace_stop(w, qp);
	pmv_roce_selective_drop(w, qp);
	qp->sq_draining = false;
	qp->rd_out = 0;
	for (uint32_t i = sq->ack; i != sq->head; i++) {
		struct pmv_roce_wqe *wqe = pmv_roce_sq_wqe(sq, i);

		if (i != sq->ack ||
			wqe->status == PMV_WC_SUCCESS) /* only the oldest has a cause of its own */
			wqe->status = PMV_WC_WR_FLUSH_ERR;
	}
	sq->ack = sq->head;
	sq->snd = sq->head;
	pmv_roce_completion_run(qp);
	pmv_roce_qp_flush_rq(qp);
	if (qp->base.srq != NULL) /* its receives have completed: what it had taken was flushed */
		pmv_event_raise(&w->base, &qp->base.event, PMV_EVENT_QP_LAST_WQE_REACHED);
	/* a NAK that is owed still leaves, behind the READ responses of requests before it */
	if (!qp->ack.owed || qp->ack.syndrome == PMV_SYNDROME_ACK_NO_CREDIT) {
		pmv_roce_ack_drop(w, qp); /* not ahead of a READ that will not be answered */
		pmv_roce_rdatomic_cancel(&qp->resp.rd);
		unschedule(w, qp);
	}
}

/* IBTA vol. 1, 11.6.3.1: a completion was lost, so that no QP of that CQ can be relied on. All of
 * them live on the CQ's worker. */
void
pmv_roce_qp_cq_overrun(struct pmv_roce_worker *w)
{
	struct pmv_roce_qp *qp;

	TAILQ_FOREACH(qp, &w->all, all_link)
	{
		if (qp->base.state != PMV_QPS_RESET &&
			(qp->base.send_cq->overrun || qp->base.recv_cq->overrun))
			pmv_roce_qp_error(w, qp);
	}
	w->cq_overrun = false; /* last: what was flushed raised it again */
}

void
pmv_roce_qp_destroy_commit(struct pmv_qp *base)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);
	struct pmv_roce_worker *w = pmv_roce_qp_worker(qp);

	pmv_idmap_publish(&w->qps, base->qpn, NULL);
	pmv_roce_retry_stop(w, qp);
	pmv_roce_pace_stop(w, qp);
	pmv_roce_ack_drop(w, qp);
	pmv_roce_selective_drop(w, qp);
	unschedule(w, qp);
	pmv_roce_attach_forget(w, qp);
	if (qp->on_all)
		TAILQ_REMOVE(&w->all, qp, all_link);
	qp->on_all = false;
	if (base->event.pending != 0)
		TAILQ_REMOVE(&w->base.events, &base->event, link);
	base->event.pending = 0;
}

void
pmv_roce_qp_free(struct pmv_qp *base)
{
	struct pmv_roce_qp *qp = pmv_roce_qp(base);

	pmv_idmap_free(&pmv_roce_qp_worker(qp)->qps, base->qpn);
	pmv_roce_rq_fini(&qp->rq);
	pmv_roce_sq_fini(&qp->sq);
	pmv_roce_selective_free(qp->sel_mem);
	rte_free(qp);
}

void
pmv_roce_qp_query(const struct pmv_qp *base, struct pmv_qp_attr *attr)
{
	const struct pmv_roce_qp *qp = (const struct pmv_roce_qp *)base;

	attr->rq_psn = qp->resp.epsn.v;
	attr->sq_psn = qp->base.type == PMV_QPT_UD ? (qp->ud_psn & PMV_PSN_MASK) : qp->win.nxt.v;
	attr->sq_draining = qp->sq_draining;
	attr->ece.options = (qp->sel != NULL ? PMV_ECE_SELECTIVE_REPEAT : 0) |
			    (qp->reacts ? PMV_ECE_CONGESTION : 0);
	attr->ece.vendor_id = attr->ece.options != 0 ? PMV_ECE_VENDOR_ID : 0;
}

void
pmv_roce_qp_neigh_commit(struct pmv_worker *base_w, const union pmv_gid *gid,
	const struct rte_ether_addr *old_mac, const struct rte_ether_addr *new_mac)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base_w);
	struct pmv_roce_qp *qp;

	const struct pmv_device *dev = base_w->device;
	bool is_gateway = memcmp(gid, &dev->gateway[0], sizeof(*gid)) == 0 ||
			  memcmp(gid, &dev->gateway[1], sizeof(*gid)) == 0;

	TAILQ_FOREACH(qp, &w->all, all_link)
	{
		/* another destination may have had the same MAC, behind a router or a proxy */
		if (!is_gateway && memcmp(&qp->base.attr.ah_attr.dgid, gid, sizeof(*gid)) != 0)
			continue;
		/* the template begins with the destination MAC; it is not under the ICRC */
		if (qp->hdr.tmpl.hdr_len != 0 &&
			memcmp(qp->hdr.bytes, old_mac, sizeof(*old_mac)) == 0) {
			memcpy(qp->hdr.bytes, new_mac, sizeof(*new_mac));
			hdr_changed(qp);
		}
	}
}

void
pmv_roce_qp_stats(const struct pmv_qp *base, struct pmv_qp_stats *stats)
{
	const struct pmv_roce_qp *qp = (const struct pmv_roce_qp *)base;

	*stats = qp->stats;
	stats->rate = qp->pace.rate.current;
}
