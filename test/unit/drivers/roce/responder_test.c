// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/responder: what only a look inside can reach: the message sequence number around its
 * wrap, a message that grows beyond 2^31 bytes, and what the first request of a connection raises.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "drivers/roce/responder.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/wire/ext_hdr.h"
#include "test/unit/drivers/roce/rig.h"

#define MTU 1024u

static const struct pmv_test_pair_param plain;

/* The last answer of node 1. */
static struct {
	uint32_t nb;
	uint8_t syndrome;
	uint32_t psn;
	uint32_t msn;
} seen;

static enum pmv_test_fate
record(void *arg, struct rte_mbuf *m, uint64_t index)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(m, const uint8_t *, 42);
	struct pmv_aeth aeth;

	assert_true(pmv_opcode_has(&pmv_opcode_table[bth[0]], PMV_EXT_AETH));
	pmv_aeth_parse(bth + PMV_OFF_AETH, &aeth);
	seen.nb++;
	seen.syndrome = aeth.syndrome;
	seen.psn = pmv_be24_load(bth + 9);
	seen.msn = aeth.msn;
	return PMV_TEST_DROP;
}

/* A request from node 0 by hand, and two turns of both nodes. */
struct req {
	uint8_t opcode;
	uint32_t payload;
	uint32_t dma_len; /* of the RETH; its address is the start of node 1's memory */
};

static void
feed(struct rig *r, const struct pmv_qp *qp, uint32_t psn, struct req req)
{
	struct rig_frame f = rig_frame(req.opcode, pmv_qp_num(qp), psn);
	const struct pmv_reth reth = { (uintptr_t)r->mem[1], pmv_mr_rkey(r->mr[1]), req.dma_len };
	uint8_t bytes[2048];
	uint32_t len;

	f.bth.ackreq = true;
	f.payload = req.payload;
	if (pmv_opcode_has(&pmv_opcode_table[req.opcode], PMV_EXT_RETH))
		pmv_reth_build(f.ext, &reth);
	len = rig_frame_write(&f, bytes);
	seen.nb = 0;
	pmv_test_link_inject(r->pair.link, 1, bytes, len);
	rig_run(r, 10);
}

static void
answered(uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	assert_int_equal(seen.nb, 1);
	assert_int_equal(seen.syndrome, syndrome);
	assert_int_equal(seen.psn, psn & PMV_PSN_MASK);
	assert_int_equal(seen.msn, msn);
}

static struct rig *
open_recorded(void)
{
	struct rig *r = rig_open(&plain);

	r->pair.link->end[1].out.hook = record;
	return r;
}

static void
recv_at(struct pmv_qp *qp, const struct pmv_sge *sge, uint32_t num_sge)
{
	const struct pmv_recv_wr wr = { 7, sge, num_sge };

	assert_int_equal(pmv_post_recv(qp, &wr, 1), 1);
}

static int
event_of(struct rig *r, int side, struct pmv_event *ev)
{
	return pmv_worker_get_event(r->pair.node[side].worker[0], ev);
}

/* IBTA 9.3.5: finished messages, a READ when it is taken; 24 bits; not what is only begun, nor
 * what was refused, nor what is seen again. */
static void
responder__msn(void **state)
{
	struct rig *r = open_recorded();
	struct pmv_qp *qp = r->rc[1];
	uint32_t psn = pmv_roce_qp(qp)->resp.epsn.v;
	const struct pmv_sge sge = { (uintptr_t)r->mem[1], 4096, pmv_mr_lkey(r->mr[1]) };

	feed(r, qp, psn, (struct req){ PMV_OPCODE_RC_WRITE_FIRST, MTU, 2 * MTU + 1 });
	answered(0x1f, psn, 0);
	feed(r, qp, psn + 1, (struct req){ PMV_OPCODE_RC_WRITE_MIDDLE, MTU, 0 });
	answered(0x1f, psn + 1, 0);
	feed(r, qp, psn + 2, (struct req){ PMV_OPCODE_RC_WRITE_LAST, 1, 0 });
	answered(0x1f, psn + 2, 1);
	pmv_roce_qp(qp)->resp.msn = 0xfffffd;
	feed(r, qp, psn + 3, (struct req){ PMV_OPCODE_RC_SEND_ONLY, 8, 0 }); /* not ready */
	answered(PMV_SYNDROME_RNR | 12, psn + 3, 0xfffffd);
	recv_at(qp, &sge, 1);
	feed(r, qp, psn + 3, (struct req){ PMV_OPCODE_RC_SEND_ONLY, 8, 0 });
	answered(0x1f, psn + 3, 0xfffffe);
	feed(r, qp, psn + 4, (struct req){ PMV_OPCODE_RC_READ_REQUEST, 0, 8 });
	answered(0x1f, psn + 4, 0xffffff);
	feed(r, qp, psn + 5, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 8, 8 });
	answered(0x1f, psn + 5, 0);
	feed(r, qp, psn + 3, (struct req){ PMV_OPCODE_RC_SEND_ONLY, 8, 0 }); /* again */
	answered(0x1f, psn + 5, 0);
	feed(r, qp, psn + 4, (struct req){ PMV_OPCODE_RC_READ_REQUEST, 0, 8 });
	answered(0x1f, psn + 4, 0);
	feed(r, qp, psn + 6, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 0, 0 });
	answered(0x1f, psn + 6, 1);
	feed(r, qp, psn + 8, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 0, 0 }); /* a gap */
	answered(0x60, psn + 7, 1);
	feed(r, qp, psn + 7, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 8, 9 }); /* invalid */
	answered(0x61, psn + 7, 1);
	rig_close(r);
}

