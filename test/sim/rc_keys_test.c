// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory keys in work requests, on a clean link and on one that loses or doubles each frame in its
 * turn: windows of both types, fast registration, local and remote invalidation. Side 1 has the
 * memory; side 0 is the peer that uses the keys.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define PAGE       4096u
#define NB_PAGES   8u
#define ALL_REMOTE (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC)

struct keys {
	struct rc_lab lab;
	struct pmv_mr *bindable; /* of side 1's memory, first half: no remote rights of its own */
	struct pmv_mr *read_only;
	struct pmv_mr *fast;
	struct pmv_mw *mw[3]; /* by type */
	uint8_t *pages;       /* aligned, NB_PAGES */
};

static struct keys *
keys_open(void)
{
	const struct rc_lab_param param = { 0 };
	struct keys *k = test_calloc(1, sizeof(*k));
	struct pmv_pd *pd;

	rc_lab_open(&k->lab, &param);
	rc_lab_run(&k->lab, 20);
	pd = k->lab.pair.node[1].pd;
	assert_int_equal(pmv_reg_mr(pd, k->lab.mem[1], RC_LAB_BYTES / 2,
				 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND, &k->bindable),
		0);
	assert_int_equal(
		pmv_reg_mr(pd, k->lab.mem[1], RC_LAB_BYTES / 2, PMV_ACCESS_MW_BIND, &k->read_only),
		0);
	assert_int_equal(pmv_alloc_mr(pd, NB_PAGES, PAGE, &k->fast), 0);
	assert_int_equal(pmv_alloc_mw(pd, PMV_MW_TYPE_1, &k->mw[1]), 0);
	assert_int_equal(pmv_alloc_mw(pd, PMV_MW_TYPE_2, &k->mw[2]), 0);
	k->pages = aligned_alloc(PAGE, NB_PAGES * PAGE);
	assert_non_null(k->pages);
	memset(k->pages, 0x5a, NB_PAGES * PAGE);
	return k;
}

static void
keys_close(struct keys *k)
{
	if (k->mw[1] != NULL)
		assert_int_equal(pmv_dealloc_mw(k->mw[1]), 0);
	assert_int_equal(pmv_dealloc_mw(k->mw[2]), 0);
	assert_int_equal(pmv_dereg_mr(k->bindable), 0);
	assert_int_equal(pmv_dereg_mr(k->read_only), 0);
	assert_int_equal(pmv_dereg_mr(k->fast), 0);
	rc_lab_close(&k->lab);
	free(k->pages);
	test_free(k);
}

/* A request of side 1; its completion. */
static enum pmv_wc_status
local_op(struct keys *k, struct pmv_send_wr wr, enum pmv_wc_opcode opcode)
{
	uint32_t nb = k->lab.nb_wc[1];

	wr.wr_id = 77;
	wr.send_flags |= PMV_SEND_SIGNALED;
	assert_int_equal(pmv_post_send(k->lab.qp[1], &wr, 1), 1);
	assert_true(rc_lab_wait(&k->lab, 1, nb + 1, 1000));
	assert_int_equal(k->lab.wc[1][nb].wr_id, 77);
	if (k->lab.wc[1][nb].status == PMV_WC_SUCCESS)
		assert_int_equal(k->lab.wc[1][nb].opcode, opcode);
	return k->lab.wc[1][nb].status;
}

static enum pmv_wc_status
bind(struct keys *k, uint32_t type, uint32_t rkey, const struct pmv_mw_bind *b)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_BIND_MW };

	wr.wr.bind_mw.mw = k->mw[type];
	wr.wr.bind_mw.rkey = rkey;
	wr.wr.bind_mw.bind = b;
	return local_op(k, wr, PMV_WC_BIND_MW);
}

static struct pmv_mw_bind
window_at(struct keys *k, uint32_t off, uint64_t len)
{
	return (struct pmv_mw_bind){ k->bindable, (uintptr_t)k->lab.mem[1] + off, len, ALL_REMOTE };
}

static enum pmv_wc_status
local_inv(struct keys *k, uint32_t key)
{
	const struct pmv_send_wr wr = { .opcode = PMV_WR_LOCAL_INV, .invalidate_rkey = key };

	return local_op(k, wr, PMV_WC_LOCAL_INV);
}

static enum pmv_wc_status
reg_fast(struct keys *k, uint32_t key, uint32_t access)
{
	struct pmv_send_wr wr = { .opcode = PMV_WR_REG_MR };

	wr.wr.reg.mr = k->fast;
	wr.wr.reg.key = key;
	wr.wr.reg.access = access;
	return local_op(k, wr, PMV_WC_REG_MR);
}

/* Side 0 uses a key of side 1. */
static enum pmv_wc_status
use(struct keys *k, enum pmv_wr_opcode op, uint32_t rkey, uint64_t va, uint32_t len)
{
	const struct pmv_sge sge = { (uintptr_t)k->lab.mem[0], len, pmv_mr_lkey(k->lab.mr[0]) };
	struct pmv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = PMV_SEND_SIGNALED
	};
	uint32_t nb = k->lab.nb_wc[0];

	wr.wr.rdma.remote_addr = va;
	wr.wr.rdma.rkey = rkey;
	assert_int_equal(pmv_post_send(k->lab.qp[0], &wr, 1), 1);
	assert_true(rc_lab_wait(&k->lab, 0, nb + 1, 100000));
	return k->lab.wc[0][nb].status;
}

