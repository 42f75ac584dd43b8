// SPDX-License-Identifier: BSD-3-Clause
/*
 * Requests that are refused, repeated, stale or malformed, most of them crafted: what goes back to
 * the sender, what the application sees, what is counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/id.h"
#include "lib/wire/gid.h"
#include "test/harness/eal.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;
static struct pmv_cm_msg req;
static uint8_t private_data[92];

static void
open_with_listener(void)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[1].no_accept = true;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	cm_lab_run(&lab, 100);
}

static void
inject(void)
{
	cm_lab_inject(&lab, 1, &req, NULL);
	cm_lab_run(&lab, 200);
}

/* The nth REJ of node 1, about the REQ at hand. */
static const struct pmv_cm_rej *
rej(uint32_t n, uint16_t reason)
{
	const struct cm_lab_frame *f = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, n);

	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), n + 1);
	assert_int_equal(f->msg.rej.about, PMV_CM_ABOUT_REQ);
	assert_int_equal(f->msg.rej.reason, reason);
	assert_int_equal(f->msg.rej.remote_comm_id, req.req.local_comm_id);
	assert_true(f->msg.tid == req.tid);
	return &f->msg.rej;
}

/* CM-114: both ends; and REJ with whatever Local Comm ID is understood. */
static void
cm_request__no_listener(void **state)
{
	struct pmv_cm_id *id;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	id = cm_lab_connect(&lab, 0, "192.168.10.2", 4711);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_REJECTED, 100000));
	assert_int_equal(
		cm_lab_last(&lab, 0, PMV_CM_EVENT_REJECTED)->status, PMV_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 0)->msg.rej.local_comm_id, 0);
	assert_int_equal(pmv_qp_get_state(pmv_cm_id_qp(id)), PMV_QPS_ERR);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 1);
	cm_lab_close(&lab);

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[1].drop[PMV_CM_ATTR_REJ] = ~0ull;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", 4711);
	cm_lab_run(&lab, 2000);
	{
		struct pmv_cm_msg junk = { .attr = PMV_CM_ATTR_REJ,
			.rej = { .local_comm_id = 0x00aabbcc, .about = 0, .reason = 8 } };

		junk.rej.remote_comm_id =
			cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.req.local_comm_id;
		cm_lab_inject(&lab, 0, &junk, NULL);
	}
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_REJECTED), 1);
	cm_lab_close(&lab);
}

static int
refuse(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	if (e->event != PMV_CM_EVENT_CONNECT_REQUEST)
		return 0;
	assert_int_equal(pmv_cm_reject(e->id, "no room", 8, 7), -EINVAL);
	assert_int_equal(pmv_cm_reject(e->id, NULL, 149, 28), -EINVAL);
	assert_int_equal(pmv_cm_reject(e->id, "no room", 8, 28), 0);
	assert_int_equal(pmv_cm_reject(e->id, "no room", 8, 28), -EINVAL);
	return 1;
}

/* A reject with private data; a lost one is repeated for the copy of the REQ, without a second
 * CONNECT_REQUEST. */
static void
cm_request__rejected_by_application(void **state)
{
	const struct cm_lab_event *e;

	for (int lost = 0; lost < 2; lost++) {
		cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
		lab.s[1].on_event = refuse;
		lab.s[1].drop[PMV_CM_ATTR_REJ] = (uint64_t)lost;
		cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
		cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
		assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_REJECTED, 900000));
		e = cm_lab_last(&lab, 0, PMV_CM_EVENT_REJECTED);
		assert_int_equal(e->status, PMV_CM_REJ_CONSUMER_DEFINED);
		assert_int_equal(e->param.private_data_len, 148);
		assert_string_equal((const char *)e->private_data, "no room");
		assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
		assert_int_equal(pmv_cm_disconnect(lab.s[1].ids[0]), -EINVAL);
		cm_lab_close(&lab);
	}
}

