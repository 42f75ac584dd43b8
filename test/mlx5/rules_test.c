// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every rule of violation.h is broken here once, by hand, on queues that libmlx5 has made: a model
 * that let a fault pass would be a bad judge. Entries, records and rings are written as a driver
 * would, in the right order first, then with one thing wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "test/mlx5/layout.h"
#include "test/mlx5/pair.h"

#define DATA_BYTES 60 /* inline: entries of two blocks */
#define DS         6

static struct pair pair;
static struct mlx5dv_qp dv;
static struct mlx5dv_cq send_cq;
static uint16_t next_block;
static uint32_t half;

static int
set_up(void **state)
{
	struct mlx5dv_obj obj = { .qp = { .out = &dv }, .cq = { .out = &send_cq } };

	(void)state;
	pair_open(&pair, NULL);
	memset(&dv, 0, sizeof(dv));
	memset(&send_cq, 0, sizeof(send_cq));
	obj.qp.in = pair.end[0].qp;
	obj.cq.in = pair.end[0].send_cq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
	assert_int_equal(dv.bf.size, PMV_MLX5M_BF_HALF);
	assert_int_equal(dv.sq.stride, PMV_MLX5M_BLOCK);
	next_block = 0;
	half = 0;
	pmv_mlx5m_violations_clear();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static uint8_t *
block(uint16_t index)
{
	return (uint8_t *)dv.sq.buf + (index & (dv.sq.wqe_cnt - 1)) * PMV_MLX5M_BLOCK;
}

/* A signalled WRITE of DATA_BYTES, inline; the ring is a multiple of two blocks. */
static uint8_t *
build(void)
{
	const struct pair_end *peer = &pair.end[1];
	uint8_t *wqe = block(next_block);
	uint64_t va_be = htobe64((uintptr_t)peer->buf);

	memset(wqe, 0, 2 * PMV_MLX5M_BLOCK);
	pmv_mlx5m_put32(wqe, (uint32_t)next_block << 8 | PMV_MLX5M_OP_WRITE);
	pmv_mlx5m_put32(wqe + 4, pair.end[0].qp->qp_num << 8 | DS);
	wqe[PMV_MLX5M_CTRL_FLAGS] = PMV_MLX5M_FLAG_CE;
	memcpy(wqe + 16, &va_be, 8);
	pmv_mlx5m_put32(wqe + 24, peer->mr->rkey);
	pmv_mlx5m_put32(wqe + 32, PMV_MLX5M_INLINE | DATA_BYTES);
	pair_fill(wqe + 36, DATA_BYTES, (uint8_t)next_block);
	next_block += 2;
	return wqe;
}

static void
record(uint32_t value)
{
	__atomic_store_n(&dv.dbrec[PMV_MLX5M_RECORD_SQ], htobe32(value), __ATOMIC_RELEASE);
}

static void
store(uint32_t offset, const uint8_t *from)
{
	*(volatile uint64_t *)((uint8_t *)dv.bf.reg + half + offset) =
		*(const uint64_t *)(const void *)from;
}

/* Doorbell, or BlueFlame copy of `bytes`. */
static void
ring(const uint8_t *wqe, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		store(i, wqe + i);
	half ^= dv.bf.size;
}

static void
expect(enum pmv_mlx5m_rule rule)
{
	const struct pmv_mlx5m_violation *v = pmv_mlx5m_violation_get(0);

	if (v == NULL)
		fail_msg("%s was not noticed", pmv_mlx5m_rule_name(rule));
	else if (v->rule != rule)
		fail_msg("%s instead of %s: %s", pmv_mlx5m_rule_name(v->rule),
			pmv_mlx5m_rule_name(rule), v->text);
}

static void
expect_none(void)
{
	const struct pmv_mlx5m_violation *v = pmv_mlx5m_violation_get(0);

	if (v != NULL)
		fail_msg("%s: %s", pmv_mlx5m_rule_name(v->rule), v->text);
}

/* CQEs that software has not consumed, by the owner bits of the first round. */
static uint32_t
completions(void)
{
	const uint8_t *cqe = send_cq.buf;
	uint32_t nb;

	for (nb = 0; nb < send_cq.cqe_cnt; nb++) {
		uint8_t own = cqe[nb * send_cq.cqe_size + PMV_MLX5M_CQE_OWN];

		if (own >> 4 == 15 || (own & 1))
			break;
	}
	return nb;
}

static void
post__in_order(void **state)
{
	uint8_t want[DATA_BYTES];
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		uint8_t *wqe = build();

		pair_fill(want, sizeof(want), (uint8_t)(next_block - 2));
		record(next_block);
		ring(wqe, i % 2 ? 8 : 2 * PMV_MLX5M_BLOCK);
		pmv_mlx5m_run();
		assert_memory_equal(pair.end[1].buf, want, sizeof(want));
	}
	assert_int_equal(completions(), 100);
	assert_int_equal(pmv_mlx5m_qp_rings(pair.end[0].qp->qp_num), 100);
	expect_none();
}

