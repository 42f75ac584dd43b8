// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/matrix_lab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/random.h"
#include "test/sim/rc_lab.h"

/* Places in the memory of both sides. */
#define BYTES    0x300000u
#define GUARD    64u
#define SRC      0x0u
#define TARGET   0x140000u /* of everything that names an address; receive 0 */
#define TAIL     0x260000u /* the second message, at the sender */
#define RECV_0   0x268000u /* of anything else */
#define RECV_1   0x270000u /* further receives */
#define RECV_2   0x280000u
#define WORD     0x290000u
#define FOUND    0x2a0000u /* what an atomic found */
#define WINDOW   0x2b0000u
#define ROOM     64u /* a receive is longer than the message by so much */
#define TAIL_LEN 12u
#define QKEY     0x01020304u
#define SIGS     16 /* bytes around a target that are marked, too */

const struct matrix_op matrix_ops[] = {
	{ "SEND", PMV_WR_SEND, PMV_WC_SEND, true, true, false, false, false, true, true },
	{ "SEND_WITH_IMM", PMV_WR_SEND_WITH_IMM, PMV_WC_SEND, true, true, true, false, false, true,
		true },
	{ "SEND_WITH_INV", PMV_WR_SEND_WITH_INV, PMV_WC_SEND, true, true, false, false, false,
		false, false },
	{ "RDMA_WRITE", PMV_WR_RDMA_WRITE, PMV_WC_RDMA_WRITE, false, false, false, false, false,
		false, true },
	{ "RDMA_WRITE_WITH_IMM", PMV_WR_RDMA_WRITE_WITH_IMM, PMV_WC_RDMA_WRITE, true, false, true,
		false, false, false, true },
	{ "RDMA_READ", PMV_WR_RDMA_READ, PMV_WC_RDMA_READ, false, false, false, false, true, false,
		false },
	{ "CMP_AND_SWP", PMV_WR_ATOMIC_CMP_AND_SWP, PMV_WC_COMP_SWAP, false, false, false, true,
		true, false, false },
	{ "FETCH_AND_ADD", PMV_WR_ATOMIC_FETCH_AND_ADD, PMV_WC_FETCH_ADD, false, false, false, true,
		true, false, false },
	{ "ATOMIC_WRITE", PMV_WR_ATOMIC_WRITE, PMV_WC_ATOMIC_WRITE, false, false, false, true, true,
		false, false },
	{ "FLUSH", PMV_WR_FLUSH, PMV_WC_FLUSH, false, false, false, false, true, false, false },
};
const uint32_t matrix_nb_ops = RTE_DIM(matrix_ops);

/* ---- the two nodes ---- */

static enum pmv_test_fate
meet(const struct matrix *m, int dir, uint64_t index)
{
	const struct matrix_cell *c = m->cell;

	if (c == NULL || c->dir != dir || index - m->first[dir] != c->victim)
		return PMV_TEST_PASS;
	return c->fate;
}

static enum pmv_test_fate
hook_0(void *arg, struct rte_mbuf *mb, uint64_t index)
{
	struct matrix *m = arg;
	enum pmv_test_fate fate = meet(m, 0, index);

	m->nb_met += fate != PMV_TEST_PASS;
	return fate;
}

static enum pmv_test_fate
hook_1(void *arg, struct rte_mbuf *mb, uint64_t index)
{
	struct matrix *m = arg;
	enum pmv_test_fate fate = meet(m, 1, index);

	m->nb_met += fate != PMV_TEST_PASS;
	return fate;
}

