// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/lib/verbs/fake_driver.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/log.h"
#include "test/harness/log_lines.h"

struct fake_state fake;
struct fake_mr *fake_key;

/* The errno of an operation; a driver may explain it itself. */
static int
answer(int rc)
{
	if (rc < 0 && fake.tells)
		PMV_LOG(ERR, "fake: the driver knows why");
	return rc;
}

static int
probe(uint16_t port_id)
{
	return fake.probe;
}

static int
device_init(struct pmv_device *dev)
{
	fake.nb_devices += fake.device_init == 0;
	return answer(fake.device_init);
}

static void
device_fini(struct pmv_device *dev)
{
	fake.nb_devices--;
}

static void
device_query(struct pmv_device *dev, struct pmv_device_attr *a)
{
	a->max_rd_atomic = 16;
	a->local_ack_delay = 3;
	a->max_qp = 256;
	a->max_qp_wr = 1024;
	a->max_sge = 8;
	a->max_inline = 256;
	a->max_cqe = 4096;
	a->max_srq = 4;
	a->max_srq_wr = 1024;
	a->max_srq_sge = 5;
	a->max_mr_pages = 256;
}

static int
worker_init(struct pmv_worker *w, const struct pmv_worker_param *param)
{
	fake.nb_workers += fake.worker_init == 0;
	return answer(fake.worker_init);
}

static void
worker_fini(struct pmv_worker *w)
{
	fake.nb_workers--;
}

static void
note(struct pmv_worker *w, char call)
{
	struct fake_worker *fw = fake_worker(w);

	if (fw->nb_calls < sizeof(fw->calls) - 1)
		fw->calls[fw->nb_calls++] = call;
}

static uint32_t
worker_rx(struct pmv_worker *w)
{
	note(w, 'r');
	if (fake_worker(w)->on_rx != NULL)
		fake_worker(w)->on_rx(fake_worker(w));
	return 2;
}

static uint32_t
worker_input(struct pmv_worker *w, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign)
{
	note(w, 'i');
	memcpy(foreign, m, nb * sizeof(m[0]));
	return nb;
}

static void
worker_frame(struct pmv_worker *w, struct rte_mbuf *m)
{
	struct fake_worker *fw = fake_worker(w);

	note(w, 'h');
	if (fw->on_frame != NULL)
		fw->on_frame(fw, m);
	else
		fw->frames[fw->nb_frames++] = m;
}

static void
worker_run(struct pmv_worker *w)
{
	note(w, 'R');
}

static void
worker_ctl_send(struct pmv_worker *w, struct rte_mbuf *m)
{
	struct fake_worker *fw = fake_worker(w);

	note(w, 'c');
	fw->ctl_sent[fw->nb_ctl_sent++] = m;
}

static uint32_t
worker_flush(struct pmv_worker *w)
{
	note(w, 'f');
	return 7;
}

static bool
worker_idle(const struct pmv_worker *w)
{
	return true;
}

static int
mr_reg(struct pmv_mr *mr)
{
	static uint32_t next = 1;

	if (fake.mr_reg != 0)
		return answer(fake.mr_reg);
	fake.nb_mrs++;
	mr->lkey = next++;
	mr->rkey = mr->lkey | 0x1000;
	__atomic_store_n(&fake_key, (struct fake_mr *)mr, __ATOMIC_RELEASE);
	return 0;
}

static int
mr_kill(struct pmv_mr *mr)
{
	if (fake.mr_kill != 0)
		return fake.mr_kill;
	/* Relaxed: what makes it seen is the library's epoch. */
	__atomic_store_n(&fake_key, NULL, __ATOMIC_RELAXED);
	return 0;
}

static bool
mr_frames_out(const struct pmv_mr *mr)
{
	return __atomic_load_n(&((const struct fake_mr *)mr)->frames_out, __ATOMIC_ACQUIRE) != 0;
}

static void
mr_free(struct pmv_mr *mr)
{
	fake.nb_mrs--;
}

static int
mr_alloc(struct pmv_mr *mr, uint32_t max_pages, uint32_t page_bytes)
{
	return mr_reg(mr);
}

static int
mr_map(struct pmv_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova, uint64_t length)
{
	return answer(fake.mr_map);
}

