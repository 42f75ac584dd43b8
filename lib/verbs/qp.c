// SPDX-License-Identifier: BSD-3-Clause
/*
 * Queue pairs: arguments, transitions and ranges are checked here, the driver prepares, and the
 * commit runs on the owner of the worker: at once when the caller is it (or the worker is
 * detached), by mailbox in the submit forms. Control threads; the commit_* functions run on the
 * owner lcore.
 */
#include "lib/api/pmv_qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"
#include "lib/verbs/av.h"
#include "lib/verbs/device.h"
#include "lib/verbs/qp_attr.h"
#include "lib/verbs/qp_state.h"

/* A modify on its way: what was prepared, and the state it was checked against. */
struct modify {
	struct pmv_qp_modify m;
	uint8_t from;
	bool committed; /* the driver has taken it over; owner, before the op is done */
};

/* A snapshot when the caller is not the owner. */
static uint8_t
state_of(const struct pmv_qp *qp)
{
	return __atomic_load_n(&qp->state, __ATOMIC_ACQUIRE);
}

/* ---- create ---- */

static const char *
create_problem(
	const struct pmv_pd *pd, const struct pmv_worker *w, const struct pmv_qp_init_attr *a)
{
	if (pd->device != w->device)
		return "pd and worker are of different devices";
	if (a->send_cq == NULL)
		return "attr.send_cq is NULL";
	if (a->recv_cq == NULL)
		return "attr.recv_cq is NULL";
	if (a->send_cq->worker != w)
		return "attr.send_cq is of another worker";
	if (a->recv_cq->worker != w)
		return "attr.recv_cq is of another worker";
	if (a->srq != NULL && a->srq->worker != w)
		return "attr.srq is of another worker";
	if (a->srq != NULL && a->srq->pd != pd)
		return "attr.srq is of another pd";
	return NULL;
}

static void
commit_create(struct pmv_op *op)
{
	struct pmv_qp *qp = op->object;

	qp->worker->ops->qp_create_commit(qp);
}

/* The base fields; what the driver set already it sets to the same. */
static void
fill_base(struct pmv_qp *qp, struct pmv_pd *pd, struct pmv_worker *w,
	const struct pmv_qp_init_attr *a)
{
	qp->worker = w;
	qp->pd = pd;
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->type = (uint8_t)a->qp_type;
	qp->sq_sig_all = a->sq_sig_all;
	qp->context = a->qp_context;
	qp->cap = a->cap;
	qp->event.kind = PMV_EVENT_SOURCE_QP;
	LIST_INIT(&qp->mcasts);
}

/* A CQ may be smaller than what its QPs can have at a time: requests without a completion, or a
 * program that polls often, make it right. Whoever did not mean it is told once. */
static void
add_wanted(struct pmv_cq *cq, uint32_t nb, int n)
{
	cq->wanted += (uint64_t)n * nb;
	if (cq->wanted <= cq->cqe || cq->told_small)
		return;
	cq->told_small = true;
	PMV_LOG(WARNING,
		"create_qp: cq %p (context %p, worker %u) has %u entries, its queue pairs may need "
		"%llu at a time",
		(void *)cq, cq->context, cq->worker->index, cq->cqe,
		(unsigned long long)cq->wanted);
}

/* +1 or -1 on everything that must outlive the QP. Under the lock. */
static void
add_refs(struct pmv_qp *qp, int n)
{
	qp->pd->refs += (uint32_t)n;
	qp->send_cq->refs += (uint32_t)n;
	qp->recv_cq->refs += (uint32_t)n;
	add_wanted(qp->send_cq, qp->cap.max_send_wr, n);
	add_wanted(qp->recv_cq, qp->cap.max_recv_wr, n);
	if (qp->srq != NULL)
		qp->srq->refs += (uint32_t)n;
	qp->worker->nb_qps += (uint32_t)n;
}