/* The driver without a doorbell: nothing happens, whatever the record says. */
static void
post__never_rung(void **state)
{
	(void)state;
	build();
	record(next_block);
	pair_settle(1000000);
	assert_int_equal(completions(), 0);
	expect_none();
}

/* Record and doorbell swapped: hardware may look too early. */
static void
post__rung_before_the_record(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	ring(wqe, 8);
	record(next_block);
	pair_settle(1000000);
	assert_int_equal(completions(), 0);
	expect(PMV_MLX5M_RING_RECORD);
}

static void
ring__bytes(void **state)
{
	uint8_t other[8];

	(void)state;
	memcpy(other, build(), 8);
	other[7] ^= 1; /* ds */
	record(next_block);
	store(0, other);
	expect(PMV_MLX5M_RING_BYTES);
}

static void
ring__qpn(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	wqe[5] ^= 0x40;
	record(next_block);
	ring(wqe, 8);
	expect(PMV_MLX5M_RING_QPN);
}

static void
ring__other_register(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	half = 2 * PMV_MLX5M_BF_BYTES; /* a fast path register */
	store(0, wqe);
	expect(PMV_MLX5M_RING_UAR);
}

static void
ring__before_rts(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint8_t *wqe = build();

	(void)state;
	assert_int_equal(ibv_modify_qp(pair.end[0].qp, &attr, IBV_QP_STATE), 0);
	record(next_block);
	ring(wqe, 8);
	expect(PMV_MLX5M_RING_STATE);
}

static void
ring__twice(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	ring(wqe, 8);
	expect_none();
	ring(wqe, 8);
	expect(PMV_MLX5M_RING_STALE);
}

static void
burst__gap(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	store(0, wqe);
	store(16, wqe + 16);
	expect(PMV_MLX5M_BURST_ORDER);
}

static void
burst__bytes(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	store(0, wqe);
	store(8, wqe + 16);
	expect(PMV_MLX5M_BURST_BYTES);
}

static void
burst__too_short(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	ring(wqe, 64); /* the entry has 96 bytes, its copy 128 */
	wqe = build();
	record(next_block);
	ring(wqe, 8);
	expect(PMV_MLX5M_BURST_LENGTH);
}

static void
burst__too_long(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(next_block);
	ring(wqe, 192);
	expect(PMV_MLX5M_BURST_LENGTH);
}

static void
burst__same_half(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		uint8_t *wqe = build();

		record(next_block);
		half = 0;
		ring(wqe, 128);
	}
	expect(PMV_MLX5M_BURST_HALF);
}

static void
store__sizes(void **state)
{
	(void)state;
	*(volatile uint32_t *)dv.bf.reg = 1;
	expect(PMV_MLX5M_STORE_SIZE);
	pmv_mlx5m_violations_clear();
	__asm__ volatile("movq %%rax, 4(%0)" : : "D"(dv.bf.reg) : "memory");
	expect(PMV_MLX5M_STORE_SIZE);
}

static void
store__no_register(void **state)
{
	(void)state;
	*(volatile uint64_t *)(((uintptr_t)dv.bf.reg & ~4095ul) + 0x40) = 0;
	expect(PMV_MLX5M_STORE_REGISTER);
}

static void
arm__cqn(void **state)
{
	uintptr_t page = (uintptr_t)dv.bf.reg & ~4095ul;
	uint8_t word[8] = { 0 };

	(void)state;
	pmv_mlx5m_put32(word + 4, send_cq.cqn);
	*(volatile uint64_t *)(page + PMV_MLX5M_UAR_ARM) = *(uint64_t *)(void *)word;
	expect_none();
	pmv_mlx5m_put32(word + 4, send_cq.cqn + 100);
	*(volatile uint64_t *)(page + PMV_MLX5M_UAR_ARM) = *(uint64_t *)(void *)word;
	expect(PMV_MLX5M_ARM_CQN);
}

static void
record__upper_bits(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	record(0x10000u | next_block);
	ring(wqe, 8);
	expect(PMV_MLX5M_RECORD_RESERVED);
}

static void
sq__overflow(void **state)
{
	uint8_t *wqe = NULL;
	uint32_t i;

	(void)state;
	for (i = 0; i <= dv.sq.wqe_cnt / 2; i++)
		wqe = build();
	record(next_block);
	ring(wqe, 8);
	expect(PMV_MLX5M_SQ_OVERFLOW);
}

static void
rq__overflow(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)state;
	dv.dbrec[PMV_MLX5M_RECORD_RQ] = htobe32(dv.rq.wqe_cnt + 1);
	assert_int_equal(ibv_modify_qp(pair.end[0].qp, &attr, IBV_QP_STATE), 0);
	pmv_mlx5m_run();
	expect(PMV_MLX5M_RQ_OVERFLOW);
	dv.dbrec[PMV_MLX5M_RECORD_RQ] = 0;
}

static void
cq__overrun(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i <= send_cq.cqe_cnt; i++) {
		uint8_t *wqe = build();

		record(next_block);
		ring(wqe, 8);
		pmv_mlx5m_run();
		if (i < send_cq.cqe_cnt)
			expect_none();
	}
	expect(PMV_MLX5M_CQ_OVERRUN);
}