/* CM-101: the copy is ignored before the application has the request, then answered with MRA. */
static void
cm_request__copy(void **state)
{
	const struct cm_lab_frame *mra;

	open_with_listener();
	lab.stopped[1] =
		true; /* both wait in the queue: the second is read before the event goes */
	inject();
	inject();
	lab.stopped[1] = false;
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_MRA), 0);
	inject();
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_MRA), 1);
	mra = cm_lab_sent(&lab, 1, PMV_CM_ATTR_MRA, 0);
	assert_int_equal(mra->msg.mra.about, PMV_CM_ABOUT_REQ);
	assert_int_equal(mra->msg.mra.remote_comm_id, req.req.local_comm_id);
	assert_true(mra->msg.tid == req.tid);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_duplicate"), 2);
	cm_lab_qp(&lab, lab.s[1].ids[0]);
	assert_int_equal(pmv_cm_accept(lab.s[1].ids[0], NULL), 0);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 1);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 0);
	cm_lab_close(&lab);
}

/* CM-102: same QPN with a new comm ID is stale; another GUID is somebody else. */
static void
cm_request__stale(void **state)
{
	open_with_listener();
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	req.req.local_comm_id = 0x1002;
	inject();
	rej(0, PMV_CM_REASON_STALE_CONN);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	req.req.local_ca_guid++;
	inject();
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 1);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 2);
	cm_lab_close(&lab);
}

/* ... and an established one is given up, with one ending event. Only on the peer's own word. */
static void
cm_request__stale_established(void **state)
{
	struct pmv_device_attr attr;
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	cm_lab_req(&lab, 1, &req, private_data);
	assert_int_equal(pmv_query_device(lab.pair.node[0].dev, &attr), 0);
	req.req.local_ca_guid = attr.node_guid;
	req.req.local_qpn = pmv_qp_num(pmv_cm_id_qp(p.a));
	cm_lab_inject(&lab, 1, &req, "192.168.10.7");
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 0);
	rej(0, PMV_CM_REASON_STALE_CONN);
	inject();
	rej(1, PMV_CM_REASON_STALE_CONN);
	cm_lab_run(&lab, 500);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_DREQ), 1);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DISCONNECTED), 1);
	/* CM-103 (b): the entries left at the entry into time-wait, so the next try comes in */
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 2);
	cm_lab_close(&lab);
}

/* GID, P_Key, IP-CM header, transport, MTU: each refused with its own reason, in Linux's order. */
static void
cm_request__refused_with_reason(void **state)
{
	const struct pmv_cm_rej *r;
	uint32_t n = 0;

	open_with_listener();
	req.req.service_id++;
	inject();
	rej(n++, PMV_CM_REASON_INVALID_SERVICE_ID);
	req.req.service_id--;
	req.req.service_id |= 1ull << 40;
	inject();
	rej(n++, PMV_CM_REASON_INVALID_SERVICE_ID);
	req.req.service_id &= 0xffffffff;
	req.req.primary.remote_gid[15] = 77;
	inject();
	r = rej(n++, PMV_CM_REASON_INVALID_GID);
	assert_int_equal(r->ari_len, 16);
	assert_memory_equal(r->ari + 12, "\xc0\xa8\x0a\x02", 4);
	req.req.primary.remote_gid[15] = 2;
	req.req.primary.local_gid[15] = 9; /* not where it came from */
	inject();
	rej(n++, PMV_CM_REASON_INVALID_GID);
	req.req.primary.local_gid[15] = 1;
	req.req.pkey = 0x1234;
	inject();
	rej(n++, PMV_CM_REASON_INVALID_GID);
	req.req.pkey = 0x7fff;
	private_data[1] = 0x70; /* IP version 7; CM-116 */
	inject();
	r = rej(n++, PMV_CM_REASON_CONSUMER);
	assert_int_equal(r->ari_len, 0);
	private_data[1] = 0x40;
	private_data[0] = 0x10; /* CMA version */
	inject();
	rej(n++, PMV_CM_REASON_CONSUMER);
	private_data[0] = 0;
	private_data[35] = 99; /* destination is not ours */
	inject();
	rej(n++, PMV_CM_REASON_CONSUMER);
	private_data[35] = 2;
	req.req.transport = PMV_CM_TRANSPORT_UC;
	inject();
	rej(n++, PMV_CM_REASON_INVALID_TRANSPORT);
	req.req.transport = PMV_CM_TRANSPORT_RC;
	for (uint8_t mtu = 0; mtu < 16; mtu++) {
		req.req.mtu = mtu;
		if (mtu >= PMV_MTU_256 && mtu <= PMV_MTU_4096)
			continue;
		inject();
		r = rej(n++, PMV_CM_REASON_INVALID_MTU);
		assert_int_equal(r->ari_len, 1);
		assert_int_equal(r->ari[0], PMV_MTU_4096);
	}
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 0);
	assert_int_equal(lab.s[1].cm->nb_ids, 1);
	req.req.mtu = PMV_MTU_1024; /* P_Key 0x7fff: a limited member is let in */
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	cm_lab_close(&lab);
}

