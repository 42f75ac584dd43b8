// SPDX-License-Identifier: BSD-3-Clause
/*
 * UC between two nodes: what every operation looks like on the wire, and what becomes of it and of
 * its neighbours when one of its packets is lost, doubled or overtaken. Nobody answers, ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/util/be.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define MSG_MAX  0x20000u  /* room of a message in memory */
#define DST      0x80000u  /* of WRITEs */
#define BUF      0x100000u /* of receives */
#define BTH_V4   42u       /* Ethernet, IPv4, UDP */
#define SENT_MAX 1024u

/* One after the other: before, with the fault, after; a fourth takes a receive that is left. */
enum { MSG_A, MSG_X, MSG_B, MSG_REST, NB_MSGS };

struct one {
	struct rc_lab *lab;
	enum pmv_wr_opcode op;
	uint32_t mtu;
	uint32_t len[NB_MSGS];
	enum pmv_test_fate fate;
	uint32_t victim;      /* packet of X */
	uint64_t first_frame; /* of X, as the link counts */
	uint8_t bth[SENT_MAX][12];
	uint32_t nb_bth;
};

static enum pmv_test_fate
hook(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct one *o = arg;

	assert_in_range(o->nb_bth, 0, SENT_MAX - 1);
	memcpy(o->bth[o->nb_bth++], rte_pktmbuf_mtod_offset(m, const uint8_t *, BTH_V4), 12);
	return index == o->first_frame + o->victim ? o->fate : PMV_TEST_PASS;
}

static uint32_t
pkts(const struct one *o, uint32_t i)
{
	return o->len[i] == 0 ? 1 : (o->len[i] + o->mtu - 1) / o->mtu;
}

static bool
has_recv(const struct one *o)
{
	return o->op != PMV_WR_RDMA_WRITE;
}

static bool
is_send(const struct one *o)
{
	return o->op == PMV_WR_SEND || o->op == PMV_WR_SEND_WITH_IMM;
}

static void
post(struct one *o, uint32_t i)
{
	rc_lab_fill(o->lab->mem[0] + i * MSG_MAX, o->len[i], i);
	assert_int_equal(rc_lab_post(o->lab, 0, o->op, i * MSG_MAX, DST + i * MSG_MAX, o->len[i],
				 PMV_SEND_SIGNALED, 0x30 + i),
		1);
}

static void
run(struct one *o, uint32_t nb_sent)
{
	assert_true(rc_lab_wait(o->lab, 0, nb_sent, 2000));
	rc_lab_run(o->lab, 30);
}

/* The bytes of a packet by operation and place: MIDDLE, FIRST, LAST, ONLY (IBTA vol. 1, table 38).
 */
static void
check_wire(const struct one *o)
{
	static const uint8_t opcode[4][4] = {
		[PMV_WR_RDMA_WRITE] = { 0x27, 0x26, 0x28, 0x2a },
		[PMV_WR_RDMA_WRITE_WITH_IMM] = { 0x27, 0x26, 0x29, 0x2b },
		[PMV_WR_SEND] = { 0x21, 0x20, 0x22, 0x24 },
		[PMV_WR_SEND_WITH_IMM] = { 0x21, 0x20, 0x23, 0x25 },
	};
	uint32_t n = 0;
	uint32_t psn = pmv_be32_load(o->bth[0] + 8) & 0xffffff;

	for (uint32_t i = MSG_A; i <= MSG_B; i++) {
		for (uint32_t k = 0; k < pkts(o, i); k++, n++) {
			bool first = k == 0, last = k + 1 == pkts(o, i);

			assert_int_equal(o->bth[n][0], opcode[o->op][first + 2 * last]);
			/* not solicited, MigReq, version 0; pad as the length asks for */
			assert_int_equal(
				o->bth[n][1], 0x40 | (last ? (4 - o->len[i] % 4) % 4 << 4 : 0));
			/* no acknowledgement asked for, the next PSN */
			assert_int_equal(pmv_be32_load(o->bth[n] + 8), (psn + n) & 0xffffff);
		}
	}
	assert_int_equal(n, o->nb_bth);
}