static void
open_memory(struct matrix *m)
{
	const uint32_t remote = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |
				PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL;
	struct pmv_random random;

	pmv_random_init(&random, 99);
	for (int side = 0; side < 2; side++) {
		m->raw[side] = malloc(BYTES + 2 * GUARD);
		m->model[side] = malloc(BYTES);
		assert_non_null(m->raw[side]);
		assert_non_null(m->model[side]);
		memset(m->raw[side], 0xa5, BYTES + 2 * GUARD);
		m->mem[side] = m->raw[side] + GUARD;
		for (uint32_t i = 0; i < TARGET; i += 8) {
			uint64_t v = pmv_random_next64(&random);

			memcpy(m->mem[side] + i, &v, 8);
		}
		memcpy(m->model[side], m->mem[side], BYTES);
		assert_int_equal(pmv_reg_mr(m->pair.node[side].pd, m->mem[side], BYTES,
					 PMV_ACCESS_LOCAL_WRITE | remote, &m->mr[side]),
			0);
	}
	if (m->p.type != PMV_QPT_RC)
		return;
	assert_int_equal(pmv_reg_mr(m->pair.node[1].pd, m->mem[1] + WINDOW, 4096,
				 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_MW_BIND, &m->bindable),
		0);
	assert_int_equal(pmv_alloc_mw(m->pair.node[1].pd, PMV_MW_TYPE_2, &m->mw), 0);
}

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_FLUSH_GLOBAL;
}

static void
tune_selective(int side, struct pmv_qp_attr *attr)
{
	tune(side, attr);
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
}

static void
open_qps(struct matrix *m)
{
	struct pmv_ah_attr ah = { .sgid_index = m->p.is_v6 };

	for (int side = 0; side < 2; side++) {
		struct pmv_test_node *n = &m->pair.node[side];
		struct pmv_qp_init_attr init = { .send_cq = n->cq[0],
			.recv_cq = n->cq[0],
			.qp_type = m->p.type,
			.qp_context = n,
			.cap = { .max_send_wr = 8,
				.max_recv_wr = 8,
				.max_send_sge = 4,
				.max_recv_sge = 4 } };

		assert_int_equal(pmv_create_qp(n->pd, n->worker[0], &init, &m->qp[side]), 0);
		if (m->p.type == PMV_QPT_UD)
			pmv_test_qp_ud_rts(m->qp[side], QKEY, 0);
	}
	if (m->p.type != PMV_QPT_UD) {
		pmv_test_qp_connect(&m->pair, m->qp[0], m->qp[1], m->p.is_v6, m->p.mtu,
			m->p.selective ? tune_selective : tune);
		return;
	}
	assert_int_equal(pmv_query_gid(m->pair.node[1].dev, m->p.is_v6, &ah.dgid), 0);
	assert_int_equal(pmv_create_ah(m->pair.node[0].pd, &ah, &m->ah), 0);
}

/* A receiver takes fewer frames a turn than a sender makes; UC has nothing else to slow it down. */
static void
receive_more(void *arg, uint64_t now)
{
	struct matrix *m = arg;

	for (int i = 0; i < 3; i++)
		pmv_worker_poll_at(m->pair.node[1].worker[0], now);
}

static struct matrix *running;

int
matrix_tell(void **state)
{
	static const char *const fates[] = { "in order", "lost", "doubled", "late" };

	if (running != NULL)
		print_error("%s, %u bytes, MTU %u, %s %u %s\n", running->last.op->name,
			running->last.len, running->mtu, running->last.dir ? "answer" : "request",
			running->last.victim, fates[running->last.fate]);
	running = NULL;
	return 0;
}

struct matrix *
matrix_open(const struct matrix_param *param)
{
	/* UD has no path MTU of its own: the port's is the limit */
	const struct pmv_test_pair_param pp = {
		.ip_mtu = param->type == PMV_QPT_UD
				  ? (uint16_t)(pmv_mtu_bytes((uint8_t)param->mtu) + 96)
				  : 0
	};
	struct matrix *m = test_calloc(1, sizeof(*m));

	m->p = *param;
	m->mtu = pmv_mtu_bytes((uint8_t)param->mtu);
	pmv_test_pair_open(&m->pair, &pp);
	m->pair.extra = receive_more;
	m->pair.extra_arg = m;
	running = m;
	open_memory(m);
	open_qps(m);
	m->pair.link->end[0].out.hook = hook_0;
	m->pair.link->end[1].out.hook = hook_1;
	for (int side = 0; side < 2; side++)
		m->pair.link->end[side].out.hook_arg = m;
	return m;
}