/* AD-212, passive: an MTU above ours; ours comes back. */
static void
cm_request__mtu_above_ours(void **state)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ .ip_mtu = 1500 });
	lab.s[1].no_accept = true;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	req.req.mtu = PMV_MTU_2048;
	inject();
	assert_int_equal(rej(0, PMV_CM_REASON_INVALID_MTU)->ari[0], PMV_MTU_1024);
	req.req.mtu = PMV_MTU_512;
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	cm_lab_close(&lab);
}

/* The values of the REQ that the passive side must use, and those it must not. */
static void
cm_request__values_are_used(void **state)
{
	const struct cm_lab_event *e;
	const struct cm_lab_frame *rep;
	struct pmv_qp_attr attr;
	struct pmv_cm_id *id;

	open_with_listener();
	req.req.primary.hop_limit = 1;  /* ours is used; AD-210 */
	req.req.ece_vendor_id = 0x15b3; /* CM-119: unknown, so answered without */
	req.attr_mod = 5;
	req.req.srq = 1;
	memcpy(private_data + 36, "hello", 6);
	inject();
	e = cm_lab_last(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST);
	id = lab.s[1].ids[0];
	assert_string_equal((const char *)e->private_data, "hello");
	assert_int_equal(e->param.srq, 1);
	assert_int_equal(e->param.qp_num, 0x11);
	assert_int_equal(e->param.initiator_depth, 4);
	assert_int_equal(e->param.responder_resources, 3);
	cm_lab_qp(&lab, id);
	assert_int_equal(pmv_cm_accept(id, NULL), 0);
	cm_lab_run(&lab, 200);
	rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0);
	assert_int_equal(rep->msg.rep.ece_vendor_id, 0);
	assert_int_equal(rep->msg.attr_mod, 0);
	assert_int_equal(rep->ttl, 64);
	assert_int_equal(rep->msg.rep.initiator_depth, 4);
	assert_int_equal(rep->msg.rep.responder_resources, 3);
	assert_int_equal(pmv_query_qp(pmv_cm_id_qp(id), &attr, NULL), 0);
	assert_int_equal(attr.qp_state, PMV_QPS_RTS); /* before the REP left */
	assert_int_equal(attr.path_mtu, PMV_MTU_1024);
	assert_int_equal(attr.sq_psn, 0x123456);
	assert_int_equal(attr.dest_qp_num, 0x11);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.rnr_retry, 6);
	assert_int_equal(attr.timeout, 17);
	assert_int_equal(attr.ah_attr.flow_label, 0x8594d);
	cm_lab_close(&lab);
}

/* A full backlog stays silent; a place comes free with accept or reject. */
static void
cm_request__backlog(void **state)
{
	struct pmv_cm_id *listener;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[1].no_accept = true;
	listener = cm_lab_id(&lab, 1);
	assert_int_equal(pmv_cm_listen(listener, 2), -EINVAL);
	assert_int_equal(pmv_cm_bind_addr(listener, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), 0);
	assert_int_equal(pmv_cm_listen(listener, 2), 0);
	cm_lab_req(&lab, 1, &req, private_data);
	for (uint32_t i = 0; i < 4; i++) {
		req.req.local_comm_id = 0x1001 + i;
		req.req.local_qpn = 0x11 + i;
		inject();
	}
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 2);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_backlog"), 2);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 0);
	assert_int_equal(pmv_cm_reject(lab.s[1].ids[0], NULL, 0, 28), 0);
	cm_lab_run(&lab, 100);
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 3);
	cm_lab_close(&lab);
}

