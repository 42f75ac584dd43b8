// SPDX-License-Identifier: BSD-3-Clause
/*
 * Our side of a trial: pmverbs on a DPDK port, set up as the programs in apps set theirs up. One
 * lcore polls worker and CM; every wait of the trial comes down to pmv_trial_side_poll().
 *
 *   trial_ours EAL-OPTIONS -- --addr A/LEN ... -t WORD ...    (the words: see pmv_trial_parse)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "apps/common/eal.h"
#include "apps/common/endpoint.h"
#include "apps/common/say.h"
#include "test/system/trial/trial.h"

#define WORDS_MAX  8
#define RESOLVE_MS 10000
#define CONNECT_MS 60000
#define LEAVE_MS   5000
#define DRAIN_MS   200
#define LOSS       0.02
#define LOSS_SEED  20u
#define ACCESS                                                                                     \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC)
#define REMOTE (ACCESS & ~PMV_ACCESS_LOCAL_WRITE)

_Static_assert(PMV_WR_RDMA_WRITE == (int)PMV_TRIAL_WRITE, "");
_Static_assert(PMV_WR_RDMA_WRITE_WITH_IMM == (int)PMV_TRIAL_WRITE_IMM, "");
_Static_assert(PMV_WR_SEND == (int)PMV_TRIAL_SEND, "");
_Static_assert(PMV_WR_SEND_WITH_IMM == (int)PMV_TRIAL_SEND_IMM, "");
_Static_assert(PMV_WR_RDMA_READ == (int)PMV_TRIAL_READ, "");
_Static_assert(PMV_WR_ATOMIC_CMP_AND_SWP == (int)PMV_TRIAL_COMP_SWAP, "");
_Static_assert(PMV_WR_ATOMIC_FETCH_AND_ADD == (int)PMV_TRIAL_FETCH_ADD, "");
_Static_assert(PMV_WR_SEND_WITH_INV == (int)PMV_TRIAL_SEND_INV, "");
_Static_assert(PMV_SEND_SIGNALED == (int)PMV_TRIAL_SIGNALED, "");
_Static_assert(PMV_SEND_SOLICITED == (int)PMV_TRIAL_SOLICITED, "");
_Static_assert(PMV_SEND_INLINE == (int)PMV_TRIAL_INLINE, "");
_Static_assert(PMV_QPT_RC == (int)PMV_TRIAL_RC && PMV_QPT_UC == (int)PMV_TRIAL_UC, "");
_Static_assert(PMV_QPT_UD == (int)PMV_TRIAL_UD, "");

static struct {
	struct pmv_app_endpoint ep;
	char *words[WORDS_MAX];
	int nb_words;
	struct pmv_cm_id *listener;
	struct pmv_cm_id *id;
	struct pmv_cm_id *data_listener; /* of cases by_cm */
	struct pmv_cm_id *data_id;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	struct pmv_srq *srq;
	struct pmv_mr *mr;
	struct pmv_mw *mw; /* responder */
	struct pmv_qp *rc;
	struct pmv_qp *data; /* UC, UD; RC: the id's */
	struct pmv_ah *ah;
	uint32_t nb_up; /* connections */
	bool is_established;
	int error; /* of the connection; it has been said why */
} side;

static int
complain(const char *what, int ret)
{
	if (ret != 0)
		printf("trial: %s: %s\n", what, strerror(-ret));
	return ret;
}

static void
fill_init_attr(const struct pmv_trial *t, bool is_data, struct pmv_qp_init_attr *attr)
{
	*attr = (struct pmv_qp_init_attr){
		.send_cq = side.cq,
		.recv_cq = side.cq,
		.cap = { .max_send_wr = PMV_TRIAL_WR_MAX,
			.max_recv_wr = PMV_TRIAL_WR_MAX,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = PMV_TRIAL_INLINE_MAX },
		.qp_type = is_data ? (enum pmv_qp_type)t->c->transport : PMV_QPT_RC,
	};
	if (is_data || t->c->transport == PMV_TRIAL_RC)
		attr->srq = side.srq;
}