/* Under the lock. */
static int
create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *a, struct pmv_qp **ret_qp)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device_attr limits;
	const char *problem;
	struct pmv_qp *qp;
	int rc;

	if (a->qp_type < PMV_QPT_RC || a->qp_type > PMV_QPT_UD)
		return pmv_log_refuse(
			-ENOTSUP, "create_qp: attr.qp_type %d is not RC, UC or UD", a->qp_type);
	if (a->srq != NULL) { /* a receive queue of its own is not asked for */
		a->cap.max_recv_wr = 0;
		a->cap.max_recv_sge = 0;
	}
	pmv_verbs_device_attr(w->device, &limits);
	problem = pmv_verbs_qp_cap_check(&limits, &a->cap);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "create_qp: attr.cap.%s", problem);
	rc = w->ops->qp_create(pd, w, a, &qp);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "create_qp: worker %u: %s", w->index,
			rc == -ENOSPC ? "no QPN left" : strerror(-rc));
	fill_base(qp, pd, w, a);
	if (pmv_lcore_mailbox_post(w, commit_create, qp, NULL, 0) < 0) {
		w->ops->qp_free(qp);
		return pmv_log_refuse(
			-ENOMEM, "create_qp: no memory for the command to worker %u", w->index);
	}
	add_refs(qp, 1);
	*ret_qp = qp;
	return 0;
}

int
pmv_create_qp(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp)
{
	struct pmv_qp_init_attr a;
	const char *problem;
	int rc;

	if (PMV_ANY_NULL("create_qp", "pd worker attr ret_qp", pd, w, attr, ret_qp))
		return -EINVAL;
	if (attr->srq != NULL && w->ops->srq_create == NULL)
		return pmv_log_refuse(-ENOTSUP, "create_qp: attr.srq: driver %s has no SRQs",
			w->device->driver->name);
	problem = create_problem(pd, w, attr);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "create_qp: %s", problem);
	a = *attr;
	pmv_verbs_lock(w->device);
	rc = create(pd, w, &a, ret_qp);
	pmv_verbs_unlock(w->device);
	if (rc == 0)
		attr->cap = a.cap;
	return rc;
}

/* ---- modify ---- */

static bool
may_be_current(enum pmv_qp_state state)
{
	return state >= PMV_QPS_RTR && state <= PMV_QPS_SQE;
}

/* The state to go to, or -EINVAL. */
static int
check_transition(const struct pmv_qp *qp, const struct pmv_qp_attr *a, uint32_t mask, uint8_t from)
{
	enum pmv_qp_state to = mask & PMV_QP_STATE ? a->qp_state : (enum pmv_qp_state)from;
	uint32_t missing, superfluous;

	if ((mask & PMV_QP_CUR_STATE) &&
		(!may_be_current(a->cur_qp_state) || a->cur_qp_state != from))
		return pmv_log_refuse(-EINVAL, "modify_qp 0x%06x: cur_qp_state is not the state %s",
			qp->qpn, pmv_qp_state_str((enum pmv_qp_state)from));
	if ((uint32_t)to <= PMV_QPS_ERR &&
		pmv_verbs_qp_state_check(pmv_verbs_qp_transition(qp->type, from, (uint8_t)to), mask,
			&missing, &superfluous) == 0)
		return (int)to;
	if ((uint32_t)to > PMV_QPS_ERR ||
		!pmv_verbs_qp_transition(qp->type, from, (uint8_t)to)->legal)
		return pmv_log_refuse(-EINVAL, "modify_qp 0x%06x: qp_state: no way from %s to %s",
			qp->qpn, pmv_qp_state_str((enum pmv_qp_state)from), pmv_qp_state_str(to));
	return pmv_log_refuse(-EINVAL, "modify_qp 0x%06x: %s to %s: %s is %s", qp->qpn,
		pmv_qp_state_str((enum pmv_qp_state)from), pmv_qp_state_str(to),
		pmv_verbs_qp_attr_name(missing != 0 ? missing : superfluous),
		missing != 0 ? "missing" : "not allowed");
}

/* Code 0 is the longest of all, and looks like the shortest: once is enough to wonder. */
static void
warn_rnr_code(const struct pmv_qp *qp)
{
	static bool told;

	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		PMV_LOG(WARNING, "modify_qp 0x%06x: min_rnr_timer 0 means 655.36 ms", qp->qpn);
}