/* Pages that lie together, or each behind the next. */
static void
map(struct keys *k, uint32_t nb, bool backwards, uint64_t iova, uint64_t len)
{
	void *page[NB_PAGES];

	for (uint32_t i = 0; i < nb; i++)
		page[i] = k->pages + (backwards ? NB_PAGES - 1 - i : i) * PAGE;
	assert_int_equal(pmv_map_mr(k->fast, page, nb, iova, len), 0);
}

/* Type 1: bound, moved by another bind, unbound; a new key each time, the old one dead. */
static void
rc_keys__window_type_1(void **state)
{
	struct keys *k = keys_open();
	uint64_t base = (uintptr_t)k->lab.mem[1];
	struct pmv_mw_bind b = window_at(k, 100, 3000);
	uint32_t first = pmv_mw_rkey(k->mw[1]), second;

	assert_int_equal(bind(k, 1, 0, &b), PMV_WC_SUCCESS);
	second = pmv_mw_rkey(k->mw[1]);
	assert_int_equal(second, pmv_inc_rkey(first));
	rc_lab_fill(k->lab.mem[0], 3000, 1);
	assert_int_equal(use(k, PMV_WR_RDMA_WRITE, second, base + 100, 3000), PMV_WC_SUCCESS);
	assert_true(rc_lab_check(k->lab.mem[1] + 100, 3000, 1));
	assert_int_equal(pmv_dereg_mr(k->bindable), -EBUSY); /* and nothing has changed */
	b = window_at(k, 8000, 16);
	assert_int_equal(bind(k, 1, 0, &b), PMV_WC_SUCCESS);
	assert_int_equal(
		use(k, PMV_WR_RDMA_READ, pmv_mw_rkey(k->mw[1]), base + 8000, 16), PMV_WC_SUCCESS);
	b.length = 0;
	b.mr = NULL;
	assert_int_equal(bind(k, 1, 0, &b), PMV_WC_SUCCESS);
	assert_int_equal(use(k, PMV_WR_RDMA_WRITE, second, base + 100, 1), PMV_WC_REM_ACCESS_ERR);
	keys_close(k);
}

/* What a window refuses to the peer: outside, no right, unbound, another QP's. */
static void
rc_keys__window_refuses(void **state)
{
	for (int i = 0; i < 7; i++) {
		struct keys *k = keys_open();
		uint64_t va = (uintptr_t)k->lab.mem[1] + 100;
		struct pmv_mw_bind b = window_at(k, 100, 8);
		uint32_t type = i & 1 ? 2 : 1;
		uint32_t key = pmv_inc_rkey(pmv_mw_rkey(k->mw[type]));
		enum pmv_wr_opcode op = PMV_WR_RDMA_WRITE;

		memset(k->lab.mem[1] + 90, 0x5a, 30);
		memset(k->lab.mem[0], 0, 16);
		if (i == 4)
			b.access = PMV_ACCESS_REMOTE_READ;
		if (i == 5)
			b.access = PMV_ACCESS_REMOTE_WRITE;
		assert_int_equal(bind(k, type, key, &b), PMV_WC_SUCCESS);
		if (i == 5)
			op = PMV_WR_RDMA_READ;
		if (i == 6) /* dead at once, though still bound */
			assert_int_equal(pmv_dealloc_mw(k->mw[1]), 0);
		assert_int_equal(
			use(k, op, key, i < 2 ? va - 1 : va, i < 4 ? 9 : 8), PMV_WC_REM_ACCESS_ERR);
		for (int j = 0; j < 30; j++)
			assert_int_equal(k->lab.mem[1][90 + j], 0x5a);
		if (i == 6)
			k->mw[1] = NULL;
		keys_close(k);
	}
}

/* Type 2B: through the QP that bound it only, and by no lkey. */
static void
rc_keys__window_type_2_belongs_to_its_qp(void **state)
{
	struct keys *k = keys_open();
	struct pmv_qp *other[2];
	struct pmv_mw_bind b = window_at(k, 0, 64);
	uint32_t key = pmv_mw_rkey(k->mw[2]);
	uint64_t va = (uintptr_t)k->lab.mem[1];
	uint32_t nb;

	assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
	assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, va, 64), PMV_WC_SUCCESS);
	assert_int_equal(use(k, PMV_WR_RDMA_READ, key, va, 64), PMV_WC_SUCCESS);
	for (int i = 0; i < 2; i++)
		other[i] = pmv_test_qp_create(&k->lab.pair.node[i], 0, PMV_QPT_RC);
	pmv_test_qp_connect(&k->lab.pair, other[0], other[1], false, PMV_MTU_1024, NULL);
	{
		struct pmv_qp *mine = k->lab.qp[0];

		k->lab.qp[0] = other[0];
		assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, va, 8), PMV_WC_REM_ACCESS_ERR);
		k->lab.qp[0] = mine;
	}
	/* side 1 may not send from it */
	{
		const struct pmv_sge sge = { va, 8, key };
		const struct pmv_send_wr wr = { .sg_list = &sge,
			.num_sge = 1,
			.opcode = PMV_WR_SEND,
			.send_flags = PMV_SEND_SIGNALED };

		nb = k->lab.nb_wc[1];
		assert_int_equal(pmv_post_send(k->lab.qp[1], &wr, 1), 1);
		assert_true(rc_lab_wait(&k->lab, 1, nb + 1, 1000));
		assert_int_equal(k->lab.wc[1][nb].status, PMV_WC_LOC_PROT_ERR);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pmv_destroy_qp(other[i]), 0);
	keys_close(k);
}