static int
mw_alloc(struct pmv_mw *mw)
{
	if (fake.mw_alloc != 0)
		return answer(fake.mw_alloc);
	fake.nb_mws++;
	mw->rkey = 0x7700;
	return 0;
}

static void
mw_kill(struct pmv_mw *mw)
{
}

static void
mw_free(struct pmv_mw *mw)
{
	fake.nb_mws--;
}

static int
ah_init(struct pmv_ah *ah)
{
	return answer(fake.ah_init);
}

static uint32_t
cq_poll(struct pmv_cq *cq, struct pmv_wc *wc, uint32_t nb)
{
	return 0;
}

static const struct pmv_cq_ops cq_ops = { .poll = cq_poll };

static int
cq_create(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq)
{
	struct pmv_cq *cq;

	if (fake.cq_create != 0)
		return answer(fake.cq_create);
	cq = calloc(1, sizeof(*cq));
	assert_non_null(cq);
	cq->ops = &cq_ops;
	cq->cqe = rte_align32pow2(cqe);
	fake.nb_cqs++;
	*ret_cq = cq;
	return 0;
}

static void
cq_free(struct pmv_cq *cq)
{
	fake.nb_cqs--;
	free(cq);
}

static void
cq_query(const struct pmv_cq *cq, struct pmv_cq_attr *attr)
{
	attr->nb_ready = 3;
}

static int
srq_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_attr *attr,
	struct pmv_srq **ret_srq)
{
	struct fake_srq *srq;

	if (fake.srq_create != 0)
		return answer(fake.srq_create);
	srq = calloc(1, sizeof(*srq));
	assert_non_null(srq);
	attr->max_wr = rte_align32pow2(attr->max_wr);
	srq->attr = *attr;
	fake.nb_srqs++;
	*ret_srq = &srq->base;
	return 0;
}

static int
srq_modify_prepare(struct pmv_srq *srq, struct pmv_srq_modify *m)
{
	return answer(fake.srq_prepare);
}

static int
srq_modify_commit(struct pmv_srq *srq, struct pmv_srq_modify *m)
{
	struct pmv_srq_attr *a = &((struct fake_srq *)srq)->attr;

	if (fake.srq_commit != 0)
		return fake.srq_commit;
	if (m->mask & PMV_SRQ_MAX_WR)
		a->max_wr = rte_align32pow2(m->attr.max_wr);
	if (m->mask & PMV_SRQ_LIMIT)
		a->srq_limit = m->attr.srq_limit;
	return 0;
}

static void
srq_modify_end(struct pmv_srq *srq, struct pmv_srq_modify *m)
{
	fake.nb_srq_ends++;
}

static void
srq_free(struct pmv_srq *srq)
{
	fake.nb_srqs--;
	free(srq);
}

static void
srq_query(const struct pmv_srq *srq, struct pmv_srq_attr *attr)
{
	*attr = ((const struct fake_srq *)srq)->attr;
}

static int
qp_create(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *attr,
	struct pmv_qp **ret_qp)
{
	struct fake_qp *qp;

	if (fake.qp_create != 0)
		return answer(fake.qp_create);
	qp = calloc(1, sizeof(*qp));
	assert_non_null(qp);
	qp->base.qpn = 0x100 + fake.next_qpn++;
	attr->cap.max_send_wr = rte_align32pow2(attr->cap.max_send_wr);
	fake.nb_qps++;
	*ret_qp = &qp->base;
	return 0;
}

static void
qp_create_commit(struct pmv_qp *qp)
{
	assert_false(((struct fake_qp *)qp)->linked);
	((struct fake_qp *)qp)->linked = true;
	__atomic_fetch_add(&fake.nb_linked, 1, __ATOMIC_RELAXED);
}

static int
qp_modify_prepare(struct pmv_qp *qp, struct pmv_qp_modify *m)
{
	return answer(fake.modify_prepare);
}

static int
qp_modify_commit(struct pmv_qp *qp, const struct pmv_qp_modify *m)
{
	if (fake.modify_commit != 0)
		return fake.modify_commit;
	assert_true(((struct fake_qp *)qp)->linked);
	((struct fake_qp *)qp)->nb_modified++;
	if (m->mask & PMV_QP_AV)
		((struct fake_qp *)qp)->av = m->av;
	if (m->mask & PMV_QP_STATE)
		__atomic_store_n(&qp->state, (uint8_t)m->attr.qp_state, __ATOMIC_RELEASE);
	return 0;
}