/* The j-th completion of the receiver is message i's, with the j-th receive. */
static void
check_recv(const struct one *o, uint32_t j, uint32_t i)
{
	const struct pmv_wc *wc = &o->lab->wc[1][j];
	bool imm = o->op != PMV_WR_SEND;

	assert_int_equal(wc->status, PMV_WC_SUCCESS);
	assert_int_equal(wc->wr_id, 100 + j);
	assert_int_equal(wc->opcode, is_send(o) ? PMV_WC_RECV : PMV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc->byte_len, o->len[i]);
	assert_int_equal(wc->wc_flags, imm ? PMV_WC_WITH_IMM : 0);
	if (imm)
		assert_int_equal(wc->imm_data, rte_cpu_to_be_32(0x30 + i));
	assert_int_equal(wc->qp_num, pmv_qp_num(o->lab->qp[1]));
	assert_int_equal(wc->src_qp, pmv_qp_num(o->lab->qp[0]));
	if (is_send(o))
		assert_true(rc_lab_check(o->lab->mem[1] + BUF + j * MSG_MAX, o->len[i], i));
}

static void
check_untouched(const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(p[i], 0xa5);
}

static void
check_data(const struct one *o, bool x_arrives)
{
	const uint8_t *dst = o->lab->mem[1] + DST;
	uint32_t good = o->fate == PMV_TEST_DROP ? o->victim * o->mtu : 0;

	if (is_send(o))
		return;
	assert_true(rc_lab_check(dst + MSG_A * MSG_MAX, o->len[MSG_A], MSG_A));
	assert_true(rc_lab_check(dst + MSG_B * MSG_MAX, o->len[MSG_B], MSG_B));
	if (x_arrives) {
		assert_true(rc_lab_check(dst + MSG_X * MSG_MAX, o->len[MSG_X], MSG_X));
	} else if (o->fate == PMV_TEST_DROP) { /* what came before the loss stays, no more */
		assert_true(rc_lab_check(dst + MSG_X * MSG_MAX, good, MSG_X));
		check_untouched(dst + MSG_X * MSG_MAX + good, o->len[MSG_X] - good);
	}
}

/* A, X with the fault, B; X arrives or it does not, and never harms the others. */
static void
check_one(struct one *o)
{
	struct rc_lab *lab = o->lab;
	bool x_arrives = o->fate == PMV_TEST_PASS || o->fate == PMV_TEST_DUP;
	uint64_t answers = lab->pair.link->end[1].out.nb_frames;
	uint64_t dups = pmv_worker_stat(lab->pair.node[1].worker[0], "rx_drop_dup");
	uint32_t j = 0;

	memset(lab->mem[1], 0xa5, RC_LAB_BYTES);
	lab->nb_wc[0] = lab->nb_wc[1] = 0;
	o->nb_bth = 0;
	for (uint32_t i = 0; has_recv(o) && i < 3; i++)
		assert_int_equal(rc_lab_recv(lab, 1, BUF + i * MSG_MAX, MSG_MAX, 100 + i), 1);
	o->first_frame = lab->pair.link->end[0].out.nb_frames + pkts(o, MSG_A);
	post(o, MSG_A);
	run(o, 1);
	post(o, MSG_X);
	post(o, MSG_B);
	run(o, 3);
	check_wire(o);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
		assert_int_equal(lab->wc[0][i].wr_id, 0x30 + i);
	}
	check_data(o, x_arrives);
	for (uint32_t i = MSG_A; has_recv(o) && i <= MSG_B; i++)
		if (i != MSG_X || x_arrives)
			check_recv(o, j++, i);
	assert_int_equal(lab->nb_wc[1], j);
	if (has_recv(o) && !x_arrives) {
		o->victim = UINT32_MAX;
		post(o, MSG_REST);
		run(o, 4);
		assert_int_equal(lab->nb_wc[1], 3);
		check_recv(o, 2, MSG_REST);
	}
	dups = pmv_worker_stat(lab->pair.node[1].worker[0], "rx_drop_dup") - dups;
	if (o->fate == PMV_TEST_SWAP) /* late, but maybe not too late to begin in vain */
		assert_in_range(dups, 0, 1);
	else
		assert_int_equal(dups, o->fate == PMV_TEST_DUP);
	assert_int_equal(lab->pair.link->end[1].out.nb_frames, answers);
	assert_int_equal(pmv_qp_get_state(lab->qp[0]), PMV_QPS_RTS);
	assert_int_equal(pmv_qp_get_state(lab->qp[1]), PMV_QPS_RTS);
}