/* CM-115: the listener goes with requests that nobody has seen; those taken stay. */
static void
cm_request__listener_destroyed(void **state)
{
	struct pmv_cm_id *listener, *taken;

	cm_lab_open(&lab, &(struct cm_lab_param){ .use_ring = true });
	lab.s[1].no_accept = true;
	listener = cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	inject();
	taken = lab.s[1].ids[0];
	lab.stopped[1] = true;
	for (uint32_t i = 1; i <= 10; i++) {
		req.req.local_comm_id = 0x1001 + i;
		req.req.local_qpn = 0x11 + i;
		inject();
	}
	pmv_cm_poll_at(lab.s[1].cm, lab.pair.now); /* events queued, not fetched */
	assert_int_equal(lab.s[1].cm->nb_ids, 12);
	assert_int_equal(pmv_cm_destroy_id(listener), 0);
	lab.stopped[1] = false;
	cm_lab_run(&lab, 500);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REJ), 10);
	assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 9)->msg.rej.reason, 28);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(lab.s[1].cm->nb_ids, 1);
	cm_lab_qp(&lab, taken);
	assert_int_equal(pmv_cm_accept(taken, NULL), 0);
	req.req.local_comm_id = 0x2000;
	req.req.local_qpn = 0x2000;
	inject();
	assert_int_equal(cm_lab_sent(&lab, 1, PMV_CM_ATTR_REJ, 10)->msg.rej.reason,
		PMV_CM_REASON_INVALID_SERVICE_ID);
	cm_lab_close(&lab);
}

/* id_max: silence, and an errno for calls; others unharmed (CM-126, small). */
static void
cm_request__id_max(void **state)
{
	struct pmv_cm_id *id;

	cm_lab_open(&lab, &(struct cm_lab_param){ .id_max = 2 });
	lab.s[1].no_accept = true;
	cm_lab_listen(&lab, 1, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	inject();
	assert_int_equal(
		pmv_cm_create_id(lab.s[1].cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &id), -ENOSPC);
	req.req.local_comm_id++;
	req.req.local_qpn++;
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_no_id"), 1);
	cm_lab_close(&lab);
}

/* AD-203: which listener a request reaches. */
static void
cm_request__listener_by_address(void **state)
{
	struct pmv_cm_id *any, *own, *other, *v6;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[1].no_accept = true;
	other = cm_lab_listen(&lab, 1, "fd00::2", CM_LAB_PORT);
	cm_lab_req(&lab, 1, &req, private_data);
	inject();
	rej(0, PMV_CM_REASON_CONSUMER); /* the port has a listener, the address has not */
	own = cm_lab_listen(&lab, 1, "192.168.10.2", CM_LAB_PORT);
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 1);
	any = cm_lab_id(&lab, 1);
	assert_int_equal(pmv_cm_bind_addr(any, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), -EADDRINUSE);
	assert_int_equal(pmv_cm_bind_addr(any, cm_lab_addr("::", CM_LAB_PORT)), -EADDRINUSE);
	assert_int_equal(
		pmv_cm_bind_addr(any, cm_lab_addr("192.168.10.2", CM_LAB_PORT)), -EADDRINUSE);
	assert_int_equal(pmv_cm_bind_addr(any, cm_lab_addr("10.9.9.9", 1)), -EADDRNOTAVAIL);
	cm_lab_destroy(&lab, 1, own);
	cm_lab_destroy(&lab, 1, other);
	v6 = cm_lab_listen(&lab, 1, "::", CM_LAB_PORT); /* a lone [::] takes IPv4 too */
	req.req.local_comm_id++;
	req.req.local_qpn++;
	inject();
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_CONNECT_REQUEST), 2);
	assert_int_equal(pmv_cm_bind_addr(any, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), -EADDRINUSE);
	cm_lab_destroy(&lab, 1, v6);
	assert_int_equal(pmv_cm_bind_addr(any, cm_lab_addr("0.0.0.0", CM_LAB_PORT)), 0);
	cm_lab_close(&lab);
}

/* A DREQ that nobody knows is answered, whatever it is about; other unknown messages are counted.
 */