/* MR-403: binds that cannot be. The QP fails, the window stays what it was. */
static void
rc_keys__bad_binds(void **state)
{
	for (int i = 0; i < 10; i++) {
		struct keys *k = keys_open();
		struct pmv_mw_bind b = window_at(k, 0, 64);
		struct pmv_pd *pd = NULL;
		struct pmv_mr *foreign = NULL;
		uint32_t type = i == 8 || i == 9 ? 2 : 1;
		uint32_t key = pmv_mw_rkey(k->mw[type]);

		assert_int_equal(bind(k, type, key, &b), PMV_WC_SUCCESS); /* the one that stays */
		switch (i) {
		case 0:
			b.addr = 0xfffffffffffffc00;
			b.length = 0x400;
			break;
		case 1:
			b.length = RC_LAB_BYTES / 2 + 1;
			break;
		case 2:
			b.addr--;
			break;
		case 3:
			b.mr = k->lab.mr[1]; /* no right to bind */
			break;
		case 4:
			b.mr = k->read_only;
			b.access = PMV_ACCESS_REMOTE_WRITE;
			break;
		case 5:
			b.mr = k->read_only;
			b.access = PMV_ACCESS_REMOTE_ATOMIC;
			break;
		case 6:
			b.mr = k->fast; /* not registered */
			break;
		case 7:
			assert_int_equal(pmv_alloc_pd(k->lab.pair.node[1].dev, &pd), 0);
			assert_int_equal(
				pmv_reg_mr(pd, k->lab.mem[1], 64,
					PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND, &foreign),
				0);
			b.mr = foreign;
			break;
		case 8: /* bound already */
			break;
		default: /* a bind does not unbind type 2 */
			b.length = 0;
		}
		assert_int_equal(bind(k, type, pmv_inc_rkey(key), &b), PMV_WC_MW_BIND_ERR);
		assert_int_equal(pmv_qp_get_state(k->lab.qp[1]), PMV_QPS_ERR);
		assert_int_equal(pmv_dereg_mr(k->bindable), -EBUSY);
		if (foreign != NULL) {
			assert_int_equal(pmv_dereg_mr(foreign), 0);
			assert_int_equal(pmv_dealloc_pd(pd), 0);
		}
		keys_close(k);
	}
}

/* A window of a read-only region may grant reads. */
static void
rc_keys__window_rights_are_its_own(void **state)
{
	struct keys *k = keys_open();
	struct pmv_mw_bind b = window_at(k, 0, 64);
	uint32_t key = pmv_inc_rkey(pmv_mw_rkey(k->mw[2]));

	b.mr = k->read_only;
	b.access = PMV_ACCESS_REMOTE_READ;
	assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
	assert_int_equal(
		use(k, PMV_WR_RDMA_READ, key, (uintptr_t)k->lab.mem[1], 64), PMV_WC_SUCCESS);
	keys_close(k);
}

/* MR-411: a window of type 2 lives, dies, lives again under another tag; its old keys stay dead. */
static void
rc_keys__local_inv(void **state)
{
	struct keys *k = keys_open();
	struct pmv_mw_bind b = window_at(k, 0, 64);
	uint32_t key = pmv_mw_rkey(k->mw[2]);
	uint64_t va = (uintptr_t)k->lab.mem[1];

	for (int i = 0; i < 300; i++) {
		key = pmv_inc_rkey(key);
		assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
		assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, va, 64), PMV_WC_SUCCESS);
		assert_int_equal(local_inv(k, key), PMV_WC_SUCCESS);
		k->lab.nb_wc[0] = k->lab.nb_wc[1] = 0;
	}
	assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, va, 64), PMV_WC_REM_ACCESS_ERR);
	keys_close(k);
}

