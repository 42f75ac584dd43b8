// SPDX-License-Identifier: BSD-3-Clause
/*
 * Connections on a clean link: who is told what, what the QPs get, what goes over the wire.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/flow_label.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;

/* SEND of `text` from one QP, received by the other. */
static void
send_text(struct pmv_qp *from, struct pmv_qp *to, int to_side, const char *text)
{
	uint8_t buf[64] = { 0 };
	struct pmv_mr *mr;
	struct pmv_sge sge = { .addr = (uintptr_t)buf, .length = sizeof(buf) };
	struct pmv_recv_wr rwr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct pmv_sge src = { .addr = (uintptr_t)text, .length = (uint32_t)strlen(text) + 1 };
	struct pmv_send_wr swr = { .wr_id = 6,
		.sg_list = &src,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE };
	struct pmv_wc wc;

	assert_int_equal(pmv_reg_mr(lab.pair.node[to_side].pd, buf, sizeof(buf),
				 PMV_ACCESS_LOCAL_WRITE, &mr),
		0);
	sge.lkey = pmv_mr_lkey(mr);
	assert_int_equal(pmv_post_recv(to, &rwr, 1), 1);
	assert_int_equal(pmv_post_send(from, &swr, 1), 1);
	cm_lab_run(&lab, 500);
	assert_int_equal(pmv_poll_cq(lab.pair.node[to_side].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(pmv_poll_cq(lab.pair.node[!to_side].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_string_equal((const char *)buf, text);
	pmv_dereg_mr(mr);
	cm_lab_run(&lab, 100);
}

static void
check_qps(struct pmv_qp *a, struct pmv_qp *b, enum pmv_mtu mtu)
{
	struct pmv_qp_attr aa, ab;

	assert_int_equal(pmv_query_qp(a, &aa, NULL), 0);
	assert_int_equal(pmv_query_qp(b, &ab, NULL), 0);
	assert_int_equal(aa.qp_state, PMV_QPS_RTS);
	assert_int_equal(ab.qp_state, PMV_QPS_RTS);
	assert_int_equal(aa.path_mtu, mtu);
	assert_int_equal(ab.path_mtu, mtu);
	assert_int_equal(aa.dest_qp_num, pmv_qp_num(b));
	assert_int_equal(ab.dest_qp_num, pmv_qp_num(a));
	assert_int_equal(aa.min_rnr_timer, 12);
	assert_int_equal(ab.min_rnr_timer, 12);
	assert_int_equal(aa.retry_cnt, 7);
	assert_int_equal(aa.rnr_retry, 7);
	assert_int_equal(aa.timeout, 18);
	assert_int_equal(ab.timeout, 18);
	assert_int_equal(aa.max_rd_atomic, ab.max_dest_rd_atomic);
	assert_int_equal(ab.max_rd_atomic, aa.max_dest_rd_atomic);
	assert_true(aa.max_rd_atomic > 0);
	assert_int_equal(aa.ah_attr.flow_label, ab.ah_attr.flow_label);
	assert_true(aa.qp_access_flags & PMV_ACCESS_REMOTE_READ);
}

/* Once each, in the right order, nothing else. */
static void
check_events(int side, const enum pmv_cm_event_type *want, uint32_t nb)
{
	assert_int_equal(lab.s[side].nb_ev, nb);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(lab.s[side].ev[i].event, want[i]);
}

static void
whole_life(const struct cm_lab_param *param, const char *addr)
{
	static const enum pmv_cm_event_type active[] = { PMV_CM_EVENT_ADDR_RESOLVED,
		PMV_CM_EVENT_ROUTE_RESOLVED, PMV_CM_EVENT_ESTABLISHED, PMV_CM_EVENT_DISCONNECTED,
		PMV_CM_EVENT_TIMEWAIT_EXIT };
	static const enum pmv_cm_event_type passive[] = { PMV_CM_EVENT_CONNECT_REQUEST,
		PMV_CM_EVENT_ESTABLISHED, PMV_CM_EVENT_DISCONNECTED, PMV_CM_EVENT_TIMEWAIT_EXIT };
	struct cm_lab_pair p;

	cm_lab_open(&lab, param);
	p = cm_lab_established(&lab, addr);
	check_qps(pmv_cm_id_qp(p.a), pmv_cm_id_qp(p.b), PMV_MTU_4096);
	send_text(pmv_cm_id_qp(p.a), pmv_cm_id_qp(p.b), 1, "there");
	send_text(pmv_cm_id_qp(p.b), pmv_cm_id_qp(p.a), 0, "and back");
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	assert_int_equal(pmv_qp_get_state(pmv_cm_id_qp(p.a)), PMV_QPS_ERR);
	cm_lab_run(&lab, 1000);
	assert_int_equal(pmv_qp_get_state(pmv_cm_id_qp(p.b)), PMV_QPS_ERR);
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_DISCONNECTED)->status, 0);
	cm_lab_run_slow(&lab, 3000000);
	check_events(0, active, 5);
	check_events(1, passive, 4);
	assert_int_equal(pmv_cm_stat(lab.s[0].cm, "tx_resent"), 0);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "tx_resent"), 0);
	cm_lab_close(&lab);
}