void
matrix_close(struct matrix *m)
{
	struct pmv_event ev;

	running = NULL;
	pmv_test_pair_run(&m->pair, 200, 20);
	if (m->mw != NULL) {
		assert_int_equal(pmv_dealloc_mw(m->mw), 0);
		assert_int_equal(pmv_dereg_mr(m->bindable), 0);
	}
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < GUARD; i++) {
			assert_int_equal(m->raw[side][i], 0xa5);
			assert_int_equal(m->mem[side][BYTES + i], 0xa5);
		}
		assert_int_equal(pmv_destroy_qp(m->qp[side]), 0);
		rc_lab_dereg(m->mr[side]);
	}
	if (m->ah != NULL)
		assert_int_equal(pmv_destroy_ah(m->ah), 0);
	pmv_test_pair_run(&m->pair, 200, 20);
	for (int side = 0; side < 2; side++) {
		while (pmv_poll_async_event(m->pair.node[side].dev, &ev) == 1)
			;
		free(m->raw[side]);
		free(m->model[side]);
	}
	pmv_test_pair_close(&m->pair);
	test_free(m);
}

static void
run(struct matrix *m, uint64_t us)
{
	pmv_test_pair_run(&m->pair, us, 5);
	for (int side = 0; side < 2; side++)
		m->nb_wc[side] += pmv_poll_cq(m->pair.node[side].cq[0],
			&m->wc[side][m->nb_wc[side]], MATRIX_WC_MAX - m->nb_wc[side]);
}

/* ---- one cell ---- */

uint32_t
matrix_frames(const struct matrix *m, uint32_t len)
{
	return len == 0 ? 1 : (len + m->mtu - 1) / m->mtu;
}

static uint32_t
grh(const struct matrix *m)
{
	return m->p.type == PMV_QPT_UD ? PMV_GRH_BYTES : 0;
}

/* The target of this operation lies on this side. */
static int
target_side(const struct matrix_op *op)
{
	return op->wr != PMV_WR_RDMA_READ;
}

/* Receive i. */
static uint32_t
recv_at(const struct matrix_op *op, uint32_t i)
{
	static const uint32_t at[MATRIX_RECVS] = { RECV_0, RECV_1, RECV_2 };

	return i == 0 && op->is_send ? TARGET : at[i];
}

static uint32_t
source(const struct matrix *m)
{
	return SRC + m->round * 37 % 1021;
}

/* Other bytes than before lie where something is to arrive, and around it. */
static void
mark(struct matrix *m, int side, uint32_t off, uint32_t len)
{
	memset(m->mem[side] + off - SIGS, (int)(m->round & 0xff), len + 2 * SIGS);
	memset(m->model[side] + off - SIGS, (int)(m->round & 0xff), len + 2 * SIGS);
}

static void
set_word(struct matrix *m, int side, uint32_t off, uint64_t v)
{
	memcpy(m->mem[side] + off, &v, 8);
	memcpy(m->model[side] + off, &v, 8);
}

static uint64_t
word_before(const struct matrix *m)
{
	return m->round * 0x9e3779b97f4a7c15ull;
}

static void
post_recvs(struct matrix *m, const struct matrix_cell *c)
{
	uint32_t room = RTE_MAX(c->op->is_send ? c->len : 0, TAIL_LEN) + grh(m) + ROOM;

	for (uint32_t i = 0; i < MATRIX_RECVS; i++) {
		/* in two pieces, the cut somewhere */
		uint32_t cut = m->round * 7 % (room + 1);
		const struct pmv_sge sge[2] = {
			{ (uintptr_t)m->mem[1] + recv_at(c->op, i), cut, pmv_mr_lkey(m->mr[1]) },
			{ (uintptr_t)m->mem[1] + recv_at(c->op, i) + cut, room - cut,
				pmv_mr_lkey(m->mr[1]) },
		};
		const struct pmv_recv_wr wr = { 100 + i, sge, 2 };

		mark(m, 1, recv_at(c->op, i), i == 0 ? room : TAIL_LEN + ROOM + grh(m));
		assert_int_equal(pmv_post_recv(m->qp[1], &wr, 1), 1);
	}
}