/* MR-411: what LOCAL_INV refuses. */
static void
rc_keys__bad_local_inv(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct keys *k = keys_open();
		struct pmv_mw_bind b = window_at(k, 0, 64);
		uint32_t key = pmv_mw_rkey(k->mw[2]);

		switch (i) {
		case 0: /* never bound */
			break;
		case 1: /* dead */
			assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
			assert_int_equal(local_inv(k, key), PMV_WC_SUCCESS);
			break;
		case 2: /* a plain region */
			key = pmv_mr_rkey(k->lab.mr[1]);
			break;
		case 3: /* type 1 */
			assert_int_equal(bind(k, 1, 0, &b), PMV_WC_SUCCESS);
			key = pmv_mw_rkey(k->mw[1]);
			break;
		case 4: /* a region with a window */
			map(k, 2, false, 0, 2 * PAGE);
			assert_int_equal(reg_fast(k, pmv_mr_rkey(k->fast),
						 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND),
				PMV_WC_SUCCESS);
			b = (struct pmv_mw_bind){ k->fast, 0, 64, ALL_REMOTE };
			assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
			key = pmv_mr_rkey(k->fast);
			break;
		default: /* nobody's */
			key = 0xdeadbeef;
		}
		assert_int_equal(local_inv(k, key), PMV_WC_LOC_QP_OP_ERR);
		assert_int_equal(pmv_qp_get_state(k->lab.qp[1]), PMV_QPS_ERR);
		if (i == 4) {
			assert_int_equal(pmv_dereg_mr(k->fast), -EBUSY);
			assert_int_equal(pmv_dealloc_mw(k->mw[2]), 0);
			assert_int_equal(
				pmv_alloc_mw(k->lab.pair.node[1].pd, PMV_MW_TYPE_2, &k->mw[2]), 0);
		}
		keys_close(k);
	}
}

/* Where byte i of the mapped region lies. */
static uint8_t
byte_of(const struct keys *k, bool backwards, uint64_t i)
{
	uint64_t page = i / PAGE;

	return k->pages[(backwards ? NB_PAGES - 1 - page : page) * PAGE + i % PAGE];
}

/* Fast registration: pages in order and in reverse, from an odd byte on; WRITE, READ, receive and
 * gather over the edges of pages; then invalidated, registered again, dead under the old key. */
static void
rc_keys__fast_registration(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		const uint64_t iova = 0x7000000000123, len = NB_PAGES * PAGE - 0x123 - 5;
		struct keys *k = keys_open();
		uint32_t key = pmv_mr_rkey(k->fast);
		struct pmv_sge sge;
		struct pmv_recv_wr rwr = { 9, &sge, 1 };
		uint32_t nb;

		map(k, NB_PAGES, backwards, iova, len);
		assert_int_equal(
			reg_fast(k, key, PMV_ACCESS_LOCAL_WRITE | ALL_REMOTE), PMV_WC_SUCCESS);
		rc_lab_fill(k->lab.mem[0], (uint32_t)len, 3);
		assert_int_equal(
			use(k, PMV_WR_RDMA_WRITE, key, iova, (uint32_t)len), PMV_WC_SUCCESS);
		for (uint64_t i = 0; i < len; i++)
			assert_int_equal(byte_of(k, backwards, 0x123 + i), k->lab.mem[0][i]);
		assert_int_equal(byte_of(k, backwards, 0x122), 0x5a);
		assert_int_equal(byte_of(k, backwards, 0x123 + len), 0x5a);
		memset(k->lab.mem[0], 0, len);
		assert_int_equal(
			use(k, PMV_WR_RDMA_READ, key, iova, (uint32_t)len), PMV_WC_SUCCESS);
		assert_true(rc_lab_check(k->lab.mem[0], (uint32_t)len, 3));
		/* a message to it, and back from it */
		sge = (struct pmv_sge){ iova + 3000, 9000, key };
		assert_int_equal(pmv_post_recv(k->lab.qp[1], &rwr, 1), 1);
		rc_lab_fill(k->lab.mem[0], 9000, 4);
		nb = k->lab.nb_wc[1];
		assert_int_equal(use(k, PMV_WR_SEND, 0, 0, 9000), PMV_WC_SUCCESS);
		assert_true(rc_lab_wait(&k->lab, 1, nb + 1, 1000));
		for (uint64_t i = 0; i < 9000; i++)
			assert_int_equal(byte_of(k, backwards, 0x123 + 3000 + i), k->lab.mem[0][i]);
		{
			struct pmv_send_wr wr = {
				.sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE
			};

			wr.wr.rdma.remote_addr = (uintptr_t)k->lab.mem[0] + 0x20000;
			wr.wr.rdma.rkey = pmv_mr_rkey(k->lab.mr[0]);
			assert_int_equal(local_op(k, wr, PMV_WC_RDMA_WRITE), PMV_WC_SUCCESS);
			assert_true(rc_lab_check(k->lab.mem[0] + 0x20000, 9000, 4));
		}
		assert_int_equal(local_inv(k, key), PMV_WC_SUCCESS);
		map(k, 1, backwards, 0x40, 8);
		assert_int_equal(
			reg_fast(k, pmv_inc_rkey(key), PMV_ACCESS_REMOTE_READ), PMV_WC_SUCCESS);
		assert_int_equal(
			use(k, PMV_WR_RDMA_READ, pmv_inc_rkey(key), 0x40, 8), PMV_WC_SUCCESS);
		assert_int_equal(use(k, PMV_WR_RDMA_READ, key, 0x40, 8), PMV_WC_REM_ACCESS_ERR);
		keys_close(k);
	}
}