/* Every operation and length, clean and with every kind of fault on the first, a middle
 * and the last packet. */
static void
matrix(enum pmv_mtu code, uint32_t mtu)
{
	static const enum pmv_test_fate fates[] = { PMV_TEST_PASS, PMV_TEST_DROP, PMV_TEST_DUP,
		PMV_TEST_SWAP };
	const uint32_t lens[] = { 0, 1, mtu - 1, mtu, mtu + 1, 3 * mtu + 7, 65536 };
	const struct rc_lab_param param = { .mtu = code, .is_uc = true };
	struct rc_lab lab;
	struct one o = { .lab = &lab, .mtu = mtu };

	rc_lab_open(&lab, &param);
	lab.pair.link->end[0].out.hook = hook;
	lab.pair.link->end[0].out.hook_arg = &o;
	for (uint32_t op = 0; op < 4; op++)
		for (uint32_t l = 0; l < RTE_DIM(lens); l++)
			for (uint32_t f = 0; f < RTE_DIM(fates); f++)
				for (uint32_t place = 0; place < 3; place++) {
					uint32_t n;

					o.op = (enum pmv_wr_opcode)op;
					o.len[MSG_A] = 33;
					o.len[MSG_X] = lens[l];
					o.len[MSG_B] = 2 * mtu + 3;
					o.len[MSG_REST] = 5;
					o.fate = fates[f];
					n = pkts(&o, MSG_X);
					o.victim = place == 0 ? 0 : place == 1 ? n / 2 : n - 1;
					if (place > 0 && (n == 1 || o.fate == PMV_TEST_PASS))
						continue;
					check_one(&o);
				}
	lab.pair.link->end[0].out.hook = NULL;
	rc_lab_close(&lab);
}

static void
uc_loss__mtu_256(void **state)
{
	matrix(PMV_MTU_256, 256);
}

static void
uc_loss__mtu_1024(void **state)
{
	matrix(PMV_MTU_1024, 1024);
}

static void
uc_loss__mtu_4096(void **state)
{
	matrix(PMV_MTU_4096, 4096);
}

/* A long random storm: whatever arrives is whole, once, and in the order it was sent. */
static void
uc_loss__storm(void **state)
{
	const struct rc_lab_param param = { .mtu = PMV_MTU_256, .is_uc = true, .seed = 7 };
	struct rc_lab lab;
	struct pmv_test_dir *out;
	uint32_t got = 0, sent = 400;
	uint32_t nb_whole = 0, newest = UINT32_MAX, id;

	rc_lab_open(&lab, &param);
	out = &lab.pair.link->end[0].out;
	out->drop = 0.02;
	out->dup = 0.05;
	out->swap = 0.02;
	for (uint32_t i = 0; i < sent; i++) {
		uint32_t len = i * 37 % 1500 + 4;

		rc_lab_fill(lab.mem[0], len, i);
		lab.nb_wc[0] = lab.nb_wc[1] = 0;
		if (i == 0 || got > 0)
			assert_int_equal(rc_lab_recv(&lab, 1, 0, 2048, 0), 1);
		got = 0;
		assert_int_equal(
			rc_lab_post(&lab, 0, PMV_WR_SEND_WITH_IMM, 0, 0, len, PMV_SEND_SIGNALED, i),
			1);
		assert_true(rc_lab_wait(&lab, 0, 1, 1000));
		rc_lab_run(&lab, 20);
		got = lab.nb_wc[1];
		if (got == 0)
			continue;
		assert_int_equal(got, 1);
		id = rte_be_to_cpu_32(lab.wc[1][0].imm_data);
		assert_in_range(id, newest + 1, i);
		assert_int_equal(lab.wc[1][0].byte_len, id * 37 % 1500 + 4);
		assert_true(rc_lab_check(lab.mem[1], id * 37 % 1500 + 4, id));
		newest = id;
		nb_whole++;
	}
	assert_in_range(nb_whole, sent / 2, sent - 1);
	rc_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_loss__mtu_256),
		cmocka_unit_test(uc_loss__mtu_1024),
		cmocka_unit_test(uc_loss__mtu_4096),
		cmocka_unit_test(uc_loss__storm),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
