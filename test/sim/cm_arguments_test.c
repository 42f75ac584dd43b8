// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every pmv_cm_* call that returns an errno, with every argument wrong in its turn: the documented
 * errno, and exactly one line of log, which names the argument (doc/errors.md). What is refused for
 * the phase of an id is in cm_call_test.c; here the line that goes with it. And what an id is bound
 * to after a resolution that failed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/cm.h"
#include "cm/id.h"
#include "test/harness/eal.h"
#include "test/harness/log_lines.h"
#include "test/sim/cm_lab.h"

static struct cm_lab lab;
static struct pmv_cm *cm;

static int
setup(void **state)
{
	cm_lab_open(&lab, &(struct cm_lab_param){ 0 });
	cm = lab.s[0].cm;
	lab.s[0].hands_off = true;
	return 0;
}

static int
teardown(void **state)
{
	cm_lab_close(&lab);
	return 0;
}

static const struct sockaddr *
at(const char *text, uint16_t port)
{
	return cm_lab_addr(text, port);
}

/* An id of node 0 whose route to node 1 is resolved. */
static struct pmv_cm_id *
routed(void)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0);

	assert_int_equal(pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", CM_LAB_PORT), 2000), 0);
	cm_lab_run(&lab, 3000);
	assert_int_equal(pmv_cm_resolve_route(id, 0), 0);
	cm_lab_run(&lab, 200);
	return id;
}

static void
cm_arguments__cm(void **state)
{
	const struct pmv_cm_param big = { .id_max = (1u << 18) + 1 };
	struct pmv_device *dev = lab.pair.node[0].dev;
	struct pmv_cm *other = NULL;
	struct pmv_cm_id *id;

	REFUSED(-EINVAL, "ret_cm", pmv_cm_create(NULL, NULL));
	REFUSED(-EINVAL, "id_max 262145", pmv_cm_create(&big, &other));
	assert_null(other);
	REFUSED(-EINVAL, "cm", pmv_cm_destroy(NULL));
	REFUSED(-EINVAL, "cm", pmv_cm_add_device(NULL, dev));
	REFUSED(-EINVAL, "device", pmv_cm_add_device(cm, NULL));
	REFUSED(-EBUSY, "device", pmv_cm_add_device(lab.s[1].cm, dev));
	REFUSED(-EINVAL, "cm", pmv_cm_remove_device(NULL, dev));
	REFUSED(-EINVAL, "device", pmv_cm_remove_device(cm, NULL));
	REFUSED(-ENOENT, "device", pmv_cm_remove_device(lab.s[1].cm, dev));
	REFUSED(-EINVAL, "cm", pmv_cm_attach(NULL));
	REFUSED(-EBUSY, "cm", pmv_cm_attach(cm));
	REFUSED(-EINVAL, "cm", pmv_cm_detach(NULL));
	REFUSED(-EINVAL, "cm", pmv_cm_create_id(NULL, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &id));
	REFUSED(-EINVAL, "ret_id", pmv_cm_create_id(cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, NULL));
	REFUSED(-EINVAL, "ps 0x7", pmv_cm_create_id(cm, NULL, NULL, 7, PMV_QPT_RC, &id));
	REFUSED(-ENOTSUP, "ps", pmv_cm_create_id(cm, NULL, NULL, PMV_PS_UDP, PMV_QPT_UD, &id));
	REFUSED(-ENOTSUP, "qp_type", pmv_cm_create_id(cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_UD, &id));
	id = cm_lab_id(&lab, 0);
	REFUSED(-EBUSY, "1 ids", pmv_cm_destroy(cm));
	cm->nb_devs += PMV_CM_DEVS_MAX - 1;
	REFUSED(-ENOSPC, "cm has 16", pmv_cm_add_device(cm, dev));
	cm->nb_devs -= PMV_CM_DEVS_MAX - 1;
	cm->id_max = 1;
	REFUSED(-ENOSPC, "id_max", pmv_cm_create_id(cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &id));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* A CM that another thread attached: the same line from every call. */
static void
cm_arguments__owner(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0), *new_id;
	struct pmv_device *dev = lab.pair.node[0].dev;
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_RC };
	struct pmv_cm_event *event;

	cm->owner++;