static void
cm_connect__whole_life_v4(void **state)
{
	whole_life(&(struct cm_lab_param){ 0 }, "192.168.10.2");
}

static void
cm_connect__whole_life_v6(void **state)
{
	whole_life(&(struct cm_lab_param){ 0 }, "fd00::2");
}

static void
cm_connect__whole_life_by_ring(void **state)
{
	whole_life(&(struct cm_lab_param){ .use_ring = true }, "192.168.10.2");
}

static void
cm_connect__whole_life_in_a_vlan(void **state)
{
	whole_life(&(struct cm_lab_param){ .vlan_id = 77 }, "192.168.10.2");
	whole_life(&(struct cm_lab_param){ .vlan_id = 78 }, "fd00::2");
}

/* AD-210, AD-213; fact 1 of the wire: the starting PSN is the peer's to send with. */
static void
cm_connect__messages_on_the_wire(void **state)
{
	struct pmv_device_attr attr;
	struct pmv_qp_attr qa, qb;
	const struct cm_lab_frame *req, *rep, *rtu;
	struct sockaddr_storage ss;
	struct cm_lab_pair p;
	uint16_t sport;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	req = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0);
	rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0);
	rtu = cm_lab_sent(&lab, 0, PMV_CM_ATTR_RTU, 0);
	assert_int_equal(pmv_query_device(lab.pair.node[0].dev, &attr), 0);
	assert_true(req->msg.req.local_ca_guid == attr.node_guid);
	assert_int_equal(req->msg.req.primary.local_lid, 0xffff);
	assert_int_equal(req->msg.req.primary.hop_limit, 64);
	assert_int_equal(req->msg.req.primary.subnet_local, 0);
	assert_int_equal(req->msg.req.alternate.local_lid, 0);
	assert_int_equal(req->msg.req.max_cm_retries, 15);
	assert_int_equal(req->msg.req.local_response_timeout, 16);
	assert_int_equal(req->msg.req.primary.local_ack_timeout, 18);
	assert_int_equal(req->ttl, 64);
	assert_true(rep->msg.tid == req->msg.tid && rtu->msg.tid == req->msg.tid);
	assert_int_equal(rep->msg.rep.remote_comm_id, req->msg.req.local_comm_id);
	assert_int_equal(rtu->msg.rtu.remote_comm_id, rep->msg.rep.local_comm_id);
	pmv_cm_id_local_addr(p.a, &ss);
	sport = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	assert_in_range(sport, 32768, 60999);
	assert_int_equal(
		req->msg.req.primary.flow_label, pmv_flow_label_from_cm_ports(sport, CM_LAB_PORT));
	assert_int_equal(req->udp_sport, pmv_flow_label_sport(req->msg.req.primary.flow_label));
	assert_int_equal(rep->udp_sport, req->udp_sport);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.a), &qa, NULL), 0);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.b), &qb, NULL), 0);
	assert_int_equal(req->msg.req.starting_psn, qa.rq_psn);
	assert_int_equal(req->msg.req.starting_psn, qb.sq_psn);
	assert_int_equal(rep->msg.rep.starting_psn, qb.rq_psn);
	assert_int_equal(rep->msg.rep.starting_psn, qa.sq_psn);
	pmv_cm_id_peer_addr(p.b, &ss);
	assert_int_equal(ntohs(((struct sockaddr_in *)&ss)->sin_port), sport);
	cm_lab_close(&lab);
}

