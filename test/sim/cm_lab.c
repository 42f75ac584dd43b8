// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/cm_lab.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/ip_hdr.h"
#include "lib/wire/gid.h"
#include "lib/wire/mad.h"

/* ---- The wire ---- */

static bool
is_arp_or_nd(const uint8_t *frame, uint32_t len)
{
	uint32_t off = 12;

	if (pmv_be16_load(frame + off) == PMV_ETHERTYPE_VLAN)
		off += 4;
	if (pmv_be16_load(frame + off) == PMV_ETHERTYPE_ARP)
		return true;
	/* ICMPv6 135, 136 */
	return pmv_be16_load(frame + off) == PMV_ETHERTYPE_IPV6 && len > off + 44 &&
	       frame[off + 8] == 58 && (frame[off + 42] == 135 || frame[off + 42] == 136);
}

static enum pmv_test_fate
record(struct cm_lab_side *s, const struct pmv_mad_view *v, const uint8_t *frame)
{
	struct cm_lab_frame *f = &s->sent[s->nb_sent];
	uint16_t attr = v->hdr.attr_id;
	uint32_t n;

	assert_true(s->nb_sent < CM_LAB_SENT);
	assert_true(attr < 0x20);
	assert_int_equal(pmv_cm_msg_parse(v->mad, PMV_MAD_LEN, &f->msg), PMV_CM_MSG_OK);
	assert_true(pmv_cm_msg_reserved_zero(v->mad));
	memcpy(f->mad, v->mad, PMV_MAD_LEN);
	memcpy(f->dmac, frame, 6);
	f->at = s->lab->pair.now;
	f->tos = v->ip.tos;
	f->ttl = v->ip.ttl;
	f->udp_sport = v->ip.udp_sport;
	n = s->nb_seen[attr]++;
	f->dropped = s->drop_all || (n < 64 && (s->drop[attr] >> n & 1));
	s->nb_sent++;
	return f->dropped ? PMV_TEST_DROP : s->dup_all ? PMV_TEST_DUP : PMV_TEST_PASS;
}

static enum pmv_test_fate
wire_hook(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct cm_lab_side *s = arg;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *copy;
	struct pmv_mad_view view;

	if (m->nb_segs == 1 && pmv_mad_frame_parse(frame, m->pkt_len, &view) == PMV_WIRE_OK)
		return record(s, &view, frame);
	s->nb_other++;
	s->other_len = RTE_MIN(m->pkt_len, (uint32_t)sizeof(s->other));
	copy = rte_pktmbuf_read(m, 0, s->other_len, s->other);
	if (copy != s->other)
		memcpy(s->other, copy, s->other_len);
	if (s->drop_all || (s->drop_arp && is_arp_or_nd(frame, m->pkt_len)))
		return PMV_TEST_DROP;
	return s->dup_all ? PMV_TEST_DUP : PMV_TEST_PASS;
}

/* ---- The application ---- */

struct pmv_qp *
cm_lab_qp(struct cm_lab *lab, struct pmv_cm_id *id)
{
	int side = pmv_cm_id_device(id) == lab->pair.node[1].dev;
	struct pmv_test_node *node = &lab->pair.node[side];
	struct pmv_qp_init_attr init = { .send_cq = node->cq[0],
		.recv_cq = node->cq[0],
		.srq = lab->srq[side],
		.qp_type = lab->qp_type,
		.cap = { .max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64 } };

	assert_int_equal(pmv_cm_create_qp(id, node->pd, node->worker[0], &init), 0);
	assert_non_null(pmv_cm_id_qp(id));
	return pmv_cm_id_qp(id);
}

static void
act(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	switch (e->event) {
	case PMV_CM_EVENT_ADDR_RESOLVED:
		assert_int_equal(pmv_cm_resolve_route(e->id, 2000), 0);
		break;
	case PMV_CM_EVENT_ROUTE_RESOLVED:
		cm_lab_qp(s->lab, e->id);
		assert_int_equal(pmv_cm_connect(e->id, s->param), 0);
		break;
	case PMV_CM_EVENT_CONNECT_REQUEST:
		if (s->no_accept)
			break;
		cm_lab_qp(s->lab, e->id);
		assert_int_equal(pmv_cm_accept(e->id, s->param), 0);
		break;
	default:
		break;
	}
}

