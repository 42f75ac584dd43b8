// SPDX-License-Identifier: BSD-3-Clause
/*
 * Linux's side of a trial: plain libibverbs and librdmacm, for the guest with soft RoCE. linux_peer
 * builds it into the guest's image. One thread; completions are polled, events as well once the
 * connection stands.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "test/system/trial/trial.h"

#define RESOLVE_MS                10000
#define NUDGE_MS                  200u
#define KERNEL_WC_WITH_INVALIDATE (1u << 2)
/* Idle polls between two looks at the events. */
#define POLLS_PER_EVENT 64u
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)
#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

_Static_assert(IBV_WR_RDMA_WRITE == (int)PMV_TRIAL_WRITE, "");
_Static_assert(IBV_WR_RDMA_WRITE_WITH_IMM == (int)PMV_TRIAL_WRITE_IMM, "");
_Static_assert(IBV_WR_SEND == (int)PMV_TRIAL_SEND, "");
_Static_assert(IBV_WR_SEND_WITH_IMM == (int)PMV_TRIAL_SEND_IMM, "");
_Static_assert(IBV_WR_RDMA_READ == (int)PMV_TRIAL_READ, "");
_Static_assert(IBV_WR_ATOMIC_CMP_AND_SWP == (int)PMV_TRIAL_COMP_SWAP, "");
_Static_assert(IBV_WR_ATOMIC_FETCH_AND_ADD == (int)PMV_TRIAL_FETCH_ADD, "");
_Static_assert(IBV_WR_SEND_WITH_INV == (int)PMV_TRIAL_SEND_INV, "");
_Static_assert(IBV_SEND_SIGNALED == (int)PMV_TRIAL_SIGNALED, "");
_Static_assert(IBV_SEND_SOLICITED == (int)PMV_TRIAL_SOLICITED, "");
_Static_assert(IBV_SEND_INLINE == (int)PMV_TRIAL_INLINE, "");
_Static_assert(IBV_QPT_RC == (int)PMV_TRIAL_RC && IBV_QPT_UC == (int)PMV_TRIAL_UC, "");
_Static_assert(IBV_QPT_UD == (int)PMV_TRIAL_UD, "");

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct rdma_cm_id *data_listener; /* of cases by_cm */
	struct rdma_cm_id *data_id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;   /* responder */
	struct ibv_qp *data; /* UC, UD; RC: the id's */
	struct ibv_ah *ah;
	uint32_t nb_idle;
	uint64_t busy_at; /* ms: the last completion, or the last nudge */
} side;

static int
complain(const char *what, int ret)
{
	if (ret != 0)
		printf("trial: %s: %s\n", what, strerror(ret > 0 ? ret : errno));
	return ret;
}

/* The next event, which must be this one. Its private data is the peer's place, if it has any. */
static int
take_event(struct pmv_trial *t, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	int ret = complain("no event", rdma_get_cm_event(side.channel, &ev));

	if (ret != 0)
		return ret;
	if (ev->event != type) {
		printf("trial: %s, status %d, instead of %s\n", rdma_event_str(ev->event),
			ev->status, rdma_event_str(type));
		ret = -EPROTO;
	} else {
		side.id = ev->id;
		if (ev->param.conn.private_data_len >= PMV_TRIAL_PLACE_BYTES)
			pmv_trial_place_parse(ev->param.conn.private_data, &t->peer);
	}
	rdma_ack_cm_event(ev);
	return ret;
}

static void
fill_init_attr(const struct pmv_trial *t, bool is_data, struct ibv_qp_init_attr *attr)
{
	*attr = (struct ibv_qp_init_attr){
		.send_cq = side.cq,
		.recv_cq = side.cq,
		.cap = { .max_send_wr = PMV_TRIAL_WR_MAX,
			.max_recv_wr = PMV_TRIAL_WR_MAX,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = PMV_TRIAL_INLINE_MAX },
		.qp_type = is_data ? (enum ibv_qp_type)t->c->transport : IBV_QPT_RC,
	};
	if (is_data || t->c->transport == PMV_TRIAL_RC)
		attr->srq = side.srq;
}

