// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/mcast and lib/verbs/mcast: who gets what is sent to a group, on both workers of a
 * device; our own messages; what is refused; and what the port's filter is told. The port's
 * functions are this file's: no virtual port has a filter.
 */
#include "drivers/roce/mcast.h"

#include <errno.h>
#include <pthread.h>

#include "test/unit/drivers/roce/rig.h"

static const struct pmv_test_pair_param two = { .nb_workers = 2 };

/* ---- the port ---- */

static struct {
	int list_rc, all_rc, promiscuous_rc; /* what it answers */
	uint32_t nb_lists;                   /* how often it was asked */
	bool all, promiscuous;
	struct rte_ether_addr mac[128];
	uint32_t nb_macs;
} port;

int __wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *mac, uint32_t nb);
int __wrap_rte_eth_allmulticast_enable(uint16_t id);
int __wrap_rte_eth_allmulticast_disable(uint16_t id);
int __wrap_rte_eth_allmulticast_get(uint16_t id);
int __wrap_rte_eth_promiscuous_enable(uint16_t id);
int __wrap_rte_eth_promiscuous_disable(uint16_t id);
int __wrap_rte_eth_promiscuous_get(uint16_t id);

int
__wrap_rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *mac, uint32_t nb)
{
	port.nb_lists++;
	if (port.list_rc != 0)
		return port.list_rc;
	assert_in_range(nb, 0, 128);
	memcpy(port.mac, mac, nb * sizeof(*mac));
	port.nb_macs = nb;
	return 0;
}

int
__wrap_rte_eth_allmulticast_enable(uint16_t id)
{
	port.all = port.all || port.all_rc == 0;
	return port.all_rc;
}

int
__wrap_rte_eth_allmulticast_disable(uint16_t id)
{
	port.all = false;
	return 0;
}

int
__wrap_rte_eth_allmulticast_get(uint16_t id)
{
	return port.all;
}

int
__wrap_rte_eth_promiscuous_enable(uint16_t id)
{
	port.promiscuous = port.promiscuous || port.promiscuous_rc == 0;
	return port.promiscuous_rc;
}

int
__wrap_rte_eth_promiscuous_disable(uint16_t id)
{
	port.promiscuous = false;
	return 0;
}

int
__wrap_rte_eth_promiscuous_get(uint16_t id)
{
	return port.promiscuous;
}

static bool
has_mac(const char *text)
{
	struct rte_ether_addr mac;
	uint32_t nb = 0;

	assert_int_equal(rte_ether_unformat_addr(text, &mac), 0);
	for (uint32_t i = 0; i < port.nb_macs; i++)
		nb += rte_is_same_ether_addr(&port.mac[i], &mac);
	assert_in_range(nb, 0, 1);
	return nb == 1;
}

/* ---- what the tests share ---- */

static union pmv_gid
gid_of(const char *text)
{
	struct pmv_ip_addr a;

	assert_int_equal(pmv_ip_addr_parse(text, &a), 0);
	return a.gid;
}

static struct pmv_qp *
new_ud(struct rig *r, int side, uint16_t worker)
{
	struct pmv_qp *qp = pmv_test_qp_create(&r->pair.node[side], worker, PMV_QPT_UD);

	pmv_test_qp_ud_rts(qp, RIG_QKEY, 0xffffff);
	return qp;
}

static void
post_recv(struct rig *r, int side, struct pmv_qp *qp)
{
	const struct pmv_sge sge = { (uintptr_t)r->mem[side], 128, pmv_mr_lkey(r->mr[side]) };
	const struct pmv_recv_wr wr = { 1, &sge, 1 };

	assert_int_equal(pmv_post_recv(qp, &wr, 1), 1);
}

/* 8 bytes from a QP to a group. */
static void
send_to(struct rig *r, int side, struct pmv_qp *qp, const union pmv_gid *gid)
{
	const struct pmv_ah_attr a = { .dgid = *gid, .sgid_index = gid->raw[0] == 0xff };
	const struct pmv_sge sge = { (uintptr_t)r->mem[side], 8, pmv_mr_lkey(r->mr[side]) };
	struct pmv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_SEND };
	struct pmv_ah *ah;

	assert_int_equal(pmv_create_ah(r->pair.node[side].pd, &a, &ah), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0x33;
	wr.wr.ud.remote_qkey = RIG_QKEY;
	assert_int_equal(pmv_post_send(qp, &wr, 1), 1);
	assert_int_equal(pmv_destroy_ah(ah), 0);
}

