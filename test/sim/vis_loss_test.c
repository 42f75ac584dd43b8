// SPDX-License-Identifier: BSD-3-Clause
/*
 * A flag is never seen before its data, whatever is lost: every mask of one lost frame (and of two)
 * of a burst, with go-back-N and with selective repeat. The wire is so slow that one frame at a
 * time arrives, and memory and completions are looked at behind each. vis_order looks at the same
 * from another thread, at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/opcode.h"
#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define MTU  256u
#define DATA 0x1000u  /* where the data lies, on both sides */
#define FLAG 0x10000u /* what comes behind it */
#define WORD 0x20000u

#define LINE_RATE 60u /* bytes/us: more than 1 us for the smallest frame */
#define BTH_V4    42u

/* What is sent behind what: WRITE of the data, then something that tells of it. */
struct shape {
	const char *name;
	enum pmv_wr_opcode flag;
	uint32_t data_len;
	uint32_t flag_len;
	bool data_is_send; /* the data goes into a receive of its own */
};

static const struct shape shapes[] = {
	{ "WRITE, WRITE", PMV_WR_RDMA_WRITE, 5 * MTU + 13, 8, false },
	{ "WRITE, WRITE in two packets", PMV_WR_RDMA_WRITE, 3 * MTU, MTU + 8, false },
	{ "WRITE, WRITE_WITH_IMM", PMV_WR_RDMA_WRITE_WITH_IMM, 4 * MTU + 1, 0, false },
	{ "WRITE, SEND", PMV_WR_SEND, 4 * MTU + 1, 40, false },
	{ "WRITE, SEND in three packets", PMV_WR_SEND, 2 * MTU, 2 * MTU + 5, false },
	{ "SEND, SEND_WITH_IMM", PMV_WR_SEND_WITH_IMM, 3 * MTU + 7, 16, true },
	{ "WRITE, FETCH_AND_ADD", PMV_WR_ATOMIC_FETCH_AND_ADD, 3 * MTU + 7, 8, false },
	{ "WRITE, ATOMIC_WRITE", PMV_WR_ATOMIC_WRITE, 3 * MTU + 7, 8, false },
};

struct watch {
	struct rc_lab lab;
	const struct shape *s;
	uint32_t round;     /* gives every burst other bytes */
	uint32_t nb_placed; /* whole packets of the data seen so far */
	bool flag_seen;
	uint32_t nb_sacks;
	uint64_t nb_looks;   /* in which something was there and something not */
	uint8_t old[0x2000]; /* of the data's place, before */
	uint8_t new[0x2000];
};

static void
agree(int side, struct pmv_qp_attr *attr)
{
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID, PMV_ECE_SELECTIVE_REPEAT };
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC;
}

static void
plain(int side, struct pmv_qp_attr *attr)
{
	attr->qp_access_flags |= PMV_ACCESS_REMOTE_ATOMIC;
}

static enum pmv_test_fate
count_sacks(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct watch *w = arg;

	w->nb_sacks += *rte_pktmbuf_mtod_offset(m, uint8_t *, BTH_V4) == PMV_OPCODE_SACK;
	return PMV_TEST_PASS;
}

static uint32_t
pkts(uint32_t len)
{
	return len == 0 ? 1 : (len + MTU - 1) / MTU;
}

static uint32_t
frames_of(const struct shape *s)
{
	return pkts(s->data_len) + pkts(s->flag_len);
}

static bool
has_recv(enum pmv_wr_opcode op)
{
	return op != PMV_WR_RDMA_WRITE && op <= PMV_WR_SEND_WITH_IMM;
}

/* Packets of the data that are there, whole and from the first on; the rest is as it was. */
static uint32_t
placed(const struct watch *w)
{
	const uint8_t *p = w->lab.mem[1] + DATA;
	uint32_t len = w->s->data_len;
	uint32_t k = 0;

	while (k * MTU < len &&
		memcmp(p + k * MTU, w->new + k *MTU, RTE_MIN(MTU, len - k * MTU)) == 0)
		k++;
	if (k * MTU < len)
		assert_memory_equal(p + k * MTU, w->old + k * MTU, len - k * MTU);
	assert_int_equal(p[len], w->old[len]);
	return k;
}