/* IBTA 9.7.4: a message has 2^31 bytes at most, and a SEND does not say how many will come. The
 * receive offers more. */
static void
responder__send_above_2_31_bytes(void **state)
{
	const size_t bytes = (1ull << 31) + 65536;
	uint8_t *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(mem != MAP_FAILED);
	for (int too_long = 0; too_long < 2; too_long++) {
		struct rig *r = open_recorded();
		struct pmv_qp *qp = r->rc[1];
		uint32_t psn = pmv_roce_qp(qp)->resp.epsn.v;
		struct pmv_sge sge[2];
		struct pmv_mr *mr;
		struct pmv_wc wc;

		assert_int_equal(
			pmv_reg_mr(r->pair.node[1].pd, mem, bytes, PMV_ACCESS_LOCAL_WRITE, &mr), 0);
		sge[0] = (struct pmv_sge){ (uintptr_t)mem, 1u << 31, pmv_mr_lkey(mr) };
		sge[1] = (struct pmv_sge){ (uintptr_t)mem + (1u << 31), 65536, pmv_mr_lkey(mr) };
		recv_at(qp, sge, 2);
		feed(r, qp, psn, (struct req){ PMV_OPCODE_RC_SEND_FIRST, MTU, 0 });
		answered(0x1f, psn, 0);
		pmv_roce_qp(qp)->resp.msg_off = (1u << 31) - 2 * MTU; /* two million packets on */
		feed(r, qp, psn + 1, (struct req){ PMV_OPCODE_RC_SEND_MIDDLE, MTU, 0 });
		answered(0x1f, psn + 1, 0);
		if (too_long) {
			feed(r, qp, psn + 2, (struct req){ PMV_OPCODE_RC_SEND_MIDDLE, MTU, 0 });
			answered(0x1f, psn + 2, 0);
			feed(r, qp, psn + 3, (struct req){ PMV_OPCODE_RC_SEND_LAST, 1, 0 });
			answered(PMV_SYNDROME_NAK_INV_REQ, psn + 3, 0);
		} else {
			feed(r, qp, psn + 2, (struct req){ PMV_OPCODE_RC_SEND_LAST, MTU, 0 });
			answered(0x1f, psn + 2, 1);
		}
		assert_int_equal(pmv_poll_cq(r->pair.node[1].cq[0], &wc, 1), 1);
		assert_int_equal(wc.wr_id, 7);
		assert_int_equal(wc.status, too_long ? PMV_WC_LOC_LEN_ERR : PMV_WC_SUCCESS);
		assert_int_equal(pmv_qp_get_state(qp), too_long ? PMV_QPS_ERR : PMV_QPS_RTS);
		if (!too_long)
			assert_int_equal(wc.byte_len, 1u << 31);
		assert_in_range(-pmv_dereg_mr(mr), 0, EINPROGRESS);
		rig_close(r);
	}
	munmap(mem, bytes);
}

/* A QP of node 1 in RTR that expects its peer's PSN 0x100. */
static struct pmv_qp *
open_rtr(struct rig *r)
{
	struct pmv_qp *qp = pmv_test_qp_create(&r->pair.node[1], 0, PMV_QPT_RC);
	struct pmv_qp_attr a = { .qp_state = PMV_QPS_INIT,
		.port_num = 1,
		.path_mtu = PMV_MTU_1024,
		.dest_qp_num = pmv_qp_num(r->rc[0]),
		.rq_psn = 0x100,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.qp_access_flags = PMV_ACCESS_REMOTE_WRITE };

	assert_int_equal(pmv_query_gid(r->pair.node[0].dev, 0, &a.ah_attr.dgid), 0);
	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS),
		0);
	a.qp_state = PMV_QPS_RTR;
	assert_int_equal(
		pmv_modify_qp(qp, &a,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER),
		0);
	return qp;
}

/* IBTA 11.6.3: the first request in RTR raises COMM_EST, once, and is executed; in RTS none does.
 */
static void
responder__first_request_in_rtr(void **state)
{
	struct rig *r = open_recorded();
	struct pmv_qp *qp = open_rtr(r);
	struct pmv_event ev;
	uint32_t psn;

	assert_int_equal(event_of(r, 1, &ev), 0);
	assert_int_equal(qp->comm_est, 0);
	feed(r, qp, 0x100, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 8, 8 });
	answered(0x1f, 0x100, 1);
	assert_int_equal(r->mem[1][7], 7);
	assert_int_equal(event_of(r, 1, &ev), 1);
	assert_int_equal(ev.type, PMV_EVENT_COMM_EST);
	assert_int_equal(ev.qp_num, pmv_qp_num(qp));
	assert_ptr_equal(ev.object, qp);
	assert_int_equal(qp->comm_est, 1);
	feed(r, qp, 0x101, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 8, 8 });
	answered(0x1f, 0x101, 2);
	assert_int_equal(event_of(r, 1, &ev), 0);
	psn = pmv_roce_qp(r->rc[1])->resp.epsn.v;
	feed(r, r->rc[1], psn, (struct req){ PMV_OPCODE_RC_WRITE_ONLY, 8, 8 });
	answered(0x1f, psn, 1);
	assert_int_equal(event_of(r, 1, &ev), 0);
	assert_int_equal(r->rc[1]->comm_est, 1);
	assert_int_equal(pmv_destroy_qp(qp), 0);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responder__msn),
		cmocka_unit_test(responder__send_above_2_31_bytes),
		cmocka_unit_test(responder__first_request_in_rtr),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
