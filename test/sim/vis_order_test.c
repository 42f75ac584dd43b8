// SPDX-License-Identifier: BSD-3-Clause
/*
 * What an application sees that polls memory while data arrives: bytes in ascending order, aligned
 * words whole, a flag never before its data, nothing old after something new. A second, real thread
 * reads all the time; the nodes run under their virtual clock in the first.
 *
 * Every word of a message is its number. Whoever reads the words from the last to the first must
 * see numbers that never fall.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "test/harness/eal.h"
#include "test/sim/rc_lab.h"

#define WORDS_MAX 1536u /* 12 KiB: three packets of 4096 */
#define SLOT      16384u
#define NB_SLOTS  16u
#define RUN_S     0.5

struct reader {
	pthread_t thread;
	const uint64_t *words; /* the target */
	const uint64_t *flag;  /* written after it; NULL: the last word is the flag */
	uint32_t nb;
	uint32_t stop;
	uint64_t nb_scans;
	uint64_t nb_mixed; /* scans that met a message half way */
	uint64_t bad_at;   /* word that was older than one behind it, plus 1 */
};

static uint64_t
load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void *
read_backwards(void *arg)
{
	struct reader *r = arg;
	uint64_t end = 0; /* of the last scan */

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint64_t seen = r->flag != NULL ? load(r->flag) : load(&r->words[r->nb - 1]);
		uint64_t first = seen;

		if (seen < end)
			r->bad_at = r->nb;
		end = seen;
		for (uint32_t i = r->nb; i-- > 0;) {
			uint64_t v = load(&r->words[i]);

			if (v < seen)
				r->bad_at = i + 1;
			seen = v;
		}
		r->nb_scans++;
		r->nb_mixed += seen != first;
	}
	return NULL;
}

static void
fill(uint64_t *words, uint32_t nb, uint64_t n)
{
	for (uint32_t i = 0; i < nb; i++)
		words[i] = n;
}

static uint32_t
target_off(uint32_t shift)
{
	return 0x100000 + 8 * shift;
}

/* The memory that is polled, and where messages come from. */
struct run {
	struct rc_lab *lab;
	enum pmv_wr_opcode op;
	uint32_t nb_words;
	uint32_t shift; /* of the target from a cache line, in words */
	bool separate_flag;
	uint64_t nb_posted;
	uint64_t nb_done;
};

/* Message number n: from a slot of its own, which is filled now. */
static void
post_message(struct run *r)
{
	uint64_t n = ++r->nb_posted;
	uint32_t slot = (uint32_t)(n % NB_SLOTS) * SLOT;
	bool read = r->op == PMV_WR_RDMA_READ;
	uint32_t bytes = r->nb_words * 8;

	fill((uint64_t *)(void *)(r->lab->mem[read] + slot), r->nb_words, n);
	if (r->op == PMV_WR_SEND)
		assert_int_equal(rc_lab_recv(r->lab, 1, target_off(r->shift), bytes, n), 1);
	if (read)
		rc_lab_post(
			r->lab, 0, r->op, target_off(r->shift), slot, bytes, PMV_SEND_SIGNALED, n);
	else
		rc_lab_post(r->lab, 0, r->op, slot, target_off(r->shift), bytes,
			r->separate_flag ? 0 : PMV_SEND_SIGNALED, n);
	if (r->separate_flag)
		rc_lab_post(r->lab, 0, PMV_WR_RDMA_WRITE, slot, 0x180000, 8, PMV_SEND_SIGNALED, n);
}

static void
run_messages(struct run *r)
{
	double end = (double)rte_rdtsc() + RUN_S * (double)rte_get_tsc_hz();
	struct rc_lab *lab = r->lab;

	while ((double)rte_rdtsc() < end || r->nb_done < 200) {
		while (r->nb_posted - r->nb_done < 8)
			post_message(r);
		rc_lab_run(lab, 5);
		for (uint32_t i = 0; i < lab->nb_wc[0]; i++) {
			assert_int_equal(lab->wc[0][i].status, PMV_WC_SUCCESS);
			r->nb_done++;
		}
		lab->nb_wc[0] = lab->nb_wc[1] = 0;
	}
	while (r->nb_done < r->nb_posted) {
		rc_lab_run(lab, 50);
		r->nb_done += lab->nb_wc[0];
		lab->nb_wc[0] = lab->nb_wc[1] = 0;
	}
}