/* Completions of a worker's CQ: how many are this QP's; none may be another's. */
static uint32_t
taken_by(struct rig *r, int side, uint16_t worker, const struct pmv_qp *qp, uint32_t src)
{
	struct pmv_wc wc[8];
	uint32_t nb = pmv_poll_cq(r->pair.node[side].cq[worker], wc, 8);

	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(wc[i].status, PMV_WC_SUCCESS);
		assert_int_equal(wc[i].opcode, PMV_WC_RECV);
		assert_int_equal(wc[i].qp_num, pmv_qp_num(qp));
		assert_int_equal(wc[i].src_qp, src);
		assert_int_equal(wc[i].byte_len, 48);
	}
	return nb;
}

static struct rig *
open_rig(void)
{
	memset(&port, 0, sizeof(port));
	return rig_open(&two);
}

/* PK-710: one ready, one without receives, one with another Q_Key, one on the other worker. */
static void
mcast__fan_out(void **state)
{
	static const char *const groups[] = { "239.1.2.3", "ff05::1234:5678" };
	struct rig *r = open_rig();
	struct pmv_qp *deaf = new_ud(r, 1, 0), *stranger = new_ud(r, 1, 0);
	struct pmv_qp *far = new_ud(r, 1, 1);
	uint32_t src = pmv_qp_num(r->ud[0]);

	stranger->attr.qkey = RIG_QKEY + 1;
	post_recv(r, 1, stranger);
	for (uint32_t g = 0; g < 2; g++) {
		union pmv_gid gid = gid_of(groups[g]);

		assert_int_equal(pmv_attach_mcast(r->ud[1], &gid, 0), 0);
		assert_int_equal(pmv_attach_mcast(deaf, &gid, 0), 0);
		assert_int_equal(pmv_attach_mcast(stranger, &gid, 0), 0);
		assert_int_equal(pmv_attach_mcast(far, &gid, 0), 0);
		for (uint32_t i = 0; i < 500; i++) {
			uint64_t no_recv =
				pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_ud_no_recv");
			uint64_t qkey = pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_qkey");

			post_recv(r, 1, r->ud[1]);
			post_recv(r, 1, far);
			memset(r->mem[0], (int)i, 8);
			send_to(r, 0, r->ud[0], &gid);
			rig_run(r, 20);
			assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 1);
			assert_int_equal(taken_by(r, 1, 1, far, src), 1);
			assert_memory_equal(r->mem[1] + 40, r->mem[0], 8);
			assert_int_equal(
				pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_ud_no_recv"),
				no_recv + 1);
			assert_int_equal(pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_qkey"),
				qkey + 1);
		}
		assert_int_equal(pmv_detach_mcast(r->ud[1], &gid), 0);
		assert_int_equal(pmv_detach_mcast(deaf, &gid), 0);
		assert_int_equal(pmv_detach_mcast(stranger, &gid), 0);
		/* only the other worker has one now */
		post_recv(r, 1, far);
		send_to(r, 0, r->ud[0], &gid);
		rig_run(r, 20);
		assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 0);
		assert_int_equal(taken_by(r, 1, 1, far, src), 1);
		assert_int_equal(pmv_detach_mcast(far, &gid), 0);
	}
	assert_int_equal(pmv_destroy_qp(deaf), 0);
	assert_int_equal(pmv_destroy_qp(stranger), 0);
	assert_int_equal(pmv_destroy_qp(far), 0);
	rig_close(r);
}

/* The port may let anything in: groups that nobody joined, QPNs and opcodes that do not belong. */
static void
mcast__what_is_dropped(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("239.1.2.3"), other = gid_of("239.129.2.3");
	struct rig_frame f = rig_frame(PMV_OPCODE_UD_SEND_ONLY, PMV_QPN_MULTICAST, 0);
	const struct pmv_deth deth = { RIG_QKEY, 5 };

	pmv_deth_build(f.ext, &deth);
	f.payload = 8;
	f.group = gid.raw;
	rig_expect(r, &f, "rx_drop_mcast");
	assert_int_equal(pmv_attach_mcast(r->ud[1], &gid, 0), 0);
	rig_expect(r, &f, "rx_drop_ud_no_recv");
	f.group = other.raw; /* the same MAC */
	rig_expect(r, &f, "rx_drop_mcast");
	f.group = gid.raw;
	f.bth.pkey = 0x1234;
	rig_expect(r, &f, "rx_drop_pkey");
	f.bth.pkey = 0xffff;
	f.bth.dqpn = pmv_qp_num(r->ud[1]); /* A17.4: groups are for QPN ffffff */
	rig_expect(r, &f, "rx_drop_qpn");
	f.bth.dqpn = PMV_QPN_GSI;
	rig_expect(r, &f, "rx_drop_qpn");
	f.bth.dqpn = PMV_QPN_MULTICAST;
	f.bth.opcode = PMV_OPCODE_RC_SEND_ONLY;
	rig_expect(r, &f, "rx_drop_qp_class");
	f.bth.opcode = PMV_OPCODE_UD_SEND_ONLY;
	r->ud[1]->state = PMV_QPS_INIT;
	rig_expect(r, &f, "rx_drop_qp_state");
	r->ud[1]->state = PMV_QPS_RTS;
	assert_int_equal(pmv_detach_mcast(r->ud[1], &gid), 0);
	rig_expect(r, &f, "rx_drop_mcast");
	rig_close(r);
}