static void
qp_modify_abort(struct pmv_qp *qp, struct pmv_qp_modify *m)
{
	fake.nb_aborts++;
}

static void
qp_destroy_commit(struct pmv_qp *qp)
{
	assert_true(((struct fake_qp *)qp)->linked);
	((struct fake_qp *)qp)->linked = false;
	__atomic_fetch_sub(&fake.nb_linked, 1, __ATOMIC_RELAXED);
}

static void
qp_free(struct pmv_qp *qp)
{
	assert_false(((struct fake_qp *)qp)->linked);
	fake.nb_qps--;
	free(qp);
}

static void
qp_query(const struct pmv_qp *qp, struct pmv_qp_attr *attr)
{
	attr->sq_draining = 1;
}

static void
qp_neigh_commit(struct pmv_worker *w, const union pmv_gid *gid,
	const struct rte_ether_addr *old_mac, const struct rte_ether_addr *new_mac)
{
	struct fake_worker *fw = fake_worker(w);

	fw->nb_neigh++;
	fw->neigh_gid = *gid;
	fw->neigh_old = *old_mac;
	fw->neigh_new = *new_mac;
}

static uint32_t
worker_stats(const struct pmv_worker *w, struct pmv_stat *stats, uint32_t nb)
{
	if (nb > 0)
		stats[0] = (struct pmv_stat){ "fake_calls", 42 };
	return 1;
}

static void
qp_stats(const struct pmv_qp *qp, struct pmv_qp_stats *stats)
{
	stats->tx_pkts = 5;
}

static int
fault_add(struct pmv_worker *w, const struct pmv_fault_rule *rule, uint64_t seed)
{
	if (fake.fault_add != 0)
		return answer(fake.fault_add);
	fake.rule = *rule;
	fake.rule_seed = seed;
	fake.nb_rules++;
	return 0;
}

static int
fault_clear(struct pmv_worker *w)
{
	if (fake.fault_clear != 0)
		return fake.fault_clear;
	fake.nb_rules = 0;
	return 0;
}

static int
fault_query(struct pmv_worker *w, struct pmv_fault_counts *counts)
{
	*counts = (struct pmv_fault_counts){ .dropped = 9 };
	return 0;
}

static const struct pmv_driver_ops ops = {
	.probe = probe,
	.device_init = device_init,
	.device_fini = device_fini,
	.device_query = device_query,
	.worker_init = worker_init,
	.worker_fini = worker_fini,
	.worker_rx = worker_rx,
	.worker_input = worker_input,
	.worker_frame = worker_frame,
	.worker_run = worker_run,
	.worker_ctl_send = worker_ctl_send,
	.worker_flush = worker_flush,
	.worker_idle = worker_idle,
	.mr_reg = mr_reg,
	.mr_kill = mr_kill,
	.mr_frames_out = mr_frames_out,
	.mr_free = mr_free,
	.mr_alloc = mr_alloc,
	.mr_map = mr_map,
	.mw_alloc = mw_alloc,
	.mw_kill = mw_kill,
	.mw_free = mw_free,
	.ah_init = ah_init,
	.cq_create = cq_create,
	.cq_free = cq_free,
	.cq_query = cq_query,
	.srq_create = srq_create,
	.srq_modify_prepare = srq_modify_prepare,
	.srq_modify_commit = srq_modify_commit,
	.srq_modify_end = srq_modify_end,
	.srq_free = srq_free,
	.srq_query = srq_query,
	.qp_create = qp_create,
	.qp_create_commit = qp_create_commit,
	.qp_modify_prepare = qp_modify_prepare,
	.qp_modify_commit = qp_modify_commit,
	.qp_modify_abort = qp_modify_abort,
	.qp_destroy_commit = qp_destroy_commit,
	.qp_free = qp_free,
	.qp_query = qp_query,
	.qp_neigh_commit = qp_neigh_commit,
	.worker_stats = worker_stats,
	.qp_stats = qp_stats,
	.fault_add = fault_add,
	.fault_clear = fault_clear,
	.fault_query = fault_query,
};

static struct pmv_driver driver = {
	.name = "fake",
	.ops = &ops,
	.device_bytes = sizeof(struct pmv_device),
	.worker_bytes = sizeof(struct fake_worker),
	.mr_bytes = sizeof(struct fake_mr),
	.mw_bytes = sizeof(struct pmv_mw),
	.ah_bytes = sizeof(struct pmv_ah),
};