static void
note(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	struct cm_lab_event *r = &s->ev[s->nb_ev];

	assert_true(s->nb_ev < CM_LAB_EVENTS);
	r->event = e->event;
	r->id = e->id;
	r->status = e->status;
	r->param = e->param;
	r->ece = e->ece;
	r->at = s->lab->pair.now;
	if (e->param.private_data_len != 0)
		memcpy(r->private_data, e->param.private_data, e->param.private_data_len);
	s->nb_ev++;
	if (e->event == PMV_CM_EVENT_CONNECT_REQUEST) {
		assert_non_null(e->listen_id);
		s->listener = e->listen_id;
		assert_true(s->nb_ids < CM_LAB_IDS);
		s->ids[s->nb_ids++] = e->id;
	}
}

static int
handle(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	int ret = 0;

	note(s, e);
	if (s->on_event != NULL)
		ret = s->on_event(s, e);
	if (ret == 0 && !s->hands_off)
		act(s, e);
	return ret < 0 ? ret : 0;
}

static int
handler(struct pmv_cm_id *id, const struct pmv_cm_event *e)
{
	assert_ptr_equal(id, e->id);
	return handle(pmv_cm_id_context(id), e);
}

static void
poll_side(struct cm_lab_side *s, uint64_t now)
{
	struct pmv_cm_event *e;

	pmv_cm_poll_at(s->cm, now);
	while (pmv_cm_get_event(s->cm, &e) == 1) {
		handle(s, e);
		pmv_cm_ack_event(s->cm, e);
	}
}

static void
poll_both(void *arg, uint64_t now)
{
	struct cm_lab *lab = arg;

	for (int side = 0; side < 2; side++)
		if (!lab->stopped[side])
			poll_side(&lab->s[side], now);
}

/* ---- Open, close, run ---- */

void
cm_lab_open(struct cm_lab *lab, const struct cm_lab_param *param)
{
	const struct pmv_test_pair_param pp = { .vlan_id = param->vlan_id,
		.ip_mtu = param->ip_mtu,
		.ownership = param->ownership,
		.seed = param->seed != 0 ? param->seed : 7 };

	memset(lab, 0, sizeof(*lab));
	lab->step_us = 10;
	lab->ps = PMV_PS_TCP;
	lab->qp_type = PMV_QPT_RC;
	lab->use_ring = param->use_ring;
	pmv_test_pair_open(&lab->pair, &pp);
	for (int side = 0; side < 2; side++) {
		struct cm_lab_side *s = &lab->s[side];
		const struct pmv_cm_param cp = { .id_max = param->id_max,
			.socket_id = -1,
			.seed = pp.seed + 100 + (uint64_t)side };

		s->lab = lab;
		s->side = side;
		assert_int_equal(pmv_cm_create(&cp, &s->cm), 0);
		assert_int_equal(pmv_cm_add_device(s->cm, lab->pair.node[side].dev), 0);
		assert_int_equal(pmv_cm_attach(s->cm), 0);
		lab->pair.link->end[side].out.hook = wire_hook;
		lab->pair.link->end[side].out.hook_arg = s;
	}
	lab->pair.extra = poll_both;
	lab->pair.extra_arg = lab;
}

void
cm_lab_run(struct cm_lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, lab->step_us);
}

void
cm_lab_run_slow(struct cm_lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, 1000);
}

static void
close_side(struct cm_lab *lab, int side)
{
	struct cm_lab_side *s = &lab->s[side];
	struct pmv_cm_id *id;

	/* The device goes first: no id keeps a neighbour, a port, a comm ID. */
	while ((id = TAILQ_FIRST(&s->cm->ids)) != NULL)
		cm_lab_destroy(lab, side, id);
}