/* Our own messages: to nobody here unless asked for, and then once, whatever comes back. */
static void
mcast__own_messages(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("ff05::1234:5678");
	struct pmv_qp *far = new_ud(r, 1, 1), *quiet = new_ud(r, 1, 1);
	struct rig_frame f = rig_frame(PMV_OPCODE_UD_SEND_ONLY, PMV_QPN_MULTICAST, 0);
	const struct pmv_deth deth = { RIG_QKEY, 5 };
	uint32_t src = pmv_qp_num(r->ud[1]);

	assert_int_equal(pmv_attach_mcast(r->ud[1], &gid, 0), 0);
	assert_int_equal(pmv_attach_mcast(far, &gid, 0), 0);
	assert_int_equal(pmv_attach_mcast(quiet, &gid, 0), 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), 0);
	for (uint32_t i = 0; i < 4; i++) {
		post_recv(r, 1, r->ud[1]);
		post_recv(r, 1, far);
		post_recv(r, 1, quiet);
		post_recv(r, 0, r->ud[0]);
	}
	send_to(r, 1, r->ud[1], &gid);
	rig_run(r, 50);
	assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 0);
	assert_int_equal(taken_by(r, 1, 1, far, src), 0);
	assert_int_equal(taken_by(r, 0, 0, r->ud[0], src), 1); /* the other node */
	/* as a switch would send it back */
	pmv_deth_build(f.ext, &deth);
	f.is_v6 = true;
	f.payload = 8;
	f.group = gid.raw;
	f.src = 2;
	rig_expect(r, &f, "rx_drop_mcast_own");
	/* attached again: the new flags */
	assert_int_equal(pmv_attach_mcast(r->ud[1], &gid, PMV_MCAST_LOOPBACK), 0);
	assert_int_equal(pmv_attach_mcast(far, &gid, PMV_MCAST_LOOPBACK), 0);
	send_to(r, 1, r->ud[1], &gid);
	rig_run(r, 50);
	assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 1);
	assert_int_equal(taken_by(r, 1, 1, far, src), 1); /* and not `quiet` */
	assert_int_equal(taken_by(r, 0, 0, r->ud[0], src), 1);
	rig_expect(r, &f, "rx_drop_mcast_own");
	assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 0);
	/* members of another group hear nothing of it */
	union pmv_gid other = gid_of("ff05::1234:5679");

	send_to(r, 1, r->ud[1], &other);
	rig_run(r, 50);
	assert_int_equal(taken_by(r, 1, 0, r->ud[1], src), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[1], &gid), 0);
	assert_int_equal(pmv_detach_mcast(far, &gid), 0);
	assert_int_equal(pmv_detach_mcast(quiet, &gid), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), 0);
	assert_int_equal(pmv_destroy_qp(far), 0);
	assert_int_equal(pmv_destroy_qp(quiet), 0);
	rig_close(r);
}