void
fake_log_begin(void)
{
	pmv_test_log_begin();
}

void
fake_log_end(const char *word)
{
	const char *text;
	uint32_t nb_lines = pmv_test_log_end(&text);

	if (nb_lines != 1 || strstr(text, word) == NULL)
		fail_msg("expected one line with \"%s\", got %u: %s", word, nb_lines, text);
}

__attribute__((constructor)) static void
enter(void)
{
	pmv_driver_register(&driver);
}

union pmv_gid
fake_gid(const char *text)
{
	struct pmv_ip_addr a;

	assert_int_equal(pmv_ip_addr_parse(text, &a), 0);
	return a.gid;
}

void
fake_add_addr(struct pmv_device *dev, const char *text)
{
	struct pmv_ip_addr a;

	assert_int_equal(pmv_ip_addr_parse(text, &a), 0);
	assert_int_equal(pmv_device_add_addr(dev, &a), 0);
}

void
fake_node_open(struct fake_node *n, uint16_t nb_workers)
{
	struct pmv_device_param dp = { .driver = "fake", .nb_workers = nb_workers, .seed = 1 };
	struct pmv_worker_param wp = { .socket_id = -1, .qp_max = 64 };
	uint16_t i;

	memset(n, 0, sizeof(*n));
	memset(&fake, 0, sizeof(fake));
	n->nb_workers = nb_workers;
	assert_int_equal(pmv_test_link_open(&n->link, nb_workers, 1), 0);
	dp.port_id = n->link->end[0].port_id;
	assert_int_equal(pmv_device_open(&dp, &n->dev), 0);
	wp.pool = n->link->pool;
	for (i = 0; i < nb_workers; i++) {
		wp.rx_queue = i;
		wp.tx_queue = i;
		assert_int_equal(pmv_worker_create(n->dev, &wp, &n->worker[i]), 0);
		assert_int_equal(pmv_create_cq(n->worker[i], 16, n, &n->cq[i]), 0);
	}
	assert_int_equal(pmv_alloc_pd(n->dev, &n->pd), 0);
}

void
fake_node_close(struct fake_node *n)
{
	uint16_t i;

	for (i = 0; i < n->nb_workers; i++) {
		assert_int_equal(pmv_destroy_cq(n->cq[i]), 0);
		assert_int_equal(pmv_worker_destroy(n->worker[i]), 0);
	}
	assert_int_equal(pmv_dealloc_pd(n->pd), 0);
	assert_int_equal(pmv_device_close(n->dev), 0);
	assert_int_equal(pmv_test_link_close(n->link), 0);
	assert_int_equal(fake.nb_devices + fake.nb_workers + fake.nb_mrs + fake.nb_cqs +
				 fake.nb_qps + fake.nb_srqs,
		0);
}

struct pmv_qp *
fake_create_qp(struct fake_node *n, uint16_t w, enum pmv_qp_type type)
{
	struct pmv_qp_init_attr init = {
		.send_cq = n->cq[w],
		.recv_cq = n->cq[w],
		.qp_type = type,
		.cap = { .max_send_wr = 5, .max_recv_wr = 5, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_context = n,
	};
	struct pmv_qp *qp;

	assert_int_equal(pmv_create_qp(n->pd, n->worker[w], &init, &qp), 0);
	return qp;
}

void
fake_move_qp(struct pmv_qp *qp, enum pmv_qp_state state)
{
	struct pmv_qp_attr a = {
		.qp_state = PMV_QPS_INIT,
		.port_num = 1,
		.path_mtu = PMV_MTU_1024,
		.ah_attr = { .dgid = fake_gid("10.0.0.9") },
		.dest_qp_num = 0x200,
		.timeout = 14,
	};

	if (state == PMV_QPS_RESET)
		return;
	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	if (state == PMV_QPS_INIT)
		return;
	a.qp_state = PMV_QPS_RTR;
	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER),
		0);
	if (state == PMV_QPS_RTR)
		return;
	a.qp_state = PMV_QPS_RTS;
	assert_int_equal(pmv_modify_qp(qp, &a,
				 PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT |
					 PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC),
		0);
	if (state == PMV_QPS_RTS)
		return;
	a.qp_state = state;
	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
}