/* A key that SEND_WITH_INV shall end: of a window that is bound now; a second bind would not be
 * possible had the last one not been invalidated. */
static void
bind_window(struct matrix *m)
{
	const struct pmv_mw_bind b = { m->bindable, (uintptr_t)m->mem[1] + WINDOW, 64,
		PMV_ACCESS_REMOTE_WRITE };
	struct pmv_send_wr wr = {
		.wr_id = 55, .opcode = PMV_WR_BIND_MW, .send_flags = PMV_SEND_SIGNALED
	};

	m->inv_key = pmv_inc_rkey(pmv_mw_rkey(m->mw));
	wr.wr.bind_mw.mw = m->mw;
	wr.wr.bind_mw.rkey = m->inv_key;
	wr.wr.bind_mw.bind = &b;
	assert_int_equal(pmv_post_send(m->qp[1], &wr, 1), 1);
	for (int i = 0; i < 20 && m->nb_wc[1] == 0; i++)
		run(m, 5);
	assert_int_equal(m->nb_wc[1], 1);
	assert_int_equal(m->wc[1][0].status, PMV_WC_SUCCESS);
	m->nb_wc[1] = 0;
}

static void
describe(struct matrix *m, const struct matrix_op *op, uint32_t len, struct pmv_sge *sge,
	struct pmv_send_wr *wr)
{
	uint64_t remote = (uintptr_t)m->mem[1] + (op->wr == PMV_WR_RDMA_READ ? source(m) : TARGET);
	uint32_t local = op->wr == PMV_WR_RDMA_READ ? TARGET : source(m);
	uint32_t cut = m->round * 11 % (len + 1);

	if (op->wr == PMV_WR_ATOMIC_CMP_AND_SWP || op->wr == PMV_WR_ATOMIC_FETCH_AND_ADD) {
		local = FOUND;
		cut = 0;
	}
	sge[0] = (struct pmv_sge){ (uintptr_t)m->mem[0] + local, cut, pmv_mr_lkey(m->mr[0]) };
	sge[1] = (struct pmv_sge){ (uintptr_t)m->mem[0] + local + cut, len - cut,
		pmv_mr_lkey(m->mr[0]) };
	*wr = (struct pmv_send_wr){ .wr_id = 1,
		.sg_list = op->is_word ? &sge[1] : sge,
		.num_sge = op->is_word ? 1 : 2,
		.opcode = op->wr,
		.send_flags = PMV_SEND_SIGNALED | (m->round & 1 ? PMV_SEND_SOLICITED : 0),
		.imm_data = rte_cpu_to_be_32(m->round) };
	if (op->is_word) {
		sge[1].addr -= cut;
		sge[1].length = 8;
		remote = (uintptr_t)m->mem[1] + WORD;
	}
	if (m->p.type == PMV_QPT_UD) {
		wr->wr.ud.ah = m->ah;
		wr->wr.ud.remote_qpn = pmv_qp_num(m->qp[1]);
		wr->wr.ud.remote_qkey = QKEY;
		return;
	}
	wr->wr.rdma.remote_addr = remote;
	wr->wr.rdma.rkey = pmv_mr_rkey(m->mr[1]);
	if (op->wr == PMV_WR_SEND_WITH_INV)
		wr->invalidate_rkey = m->inv_key;
	if (op->wr == PMV_WR_FLUSH) {
		wr->num_sge = 0;
		wr->wr.flush.length = len;
		wr->wr.flush.type = PMV_FLUSH_GLOBAL;
	} else if (op->wr == PMV_WR_ATOMIC_CMP_AND_SWP) { /* every third does not match */
		wr->wr.atomic.compare_add = word_before(m) + (m->round % 3 == 0);
		wr->wr.atomic.swap = ~word_before(m);
	} else if (op->wr == PMV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.compare_add = 0x100000001ull * m->round;
	}
}