/* More own messages than a turn takes, and a worker that ends with some. */
static void
mcast__loopback_is_bounded(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("239.1.2.3");

	assert_int_equal(pmv_attach_mcast(r->ud[1], &gid, PMV_MCAST_LOOPBACK), 0);
	for (uint32_t i = 0; i < 70; i++)
		send_to(r, 1, r->ud[1], &gid);
	assert_int_equal(pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_mcast_loop_full"), 6);
	assert_false(pmv_roce_worker_idle(r->pair.node[1].worker[0]));
	rig_run(r, 50);
	assert_int_equal(pmv_worker_stat(r->pair.node[1].worker[0], "rx_drop_ud_no_recv"), 64);
	assert_true(pmv_roce_worker_idle(r->pair.node[1].worker[0]));
	assert_int_equal(pmv_detach_mcast(r->ud[1], &gid), 0);
	rig_close(r);
}

struct call {
	struct pmv_qp *qp;
	union pmv_gid gid;
	int attach, detach;
};

static void *
call_elsewhere(void *arg)
{
	struct call *c = arg;

	c->attach = pmv_attach_mcast(c->qp, &c->gid, 0);
	c->detach = pmv_detach_mcast(c->qp, &c->gid);
	return NULL;
}

static void
mcast__refusals(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("239.1.2.3"), host = gid_of("192.168.10.9");
	struct pmv_qp_attr attr = { .qkey = RIG_QKEY };
	struct call c = { .qp = r->ud[0], .gid = gid };
	struct pmv_op op = { 0 };
	pthread_t thread;

	assert_int_equal(pmv_attach_mcast(NULL, &gid, 0), -EINVAL);
	assert_int_equal(pmv_attach_mcast(r->ud[0], NULL, 0), -EINVAL);
	assert_int_equal(pmv_detach_mcast(NULL, &gid), -EINVAL);
	assert_int_equal(pmv_detach_mcast(r->ud[0], NULL), -EINVAL);
	assert_int_equal(pmv_attach_mcast(r->rc[0], &gid, 0), -EINVAL);
	assert_int_equal(pmv_attach_mcast(r->uc[0], &gid, 0), -EINVAL);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &host, 0), -EINVAL);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 2), -EINVAL);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), -EINVAL);
	assert_int_equal(pmv_modify_qp_submit(r->ud[0], &attr, PMV_QP_QKEY, &op), 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), -EINVAL);
	assert_int_equal(pmv_op_poll(&op), 0);
	assert_int_equal(pthread_create(&thread, NULL, call_elsewhere, &c), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(c.attach, -EPERM);
	assert_int_equal(c.detach, -EPERM);
	/* twice is once */
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), 0);
	memset(&op, 0, sizeof(op));
	assert_int_equal(pmv_destroy_qp(r->ud[0]), -EBUSY);
	assert_int_equal(pmv_destroy_qp_submit(r->ud[0], &op), -EBUSY);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), -EINVAL);
	rig_close(r);
}

/* The device's two limits, to the last one. */
static void
mcast__limits(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("239.1.2.0"), more = gid_of("239.2.0.0");
	struct pmv_device_attr limits;
	struct pmv_qp *qp[64];

	assert_int_equal(pmv_query_device(r->pair.node[0].dev, &limits), 0);
	assert_int_equal(limits.max_mcast_grp, 64);
	assert_int_equal(limits.max_mcast_qp_attach, 64);
	for (uint32_t i = 0; i < 64; i++) {
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), 0);
	}
	assert_int_equal(pmv_attach_mcast(r->ud[0], &more, 0), -ENOSPC);
	for (uint32_t i = 0; i < 63; i++) { /* of the last group */
		qp[i] = new_ud(r, 0, i & 1);
		assert_int_equal(pmv_attach_mcast(qp[i], &gid, 0), 0);
	}
	qp[63] = new_ud(r, 0, 0);
	assert_int_equal(pmv_attach_mcast(qp[63], &gid, 0), -ENOSPC);
	assert_int_equal(pmv_detach_mcast(qp[5], &gid), 0);
	assert_int_equal(pmv_attach_mcast(qp[63], &gid, 0), 0);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(pmv_detach_mcast(qp[i], &gid), i == 5 ? -EINVAL : 0);
		assert_int_equal(pmv_destroy_qp(qp[i]), 0);
	}
	for (uint32_t i = 0; i < 64; i++) {
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), 0);
		assert_int_equal(pmv_attach_mcast(r->ud[0], &more, 0), 0); /* its slot */
		assert_int_equal(pmv_detach_mcast(r->ud[0], &more), 0);
	}
	rig_close(r);
}