static int
make_srq(const struct pmv_trial *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = PMV_TRIAL_WR_MAX, .max_sge = 2 } };

	if (!t->c->has_srq || t->is_requester)
		return 0;
	side.srq = ibv_create_srq(side.pd, &attr);
	return complain("no shared receive queue", side.srq != NULL ? 0 : -1);
}

static int
make_objects(struct pmv_trial *t)
{
	bool has_mw = t->c->has_mw && !t->is_requester;
	uint8_t timeout = PMV_TRIAL_ACK_TIMEOUT;
	struct ibv_qp_init_attr attr;
	int ret;

	t->buf = aligned_alloc(4096, PMV_TRIAL_BUF_BYTES);
	side.pd = ibv_alloc_pd(side.id->verbs);
	if (t->buf == NULL || side.pd == NULL)
		return complain("no protection domain", -1);
	side.cq = ibv_create_cq(side.id->verbs, 4 * PMV_TRIAL_WR_MAX, NULL, NULL, 0);
	side.mr = ibv_reg_mr(
		side.pd, t->buf, PMV_TRIAL_BUF_BYTES, ACCESS | (has_mw ? IBV_ACCESS_MW_BIND : 0));
	if (side.cq == NULL || side.mr == NULL)
		return complain("no completion queue or memory region", -1);
	if (has_mw) {
		side.mw = ibv_alloc_mw(side.pd, IBV_MW_TYPE_2);
		if (side.mw == NULL)
			return complain("no memory window", -1);
	}
	ret = make_srq(t);
	fill_init_attr(t, false, &attr);
	if (ret == 0)
		ret = complain("no queue pair", rdma_create_qp(side.id, side.pd, &attr));
	if (ret == 0)
		ret = complain("no ACK timeout",
			rdma_set_option(side.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				&timeout, sizeof(timeout)));
	if (ret != 0)
		return ret;
	side.data = side.id->qp;
	if (t->c->transport != PMV_TRIAL_RC && !t->c->by_cm) {
		fill_init_attr(t, true, &attr);
		side.data = ibv_create_qp(side.pd, &attr);
		if (side.data == NULL)
			return complain("no data queue pair", -1);
	}
	t->mine = (struct pmv_trial_place){ (uintptr_t)t->buf, side.mr->rkey, PMV_TRIAL_DATA_BYTES,
		side.data->qp_num, 0xfffff0 };
	return 0;
}

static struct sockaddr *
make_sockaddr(const struct pmv_trial *t, struct sockaddr_storage *addr)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = t->is_v6 ? AF_INET6 : AF_INET;
	v4->sin_port = htons(t->port); /* at the same place in both */
	inet_pton(addr->ss_family, t->address,
		t->is_v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr);
	return (struct sockaddr *)addr;
}

/* An id for UC. rdma_create_id() knows none, and user space gets one in the IB port space only. Its
 * calls wait for what they start. */
static int
make_data_id(const struct pmv_trial *t, struct rdma_cm_id **ret_id)
{
	struct sockaddr_storage addr;
	struct rdma_addrinfo ai = {
		.ai_flags = t->is_client ? 0 : RAI_PASSIVE,
		.ai_qp_type = IBV_QPT_UC,
		.ai_port_space = RDMA_PS_IB,
	};

	if (t->is_client)
		ai.ai_dst_addr = make_sockaddr(t, &addr);
	else
		ai.ai_src_addr = make_sockaddr(t, &addr);
	ai.ai_family = addr.ss_family;
	*(t->is_client ? &ai.ai_dst_len : &ai.ai_src_len) =
		t->is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	return complain("no id for the data", rdma_create_ep(ret_id, &ai, NULL, NULL));
}