/* CM-117 and fact 2: depths swap sides, the RNR retry count of each message is for the other's QP.
 */
static void
cm_connect__depths_and_retry_counts_cross(void **state)
{
	static const uint8_t depth[] = { 0, 1, 16, 255 };
	struct pmv_device_attr dev;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 256; i++) {
		uint8_t rr = depth[i & 3], id = depth[i >> 2 & 3];
		uint8_t brr = depth[i >> 4 & 3], bid = depth[i >> 6 & 3];
		struct pmv_cm_conn_param ca = { .private_data = "active",
			.private_data_len = 7,
			.responder_resources = rr,
			.initiator_depth = id,
			.retry_count = 4,
			.rnr_retry_count = 3 };
		struct pmv_cm_conn_param cb = { .private_data = "passive",
			.private_data_len = 8,
			.responder_resources = brr,
			.initiator_depth = bid,
			.rnr_retry_count = 2 };
		const struct cm_lab_event *e;
		struct pmv_qp_attr qa, qb;
		struct cm_lab_pair p;
		uint8_t max, want_rr, want_id;

		if ((i * 7) % 5 != 0 && i != 255)
			continue; /* a fifth of the 256 is enough for the default run */
		n++;
		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		lab.s[0].param = &ca;
		lab.s[1].param = &cb;
		p = cm_lab_established(&lab, "192.168.10.2");
		assert_int_equal(pmv_query_device(lab.pair.node[0].dev, &dev), 0);
		max = dev.max_rd_atomic;
		rr = RTE_MIN(rr, max);
		id = RTE_MIN(id, max);
		e = cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST);
		assert_int_equal(e->param.initiator_depth, rr);
		assert_int_equal(e->param.responder_resources, id);
		assert_int_equal(e->param.private_data_len, 56);
		assert_string_equal((const char *)e->private_data, "active");
		assert_int_equal(e->param.retry_count, 4);
		want_rr = RTE_MIN(RTE_MIN(brr, max), id);
		want_id = RTE_MIN(RTE_MIN(bid, max), rr);
		e = cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED);
		assert_int_equal(e->param.initiator_depth, want_rr);
		assert_int_equal(e->param.responder_resources, want_id);
		assert_int_equal(e->param.private_data_len, 196);
		assert_string_equal((const char *)e->private_data, "passive");
		assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.a), &qa, NULL), 0);
		assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.b), &qb, NULL), 0);
		assert_int_equal(qa.max_rd_atomic, want_rr);
		assert_int_equal(qa.max_dest_rd_atomic, want_id);
		assert_int_equal(qb.max_dest_rd_atomic, want_rr);
		assert_int_equal(qb.max_rd_atomic, want_id);
		assert_int_equal(qa.rnr_retry, 2);
		assert_int_equal(qb.rnr_retry, 3);
		assert_int_equal(qa.retry_cnt, 4);
		assert_int_equal(qb.retry_cnt, 4);
		assert_int_equal(!!(qb.qp_access_flags & PMV_ACCESS_REMOTE_READ), want_rr != 0);
		cm_lab_close(&lab);
	}
	assert_true(n > 50);
}

static int
set_options(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	if (e->event == PMV_CM_EVENT_ADDR_RESOLVED) {
		assert_int_equal(pmv_cm_set_service_type(e->id, 0xb8), 0);
		assert_int_equal(pmv_cm_set_ack_timeout(e->id, 14), 0);
		assert_int_equal(pmv_cm_set_min_rnr_timer(e->id, 20), 0);
	}
	if (e->event == PMV_CM_EVENT_ROUTE_RESOLVED) /* too late, never silently */
		assert_int_equal(pmv_cm_set_service_type(e->id, 0), -EINVAL);
	return 0;
}