static int
make_srq(const struct pmv_trial *t)
{
	struct pmv_srq_init_attr attr = { .attr = { .max_wr = PMV_TRIAL_WR_MAX, .max_sge = 2 } };

	if (!t->c->has_srq || t->is_requester)
		return 0;
	return complain("no shared receive queue",
		pmv_create_srq(side.pd, side.ep.worker, &attr, &side.srq));
}

static int
make_memory(struct pmv_trial *t)
{
	bool has_mw = t->c->has_mw && !t->is_requester;
	int ret = complain("no protection domain", pmv_alloc_pd(side.ep.device, &side.pd));

	if (ret == 0)
		ret = complain("no completion queue",
			pmv_create_cq(side.ep.worker, 4 * PMV_TRIAL_WR_MAX, NULL, &side.cq));
	t->buf = pmv_buf_alloc(PMV_TRIAL_BUF_BYTES, -1);
	if (t->buf == NULL)
		return complain("no buffer", -ENOMEM);
	if (ret == 0)
		ret = complain("no memory region",
			pmv_reg_mr(side.pd, t->buf, PMV_TRIAL_BUF_BYTES,
				ACCESS | (has_mw ? PMV_ACCESS_MW_BIND : 0), &side.mr));
	if (ret == 0 && has_mw)
		ret = complain("no memory window", pmv_alloc_mw(side.pd, PMV_MW_TYPE_2, &side.mw));
	return ret;
}

static int
make_queue_pairs(struct pmv_trial *t)
{
	struct pmv_qp_init_attr attr;
	int ret = make_srq(t);

	fill_init_attr(t, false, &attr);
	if (ret == 0)
		ret = complain(
			"no queue pair", pmv_cm_create_qp(side.id, side.pd, side.ep.worker, &attr));
	if (ret == 0)
		ret = complain(
			"no ACK timeout", pmv_cm_set_ack_timeout(side.id, PMV_TRIAL_ACK_TIMEOUT));
	if (ret != 0)
		return ret;
	side.rc = side.data = pmv_cm_id_qp(side.id);
	if (t->c->transport != PMV_TRIAL_RC && !t->c->by_cm) {
		fill_init_attr(t, true, &attr);
		ret = complain("no data queue pair",
			pmv_create_qp(side.pd, side.ep.worker, &attr, &side.data));
	}
	if (ret == 0)
		t->mine = (struct pmv_trial_place){ (uintptr_t)t->buf, pmv_mr_rkey(side.mr),
			PMV_TRIAL_DATA_BYTES, pmv_qp_num(side.data), 0xfffff0 };
	return ret;
}