/* The message, and TAIL_LEN bytes behind it, in one call or two. */
static void
post_both(struct matrix *m, const struct matrix_cell *c)
{
	struct pmv_sge sge[2],
		tail = { (uintptr_t)m->mem[0] + TAIL, TAIL_LEN, pmv_mr_lkey(m->mr[0]) };
	struct pmv_send_wr wr[2];

	describe(m, c->op, c->len, sge, &wr[0]);
	wr[1] = wr[0];
	wr[1].wr_id = 2;
	wr[1].opcode = PMV_WR_SEND_WITH_IMM;
	wr[1].sg_list = &tail;
	wr[1].num_sge = 1;
	wr[1].send_flags = PMV_SEND_SIGNALED;
	wr[1].imm_data = rte_cpu_to_be_32(~m->round);
	memset(m->mem[0] + TAIL, (int)(m->round >> 3 & 0xff), TAIL_LEN);
	memset(m->model[0] + TAIL, (int)(m->round >> 3 & 0xff), TAIL_LEN);
	if (m->round & 2) {
		assert_int_equal(pmv_post_send(m->qp[0], wr, 2), 2);
		return;
	}
	assert_int_equal(pmv_post_send(m->qp[0], &wr[0], 1), 1);
	assert_int_equal(pmv_post_send(m->qp[0], &wr[1], 1), 1);
}

/* What arrives at the receiver, in this order: 'x' the message, 't' the one behind it. RC hides
 * every fault. UC loses a message that loses a packet, or gets it late (IBTA vol. 1, 9.9.3), and
 * knows a copy. UD knows nothing of other datagrams. */
static const char *
arrivals(const struct matrix *m, const struct matrix_cell *c)
{
	if (m->p.type == PMV_QPT_RC || c->fate == PMV_TEST_PASS)
		return "xt";
	if (c->fate == PMV_TEST_DROP)
		return "t";
	if (c->fate == PMV_TEST_DUP)
		return m->p.type == PMV_QPT_UD ? "xxt" : "xt";
	return m->p.type == PMV_QPT_UD ? "tx" : "t";
}

static void
check_sent(const struct matrix *m, const struct matrix_cell *c)
{
	const struct matrix_op *op = c->op;

	assert_int_equal(m->nb_wc[0], 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct pmv_wc *wc = &m->wc[0][i];

		assert_int_equal(wc->status, PMV_WC_SUCCESS);
		assert_int_equal(wc->wr_id, i + 1);
		assert_int_equal(wc->opcode, i == 0 ? op->wc : PMV_WC_SEND);
		assert_int_equal(wc->qp_num, pmv_qp_num(m->qp[0]));
		assert_ptr_equal(wc->qp_context, &m->pair.node[0]);
		assert_int_equal(wc->wc_flags, 0);
	}
	if (op->wr == PMV_WR_RDMA_READ)
		assert_int_equal(m->wc[0][0].byte_len, c->len);
}

/* The j-th completion of the receiver: of the message, or of the one behind it. */
static void
check_received(struct matrix *m, const struct matrix_cell *c, uint32_t j, bool is_x)
{
	const struct matrix_op *op = c->op;
	const struct pmv_wc *wc = &m->wc[1][j];
	uint32_t flags = grh(m) != 0 ? PMV_WC_GRH : 0;
	uint32_t len = is_x ? c->len : TAIL_LEN;
	bool imm = !is_x || op->imm;

	flags |= imm ? PMV_WC_WITH_IMM : 0;
	flags |= is_x && op->wr == PMV_WR_SEND_WITH_INV ? PMV_WC_WITH_INV : 0;
	flags |= is_x && m->round & 1 ? PMV_WC_SOLICITED : 0;
	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->wr_id, 100 + j);
	assert_int_equal(
		wc->opcode, is_x && !op->is_send ? PMV_WC_RECV_RDMA_WITH_IMM : PMV_WC_RECV);
	assert_int_equal(wc->byte_len, len + grh(m));
	assert_int_equal(wc->wc_flags, flags);
	if (imm)
		assert_int_equal(wc->imm_data, rte_cpu_to_be_32(is_x ? m->round : ~m->round));
	else if (flags & PMV_WC_WITH_INV)
		assert_int_equal(wc->invalidated_rkey, m->inv_key);
	assert_int_equal(wc->qp_num, pmv_qp_num(m->qp[1]));
	assert_int_equal(wc->src_qp, pmv_qp_num(m->qp[0]));
	assert_ptr_equal(wc->qp_context, &m->pair.node[1]);
	if (grh(m) != 0) { /* ud_send looks at it more closely */
		const uint8_t *p = m->mem[1] + recv_at(op, j);

		assert_int_equal(p[m->p.is_v6 ? 0 : 20] >> 4, m->p.is_v6 ? 6 : 4);
		memcpy(m->model[1] + recv_at(op, j), p, PMV_GRH_BYTES);
	}
	if (is_x && !op->is_send)
		return;
	memcpy(m->model[1] + recv_at(op, j) + grh(m), m->model[0] + (is_x ? source(m) : TAIL), len);
}