static void
cm_request__unknown_ids(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_DREQ,
		.tid = 0xfeedface12345678,
		.dreq = { .local_comm_id = 0x77, .remote_comm_id = 0x88, .remote_qpn = 0x99 } };
	const struct cm_lab_frame *drep;
	static const uint16_t others[] = { PMV_CM_ATTR_REP, PMV_CM_ATTR_RTU, PMV_CM_ATTR_DREP,
		PMV_CM_ATTR_REJ, PMV_CM_ATTR_MRA };

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	drep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_DREP, 0);
	assert_int_equal(drep->msg.drep.local_comm_id, 0x88);
	assert_int_equal(drep->msg.drep.remote_comm_id, 0x77);
	assert_true(drep->msg.tid == m.tid);
	for (size_t i = 0; i < 5; i++) {
		m = (struct pmv_cm_msg){ .attr = others[i],
			.rep = { .local_comm_id = 5, .remote_comm_id = 6 } };
		cm_lab_inject(&lab, 1, &m, NULL);
		cm_lab_run(&lab, 200);
		assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_unknown_id"), i + 1);
	}
	assert_int_equal(lab.s[1].nb_sent, 1);
	cm_lab_close(&lab);
}

/* After the REP, right numbers from the wrong host or with a wrong QPN do nothing. */
static void
cm_request__spoofed_ids(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_DREQ };
	struct cm_lab_pair p;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	m.dreq.local_comm_id = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.req.local_comm_id;
	m.dreq.remote_comm_id = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0)->msg.rep.local_comm_id;
	m.dreq.remote_qpn = pmv_qp_num(pmv_cm_id_qp(p.b));
	cm_lab_inject(&lab, 1, &m, "192.168.10.66");
	m.dreq.remote_qpn ^= 1;
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(pmv_cm_stat(lab.s[1].cm, "rx_drop_peer"), 2);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 0);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_DREP), 0);
	m.dreq.remote_qpn ^= 1;
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_DREP), 1);
	cm_lab_close(&lab);
}

/* CM-107, B's side: REJ 4 names the request by GUID and comm ID. */
static void
cm_request__peer_gives_up(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_REJ,
		.rej = { .about = PMV_CM_ABOUT_OTHER,
			.reason = PMV_CM_REASON_TIMEOUT,
			.ari_len = 8 } };

	open_with_listener();
	inject();
	m.rej.local_comm_id = req.req.local_comm_id;
	pmv_be64_store(m.rej.ari, req.req.local_ca_guid + 1);
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_REJECTED), 0);
	pmv_be64_store(m.rej.ari, req.req.local_ca_guid);
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_REJECTED), 1);
	assert_int_equal(cm_lab_last(&lab, 1, PMV_CM_EVENT_REJECTED)->status, 4);
	assert_int_equal(pmv_cm_accept(lab.s[1].ids[0], NULL), -EINVAL);
	cm_lab_close(&lab);
}

/* CM-103 (a): a second REP from the QP of a live connection: REJ 10 about the REP, the first
 * connection is given up; a REP with a comm ID that is in use says nothing. */
static void
cm_request__stale_rep(void **state)
{
	struct pmv_cm_msg rep = { .attr = PMV_CM_ATTR_REP };
	const struct cm_lab_frame *f;
	struct cm_lab_pair p;
	struct pmv_cm_id *id;

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	p = cm_lab_established(&lab, "192.168.10.2");
	lab.s[0].drop[PMV_CM_ATTR_REQ] = ~0ull;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	cm_lab_run(&lab, 2000);
	rep.rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0)->msg.rep;
	rep.rep.remote_comm_id = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 1)->msg.req.local_comm_id;
	cm_lab_inject(&lab, 0, &rep, NULL);
	cm_lab_run(&lab, 500);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REJ), 0);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DISCONNECTED), 0);
	rep.rep.local_comm_id ^= 0x10000;
	cm_lab_inject(&lab, 0, &rep, NULL);
	cm_lab_run(&lab, 500);
	f = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REJ, 0);
	assert_int_equal(f->msg.rej.about, PMV_CM_ABOUT_REP);
	assert_int_equal(f->msg.rej.reason, PMV_CM_REASON_STALE_CONN);
	assert_int_equal(f->msg.rej.remote_comm_id, rep.rep.local_comm_id);
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_DREQ), 1);
	assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_DISCONNECTED), 1);
	assert_ptr_equal(cm_lab_last(&lab, 0, PMV_CM_EVENT_DISCONNECTED)->id, p.a);
	assert_int_equal(pmv_cm_disconnect(id), -EINVAL); /* still trying */
	cm_lab_close(&lab);
}