/* AD-211, CM-131 */
static void
cm_connect__options_reach_wire_and_qp(void **state)
{
	const struct cm_lab_frame *req;
	struct pmv_qp_attr qa, qb;
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].on_event = set_options;
	p = cm_lab_established(&lab, "192.168.10.2");
	req = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0);
	assert_int_equal(req->msg.req.primary.traffic_class, 0xb8);
	assert_int_equal(req->tos, 0xb8);
	assert_int_equal(cm_lab_sent(&lab, 0, PMV_CM_ATTR_RTU, 0)->tos, 0xb8);
	assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0)->tos, 0xb8);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.a), &qa, NULL), 0);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(p.b), &qb, NULL), 0);
	assert_int_equal(qa.ah_attr.traffic_class, 0xb8);
	assert_int_equal(qb.ah_attr.traffic_class, 0xb8);
	assert_int_equal(qa.timeout, 14);
	assert_int_equal(qa.min_rnr_timer, 20);
	assert_int_equal(qb.min_rnr_timer, 12);
	/* lifetime 13, so 14 plus what the ACK delay adds: never less than what was asked for */
	assert_int_equal(qb.timeout, req->msg.req.primary.local_ack_timeout);
	assert_true(qb.timeout >= 14);
	cm_lab_close(&lab);
}

/* AD-201: the destination is stored in the bound state too. */
static void
cm_connect__bound_id_keeps_destination(void **state)
{
	const struct cm_lab_frame *req;
	struct pmv_cm_id *id;
	struct pmv_cm_msg msg;

	for (int how = 0; how < 2; how++) {
		const struct sockaddr *src = cm_lab_addr("192.168.10.1", 0);

		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
		id = cm_lab_id(&lab, 0);
		if (how == 0)
			assert_int_equal(pmv_cm_bind_addr(id, src), 0);
		assert_int_equal(pmv_cm_resolve_addr(id, how == 0 ? NULL : src,
					 cm_lab_addr("192.168.10.2", CM_LAB_PORT), 2000),
			0);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
		req = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0);
		assert_int_equal(pmv_cm_msg_parse(req->mad, PMV_MAD_LEN, &msg), PMV_CM_MSG_OK);
		assert_memory_equal(msg.req.primary.remote_gid + 12, "\xc0\xa8\x0a\x02", 4);
		assert_memory_equal(msg.private_data + 32, "\xc0\xa8\x0a\x02", 4);
		assert_memory_equal(msg.private_data + 16, "\xc0\xa8\x0a\x01", 4);
		cm_lab_close(&lab);
	}
}

/* CM-122: both disconnect in the same turn, then again. */
static void
cm_connect__crossing_disconnects(void **state)
{
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	assert_int_equal(pmv_cm_disconnect(p.b), 0);
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	cm_lab_run(&lab, 2000);
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	assert_int_equal(pmv_cm_disconnect(p.b), 0);
	cm_lab_run_slow(&lab, 3000000);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_DISCONNECTED), 1);
		assert_int_equal(cm_lab_last(&lab, side, PMV_CM_EVENT_DISCONNECTED)->status, 0);
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_TIMEWAIT_EXIT), 1);
		assert_int_equal(cm_lab_nb_sent(&lab, side, PMV_CM_ATTR_DREQ), 1);
	}
	cm_lab_close(&lab);
}

/* A new QP on the same id, after the first connection is over. */
static void
cm_connect__again_on_the_same_id(void **state)
{
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	assert_int_equal(pmv_cm_connect(p.a, NULL), -EINVAL);
	assert_int_equal(pmv_cm_disconnect(p.a), 0);
	cm_lab_run_slow(&lab, 3000000);
	assert_int_equal(pmv_cm_destroy_qp(p.a), 0);
	assert_int_equal(pmv_cm_connect(p.a, NULL), -EINVAL);
	cm_lab_qp(&lab, p.a);
	assert_int_equal(pmv_cm_connect(p.a, NULL), 0);
	cm_lab_run(&lab, 2000);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ESTABLISHED), 2);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 2);
	assert_int_not_equal(cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.req.local_comm_id,
		cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 1)->msg.req.local_comm_id);
	cm_lab_close(&lab);
}