/* The second connection. */
static int
connect_data(const struct pmv_trial *t)
{
	struct rdma_conn_param param = { 0 };
	struct ibv_qp_init_attr attr;
	int ret = t->is_client ? make_data_id(t, &side.data_id)
			       : complain("no request for the data",
					 rdma_get_request(side.data_listener, &side.data_id));

	if (ret != 0)
		return ret;
	fill_init_attr(t, true, &attr);
	ret = complain("no data queue pair", rdma_create_qp(side.data_id, side.pd, &attr));
	if (ret != 0)
		return ret;
	side.data = side.data_id->qp;
	return complain("the data connection", t->is_client ? rdma_connect(side.data_id, &param)
							    : rdma_accept(side.data_id, &param));
}

static int
connect_to_server(struct pmv_trial *t, struct rdma_conn_param *param)
{
	struct sockaddr_storage addr;
	int ret = complain("no id", rdma_create_id(side.channel, &side.id, NULL, RDMA_PS_TCP));

	if (ret == 0)
		ret = complain("address",
			rdma_resolve_addr(side.id, NULL, make_sockaddr(t, &addr), RESOLVE_MS));
	if (ret == 0)
		ret = take_event(t, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret == 0)
		ret = complain("route", rdma_resolve_route(side.id, RESOLVE_MS));
	if (ret == 0)
		ret = take_event(t, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (ret == 0)
		ret = make_objects(t);
	if (ret != 0)
		return ret;
	pmv_trial_place_build(&t->mine, (uint8_t *)(uintptr_t)param->private_data);
	return complain("connect", rdma_connect(side.id, param));
}

static int
accept_client(struct pmv_trial *t, struct rdma_conn_param *param)
{
	struct sockaddr_storage addr;
	int ret =
		complain("no id", rdma_create_id(side.channel, &side.listener, NULL, RDMA_PS_TCP));

	if (ret == 0)
		ret = complain("bind", rdma_bind_addr(side.listener, make_sockaddr(t, &addr)));
	if (ret == 0)
		ret = complain("listen", rdma_listen(side.listener, 1));
	if (ret == 0 && t->c->by_cm)
		ret = make_data_id(t, &side.data_listener);
	if (ret == 0 && t->c->by_cm)
		ret = complain("listen for the data", rdma_listen(side.data_listener, 1));
	if (ret == 0)
		ret = take_event(t, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (ret == 0)
		ret = make_objects(t);
	if (ret != 0)
		return ret;
	pmv_trial_place_build(&t->mine, (uint8_t *)(uintptr_t)param->private_data);
	return complain("accept", rdma_accept(side.id, param));
}

/* The data queue pair goes where the connection goes: by hand, beside it. */
static int
move_data_qp(const struct pmv_trial *t, const struct ibv_qp_attr *rc)
{
	bool is_ud = t->c->transport == PMV_TRIAL_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = PMV_TRIAL_QKEY,
		.qp_access_flags = ACCESS,
		.path_mtu = rc->path_mtu,
		.dest_qp_num = t->peer.qpn,
		.rq_psn = t->peer.psn,
		.sq_psn = t->mine.psn,
		.ah_attr = rc->ah_attr,
	};
	int ret = ibv_modify_qp(side.data, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));

	attr.qp_state = IBV_QPS_RTR;
	if (ret == 0)
		ret = ibv_modify_qp(side.data, &attr,
			is_ud ? IBV_QP_STATE
			      : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN);
	attr.qp_state = IBV_QPS_RTS;
	if (ret == 0)
		ret = ibv_modify_qp(side.data, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return complain("the data queue pair", ret);
}

static void
store_address(const struct sockaddr *addr, uint8_t *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (addr->sa_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
		return;
	}
	memcpy(gid, mapped, sizeof(mapped));
	memcpy(gid + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
}

static int
bring_up_data(struct pmv_trial *t)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr rc;
	int ret;

	store_address(rdma_get_peer_addr(side.id), t->grh_src);
	store_address(rdma_get_local_addr(side.id), t->grh_dst);
	ret = complain("query of the queue pair",
		ibv_query_qp(side.id->qp, &rc, IBV_QP_AV | IBV_QP_PATH_MTU, &init));
	if (ret == 0)
		pmv_trial_check_mtu(t, rc.path_mtu);
	if (t->c->transport == PMV_TRIAL_RC || ret != 0)
		return ret;
	if (t->c->by_cm)
		return connect_data(t);
	ret = move_data_qp(t, &rc);
	if (ret != 0 || t->c->transport != PMV_TRIAL_UD)
		return ret;
	side.ah = ibv_create_ah(side.pd, &rc.ah_attr);
	return complain("no address handle", side.ah != NULL ? 0 : -1);
}

static int
begin(struct pmv_trial *t)
{
	uint8_t place[PMV_TRIAL_PLACE_BYTES] = { 0 };
	struct rdma_conn_param param = {
		.private_data = place,
		.private_data_len = sizeof(place),
		.responder_resources = PMV_TRIAL_RD_ATOMIC,
		.initiator_depth = PMV_TRIAL_RD_ATOMIC,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret;

	side.channel = rdma_create_event_channel();
	if (side.channel == NULL)
		return complain("no event channel", -1);
	ret = t->is_client ? connect_to_server(t, &param) : accept_client(t, &param);
	if (ret == 0)
		ret = take_event(t, RDMA_CM_EVENT_ESTABLISHED);
	if (ret == 0)
		ret = bring_up_data(t);
	if (ret == 0)
		ret = fcntl(side.channel->fd, F_SETFL, O_NONBLOCK);
	return ret;
}

static int
fill_sges(const struct pmv_trial *t, uint32_t at, uint32_t length, uint32_t split,
	struct ibv_sge *sges)
{
	uint64_t addr = (uintptr_t)t->buf + at;

	sges[0] = (struct ibv_sge){ addr, split != 0 ? split : length, side.mr->lkey };
	sges[1] = (struct ibv_sge){ addr + split, length - split, side.mr->lkey };
	return length == 0 ? 0 : split != 0 ? 2 : 1;
}

int
pmv_trial_side_send(struct pmv_trial *t, const struct pmv_trial_wr *wr)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr *bad;
	struct ibv_send_wr v = {
		.wr_id = wr->wr_id,
		.sg_list = sges,
		.num_sge = fill_sges(t, wr->at, wr->length, wr->split, sges),
		.opcode = (enum ibv_wr_opcode)wr->opcode,
		.send_flags = wr->flags,
		.imm_data = htonl(wr->imm),
	};

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
	return -complain("a request is not taken",
		ibv_post_send(wr->on_data ? side.data : side.id->qp, &v, &bad));
}

/* rxe looks a window up by the key that it has now, and gives it the new one (6.1, rxe_bind_mw). */
int
pmv_trial_side_bind(struct pmv_trial *t, uint64_t wr_id, uint32_t *ret_key)
{
	uint32_t key = ibv_inc_rkey(side.mw->rkey);
	struct ibv_send_wr *bad;
	struct ibv_send_wr v = {
		.wr_id = wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = side.mw,
			.rkey = key,
			.bind_info = { side.mr, (uintptr_t)t->buf, PMV_TRIAL_DATA_BYTES, REMOTE } },
	};
	int ret = complain("a bind is not taken", ibv_post_send(side.id->qp, &v, &bad));

	if (ret != 0)
		return -ret;
	side.mw->rkey = key;
	*ret_key = key;
	return 0;
}