/* Of a message that did not arrive each packet may have: whole, at its place, or not at all. */
static void
accept_pieces(struct matrix *m, const struct matrix_cell *c)
{
	const uint8_t *want = m->model[0] + source(m);
	uint8_t *model = m->model[1] + TARGET;

	if (m->p.type != PMV_QPT_UC)
		return;
	for (uint32_t off = 0; off < c->len; off += m->mtu) {
		uint32_t n = RTE_MIN(m->mtu, c->len - off);
		/* the message behind it took the same receive */
		uint32_t skip = off == 0 && c->op->is_send ? RTE_MIN(TAIL_LEN, n) : 0;

		if (memcmp(m->mem[1] + TARGET + off + skip, want + off + skip, n - skip) == 0)
			memcpy(model + off, want + off, n);
	}
}

/* What the operations that answer leave behind. */
static void
model_replies(struct matrix *m, const struct matrix_cell *c)
{
	uint64_t word = word_before(m), sent;

	switch (c->op->wr) {
	case PMV_WR_RDMA_READ:
		memcpy(m->model[0] + TARGET, m->model[1] + source(m), c->len);
		return;
	case PMV_WR_RDMA_WRITE:
	case PMV_WR_RDMA_WRITE_WITH_IMM:
		memcpy(m->model[1] + TARGET, m->model[0] + source(m), c->len);
		return;
	case PMV_WR_ATOMIC_WRITE:
		memcpy(&sent, m->model[0] + source(m), 8);
		memcpy(m->model[1] + WORD, &sent, 8);
		return;
	case PMV_WR_ATOMIC_FETCH_AND_ADD:
		memcpy(m->model[0] + FOUND, &word, 8);
		word += 0x100000001ull * m->round;
		memcpy(m->model[1] + WORD, &word, 8);
		return;
	case PMV_WR_ATOMIC_CMP_AND_SWP:
		memcpy(m->model[0] + FOUND, &word, 8);
		word = m->round % 3 == 0 ? word : ~word;
		memcpy(m->model[1] + WORD, &word, 8);
		return;
	default:
		return;
	}
}

static void
judge(struct matrix *m, const struct matrix_cell *c)
{
	const char *list = arrivals(m, c);
	uint32_t j = 0;

	check_sent(m, c);
	if (strchr(list, 'x') != NULL)
		model_replies(m, c);
	else
		accept_pieces(m, c);
	for (; *list != '\0'; list++)
		if (*list == 't' || c->op->takes_recv) {
			assert_true(j < m->nb_wc[1]);
			check_received(m, c, j++, *list == 'x');
		}
	assert_int_equal(m->nb_wc[1], j);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pmv_qp_get_state(m->qp[side]), PMV_QPS_RTS);
		assert_int_equal(memcmp(m->mem[side], m->model[side], BYTES), 0);
	}
}

/* Receives that are left over: taken by messages of one byte. */
static void
use_up(struct matrix *m, const struct matrix_op *op, uint32_t nb)
{
	struct pmv_send_wr wr;
	struct pmv_sge sge[2];

	for (uint32_t j = MATRIX_RECVS - nb; j < MATRIX_RECVS; j++) {
		uint32_t nb_wc = m->nb_wc[1];

		describe(m, &matrix_ops[0], 1, sge, &wr);
		assert_int_equal(pmv_post_send(m->qp[0], &wr, 1), 1);
		for (int i = 0; i < 100 && m->nb_wc[1] == nb_wc; i++)
			run(m, 5);
		assert_int_equal(m->nb_wc[1], nb_wc + 1);
		assert_int_equal(m->wc[1][nb_wc].wr_id, 100 + j);
		memcpy(m->model[1] + recv_at(op, j), m->mem[1] + recv_at(op, j), grh(m) + 1);
	}
	run(m, 20);
}