#define ROW(...) REFUSED(-EPERM, "another thread owns the CM", __VA_ARGS__)
	ROW(pmv_cm_destroy(cm));
	ROW(pmv_cm_add_device(cm, dev));
	ROW(pmv_cm_remove_device(cm, dev));
	ROW(pmv_cm_create_id(cm, NULL, NULL, PMV_PS_TCP, PMV_QPT_RC, &new_id));
	ROW(pmv_cm_destroy_id(id));
	ROW(pmv_cm_bind_addr(id, at("192.168.10.1", 1)));
	ROW(pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", 1), 1));
	ROW(pmv_cm_resolve_route(id, 1));
	ROW(pmv_cm_create_qp(id, lab.pair.node[0].pd, lab.pair.node[0].worker[0], &init));
	ROW(pmv_cm_destroy_qp(id));
	ROW(pmv_cm_connect(id, NULL));
	ROW(pmv_cm_connect_ece(id, NULL, NULL));
	ROW(pmv_cm_listen(id, 1));
	ROW(pmv_cm_accept(id, NULL));
	ROW(pmv_cm_accept_ece(id, NULL, NULL));
	ROW(pmv_cm_reject(id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED));
	ROW(pmv_cm_disconnect(id));
	ROW(pmv_cm_set_service_type(id, 0));
	ROW(pmv_cm_set_ack_timeout(id, 1));
	ROW(pmv_cm_set_min_rnr_timer(id, 1));
	ROW(pmv_cm_set_timers(id, 8, 1));
#undef ROW
	REFUSED(-EPERM, "this thread did not attach it", pmv_cm_detach(cm));
	/* In a loop: a count, and no word. */
	REFUSED(0, NULL, (int)pmv_cm_poll(cm));
	REFUSED(0, NULL, pmv_cm_get_event(cm, &event));
	cm->owner--;
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__no_id(void **state)
{
	struct pmv_qp_init_attr init = { .qp_type = PMV_QPT_RC };

#define ROW(...) REFUSED(-EINVAL, "id is NULL", __VA_ARGS__)
	ROW(pmv_cm_destroy_id(NULL));
	ROW(pmv_cm_bind_addr(NULL, at("192.168.10.1", 1)));
	ROW(pmv_cm_resolve_addr(NULL, NULL, at("192.168.10.2", 1), 1));
	ROW(pmv_cm_resolve_route(NULL, 1));
	ROW(pmv_cm_create_qp(NULL, lab.pair.node[0].pd, lab.pair.node[0].worker[0], &init));
	ROW(pmv_cm_destroy_qp(NULL));
	ROW(pmv_cm_connect(NULL, NULL));
	ROW(pmv_cm_connect_ece(NULL, NULL, NULL));
	ROW(pmv_cm_listen(NULL, 1));
	ROW(pmv_cm_accept(NULL, NULL));
	ROW(pmv_cm_accept_ece(NULL, NULL, NULL));
	ROW(pmv_cm_reject(NULL, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED));
	ROW(pmv_cm_disconnect(NULL));
	ROW(pmv_cm_set_service_type(NULL, 0));
	ROW(pmv_cm_set_ack_timeout(NULL, 1));
	ROW(pmv_cm_set_min_rnr_timer(NULL, 1));
	ROW(pmv_cm_set_timers(NULL, 8, 1));
#undef ROW
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__bind(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0), *bound = cm_lab_id(&lab, 0);
	const struct sockaddr_storage unix_addr = { .ss_family = AF_UNIX };

	assert_int_equal(pmv_cm_bind_addr(bound, at("192.168.10.1", 5000)), 0);
	REFUSED(-EINVAL, "addr is NULL", pmv_cm_bind_addr(id, NULL));
	REFUSED(-EINVAL, "addr is neither",
		pmv_cm_bind_addr(id, (const struct sockaddr *)&unix_addr));
	REFUSED(-EINVAL, "addr is multicast", pmv_cm_bind_addr(id, at("224.0.0.1", 1)));
	REFUSED(-EINVAL, "addr is multicast", pmv_cm_bind_addr(id, at("ff02::1", 1)));
	REFUSED(-EINVAL, "addr is the broadcast", pmv_cm_bind_addr(id, at("255.255.255.255", 1)));
	REFUSED(-EINVAL, "addr is a loopback", pmv_cm_bind_addr(id, at("127.0.0.1", 1)));
	REFUSED(-EINVAL, "addr is a loopback", pmv_cm_bind_addr(id, at("::1", 1)));
	REFUSED(-EINVAL, "addr is link-local", pmv_cm_bind_addr(id, at("fe80::1", 1)));
	REFUSED(-EADDRNOTAVAIL, "addr 10.1.1.1", pmv_cm_bind_addr(id, at("10.1.1.1", 1)));
	REFUSED(-EADDRINUSE, "port 5000", pmv_cm_bind_addr(id, at("192.168.10.1", 5000)));
	REFUSED(-EADDRINUSE, "port 5000", pmv_cm_bind_addr(id, at("0.0.0.0", 5000)));
	REFUSED(-EINVAL, "id is bound", pmv_cm_bind_addr(bound, at("192.168.10.1", 5001)));
	REFUSED(-EINVAL, "id is not bound", pmv_cm_listen(id, 1));
	assert_int_equal(id->phase, PMV_CM_PH_IDLE);
	assert_false(id->has_src);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__resolve(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0), *bound = cm_lab_id(&lab, 0);
	const char *dst = "192.168.10.2";

	assert_int_equal(pmv_cm_bind_addr(bound, at("192.168.10.1", 5000)), 0);
	REFUSED(-EINVAL, "dst is NULL", pmv_cm_resolve_addr(id, NULL, NULL, 10));
	REFUSED(-EINVAL, "dst is multicast", pmv_cm_resolve_addr(id, NULL, at("ff02::1", 1), 10));
	REFUSED(-EINVAL, "dst is the broadcast",
		pmv_cm_resolve_addr(id, NULL, at("255.255.255.255", 1), 10));
	REFUSED(-EINVAL, "dst is a loopback",
		pmv_cm_resolve_addr(id, NULL, at("127.1.2.3", 1), 10));
	REFUSED(-EINVAL, "dst is link-local", pmv_cm_resolve_addr(id, NULL, at("fe80::1", 1), 10));
	REFUSED(-EINVAL, "dst is the wildcard",
		pmv_cm_resolve_addr(id, NULL, at("0.0.0.0", 1), 10));
	REFUSED(-EINVAL, "dst has port 0", pmv_cm_resolve_addr(id, NULL, at(dst, 0), 10));
	REFUSED(-EINVAL, "timeout_ms", pmv_cm_resolve_addr(id, NULL, at(dst, 1), 0));
	REFUSED(-EINVAL, "timeout_ms", pmv_cm_resolve_addr(id, NULL, at(dst, 1), 600001));
	REFUSED(-EINVAL, "src is multicast",
		pmv_cm_resolve_addr(id, at("224.0.0.1", 0), at(dst, 1), 10));
	REFUSED(-EINVAL, "src and dst", pmv_cm_resolve_addr(id, at("fd00::1", 0), at(dst, 1), 10));
	REFUSED(-EINVAL, "src and dst",
		pmv_cm_resolve_addr(id, at("fd00::1", 4711), at(dst, 1), 10));
	REFUSED(-EADDRNOTAVAIL, "src 10.1.1.1",
		pmv_cm_resolve_addr(id, at("10.1.1.1", 0), at(dst, 1), 10));
	REFUSED(-EADDRINUSE, "src: port 5000",
		pmv_cm_resolve_addr(id, at("192.168.10.1", 5000), at(dst, 1), 10));
	REFUSED(-EINVAL, "id is bound to", pmv_cm_resolve_addr(bound, NULL, at("fd00::2", 1), 10));
	REFUSED(-EINVAL, "src is not",
		pmv_cm_resolve_addr(bound, at("192.168.10.1", 5001), at(dst, 1), 10));
	REFUSED(-EINVAL, "src is not",
		pmv_cm_resolve_addr(bound, at("0.0.0.0", 5000), at(dst, 1), 10));
	REFUSED(-EINVAL, "id: its address", pmv_cm_resolve_route(id, 10));
	assert_int_equal(id->phase, PMV_CM_PH_IDLE);
	assert_false(id->has_src);
	assert_false(id->port_listed);
	assert_int_equal(bound->src_port, 5000);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* No device has an address of the family: with a source, without, and the port is free again. */
static void
cm_arguments__resolve_without_a_device(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0);
	struct pmv_device *dev = lab.pair.node[0].dev;
	union pmv_gid gid;

	assert_int_equal(pmv_query_gid(dev, 1, &gid), 0);
	assert_int_equal(pmv_device_del_addr(dev, &gid), 0);
	cm_lab_run(&lab, 200);
	REFUSED(-ENODEV, "dst fd00::2", pmv_cm_resolve_addr(id, NULL, at("fd00::2", 1), 10));
	REFUSED(-ENODEV, "dst fd00::2",
		pmv_cm_resolve_addr(id, at("::", 5000), at("fd00::2", 1), 10));
	assert_int_equal(id->phase, PMV_CM_PH_IDLE);
	assert_int_equal(pmv_cm_bind_addr(id, at("0.0.0.0", 5000)), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__route_and_qp(void **state)
{
	struct pmv_test_node *node = &lab.pair.node[0];
	struct pmv_qp_init_attr init = { .send_cq = node->cq[0],
		.recv_cq = node->cq[0],
		.qp_type = PMV_QPT_RC,
		.cap = { 16, 16, 1, 1, 0 } };
	struct pmv_cm_id *fresh = cm_lab_id(&lab, 0), *id = cm_lab_id(&lab, 0);
	struct pmv_cm_id *gone = cm_lab_id(&lab, 0);
	struct pmv_pd *pd = node->pd;

	assert_int_equal(pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", CM_LAB_PORT), 2000), 0);
	cm_lab_run(&lab, 3000);
	REFUSED(-EINVAL, "id is resolved",
		pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", 1), 10));
	REFUSED(-EINVAL, "timeout_ms", pmv_cm_resolve_route(id, 600001));
	gone->phase = PMV_CM_PH_GONE;
	REFUSED(-ENODEV, "id: its device", pmv_cm_resolve_route(gone, 1));
	gone->phase = PMV_CM_PH_IDLE;
	REFUSED(-EINVAL, "pd", pmv_cm_create_qp(id, NULL, node->worker[0], &init));
	REFUSED(-EINVAL, "worker", pmv_cm_create_qp(id, pd, NULL, &init));
	REFUSED(-EINVAL, "attr", pmv_cm_create_qp(id, pd, node->worker[0], NULL));
	REFUSED(-EINVAL, "id has no device", pmv_cm_create_qp(fresh, pd, node->worker[0], &init));
	REFUSED(-EINVAL, "worker", pmv_cm_create_qp(id, pd, lab.pair.node[1].worker[0], &init));
	init.qp_type = PMV_QPT_UD;
	REFUSED(-EINVAL, "attr.qp_type", pmv_cm_create_qp(id, pd, node->worker[0], &init));
	init.qp_type = PMV_QPT_RC;
	REFUSED(-EINVAL, "id has no QP", pmv_cm_destroy_qp(id));
	cm_lab_qp(&lab, id);
	REFUSED(-EINVAL, "id has a QP", pmv_cm_create_qp(id, pd, node->worker[0], &init));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__connect(void **state)
{
	const uint8_t data[200] = { 0 };
	struct pmv_cm_conn_param p = { .private_data = data };
	struct pmv_cm_id *fresh = cm_lab_id(&lab, 0), *id = routed();
	const struct pmv_ece wide = { 1u << 24, 1 }, nameless = { 0, 1 };
	static uint32_t taken[1u << 16];
	uint32_t nb = 0;

	REFUSED(-EINVAL, "id: its route", pmv_cm_connect(fresh, NULL));
	REFUSED(-EINVAL, "id has no QP", pmv_cm_connect(id, NULL));
	cm_lab_qp(&lab, id);
#define ROW(field, value, word)                                                                    \
	do {                                                                                       \
		struct pmv_cm_conn_param bad = p;                                                  \
                                                                                                   \
		bad.field = value;                                                                 \
		REFUSED(-EINVAL, word, pmv_cm_connect(id, &bad));                                  \
	} while (0)
	ROW(private_data_len, 57, "private_data_len");
	ROW(retry_count, 8, "param.retry_count");
	ROW(rnr_retry_count, 8, "rnr_retry_count");
	p.private_data = NULL;
	ROW(private_data_len, 1, "private_data is NULL");
#undef ROW
	REFUSED(-EINVAL, "ece.vendor_id", pmv_cm_connect_ece(id, NULL, &wide));
	REFUSED(-EINVAL, "ece.vendor_id", pmv_cm_connect_ece(id, NULL, &nameless));
	while (nb < 1u << 16 &&
		pmv_cm_comm_ids_alloc(&cm->comm_ids, &cm->random, id, &taken[nb]) == 0)
		nb++;
	REFUSED(-ENOSPC, "id: no communication ID", pmv_cm_connect(id, NULL));
	while (nb > 0)
		pmv_cm_comm_ids_free(&cm->comm_ids, taken[--nb]);
	REFUSED(-EINVAL, "id is not connected", pmv_cm_disconnect(id));
	assert_int_equal(pmv_cm_connect(id, NULL), 0);
	REFUSED(-EINVAL, "id is connected", pmv_cm_connect(id, NULL));
	REFUSED(-EINVAL, "id: too late", pmv_cm_set_ack_timeout(id, 1));
	REFUSED(-EINVAL, "id: too late", pmv_cm_set_min_rnr_timer(id, 1));
	REFUSED(-EINVAL, "id: too late", pmv_cm_set_timers(id, 8, 1));
	REFUSED(-EINVAL, "id: too late", pmv_cm_set_service_type(id, 1));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__accept_and_reject(void **state)
{
	const uint8_t data[255] = { 0 };
	const struct pmv_ece wide = { 1u << 24, 1 }, unasked = { PMV_ECE_VENDOR_ID, 1 };
	struct pmv_cm_conn_param p = { .private_data = data };
	uint8_t private_data[92];
	struct pmv_cm_msg req;
	struct pmv_cm_id *id;

	lab.s[0].no_accept = true;
	cm_lab_listen(&lab, 0, "0.0.0.0", CM_LAB_PORT);
	cm_lab_req(&lab, 0, &req, private_data);
	cm_lab_inject(&lab, 0, &req, NULL);
	cm_lab_run(&lab, 200);
	id = lab.s[0].ids[0];
	assert_non_null(id);
	REFUSED(-EINVAL, "id has no QP", pmv_cm_accept(id, NULL));
	cm_lab_qp(&lab, id);
	p.private_data_len = 197;
	REFUSED(-EINVAL, "private_data_len", pmv_cm_accept(id, &p));
	p.private_data_len = 0;
	p.rnr_retry_count = 8;
	REFUSED(-EINVAL, "rnr_retry_count", pmv_cm_accept(id, &p));
	p = (struct pmv_cm_conn_param){ .private_data_len = 1 };
	REFUSED(-EINVAL, "private_data is NULL", pmv_cm_accept(id, &p));
	REFUSED(-EINVAL, "ece.vendor_id is above", pmv_cm_accept_ece(id, NULL, &wide));
	REFUSED(-EINVAL, "ece.vendor_id is not", pmv_cm_accept_ece(id, NULL, &unasked));
	REFUSED(-EINVAL, "reason", pmv_cm_reject(id, NULL, 0, 8));
	REFUSED(-EINVAL, "len", pmv_cm_reject(id, data, 149, PMV_CM_REJ_CONSUMER_DEFINED));
	REFUSED(-EINVAL, "private_data", pmv_cm_reject(id, NULL, 1, PMV_CM_REJ_CONSUMER_DEFINED));
	assert_int_equal(pmv_cm_reject(id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED), 0);
	REFUSED(-EINVAL, "id has no request", pmv_cm_accept(id, NULL));
	REFUSED(-EINVAL, "id has no request",
		pmv_cm_reject(id, NULL, 0, PMV_CM_REJ_CONSUMER_DEFINED));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static void
cm_arguments__options(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0);

	REFUSED(-EINVAL, "code 32", pmv_cm_set_ack_timeout(id, 32));
	REFUSED(-EINVAL, "code 32", pmv_cm_set_min_rnr_timer(id, 32));
	REFUSED(-EINVAL, "response_timeout 7", pmv_cm_set_timers(id, 7, 1));
	REFUSED(-EINVAL, "response_timeout 32", pmv_cm_set_timers(id, 32, 1));
	REFUSED(-EINVAL, "retries 16", pmv_cm_set_timers(id, 8, 16));
	assert_int_equal(pmv_test_refused_failures(), 0);
}

static int
destroys_itself(struct cm_lab_side *s, const struct pmv_cm_event *e)
{
	REFUSED(-EDEADLK, "id: from inside", pmv_cm_destroy_id(e->id));
	REFUSED(-EBUSY, "cm: from inside", pmv_cm_destroy(s->cm));
	s->on_event = NULL;
	return 1;
}

static void
cm_arguments__from_inside_a_handler(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0);

	lab.s[0].on_event = destroys_itself;
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", CM_LAB_PORT), 2000), 0);
	cm_lab_run(&lab, 3000);
	assert_null(lab.s[0].on_event);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/*
 * An id stays bound to a source with a port when its resolution fails, as in rdma_cm, where
 * addr_handler() goes back to ADDR_BOUND. The same call again works; the port is nobody else's
 * meanwhile; after the end of the id it is free. A source without a port is forgotten.
 */
static void
cm_arguments__a_source_with_a_port_stays_bound(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0), *other = cm_lab_id(&lab, 0);
	struct sockaddr_storage local;

	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(pmv_cm_resolve_addr(
					 id, at("192.168.10.1", 5000), at("192.168.10.99", 1), 50),
			0);
		cm_lab_run(&lab, 60000);
		assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_ERROR), i);
		pmv_cm_id_local_addr(id, &local);
		assert_memory_equal(&local, at("192.168.10.1", 5000), sizeof(struct sockaddr));
		REFUSED(-EADDRINUSE, "port 5000", pmv_cm_bind_addr(other, at("0.0.0.0", 5000)));
	}
	REFUSED(-EINVAL, "src is not",
		pmv_cm_resolve_addr(id, at("192.168.10.1", 5001), at("192.168.10.2", 1), 50));
	/* without a port, or without src: what it is bound to */
	assert_int_equal(
		pmv_cm_resolve_addr(id, at("192.168.10.1", 0), at("192.168.10.2", 1), 50), 0);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED, 100000));
	pmv_cm_id_local_addr(id, &local);
	assert_memory_equal(&local, at("192.168.10.1", 5000), sizeof(struct sockaddr));
	cm_lab_destroy(&lab, 0, id);
	assert_int_equal(
		pmv_cm_resolve_addr(other, at("192.168.10.1", 0), at("192.168.10.99", 1), 50), 0);
	cm_lab_run(&lab, 60000);
	assert_int_equal(other->phase, PMV_CM_PH_IDLE);
	assert_int_equal(pmv_cm_bind_addr(other, at("0.0.0.0", 5000)), 0);
	assert_int_equal(pmv_test_refused_failures(), 0);
}

/* The wildcard with a port stays, too, and is a wildcard again. */
static void
cm_arguments__a_wildcard_source_stays_bound(void **state)
{
	struct pmv_cm_id *id = cm_lab_id(&lab, 0);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			pmv_cm_resolve_addr(id, at("0.0.0.0", 5000), at("192.168.10.99", 1), 50),
			0);
		cm_lab_run(&lab, 60000);
		assert_int_equal(cm_lab_count(&lab, 0, PMV_CM_EVENT_ADDR_ERROR), (uint32_t)i + 1);
		assert_int_equal(id->phase, PMV_CM_PH_BOUND);
		assert_true(id->src_any);
		assert_null(pmv_cm_id_device(id));
	}
	assert_int_equal(pmv_cm_resolve_addr(id, NULL, at("192.168.10.2", 1), 50), 0);
	assert_true(cm_lab_wait(&lab, 0, PMV_CM_EVENT_ADDR_RESOLVED, 100000));
	assert_int_equal(id->src_port, 5000);
}