/* REG_MR fails: nothing mapped, still registered, the dead key again, another object's. */
static void
rc_keys__bad_registrations(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct keys *k = keys_open();
		uint32_t key = pmv_mr_rkey(k->fast);

		if (i > 0) {
			map(k, 1, false, 0, 8);
			assert_int_equal(reg_fast(k, key, 0), PMV_WC_SUCCESS);
		}
		if (i > 1)
			assert_int_equal(local_inv(k, key), PMV_WC_SUCCESS);
		if (i == 3)
			key = pmv_mw_rkey(k->mw[2]);
		assert_int_equal(
			reg_fast(k, i == 1 ? pmv_inc_rkey(key) : key, 0), PMV_WC_LOC_QP_OP_ERR);
		keys_close(k);
	}
}

/* A window of pages that lie apart. */
static void
rc_keys__window_of_fast_registration(void **state)
{
	for (uint32_t type = 1; type <= 2; type++) {
		struct keys *k = keys_open();
		uint32_t key = pmv_inc_rkey(pmv_mw_rkey(k->mw[type]));
		const struct pmv_mw_bind b = { k->fast, 0x1000 + 100, 9000, ALL_REMOTE };

		map(k, 4, true, 0x1000, 4 * PAGE);
		assert_int_equal(reg_fast(k, pmv_mr_rkey(k->fast),
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND),
			PMV_WC_SUCCESS);
		assert_int_equal(bind(k, type, key, &b), PMV_WC_SUCCESS);
		rc_lab_fill(k->lab.mem[0], 9000, 8);
		assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, b.addr, 9000), PMV_WC_SUCCESS);
		for (uint64_t i = 0; i < 9000; i++)
			assert_int_equal(byte_of(k, true, 100 + i), k->lab.mem[0][i]);
		assert_int_equal(
			use(k, PMV_WR_RDMA_WRITE, key, b.addr + 1, 9000), PMV_WC_REM_ACCESS_ERR);
		assert_int_equal(pmv_dealloc_mw(k->mw[type]), 0);
		assert_int_equal(
			pmv_alloc_mw(k->lab.pair.node[1].pd, (enum pmv_mw_type)type, &k->mw[type]),
			0);
		keys_close(k);
	}
}

/* Side 0 tells side 1 to invalidate. */
static void
send_with_inv(struct keys *k, uint32_t key, uint32_t len, uint64_t id)
{
	const struct pmv_sge sge = { (uintptr_t)k->lab.mem[0], len, pmv_mr_lkey(k->lab.mr[0]) };
	const struct pmv_send_wr wr = { .wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND_WITH_INV,
		.send_flags = PMV_SEND_SIGNALED,
		.invalidate_rkey = key };

	assert_int_equal(pmv_post_send(k->lab.qp[0], &wr, 1), 1);
}

/* A window bound, used, invalidated by the peer, and bound again, twice; one of the frames of
 * either direction lost, or doubled. */
static void
converse(struct keys *k)
{
	struct pmv_mw_bind b = window_at(k, 0, 4000);
	uint32_t key = pmv_mw_rkey(k->mw[2]);

	rc_lab_fill(k->lab.mem[0], 4000, 6);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t len = i == 0 ? 4000 : 5;
		uint32_t nb0 = k->lab.nb_wc[0], nb1;
		const struct pmv_wc *wc;

		key = pmv_inc_rkey(key);
		assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
		assert_int_equal(rc_lab_recv(&k->lab, 1, 0x10000, 4000, 21), 1);
		assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, b.addr, 4000), PMV_WC_SUCCESS);
		nb1 = k->lab.nb_wc[1];
		send_with_inv(k, key, len, 20);
		assert_true(rc_lab_wait(&k->lab, 0, nb0 + 2, 100000));
		assert_true(rc_lab_wait(&k->lab, 1, nb1 + 1, 100000));
		assert_int_equal(k->lab.wc[0][nb0 + 1].status, PMV_WC_SUCCESS);
		assert_int_equal(k->lab.wc[0][nb0 + 1].opcode, PMV_WC_SEND);
		wc = &k->lab.wc[1][nb1];
		assert_int_equal(wc->status, PMV_WC_SUCCESS);
		assert_int_equal(wc->opcode, PMV_WC_RECV);
		assert_int_equal(wc->wc_flags, PMV_WC_WITH_INV);
		assert_int_equal(wc->invalidated_rkey, key);
		assert_int_equal(wc->byte_len, len);
		assert_true(rc_lab_check(k->lab.mem[1] + 0x10000, len, 6));
	}
	rc_lab_run(&k->lab, 2000); /* late copies do nothing */
	assert_int_equal(pmv_qp_get_state(k->lab.qp[0]), PMV_QPS_RTS);
	assert_int_equal(pmv_qp_get_state(k->lab.qp[1]), PMV_QPS_RTS);
	key = pmv_inc_rkey(key);
	assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
	rc_lab_run(&k->lab, 2000);
	assert_int_equal(use(k, PMV_WR_RDMA_WRITE, key, b.addr, 8), PMV_WC_SUCCESS);
}