void
matrix_run(struct matrix *m, const struct matrix_cell *c)
{
	uint64_t end = m->pair.now + 4000000ull * m->pair.link->ticks_per_us;
	uint32_t want = (uint32_t)strlen(arrivals(m, c));

	m->last = *c;
	m->round++;
	m->nb_cells++;
	m->nb_wc[0] = m->nb_wc[1] = 0;
	mark(m, target_side(c->op), TARGET, c->len + ROOM + grh(m));
	post_recvs(m, c);
	set_word(m, 1, WORD, word_before(m));
	if (c->op->wr == PMV_WR_SEND_WITH_INV)
		bind_window(m);
	run(m, 5);
	for (int side = 0; side < 2; side++)
		m->first[side] = m->pair.link->end[side].out.nb_frames;
	m->cell = c;
	post_both(m, c);
	if (!c->op->takes_recv && strchr(arrivals(m, c), 'x') != NULL)
		want--;
	while ((m->nb_wc[0] < 2 || m->nb_wc[1] < want) && m->pair.now < end)
		run(m, 5);
	run(m, 45); /* what comes late */
	m->cell = NULL;
	judge(m, c);
	use_up(m, c->op, MATRIX_RECVS - want);
}

void
matrix_refused(struct matrix *m, const struct matrix_op *op, uint32_t len)
{
	uint64_t frames = m->pair.link->end[0].out.nb_frames;
	struct pmv_send_wr wr;
	struct pmv_sge sge[2];

	describe(m, op, len, sge, &wr);
	assert_int_equal(pmv_post_send(m->qp[0], &wr, 1), -EINVAL);
	run(m, 10);
	assert_int_equal(m->nb_wc[0], 0);
	assert_int_equal(m->pair.link->end[0].out.nb_frames, frames);
}

/* The first, a middle and the last frame of n; each once. */
static void
places(struct matrix *m, struct matrix_cell *c, uint32_t n)
{
	const uint32_t at[3] = { 0, n / 2, n - 1 };

	for (uint32_t i = 0; i < 3; i++) {
		uint64_t met = m->nb_met;

		if (i > 0 && at[i] == at[i - 1])
			continue;
		c->victim = at[i];
		matrix_run(m, c);
		assert_int_equal(m->nb_met, met + 1);
	}
}

void
matrix_run_op(struct matrix *m, const struct matrix_op *op)
{
	const uint32_t lens[] = { 0, 1, m->mtu - 1, m->mtu, m->mtu + 1, 3 * m->mtu + 7,
		MATRIX_MIB };
	static const enum pmv_test_fate fates[] = { PMV_TEST_DROP, PMV_TEST_DUP, PMV_TEST_SWAP };

	for (uint32_t l = 0; l < (op->is_word ? 1 : RTE_DIM(lens)); l++) {
		struct matrix_cell c = { .op = op, .len = op->is_word ? 8 : lens[l] };
		bool data = op->wr != PMV_WR_FLUSH && op->wr != PMV_WR_RDMA_READ;
		uint32_t nb = data ? matrix_frames(m, c.len) : 1;
		uint32_t nb_replies = op->wr == PMV_WR_RDMA_READ ? matrix_frames(m, c.len) : 1;

		if (m->p.type == PMV_QPT_UD && c.len > m->mtu) {
			m->nb_wc[0] = 0;
			matrix_refused(m, op, c.len);
			continue;
		}
		matrix_run(m, &c);
		for (uint32_t f = 0; f < RTE_DIM(fates); f++) {
			c.fate = fates[f];
			c.dir = 0;
			places(m, &c, nb);
			c.dir = 1;
			if (m->p.type == PMV_QPT_RC)
				places(m, &c, nb_replies);
		}
	}
}