/* Any trace of what comes behind the data, in memory or in the queue. */
static bool
flag_there(const struct watch *w)
{
	const uint8_t *p = w->lab.mem[1] + FLAG;
	uint32_t word;

	for (uint32_t i = 0; i < w->s->flag_len; i++)
		if (p[i] != 0x5a)
			return true;
	memcpy(&word, w->lab.mem[1] + WORD, sizeof(word));
	return word != 0 || w->lab.nb_wc[1] > w->s->data_is_send;
}

static void
look(struct watch *w)
{
	uint32_t k = placed(w);
	bool flag = flag_there(w);

	assert_true(k >= w->nb_placed); /* nothing is taken back */
	assert_true(flag || !w->flag_seen);
	if (flag || w->lab.nb_wc[1] != 0) /* completions of the data's own receive, too */
		assert_int_equal(k, pkts(w->s->data_len));
	w->nb_looks += k != 0 && !flag;
	w->nb_placed = k;
	w->flag_seen = flag;
}

static void
post_flag(struct watch *w)
{
	struct rc_lab *lab = &w->lab;
	const struct shape *s = w->s;
	bool word = s->flag > PMV_WR_RDMA_READ;
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[0] + FLAG), s->flag_len,
		pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = { .wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = s->flag,
		.send_flags = PMV_SEND_SIGNALED };

	if (!word) {
		assert_int_equal(
			rc_lab_post(lab, 0, s->flag, FLAG, FLAG, s->flag_len, PMV_SEND_SIGNALED, 1),
			1);
		return;
	}
	wr.wr.atomic.remote_addr = (uintptr_t)(lab->mem[1] + WORD);
	wr.wr.atomic.rkey = pmv_mr_rkey(lab->mr[1]);
	if (s->flag == PMV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic.compare_add = 1;
	assert_int_equal(pmv_post_send(lab->qp[0], &wr, 1), 1);
}

static void
post_burst(struct watch *w)
{
	struct rc_lab *lab = &w->lab;
	const struct shape *s = w->s;

	rc_lab_fill(w->new, s->data_len, ++w->round);
	memcpy(lab->mem[0] + DATA, w->new, s->data_len);
	rc_lab_fill(w->old, sizeof(w->old), ++w->round);
	memcpy(lab->mem[1] + DATA, w->old, sizeof(w->old));
	rc_lab_fill(lab->mem[0] + FLAG, s->flag_len, ++w->round);
	memset(lab->mem[1] + FLAG, 0x5a, s->flag_len + 8);
	memset(lab->mem[1] + WORD, 0, 8);
	if (s->data_is_send)
		assert_int_equal(rc_lab_recv(lab, 1, DATA, s->data_len, 0), 1);
	if (has_recv(s->flag))
		assert_int_equal(rc_lab_recv(lab, 1, FLAG, s->flag_len, 1), 1);
	assert_int_equal(rc_lab_post(lab, 0, s->data_is_send ? PMV_WR_SEND : PMV_WR_RDMA_WRITE,
				 DATA, DATA, s->data_len, PMV_SEND_SIGNALED, 0),
		1);
	post_flag(w);
}