/* Many at once, both ways: each connection gets a port of its own, none is lost (CM-110, small). */
static void
cm_connect__many_both_ways(void **state)
{
	enum { NB = 30 };

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_listen(&lab, 0, "0.0.0.0", CM_LAB_PORT);
	cm_lab_listen(&lab, 1, "::", CM_LAB_PORT);
	for (int i = 0; i < NB; i++) {
		cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
		cm_lab_connect(&lab, 1, "192.168.10.1", CM_LAB_PORT);
	}
	cm_lab_run(&lab, 20000);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(cm_lab_count(&lab, side, PMV_CM_EVENT_ESTABLISHED), 2 * NB);
		assert_int_equal(pmv_cm_stat(lab.s[side].cm, "tx_resent"), 0);
	}
	cm_lab_close(&lab);
}

static void
add_addr(int side, const char *text)
{
	struct pmv_ip_addr addr;

	assert_int_equal(pmv_ip_addr_parse(text, &addr), 0);
	assert_int_equal(pmv_device_add_addr(lab.pair.node[side].dev, &addr), 0);
}

/* Behind a gateway: its MAC, the destination's GID. Without one: -ENETUNREACH (cm_loss__no_route).
 */
static void
cm_connect__through_a_gateway(void **state)
{
	const struct cm_lab_frame *req;
	struct pmv_device_attr attr;
	struct pmv_qp_attr qa;
	struct pmv_ip_addr gw;
	struct pmv_cm_id *id;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	add_addr(1, "10.0.0.1/24");
	assert_int_equal(pmv_ip_addr_parse("192.168.10.2", &gw), 0);
	assert_int_equal(pmv_device_set_gateway(lab.pair.node[0].dev, &gw.gid), 0);
	cm_lab_run(&lab, 100);
	cm_lab_listen(&lab, 1, "10.0.0.1", CM_LAB_PORT);
	id = cm_lab_connect(&lab, 0, "10.0.0.1", CM_LAB_PORT);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	req = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0);
	assert_int_equal(pmv_query_device(lab.pair.node[1].dev, &attr), 0);
	assert_memory_equal(req->dmac, attr.mac, 6);
	assert_memory_equal(req->msg.req.primary.remote_gid + 12, "\x0a\x00\x00\x01", 4);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(id), &qa, NULL), 0);
	assert_memory_equal(qa.ah_attr.dgid.raw + 12, "\x0a\x00\x00\x01", 4);
	cm_lab_close(&lab);
}

static const struct sockaddr *
scoped(int side, const char *text, uint16_t port)
{
	static struct sockaddr_in6 a[2];

	memcpy(&a[side], cm_lab_addr(text, port), sizeof(a[0]));
	a[side].sin6_scope_id = lab.pair.link->end[side].port_id + 1u;
	return (const struct sockaddr *)&a[side];
}

/* AD-202, one port each: link-local addresses with their scope. */
static void
cm_connect__link_local(void **state)
{
	struct pmv_cm_id *listener, *id;
	struct sockaddr_storage ss;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	add_addr(0, "fe80::1/64");
	add_addr(1, "fe80::2/64");
	cm_lab_run(&lab, 100);
	listener = cm_lab_id(&lab, 1);
	assert_int_equal(pmv_cm_bind_addr(listener, scoped(0, "fe80::2", 4545)), -EADDRNOTAVAIL);
	assert_int_equal(pmv_cm_bind_addr(listener, scoped(1, "fe80::2", 4545)), 0);
	assert_int_equal(pmv_cm_listen(listener, 0), 0);
	id = cm_lab_id(&lab, 0);
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, scoped(1, "fe80::2", 4545), 1000), -ENODEV);
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, scoped(0, "fe80::2", 4545), 1000), 0);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ESTABLISHED, 100000));
	pmv_cm_id_local_addr(id, &ss);
	assert_int_equal(
		((struct sockaddr_in6 *)&ss)->sin6_scope_id, lab.pair.link->end[0].port_id + 1u);
	cm_lab_close(&lab);
}