/* Checks and prepares. Under the lock. */
static int
prepare(struct pmv_qp *qp, const struct pmv_qp_attr *a, uint32_t mask, struct modify *ret)
{
	struct pmv_device *dev = qp->worker->device;
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device_attr limits;
	const char *problem;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->from = state_of(qp);
	rc = check_transition(qp, a, mask, ret->from);
	if (rc < 0)
		return rc;
	pmv_verbs_device_attr(dev, &limits);
	problem = pmv_verbs_qp_attr_check(&limits, a, mask);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "modify_qp 0x%06x: %s", qp->qpn, problem);
	ret->m.mask = mask;
	ret->m.attr = *a;
	ret->m.attr.qp_state = (enum pmv_qp_state)rc;
	if (mask & PMV_QP_AV) {
		rc = pmv_verbs_av_resolve(dev, &a->ah_attr, false, "modify_qp", &ret->m.av);
		if (rc < 0)
			return rc;
	}
	rc = qp->worker->ops->qp_modify_prepare(qp, &ret->m);
	if (rc < 0)
		return pmv_log_refuse_since(
			mark, rc, "modify_qp 0x%06x: %s", qp->qpn, strerror(-rc));
	if ((mask & PMV_QP_MIN_RNR_TIMER) && a->min_rnr_timer == 0)
		warn_rnr_code(qp);
	return 0;
}

static void
abort_modify(struct pmv_qp *qp, struct modify *mod)
{
	if (qp->worker->ops->qp_modify_abort != NULL)
		qp->worker->ops->qp_modify_abort(qp, &mod->m);
}

/*
 * Owner. The QP may have gone to ERR or SQE since prepare looked: then what was checked does not
 * hold. To ERR and RESET it may go from anywhere (but RESET to ERR, which the table refused).
 */
static int
commit(struct pmv_qp *qp, struct modify *mod)
{
	enum pmv_qp_state to = mod->m.attr.qp_state;
	const struct pmv_qp_attr old = qp->attr;
	int rc;

	if (state_of(qp) != mod->from && to != PMV_QPS_ERR && to != PMV_QPS_RESET)
		return -EINVAL;
	mod->committed = true;
	pmv_verbs_qp_attr_copy(&qp->attr, &mod->m.attr, mod->m.mask);
	rc = qp->worker->ops->qp_modify_commit(qp, &mod->m);
	if (rc < 0)
		qp->attr = old;
	else if (to == PMV_QPS_RESET)
		memset(&qp->attr, 0, sizeof(qp->attr));
	return rc;
}

/* Why the driver refused what was committed. */
static const char *
commit_problem(int rc)
{
	return rc == -EBUSY ? "max_dest_rd_atomic: READs of the peer are being answered"
			    : strerror(-rc);
}

/* No operation may start on it. Under the lock. */
static bool
is_busy(const struct pmv_qp *qp)
{
	return qp->destroying || qp->op_pending;
}

static int
refuse_busy(const struct pmv_qp *qp)
{
	return pmv_log_refuse(
		-EINVAL, "modify_qp 0x%06x: qp: another operation is under way", qp->qpn);
}

static int
refuse_thread(const char *call, const struct pmv_qp *qp, int rc)
{
	return pmv_log_refuse(rc, "%s 0x%06x: qp: another thread owns worker %u", call, qp->qpn,
		qp->worker->index);
}

/* Under the lock. */
static int
modify_here(struct pmv_qp *qp, const struct pmv_qp_attr *a, uint32_t mask)
{
	struct modify mod;
	int rc;

	if (is_busy(qp))
		return refuse_busy(qp);
	rc = pmv_lcore_mailbox_enter(qp->worker);
	if (rc < 0)
		return refuse_thread("modify_qp", qp, rc);
	rc = prepare(qp, a, mask, &mod);
	if (rc == 0) {
		rc = commit(qp, &mod);
		if (!mod.committed)
			abort_modify(qp, &mod);
		if (rc < 0)
			PMV_LOG(ERR, "modify_qp 0x%06x: %s", qp->qpn, commit_problem(rc));
	}
	pmv_lcore_mailbox_leave(qp->worker);
	return rc;
}