int
pmv_trial_side_invalidate(struct pmv_trial *t, uint64_t wr_id, uint32_t key)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr v = {
		.wr_id = wr_id,
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = key,
	};

	return -complain("an invalidation is not taken", ibv_post_send(side.id->qp, &v, &bad));
}

int
pmv_trial_side_recv(struct pmv_trial *t, bool on_data, uint64_t wr_id, uint32_t at, uint32_t length,
	uint32_t split)
{
	struct ibv_qp *qp = on_data ? side.data : side.id->qp;
	struct ibv_sge sges[2];
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr v = {
		.wr_id = wr_id,
		.sg_list = sges,
		.num_sge = fill_sges(t, at, length, split, sges),
	};

	if (side.srq != NULL && qp == side.data)
		return -complain("a receive is not taken", ibv_post_srq_recv(side.srq, &v, &bad));
	return -complain("a receive is not taken", ibv_post_recv(qp, &v, &bad));
}

static void
look_at_events(struct pmv_trial *t)
{
	struct rdma_cm_event *ev;

	while (rdma_get_cm_event(side.channel, &ev) == 0) {
		if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
			t->is_gone = true;
		rdma_ack_cm_event(ev);
	}
}

/*
 * rxe stops sending when 64 of its frames are on their way to the wire, and sometimes does not go
 * on when they are there (6.1, rxe_requester); UC has no answer that would wake it. Any call of
 * ibv_post_send() does, also one whose request librxe refuses: an atomic of no bytes.
 */