void
cm_lab_close(struct cm_lab *lab)
{
	for (int side = 0; side < 2; side++) {
		lab->s[side].drop_all = lab->s[side].dup_all = lab->s[side].drop_arp = false;
		memset(lab->s[side].drop, 0, sizeof(lab->s[side].drop));
		lab->stopped[side] = false;
		close_side(lab, side);
	}
	cm_lab_run_slow(lab, 31000000);
	for (int side = 0; side < 2; side++) {
		struct cm_lab_side *s = &lab->s[side];

		assert_int_equal(s->cm->comm_ids.nb, 0);
		assert_int_equal(s->cm->peer_ids.nb, 0);
		assert_int_equal(s->cm->peer_qpns.nb, 0);
		assert_int_equal(s->cm->wheel.nb_armed, 0);
		assert_true(TAILQ_EMPTY(&s->cm->lingering));
		assert_true(TAILQ_EMPTY(&s->cm->dying));
		assert_true(TAILQ_EMPTY(&s->cm->qp_work));
		assert_int_equal(pmv_cm_remove_device(s->cm, lab->pair.node[side].dev), 0);
		assert_int_equal(pmv_cm_detach(s->cm), 0);
		assert_int_equal(pmv_cm_destroy(s->cm), 0);
	}
	lab->pair.extra = NULL;
	lab->pair.link->end[0].out.hook = NULL;
	lab->pair.link->end[1].out.hook = NULL;
	pmv_test_pair_close(&lab->pair);
}

/* ---- Looking ---- */

uint32_t
cm_lab_count(const struct cm_lab *lab, int side, enum pmv_cm_event_type event)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < lab->s[side].nb_ev; i++)
		nb += lab->s[side].ev[i].event == event;
	return nb;
}

const struct cm_lab_event *
cm_lab_last(const struct cm_lab *lab, int side, enum pmv_cm_event_type event)
{
	const struct cm_lab_event *last = NULL;

	for (uint32_t i = 0; i < lab->s[side].nb_ev; i++)
		if (lab->s[side].ev[i].event == event)
			last = &lab->s[side].ev[i];
	assert_non_null(last);
	return last;
}

bool
cm_lab_wait(struct cm_lab *lab, int side, enum pmv_cm_event_type event, uint64_t limit_us)
{
	uint64_t end = lab->pair.now + limit_us * lab->pair.link->ticks_per_us;
	uint32_t before = 0;

	while (cm_lab_count(lab, side, event) == before) {
		if (lab->pair.now >= end)
			return false;
		cm_lab_run(lab, limit_us > 1000000 ? 500 : 50);
	}
	return true;
}

uint32_t
cm_lab_nb_sent(const struct cm_lab *lab, int side, uint16_t attr)
{
	return lab->s[side].nb_seen[attr];
}

const struct cm_lab_frame *
cm_lab_sent(const struct cm_lab *lab, int side, uint16_t attr, uint32_t n)
{
	for (uint32_t i = 0; i < lab->s[side].nb_sent; i++)
		if (lab->s[side].sent[i].msg.attr == attr && n-- == 0)
			return &lab->s[side].sent[i];
	fail_msg("no such message was sent");
	return NULL;
}

/* ---- Doing ---- */

const struct sockaddr *
cm_lab_addr(const char *text, uint16_t port)
{
	static struct sockaddr_storage ring[8];
	static unsigned int next;
	struct sockaddr_storage *ss = &ring[next++ % 8];
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	}
	return (const struct sockaddr *)ss;
}

struct pmv_cm_id *
cm_lab_id(struct cm_lab *lab, int side)
{
	struct cm_lab_side *s = &lab->s[side];
	struct pmv_cm_id *id;

	assert_int_equal(pmv_cm_create_id(s->cm, lab->use_ring ? NULL : handler, s, lab->ps,
				 lab->qp_type, &id),
		0);
	return id;
}

struct pmv_cm_id *
cm_lab_listen(struct cm_lab *lab, int side, const char *addr, uint16_t port)
{
	struct pmv_cm_id *id = cm_lab_id(lab, side);

	assert_int_equal(pmv_cm_bind_addr(id, cm_lab_addr(addr, port)), 0);
	assert_int_equal(pmv_cm_listen(id, 0), 0);
	return id;
}

struct pmv_cm_id *
cm_lab_connect(struct cm_lab *lab, int side, const char *addr, uint16_t port)
{
	struct pmv_cm_id *id = cm_lab_id(lab, side);

	assert_int_equal(pmv_cm_resolve_addr(id, NULL, cm_lab_addr(addr, port), 2000), 0);
	return id;
}