int
pmv_modify_qp(struct pmv_qp *qp, const struct pmv_qp_attr *attr, uint32_t mask)
{
	int rc;

	if (PMV_ANY_NULL("modify_qp", "qp attr", qp, attr))
		return -EINVAL;
	pmv_verbs_lock(qp->worker->device);
	rc = modify_here(qp, attr, mask);
	pmv_verbs_unlock(qp->worker->device);
	return rc;
}

static void
commit_modify(struct pmv_op *op)
{
	op->result = commit(op->object, op->prepared);
}

/* In pmv_op_poll() of the submitter. */
static void
finish_modify(struct pmv_op *op)
{
	struct pmv_qp *qp = op->object;
	struct modify *mod = op->prepared;
	struct pmv_device *dev = qp->worker->device;

	pmv_verbs_lock(dev);
	qp->op_pending = false;
	if (!mod->committed)
		abort_modify(qp, mod);
	pmv_verbs_unlock(dev);
	if (op->result < 0)
		PMV_LOG(ERR, "modify_qp 0x%06x: %s", qp->qpn,
			mod->committed ? commit_problem(op->result)
				       : "its state changed meanwhile");
	free(mod);
}

/* Under the lock; mod is the op's if it succeeds. */
static int
submit_modify(struct pmv_qp *qp, const struct pmv_qp_attr *a, uint32_t mask, struct modify *mod,
	struct pmv_op *op)
{
	int rc;

	if (is_busy(qp))
		return refuse_busy(qp);
	rc = prepare(qp, a, mask, mod);
	if (rc < 0)
		return rc;
	op->commit = commit_modify;
	op->finish = finish_modify;
	op->object = qp;
	op->prepared = mod;
	qp->op_pending = true;
	rc = pmv_lcore_mailbox_submit(qp->worker, op);
	if (rc < 0) {
		qp->op_pending = false;
		abort_modify(qp, mod);
	}
	return rc;
}

/* An op that is still on its way, or done and not polled, is not ours to overwrite. 0; -EINVAL. */
static int
check_op(const char *call, const struct pmv_op *op)
{
	if (__atomic_load_n(&op->state, __ATOMIC_ACQUIRE) == PMV_LCORE_OP_IDLE)
		return 0;
	return pmv_log_refuse(-EINVAL, "%s: op is in use", call);
}

int
pmv_modify_qp_submit(
	struct pmv_qp *qp, const struct pmv_qp_attr *attr, uint32_t mask, struct pmv_op *op)
{
	struct modify *mod;
	int rc;

	if (PMV_ANY_NULL("modify_qp_submit", "qp attr op", qp, attr, op))
		return -EINVAL;
	if (check_op("modify_qp_submit", op) < 0)
		return -EINVAL;
	mod = malloc(sizeof(*mod));
	if (mod == NULL)
		return pmv_log_refuse(-ENOMEM, "modify_qp_submit: no memory");
	pmv_verbs_lock(qp->worker->device);
	rc = submit_modify(qp, attr, mask, mod, op);
	pmv_verbs_unlock(qp->worker->device);
	if (rc < 0)
		free(mod);
	return rc;
}

/* ---- query ---- */

int
pmv_query_qp(struct pmv_qp *qp, struct pmv_qp_attr *ret_attr, struct pmv_qp_init_attr *ret_init)
{
	int rc;

	if (PMV_ANY_NULL("query_qp", "qp ret_attr", qp, ret_attr))
		return -EINVAL;
	rc = pmv_lcore_mailbox_enter(qp->worker);
	if (rc < 0)
		return refuse_thread("query_qp", qp, rc);
	*ret_attr = qp->attr;
	ret_attr->qp_state = (enum pmv_qp_state)qp->state;
	ret_attr->cur_qp_state = (enum pmv_qp_state)qp->state;
	ret_attr->cap = qp->cap;
	qp->worker->ops->qp_query(qp, ret_attr);
	pmv_lcore_mailbox_leave(qp->worker);
	if (ret_init != NULL)
		*ret_init = (struct pmv_qp_init_attr){
			.send_cq = qp->send_cq,
			.recv_cq = qp->recv_cq,
			.srq = qp->srq,
			.cap = qp->cap,
			.qp_type = (enum pmv_qp_type)qp->type,
			.sq_sig_all = qp->sq_sig_all,
			.qp_context = qp->context,
		};
	return 0;
}