static void
cq__consumer_ahead(void **state)
{
	uint8_t *wqe = build();

	(void)state;
	send_cq.dbrec[PMV_MLX5M_RECORD_CI] = htobe32(5);
	record(next_block);
	ring(wqe, 8);
	pmv_mlx5m_run();
	expect(PMV_MLX5M_CQ_RECORD);
}

/* One thing wrong in the first of two entries, so that the ring itself is right. */
struct wrong {
	const char *what;
	uint32_t offset;
	uint8_t flip;
	enum pmv_mlx5m_rule rule;
};

static const struct wrong wrongs[] = {
	{ "opmod", 0, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "index", 2, 0x01, PMV_MLX5M_WQE_INDEX },
	{ "opcode", 3, 0x80, PMV_MLX5M_WQE_OPCODE },
	{ "qpn", 6, 0x01, PMV_MLX5M_WQE_QPN },
	{ "ds too small for the data", 7, DS ^ 5, PMV_MLX5M_WQE_SIZE },
	{ "ds larger than the data", 7, DS ^ 7, PMV_MLX5M_WQE_SIZE },
	{ "ds zero", 7, DS, PMV_MLX5M_WQE_SIZE },
	{ "ds beyond what was rung", 7, DS ^ 63, PMV_MLX5M_WQE_SIZE },
	{ "bit 7 beside ds", 7, 0x80, PMV_MLX5M_WQE_RESERVED },
	{ "signature", 8, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "stream", 10, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "completion mode 1", 11, 0x0c, PMV_MLX5M_WQE_RESERVED },
	{ "flag 0", 11, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "fence 2", 11, 0x40, PMV_MLX5M_WQE_RESERVED },
	{ "immediate of a plain write", 15, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "behind the rkey", 31, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "inline header", 33, 0x01, PMV_MLX5M_WQE_RESERVED },
	{ "inline length", 35, 0x40, PMV_MLX5M_WQE_SIZE },
	{ "inline length zero", 35, DATA_BYTES, PMV_MLX5M_WQE_SEGMENT },
	/* Without the inline bit, the header reads as a segment: 60 bytes, lkey of the data. */
	{ "segment with byte count 0", 32, 0x80, PMV_MLX5M_WQE_SEGMENT },
};

static void
wqe__every_field(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		const uint8_t *cqe = send_cq.buf;
		uint8_t *first = build();
		uint8_t *second = build();

		first[w->offset] ^= w->flip;
		if (w->offset == 32)
			first[35] = 0;
		record(next_block);
		ring(second, 8);
		expect_none();
		pmv_mlx5m_run();
		if (pmv_mlx5m_violations_of(w->rule) == 0)
			print_message("entry with a wrong %s:\n", w->what);
		expect(w->rule);
		/* The entry completes with an error, the rest is flushed. */
		assert_int_equal(cqe[PMV_MLX5M_CQE_OWN] >> 4, PMV_MLX5M_CQE_REQ_ERR);
		assert_int_equal(cqe[PMV_MLX5M_CQE_SYNDROME], PMV_MLX5M_SYND_LOCAL_QP_OP);
		tear_down(state);
		set_up(state);
	}
}

static void
recv__segment(void **state)
{
	uint8_t *wqe;
	struct mlx5dv_qp peer = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = pair.end[1].qp, .out = &peer } };

	(void)state;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	memset(peer.rq.buf, 0, peer.rq.stride); /* no terminator */
	peer.dbrec[PMV_MLX5M_RECORD_RQ] = htobe32(1);
	wqe = build();
	wqe[3] = PMV_MLX5M_OP_SEND;
	pmv_mlx5m_put32(wqe + 4, pair.end[0].qp->qp_num << 8 | 2);
	pmv_mlx5m_put32(wqe + 16, PMV_MLX5M_INLINE | 4);
	next_block--;
	record(next_block);
	ring(wqe, 8);
	pmv_mlx5m_run();
	expect(PMV_MLX5M_WQE_SEGMENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(post__in_order),
		CASE(post__never_rung),
		CASE(post__rung_before_the_record),
		CASE(ring__bytes),
		CASE(ring__qpn),
		CASE(ring__other_register),
		CASE(ring__before_rts),
		CASE(ring__twice),
		CASE(burst__gap),
		CASE(burst__bytes),
		CASE(burst__too_short),
		CASE(burst__too_long),
		CASE(burst__same_half),
		CASE(store__sizes),
		CASE(store__no_register),
		CASE(arm__cqn),
		CASE(record__upper_bits),
		CASE(sq__overflow),
		CASE(rq__overflow),
		CASE(cq__overrun),
		CASE(cq__consumer_ahead),
		CASE(wqe__every_field),
		CASE(recv__segment),
	};
	struct pmv_mlx5m_config config;
	int ret;

	pmv_mlx5m_config_init(&config);
	if (pmv_mlx5m_config_env(&config) != 0 || pmv_mlx5m_start(&config) != 0)
		return 2;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	pmv_mlx5m_stop();
	return ret;
}