/* CM-109: an MRA stretches the running wait only; the total of REQs stays 16. */
static void
cm_request__mra(void **state)
{
	struct pmv_cm_msg mra = { .attr = PMV_CM_ATTR_MRA,
		.mra = { .local_comm_id = 7, .about = PMV_CM_ABOUT_REQ, .service_timeout = 20 } };
	struct pmv_cm_id *id;
	uint64_t at[16];

	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	lab.s[0].drop[PMV_CM_ATTR_REQ] = ~0ull;
	id = cm_lab_connect(&lab, 0, "192.168.10.2", CM_LAB_PORT);
	assert_int_equal(pmv_cm_set_timers(id, 17, 15), 0); /* 512 ms */
	cm_lab_run_slow(&lab, 100000);
	mra.mra.remote_comm_id = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, 0)->msg.req.local_comm_id;
	cm_lab_inject(&lab, 0, &mra, NULL);
	cm_lab_run_slow(&lab, 1000000);
	cm_lab_inject(&lab, 0, &mra, NULL);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_UNREACHABLE, 20000000));
	assert_int_equal(cm_lab_nb_sent(&lab, 0, PMV_CM_ATTR_REQ), 16);
	for (uint32_t i = 0; i < 16; i++)
		at[i] = cm_lab_sent(&lab, 0, PMV_CM_ATTR_REQ, i)->at / lab.pair.link->ticks_per_us;
	assert_in_range(at[1] - at[0], 4100000, 6000000);
	for (uint32_t i = 2; i < 16; i++)
		assert_in_range(at[i] - at[i - 1], 510000, 516000);
	cm_lab_close(&lab);
}

/* CM-108: MRA about the REP, then a DREQ: all waiting stops at once. */
static void
cm_request__mra_then_dreq(void **state)
{
	struct pmv_cm_msg m = { .attr = PMV_CM_ATTR_MRA,
		.mra = { .about = PMV_CM_ABOUT_REP, .service_timeout = 24 } };
	const struct cm_lab_frame *rep;
	struct pmv_cm_id *id;

	open_with_listener();
	lab.s[1].no_accept = false;
	inject();
	id = lab.s[1].ids[0];
	rep = cm_lab_sent(&lab, 1, PMV_CM_ATTR_REP, 0);
	m.mra.local_comm_id = req.req.local_comm_id;
	m.mra.remote_comm_id = rep->msg.rep.local_comm_id;
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(id->conn.state, PMV_CM_ST_MRA_REP_RCVD);
	m = (struct pmv_cm_msg){ .attr = PMV_CM_ATTR_DREQ,
		.dreq = { req.req.local_comm_id, rep->msg.rep.local_comm_id,
			rep->msg.rep.local_qpn } };
	cm_lab_inject(&lab, 1, &m, NULL);
	cm_lab_run(&lab, 200);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(cm_lab_count(&lab, 1, PMV_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_DREP), 1);
	cm_lab_run_slow(&lab, 3000000);
	assert_int_equal(cm_lab_nb_sent(&lab, 1, PMV_CM_ATTR_REP), 1);
	cm_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_request__no_listener),
		cmocka_unit_test(cm_request__rejected_by_application),
		cmocka_unit_test(cm_request__copy),
		cmocka_unit_test(cm_request__stale),
		cmocka_unit_test(cm_request__stale_established),
		cmocka_unit_test(cm_request__refused_with_reason),
		cmocka_unit_test(cm_request__mtu_above_ours),
		cmocka_unit_test(cm_request__values_are_used),
		cmocka_unit_test(cm_request__backlog),
		cmocka_unit_test(cm_request__listener_destroyed),
		cmocka_unit_test(cm_request__id_max),
		cmocka_unit_test(cm_request__listener_by_address),
		cmocka_unit_test(cm_request__unknown_ids),
		cmocka_unit_test(cm_request__spoofed_ids),
		cmocka_unit_test(cm_request__peer_gives_up),
		cmocka_unit_test(cm_request__stale_rep),
		cmocka_unit_test(cm_request__mra),
		cmocka_unit_test(cm_request__mra_then_dreq),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