static void
rc_keys__send_with_inv(void **state)
{
	for (int fate = 0; fate < 3; fate++) {
		for (int side = 0; side < 2; side++) {
			for (uint32_t i = 0; i < (fate == 0 ? 1 : 14); i++) {
				struct keys *k = keys_open();
				struct pmv_test_dir *dir = &k->lab.pair.link->end[side].out;
				uint64_t mask = 1ull << (dir->nb_frames + i);

				if (fate == 1)
					dir->drop_mask = mask;
				else if (fate == 2)
					dir->dup_mask = mask;
				converse(k);
				keys_close(k);
			}
		}
	}
}

/* MR-411: SEND_WITH_INV of what may not be invalidated: delivered and acknowledged, but the receive
 * completes in error, and the QP fails. */
static void
rc_keys__bad_send_with_inv(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct keys *k = keys_open();
		struct pmv_mw_bind b = window_at(k, 0, 64);
		uint32_t key = pmv_mw_rkey(k->mw[2]), nb1;
		struct pmv_event ev;

		if (i == 1) {
			assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
			assert_int_equal(local_inv(k, key), PMV_WC_SUCCESS);
		} else if (i == 2) {
			key = pmv_mr_rkey(k->lab.mr[1]);
		} else if (i == 3) {
			assert_int_equal(bind(k, 1, 0, &b), PMV_WC_SUCCESS);
			key = pmv_mw_rkey(k->mw[1]);
		} else if (i == 4) { /* no remote rights: not the peer's business */
			key = pmv_mr_rkey(k->fast);
			map(k, 1, false, 0, 8);
			assert_int_equal(reg_fast(k, key, PMV_ACCESS_LOCAL_WRITE), PMV_WC_SUCCESS);
		}
		nb1 = k->lab.nb_wc[1];
		assert_int_equal(rc_lab_recv(&k->lab, 1, 0x10000, 64, 21), 1);
		rc_lab_fill(k->lab.mem[0], 64, 9);
		send_with_inv(k, key, 64, 20);
		assert_true(rc_lab_wait(&k->lab, 0, 1, 100000));
		assert_int_equal(k->lab.wc[0][0].status, PMV_WC_SUCCESS);
		assert_true(rc_lab_wait(&k->lab, 1, nb1 + 1, 1000));
		assert_int_equal(k->lab.wc[1][nb1].status, PMV_WC_REM_INV_REQ_ERR);
		assert_int_equal(k->lab.wc[1][nb1].wr_id, 21);
		assert_true(rc_lab_check(k->lab.mem[1] + 0x10000, 64, 9));
		assert_int_equal(pmv_qp_get_state(k->lab.qp[1]), PMV_QPS_ERR);
		do {
			assert_int_equal(
				pmv_worker_get_event(k->lab.pair.node[1].worker[0], &ev), 1);
		} while (ev.type == PMV_EVENT_COMM_EST);
		assert_int_equal(ev.type, PMV_EVENT_QP_ACCESS_ERR);
		keys_close(k);
	}
}

static uint8_t frame[64][256];
static uint32_t nb_frames;

static enum pmv_test_fate
keep(void *arg, struct rte_mbuf *m, uint64_t index)
{
	uint8_t bytes[256];

	assert_true(m->pkt_len <= 256 && nb_frames < 64);
	memcpy(frame[nb_frames++], rte_pktmbuf_read(m, 0, m->pkt_len, bytes), m->pkt_len);
	return PMV_TEST_PASS;
}

/* IBTA table 38: SEND ONLY with invalidate is 0x17, its IETH the key in network order, behind the
 * BTH. */
static void
rc_keys__send_with_inv_on_the_wire(void **state)
{
	struct keys *k = keys_open();
	struct pmv_mw_bind b = window_at(k, 0, 64);
	uint32_t key = pmv_mw_rkey(k->mw[2]);
	const uint8_t *bth = frame[0] + 14 + 20 + 8;
	const uint8_t ieth[4] = { (uint8_t)(key >> 24), (uint8_t)(key >> 16), (uint8_t)(key >> 8),
		(uint8_t)key };

	assert_int_equal(bind(k, 2, key, &b), PMV_WC_SUCCESS);
	assert_int_equal(rc_lab_recv(&k->lab, 1, 0x10000, 64, 21), 1);
	nb_frames = 0;
	k->lab.pair.link->end[0].out.hook = keep;
	memcpy(k->lab.mem[0], "bytes", 5);
	send_with_inv(k, key, 5, 20);
	assert_true(rc_lab_wait(&k->lab, 0, 1, 1000));
	k->lab.pair.link->end[0].out.hook = NULL;
	assert_int_equal(nb_frames, 1);
	assert_int_equal(bth[0], 0x17);
	assert_int_equal(bth[1] & 0xb0, 0x30); /* not solicited, 3 bytes of pad */
	assert_int_equal(bth[8] & 0x80, 0x80); /* AckReq */
	assert_memory_equal(bth + 12, ieth, 4);
	assert_memory_equal(bth + 16, "bytes\0\0\0", 8);
	assert_int_equal(frame[0][14 + 20 + 5], 8 + 12 + 4 + 8 + 4); /* UDP length */
	keys_close(k);
}