static void
nudge(const struct pmv_trial *t)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr v = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t now = pmv_trial_now_ms();

	if (t->c->transport != PMV_TRIAL_UC || !t->is_requester || now - side.busy_at < NUDGE_MS)
		return;
	side.busy_at = now;
	if (ibv_post_send(side.data, &v, &bad) == 0)
		complain("an atomic of no bytes was taken", -1);
}

int
pmv_trial_side_poll(struct pmv_trial *t, struct pmv_trial_wc *ret_wc)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(side.cq, 1, &wc) <= 0) {
		if (++side.nb_idle % POLLS_PER_EVENT == 0) {
			look_at_events(t);
			nudge(t);
		}
		sched_yield();
		return 0;
	}
	side.busy_at = pmv_trial_now_ms();
	/* rxe says so of every receive (6.1, do_complete); ibv_poll_cq(3) gives it a sense for UD
	 * only. */
	if (t->c->transport != PMV_TRIAL_UD)
		wc.wc_flags &= ~(unsigned int)IBV_WC_GRH;
	/* rxe hands on the kernel's number of this flag (6.1, do_complete), which is another one's
	 * here. */
	if (wc.wc_flags & KERNEL_WC_WITH_INVALIDATE)
		wc.wc_flags ^= KERNEL_WC_WITH_INVALIDATE | IBV_WC_WITH_INV;
	*ret_wc = (struct pmv_trial_wc){ wc.wr_id, wc.status, wc.opcode, wc.byte_len, wc.wc_flags,
		ntohl(wc.imm_data), wc.invalidated_rkey, wc.src_qp };
	return 1;
}

/* The requester leaves: it waits for the answer to its DREQ, whose repetition ends with the
 * process. */
static void
end(struct pmv_trial *t)
{
	uint64_t until = pmv_trial_now_ms() + 5000;

	if (!t->is_gone)
		rdma_disconnect(side.id);
	while (!t->is_gone && pmv_trial_now_ms() < until) {
		look_at_events(t);
		sched_yield();
	}
	if (side.ah != NULL)
		ibv_destroy_ah(side.ah);
	if (side.data_id != NULL)
		rdma_destroy_ep(side.data_id); /* DREQ or DREP, and no wait */
	else if (side.data != side.id->qp)
		ibv_destroy_qp(side.data);
	if (side.data_listener != NULL)
		rdma_destroy_ep(side.data_listener);
	rdma_destroy_qp(side.id);
	if (side.mw != NULL)
		complain("the memory window stays", ibv_dealloc_mw(side.mw));
	rdma_destroy_id(side.id);
	if (side.listener != NULL)
		rdma_destroy_id(side.listener);
}

int
main(int argc, char **argv)
{
	struct pmv_trial t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pmv_trial_parse(&t, argc, argv) != 0)
		return 2;
	t.short_recv_status = IBV_WC_LOC_QP_OP_ERR;
	t.long_send_status = IBV_WC_REM_INV_REQ_ERR;
	if (begin(&t) != 0)
		return 1;
	pmv_trial_run(&t);
	end(&t);
	return pmv_trial_finish(&t);
}