/* A port with a list: it holds the groups, each MAC once, and what our own addresses need. */
static void
mcast__filter_list(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid a = gid_of("239.1.2.3"), same = gid_of("239.129.2.3");
	union pmv_gid v6 = gid_of("ff05::1234:5678");
	struct pmv_ip_addr addr;

	assert_int_equal(port.nb_lists, 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &a, 0), 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &a, 0), 0);
	assert_int_equal(port.nb_lists, 1);
	assert_true(has_mac("01:00:5e:01:02:03"));
	assert_true(has_mac("01:00:5e:00:00:01"));
	assert_true(has_mac("33:33:00:00:00:01"));
	assert_true(has_mac("33:33:ff:00:00:01")); /* solicited-node of fd00::1 */
	assert_int_equal(port.nb_macs, 4);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &same, 0), 0);
	assert_int_equal(pmv_attach_mcast(r->ud[0], &v6, 0), 0);
	assert_true(has_mac("33:33:12:34:56:78"));
	assert_int_equal(port.nb_macs, 5);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &a), 0);
	assert_true(has_mac("01:00:5e:01:02:03")); /* `same` has it */
	assert_int_equal(pmv_ip_addr_parse("fd00::aa:bbcc/64", &addr), 0);
	assert_int_equal(pmv_device_add_addr(r->pair.node[0].dev, &addr), 0);
	assert_true(has_mac("33:33:ff:aa:bb:cc"));
	assert_int_equal(pmv_detach_mcast(r->ud[0], &same), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &v6), 0);
	assert_int_equal(port.nb_macs, 4);
	assert_false(has_mac("01:00:5e:01:02:03"));
	assert_false(port.all);
	assert_false(port.promiscuous);
	rig_close(r);
}

/* PK-712: what the port refuses with is the answer, and nothing is attached; then it works. */
static void
mcast__filter_refuses(void **state)
{
	static const struct {
		int list, all, promiscuous, rc;
	} rows[] = { { -ENOSPC, 0, 0, -ENOSPC }, { -ENODEV, 0, 0, -ENODEV }, { -EIO, 0, 0, -EIO },
		{ -ENOTSUP, -ENODEV, 0, -ENODEV }, { -ENOTSUP, -ENOTSUP, -ENOTSUP, -ENOTSUP } };
	struct rig *r = open_rig();
	union pmv_gid gid = gid_of("239.1.2.3");

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		port.list_rc = rows[i].list;
		port.all_rc = rows[i].all;
		port.promiscuous_rc = rows[i].promiscuous;
		assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), rows[i].rc);
		assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), -EINVAL);
		assert_null(pmv_mcast_group_find(r->pair.node[0].dev, gid.raw));
	}
	port.list_rc = 0;
	assert_int_equal(pmv_attach_mcast(r->ud[0], &gid, 0), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &gid), 0);
	rig_close(r);
}

/* Ports without a list: all multicast, else everything, as long as there is a group. */
static void
mcast__filter_opens_wide(void **state)
{
	struct rig *r = open_rig();
	union pmv_gid a = gid_of("239.1.2.3"), b = gid_of("239.1.2.4");

	port.list_rc = -ENOTSUP;
	for (int promiscuous = 0; promiscuous < 2; promiscuous++) {
		port.all_rc = promiscuous ? -ENOTSUP : 0;
		assert_int_equal(pmv_attach_mcast(r->ud[0], &a, 0), 0);
		assert_int_equal(port.all, !promiscuous);
		assert_int_equal(port.promiscuous, promiscuous);
		assert_int_equal(pmv_attach_mcast(r->ud[0], &b, 0), 0);
		assert_int_equal(pmv_detach_mcast(r->ud[0], &a), 0);
		assert_int_equal(port.all || port.promiscuous, true);
		assert_int_equal(pmv_detach_mcast(r->ud[0], &b), 0);
		assert_false(port.all);
		assert_false(port.promiscuous);
	}
	/* what the application opened is not ours to close */
	port.promiscuous = true;
	assert_int_equal(pmv_attach_mcast(r->ud[0], &a, 0), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &a), 0);
	assert_true(port.promiscuous);
	/* and neither is a filter that it keeps */
	r->pair.node[0].dev->param.mcast_filter_app = true;
	port.promiscuous = false;
	port.nb_lists = 0;
	assert_int_equal(pmv_attach_mcast(r->ud[0], &a, 0), 0);
	assert_int_equal(pmv_detach_mcast(r->ud[0], &a), 0);
	assert_int_equal(port.nb_lists, 0);
	assert_false(port.promiscuous);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mcast__fan_out),
		cmocka_unit_test(mcast__what_is_dropped),
		cmocka_unit_test(mcast__own_messages),
		cmocka_unit_test(mcast__loopback_is_bounded),
		cmocka_unit_test(mcast__refusals),
		cmocka_unit_test(mcast__limits),
		cmocka_unit_test(mcast__filter_list),
		cmocka_unit_test(mcast__filter_refuses),
		cmocka_unit_test(mcast__filter_opens_wide),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