/* RC-308: local operations need no packet from the peer; nothing hangs behind or before one. */
static void
rc_keys__local_ops_in_order(void **state)
{
	struct keys *k = keys_open();
	struct pmv_mw_bind b = window_at(k, 0, 64);
	uint32_t key = pmv_mw_rkey(k->mw[2]), nb;
	const uint8_t byte = 7;
	const struct pmv_sge sge = { (uintptr_t)&byte, 1, 0 };
	const struct pmv_sge dst = { (uintptr_t)k->lab.mem[1], 8, pmv_mr_lkey(k->lab.mr[1]) };
	struct pmv_send_wr wr[6] = {
		{ .wr_id = 0, .opcode = PMV_WR_BIND_MW },
		{ .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE },
		{ .wr_id = 2, .opcode = PMV_WR_LOCAL_INV, .invalidate_rkey = key },
		{ .wr_id = 3, .sg_list = &dst, .num_sge = 1, .opcode = PMV_WR_RDMA_READ },
		{ .wr_id = 4, .opcode = PMV_WR_NOP, .send_flags = PMV_SEND_SIGNALED },
		{ .wr_id = 5, .opcode = PMV_WR_NOP, .send_flags = PMV_SEND_FENCE },
	};

	wr[0].wr.bind_mw.mw = k->mw[2];
	wr[0].wr.bind_mw.rkey = key;
	wr[0].wr.bind_mw.bind = &b;
	wr[1].send_flags = PMV_SEND_INLINE;
	wr[3].send_flags = PMV_SEND_FENCE;
	for (int i = 1; i < 4; i += 2) {
		wr[i].wr.rdma.remote_addr = (uintptr_t)k->lab.mem[0];
		wr[i].wr.rdma.rkey = pmv_mr_rkey(k->lab.mr[0]);
	}
	assert_int_equal(pmv_post_send(k->lab.qp[1], wr, 6), 6);
	assert_true(rc_lab_wait(&k->lab, 1, 1, 1000));
	assert_int_equal(k->lab.wc[1][0].wr_id, 4);
	assert_int_equal(k->lab.wc[1][0].opcode, PMV_WC_NOP);
	assert_int_equal(k->lab.nb_wc[1], 1);
	/* An inline WRITE alone in a burst before a LOCAL_INV: its acknowledgement is asked for. */
	k->lab.pair.link->end[0].out.delay_us = 300;
	wr[0].wr.bind_mw.rkey = key = pmv_inc_rkey(key);
	wr[2].invalidate_rkey = key;
	wr[2].send_flags = PMV_SEND_SIGNALED;
	assert_int_equal(pmv_post_send(k->lab.qp[1], &wr[0], 1), 1);
	nb = k->lab.nb_wc[1];
	assert_int_equal(pmv_post_send(k->lab.qp[1], &wr[1], 2), 2);
	rc_lab_run(&k->lab, 200);
	assert_int_equal(k->lab.nb_wc[1], nb); /* behind what is not acknowledged */
	assert_true(rc_lab_wait(&k->lab, 1, nb + 1, 400));
	assert_int_equal(k->lab.wc[1][nb].status, PMV_WC_SUCCESS);
	keys_close(k);
}

/* Requests around local operations are sent again, the operations are not done again: each frame
 * lost once, each doubled. */
static void
rc_keys__local_ops_under_loss(void **state)
{
	for (int fate = 0; fate < 2; fate++) {
		for (uint32_t lost = 0; lost < 24; lost++) {
			struct keys *k = keys_open();
			struct pmv_test_dir *dir = &k->lab.pair.link->end[lost < 16 ? 1 : 0].out;
			struct pmv_mw_bind b = window_at(k, 0, 64);
			uint32_t key = pmv_mw_rkey(k->mw[2]);

			*(fate ? &dir->dup_mask : &dir->drop_mask) =
				1ull << (dir->nb_frames + lost % 16);
			for (uint32_t i = 0; i < 4; i++) {
				struct pmv_send_wr wr[2] = { { .wr_id = 100 + i,
								     .opcode = PMV_WR_BIND_MW },
					{ .wr_id = 200 + i,
						.opcode = PMV_WR_LOCAL_INV,
						.send_flags = PMV_SEND_SIGNALED } };

				key = pmv_inc_rkey(key);
				wr[0].wr.bind_mw.mw = k->mw[2];
				wr[0].wr.bind_mw.rkey = key;
				wr[0].wr.bind_mw.bind = &b;
				wr[1].invalidate_rkey = key;
				rc_lab_post(&k->lab, 1, PMV_WR_RDMA_WRITE, 0, 0, 2500, 0, i);
				assert_int_equal(pmv_post_send(k->lab.qp[1], wr, 1), 1);
				rc_lab_post(&k->lab, 1, PMV_WR_RDMA_READ, 8192, 8192, 2000,
					PMV_SEND_SIGNALED, 300 + i);
				assert_int_equal(pmv_post_send(k->lab.qp[1], wr + 1, 1), 1);
			}
			assert_true(rc_lab_wait(&k->lab, 1, 8, 400000));
			for (uint32_t i = 0; i < 8; i++) {
				assert_int_equal(k->lab.wc[1][i].status, PMV_WC_SUCCESS);
				assert_int_equal(
					k->lab.wc[1][i].wr_id, (i & 1 ? 200 : 300) + i / 2);
			}
			keys_close(k);
		}
	}
}