/* Connects, or accepts, once the queue pairs are there. */
static int
answer(struct pmv_trial *t)
{
	uint8_t place[PMV_TRIAL_PLACE_BYTES] = { 0 };
	struct pmv_cm_conn_param param = {
		.private_data = place,
		.private_data_len = sizeof(place),
		.responder_resources = PMV_TRIAL_RD_ATOMIC,
		.initiator_depth = PMV_TRIAL_RD_ATOMIC,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret = make_queue_pairs(t);

	if (ret != 0)
		return ret;
	pmv_trial_place_build(&t->mine, place);
	if (t->is_client)
		return complain("connect", pmv_cm_connect(side.id, &param));
	return complain("accept", pmv_cm_accept(side.id, &param));
}

/* The data queue pair goes where the connection goes: by hand, beside it. */
static int
move_data_qp(const struct pmv_trial *t, const struct pmv_qp_attr *rc)
{
	bool is_ud = t->c->transport == PMV_TRIAL_UD;
	struct pmv_qp_attr attr = {
		.qp_state = PMV_QPS_INIT,
		.port_num = 1,
		.qkey = PMV_TRIAL_QKEY,
		.qp_access_flags = REMOTE,
		.path_mtu = rc->path_mtu,
		.dest_qp_num = t->peer.qpn,
		.rq_psn = t->peer.psn,
		.sq_psn = t->mine.psn,
		.ah_attr = rc->ah_attr,
	};
	int ret = pmv_modify_qp(side.data, &attr,
		PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT |
			(is_ud ? PMV_QP_QKEY : PMV_QP_ACCESS_FLAGS));

	attr.qp_state = PMV_QPS_RTR;
	if (ret == 0)
		ret = pmv_modify_qp(side.data, &attr,
			is_ud ? PMV_QP_STATE
			      : PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
					PMV_QP_RQ_PSN);
	attr.qp_state = PMV_QPS_RTS;
	if (ret == 0)
		ret = pmv_modify_qp(side.data, &attr, PMV_QP_STATE | PMV_QP_SQ_PSN);
	return complain("the data queue pair", ret);
}

static void
store_address(const struct sockaddr_storage *addr, uint8_t *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (addr->ss_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
		return;
	}
	memcpy(gid, mapped, sizeof(mapped));
	memcpy(gid + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
}

/* An id that resolves, or listens: the case's data queue pair has its own in the IB port space, the
 * only one in which Linux connects UC. */
static int
make_id(struct pmv_trial *t, enum pmv_cm_port_space ps, enum pmv_qp_type type,
	struct pmv_cm_id **ret_id)
{
	struct sockaddr_storage addr;
	int ret = pmv_app_sockaddr_parse(t->address, &addr);

	if (ret != 0)
		return ret;
	pmv_app_sockaddr_set_port(&addr, t->port);
	ret = complain("no id", pmv_cm_create_id(side.ep.cm, NULL, NULL, ps, type, ret_id));
	if (ret != 0)
		return ret;
	if (t->is_client)
		return complain("address",
			pmv_cm_resolve_addr(*ret_id, NULL, (struct sockaddr *)&addr, RESOLVE_MS));
	ret = complain("bind", pmv_cm_bind_addr(*ret_id, (struct sockaddr *)&addr));
	return ret != 0 ? ret : complain("listen", pmv_cm_listen(*ret_id, 1));
}

static int
bring_up_data(struct pmv_trial *t)
{
	struct sockaddr_storage addr;
	struct pmv_qp_init_attr init;
	struct pmv_qp_attr rc;
	int ret;

	pmv_cm_id_peer_addr(side.id, &addr);
	store_address(&addr, t->grh_src);
	pmv_cm_id_local_addr(side.id, &addr);
	store_address(&addr, t->grh_dst);
	ret = complain("query of the queue pair", pmv_query_qp(side.rc, &rc, &init));
	if (ret == 0)
		pmv_trial_check_mtu(t, rc.path_mtu);
	if (t->c->transport == PMV_TRIAL_RC || ret != 0)
		return ret;
	if (t->c->by_cm)
		return t->is_client ? make_id(t, PMV_PS_IB, PMV_QPT_UC, &side.data_id) : 0;
	ret = move_data_qp(t, &rc);
	if (ret == 0 && t->c->transport == PMV_TRIAL_UD)
		ret = complain("no address handle", pmv_create_ah(side.pd, &rc.ah_attr, &side.ah));
	return ret;
}

static void
on_failure(struct pmv_trial *t, const struct pmv_cm_event *ev)
{
	pmv_app_say_cm_failure(ev, t->address);
	side.error = -ECONNREFUSED;
}

/* Connects, or accepts. */
static int
answer_data(struct pmv_trial *t)
{
	struct pmv_qp_init_attr attr;
	int ret;

	fill_init_attr(t, true, &attr);
	ret = complain("no data queue pair",
		pmv_cm_create_qp(side.data_id, side.pd, side.ep.worker, &attr));
	if (ret != 0)
		return ret;
	side.data = pmv_cm_id_qp(side.data_id);
	return complain("the data connection", t->is_client ? pmv_cm_connect(side.data_id, NULL)
							    : pmv_cm_accept(side.data_id, NULL));
}

/* Both connections, if the case has two. */
static void
count_up(const struct pmv_trial *t)
{
	side.nb_up++;
	side.is_established = side.nb_up == (t->c->by_cm ? 2 : 1);
}

static void
on_data_event(struct pmv_trial *t, const struct pmv_cm_event *ev)
{
	switch (ev->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
		side.error = complain("route", pmv_cm_resolve_route(side.data_id, RESOLVE_MS));
		break;
	case PMV_CM_EVENT_CONNECT_REQUEST:
		side.data_id = ev->id;
		side.error = answer_data(t);
		break;
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		side.error = answer_data(t);
		break;
	case PMV_CM_EVENT_ESTABLISHED:
		count_up(t);
		break;
	case PMV_CM_EVENT_DISCONNECTED:
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		on_failure(t, ev);
	}
}

static void
on_event(struct pmv_trial *t, const struct pmv_cm_event *ev)
{
	if (ev->id == side.data_id ||
		(ev->listen_id != NULL && ev->listen_id == side.data_listener)) {
		on_data_event(t, ev);
		return;
	}
	if (ev->param.private_data_len >= PMV_TRIAL_PLACE_BYTES)
		pmv_trial_place_parse(ev->param.private_data, &t->peer);
	switch (ev->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
		side.error = complain("route", pmv_cm_resolve_route(side.id, RESOLVE_MS));
		break;
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		side.error = answer(t);
		break;
	case PMV_CM_EVENT_CONNECT_REQUEST:
		side.id = ev->id;
		side.error = answer(t);
		break;
	case PMV_CM_EVENT_ESTABLISHED:
		side.error = bring_up_data(t);
		count_up(t);
		break;
	case PMV_CM_EVENT_DISCONNECTED:
		t->is_gone = true;
		break;
	case PMV_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		on_failure(t, ev);
	}
}

static void
turn(struct pmv_trial *t)
{
	struct pmv_cm_event *ev;

	pmv_app_endpoint_poll(&side.ep);
	while (pmv_cm_get_event(side.ep.cm, &ev) > 0) {
		on_event(t, ev);
		pmv_cm_ack_event(side.ep.cm, ev);
	}
}

static int
start(struct pmv_trial *t)
{
	int ret = make_id(t, PMV_PS_TCP, PMV_QPT_RC, t->is_client ? &side.id : &side.listener);

	if (ret == 0 && t->c->by_cm && !t->is_client)
		ret = make_id(t, PMV_PS_IB, PMV_QPT_UC, &side.data_listener);
	return ret;
}

/* What we send is lost as often as what the guest sends, which its qdisc sees to. */
static int
add_loss(const struct pmv_trial *t)
{
	struct pmv_fault_rule rule = {
		.action = PMV_FAULT_DROP,
		.dirs = PMV_FAULT_TX,
		.probability = LOSS,
		.opcode = -1,
		.qpn = -1,
		.cm_attr = -1,
	};

	return t->is_lossy ? complain("loss", pmv_fault_add(side.ep.worker, &rule, LOSS_SEED)) : 0;
}

static int
begin(struct pmv_trial *t)
{
	uint64_t end = pmv_trial_now_ms() + CONNECT_MS;
	int ret = add_loss(t);

	if (ret == 0)
		ret = make_memory(t);
	if (ret == 0)
		ret = start(t);
	if (ret != 0)
		return ret;
	while (!side.is_established && side.error == 0 && !pmv_app_stop) {
		turn(t);
		if (t->is_client && pmv_trial_now_ms() > end)
			return complain("connection", -ETIMEDOUT);
	}
	return pmv_app_stop ? -EINTR : side.error;
}

static uint32_t
fill_sges(const struct pmv_trial *t, uint32_t at, uint32_t length, uint32_t split,
	struct pmv_sge *sges)
{
	uint64_t addr = (uintptr_t)t->buf + at;
	uint32_t lkey = pmv_mr_lkey(side.mr);

	sges[0] = (struct pmv_sge){ addr, split != 0 ? split : length, lkey };
	sges[1] = (struct pmv_sge){ addr + split, length - split, lkey };
	return length == 0 ? 0 : split != 0 ? 2 : 1;
}

int
pmv_trial_side_send(struct pmv_trial *t, const struct pmv_trial_wr *wr)
{
	struct pmv_sge sges[2];
	struct pmv_send_wr v = {
		.wr_id = wr->wr_id,
		.sg_list = sges,
		.num_sge = fill_sges(t, wr->at, wr->length, wr->split, sges),
		.opcode = (enum pmv_wr_opcode)wr->opcode,
		.send_flags = wr->flags,
		.imm_data = htonl(wr->imm),
	};
	int ret;

	if (wr->on_data && t->c->transport == PMV_TRIAL_UD) {
		v.wr.ud.ah = side.ah;
		v.wr.ud.remote_qpn = t->peer.qpn;
		v.wr.ud.remote_qkey = PMV_TRIAL_QKEY;
	} else if (pmv_trial_opcode_is_atomic(wr->opcode)) {
		v.wr.atomic.remote_addr = wr->remote_addr;
		v.wr.atomic.rkey = wr->rkey;
		v.wr.atomic.compare_add = wr->compare_add;
		v.wr.atomic.swap = wr->swap;
	} else {
		v.wr.rdma.remote_addr = wr->remote_addr;
		v.wr.rdma.rkey = wr->rkey;
	}
	if (wr->opcode == PMV_TRIAL_SEND_INV)
		v.invalidate_rkey = wr->inv_key;
	ret = pmv_post_send(wr->on_data ? side.data : side.rc, &v, 1);
	return ret == 1 ? 0 : complain("a request is not taken", ret < 0 ? ret : -EIO);
}

int
pmv_trial_side_bind(struct pmv_trial *t, uint64_t wr_id, uint32_t *ret_key)
{
	const struct pmv_mw_bind bind = { side.mr, (uintptr_t)t->buf, PMV_TRIAL_DATA_BYTES,
		REMOTE };
	struct pmv_send_wr v = {
		.wr_id = wr_id,
		.opcode = PMV_WR_BIND_MW,
		.send_flags = PMV_SEND_SIGNALED,
		.wr.bind_mw = { side.mw, pmv_inc_rkey(pmv_mw_rkey(side.mw)), &bind },
	};
	int ret = pmv_post_send(side.rc, &v, 1);

	*ret_key = v.wr.bind_mw.rkey;
	return ret == 1 ? 0 : complain("a bind is not taken", ret < 0 ? ret : -EIO);
}

int
pmv_trial_side_invalidate(struct pmv_trial *t, uint64_t wr_id, uint32_t key)
{
	struct pmv_send_wr v = {
		.wr_id = wr_id,
		.opcode = PMV_WR_LOCAL_INV,
		.send_flags = PMV_SEND_SIGNALED,
		.invalidate_rkey = key,
	};
	int ret = pmv_post_send(side.rc, &v, 1);

	return ret == 1 ? 0 : complain("an invalidation is not taken", ret < 0 ? ret : -EIO);
}

int
pmv_trial_side_recv(struct pmv_trial *t, bool on_data, uint64_t wr_id, uint32_t at, uint32_t length,
	uint32_t split)
{
	struct pmv_sge sges[2];
	struct pmv_recv_wr v = {
		.wr_id = wr_id,
		.sg_list = sges,
		.num_sge = fill_sges(t, at, length, split, sges),
	};
	struct pmv_qp *qp = on_data ? side.data : side.rc;
	int ret = side.srq != NULL && qp == side.data ? pmv_post_srq_recv(side.srq, &v, 1)
						      : pmv_post_recv(qp, &v, 1);

	return ret == 1 ? 0 : complain("a receive is not taken", ret < 0 ? ret : -EIO);
}

int
pmv_trial_side_poll(struct pmv_trial *t, struct pmv_trial_wc *ret_wc)
{
	struct pmv_wc wc;

	/* Before the turn: completions that are there already count, whatever the turn brings. */
	if (pmv_poll_cq(side.cq, &wc, 1) == 0) {
		turn(t);
		if (pmv_app_stop)
			t->is_gone = true;
		return 0;
	}
	*ret_wc = (struct pmv_trial_wc){ wc.wr_id, wc.status, wc.opcode, wc.byte_len,
		wc.wc_flags & ~(uint32_t)PMV_WC_SOLICITED, ntohl(wc.imm_data), wc.invalidated_rkey,
		wc.src_qp };
	ret_wc->tells_solicited = true;
	ret_wc->solicited = (wc.wc_flags & PMV_WC_SOLICITED) != 0;
	return 1;
}

/* The handle goes at once; MW_RELEASED follows if the worker may still be looking at its key. */
static int
free_mw(void)
{
	uint64_t until = pmv_trial_now_ms() + LEAVE_MS;
	int ret = pmv_dealloc_mw(side.mw);
	struct pmv_event event;

	while (ret == -EINPROGRESS && pmv_trial_now_ms() < until) {
		pmv_app_endpoint_poll(&side.ep);
		while (pmv_poll_async_event(side.ep.device, &event) > 0)
			if (event.type == PMV_EVENT_MW_RELEASED)
				ret = 0;
	}
	return complain("the memory window's end", ret);
}

static int
end(struct pmv_trial *t)
{
	uint64_t until = pmv_trial_now_ms() + LEAVE_MS;
	int ret = 0;

	if (side.is_established && !t->is_gone) {
		if (side.data_id != NULL)
			pmv_cm_disconnect(side.data_id);
		pmv_cm_disconnect(side.id);
	}
	while (side.is_established && !t->is_gone && pmv_trial_now_ms() < until)
		turn(t);
	pmv_app_endpoint_drain(&side.ep, DRAIN_MS);
	if (side.data_id != NULL && side.data != side.rc)
		ret |= complain("the data queue pair's end", pmv_cm_destroy_qp(side.data_id));
	else if (side.data != side.rc)
		ret |= complain("the data queue pair's end", pmv_destroy_qp(side.data));
	if (side.data_id != NULL)
		pmv_cm_destroy_id(side.data_id);
	if (side.data_listener != NULL)
		pmv_cm_destroy_id(side.data_listener);
	if (side.ah != NULL)
		ret |= complain("the address handle's end", pmv_destroy_ah(side.ah));
	if (side.rc != NULL)
		ret |= complain("the queue pair's end", pmv_cm_destroy_qp(side.id));
	if (side.id != NULL)
		pmv_cm_destroy_id(side.id);
	if (side.listener != NULL)
		pmv_cm_destroy_id(side.listener);
	if (side.mw != NULL)
		ret |= free_mw();
	ret |= pmv_app_endpoint_free_cq(&side.ep, side.cq);
	if (side.srq != NULL)
		ret |= complain("the shared receive queue's end", pmv_destroy_srq(side.srq));
	ret |= pmv_app_endpoint_free_mr(&side.ep, side.mr);
	if (side.pd != NULL)
		ret |= complain("the protection domain's end", pmv_dealloc_pd(side.pd));
	if (t->buf != NULL)
		pmv_buf_free(t->buf, PMV_TRIAL_BUF_BYTES);
	return ret | pmv_app_endpoint_close(&side.ep);
}

static int
take_option(void *arg, int code, const char *text)
{
	(void)arg;
	(void)code;
	if (side.nb_words + 1 < WORDS_MAX)
		side.words[side.nb_words++] = (char *)(uintptr_t)text;
	return 0;
}

int
main(int argc, char **argv)
{
	struct pmv_app_spec spec = {
		.usage = "-t CASE -t connect|listen -t request|respond -t clean|lossy "
			 "-t ADDRESS -t PORT [options]\n",
		.short_options = "t:",
		.take = take_option,
	};
	struct pmv_app_options options = { 0 };
	struct pmv_app_args args;
	struct pmv_trial t;
	int status;

	side.words[side.nb_words++] = argv[0];
	status = pmv_app_begin(argc, argv, &spec, &args, &options);
	if (status >= 0)
		return status;
	status = pmv_trial_parse(&t, side.nb_words, side.words);
	t.short_recv_status = PMV_WC_LOC_LEN_ERR;
	t.long_send_status = PMV_WC_REM_OP_ERR;
	if (status == 0)
		status = pmv_app_endpoint_open(&options, &side.ep);
	if (status == 0)
		status = pmv_app_endpoint_attach(&side.ep);
	if (status == 0) {
		status = begin(&t);
		if (status == 0) {
			pmv_trial_run(&t);
			status = pmv_trial_finish(&t);
		}
		status |= end(&t);
	}
	return pmv_app_finish(&args, status != 0);
}