/* One burst under these masks; the mask of side 1 is of its answers. */
static void
burst(struct watch *w, const uint64_t drop[2], uint64_t dup, uint64_t swap)
{
	struct rc_lab *lab = &w->lab;
	uint64_t end;

	for (int side = 0; side < 2; side++) {
		lab->pair.link->end[side].out.nb_frames = 0;
		lab->pair.link->end[side].out.drop_mask = drop[side];
		lab->nb_wc[side] = 0;
	}
	lab->pair.link->end[0].out.dup_mask = dup;
	lab->pair.link->end[0].out.swap_mask = swap;
	w->nb_placed = w->nb_sacks = 0;
	w->flag_seen = false;
	post_burst(w);
	end = lab->pair.now + 4000000ull * lab->pair.link->ticks_per_us;
	while (lab->nb_wc[0] < 2 && lab->pair.now < end) {
		rc_lab_run(lab, 1);
		look(w);
	}
	rc_lab_run(lab, 120);
	look(w);
	assert_int_equal(lab->nb_wc[0], 2);
	assert_int_equal(lab->nb_wc[1], w->s->data_is_send + has_recv(w->s->flag));
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < lab->nb_wc[side]; i++)
			assert_int_equal(lab->wc[side][i].status, PMV_WC_SUCCESS);
	assert_true(w->flag_seen);
	assert_int_equal(lab->mem[1][FLAG + w->s->flag_len], 0x5a);
	if (w->s->flag <= PMV_WR_SEND_WITH_IMM)
		assert_memory_equal(lab->mem[1] + FLAG, lab->mem[0] + FLAG, w->s->flag_len);
	assert_int_equal(pmv_test_link_pending(lab->pair.link), 0);
}

static struct watch *
watch_open(bool selective)
{
	const struct rc_lab_param p = { .mtu = PMV_MTU_256, .tune = selective ? agree : plain };
	struct watch *w = test_calloc(1, sizeof(*w));

	rc_lab_open(&w->lab, &p);
	w->lab.step_us = 1;
	for (int side = 0; side < 2; side++)
		w->lab.pair.link->end[side].out.bytes_per_us = LINE_RATE;
	w->lab.pair.link->end[1].out.hook = count_sacks;
	w->lab.pair.link->end[1].out.hook_arg = w;
	return w;
}

static void
watch_close(struct watch *w)
{
	assert_true(w->nb_looks > 1000); /* there was something to see */
	rc_lab_close(&w->lab);
	test_free(w);
}

/* Each frame of the burst, each answer, and each pair of a frame and whatever follows it (so that
 * repairs are lost too). */
static void
every_mask(bool selective)
{
	struct watch *w = watch_open(selective);

	for (uint32_t i = 0; i < RTE_DIM(shapes); i++) {
		uint32_t nb = frames_of(&shapes[i]);

		w->s = &shapes[i];
		for (uint32_t a = 0; a < nb; a++) {
			burst(w, (const uint64_t[2]){ 1ull << a, 0 }, 0, 0);
			/* what passed the gap was kept, and the sender was told */
			if (a + 3 < nb)
				assert_int_equal(w->nb_sacks != 0, selective);
			for (uint32_t b = a + 1; b < nb + 4; b++)
				burst(w, (const uint64_t[2]){ 1ull << a | 1ull << b, 0 }, 0, 0);
			burst(w, (const uint64_t[2]){ 1ull << a, 1 }, 0, 0);
		}
		for (uint32_t a = 0; a < 4; a++)
			burst(w, (const uint64_t[2]){ 0, 1ull << a }, 0, 0);
	}
	watch_close(w);
}

/* Copies and late frames instead of losses, each with each loss. */
static void
every_copy(bool selective)
{
	struct watch *w = watch_open(selective);

	for (uint32_t i = 0; i < RTE_DIM(shapes); i++) {
		uint32_t nb = frames_of(&shapes[i]);

		w->s = &shapes[i];
		for (uint32_t a = 0; a < nb; a++) {
			burst(w, (const uint64_t[2]){ 0, 0 }, 1ull << a, 0);
			burst(w, (const uint64_t[2]){ 0, 0 }, 0, 1ull << a);
			for (uint32_t b = 0; b < nb; b++) {
				burst(w, (const uint64_t[2]){ 1ull << b, 0 }, 1ull << a, 0);
				burst(w, (const uint64_t[2]){ 1ull << b, 0 }, 0, 1ull << a);
			}
		}
	}
	watch_close(w);
}

static void
vis_loss__go_back_n(void **state)
{
	every_mask(false);
	every_copy(false);
}

static void
vis_loss__selective(void **state)
{
	every_mask(true);
	every_copy(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vis_loss__go_back_n),
		cmocka_unit_test(vis_loss__selective),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