/* What post refuses of them; the queue takes nothing then. */
static void
rc_keys__post_refuses(void **state)
{
	struct keys *k = keys_open();
	struct pmv_mw_bind b = window_at(k, 0, 64);
	struct pmv_send_wr wr = { .opcode = PMV_WR_BIND_MW };
	struct pmv_qp *qp = k->lab.qp[1];
	struct pmv_mw *foreign;
	int nb = 0;

	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.wr.bind_mw.mw = k->mw[1];
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.wr.bind_mw.bind = &b;
	b.access = PMV_ACCESS_LOCAL_WRITE;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	b.access = PMV_ACCESS_REMOTE_READ;
	b.mr = NULL;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	b.mr = k->lab.mr[0]; /* of another device */
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	b.mr = k->bindable;
	assert_int_equal(pmv_alloc_mw(k->lab.pair.node[0].pd, PMV_MW_TYPE_1, &foreign), 0);
	wr.wr.bind_mw.mw = foreign;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	assert_int_equal(pmv_dealloc_mw(foreign), 0);
	wr = (struct pmv_send_wr){ .opcode = PMV_WR_REG_MR };
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.wr.reg.mr = k->bindable; /* a plain one */
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.wr.reg.mr = k->fast;
	wr.wr.reg.access = PMV_ACCESS_REMOTE_WRITE;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.wr.reg.access = 1 << 7;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	wr.opcode = (enum pmv_wr_opcode)34;
	assert_int_equal(pmv_post_send(qp, &wr, 1), -EINVAL);
	rc_lab_run(&k->lab, 100);
	assert_int_equal(k->lab.nb_wc[1], 0);
	k->lab.pair.link->end[1].out.drop = 1.0; /* nothing is acknowledged: the queue fills */
	rc_lab_post(&k->lab, 1, PMV_WR_RDMA_WRITE, 0, 0, 8, 0, 1);
	wr = (struct pmv_send_wr){ .opcode = PMV_WR_NOP };
	while (pmv_post_send(qp, &wr, 1) == 1)
		nb++;
	assert_int_equal(nb, 63);
	assert_int_equal(pmv_post_send(qp, &wr, 1), -ENOMEM);
	keys_close(k);
}

/* max_mw and max_mr are exact, and do not take from each other. */
static void
rc_keys__limits(void **state)
{
	struct keys *k = keys_open();
	struct pmv_test_node *n = &k->lab.pair.node[1];
	struct pmv_device_attr attr;
	struct pmv_mw **mw, *more;
	struct pmv_mr *mr;
	void *page = k->pages;

	assert_int_equal(pmv_query_device(n->dev, &attr), 0);
	assert_int_equal(attr.max_mw, 4096);
	mw = test_calloc(attr.max_mw, sizeof(mw[0]));
	for (uint32_t i = 2; i < attr.max_mw; i++) /* two are there */
		assert_int_equal(pmv_alloc_mw(n->pd, PMV_MW_TYPE_2, &mw[i]), 0);
	assert_int_equal(pmv_alloc_mw(n->pd, PMV_MW_TYPE_1, &more), -ENOSPC);
	assert_int_equal(pmv_alloc_mr(n->pd, 1, PAGE, &mr), 0);
	assert_int_equal(pmv_map_mr(mr, &page, 1, 0, PAGE), 0);
	assert_int_equal(pmv_dereg_mr(mr), 0);
	for (uint32_t i = 2; i < attr.max_mw; i++)
		assert_int_equal(pmv_dealloc_mw(mw[i]), 0);
	assert_int_equal(pmv_alloc_mr(n->pd, attr.max_mr_pages + 1, PAGE, &mr), -EINVAL);
	assert_int_equal(pmv_alloc_mr(n->pd, attr.max_mr_pages, PAGE, &mr), 0);
	assert_int_equal(pmv_dereg_mr(mr), 0);
	test_free(mw);
	keys_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_keys__window_type_1),
		cmocka_unit_test(rc_keys__window_refuses),
		cmocka_unit_test(rc_keys__window_type_2_belongs_to_its_qp),
		cmocka_unit_test(rc_keys__bad_binds),
		cmocka_unit_test(rc_keys__window_rights_are_its_own),
		cmocka_unit_test(rc_keys__local_inv),
		cmocka_unit_test(rc_keys__bad_local_inv),
		cmocka_unit_test(rc_keys__fast_registration),
		cmocka_unit_test(rc_keys__bad_registrations),
		cmocka_unit_test(rc_keys__window_of_fast_registration),
		cmocka_unit_test(rc_keys__send_with_inv),
		cmocka_unit_test(rc_keys__bad_send_with_inv),
		cmocka_unit_test(rc_keys__send_with_inv_on_the_wire),
		cmocka_unit_test(rc_keys__local_ops_in_order),
		cmocka_unit_test(rc_keys__local_ops_under_loss),
		cmocka_unit_test(rc_keys__post_refuses),
		cmocka_unit_test(rc_keys__limits),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