static void
watch(struct run *r, double loss, enum pmv_mtu mtu)
{
	const struct rc_lab_param param = { .mtu = mtu, .seed = 11 };
	struct rc_lab *lab = test_malloc(sizeof(*lab));
	struct reader rd = { .nb = r->nb_words };
	int side = r->op == PMV_WR_RDMA_READ ? 0 : 1;

	rc_lab_open(lab, &param);
	r->lab = lab;
	for (int i = 0; i < 2; i++) {
		memset(lab->mem[i], 0, RC_LAB_BYTES);
		lab->pair.link->end[i].out.drop = loss;
		lab->pair.link->end[i].out.dup = loss;
		lab->pair.link->end[i].out.swap = loss;
	}
	rd.words = (const uint64_t *)(const void *)(lab->mem[side] + target_off(r->shift));
	if (r->separate_flag)
		rd.flag = (const uint64_t *)(const void *)(lab->mem[1] + 0x180000);
	assert_int_equal((uintptr_t)rd.words % 8, 0);
	assert_int_equal(pthread_create(&rd.thread, NULL, read_backwards, &rd), 0);
	run_messages(r);
	__atomic_store_n(&rd.stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(rd.thread, NULL), 0);
	if (rd.bad_at != 0)
		fail_msg("word %u was seen older than what is behind it", (uint32_t)rd.bad_at - 1);
	for (uint32_t i = 0; i < r->nb_words; i++)
		assert_int_equal(rd.words[i], r->nb_posted);
	assert_true(rd.nb_scans > 0);
	print_message("%llu messages, %llu scans, %llu in the middle of one\n",
		(unsigned long long)r->nb_done, (unsigned long long)rd.nb_scans,
		(unsigned long long)rd.nb_mixed);
	rc_lab_close(lab);
	test_free(lab);
}

/* The flag is the last word of the WRITE itself; one packet and several, aligned and not. */
static void
vis_order__flag_at_the_end_of_a_write(void **state)
{
	for (uint32_t shift = 0; shift < 8; shift += 3) {
		struct run one = { .op = PMV_WR_RDMA_WRITE, .nb_words = 100, .shift = shift };
		struct run several = {
			.op = PMV_WR_RDMA_WRITE, .nb_words = WORDS_MAX, .shift = shift
		};

		watch(&one, 0, PMV_MTU_1024);
		watch(&several, 0, PMV_MTU_4096);
	}
}

/* The flag is a WRITE of its own behind the data. */
static void
vis_order__flag_behind_the_data(void **state)
{
	struct run r = {
		.op = PMV_WR_RDMA_WRITE, .nb_words = WORDS_MAX, .shift = 1, .separate_flag = true
	};

	watch(&r, 0, PMV_MTU_1024);
}

/* Loss, duplication, reordering: nothing is executed out of order, nothing old comes again. */
static void
vis_order__under_loss(void **state)
{
	struct run r = { .op = PMV_WR_RDMA_WRITE, .nb_words = WORDS_MAX, .shift = 5 };
	struct run flag = {
		.op = PMV_WR_RDMA_WRITE, .nb_words = 700, .shift = 2, .separate_flag = true
	};

	watch(&r, 0.02, PMV_MTU_1024);
	watch(&flag, 0.02, PMV_MTU_1024);
}

/* What is read, and what arrives in a posted receive, too. */
static void
vis_order__reads_and_receives(void **state)
{
	struct run read = { .op = PMV_WR_RDMA_READ, .nb_words = WORDS_MAX, .shift = 7 };
	struct run send = { .op = PMV_WR_SEND, .nb_words = WORDS_MAX, .shift = 6 };

	watch(&read, 0.01, PMV_MTU_1024);
	watch(&send, 0.01, PMV_MTU_4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vis_order__flag_at_the_end_of_a_write),
		cmocka_unit_test(vis_order__flag_behind_the_data),
		cmocka_unit_test(vis_order__under_loss),
		cmocka_unit_test(vis_order__reads_and_receives),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
