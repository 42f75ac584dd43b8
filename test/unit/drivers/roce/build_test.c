// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/build: payloads written in place, of every type of queue pair, and what ends a
 * request that was begun.
 */
#include "drivers/roce/build.h"

#include <errno.h>

#include "test/unit/drivers/roce/rig.h"

#define INLINE_MAX 64u

static const struct pmv_test_pair_param plain;

static struct pmv_send_wr
write_to(struct rig *r, uint32_t off, uint64_t wr_id)
{
	struct pmv_send_wr wr = {
		.wr_id = wr_id, .opcode = PMV_WR_RDMA_WRITE, .send_flags = PMV_SEND_SIGNALED
	};

	wr.wr.rdma.remote_addr = (uintptr_t)(r->mem[1] + off);
	wr.wr.rdma.rkey = pmv_mr_rkey(r->mr[1]);
	return wr;
}

static void
expect_done(struct rig *r, int side, uint64_t wr_id)
{
	struct pmv_wc wc;
	uint32_t nb = 0;

	for (int i = 0; nb == 0 && i < 400; i++) {
		rig_run(r, 100);
		nb = pmv_poll_cq(r->pair.node[side].cq[0], &wc, 1);
	}
	assert_int_equal(nb, 1);
	assert_int_equal(wc.status, PMV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(pmv_poll_cq(r->pair.node[side].cq[0], &wc, 1), 0);
}

static void
write_in_place(struct rig *r, struct pmv_qp *qp, uint32_t length)
{
	struct pmv_send_wr wr = write_to(r, 100, length);
	uint8_t *payload;

	memset(r->mem[1], 0xa5, 256);
	assert_int_equal(pmv_send_begin(qp, length, (void **)&payload), 0);
	assert_int_equal((uintptr_t)payload % 8, 0);
	for (uint32_t i = 0; i < length; i++)
		payload[i] = (uint8_t)(i + length);
	assert_int_equal(pmv_send_commit(qp, &wr), 0);
	expect_done(r, 0, length);
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(r->mem[1][100 + i], (uint8_t)(i + length));
	assert_int_equal(r->mem[1][99], 0xa5);
	assert_int_equal(r->mem[1][100 + length], 0xa5);
}

static void
build__writes_of_every_length(void **state)
{
	struct rig *r = rig_open(&plain);

	for (uint32_t length = 0; length <= INLINE_MAX; length++) {
		write_in_place(r, r->rc[0], length);
		write_in_place(r, r->uc[0], length);
	}
	rig_close(r);
}

/* The payload is sent again from the entry, into which it was written. */
static void
build__is_sent_again(void **state)
{
	struct rig *r = rig_open(&plain);

	for (uint32_t length = 0; length <= INLINE_MAX; length += 8) {
		struct pmv_test_dir *out = &r->pair.link->end[0].out;

		out->drop_mask = 1ull << out->nb_frames;
		rig_run(r, 10);
		write_in_place(r, r->rc[0], length);
	}
	assert_int_not_equal(r->pair.link->end[0].out.nb_dropped, 0);
	rig_close(r);
}

static void
build__datagram(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_sge sge = { (uintptr_t)r->mem[1], 200, pmv_mr_lkey(r->mr[1]) };
	const struct pmv_recv_wr rwr = { 7, &sge, 1 };
	struct pmv_ah_attr attr = { .sgid_index = 0 };
	struct pmv_send_wr wr = {
		.wr_id = 3, .opcode = PMV_WR_SEND, .send_flags = PMV_SEND_SIGNALED
	};
	void *payload;

	assert_int_equal(pmv_query_gid(r->pair.node[1].dev, 0, &attr.dgid), 0);
	assert_int_equal(pmv_create_ah(r->pair.node[0].pd, &attr, &wr.wr.ud.ah), 0);
	wr.wr.ud.remote_qpn = pmv_qp_num(r->ud[1]);
	wr.wr.ud.remote_qkey = RIG_QKEY;
	assert_int_equal(pmv_post_recv(r->ud[1], &rwr, 1), 1);
	assert_int_equal(pmv_send_begin(r->ud[0], 11, &payload), 0);
	memcpy(payload, "in its place", 11);
	assert_int_equal(pmv_send_commit(r->ud[0], &wr), 0);
	expect_done(r, 0, 3);
	expect_done(r, 1, 7);
	assert_memory_equal(r->mem[1] + 40, "in its place", 11);
	assert_int_equal(r->mem[1][51], 0xa5);
	assert_int_equal(pmv_destroy_ah(wr.wr.ud.ah), 0);
	rig_close(r);
}

static void
build__refused(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_qp *fresh = pmv_test_qp_create(&r->pair.node[0], 0, PMV_QPT_RC);
	struct pmv_qp_attr reset = { .qp_state = PMV_QPS_RESET };
	struct pmv_send_wr wr = write_to(r, 0, 1);
	void *payload;
	uint32_t nb = 0;

	assert_int_equal(pmv_send_begin(fresh, 8, &payload), -ENOTCONN);
	assert_int_equal(pmv_send_commit(fresh, &wr), -EINVAL);
	assert_int_equal(pmv_send_begin(r->rc[0], INLINE_MAX + 1, &payload), -EINVAL);
	assert_int_equal(pmv_send_commit(r->rc[0], &wr), -EINVAL);
	/* not legal for the type: nothing is posted, and nothing is begun any more */
	assert_int_equal(pmv_send_begin(r->uc[0], 8, &payload), 0);
	wr.opcode = PMV_WR_RDMA_READ;
	assert_int_equal(pmv_send_commit(r->uc[0], &wr), -EINVAL);
	wr.opcode = PMV_WR_RDMA_WRITE;
	assert_int_equal(pmv_send_commit(r->uc[0], &wr), -EINVAL);
	/* something else took the entry */
	assert_int_equal(pmv_send_begin(r->rc[0], 8, &payload), 0);
	assert_int_equal(pmv_post_send(r->rc[0], &wr, 1), 1);
	assert_int_equal(pmv_send_commit(r->rc[0], &wr), -EINVAL);
	expect_done(r, 0, 1);
	/* begun twice: the second counts; never committed: forgotten */
	assert_int_equal(pmv_send_begin(r->rc[0], 8, &payload), 0);
	assert_int_equal(pmv_send_begin(r->rc[0], 4, &payload), 0);
	memcpy(payload, "word", 4);
	assert_int_equal(pmv_send_commit(r->rc[0], &wr), 0);
	expect_done(r, 0, 1);
	assert_memory_equal(r->mem[1], "word\xa5", 5);
	/* full */
	while (pmv_send_begin(r->rc[0], 8, &payload) == 0) {
		assert_int_equal(pmv_send_commit(r->rc[0], &wr), 0);
		nb++;
	}
	assert_int_equal(nb, 64);
	assert_int_equal(pmv_send_begin(r->rc[0], 8, &payload), -ENOMEM);
	/* reset */
	rig_run(r, 3000);
	assert_int_equal(pmv_send_begin(r->rc[0], 8, &payload), 0);
	assert_int_equal(pmv_modify_qp(r->rc[0], &reset, PMV_QP_STATE), 0);
	assert_int_not_equal(pmv_send_commit(r->rc[0], &wr), 0);
	assert_int_equal(pmv_destroy_qp(fresh), 0);
	rig_close(r);
}

/* In ERR it is taken and flushed, like every request. */
static void
build__flushed(void **state)
{
	struct rig *r = rig_open(&plain);
	struct pmv_qp_attr err = { .qp_state = PMV_QPS_ERR };
	struct pmv_send_wr wr = write_to(r, 0, 9);
	struct pmv_wc wc;
	void *payload;

	assert_int_equal(pmv_send_begin(r->rc[0], 8, &payload), 0);
	assert_int_equal(pmv_modify_qp(r->rc[0], &err, PMV_QP_STATE), 0);
	assert_int_equal(pmv_send_commit(r->rc[0], &wr), 0);
	assert_int_equal(pmv_poll_cq(r->pair.node[0].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, PMV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 9);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__writes_of_every_length),
		cmocka_unit_test(build__is_sent_again),
		cmocka_unit_test(build__datagram),
		cmocka_unit_test(build__refused),
		cmocka_unit_test(build__flushed),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