/* AD-209: both ports belong to one CM, which connects to itself across the wire. */
static void
cm_connect__two_ports_of_one_cm(void **state)
{
	struct pmv_device *dev[2];
	struct pmv_cm_id *id;

	for (int order = 0; order < 2; order++) {
		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		dev[0] = lab.pair.node[0].dev;
		dev[1] = lab.pair.node[1].dev;
		assert_int_equal(pmv_cm_remove_device(lab.s[1].cm, dev[1]), 0);
		assert_int_equal(pmv_cm_add_device(lab.s[0].cm, dev[1]), 0);
		cm_lab_listen(&lab, 0, "0.0.0.0", CM_LAB_PORT);
		id = cm_lab_connect(
			&lab, 0, order == 0 ? "192.168.10.2" : "192.168.10.1", CM_LAB_PORT);
		cm_lab_run(&lab, 3000);
		assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ESTABLISHED), 2);
		assert_ptr_equal(pmv_cm_id_device(id), dev[order]);
		assert_int_equal(pmv_cm_disconnect(id), 0);
		cm_lab_run(&lab, 1000);
		assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DISCONNECTED), 2);
		cm_lab_destroy(&lab, 0, id);
		cm_lab_destroy(&lab, 0, lab.s[0].ids[0]);
		cm_lab_run_slow(&lab, 3000000);
		assert_int_equal(pmv_cm_remove_device(lab.s[0].cm, dev[1]), 0);
		assert_int_equal(pmv_cm_add_device(lab.s[1].cm, dev[1]), 0);
		cm_lab_close(&lab);
	}
}

/* REQ byte 51 bit 3 and REP byte 27 bit 4 tell of the sender's own QP, and reach the other side's
 * application. */
static void
srq_bit(bool active_has, bool passive_has)
{
	const struct cm_lab_param param = { 0 };
	struct pmv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	const struct cm_lab_frame *req, *rep;
	struct cm_lab_pair p;

	cm_lab_open(&lab, &param);
	for (int side = 0; side < 2; side++) {
		struct pmv_test_node *n = &lab.pair.node[side];

		if (side == 0 ? active_has : passive_has)
			assert_int_equal(
				pmv_create_srq(n->pd, n->worker[0], &init, &lab.srq[side]), 0);
	}
	p = cm_lab_established(&lab, "192.168.10.2");
	assert_ptr_equal(pmv_qp_get_srq(pmv_cm_id_qp(p.a)), lab.srq[0]);
	assert_ptr_equal(pmv_qp_get_srq(pmv_cm_id_qp(p.b)), lab.srq[1]);
	req = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0);
	rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0);
	assert_int_equal(req->mad[PMV_MAD_HDR_LEN + 51] & 0x08, active_has ? 0x08 : 0);
	assert_int_equal(rep->mad[PMV_MAD_HDR_LEN + 27] & 0x10, passive_has ? 0x10 : 0);
	assert_int_equal(cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST)->param.srq, active_has);
	assert_int_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_ESTABLISHED)->param.srq, passive_has);
	cm_lab_destroy(&lab, 0, p.a);
	cm_lab_run(&lab, 1000);
	cm_lab_destroy(&lab, 1, p.b);
	cm_lab_run(&lab, 1000);
	for (int side = 0; side < 2; side++) {
		if (lab.srq[side] != NULL)
			assert_int_equal(pmv_destroy_srq(lab.srq[side]), 0);
	}
	cm_lab_destroy(&lab, 1, p.listener);
	cm_lab_close(&lab);
}

static void
cm_connect__srq_bit(void **state)
{
	srq_bit(true, false);
	srq_bit(false, true);
	srq_bit(true, true);
	srq_bit(false, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_connect__whole_life_v4),
		cmocka_unit_test(cm_connect__whole_life_v6),
		cmocka_unit_test(cm_connect__whole_life_by_ring),
		cmocka_unit_test(cm_connect__whole_life_in_a_vlan),
		cmocka_unit_test(cm_connect__messages_on_the_wire),
		cmocka_unit_test(cm_connect__depths_and_retry_counts_cross),
		cmocka_unit_test(cm_connect__options_reach_wire_and_qp),
		cmocka_unit_test(cm_connect__bound_id_keeps_destination),
		cmocka_unit_test(cm_connect__crossing_disconnects),
		cmocka_unit_test(cm_connect__again_on_the_same_id),
		cmocka_unit_test(cm_connect__many_both_ways),
		cmocka_unit_test(cm_connect__through_a_gateway),
		cmocka_unit_test(cm_connect__link_local),
		cmocka_unit_test(cm_connect__two_ports_of_one_cm),
		cmocka_unit_test(cm_connect__srq_bit),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