void
cm_lab_destroy(struct cm_lab *lab, int side, struct pmv_cm_id *id)
{
	if (pmv_cm_id_qp(id) != NULL)
		assert_int_equal(pmv_cm_destroy_qp(id), 0);
	assert_int_equal(pmv_cm_destroy_id(id), 0);
}

struct cm_lab_pair
cm_lab_established(struct cm_lab *lab, const char *addr)
{
	struct cm_lab_pair p;

	p.listener = cm_lab_listen(lab, 1, addr, CM_LAB_PORT);
	p.a = cm_lab_connect(lab, 0, addr, CM_LAB_PORT);
	assert_true(cm_lab_wait(lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	assert_true(cm_lab_wait(lab, 1, PMV_CM_EVENT_ESTABLISHED, 100000));
	p.b = lab->s[1].ids[0];
	return p;
}

/* ---- Crafted messages ---- */

static void
gid_of(const char *text, uint8_t gid[16])
{
	struct pmv_ip_addr a;

	assert_int_equal(pmv_ip_addr_parse(text, &a), 0);
	memcpy(gid, a.gid.raw, 16);
}

void
cm_lab_inject(struct cm_lab *lab, int side, const struct pmv_cm_msg *msg, const char *from)
{
	static const char *const addr[2] = { "192.168.10.1", "192.168.10.2" };
	struct pmv_mad_frame_param p = {
		.ip = { .ttl = 64, .udp_sport = 0xd872 },
		.pkey = PMV_PKEY_DEFAULT,
		.dqpn = PMV_QPN_GSI,
		.sqpn = PMV_QPN_GSI,
	};
	struct pmv_device_attr attr[2];
	uint8_t frame[PMV_MAD_FRAME_MAX];
	uint8_t mad[PMV_MAD_LEN];
	int len;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_query_device(lab->pair.node[i].dev, &attr[i]), 0);
	memcpy(p.ip.dst_mac, attr[side].mac, 6);
	memcpy(p.ip.src_mac, attr[!side].mac, 6);
	gid_of(from != NULL ? from : addr[!side], p.ip.src_gid);
	gid_of(addr[side], p.ip.dst_gid);
	assert_int_equal(pmv_cm_msg_build(msg, mad), 0);
	len = pmv_mad_frame_build(frame, sizeof(frame), &p, mad);
	assert_true(len > 0);
	pmv_test_link_inject(lab->pair.link, side, frame, (uint32_t)len);
}

void
cm_lab_req(struct cm_lab *lab, int side, struct pmv_cm_msg *ret, uint8_t private_data[92])
{
	static const char *const addr[2] = { "192.168.10.1", "192.168.10.2" };
	struct pmv_cm_ip_hdr hdr = { .ip_version = 4, .src_port = 40000 };

	gid_of(addr[!side], hdr.src_ip);
	gid_of(addr[side], hdr.dst_ip);
	memset(private_data, 0, 92);
	assert_int_equal(pmv_cm_ip_hdr_build(&hdr, private_data), 0);
	*ret = (struct pmv_cm_msg){
		.attr = PMV_CM_ATTR_REQ,
		.tid = 0x1122334455667788,
		.private_data = private_data,
		.private_bytes = 92,
		.req = {
			.local_comm_id = 0x1001,
			.service_id = pmv_cm_service_id(PMV_PS_TCP, CM_LAB_PORT),
			.local_ca_guid = 0x020000fffe000001,
			.local_qpn = 0x11,
			.starting_psn = 0x123456,
			.responder_resources = 4,
			.initiator_depth = 3,
			.remote_response_timeout = 20,
			.local_response_timeout = 14,
			.retry_count = 5,
			.rnr_retry_count = 6,
			.pkey = PMV_PKEY_DEFAULT,
			.mtu = PMV_MTU_1024,
			.max_cm_retries = 3,
			.primary = {
				.local_lid = 0xffff,
				.remote_lid = 0xffff,
				.flow_label = 0x8594d,
				.hop_limit = 64,
				.local_ack_timeout = 17,
			},
		},
	};
	memcpy(ret->req.primary.local_gid, hdr.src_ip, 16);
	memcpy(ret->req.primary.remote_gid, hdr.dst_ip, 16);
}