/* The software driver explains a full table of keys, the library does not repeat it. */
static void
cm_arguments__no_key_is_left(void **state)
{
	static struct pmv_mr *mr[4096];
	static uint8_t memory[1];
	struct pmv_pd *pd = lab.pair.node[0].pd;
	struct pmv_mr *more = NULL;
	const char *text;
	uint32_t nb = 0;

	while (nb < 4096 && pmv_reg_mr(pd, memory, 1, 0, &mr[nb]) == 0)
		nb++;
	assert_int_equal(nb, 4096);
	pmv_test_log_begin();
	assert_int_equal(pmv_reg_mr(pd, memory, 1, 0, &more), -ENOSPC);
	assert_int_equal(pmv_test_log_end(&text), 1);
	assert_non_null(strstr(text, "mr_max"));
	assert_null(more);
	while (nb > 0)
		assert_int_equal(pmv_dereg_mr(mr[--nb]), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(cm_arguments__cm),
		T(cm_arguments__owner),
		T(cm_arguments__no_id),
		T(cm_arguments__bind),
		T(cm_arguments__resolve),
		T(cm_arguments__resolve_without_a_device),
		T(cm_arguments__route_and_qp),
		T(cm_arguments__connect),
		T(cm_arguments__accept_and_reject),
		T(cm_arguments__options),
		T(cm_arguments__from_inside_a_handler),
		T(cm_arguments__a_source_with_a_port_stays_bound),
		T(cm_arguments__a_wildcard_source_stays_bound),
		T(cm_arguments__no_key_is_left),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