/* ---- destroy ---- */

/* Owner. */
static void
unlink_qp(struct pmv_qp *qp)
{
	struct pmv_worker *w = qp->worker;

	w->ops->qp_destroy_commit(qp);
	if (qp->event.pending != 0)
		TAILQ_REMOVE(&w->events, &qp->event, link);
	qp->event.pending = 0;
}

/* Under the lock; the owner has let go. */
static void
free_qp(struct pmv_qp *qp)
{
	add_refs(qp, -1);
	qp->worker->ops->qp_free(qp);
}

static int
check_destroy(const struct pmv_qp *qp)
{
	if (!qp->held && !is_busy(qp) && LIST_EMPTY(&qp->mcasts))
		return 0;
	return pmv_log_refuse(-EBUSY, "destroy_qp 0x%06x: qp: %s", qp->qpn,
		qp->held      ? "a CM id holds it"
		: is_busy(qp) ? "another operation is under way"
			      : "it is attached to a multicast group");
}

static int
destroy_here(struct pmv_qp *qp)
{
	int rc = check_destroy(qp);

	if (rc < 0)
		return rc;
	rc = pmv_lcore_mailbox_enter(qp->worker);
	if (rc < 0)
		return refuse_thread("destroy_qp", qp, rc);
	unlink_qp(qp);
	pmv_lcore_mailbox_leave(qp->worker);
	free_qp(qp);
	return 0;
}

int
pmv_destroy_qp(struct pmv_qp *qp)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("destroy_qp", "qp", qp))
		return -EINVAL;
	dev = qp->worker->device;
	pmv_verbs_lock(dev);
	rc = destroy_here(qp);
	pmv_verbs_unlock(dev);
	return rc;
}

static void
commit_destroy(struct pmv_op *op)
{
	unlink_qp(op->object);
}

/* In pmv_op_poll() of the submitter. */
static void
finish_destroy(struct pmv_op *op)
{
	struct pmv_qp *qp = op->object;
	struct pmv_device *dev = qp->worker->device;

	pmv_verbs_lock(dev);
	free_qp(qp);
	pmv_verbs_unlock(dev);
	op->object = NULL;
}

static int
submit_destroy(struct pmv_qp *qp, struct pmv_op *op)
{
	int rc = check_destroy(qp);

	if (rc < 0)
		return rc;
	op->commit = commit_destroy;
	op->finish = finish_destroy;
	op->object = qp;
	qp->destroying = true;
	rc = pmv_lcore_mailbox_submit(qp->worker, op);
	if (rc < 0)
		qp->destroying = false;
	return rc;
}

int
pmv_destroy_qp_submit(struct pmv_qp *qp, struct pmv_op *op)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("destroy_qp_submit", "qp op", qp, op))
		return -EINVAL;
	if (check_op("destroy_qp_submit", op) < 0)
		return -EINVAL;
	dev = qp->worker->device;
	pmv_verbs_lock(dev);
	rc = submit_destroy(qp, op);
	pmv_verbs_unlock(dev);
	return rc;
}

/* ---- fields ---- */

bool
pmv_qp_comm_est(const struct pmv_qp *qp)
{
	return __atomic_load_n(&qp->comm_est, __ATOMIC_ACQUIRE) != 0;
}

uint32_t
pmv_qp_num(const struct pmv_qp *qp)
{
	return qp->qpn;
}

enum pmv_qp_type
pmv_qp_get_type(const struct pmv_qp *qp)
{
	return (enum pmv_qp_type)qp->type;
}

enum pmv_qp_state
pmv_qp_get_state(const struct pmv_qp *qp)
{
	return (enum pmv_qp_state)state_of(qp);
}

struct pmv_worker *
pmv_qp_get_worker(const struct pmv_qp *qp)
{
	return qp->worker;
}

struct pmv_srq *
pmv_qp_get_srq(const struct pmv_qp *qp)
{
	return qp->srq;
}

struct pmv_pd *
pmv_qp_get_pd(const struct pmv_qp *qp)
{
	return qp->pd;
}
